"""The contributions of the families of a network to the log odds of rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from anbexact._runtime.arrays import Floats, Integers
from anbexact.models.network.explanation import Term
from anbexact.models.network.explanation_text import cell_text
from anbexact.models.network.intervals import log_odds_intervals, log_ratio_intervals
from anbexact.models.parameters.counts import Counts, FamilyCounts
from anbexact.tables.vocabulary import CodeArray, Vocabulary

NEGLIGIBLE_NATS = 1e-13
"""Nats below which a term counts as 0: logarithms of equal probabilities can differ by rounding, about 1e-16."""


class Family(Protocol):
    """A variable and its parents, with a conditional probability or density of the variable."""

    @property
    def variables(self) -> tuple[Hashable, ...]:
        """The variable, then its parents."""

    @property
    def values(self) -> Floats:
        """The probabilities or densities; its axes are ``variables``."""

    def cells(self, codes: Mapping[Hashable, Integers]) -> tuple[Integers, ...]:
        """Return the positions in ``values`` that belong to codes of the variables, one array for each axis."""

    def states(self, name: Hashable, vocabulary: Vocabulary) -> Sequence[Any]:
        """Return the meaning of the positions along the axis of a variable."""


@dataclass(frozen=True, eq=False)
class Grounds:
    """The counts from which the tables of a network are estimated.

    Attributes
    ----------
    counts : dict or None
        Weighted counts of every family; None for tables that were given.
    smoothing : float or None
        Equivalent sample size of the Dirichlet prior of the tables; None if they are not means of Dirichlet
        posteriors.
    note : str
        Why counts or intervals are not available; empty if they are.
    class_name, class_smoothing : Hashable and float, optional
        The class, and the equivalent sample size of the prior of its table if it has one of its own.
    """

    counts: Counts | None
    smoothing: float | None
    note: str = ""
    class_name: Hashable | None = None
    class_smoothing: float | None = None

    def smoothing_of(self, name: Hashable) -> float:
        """Return the equivalent sample size of the Dirichlet prior of a variable's table."""
        assert self.smoothing is not None
        own = self.class_smoothing if name == self.class_name else None
        return self.smoothing if own is None else own


@dataclass(eq=False)
class FamilyTerms:
    """The terms of one family, for the rows in which all its features are observed.

    ``child_is_class`` is whether it is the family of the class, whose terms compare two states of one distribution.
    """

    rows: Integers
    labels: tuple[Hashable, list[Any], list[Any], list[str]]  # feature, values, states, given
    nats: Floats
    counts: Floats  # (4, rows): rows, of, rows_against, of_against
    shape: tuple[int, ...]
    child_is_class: bool
    low: Floats
    high: Floats


def family_terms(
    name: Hashable,
    family: Family,
    values: Mapping[Hashable, Sequence[Any]],
    codes: Mapping[Hashable, Integers],
    compared: tuple[Integers, Integers],
    vocabulary: Vocabulary,
    grounds: Grounds,
) -> FamilyTerms:
    """Return the terms of a family, without their intervals."""
    class_name = vocabulary.class_name
    others = [variable for variable in family.variables if variable != class_name]
    observed = np.ones(len(compared[0]), dtype=np.bool_)
    for other in others:
        observed &= codes[other] >= 0
    rows = np.flatnonzero(observed)
    own = {other: codes[other][rows] for other in others}
    places = [family.cells({**own, class_name: of[rows]}) for of in compared]
    with np.errstate(divide="ignore", invalid="ignore"):
        nats = np.log(family.values[places[0]]) - np.log(family.values[places[1]])
        # Otherwise, the rounding of the processor would decide which terms are shown.
        nats[np.abs(nats) < NEGLIGIBLE_NATS] = 0.0
    axis = {variable: k for k, variable in enumerate(family.variables)}

    def cells(variable: Hashable) -> list[tuple[Any, Any]]:
        states = family.states(variable, vocabulary)
        found = values[variable]
        return [(found[t], states[k]) for t, k in zip(rows.tolist(), places[0][axis[variable]].tolist(), strict=True)]

    parents = [v for v in others if v != name and len(family.states(v, vocabulary)) > 1]
    given = [[f"{v} = {cell_text(*cell)}" for cell in cells(v)] for v in parents]
    texts = [", ".join(of_row) for of_row in zip(*given, strict=True)] if given else [""] * len(rows)
    if name == class_name:
        labels: Any = f"(prior of {name})", [None] * len(rows), [""] * len(rows), texts
    else:
        pairs = cells(name)
        labels = name, [value for value, _ in pairs], [state for _, state in pairs], texts
    counts = np.full((4, len(rows)), np.nan)
    if grounds.counts is not None:
        counts[:2] = _weights(grounds.counts[name], places[0])
        counts[2:] = _weights(grounds.counts[name], places[1])
    blank = np.full((2, len(rows)), np.nan)
    return FamilyTerms(rows, labels, nats, counts, family.values.shape, name == class_name, blank[0], blank[1])


