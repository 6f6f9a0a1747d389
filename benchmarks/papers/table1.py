"""Sugahara and Ueno's Table 1: accuracies of all methods, beside the published ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import t as student
from scipy.stats import wilcoxon
from statsmodels.stats.multitest import multipletests

from benchmarks.harness.output import markdown, panels, save
from benchmarks.harness.store import Row, stored
from benchmarks.harness.tables import published
from benchmarks.papers.accuracy import STORE, by_table, measured
from benchmarks.papers.common import KEYS, PRINTED_TABLES, listed, page, write
from benchmarks.papers.methods import OWN, PAPER

NAME = "papers_table1"
TITLE = "Table 1: accuracy"
REFERENCE = "ANB-BDeu"
RIVALS = [method for method in PAPER if method not in (REFERENCE, "fsANB-BDeu")]
PRINTED = dict(zip(RIVALS, (0.00308, 0.04136, 0.00672, 0.05614, 0.06876, 0.06010, 0.22628), strict=True))
"""The p-values that the paper prints below its table, ANB-BDeu against the other methods."""
MAIN = ("NaiveBayes", "GBN-BDeu", "ANB-BDeu", "fsANB-BDeu")
REPEATS, REPEATED_ROWS = 5, 20_000
"""How often the rows of tables of up to so many rows are split into folds, for the methods above."""
NOISE = 2.0
"""Standard errors over folds within which a difference is taken for noise."""
ROUNDED = 0.00005
"""How far a published accuracy may lie from what was rounded to it."""
COLUMNS = ["no", "table", "method", "accuracy", "se", "published", "difference", "noise"]
COLUMNS += ["repeats", "over_repeats", "repeat_sd", "repeats_apart", "log_loss", "brier", "fit_s"]


def run(*, quick: bool) -> None:
    """Measure what is missing."""
    tables = listed(quick=quick)
    measured(tables["name"].tolist(), list(PAPER | OWN))
    if not quick:
        measured(tables.loc[tables["rows"] <= REPEATED_ROWS, "name"].tolist(), MAIN, REPEATS)


def results() -> pd.DataFrame:
    """Return a row for every table and method that is measured, in the order of the paper."""
    paper = published("anb_table1_accuracy.csv").dropna(subset="no")
    long = paper.melt(["no", "file"], list(PAPER), "method", "published").rename(columns={"file": "table"})
    numbers = listed().rename(columns={"name": "table", "table1_no": "no"})[["no", "table"]]
    found = by_table(stored(STORE, KEYS)).reset_index()
    found = found[found["method"].isin(PAPER | OWN)].merge(numbers, on="table")
    found = found.merge(long[["table", "method", "published"]], on=["table", "method"], how="left")
    found["difference"] = found["accuracy"] - found["published"]
    found["noise"] = np.where(found["published"].isna(), np.nan, NOISE * found["se"])
    found["place"] = found["method"].map(list(PAPER | OWN).index)
    return found.sort_values(["no", "place"])[COLUMNS]


def p_values(wide: pd.DataFrame, reference: str, rivals: Sequence[str]) -> pd.DataFrame:
    """Return p-values of Wilcoxon's signed-rank test of every rival against a reference, and Hommel's correction.

    ``wide`` has a row for every table and a column for every method. Two-sided; 1 where nothing differs.
    """
    uncorrected = []
    for rival in rivals:
        difference = (wide[reference] - wide[rival]).round(9)
        uncorrected.append(wilcoxon(difference).pvalue if difference.any() else 1.0)
    return pd.DataFrame({"Wilcoxon": uncorrected, "Hommel": hommel(uncorrected)}, index=list(rivals))


def hommel(uncorrected: Sequence[float]) -> np.ndarray:
    """Return p-values corrected by Hommel's procedure."""
    return np.asarray(multipletests(uncorrected, method="hommel")[1])


