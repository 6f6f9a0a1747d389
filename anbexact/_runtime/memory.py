"""The processors and the memory that this process may use."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from time import monotonic

import psutil

_others: ContextVar[int] = ContextVar("jobs at the same time", default=1)
"""How many jobs share the machine; see :func:`share_of_machine`."""
ANSWER_HOLDS = 0.25
"""Seconds for which the system's answer is reused: a query takes 0.3 ms, and a small fit makes seven."""
GROUPS, OWN_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
"""Where Linux shows its control groups, which limit the memory of processes, and the groups of this process."""
LIMIT_FILES = {
    "": (("memory.max", "memory.high"), "memory.current"),
    "memory": (("memory.limit_in_bytes",), "memory.usage_in_bytes"),
}
"""The files with a control group's limits and use, by the folder below ``GROUPS``: version 2, then version 1.

Above ``memory.high``, a process is not ended, but slowed down until it hardly runs.
"""
FILE_CACHE = ("inactive_file", "active_file", "slab_reclaimable")
"""Entries of a group's statistics that count cached files, whose memory the system reclaims when needed."""
_answer = (-ANSWER_HOLDS, 0)
"""When the system was asked last, and the bytes that were free."""


def n_processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def jobs_at_once() -> int:
    """Return how many jobs share this machine with the present one, itself included; at most one per processor."""
    return min(_others.get(), n_processors())


@contextmanager
def share_of_machine(n_jobs: int) -> Iterator[None]:
    """Limit the block to the share of processors and memory of one job when ``n_jobs`` jobs run at once."""
    token = _others.set(n_jobs)
    try:
        yield
    finally:
        _others.reset(token)


class SearchTooLargeError(MemoryError):
    """A search needs more memory than allowed: it was refused before it started, or ran out of memory."""


def available_memory() -> int:
    """Return how many bytes of memory can be used now.

    This is the least of what is free on the machine, what is left to every control group (cgroup) that contains this
    process, and what is left up to the process's own limits (``ulimit -v`` and ``-d``). If several jobs run at the
    same time, it is one job's share.
    """
    global _answer
    if monotonic() - _answer[0] > ANSWER_HOLDS:
        machine = psutil.virtual_memory()
        free = min([int(machine.available), *_free_in_groups(machine.total), *_free_in_process()])
        _answer = (monotonic(), max(free, 0))
    return _answer[1] // jobs_at_once()


@contextmanager
def refused_without_memory(doing: str) -> Iterator[None]:
    """Turn a failed allocation within the block into an error that says what helps.

    Parameters
    ----------
    doing : str
        The work within the block, such as ``"fitting the pool"``.

    Raises
    ------
    SearchTooLargeError
        If memory runs out. A `MemoryError` that this package raised itself already says why, and is left as it is.
    """
    try:
        yield
    except MemoryError as error:
        if not is_from_system(error):
            raise
        raise SearchTooLargeError(
            f"memory ran out while {doing}: pass max_parents= (with 2 or 3, there are fewer parent sets), select "
            "features or rows first, use a NaiveBayesClassifier, or allow the process more memory"
        ) from error


def is_from_system(error: MemoryError) -> bool:
    """Whether an allocation failed (in Python, numpy, numba or pyarrow); False if this package refused the work."""
    return not error.args or "alloc" in str(error).lower()


def _free_in_groups(total: int) -> Iterator[int]:
    """Yield the bytes left to every control group around this process whose limit is below the machine's memory.

    A container may see only its own group, as the root.
    """
    paths = dict.fromkeys(LIMIT_FILES, "/")
    with suppress(OSError):
        for line in OWN_GROUPS.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers or "memory" in controllers.split(","):
                paths["memory" if controllers else ""] = path
    for version, path in paths.items():
        root = GROUPS / version
        group = root / path.lstrip("/")
        for place in (group, *group.parents):
            if not place.is_relative_to(root):
                break
            limit_files, use_file = LIMIT_FILES[version]
            for limit_file in limit_files:
                with suppress(OSError, ValueError):  # no such group, or no limit: "max"
                    if (limit := int((place / limit_file).read_text())) < total:
                        yield limit - int((place / use_file).read_text()) + _reclaimable(place)


def _reclaimable(group: Path) -> int:
    """Return the bytes of a group's memory that are file cache."""
    stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    return sum(int(stat.get(f"total_{name}", stat.get(name, 0))) for name in FILE_CACHE)


def _free_in_process() -> Iterator[int]:
    """Yield the bytes up to the limits of this process, where its system has such limits."""
    if sys.platform != "linux":
        return
    import resource

    used = psutil.Process().memory_info()
    for limit, size in ((resource.RLIMIT_AS, used.vms), (resource.RLIMIT_DATA, used.data)):
        allowed = resource.getrlimit(limit)[0]
        if allowed != resource.RLIM_INFINITY:
            yield allowed - size
