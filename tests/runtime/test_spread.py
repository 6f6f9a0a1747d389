"""Independent jobs on the workers of joblib's backends."""

import os
import signal
import time
import warnings
from concurrent.futures.process import BrokenProcessPool

import joblib
import numpy as np
import pandas as pd
import pytest

from anbexact import (
    ANBClassifier,
    DiscreteTable,
    NaiveBayesClassifier,
    PooledClassifier,
    RefittedClassifier,
    TANClassifier,
    compare,
    relearned_leave_one_out,
)
from anbexact._runtime.memory import available_memory
from anbexact._runtime.share import n_processors, share_of_machine
from anbexact._runtime.spread import spread, worker_count
from anbexact._runtime.tasks import thread_count
from anbexact.datasets import load_lenses
from anbexact.tables.missing import LostClassError

TIMES = ["fit_seconds", "predict_seconds"]


class Shared:
    """What counts how often it is received."""

    received = 0

    def __init__(self, factor):
        self.factor = factor

    def __setstate__(self, state):
        self.__dict__ = state
        Shared.received += 1


def times(shared, job):
    return shared.factor * job, os.getpid(), Shared.received


def troubled(shared, job):
    if job == 1:
        warnings.warn(f"job {job} of {shared}", RuntimeWarning, stacklevel=1)
    if job == 3:
        raise LostClassError("a class would be lost")
    return job


def killed_once(folder, job):
    flag = os.path.join(folder, "killed")
    if job == 2 and not os.path.exists(flag):
        with open(flag, "w"):
            pass
        os.kill(os.getpid(), signal.SIGKILL)
    return job, os.getpid()


def killed(_shared, _job):
    os.kill(os.getpid(), signal.SIGKILL)


def room(_shared, _job):
    return thread_count(None), thread_count(3), available_memory()


def slow(_shared, job):
    time.sleep(0.05)
    return job


def recorded(folder, job):
    with open(os.path.join(folder, str(job)), "w"):
        pass
    return slow(folder, job)


def test_here_each_runs_when_its_result_is_asked_for():
    met = []
    jobs = (met.append(job) or job for job in range(5))
    results = spread(lambda factor, job: factor * job, 2, jobs)
    assert worker_count() == 1
    assert [next(results), next(results)] == [0, 2]
    assert met == [0, 1]


