"""Processes that compile at once or are forked, too little memory, and streams that are missing or narrow."""

from __future__ import annotations

import importlib
import io
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numba import njit

from anbexact import ANBClassifier, TANClassifier
from anbexact._kernels.jit import kernel
from anbexact._runtime.memory import available_memory
from anbexact.cli import main
from benchmarks.harness.places import ROOT
from benchmarks.harness.store import Row
from benchmarks.harness.tables import generated
from benchmarks.robustness.trials import WAITS, forked, together
from benchmarks.robustness.writers import UNLIMITED, prepare, table

SUMS = """
def total(values):
    result = values[0]
    for value in values[1:]:
        result += value
    return result
"""
"""A kernel that two processes compile for arguments of different types."""
ARGUMENTS = (np.array([1, 2, 4]), np.array([0.5, 0.25]))
SAVINGS = {"kernel": kernel, "numba alone": njit(nogil=True, cache=True)}
GROUPS = {"version 1": "memory/{}/memory.limit_in_bytes", "version 2": "{}/memory.max"}
"""The file with the limit of a control group, below ``/sys/fs/cgroup``."""
LEFT_OUT = "left out"
"""How what was found begins where a trial is not possible."""
NARROW = ("cp1252", "ascii")


def compiled_at_once(name: str, _share: int, n_trials: int) -> list[Row]:
    """Let two processes compile two signatures of a kernel at once, and a third one load both."""
    rows = []
    for _ in range(n_trials):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "sums.py")
            path.write_text(SUMS)

            def answers(which: tuple[int, ...], path: Path = path) -> list[float]:
                sys.path.insert(0, str(path.parent))
                module = importlib.import_module("sums")
                compiled = SAVINGS[name](module.total)
                return [float(compiled(ARGUMENTS[k])) for k in which]

            together([lambda: answers((0,)), lambda: answers((1,))])
            outcome = forked(lambda: answers((0, 1)))
            told = f"{outcome.result}" if outcome.result else f"signal {outcome.killed_by} {outcome.error}"
            rows.append({"where": "an empty folder", "good": outcome.result == [7.0, 0.75], "found": told})
    return rows


def forked_beside_threads(_name: str, _share: int, n_trials: int) -> list[Row]:
    """Fork while another thread fits and compiles; the new process must fit, too, and not wait for that thread."""
    frame, rows, stop = table(), [], threading.Event()
    X, y = frame.drop(columns="monk"), frame["monk"]

    def busy() -> None:
        number = 0
        while not stop.wait(0.01):
            ANBClassifier(ess=1.0, n_jobs=2).fit(X, y)
            number += 1
            njit(lambda x, number=number: x + number)(1.0)

    def fit() -> float:
        njit(lambda x: x * 2.0)(1.0)
        return float(ANBClassifier(ess=1.0, n_jobs=2).fit(X, y).score(X, y))

    expected = fit()
    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(n_trials):
            outcome = forked(fit)
            told = "hung" if outcome.hung else outcome.error or str(outcome.result)
            rows.append({"where": "beside a thread", "good": outcome.result == expected, "found": told})
    finally:
        stop.set()
        thread.join()
    return rows


def little_memory(_name: str, _share: int, n_trials: int) -> list[Row]:
    """Learn under limits of the process (``ulimit -v``): either a result, or an error that says what helps."""
    X, y = generated(16, 300, 3, 2)
    rows = []
    for spare in np.geomspace(4e6, 1e9, n_trials):

        def learn(spare: float = spare) -> tuple[int, bool]:
            used = psutil.Process().memory_info().vms
            resource.setrlimit(resource.RLIMIT_AS, (used + int(spare), resource.RLIM_INFINITY))
            seen = available_memory()
            ANBClassifier(ess=1.0, n_jobs=1).fit(X, y)
            return seen, seen <= spare

        outcome = forked(learn)
        told = "learned" if outcome.result else outcome.error or f"signal {outcome.killed_by}"
        refused = told.startswith("SearchTooLargeError") or "memory" in told
        good = outcome.result[1] if outcome.result else refused and not outcome.killed_by
        rows.append({"where": f"{spare / 1e6:.0f} MB more", "good": good, "found": told})
    return rows


