"""Relatives of naive Bayes on shared tables: weighted, averaged, selective, joined, and of two dependences.

Log loss and accuracy in five-fold cross-validation, equivalent sample size 1, continuous columns cut at the median.

Target: as in the papers, A2DE predicts better than AODE on large tables, sKDB better than kDB. Takes ten minutes.
"""

import warnings
from functools import partial

from anbexact import ANBClassifier, NaiveBayesClassifier
from anbexact.classifiers import (
    A2DEClassifier,
    AODEClassifier,
    AveragedNaiveBayesClassifier,
    BSEJClassifier,
    FSSJClassifier,
    KDBClassifier,
    SelectiveKDBClassifier,
    TANHCClassifier,
    WeightedNaiveBayesClassifier,
)
from benchmarks.harness.folds import judge, means, splits
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row

LARGEST = 16
"""Features of the tables, at most."""
MODELS = {
    "NB": NaiveBayesClassifier(ess=1.0, n_jobs=1),
    "WNB": WeightedNaiveBayesClassifier(ess=1.0, n_jobs=1),
    "MANB": AveragedNaiveBayesClassifier(ess=1.0, n_jobs=1),
    "AODE": AODEClassifier(n_jobs=1),
    "A2DE": A2DEClassifier(n_jobs=1),
    "kDB": KDBClassifier(ess=1.0, n_jobs=1),
    "sKDB": SelectiveKDBClassifier(ess=1.0, n_jobs=1),
    "FSSJ": FSSJClassifier(ess=1.0, n_jobs=1),
    "BSEJ": BSEJClassifier(ess=1.0, n_jobs=1),
    "TAN-HC": TANHCClassifier(ess=1.0, n_jobs=1),
    "ANB": ANBClassifier(ess=1.0, max_parents=None, n_jobs=1),
}


def one_fold(run: Run, name: str, fold: int) -> list[Row]:
    """Return log loss and accuracy of every model in one fold."""
    X, y, _ = run.load(name, cut=True)
    learn, judged = list(splits(y, 5))[fold]
    rows: list[Row] = []
    for label, model in MODELS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X.iloc[learn], y.iloc[learn])
        rows.append(
            {"model": label, **judge(model.predict_proba(X.iloc[judged]), list(model.classes_), y.iloc[judged])}
        )
    return rows


def main(run: Run) -> None:
    """Measure what is missing, then summarise."""
    listed = run.manifest()
    names = listed.loc[listed["features"] <= LARGEST, "name"]
    tasks = [(name, fold) for name in names for fold in run.folds(5)]
    found = run.measure("relatives", ["table", "fold"], tasks, partial(one_fold, run), jobs=1)
    wide = means(found, ["table", "model"]).unstack("model")
    wide = wide.reindex(columns=[(what, label) for what in ("log_loss", "accuracy") for label in MODELS])
    wide.columns = [f"{what} {label}" for what, label in wide.columns]
    run.write("relatives", wide, 4)
    show(wide)
    show(wide.mean().to_frame("mean").T)
