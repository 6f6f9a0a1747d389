"""Seconds of a fit next to those of boosted trees: exact ANB, smooth ANB and the pool, with their defaults.

On the first of ten folds of every table of ``../shared/data`` with at most 20,000 rows: processor seconds, with one
thread, of the exact ANB with ``ess=1`` and with its defaults, of the smooth ANB, and of the pool; of scikit-learn's
histogram gradient boosting; and, if they are installed, of CatBoost and of interpret's explainable boosting machine
(EBM), all with their defaults. Models are fitted in turn, up to three times, and the median counts; a model that has
taken ten seconds in all is not fitted again. An exact ANB of more than 22 features is left out, as in the pool, and
so is histogram boosting where a class has too few rows for it to hold some out.

Target: the pool at most three times CatBoost in the median, and never slower than the EBM; ANB at most three times
that with ``ess=1``. Takes two hours; it is resumable. Writes ``docs/measurements/boosting.csv`` and draws
``docs/measurements/boosting.png``.
"""

import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from anbexact import AdditiveClassifier, ANBClassifier, PooledClassifier
from benchmarks.harness.folds import splits
from benchmarks.harness.output import panels, save, show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import read
from benchmarks.harness.timing import timed
from benchmarks.quality.smooth_shapes import prepared

MOST_ROWS, MOST_FEATURES = 20_000, 22
REPEATS, ENOUGH = 3, 10.0
"""Maximum number of fits, and processor seconds of one model after which it is not fitted again."""
POOL, TREES = "pool", "histogram boosting"


def models(features: pd.DataFrame) -> dict[str, Any]:
    """Return what is timed on a table with these features."""
    exact = features.shape[1] <= MOST_FEATURES
    anb = ANBClassifier(n_jobs=1)
    ours = {"ANB, ess=1": ANBClassifier(ess=1.0, n_jobs=1), "ANB": anb, "smooth ANB": AdditiveClassifier(anb)}
    trees = make_pipeline(prepared().set_params(sparse_threshold=0), HistGradientBoostingClassifier(random_state=0))
    found = {**(ours if exact else {}), POOL: PooledClassifier(n_jobs=1), TREES: trees}
    if find_spec("catboost") is not None:
        from catboost import CatBoostClassifier

        texts = list(features.select_dtypes(exclude="number"))
        found["CatBoost"] = CatBoostClassifier(
            verbose=0, thread_count=1, cat_features=texts, allow_writing_files=False
        )
    if find_spec("interpret") is not None:
        from interpret.glassbox import ExplainableBoostingClassifier

        found["EBM"] = ExplainableBoostingClassifier(random_state=0, n_jobs=1)
    return found


def one_table(name: str) -> list[Row]:
    """Return a row for every model."""
    warnings.simplefilter("ignore")
    X, y = read(name)
    learned = next(iter(splits(y)))[0]
    X, y = X.iloc[learned].copy(), y.iloc[learned]
    texts = X.select_dtypes(exclude="number").columns
    X[texts] = X[texts].astype(object).fillna("missing").astype(str)
    times: dict[str, list[float]] = {model: [] for model in models(X)}
    with threadpool_limits(1):
        PooledClassifier(n_jobs=1).fit(X[:40], y[:40])  # kernels are loaded
        for _ in range(REPEATS):
            for model, classifier in models(X).items():
                if model in times and sum(times[model]) < ENOUGH:
                    try:
                        times[model].append(timed(classifier.fit, X, y).processor_seconds)
                    except ValueError:
                        if model != TREES:
                            raise
                        del times[model]  # it refuses classes of few rows
    return [
        {"model": model, "rows": len(X), "features": X.shape[1], "seconds": median(own)}
        for model, own in times.items()
    ]


def tasks(run: Run) -> Iterator[tuple[str]]:
    """Yield the tables, small ones first."""
    listed = run.manifest()
    for name in listed[listed["rows"] <= MOST_ROWS].sort_values("rows")["name"]:
        yield (name,)


def main(run: Run) -> None:
    """Measure what is missing, then summarise."""
    measured = run.measure("boosting", ["table"], tasks(run), one_table, jobs=1)
    seconds = measured.pivot(index="table", columns="model", values="seconds")
    run.write("boosting", measured.set_index(["table", "model"]).sort_index(), 4)
    ratios = {"ANB / ANB, ess=1": seconds.get("ANB") / seconds.get("ANB, ess=1")} if "ANB" in seconds else {}
    ratios |= {f"pool / {rival}": seconds[POOL] / seconds[rival] for rival in ("CatBoost", "EBM") if rival in seconds}
    if ratios:
        show(pd.DataFrame(ratios).describe().loc[["count", "50%", "max"]], f"{len(seconds)} tables")
    show(seconds.sort_values(POOL), "processor seconds")
    draw(seconds, run.summaries / "boosting.png")


def draw(seconds: pd.DataFrame, path: Path) -> None:
    """Draw a dot for every model and table, in the order of the pool's seconds."""
    ordered = seconds.sort_values(POOL)
    figure, ax = panels(figsize=(8.5, 0.22 * len(ordered) + 1.5))
    place = np.arange(len(ordered))
    marks = {POOL: ("C0", "o"), "CatBoost": ("C1", "s"), "EBM": ("C3", "^"), TREES: ("C2", "D")}
    for model, (colour, mark) in marks.items():
        if model in ordered:
            size = 46 if model == POOL else 26
            ax.scatter(ordered[model], place, s=size, c=colour, marker=mark, label=model, alpha=0.8, linewidths=0)
    ax.set_xscale("log")
    ax.set_yticks(place, ordered.index, fontsize=8)
    ax.set_xlabel("processor seconds of a fit, one thread")
    ax.grid(axis="x", alpha=0.3)
    ax.legend(frameon=False, loc="lower right")
    save(figure, path)


if __name__ == "__main__":
    main(Run())
