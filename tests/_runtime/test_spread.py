"""Independent jobs on the workers of joblib's backends."""

import os
import pickle
import signal
import time
import warnings
from concurrent.futures.process import BrokenProcessPool

import joblib
import numpy as np
import pytest

from anbexact._runtime.deadline import Deadline, interruptible, raising_interrupts
from anbexact._runtime.memory import available_memory, n_processors, share_of_machine
from anbexact._runtime.spread import spread, worker_count
from anbexact._runtime.tasks import thread_count
from anbexact.tables.missing import LostClassError


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


def changed(_shared, job):
    job += 1
    return job


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
def test_arrays_of_jobs_can_be_written_to(backend):
    """Where they are so large that joblib would hand them over in a file."""
    with joblib.parallel_config(backend=backend, n_jobs=2):
        for result in spread(changed, None, [np.zeros(300_000)] * 2):
            assert result.sum() == 300_000


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


def test_a_deadline_passes_at_the_same_time_elsewhere():
    limited, free, passed = (pickle.loads(pickle.dumps(Deadline(seconds))) for seconds in (100.0, None, 0.0))
    assert 99.0 < limited.left <= 100.0
    assert free.left == np.inf
    assert passed.passed


def test_an_interrupt_is_raised_at_once_while_others_work():
    deadline = Deadline()
    with interruptible(deadline):
        with pytest.raises(KeyboardInterrupt), raising_interrupts():
            signal.raise_signal(signal.SIGINT)
        assert not deadline.interrupted
        signal.raise_signal(signal.SIGINT)
        assert deadline.interrupted
