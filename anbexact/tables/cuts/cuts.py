"""Cut points of one column: from values to interval numbers and names."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from anbexact.tables.frames.quantities import Quantity

Cuts = npt.NDArray[np.float64]
"""Increasing cut points; with cuts a and b, the intervals are (-inf, a], (a, b] and (b, inf)."""


def cut_codes(values: npt.NDArray[np.number[Any]], cuts: Cuts) -> npt.NDArray[np.int64]:
    """Return the interval number of every value: x ≤ cuts[0] is 0, and so on; -1 for NaN."""
    codes = np.searchsorted(cuts, values, side="left")
    codes[np.isnan(values)] = -1
    return codes


def interval_names(cuts: Cuts, quantity: Quantity | None = None) -> tuple[str, ...]:
    """Return readable names of the intervals, with the fewest digits that distinguish the cuts.

    There are at least six digits, and all digits before the decimal point. If the numbers represent a quantity, such
    as dates, its own notation is used.

    Examples
    --------
    >>> interval_names(np.array([3.1, 4.7]))
    ('(-inf, 3.1]', '(3.1, 4.7]', '(4.7, inf)')
    >>> interval_names(np.array([18352.0]), Quantity("date", "D"))
    ('(-inf, 2020-03-31]', '(2020-03-31, inf)')
    """
    ends = ["-inf", *cut_texts(cuts, quantity), "inf"]
    last = len(ends) - 2
    return tuple(f"({a}, {b}{')' if k == last else ']'}" for k, (a, b) in enumerate(pairwise(ends)))


def cut_texts(cuts: Cuts, quantity: Quantity | None = None, least: int = 6) -> list[str]:
    """Return cut points as text for a reader, written as in the names of the intervals.

    Numbers have the fewest digits that distinguish them, at least ``least``, and all digits before the decimal point.

    Examples
    --------
    >>> cut_texts(np.array([3.1, 1234567.0])), cut_texts(np.array([18352.0]), Quantity("date", "D"))
    (['3.1', '1234567'], ['2020-03-31'])
    """
    return _digits(cuts, least) if quantity is None else quantity.texts(cuts)


def _digits(cuts: Cuts, least: int) -> list[str]:
    """Return cut points with the fewest digits that distinguish them."""
    whole = len(str(int(np.abs(cuts).max(initial=0.0))))
    for digits in range(min(max(least, whole), 17), 18):
        texts = [f"{cut:.{digits}g}" for cut in cuts]
        if len(set(texts)) == len(texts):
            break
    return texts


def midpoint(below: float, above: float) -> float:
    """Return a cut halfway between two distinct values, such that ``below <= cut < above`` despite rounding."""
    middle = below / 2 + above / 2
    return middle if below <= middle < above else below


def cuts_from_edges(values: npt.NDArray[np.float64], edges: npt.NDArray[np.float64]) -> Cuts:
    """Return cut points that divide the values like the inner edges of bins that are closed on the left.

    scikit-learn's bins are [a, b), the intervals here are (a, b]. An edge that is itself among the values therefore
    moves halfway towards the next smaller one.

    Parameters
    ----------
    values : (values,) float64
        The column, without missing cells.
    edges : float64 array
        Increasing edges, without the outermost two.

    Examples
    --------
    >>> cuts_from_edges(np.array([1.0, 2.0, 4.0, 9.0]), np.array([2.5, 4.0]))
    array([2.5, 3. ])
    """
    distinct = np.unique(values)
    places = np.searchsorted(distinct, edges, side="left")
    cuts = [
        midpoint(float(distinct[k - 1]), edge) if distinct[k] == edge else edge
        for k, edge in zip(places.tolist(), edges.tolist(), strict=True)
        if 0 < k < len(distinct)
    ]
    return np.unique(np.array(cuts, dtype=np.float64))