def test_a_part_of_the_machine():
    with share_of_machine(1):
        alone = thread_count(None), thread_count(3), available_memory()
    with share_of_machine(2):
        parts = thread_count(None), thread_count(3), available_memory()
    with share_of_machine(10**6):
        assert thread_count(-1) == 1
    at_once = min(2, n_processors())
    assert parts[:2] == (alone[0] // at_once, 3)
    assert parts[2] == pytest.approx(alone[2] / at_once, rel=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_on_workers(backend):
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert worker_count() == 2
        found = list(spread(times, Shared(3), range(20)))
        parts = list(spread(room, None, range(2)))
    assert [result for result, _, _ in found] == [3 * job for job in range(20)]
    if backend == "threading":
        assert {(pid, received) for _, pid, received in found} == {(os.getpid(), 0)}
    else:
        assert os.getpid() not in {pid for _, pid, _ in found}
        assert {received for _, _, received in found} == {1}
    assert {part[:2] for part in parts} == {(max(1, n_processors() // min(2, n_processors())), 3)}


def nested(_shared, _job):
    return worker_count()


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_within_a_job_there_is_one_worker(backend):
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert list(spread(nested, None, range(3))) == [1, 1, 1]
        assert worker_count() == 2


@pytest.mark.slow
def test_warnings_come_back():
    with joblib.parallel_config(backend="loky", n_jobs=2), pytest.warns(RuntimeWarning, match="job 1 of it") as given:
        assert list(spread(troubled, "it", range(3))) == [0, 1, 2]
    assert len(given) == 1


@pytest.mark.slow
def test_errors_come_back():
    with (
        joblib.parallel_config(backend="loky", n_jobs=2),
        pytest.raises(LostClassError, match="a class would be lost"),
    ):
        list(spread(troubled, "it", [3, 4]))


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_jobs_of_a_lost_worker_are_done_again(tmp_path):
    with joblib.parallel_config(backend="loky", n_jobs=2):
        found = list(spread(killed_once, str(tmp_path), range(6)))
        assert [job for job, _ in found] == list(range(6))
        assert (tmp_path / "killed").exists()
        with pytest.raises(BrokenProcessPool):
            list(spread(killed, None, range(2)))
        assert list(spread(slow, None, range(3))) == [0, 1, 2]


@pytest.mark.slow
def test_jobs_that_are_no_longer_wanted_are_given_up(tmp_path):
    with joblib.parallel_config(backend="loky", n_jobs=2):
        results = spread(recorded, str(tmp_path), range(1000))
        assert next(results) == 0
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            results.close()
        assert list(spread(slow, None, range(3))) == [0, 1, 2]  # the workers are free again, and had not done all
    assert len(list(tmp_path.iterdir())) < 1000


def comparison(**kwargs):
    X, y = load_lenses()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame = compare.compare(X, y, folds=3, models=["NB", "TAN", "logistic regression"], **kwargs)
    return frame, {str(warning.message) for warning in caught}


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading", "dask"])
def test_comparisons_are_the_same(backend):
    expected, warned = comparison()
    seen = []
    settings = {"n_jobs": 2}
    client = None
    if backend == "dask":
        distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
        client = distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None)
        settings = {}
    try:
        with joblib.parallel_config(backend=backend, **settings):
            frame, given = comparison(progress=lambda phase, fraction: seen.append((phase, fraction)))
    finally:
        if client is not None:
            client.shutdown()
    pd.testing.assert_frame_equal(frame.drop(columns=TIMES), expected.drop(columns=TIMES), check_exact=True)
    assert frame.attrs == expected.attrs
    assert given == warned
    fractions = [fraction for _, fraction in seen]
    assert fractions == sorted(fractions)
    assert seen[0] == ("NB, fold 1 of 3", pytest.approx(1 / 9))
    assert fractions[-1] == 1.0


def pooled(X, y, members):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pool = PooledClassifier(members, folds=3).fit(X, y)
    return pool, {str(warning.message) for warning in caught}


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_pools_are_the_same(backend):
    """One of the members is refused, and two start from the same network."""
    X, y = load_lenses()
    members = [
        ("NB", NaiveBayesClassifier(ess=1.0)),
        ("refused", TANClassifier(categories={"no such column": ["a"]})),
        ("NB refitted", RefittedClassifier(NaiveBayesClassifier(ess=1.0))),
        ("ANB", ANBClassifier(ess=1.0)),
    ]
    expected, warned = pooled(X, y, members)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        found, given = pooled(X, y, members)
    pd.testing.assert_frame_equal(found.members_.drop(columns="seconds"), expected.members_.drop(columns="seconds"))
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
    assert given == warned
    assert (found.members_["seconds"] > 0).all()
    assert found.members_.loc["refused", "outcome"].startswith("refused")


@pytest.mark.slow
def test_a_pool_without_members_is_refused_on_workers():
    X, y = load_lenses()
    members = [("a", TANClassifier(categories={"x": ["a"]})), ("b", NaiveBayesClassifier(categories={"x": ["a"]}))]
    with joblib.parallel_config(backend="loky", n_jobs=2), pytest.raises(ValueError, match="'x'"):
        PooledClassifier(members).fit(X, y)


@pytest.mark.slow
def test_rows_left_out_are_the_same():
    table = DiscreteTable.from_frame(*load_lenses())
    expected = relearned_leave_one_out(table)
    told = []
    with joblib.parallel_config(backend="loky", n_jobs=2):
        found = relearned_leave_one_out(table, required=iter(()), progress=lambda *given: told.append(given))
    assert (found.log_loss, found.accuracy) == (expected.log_loss, expected.accuracy)
    pd.testing.assert_frame_equal(found.rows, expected.rows)
    pd.testing.assert_frame_equal(found.arcs, expected.arcs)
    assert [phase for phase, _ in told] == ["rows left out"] * 8
    assert told[-1][1] == 1.0
