"""Why a row got its posterior: what each feature adds to the log odds of one class against another."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from anbexact.inputs.reader import Rows
from anbexact.networks.explanation_text import cell_text, explanation_text
from anbexact.networks.intervals import log_odds_intervals, log_ratio_intervals
from anbexact.networks.posterior import ClassPosterior
from anbexact.parameters.counts import Counts, FamilyCounts
from anbexact.tables.native_values import native
from anbexact.tables.vocabulary import CodeArray, Vocabulary

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.intp]


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
        """Return what the positions along the axis of a variable stand for."""


@dataclass(frozen=True, eq=False)
class Grounds:
    """What the tables of a network rest on.

    Attributes
    ----------
    counts : dict or None
        Weighted counts of every family; None for tables that were given.
    smoothing : float or None
        Equivalent sample size of the Dirichlet prior of the tables; None where they are no means of Dirichlet
        posteriors.
    note : str
        Why there are no counts or no intervals; empty if there are.
    """

    counts: Counts | None
    smoothing: float | None
    note: str = ""


class Term(NamedTuple):
    """One term of an explanation; NaN stands for what is not known."""

    feature: Hashable
    value: Any
    state: Any
    given: str
    nats: float
    odds: float
    low: float
    high: float
    rows: float
    of: float
    rows_against: float
    of_against: float


AS_THEY_ARE = ("feature", "value", "state", "given")
"""Columns of a frame of terms that do not hold numbers."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """The log odds of one class against another, given a row, split into their terms.

    Terms say what the network has learned from its training rows about rows of these classes. They describe
    association: neither a term nor an arc says that one variable causes another.

    Attributes
    ----------
    label, against : class labels
        The two classes that are compared; by default, the most probable class and the second most probable one (the
        same label twice if there is one class).
    predicted, runner_up : class labels
        The two most probable classes.
    probability : float
        P(label | row).
    log_odds : float
        ln P(label | row) - ln P(against | row), in nats: the sum of all terms.
    terms : DataFrame
        One row per term, largest first; see below. Terms of exactly 0, such as those of columns with one state, are
        left out of the printed text.

    Notes
    -----
    The columns of ``terms`` are:

    - ``feature``: the variable. The prior of the class is a term of its own, ``(prior of ...)``; so is, where cells
      are missing or unknown, all that depends on them.
    - ``value``, ``state``: the cell as it stands in the row, and the state that it was read as: an interval, a group
      or the value itself.
    - ``given``: the feature parents, with their cells.
    - ``nats``: the term, ``ln θ(x_i | π_i, label) - ln θ(x_i | π_i, against)``, θ being the conditional tables.
    - ``odds``: its exponential, the factor by which it multiplies the odds.
    - ``low``, ``high``: 95 % credible interval of the term in nats, from the Dirichlet posteriors of the two θ; see
      :mod:`anbexact.networks.intervals`. It takes structure, states and cut points as given. NaN unless tables are
      posterior means (``parameters="eap"``), and for the term of missing cells.
    - ``rows``, ``of``: weight of the training rows of class ``label`` with these states of the variable and of its
      feature parents, out of the weight of those with these states of the parents. ``rows_against``, ``of_against``:
      the same for class ``against``. NaN if the tables of the network were given.
    """

    label: Any
    against: Any
    predicted: Any
    runner_up: Any
    probability: float
    log_odds: float
    note: str = field(repr=False)
    _terms: tuple[Term, ...] = field(repr=False)

    @cached_property
    def terms(self) -> pd.DataFrame:
        """One row per term, largest first."""
        return _frame(self._terms)

    def __str__(self) -> str:
        return explanation_text(self)


class Explanations(list[Explanation]):
    """Explanations of the rows of a table, as a list; :meth:`to_frame` has all their terms in one table.

    Parameters
    ----------
    explanations : iterable of Explanation
        One for each row.
    rows : sequence
        What identifies the rows.
    """

    def __init__(self, explanations: Iterable[Explanation], rows: Sequence[Any]) -> None:
        super().__init__(explanations)
        self.rows = rows

    def to_frame(self) -> pd.DataFrame:
        """Return the terms of all rows in one table, in the order of the rows.

        Returns
        -------
        DataFrame
            ``row`` (the label of the row in the index of the frame, else its position), ``label`` and ``against``
            (the two classes), and the columns of :attr:`Explanation.terms`; the terms of a row largest first. Their
            ``nats`` add up to the log odds of the row.
        """
        frame = _frame([term for explanation in self for term in explanation._terms])
        sizes = [len(explanation._terms) for explanation in self]
        for place, (name, values) in enumerate(
            {
                "row": list(self.rows),
                "label": [explanation.label for explanation in self],
                "against": [explanation.against for explanation in self],
            }.items()
        ):
            repeated = [value for value, size in zip(values, sizes, strict=True) for _ in range(size)]
            frame.insert(place, name, pd.Series(repeated, dtype=object).infer_objects())
        return frame

    def __str__(self) -> str:
        return "\n\n".join(map(str, self))


def _frame(terms: Sequence[Term]) -> pd.DataFrame:
    columns = zip(*terms, strict=True) if terms else ((),) * len(Term._fields)
    return pd.DataFrame(
        {
            name: pd.Series(list(values), dtype=object if name in AS_THEY_ARE else np.float64)
            for name, values in zip(Term._fields, columns, strict=True)
        }
    )


def explain_rows(
    rows: Rows,
    posterior: ClassPosterior,
    families: Mapping[Hashable, Family],
    vocabulary: Vocabulary,
    grounds: Grounds,
    label: Any = None,
    against: Any = None,
) -> Explanations:
    """Explain every row; see :class:`Explanation`.

    Parameters
    ----------
    rows : Rows
        The rows.
    posterior : ClassPosterior
        The class posterior of the network.
    families : mapping of variable to Family
        Its tables or densities.
    vocabulary : Vocabulary
        Names and states.
    grounds : Grounds
        What the tables rest on.
    label, against : class labels, optional
        The classes to compare; None stands for the most probable one of a row that the other is not.

    Raises
    ------
    ValueError
        If ``label`` or ``against`` is not a class, or both are the same.
    """
    class_name = vocabulary.class_name
    assert class_name is not None
    classes = vocabulary.states[class_name]
    log_joint = posterior.log_joint(rows.codes)
    proba = posterior.posterior(rows.codes)
    ranking = np.argsort(-log_joint, axis=1, kind="stable")
    first, second = _compared(ranking, vocabulary, label, against)
    place = np.arange(len(first))
    with np.errstate(invalid="ignore"):  # both impossible: NaN
        log_odds = log_joint[place, first] - log_joint[place, second]
    codes = dict(zip(vocabulary.features, rows.codes.astype(np.intp), strict=True))
    parts = [
        _of_family(name, family, rows.values, codes, (first, second), vocabulary, grounds)
        for name, family in families.items()
        if class_name in family.variables
    ]
    _add_intervals(parts, grounds, one_class=len(classes) == 1)
    by_row = _by_row(parts, rows.codes, log_odds, vocabulary)
    runner_up = ranking[:, min(1, len(classes) - 1)]
    return Explanations(
        (
            Explanation(
                label=classes[first[t]],
                against=classes[second[t]],
                predicted=classes[ranking[t, 0]],
                runner_up=classes[runner_up[t]],
                probability=float(proba[t, first[t]]),
                log_odds=float(log_odds[t]),
                note=grounds.note,
                _terms=by_row[t],
            )
            for t in range(len(first))
        ),
        rows.index,
    )


def _compared(ranking: Integers, vocabulary: Vocabulary, label: Any, against: Any) -> tuple[Integers, Integers]:
    """Return the codes of the two classes of every row."""
    chosen = [
        None if of is None else class_code(vocabulary, name, of)
        for name, of in (("label", label), ("against", against))
    ]
    if None not in chosen and chosen[0] == chosen[1]:
        raise ValueError(f"label and against are both {label!r}: an explanation compares two classes")
    if ranking.shape[1] == 1:
        if against is not None:
            raise ValueError(f"against={against!r} is the only class: there is no class to compare it with")
        return ranking[:, 0], ranking[:, 0]
    pair = []
    for own, other in (chosen, chosen[::-1]):
        if own is not None:
            pair.append(np.full(len(ranking), own))
        elif other is not None:
            pair.append(np.where(ranking[:, 0] == other, ranking[:, 1], ranking[:, 0]))
        else:
            pair.append(ranking[:, len(pair)])
    return pair[0], pair[1]


def class_code(vocabulary: Vocabulary, name: str, label: Any) -> int:
    """Return the code of a class label that was passed as the argument ``name``; refuse what is not a class."""
    assert vocabulary.class_name is not None
    try:
        code = vocabulary.code(vocabulary.class_name, native(label))
    except TypeError:  # not hashable
        code = -1
    if code < 0:
        known = list(vocabulary.states[vocabulary.class_name])
        raise ValueError(f"{name}={label!r} is not a class of {vocabulary.class_name!r}; the classes are {known}")
    return code


@dataclass(eq=False)
class _Part:
    """The terms of one family, of the rows in which all its features are observed."""

    rows: Integers
    labels: tuple[Hashable, list[Any], list[Any], list[str]]  # feature, values, states, given
    nats: Floats
    counts: Floats  # (4, rows): rows, of, rows_against, of_against
    shape: tuple[int, ...]
    of_class: bool
    low: Floats
    high: Floats


def _of_family(
    name: Hashable,
    family: Family,
    values: Mapping[Hashable, Sequence[Any]],
    codes: Mapping[Hashable, Integers],
    compared: tuple[Integers, Integers],
    vocabulary: Vocabulary,
    grounds: Grounds,
) -> _Part:
    """Return the terms of a family, their intervals still to be found."""
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
    return _Part(rows, labels, nats, counts, family.values.shape, name == class_name, blank[0], blank[1])


def _weights(family: FamilyCounts, place: tuple[Integers, ...]) -> Floats:
    """Return the weights of cells, and those of the states of the parents in them, shape (2, cells)."""

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


def _add_intervals(parts: Sequence[_Part], grounds: Grounds, one_class: bool) -> None:
    """Find the intervals of all terms, of each pair of Dirichlet posteriors once."""
    if grounds.smoothing is None:
        return
    parameters = []
    for part in parts:
        prior = grounds.smoothing / prod(part.shape)
        count, of, count_against, of_against = part.counts
        rest = prior * (part.shape[0] - 1)
        others = np.maximum(of - count, 0.0) + rest, np.maximum(of_against - count_against, 0.0) + rest  # rounding
        own = [count + prior, others[0], count_against + prior, others[1]]
        parameters.append(np.stack([*own, np.full(len(count), float(part.of_class))]))
    distinct, inverse = np.unique(np.concatenate(parameters, axis=1), axis=1, return_inverse=True)
    a, b, other_a, other_b, of_class = distinct
    # A variable with one state has no rest: its θ is 1, and the term is 0, as it is with one class.
    low, high = np.zeros(len(a)), np.zeros(len(a))
    same = (of_class > 0) & (not one_class)
    low[same], high[same] = log_odds_intervals(a[same], other_a[same])
    free = (of_class == 0) & (not one_class) & (b > 0) & (other_b > 0)
    low[free], high[free] = log_ratio_intervals(a[free], b[free], other_a[free], other_b[free])
    low, high = low[inverse.reshape(-1)], high[inverse.reshape(-1)]
    bounds = np.cumsum([0, *(len(part.rows) for part in parts)])
    for part, start, stop in zip(parts, bounds[:-1], bounds[1:], strict=True):
        part.low, part.high = low[start:stop], high[start:stop]


def _by_row(
    parts: Sequence[_Part], codes: CodeArray, log_odds: Floats, vocabulary: Vocabulary
) -> list[tuple[Term, ...]]:
    """Return the terms of every row, largest first; what depends on hidden cells is one of them."""
    by_row: list[list[Term]] = [[] for _ in log_odds]
    for part in parts:
        feature, values, states, given = part.labels
        with np.errstate(over="ignore"):
            numbers = np.vstack([part.nats, np.exp(part.nats), part.low, part.high, part.counts]).T.tolist()
        for t, value, state, text, of_row in zip(part.rows.tolist(), values, states, given, numbers, strict=True):
            by_row[t].append(Term(feature, value, state, text, *of_row))
    features = vocabulary.features
    for t in np.flatnonzero((codes < 0).any(axis=0)).tolist():
        hidden = ", ".join(str(features[j]) for j in np.flatnonzero(codes[:, t] < 0))
        rest = float(log_odds[t]) - sum(term.nats for term in by_row[t])
        with np.errstate(over="ignore"):
            odds = float(np.exp(rest))
        label = f"(all that depends on the unobserved {hidden})"
        by_row[t].append(Term(label, None, "", "", rest, odds, *[float("nan")] * 6))
    return [tuple(sorted(terms, key=lambda term: _rank(term.nats))) for terms in by_row]


def _rank(nats: float) -> tuple[bool, float]:
    """Return what sorts terms: the largest first, what is not a number last."""
    return nats != nats, -abs(nats)
