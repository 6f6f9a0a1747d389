"""Distances between the states of a feature, and the correlations between rows that follow from them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from anbexact._runtime.arrays import Floats
from anbexact._runtime.by_fields import ByFields
from anbexact._runtime.cached import cached_property
from anbexact.models.smooth.terms import ordered_features
from anbexact.tables.cuts import Cuts
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import CodeArray


@dataclass(frozen=True, eq=False)
class StateDistances(ByFields):
    """The distances between the states of a feature.

    Two states that follow an order have the distance ``2 |p - q|``, where p and q are their mid-ranks: the share of
    the training rows in lower states, plus half the share of their own. Two randomly drawn rows then have a mean
    distance of at most 2/3. Any two other states have the distance 1.

    Attributes
    ----------
    places : (states,) float64
        The mid-rank of every state, from 0 to 1; NaN if it is in no order.
    shares : (states,) float64
        The share of every state in the training rows; they add up to 1.
    """

    places: Floats
    shares: Floats

    @cached_property
    def table(self) -> Floats:
        """The distances, shape (states, states)."""
        found = 2 * np.abs(self.places[:, None] - self.places)
        found[np.isnan(found)] = 1.0
        np.fill_diagonal(found, 0.0)
        return found

    def log_correlations(self, states: CodeArray, rate: float) -> Floats:
        """Return the logs of ``exp(-rate × distance)`` between states, shape (states + 1, given states).

        The last row is for a missing cell: the log of their mean over the training rows.
        """
        of_states = -rate * self.table[:, states]
        return np.concatenate([of_states, np.log(self.shares @ np.exp(of_states))[None]])


def distances_of(table: DiscreteTable, cut_points: Mapping[Hashable, Cuts]) -> tuple[StateDistances, ...]:
    """Return the distances between the states of every feature of a table.

    States follow an order if they are intervals or numbers; the state of missing cells, if there is one, does not.
    """
    vocabulary = table.vocabulary
    in_order = ordered_features(vocabulary, cut_points, ())
    found = []
    for name in vocabulary.features:
        weights = np.bincount(table.column(name), table.weights, vocabulary.arity(name))
        shares = weights / weights.sum()
        places = np.full(len(shares), np.nan)
        if name in in_order:
            ordered = shares[: len(vocabulary.observed_states(name))]
            places[: len(ordered)] = np.cumsum(ordered) - ordered / 2
        found.append(StateDistances(places, shares))
    return tuple(found)


def log_correlations(codes: CodeArray, points: CodeArray, distances: Sequence[StateDistances], rate: float) -> Floats:
    """Return ``-rate × Σ_j d_j(x_j, z_j)`` for rows x and points z, shape (rows, points).

    Parameters
    ----------
    codes : (features, rows) int16
        Codes of states; for a negative code, the log of the mean of ``exp(-rate × d_j)`` over the training rows is
        used.
    points : (features, points) int16
        Codes of states, 0 or more.
    distances : sequence of StateDistances
        Those of every feature.
    rate : float
    """
    total = np.zeros((codes.shape[1], points.shape[1]))
    for own, states, of_points in zip(distances, codes, points, strict=True):
        if len(own.shares) > 1:
            total += own.log_correlations(of_points, rate)[np.maximum(states, -1)]
    return total


def correlations(codes: CodeArray, points: CodeArray, distances: Sequence[StateDistances], rate: float) -> Floats:
    """Return the exponentials of :func:`log_correlations`, shape (rows, points)."""
    logs = log_correlations(codes, points, distances, rate)
    return np.asarray(np.exp(logs, out=logs))
