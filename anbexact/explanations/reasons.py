"""Sufficient reasons: features whose values determine the decision, whatever the others are."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from anbexact._kernels.max_sum import minimal_reasons, smallest_reasons
from anbexact._runtime.arrays import Bools, Floats, Integers
from anbexact._runtime.cached import cached_property
from anbexact._runtime.displayed import Displayed
from anbexact._runtime.tasks import run_on_rows
from anbexact.explanations.local import ByRow, states_of
from anbexact.explanations.max_sum import arranged
from anbexact.models.family_sum import FamilySum
from anbexact.models.network.explanation_text import cell_text, wrapped
from anbexact.tables.prediction import check_choice
from anbexact.tables.reader import Rows
from anbexact.tables.vocabulary import Vocabulary

TOLERANCE = 1e-9
"""Minimum lead of the decided class over every other one, in nats."""
CHUNK = 500
"""Number of rows per task."""
MOST_NODES = 20_000
"""Maximum number of nodes of the search for a smallest reason, per row."""
SIZES = ("minimal", "smallest")
"""The choices of ``size``."""


@dataclass(frozen=True, eq=False, repr=False)
class Reasons(Displayed, ByRow):
    """A sufficient reason for the decision of every row.

    ``self[t]`` has the reason of the row at position t alone; iteration yields these, and ``len`` is the number of
    rows.

    Attributes
    ----------
    vocabulary : Vocabulary
        Names and states of all variables.
    decided : (rows,) int
        Codes of the predicted classes.
    fixed : (rows, features) bool
        The features of the reason.
    margins : (rows,) float64
        The smallest lead of the decided class over all others that values of the other features leave it, in nats;
        NaN where there is no reason.
    proved : (rows,) bool
        Whether no reason has fewer features; only ``size="smallest"`` proves it.
    """

    vocabulary: Vocabulary
    decided: Integers
    fixed: Bools
    margins: Floats
    proved: Bools
    rows: Rows = field(repr=False)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.fixed):,} rows>"

    @property
    def exists(self) -> Bools:
        """Whether there is a reason; there is none where missing cells, or a tie, leave the decision open."""
        return ~np.isnan(self.margins)

    def features(self, t: int) -> list[Hashable]:
        """Return the features of the reason of the row at position t."""
        return [self.vocabulary.features[j] for j in np.flatnonzero(self.fixed[t])]

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per row.

        The columns are ``row`` (label of the row in the index of X, else its position), ``decision``, ``exists``,
        ``size`` (features of the reason), ``reason`` (a tuple of features; empty where there is no reason), ``text``
        (the reason with its values), ``margin`` (nats) and ``smallest`` (whether no reason is smaller).
        """
        classes = self.vocabulary.states[self.vocabulary.class_name]
        found = self.exists
        n_rows = range(len(self.fixed))
        return pd.DataFrame(
            {
                "row": list(self.rows.index),
                "decision": [classes[c] for c in self.decided.tolist()],
                "exists": found,
                "size": np.where(found, self.fixed.sum(axis=1), 0),
                "reason": pd.Series([tuple(self.features(t)) if found[t] else () for t in n_rows], dtype=object),
                "text": [self._cells(t) if found[t] else "" for t in n_rows],
                "margin": self.margins,
                "smallest": self.proved & found,
            }
        )

    @cached_property
    def _states(self) -> list[list[Any]]:
        return [states_of(self.vocabulary, self.rows, j) for j in range(self.fixed.shape[1])]

    def _cells(self, t: int) -> str:
        features = self.vocabulary.features
        return " and ".join(
            f"{features[j]} = {cell_text(self.rows.values[features[j]][t], self._states[j][t])}"
            for j in np.flatnonzero(self.fixed[t])
        )

    def text(self, t: int) -> str:
        """Return the reason of the row at position t as a sentence."""
        decision = self.vocabulary.states[self.vocabulary.class_name][self.decided[t]]
        if not self.exists[t]:
            cause = "missing cells" if (self.rows.codes[:, t] < 0).any() else "a tie"
            return f"{decision} has no sufficient reason, because {cause} can change the decision."
        if not self.fixed[t].any():
            return f"{decision}, whatever the features are."
        return "\n".join(wrapped(f"{decision} whatever the other features are, because {self._cells(t)}."))

    def __str__(self) -> str:
        return "\n".join(map(self.text, range(len(self.fixed))))


def sufficient_reasons(source: FamilySum, rows: Rows, size: str = "minimal", n_jobs: int | None = None) -> Reasons:
    """Return a sufficient reason for the decision of every row.

    A set S of observed features suffices for the predicted class c if, for every other class c',

        ln P(c') / P(c) + max over all states of the other features of Σ_F [f_F(x_F, c') - f_F(x_F, c)] < -1e-9.

    The maximum is found by eliminating the features one after the other.

    Parameters
    ----------
    source : FamilySum
        The class posterior.
    rows : Rows
        The rows; a missing cell is never part of a reason, because it may have any state.
    size : {"minimal", "smallest"}
        Whether no feature can be left out of the reason, or no reason is smaller.
    n_jobs : int, optional
        Number of threads.

    Raises
    ------
    ValueError
        If the elimination would need too large tables, or for another ``size``.

    References
    ----------
    Shih, Choi and Darwiche, *A symbolic approach to explaining Bayesian network classifiers*, IJCAI 2018.
    """
    check_choice("size", size, SIZES)
    elimination, codes = arranged(source), rows.codes
    decided = source.log_posterior(codes).argmax(axis=1)
    n_features, n_rows = codes.shape
    fixed = np.zeros((n_rows, n_features), dtype=np.bool_)
    worst, proved = np.empty(n_rows), np.zeros(n_rows, dtype=np.bool_)
    arguments = codes, elimination.buckets, source.arities, elimination.relevant, decided.astype(np.int64), TOLERANCE

    def work(start: int, stop: int) -> None:
        minimal_reasons(*arguments, start, stop, fixed, worst)
        if size == "smallest":
            smallest_reasons(*arguments, MOST_NODES, start, stop, fixed, worst, proved)

    run_on_rows(work, n_rows, CHUNK, n_jobs)
    margins = np.where(worst <= -TOLERANCE, -worst, np.nan)
    return Reasons(source.vocabulary, decided, fixed, margins, proved, rows)
