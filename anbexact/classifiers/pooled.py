"""The logarithmic pool of several classifiers: a single model that predicts better than its members."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import field, replace
from inspect import signature
from math import isinf
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse
from sklearn.utils.validation import check_is_fitted

from anbexact._runtime.advice import heard_once
from anbexact._runtime.arrays import Floats, Integers
from anbexact._runtime.deadline import Deadline, abandonable, check_limit
from anbexact._runtime.memory import refused_without_memory
from anbexact._runtime.progress import progress_of
from anbexact._runtime.warn import warn
from anbexact._runtime.whole import all_or_nothing
from anbexact.classifiers.choosing.frequencies import LEAST_ROWS_COMPARED, PredictedWorseWarning, warn_if_worse
from anbexact.classifiers.discrete import DiscreteClassifier, FitRows
from anbexact.classifiers.fixed import FixedStructureClassifier
from anbexact.classifiers.parameters import (
    TableParameters,
    TimeLimitParameters,
    check_reading,
    parameter_group,
)
from anbexact.classifiers.pooling.learning import (
    NO_WEIGHT,
    NOT_NEEDED,
    OUT_OF_TIME,
    POOLED,
    Fold,
    Record,
    Rows,
    Spared,
    held_out_logs,
    known_labels,
    learn_members,
    make_folds,
    member_table,
    pool_weights,
)
from anbexact.classifiers.pooling.members import (
    AUTO,
    Member,
    automatic_members,
    most_promising_first,
    named_members,
)
from anbexact.classifiers.registry import Compared, register_classifier
from anbexact.models.fidelity import Fidelity
from anbexact.models.pool.pool import Pool, PoolMember
from anbexact.models.pool.weights import HeldOutLogs, PoolWeights, shares
from anbexact.tables.cuts.continuous import continuous_columns
from anbexact.tables.folds import frame_folds, mean_of_equal_rows, read_groups
from anbexact.tables.frames.columns import Column
from anbexact.tables.frames.dummies import find_dummies, fold
from anbexact.tables.frames.native_values import sorted_positions
from anbexact.tables.frames.reading import frames_read_once, is_frame, is_series, is_sparse
from anbexact.tables.labels import read_target
from anbexact.tables.missing import EM, refuse_missing_class
from anbexact.tables.reader import Reader
from anbexact.tables.soft_labels import check_soft_weight, mixed_with_labels, read_soft
from anbexact.tables.table import Weights, check_weights
from anbexact.tables.text_columns import as_meant
from anbexact.tables.training import record_columns
from anbexact.tables.weights import advise_on_weights, apply_class_weight

if TYPE_CHECKING:
    from anbexact.models.network.explanation import Explanations
    from anbexact.models.pool.logit import PooledLogit

FOLDS, FEWER_FOLDS = 5, 3
"""Default numbers of folds. With many rows, there are fewer: members learn almost as well from two thirds of them."""
MANY_ROWS, FEW_ROWS = 2_000, 100
"""Numbers of rows from which on there are fewer folds: the first if no column is cut; the second if columns are cut,
because few automatic members then have so many parameters that they need more rows."""
ENOUGH_HELD_OUT = 4_000
"""Number of held-out rows that determine the weights well: there are no further folds then."""
OWN = ("class_weight", "n_jobs", "verbose")
"""Parameters of the pool itself, which do not apply to automatic members only."""


@parameter_group
class PooledParameters(TimeLimitParameters, TableParameters):
    """Which classifiers are pooled, and how they are weighted."""

    members: Any = field(default=AUTO, kw_only=False)
    folds: int | str = AUTO
    ridge: float | str = AUTO
    readable: bool = False
    soft_weight: float = 1.0


@register_classifier(
    "pool",
    "logarithmic pool of networks",
    compared=[Compared("pool", 200, refitted=False)],
)
class PooledClassifier(PooledParameters, DiscreteClassifier):
    """A logarithmic pool: the weighted sum of the log posteriors of several classifiers.

    ``P(c | x) ∝ exp(b_c + Σ_m w_m ln P_m(c | x))``, with weights ``w_m ≥ 0`` and biases b. These are fitted to
    predictions for rows that the members did not learn from: in every fold, each member learns cut points, structure
    and tables or shapes again from the other rows (kernel logistic regression may keep its intervals and points).
    Equivalent sample sizes, limits on parents, strengths of smoothing (except those of ``smooth="cv"``) and priors of
    refits and of linear logistic regression stay as they were chosen from all rows. The fit maximises the conditional
    log likelihood of the held-out rows minus ``ridge/2 · [Σ_m (w_m - p_m)² + Σ_c b_c²]``, where p adds up to 1 and
    favours members that predict well
    by themselves (:func:`~anbexact.models.pool.weights.prior_centre`). The weights need not add up to 1, so the pool
    also calibrates. Members of weight 0 are dropped.

    Log odds add up. A pool of networks is therefore a log-linear model again and can be explained family by family;
    see the guide "The pool". Where a cell is missing, every member sums it out in its own way, and the results are
    pooled.

    Parameters
    ----------
    members : "auto" or list, default "auto"
        Unfitted classifiers of this package, or pairs of a name and such a classifier. ``"auto"`` chooses among naive
        Bayes, TAN, ANB and kDB, with smooth shapes or without, kernel logistic regression and, with few rows, a
        linear one. If columns are cut, the cut points differ between members, and some tables are hierarchical or,
        with few features, trees; otherwise, some members are refitted, or have more parents or tables as trees.
        Members that would take too long are left out: smooth ones with too many coefficients, exact searches over too
        many features, and kernel logistic regression on too many rows. ``members_`` lists the members that were
        considered, and the guide "The pool" explains the choice.
    folds : int or "auto", default "auto"
        Number of folds in which members are learned again. ``"auto"``: 5 if there are fewer than 2,000 rows, or fewer
        than 100 if columns are cut; otherwise 3. From 6,000 rows on, members are learned in only two of the three
        folds, and from 12,000 rows on in only one: 4,000 held-out rows determine the weights well. If the first
        automatic member hardly errs in the first fold, and 500 rows or more are held out there, that is the only one.
    ridge : float or "auto", default "auto"
        Precision of the prior of the weights, above 0. ``"auto"``: the most probable value, given its evidence, by
        Laplace's approximation, and a log-normal prior around 100. Infinity: equal weights, without folds.
    readable : bool, default False
        Whether automatic members are left out that keep the pool from being one readable model: kernel logistic
        regression, which is considered from 20 rows on; and, where columns are cut, networks with hierarchical
        tables. Without them, the pool predicts worse, although other networks take their place where columns are cut.
        With the former, :meth:`to_logit` has a term of all features. With the latter, it has more terms, on the
        intervals of all members, and from 2,000 rows on some of five features. The terms, or the tables of its
        network, can then need more memory than there is: the conversion is refused, and the message says how much it
        would need. The refits among automatic members end as soon as their predictions hardly change; with
        ``readable=True``, only when their coefficients, too, hardly change.
    soft_weight : float, default 1.0
        The share of the probabilities ``soft`` in the targets of a fit that has them, as for
        :class:`~anbexact.RefittedClassifier`. Members that are refits are fitted to the same targets.
    time_limit : float, optional
        Total time limit in seconds. A fit is not started if, judging by the fits so far, it would not end in time,
        and refits that take too long are stopped. The members finished by then are pooled, with a warning. Members
        are learned in the order of ``members``; the first is kept in any case.
    discretizer : {"auto", "median", "mdlp", "modl", "equal_frequency", "equal_width"}, None or transformer
        The rule of all automatic members; ``"auto"`` lets them differ. This and the next seven parameters are those
        of :class:`~anbexact.NetworkClassifier`. They apply to automatic members: set them in the members themselves
        if you pass your own.
    categories, group_categories, handle_unknown, handle_missing, drop_identifiers, fold_dummies, decimal : optional
        How automatic members read the table.
    class_weight : None, "balanced" or mapping, optional
        Multiplies the weights of the rows that the members learn from, both automatic members and your own.
    n_jobs : int, optional
        Number of threads of automatic members; None and -1 use all processors.
    verbose : int, default 0
        Above 0, progress is shown on standard error. At 0, it is shown only on a terminal or in a notebook, and only
        after five seconds; below 0, never.

    Attributes
    ----------
    classes_ : (classes,) array
        The classes, sorted; the columns of ``predict_proba``.
    estimators_ : list of (name, classifier)
        The members of the pool, learned from all rows.
    weights_ : (members,) array
        Their weights, above 0. If all members have weight 0, the pool contains only the first one, with weight 0, and
        predicts the same probabilities, which follow from ``biases_``, for every row.
    biases_ : (classes,) array
        The constant added to the log odds of every class, in nats; the biases add up to 0.
    ridge_ : float
        The value used for ``ridge``.
    members_ : DataFrame
        All members that were considered: ``weight``, ``log_loss`` (of held-out rows, nats per row), ``seconds`` (of
        all fits) and ``outcome``, which is ``"pooled"``, ``"weight 0"``, ``"out of time"``, ``"not needed"`` (because
        an earlier automatic member predicts the held-out rows with a total loss below 1 nat, or a loss per row below
        0.001), ``"same as"`` and the name of an earlier automatic member (learned from all rows, both predict them
        alike, so that the later one is left out), names of simpler members with ``"are far behind"`` (all of them
        predict much worse than the best member, so that the one that extends them was not learned) or the reason why
        it could not be learned.
    common_ : FixedStructureClassifier or None
        A naive Bayes classifier on states that refine those of all members, as :meth:`to_logit` uses them; None if
        the members read a column so differently that there are no such states.
    vocabulary_ : Vocabulary
        Names and states of all variables, on these common states.
    cut_points_ : dict
        Cut points of every column that was discretised: the cut points of all members together.
    fidelity_ : Fidelity or None
        How closely the predictions for the rows of the fit follow the teacher: ``divergence``, in nats per row, and
        ``agreement``; None after a fit to labels alone. :meth:`fidelity` compares other rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str
        Names of the features, if all of them are strings.

    References
    ----------
    Genest and Zidek, *Combining probability distributions*, Statistical Science 1 (1986); Hinton, Neural Computation
    14 (2002); Wolpert, *Stacked generalization*, Neural Networks 5 (1992).

    Examples
    --------
    >>> from anbexact import ANBClassifier, NaiveBayesClassifier, PooledClassifier
    >>> from anbexact.datasets import load_tic_tac_toe
    >>> X, y = load_tic_tac_toe()
    >>> pool = PooledClassifier([("NB", NaiveBayesClassifier()), ("ANB", ANBClassifier())]).fit(X, y)
    >>> pool.members_["outcome"].tolist()
    ['weight 0', 'pooled']
    >>> pool.score(X, y) > 0.9
    True
    """

    estimators_: list[tuple[str, DiscreteClassifier]]
    weights_: Floats
    biases_: Floats
    ridge_: float
    _considered: dict[Hashable, list[Any]]
    common_: FixedStructureClassifier | None
    fidelity_: Fidelity | None
    _automatic = staticmethod(automatic_members)
    """The function that returns the members of ``"auto"``."""
    _instead: str | None = "AutoClassifier()"
    """What is recommended if held-out rows are predicted worse than by the frequencies of the classes."""

    @all_or_nothing
    @frames_read_once()
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, soft: Any = None, groups: Any = None) -> Self:
        """Learn the members from all rows, and again in folds for their weights.

        Parameters
        ----------
        X, y, sample_weight
            As for the members' ``fit``.
        soft : frame or (rows, classes) array, optional
            Class probabilities of the rows, such as those of another classifier, the teacher, for rows that it did
            not learn from; see :meth:`RefittedClassifier.fit <anbexact.RefittedClassifier.fit>`. Members that are
            refits are fitted to them, and so are the weights of all members: they maximise
            ``Σ_t v_t Σ_c r_tc ln P(c | x_t)`` over held-out rows. Networks are learned from the classes alone.
        groups : (rows,) array, optional
            Labels of rows that belong together: the folds for the weights, and those for what members choose, hold
            out whole groups. See the guide "Repeated and grouped rows".

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            For an invalid parameter. If no member can be learned from the input, the error of the last one is raised.
        MemoryError
            Likewise.

        Warns
        -----
        UserWarning
            If ``time_limit`` ended the fit early, a member could not be learned, or the pool predicts held-out rows
            worse than the frequencies of the classes do. Other warnings of the members are given once.
        """
        self.check_parameters()
        deadline = Deadline(self._seconds)
        columns = record_columns(self, X, y)
        unbalanced = check_weights(sample_weight, len(columns[0]))
        target = read_target(y, columns, unbalanced)
        refuse_missing_class(target, unbalanced)
        declared = (self.categories or {}).get(target.name, ())
        weights = apply_class_weight(self.class_weight, target, unbalanced, declared)
        if self.fold_dummies and hasattr(self, "feature_names_in_"):  # the members warn of them
            columns = fold(columns, find_dummies(columns, weights > 0, target.name, self.categories or {}))
        X, y = _indexable(X), _indexable(y)
        columns = as_meant(columns, weights > 0, self.categories or {}, self.decimal)
        cut = bool(continuous_columns(columns, weights > 0, self.categories or {}))
        members = self._chosen(len(columns), target, weights, cut=cut)
        labels = known_labels(target, weights, [member.estimator for member in members])
        together = read_groups(groups, len(weights), weights)
        parts = [] if self._equal else self._parts(columns, target, weights, together, cut=cut)
        codes = np.array([*(labels.index(label) if label in labels else 0 for label in target.coded[1]), 0])
        codes = codes[target.coded[0]].astype(np.intp)
        given = FitRows(X, y, weights, groups=together)
        rows = Rows(given, codes, None)
        teacher = None
        if soft is not None:
            order = sorted_positions(labels)
            teacher = read_soft(soft, [labels[k] for k in order], weights)
            targets = np.empty(teacher.shape)
            targets[:, order] = teacher
            targets = mixed_with_labels(targets, codes, check_soft_weight(self.soft_weight))
            # a fold has the weight of equal rows in the first of them
            folded = targets if together is not None else mean_of_equal_rows(targets, columns, target, weights)
            given = given._replace(soft=targets[:, order])
            rows = Rows(given._replace(soft=folded[:, order]), codes, folded)
        records = [Record(member) for member in members]
        with abandonable(), heard_once(), refused_without_memory("fitting the pool"):
            advise_on_weights(unbalanced)
            folds: Sequence[Fold] = make_folds(rows, parts)
            automatic = isinstance(self.members, str)
            spared = Spared(
                members=automatic,
                folds=automatic and isinstance(self.folds, str) and together is None,
                precision=automatic and not self.readable,
            )
            folds = learn_members(records, given, folds, labels, deadline, progress_of(self.verbose), spared)
            self._weigh(records, folds, rows, labels)
            if teacher is not None:
                self.fidelity_ = Fidelity.of(self.predict_log_proba(X), teacher, weights)
        self._tell(records)
        return self

    def _parts(
        self, columns: list[Column], target: Column, weights: Weights, groups: Integers | None, *, cut: bool
    ) -> list[tuple[Weights, Weights]]:
        """Return the weights of the rows that are learned from, and of those held out, in every fold."""
        if not isinstance(self.folds, str):
            return frame_folds(columns, target, weights, self.folds, groups)
        n_rows = int(np.count_nonzero(weights))
        folds = FOLDS if n_rows < (FEW_ROWS if cut else MANY_ROWS) else FEWER_FOLDS
        parts = frame_folds(columns, target, weights, folds, groups)
        return parts[: -(-ENOUGH_HELD_OUT * folds // n_rows)] if n_rows else parts

    @property
    def _seconds(self) -> float | None:
        """How long a fit may go on learning; None for as long as it takes."""
        return self.time_limit

    @property
    def _equal(self) -> bool:
        return not isinstance(self.ridge, str) and isinf(self.ridge)

    def _chosen(self, n_features: int, target: Column, weights: Weights, *, cut: bool) -> list[Member]:
        """Return the members that are considered; ``cut`` says whether columns are cut."""
        if not isinstance(self.members, str):
            return named_members(self.members)
        names = [name for name in signature(TableParameters).parameters if name != "class_weight"]
        settings = {name: getattr(self, name) for name in names}
        n_classes = len(np.unique(target.coded[0][weights > 0]))
        settings = {**settings, "verbose": -1}
        n_rows = int(np.count_nonzero(weights))
        found = self._automatic(n_features, n_classes, n_rows, settings, cut=cut, readable=self.readable)
        return found if self.time_limit is None else most_promising_first(found)

    def _weigh(self, records: list[Record], folds: Sequence[Fold], rows: Rows, labels: list[Any]) -> None:
        """Fit the weights of the members, and keep those of positive weight."""
        learned = [record for record in records if not record.outcome]
        ready = [record for record in learned if len(record.logs) == len(folds)]
        if not ready:  # not even the first member was learned in all folds in time
            ready, folds = learned[:1], []
        for record in learned:
            record.outcome = OUT_OF_TIME
        featureless = self._without_features(rows, folds, len(labels))
        records += featureless
        ready += featureless
        for record in ready:
            record.outcome = NOT_NEEDED
        first, ready = ready[0], self._needed(ready, folds, len(labels))
        found = pool_weights(ready, folds, len(labels), self.ridge)
        biases, weight_of = found.biases, {}
        for record, weight in zip(ready, found.weights.tolist(), strict=True):
            record.outcome = POOLED if weight > 0 else NO_WEIGHT
            weight_of[record.member.name] = weight
            if record.constant is not None:  # the same for all rows, and so a part of the biases
                biases = biases + weight * record.constant
        if folds:
            _compare_with_frequencies(held_out_logs(ready, folds), found, self._instead)
        pooled = [record for record in ready if record.outcome == POOLED and record.constant is None] or [first]
        _repeat_once([warning for record in pooled for warning in record.caught])
        fitted = [(record.member.name, record.fitted) for record in pooled if record.fitted is not None]
        for _, member in fitted:
            member.model_.prepare()  # networks learned only to predict have not done so
        biases = biases[[labels.index(label) for label in fitted[0][1].classes_.tolist()]]
        weights = np.array([weight_of.get(name, 0.0) for name, _ in fitted])
        common = self._common([member for _, member in fitted], rows.given)
        frame = member_table(records, weight_of)
        self.set_pool(fitted, PoolWeights(weights, biases - biases.mean(), found.ridge), frame, common)

    def _without_features(self, rows: Rows, folds: Sequence[Fold], n_classes: int) -> list[Record]:
        """Return records that predict the same for every row, which are weighted along with the members."""
        return []

    def _needed(self, records: list[Record], folds: Sequence[Fold], n_classes: int) -> list[Record]:
        """Return the members that are weighted; the others are left out because these suffice."""
        return records

    def _common(self, fitted: Sequence[DiscreteClassifier], rows: FitRows) -> FixedStructureClassifier | None:
        """Return a naive Bayes on the common states of the members; None if there are no such states."""
        from anbexact.classifiers.pooling.common_states import common_network
        from anbexact.models.coding import DifferentCodingsError

        try:
            return common_network(fitted, rows[:3])
        except DifferentCodingsError:
            return None

    def _tell(self, records: Sequence[Record]) -> None:
        """Warn about members that are not in the pool for a reason other than weight 0."""
        late = [record.member.name for record in records if record.outcome == OUT_OF_TIME]
        if late:
            done = sum(record.outcome in (POOLED, NO_WEIGHT) for record in records)
            self._tell_late(late, f"{done} of {len(records)}")
        for record in records:
            if record.outcome.startswith("refused"):
                warn(f"the member {record.member.name!r} is not in the pool: {record.outcome}")

    def _tell_late(self, late: Sequence[str], done: str) -> None:
        """Warn about members that the time did not suffice for, while it sufficed for some others."""
        warn(
            f"time_limit={self.time_limit!r} was too short: only {done} members could be "
            f"learned. Left out: {', '.join(map(repr, late))}. Raise time_limit, or pass fewer members"
        )

    def check_parameters(self) -> None:
        """Refuse invalid parameters."""
        folds: Any = self.folds
        whole = not isinstance(folds, bool | str) and isinstance(folds, Integral) and int(folds) >= 2
        if not whole and not (isinstance(folds, str) and folds == AUTO):
            raise ValueError(f"folds must be 'auto' or a whole number, 2 or more, not {self.folds!r}")
        ridge: Any = self.ridge
        number = not isinstance(ridge, bool | str) and isinstance(ridge, Real) and float(ridge) > 0
        if not number and not (isinstance(ridge, str) and ridge == AUTO):
            raise ValueError(f"ridge must be 'auto' or a number above 0, not {self.ridge!r}")
        if not isinstance(self.readable, bool | np.bool_):
            raise ValueError(f"readable must be True or False, not {self.readable!r}")
        check_limit("time_limit", self.time_limit)
        check_soft_weight(self.soft_weight)
        check_reading(self, (EM,))
        if isinstance(self.members, str) and self.members == AUTO:
            return
        named_members(self.members)
        parameters = signature(TableParameters).parameters
        changed = [
            name
            for name, parameter in parameters.items()
            if name not in OWN
            and getattr(self, name) is not parameter.default
            and getattr(self, name) != parameter.default
        ]
        if self.readable:
            raise ValueError(
                "readable=True applies to automatic members only: leave it out, and pass readable members"
            )
        if changed:
            raise ValueError(
                f"{changed[0]} applies to automatic members only: set it in each of the members that you pass"
            )

    @all_or_nothing
    def set_pool(
        self,
        estimators: list[tuple[str, DiscreteClassifier]],
        found: PoolWeights,
        members: pd.DataFrame,
        common: FixedStructureClassifier | None,
        fidelity: Fidelity | None = None,
    ) -> Self:
        """Store fitted members with their weights.

        Parameters
        ----------
        estimators : list of (name, classifier)
            Fitted classifiers with the same classes.
        found : PoolWeights
            Their weights, and the biases in the order of the classes.
        members : DataFrame
            As ``members_``.
        common : FixedStructureClassifier or None
            As ``common_``.
        fidelity : Fidelity, optional
            As ``fidelity_``.

        Returns
        -------
        self
        """
        self.estimators_ = estimators
        self.weights_, self.biases_, self.ridge_ = found.weights, found.biases, found.ridge
        self._considered, self.common_ = members.reset_index().to_dict(orient="list"), common
        self.classes_, self.fidelity_ = estimators[0][1].classes_, fidelity
        return self

    @property
    def members_(self) -> pd.DataFrame:
        """All members that were considered, with their weights and outcomes."""
        return pd.DataFrame(self._considered).set_index("member")

    @property
    def model_(self) -> Pool:
        """The members' models, with their weights."""
        check_is_fitted(self)
        members = tuple(
            PoolMember(name=name, weight=float(w), model=own.model_, reader=own.reader_, n_jobs=own._threads())
            for w, (name, own) in zip(self.weights_, self.estimators_, strict=True)
        )
        common = None if self.common_ is None else self.common_.origin()
        return Pool(members=members, biases=self.biases_, ridge=self.ridge_, common=common, fidelity=self.fidelity_)

    def _threads(self) -> int | None:
        """Return None: every member has its own number of threads."""
        return None

    def _read_by(self) -> DiscreteClassifier:
        return self.estimators_[0][1]._read_by()

    @property
    def class_prior_(self) -> npt.NDArray[np.float64]:
        """P(class) when no feature is known, shape (classes,): the weighted mean over the members.

        If all weights are 0, it is the mean over the members.
        """
        check_is_fitted(self)
        priors = np.stack([model.class_prior_ for _, model in self.estimators_])
        return np.asarray(shares(self.weights_) @ priors)

    def explain(self, X: Any, *, label: Any = None, against: Any = None) -> Explanations:
        """Return, per row, what each family of features adds to the log odds of one class against another.

        A term is the weighted sum of the contributions of all members' families with the same features, regardless of
        a member's cut points and the direction of its arcs. A member that is not a network is one term, and so is one
        whose probabilities of a row contain zeros. See :meth:`anbexact.NetworkClassifier.explain`.

        Raises
        ------
        ValueError
            If ``label`` or ``against`` is not a class, or both are the same; or if the members have no common states.
        """
        return self.model_.explain(X, label, against)

    def to_logit(self) -> PooledLogit:
        """Return the logistic regression with the posterior of the pool, on the common states of its members.

        It has the terms of the union of the members' families, and predicts complete rows as the pool does.
        ``to_logit().to_network()`` is one network with this posterior, if its tables fit into memory. Rows with
        missing cells are predicted differently, and worse if linear logistic regression is a member.

        Raises
        ------
        TypeError
            If a member is not a network.
        ValueError
            If a table of a member contains a zero, or the members have no common states.
        MemoryError
            If the terms would not fit into memory; the message says how much they need.

        Warns
        -----
        UserWarning
            If a member models columns by densities: the regression then has the posterior of its discrete form.
        """
        return self.model_.to_logit()

    @property
    def reader_(self) -> Reader:
        """How frames are read, as codes of the states of ``vocabulary_``."""
        check_is_fitted(self)
        source = self.estimators_[0][1] if self.common_ is None else self.common_
        return replace(source.reader_, fitted_by=type(self).__name__)


