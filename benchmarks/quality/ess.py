"""How the equivalent sample size should be chosen: accuracy and log loss by the way of choosing.

Ten-fold cross-validation over the tables of ``../shared/data`` with 2 to 19 features, continuous columns cut at the
median. In every fold the optimal structure is learned for eleven equivalent sample sizes, and its tables are smoothed
with each of the eleven. Ways to choose among these, from the training rows alone, are then compared by what
they predict:

- ``1``: both 1;
- ``ML``: both where the marginal likelihood of the optimal structure is highest;
- ``ML, LOO``: the structure's as before, the tables' where the leave-one-out conditional log likelihood is highest;
- ``1, LOO``: the structure's 1, the tables' as before;
- ``LOO``: both where the leave-one-out conditional log likelihood is highest;
- ``CV``: both, equal or not, where the three-fold cross-validated conditional log likelihood is highest, the
  structure relearned in every fold (up to 16 features).

Target: none; ``docs/background/equivalent-sample-size.md`` has the outcome. Takes about an hour; it is resumable.
Writes ``docs/measurements/ess.csv`` and ``docs/measurements/ess.png``.
"""

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from anbexact import BDeu, DiscreteTable, NaiveBayesClassifier, Structure, learn_anb
from anbexact.models.network.posterior import Posterior
from anbexact.models.parameters.smoothing import LeaveOneOut
from anbexact.models.parameters.tables import fit_eap
from benchmarks.harness.folds import judge, means, splits
from benchmarks.harness.output import panels, save, show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import read

GRID = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)
FOLDS, INNER_FOLDS = 10, 3
MOST_FEATURES, MOST_INNER_FEATURES = 19, 16
SHOWN = ("letter", "pendigits", "segment", "vote")
"""Tables in the figure."""
Key = tuple[float, float]


def training_table(X: pd.DataFrame, y: pd.Series) -> tuple[NaiveBayesClassifier, DiscreteTable]:
    """Return a classifier that encodes rows, and the encoded table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        encoder = NaiveBayesClassifier(discretizer="median", n_jobs=1, ess=1.0).fit(X, y)
    codes = encoder.reader_.codes(X)
    states = encoder.vocabulary_.states
    columns = {
        name: pd.Categorical.from_codes(codes[j], states[name]) for j, name in enumerate(encoder.vocabulary_.features)
    }
    return encoder, DiscreteTable.from_frame(pd.DataFrame(columns), y)


def sweep(
    encoder: NaiveBayesClassifier, table: DiscreteTable, X: pd.DataFrame, y: pd.Series
) -> Iterator[tuple[Key, Structure, Row]]:
    """Yield, for every pair of equivalent sample sizes, the structure and how well it predicts the rows."""
    codes = encoder.reader_.codes(X)
    nothing = {"rows": len(y), "accuracy": np.nan, "log_loss": np.nan}
    for ess in GRID:
        structure = learn_anb(table, BDeu(ess), n_jobs=1)
        for smoothing in GRID:
            try:
                tables = fit_eap(table, structure, smoothing)
            except ValueError:  # larger than the memory
                yield (ess, smoothing), structure, nothing
                continue
            posterior = Posterior(tables, table.vocabulary.class_name, table.vocabulary.features)
            yield (ess, smoothing), structure, judge(posterior.posterior(codes, 1), encoder.classes_.tolist(), y)


def one_fold(name: str, fold: int) -> list[Row]:
    """Return a row for every pair of equivalent sample sizes."""
    X, y = read(name)
    train, test = list(splits(y, FOLDS))[fold]
    X_train, y_train = X.iloc[train].reset_index(drop=True), y.iloc[train].reset_index(drop=True)
    inner: dict[Key, float] = {}
    if X.shape[1] <= MOST_INNER_FEATURES:
        for learn, judged in splits(y_train, INNER_FOLDS):
            encoder, table = training_table(X_train.iloc[learn], y_train.iloc[learn])
            for key, _, row in sweep(encoder, table, X_train.iloc[judged], y_train.iloc[judged]):
                inner[key] = inner.get(key, 0.0) + row["log_loss"] * row["rows"] / len(train)
    encoder, table = training_table(X_train, y_train)
    rows = []
    for (ess, smoothing), structure, judged in sweep(encoder, table, X.iloc[test], y.iloc[test]):
        rows.append(
            {
                "ess": ess,
                "smooth": smoothing,
                "score": structure.score,
                "arcs": len(structure.feature_edges),
                **judged,
                "loo": LeaveOneOut(table, structure).log_likelihood(smoothing) / table.weight_sum,
                "cv_ll": inner.get((ess, smoothing), np.nan),
            }
        )
    return rows


def choices(grid: pd.DataFrame) -> dict[str, pd.Series]:
    """Return what every way of choosing picks from one fold's grid."""
    equal = grid[grid["ess"] == grid["smooth"]]
    best = equal.loc[equal["score"].idxmax()]
    of_best = grid[grid["ess"] == best["ess"]]
    of_one = grid[grid["ess"] == 1.0]
    chosen = {
        "1": equal[equal["ess"] == 1.0].iloc[0],
        "ML": best,
        "ML, LOO": of_best.loc[of_best["loo"].idxmax()],
        "1, LOO": of_one.loc[of_one["loo"].idxmax()],
        "LOO": grid.loc[grid["loo"].idxmax()],
    }
    if grid["cv_ll"].notna().any():
        chosen["CV"] = grid.loc[grid["cv_ll"].idxmin()]
    return chosen