def within_interval(found: pd.DataFrame) -> pd.Series:
    """Return whether the published accuracy lies in the 95 per cent prediction interval of the repeats.

    The interval is that of Student's t: ``t √(1 + 1/repeats)`` standard deviations around the mean over repeats, and
    what rounding to four digits adds to these. A single repeat has no interval.
    """
    quantile = student.ppf(0.975, found["repeats"] - 1)
    noise = quantile * found["repeat_sd"] * np.sqrt(1 + 1 / found["repeats"]) + ROUNDED
    return (found["over_repeats"] - found["published"]).abs() <= noise


def agreement(found: pd.DataFrame) -> pd.DataFrame:
    """Return, for every method of the paper, how far the accuracies lie from the published ones."""
    known = found.dropna(subset="published")
    beyond = known["difference"].abs() > known["noise"]
    known = known.assign(
        away=known["difference"].abs(),
        away_over_repeats=(known["over_repeats"] - known["published"]).abs(),
        beyond=beyond,
        left=beyond & ~within_interval(known),
    )
    groups = known.groupby("method")
    summary = pd.DataFrame(
        {
            "tables": groups.size(),
            "mean accuracy": groups["accuracy"].mean(),
            "published": groups["published"].mean(),
            "mean difference": groups["difference"].mean(),
            "mean absolute difference": groups["away"].mean(),
            "of the mean over repeats": groups["away_over_repeats"].mean(),
            "between two repeats": groups["repeats_apart"].mean(),
            "beyond 2 SE": groups["beyond"].sum(),
            "and outside the interval": groups["left"].sum(),
        }
    )
    return summary.reindex([method for method in PAPER if method in summary.index])


def complete(found: pd.DataFrame, values: str, methods: Sequence[str]) -> pd.DataFrame:
    """Return a value by table and method, of the tables that all of these methods were measured on."""
    wide = found.pivot_table(index=["no", "table"], columns="method", values=values)
    return wide.reindex(columns=list(methods)).dropna()


def significance(found: pd.DataFrame) -> pd.DataFrame:
    """Return the p-values printed in the paper, and those of published and of measured accuracies."""
    paper = published("anb_table1_accuracy.csv").dropna(subset="no")
    of_paper = p_values(paper, REFERENCE, RIVALS).add_prefix("published accuracies, ")
    ours = p_values(complete(found, "accuracy", PAPER), REFERENCE, RIVALS).add_prefix("measured, ")
    return pd.concat([pd.Series(PRINTED, name="printed in the paper"), of_paper, ours], axis=1)


def report(folder: Path) -> str:
    """Write CSV, Markdown and figure, and return the section of the page."""
    found = results()
    agreed, tested = agreement(found), significance(found)
    wide = complete(found, "accuracy", PAPER)
    paper = complete(found, "published", PAPER)
    lines = [
        [no, name, *(f"{row[method]:.4f} ({paper.loc[no, name][method]:.4f})" for method in PAPER)]
        for (no, name), row in wide.iterrows()
    ]
    lines.append(["", "mean", *(f"{wide[method].mean():.4f} ({paper[method].mean():.4f})" for method in PAPER)])
    tested_rows = [[rival, *(f"{value:.5f}" for value in row)] for rival, row in tested.iterrows()]
    scores = {score: complete(found, score, PAPER | OWN) for score in ("accuracy", "log_loss", "brier")}
    mean_rows = [[method, *(f"{of_all[method].mean():.4f}" for of_all in scores.values())] for method in PAPER | OWN]
    own = scores["accuracy"][list(OWN)]
    own_rows = [[no, name, *(f"{value:.4f}" for value in row)] for (no, name), row in own.iterrows()]
    text = page(
        "table1",
        accuracies=markdown(["no", "table", *PAPER], lines),
        agreement=markdown(["method", *agreed.columns], rows_of(agreed)),
        n_rivals=len(RIVALS),
        n_printed=PRINTED_TABLES,
        n_tables=len(wide),
        p_values=markdown(["method", *tested.columns], tested_rows),
        n_own=len(own),
        scores=markdown(["method", "accuracy", "log loss", "Brier"], mean_rows),
        own=markdown(["no", "table", *OWN], own_rows),
    )
    write(folder, NAME, found.round(5), text)
    draw(found, folder / f"{NAME}.png")
    return section(found, agreed, tested)


