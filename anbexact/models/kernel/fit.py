"""How kernel logistic regression is fitted, and how the values on which the fit depends are chosen."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from math import inf, isqrt, prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.lapack import dpstrf
from scipy.special import log_softmax

from anbexact._runtime.arrays import Floats, Positions
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import one_blas_thread
from anbexact.models.kernel.distances import (
    MOST_POWER,
    StateDistances,
    correlations,
    distances_of,
    information,
    log_correlations,
    with_relevance,
)
from anbexact.models.kernel.learned_relevance import LEARNED, with_learned_relevance
from anbexact.models.kernel.mode import Mode, Objective, mode
from anbexact.models.kernel.model import KernelModel
from anbexact.models.kernel.rows import DistinctRows
from anbexact.tables.cuts import Cuts
from anbexact.tables.folds import split_table
from anbexact.tables.table import DiscreteTable

RATES = tuple(2.0**k for k in range(-2, 5))
"""The rates to choose from, which are divided by the number of features with two states or more."""
PRECISIONS = tuple(10.0**k for k in range(-4, 1))
"""The precisions of the prior to choose from."""
RELEVANCES: tuple[float | str, ...] = (0.0, 0.5, 1.0, LEARNED)
"""The exponents of relevance to choose from, and relevances that are learned."""
POWERS = MOST_POWER, 1.0
"""The powers of differences of intervals to choose from; the search begins with the first."""
FIRST = 3, 3, 1
"""The places of the rate, the precision and the exponent at which the search for them begins."""
ORDER = 1, 2, 0
"""The order in which the search changes them: the precision first, the rate last."""
FOLDS, ROWS_TO_PREDICT = 3, 800
"""Maximum number of folds for this search, and number of distinct held-out rows that need no further fold."""
LEAST_TO_LEARN, ROWS_TO_LEARN, ROWS_TO_COMPARE = 700, 1_000, 4_000
"""In each of these folds, the maximum number of distinct rows to learn from is that of the model's points, but no
less than the first and no more than the second of these; the third is that of rows to predict. With 500 points and
700 rows, the search on car, cmc and banknote takes a sixth to a quarter less time than with 1,000 rows, and the log
loss changes by at most 0.0012."""
ROWS_TO_GUIDE = 100
"""Number of distinct held-out rows of the first fold from which on the search is first completed in this fold."""
ENOUGH = 1e-4
"""Relative decrease of the objective in a step at which a fit in the folds of the search ends: further steps would
hardly change which setting is best."""
HELD_AT_ONCE = 64
"""Number of rows that are predicted together: their correlations with the points fit into the cache."""
BEHIND, ROWS_TO_RACE = 1.0, 50
"""Number of standard errors of the difference of losses, and of distinct rows: a setting that is worse than the best
one by more, on so many rows or more of the folds so far, is not tried in the others."""
AHEAD, ROWS_TO_TRUST = 1.5, 150
"""Number of standard errors of the difference by which a neighbour must be better than the setting that it replaces,
if the rows that are held out in all folds are fewer than the second number, and so is their weight. With so few rows,
the best of many settings is often best by chance."""
ROWS_FOR_RELEVANCE, SHARE_FOR_RELEVANCE = (200, 1_000), 3
"""Relevances are learned from a third of the distinct rows, but from at least 200 of them, and at most 1,000."""
MOST_CORRELATIONS = 5 * 10**7
"""Maximum number of correlations between rows and points; with more rows, there are fewer points."""
PRODUCTS_PER_SECOND = 10**9
"""Number of multiplications that even a slow processor does in a second: with little time, there are fewer points."""
UNEXPLAINED = 0.05
"""Where some rows are not points, a point is superfluous if the prior variance of its log odds, given those at other
points, is at most this, and at most this share of what it is without them. The variance is multiplied by the mean
weight of the distinct rows."""
POINTS_TO_SAMPLE, MANY_NEEDED = 500, 0.99
"""Maximum number of points among which is tried how many of them are needed; above this share, all are kept."""
FEWEST_POINTS = 50
"""Number of points that a fit may have even if no time is left."""
SMALL_PIVOT, ROWS_AT_ONCE = 0.01, 2_000
"""Smallest diagonal entry of a Cholesky factor of correlations up to which products with its inverse are computed in
double precision; and the number of rows for which they are computed together."""
JITTER = 1e-8
"""Added to the correlation of every point with itself, so that rounding does not make the matrix singular."""
SEED = 0


class KernelSetting(NamedTuple):
    """The values on which the fit of the coefficients depends.

    Attributes
    ----------
    rate : float
        θ, above 0: the rate at which correlations fall with distance.
    l2 : float
        λ, above 0: the precision of the prior.
    relevance : float or "learned"
        The exponent of :func:`~.distances.with_relevance`, 0 or more; or the relevances are those of
        :func:`~.learned_relevance.with_learned_relevance`.
    power : float
        α, above 0 and at most `MOST_POWER`: the power to which differences of intervals are raised.
    """

    rate: float
    l2: float
    relevance: float | str
    power: float


class KernelChoice(NamedTuple):
    """A setting that was chosen.

    Attributes
    ----------
    setting : KernelSetting
    log_loss, of_frequencies : float
        Log loss on the held-out rows, in nats per row: with this setting, and of the class frequencies. They are
        those of the first fold if time ran out before the others, and NaN if nothing was held out.
    """

    setting: KernelSetting
    log_loss: float = float("nan")
    of_frequencies: float = float("nan")


class _Fold:
    """A fold: rows to learn from, and rows to predict, some of the distinct rows of each of two tables.

    What settings have in common, such as the distances of rows for the same relevance, is computed only once.
    """

    def __init__(
        self,
        left: DiscreteTable,
        held: DiscreteTable,
        cut_points: dict[Hashable, Cuts],
        most_points: int,
        rng: np.random.Generator,
    ) -> None:
        rows = DistinctRows.of(left)
        self._for_relevance = _for_relevance(rows)
        self._left = rows.some(min(max(most_points, LEAST_TO_LEARN), ROWS_TO_LEARN), rng)
        self._held = DistinctRows.of(held).some(ROWS_TO_COMPARE, rng)
        self._table, self._cut_points = left, cut_points
        self._power: float | None = None
        self._logs: dict[float | str, tuple[Floats, Floats]] = {}
        self._bases: dict[tuple[float, float | str], Floats] = {}
        self._starts: dict[tuple[float, float | str], Floats] = {}
        self._latest: tuple[Floats, Floats] | None = None

    @property
    def n_held(self) -> int:
        """Number of distinct rows to predict."""
        return len(self._held.weights)

    @property
    def weight(self) -> float:
        """Weight of the rows to predict."""
        return float(self._held.weights.sum())

    @property
    def loss_of_frequencies(self) -> float:
        """The total loss of the class frequencies, in nats."""
        return -float(self._held.weights.sum(axis=0) @ self._left.biases)

    def losses(self, setting: KernelSetting, deadline: Deadline) -> Floats:
        """Return the total loss of every distinct row to predict, in nats."""
        rate, l2, relevance, power = setting
        if power != self._power:  # the search does not come back to the one before
            self._power = power
            for known in (self._logs, self._bases, self._starts):
                known.clear()
        if relevance not in self._logs:
            own = _distances(self._table, self._cut_points, self._for_relevance, setting, deadline)
            points = self._left.codes
            self._logs[relevance] = (
                log_correlations(points, points, own, 1.0),
                log_correlations(self._held.codes, points, own, 1.0),
            )
        between, to_held = self._logs[relevance]
        if (rate, relevance) not in self._bases:
            self._bases[rate, relevance] = _root(np.exp(rate * between))
        basis = self._bases[rate, relevance]
        start = self._starts.get((rate, relevance))
        if start is None and self._latest is not None:  # the log odds of the latest fit, in this basis
            values, constant = self._latest
            start = np.vstack([solve_triangular(basis, values, lower=True), constant])
        found = _mode(basis, self._left, l2, deadline, start, ENOUGH).coefficients
        self._starts[rate, relevance] = found
        self._latest = basis @ found[:-1], found[-1:]
        coefficients: Floats = solve_triangular(basis, found[:-1], lower=True, trans="T")
        odds = np.empty((self.n_held, found.shape[1]))
        for first in range(0, self.n_held, HELD_AT_ONCE):
            part = slice(first, first + HELD_AT_ONCE)
            odds[part] = np.exp(rate * to_held[part]) @ coefficients
        logs = log_softmax(self._left.biases + found[-1] + odds, axis=1)
        return -np.asarray(np.einsum("tc,tc->t", self._held.weights, logs))


def choose_kernel(
    table: DiscreteTable,
    cut_points: dict[Hashable, Cuts],
    values: Sequence[Sequence[Any]],
    most_points: int,
    deadline: Deadline,
    progress: Progress | None = None,
) -> KernelChoice:
    """Return the setting with the least log loss in cross-validation that a search finds.

    The search begins at the places `FIRST`, with the first power. It changes the rate, the precision or the exponent,
    one at a time in the order `ORDER`, to the better one of its neighbours, and on in that direction as long as the
    loss falls, and ends where no neighbour has a lower loss. If at least `ROWS_TO_GUIDE` distinct rows are held out
    in the first fold, it is first made with the loss in this fold, and then continued from its end with the loss in
    all folds. If relevances may also be learned, both stages are repeated from there with learned ones, and only the
    rate and the precision change; the better of the two ends is kept. If there is a second power, the same is done
    once more from there with this power. If the distinct rows that are held out are fewer than `ROWS_TO_TRUST`, and
    so is their weight, the better neighbour replaces a setting only if it is better by more than `AHEAD` standard
    errors of the difference; learned relevances and the second power need only be better.

    In up to `FOLDS` folds, the model is learned from as many distinct rows as it may have points, but from at least
    `LEAST_TO_LEARN` and at most `ROWS_TO_LEARN`, and predicts at most `ROWS_TO_COMPARE` others. Once
    `ROWS_TO_PREDICT` distinct rows are held out, there is no further fold; nor is there for a neighbour that is worse
    than the best setting, by more than `BEHIND` standard errors, on the held-out rows of the folds so far, if these
    are at least `ROWS_TO_RACE` distinct ones.

    Parameters
    ----------
    table : DiscreteTable
        The training rows; if they are in groups, these are held out as a whole.
    cut_points : dict
        The cut points of the columns that are cut.
    values : sequence of four sequences
        The rates, precisions and exponents to choose from, each in ascending order, where ``"learned"`` may follow
        the exponents, or stand in their place; and one power or two. With one of each, nothing is held out.
    most_points : int
        Maximum number of points of the model for which the setting is chosen.
    deadline : Deadline
        When it passes, the best setting found so far is returned; before the second stage, it is the best one in the
        first fold.
    progress : callable, optional
        Called with a phase and the share of all settings that have been tried in the first fold.
    """
    exponents = [value for value in values[2] if value != LEARNED]
    lengths = len(values[0]), len(values[1]), len(exponents)
    place = (*(min(first, max(n - 1, 0)) for first, n in zip(FIRST, lengths, strict=True)), 0)

    def at(place: tuple[int, ...]) -> KernelSetting:
        return KernelSetting(*(own[k] for own, k in zip(values, place, strict=True)))

    n_settings = prod(map(len, values))
    folds: list[_Fold] = []
    rng = np.random.default_rng(SEED)
    for left, held in split_table(table, FOLDS) if n_settings > 1 else ():
        if sum(fold.n_held for fold in folds) < ROWS_TO_PREDICT:
            folds.append(_Fold(left, held, cut_points, most_points, rng))
    if not folds:
        return KernelChoice(at(place))
    enough = sum(max(fold.n_held, fold.weight) for fold in folds) >= ROWS_TO_TRUST
    tried: dict[tuple[int, ...], list[Floats]] = {}

    def loss_at(place: tuple[int, ...], n_folds: int, rival: tuple[int, ...] | None = None) -> float:
        """Return the mean loss in the first folds; infinity if a rival is much better in some of them."""
        losses = tried.setdefault(place, [])
        while len(losses) < n_folds:
            if (
                rival is not None
                and sum(map(len, losses)) >= ROWS_TO_RACE
                and _is_behind(losses, tried[rival], BEHIND)
            ):
                return inf
            losses.append(folds[len(losses)].losses(at(place), deadline))
            if progress is not None and len(losses) == 1:
                progress("rate, precision, relevance and power", len(tried) / n_settings)
        return sum(float(of_fold.sum()) for of_fold in losses[:n_folds]) / sum(of.weight for of in folds[:n_folds])

    def best_near(
        place: tuple[int, ...], axis: int, steps: Sequence[int], n_folds: int
    ) -> tuple[float, tuple[int, ...], int] | None:
        """Return the loss, the place and the step of the best neighbour; None if it is not better by enough."""
        found = []
        for step in steps:
            near = (*place[:axis], place[axis] + step, *place[axis + 1 :])
            if 0 <= near[axis] < lengths[axis] and not deadline.passed:
                found.append((loss_at(near, n_folds, place), near, step))
        best = min(found, default=None)
        if (
            best is not None
            and best[0] < loss_at(place, n_folds)
            and (enough or _is_behind(tried[place][:n_folds], tried[best[1]], AHEAD))
        ):
            return best
        return None

    def end_of_climb(place: tuple[int, ...], axes: Sequence[int]) -> tuple[int, ...]:
        for n_folds in sorted({1 if folds[0].n_held >= ROWS_TO_GUIDE else len(folds), len(folds)}):
            ended = None
            loss_at(place, 1)  # even if no time is left
            while place != ended and not deadline.passed:
                ended = place
                loss_at(place, n_folds)
                for axis in axes:
                    found = best_near(place, axis, (-1, 1), n_folds)
                    while found is not None:
                        _, place, step = found
                        found = best_near(place, axis, (step,), n_folds)
        return place

    def better_end(place: tuple[int, ...], start: tuple[int, ...]) -> tuple[int, ...]:
        """Return a place, or where the climb of rate and precision from another one ends, if that is better."""
        end, n_folds = end_of_climb(start, others), len(tried[place])
        # it is known in fewer folds if time ran out in the first stage
        return end if len(tried[end]) == n_folds and loss_at(end, n_folds) < loss_at(place, n_folds) else place

    others = [axis for axis in ORDER if axis != 2]
    place = end_of_climb(place, ORDER if exponents else others)
    if exponents and len(values[2]) > len(exponents) and not deadline.passed:
        place = better_end(place, (*place[:2], len(exponents), 0))
    if len(values[3]) > 1 and not deadline.passed:
        place = better_end(place, (*place[:3], 1))
    known = folds[: len(tried[place])]
    of_frequencies = sum(fold.loss_of_frequencies for fold in known) / sum(fold.weight for fold in known)
    return KernelChoice(at(place), loss_at(place, len(known)), of_frequencies)


def _is_behind(losses: Sequence[Floats], of_other: Sequence[Floats], least: float) -> bool:
    """Whether losses of rows in some folds exceed those of another setting by more than ``least`` standard errors."""
    differences = np.concatenate(losses) - np.concatenate(of_other[: len(losses)])
    return bool(differences.sum() > least * np.linalg.norm(differences))


def _for_relevance(rows: DistinctRows) -> DistinctRows:
    """Return the rows from which relevances are learned."""
    fewest, most = ROWS_FOR_RELEVANCE
    return rows.some(min(max(len(rows.weights) // SHARE_FOR_RELEVANCE, fewest), most), np.random.default_rng(SEED))


def _distances(
    table: DiscreteTable,
    cut_points: dict[Hashable, Cuts],
    rows: DistinctRows,
    setting: KernelSetting,
    deadline: Deadline,
) -> tuple[StateDistances, ...]:
    """Return the distances of a setting between the states of a table; relevances are learned from some rows."""
    distances = distances_of(table, cut_points, setting.power)
    if isinstance(setting.relevance, str):
        return with_learned_relevance(distances, rows, deadline)
    return with_relevance(distances, information(table, distances), setting.relevance)


def fit_kernel(
    table: DiscreteTable,
    cut_points: dict[Hashable, Cuts],
    setting: KernelSetting,
    most_points: int,
    deadline: Deadline,
) -> tuple[KernelModel, KernelFit]:
    """Return the fitted model, and what fits to some of the same rows can share with it.

    The coefficients a_ic of the points z_i and the biases maximise
    ``Σ_t v_t ln P(c_t | x_t) - λ/2 Σ_c (β_c² + Σ_ij a_ic k(z_i, z_j) a_jc)`` for rows of weight v_t, where β_c is the
    bias of class c minus the log of its frequency. If the log odds have a Gaussian process with the covariance
    ``(1 + k(x, x')) / λ`` as their prior, this is the mode of the posterior among the functions that the points span.
    If all distinct rows are points, it is the mode among all functions.
    With many rows, points and classes, the fit ends before the maximum
    (:data:`~anbexact.models.kernel.mode.MOST_WORK`).

    Parameters
    ----------
    table : DiscreteTable
        The training rows.
    cut_points : dict
        The cut points of the columns that are cut.
    setting : KernelSetting
    most_points : int
        Maximum number of points: all distinct rows or, if there are more, some of them, drawn at random, without
        those that others explain (`UNEXPLAINED`), unless a sample of them says that nearly all are needed.
    deadline : Deadline
        When it passes, the best coefficients found so far are used. If little time is left, there are fewer points.
    """
    rows = DistinctRows.of(table)
    distances = _distances(table, cut_points, _for_relevance(rows), setting, deadline)
    n_rows = len(rows.weights)
    most_points = max(1, min(most_points, MOST_CORRELATIONS // max(n_rows, 1)))
    if deadline.left < inf:
        in_time = isqrt(int(deadline.left / 2 * PRODUCTS_PER_SECOND) // max(n_rows, 1))
        most_points = min(most_points, max(FEWEST_POINTS, in_time))
    points = rows.some(most_points, np.random.default_rng(SEED))
    if len(points.weights) < n_rows:
        of_rows = float(rows.weights.sum()) / n_rows
        points = _without_superfluous(points, distances, setting.rate, setting.l2 / of_rows)
    basis = root = _root(correlations(points.codes, points.codes, distances, setting.rate))
    if len(points.weights) < n_rows:
        basis = _basis(rows, points, root, distances, setting.rate)
    found = _mode(basis, rows, setting.l2, deadline)
    fit = KernelFit(rows, basis, root, found, not deadline.passed)
    model = KernelModel(
        vocabulary=table.vocabulary,
        cut_points=cut_points,
        distances=distances,
        points=points.codes,
        coefficients=fit.of_points(found),
        biases=rows.biases + found.coefficients[-1],
        rate=setting.rate,
        l2=setting.l2,
        relevance=setting.relevance,
        power=setting.power,
    )
    return model, fit


class KernelFit(NamedTuple):
    """A fit to distinct rows, with what fits to some of these rows can share.

    Attributes
    ----------
    rows : DistinctRows
    basis : (rows, points) float64 or float32
        The correlations of rows and points times the inverse of the transpose of the root.
    root : (points, points) float64
        The Cholesky factor of the correlations of the points.
    mode : Mode
    in_time : bool
        Whether the fit ended before its deadline.
    """

    rows: DistinctRows
    basis: Floats
    root: Floats
    mode: Mode
    in_time: bool

    def of_points(self, found: Mode) -> Floats:
        """Return the coefficients of the points, (points, classes), of a fit in this basis."""
        # in the memory order of a model read from a file, or products would differ from its in their rounding errors
        return np.ascontiguousarray(solve_triangular(self.root, found.coefficients[:-1], lower=True, trans="T"))

    def again(self, model: KernelModel, table: DiscreteTable, deadline: Deadline) -> tuple[KernelModel, bool]:
        """Return the model of this fit, fitted to some of its rows, and whether this ended in time.

        The distances and the points stay as they are. The fit begins with the preconditioner of this one and, because
        its coefficients know of the rows that are left out, at 0.

        Parameters
        ----------
        model : KernelModel
            That of :func:`fit_kernel`.
        table : DiscreteTable
            The rows, in the vocabulary of the model.
        deadline : Deadline
        """
        rows = DistinctRows.of(table)
        places = self.rows.places_of(rows)
        basis: Any = self.basis[places].astype(np.float32, copy=False)
        with one_blas_thread():
            objective = Objective(basis, rows.weights, rows.biases, model.l2, _lengths(self.basis, places))
            found = mode(objective, deadline, root=self.mode.root)
        coefficients, biases = self.of_points(found), rows.biases + found.coefficients[-1]
        return replace(model, coefficients=coefficients, biases=biases), not deadline.passed


def _root(covariance: Floats) -> Floats:
    """Return the lower Cholesky factor of a matrix of correlations, shape (points, points), which is overwritten."""
    covariance[np.diag_indices_from(covariance)] += JITTER
    return np.asarray(cholesky(covariance.T, overwrite_a=True).T)


def _basis(
    rows: DistinctRows, points: DistinctRows, root: Floats, distances: Sequence[StateDistances], rate: float
) -> Floats:
    """Return the correlations of rows and points times the inverse of the transpose of the points' root.

    They have single precision. They are computed in double precision, too, where the root is badly conditioned.
    """
    found: Any = np.empty((len(rows.weights), len(points.weights)), dtype=np.float32)
    of_points: Any = root.astype(np.float32 if np.diagonal(root).min() > SMALL_PIVOT else np.float64)
    for start in range(0, len(found), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        between = correlations(rows.codes[:, part], points.codes, distances, rate).astype(of_points.dtype)
        found[part] = solve_triangular(of_points, between.T, lower=True, overwrite_b=True).T
    return np.asarray(found)


def _without_superfluous(
    points: DistinctRows, distances: Sequence[StateDistances], rate: float, precision: float
) -> DistinctRows:
    """Return the points without those that others explain, unless a sample of the points says that few are.

    The precision is that of the prior, divided by the mean weight of the distinct rows.
    """
    least = UNEXPLAINED * min(1.0, precision)
    sample = points.at(np.arange(0, len(points.weights), -(-len(points.weights) // POINTS_TO_SAMPLE)))
    needed = _needed(correlations(sample.codes, sample.codes, distances, rate), least)
    if len(needed) > MANY_NEEDED * len(sample.weights):
        return points
    return points.at(_needed(correlations(points.codes, points.codes, distances, rate), least))


def _needed(covariance: Floats, least: float) -> npt.NDArray[np.integer]:
    """Return the places of points that explain the others, ascending.

    One point after the other is chosen: the one whose value those before explain least, until no more than a share
    ``least`` of the variance of any value is unexplained (pivoted Cholesky decomposition; Higham, *Accuracy and
    Stability of Numerical Algorithms*, 2002, section 10.3). There is always one. The matrix of correlations, shape
    (points, points), is overwritten.
    """
    covariance[np.diag_indices_from(covariance)] += JITTER
    _, places, n, _ = dpstrf(covariance.T, tol=least, lower=1, overwrite_a=1)
    return np.sort(places[:n]) - 1


def _mode(
    basis: Floats,
    rows: DistinctRows,
    l2: float,
    deadline: Deadline,
    start: Floats | None = None,
    share: float = 0.0,
) -> Mode:
    """Return the result of :func:`~anbexact.models.kernel.mode.mode` for some rows."""
    lengths = _lengths(basis, np.arange(len(basis)))
    return mode(Objective(basis, rows.weights, rows.biases, l2, lengths), deadline, start, share)


def _lengths(basis: Floats, places: npt.NDArray[np.integer]) -> Positions | None:
    """Return the lengths of some rows of a basis, which is triangular if all rows are points; None if it is not."""
    return places.astype(np.int64) + 1 if basis.shape[0] == basis.shape[1] else None


def learn_kernel(
    table: DiscreteTable,
    cut_points: dict[Hashable, Cuts],
    values: Sequence[Sequence[Any]],
    most_points: int,
    deadline: Deadline,
    progress: Progress | None = None,
) -> tuple[KernelModel, KernelChoice, KernelFit]:
    """Return the model with the best of some settings, this choice, and the fit.

    The arguments are those of :func:`choose_kernel` and :func:`fit_kernel`. The choice takes at most half of the
    time; if that is not enough, it is the best setting found by then.
    """
    with one_blas_thread():
        half = deadline.within(deadline.left / 2) if deadline.left < inf else deadline
        chosen = choose_kernel(table, cut_points, values, most_points, half, progress)
        model, fit = fit_kernel(table, cut_points, chosen.setting, most_points, deadline)
    return model, chosen, fit
