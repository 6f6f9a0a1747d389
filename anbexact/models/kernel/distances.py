"""Distances between the states of a feature, and the correlations between rows that follow from the distances."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import rel_entr

from anbexact._kernels.state_distances import add_rows
from anbexact._runtime.arrays import Floats
from anbexact._runtime.by_fields import ByFields
from anbexact._runtime.cached import cached_property
from anbexact.models.smooth.terms import ordered_features
from anbexact.tables.cuts import Cuts
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import CodeArray

GROUPS = 8
"""Maximum number of groups of ordered states from which the information of a feature is estimated."""
CACHED = 1 << 16
"""Number of correlations that are computed together."""
MOST_POWER, LONGEST = 1.3, 1.7
"""Largest power to which differences of intervals may be raised, and largest middle of an interval. Two places are
then at most (1 + 1.7) / 2 = 1.35 apart. With a state at the distance 1 from all others, ``exp(-θ d)`` is a covariance
for every θ if the matrix of ``2 - (2 |p - q|)^α`` has no negative eigenvalue (Schoenberg, *Metric spaces and positive
definite functions*, 1938); for α = 1.3, it has none up to |p - q| = 1.36."""
LEAST = 0.05
"""Relevance of a feature without information, relative to that of the most informative one, at exponent 1."""


@dataclass(frozen=True, eq=False)
class StateDistances(ByFields):
    """The distances between the states of a feature.

    Two states in an order have the distance ``r (2 |p - q|)^α``, where p and q are their places. Any two other states
    have the distance r.

    Attributes
    ----------
    places : (states,) float64
        The place of every state, 0 or more; NaN for a state outside the order.
    shares : (states,) float64
        The share of every state in the training rows; they add up to 1.
    relevance : float, default 1.0
        r, 0 or more.
    power : float, default 1.0
        α, above 0 and at most 2.
    """

    places: Floats
    shares: Floats
    relevance: float = 1.0
    power: float = 1.0

    @cached_property
    def table(self) -> Floats:
        """The distances, shape (states, states)."""
        found = (2 * np.abs(self.places[:, None] - self.places)) ** self.power
        found[np.isnan(found)] = 1.0
        np.fill_diagonal(found, 0.0)
        return self.relevance * found

    def log_correlations(self, states: CodeArray, rate: float) -> Floats:
        """Return ``-rate × distance`` from all states to given ones, shape (states + 1, given states).

        The last row is for a missing cell: the log of the mean of ``exp(-rate × distance)`` over the training rows.
        """
        of_states = -rate * self.table[:, states]
        return np.concatenate([of_states, np.log(self.shares @ np.exp(of_states))[None]])


def distances_of(
    table: DiscreteTable, cut_points: Mapping[Hashable, Cuts], power: float = 1.0
) -> tuple[StateDistances, ...]:
    """Return the distances between the states of every feature of a table, all of relevance 1.

    Intervals and numbers are in the order in which the vocabulary lists them. The state of missing cells, if there is
    one, is outside this order. The place of a number is its mid-rank: the share of the training rows in lower states,
    plus half the share in the state itself. The place of an interval is the mean of its mid-rank and its middle,
    which is counted from that of the first interval; the first and the last interval count as wide as their
    neighbours. The unit of middles is chosen so that two rows drawn at random are as far apart on average as in their
    mid-ranks, but the last middle is at most `LONGEST`. If all rows are in one interval, places are mid-ranks.
    Between intervals, the power is the given one, at most `MOST_POWER`; otherwise, it is 1.
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
            places[: len(ordered)] = _mid_ranks(ordered)
            if name in cut_points:
                places[: len(ordered)] += _middles(cut_points[name], ordered)
                places /= 2
        found.append(StateDistances(places, shares, power=power if name in cut_points else 1.0))
    return tuple(found)


def _mid_ranks(shares: Floats) -> Floats:
    """Return the mid-ranks of states in an order."""
    return np.asarray(np.cumsum(shares) - shares / 2)


def _middles(cuts: Cuts, shares: Floats) -> Floats:
    """Return the middles of intervals on the scale of their mid-ranks; see :func:`distances_of`.

    If there are no two intervals with rows, they are the mid-ranks.
    """
    ranks = _mid_ranks(shares)
    below = np.cumsum(shares)[:-1]
    apart = below * (shares.sum() - below)  # half the share of pairs of rows that a cut point separates
    if not apart.any():
        return ranks
    gaps = np.ones(1)
    if len(cuts) > 1:
        widths = np.diff(cuts / 8)  # which is exact, and no sum of widths overflows
        gaps = (np.append(widths[0], widths) + np.append(widths, widths[-1])) / 2
    values = np.append(0.0, np.cumsum(gaps))
    return np.asarray(values / max(apart @ gaps / (apart @ np.diff(ranks)), values[-1] / LONGEST))


