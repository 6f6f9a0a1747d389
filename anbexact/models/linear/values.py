"""The values of the states of a feature on which linear log odds depend."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np

from anbexact._runtime.arrays import Floats
from anbexact.models.kernel.distances import distances_of
from anbexact.tables.cuts import Cuts
from anbexact.tables.table import DiscreteTable


def values_of_states(table: DiscreteTable, cut_points: Mapping[Hashable, Cuts]) -> tuple[Floats, ...]:
    """Return the values of the states of every feature, each of shape (states, values of the feature).

    Intervals and numbers have a place in their order (:func:`~anbexact.models.kernel.distances.distances_of`), which
    is one value. Every other state, that of missing cells included, has an indicator as a value of its own, and in an
    ordered feature the mean of the places as its place. Over the training rows, places have the variance 1, and then,
    values have the mean 0, and variances that add up to 1 for every feature. A feature with a single state has no
    values.
    """
    found = []
    for own in distances_of(table, cut_points):
        in_order = ~np.isnan(own.places)
        columns = [np.eye(len(own.places))[:, ~in_order]]
        if in_order.any():
            shares = own.shares[in_order] / max(own.shares[in_order].sum(), 1e-300)
            places = np.zeros(len(own.places))
            places[in_order] = own.places[in_order] - shares @ own.places[in_order]
            spread = float(np.sqrt(shares @ places[in_order] ** 2))
            columns.insert(0, places[:, None] / spread if spread > 0 else np.zeros((len(places), 0)))
        values = np.hstack(columns)
        values -= own.shares @ values
        variance = float((own.shares @ values**2).sum())
        found.append(values / np.sqrt(variance) if variance > 0 else np.zeros((len(values), 0)))
    return tuple(found)
