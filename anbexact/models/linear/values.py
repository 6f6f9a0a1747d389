"""The values of the states of a feature on which linear log odds depend."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import NamedTuple

import numpy as np
from scipy.linalg import helmert

from anbexact._runtime.arrays import Bools, Floats
from anbexact.models.kernel.distances import distances_of
from anbexact.tables.cuts import Cuts
from anbexact.tables.table import DiscreteTable


class StateValues(NamedTuple):
    """The values of the states of a feature.

    Attributes
    ----------
    values : (states, values) float64
    measured : (values,) bool
        Whether they are places in an order of three states or more, which can be about normal within a class.
    """

    values: Floats
    measured: Bools


def values_of_states(table: DiscreteTable, cut_points: Mapping[Hashable, Cuts]) -> tuple[StateValues, ...]:
    """Return the values of the states of every feature.

    Intervals and numbers have a place in their order (:func:`~anbexact.models.kernel.distances.distances_of`), which
    is standardised over the training rows and is one value. The state of missing cells of such a feature has the
    place 0, and an indicator as a second value. A feature of k states without an order has k - 1 values, orthonormal
    contrasts of the states. All values of a feature are then centred and divided by one number, so that their
    variances over the training rows add up to 1. A feature with a single state has no values.
    """
    found = []
    for own in distances_of(table, cut_points):
        in_order = ~np.isnan(own.places)
        if in_order.any():
            shares = own.shares[in_order] / max(own.shares[in_order].sum(), 1e-300)
            places = np.zeros(len(own.places))
            places[in_order] = own.places[in_order] - shares @ own.places[in_order]
            spread = float(np.sqrt(shares @ places[in_order] ** 2))
            ordered = places[:, None] / spread if spread > 0 else np.zeros((len(places), 0))
            values = np.hstack([ordered, np.eye(len(places))[:, ~in_order]])
            measured = np.arange(values.shape[1]) < ordered.shape[1] * (in_order.sum() > 2)
        else:
            values = helmert(len(own.places)).T if len(own.places) > 1 else np.zeros((1, 0))
            measured = np.zeros(values.shape[1], dtype=np.bool_)
        values = values - own.shares @ values
        variance = float((own.shares @ values**2).sum())
        if not variance > 0:
            values, measured = values[:, :0], measured[:0]
        found.append(StateValues(values / np.sqrt(variance) if variance > 0 else values, measured))
    return tuple(found)
