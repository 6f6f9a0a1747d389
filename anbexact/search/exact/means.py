"""The resources of a search by lists of parent sets."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from anbexact._runtime.deadline import Deadline
from anbexact._runtime.progress import Progress


class ListMeans(NamedTuple):
    """The resources for making lists of parent sets.

    Attributes
    ----------
    threads : int
        Threads.
    deadline : Deadline
        When to stop.
    memory : float
        Bytes that the lists may take.
    most_sets : float
        Maximum number of scored sets. A size of parent sets that is expected to exceed it is not started.
    progress : callable, optional
        Called as ``progress(phase, fraction)`` from time to time.
    """

    threads: int
    deadline: Deadline
    memory: float
    most_sets: float = inf
    progress: Progress | None = None
