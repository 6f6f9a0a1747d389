"""What a search by lists of parent sets may use."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from anbexact._runtime.deadline import Deadline
from anbexact._runtime.progress import Progress


class ListMeans(NamedTuple):
    """What making lists of parent sets may use.

    Attributes
    ----------
    threads : int
        Threads.
    deadline : Deadline
        When to stop.
    memory : float
        Bytes that the lists may take.
    most_sets : float
        No size of parent sets is begun that would take the number of scored sets above this, as far as can be
        foreseen.
    progress : callable, optional
        Called as ``progress(phase, fraction)`` from time to time.
    """

    threads: int
    deadline: Deadline
    memory: float
    most_sets: float = inf
    progress: Progress | None = None
