"""Time of the scores of all sets of continuous features, by the universal measure.

Target: 60 s for 15 features and 1,000 rows. Takes some seconds.
"""

import numpy as np
import pandas as pd

from anbexact import UniversalMeasure
from benchmarks.harness.inner import set_scores
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.timing import seconds

N_FEATURES, N_ROWS = 15, 1_000
TARGET = 60.0
"""Seconds that they may take."""


def main(run: Run) -> None:
    """Time the scores of all sets of normal columns, each of which depends on the one before."""
    n_features, n_rows = (4, 100) if run.smoke else (N_FEATURES, N_ROWS)
    X = np.random.default_rng(0).normal(size=(n_rows, n_features))
    X[:, 1:] += 0.5 * X[:, :-1]
    table, score = UniversalMeasure().read(pd.DataFrame(X, columns=[f"x{j}" for j in range(n_features)]))
    set_scores(table, score, n_features)  # compiled before it is timed
    show(
        [
            {
                "features": n_features,
                "rows": n_rows,
                "sets": 1 << n_features,
                "scores s": seconds(set_scores, table, score, n_features, repeats=3),
                "target s": TARGET,
            }
        ]
    )
