"""What all classifiers share: reading, discretising, fitting tables, and the posterior."""

from __future__ import annotations

import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from anbexact.classifiers.inputs import (
    check_classes,
    check_columns,
    discretise,
    encode_features,
    fit_cut_points,
    in_vocabulary,
    read_labels,
    read_target,
    record_columns,
    refuse_infinite,
)
from anbexact.columns import native, read_columns
from anbexact.counts import Counts, count_families
from anbexact.discretize import Cuts
from anbexact.explain import Explanation, explain_rows
from anbexact.limits import Progress, progress_line, thread_count
from anbexact.parameters import Tables, acll_tables, eap_tables, friedman_tables, ml_tables
from anbexact.posterior import Posterior
from anbexact.scores import ACLL, Score
from anbexact.scores.names import SCORES
from anbexact.search.ess import learn_with_best_ess
from anbexact.smoothing import best_smoothing
from anbexact.structure import Certificate, Structure
from anbexact.table import DiscreteTable, check_weights, table_from_columns, table_in_vocabulary
from anbexact.vocabulary import CodeArray, Vocabulary

if TYPE_CHECKING:
    from pgmpy.models import DiscreteBayesianNetwork

    from anbexact.adapters.logit import LogitModel

CHOICES = {
    "parameters": ("eap", "ml", "friedman", "acll"),
    "handle_unknown": ("marginalize", "error"),
    "handle_missing": ("marginalize", "error", "own_state"),
}


def _check_ess(name: str, value: Any) -> None:
    if isinstance(value, str) and value == "auto":
        return
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < float("inf"):
        raise ValueError(f"{name} must be a finite number above 0, or 'auto', not {value!r}")


