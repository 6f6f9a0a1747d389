"""The next best question: the expected value of observing a missing cell."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np
import pandas as pd
from scipy.special import entr, logsumexp

from anbexact._runtime.arrays import Floats
from anbexact.explanations.decisions import Costs
from anbexact.models.family_sum import FamilySum
from anbexact.tables.reader import Rows

LEAST = 1e-12
"""Gains up to this size may be rounding errors; costs are compared with this share of the largest one."""


def answers(source: FamilySum, rows: Rows, j: int) -> tuple[Floats, Floats]:
    """Return ``P(x_j | observed cells)`` and ``P(c | observed cells, x_j)`` of all states of a feature.

    ``P(c | observed cells, x_j)`` is 0 for every class where the state is impossible.

    Returns
    -------
    (rows, states) and (rows, states, classes) float64
    """
    arity, n_rows = int(source.arities[j]), rows.codes.shape[1]
    logs = np.empty((n_rows, arity, source.n_classes))
    for state in range(arity):
        codes = rows.codes.copy()
        codes[j] = state
        logs[:, state] = source.network.log_joint(codes)
    of_states = logsumexp(logs, axis=2)
    shares = np.exp(of_states - logsumexp(of_states, axis=1, keepdims=True))
    return shares, np.exp(logs - np.where(np.isneginf(of_states), 0.0, of_states)[..., None])


def next_questions(
    source: FamilySum,
    rows: Rows,
    costs: Costs,
    prices: Mapping[Hashable, float],
    by: str,
) -> pd.DataFrame:
    """Return the value of every missing cell; see :meth:`anbexact.classifiers.explaining.Explaining.next_question`.

    Raises
    ------
    ValueError
        If ``prices`` has a name that is not a feature.
    """
    vocabulary = source.vocabulary
    if unknown := [name for name in prices if name not in vocabulary.features]:
        raise ValueError(f"prices names {unknown[0]!r}, which is not a feature of the classifier")
    index = pd.Series(list(rows.index)).to_numpy()
    frames = []
    for j, name in enumerate(vocabulary.features):
        hidden = rows.codes[j] < 0
        if source.arities[j] < 2 or not hidden.any():
            continue
        places = np.flatnonzero(hidden)
        own = rows.chosen(hidden)
        shares, posteriors = answers(source, own, j)
        now = np.einsum("tk,tkc->tc", shares, posteriors)
        entropy = entr(now).sum(axis=1)
        information = np.maximum(entropy - (shares * entr(posteriors).sum(axis=2)).sum(axis=1), 0.0)
        expected_now, expected = now @ costs.matrix, posteriors @ costs.matrix
        decided = least(expected_now, costs).argmax(axis=1)
        gain = np.maximum(expected_now.min(axis=1) - (shares * expected.min(axis=2)).sum(axis=1), 0.0)
        other = ~np.take_along_axis(least(expected, costs), decided[:, None, None], axis=2)[:, :, 0]
        predicted = now.argmax(axis=1)
        answered = np.take_along_axis(posteriors, predicted[:, None, None], axis=2)[:, :, 0]
        answered = np.where(shares > 0, answered, now[np.arange(len(places)), predicted][:, None])
        value = (information if by == "information" else gain) - float(prices.get(name, 0.0))
        frames.append(
            pd.DataFrame(
                {
                    "row": index[places],
                    "feature": pd.Series([name] * len(places), dtype=object),
                    "information": information,
                    "gain": gain,
                    "changes_decision": (shares * other).sum(axis=1),
                    "probability": now[np.arange(len(places)), predicted],
                    "low": answered.min(axis=1),
                    "high": answered.max(axis=1),
                    "value": value,
                    "ask": value > LEAST,
                    "_place": places,
                }
            )
        )
    if not frames:
        return pd.DataFrame(columns=[*COLUMNS])
    frame = pd.concat(frames, ignore_index=True)
    order = np.lexsort((-frame["value"], frame["_place"]))
    frame = frame.iloc[order].reset_index(drop=True)
    frame["ask"] &= ~frame["_place"].duplicated()
    return frame.drop(columns="_place")


def least(expected: np.ndarray, costs: Costs) -> np.ndarray:
    """Return which decisions, along the last axis, have the least expected cost, up to rounding."""
    tied: np.ndarray = expected <= expected.min(axis=-1, keepdims=True) + LEAST * np.abs(costs.matrix).max()
    return tied


COLUMNS = (
    "row", "feature", "information", "gain", "changes_decision", "probability", "low", "high", "value", "ask",
)  # fmt: skip
"""The columns of the result, if no cell is missing."""
