"""People are told once that kernels are being compiled, and only if they watch."""

import gc
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from numba.core.compiler_lock import global_compiler_lock

import anbexact
from anbexact._runtime import deadline
from anbexact._runtime.deadline import ONCE
from anbexact._runtime.deadline import compilation as heard


class Terminal(StringIO):
    def isatty(self):
        return True


def kernel_of(module):
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=SimpleNamespace(__module__=module))})


@pytest.mark.parametrize(
    ("stream", "module", "seconds", "expected"),
    [
        (Terminal, "anbexact._kernels.lattice", 1.0, f"{ONCE}\n"),
        (StringIO, "anbexact._kernels.lattice", 1.0, ""),  # nobody watches
        (Terminal, "elsewhere", 1.0, ""),  # somebody else's kernel
        (Terminal, "anbexact._kernels.lattice", 0.01, ""),  # loaded from disk
    ],
)
def test_the_line(monkeypatch, stream, module, seconds, expected):
    monkeypatch.setattr(sys, "stderr", stream())
    clock = iter([0.0, seconds] * 2)
    monkeypatch.setattr(deadline.time, "perf_counter", lambda: next(clock))
    listener = type(heard)()
    for _ in range(2):
        listener.on_start(kernel_of(module))
        listener.on_end(kernel_of(module))
    assert sys.stderr.getvalue() == expected
    assert listener.seconds == 2 * seconds


def test_code_that_cannot_be_kept_is_told_of_once(monkeypatch):
    monkeypatch.setattr(sys, "stderr", StringIO())  # also where nobody watches
    monkeypatch.setattr(deadline, "KEPT", False)
    clock = iter([0.0, 1.0] * 2)
    monkeypatch.setattr(deadline.time, "perf_counter", lambda: next(clock))
    listener = type(heard)()
    kernel = kernel_of("anbexact._kernels.lattice")
    listener.on_start(kernel)
    with pytest.warns(UserWarning, match="NUMBA_CACHE_DIR"):
        listener.on_end(kernel)
    listener.on_start(kernel)
    with warnings.catch_warnings(action="error"):
        listener.on_end(kernel)


def test_a_disk_that_is_full_is_told_of_once(monkeypatch):
    monkeypatch.setattr(deadline, "failures", [OSError(28, "No space left on device", "/cache/a.nbc")] * 2)
    clock = iter([0.0, 0.01] * 2)
    monkeypatch.setattr(deadline.time, "perf_counter", lambda: next(clock))
    listener = type(heard)()
    kernel = kernel_of("anbexact._kernels.lattice")
    listener.on_start(kernel)
    with pytest.warns(UserWarning, match=r"/cache/a\.nbc failed \(No space left on device\).* NUMBA_CACHE_DIR"):
        listener.on_end(kernel)
    listener.on_start(kernel)
    with warnings.catch_warnings(action="error"):
        listener.on_end(kernel)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_waits_for_a_thread_that_compiles():
    """Otherwise the new process would wait for that thread, which it does not have."""
    compiles, done = threading.Event(), []

    def compile_slowly():
        with global_compiler_lock:
            compiles.set()
            time.sleep(0.05)
            done.append("compiled")

    thread = threading.Thread(target=compile_slowly)
    thread.start()
    compiles.wait()
    process = os.fork()
    if process == 0:
        signal.alarm(30)
        free = global_compiler_lock._lock.acquire(timeout=20) and heard.seconds >= 0
        os._exit(0 if free and done else 1)
    thread.join()
    assert os.waitpid(process, 0)[1] == 0


WITHOUT_A_HOME = """
import pandas as pd
from anbexact import NaiveBayesClassifier, __file__
X, y = pd.DataFrame({"a": ["x", "y"] * 20}), ["p", "q"] * 20
print(__file__, *NaiveBayesClassifier().fit(X, y).predict(X)[:2])
"""


@pytest.mark.slow
def test_an_installation_that_cannot_be_written_works_without_a_home(tmp_path):
    """Files in the place of folders, so that no user, not even root, can write there."""
    root = Path(anbexact.__file__).parents[1]
    for package in ("anbexact", "adapters"):
        shutil.copytree(root / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "anbexact/_kernels/__pycache__").touch()
    kept = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in kept}
    environment.update(PYTHONPATH=str(tmp_path), PYTHONDONTWRITEBYTECODE="1", HOME=os.devnull)
    command = [sys.executable, "-c", WITHOUT_A_HOME]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.split() == [str(tmp_path / "anbexact/__init__.py"), "p", "q"]
    assert run.stderr.count("NUMBA_CACHE_DIR") == 1
    environment["NUMBA_CACHE_DIR"] = str(tmp_path / "compiled")
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert run.stderr == ""
    assert list((tmp_path / "compiled").rglob("*.nbc"))


@pytest.mark.parametrize("collects", [True, False])
def test_the_garbage_collector_waits_for_the_compiler_and_is_left_as_it_was(collects):
    listener = type(heard)()
    (gc.enable if collects else gc.disable)()
    try:
        listener.on_start(kernel_of("elsewhere"))
        listener.on_start(kernel_of("elsewhere"))
        listener.on_end(kernel_of("elsewhere"))
        during = gc.isenabled()
        listener.on_end(kernel_of("elsewhere"))
        assert (during, gc.isenabled()) == (False, collects)
    finally:
        gc.enable()