class NetworkClassifier(
    ClassifierMixin,  # type: ignore[misc]  # scikit-learn has no types
    BaseEstimator,  # type: ignore[misc]  # likewise
    metaclass=ABCMeta,
):
    """A Bayesian network that classifies. Subclasses say how the structure is learned.

    Parameters
    ----------
    structure_score : str or Score, default "bdeu"
        What the structure is scored by: ``"bdeu"``, ``"bds"``, ``"k2"``, ``"ll"``, ``"aic"``, ``"bic"``, ``"hq"``,
        ``"mit"``, ``"qnml"``, ``"fnml"`` or ``"acll"``, with the defaults of :mod:`anbexact.scores`, or an object
        from there or of your own. (``score`` is scikit-learn's method.)
    ess : float or "auto", default 1.0
        Equivalent sample size of the scores ``"bdeu"`` and ``"bds"`` and, unless ``smoothing`` says otherwise, of the
        conditional tables. ``"auto"``: one that, with the structure, gives the data a high marginal likelihood, at
        the cost of two to five searches (see :func:`~anbexact.search.ess.learn_with_best_ess`), and
        ``smoothing="auto"``; often for the better (``docs/equivalent-sample-size.md``).
    parameters : {"eap", "ml", "friedman", "acll"}, default "eap"
        How the conditional tables are estimated: by :func:`~anbexact.parameters.eap_tables`, ``ml_tables``,
        ``friedman_tables`` or ``acll_tables`` (with the prior and pseudo-count of ``structure_score`` if that is an
        :class:`~anbexact.scores.ACLL`). Tables of ``"ml"`` and ``"friedman"`` may hold zeros: a row that no class
        allows for then gets the first class and NaN probabilities, with a warning.
    smoothing : float, "auto" or None, default None
        Equivalent sample size of the conditional tables alone, for ``parameters="eap"``. ``"auto"``: the one that
        predicts every training row best from the others (see :func:`~anbexact.smoothing.best_smoothing`). None: as
        ``ess`` says.
    discretizer : {"auto", "median", "mdlp", "equal_frequency", "equal_width"}, None or transformer, default "auto"
        What cuts numeric columns with more than 10 distinct values: :class:`~anbexact.MDLPDiscretizer`,
        :class:`~anbexact.MedianDiscretizer`, or scikit-learn's ``KBinsDiscretizer`` with five intervals; None
        refuses such columns. ``"auto"`` is ``"mdlp"``: of the four rules it had the highest accuracy and the
        lowest log loss for the exact ANB in ten-fold cross-validation over 17 tables (0.836 and 0.49, median cut
        0.780 and 0.60; ``docs/cut-points.md``). A transformer must offer ``fit(X, y, sample_weight=...)`` and then
        ``cut_points_``, or ``bin_edges_``.
    categories : mapping of column name to states, optional
        Declared states. Else those of a categorical dtype, else the observed values.
    handle_unknown : {"marginalize", "error"}, default "marginalize"
        A value at prediction that is no state is summed out, or refused.
    handle_missing : {"marginalize", "error", "own_state"}, default "marginalize"
        A missing cell is summed out at prediction and its row left out of training with a warning; or
        it is refused; or it is a state of its own, ``"(missing)"``.
    n_jobs : int, optional
        Threads; None and -1 stand for all processors. Results do not depend on it.
    verbose : int, default 0
        Above 0, progress is shown on standard error.

    Attributes
    ----------
    classes_ : (classes,) array
        The classes, sorted; the columns of ``predict_proba``.
    vocabulary_ : Vocabulary
        Names and states of all variables.
    structure_ : Structure
        The graph, with its score and certificate.
    ess_, smoothing_, parameters_ : float, float, str
        What ``ess`` (of the named scores), ``smoothing`` and ``parameters`` came to; those other than ``"eap"`` make
        no use of ``smoothing_``. Not there for a network whose tables were given.
    counts_ : dict or None
        Weighted counts of every variable with its parents, from which ``conditional_tables_`` are estimated; None for
        a network whose tables were given.
    conditional_tables_ : dict
        P(variable | parents) of every variable.
    network_ : pgmpy ``DiscreteBayesianNetwork``
        The same network for pgmpy, built and checked on first use.
    cut_points_ : dict
        Cut points of every column that was discretised.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str
        Names of the features, where all of them are strings.
    """

    classes_: npt.NDArray[Any]
    vocabulary_: Vocabulary
    structure_: Structure
    ess_: float
    smoothing_: float
    parameters_: str
    counts_: Counts | None
    conditional_tables_: Tables
    cut_points_: dict[Hashable, Cuts]
    n_features_in_: int
    _posterior: Posterior
    _network: DiscreteBayesianNetwork | None

    def __init__(
        self,
        *,
        structure_score: str | Score = "bdeu",
        ess: float | str = 1.0,
        parameters: str = "eap",
        smoothing: float | str | None = None,
        discretizer: Any = "auto",
        categories: Mapping[Hashable, Sequence[Any]] | None = None,
        handle_unknown: str = "marginalize",
        handle_missing: str = "marginalize",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.structure_score = structure_score
        self.ess = ess
        self.parameters = parameters
        self.smoothing = smoothing
        self.discretizer = discretizer
        self.categories = categories
        self.handle_unknown = handle_unknown
        self.handle_missing = handle_missing
        self.n_jobs = n_jobs
        self.verbose = verbose

    @abstractmethod
    def _learn(self, table: DiscreteTable, score: Score, time_limit: float | None) -> Structure:
        """Return the structure; a search takes no longer than ``time_limit`` seconds."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn structure and parameters.

        Parameters
        ----------
        X : eager dataframe (pandas, polars, pyarrow, ...), 2-d array or list of rows
            The features, one column each.
        y : (rows,) series, array or list
            The class of every row. Its name becomes that of the class variable, else ``"class"``.
        sample_weight : (rows,) array, optional
            Real weights, zero or more; weight 0 is as good as no row, weight 2 as good as two rows.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            For input that cannot be learned from; the message names the column and the value.
        SearchTooLargeError
            If the search needs more memory than allowed.
        """
        return self._fit(X, y, None, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to what was learned: counts add, so the tables are those of all rows together.

        Structure, states, cut points, ``ess_`` and ``smoothing_`` stay as they are; ``structure_.score`` becomes that
        of all rows, and its certificate says that nothing is proved about it. If the classifier is not fitted, this
        is ``fit``.

        Parameters
        ----------
        X, y, sample_weight
            As in ``fit``.
        classes : sequence, optional
            In the first call, all classes that will ever come; later the same, or nothing.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a value or class that is no state (the message names it; nothing is added then), for other classes
            than in the first call, or for a network whose tables were given, not counted.
        """
        if not hasattr(self, "vocabulary_"):
            return self._fit(X, y, classes, sample_weight)
        if self.counts_ is None:
            raise ValueError(
                "rows cannot be added: the tables of this network were given, and there are no counts behind them. "
                "Call fit, which counts."
            )
        known = self.classes_.tolist()
        if classes is not None and set(map(native, check_classes(classes))) != set(known):
            raise ValueError(
                f"classes are {list(classes)!r}, but were {known!r} when first learned: they cannot change"
            )
        table = self._table(X, y, sample_weight)
        vocabulary = self.vocabulary_
        added = count_families(table, self.structure_)
        counts = {name: family + added[name] for name, family in self.counts_.items()}
        score = self._structure_score(self.ess_)
        total = sum(
            score.local_score(family.table(vocabulary), name, family.parents) for name, family in counts.items()
        )
        updated = Certificate.unknown("learned from earlier rows, not searched again")
        structure = Structure(self.structure_.class_name, self.structure_.parents, total, updated)
        settings = (self.ess_, self.smoothing_, self.parameters_)
        return self._set_counted(vocabulary, structure, counts, self.cut_points_, settings)

    def _fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        """Learn everything; ``classes`` are declared states of the class."""
        self._check_parameters()
        columns = record_columns(self, X, y)
        weights = check_weights(sample_weight, len(columns[0]))
        target = read_target(y, columns, weights)
        learned = weights > 0
        if self.handle_missing != "own_state":  # rows with a missing cell are left out of training
            learned &= ~np.any([column.missing for column in columns], axis=0)
        categories = self.categories
        if classes is not None:
            if target.name in (categories or {}):
                raise ValueError(
                    f"the classes are declared twice, by classes= and for {target.name!r} in categories="
                )
            categories = {**(categories or {}), target.name: check_classes(classes)}
        cut_points = fit_cut_points(columns, target, weights * learned, self.discretizer, categories or {})
        table = table_from_columns(
            [discretise(column, cut_points) for column in columns],
            target,
            weights,
            categories=categories,
            handle_missing=self.handle_missing,
        )
        structure, ess = self._choose_structure(table)
        automatic = self.smoothing == "auto" or (self.smoothing is None and self.ess == "auto")
        automatic &= self.parameters == "eap"
        smoothing = best_smoothing(table, structure) if automatic else float(self.smoothing or ess)
        counts = count_families(table, structure)
        return self._set_learned(table, structure, counts, cut_points, (ess, smoothing, self.parameters))

    def _set_learned(
        self,
        table: DiscreteTable,
        structure: Structure,
        counts: Counts,
        cut_points: dict[Hashable, Cuts],
        settings: tuple[float, float, str],
    ) -> Self:
        """Estimate the tables, and store the network; `table` has the rows behind the counts."""
        return self._set_counted(table.vocabulary, structure, counts, cut_points, settings)

    def _choose_structure(self, table: DiscreteTable) -> tuple[Structure, float]:
        """Return the structure and the equivalent sample size under which it was learned."""
        limit: float | None = getattr(self, "time_limit", None)
        if self.ess == "auto" and self.structure_score == "bdeu":
            structure, score = learn_with_best_ess(table, self._learn, limit)
            return structure, score.ess
        ess = 1.0 if self.ess == "auto" else float(self.ess)
        return self._learn(table, self._structure_score(ess), limit), ess

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of every row, shape (rows,); the first of equally probable ones.

        A row that is impossible under the network (which can only be if tables hold zeros) gets the first class too,
        with a warning that counts such rows.
        """
        codes = self._codes(X)
        logs = self._posterior.log_joint(codes, self.n_jobs)
        best = logs.argmax(axis=1)
        impossible = np.flatnonzero(np.isneginf(logs[np.arange(len(best)), best]))
        if len(impossible):
            warnings.warn(
                f"row {int(impossible[0])} is impossible under the network, whatever its class ({len(impossible)} "
                f"such rows): it has no most probable class, and gets the first, {self.classes_.tolist()[0]!r}",
                UserWarning,
                stacklevel=2,
            )
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return P(class | row), shape (rows, classes), columns as in ``classes_``.

        Missing and unknown cells are marginalised exactly. A row that is impossible under the network (which can only
        be if tables hold zeros) gets NaN, with a warning that counts such rows.
        """
        codes = self._codes(X)
        return self._posterior.posterior(codes, self.n_jobs)

    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return ln P(class | row), shape (rows, classes), columns as in ``classes_``."""
        codes = self._codes(X)
        return self._posterior.log_posterior(codes, self.n_jobs)

    def log_evidence(self, X: Any) -> npt.NDArray[np.float64]:
        """Return ln P(observed cells of the row), shape (rows,), in nats per row."""
        codes = self._codes(X)
        return np.asarray(logsumexp(self._posterior.log_joint(codes, self.n_jobs), axis=1))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy; rows of a class that was not there in ``fit`` count as errors, with a warning."""
        predicted = self.predict(X).tolist()
        check_consistent_length(predicted, y)
        weights = check_weights(sample_weight, len(predicted))
        codes, categories = read_labels(y).coded
        labels = [categories[code] if code >= 0 else None for code in codes]
        known = set(self.classes_.tolist())
        strangers = [label for label in dict.fromkeys(labels) if label not in known]
        if strangers:
            warnings.warn(
                f"y holds the class {strangers[0]!r}, which was not there in fit "
                f"(classes: {self.classes_.tolist()}); its rows count as errors",
                UserWarning,
                stacklevel=2,
            )
        right = [float(ours == label) for ours, label in zip(predicted, labels, strict=True)]
        return float(np.average(right, weights=weights))

    def explain(self, X: Any) -> list[Explanation]:
        """Return, per row, what each feature adds to the log odds of the predicted class.

        See :class:`~anbexact.explain.Explanation`.
        """
        codes = self._codes(X)
        return explain_rows(codes, self._posterior, self.conditional_tables_, self.vocabulary_)

    @property
    def score_name_(self) -> str:
        """Name of the score of the structure, as in the literature."""
        check_is_fitted(self)
        return self._structure_score(self.ess_).name

    @property
    def network_(self) -> DiscreteBayesianNetwork:
        """The network as a pgmpy ``DiscreteBayesianNetwork``, built and checked on first use."""
        check_is_fitted(self)
        if self._network is None:
            self._network = self.to_pgmpy()
        return self._network

    def to_pgmpy(self) -> DiscreteBayesianNetwork:
        """Return a new pgmpy network; see :func:`anbexact.adapters.to_pgmpy`."""
        from anbexact.adapters.pgmpy import to_pgmpy

        return to_pgmpy(self)

    def to_logit(self) -> LogitModel:
        """Return the equivalent logistic regression; see :func:`anbexact.adapters.to_logit`."""
        from anbexact.adapters.logit import to_logit

        return to_logit(self)

    def save(self, path: str | Path) -> None:
        """Write the fitted classifier to a JSON file that :func:`anbexact.load` reads."""
        from anbexact.adapters.files import save

        save(self, path)

    def _check_parameters(self) -> None:
        """Refuse parameters that are none of the choices."""
        for name, choices in CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")
        _check_ess("ess", self.ess)
        if self.smoothing is not None:
            _check_ess("smoothing", self.smoothing)
            if self.parameters != "eap":
                raise ValueError(
                    f"smoothing={self.smoothing!r} goes with parameters='eap' only: leave it None for "
                    f"parameters={self.parameters!r}"
                )
        thread_count(self.n_jobs)
        self._structure_score(1.0)

    def _structure_score(self, ess: float) -> Score:
        """Return the score of the structure, given what the equivalent sample size came to."""
        if isinstance(self.structure_score, str) and self.structure_score in SCORES:
            return SCORES[self.structure_score](ess)
        if isinstance(self.structure_score, str) or not isinstance(self.structure_score, Score):
            raise (ValueError if isinstance(self.structure_score, str) else TypeError)(
                f"structure_score must be one of {', '.join(map(repr, SCORES))}, or a Score, not "
                f"{self.structure_score!r}"
            )
        return self.structure_score

    def _set_counted(
        self,
        vocabulary: Vocabulary,
        structure: Structure,
        counts: Counts,
        cut_points: dict[Hashable, Cuts],
        settings: tuple[float, float, str],
    ) -> Self:
        """Estimate the tables from counts, and store the network.

        ``settings`` are what ``ess``, ``smoothing`` and ``parameters`` came to in ``fit``.
        """
        _, smoothing, rule = settings
        tables = self._estimate(counts, structure.class_name, rule, smoothing)
        self._set_fitted(vocabulary, structure, tables, cut_points)
        self.ess_, self.smoothing_, self.parameters_ = settings
        self.counts_ = counts
        return self

    def _estimate(self, counts: Counts, class_name: Hashable, rule: str, smoothing: float) -> Tables:
        """Return the tables that a rule makes of the counts."""
        if rule == "ml":
            return ml_tables(counts)
        if rule == "friedman":
            return friedman_tables(counts)
        if rule == "acll":
            score = self.structure_score if isinstance(self.structure_score, ACLL) else ACLL()
            return acll_tables(counts, class_name, score.prior, score.pseudo_count)
        return eap_tables(counts, smoothing)

    def _set_fitted(
        self,
        vocabulary: Vocabulary,
        structure: Structure,
        tables: Tables,
        cut_points: dict[Hashable, Cuts],
    ) -> Self:
        """Store a network whose tables are given, and prepare the posterior."""
        assert vocabulary.class_name is not None
        self.vocabulary_ = vocabulary
        self.structure_ = structure
        self.counts_ = None
        self.conditional_tables_ = tables
        self.cut_points_ = cut_points
        classes = vocabulary.states[vocabulary.class_name]
        kinds = {type(state) for state in classes}
        self.classes_ = np.empty(len(classes), dtype=object)
        self.classes_[:] = classes
        if len(kinds) == 1 and kinds <= {bool, int, float, str}:
            plain = np.array(classes)
            self.classes_ = plain if plain.dtype.kind in "biufU" else self.classes_
        self._posterior = Posterior(tables, vocabulary.class_name, vocabulary.features)
        self._network = None
        return self

    def _codes(self, X: Any) -> CodeArray:
        """Return the codes of the features, shape (features, rows)."""
        check_is_fitted(self)
        columns = read_columns(X, estimator=self)
        check_columns(self, X)
        return encode_features(
            columns,
            self.vocabulary_,
            self.cut_points_,
            handle_unknown=self.handle_unknown,
            handle_missing=self.handle_missing,
        )

    def _table(self, X: Any, y: Any, sample_weight: Any) -> DiscreteTable:
        """Return rows as a table of the vocabulary.

        Raises
        ------
        ValueError
            For a value or class that is no state, or other columns than in ``fit``; the message names it.
        """
        check_is_fitted(self)
        vocabulary = self.vocabulary_
        columns = read_columns(X, estimator=self)
        check_columns(self, X)
        weights = check_weights(sample_weight, len(columns[0]))
        check_consistent_length(columns[0].missing, y)
        target = read_target(y, columns, weights).renamed(vocabulary.class_name)
        refuse_infinite([column for column in columns if column.name in self.cut_points_], weights > 0)
        own = in_vocabulary(columns, vocabulary, self.cut_points_)
        return table_in_vocabulary(own, target, weights, vocabulary, handle_missing=self.handle_missing)

    def _progress(self) -> Progress | None:
        return progress_line() if self.verbose > 0 else None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags
