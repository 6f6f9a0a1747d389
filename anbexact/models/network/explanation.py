"""Explanations of rows: the terms of their log odds, and frames of them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from anbexact._runtime.cached import cached_property
from anbexact._runtime.displayed import Displayed
from anbexact.models.network.explanation_text import explanation_text


class Term(NamedTuple):
    """One term of an explanation; NaN means unknown."""

    feature: Hashable
    value: Any
    state: Any
    given: str
    nats: float
    low: float
    high: float
    odds: float
    rows: float
    of: float
    rows_against: float
    of_against: float


AS_THEY_ARE = ("feature", "value", "state", "given")
"""Columns of a frame of terms that do not contain numbers."""


@dataclass(frozen=True, eq=False)
class Explanation(Displayed):
    """The log odds of one class against another, given a row, split into their terms.

    Terms reflect what the network has learned from its training rows about these classes. They describe association:
    neither a term nor an arc means that one variable causes another.

    Attributes
    ----------
    label, against : class labels
        The two classes that are compared; by default, the most probable class and the second most probable one (the
        same label twice if there is one class).
    predicted, runner_up : class labels
        The two most probable classes.
    probability : float
        P(label | row).
    low, high : float
        Ends of its 95 % interval (see :meth:`~anbexact.NetworkClassifier.predict_proba_interval`); NaN unless
        requested.
    log_odds : float
        ln P(label | row) - ln P(against | row), in nats: the sum of all terms.
    terms : DataFrame
        One row per term, largest first; see below. Terms of exactly 0, such as those of columns with one state, are
        left out of the printed text.

    Notes
    -----
    The columns of ``terms`` are:

    - ``feature``: the variable. The prior of the class is a separate term, ``(prior of ...)``. If cells are missing
      or unknown, everything that depends on them is a separate term, too.
    - ``value``, ``state``: the cell as it is in the row, and the state as which it was read: an interval, a group or
      the value itself.
    - ``given``: the feature parents, with their cells.
    - ``nats``: the term, ``ln θ(x_i | π_i, label) - ln θ(x_i | π_i, against)``, where θ are the conditional tables.
    - ``low``, ``high``: 95 % credible interval of the term in nats, from the Dirichlet posteriors of the two θ; see
      :mod:`anbexact.models.network.intervals`. It takes structure, states and cut points as given. NaN unless tables
      are posterior means (``parameters="eap"``), and for the term of missing cells.
    - ``odds``: the exponential of ``nats``, the factor by which the term multiplies the odds.
    - ``rows``, ``of``: weight of the training rows of class ``label`` with these states of the variable and of its
      feature parents, and weight of those with these states of the parents, whatever the state of the variable.
      ``rows_against``, ``of_against``: the same for class ``against``. NaN if the tables of the network were given.
    """

    label: Any
    against: Any
    predicted: Any
    runner_up: Any
    probability: float
    log_odds: float
    note: str = field(repr=False)
    _terms: tuple[Term, ...] = field(repr=False)
    low: float = math.nan
    high: float = math.nan

    @cached_property
    def terms(self) -> pd.DataFrame:
        """One row per term, largest first."""
        return _frame(self._terms)

    def __str__(self) -> str:
        return explanation_text(self)


class Explanations(Displayed, list[Explanation]):
    """Explanations of the rows of a table, as a list; :meth:`to_frame` returns all their terms in one table.

    Parameters
    ----------
    explanations : iterable of Explanation
        One for each row.
    rows : sequence
        Labels that identify the rows.
    """

    def __init__(self, explanations: Iterable[Explanation], rows: Sequence[Any]) -> None:
        super().__init__(explanations)
        self.rows = rows

    def with_intervals(self, ends: Iterable[Sequence[float]]) -> Explanations:
        """Return the explanations with the ends of the intervals of their probabilities, one pair for each row."""
        own = [replace(of, low=float(low), high=float(high)) for of, (low, high) in zip(self, ends, strict=True)]
        return Explanations(own, self.rows)

    def to_frame(self) -> pd.DataFrame:
        """Return the terms of all rows in one table, in the order of the rows.

        Returns
        -------
        DataFrame
            ``row`` (the label of the row in the index of the frame, else its position), ``label`` and ``against``
            (the two classes), and the columns of :attr:`Explanation.terms`, with the largest terms of a row first.
            Their ``nats`` add up to the log odds of the row. If intervals of the probabilities were requested,
            ``probability``, ``probability_low`` and ``probability_high`` come after ``against``.
        """
        frame = _frame([term for explanation in self for term in explanation._terms])
        sizes = [len(explanation._terms) for explanation in self]
        columns: dict[str, list[Any]] = {
            "row": list(self.rows),
            "label": [explanation.label for explanation in self],
            "against": [explanation.against for explanation in self],
        }
        if any(not math.isnan(explanation.low) for explanation in self):
            columns["probability"] = [explanation.probability for explanation in self]
            columns["probability_low"] = [explanation.low for explanation in self]
            columns["probability_high"] = [explanation.high for explanation in self]
        for place, (name, values) in enumerate(columns.items()):
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
