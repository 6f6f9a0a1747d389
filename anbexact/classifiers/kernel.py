"""Kernel logistic regression: a classifier with interactions of all orders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from math import inf
from numbers import Integral
from typing import Any, cast

from sklearn.base import clone

from anbexact._runtime.deadline import Deadline, check_limit
from anbexact._runtime.warn import warn
from anbexact.classifiers.choosing.frequencies import LEAST_ROWS_COMPARED, too_few, warn_if_worse
from anbexact.classifiers.discrete import DiscreteClassifier, FitRows
from anbexact.classifiers.parameters import TableParameters, TimeLimitParameters, is_auto, is_number, parameter_group
from anbexact.classifiers.registry import register_classifier
from anbexact.classifiers.table_classifier import TableClassifier
from anbexact.models.kernel.distances import MOST_POWER
from anbexact.models.kernel.fit import (
    POWERS,
    PRECISIONS,
    RATES,
    RELEVANCES,
    ROWS_TO_LEARN,
    KernelFit,
    learn_kernel,
)
from anbexact.models.kernel.learned_relevance import LEARNED
from anbexact.models.kernel.model import KernelModel
from anbexact.tables.cuts.quantiles import QuantileDiscretizer
from anbexact.tables.table import DiscreteTable
from anbexact.tables.training import TrainingColumns

AUTO = "auto"
INTERVALS = 64
"""Number of intervals of a column that is cut according to ``discretizer="auto"``."""
MOST_STATES_TIMES_ROWS, MOST_CLASSES = 5_000_000, 20
"""Number of states of all features, times the number of rows to learn from, and number of classes, beyond which
relevances are learned only if this is asked for, as where no column is cut and there are more distinct rows than are
learned from. It would take too long, or predictions would be worse."""

ROWS_FOR_INFORMATION, ROWS_FOR_A_FEATURE = 1_000, 75
"""Number of distinct rows, and of these by feature, from which on the information of features about the class hardly
depends on the rows of a fold."""
ROWS_FOR_LEARNED = 5_000
"""Number of distinct rows that are needed, too, where relevances were learned: the rows that teach them are then a
small part of all."""


@parameter_group
class KernelParameters(TimeLimitParameters, TableParameters):
    """How correlations fall with distance, how much features count, the precision of the prior, and the points."""

    rate: float | str = AUTO
    l2: float | str = AUTO
    relevance: float | str = AUTO
    power: float | str = AUTO
    points: int = 1000


@register_classifier("kernel", "kernel logistic regression")
class KernelClassifier(KernelParameters, TableClassifier):
    """Kernel logistic regression: log odds with interactions of all orders.

    ``ln P(c | x) = b_c + Σ_i a_ic k(x, z_i) + constant``, where the points z_i are training rows,
    ``k(x, z) = Π_j exp(-θ r_j d_j(x_j, z_j))``, r_j is the relevance of feature j, and d_j a distance between its
    states: ``(2 |p - q|)^α`` for intervals at the places p and q, twice the difference of their mid-ranks for numbers
    that are not cut, and 1 for any two other states. The place of an interval is the mean of its mid-rank and its
    middle. Middles are scaled so that two rows are as far apart on average as in their mid-ranks, but their range is
    at most 1.7 (:func:`~anbexact.models.kernel.distances.distances_of`). The prior of the log odds of every class is
    a Gaussian process with the covariance ``(1 + k(x, x')) / λ``; the coefficients are the mode of the posterior.
    With α = 1, this prior penalises first differences along a numeric column, as smooth shapes do; with a larger α,
    log odds are smoother. Because k is a product over the features, there are main effects and interactions of all
    orders; the larger θ is, the more weight the higher orders have.

    Where the class depends on many features at once, and there are enough rows to show it, this predicts much better
    than networks; where main effects and a few pairs suffice, it predicts worse. There is no structure: predictions
    cannot be explained family by family, and the model cannot be converted into a network. Its files contain
    training rows, as states.

    Parameters
    ----------
    discretizer : "auto", name, None or transformer
        As in :class:`~anbexact.NetworkClassifier`, but ``"auto"`` stands for 64 intervals of about equal weight, or
        one for each value if there are fewer values.
    rate : float or "auto", default "auto"
        θ, above 0. ``"auto"`` chooses it from the powers of 2 from 1/4 to 16, divided by the number of features with
        two states or more, by cross-validation in up to three folds
        (:func:`~anbexact.models.kernel.fit.choose_kernel`). With fewer than 150 rows, a rate, precision or exponent
        of relevance replaces its neighbour only if it is better by 1.5 standard errors of the difference.
    l2 : float or "auto", default "auto"
        λ, above 0. ``"auto"`` chooses it likewise from the powers of 10 from 0.0001 to 1.
    relevance : float, "learned" or "auto", default "auto"
        The relevances r_j, which are 1 on average. A number, 0 or more, is the exponent γ for which r_j is
        proportional to ``(I_j + max I / 20)^γ``, where I_j is the estimated mutual information of feature j and the
        class. With ``"learned"``, a short search looks for the r_j under which the classes of a third of the
        rows, but at least 200 and at most 1,000, are most probable, given a prior that favours equal ones
        (:func:`~anbexact.models.kernel.learned_relevance.with_learned_relevance`). ``"auto"`` chooses likewise from
        the exponents 0, 1/2 and 1. Where columns are cut or there are up to 1,000 distinct rows, with up to 20
        classes and 5,000 states of all features, it also chooses from learned relevances.
    power : float or "auto", default "auto"
        α, above 0 and at most 1.3; only the distances of intervals depend on it. Where a column has three intervals
        or more, ``"auto"`` chooses from 1.3 and 1: the other values are chosen for 1.3, then rate and precision again
        for 1, and the better of the two is used.
    points : int, default 1000
        Maximum number of points. If there are more distinct rows, the points are drawn from them at random, always
        in the same way, and superfluous ones are left out: under the prior, the log odds there follow from those at
        other points, with a variance of at most 0.05 for rows of weight 1. None is left out if more than 99 % of a
        sample of them are needed. Beyond 50,000 distinct rows, there are fewer than 1,000 points: points times
        distinct rows are at most 50 million, so that the correlations between them fit into memory. Where not all
        distinct rows are points, the fit computes products with them in single precision.
    time_limit : float, optional
        Time limit in seconds. At most half of it is spent on the choice of the four values above: the best values
        found by then are used. If the rest is short, there are fewer points. When it runs out, the best
        coefficients found so far are used, with a warning.

    The other parameters are those of :class:`~anbexact.NetworkClassifier`.

    Attributes
    ----------
    rate_, l2_ : float
        θ and λ.
    relevance_ : float or "learned"
        γ, or ``"learned"``; the relevances themselves are those of ``model_.distances``.
    power_ : float
        α; without effect if no column has three intervals.

    ``classes_``, ``vocabulary_``, ``cut_points_``, ``n_features_in_`` and ``feature_names_in_`` are those of
    :class:`~anbexact.NetworkClassifier`.

    References
    ----------
    Zhu and Hastie, *Kernel logistic regression and the import vector machine*, Journal of Computational and Graphical
    Statistics 14 (2005); Rasmussen and Williams, *Gaussian Processes for Machine Learning* (2006), section 3.5 (the
    mode) and section 4.2 (the γ-exponential covariance; with γ = 1, that of Ornstein and Uhlenbeck).

    Examples
    --------
    >>> from anbexact import NaiveBayesClassifier
    >>> from anbexact.classifiers import KernelClassifier
    >>> from anbexact.datasets import load_tic_tac_toe
    >>> from sklearn.model_selection import train_test_split
    >>> X_train, X_test, y_train, y_test = train_test_split(*load_tic_tac_toe(), test_size=0.5, random_state=0)
    >>> for model in (NaiveBayesClassifier(), KernelClassifier()):
    ...     print(round(model.fit(X_train, y_train).score(X_test, y_test), 2))
    0.66
    0.97
    """

    model_: KernelModel
    model_type = KernelModel
    automatic_rule = "quantiles"
    _in_time: bool = True
    _fit: KernelFit | None = None
    """The fit, if fits to parts of its rows are to follow."""

    def check_parameters(self) -> None:
        """Refuse invalid parameters."""
        super().check_parameters()
        for name, value in (("rate", self.rate), ("l2", self.l2)):
            if not is_auto(value) and not (is_number(value) and 0 < float(value) < inf):
                raise ValueError(f"{name} must be 'auto' or a finite number above 0, not {value!r}")
        named = isinstance(self.relevance, str) and self.relevance in (AUTO, LEARNED)
        if not named and not (is_number(self.relevance) and 0 <= float(self.relevance) < inf):
            raise ValueError(
                f"relevance must be 'auto', 'learned' or a finite number, 0 or more, not {self.relevance!r}"
            )
        if not is_auto(self.power) and not (is_number(self.power) and 0 < float(self.power) <= MOST_POWER):
            raise ValueError(f"power must be 'auto' or a number above 0 and at most {MOST_POWER}, not {self.power!r}")
        points: Any = self.points
        if isinstance(points, bool) or not isinstance(points, Integral) or points < 1:
            raise ValueError(f"points must be a whole number, 1 or more, not {points!r}")
        check_limit("time_limit", self.time_limit)

    def _learn_model(self, read: TrainingColumns) -> KernelModel:
        deadline = Deadline(self.time_limit)
        table, cut_points = read.discretised(
            QuantileDiscretizer(INTERVALS) if is_auto(self.discretizer) else self.discretizer
        )
        n_features = max(sum(table.vocabulary.arity(name) > 1 for name in table.vocabulary.features), 1)
        given = self.rate, self.l2, self.relevance, self.power
        automatic: tuple[Sequence[Any], ...] = (
            [rate / n_features for rate in RATES],
            PRECISIONS,
            _relevances(table, n_features, cut=bool(cut_points)),
            POWERS if any(len(cuts) > 1 for cuts in cut_points.values()) else (1.0,),
        )
        values = [
            own if is_auto(value) else [value if value == LEARNED else float(value)]
            for value, own in zip(given, automatic, strict=True)
        ]
        model, chosen, fit = learn_kernel(table, cut_points, values, int(self.points), deadline, self.progress())
        self._in_time, self._fit = fit.in_time, fit if self._to_be_fitted_again else None
        if len(table.weights) >= LEAST_ROWS_COMPARED:
            warn_if_worse(chosen.log_loss, chosen.of_frequencies, too_few(table, n_features))
        if not self._in_time:
            warn(f"time_limit={self.time_limit!r} ended the fit: the best coefficients found so far are used")
        return model

    @property
    def rate_(self) -> float:
        """θ."""
        return self.model_.rate

    @property
    def l2_(self) -> float:
        """λ."""
        return self.model_.l2

    @property
    def relevance_(self) -> float | str:
        """γ, the exponent of the relevance of features, or ``"learned"``."""
        return self.model_.relevance

    @property
    def power_(self) -> float:
        """α, the power to which differences of intervals are raised."""
        return self.model_.power

    def _fitted_again(
        self, learned: Callable[[DiscreteClassifier, float], DiscreteClassifier], rows: FitRows, seconds: float
    ) -> DiscreteClassifier:
        if self._fit is None or not self._independent_of_classes:
            return super()._fitted_again(learned, rows, seconds)
        own = inf if self.time_limit is None else self.time_limit
        again, dropped = copy(self), self.dropped_
        table = self.reader_.table(rows.X, rows.y, rows.weights)
        model, again._in_time = self._fit.again(self.model_, table, Deadline(min(seconds, own)))
        again.set_model(model)
        again.dropped_, again._fit = dropped, None
        return again

    @property
    def _independent_of_classes(self) -> bool:
        """Whether states and correlations would (nearly) be the same if the classes of some rows were not known."""
        assert self._fit is not None
        cut_alike = is_auto(self.discretizer) or not self.model_.cut_points
        enough = max(ROWS_FOR_INFORMATION, ROWS_FOR_A_FEATURE * len(self.vocabulary_.features))
        enough = max(enough, ROWS_FOR_LEARNED) if self.relevance_ == LEARNED else enough
        many = len(self._fit.rows.weights) >= enough
        by_class = self.class_weight == "balanced" or bool(self.vocabulary_.groups)
        return cut_alike and not by_class and (many or self.relevance_ == 0)

    def _forget_rows(self) -> None:
        self._fit = None

    def _unfitted_again(self, rows: FitRows) -> DiscreteClassifier:
        return cast(
            DiscreteClassifier,
            clone(self).set_params(rate=self.rate_, l2=self.l2_, relevance=self.relevance_, power=self.power_),
        )

    def _ended_by(self, seconds: float) -> bool:
        own = inf if self.time_limit is None else self.time_limit
        return seconds < own and not self._in_time


def _relevances(table: DiscreteTable, n_features: int, *, cut: bool) -> tuple[float | str, ...]:
    """Return the relevances to choose from for a table with this number of features of two states or more."""
    if n_features == 1:  # its relevance is 1
        return RELEVANCES[:1]
    n_rows, n_states = len(table.weights), sum(table.vocabulary.arity(name) for name in table.vocabulary.features)
    many = n_states * min(n_rows, ROWS_TO_LEARN) > MOST_STATES_TIMES_ROWS
    learned = (cut or n_rows <= ROWS_TO_LEARN) and not many and len(table.vocabulary.classes) <= MOST_CLASSES
    return tuple(value for value in RELEVANCES if learned or value != LEARNED)
