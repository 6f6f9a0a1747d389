"""How benchmarks measure time and memory.

A time is the median of several runs. Two times are compared by their ratio within one run of the benchmark.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
from collections.abc import Callable
from math import inf
from multiprocessing.connection import Connection
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple


class Timed(NamedTuple):
    """What a call returned, its seconds by the clock, and the processor seconds of all threads of this process."""

    result: Any
    seconds: float
    processor_seconds: float


def timed(work: Callable[..., Any], *arguments: Any, **keywords: Any) -> Timed:
    """Call once."""
    began, worked = perf_counter(), process_time()
    result = work(*arguments, **keywords)
    return Timed(result, perf_counter() - began, process_time() - worked)


def seconds(work: Callable[..., object], *arguments: Any, repeats: int = 5) -> float:
    """Return the median wall-clock time of several calls."""
    return median(timed(work, *arguments).seconds for _ in range(repeats))


def processor_seconds(work: Callable[..., object], *arguments: Any, repeats: int = 5, enough: float = inf) -> float:
    """Return the median processor time of several calls; no further call once they took ``enough`` together."""
    times: list[float] = []
    while len(times) < repeats and sum(times) < enough:
        times.append(timed(work, *arguments).processor_seconds)
    return median(times)


def by_turns(
    first: Callable[[], float], second: Callable[[], float], *, repeats: int = 7
) -> tuple[list[float], list[float]]:
    """Return the seconds that two works measured of themselves, taken in turn."""
    pairs = [(first(), second()) for _ in range(repeats)]
    return [a for a, _ in pairs], [b for _, b in pairs]


def peak_memory() -> float:
    """Return the most memory that this process has had resident, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)


def alone(work: Callable[..., Any], *arguments: Any, limit: float | None = None) -> Any:
    """Return what a call returns in a process of its own, whose memory and compiled kernels are its own, too.

    Parameters
    ----------
    work : callable
        A function of a module.
    limit : float, optional
        Seconds after which the process is ended.

    Raises
    ------
    TimeoutError
        If the limit was exceeded.
    EOFError
        If the process ended without an answer; it has printed why.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(sender, work, arguments))
    process.start()
    sender.close()
    try:
        if receiver.poll(limit):
            return receiver.recv()
        process.kill()
        raise TimeoutError(f"ended after {limit:g} s")
    finally:
        process.join()


def _answer(sender: Connection, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    sender.send(work(*arguments))
