"""The common base of classifiers that learn from a table: reading it, and answers that follow from a posterior."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Hashable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from anbexact._runtime.approximate import only_predictions_needed
from anbexact._runtime.memory import refused_without_memory
from anbexact._runtime.progress import Progress, progress_of
from anbexact._runtime.whole import all_or_nothing
from anbexact.classifiers.discrete import DiscreteClassifier
from anbexact.classifiers.parameters import TableParameters, check_reading
from anbexact.models.model import Model
from anbexact.tables.cuts.rules import AUTO
from anbexact.tables.frames.native_values import native
from anbexact.tables.labels import check_classes
from anbexact.tables.missing import EM
from anbexact.tables.reader import Reader
from anbexact.tables.training import TrainingColumns, training_columns


class TableClassifier(TableParameters, DiscreteClassifier):
    """A classifier that learns from a discrete table. Subclasses define the model.

    Fitted attributes are explained in :class:`~anbexact.NetworkClassifier`.

    Parameters
    ----------
    discretizer : {"auto", "median", "mdlp", "modl", "equal_frequency", "equal_width"}, None or transformer
        The rule that cuts numeric columns with more than 10 distinct values: :class:`~anbexact.MDLPDiscretizer`,
        :class:`~anbexact.MODLDiscretizer`, :class:`~anbexact.MedianDiscretizer`, or scikit-learn's
        ``KBinsDiscretizer`` with five intervals; None refuses such columns. ``"auto"``, the default, is
        ``MODLDiscretizer(max_bins=16, coarse=True)``, which finds at least one cut point in every column with two
        values or more; for measurements, see the guide "Cut points and groups of categories". A transformer must
        have ``fit(X, y, sample_weight=...)`` and then ``cut_points_``, or ``bin_edges_``.
    categories : mapping of column name to states, optional
        Declared states. By default, the categories of a categorical dtype, otherwise the observed values.
    group_categories : "auto", int or None, default "auto"
        Categorical columns with more observed values than this number (``"auto"``: more than 10) have groups of
        values as states, namely the most probable grouping given the classes; see :class:`~anbexact.MODLGrouper`. A
        column that is declared in ``categories`` is never grouped; the values of an ordered categorical dtype are
        only grouped with their neighbours. None disables grouping.
    handle_unknown : {"marginalize", "error"}, default "marginalize"
        Whether a value that is not a known state is summed out at prediction or refused.
    handle_missing : {"auto", "marginalize", "own_state", "error", "em"}, default "auto"
        How missing cells of features are treated. ``"marginalize"``: they are summed out at prediction, and their
        rows are left out of training, with a warning; but a column with a single state does not exclude any row.
        ``"own_state"``: they are a state, ``"(missing)"``, where a column has some in training. ``"auto"``: they are
        a state in columns that would exclude too many rows (see :func:`~anbexact.tables.missing.often_missing`), and
        marginalised in the others (the guide "Missing cells" has measurements). ``"error"``: they are refused.
        ``"em"``, for networks with conditional tables: in training, they are completed with the probabilities that
        the network itself gives them, by expectation maximisation; at prediction, they are summed out
        (see the guide "Incomplete rows"). The cut points of a column come from all rows in which it is observed.
    drop_identifiers : {"auto", False}, default "auto"
        Whether columns that look like identifiers, free text or row numbers are left out, with a warning that names
        them. With 50 or more observed rows, these are columns of text, or of whole numbers, in which at least 95 % of
        the cells are distinct; whole numbers must also repeat much less often than random numbers of the same range
        would (see :func:`~anbexact.tables.identifiers.identifier_reason`). Floats, and columns that are declared in
        ``categories``, are never left out. A column that is left out stays a feature with the single state
        ``"(left out)"``: prediction requires it and accepts any value. With ``handle_missing="own_state"``, a column
        of text with missing cells has two states instead, ``"(any value)"`` and that of missing cells.
    fold_dummies : {"auto", False}, default "auto"
        Whether one-hot coded columns are read as the columns that they code, with a warning that names them: columns
        of zeros and ones named ``color_blue``, ``color_red`` and so on (or with ``=`` or ``.``), at most one of which
        is 1 in every row; see the guide "Column types". ``folded_`` has these columns. ``n_features_in_`` and
        ``feature_names_in_`` remain those of the table, and rows to be predicted are coded like it, or have the
        columns that were coded. Columns that ``categories`` or an edge names, and lazy frames, are read as they are.
    decimal : {".", ","}, optional
        The decimal mark of numbers in columns of text that leave it open, as "1,234" and "5,678" do. A column of text
        is read as numbers, dates, times of day or durations if all its cells are of this kind, in one notation, and
        have more than ten distinct values (see the guide "Column types"). To keep it as text, declare it in
        ``categories`` or give it a categorical dtype.
    class_weight : None, "balanced" or mapping, optional
        Multiplies the weight of every row by a weight of its class. With a mapping, this is the given weight, or 1
        for a class that is not in the mapping. With ``"balanced"``, it is W / (s W_c), where W is the weight of all
        rows, s the number of classes, and W_c the weight of the class. The probabilities then refer to a population
        in which the classes have these shares.
    n_jobs : int, optional
        Number of threads; None and -1 use all processors. The results do not depend on it.
    verbose : int, default 0
        Above 0, progress is shown on standard error. At 0, it is shown only on a terminal or in a notebook, and only
        after five seconds; below 0, never.
    """

    model_: Model
    model_type: ClassVar[type[Model]]
    """The class of ``model_``, whose ``from_dict`` reads it from a file."""
    automatic_rule: ClassVar[str] = AUTO
    """The name of the rule that ``discretizer="auto"`` stands for."""
    handle_missing_: dict[Hashable, str]
    dropped_: dict[Hashable, str]
    _completes = False
    """Whether missing cells can be completed by expectation maximisation."""

    @abstractmethod
    def _learn_model(self, read: TrainingColumns) -> Model:
        """Return the model learned from the columns of a frame."""

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Learn from the rows of a table.

        Parameters
        ----------
        X : eager dataframe (pandas, polars, pyarrow, ...), 2-d array or list of rows
            The features, one column each. Or a lazy frame (DuckDB, Polars, Dask, Ibis, PySpark), whose rows are
            counted where they are; see the guide "Large tables".
        y : (rows,) series, array or list
            The class of every row. Its name becomes the name of the class variable; without a name, this
            is ``"class"``. If X is a lazy frame, the name of a column.
        sample_weight : (rows,) array, optional
            Real weights, zero or more; weight 0 is equivalent to leaving out the row, weight 2 to repeating it. If X
            is a lazy frame, the name of a column.
        groups : (rows,) array, optional
            Labels of rows that belong together, such as the rows of one patient. What is chosen by cross-validation
            within the rows (equivalent sample sizes, limits on parents, strengths) is then chosen such that every
            fold holds out whole groups; with 1,000 rows or more, more is cross-validated than without groups. See
            the guide "Repeated and grouped rows". Not for lazy frames.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            If the input is not suitable for training; the message names the column and the value.
        SearchTooLargeError
            If the search needs more memory than allowed.

        Warns
        -----
        UserWarning
            If rows or columns are left out, or if held-out rows are predicted worse than by the frequencies of the
            classes (the page "The equivalent sample size" says which classifiers compare the two).

        If an exception is raised, also by Ctrl-C, the classifier remains as it was before the call.
        """
        with refused_without_memory(f"fitting the {type(self).__name__}"):
            read = self._read(X, y, None, sample_weight, groups)
            self._keep(self._model_learner()(read), read)
            self._refit(X, y, sample_weight, groups)
        return self

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to what was learned: counts add up, so the tables are those of all rows together.

        States, cut points, ``ess_`` and ``smoothing_`` stay as they are, and so does the structure of a network;
        ``structure_.score`` becomes the score of all rows, and its certificate says that nothing is proved about it.
        If the classifier is not fitted, this is ``fit``.

        Parameters
        ----------
        X, y, sample_weight
            As in ``fit``.
        classes : sequence, optional
            In the first call, all classes that can ever occur; in later calls, the same classes or nothing.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a value or class that is not a known state (the message names it; no rows are added then), for a
            missing cell with ``handle_missing="em"``, for other classes than in the first call, for
            ``class_weight="balanced"``, which depends on all rows, or for a network whose tables were given, not
            counted.
        """
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' depends on all rows, which partial_fit does not see: pass a mapping of "
                "classes to weights, or sample_weight"
            )
        if not hasattr(self, "model_"):
            read = self._read(X, y, classes, sample_weight)
            self._keep(self._model_learner()(read), read)
            self._refit(X, y, sample_weight)
            return self
        known = self.classes_.tolist()
        declared = known if classes is None else list(dict.fromkeys(map(native, check_classes(classes))))
        if set(declared) != set(known):
            some = ", ".join(map(repr, declared[:10])) + ", ..." * (len(declared) > 10)
            raise ValueError(
                f"classes are [{some}], but were {known!r} in the first call: they cannot change. The weights of "
                "rows are the argument sample_weight"
            )
        dropped, reader = self.dropped_, self.reader_
        if self.handle_missing == EM:  # new rows would change the expected counts of all earlier ones
            reader = replace(reader, handle_missing="error")
        self.set_model(self.model_.add(reader.table(X, y, sample_weight)))
        self.dropped_ = dropped
        return self

    def _read(self, X: Any, y: Any, classes: Any, sample_weight: Any, groups: Any = None) -> TrainingColumns:
        """Return the columns to learn from; ``classes`` are declared states of the class."""
        self.check_parameters()
        kept = {"undropped": self._undropped(), "unfolded": self._unfolded()}
        return training_columns(self, X, y, sample_weight, classes, **kept, row_groups=groups)

    def _model_learner(self) -> Callable[[TrainingColumns], Model]:
        """Return a function that learns the model."""
        return self._learn_model

    def _keep(self, model: Model, read: TrainingColumns) -> None:
        """Store the model, and the record of the columns that were left out."""
        self.set_model(model)
        self.dropped_ = dict(read.dropped)

    def _refit(self, X: Any, y: Any, sample_weight: Any, groups: Any = None) -> None:  # subclasses use the rows
        """Refit the model that was learned; most classifiers do not."""

    def _undropped(self) -> Collection[Hashable]:
        """Return the columns that are never left out, even if they look like identifiers."""
        return ()

    def _unfolded(self) -> Collection[Hashable]:
        """Return the columns that are read as they are, even if they look one-hot coded: edges name them."""
        edges = (*getattr(self, "required_edges", ()), *getattr(self, "forbidden_edges", ()))
        return {name for edge in edges if isinstance(edge, tuple | list) for name in edge}

    @all_or_nothing
    def set_model(self, model: Model) -> Self:
        """Store a model that was learned elsewhere, such as one read from a file; this classifier is then fitted.

        Parameters
        ----------
        model : Model
            A :class:`~anbexact.models.network.network.Network`, or another model that this kind of classifier learns.

        Returns
        -------
        self
        """
        if not only_predictions_needed():  # networks from which refits start are often never asked
            model.prepare()
        self.model_ = model
        vocabulary = model.vocabulary
        self.handle_missing_ = vocabulary.missing_rules(self.handle_missing)
        self.dropped_ = dict.fromkeys(vocabulary.left_out, "left out when first learned")
        self.classes_ = vocabulary.classes
        return self

    def _threads(self) -> int | None:
        """Return ``n_jobs``, the number of threads."""
        return self.n_jobs

    @property
    def reader_(self) -> Reader:
        """How frames are read: as codes of states (``reader_.codes(X)``) or as a table of this vocabulary."""
        check_is_fitted(self)
        return Reader(
            fitted_by=type(self).__name__,
            feature_names=getattr(self, "feature_names_in_", None),
            vocabulary=self.model_.vocabulary,
            cut_points=self.model_.cut_points,
            handle_unknown=self.handle_unknown,
            handle_missing=self.handle_missing,
            missing_rules=self.handle_missing_,
            class_weight=self.class_weight,
        )

    def log_evidence(self, X: Any) -> npt.NDArray[np.float64]:
        """Return ln P(observed cells of the row), shape (rows,), in nats per row.

        For a classifier that models continuous columns by densities, this is the log of a density with respect to the
        reference measures of their partitions.
        """
        codes = self._codes(X)
        return np.asarray(logsumexp(self.model_.log_joint(codes, self._threads()), axis=1))

    def check_parameters(self) -> None:
        """Refuse invalid parameters."""
        check_reading(self, (EM,) if self.can_complete() else ())

    def can_complete(self) -> bool:
        """Whether the parameters allow ``handle_missing="em"``, which completes missing cells in training."""
        return self._completes

    def progress(self) -> Progress | None:
        """Return the callback for the progress of long work, as set by ``verbose``; None for no progress."""
        return progress_of(self.verbose)
