"""Ctrl-C at random moments of a fit, of a pool and of a comparison, of objects and of the command."""

from __future__ import annotations

import gc
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import NotFittedError

from anbexact import ANBClassifier, NaiveBayesClassifier, PooledClassifier, RefittedClassifier, TANClassifier, load
from anbexact.cli import main
from anbexact.compare import compare
from anbexact.datasets import load_monks
from benchmarks.harness.store import Row
from benchmarks.robustness.trials import forked
from benchmarks.robustness.writers import UNLIMITED, prepare

ESTIMATORS: dict[str, Callable[[], Any]] = {
    "TANClassifier": lambda: TANClassifier(ess=1.0, n_jobs=1),
    "ANBClassifier, two threads": lambda: ANBClassifier(ess=1.0, n_jobs=2),
    "RefittedClassifier": lambda: RefittedClassifier(TANClassifier(ess=1.0, n_jobs=1)),
    "PooledClassifier": lambda: PooledClassifier(
        [NaiveBayesClassifier(ess=1.0), TANClassifier(ess=1.0, n_jobs=1)], folds=2
    ),
}
COMMANDS = {
    "anbexact fit": ("fit", "{folder}/rows.csv", "--class", "monk", "-o", "{folder}/out.json"),
    "anbexact compare": (
        *("compare", "{folder}/rows.csv", "--class", "monk", "--models", "NB,TAN", "--folds", "2"),
        *("--no-refit", *UNLIMITED, "-o", "{folder}/out.csv"),
    ),
    "anbexact report": (
        "report",
        "{folder}/model.json",
        "{folder}/rows.csv",
        "--folds",
        "2",
        "-o",
        "{folder}/out.md",
    ),
}
N_ROWS, N_COLUMNS = 20_000, 14
"""The size of the tables of :func:`tables`."""


def tables() -> tuple[tuple[pd.DataFrame, Any], tuple[pd.DataFrame, Any]]:
    """Return the rows of an earlier and of a later fit, whose columns have other names.

    They are so many that a fit takes far longer than the 4 milliseconds between two looks at a process's clock.
    """
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N_ROWS)
    cells = (rng.random((N_ROWS, N_COLUMNS)) < 0.5) + y[:, None] * (rng.random((N_ROWS, N_COLUMNS)) < 0.3)
    X = pd.DataFrame(cells.astype(str), columns=[f"x{k}" for k in range(N_COLUMNS)])
    return (X, y), (X.add_suffix("_later").iloc[:, ::-1], y)


spent: list[float] = []
"""Processor seconds at the beginning and at the end of what was interrupted last."""


def interrupt_after(seconds: float, handler: Any = signal.default_int_handler) -> None:
    """Let Ctrl-C occur after some processor seconds of this process; never if they are infinite."""
    signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGPROF, lambda *_: signal.raise_signal(signal.SIGINT))
    spent[:] = [time.process_time()]
    if seconds < np.inf:
        signal.setitimer(signal.ITIMER_PROF, max(seconds, 1e-6))


def disarm() -> None:
    """Let no Ctrl-C occur from now on; one that is under way is raised in here."""
    signal.setitimer(signal.ITIMER_PROF, 0)
    time.sleep(0)


def left_as_found(handler: Any = signal.default_int_handler) -> list[str]:
    """Return what of this process is not as it was before an interrupt."""
    disarm()
    spent.append(time.process_time())
    wrong = {
        "the handler of Ctrl-C is another": signal.getsignal(signal.SIGINT) is not handler,
        "the garbage collector is off": not gc.isenabled(),
    }
    return [text for text, is_so in wrong.items() if is_so]


