"""The tier of a run, and what holds for all tests."""

import gc
import os
import signal
from pathlib import Path

import pytest
import scipy.linalg  # noqa: F401, so that its threads are limited too
from hypothesis import settings
from real_parts import PARTS, part_of, summary
from threadpoolctl import threadpool_limits
from tiers import EXAMPLES, MOST_CASES, register_profiles, thinned

from anbexact import AutoClassifier
from anbexact._runtime.memory import share_of_machine


def pytest_addoption(parser):
    """Let ``--tier`` choose how much is tested."""
    parser.addoption(
        "--tier",
        choices=list(EXAMPLES),
        default="quick",
        help="quick: few examples of every property and few cases of large grids; merge: more of both, and the slow "
        "tests; full: everything; fuzz: many random examples, for tests/fuzz",
    )
    parser.addoption(
        "--real",
        default="",
        metavar="PARTS",
        help="run the tests of these real parts alone, separated by commas, and take a skipped test for a failed one",
    )
    parser.addoption("--real-table", metavar="FILE", help="write a table of the real parts as CSV")


def real_parts(config):
    """Return the real parts that were asked for, in the order of their names."""
    asked_for = sorted(filter(None, config.getoption("real").split(",")))
    if unknown := set(asked_for) - set(PARTS):
        raise pytest.UsageError(f"--real names {', '.join(sorted(unknown))}; the parts are {', '.join(PARTS)}")
    return asked_for


def pytest_configure(config):
    """Load the tier's Hypothesis profile before the modules with the properties are imported."""
    config.addinivalue_line("markers", "slow: left out of the quick tier")
    config.addinivalue_line("markers", "real(part): needs a library, server or program of tests/real_parts.py")
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
    """Thin what is not asked for by node id or by ``-k`` as the tier says; keep the tests of the real parts."""
    for item in items:
        item.user_properties.append(("real", part_of(item)))
    if parts := real_parts(config):
        others = [item for item in items if part_of(item) not in parts]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if part_of(item) in parts]
    asked_for = config.option.keyword or any("::" in arg for arg in config.args)
    tier = config.getoption("tier")
    if tier not in MOST_CASES or asked_for:
        return
    own = [item for item in items if tier != "quick" or not item.get_closest_marker("slow")]
    kept = thinned((item.nodeid for item in own), MOST_CASES[tier])
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in kept])
    items[:] = [item for item in items if item.nodeid in kept]


def pytest_runtest_setup(item):
    """Skip a test whose real part is not here."""
    if (part := part_of(item)) is not None and (reason := PARTS[part].missing()):
        pytest.skip(reason)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Let a test fail that is skipped although its part was asked for."""
    report = yield
    if report.skipped and part_of(item) in real_parts(item.config):
        report.outcome = "failed"
        report.longrepr = f"skipped, though {part_of(item)} was asked for: {call.excinfo.value}"
    return report


def pytest_terminal_summary(terminalreporter, config):
    """Say what was run of every real part that was asked for."""
    if not (parts := real_parts(config)):
        return
    reports = [report for of in ("passed", "failed", "error") for report in terminalreporter.getreports(of)]
    lines = summary(parts, reports)
    terminalreporter.section("real parts")
    terminalreporter.write("\n".join([*lines, ""]))
    if (path := config.getoption("real_table")) is not None:
        Path(path).write_text("\n".join([*lines, ""]), encoding="utf-8")


@pytest.fixture
def few_members(monkeypatch):
    """Let AutoClassifier learn every other of its models: whole comparisons then take seconds, not minutes."""
    chosen = AutoClassifier._automatic
    monkeypatch.setattr(AutoClassifier, "_automatic", staticmethod(lambda *size, **how: chosen(*size, **how)[::2]))


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
