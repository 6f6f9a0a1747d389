"""The common base of all classifiers: names and states, the score, and saving."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from anbexact._runtime.displayed import shown
from anbexact._runtime.warn import warn
from anbexact._runtime.whole import WholeParameters
from anbexact.classifiers.deciding import Deciding
from anbexact.classifiers.documentation import complete_docstring
from anbexact.classifiers.parameters import named_constructor
from anbexact.models.fidelity import Fidelity
from anbexact.tables.cuts import Cuts
from anbexact.tables.frames.lazy import as_pandas, chosen_columns, parts_of
from anbexact.tables.labels import read_labels
from anbexact.tables.reader import Reader
from anbexact.tables.soft_labels import read_soft
from anbexact.tables.table import check_weights
from anbexact.tables.vocabulary import CodeArray, Groups, Vocabulary

if TYPE_CHECKING:
    from anbexact.classifiers.table_classifier import TableClassifier
    from anbexact.models.model import Model
    from anbexact.models.smooth.smoothness import SameRows


class FitRows(NamedTuple):
    """The rows of a fit.

    Attributes
    ----------
    X, y : frame, series
        Features and classes.
    weights : (rows,) array
    soft : (rows, classes) array or None
        Class probabilities to which refits are fitted, columns in the order of the sorted classes.
    groups : (rows,) array or None
        Labels of rows that belong together.
    """

    X: Any
    y: Any
    weights: Any
    soft: Any = None
    groups: Any = None

    def fitted(self, estimator: Any, **further: Any) -> Any:
        """Return an estimator after its fit to the rows; only one that needs groups is told that there are none."""
        if self.groups is not None:
            further["groups"] = self.groups
        return estimator.fit(self.X, self.y, sample_weight=self.weights, **further)


class DiscreteClassifier(
    ClassifierMixin,  # type: ignore[misc]  # scikit-learn has no types
    WholeParameters,
    Deciding,
    metaclass=ABCMeta,
):
    """A classifier of rows with discrete states; continuous columns are discretised. Subclasses define the model."""

    if TYPE_CHECKING:  # an attribute, or a property

        @property
        def model_(self) -> Model:
            """What was learned."""

    classes_: npt.NDArray[Any]
    n_features_in_: int

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Give every estimator a constructor with its own name, whichever group defines its parameters."""
        super().__init_subclass__(**kwargs)
        if "__init__" not in vars(cls):
            cls.__init__ = named_constructor(cls)  # type: ignore[method-assign]  # on purpose: its own name, same parameters
        complete_docstring(cls)

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the rows of a table."""

    @property
    @abstractmethod
    def reader_(self) -> Reader:
        """How frames are read."""

    @abstractmethod
    def _threads(self) -> int | None:
        """Return the number of threads; None for all processors."""

    def _read_by(self) -> DiscreteClassifier:
        """Return the fitted classifier that read the table: of a refit its network, of a pool its first member."""
        return self

    def _begun_with(self) -> Any:
        """Return the unfitted estimator that is learned first, which several members of a pool may share."""
        return self

    def _fitted_after(
        self,
        learned: Callable[[Any, float], DiscreteClassifier],
        rows: FitRows,
        seconds: float,
        like: DiscreteClassifier | None = None,
    ) -> DiscreteClassifier:
        """Return a fitted copy of this unfitted classifier.

        Parameters
        ----------
        learned : callable
            Returns a fitted copy of an estimator, whose search ends after some seconds, the same one for equal
            estimators.
        rows : FitRows
            The training rows.
        seconds : float
            Time limit, in seconds, of the fit of :meth:`_begun_with` and the one that follows.
        like : DiscreteClassifier, optional
            One that was fitted to the same rows, of whose choices some may be taken over.
        """
        return learned(self, seconds)

    def _fitted_again(
        self, learned: Callable[[DiscreteClassifier, float], DiscreteClassifier], rows: FitRows, seconds: float
    ) -> DiscreteClassifier:
        """Return a copy of this fitted classifier, fitted to other rows with the values that this one chose.

        Cut points, structure and tables are learned again. Equivalent sample sizes, limits on parents, strengths and
        priors that this classifier chose from its own rows are not chosen anew, except by ``smooth="cv"``.

        Parameters
        ----------
        learned : callable
            Returns such a copy of the classifier that :meth:`_read_by` returns, the same one in every call.
        rows, seconds
            As for :meth:`_fitted_after`.
        """
        return learned(self, seconds)

    @property
    def _tuned(self) -> SameRows | None:
        """The tuning that smooth shapes of the same rows may take over; None if there is none."""
        return None

    _to_be_fitted_again: bool = False
    """Whether :meth:`_fitted_again` will be called for parts of the rows: the fit may keep what these fits share."""

    def _forget_rows(self) -> None:
        """Forget what a fit kept for fits to parts of its rows."""

    def _unfitted_again(self, rows: FitRows) -> DiscreteClassifier:
        """Return an unfitted copy, whose fit to other rows has the values that this one chose."""
        return cast(DiscreteClassifier, clone(self))

    def _ended_by(self, seconds: float) -> bool:
        """Whether the fit was ended by ``seconds``, the limit of :meth:`_fitted_after`, not by a limit of its own."""
        return False

    @property
    def vocabulary_(self) -> Vocabulary:
        """Names and states of all variables."""
        return self.model_.vocabulary

    @property
    def cut_points_(self) -> dict[Hashable, Cuts]:
        """Cut points of every column that was discretised."""
        return dict(self.model_.cut_points)

    def _codes(self, X: Any) -> CodeArray:
        """Return the rows of a frame as ``model_`` takes them; see :meth:`anbexact.models.model.Model.codes`."""
        reader = self.reader_
        return self.model_.codes(reader, X)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of every row, shape (rows,); the first of equally probable ones.

        A row that is impossible under the network (which requires zeros in its tables) gets the first class too, with
        a warning that counts such rows.
        """
        codes = self._codes(X)
        logs = self.model_.log_support(codes, self._threads())
        best = logs.argmax(axis=1)
        impossible = np.flatnonzero(np.isneginf(logs[np.arange(len(best)), best]))
        if len(impossible):
            warn(
                f"row {int(impossible[0])} is impossible under the network for every class ({len(impossible)} "
                f"such rows): the first class, {self.classes_.tolist()[0]!r}, is predicted"
            )
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any, *, class_prior: Any = None) -> npt.NDArray[np.float64]:
        """Return P(class | row), shape (rows, classes), columns as in ``classes_``.

        Missing and unknown cells are marginalised exactly. A row that is impossible under the network (which requires
        zeros in its tables) gets NaN, with a warning that counts such rows.

        Parameters
        ----------
        X : table
            The features.
        class_prior : mapping or array, optional
            Shares π' of the classes in the population that the rows come from, by class or in the order of
            ``classes_``, if they differ from the shares π in training (``class_prior_``). The result is ``P(c | x)
            π'(c) / π(c)``, normalised. It is exact if the rows of each class are distributed as in training.
        """
        if class_prior is not None:
            return np.asarray(np.exp(self.predict_log_proba(X, class_prior=class_prior)))
        codes = self._codes(X)
        return self.model_.posterior(codes, self._threads())

    def predict_log_proba(self, X: Any, *, class_prior: Any = None) -> npt.NDArray[np.float64]:
        """Return ln P(class | row), shape (rows, classes), columns as in ``classes_``; see :meth:`predict_proba`."""
        codes = self._codes(X)
        logs = self.model_.log_posterior(codes, self._threads())
        return logs if class_prior is None else self._adjusted(logs, class_prior)

    def query(self, evidence: Mapping[Hashable, Any] | None = None, /, **values: Any) -> pd.Series[float]:
        """Return P(class | some cells); the other cells are summed out exactly.

        Parameters
        ----------
        evidence : mapping of feature to value, optional
            The known values, as in the columns of ``fit``; they are cut and encoded as in ``predict``. You can pass a
            row of a frame (a pandas Series).
        **values
            Further known values, for features whose names are Python identifiers.

        Returns
        -------
        (classes,) Series
            Probabilities, named after the class and indexed by ``classes_``.

        Raises
        ------
        TypeError
            If ``evidence`` is not a mapping.
        ValueError
            If a name is not a feature, a value is not a state of its feature or is missing (unless missing cells are
            a state of their own), or the evidence has probability 0.

        Examples
        --------
        >>> from anbexact import ANBClassifier
        >>> from anbexact.datasets import load_iris
        >>> iris = ANBClassifier(ess=1, discretizer="mdlp").fit(*load_iris())
        >>> iris.query(petal_width=1.7, sepal_length=6).round(3)
        setosa        0.001
        versicolor    0.962
        virginica     0.037
        Name: species, dtype: float64
        """
        check_is_fitted(self)
        return self.model_.answer(self.reader_, evidence, values)

    def sample(
        self,
        n: int,
        evidence: Mapping[Hashable, Any] | None = None,
        *,
        random_state: int | np.random.Generator | None = None,
        missing: bool = False,
    ) -> pd.DataFrame:
        """Return rows drawn from the joint distribution of features and class, given the values of some of them.

        The draws are independent and exact: their distribution is P(all variables | evidence) of the network, by a
        junction tree, not by weighting or by a Markov chain.

        The result is one frame, not features and class apart, because the class may be among the evidence, a network
        without a class has the same form, and such a frame can be written to a file as it is. ``y = rows.pop(name)``
        parts the two.

        Parameters
        ----------
        n : int
            Number of rows, 0 or more.
        evidence : mapping of variable to value, optional
            Known values, as in the columns of ``fit``; they are cut and encoded as in ``predict``. The class may be
            among them. All rows have these values; given a number, the others are drawn given its interval.
        random_state : int, Generator or None, default None
            Seed of the draws; None draws other rows in every call.
        missing : bool, default False
            Whether cells can be missing, as often as in training, in columns with a state for missing cells (see
            ``handle_missing``). By default, rows are drawn given that none of these cells is missing.

        Returns
        -------
        (n, variables) DataFrame
            The features in the order of ``fit``, then the class. Columns have the units of the training table, and
            the types that it would have in pandas; integers stay integers, and categories categories. Within an
            interval or a group of values, a value is drawn as the training values there are distributed,
            independently of the other columns. Cells of columns that were left out in training are missing.

        Raises
        ------
        TypeError
            If the model is not one network with a joint distribution, or ``evidence`` is not a mapping.
        ValueError
            If ``n`` is not a whole number of 0 or more; if a name is not a variable, or a value is not one of its
            states; if the evidence has probability 0; or if a refit has no network.

        Warns
        -----
        UserWarning
            If the training values within intervals or groups are not known, as in a file of an earlier version. The
            column then has the intervals or groups themselves.

        Examples
        --------
        >>> from anbexact import ANBClassifier
        >>> from anbexact.datasets import load_iris
        >>> iris = ANBClassifier(ess=1, discretizer="mdlp").fit(*load_iris())
        >>> iris.sample(3, {"species": "virginica"}, random_state=0)
           sepal_length  sepal_width  petal_length  petal_width    species
        0           7.2          3.8           6.1          1.3  virginica
        1           6.3          2.7           5.1          2.1  virginica
        2           6.6          2.9           5.1          1.8  virginica
        """
        check_is_fitted(self)
        return self.model_.sample(n, evidence, random_state=random_state, missing=missing, reader=self.reader_)

    def fidelity(self, X: Any, soft: Any, sample_weight: Any = None) -> Fidelity:
        """Return how closely the predictions follow a teacher: the class probabilities that another classifier gives.

        Parameters
        ----------
        X : table
            The features, as for ``predict``.
        soft : frame or (rows, classes) array
            The teacher's probabilities. The columns of a frame are named after the classes, in any order; those of
            an array are in the order of ``classes_``.
        sample_weight : (rows,) array, optional
            Weights of the rows.

        Returns
        -------
        Fidelity
            ``divergence``, the mean Kullback–Leibler divergence from the teacher in nats per row, and ``agreement``,
            the share of the rows in which both have the same most probable class.

        Raises
        ------
        ValueError
            For probabilities that :func:`~anbexact.tables.soft_labels.read_soft` refuses.
        """
        logs = self.predict_log_proba(X)
        weights = check_weights(sample_weight, len(logs))
        return Fidelity.of(logs, read_soft(soft, self.classes_.tolist(), weights), weights)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy; rows of a class unknown to ``fit`` count as errors, with a warning."""
        predicted = self.predict(X).tolist()
        check_consistent_length(predicted, y)
        weights = check_weights(sample_weight, len(predicted))
        codes, categories = read_labels(y).coded
        labels = [categories[code] if code >= 0 else None for code in codes]
        known = set(self.classes_.tolist())
        unknown = [label for label in dict.fromkeys(labels) if label not in known]
        if unknown:
            warn(
                f"y contains the class {unknown[0]!r}, which did not occur in fit "
                f"(classes: {self.classes_.tolist()}); its rows count as errors"
            )
        right = [float(ours == label) for ours, label in zip(predicted, labels, strict=True)]
        return float(np.average(right, weights=weights))

    def predict_frame(
        self, frame: Any, *, proba: bool = False, keep: Sequence[str] = (), batch_rows: int = 131_072
    ) -> Iterator[pd.DataFrame]:
        """Classify the rows of a table in order, one batch at a time, so a table of any length needs constant memory.

        Parameters
        ----------
        frame : table, lazy frame or iterable of tables
            The rows; their columns include the features. DuckDB and Polars supply a lazy frame in batches, and Dask
            partition by partition; other engines collect it whole. Record batches of pyarrow, such as
            ``pyarrow.parquet.ParquetFile(path).iter_batches()``, and frames that ``pandas.read_csv(path,
            chunksize=...)`` reads are used as they arrive.
        proba : bool
            Whether the result also has the probability of every class, in columns named ``P(label)``.
        keep : sequence of str
            Columns of the table to copy in front of the predicted class.
        batch_rows : int
            Maximum number of rows per batch, for tables that do not come in batches.

        Yields
        ------
        DataFrame
            The columns of ``keep``; ``predicted``, the class that :meth:`predict` returns; and the probabilities.

        Raises
        ------
        TypeError
            If ``frame`` is neither a table, a lazy frame nor an iterable of tables.
        ValueError
            If a feature or a column of ``keep`` is missing, or a column of ``keep`` has the name of a result.

        Examples
        --------
        >>> from anbexact import NaiveBayesClassifier
        >>> from anbexact.datasets import load_wine
        >>> X, y = load_wine()
        >>> classifier = NaiveBayesClassifier().fit(X, y)
        >>> [len(part) for part in classifier.predict_frame(X, batch_rows=100)]
        [100, 78]
        """
        check_is_fitted(self)
        if isinstance(batch_rows, bool) or not hasattr(batch_rows, "__index__") or batch_rows < 1:
            raise ValueError(f"batch_rows must be a whole number, 1 or more, not {batch_rows!r}")
        results = ["predicted", *(f"P({label})" for label in self.classes_.tolist())][: None if proba else 1]
        if taken := [name for name in keep if name in results]:
            raise ValueError(f"keep names {taken[0]!r}, which is a column of the result: rename that column")
        return self._classified(parts_of(frame, int(batch_rows)), results, list(keep))

    def _classified(self, parts: Iterator[Any], results: list[str], keep: list[str]) -> Iterator[pd.DataFrame]:
        """Yield the result for every part: the kept columns, and the columns named by ``results``."""
        vocabulary = self.vocabulary_
        for part in parts:
            X = chosen_columns(part, [*self.reader_.columns, *vocabulary.dummies])
            answers = pd.DataFrame({results[0]: self.predict(X)})
            if len(results) > 1:
                answers[results[1:]] = self.predict_proba(X)
            yield pd.concat([as_pandas(part, keep), answers], axis=1)

    @property
    def folded_(self) -> dict[Hashable, list[Hashable]]:
        """The one-hot coded columns that were read as one column, by the name of this column."""
        check_is_fitted(self)
        return {name: [member for member, _ in group] for name, group in self.vocabulary_.dummies.items()}

    @property
    def groups_(self) -> dict[Hashable, Groups]:
        """The groups of values of every column of categories that was grouped."""
        check_is_fitted(self)
        return dict(self.vocabulary_.groups)

    def save(self, path: str | Path) -> None:
        """Write the fitted classifier to a JSON file that :func:`anbexact.load` reads."""
        from anbexact.files.classifiers import save

        save(self, path)

    def _html_repr(self) -> str:
        """Return scikit-learn's display of the parameters, and below it what was learned."""
        return str(super()._html_repr()) + (shown(self) if hasattr(self, "classes_") else "")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def first_table_classifier(classifier: DiscreteClassifier) -> TableClassifier:
    """Return the classifier that read the table: the network of a refit, or of the first member of a pool."""
    return cast("TableClassifier", classifier._read_by())
