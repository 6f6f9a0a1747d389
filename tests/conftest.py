"""Settings of all tests: hypothesis draws the same examples every time, few of them, without a clock."""

import signal

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    max_examples=60,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("repeatable")


@pytest.fixture(scope="session", autouse=True)
def _interrupts():
    """Let Ctrl-C raise, also where the tests were started in the background, which ignores it."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)
