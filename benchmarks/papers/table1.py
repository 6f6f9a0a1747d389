"""Sugahara and Ueno's Table 1: accuracies of all methods, beside the published ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon
from statsmodels.stats.multitest import multipletests

from papers.accuracy import STORE, by_table, measured
from papers.common import listed, markdown, published, write
from papers.methods import OWN, PAPER
from papers.store import stored

NAME = "papers_table1"
REFERENCE = "ANB-BDeu"
RIVALS = [method for method in PAPER if method not in (REFERENCE, "fsANB-BDeu")]
PRINTED = dict(zip(RIVALS, (0.00308, 0.04136, 0.00672, 0.05614, 0.06876, 0.06010, 0.22628), strict=True))
"""The p-values that the paper prints below its table, ANB-BDeu against the other methods."""
MAIN = ("NaiveBayes", "GBN-BDeu", "ANB-BDeu", "fsANB-BDeu")
NOISE = 2.0
"""Standard errors over folds within which a difference is taken for noise."""


def run(*, quick: bool) -> None:
    """Measure what is missing."""
    measured(listed(quick=quick)["name"].tolist(), list(PAPER | OWN))


def results() -> pd.DataFrame:
    """Return a row for every table and method that is measured, in the order of the paper."""
    paper = published("anb_table1_accuracy.csv").dropna(subset="no")
    long = paper.melt(["no", "file"], list(PAPER), "method", "published").rename(columns={"file": "table"})
    numbers = listed().rename(columns={"name": "table", "table1_no": "no"})[["no", "table"]]
    found = by_table(stored(STORE)).reset_index().drop(columns=["published"], errors="ignore")
    found = found[found["method"].isin(PAPER | OWN)].merge(numbers, on="table")
    found = found.merge(long[["table", "method", "published"]], on=["table", "method"], how="left")
    found["difference"] = found["accuracy"] - found["published"]
    found["noise"] = np.where(found["published"].isna(), np.nan, NOISE * found["se"])
    order = {method: k for k, method in enumerate(PAPER | OWN)}
    found = found.sort_values(["no", "method"], key=lambda values: values.map(order).fillna(values))
    columns = [
        "no",
        "table",
        "method",
        "accuracy",
        "se",
        "published",
        "difference",
        "noise",
        "log_loss",
        "brier",
        "fit_s",
    ]
    return found[columns].reset_index(drop=True)


def p_values(wide: pd.DataFrame, reference: str, rivals: Sequence[str]) -> pd.DataFrame:
    """Return p-values of Wilcoxon's signed-rank test of every rival against a reference, and Hommel's correction.

    ``wide`` has a row for every table and a column for every method. Two-sided; 1 where nothing differs.
    """
    raw = []
    for rival in rivals:
        difference = (wide[reference] - wide[rival]).round(9)
        raw.append(wilcoxon(difference).pvalue if difference.any() else 1.0)
    return pd.DataFrame({"Wilcoxon": raw, "Hommel": hommel(raw)}, index=list(rivals))


def hommel(raw: Sequence[float]) -> np.ndarray:
    """Return p-values corrected by Hommel's procedure."""
    return np.asarray(multipletests(raw, method="hommel")[1])


def agreement(found: pd.DataFrame) -> pd.DataFrame:
    """Return, for every method of the paper, how far the accuracies lie from the published ones."""
    groups = found.dropna(subset="published").groupby("method")
    beyond = found[found["difference"].abs() > found["noise"]].groupby("method")
    summary = pd.DataFrame(
        {
            "tables": groups.size(),
            "accuracy": groups["accuracy"].mean(),
            "published": groups["published"].mean(),
            "mean difference": groups["difference"].mean(),
            "mean absolute difference": groups["difference"].apply(lambda values: values.abs().mean()),
            "beyond 2 standard errors": beyond.size(),
        }
    )
    summary["beyond 2 standard errors"] = summary["beyond 2 standard errors"].fillna(0).astype(int)
    return summary.reindex([method for method in PAPER if method in summary.index])


