"""The common base of all network classifiers: structure, conditional tables, and other forms of the network."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import cache, partial
from inspect import signature
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from anbexact._runtime.deadline import Deadline
from anbexact._runtime.whole import all_or_nothing
from anbexact.classifiers.choosing.sample_size import (
    PLAIN,
    Choices,
    Learn,
    Learned,
    Learner,
    Search,
    Validation,
    learn_structure,
)
from anbexact.classifiers.choosing.table_strengths import Split, chosen_strengths, time_for_structure
from anbexact.classifiers.discrete import DiscreteClassifier, FitRows
from anbexact.classifiers.explaining import Explaining
from anbexact.classifiers.has_network import HasNetwork
from anbexact.classifiers.parameters import NetworkParameters
from anbexact.classifiers.table_classifier import TableClassifier
from anbexact.models.logit.model import LogitModel
from anbexact.models.logit.potentials import network_potentials
from anbexact.models.logit.predictions import Origin
from anbexact.models.model import Model
from anbexact.models.network.drift import Drift, measure_drift
from anbexact.models.network.estimation import CROSS_VALIDATED, ESTIMATES, Estimation, TableSettings
from anbexact.models.network.explanation import Explanations
from anbexact.models.network.network import Network, TableNetwork
from anbexact.models.network.table_draws import check_draws, explained_intervals, probability_intervals
from anbexact.models.parameters.counts import Counts, count_families
from anbexact.models.parameters.hierarchical import Strengths
from anbexact.models.parameters.tables import Tables
from anbexact.models.smooth.refine import check_intervals, refined_network
from anbexact.models.structure import Structure
from anbexact.scores import Score
from anbexact.scores.registry import SCORES, no_score
from anbexact.search.scoring.requirements import SearchRequirements
from anbexact.tables.cuts import Cuts
from anbexact.tables.folds import split_table
from anbexact.tables.incomplete import IncompleteTable
from anbexact.tables.missing import check_missing_class
from anbexact.tables.prediction import check_choice
from anbexact.tables.table import DiscreteTable, check_weights
from anbexact.tables.training import TrainingColumns

if TYPE_CHECKING:
    from collections.abc import Hashable

    from anbexact.classifiers.refitted import RefittedClassifier
    from anbexact.models.em.record import EMRecord

SHARED = tuple(signature(NetworkParameters).parameters)
"""Parameters that a classifier of a given structure takes over from the one that learned it."""


@cache
def _given_parameters(estimator: type[NetworkClassifier]) -> tuple[str, ...]:
    """Return the names of an estimator's parameters, looked up once: a pool needs them in every prediction."""
    return tuple(signature(estimator).parameters)


def _check_ess(name: str, value: Any) -> None:
    """Refuse an equivalent sample size that is neither "auto" nor a finite number above 0."""
    if isinstance(value, str) and value == "auto":
        return
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < float("inf"):
        raise ValueError(f"{name} must be a finite number above 0, or 'auto', not {value!r}")


