"""Columns of every kind, for classifiers of tables."""

import numpy as np
import pandas as pd


def mixed_columns(seed, n):
    """Two columns of measurements, one of names and one of counts, and the generator that drew them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "x": rng.normal(size=n).round(3),
            "y": rng.exponential(size=n).round(3),
            "name": rng.choice(list("uvw"), n),
            "count": rng.integers(0, 4, n),
        }
    )
    return X, rng


def thirds(score):
    """The lower, the middle and the upper third of scores, as classes."""
    return pd.Series(pd.qcut(score, 3, labels=["low", "middle", "high"]).astype(str), name="k")


def holes(X, seed=0):
    """The columns with a fifth of the cells missing."""
    return X.astype(object).mask(np.random.default_rng(seed).random(X.shape) < 0.2)
