"""The part of its machine that a job may use where several run at the same time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_others: ContextVar[int] = ContextVar("jobs at the same time", default=1)


def n_processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def jobs_at_once() -> int:
    """Return how many jobs share this machine with the present one, itself included; at most one per processor."""
    return min(_others.get(), n_processors())


@contextmanager
def share_of_machine(n_jobs: int) -> Iterator[None]:
    """Let what runs within use the processors and the memory that are its part where ``n_jobs`` run at once."""
    token = _others.set(n_jobs)
    try:
        yield
    finally:
        _others.reset(token)
