"""A comparison on two workers against one, on the processes of this machine, on Dask and on Ray.

Ten folds of naive Bayes, TAN and exact ANB with their refits are compared over a generated table, with the workers
started and their kernels loaded before. One worker has one processor, as each of two has; otherwise it would use both
by its threads. The results must not depend on the workers. Target: 1.6 times the speed of one worker. Takes ten
minutes; backends that are not installed are left out. Writes ``docs/measurements/workers.csv``.
"""

import os
from collections.abc import Callable
from importlib.util import find_spec
from statistics import median
from typing import Any

import joblib
import numpy as np
import pandas as pd

from anbexact import compare
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.timing import alone, timed

MODELS = ("NB", "TAN", "ANB")
REPEATS = 3
TARGET = 1.6
FEATURES, ROWS, STATES, CLASSES = 14, 10_000, 3, 3


def in_processes(_: int) -> Callable[[], object]:
    """Return what ends the processes of joblib, which start by themselves."""
    return lambda: joblib.externals.loky.get_reusable_executor().shutdown()


def in_dask(workers: int) -> Callable[[], object]:
    """Start workers of Dask; return what ends them."""
    from distributed import Client

    return Client(n_workers=workers, threads_per_worker=1, dashboard_address=None).shutdown


def in_ray(workers: int) -> Callable[[], object]:
    """Start workers of Ray; return what ends them."""
    import ray
    from ray.util.joblib import register_ray

    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
    register_ray()
    return ray.shutdown


BACKENDS: dict[str, tuple[str, Callable[[int], Callable[[], object]]]] = {
    "loky": ("joblib", in_processes),
    "dask": ("distributed", in_dask),
    "ray": ("ray", in_ray),
}


def compared(backend: str, workers: int, repeats: int, size: tuple[int, int, int, int]) -> tuple[float, Any]:
    """Return the median time of a comparison on so many workers, and its figures."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:workers])
    X, y = Run().generated(*size)
    end = BACKENDS[backend][1](workers)
    times: list[float] = []
    with joblib.parallel_config(backend=backend, n_jobs=workers):
        for _ in range(1 + repeats):
            done = timed(compare, X, y, folds=10, models=list(MODELS))
            times.append(done.seconds)
    end()
    figures = done.result.drop(columns=[name for name in done.result if "second" in str(name)])
    return median(times[1:]), figures.select_dtypes(np.number)


def main(run: Run) -> None:
    """Time every backend with one worker and with two."""
    size = (4, 60, 2, 2) if run.smoke else (FEATURES, ROWS, STATES, CLASSES)
    found: list[dict[str, Any]] = []
    for backend, (package, _) in BACKENDS.items():
        if find_spec(package) is None or (run.smoke and backend != "loky"):
            continue
        (one, figures), (two, same) = (alone(compared, backend, k, 1 if run.smoke else REPEATS, size) for k in (1, 2))
        pd.testing.assert_frame_equal(figures, same)
        row = {"backend": backend, "one worker, s": one, "two workers, s": two, "ratio": one / two, "target": TARGET}
        found.append(row)
    show(found)
    run.write("workers", pd.DataFrame(found), 2)
