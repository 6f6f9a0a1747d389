"""From a fitted classifier to a scorecard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, log, prod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from anbexact._runtime.arrays import Floats, Positions
from anbexact._runtime.deadline import check_limit
from anbexact._runtime.progress import Progress
from anbexact._runtime.units import agreeing, counted
from anbexact._runtime.warn import warn
from anbexact.models.additive_effects import AdditiveEffect, AdditiveEffects
from anbexact.models.logit.predictions import LogitPosterior
from anbexact.models.smooth.terms import ordered_features
from anbexact.scorecards.convex import Candidates
from anbexact.scorecards.grouping import grouped
from anbexact.scorecards.rounding import SCALES, Rounded, best_points
from anbexact.scorecards.scorecard import Certificate, Scorecard
from anbexact.scorecards.tables import PointTable
from anbexact.tables.table import check_weights
from anbexact.tables.vocabulary import CodeArray

DOUBLING, BASE_SCORE, BASE_ODDS = 20.0, 600, 50.0
"""The points that double the odds, and the score at given odds, where none are chosen."""
PULL = 0.01
"""Precision of the pull of points to the log odds of the model: a hundredth of a row."""
LARGEST = 20.0
"""Nats up to which the points of a state may go where no largest number of points is chosen."""
STATES, JOINT_STATES = 8, 3
"""Maximum numbers of groups of states of a feature, on its own and along an axis of a table of several features."""


def to_scorecard(
    classifier: Any,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    *,
    points_to_double_odds: float | None = None,
    base_score: int | None = None,
    base_odds: float | None = None,
    reference: Any = None,
    max_points: int | None = None,
    n_features: int | None = None,
    gap: float = 0.001,
    time_limit: float | None = 30.0,
    progress: Progress | None = None,
) -> Scorecard:
    """Return a fitted classifier as a scorecard: tables of integer points, which are added up.

    The log odds of every class against a reference class become a score. With two classes there is one score. The
    points are the functional ANOVA of the log odds: first those of single features, then what several features add
    together beyond them.

    - Without ``max_points``, a score of ``base_score`` stands for odds of ``base_odds`` to 1, and
      ``points_to_double_odds`` more points double the odds. The points are the log odds of the model, rounded; each
      table changes them by half a point at most. With ``n_features``, these features are chosen, and their points are
      those of least loss on this scale, as below; a score of ``base_score`` then stands for ``base_odds`` up to half
      a point.
    - With ``max_points``, the points are from ``-max_points`` to ``max_points``, and 0 for the most common states of
      every feature, which share a group. They minimise the log loss over the training rows, together with the scale
      and the offset of the log odds, to within ``gap``: branch and bound proves it, or ``certificate`` says how much
      lower the loss could be when the time ran out. States with similar log odds form at most 8 groups, of which each
      gets its own points; tables of several features have at most 3 groups of each.

    Parameters
    ----------
    classifier : classifier or LogitModel
        A fitted classifier whose log odds are a sum over families of features: a network, a refit, or a pool of them.
    X, sample_weight : optional
        The training rows and their weights. By default, those of the refit, or without ``max_points`` the counts of
        the network. Rows with a missing cell that is no state are left out.
    y : optional
        With ``max_points`` or ``n_features``: the classes of the rows. The loss is then that of these classes;
        without them, it is the expected loss under the posterior of the model, which keeps its smoothness. Both
        contain a weak pull to the log odds of the model (a Gaussian prior of precision 0.01), which decides what rows
        leave open.
    points_to_double_odds : float, optional
        By default 20. With ``max_points``, the scale is chosen with the points unless it is given.
    base_score : int, optional
        By default 600; not with ``max_points``, where scores begin at 0.
    base_odds : float, optional
        By default 50; not with ``max_points``.
    reference : class label, optional
        The class against which the odds are taken; by default the first.
    max_points : int, optional
        The largest number of points of a state, in absolute value.
    n_features : int, optional
        The maximum number of features with points, which are chosen with the points.
    gap : float, default 0.001
        With ``max_points`` or ``n_features``: nats per row by which the loss may exceed the least one; 0 asks for a
        proof that no other points are better.
    time_limit : float, default 30
        With ``max_points`` or ``n_features``: time limit of the search in seconds. When it runs out, or at a first
        Ctrl-C, the best points so far are used, and the certificate tells what is proved. None for no limit.
    progress : callable, optional
        Called with ``"scorecard"`` and the share of the gap that is closed.

    Returns
    -------
    Scorecard

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the classifier is not fitted.
    TypeError
        If its log odds are no such sum.
    ValueError
        For an invalid parameter, for options that do not go together, or if there are no rows.

    References
    ----------
    Siddiqi, *Credit Risk Scorecards* (2006); Ustun and Rudin, *Learning Optimized Risk Scores*, JMLR 20 (2019); Liu,
    Zhong, Li, Seltzer and Rudin, *FasterRisk*, NeurIPS (2022).

    Examples
    --------
    >>> from anbexact import NaiveBayesClassifier
    >>> from anbexact.adapters import to_scorecard
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> model = NaiveBayesClassifier().fit(X, y)
    >>> card = to_scorecard(model)
    >>> card.score(X)[:3].tolist()
    [749, 749, 468]
    >>> small = to_scorecard(model, X, y, max_points=3, n_features=2)
    >>> small.features, small.certificate.in_time
    (('jacket_color',), True)
    """
    logit = _logit(classifier)
    given = {"points_to_double_odds": points_to_double_odds, "base_odds": base_odds, "gap": gap or 1.0}
    for name, value in given.items():
        if value is not None and not 0 < value < np.inf:
            raise ValueError(f"{name} must be a number above 0, not {value!r}")
    check_limit("time_limit", time_limit)
    _check_counts(max_points, n_features)
    if max_points is None:
        if n_features is None and y is not None:
            raise ValueError("y= belongs to points of least loss: pass max_points= or n_features=, too")
    elif base_score is not None or base_odds is not None:
        raise ValueError("base_score= and base_odds= do not go with max_points=: scores then begin at 0")
    classes = logit.classes_.tolist()
    if len(classes) < 2:
        raise ValueError(f"a scorecard needs two classes, and there is only {classes[0]!r}")
    reference = classes[0] if reference is None else reference
    if reference not in classes:
        raise ValueError(f"reference must be one of the classes {classes}, not {reference!r}")
    against = _Contrast(classes.index(reference), len(classes))
    rows = _rows(logit, X, y, sample_weight)
    if max_points is None:
        scale = log(2) / (DOUBLING if points_to_double_odds is None else points_to_double_odds)
        base = BASE_SCORE if base_score is None else base_score
        at_base = log(BASE_ODDS if base_odds is None else base_odds)
        if n_features is None:
            return _rounded_card(logit, rows, against, reference, scale, base, at_base)
    if rows is None:
        raise ValueError("points of least loss need rows: pass X, or a refit, which has its rows")
    how: dict[str, Any] = {"n_features": n_features, "gap": gap, "time_limit": time_limit, "progress": progress}
    if max_points is None:
        how["most"] = ceil(LARGEST / scale)
        found = _small_card(logit, rows, against, reference, (scale, scale), observed=y is not None, **how)
        return _from_base(found, base, at_base)
    scales = SCALES if points_to_double_odds is None else (log(2) / points_to_double_odds,) * 2
    return _small_card(logit, rows, against, reference, scales, observed=y is not None, most=max_points, **how)


@dataclass(frozen=True)
class _Contrast:
    """Log odds against a reference class, among so many classes."""

    place: int
    n_classes: int

    @property
    def others(self) -> list[int]:
        return [k for k in range(self.n_classes) if k != self.place]

    def of(self, values: Floats) -> Floats:
        """Return values of the classes, along the last axis, minus that of the reference class."""
        return np.asarray(values[..., self.others] - values[..., [self.place]])


@dataclass(frozen=True, eq=False)
class _Rows:
    """The training rows: codes of the features, and the weight of every class in them.

    ``codes`` has the shape (features, rows), ``weights`` (rows, classes).
    """

    codes: CodeArray
    weights: Floats


def _logit(classifier: Any) -> LogitPosterior:
    if hasattr(classifier, "additive_effects"):
        found: LogitPosterior = classifier
        return found
    if isinstance(classifier, type) or not hasattr(classifier, "to_logit"):
        raise TypeError(
            f"to_scorecard takes a fitted classifier whose log odds are a sum over families, not {classifier!r}"
        )
    check_is_fitted(classifier)
    made: LogitPosterior = classifier.to_logit()
    return made


def _check_counts(max_points: Any, n_features: Any) -> None:
    for name, value in (("max_points", max_points), ("n_features", n_features)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1):
            raise ValueError(f"{name} must be a whole number, 1 or more, not {value!r}")


def _rows(logit: LogitPosterior, X: Any, y: Any, sample_weight: Any) -> _Rows | None:
    """Return the rows that were passed, or else those of the refit; None if there are none."""
    reader, features = logit.reader_, logit.vocabulary.features
    if X is None:
        if y is not None or sample_weight is not None:
            raise ValueError("y and sample_weight need the rows: pass X, too")
        kept = logit.training_rows
        if kept is None:
            return None
        codes, weights = kept[0], kept[1].sum(axis=1)
        return _Rows(codes, np.exp(logit.log_posterior(codes)) * weights[:, None])
    if y is None:
        codes = reader.codes(X)
        weights = check_weights(sample_weight, codes.shape[1])
        complete = _complete(codes, weights)
        codes = np.ascontiguousarray(codes[:, complete])
        return _Rows(codes, np.exp(logit.log_posterior(codes)) * weights[complete, None])
    read = reader.coded_rows(X, y, sample_weight)
    place = {name: j for j, name in enumerate(read.vocabulary.names)}
    codes = np.stack([read.codes[:, place[name]] for name in features])
    labels = read.codes[:, place[read.vocabulary.class_name]]
    complete = _complete(codes, read.weights) & (labels >= 0)
    by_class = np.zeros((int(complete.sum()), len(logit.classes_)))
    by_class[np.arange(len(by_class)), labels[complete]] = read.weights[complete]
    return _Rows(np.ascontiguousarray(codes[:, complete]), by_class)


def _complete(codes: CodeArray, weights: Floats) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which rows have no missing or unknown cell and a positive weight; warn of those that have one."""
    complete = (codes >= 0).all(axis=0)
    n_gone = int((~complete & (weights > 0)).sum())
    if not (complete & (weights > 0)).any():
        raise ValueError(
            "no row is without a missing or unknown cell: fill cells in, or learn missing ones as states"
        )
    if n_gone:
        warn(
            f"{counted(n_gone, 'row')} with a missing or unknown cell {agreeing(n_gone, 'is', 'are')} left out of "
            "the rows of the scorecard"
        )
    return np.asarray(complete & (weights > 0))


