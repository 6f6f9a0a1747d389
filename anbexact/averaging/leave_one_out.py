"""Leave-one-out with the structure learned anew for every row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from anbexact._kernels.one_row import agreeing_weights, agreements, scores_without
from anbexact._runtime.arrays import Floats, Positions
from anbexact._runtime.deadline import Deadline, check_limit
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import thread_count
from anbexact.averaging.families import Work, check_fits
from anbexact.scores import BDeu
from anbexact.search.constraints import Constraints, Edge, make_constraints
from anbexact.search.exact.lattice import read_back, set_scorer, solve_sets
from anbexact.search.exact.solution import ROUNDING
from anbexact.search.scoring.set_scores import prepare
from anbexact.search.scoring.totals import class_of
from anbexact.search.single_states import SingleStates
from anbexact.tables.table import DiscreteTable

FeatureParents = Mapping[Hashable, tuple[Hashable, ...]]


@dataclass(frozen=True, eq=False)
class RelearnedLeaveOneOut:
    """What happens to every row when it is left out, the structure is learned anew, and the row is predicted.

    Attributes
    ----------
    log_loss : float
        Mean of -ln P(class | features) over the rows, each predicted without itself; nats per row.
    accuracy : float
        Share of the rows whose most probable class is their own.
    rows : DataFrame
        The distinct rows: the states of all variables, then ``weight`` (number of equal rows), ``probability`` (of
        the row's own class), ``predicted``, and ``changes``: the number of arcs between features that appear or
        vanish when one such row is left out.
    arcs : DataFrame
        The arcs between features of the optimal structure, and those that take their place: columns ``parent``,
        ``child``, ``in_optimum``, and ``rows``, the number of rows without any one of which the arc is in the optimal
        structure.
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
            f"{self.accuracy:.4f}; leaving out {changed:g} of {total:g} rows changes the structure"
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
    """Predict every row by the optimal augmented naive Bayes of all other rows, its structure learned anew.

    Leave-one-out with a fixed structure is optimistic, because the structure was fitted to the row that is left out.
    Here it is the structure that :func:`~anbexact.learn_anb` finds without the row. The set scores are not computed
    anew: without a row, the score of a set T falls by ln(n_T - 1 + α/q_T), where n_T counts the rows that agree with
    it in T and in the class. Then the dynamic programme runs once for every distinct row: O(n² 2ⁿ) steps each. Tables
    are posterior means with the same equivalent sample size. States, cut points and the sample size stay as
    they are.

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
    check_limit("memory_limit", memory_limit)
    score = BDeu(ess)
    if not np.array_equal(table.weights, np.rint(table.weights)):
        raise ValueError("weights must be whole numbers of rows: there is no single row to leave out otherwise")
    class_of(table)
    required = tuple(required)
    rest = SingleStates.of(table, score, required, tuple(forbidden))
    work = Work(thread_count(n_jobs), progress, memory_limit)
    check_fits(rest.table, score, work)
    constraints = make_constraints(rest.table.vocabulary.features, max_parents, required, rest.forbidden)
    learner = _Relearner(rest.table, score, constraints, work)
    left_out: list[_LeftOut | None] = [None] * len(table.weights)

    def leave_out(t: int) -> None:
        left_out[t] = learner.without(t)

    work.run("rows left out", [partial(leave_out, t) for t in range(len(table.weights))])
    return _summary(table, learner.parents, [own for own in left_out if own is not None])


@dataclass(frozen=True)
class _LeftOut:
    """The structure without a row, and the probabilities of its classes."""

    parents: FeatureParents
    posterior: Floats


class _Relearner:
    """Learns without one row after the other; threads share it."""

    def __init__(self, table: DiscreteTable, score: BDeu, constraints: Constraints, work: Work) -> None:
        self.table, self.ess, self.constraints = table, score.ess, constraints
        self.features = table.vocabulary.features
        self.classes: Positions = table.column(class_of(table)).astype(np.int64)
        self.n_classes = table.shape([class_of(table)])[0]
        self.problem = prepare(table, score, constraints.max_parents + 1) if self.features else None
        ordered = self.problem.features if self.problem else ()
        self.place = {name: b for b, name in enumerate(ordered)}
        self.codes = np.array([table.column(name) for name in ordered]).reshape(len(ordered), len(self.classes))
        cells = np.full(1 << len(ordered), float(self.n_classes))
        for b, arity in enumerate(table.shape(ordered)):
            cells.reshape(-1, 2, 1 << b)[:, 1] *= arity
        self.parameters: Floats = self.ess / cells
        self.scores: Floats = np.zeros(1)
        if self.problem:
            scores = set_scorer(self.problem)(self.problem, work.threads, Deadline(None), work.progress)
            assert scores is not None
            self.scores = scores
        self.parents = self._parents(self.scores, table.weight_sum)

    def without(self, t: int) -> _LeftOut:
        """Return what is learned without one row of the t-th kind, and how it predicts that row."""
        masks = np.empty(len(self.classes), dtype=np.int64)
        agreements(self.codes, t, masks)
        counts, scores = np.empty((2, len(self.scores)))
        class_ = int(self.classes[t])
        scores_without(self.scores, self.parameters, masks, self.classes, self.table.weights, class_, counts, scores)
        parents = self._parents(scores, self.table.weight_sum - 1)
        return _LeftOut(parents, self._posterior(parents, masks, class_))

    def _parents(self, scores: Floats, rows: float) -> FeatureParents:
        """Return the feature parents in the optimal structure, ties broken as in a search."""
        if self.problem is None:
            return {}
        totals = solve_sets(self.problem, scores, self.constraints, 1, Deadline(None), None)
        assert totals is not None
        tolerance = ROUNDING * max(1.0, float(rows * np.log1p(rows)))
        return read_back(self.problem, scores, totals, self.constraints, 1, tolerance)

    def _posterior(self, parents: FeatureParents, masks: Positions, class_: int) -> Floats:
        """Return P(class | row) by posterior means of the tables without the row."""
        sets = [0, *(self._mask(parents[name]) for name in self.features)]
        sets += [own | 1 << self.place[name] for own, name in zip(sets[1:], self.features, strict=True)]
        weights = np.empty((len(sets), self.n_classes))
        agreeing_weights(masks, self.classes, self.table.weights, np.array(sets), weights)
        weights[:, class_] -= 1.0
        logs = np.log(weights + self.parameters[sets][:, None])
        n = len(self.features)
        joint = logs[0] - logs[1 : n + 1].sum(axis=0) + logs[n + 1 :].sum(axis=0)
        shares = np.exp(joint - joint.max())
        return np.asarray(shares / shares.sum())

    def _mask(self, names: Iterable[Hashable]) -> int:
        return sum(1 << self.place[name] for name in names)


def _summary(table: DiscreteTable, optimum: FeatureParents, left_out: Sequence[_LeftOut]) -> RelearnedLeaveOneOut:
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