def complete(found: pd.DataFrame, values: str, methods: Sequence[str]) -> pd.DataFrame:
    """Return a value by table and method, of the tables that all of these methods were measured on."""
    wide = found.pivot_table(index=["no", "table"], columns="method", values=values)
    return wide.reindex(columns=list(methods)).dropna()


def tests(found: pd.DataFrame) -> pd.DataFrame:
    """Return the p-values printed in the paper, and those of published and of measured accuracies."""
    paper = published("anb_table1_accuracy.csv").dropna(subset="no")
    of_paper = p_values(paper, REFERENCE, RIVALS).add_prefix("published accuracies, ")
    ours = p_values(complete(found, "accuracy", PAPER), REFERENCE, RIVALS).add_prefix("measured, ")
    return pd.concat([pd.Series(PRINTED, name="printed in the paper"), of_paper, ours], axis=1)


def report(folder: Path) -> str:
    """Write CSV, Markdown and figure, and return the section of the page."""
    found = results()
    agreed, tested = agreement(found), tests(found)
    wide = complete(found, "accuracy", PAPER)
    paper = complete(found, "published", PAPER)
    lines = [
        [no, name, *(f"{row[method]:.4f} ({paper.loc[no, name][method]:.4f})" for method in PAPER)]
        for (no, name), row in wide.iterrows()
    ]
    lines.append(["", "mean", *(f"{wide[method].mean():.4f} ({paper[method].mean():.4f})" for method in PAPER)])
    agreed_rows = [
        [method, int(row.iloc[0]), *(f"{value:.4f}" for value in row.iloc[1:5]), int(row.iloc[5])]
        for method, row in agreed.iterrows()
    ]
    tested_rows = [[rival, *(f"{value:.5f}" for value in row)] for rival, row in tested.iterrows()]
    everything = PAPER | OWN
    common = complete(found, "accuracy", everything).index
    means = found.set_index(["no", "table"]).loc[common].groupby("method")[["accuracy", "log_loss", "brier"]].mean()
    mean_rows = [[method, *(f"{value:.4f}" for value in means.loc[method])] for method in everything if len(means)]
    own = complete(found, "accuracy", everything)[list(OWN)]
    own_rows = [[no, name, *(f"{value:.4f}" for value in row)] for (no, name), row in own.iterrows()]
    far = found[(found["method"].isin(MAIN)) & (found["difference"].abs() > found["noise"])]
    far_rows = [
        [row["table"], row["method"], *(f"{row[key]:.4f}" for key in ("accuracy", "published", "difference", "se"))]
        for row in far.to_dict("records")
    ]
    text = "\n\n".join(
        [
            "# Sugahara and Ueno's Table 1",
            "Share of test rows that are classified rightly in ten-fold cross-validation; in brackets, as published.",
            markdown(["no", "table", *PAPER], lines),
            "## How far from the published accuracies",
            markdown(["method", *agreed.columns], agreed_rows),
            "## ANB-BDeu against the others: p-values",
            f"Wilcoxon's signed-rank test, two-sided, and Hommel's correction for {len(RIVALS)} comparisons. Published "
            f"accuracies: all 43 tables; measured: the {len(wide)} above.",
            markdown(["method", *tested.columns], tested_rows),
            "## Tables further from the published accuracy than two standard errors over the folds",
            markdown(["table", "method", "accuracy", "published", "difference", "standard error"], far_rows),
            "## More classifiers, and more scores",
            f"Means over the {len(common)} tables on which all of them were measured; log loss in nats per row, Brier "
            "score from 0 to 2.",
            markdown(["method", "accuracy", "log loss", "Brier"], mean_rows),
            "Their accuracies by table:",
            markdown(["no", "table", *OWN], own_rows),
        ]
    )
    write(folder, NAME, found.round(5), text)
    draw(found, folder / f"{NAME}.png")
    return section(found, agreed, tested)