def _effects(logit: LogitPosterior, rows: _Rows | None) -> AdditiveEffects:
    if rows is None:
        return logit.additive_effects()
    return logit.additive_effects(rows.codes, rows.weights.sum(axis=1))


def _state_weight(logit: LogitPosterior, effect: AdditiveEffect, rows: _Rows | None) -> Floats:
    """Return the weight of the rows in the joint states of an effect's features, (*states)."""
    if rows is None:
        return effect.weight  # effects of counts have every state for a group
    features = logit.vocabulary.features
    shape = tuple(len(groups) for groups in effect.groups)
    codes = [rows.codes[features.index(name)].astype(np.int64) for name in effect.features]
    places = np.ravel_multi_index(codes, shape)
    found = np.bincount(places, rows.weights.sum(axis=1), prod(shape))
    return np.asarray(found.reshape(shape), dtype=np.float64)


# ---- the points of the model, rounded


def _rounded_card(
    logit: LogitPosterior,
    rows: _Rows | None,
    against: _Contrast,
    reference: Any,
    scale: float,
    base: int,
    at_base: float,
) -> Scorecard:
    """Return the card whose points are the log odds of the model, rounded."""
    found = _effects(logit, rows)
    tables, total = [], 0.0
    for effect in found.effects:
        points = np.rint(against.of(effect.log_odds) / scale).astype(np.int64)
        weight = _state_weight(logit, effect, rows)
        total = float(weight.sum())
        if points.any():
            tables.append(PointTable.of_states(effect.features, points[np.ix_(*effect.groups)], weight))
    if rows is not None:
        total = float(rows.weights.sum())
    intercept = np.rint(base + (against.of(found.intercept) - at_base) / scale).astype(np.int64)
    offset = np.full(len(intercept), at_base - base * scale)
    return Scorecard(tuple(tables), intercept, scale, offset, reference, logit.reader_, total)


