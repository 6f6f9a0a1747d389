"""Leave-one-out prediction in which the structure is learned again for every row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd

from anbexact._runtime.cached import cached_property
from anbexact._runtime.displayed import Displayed
from anbexact._runtime.progress import Progress
from anbexact._runtime.spread import spread, worker_count
from anbexact._runtime.units import number_text
from anbexact.scores import BDeu
from anbexact.search.constraints import Edge
from anbexact.search.posterior.relearner import FeatureParents, Predicted, Relearner, check_relearnable
from anbexact.search.posterior.setting import Limits, Setting
from anbexact.search.scoring.totals import class_of
from anbexact.tables.table import DiscreteTable

PARTS_A_WORKER = 4
"""Number of parts of the rows for every worker: if parts take different times, workers then wait little at the
end."""


@dataclass(frozen=True, eq=False)
class RelearnedLeaveOneOut(Displayed):
    """Leave-one-out predictions of all rows, with the structure learned again for each.

    Attributes
    ----------
    log_loss : float
        Mean of -ln P(class | features) over the rows, each predicted from the others; nats per row.
    accuracy : float
        Share of the rows whose most probable class is their own.
    rows : DataFrame
        The distinct rows: the states of all variables, then ``weight`` (number of equal rows), ``probability`` (of
        the row's own class), ``predicted``, and ``changes``: the number of arcs between features that appear or
        vanish when one such row is left out.
    arcs : DataFrame
        The arcs between features of the optimal structure, and those that replace them: columns ``parent``,
        ``child``, ``in_optimum``, and ``rows``, the number of rows for which the arc is in the optimal structure of
        all other rows.
    """

    log_loss: float
    accuracy: float
    rows: pd.DataFrame
    arcs: pd.DataFrame

    def __str__(self) -> str:
        changed = float(self.rows.loc[self.rows["changes"] > 0, "weight"].sum())
        total = float(self.rows["weight"].sum())
        return (
            f"leave-one-out with the structure relearned: log loss {self.log_loss:.4f} nats per row, accuracy "
            f"{self.accuracy:.4f}; leaving out {number_text(changed, 6)} of {number_text(total, 6)} rows changes the "
            "structure"
        )


def relearned_leave_one_out(
    table: DiscreteTable,
    *,
    ess: float = 1.0,
    max_parents: int | None = None,
    required: Iterable[Edge] = (),
    forbidden: Iterable[Edge] = (),
    memory_limit: float | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> RelearnedLeaveOneOut:
    """Predict every row by the optimal augmented naive Bayes of all other rows, with the structure learned again.

    Leave-one-out with a fixed structure is optimistic, because the structure was fitted to the row that is left out.
    Here the structure is the one that :func:`~anbexact.learn_anb` finds without the row. The set scores need not be
    computed again: without a row, the score of a set T falls by ln(n_T - 1 + α/q_T), where n_T counts the rows that
    agree with it in T and in the class. The dynamic programme then runs once for every distinct row, in O(n² 2ⁿ)
    steps each. Tables are posterior means with the same equivalent sample size, and the probabilities are identical,
    bit by bit, to those of an ``ANBClassifier`` fitted to the other rows. States, cut points and the sample size do
    not change. Rows are distributed over the workers of joblib's backend, where one is configured.

    Parameters
    ----------
    table : DiscreteTable
        A table with a class. Weights must be whole numbers: a weight of 3 stands for three equal rows, one of which
        is left out.
    ess : float, default 1.0
        Equivalent sample size of the score, BDeu, and of the tables.
    max_parents, required, forbidden, memory_limit, n_jobs, progress
        As in :func:`~anbexact.learn_anb`.

    Returns
    -------
    RelearnedLeaveOneOut

    Raises
    ------
    ValueError
        For weights that are not whole numbers, an invalid ``ess``, or invalid constraints.
    SearchTooLargeError
        If there are too many features; the message says how many are possible.

    Examples
    --------
    >>> from anbexact import DiscreteTable, relearned_leave_one_out
    >>> from anbexact.datasets import load_lenses
    >>> found = relearned_leave_one_out(DiscreteTable.from_frame(*load_lenses()))
    >>> round(found.log_loss, 4), round(found.accuracy, 4)
    (0.6627, 0.7083)
    >>> found.arcs
           parent      child  in_optimum  rows
    0  astigmatic  tear_rate       False   1.0
    """
    check_relearnable(table.weights, "there is no single row to leave out otherwise")
    n_workers, n_rows = worker_count(), len(table.weights)
    edges = tuple(required), tuple(forbidden)
    limits = Limits(max_parents, *edges, memory_limit, n_jobs, progress if n_workers == 1 else None)
    learning = _Learning(table, ess, limits)
    bounds = np.linspace(0, n_rows, min(n_rows, PARTS_A_WORKER * n_workers) + 1 if n_workers > 1 else 2).astype(int)
    left_out: list[Predicted] = []
    for part in spread(_leave_out, learning, list(pairwise(bounds.tolist()))):
        left_out += part
        if progress is not None and n_workers > 1:
            progress("rows left out", len(left_out) / n_rows)
    return _summary(table, learning.learner.parents, left_out)


@dataclass(frozen=True, eq=False)
class _Learning:
    """The training data of all parts, so that a worker with several parts makes the search for all rows only once."""

    table: DiscreteTable
    ess: float
    limits: Limits

    @cached_property
    def setting(self) -> Setting:
        return self.limits.setting(self.table, BDeu(self.ess), "relearned_leave_one_out")

    @cached_property
    def learner(self) -> Relearner:
        return Relearner(self.setting)


def _leave_out(learning: _Learning, rows: tuple[int, int]) -> list[Predicted]:
    """Return the results of learning without each of the rows from ``first`` up to ``last``."""
    first, end = rows
    left_out: list[Predicted | None] = [None] * (end - first)
    learner = learning.learner

    def leave_out(t: int) -> None:
        left_out[t - first] = learner.without(t)

    learning.setting.work.run("rows left out", [partial(leave_out, t) for t in range(first, end)])
    return [own for own in left_out if own is not None]


def _summary(table: DiscreteTable, optimum: FeatureParents, left_out: Sequence[Predicted]) -> RelearnedLeaveOneOut:
    """Return the answers of all rows together."""
    name, states = class_of(table), table.vocabulary.states
    classes = table.column(name).astype(np.int64)
    posterior = np.array([own.posterior for own in left_out])
    own_class = posterior[np.arange(len(classes)), classes]
    predicted = posterior.argmax(axis=1)
    whole = _arcs(optimum)
    held = Counter(whole)
    for arc in whole:
        held[arc] = 0
    changes = []
    for own, weight in zip(left_out, table.weights.tolist(), strict=True):
        arcs = _arcs(own.parents)
        changes.append(len(arcs ^ whole))
        for arc in arcs:
            held[arc] += weight
    columns = {
        variable: [states[variable][code] for code in table.column(variable).tolist()]
        for variable in table.vocabulary.names
    }
    rows = pd.DataFrame(columns)
    rows = rows.assign(
        weight=table.weights,
        probability=own_class,
        predicted=[states[name][code] for code in predicted.tolist()],
        changes=changes,
    )
    place = {variable: k for k, variable in enumerate(table.vocabulary.names)}
    listed = sorted(held, key=lambda arc: (arc not in whole, -held[arc], place[arc[0]], place[arc[1]]))
    arcs_frame = pd.DataFrame(
        [(parent, child, (parent, child) in whole, held[parent, child]) for parent, child in listed],
        columns=["parent", "child", "in_optimum", "rows"],
    ).astype({"in_optimum": bool, "rows": float})
    total = table.weight_sum
    log_loss = -float((table.weights * np.log(own_class)).sum()) / total
    accuracy = float(table.weights[predicted == classes].sum()) / total
    return RelearnedLeaveOneOut(log_loss, accuracy, rows, arcs_frame)


def _arcs(parents: FeatureParents) -> set[tuple[Hashable, Hashable]]:
    return {(parent, child) for child, of_child in parents.items() for parent in of_child}