class NetworkClassifier(NetworkParameters, HasNetwork, TableClassifier, Explaining):
    """A Bayesian network classifier. Subclasses define how the structure is learned.

    Parameters
    ----------
    structure_score : str or Score, default "bdeu"
        The score of the structure: ``"bdeu"``, ``"bds"``, ``"k2"``, ``"kt"``, ``"ll"``, ``"aic"``, ``"bic"``,
        ``"hq"``, ``"mit"``, ``"qnml"``, ``"fnml"`` or ``"acll"``, with the defaults of :mod:`anbexact.scores`, or an
        object from there or of your own. (``score`` is scikit-learn's method.)
    ess : float or "auto", default "auto"
        Equivalent sample size of the scores ``"bdeu"`` and ``"bds"`` and, unless you set ``smoothing``, of the
        conditional tables. ``"auto"`` chooses, for BDeu, a value that gives the data a high marginal likelihood with
        the learned structure; for other scores it is 1, with ``smoothing="auto"``. With a total weight below 1,000,
        the choice is cross-validated against 1. This takes two to five searches and, with few rows, up to eleven
        more, or up to 21 more if the limit on parents is chosen, too. Where an exact search would take more than a
        few milliseconds, hill climbing takes its place in these choices, and one exact search follows. See
        :func:`~anbexact.classifiers.choosing.sample_size.learn_structure` and the page "The equivalent sample size".
        The papers use 1.0.
    missing_class : {"error", "em"}, default "error"
        How rows without a class are treated in training: they are refused, or used for learning by expectation
        maximisation. ``"em"`` can be combined with ``handle_missing="em"`` or ``"own_state"``; see
        the guide "Incomplete rows".
    parameters : {"eap", "ml", "friedman", "acll", "hierarchical", "tree"}, default "eap"
        How the conditional tables are estimated: by :func:`~anbexact.models.parameters.tables.eap_tables`,
        ``ml_tables``, ``friedman_tables``, ``acll_tables`` (with the prior and pseudo-count of ``structure_score`` if
        that is an :class:`~anbexact.scores.ACLL`),
        :func:`~anbexact.models.parameters.hierarchical.hierarchical_tables` or
        :func:`~anbexact.models.parameters.trees.tree_tables`. The last two are for networks with many parents. Each
        row of a hierarchical table is shrunk towards the corresponding row with one parent fewer. A table of
        ``"tree"`` has local structure: a decision tree over the parents, in whose leaves joint states of the parents
        share a distribution; it is shrunk to those of the nodes above. The strengths of this shrinkage, and how far
        trees grow, are chosen by five-fold cross-validation, in which the structure is learned again; with fewer than
        1,500 rows, this is repeated with other folds, two to four times in all. Tables of ``"ml"`` and ``"friedman"``
        may contain zeros. A row with probability 0 for every class then gets the first class and NaN probabilities,
        with a warning.
    smoothing : float, "auto" or None, default None
        Equivalent sample size of the conditional tables alone, for ``parameters="eap"``. ``"auto"`` chooses the value
        that predicts each training row best from the other rows (see
        :func:`~anbexact.models.parameters.smoothing.best_smoothing`). With a total weight below 1,000, it instead
        chooses the value that predicts held-out rows best in 5 folds, in each of which the structure is learned
        again. If the class frequencies still predict better, larger values are tried
        (:func:`~anbexact.models.parameters.smoothing.second_smoothing`). None: the value of ``ess``.

    Attributes
    ----------
    classes_ : (classes,) array
        The classes, sorted; the columns of ``predict_proba``.
    vocabulary_ : Vocabulary
        Names and states of all variables.
    structure_ : Structure
        The graph, with its score and certificate.
    ess_, smoothing_, parameters_ : float, float, str
        The values used for ``ess`` (of the named scores), ``smoothing`` and ``parameters``; only ``"eap"`` uses
        ``smoothing_``. A network whose tables were given does not have these attributes.
    counts_ : dict or None
        Weighted counts of every variable with its parents, from which ``conditional_tables_`` are estimated; None for
        a network whose tables were given.
    conditional_tables_ : dict
        P(variable | parents) of every variable.
    network_ : pgmpy ``DiscreteBayesianNetwork``
        The same network for pgmpy, built and checked on first use, and listed by ``dir`` from then on.
    cut_points_ : dict
        Cut points of every column that was discretised.
    handle_missing_ : dict
        The rule used for every feature: ``"own_state"``, ``"marginalize"``, ``"error"`` or ``"em"``.
    em_ : EMRecord or None
        With ``handle_missing="em"`` or ``missing_class="em"``, the record of expectation maximisation
        (:class:`~anbexact.classifiers.EMRecord`); None if no cell was missing.
    dropped_ : dict
        The columns left out as identifiers, each with the reason.
    groups_ : dict
        Groups of values of every grouped categorical column, each group a tuple of its values.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str
        Names of the features, if all of them are strings.
    """

    model_: Network
    model_type: ClassVar[type[Network]] = TableNetwork
    em_: EMRecord | None
    _completes = True
    _relearns = True
    """Whether structures may be learned again in folds of the rows, to choose equivalent sample sizes."""
    _choices: Choices | None = None
    """What the last fit chose from its rows; None before, and for networks that choose nothing in this way."""
    _given: Choices | None = None
    """What the next fit is not to choose, because a fit to other rows has chosen it."""

    @abstractmethod
    def _learn(self, table: DiscreteTable, score: Score, time_limit: float | None) -> Structure:
        """Return the structure; a search takes no longer than ``time_limit`` seconds."""

    @property
    def structure_(self) -> Structure:
        """The graph, with its score and certificate."""
        return self.model_.structure

    @property
    def counts_(self) -> Counts | None:
        """Weighted counts of every variable with its parents; None for a network whose tables were given."""
        return self.model_.counts

    @property
    def conditional_tables_(self) -> Tables:
        """P(variable | parents) of every variable."""
        tables: Tables | None = getattr(self.model_, "tables", None)
        if tables is None:
            raise AttributeError(
                "this classifier has densities instead of conditional tables, because its columns are continuous: "
                "see densities_, or the tables of to_discrete()"
            )
        return tables

    @property
    def _estimation(self) -> Estimation:
        estimation = getattr(self.model_, "estimation", None)
        if estimation is None:
            raise AttributeError("the tables of this network were given, not estimated from counts")
        return cast(Estimation, estimation)

    @property
    def ess_(self) -> float:
        """The value used for ``ess``."""
        return self._estimation.ess

    @property
    def smoothing_(self) -> float:
        """The value used for ``smoothing``."""
        return self._estimation.smoothing

    @property
    def parameters_(self) -> str:
        """The value of ``parameters`` in ``fit``."""
        return self._estimation.rule

    def _learn_model(self, read: TrainingColumns) -> Network:
        """Return the network: structure and parameters."""
        table, cut_points = (read.incomplete if read.completes else read.discretised)(self.discretizer)
        if isinstance(table, IncompleteTable):
            return self._learn_completing(table, cut_points)
        limit = getattr(self, "time_limit", None)
        deadline, learner = Deadline(limit), self._structure_learner(table)
        learned = learner(time_limit=time_for_structure(limit)) if self.parameters in CROSS_VALIDATED else learner()
        score = self.score_of(learned.ess)
        strengths = self._strengths(table, learned.structure, learned, deadline)
        self._choices = Choices.of(learned, strengths)
        how = strengths, learned.class_smoothing
        estimation = Estimation(score, learned.ess, learned.smoothing, self.parameters, *how)
        network = self._estimated(table, learned.structure, cut_points, estimation)
        self.__dict__.pop("em_", None)  # an earlier fit may have left it
        if read.completes:
            self.em_ = None
        return network

    def _strengths(
        self,
        table: DiscreteTable,
        structure: Structure,
        learned: Learned,
        deadline: Deadline,
        split: Split = split_table,
    ) -> TableSettings:
        """Return the strengths of the tables of a structure, or the settings of their trees, if the rule has some."""
        if self._given is not None:
            return self._given.strengths.of_parents(structure.parents)
        if self.parameters not in CROSS_VALIDATED:
            return Strengths()
        learn = self._relearning(table, learned) if self._relearns else None
        score = self.score_of(learned.ess)
        return chosen_strengths(table, structure, learn, score, deadline, split, self.parameters)

    def _relearning(self, table: DiscreteTable, learned: Learned) -> Learn:
        """Return a function that learns the structure again from some of the rows."""
        return learned.search.rehearse

    def _estimated(
        self, table: DiscreteTable, structure: Structure, cut_points: dict[Hashable, Cuts], estimation: Estimation
    ) -> TableNetwork:
        """Return the network of a structure, its tables estimated from the rows of a table."""
        counts = count_families(table, structure)
        return TableNetwork.from_counts(table.vocabulary, structure, counts, cut_points, estimation)

    def _learn_completing(self, table: IncompleteTable, cut_points: dict[Hashable, Cuts]) -> TableNetwork:
        """Return the network of rows with missing cells, by expectation maximisation."""
        from anbexact.classifiers.completing import learn_from_incomplete_rows

        network, self.em_ = learn_from_incomplete_rows(
            self, self._structure_learner, self._strengths, table, cut_points
        )
        return network

    def set_model(self, model: Model) -> Self:
        """Store a network that was learned elsewhere; see :meth:`TableClassifier.set_model`."""
        super().set_model(model)
        self._network = None
        return self

    def _structure_learner(self, table: DiscreteTable, validation: Validation = PLAIN) -> Callable[..., Learned]:
        """Return a function that learns the structure and the equivalent sample sizes of score and tables."""
        if self._given is not None:
            search, limit = self._searches(table)[0], getattr(self, "time_limit", None)
            return partial(self._given.repeated, search, self.score_of, table, time_limit=limit)
        chooses_ess = self.ess == "auto" and self.structure_score == "bdeu"
        chooses_smoothing = self.smoothing == "auto" or (self.smoothing is None and self.ess == "auto")
        smooths = self.parameters == "eap"
        learner = Learner(
            *self._searches(table), self.score_of, chooses_ess, chooses_smoothing and smooths,
            smooths and self._relearns, validation=validation, sharing=self._sharing(table),
        )  # fmt: skip
        ess = 1.0 if isinstance(self.ess, str) else float(self.ess)
        smoothing = None if self.smoothing is None or isinstance(self.smoothing, str) else float(self.smoothing)
        return partial(learn_structure, table, learner, ess, smoothing, time_limit=getattr(self, "time_limit", None))

    def _unfitted_again(self, rows: FitRows) -> DiscreteClassifier:
        return super()._unfitted_again(rows) if self._choices is None else self._with_choices(self._choices, rows.X)

    def _with_choices(self, choices: Choices, X: Any) -> Self:
        """Return an unfitted copy of this fitted classifier, whose next fit, to X, makes these choices.

        The copy knows all states of columns that were neither cut nor grouped. Otherwise, a state that its rows lack
        would be summed out at prediction, which can take long after a refit. It does not in a column with other
        values: such values occur only in rows that this classifier left out for missing cells, and the copy may not.
        """
        copy: Self = clone(self)
        copy._given = choices
        vocabulary, cut = self.vocabulary_, self.cut_points_
        read_otherwise = {*cut, *vocabulary.groups, *vocabulary.quantities, *vocabulary.left_out}
        read_otherwise |= {name for name in vocabulary.own_missing if vocabulary.has_any_value(name)}
        known = {name: vocabulary.states[name] for name in vocabulary.features if name not in read_otherwise}
        for name in vocabulary.own_missing & known.keys():
            known[name] = known[name][:-1]
        for name, column in zip(vocabulary.features, self.reader_.feature_columns(X), strict=True):
            if name in known and not set(known[name]).issuperset(column.coded[1]):
                del known[name]
        copy.categories = {**known, **(self.categories or {})}
        return copy

    def _searches(self, table: DiscreteTable) -> tuple[Search, tuple[Search, ...]]:  # may depend on the table
        """Return the search for structures, and the searches that are compared if there are few rows."""
        search = Search(self._learn, self._learn)
        return search, (search,)

    def _sharing(
        self, table: DiscreteTable
    ) -> Callable[[DiscreteTable, Sequence[DiscreteTable]], tuple[Search, ...] | None] | None:
        """Return what :attr:`Learner.sharing` is for this classifier."""
        return None

    def without_rows(self) -> Self:
        """Return a copy with the same states, cut points, arcs and sample sizes whose counts are all zero.

        Its ``partial_fit`` can count rows elsewhere; see :meth:`merge`.

        Raises
        ------
        ValueError
            If the network has no counts.
        """
        check_is_fitted(self)
        empty = copy(self)
        return empty._keep_network(self.model_.counted().without_rows())

    @all_or_nothing
    def merge(self, *others: NetworkClassifier) -> Self:
        """Add the counts of other classifiers with the same structure; the rows themselves need not be pooled.

        For example, one hospital learns a classifier and sends the result of :meth:`without_rows` to the others. Each
        of them counts its own rows with ``partial_fit`` and sends the classifier back. The counts are added up, so
        the tables are those of all rows.

        Parameters
        ----------
        *others : NetworkClassifier
            Fitted classifiers with the same variables, states, cut points, arcs, scores and equivalent sample sizes.
            They may be copies or come from files. A row that two of them have counted is counted twice.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the classifiers differ in one of these, which the message names, if they have no counts, or if their
            score is a conditional likelihood, which does not follow from counts. In this case, nothing is added.
        """
        check_is_fitted(self)
        model = self.model_
        for other in others:
            check_is_fitted(other)
            model = model.counted().merge(other.model_.counted())
        return self._keep_network(model)

    def drift(self, X: Any, y: Any, sample_weight: Any = None) -> Drift:
        """Compare later rows with those that the classifier has counted, before ``partial_fit`` adds them.

        The result tells whether the later rows follow the same conditional tables, which of their values were never
        seen before, and against which arcs they are evidence. The classifier does not change.

        Parameters
        ----------
        X, y, sample_weight
            The later rows, as in ``fit``. Rows with a value or class that is not a state are reported and left out
            of the comparison; so are rows with missing cells, unless these are a state.

        Returns
        -------
        Drift
            ``print`` shows a summary; ``variables``, ``arcs`` and ``unseen`` are frames.

        Raises
        ------
        ValueError
            If the network has no counts or has counted no rows, if no row can be compared, or if the columns are not
            those of ``fit``.

        Examples
        --------
        >>> from anbexact import NaiveBayesClassifier
        >>> from anbexact.datasets import load_tic_tac_toe
        >>> X, y = load_tic_tac_toe()
        >>> classifier = NaiveBayesClassifier(ess=1).fit(X[::2], y[::2])
        >>> print(classifier.drift(X[1::2].assign(top_left="x"), y[1::2]))
        479 later rows against 479 earlier ones
        mean log probability of a row: -10.185 nats earlier, -9.938 nats later
        ln Bayes factor for the same tables against separate tables: -142.9
          top_left: -236.3
        the later rows are evidence against the arc x_wins -> top_left (-0.045 nats)
        """
        check_is_fitted(self)
        network, reader = self.model_.counted(), self.reader_
        unseen, known = reader.unseen(X, y, sample_weight)
        weights = check_weights(sample_weight, len(known))
        if not (known & (weights > 0)).any():
            raise ValueError(
                "no row can be compared: every row of weight above 0 has a missing cell, or a value or class that "
                "did not occur in training"
            )
        rows = np.flatnonzero(known)
        part = (_safe_indexing(X, rows), _safe_indexing(y, rows), weights[rows])
        return measure_drift(network, reader.table(*part), unseen, float(weights[~known].sum()))

    def _keep_network(self, network: Model) -> Self:
        """Store a network, keeping the record of the columns that were left out."""
        dropped = self.dropped_
        self.set_model(network)
        self.dropped_ = dropped
        return self

    def predict_proba_interval(
        self, X: Any, *, mass: float = 0.95, draws: int = 1000, random_state: int | np.random.Generator | None = 0
    ) -> npt.NDArray[np.float64]:
        """Return credible intervals of P(class | row), which show how uncertain the tables are.

        The tables are the means of Dirichlet posterior distributions. Here each draw takes all tables from these
        distributions and predicts all rows with them. The structure, its cut points and the equivalent sample size
        are taken as given, so the intervals are too narrow where the structure is uncertain (see
        :func:`~anbexact.structure_posterior`).

        Parameters
        ----------
        X : eager dataframe (pandas, polars, pyarrow, ...), 2-d array or list of rows
            The features, as for ``predict_proba``; missing cells are summed out.
        mass : float, default 0.95
            Posterior probability of the interval; the two tails have equal probability.
        draws : int, default 1000
            Number of independent draws. With 1,000 draws, the ends of 95 % intervals vary by about 5 % of their
            width.
        random_state : int or Generator, default 0
            Seed of the draws.

        Returns
        -------
        (rows, classes, 2) array
            Lower and upper ends; classes as in ``classes_``.

        Raises
        ------
        ValueError
            For an invalid parameter, or if the tables are not means of Dirichlet posteriors; the message says why.
        """
        rows = self.reader_.codes(X)
        return probability_intervals(self.model_, rows, check_draws(mass, draws), random_state, self.n_jobs)

    def explain(self, X: Any, *, label: Any = None, against: Any = None, intervals: bool = False) -> Explanations:
        """Return, per row, what each feature adds to the log odds of one class against another.

        Parameters
        ----------
        X : eager dataframe (pandas, polars, pyarrow, ...), 2-d array or list of rows
            The features, as for ``predict``.
        label : class label, optional
            The class to explain; by default, the most probable class of each row other than ``against``.
        against : class label, optional
            The class to compare it with; by default, the most probable class of each row other than ``label``.
        intervals : bool, default False
            Whether probabilities are given with their 95 % intervals, from the 1,000 draws of
            :meth:`predict_proba_interval`.

        Returns
        -------
        list of Explanation
            One explanation per row. Print it, or use its ``terms``; ``to_frame()`` of the list returns the terms of
            all rows. See :class:`~anbexact.models.network.explanation.Explanation`. Terms of measured columns are
            differences of log densities.

        Raises
        ------
        ValueError
            If ``label`` or ``against`` is not a class, or both are the same.
        """
        rows = self.reader_.rows(X)
        found = self.model_.explain(rows, label, against)
        return explained_intervals(self.model_, rows.codes, found, self.n_jobs) if intervals else found

    @property
    def score_name_(self) -> str:
        """Name of the score of the structure, as in the literature."""
        check_is_fitted(self)
        return self.score_of(self.ess_).name

    def discrete_form(self) -> NetworkClassifier:
        """Return a classifier with conditional tables, for export to other programs; here, this classifier itself."""
        check_is_fitted(self)
        return self

    def origin(self) -> Origin:
        """Return what a logistic regression of the network takes over from this classifier."""
        from anbexact.classifiers.fixed import FixedStructureClassifier

        given = {name: getattr(self, name) for name in _given_parameters(type(self))}
        parameters = {name: given[name] for name in SHARED if name in given}
        if hasattr(self, "ess_") and self.ess != "auto":
            parameters["ess"] = self.ess_  # the chosen one, if several values were given
        score = given.get("structure_score", "bdeu")
        if not (score in SCORES if isinstance(score, str) else isinstance(score, Score)):
            del parameters["structure_score"]  # usable only in a search
        parameters["l2"] = given.get("l2")
        return Origin(learned=self.model_, reader=self.reader_, fixed=FixedStructureClassifier, parameters=parameters)

    def to_logit(self, X: Any = None, sample_weight: Any = None, *, intervals: Any = None) -> LogitModel:
        """Return the equivalent logistic regression; see :func:`anbexact.adapters.to_logit`."""
        check_is_fitted(self)
        origin = replace(self.discrete_form().origin(), learned=self.model_)
        network = self.model_.discrete()
        if intervals is not None:
            if X is None:
                raise ValueError("the cut points of intervals come from the rows: pass X, as in fit")
            columns = origin.reader.cut_columns(X, sample_weight)
            network = refined_network(network, columns, check_intervals(intervals))
            origin = replace(origin.classifier_of(network).origin(), learned=self.model_)
        return LogitModel(network, origin, network_potentials(network.tables, network.structure))

    def with_logit(self, model: LogitModel) -> RefittedClassifier:
        """Return the network with a logistic regression that was changed by hand, as a classifier that can be saved.

        Its predictions, explanations, exports and reports are those of the model, and files keep its ``edits``. Its
        ``fit`` learns the network anew, without them and without a refit.

        Parameters
        ----------
        model : LogitModel
            :meth:`to_logit` of this classifier, without ``intervals``, after
            :meth:`~anbexact.adapters.LogitModel.change_shape`, :meth:`~anbexact.adapters.LogitModel.remove_arc` or
            :meth:`~anbexact.adapters.LogitModel.add_arc`.

        Raises
        ------
        ValueError
            If the model is another one.
        """
        from anbexact.classifiers.refitted import RefittedClassifier

        check_is_fitted(self)
        same = model.origin.learned is self.model_ and model.vocabulary == self.model_.discrete_vocabulary
        if not same or model.refitted is not None or model.given:
            raise ValueError(
                "the model must be an edited to_logit() of this classifier, without intervals, refit or given "
                "coefficients"
            )
        return RefittedClassifier(clone(self), l2=None).set_refitted(self, model)

    def check_parameters(self) -> None:
        super().check_parameters()
        check_missing_class(self.missing_class, self.handle_missing, self.can_complete())
        check_choice("parameters", self.parameters, ESTIMATES)
        for value in self._ess_values():
            _check_ess("ess", value)
        if self.smoothing is not None:
            _check_ess("smoothing", self.smoothing)
            if self.parameters != "eap":
                raise ValueError(
                    f"smoothing={self.smoothing!r} applies only with parameters='eap': leave it None with "
                    f"parameters={self.parameters!r}"
                )
        self.score_of(1.0)

    def _ess_values(self) -> Sequence[Any]:
        """Return the given equivalent sample sizes; if there are several, one of them is chosen."""
        return (self.ess,)

    def score_of(self, ess: float) -> Score:
        """Return the score of the structure, given the equivalent sample size."""
        if isinstance(self.structure_score, str) and self.structure_score in SCORES:
            score: Score = SCORES[self.structure_score](ess)
            return score
        if getattr(self.structure_score, "conditional", False):
            SearchRequirements(type(self).__name__).accept(self.structure_score)
        if isinstance(self.structure_score, str) or not isinstance(self.structure_score, Score):
            raise (ValueError if isinstance(self.structure_score, str) else TypeError)(no_score(self.structure_score))
        return self.structure_score
