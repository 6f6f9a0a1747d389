"""How a fitted classifier reads frames: as codes of states, as a weighted table, or as rows to be explained."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils.validation import check_consistent_length

from anbexact.tables.cuts import Cuts
from anbexact.tables.cuts.continuous import numbers_of, refuse_infinite
from anbexact.tables.frames.columns import Column
from anbexact.tables.frames.dummies import fold
from anbexact.tables.frames.reading import frame_names, read_columns
from anbexact.tables.frames.series import read_pandas
from anbexact.tables.labels import read_target
from anbexact.tables.prediction import cell_values, check_columns, encode_features, in_vocabulary, own_states
from anbexact.tables.row_codes import RowCodes, rows_in_vocabulary
from anbexact.tables.table import DiscreteTable, Weights, check_weights, merged_table
from anbexact.tables.vocabulary import UNKNOWN, CodeArray, Vocabulary
from anbexact.tables.weights import apply_class_weight

Values = npt.NDArray[np.float64]
Unseen = dict[Hashable, dict[Any, float]]
"""For each column, the values that are not states, and the weight of their rows."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to be explained.

    Attributes
    ----------
    codes : (features, rows) int16
        Codes of the features; negative where a cell is missing or unknown.
    values : mapping of feature to (rows,) list
        The cells as they were passed; None where missing.
    index : (rows,) sequence
        Labels that identify the rows.
    """

    codes: CodeArray
    values: Mapping[Hashable, Sequence[Any]]
    index: Sequence[Any]

    def chosen(self, mask: npt.NDArray[np.bool_]) -> Rows:
        """Return the rows where a mask is true."""
        return self.at(np.flatnonzero(mask).tolist())

    def at(self, places: Sequence[int]) -> Rows:
        """Return the rows at these positions."""
        values = {name: [of_name[t] for t in places] for name, of_name in self.values.items()}
        return Rows(np.ascontiguousarray(self.codes[:, places]), values, [self.index[t] for t in places])


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Reader:
    """Reads frames in the vocabulary of a fitted classifier.

    Attributes
    ----------
    fitted_by : str
        The name of the estimator, for messages.
    feature_names : array of str or None
        The names of the columns that were recorded in ``fit``; None if not all of them are strings.
    vocabulary : Vocabulary
        Names and states of all variables.
    cut_points : mapping
        Cut points of every feature that is discretised.
    handle_unknown : {"marginalize", "error"}
        The treatment of values that are not states.
    handle_missing : str
        The treatment of missing cells in training rows.
    missing_rules : mapping of feature to rule
        The treatment of missing cells in rows that are predicted.
    class_weight : None or mapping
        The factors of the weights of the classes in training rows.
    """

    fitted_by: str
    feature_names: npt.NDArray[Any] | None
    vocabulary: Vocabulary
    cut_points: Mapping[Hashable, Cuts]
    handle_unknown: str
    handle_missing: str
    missing_rules: Mapping[Hashable, str]
    class_weight: Any

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.vocabulary.features):,} features>"

    def codes(self, X: Any) -> CodeArray:
        """Return the codes of the features, shape (features, rows); negative where missing or unknown.

        Raises
        ------
        ValueError
            For other columns than in ``fit``, or for a cell that the rules refuse.
        """
        return encode_features(
            self.feature_columns(X),
            self.vocabulary,
            self.cut_points,
            handle_unknown=self.handle_unknown,
            handle_missing=self.missing_rules,
        )

    def code(self, name: Hashable, value: Any) -> int:
        """Return the code of a feature's value, read as a cell of a frame is; negative where missing or unknown.

        Raises
        ------
        ValueError
            If the feature has cut points and the value is not a number.
        """
        if type(value) is str:  # what pandas would return, in a twentieth of the time
            column = Column(name, np.zeros(1, dtype=np.int64), (value,))
        else:
            column = read_pandas(pd.Series([value]), name)
        return self.vocabulary.code_of_cell(
            own_states(column, self.vocabulary, self.cut_points), self.missing_rules[name]
        )

    def states(self, X: Any) -> list[Column]:
        """Return the features as columns of their states: numbers cut, and one-hot coded columns folded.

        Raises
        ------
        ValueError
            For other columns than in ``fit``.
        """
        return in_vocabulary(self.feature_columns(X), self.vocabulary, self.cut_points)

    def codes_of(self, X: Any, features: Sequence[Hashable]) -> CodeArray:
        """Return the codes of some features, shape (features, rows), in the order of the vocabulary.

        A frame may lack, or have, any other columns. A table without names must have the columns of ``fit``.

        Raises
        ------
        ValueError
            If a column is missing, or for a cell that the rules refuse.
        """
        names, every = frame_names(X), self.vocabulary.features
        features = [name for name in every if name in features]
        if names is None:
            columns, expected = read_columns(X), self.columns
            if len(columns) != len(expected):
                raise ValueError(f"X has {len(columns)} columns without names, but {len(expected)} are expected")
            columns = self._folded(columns)
            chosen = [columns[every.index(name)] for name in features]
        else:
            texts = {str(name): name for name in names}
            sources = [self._sources(name, texts) for name in features]
            lacking = [name for name, of_name in zip(features, sources, strict=True) if not of_name]
            if lacking:
                raise ValueError(f"X has no column {lacking[0]!r}; the features are {list(features)}")
            wanted = [texts[str(name)] for of_name in sources for name in of_name]
            columns = read_columns(X[wanted] if isinstance(X, pd.DataFrame) and wanted else X)
            by_name = {str(column.name): column for column in fold(columns, self.vocabulary.dummies)}
            chosen = [by_name[str(name)] for name in features]
        if not features:
            return np.empty((0, len(columns[0])), dtype=np.int16)
        vocabulary = self.vocabulary.without(set(every) - set(features))
        return encode_features(
            chosen,
            vocabulary,
            self.cut_points,
            handle_unknown=self.handle_unknown,
            handle_missing=self.missing_rules,
        )

    def rows(self, X: Any) -> Rows:
        """Return rows to be explained."""
        codes = self.codes(X)
        values = cell_values(self.feature_columns(X), self.vocabulary.features)
        return Rows(codes, values, self.labels(X, np.arange(codes.shape[1])).tolist())

    def labels(self, X: Any, places: npt.NDArray[np.intp]) -> pd.Index[Any]:
        """Return the labels of the rows at these positions: the index of a pandas frame, or else the positions."""
        return X.index[places] if isinstance(X, pd.DataFrame) else pd.Index(places)

    def table(self, X: Any, y: Any, sample_weight: Any = None) -> DiscreteTable:
        """Return rows with their classes and weights as a table of the vocabulary; see :meth:`coded_rows`."""
        return merged_table(self.coded_rows(X, y, sample_weight))

    def coded_rows(self, X: Any, y: Any, sample_weight: Any = None) -> RowCodes:
        """Return rows with their classes and weights as codes of the vocabulary, in the order of X.

        Raises
        ------
        ValueError
            For a value or class that is not a state, or other columns than in ``fit``; the message names it.
        """
        columns = self.feature_columns(X)
        weights = check_weights(sample_weight, len(columns[0]))
        check_consistent_length(columns[0].missing, y)
        vocabulary = self.vocabulary
        target = read_target(y, columns, weights).renamed(vocabulary.class_name)
        classes = vocabulary.states[vocabulary.class_name]
        weights = apply_class_weight(self.class_weight, target, weights, classes)
        refuse_infinite([column for column in columns if column.name in self.cut_points], weights > 0)
        own = in_vocabulary(columns, vocabulary, self.cut_points)
        return rows_in_vocabulary(own, target, weights, vocabulary, handle_missing=self.handle_missing)

    def unseen(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Unseen, npt.NDArray[np.bool_]]:
        """Return the values and classes that are not states, and which rows have none of these.

        Returns
        -------
        unseen : dict
            For every column with such values: these values, with the weight of their rows.
        known : (rows,) bool
            Rows without such a value; those of weight 0, too.

        Raises
        ------
        ValueError
            For other columns than in ``fit``.
        """
        columns = self.feature_columns(X)
        weights = check_weights(sample_weight, len(columns[0]))
        check_consistent_length(columns[0].missing, y)
        target = read_target(y, columns, weights).renamed(self.vocabulary.class_name)
        known = np.ones(len(weights), dtype=bool)
        found: Unseen = {}
        for column in (*in_vocabulary(columns, self.vocabulary, self.cut_points), target):
            strange = np.flatnonzero((self.vocabulary.encode(column) == UNKNOWN) & (weights > 0))
            known[strange] = False
            values = column.values()
            for t in strange.tolist():
                of_column = found.setdefault(column.name, {})
                of_column[values[t]] = of_column.get(values[t], 0.0) + float(weights[t])
        return found, known

    def cut_columns(self, X: Any, sample_weight: Any = None) -> dict[Hashable, tuple[Values, Weights]]:
        """Return the numbers of the columns that are cut, with the weights of their rows; missing cells are left out.

        Raises
        ------
        ValueError
            For other columns than in ``fit``, infinite numbers, or cells that are not numbers.
        """
        columns = self.feature_columns(X)
        weights = check_weights(sample_weight, len(columns[0]))
        cut = [column for column in columns if column.name in self.cut_points]
        refuse_infinite(cut, weights > 0)
        found = {}
        for column in cut:
            values = numbers_of(column, self.vocabulary.quantities.get(column.name)).astype(np.float64)
            kept = (weights > 0) & ~np.isnan(values)
            found[column.name] = values[kept], weights[kept]
        return found

    @property
    def columns(self) -> list[Hashable]:
        """The columns of the training table, in its order: the features, or the columns that code them."""
        if self.feature_names is None:
            return list(self.vocabulary.columns)
        return list(self.feature_names)

    def feature_columns(self, X: Any) -> list[Column]:
        """Return the columns of the features, as they are before they are cut, one-hot coded ones folded.

        A frame has the columns of the training table, or those that were one-hot coded in it.

        Raises
        ------
        ValueError
            For other columns than in ``fit``.
        """
        columns = read_columns(X, estimator=self.fitted_by)
        features, feature_names, dummies = self.vocabulary.features, self.feature_names, self.vocabulary.dummies
        if not dummies:
            check_columns(self.fitted_by, feature_names, X, features)
            return columns
        if not dummies.keys() <= set(frame_names(X) or ()):
            check_columns(self.fitted_by, feature_names, X, self.columns)
            return self._folded(columns)
        check_columns(self.fitted_by, np.array(features, dtype=object), X, features)
        return columns

    def _folded(self, columns: Sequence[Column]) -> list[Column]:
        """Return the features, given the columns of the training table."""
        named = [column.renamed(name) for name, column in zip(self.columns, columns, strict=True)]
        return fold(named, self.vocabulary.dummies)

    def _sources(self, name: Hashable, texts: Collection[str]) -> tuple[Hashable, ...]:
        """Return the columns of a frame from which a feature is read, given their names; none if they lack."""
        group = tuple(member for member, _ in self.vocabulary.dummies.get(name, ()))
        return next((found for found in ((name,), group) if found and all(str(own) in texts for own in found)), ())