def whole(make: Callable[[], Any], is_fitted: bool, moment: float) -> str:
    """Interrupt a fit; return "as before", "fitted anew", "unfitted", or what is wrong."""
    (X, y), (later, of_later) = tables()
    estimator = make().fit(X, y) if is_fitted else make()
    before, expected = dict(vars(estimator)), estimator.predict_proba(X) if is_fitted else None
    try:
        interrupt_after(moment)
        estimator.fit(later, of_later)
        disarm()
        raised = False
    except KeyboardInterrupt:
        raised = True
    wrong = left_as_found()
    after = vars(estimator)
    if raised and list(after) == list(before) and all(after[name] is value for name, value in before.items()):
        if is_fitted:
            wrong += [] if np.array_equal(estimator.predict_proba(X), expected) else ["predicts otherwise"]
            return "; ".join(wrong) or "as before"
        try:
            estimator.predict(later)
        except NotFittedError:
            return "; ".join(wrong) or "unfitted"
        return "predicts although it is unfitted"
    found = estimator.predict_proba(later)
    if not np.allclose(found.sum(axis=1), 1):
        wrong.append("probabilities do not add up")
    return "; ".join(wrong) or "fitted anew"


def compared(moment: float) -> str:
    """Interrupt a comparison; return how it ends."""
    X, y = load_monks(1)
    try:
        interrupt_after(moment)
        frame = compare(X, y, folds=2, models=["NB", "TAN"], refit=False)
        disarm()
        ended = "finished" if len(frame) == 2 else f"{len(frame)} models"
    except KeyboardInterrupt as stopped:
        frame = getattr(stopped, "frame", None)
        ended = "interrupted" if frame is None else f"interrupted with {len(frame)} of 2 models"
    return "; ".join(left_as_found()) or ended


def complete(path: Path) -> bool:
    """Whether a file that a command wrote can be read to its end."""
    try:
        if path.suffix == ".json":
            return len(load(path).classes_) == 2
        return len(pd.read_csv(path)) == 2 if path.suffix == ".csv" else path.read_text("utf-8").endswith("\n")
    except Exception:
        return False


def commanded(arguments: tuple[str, ...], moment: float) -> str:
    """Interrupt the command; return its exit status, and what is wrong with its messages and its files.

    As in the command itself, Ctrl-C ends the process where no work is done.
    """
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        before = set(Path(folder).iterdir())

        def run() -> tuple[str, float]:
            interrupt_after(moment, signal.SIG_DFL)
            code = main([argument.format(folder=folder) for argument in arguments])
            wrong = left_as_found(signal.SIG_DFL)
            return "; ".join([f"status {code}", *wrong]), spent[1] - spent[0]

        outcome = forked(run)
        ended, took = outcome.result or (outcome.error or f"signal {outcome.killed_by}", np.nan)
        spent[:], told = [0.0, took], [ended]
        left = sorted(path.name for path in set(Path(folder).iterdir()) - before)
        told += [f"left {name}" for name in left if name.startswith(".")]
        told += [f"{name} is not complete" for name in left if not complete(Path(folder, name))]
        told += ["no file"] * (told[0] == "status 0" and left == [])
        told += ["a traceback"] * ("Traceback" in outcome.printed)
        return "; ".join(told)


GOOD = ("as before", "fitted anew", "unfitted", "finished", "interrupted", "status 0", "status 130", "signal 2")


def interrupted(name: str, share: int, n_moments: int) -> list[Row]:
    """Interrupt a work at random moments, each in a process of its own; ``share`` is the seed."""
    if name in ESTIMATORS:
        works = [lambda moment, again=again: whole(ESTIMATORS[name], again, moment) for again in (True, False)]
    elif name == "compare":
        works = [compared]
    else:
        works = [lambda moment: commanded(COMMANDS[name], moment)]
    rng, rows = np.random.default_rng(share), []
    for work in works:
        took = forked(lambda work=work: (work(np.inf), spent[1] - spent[0])[1]).result
        for moment in rng.uniform(0, took, n_moments // len(works)):
            outcome = forked(lambda work=work, moment=moment: work(moment))
            told = outcome.result or outcome.error or f"signal {outcome.killed_by}"
            good = told.startswith(GOOD) and ";" not in told and "Traceback" not in outcome.printed
            rows.append({"where": "a random moment", "good": good, "found": told})
    return rows