def information(table: DiscreteTable, distances: Sequence[StateDistances]) -> Floats:
    """Return estimates of the mutual information of every feature and the class, (features,), in nats, 0 or more.

    States in an order are merged into up to `GROUPS` groups by their mid-ranks; every other state is a group of its
    own. The mean of the estimate for independent variables, (k - 1) (s - 1) / 2N for k groups, s classes and rows of
    total weight N, is subtracted (Miller, *Note on the bias of information estimates*, 1955).
    """
    class_name = table.vocabulary.class_name
    labels, n_classes = table.column(class_name), table.vocabulary.arity(class_name)
    found = []
    for name, own in zip(table.vocabulary.features, distances, strict=True):
        in_order = ~np.isnan(own.places)
        groups = GROUPS + np.arange(len(own.places))
        # rounded, as a mid-rank on the border of two groups would otherwise be in one or the other by rounding errors
        ranks = np.round(_mid_ranks(own.shares[in_order]) * GROUPS, 9)
        groups[in_order] = np.minimum(ranks, GROUPS - 1).astype(np.int64)
        _, groups = np.unique(groups, return_inverse=True)
        joint = np.zeros((int(groups.max()) + 1, n_classes))
        np.add.at(joint, (groups[table.column(name)], labels), table.weights)
        total, rows = float(joint.sum()), joint.sum(axis=1)
        expected = np.outer(rows, joint.sum(axis=0)) / total
        value = float(rel_entr(joint, expected).sum()) / total
        found.append(value - (np.count_nonzero(rows) - 1) * (n_classes - 1) / (2 * total))
    return np.maximum(found, 0.0)


def with_relevance(
    distances: Sequence[StateDistances], informations: Floats, exponent: float
) -> tuple[StateDistances, ...]:
    """Return distances in which features that say more about the class count more.

    The relevance of feature j is proportional to ``(I_j + max I / 20)`` to the power of the exponent; over the
    features with two states or more, its mean is 1. If no feature has any information I, all have relevance 1.

    Parameters
    ----------
    distances : sequence of StateDistances
    informations : (features,) float64
        See :func:`information`.
    exponent : float
        0 or more; with 0, all features have relevance 1.
    """
    varied = np.array([len(own.shares) > 1 for own in distances])
    most = float(informations.max(initial=0.0))
    shares = informations / most if most > 0 else np.ones(len(distances))
    raw = ((shares + LEAST) / (1 + LEAST)) ** exponent  # at most 1, so that no exponent overflows
    relevances = raw / raw[varied].mean() if varied.any() else raw
    return tuple(replace(own, relevance=float(r)) for own, r in zip(distances, relevances, strict=True))


def log_correlations(codes: CodeArray, points: CodeArray, distances: Sequence[StateDistances], rate: float) -> Floats:
    """Return ``-rate × Σ_j d_j(x_j, z_j)`` for rows x and points z, shape (rows, points).

    Parameters
    ----------
    codes : (features, rows) int16
        Codes of states. A negative code stands for a missing cell, whose term is the log of the mean of
        ``exp(-rate × d_j)`` over the training rows.
    points : (features, points) int16
        Codes of states, 0 or more.
    distances : sequence of StateDistances
        The distances d_j between the states of every feature.
    rate : float
        θ, above 0.
    """
    found = np.empty((codes.shape[1], points.shape[1]))
    for part, sums in _log_correlations_of_parts(codes, points, distances, rate):
        found[part] = sums
    return found


def correlations(codes: CodeArray, points: CodeArray, distances: Sequence[StateDistances], rate: float) -> Floats:
    """Return the exponentials of :func:`log_correlations`, shape (rows, points)."""
    found = np.empty((codes.shape[1], points.shape[1]))
    for part, sums in _log_correlations_of_parts(codes, points, distances, rate):
        found[part] = np.exp(sums, out=sums)
    return found


def _log_correlations_of_parts(
    codes: CodeArray, points: CodeArray, distances: Sequence[StateDistances], rate: float
) -> Iterator[tuple[slice, Floats]]:
    """Yield the log correlations of a few rows at a time, as fit into the cache, with the range of these rows."""
    varied = [j for j, own in enumerate(distances) if len(own.shares) > 1]
    n_rows, n_points = codes.shape[1], points.shape[1]
    starts = np.cumsum([0, *(len(distances[j].shares) + 1 for j in varied)])
    table = np.empty((starts[-1], n_points))
    for k, j in enumerate(varied):
        table[starts[k] : starts[k + 1]] = distances[j].log_correlations(points[j], rate)
    at_once = max(1, CACHED // max(1, n_points))
    for first in range(0, n_rows, at_once):
        part = slice(first, min(first + at_once, n_rows))
        sums, own = np.zeros((part.stop - first, n_points)), codes[varied, part]
        add_rows(table, np.where(own < 0, starts[1:, None] - 1, starts[:-1, None] + own), sums)
        yield part, sums
