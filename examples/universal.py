"""Continuous columns without cut points: Suzuki's universal measure on wines and irises.

Learns the optimal augmented naive Bayes (ANB) by the universal measure, compares it with cut points (ANB) and with
Gaussian and kernel naive Bayes by cross-validation, and explains the prediction that it is least sure of. A figure
shows learned densities beside the data: of one measurement of wines in every class, and of one of irises given
another one.

    python examples/universal.py [FIGURE.png]        # some seconds
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.stats import norm

from anbexact import ANBClassifier
from anbexact.compare import compare
from anbexact.datasets import load_dataset

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TABLES = ("wine", "iris")
MODELS = ("ANB universal", "ANB", "GaussianNB", "KDE-NB")
SHOWN = ["accuracy", "log_loss", "brier", "calibration_error", "fit_seconds"]
BLUE, ROSE = "#4477aa", "#cc6677"


def learn(name: str) -> tuple[ANBClassifier, pd.DataFrame, pd.Series]:
    """Learn from a table, and print what was learned."""
    X, y = load_dataset(name)
    anb = ANBClassifier(continuous="universal").fit(X, y)
    print(f"## {name}: {len(X)} rows, {X.shape[1]} features; {anb.structure_.certificate}")
    for child, density in anb.densities_.items():
        parents = [f"{parent} ({density.values.shape[k]})" for k, parent in enumerate(density.parents, 1)]
        if len(parents) > 1:
            print(f"  {', '.join(parents)} -> {child} ({len(density.values)})")
    print("  in brackets: cells of the finest levels that are mixed; the class alone is a parent of all others\n")
    return anb, X, y


def ask(anb: ANBClassifier, X: pd.DataFrame) -> None:
    """Explain the prediction of the row whose most probable class is least probable."""
    row = int(anb.predict_proba(X).max(axis=1).argmin())
    (explanation,) = anb.explain(X.iloc[[row]])
    print(f"\nThe least certain prediction, row {row}: {explanation}\n")


def steps(
    anb: ANBClassifier, X: pd.DataFrame, feature: str, given: Mapping[str, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return a learned density as a step function: edges, and heights per unit of the column.

    ``given`` has the cells of the parents. A density is with respect to the reference measure of the cells, and has a
    height per unit only where a cell has a width: the outermost ones are taken to end where the sample ends.
    """
    density, partition = anb.densities_[feature], anb.universal_score_.partitions[feature]
    values = density.values[(slice(None), *(given[parent] for parent in density.parents))]
    level = density.levels[0]
    edges = np.concatenate([[X[feature].min()], partition.cuts_at(level), [X[feature].max()]])
    return edges, values * partition.masses_at(level) / np.diff(edges)


def panel(ax: Axes, of_rows: pd.Series, edges: np.ndarray, heights: np.ndarray, title: str) -> None:
    """Draw a histogram of some rows, and two densities that were learned from them."""
    bins = np.linspace(edges[0], edges[-1], 13)
    ax.hist(of_rows, bins, density=True, color="0.85", label=f"{len(of_rows)} rows")
    ax.stairs(heights, edges, color=BLUE, linewidth=1.6, label="universal measure")
    grid = np.linspace(edges[0], edges[-1], 200)
    ax.plot(grid, norm.pdf(grid, of_rows.mean(), of_rows.std()), "--", color=ROSE, linewidth=1.4, label="Gaussian")
    ax.margins(y=0.3)
    ax.set_title(title, fontsize=10)
    ax.spines[["top", "right"]].set_visible(False)


def draw(learned: Mapping[str, tuple[ANBClassifier, pd.DataFrame, pd.Series]], path: str) -> None:
    """Draw the colour of wines in every class, and the width of sepals given their length."""
    import matplotlib.pyplot as plt

    figure, rows = plt.subplots(2, 3, figsize=(11, 6), sharex="row", layout="constrained")
    anb, X, y = learned["wine"]
    for k, (ax, label) in enumerate(zip(rows[0], anb.classes_, strict=True)):
        edges, heights = steps(anb, X, "color_intensity", {"cultivar": k})
        panel(ax, X.loc[y == label, "color_intensity"], edges, heights, f"wine, {label}")
        ax.set_xlabel("color_intensity")
    anb, X, y = learned["iris"]
    density = anb.densities_["sepal_width"]
    cuts = anb.universal_score_.partitions["sepal_length"].cuts_at(
        density.levels[density.variables.index("sepal_length")]
    )
    cell_of = np.searchsorted(cuts, X["sepal_length"])
    ends = ["", *(f"{cut:g}" for cut in cuts), ""]
    versicolor = anb.classes_.tolist().index("versicolor")
    for ax, cell in zip(rows[1], range(len(cuts) - 2, len(cuts) + 1), strict=True):
        edges, heights = steps(anb, X, "sepal_width", {"species": versicolor, "sepal_length": cell})
        shown = (y == "versicolor") & (cell_of == cell)
        within = " < ".join(part for part in (ends[cell], "sepal_length", ends[cell + 1]) if part)
        panel(ax, X.loc[shown, "sepal_width"], edges, heights, f"iris, versicolor, {within}")
        ax.set_xlabel("sepal_width")
    for ax in rows.flat:
        ax.legend(frameon=False, fontsize=8)
    for row in rows:
        row[0].set_ylabel("density")
    figure.savefig(path, dpi=110)
    print(f"drawn: {path}")


def main() -> None:
    """Learn, compare, ask, and draw if a file is named."""
    learned = {}
    for name in TABLES:
        anb, X, y = learned[name] = learn(name)
        print(compare(X, y, models=MODELS, refit=False)[SHOWN].round(3).to_string())
        ask(anb, X)
    if len(sys.argv) > 1:
        draw(learned, sys.argv[1])


if __name__ == "__main__":
    main()