def summarise(measured: pd.DataFrame) -> pd.DataFrame:
    """Return accuracy, log loss and the medians of what was chosen, by table and way of choosing."""
    picked = [
        {**row.to_dict(), "choice": choice}
        for _, grid in measured.groupby(["table", "fold"])
        for choice, row in choices(grid).items()
    ]
    frame = pd.DataFrame(picked)
    groups = frame.groupby(["table", "choice"])
    return means(frame, ["table", "choice"]).join(groups[["ess", "smooth"]].median()).join(groups["arcs"].mean())


def draw(measured: pd.DataFrame, shown: tuple[str, ...], path: Path) -> None:
    """Draw score, arcs, accuracy and log loss along the equivalent sample size."""
    equal = measured[measured["ess"] == measured["smooth"]]
    rows = [
        ("score", "BDeu of the optimum\n(nats per row)"),
        ("arcs", "arcs between\nfeatures"),
        ("accuracy", "accuracy"),
        ("log_loss", "log loss\n(nats per row)"),
    ]
    figure, axes = panels(len(rows), len(shown), figsize=(11, 8), sharex=True, squeeze=False)
    for j, name in enumerate(shown):
        of_table = equal[equal["table"] == name].copy()
        n_rows = of_table.groupby("fold")["rows"].first().sum() * 0.9
        of_table["score"] /= n_rows
        curves = of_table.groupby("ess")[[key for key, _ in rows]].agg(["mean", "sem"])
        best = of_table.loc[of_table.groupby("fold")["score"].idxmax(), "ess"].median()
        for i, (key, label) in enumerate(rows):
            ax = axes[i, j]
            mean, spread = curves[key, "mean"], curves[key, "sem"]
            ax.fill_between(curves.index, mean - spread, mean + spread, color="#4477aa", alpha=0.2, linewidth=0)
            ax.plot(curves.index, mean, "o-", color="#4477aa", markersize=3.5, linewidth=1.4)
            ax.axvline(best, color="#cc6677", linewidth=1, linestyle="--")
            ax.set_xscale("log")
            if i == 0:
                ax.set_title(name)
            if j == 0:
                ax.set_ylabel(label)
            if i == len(rows) - 1:
                ax.set_xlabel("equivalent sample size")
    save(figure, path)


def main(run: Run) -> None:
    """Measure what is missing, then summarise and draw."""
    listed = run.manifest()
    names = listed.loc[listed["features"] <= MOST_FEATURES, "name"]
    tasks = [(name, fold) for name in names for fold in run.folds(FOLDS)]
    measured = run.measure("ess", ["table", "fold"], tasks, one_fold)
    summary = summarise(measured)
    run.write("ess", summary, 4)
    losses = summary["log_loss"].unstack("choice")
    show(losses, decimals=3)
    better = losses.lt(losses["1"] - 1e-3, axis=0).sum()
    worse = losses.gt(losses["1"] + 1e-3, axis=0).sum()
    overall = summary.groupby("choice")[["accuracy", "log_loss"]].mean()
    show(overall.assign(better=better, worse=worse), decimals=4)
    shown = tuple(name for name in run.names(SHOWN) if name in set(measured["table"]))
    if shown and not run.only:
        draw(measured, shown, run.summaries / "ess.png")
