"""Rows per second of ``predict_proba`` against scikit-learn, and the cost of encoding strings.

Target: the million rows per second of ``TARGETS``, on frames with categorical dtype. Takes half a minute.
"""

import numpy as np
import pandas as pd
from sklearn.naive_bayes import CategoricalNB

from anbexact import ANBClassifier, NaiveBayesClassifier
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.timing import seconds

TARGETS = {("nursery", "NB"): 8.0, ("letter", "NB"): 2.0, ("letter", "ANB"): 1.0}
"""Million rows per second on frames with categorical dtype."""


def main(run: Run) -> None:
    """Time both classifiers on the training table itself and on the table repeated."""
    rows = []
    for name in ("nursery", "letter"):
        X, y, _ = run.load(name)
        many = pd.concat([X] * 20, ignore_index=True)
        integers = np.column_stack([X[column].cat.codes for column in X])
        peer = CategoricalNB().fit(integers, y)
        theirs = len(X) / seconds(peer.predict_proba, integers, repeats=15) / 1e6
        strings = many.astype(str)
        factorize = seconds(factorized, strings)
        for label, classifier in (("NB", NaiveBayesClassifier), ("ANB", ANBClassifier)):
            model = classifier().fit(X, y)
            ours = len(X) / seconds(model.predict_proba, X, repeats=15) / 1e6
            of_strings = classifier().fit(X.astype(str), y)
            rows.append(
                {
                    "table": name,
                    "model": label,
                    "Mrows/s": ours,
                    "on 20 copies": len(many) / seconds(model.predict_proba, many) / 1e6,
                    "target": TARGETS.get((name, label)),
                    "CategoricalNB on integers": theirs,
                    "ratio": ours / theirs,
                    "encoding strings / factorize": seconds(of_strings.reader_.codes, strings) / factorize,
                }
            )
    show(rows)


def factorized(frame: pd.DataFrame) -> list[tuple[np.ndarray, pd.Index]]:
    """Return the codes of all columns, by pandas."""
    return [pd.factorize(frame[column]) for column in frame]