def limited_group(name: str, _share: int, _n: int) -> list[Row]:
    """Ask for the memory in a control group that has a limit, where this process may make one."""
    limits = Path("/sys/fs/cgroup", GROUPS[name].format(f"anbexact-{os.getpid()}"))
    group = limits.parent
    try:
        group.mkdir()
    except OSError:
        return [{"where": "a control group", "good": True, "found": f"{LEFT_OUT}: no group can be made here"}]
    try:
        if not limits.exists():  # Linux makes it where this version is in use
            return [{"where": "a control group", "good": True, "found": f"{LEFT_OUT}: not in use here"}]
        limit = psutil.Process().memory_info().rss + (512 << 20)
        limits.write_text(str(limit))

        def ask() -> int:
            (group / "cgroup.procs").write_text(str(os.getpid()))
            return available_memory()

        outcome = forked(ask)
        found = outcome.result or 0
        return [{"where": "a control group", "good": 0 < found <= limit, "found": f"{found} of {limit}"}]
    finally:
        group.rmdir()


def read_only(name: str, _share: int, _n: int) -> list[Row]:
    """Run a command of an installation that cannot be written to, without a home, and again with a place for kernels.

    Files stand in the place of folders, so that no user, not even root, can write there.
    """
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        site, kept = Path(folder, "site"), Path(folder, "compiled")
        for package in ("anbexact", "adapters"):
            shutil.copytree(ROOT / package, site / package, ignore=shutil.ignore_patterns("__pycache__"))
        (site / "anbexact" / "_kernels" / "__pycache__").touch()
        prepare(Path(folder))
        left_out = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
        environment = {key: value for key, value in os.environ.items() if key not in left_out}
        environment.update(PYTHONPATH=str(site), PYTHONDONTWRITEBYTECODE="1", HOME=os.devnull)
        if name != "without a home":
            environment["NUMBA_CACHE_DIR"] = str(kept)
        command = [sys.executable, "-m", "anbexact", "fit", "rows.csv", "--class", "monk", "--model", "nb"]
        for where in ("the first time", "the second time"):
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, timeout=WAITS, check=False
            )
            hints, saved = done.stderr.count("NUMBA_CACHE_DIR"), len(list(kept.rglob("*.nbc")))
            good = done.returncode == 0 and (hints, saved > 0) == (
                (1, False) if name == "without a home" else (0, True)
            )
            told = f"status {done.returncode}, {hints} hints, {saved} kernels kept"
            rows.append({"where": where, "good": good, "found": told})
    return rows


def streamed(name: str, _share: int, _n: int) -> list[Row]:
    """Run each command without streams, or with streams that lack characters and refuse them."""
    rows = []
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root)
        prepare(folder)
        frame = (
            table()
            .astype(str)
            .rename(columns={"holding": "hält → ł"})
            .replace({"red": "röd 😀", "yes": "да", "no": "naïve"})
        )
        frame.to_csv(folder / "rows.csv", index=False)
        X, y = frame.drop(columns="monk"), frame["monk"]
        TANClassifier(ess=1.0, n_jobs=1).fit(X, y).save(folder / "model.json")
        commands = {
            "fit": ("rows.csv", "--class", "monk", "--model", "tan", "--ess", "1"),
            "compare": ("rows.csv", "--class", "monk", "--models", "NB", "--folds", "2", *UNLIMITED),
            "predict": ("model.json", "rows.csv", "--proba"),
            "report": ("model.json", "rows.csv", "--no-validation", "--markdown"),
            "sample": ("model.json", "--rows", "5"),
            "--help": (),
        }

        def run(command: str, arguments: tuple[str, ...]) -> int:
            os.chdir(folder)
            streams: list[Any] = [None, None]
            if name in NARROW:
                streams = [io.TextIOWrapper(io.BytesIO(), encoding=name, errors="strict") for _ in streams]
            with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
                return main([command, *arguments])

        for command, arguments in commands.items():
            outcome = forked(lambda command=command, arguments=arguments: run(command, arguments))
            told = outcome.error if outcome.result is None else f"status {outcome.result}"
            rows.append({"where": command, "good": outcome.result == 0, "found": told})
    return rows
