"""The optimal augmented naive Bayes of a table with one row removed or added."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anbexact._kernels.one_row import (
    CodedRows,
    FamilyCells,
    agreeing_weights,
    agreements,
    means_without,
    scores_with,
    scores_without,
)
from anbexact._kernels.posterior import PROBABILITY, normalise_rows
from anbexact._runtime.arrays import Floats, Positions
from anbexact._runtime.deadline import Deadline
from anbexact.models.structure import parents_first
from anbexact.search.exact.lattice import read_back, set_scorer, solve_sets
from anbexact.search.exact.solution import TIE_SHARE
from anbexact.search.posterior.families import check_fits
from anbexact.search.posterior.setting import Setting
from anbexact.search.scoring.set_scores import prepare
from anbexact.search.scoring.totals import class_of

FeatureParents = Mapping[Hashable, tuple[Hashable, ...]]
"""The feature parents of every feature."""


@dataclass(frozen=True)
class Predicted:
    """The structure without a row, and the probabilities of its classes."""

    parents: FeatureParents
    posterior: Floats


@dataclass(frozen=True)
class Joined:
    """The result of learning from all rows and one more, with every row predicted from the others.

    Attributes
    ----------
    parents : mapping
        The optimal structure of all of them.
    posterior : (distinct rows, classes) float64
        P(class | row) of the rows of the table, under tables from which one such row is removed.
    own : (classes,) float64
        P(class | row) of the added row.
    """

    parents: FeatureParents
    posterior: Floats
    own: Floats


class Relearner:
    """Learns without each row in turn, or with one more row; threads share it.

    Parameters
    ----------
    setting : Setting
        The table, whose weights are numbers of rows; BDeu as its score; and the limits.
    """

    def __init__(self, setting: Setting) -> None:
        table, work = setting.table, setting.work
        check_fits(table, setting.score, work)
        self.table, self.ess, self.constraints = table, float(setting.score.ess), setting.constraints()
        self.features = table.vocabulary.features
        self.classes: Positions = table.column(class_of(table)).astype(np.int64)
        self.n_classes = table.shape([class_of(table)])[0]
        self.problem = prepare(table, setting.score, self.constraints.max_parents + 1) if self.features else None
        self.ordered: tuple[Hashable, ...] = self.problem.features if self.problem else ()
        self.place = {name: b for b, name in enumerate(self.ordered)}
        rows = np.array([table.column(name) for name in self.ordered], dtype=np.int16)
        self.codes = rows.reshape(len(self.ordered), len(self.classes))
        cells = np.full(1 << len(self.ordered), float(self.n_classes))
        for b, arity in enumerate(table.shape(self.ordered)):
            cells.reshape(-1, 2, 1 << b)[:, 1] *= arity
        self.arities: Positions = np.array(table.shape(self.ordered), dtype=np.int64)
        self.class_weights: Floats = np.asarray(
            np.bincount(self.classes, table.weights, self.n_classes), dtype=np.float64
        )
        self.parameters: Floats = self.ess / cells
        self.scores: Floats = np.zeros(1)
        if self.problem:
            scores = set_scorer(self.problem)(self.problem, work.threads, Deadline(None), work.progress)
            assert scores is not None
            self.scores = scores
        self.parents = self._parents(self.scores, table.weight_sum)
        self._agreeing: dict[int, Floats] = {}

    def without(self, t: int) -> Predicted:
        """Return the structure learned without one row of the t-th kind, and its prediction of that row.

        The posterior is identical, bit by bit, to that of a network learned from the other rows.
        """
        masks = self._agreements(self.codes[:, t])
        counts, scores = np.empty((2, len(self.scores)))
        class_ = int(self.classes[t])
        scores_without(self.scores, self.parameters, masks, self.classes, self.table.weights, class_, counts, scores)
        parents = self._parents(scores, self.table.weight_sum - 1)
        return Predicted(parents, self._refitted(parents, t, masks))

    def with_row(self, row: npt.NDArray[np.int16]) -> list[Joined]:
        """Return the results of learning with one more row, for each class that it may have.

        Parameters
        ----------
        row : (n,) int16
            States in the order of ``ordered``; a negative state matches no row.
        """
        masks = self._agreements(row)
        counts, scores = np.empty((2, len(self.scores)))
        found = []
        for class_ in range(self.n_classes):
            scores_with(self.scores, self.parameters, masks, self.classes, self.table.weights, class_, counts, scores)
            parents = self._parents(scores, self.table.weight_sum + 1)
            sets = self._sets(parents)
            own = self._posterior(parents, self._weights_at(masks, sets))
            weights = np.empty((len(sets), *self._of_all(0).shape))
            for k, mask in enumerate(sets):
                weights[k] = self._of_all(mask)
                weights[k, masks & mask == mask, class_] += 1.0
            weights[:, np.arange(len(self.classes)), self.classes] -= 1.0  # every row is predicted without itself
            found.append(Joined(parents, self._posterior(parents, weights), own))
        return found

    def _agreements(self, row: npt.NDArray[np.int16]) -> Positions:
        masks = np.empty(len(self.classes), dtype=np.int64)
        agreements(self.codes, np.ascontiguousarray(row), masks)
        return masks

    def _of_all(self, mask: int) -> Floats:
        """Return, for every row, the weights of the classes among the rows that agree with it in a set."""
        found = self._agreeing.get(mask)
        if found is None:
            names = [name for b, name in enumerate(self.ordered) if mask >> b & 1]
            groups = self.table.groups(names) if names else np.zeros(len(self.classes), dtype=np.int64)
            totals = np.zeros((int(groups.max()) + 1, self.n_classes))
            np.add.at(totals, (groups, self.classes), self.table.weights)
            found = self._agreeing[mask] = totals[groups]
        return found

    def _parents(self, scores: Floats, rows: float) -> FeatureParents:
        """Return the feature parents in the optimal structure, ties broken as in a search."""
        if self.problem is None:
            return {}
        totals = solve_sets(self.problem, scores, self.constraints, 1, Deadline(None), None)
        assert totals is not None
        tolerance = TIE_SHARE * max(1.0, float(rows * np.log1p(rows)))
        return read_back(self.problem, scores, totals, self.constraints, tolerance)

    def _sets(self, parents: FeatureParents) -> list[int]:
        """Return the sets whose counts determine the tables of a structure: none, the parents, the families."""
        above = [sum(1 << self.place[name] for name in parents[child]) for child in self.features]
        families = [own | 1 << self.place[name] for own, name in zip(above, self.features, strict=True)]
        return [0, *above, *families]

    def _weights_at(self, masks: Positions, sets: list[int]) -> Floats:
        """Return the weights of the classes among the rows that agree in each set, shape (sets, classes)."""
        weights = np.empty((len(sets), self.n_classes))
        agreeing_weights(masks, self.classes, self.table.weights, np.array(sets), weights)
        return weights

    def _refitted(self, parents: FeatureParents, t: int, masks: Positions) -> Floats:
        """Return P(class | row) by tables without one row of the t-th kind, by the arithmetic of a fitted network."""
        order = parents_first({name: parents[name] for name in self.features})
        children = np.array([self.place[name] for name in order], dtype=np.int64)
        above = np.array([sum(1 << self.place[p] for p in parents[name]) for name in order], dtype=np.int64)
        families = FamilyCells(above, children, self.arities[children], self.parameters[above | 1 << children])
        means = np.empty((len(order), self.n_classes))
        means_without(CodedRows(self.codes, self.classes, self.table.weights), t, masks, families, means)
        class_counts = self.class_weights + self.ess / self.n_classes
        class_counts[self.classes[t]] = self.class_weights[self.classes[t]] - 1.0 + self.ess / self.n_classes
        joint = np.zeros((1, self.n_classes))
        for logs in np.log([*means, class_counts / class_counts.sum()]):
            joint += logs
        normalise_rows(joint, PROBABILITY, np.empty(self.n_classes), np.empty(self.n_classes, dtype=np.int64))
        return np.asarray(joint[0])

    def _posterior(self, parents: FeatureParents, weights: Floats) -> Floats:
        """Return P(class | row) by posterior means of the tables, given the weights of :meth:`_sets`."""
        n = len(self.features)
        parameters = self.parameters[self._sets(parents)].reshape(-1, *(1,) * (weights.ndim - 1))
        logs = np.log(weights + parameters)
        joint = logs[0] - logs[1 : n + 1].sum(axis=0) + logs[n + 1 :].sum(axis=0)
        shares = np.exp(joint - joint.max(axis=-1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


def check_relearnable(weights: Iterable[float], why: str) -> None:
    """Refuse weights that are not whole numbers of rows; ``why`` ends the message."""
    given = np.asarray(weights, dtype=np.float64)
    if not np.array_equal(given, np.rint(given)):
        raise ValueError(f"weights must be whole numbers of rows: {why}")
