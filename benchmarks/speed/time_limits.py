"""How well time limits are kept: exact ANB, refits, smooth shapes, the pool and the automatic classifier.

Each is fitted to all rows of the largest tables of ``../shared/data``, with limits of 2, 5 and 10 seconds. Limits of
refits are those of the refit alone, and their network is learned before; its seconds are left out.

Target: at most a tenth and one second above the limit. Takes eight minutes; writes
``docs/measurements/time_limits.csv``. Run it on an idle machine.
"""

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd
from sklearn.frozen import FrozenEstimator

from anbexact import (
    AdditiveClassifier,
    ANBClassifier,
    AutoClassifier,
    NaiveBayesClassifier,
    PooledClassifier,
    RefittedClassifier,
    TANClassifier,
)
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import read
from benchmarks.harness.timing import timed

LIMITS = (2.0, 5.0, 10.0)
TABLES = ("spect", "segment", "waveform21", "pendigits", "letter", "magic")
SHARE, MORE = 0.1, 1.0
"""A fit may take so much of the limit, and so many seconds, above it."""


def models(network: TANClassifier, limit: float) -> dict[str, Any]:
    """Return what is fitted within a limit, given a fitted network for refits."""
    smooth = partial(AdditiveClassifier, FrozenEstimator(network), time_limit=limit)
    return {
        "ANB": ANBClassifier(time_limit=limit, n_jobs=1),
        "refit": RefittedClassifier(FrozenEstimator(network), time_limit=limit),
        "smooth": smooth(),
        "smooth, strengths by cross-validation": smooth(smooth="cv"),
        "smooth, further pairs": smooth(interactions="more"),
        "pool": PooledClassifier(time_limit=limit, n_jobs=1),
        "automatic": AutoClassifier(time_budget=limit, n_jobs=1, verbose=-1),
    }


def one_table(name: str) -> list[Row]:
    """Return the seconds of every model under every limit."""
    warnings.simplefilter("ignore")
    X, y = read(name)
    network = TANClassifier(n_jobs=1).fit(X, y)
    few = X[:40], y[:40]
    for model in models(NaiveBayesClassifier().fit(*few), 60.0).values():
        model.fit(*few)  # kernels are compiled, or loaded
    rows = []
    for limit in LIMITS:
        for model, classifier in models(network, limit).items():
            took = timed(classifier.fit, X, y).seconds
            rows.append({"model": model, "limit": limit, "seconds": took, "over": took - (1 + SHARE) * limit - MORE})
    return rows


def tasks(run: Run) -> Iterator[tuple[str]]:
    """Yield the tables."""
    names = list(run.manifest()["name"])
    yield from ((name,) for name in (names[:1] if run.smoke else names) if run.smoke or name in TABLES)


def main(run: Run) -> None:
    """Measure what is missing, and say by how much the worst fits are late."""
    measured = run.measure("time_limits", ["table"], tasks(run), one_table, jobs=1)
    run.write("time_limits", measured.set_index(["table", "model", "limit"])[["seconds"]], 2)
    show(measured.pivot_table("seconds", ["table", "model"], "limit"), "seconds")
    worst = pd.DataFrame({"fits": [len(measured)], "too late": [(measured["over"] > 0).sum()]})
    show(worst.assign(**{"largest excess, s": measured["over"].max()}))
