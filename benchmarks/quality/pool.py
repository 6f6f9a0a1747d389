"""The pool beside its members, the best single model, and what people would take: log loss, accuracy, calibration.

Ten-fold cross-validation over the tables of ``../shared/data`` with at most 20,000 rows; of tables with more than
1,500 rows, one of the folds (all of them with ``--full``). ``pool`` is :class:`~anbexact.PooledClassifier` with its
defaults. Beside it naive Bayes, TAN, exact ANB and kDB (k = 2) as they are learned, AODE, and these networks with
smooth shapes, unless these would have too many coefficients; on tables without columns to be cut, networks refitted,
a smooth kDB, and kDB with k = 5 and hierarchical tables; scikit-learn's logistic regression (scaled and one-hot, C by
cross-validation within the training rows), random forest (300 trees, probabilities clipped at 0.001) and histogram
gradient boosting; if interpret-core is installed, also the explainable boosting machine (minutes a fit). Everything
is learned within the folds.

The best single model of a table is the one with the lowest log loss on the very rows that are judged, so that no
choice could have been better. The calibration error of a model whose probabilities are right is not 0, since the
frequencies of few rows vary; ``if_calibrated`` is its expected value.

Target: the pool's mean log loss below that of every rival, and below that of every single model by 0.02; its accuracy
at most 0.005 below that of the best rival; its expected calibration error at most 0.03; worse than the best of its
members by more than 0.01 on at most 3 tables; a fit in 25 times that of its slowest member. ``docs/guides/pool.md``
has the outcome. Takes hours; it is resumable. Writes ``docs/measurements/pool.csv``, for every table
``docs/measurements/pool_tables.csv``, and for every fold ``docs/measurements/pool_folds.csv``; draws
``docs/measurements/pool.png``. To go on from measurements that are kept there, copy ``pool_folds.csv`` to
``benchmarks/results/pool.csv``.
"""

import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

from anbexact import (
    AdditiveClassifier,
    ANBClassifier,
    NaiveBayesClassifier,
    PooledClassifier,
    RefittedClassifier,
    TANClassifier,
)
from anbexact.classifiers import AODEClassifier, KDBClassifier
from anbexact.classifiers.pooling.members import (
    INTERVALS,
    MANY_FEATURES,
    MANY_UNKNOWNS,
    MOST_SETS_TIMES_ROWS,
    MOST_UNKNOWNS,
    ROWS_FOR_REFITS,
)
from benchmarks.harness.folds import judge, means, splits
from benchmarks.harness.output import panels, save, show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import read
from benchmarks.harness.timing import timed
from benchmarks.quality.smooth_shapes import SMALLEST, prepared, rivals

NETWORKS = {
    "NB": NaiveBayesClassifier,
    "TAN": TANClassifier,
    "ANB": ANBClassifier,
    "kDB": KDBClassifier,
    "AODE": AODEClassifier,
}
FITTED = (" smooth", " refitted", " hierarchical")
"""Suffixes of networks that are measured only in this form."""
ROWS_FOR_HIERARCHICAL = 100
"""Number of rows to learn from, from which on kDB with hierarchical tables is measured."""
POOL = "pool"
MANY_ROWS, MOST_ROWS = 1_500, 20_000
"""Rows beyond which one of the folds is measured, and beyond which a table is left out."""
MOST_DRAWN = 0.5
"""Difference of the log loss beyond which a dot is a triangle."""
BINS = 10
FOLDS = 10


def rows_of_bins(proba: np.ndarray, classes: list[Any], y: pd.Series) -> Row:
    """Return, for every bin of the predicted class's probability, hits less the sum of probabilities.

    Also the variance that this would have if the probabilities were right.
    """
    confidence = proba.max(axis=1)
    right = np.array(classes, dtype=object)[proba.argmax(axis=1)] == y.to_numpy()
    place = np.searchsorted(np.arange(1, BINS) / BINS, confidence, side="left")
    surplus = np.bincount(place, right - confidence, minlength=BINS)
    variance = np.bincount(place, confidence * (1 - confidence), minlength=BINS)
    kinds = {"surplus": surplus, "variance": variance}
    return {f"{kind}_{k}": float(value) for kind, values in kinds.items() for k, value in enumerate(values)}


def can_be_searched(n_features: int, n_rows: int) -> bool:
    """Whether a pool may search a structure exactly."""
    return n_features <= MANY_FEATURES and 2**n_features * n_rows <= MOST_SETS_TIMES_ROWS


