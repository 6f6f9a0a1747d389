"""What got slower: ratios to plain baselines, beside those of the stored last run.

    python -m benchmarks.speed.record [CASE ...] [--store] [--smoke]

Each case is timed in turn with a plain baseline that does similar work with scikit-learn, numpy or the plain exact
search, so that a slower machine, or a busy one, slows down both. What counts is the ratio of the processor seconds;
a case that looks slower is measured again. ``--store`` writes the
ratios into ``record.json``, beside this file; the status is 1 if something got slower.

Target: no ratio above the stored one by more than ``MARGIN`` and chance. Takes a minute.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from anbexact import (
    ANBClassifier,
    FANClassifier,
    MODLDiscretizer,
    NaiveBayesClassifier,
    RefittedClassifier,
    TANClassifier,
)
from anbexact.adapters import load, save
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.speed.fit import plain_search

RECORD = Path(__file__).with_name("record.json")
MARGIN = 1.15
"""A ratio is higher than the stored one if its lower quartile exceeds the stored upper quartile this many times."""
REPEATS = 7


@dataclass(frozen=True)
class Ratio:
    """Median and quartiles of the ratio of ours to the baseline, and the median processor seconds of ours."""

    ratio: float
    low: float
    high: float
    seconds: float


Work = Callable[[], object]
Pair = tuple[Work, Work]
"""Ours, and the baseline."""


def codes(X: pd.DataFrame) -> np.ndarray:
    """Return the categories of a frame as integers."""
    return np.column_stack([X[column].cat.codes for column in X])


def table(run: Run, n: int, rows: int, states: int) -> tuple[pd.DataFrame, pd.Series]:
    """Return a generated table of categorical dtype."""
    X, y = run.generated(n, rows, states, 2)
    return X.astype("category"), y


def importing(_run: Run) -> Pair:
    """``import anbexact``, against scikit-learn's naive Bayes."""
    return tuple(
        lambda module=module: subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
        for module in ("anbexact", "sklearn.naive_bayes")
    )


def nb_fit(run: Run) -> Pair:
    """Fit of naive Bayes, against CategoricalNB on integers."""
    X, y = table(run, 20, 20_000, 4)
    integers, model = codes(X), NaiveBayesClassifier(ess=1.0)
    return lambda: model.fit(X, y), lambda: CategoricalNB().fit(integers, y)


def tan_fit(run: Run) -> Pair:
    """Fit of the TAN, against numpy's counts of all pairs of features."""
    X, y = table(run, 40, 5_000, 3)
    integers, class_codes, model = (
        codes(X).T.astype(np.int64),
        y.astype("category").cat.codes.to_numpy(),
        TANClassifier(ess=1.0),
    )

    def pairs() -> None:
        for i, first in enumerate(integers):
            joint = (first * 3 + integers[:i]) * 2 + class_codes
            for second in joint:
                np.bincount(second, minlength=18)

    return lambda: model.fit(X, y), pairs


def anb_fit(run: Run) -> Pair:
    """Fit of the exact ANB, against the plain exact search."""
    X, y = table(run, 14, 1_000, 3)
    model = ANBClassifier(ess=1.0, max_parents=None)
    return lambda: model.fit(X, y), lambda: plain_search(X, y)


def nb_predict(run: Run) -> Pair:
    """Predictions of naive Bayes, against CategoricalNB on integers."""
    X, y = table(run, 20, 20_000, 4)
    integers, model = codes(X), NaiveBayesClassifier(ess=1.0).fit(X, y)
    peer = CategoricalNB().fit(integers, y)
    return lambda: model.predict_proba(X), lambda: peer.predict_proba(integers)


def tan_predict(run: Run) -> Pair:
    """Predictions of the TAN, against CategoricalNB on integers."""
    X, y = table(run, 20, 20_000, 4)
    integers, model = codes(X), TANClassifier(ess=1.0).fit(X, y)
    peer = CategoricalNB().fit(integers, y)
    return lambda: model.predict_proba(X), lambda: peer.predict_proba(integers)


def missing_predict(run: Run) -> Pair:
    """Predictions of the TAN for rows with missing cells, against CategoricalNB on complete rows."""
    X, y = table(run, 20, 5_000, 4)
    integers, model = codes(X), TANClassifier(ess=1.0).fit(X, y)
    peer = CategoricalNB().fit(integers, y)
    holed = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    return lambda: model.predict_proba(holed), lambda: peer.predict_proba(integers)


def cut_points(run: Run) -> Pair:
    """MODL's cut points of 10 columns, against a decision tree for each."""
    rows = 60 if run.smoke else 2_000
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, rows)
    X = pd.DataFrame(rng.normal(size=(rows, 10)) + y[:, None] * 0.5)

    def trees() -> None:
        for column in X:
            DecisionTreeClassifier(max_leaf_nodes=8).fit(X[[column]], y)

    return lambda: MODLDiscretizer().fit(X, y), trees


