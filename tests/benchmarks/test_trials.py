"""Trials of what breaks: how each ended is told right, on a busy machine too."""

import signal
import time

import pytest

from benchmarks.robustness import trials
from benchmarks.robustness.trials import forked


def endless():
    while True:
        pass


@pytest.mark.parametrize(("limit", "work"), [("SECONDS", endless), ("WAITS", lambda: time.sleep(60))])
def test_trials_that_hang_are_ended(limit, work, monkeypatch):
    monkeypatch.setattr(trials, limit, 0.05)
    assert forked(work).hung


def test_a_trial_that_has_to_wait_for_the_processor_does_not_hang(monkeypatch):
    monkeypatch.setattr(trials, "SECONDS", 0.05)
    outcome = forked(lambda: time.sleep(0.1) or "done")
    assert (outcome.result, outcome.hung) == ("done", False)


def test_a_trial_that_is_killed_or_fails_does_not_hang():
    outcome = forked(lambda: signal.raise_signal(signal.SIGKILL))
    assert (outcome.killed_by, outcome.hung) == (signal.SIGKILL, False)
    outcome = forked(lambda: 1 / 0)
    assert (outcome.killed_by, outcome.error) == (0, "ZeroDivisionError: division by zero")
