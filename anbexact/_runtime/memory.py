"""How much memory there is, and the refusal of searches that need more."""

from __future__ import annotations

from pathlib import Path
from time import monotonic

import psutil

from anbexact._runtime.share import jobs_at_once

ANSWER_HOLDS = 0.05
"""Seconds for which an answer of the system is used again: asking takes 0.2 ms, and a small fit asks seven times."""
_answer = (-ANSWER_HOLDS, 0)


class SearchTooLargeError(MemoryError):
    """A search was refused, before it started, because it would need more memory than allowed."""


def available_memory() -> int:
    """Return the bytes that can be used now: of the machine, or of the container if it allows less.

    Where several jobs run at the same time, a job's part of them.
    """
    global _answer
    if monotonic() - _answer[0] > ANSWER_HOLDS:
        _answer = (monotonic(), _available())
    return _answer[1] // jobs_at_once()


def _available() -> int:
    available = int(psutil.virtual_memory().available)
    group = Path("/sys/fs/cgroup")
    try:
        limit = int((group / "memory.max").read_text())
        used = int((group / "memory.current").read_text()) - _reclaimable(group)
    except (OSError, ValueError):
        return available
    return min(available, max(limit - used, 0))


def _reclaimable(group: Path) -> int:
    """Return the bytes of a container's memory that are file cache, given back when they are needed."""
    stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    return sum(int(stat.get(name, 0)) for name in ("inactive_file", "active_file", "slab_reclaimable"))
