"""Rows per second of exact explanations: Shapley values, sufficient reasons, nearest changes.

Target: Shapley values of 100,000 rows a second for naive Bayes and of 10,000 for TAN on letter; sufficient reasons
of 1,000 rows a second for TAN with 20 features. Takes a minute.
"""

import pandas as pd

from anbexact import NaiveBayesClassifier, TANClassifier
from benchmarks.harness import tables
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.timing import seconds

NAMED = ("nursery", "letter", "mushroom")
"""Tables that are measured, beside a made one of 20 features, five states and ten classes."""


def smallest_reasons(model: TANClassifier, X: pd.DataFrame) -> object:
    """Return the smallest sufficient reasons of rows."""
    return model.sufficient_reasons(X, size="smallest")


def main(run: Run) -> None:
    """Time the explanations of several tables by two classifiers."""
    rows = []
    for name in (*NAMED, "20 features"):
        X, y = run.load(name)[:2] if name in NAMED or run.smoke else tables.generated(20, 5_000, 5, 10)
        many = pd.concat([X] * 5, ignore_index=True)
        few = X.head(2000)
        for label, classifier in (("NB", NaiveBayesClassifier), ("TAN", TANClassifier)):
            model = classifier().fit(X, y)
            rows.append(
                {
                    "table": name,
                    "model": label,
                    "Shapley rows/s": len(many) / seconds(model.explain_local, many),
                    "reading alone": len(many) / seconds(model.reader_.rows, many),
                    "reasons/s": len(few) / seconds(model.sufficient_reasons, few),
                    "smallest reasons/s": len(few) / seconds(smallest_reasons, model, few, repeats=1),
                    "nearest changes/s": 200 / seconds(model.nearest_change, few.head(200), repeats=1),
                    "frame rows/s": len(few) / seconds(lambda m=model, few=few: m.explain_local(few).frame),
                }
            )
    show(rows)
