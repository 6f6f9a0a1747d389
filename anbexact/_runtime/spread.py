"""Independent jobs: on the workers of joblib's backend if one is configured, else in this process."""

from __future__ import annotations

import os
import pickle
import tempfile
import warnings
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

from joblib import Parallel, delayed, effective_n_jobs
from joblib.externals.loky.backend.reduction import dumps
from joblib.parallel import get_active_backend

from anbexact._runtime.deadline import raising_interrupts
from anbexact._runtime.memory import share_of_machine
from anbexact._runtime.warn import warn

Shared = TypeVar("Shared", contravariant=True)
Job = TypeVar("Job", contravariant=True)
Result = TypeVar("Result", covariant=True)

_in_job: ContextVar[bool] = ContextVar("within a job", default=False)
"""Whether this code runs within a job, which must not start jobs itself."""
OF_THIS_MACHINE = ("LokyBackend", "MultiprocessingBackend")
"""Backends of joblib whose workers are processes on this machine."""
ATTEMPTS = 3
"""Number of times in succession that workers may be lost, without a finished job in between, before the error is
raised."""


class Work(Protocol[Shared, Job, Result]):
    """The function of a job: its arguments are what all jobs share, and the job."""

    def __call__(self, shared: Shared, job: Job, /) -> Result: ...


def worker_count() -> int:
    """Return the number of workers in joblib's configuration; 1 without a configuration, and within a job."""
    return 1 if _in_job.get() else int(effective_n_jobs(Parallel().n_jobs))


def spread(work: Work[Shared, Job, Result], shared: Shared, jobs: Iterable[Job]) -> Generator[Result, None, None]:
    """Yield ``work(shared, job)`` for every job, in their order.

    Jobs run on the workers that :func:`joblib.parallel_config` configures. Without workers, a job runs in this
    process when its result is asked for, so that ``jobs`` may depend on earlier results.

    What the jobs share is sent to processes of this machine through one file, and to other workers by the backend. A
    worker uses its share of its machine's processors and memory. Warnings of workers are repeated in this process.
    Jobs whose worker was lost are repeated.

    Parameters
    ----------
    work : callable
        A function at the top level of a module.
    shared : object
        The argument that all jobs share.
    jobs : iterable
        The argument of each job.

    Raises
    ------
    BrokenProcessPool
        When workers are lost three times in succession, for example because memory runs out.

    An exception in a job is raised here, too.
    """
    n_workers = worker_count()
    if n_workers == 1:
        for job in jobs:
            yield work(shared, job)
        return
    left = list(jobs)
    attempts = 0
    threads = getattr(_backend(), "supports_sharedmem", False)
    with _sent(shared) as handle:
        while left:
            if threads:
                calls = [delayed(_in_thread)(work, shared, job, n_workers) for job in left]
            else:  # pickled here, because some backends would pass read-only arrays
                calls = [delayed(_in_process)(work, handle, bytes(dumps(job)), n_workers) for job in left]
            try:
                with _results(calls) as results:
                    for result, caught in _waited_for(results):
                        attempts = 0
                        for message, category in caught:
                            warn(message, category)
                        del left[0]
                        yield result
            except BrokenProcessPool:
                attempts += 1
                if attempts == ATTEMPTS:
                    raise


def _waited_for(results: Iterator[Any]) -> Iterator[Any]:
    """Yield results; raise a Ctrl-C that occurs while waiting for them."""
    while True:
        with raising_interrupts():
            try:
                result = next(results)
            except StopIteration:
                return
        yield result


def _backend() -> Any:
    return get_active_backend()[0]


@contextmanager
def _results(calls: list[Any]) -> Iterator[Iterator[Any]]:
    """Yield the results in order: each as soon as it is known if the backend supports that, else all at the end.

    Calls whose results are no longer needed are abandoned, without joblib's warning about that.
    """
    if not getattr(_backend(), "supports_return_generator", False):
        yield iter(Parallel()(calls))
        return
    results = Parallel(return_as="generator")(calls)
    try:
        yield results
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.close()


def _in_thread(work: Work[Any, Job, Result], shared: Any, job: Job, n_workers: int) -> tuple[Result, list[Any]]:
    """Do a job in a thread of the process that asked for it, which sees the warnings."""
    with _job_of(n_workers):
        return work(shared, job), []


def _in_process(work: Work[Any, Any, Result], handle: Any, job: bytes, n_workers: int) -> tuple[Result, list[Any]]:
    """Do a job in another process, and return its result with the warnings that it gave."""
    with _job_of(n_workers), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = work(_received(handle), pickle.loads(job))
    return result, [(str(warning.message), warning.category) for warning in caught]


@contextmanager
def _job_of(n_workers: int) -> Iterator[None]:
    """Mark the block as one of several jobs: it does not start jobs itself, and uses its share of the machine."""
    token = _in_job.set(True)
    try:
        with share_of_machine(n_workers):
            yield
    finally:
        _in_job.reset(token)


@contextmanager
def _sent(shared: Any) -> Iterator[Any]:
    """Send what jobs share only once: through a file on this machine or the store of Ray; Dask does so itself."""
    backend = type(_backend()).__name__
    if backend == "RayBackend":
        import ray

        yield ray.put(shared)
    elif backend in OF_THIS_MACHINE:
        with tempfile.TemporaryDirectory(prefix="anbexact-", ignore_cleanup_errors=os.name == "nt") as folder:
            path = Path(folder, "shared.pickle")
            path.write_bytes(dumps(shared))
            yield path
    else:
        yield shared


def _received(handle: Any) -> Any:
    """Return what was sent."""
    if isinstance(handle, Path):
        return _read(handle)
    if type(handle).__name__ == "ObjectRef":
        import ray

        return ray.get(handle)
    return handle


@lru_cache(maxsize=1)
def _read(path: Path) -> Any:
    return pickle.loads(path.read_bytes())
