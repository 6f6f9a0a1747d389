"""Fits by the universal measure, and rows per second of ``predict_proba``, beside the ANB with cut points.

Target: 0.05 million rows per second by the universal measure. Takes half a minute.
"""

import pandas as pd

from anbexact import ANBClassifier
from anbexact.datasets import load_wine
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.timing import seconds

TARGET = 0.05
"""Million rows per second."""
N_PREDICTED = 20_000
"""Rows to predict, about."""


def main(run: Run) -> None:
    """Time both on a small and a large table of numbers: fits, and predictions."""
    rows = []
    tables = {} if run.smoke else {"wine": (*load_wine(), "scikit-learn")}
    for name, (X, y, source) in (tables | {"magic": run.measurements()}).items():
        many = pd.concat([X] * max(1, N_PREDICTED // len(X)), ignore_index=True)
        for continuous in ("universal", "discretize"):
            model = ANBClassifier(continuous=continuous).fit(X, y)
            rows.append(
                {
                    "table": name,
                    "source": source,
                    "rows": len(X),
                    "features": X.shape[1],
                    "continuous": continuous,
                    "fit s": seconds(model.fit, X, y, repeats=3),
                    "predict Mrows/s": len(many) / seconds(model.predict_proba, many) / 1e6,
                    "target": TARGET if continuous == "universal" else None,
                }
            )
    show(rows)