# ---- points of least loss


@dataclass(frozen=True, eq=False)
class _Block:
    """A table that may have points: its effect, the group of every state, and the variable of every cell of groups.

    ``variables`` has the shape (*groups); -1 stands for the cells without points.
    """

    effect: AdditiveEffect
    groups: tuple[Positions, ...]
    variables: Positions


def _small_card(
    logit: LogitPosterior,
    rows: _Rows,
    against: _Contrast,
    reference: Any,
    scales: tuple[float, float],
    *,
    observed: bool,
    progress: Progress | None,
    **how: Any,
) -> Scorecard:
    """Return the card with the points of least loss."""
    candidates, blocks = _candidates(logit, rows, against)
    best = best_points(candidates, scales=scales, progress=progress, **how)
    tables = []
    for block in blocks:
        points = np.vstack([best.points, np.zeros((1, best.points.shape[1]), dtype=np.int64)])[block.variables]
        if points.any():
            weight = _state_weight(logit, block.effect, rows)
            tables.append(PointTable.of_states(block.effect.features, points[np.ix_(*block.groups)], weight))
    proved = _certificate(best, how["most"], how["n_features"], candidates.pull, observed, scales)
    intercept = np.zeros(best.points.shape[1], dtype=np.int64)
    total = float(rows.weights.sum())
    return Scorecard(tuple(tables), intercept, best.scale, best.offset, reference, logit.reader_, total, proved)


