"""Shapley values of rows as a result that can be printed, drawn and tabulated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np
import pandas as pd

from anbexact._runtime.arrays import Floats, Integers
from anbexact._runtime.cached import cached_property
from anbexact._runtime.displayed import Displayed
from anbexact.explanations.background import distributions
from anbexact.explanations.shapley import ShapleyTables, conditional_values
from anbexact.models.family_sum import FamilySum
from anbexact.models.network.explain import compared_classes
from anbexact.models.network.explanation_text import MOST_TERMS, WIDTH, cell_text, factor_text, wrapped
from anbexact.tables.reader import Rows
from anbexact.tables.vocabulary import MISSING, CodeArray, Vocabulary

BASE, HIDDEN = "(base)", "(missing cells)"
"""Names of the terms that are not features."""


class ByRow:
    """Base of dataclasses that hold rows, and arrays whose first axis runs over these rows.

    An index or a slice chooses rows by position. The result has the same type, so it can be printed and tabulated
    like the whole.
    """

    rows: Rows

    def __len__(self) -> int:
        return len(self.rows.index)

    def __getitem__(self, place: int | slice) -> Self:
        chosen = range(len(self))[place]
        places = list(chosen) if isinstance(chosen, range) else [chosen]
        parts: dict[str, Any] = {"rows": self.rows.at(places)}
        for own in fields(self):  # type: ignore[arg-type]  # subclasses are dataclasses
            value = getattr(self, own.name)
            if isinstance(value, np.ndarray):
                parts[own.name] = value[places]
        found: Self = replace(self, **parts)  # type: ignore[type-var]  # as above
        return found

    def __iter__(self) -> Iterator[Self]:
        return (self[place] for place in range(len(self)))


@dataclass(frozen=True, eq=False, repr=False)
class LocalExplanations(Displayed, ByRow):
    """Shapley values of the features of rows, for the log odds of one class against another.

    ``base + values.sum(axis=1) + hidden`` is ``log_odds``, row by row. ``self[t]`` has the values of the row at
    position t alone; iteration yields these, and ``len`` is the number of rows.

    Attributes
    ----------
    vocabulary : Vocabulary
        Names and states of all variables.
    labels, against : (rows,) int
        Codes of the two classes that are compared in every row.
    log_odds : (rows,) float64
        ``ln P(label | row) - ln P(against | row)`` of the classifier, in nats.
    base : (rows,) float64
        The value of the game before any feature is known, in nats.
    values : (rows, features) float64
        Shapley values in nats; 0 for missing cells, which take no part.
    hidden : (rows,) float64
        What missing cells add to the log odds, in nats; 0 in complete rows, and with ``conditional=True``.
    """

    vocabulary: Vocabulary
    labels: Integers
    against: Integers
    log_odds: Floats
    base: Floats
    values: Floats
    hidden: Floats
    rows: Rows = field(repr=False)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.values):,} rows, {self.values.shape[1]:,} features>"

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes."""
        return self.vocabulary.states[self.vocabulary.class_name]

    def states(self, j: int) -> list[Any]:
        """Return the states of a feature in all rows; None where the cell is missing."""
        return states_of(self.vocabulary, self.rows, j)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per row and term, the largest terms of a row first, in the order of the rows.

        The columns are ``row`` (label of the row in the index of X, else its position), ``label`` and ``against``
        (the two classes), ``feature``, ``value`` (the cell), ``state`` (what it was read as), ``nats`` and ``odds``
        (the exponential of ``nats``). The terms ``(base)`` and, in rows with missing cells, ``(missing cells)`` stand
        among the features, so that the ``nats`` of a row add up to its log odds.
        """
        n_rows, n_features = self.values.shape
        terms = np.column_stack([self.base, self.values, self.hidden])
        kept = np.ones(terms.shape, dtype=bool)
        kept[:, 1:-1] = self.rows.codes.T >= 0
        kept[:, -1] = ~kept[:, 1:-1].all(axis=1)
        by_size = np.argsort(-np.abs(terms), axis=1, kind="stable")
        ranked = (by_size + np.arange(n_rows)[:, None] * terms.shape[1]).reshape(-1)
        chosen = ranked[kept.reshape(-1)[ranked]]
        row, term = np.divmod(chosen, n_features + 2)
        features = self.vocabulary.features
        values, states = (np.full(terms.shape, None, dtype=object) for _ in range(2))
        for j, name in enumerate(features):
            values[:, j + 1] = _objects(self.rows.values[name])
            states[:, j + 1] = _objects(self.states(j))
        classes = _objects(self.classes)
        nats = terms.reshape(-1)[chosen]
        with np.errstate(over="ignore"):
            odds = np.exp(nats)
        columns = {
            "row": pd.Series(_objects(self.rows.index)[row]).infer_objects(),
            "label": pd.Series(classes[self.labels[row]]).infer_objects(),
            "against": pd.Series(classes[self.against[row]]).infer_objects(),
            "feature": _objects([BASE, *features, HIDDEN])[term],
            "value": pd.Series(values.reshape(-1)[chosen], dtype=object),
            "state": pd.Series(states.reshape(-1)[chosen], dtype=object),
            "nats": nats,
            "odds": odds,
        }
        return pd.DataFrame(columns)

    def text(self, t: int) -> str:
        """Return the explanation of the row at position t as text."""
        label, against = self.classes[self.labels[t]], self.classes[self.against[t]]
        shown = [j for j in np.argsort(-np.abs(self.values[t]), kind="stable") if self.values[t, j] != 0]
        terms = [(float(self.base[t]), "before any feature is known")]
        for j in shown[:MOST_TERMS]:
            name = self.vocabulary.features[j]
            cell = cell_text(self.rows.values[name][t], self.states(int(j))[t])
            terms.append((float(self.values[t, j]), f"{name} = {cell}"))
        if rest := shown[MOST_TERMS:]:
            terms.append((float(self.values[t, rest].sum()), f"{len(rest)} weaker features together"))
        if self.hidden[t]:
            terms.append((float(self.hidden[t]), "because cells are missing"))
        terms.append((float(self.log_odds[t]), f"odds of {label} against {against}"))
        factors = [factor_text(nats) for nats, _ in terms]
        width = max(map(len, factors))
        lines = wrapped(f"log odds {self.log_odds[t]:+.3f} nats for {label} against {against}:")
        for sign, factor, (_, text) in zip("x" * (len(terms) - 1) + "=", factors, terms, strict=True):
            lines += wrapped(text, WIDTH, f"  {sign} {factor:>{width}}  ", " " * (width + 8))
        return "\n".join(lines)

    def __str__(self) -> str:
        return "\n\n".join(map(self.text, range(len(self.values))))


def _objects(items: Sequence[Any]) -> np.ndarray[Any, np.dtype[Any]]:
    found = np.empty(len(items), dtype=object)
    found[:] = list(items)
    return found


def states_of(vocabulary: Vocabulary, rows: Rows, j: int) -> list[Any]:
    """Return the states of the feature at position j in all rows; None where the cell is missing or unknown."""
    states = vocabulary.states[vocabulary.features[j]]
    return [states[code] if code >= 0 else None for code in rows.codes[j].tolist()]


def explain_locally(
    source: FamilySum,
    rows: Rows,
    *,
    label: Any = None,
    against: Any = None,
    background: str | CodeArray | None = None,
    conditional: bool = False,
    n_jobs: int | None = None,
) -> LocalExplanations:
    """Return the Shapley values of rows.

    Parameters
    ----------
    source : FamilySum
        The class posterior.
    rows : Rows
        The rows.
    label, against : class labels, optional
        The classes to compare; None stands for the most probable class of a row other than the given one.
    background : {"training", "network"}, (features, rows) int16 or None
        See :func:`~anbexact.explanations.background.distributions`.
    conditional : bool
        Whether unknown features are summed out given the known ones, instead of drawn from the background.
    n_jobs : int, optional
        Number of threads.

    Raises
    ------
    ValueError
        If a label is not a class, if there is only one class, or if a background is given with ``conditional``.
    """
    vocabulary, codes = source.vocabulary, rows.codes
    if source.n_classes == 1:
        raise ValueError("there is only one class, so there is nothing to compare it with")
    logs = source.log_posterior(codes)
    ranking = np.argsort(-logs, axis=1, kind="stable")
    first, second = compared_classes(ranking, vocabulary, label, against)
    place = np.arange(len(first))
    log_odds = logs[place, first] - logs[place, second]
    if conditional:
        if background is not None:
            raise ValueError("background applies only with conditional=False: the network itself is the background")
        nothing = np.full((len(codes), 1), MISSING, dtype=np.int16)
        prior = source.network.log_posterior(nothing)[0]
        values = conditional_values(source, codes, first, second)
        base, hidden = prior[first] - prior[second], np.zeros(len(first))
    else:
        missing = codes.min(initial=0, axis=0) < 0
        shares = distributions(source, background)
        tables = ShapleyTables.made(source, shares, absent=bool(missing.any()))
        values = tables.values(codes, first, second, n_jobs)
        base = tables.base[first] - tables.base[second]
        hidden = np.where(missing, log_odds - base - values.sum(axis=1), 0.0)
    return LocalExplanations(vocabulary, first, second, log_odds, base, values, hidden, rows)
