"""Time of the scores of all sets of continuous features, by the universal measure."""

import numpy as np
import pandas as pd
from tables import seconds

from anbexact import UniversalMeasure
from anbexact._runtime.limits import Deadline, thread_count
from anbexact.search.exact.lattice import all_set_scores
from anbexact.search.scoring.set_scores import prepare

N_FEATURES, N_ROWS = 15, 1_000
TARGET = 60.0
"""Seconds that they may take."""


def run(*, full: bool) -> list[dict[str, object]]:  # noqa: ARG001  # the same for all benchmarks
    """Time the scores of all sets of normal columns, each of which depends on the one before."""
    X = np.random.default_rng(0).normal(size=(N_ROWS, N_FEATURES))
    X[:, 1:] += 0.5 * X[:, :-1]
    table, score = UniversalMeasure().read(pd.DataFrame(X, columns=[f"x{j}" for j in range(N_FEATURES)]))

    def score_all() -> None:
        problem = prepare(table, score, N_FEATURES)
        all_set_scores(problem, table, score, thread_count(None), Deadline(), None)

    score_all()  # compiled before it is timed
    return [
        {
            "features": N_FEATURES,
            "rows": N_ROWS,
            "sets": 1 << N_FEATURES,
            "scores s": seconds(score_all, 3),
            "target s": TARGET,
        }
    ]