def refit(run: Run) -> Pair:
    """Forest learned and refitted, against logistic regression on indicators."""
    X, y = table(run, 12, 3_000, 3)
    model = RefittedClassifier(FANClassifier(ess=1.0), l2=1.0)
    return lambda: model.fit(X, y), lambda: LogisticRegression(max_iter=500).fit(OneHotEncoder().fit_transform(X), y)


def files(run: Run) -> Pair:
    """Saving and loading a TAN as JSON, against writing and reading as many numbers by the standard library."""
    X, y = table(run, 30, 5_000, 4)
    model = TANClassifier(ess=1.0).fit(X, y)
    numbers = np.random.default_rng(0).random((30, 32)).tolist()

    def ours(path: Path) -> None:
        save(model, path)
        load(path)

    def plain(path: Path) -> None:
        path.write_text(json.dumps(numbers), encoding="utf-8")
        json.loads(path.read_text(encoding="utf-8"))

    def in_folder(work: Callable[[Path], None]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            work(Path(folder, "model.json"))

    return lambda: in_folder(ours), lambda: in_folder(plain)


CASES: dict[str, Callable[[Run], Pair]] = {
    case.__name__: case
    for case in (
        importing,
        nb_fit,
        tan_fit,
        anb_fit,
        nb_predict,
        tan_predict,
        missing_predict,
        cut_points,
        refit,
        files,
    )
}


def used_with_children(work: Work) -> float:
    """Call once; return the processor seconds of this process and of those that it waited for."""
    before = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    work()
    after = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(b.ru_utime + b.ru_stime - a.ru_utime - a.ru_stime for a, b in zip(before, after, strict=True))


def measured(pair: Pair, repeats: int) -> Ratio:
    """Time both works in turn, after a first call of each that compiles and is not counted."""
    for work in pair:
        work()
    times = np.array([[used_with_children(work) for work in pair] for _ in range(repeats)])
    low, ratio, high = np.quantile(times[:, 0] / times[:, 1], [0.25, 0.5, 0.75])
    return Ratio(float(ratio), float(low), float(high), float(np.median(times[:, 0])))


def verdict(now: Ratio, before: Ratio | None) -> str:
    """Say whether a ratio changed by more than chance: its quartiles against those that are stored."""
    if before is None:
        return "new"
    if now.low > MARGIN * before.high:
        return "slower"
    return "faster" if now.high * MARGIN < before.low else "as before"


def stored(path: Path = RECORD) -> dict[str, Ratio]:
    """Return the ratios of the stored last run; none if there is no record."""
    if not path.exists():
        return {}
    return {name: Ratio(**found) for name, found in json.loads(path.read_text(encoding="utf-8"))["cases"].items()}


def store(found: dict[str, Ratio], path: Path = RECORD) -> None:
    """Write the ratios, with where they were measured; cases that were not measured keep theirs."""
    kept = {**stored(path), **found}
    libraries = ("numpy", "numba", "pandas", "scikit-learn")
    record: dict[str, Any] = {
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} processors",
        "versions": {name: version(name) for name in libraries},
        "cases": {
            name: {k: float(f"{v:.4g}") for k, v in asdict(kept[name]).items()} for name in CASES if name in kept
        },
    }
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def compare(run: Run, names: Iterable[str] = CASES) -> tuple[dict[str, Ratio], list[str]]:
    """Measure, print the comparison with the stored run, and return the ratios and what got slower."""
    before, found, rows, slower = stored(), {}, [], []
    for name in names:
        pair, repeats = CASES[name](run), 1 if run.smoke else REPEATS
        now = measured(pair, repeats)
        says = verdict(now, before.get(name))
        if says == "slower" and not run.smoke:
            now = min(now, measured(pair, repeats), key=lambda one: one.ratio)
            says = verdict(now, before.get(name))
        found[name] = now
        if says == "slower" and not run.smoke:
            slower.append(name)
        rows.append(
            {
                "case": name,
                "processor s": now.seconds,
                "ratio": now.ratio,
                "quartiles": f"{now.low:.3g} to {now.high:.3g}",
                "stored": before[name].ratio if name in before else None,
                "verdict": "not compared" if run.smoke else says,
            }
        )
    show(rows)
    return found, slower


def main(run: Run) -> None:
    """Measure all cases, and compare them with the stored run."""
    compare(run)


def command(arguments: list[str] | None = None) -> int:
    """Do what the command line says; return 1 if something got slower."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.record", description="What got slower?")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"any of {', '.join(CASES)} (default: all)")
    parser.add_argument("--store", action="store_true", help="write the ratios, for the next run to compare with")
    parser.add_argument("--smoke", action="store_true", help="tiny tables, nothing compared or stored")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.cases if name not in CASES]
    if unknown:
        parser.error(f"unknown case {unknown[0]!r}: choose from {', '.join(CASES)}")
    found, slower = compare(Run(smoke=options.smoke), options.cases or CASES)
    if options.store and not options.smoke:
        store(found)
        print(f"stored in {RECORD.name}")
    print(f"slower than the stored run: {', '.join(slower)}" if slower else "nothing got slower")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(command())