def forms(model: str, n_features: int, n_classes: int, n_rows: int, *, cut: bool) -> set[str]:
    """Return the forms in which a network is measured, besides as it is learned."""
    if model not in ("NB", "TAN", "kDB", "ANB"):
        return set()
    refitted = model != "NB" and not cut and n_rows >= ROWS_FOR_REFITS
    most = MOST_UNKNOWNS if cut and model == "TAN" else MANY_UNKNOWNS
    smooth = model == "NB" or (n_features * n_classes * INTERVALS <= most and not (cut and model == "kDB"))
    return {form for form, wanted in (("smooth", smooth), ("refitted", refitted)) if wanted}


def one_fold(name: str, fold: int) -> list[Row]:
    """Return a row for every model."""
    warnings.simplefilter("ignore")
    X, y = read(name)
    train, test = list(splits(y, FOLDS))[fold]
    X_train, y_train, X_test, y_test = X.iloc[train], y.iloc[train], X.iloc[test], y.iloc[test]
    rows: list[Row] = []

    def add(model: str, fitted: Any, seconds: float, least: float = 0.0, slowest: float = np.nan) -> None:
        proba = np.maximum(fitted.predict_proba(X_test), least)
        proba /= proba.sum(axis=1, keepdims=True)
        classes = list(fitted.classes_)
        judged = {**judge(proba, classes, y_test), **rows_of_bins(proba, classes, y_test)}
        rows.append({"model": model, **judged, "seconds": seconds, "slowest_member": slowest})

    pool, took, _ = timed(PooledClassifier(n_jobs=1).fit, X_train, y_train)
    slowest, cut = 0.0, False
    n_features, n_rows = len(X.columns), len(y_train)
    for model, classifier in NETWORKS.items():
        if model == "ANB" and not can_be_searched(n_features, n_rows):
            continue
        network, fit, _ = timed(classifier(n_jobs=1).fit, X_train, y_train)
        add(model, network, fit)
        slowest, cut = max(slowest, fit), bool(network.cut_points_)
        for form, refits in {"smooth": AdditiveClassifier, "refitted": RefittedClassifier}.items():
            if form in forms(model, n_features, y_train.nunique(), n_rows, cut=cut):
                refitted, refit, _ = timed(refits(FrozenEstimator(network)).fit, X_train, y_train)
                add(f"{model} {form}", refitted, fit + refit)
                slowest = max(slowest, fit + refit)
    if not cut and n_rows >= ROWS_FOR_HIERARCHICAL:
        network, fit, _ = timed(KDBClassifier(k=5, parameters="hierarchical", n_jobs=1).fit, X_train, y_train)
        add("kDB hierarchical", network, fit)
        slowest = max(slowest, fit)
    add(POOL, pool, took, slowest=slowest)
    boosting = make_pipeline(prepared(), HistGradientBoostingClassifier(random_state=0))
    if y_train.value_counts().min() == 1:  # no row of the class is left to decide when to stop, and trees diverge
        boosting[-1].set_params(early_stopping=False, l2_regularization=1.0)
    boosting[0].sparse_threshold = 0.0
    others = {**rivals(), "gradient boosting": boosting}
    if find_spec("interpret") is not None:
        from interpret.glassbox import ExplainableBoostingClassifier

        others["EBM"] = ExplainableBoostingClassifier(random_state=0, n_jobs=1)
    for model, classifier in others.items():
        fitted, took, _ = timed(classifier.fit, X_train, y_train)
        add(model, fitted, took, SMALLEST if model == "random forest" else 0.0)
    return rows


def tasks(run: Run) -> Iterator[tuple[str, int]]:
    """Yield table and fold, small tables first."""
    listed = run.manifest()
    for _, table in listed[listed["rows"] <= MOST_ROWS].sort_values("rows").iterrows():
        large = table["rows"] > MANY_ROWS and not run.full
        yield from ((table["name"], fold) for fold in run.folds(1 if large else FOLDS))


def main(run: Run) -> None:
    """Measure what is missing, then summarise."""
    summarise(run, run.measure("pool", ["table", "fold"], tasks(run), one_fold, jobs=1))


