"""The classifier to begin with: a pool of the models that can be learned in a given time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np

from anbexact._runtime.arrays import Integers
from anbexact._runtime.deadline import check_limit
from anbexact.classifiers.parameters import parameter_group
from anbexact.classifiers.pooled import FEWER_FOLDS, PooledClassifier, PooledParameters
from anbexact.classifiers.pooling.learning import Fold, Record, Rows, fewest_members, of_frequencies
from anbexact.classifiers.pooling.members import AUTO, FEW_ROWS, members_in_time
from anbexact.classifiers.registry import Compared, register_classifier
from anbexact.tables.folds import frame_folds
from anbexact.tables.frames.columns import Column
from anbexact.tables.table import Weights

BUDGET = 30.0
"""Default time of a fit, in seconds."""
LEARNING = 0.9
"""Share of the budget after which learning ends; models are then weighted, and their common states are found."""
ROWS_FOR_ONE_FOLD = 1_500
"""Number of rows from which on a single fold, a third or a fifth of the rows, is enough to weight the models."""
MORE_FOLDS, LITTLE_WORK = 10, 50_000
"""Number of folds if there are few rows (`FEW_ROWS`), and the number of rows times features times classes up to which
they are quick enough."""
MOST_HELD_OUT = 20_000
"""Number of held-out rows that determine the weights more than well enough: with many rows, the share is smaller."""
TOLERANCE = 1e-3
"""How much the loss on held-out rows may rise, in nats per row, for a pool of fewer models."""


@parameter_group
class AutoParameters(PooledParameters):
    """How long a fit may take. The other parameters of a pool, but for those of the table, are fixed."""

    time_budget: float | None = field(default=BUDGET, kw_only=False)
    members: str = field(default=AUTO, init=False)
    folds: str = field(default=AUTO, init=False)
    ridge: str = field(default=AUTO, init=False)
    readable: bool = field(default=True, init=False)
    soft_weight: float = field(default=1.0, init=False)
    time_limit: None = field(default=None, init=False)


@register_classifier(
    "auto",
    "automatically chosen models",
    compared=[Compared("auto", 210, refitted=False)],
)
class AutoClassifier(AutoParameters, PooledClassifier):
    """The classifier to begin with: it learns as many models as time allows, and pools the few that predict best.

    The models are naive Bayes, TAN, kDB and exact ANB, with smooth shapes or without, and, with few rows, linear
    logistic regression. The first takes a few seconds on most tables, even on those with more columns than rows, with
    many classes or with many values in a column. Then come the models that predict best in most tables, as far as
    ``time_budget`` allows. Each is learned again in folds, or, from 1,500 rows on, once from two thirds of the rows,
    and weighted by its predictions for the rows that were held out. One model after the other is left out as long as
    the loss of the others on these rows exceeds the loss of all by at most 0.001 nats per row; often a single one is
    left. With fewer than 200 rows, chance would decide that: two to five models are learned then, one of them linear
    logistic regression if columns are cut, and those of positive weight are kept. The result is a
    :class:`~anbexact.PooledClassifier`; see the guide "Which classifier?".

    The class frequencies are weighted as if they were a model, too. Where the features say nothing about the class,
    or rows are too few to learn what they say, the weights therefore draw the predictions to the class frequencies.
    With a weight w₀, these add ``w₀ ln P(c)`` to the biases.

    Parameters
    ----------
    time_budget : float or None, default 30
        Seconds that a fit may take, not counting the compilation of kernels at the first use after installation. A
        model that would probably not be learned in time is left out; ``members_`` says so. The first model is learned
        in any case. None: all models are learned.
    handle_missing : {"auto", "marginalize", "own_state", "error"}, default "auto"
        How missing cells are treated. ``"auto"`` is ``"own_state"`` here: they are a state of their own in every
        column that has some, and no row is left out.
    discretizer, categories, group_categories, handle_unknown, drop_identifiers, fold_dummies, decimal : optional
        How the table is read; see :class:`~anbexact.NetworkClassifier`.
    class_weight, n_jobs, verbose : optional
        As for :class:`~anbexact.PooledClassifier`.

    Attributes
    ----------
    members_ : DataFrame
        The models that were tried, and those that were left out: ``weight``, ``log_loss`` (on held-out rows, nats per
        row), ``seconds`` (of all fits) and ``outcome``: ``"pooled"``, ``"weight 0"``, ``"not needed"`` (the pooled
        ones predict as well), ``"same as"`` and the name of an earlier model, names of simpler models with ``"are far
        behind"`` (so that the one that extends them was not learned), ``"out of time"``, or the reason why it could
        not be learned. The last row is that of the class frequencies.
    estimators_, weights_, biases_ : list, array, array
        The models in the pool, with their weights; and the other attributes of a
        :class:`~anbexact.PooledClassifier`.

    Examples
    --------
    >>> from anbexact import AutoClassifier
    >>> from anbexact.datasets import load_iris
    >>> X, y = load_iris()
    >>> model = AutoClassifier().fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    _automatic = staticmethod(members_in_time)
    _instead = None

    def check_parameters(self) -> None:
        check_limit("time_budget", self.time_budget)
        super().check_parameters()

    @property
    def _seconds(self) -> float | None:
        return None if self.time_budget is None else LEARNING * self.time_budget

    def _parts(
        self, columns: list[Column], target: Column, weights: Weights, groups: Integers | None, *, cut: bool
    ) -> list[tuple[Weights, Weights]]:
        n_rows = int(np.count_nonzero(weights))
        if n_rows < FEW_ROWS and n_rows * len(columns) * len(target.coded[1]) <= LITTLE_WORK:
            return frame_folds(columns, target, weights, MORE_FOLDS, groups)
        if n_rows >= FEWER_FOLDS * MOST_HELD_OUT:
            return frame_folds(columns, target, weights, n_rows // MOST_HELD_OUT, groups)[:1]
        parts = super()._parts(columns, target, weights, groups, cut=cut)
        return parts[:1] if n_rows >= ROWS_FOR_ONE_FOLD else parts

    def _without_features(self, rows: Rows, folds: Sequence[Fold], n_classes: int) -> list[Record]:
        return [of_frequencies(rows, folds, n_classes)] if folds else []

    def _needed(self, records: list[Record], folds: Sequence[Fold], n_classes: int) -> list[Record]:
        if folds and folds[0].n_learned + folds[0].n_held_out < FEW_ROWS:
            return records
        return fewest_members(records, folds, n_classes, self.ridge, TOLERANCE)

    def _tell_late(self, late: Sequence[str], done: str) -> None:
        """Do not warn: to leave out models is what the budget is for, and ``members_`` names them."""
