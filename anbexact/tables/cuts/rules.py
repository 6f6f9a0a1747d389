"""The rules by name, and cut points from any of them or from scikit-learn's bins."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils import get_tags

from anbexact._runtime.json_values import register_object
from anbexact.tables.cuts.base import Labels, Values
from anbexact.tables.cuts.cuts import Cuts, cuts_from_edges
from anbexact.tables.cuts.mdlp import MDLPDiscretizer
from anbexact.tables.cuts.median import MedianDiscretizer
from anbexact.tables.cuts.modl import MODLDiscretizer
from anbexact.tables.table import Weights

register_object(KBinsDiscretizer)
N_BINS = 5
"""Intervals of the equal-frequency and equal-width rules."""


def equal_frequency(intervals: int = N_BINS) -> KBinsDiscretizer:
    """Return the rule that cuts a column into intervals of about equal weight."""
    return KBinsDiscretizer(
        intervals, encode="ordinal", strategy="quantile", quantile_method="averaged_inverted_cdf", subsample=None
    )


def _equal_width() -> KBinsDiscretizer:
    return KBinsDiscretizer(N_BINS, encode="ordinal", strategy="uniform", subsample=None)


AUTO = "modl"
"""The rule that ``discretizer="auto"`` builds on."""
MAX_BINS = 16
"""Maximum number of intervals of a column with ``discretizer="auto"``."""


def automatic() -> MODLDiscretizer:
    """Return the rule of ``discretizer="auto"``: MODL, with coarse cuts if it makes fewer than two."""
    return MODLDiscretizer(max_bins=MAX_BINS, coarse=True)


RULES: dict[str, Callable[[], Any]] = {
    "auto": automatic,
    "median": MedianDiscretizer,
    "mdlp": MDLPDiscretizer,
    "modl": MODLDiscretizer,
    "equal_frequency": equal_frequency,
    "equal_width": _equal_width,
}
"""The rules by name."""


def _takes_missing_cells(transformer: Any) -> bool:
    try:
        return bool(get_tags(transformer).input_tags.allow_nan)
    except AttributeError:  # an object that is not a scikit-learn estimator
        return False


def _weights_for(transformer: Any, weights: Weights) -> dict[str, Weights]:
    """Return the weights as arguments of ``fit``: none for :func:`equal_frequency` if they are equal.

    The bins are the same then, and scikit-learn finds them in a third of the time.
    """
    own = equal_frequency()
    alike = isinstance(transformer, KBinsDiscretizer) and all(
        getattr(transformer, name) == getattr(own, name) for name in ("strategy", "quantile_method", "subsample")
    )
    return {} if alike and (weights == weights[:1]).all() else {"sample_weight": weights}


def find_cut_points(discretizer: Any, values: Values, labels: Labels, weights: Weights) -> list[Cuts]:
    """Return the cut points of every column that a rule finds.

    Parameters
    ----------
    discretizer : name in ``RULES`` or transformer
        A transformer is cloned, then fitted as ``fit(X, y, sample_weight=...)``; it must then have ``cut_points_``,
        or ``bin_edges_`` as scikit-learn's ``KBinsDiscretizer``. One that refuses missing cells is fitted column by
        column to the observed ones.
    values : (rows, columns) float64
        Finite, or NaN where missing.
    labels, weights : (rows,)
        Class codes, and positive weights.

    Raises
    ------
    TypeError
        If the discretizer is not one of these.
    ValueError
        If its cut points are not increasing numbers for every column.
    """
    transformer = RULES[discretizer]() if isinstance(discretizer, str) else clone(discretizer)
    missing = np.isnan(values)
    if missing.any() and values.shape[1] > 1 and not _takes_missing_cells(transformer):
        columns = range(values.shape[1])
        return [find_cut_points(transformer, values[:, [j]], labels, weights)[0] for j in columns]
    kept = ~missing.all(axis=1) if values.shape[1] == 1 else np.ones(len(values), dtype=bool)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Bins whose width are too small")  # few distinct values: fewer bins
        transformer.fit(values[kept], labels[kept], **_weights_for(transformer, weights[kept]))
    if hasattr(transformer, "cut_points_"):
        found = [np.asarray(cuts, dtype=np.float64) for cuts in transformer.cut_points_]
        if len(found) != values.shape[1] or any((np.diff(cuts) <= 0).any() or np.isnan(cuts).any() for cuts in found):
            raise ValueError(
                f"discretizer {discretizer!r}: cut_points_ must contain increasing numbers for each of "
                f"{values.shape[1]} columns, not {transformer.cut_points_!r}"
            )
        return found
    if hasattr(transformer, "bin_edges_"):
        observed = (column[~np.isnan(column)] for column in values.T)
        return [
            cuts_from_edges(column, edges[1:-1])
            for column, edges in zip(observed, transformer.bin_edges_, strict=True)
        ]
    raise TypeError(
        f"discretizer {discretizer!r} has neither cut_points_ nor bin_edges_ after fit: pass one that has, or one of "
        f"{', '.join(map(repr, RULES))}"
    )
