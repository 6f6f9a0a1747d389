"""The tier of a run, and what holds for all tests."""

import gc
import os
import signal

import pytest
import scipy.linalg  # noqa: F401, so that its threads are limited too
from hypothesis import settings
from threadpoolctl import threadpool_limits
from tiers import EXAMPLES, register_profiles, thinned

from anbexact._runtime.memory import share_of_machine


def pytest_addoption(parser):
    """Let ``--tier`` choose how much is tested."""
    parser.addoption(
        "--tier",
        choices=list(EXAMPLES),
        default="quick",
        help="quick: few examples of every property and few cases of large grids; full: everything; "
        "fuzz: many random examples, for tests/fuzz",
    )


def pytest_configure(config):
    """Load the tier's Hypothesis profile before the modules with the properties are imported."""
    config.addinivalue_line("markers", "slow: left out of the quick tier")
    register_profiles()
    settings.load_profile(config.getoption("tier"))


def pytest_collection():
    """Collect no garbage while thousands of tests are collected: that takes half of the time, and finds none."""
    gc.disable()


def pytest_collection_finish():
    """Nor look for garbage among the tests from then on."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)  # fits make many objects and few cycles: searching for these took a twentieth
    gc.enable()


def pytest_collection_modifyitems(config, items):
    """Thin the quick tier, but for what is asked for by node id or by ``-k``."""
    asked_for = config.option.keyword or any("::" in arg for arg in config.args)
    if config.getoption("tier") != "quick" or asked_for:
        return
    fast = [item for item in items if not item.get_closest_marker("slow")]
    kept = thinned(item.nodeid for item in fast)
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in kept])
    items[:] = [item for item in items if item.nodeid in kept]


@pytest.fixture(scope="session", autouse=True)
def _interrupts():
    """Let Ctrl-C raise, also where the tests were started in the background, which ignores it."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


@pytest.fixture(scope="session", autouse=True)
def _machine():
    """Let every worker of pytest use its part of the machine, since they run at the same time.

    Linear algebra has one thread: the matrices of tests are small, and threads that wait for each other keep
    processors busy.
    """
    with share_of_machine(int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))), threadpool_limits(1, "blas"):
        yield
