"""Rows per second of exact explanations: Shapley values, sufficient reasons, nearest changes.

Targets: 100,000 rows of Shapley values a second for naive Bayes and 10,000 for TAN on letter; 1,000 sufficient reasons
a second for TAN with 20 features. Takes half a minute.
"""

import pandas as pd

from anbexact import NaiveBayesClassifier, TANClassifier
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.timing import seconds


def main(run: Run) -> None:
    """Time the explanations of two tables by two classifiers."""
    rows = []
    for name in ("nursery", "letter"):
        X, y, _ = run.load(name)
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
                    "frame rows/s": len(few) / seconds(lambda m=model, few=few: m.explain_local(few).frame),
                }
            )
    show(rows)