def section(found: pd.DataFrame, agreed: pd.DataFrame, tested: pd.DataFrame) -> str:
    """Return what the page says."""
    expected = len(listed())
    there = found.groupby("method")["table"].nunique()
    left = [
        f"{method} on {expected - there.get(method, 0)}" for method in PAPER | OWN if there.get(method, 0) < expected
    ]
    rows = [
        [
            method,
            int(agreed.loc[method, "tables"]),
            *(f"{agreed.loc[method, key]:.4f}" for key in ("accuracy", "published", "mean absolute difference")),
            int(agreed.loc[method, "beyond 2 standard errors"]),
        ]
        for method in agreed.index
    ]
    significant = [rival for rival in RIVALS if tested.loc[rival, "measured, Hommel"] < 0.05]
    return "\n\n".join(
        [
            "## Table 1: accuracy",
            f"Measured: {found['table'].nunique()} of the {expected} tables that are here (the paper has 43)."
            + (f" Not yet run: {', '.join(left)} tables." if left else ""),
            markdown(
                ["method", "tables", "mean accuracy", "published", "mean absolute difference", "beyond 2 SE"], rows
            ),
            f"Significantly different from ANB-BDeu at 0.05, as measured here and corrected by Hommel: "
            f"{', '.join(significant) or 'none'}.",
            f"![measured against published accuracy]({NAME}.png)",
            f"All figures: [{NAME}.md]({NAME}.md), [{NAME}.csv]({NAME}.csv).",
            REMARKS,
        ]
    )


REMARKS = """\
- **The printed p-values are not corrected.** The paper calls them Hommel's; applied to its own accuracies, the uncorrected
  two-sided Wilcoxon test gives them back to within 0.002. Hommel's correction of the same leaves only naive Bayes and BNC2P below
  0.05. (Its second line, fsANB against the others, is the uncorrected one-sided test.)
- **Rows 11 to 16** are printed against the wrong names; they are compared here after they were put right, except gGBN-BDeu and
  MC-DAG-GES in rows 15 and 16, which look crossed, so that Breast Cancer and Breast Cancer Wisconsin differ there by 0.2 to 0.4.
- **Two averages** at the foot of the paper's table (GBN-CMDL, gGBN-BDeu) are not the means of its columns (0.7713, 0.7870).
- **Fold noise**: the paper does not say how rows were dealt to folds. A standard error over ten folds is 0.01 to 0.04 on a
  table of 100 to 500 rows, and 0.1 on lenses with its 24.
- **Discretisation**: here a value equal to the median counts as below it, and a column is continuous if it has more than ten
  values; the paper says neither. Tables with continuous columns can differ for this reason.
- **Greedy methods** stop in local optima, which depend on the order of moves and of ties; the paper's programs break ties in
  their own way. MC-DAG-GES has at most two parents of a variable here; the paper does not say.
- **Mux6** is the full table of its rule: the class of a test row is hidden in rows that are nowhere else, so accuracies below one half
  are no mistake, and depend on the folds more than on the method."""


def draw(found: pd.DataFrame, path: Path) -> None:
    """Draw measured against published accuracy, a panel for every method of the paper."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(3, 3, figsize=(10, 10), sharex=True, sharey=True, layout="constrained")
    for ax, method in zip(axes.flat, PAPER, strict=True):
        of_method = found[found["method"] == method].dropna(subset="published")
        within = of_method["difference"].abs() <= of_method["noise"]
        ax.plot([0.2, 1], [0.2, 1], color="black", linewidth=0.8)
        for chosen, colour in ((within, "#4477aa"), (~within, "#cc6677")):
            points = of_method[chosen]
            ax.errorbar(
                points["published"],
                points["accuracy"],
                points["noise"],
                fmt="o",
                color=colour,
                markersize=4,
                elinewidth=0.8,
            )
        for row in of_method[of_method["difference"].abs() > 0.1].to_dict("records"):
            ax.annotate(
                row["table"],
                (row["published"], row["accuracy"]),
                fontsize=7,
                xytext=(4, 4),
                textcoords="offset points",
            )
        ax.set_title(f"{method}: mean absolute difference {of_method['difference'].abs().mean():.3f}", fontsize=9)
        ax.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("published accuracy")
    figure.supylabel("measured accuracy, bars: two standard errors over ten folds")
    figure.savefig(path, dpi=110)
    plt.close(figure)
