"""Rows without end for the soak, in batches: each is drawn from its own number, and is the same each time."""

from __future__ import annotations

import numpy as np
import pandas as pd

CLASSES = ("stable", "worse", "critical")
WARDS = ("north", "south", "east", "west", "day clinic")
LEVELS = ("low", "normal", "high")
YES_NO = ("no", "yes")
MISSING = 0.03
"""The share of cells of one column that are missing."""


def batch(number: int, n_rows: int) -> tuple[pd.DataFrame, pd.Series]:
    """Return the rows and classes of a batch: five columns of states, one with missing cells, and two of numbers.

    Every batch holds all states, so that whatever is learned from the first batch knows those of all others.
    """
    rng = np.random.default_rng([number, n_rows])
    target = rng.integers(len(CLASSES), size=n_rows)
    target[: len(CLASSES)] = range(len(CLASSES))

    def states(names: tuple[str, ...], noise: float, shift: np.ndarray | int = 0) -> pd.Categorical:
        noisy = np.where(rng.random(n_rows) < noise, rng.integers(len(names), size=n_rows), target + shift)
        noisy[: len(names)] = range(len(names))
        return pd.Categorical.from_codes(noisy % len(names), list(names))

    fever = rng.random(n_rows) < 0.3
    pulse = states(LEVELS, 0.5)
    columns = {
        "ward": states(WARDS, 0.8),
        "pulse": pulse,
        "pressure": states(LEVELS, 0.4, shift=pulse.codes),
        "fever": pd.Categorical.from_codes(fever.astype(int), list(YES_NO)),
        "cough": states(YES_NO, 0.6, shift=fever.astype(int)),
        "age": np.round(rng.normal(50 + 6 * target, 15)),
        "glucose": np.round(rng.gamma(4 + target, 1.5), 1),
    }
    frame = pd.DataFrame(columns)
    frame.loc[rng.random(n_rows) < MISSING, "cough"] = None
    return frame, pd.Series(pd.Categorical.from_codes(target, list(CLASSES)), name="course")