def summarise(run: Run, measured: pd.DataFrame) -> None:
    """Write and show what was measured. A model that some tables lack is compared with the pool on the others."""
    tables = means(measured, ["table", "model"])
    by_line = measured.groupby(["table", "model"])
    surplus = by_line[[f"surplus_{k}" for k in range(BINS)]].sum().abs().sum(axis=1)
    tables["calibration_error"] = surplus / by_line["rows"].sum()
    variance = by_line[[f"variance_{k}" for k in range(BINS)]].sum()
    tables["if_calibrated"] = np.sqrt(2 / np.pi * variance).sum(axis=1) / by_line["rows"].sum()
    tables["seconds"] = by_line["seconds"].median()
    tables["times_slowest_member"] = (
        (measured["seconds"] / measured["slowest_member"]).groupby([measured["table"], measured["model"]]).median()
    )
    tables["folds"] = by_line.size()
    run.write("pool_folds", measured.set_index(["table", "fold", "model"]).sort_index(), 4)
    run.write("pool_tables", tables, 4)
    losses = tables["log_loss"].unstack("model")
    pool = losses[POOL]
    complete = [name for name in losses if losses[name].notna().all()]
    summary = pd.DataFrame(
        {
            "tables": losses.count(),
            "log_loss": losses.mean(),
            "pool_there": losses.notna().mul(pool, axis=0).where(losses.notna()).mean(),
            "accuracy": tables["accuracy"].unstack("model").mean(),
            "calibration_error": tables["calibration_error"].unstack("model").mean(),
            "if_calibrated": tables["if_calibrated"].unstack("model").mean(),
            "rank": losses[complete].rank(axis=1).mean(),
            "pool_better": losses.gt(pool, axis=0).sum(),
            "pool_worse": losses.lt(pool, axis=0).sum(),
            "p_value": [_p_value(pool, losses[name]) for name in losses],
            "seconds": tables["seconds"].unstack("model").mean(),
        }
    ).sort_values("log_loss")
    run.write("pool", summary, 4)
    show(summary, f"{len(losses)} tables", 4)
    draw(losses, run.summaries / "pool.png")
    ours = [name for name in losses if name in NETWORKS or name.endswith(FITTED)]
    best = losses[ours].min(axis=1)
    show(losses.assign(**{"best single model of every table": best}), "log loss", 3)
    print(f"the best single model of every table, known afterwards: {best.mean():.4f}, the pool {pool.mean():.4f}")
    members = losses[[name for name in ours if name == "kDB" or name.endswith(FITTED)]].min(axis=1)
    print(f"worse than the best member by more than 0.01: {list(losses.index[pool > members + 0.01])}")
    print(f"fit: at most {tables['times_slowest_member'].max():.1f} times that of the slowest member")


def draw(losses: pd.DataFrame, path: Path) -> None:
    """Draw, for every model but the pool, by how much its log loss exceeds that of the pool on every table."""
    excesses = losses.drop(columns=POOL).sub(losses[POOL], axis=0)
    others = list(excesses.mean().sort_values(ascending=False).index)
    figure, ax = panels(figsize=(8.5, 5))
    ax.axvline(0, color="0.6", linewidth=1)
    for place, model in enumerate(others):
        excess = excesses[model].dropna()
        beyond = excess > MOST_DRAWN
        spread = place + 0.12 * np.linspace(-1, 1, len(excess))
        colour = np.where(excess > 0, "C0", "C3")
        for mark, drawn in (("o", ~beyond), (">", beyond)):
            x, y = excess.clip(upper=MOST_DRAWN)[drawn], spread[drawn]
            ax.scatter(x, y, s=18, c=colour[drawn], marker=mark, alpha=0.6, linewidths=0)
        ax.plot([min(excess.mean(), MOST_DRAWN)] * 2, [place - 0.35, place + 0.35], color="black", linewidth=2)
    ax.set_yticks(range(len(others)), [f"{model} ({excesses[model].count()})" for model in others])
    ax.set_xlabel(f"log loss above that of the pool, nats per row (triangles: above {MOST_DRAWN})")
    ax.set_title("A dot for every table, a line for their mean; in brackets, the number of tables", fontsize=10)
    save(figure, path)


def _p_value(pool: pd.Series, other: pd.Series) -> float:
    """Return that of Wilcoxon's signed-rank test over the tables that both have, two-sided."""
    differences = (other - pool).dropna()
    return float(wilcoxon(differences).pvalue) if differences.any() else 1.0


if __name__ == "__main__":
    main(Run())
