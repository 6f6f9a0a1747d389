"""Time of default fits of wide tables, also as a ratio to a fit with one feature parent at most.

Target: 15 s each on two idle processors. Takes a minute or two.
"""

import numpy as np
import numpy.typing as npt

from anbexact import ANBClassifier
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.timing import seconds

SHAPES = ((2930, 73), (500, 60), (60, 200), (60, 500))
"""Rows and features."""
TARGET = 15.0


def wide(n_rows: int, n_features: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return features, each of which depends on one or two before it, and a class on which every fifth depends."""
    rng = np.random.default_rng(0)
    y = rng.choice(3, n_rows, p=(0.9, 0.06, 0.04))
    X = rng.integers(0, 4, (n_rows, n_features))
    for j in range(1, n_features):
        first, second = rng.integers(0, j, 2)
        told = (X[:, first] + (X[:, second] > 1) + (y if j % 5 == 0 else 0)) % 4
        X[:, j] = np.where(rng.random(n_rows) < 0.6, told, X[:, j])
    return X, y


def main(run: Run) -> None:
    """Time default fits, and fits with one feature parent at most."""
    rows = []
    for n_rows, n_features in [(40, 30)] if run.smoke else SHAPES:
        X, y = wide(n_rows, n_features)
        ANBClassifier(max_parents=1).fit(X[:, :3], y)
        one = seconds(ANBClassifier(ess=1.0, max_parents=1).fit, X, y)
        rows.append(
            {
                "rows": n_rows,
                "features": n_features,
                "seconds": (auto := seconds(ANBClassifier().fit, X, y)),
                "target s": TARGET,
                "one parent s": one,
                "ratio": auto / one,
            }
        )
    show(rows)
