"""Threads: how many there are, and tasks that run in them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache, partial
from numbers import Integral
from typing import Any, Protocol, TypeVar

from threadpoolctl import ThreadpoolController

from anbexact._runtime.deadline import Deadline
from anbexact._runtime.memory import jobs_at_once, n_processors
from anbexact._runtime.progress import Progress

Result = TypeVar("Result")


def thread_count(n_jobs: object) -> int:
    """Return how many threads to use; None and -1 mean all available processors, or the share of the present job.

    Raises
    ------
    ValueError
        For a value other than None, -1 and whole numbers of 1 or more.
    """
    if n_jobs is None or n_jobs == -1:
        return n_processors() // jobs_at_once()
    if not isinstance(n_jobs, Integral) or n_jobs < 1:
        raise ValueError(f"n_jobs must be None, -1 (all processors) or at least 1, not {n_jobs!r}")
    return int(n_jobs)


_single = threading.Lock()
_single_uses = 0
_single_limits: Any = None
"""How many blocks of :func:`one_blas_thread` are open, and the limit that the first of them set; under the lock."""
if hasattr(os, "register_at_fork"):  # a new process would wait in vain for a thread that held the lock
    os.register_at_fork(before=_single.acquire, after_in_parent=_single.release, after_in_child=_single.release)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit linear algebra to one thread, in the whole process, until the last block that asked for it has ended.

    Matrices of a few hundred rows are then processed up to ten times as fast.
    """
    global _single_uses, _single_limits
    with _single:
        if _single_uses == 0:
            _single_limits = _linear_algebra().limit(limits=1)
        _single_uses += 1
    try:
        yield
    finally:
        with _single:
            _single_uses -= 1
            if _single_uses == 0 and _single_limits is not None:
                _single_limits.restore_original_limits()


@cache
def _linear_algebra() -> ThreadpoolController:
    """Return the libraries of linear algebra that NumPy and SciPy load; finding them takes milliseconds."""
    import scipy.linalg  # noqa: F401, so that its library is found

    return ThreadpoolController().select(user_api="blas")


class Run(Protocol):
    """Apply a function to the entries of several sequences, as ``map`` does, and return the results."""

    def __call__(self, function: Callable[..., Result], /, *given: Iterable[Any]) -> list[Result]: ...


@contextmanager
def in_threads(threads: int) -> Iterator[Run]:
    """Yield a function like ``map`` that runs in this many threads and returns a list.

    The functions that it is given should release the interpreter lock.
    """
    if threads == 1:
        yield lambda function, *given: list(map(function, *given))
    else:
        with ThreadPoolExecutor(threads) as pool:
            yield lambda function, *given: list(pool.map(function, *given))


def run_tasks(
    tasks: Iterable[Callable[[], object]],
    n_tasks: int,
    threads: int,
    deadline: Deadline,
    phase: str,
    progress: Progress | None,
) -> bool:
    """Run tasks that release the interpreter lock, in threads; return whether all were run.

    No task is started after the deadline. After an interrupt (Ctrl-C), the deadline has passed; the tasks under way
    are finished, and the interrupt is raised.
    """
    waiting = iter(tasks)
    done = 0

    def finished(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(phase, done / n_tasks)

    if threads == 1 or n_tasks == 1:
        for task in waiting:
            if deadline.passed:
                return False
            try:
                task()
                finished(1)
            except BaseException:
                deadline.interrupt()
                raise
        return True
    pool = ThreadPoolExecutor(threads)
    running: set[Future[object]] = set()
    complete = True
    try:
        for task in waiting:
            if deadline.passed:
                complete = False
                running -= {future for future in running if future.cancel()}
                break
            running.add(pool.submit(task))
            if len(running) >= 2 * threads:
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                for future in ended:
                    future.result()
                finished(len(ended))
        for future in running:
            future.result()
        finished(len(running))
    except BaseException:
        deadline.interrupt()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return complete


def run_on_rows(work: Callable[[int, int], object], n_rows: int, at_once: int, n_jobs: object) -> None:
    """Call ``work(start, stop)``, which releases the interpreter lock, in threads for parts of ``at_once`` rows."""
    parts = (partial(work, start, min(start + at_once, n_rows)) for start in range(0, n_rows, at_once))
    run_tasks(parts, -(-n_rows // at_once), thread_count(n_jobs), Deadline(), "rows", None)
