"""How the posterior of a row depends on single entries of the network's tables."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import beta

from anbexact._runtime.arrays import Floats, Integers
from anbexact.explanations.sensitivity import explained_classes, widest_first
from anbexact.models.family_sum import FamilySum
from anbexact.models.network.explanation_text import value_text
from anbexact.models.network.network import TableNetwork
from anbexact.models.parameters.tables import ConditionalTable
from anbexact.tables.reader import Rows

TAILS = 0.025, 0.975
"""The probabilities below the two ends of a 95 % interval."""


@dataclass(frozen=True, eq=False)
class Entry:
    """An entry θ of a conditional table, for each of some rows.

    Attributes
    ----------
    values : (rows,) float64
        θ.
    low, high : (rows,) float64
        The range over which it is varied.
    code : int
        The class to which the entry refers.
    prior : bool
        Whether it is the prior probability of the class, so that the other classes share the rest.
    """

    values: Floats
    low: Floats
    high: Floats
    code: int
    prior: bool

    def posterior(self, log_posterior: Floats, value: Floats) -> Floats:
        """Return P(c | row) of all classes when the entry has another value, shape (rows, classes).

        The other entries of the same distribution change in proportion. P(c, row) is linear in the entry, so that
        the posterior is a quotient of two linear functions of it.
        """
        joint = np.exp(log_posterior)
        own = joint[:, self.code] * value / self.values
        if self.prior:
            joint *= ((1 - value) / (1 - self.values))[:, None]
        joint[:, self.code] = own
        found: Floats = joint / joint.sum(axis=1, keepdims=True)
        return found

    def break_even(self, log_posterior: Floats) -> Floats:
        """Return the value at which the entry's class is as probable as the best other one; NaN if there is none."""
        predicted = log_posterior.argmax(axis=1)
        others = np.delete(log_posterior, self.code, axis=1).max(axis=1)
        # The factor by which the joint probability of the entry's class must change:
        ratio = np.exp(others - log_posterior[:, self.code])
        if self.prior:
            odds = self.values / (1 - self.values) * ratio
            return np.asarray(odds / (1 + odds))
        value = self.values * ratio
        return np.where((value <= 1) | (predicted == self.code), value, np.nan)


def _ranges(
    network: TableNetwork, name: Hashable, place: tuple[Integers, ...], odds: float | None
) -> tuple[Floats, Floats]:
    """Return the range of every entry: by a factor of its odds if ``odds`` is given, else its 95 % credible interval.

    The posterior of an entry is Beta(n + α, N - n + (r - 1) α); see :mod:`anbexact.models.network.intervals`.
    """
    if odds is not None:
        values = network.tables[name].values[place]
        own = values / (1 - values)
        return own / odds / (1 + own / odds), own * odds / (1 + own * odds)
    assert network.counts is not None
    family = network.counts[name]
    alpha = network.grounds.smoothing_of(name) / prod(family.shape)
    dense = family.dense() + alpha
    counts, total = dense[place], dense.sum(axis=0)[place[1:]]
    rest = np.maximum(total - counts, 0.0)
    low, high = (np.asarray(beta.ppf(tail, counts, rest)) for tail in TAILS)
    return low, high


def tornado_of_entries(source: FamilySum, rows: Rows, label: Any = None, odds: float | None = None) -> pd.DataFrame:
    """Return the range of P(label | row) over the range of each entry that the row depends on.

    See :meth:`anbexact.classifiers.explaining.Explaining.tornado_of_entries`.

    Raises
    ------
    ValueError
        If a table holds a zero, if the entries have no posterior and no ``odds`` are given, or if ``odds`` is not
        above 1.
    """
    network = source.network
    source.potentials  # noqa: B018  # refuses tables with zeros, whose odds cannot change
    if source.n_classes == 1:
        raise ValueError("there is only one class, so there is nothing to compare it with")
    if odds is None and network.grounds.smoothing is None:
        raise ValueError(f"{network.grounds.note} Pass odds=2, say, to vary every entry by this factor of its odds.")
    if odds is not None and not 1 < odds < np.inf:
        raise ValueError(f"odds must be a number above 1, not {odds!r}")
    vocabulary = source.vocabulary
    logs = source.log_posterior(rows.codes)
    explained = explained_classes(source, np.exp(logs), label)
    frames = []
    for name, table in network.tables.items():
        if vocabulary.class_name not in table.variables or table.values.shape[0] < 2:
            continue
        features = [vocabulary.features.index(v) for v in table.variables if v != vocabulary.class_name]
        observed = np.flatnonzero((rows.codes[features] >= 0).all(axis=0))
        for code in range(source.n_classes):
            place = tuple(
                np.full(len(observed), code) if v == vocabulary.class_name
                else rows.codes[vocabulary.features.index(v)][observed].astype(np.intp)
                for v in table.variables
            )  # fmt: skip
            low, high = _ranges(network, name, place, odds)
            entry = Entry(table.values[place], low, high, code, name == vocabulary.class_name)
            frames.append(_frame(entry, logs[observed], explained[observed]))
            frames[-1].insert(0, "row", [rows.index[t] for t in observed.tolist()])
            frames[-1].insert(2, "entry", _texts(network, table, place))
            frames[-1]["_place"] = observed
    return widest_first(frames).assign(label=lambda frame: [_class(network, c) for c in frame["label"]])


def _class(network: TableNetwork, code: int) -> Any:
    """Return the label of a class."""
    return network.vocabulary.states[network.vocabulary.class_name][code]


def _frame(entry: Entry, logs: Floats, explained: Integers) -> pd.DataFrame:
    """Return the effect of an entry on every row; ``explained`` are the codes of the explained classes."""
    place = np.arange(len(logs))
    ends = np.stack([entry.posterior(logs, value)[place, explained] for value in (entry.low, entry.high)])
    even = entry.break_even(logs)
    return pd.DataFrame(
        {
            "label": explained,
            "value": entry.values,
            "value_low": entry.low,
            "value_high": entry.high,
            "probability": np.exp(logs)[place, explained],
            "low": ends.min(axis=0),
            "high": ends.max(axis=0),
            "break_even": even,
            "changes_decision": (even > entry.low) & (even < entry.high),
        }
    )


def _texts(network: TableNetwork, table: ConditionalTable, place: tuple[Integers, ...]) -> list[str]:
    """Return the entries as text: ``P(petal_width = (0.8, 1.75] | species = virginica)``."""
    named = [
        [f"{v} = {value_text(network.vocabulary.states[v][k])}" for k in of_axis.tolist()]
        for v, of_axis in zip(table.variables, place, strict=True)
    ]
    return [f"P({own[0]} | {', '.join(own[1:])})" if own[1:] else f"P({own[0]})" for own in zip(*named, strict=True)]
