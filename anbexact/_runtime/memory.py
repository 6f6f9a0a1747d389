"""How much memory there is, and the refusal of searches that need more."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic

import psutil

from anbexact._runtime.share import jobs_at_once

ANSWER_HOLDS = 0.05
"""Seconds for which an answer of the system is used again: asking takes 0.3 ms, and a small fit asks seven times."""
GROUPS, OWN_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
"""Where Linux shows groups of processes with a limit in common, and which of them this process is in."""
LIMIT_FILES = {"": ("memory.max", "memory.current"), "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes")}
"""What a group may use and what it uses, by the folder of version 2 and of version 1."""
FILE_CACHE = ("inactive_file", "active_file", "slab_reclaimable")
"""What a group uses for copies of files, which are given back when memory is needed."""
_answer = (-ANSWER_HOLDS, 0)


class SearchTooLargeError(MemoryError):
    """A search needs more memory than allowed: it was refused before it started, or memory ran out during it."""


def available_memory() -> int:
    """Return the bytes that can be used now: of the machine, or of what the container or the process is allowed.

    The least of what is free on the machine, in every group of processes (cgroup) around this one, and up to the
    limits of its addresses and of its data (``ulimit -v`` and ``-d``). Where several jobs run at the same time, a
    job's part of them.
    """
    global _answer
    if monotonic() - _answer[0] > ANSWER_HOLDS:
        machine = psutil.virtual_memory()
        free = min([int(machine.available), *_free_in_groups(machine.total), *_free_in_process()])
        _answer = (monotonic(), max(free, 0))
    return _answer[1] // jobs_at_once()


@contextmanager
def refused_without_memory(doing: str) -> Iterator[None]:
    """Turn a failure of the system to give memory within into a refusal that says what helps.

    Parameters
    ----------
    doing : str
        What is being done.

    Raises
    ------
    SearchTooLargeError
        If memory runs out. What this package itself refuses says why, and is raised as it is.
    """
    try:
        yield
    except MemoryError as error:
        if not is_from_system(error):
            raise
        raise SearchTooLargeError(
            f"memory ran out while {doing}: give max_parents= (with 2 or 3, there are few parent sets), select "
            "features or rows first, use a NaiveBayesClassifier, or allow the process more memory"
        ) from error


def is_from_system(error: MemoryError) -> bool:
    """Whether memory ran out, in numpy, numba, pyarrow or anywhere; what this package refuses says why."""
    return not error.args or "alloc" in str(error).lower()


def _free_in_groups(total: int) -> Iterator[int]:
    """Yield the bytes left in every group around this process that is allowed less than the machine has.

    A container may see its own group only, under another path.
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
            with suppress(OSError, ValueError):  # no such group, or no limit: "max"
                limit_file, use_file = LIMIT_FILES[version]
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