def _weights(family: FamilyCounts, place: tuple[Integers, ...]) -> Floats:
    """Return the weights of cells, and the weights of their joint states of the parents alone, shape (2, cells)."""

    def looked_up(positions: Integers, known: npt.NDArray[np.int64], weights: Floats) -> Floats:
        if not len(known):
            return np.zeros(len(positions))
        found = np.minimum(np.searchsorted(known, positions), len(known) - 1)
        return np.where(known[found] == positions, weights[found], 0.0)

    n_parents = prod(family.shape[1:])
    position = np.ravel_multi_index(place, family.shape)
    parents, inverse = np.unique(family.cells % n_parents, return_inverse=True)
    of_parents = np.bincount(inverse.reshape(-1), family.weights, len(parents)).astype(np.float64, copy=False)
    return np.stack(
        [
            looked_up(position, family.cells, family.weights),
            looked_up(position % n_parents, parents, of_parents),
        ]
    )


def add_intervals(parts: Sequence[FamilyTerms], grounds: Grounds, one_class: bool) -> None:
    """Compute the intervals of all terms, once for each pair of Dirichlet posteriors."""
    if grounds.smoothing is None:
        return
    parameters = []
    for part in parts:
        prior = grounds.smoothing_of(grounds.class_name if part.child_is_class else None) / prod(part.shape)
        count, of, count_against, of_against = part.counts
        rest = prior * (part.shape[0] - 1)
        # Rounding of real weights could make the differences negative.
        others = np.maximum(of - count, 0.0) + rest, np.maximum(of_against - count_against, 0.0) + rest
        own = [count + prior, others[0], count_against + prior, others[1]]
        parameters.append(np.stack([*own, np.full(len(count), float(part.child_is_class))]))
    distinct, inverse = np.unique(np.concatenate(parameters, axis=1), axis=1, return_inverse=True)
    a, b, other_a, other_b, child_is_class = distinct
    # A variable with one state has no other states: its θ is 1, and the term is 0, as with a single class.
    low, high = np.zeros(len(a)), np.zeros(len(a))
    same = (child_is_class > 0) & (not one_class)
    low[same], high[same] = log_odds_intervals(a[same], other_a[same])
    free = (child_is_class == 0) & (not one_class) & (b > 0) & (other_b > 0)
    low[free], high[free] = log_ratio_intervals(a[free], b[free], other_a[free], other_b[free])
    low, high = low[inverse.reshape(-1)], high[inverse.reshape(-1)]
    bounds = np.cumsum([0, *(len(part.rows) for part in parts)])
    for part, start, stop in zip(parts, bounds[:-1], bounds[1:], strict=True):
        part.low, part.high = low[start:stop], high[start:stop]


def terms_by_row(
    parts: Sequence[FamilyTerms], codes: CodeArray, log_odds: Floats, vocabulary: Vocabulary
) -> list[tuple[Term, ...]]:
    """Return the terms of every row, largest first; everything that depends on hidden cells is one term."""
    by_row: list[list[Term]] = [[] for _ in log_odds]
    for part in parts:
        feature, values, states, given = part.labels
        with np.errstate(over="ignore"):
            numbers = np.vstack([part.nats, part.low, part.high, np.exp(part.nats), part.counts]).T.tolist()
        for t, value, state, text, of_row in zip(part.rows.tolist(), values, states, given, numbers, strict=True):
            by_row[t].append(Term(feature, value, state, text, *of_row))
    features = vocabulary.features
    for t in np.flatnonzero((codes < 0).any(axis=0)).tolist():
        hidden = ", ".join(str(features[j]) for j in np.flatnonzero(codes[:, t] < 0))
        rest = float(log_odds[t]) - sum(term.nats for term in by_row[t])
        with np.errstate(over="ignore"):
            odds = float(np.exp(rest))
        label = f"(all that depends on the unobserved {hidden})"
        unknown = float("nan")
        by_row[t].append(Term(label, None, "", "", rest, unknown, unknown, odds, *[unknown] * 4))
    return [tuple(sorted(terms, key=lambda term: _rank(term.nats))) for terms in by_row]


def _rank(nats: float) -> tuple[bool, float]:
    """Return the sort key of terms: the largest first, NaN last."""
    return nats != nats, -abs(nats)
