"""Networks on finer intervals: the same class posterior, with enough states to fit shapes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from math import prod
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from anbexact.models.logit.potentials import Floats
from anbexact.models.network.network import TableNetwork
from anbexact.models.parameters.tables import ConditionalTable
from anbexact.tables.cuts import Cuts, cut_codes, interval_names
from anbexact.tables.cuts.cuts import midpoint

INTERVALS = 32
"""Default number of intervals of a refined column; the guide "Smooth shapes" compares numbers."""
MOST_ENTRIES = 4_000_000
"""Maximum number of entries of a conditional table; columns are refined less if it would have more."""


def check_intervals(intervals: Any) -> int:
    """Refuse a value that is not a number of intervals."""
    if isinstance(intervals, bool) or not isinstance(intervals, Integral) or int(intervals) < 2:
        raise ValueError(f"intervals must be a whole number above 1, not {intervals!r}")
    return int(intervals)


def refined_cuts(cuts: Cuts, values: Floats, weights: Floats, intervals: int) -> Cuts:
    """Return the cuts with more between them, so that each interval has about ``1 / intervals`` of the weight.

    An interval with the share w of the weight is cut into ``round(w · intervals)`` parts of equal weight, as far as
    its distinct values allow. A cut lies halfway between two of these.

    Parameters
    ----------
    cuts : float64 array
        Increasing cuts, all of which stay.
    values, weights : (rows,) float64
        Values without missing cells, and the weights of their rows.
    intervals : int
    """
    order = np.argsort(values, kind="stable")
    values, below = values[order], np.cumsum(weights[order])
    ends = np.flatnonzero(values[1:] != values[:-1])  # the last row of every value but the largest
    if not len(ends) or below[-1] <= 0:
        return cuts
    codes = cut_codes(values, cuts)
    found = list(cuts)
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        lowest = float(below[rows[0] - 1]) if rows[0] else 0.0
        share = float(below[rows[-1]]) - lowest
        inner = ends[(ends >= rows[0]) & (ends < rows[-1])]
        parts = round(share / float(below[-1]) * intervals)
        if parts < 2 or not len(inner):
            continue
        wanted = lowest + share * np.arange(1, parts) / parts
        nearest = np.unique(np.abs(below[inner][:, None] - wanted[None, :]).argmin(axis=0))
        found += [midpoint(float(values[k]), float(values[k + 1])) for k in inner[nearest]]
    return np.unique(np.array(found, dtype=np.float64))


def refined_network(
    network: TableNetwork, columns: Mapping[Hashable, tuple[Floats, Floats]], intervals: int
) -> TableNetwork:
    """Return the network on finer intervals, with the probability of an interval divided among its parts.

    ``P(x | parents)`` of a part is the probability of its interval times its share of the interval's weight. The
    share does not depend on the parents, so that the class posterior does not change. Where a table would have more
    than `MOST_ENTRIES` entries, the columns of its family are refined less.

    Parameters
    ----------
    network : TableNetwork
    columns : mapping of column to (values, weights)
        The columns that were cut, without missing cells.
    intervals : int
        The number of intervals of equal weight that a column would have without its learned cut points.
    """
    cut_points = _fitting_cuts(network, columns, intervals)
    states, shares, coarse = dict(network.vocabulary.states), {}, {}
    for name, cuts in cut_points.items():
        old = network.cut_points[name]
        of_part = np.append(np.searchsorted(old, cuts, side="left"), len(old))
        shares[name], coarse[name] = _shares(cuts, of_part, *columns[name]), of_part
        own = states[name]
        states[name] = (*interval_names(cuts, network.vocabulary.quantities.get(name)), *own[len(old) + 1 :])
        others = np.arange(len(old) + 1, len(own))
        coarse[name] = np.append(of_part, others)
        shares[name] = np.append(shares[name], np.ones(len(others)))
    tables = {}
    for name, table in network.tables.items():
        values = table.values
        for axis, variable in enumerate(table.variables):
            if variable in coarse:
                values = np.take(values, coarse[variable], axis=axis)
        if name in shares:
            values = values * shares[name].reshape(-1, *[1] * (values.ndim - 1))
        tables[name] = ConditionalTable(name, table.parents, np.ascontiguousarray(values))
    vocabulary = replace(network.vocabulary, states=states)
    points = {**network.cut_points, **cut_points}
    return replace(network, vocabulary=vocabulary, cut_points=points, tables=tables, counts=None, estimation=None)


def _shares(cuts: Cuts, of_part: npt.NDArray[np.intp], values: Floats, weights: Floats) -> Floats:
    """Return the share of every part of the weight of its interval; shares are equal in intervals without rows."""
    own = np.bincount(cut_codes(values, cuts), weights, minlength=len(cuts) + 1)
    total = np.bincount(of_part, own)
    count = np.bincount(of_part)
    # a part without rows keeps a little, because a logistic regression needs tables without zeros
    smoothed = own + 1e-3 * np.maximum(total, 1e-300)[of_part] / count[of_part] + (total == 0)[of_part]
    return np.asarray(smoothed / np.bincount(of_part, smoothed)[of_part])


def _fitting_cuts(
    network: TableNetwork, columns: Mapping[Hashable, tuple[Floats, Floats]], intervals: int
) -> dict[Hashable, Cuts]:
    """Return refined cuts of every column, fewer if a table would become too large."""
    wanted = dict.fromkeys(columns, intervals)
    cuts = {name: refined_cuts(network.cut_points[name], *columns[name], wanted[name]) for name in columns}

    def arity(name: Hashable) -> int:
        added = len(cuts[name]) - len(network.cut_points[name]) if name in cuts else 0
        return network.vocabulary.arity(name) + added

    for table in network.tables.values():
        while prod(map(arity, table.variables)) > MOST_ENTRIES:
            finest = max((name for name in table.variables if wanted.get(name, 1) > 1), key=arity, default=None)
            if finest is None:
                break
            wanted[finest] //= 2
            cuts[finest] = refined_cuts(network.cut_points[finest], *columns[finest], wanted[finest])
    return cuts
