"""Small tables for experiments: each loader returns ``(X, y)``, and no data file is shipped.

`rules` generates tables from their published rule, `shipped` reads those of scikit-learn and statsmodels.
Categorical columns declare all their states in their natural order; classes are strings.
"""

from collections.abc import Callable
from functools import partial

import pandas as pd

from anbexact.datasets.rules import (
    load_balance_scale,
    load_lenses,
    load_monks,
    load_multiplexer,
    load_tic_tac_toe,
)
from anbexact.datasets.shipped import load_anes96, load_breast_cancer, load_iris, load_wine

__all__ = [
    "dataset_names",
    "load_anes96",
    "load_balance_scale",
    "load_breast_cancer",
    "load_dataset",
    "load_iris",
    "load_lenses",
    "load_monks",
    "load_multiplexer",
    "load_tic_tac_toe",
    "load_wine",
]

LOADERS: dict[str, Callable[[], tuple[pd.DataFrame, "pd.Series[str]"]]] = {
    "anes96": load_anes96,
    "balance_scale": load_balance_scale,
    "breast_cancer": load_breast_cancer,
    "iris": load_iris,
    "lenses": load_lenses,
    "monks1": partial(load_monks, 1),
    "monks2": partial(load_monks, 2),
    "monks3": partial(load_monks, 3),
    "multiplexer3": partial(load_multiplexer, 1),
    "multiplexer6": partial(load_multiplexer, 2),
    "multiplexer11": partial(load_multiplexer, 3),
    "tic_tac_toe": load_tic_tac_toe,
    "wine": load_wine,
}


def dataset_names() -> tuple[str, ...]:
    """Return the names that `load_dataset` knows."""
    return tuple(LOADERS)


def load_dataset(name: str) -> tuple[pd.DataFrame, "pd.Series[str]"]:
    """Return the table of this name.

    Parameters
    ----------
    name : str
        One of `dataset_names`, such as "anes96", "monks1" or "multiplexer6".

    Returns
    -------
    X : DataFrame of shape (n_rows, n_features)
        The features.
    y : Series of shape (n_rows,)
        The classes.

    Raises
    ------
    ValueError
        If there is no table of this name; the message lists the known names.

    Examples
    --------
    >>> X, y = load_dataset("lenses")
    >>> X.shape, y.name
    ((24, 4), 'lenses')
    """
    if name not in LOADERS:
        raise ValueError(f"unknown dataset {name!r}; known are {', '.join(LOADERS)}")
    return LOADERS[name]()