def _indexable(rows: Any) -> Any:
    """Return an object from which rows can be selected, for any kind of container."""
    if isinstance(rows, pd.Categorical):
        return pd.Series(rows)
    if is_sparse(rows):
        return scipy.sparse.csr_array(rows)
    return rows if is_frame(rows) or is_series(rows) or isinstance(rows, list) else np.asarray(rows)


def _repeat_once(caught: Sequence[warnings.WarningMessage]) -> None:
    """Issue every warning that was caught, each text only once, because members read the same rows.

    Warnings that a member predicts worse than the class frequencies are left out: such a member has little weight.
    """
    for text, category in dict.fromkeys((str(warning.message), warning.category) for warning in caught):
        if not issubclass(category, PredictedWorseWarning):
            warn(text, category)


def _compare_with_frequencies(held_out: HeldOutLogs, found: PoolWeights, instead: str | None) -> None:
    """Warn if a pool predicts held-out rows worse than the frequencies of the classes do; say what to use instead."""
    total = float(held_out.weights.sum())
    if len(held_out.weights) < LEAST_ROWS_COMPARED or not total:
        return
    ours, theirs = -found.log_likelihood(held_out) / total, -held_out.log_likelihood_of_frequencies / total
    warn_if_worse(ours, theirs, f"{len(held_out.weights):,} rows may be too few", instead=instead)
