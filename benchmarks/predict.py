"""Rows per second of ``predict_proba`` against scikit-learn, and the cost of encoding strings."""

import numpy as np
import pandas as pd
from sklearn.naive_bayes import CategoricalNB
from tables import load, seconds

from anbexact import ANBClassifier, NaiveBayesClassifier

TARGETS = {("nursery", "NB"): 8.0, ("letter", "NB"): 2.0, ("letter", "ANB"): 1.0}
"""Million rows per second on frames with categorical dtype."""


def run(*, full: bool) -> list[dict[str, object]]:  # noqa: ARG001  # the same for all benchmarks
    """Time both classifiers on the training table itself and on the table repeated."""
    rows: list[dict[str, object]] = []
    for name in ("nursery", "letter"):
        X, y, _ = load(name)
        repeated = pd.concat([X] * 20, ignore_index=True)
        integers = np.column_stack([X[column].cat.codes for column in X])
        peer = CategoricalNB().fit(integers, y)
        theirs = len(X) / seconds(lambda peer=peer, integers=integers: peer.predict_proba(integers), 15) / 1e6
        strings = repeated.astype(str)
        factorize = seconds(lambda strings=strings: [pd.factorize(strings[column]) for column in strings])
        for label, classifier in (("NB", NaiveBayesClassifier), ("ANB", ANBClassifier)):
            model = classifier().fit(X, y)
            ours = len(X) / seconds(lambda model=model, X=X: model.predict_proba(X), 15) / 1e6
            many = len(repeated) / seconds(lambda model=model, Z=repeated: model.predict_proba(Z)) / 1e6
            of_strings = classifier().fit(X.astype(str), y)
            encode = seconds(lambda model=of_strings, strings=strings: model.reader_.codes(strings))
            rows.append(
                {
                    "table": name,
                    "model": label,
                    "Mrows/s": ours,
                    "on 20 copies": many,
                    "target": TARGETS.get((name, label)),
                    "CategoricalNB on integers": theirs,
                    "ratio": ours / theirs,
                    "encoding strings / factorize": encode / factorize,
                }
            )
    return rows