FAR = {
    "accuracy": "accuracy",
    "se": "SE",
    "published": "published",
    "difference": "difference",
    "over_repeats": "mean over repeats",
    "repeat_sd": "SD over repeats",
}


def far(known: pd.DataFrame) -> Row:
    """Return which accuracies lie further from the published ones than noise does, and how many."""
    chosen = known[known["difference"].abs() > known["noise"]]
    inside = np.select([chosen["repeats"] == 1, within_interval(chosen)], ["-", "yes"], "no")
    rows = [
        [row["table"], row["method"], *(f"{row[key]:.4f}".replace("nan", "-") for key in FAR), row["repeats"], answer]
        for row, answer in zip(chosen.to_dict("records"), inside, strict=True)
    ]
    counts = {name: (inside == answer).sum() for name, answer in (("n_yes", "yes"), ("n_no", "no"), ("n_once", "-"))}
    beyond = markdown(["table", "method", *FAR.values(), "repeats", "in the interval"], rows)
    return {"n_beyond": len(chosen), "n_known": len(known), "beyond": beyond, **counts}


def spread(known: pd.DataFrame) -> str:
    """Return how many accuracies lie outside the prediction interval of the repeats, whether beyond 2 SE or not."""
    repeated = known[known["repeats"] > 1]
    if repeated.empty:
        return "Everything was measured on one split."
    outside = repeated[~within_interval(repeated)]
    within = outside[outside["difference"].abs() <= outside["noise"]]
    distance = (within["over_repeats"] - within["published"]).abs()
    largest = within.loc[distance.sort_values(ascending=False).index[:5]]
    return page(
        "table1_spread",
        n_outside=len(outside),
        n_repeated=len(repeated),
        by_chance=f"{0.05 * len(repeated):.0f}",
        n_within=len(within),
        furthest=", ".join(f"{row['table']} ({row['method']})" for row in largest.to_dict("records")),
    )


def rows_of(agreed: pd.DataFrame) -> list[list[str]]:
    """Return the cells of a table: whole numbers, and others with four digits."""
    return [
        [
            method,
            *(
                f"{value:.0f}" if agreed[name].dtype.kind == "i" else f"{value:.4f}".replace("nan", "-")
                for name, value in row.items()
            ),
        ]
        for method, row in agreed.iterrows()
    ]


def section(found: pd.DataFrame, agreed: pd.DataFrame, tested: pd.DataFrame) -> str:
    """Return what the page says."""
    tables = listed()
    there = found.groupby("method")["table"].nunique()
    left = [
        f"{method} {len(tables) - there.get(method, 0)}"
        for method in PAPER | OWN
        if there.get(method, 0) < len(tables)
    ]
    known = found[found["method"].isin(MAIN)].dropna(subset="published")
    repeated = found[found["method"].isin(MAIN) & (found["repeats"] == REPEATS)]
    significant = [rival for rival in RIVALS if tested.loc[rival, "measured, Hommel"] < 0.05]
    return page(
        "table1_section",
        title=TITLE,
        name=NAME,
        n_measured=found["table"].nunique(),
        n_listed=len(tables),
        n_printed=PRINTED_TABLES,
        not_run=f" Tables not yet run: {'; '.join(left)}." if left else "",
        agreement=markdown(["method", *agreed.columns], rows_of(agreed)),
        main=", ".join(MAIN),
        n_repeated=int((repeated.groupby("table").size() == len(MAIN)).sum()),
        n_small=int((tables["rows"] <= REPEATED_ROWS).sum()),
        most_rows=f"{REPEATED_ROWS:,}",
        n_repeats=REPEATS,
        **far(known),
        spread=spread(known),
        significant=", ".join(significant) or "none",
    )


def draw(found: pd.DataFrame, path: Path) -> None:
    """Draw measured against published accuracy, a panel for every method of the paper."""
    figure, axes = panels(3, 3, figsize=(10, 10), sharex=True, sharey=True)
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
        ax.set_title(f"{method}: {of_method['difference'].abs().mean():.3f} apart on average", fontsize=9)
    figure.supxlabel("published accuracy")
    figure.supylabel("measured accuracy, bars: two standard errors over ten folds")
    save(figure, path)