def _from_base(card: Scorecard, base: int, at_base: float) -> Scorecard:
    """Return the card with scores of which ``base`` stands for log odds of ``at_base``, up to half a point."""
    intercept = np.rint(base + (card.offset - at_base) / card.scale).astype(np.int64)
    return replace(card, intercept=intercept, offset=card.offset - card.scale * intercept)


def _certificate(
    best: Rounded, most: int, n_features: int | None, pull: float, observed: bool, scales: tuple[float, float]
) -> Certificate:
    return Certificate(
        best.loss,
        best.bound,
        best.relaxed_loss,
        most,
        n_features,
        pull,
        observed,
        scales[0] == scales[1],
        best.nodes,
        best.seconds,
        best.in_time,
    )


def _candidates(logit: LogitPosterior, rows: _Rows, against: _Contrast) -> tuple[Candidates, list[_Block]]:
    """Return what may have points, with the tables that it belongs to."""
    vocabulary = logit.vocabulary
    features = vocabulary.features
    ordered = ordered_features(vocabulary, logit.cut_points, ())
    blocks: list[_Block] = []
    columns: list[Positions] = []
    tables: list[int] = []
    centre: list[Floats] = []
    for effect in _effects(logit, rows).effects:
        contrasts = against.of(effect.log_odds)
        most = STATES if len(effect.features) == 1 else JOINT_STATES
        groups = grouped(effect, contrasts, vocabulary, ordered, most)
        shape = tuple(int(own.max()) + 1 for own in groups)
        weight = _grouped_sum(_state_weight(logit, effect, rows), groups, shape)
        weighed = _state_weight(logit, effect, rows)[..., None] * contrasts[np.ix_(*effect.groups)]
        means = np.stack([_grouped_sum(part, groups, shape) for part in np.moveaxis(weighed, -1, 0)], axis=-1)
        means = means / np.maximum(weight, 1e-12)[..., None]
        references = [int(np.moveaxis(weight, axis, 0).reshape(size, -1).sum(axis=1).argmax())
                      for axis, size in enumerate(shape)]  # fmt: skip
        own_columns = np.ones(shape, dtype=bool)
        for axis, of_axis in enumerate(references):
            np.moveaxis(own_columns, axis, 0)[of_axis] = False
            means = means - np.take(means, [of_axis], axis=axis)
        if not own_columns.any():
            continue
        variables = np.full(shape, -1, dtype=np.int64)
        first = len(tables)
        variables[own_columns] = np.arange(first, first + int(own_columns.sum()))
        tables += [len(blocks)] * int(own_columns.sum())
        centre.append(means[own_columns])
        codes = [own[rows.codes[features.index(name)]] for name, own in zip(effect.features, groups, strict=True)]
        columns.append(variables[tuple(codes)])
        blocks.append(_Block(effect, groups, variables))
    n_scores = against.n_classes - 1
    own = np.stack(columns, axis=1) if columns else np.zeros((rows.codes.shape[1], 0), dtype=np.int64)
    weights = rows.weights[:, [against.place, *against.others]]
    distinct, weights = _merged(own, weights)
    total = float(weights.sum())
    found = Candidates(
        distinct,
        np.ascontiguousarray(weights / total),
        np.array(tables, dtype=np.int64),
        tuple(frozenset(features.index(name) for name in block.effect.features) for block in blocks),
        np.concatenate(centre) if centre else np.zeros((0, n_scores)),
        PULL / total,
    )
    return found, blocks


def _grouped_sum(values: Floats, groups: Sequence[Positions], shape: tuple[int, ...]) -> Floats:
    """Return the sums of values of joint states, (*states), over groups of states, (*groups)."""
    places = np.ravel_multi_index(np.meshgrid(*groups, indexing="ij"), shape)
    found = np.bincount(places.ravel(), values.ravel(), prod(shape))
    return np.asarray(found.reshape(shape), dtype=np.float64)


def _merged(columns: Positions, weights: Floats) -> tuple[Positions, Floats]:
    """Return distinct rows with the sums of their weights."""
    if not columns.shape[1]:
        return columns[:1], weights.sum(axis=0, keepdims=True)
    distinct, places = np.unique(columns, axis=0, return_inverse=True)
    found = np.zeros((len(distinct), weights.shape[1]))
    np.add.at(found, places.reshape(-1), weights)
    return np.ascontiguousarray(distinct), found
