"""From what a user passes to codes: names checked, continuous columns cut, states encoded."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from anbexact._runtime.warn import warn
from anbexact.discretize import RULES, Cuts, cut_codes, find_cut_points, group_values, interval_names
from anbexact.discretize.base import row_weights
from anbexact.inputs.class_weights import apply_class_weight
from anbexact.inputs.identifiers import question_class, without_identifiers
from anbexact.tables.columns import Column, frame_names, is_series, read_column, read_columns
from anbexact.tables.missing import missing_cells
from anbexact.tables.quantities import Quantity
from anbexact.tables.table import (
    DiscreteTable,
    Weights,
    check_declared,
    check_weights,
    class_name_of,
    table_from_columns,
)
from anbexact.tables.vocabulary import LEFT_OUT, CodeArray, Groups, Vocabulary

MANY_VALUES = 10
"""Numeric columns with more distinct values than this are continuous; columns of categories are grouped."""


HANDLE_UNKNOWN = ("marginalize", "error")


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse a parameter that is none of the choices."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")


def record_columns(estimator: BaseEstimator, X: Any, y: Any) -> list[Column]:
    """Read X for training and record its names and width on the estimator, as scikit-learn does."""
    columns = read_columns(X, estimator=estimator)
    names = frame_names(X)
    plain = names is None or any(not isinstance(name, str) for name in names)
    shape = np.empty((len(columns[0]), len(columns)), dtype=bool) if plain else X
    validate_data(estimator, shape, y, skip_check_array=True)
    check_consistent_length(columns[0].missing, y)
    return columns


@dataclass(frozen=True)
class TrainingColumns:
    """What is learned from, before continuous columns are cut.

    Attributes
    ----------
    columns : list of Column
        The features.
    target : Column
        The class.
    weights : (rows,) float64
        Weights of all rows, class weights included.
    categories : mapping
        Declared states, those of the class included.
    groups : mapping
        The groups of columns of categories that have many values.
    handle_missing : str
        What becomes of missing cells.
    dropped : mapping
        The columns that are left out because they look like identifiers, each with the reason.
    """

    columns: list[Column]
    target: Column
    weights: Weights
    categories: Mapping[Hashable, Sequence[Any]]
    groups: Mapping[Hashable, Groups]
    handle_missing: str
    dropped: Mapping[Hashable, str]

    def table(self, cut_points: Mapping[Hashable, Cuts], measured: Collection[Hashable] = ()) -> DiscreteTable:
        """Return the table, columns cut as given; in those ``measured`` a missing cell cannot be a state."""
        return table_from_columns(
            [discretise(column, cut_points) for column in self.columns],
            self.target,
            self.weights,
            categories=self.categories,
            groups=self.groups,
            handle_missing=self.handle_missing,
            measured=measured,
        )

    def learned_weights(self, measured: Collection[Hashable]) -> Weights:
        """Return the weights of the rows that count if the columns ``measured`` are: 0 for a row left out."""
        cells = missing_cells(
            self.columns, self.target, self.weights, self.categories, self.handle_missing, measured, self.groups
        )
        return self.weights * ~cells.incomplete


def training_columns(
    estimator: Any, X: Any, y: Any, sample_weight: Any, classes: Any = None, named: Collection[Hashable] = ()
) -> TrainingColumns:
    """Read what to learn from, as the estimator's parameters of reading say.

    Names and width of X are recorded on the estimator; ``classes`` are declared states of the class, and the columns
    ``named`` stay, whatever they look like.
    """
    columns = record_columns(estimator, X, y)
    weights = check_weights(sample_weight, len(columns[0]))
    target = read_target(y, columns, weights)
    check_declared(estimator.categories, [*(column.name for column in columns), target.name])
    categories = estimator.categories or {}
    if classes is not None:
        if target.name in categories:
            raise ValueError(f"the classes are declared twice, by classes= and for {target.name!r} in categories=")
        categories = {**categories, target.name: check_classes(classes)}
    question_class(target, weights, categories.get(target.name, ()))
    weights = apply_class_weight(
        getattr(estimator, "class_weight", None), target, weights, categories.get(target.name, ())
    )
    dropped: dict[Hashable, str] = {}
    if getattr(estimator, "drop_identifiers", False):
        columns, dropped = without_identifiers(columns, weights, {*categories, *named})
    columns = [column.exactly(weights > 0) for column in columns]
    groups = fit_groups(columns, target, weights, estimator.group_categories, categories)
    return TrainingColumns(columns, target, weights, categories, groups, estimator.handle_missing, dropped)


def read_training(
    estimator: Any, X: Any, y: Any, sample_weight: Any, classes: Any = None
) -> tuple[DiscreteTable, dict[Hashable, Cuts], Mapping[Hashable, str]]:
    """Return the table to learn from, cut points, and the columns that are left out, each with the reason.

    The cut points are those that the estimator's ``discretizer`` finds, of every column in all rows in which it is
    observed.
    """
    read = training_columns(estimator, X, y, sample_weight, classes)
    cut_points = fit_cut_points(read.columns, read.target, read.weights, estimator.discretizer, read.categories)
    return read.table(cut_points), cut_points, read.dropped


def check_columns(estimator: Any, X: Any, features: Sequence[Hashable]) -> None:
    """Refuse columns that are not those of the training table, in the same order.

    Raises
    ------
    ValueError
        Naming the columns that are new, missing, or out of order.
    """
    names = frame_names(X)
    if names is None or all(isinstance(name, str) for name in names):
        if hasattr(X, "shape"):
            validate_data(estimator, X, reset=False, skip_check_array=True)
        return
    expected = list(features)
    unnamed = expected == [f"x{j}" for j in range(len(expected))] and names == list(range(len(expected)))
    if names == expected or unnamed:
        return
    new = [name for name in names if name not in expected]
    gone = [name for name in expected if name not in names]
    raise ValueError(
        "The feature names should match those that were passed during fit, in the same order: "
        f"unseen at fit time: {new}; now missing: {gone}; expected {expected}"
    )


def read_target(y: Any, columns: Sequence[Column], weights: Weights) -> Column:
    """Read the class column; its name is its own, or ``"class"``. Rows of weight 0 may hold anything.

    Raises
    ------
    ValueError
        If y is not one-dimensional, or holds measurements rather than classes.
    """
    target = read_labels(y, columns)
    if target.numbers is not None:
        kept = (weights > 0) & ~target.missing
        if np.isinf(target.numbers[kept]).any():
            raise ValueError(f"Input y contains infinity: the class {target.name!r} must hold labels")
        try:
            with np.errstate(invalid="ignore"):  # whole floats beyond 64 bits
                check_classification_targets(target.numbers[kept])
        except ValueError as error:
            n_values = len(pd.unique(target.numbers[kept]))
            raise ValueError(
                f"{error} The class {target.name!r} holds {n_values:,} different numbers, not all of them whole: "
                "these are measurements. Cut them into a few classes, for instance with pandas.qcut(y, 3), or pass "
                "labels as text."
            ) from None
    return target


def read_labels(y: Any, columns: Sequence[Column] = ()) -> Column:
    """Read a column of labels, whatever they are; refuse what is not one-dimensional."""
    if not (is_series(y) or isinstance(y, pd.Categorical)):
        names = frame_names(y) or []
        name = names[0] if len(names) == 1 else None
        array = np.asarray(y)
        if array.ndim != 1:
            y = pd.Series(column_or_1d(array, warn=True), name=name)
    target = read_column(y, class_name_of(y, [column.name for column in columns]))
    return target if target.quantity is None else Column(target.name, *target.coded)


def fit_cut_points(
    columns: Sequence[Column],
    target: Column,
    weights: Weights,
    discretizer: Any,
    declared: Mapping[Hashable, Any],
) -> dict[Hashable, Cuts]:
    """Return the cut points of the continuous columns: numeric, many values, not declared.

    Raises
    ------
    ValueError
        If there are such columns and ``discretizer`` is None, or one holds an infinite value.
    TypeError
        If ``discretizer`` is neither a rule's name, None nor a transformer.
    """
    known = discretizer in RULES if isinstance(discretizer, str) else hasattr(discretizer, "fit")
    if discretizer is not None and not known:
        raise TypeError(
            f"discretizer must be one of {', '.join(map(repr, RULES))}, None or a transformer with cut_points_ or "
            f"bin_edges_, not {discretizer!r}"
        )
    kept = weights > 0
    continuous = continuous_columns(columns, kept, declared)
    if not continuous:
        return {}
    names = [column.name for column in continuous]
    if discretizer is None:
        quantity = continuous[0].quantity
        what = f"is numeric with more than {MANY_VALUES} distinct values"
        if quantity is not None:
            what = f"holds more than {MANY_VALUES} distinct {quantity.noun}"
        raise ValueError(
            f"column {names[0]!r} {what} "
            f"({len(names)} such columns), and discretizer is None: use discretizer='auto', "
            "cut it yourself, or declare its states in categories="
        )
    refuse_infinite(continuous, kept)
    values = np.column_stack([np.asarray(column.numbers, dtype=np.float64) for column in continuous])
    found = find_cut_points(discretizer, values[kept], target.coded[0][kept].astype(np.int64), weights[kept])
    if not any(map(len, found)):
        warn(
            f"no cut point was found in any of the {len(names)} continuous columns ({names[0]!r}, ...), so that they "
            f"say nothing about the class; discretizer='median' cuts in any case"
        )
    return dict(zip(names, found, strict=True))


def fit_groups(
    columns: Sequence[Column],
    target: Column,
    weights: Weights,
    group_categories: int | str | None,
    declared: Collection[Hashable],
) -> dict[Hashable, Groups]:
    """Return the groups of the columns of categories that have many values and are not declared.

    Raises
    ------
    ValueError
        If ``group_categories`` is neither ``"auto"``, None nor a whole number above 0.
    """
    if group_categories is None:
        return {}
    automatic = isinstance(group_categories, str) and group_categories == "auto"
    whole = isinstance(group_categories, int | np.integer) and not isinstance(group_categories, bool)
    if not automatic and not (whole and int(group_categories) > 0):
        raise ValueError(
            f"group_categories must be 'auto', None or a whole number above 0, not {group_categories!r}: columns of "
            "categories with more values than this number are grouped"
        )
    most = MANY_VALUES if automatic else int(group_categories)
    labels = target.coded[0].astype(np.int64)
    kept = (weights > 0) & (labels >= 0)
    kept_weights = row_weights(weights * kept)
    return {
        column.name: group_values(column, labels, kept_weights)
        for column in columns
        if column.numbers is None
        and column.name not in declared
        and len(pd.unique(column.coded[0][kept & ~column.missing])) > most
    }


def continuous_columns(
    columns: Sequence[Column], kept: npt.NDArray[np.bool_], declared: Collection[Hashable]
) -> list[Column]:
    """Return the columns of numbers with many values in the rows that are kept, and no declared states."""
    return [
        column
        for column in columns
        if column.numbers is not None
        and column.name not in declared
        and len(pd.unique(column.numbers[kept & ~column.missing])) > MANY_VALUES
    ]


def refuse_infinite(columns: Sequence[Column], kept: npt.NDArray[np.bool_]) -> None:
    """Refuse infinite numbers in the rows that are kept: no interval is theirs."""
    for column in columns:
        infinite = kept & np.isinf(column.numbers) if column.numbers is not None else np.zeros(0, dtype=bool)
        if infinite.any():
            row = int(infinite.argmax())
            raise ValueError(
                f"column {column.name!r}, row {row}: {numbers_of(column)[row]} cannot be discretised; "
                "replace infinite values by finite ones or by missing cells"
            )


def check_classes(classes: Any) -> list[Any]:
    """Return announced classes as a list."""
    if isinstance(classes, str) or not hasattr(classes, "__iter__"):
        raise TypeError(f"classes must be a sequence of class labels, not {classes!r}")
    return list(classes)


def discretise(column: Column, cut_points: Mapping[Hashable, Cuts], vocabulary: Vocabulary | None = None) -> Column:
    """Return the column as intervals if it has cut points, else as it is.

    The numbers are those of the column's own quantity, and the names of the intervals follow; or both are those of
    the vocabulary.

    Raises
    ------
    ValueError
        If a column with cut points holds something that is not a number, or not of the vocabulary's quantity.
    """
    if column.name not in cut_points:
        return column
    cuts, quantity = cut_points[column.name], column.quantity
    names = interval_names(cuts, quantity) if vocabulary is None else vocabulary.states[column.name][: len(cuts) + 1]
    if vocabulary is not None:
        quantity = vocabulary.quantities.get(column.name)
    codes = cut_codes(numbers_of(column, quantity), cuts)
    return Column(column.name, codes, names, declared=True, quantity=quantity)


def encode_features(
    columns: Sequence[Column],
    vocabulary: Vocabulary,
    cut_points: Mapping[Hashable, Cuts],
    *,
    handle_unknown: str,
    handle_missing: Mapping[Hashable, str],
) -> CodeArray:
    """Return the codes of columns that stand in the vocabulary's order, shape (features, rows)."""
    own = in_vocabulary(columns, vocabulary, cut_points)
    codes = np.empty((len(own), len(own[0])), dtype=np.int16)
    for j, column in enumerate(own):
        rule = handle_missing[column.name]
        codes[j] = vocabulary.encode(column, handle_unknown=handle_unknown, handle_missing=rule)
    return codes


def in_vocabulary(
    columns: Sequence[Column], vocabulary: Vocabulary, cut_points: Mapping[Hashable, Cuts]
) -> list[Column]:
    """Return columns that stand in the vocabulary's order under its names, discretised.

    Raises
    ------
    ValueError
        If there are fewer or more of them, or one with cut points holds something that is not a number.
    """
    features = vocabulary.features
    if len(columns) != len(features):
        raise ValueError(
            f"X has {len(columns)} features, but {len(features)} are expected as input: {list(features)}"
        )
    left_out = vocabulary.left_out
    return [
        column.constant(name, LEFT_OUT)
        if name in left_out
        else discretise(column.renamed(name), cut_points, vocabulary)
        for name, column in zip(features, columns, strict=True)
    ]


def cell_values(columns: Sequence[Column], features: Sequence[Hashable]) -> dict[Hashable, list[Any]]:
    """Return the cells of features as they were passed: from the columns of their names, else of their places."""
    by_name = {column.name: column for column in columns}
    if not by_name.keys() >= set(features):
        by_name = dict(zip(features, columns, strict=True))
    return {name: by_name[name].values() for name in features}


def numbers_of(
    column: Column,
    quantity: Quantity | None = None,
    known: str = "was numeric in fit and discretised, but now",
) -> npt.NDArray[np.number[Any]]:
    """Return the numbers of a column, NaN where missing, as a quantity has them if one is given.

    Raises
    ------
    ValueError
        For a value that is not a number, or not of the quantity; the message says why it should be one.
    """
    if column.numbers is not None and column.quantity == quantity:
        return column.numbers
    plain = quantity is None or quantity.kind == "decimal"
    if column.numbers is not None and plain and (column.quantity is None or column.quantity.kind == "decimal"):
        return column.numbers
    if quantity is not None:
        known = f"held {quantity.noun} in fit, but now"
        if column.numbers is not None and column.quantity is not None:
            try:
                return quantity.convert(np.asarray(column.numbers, dtype=np.float64), column.quantity)
            except ValueError as error:
                raise ValueError(f"column {column.name!r} {known} {error}") from None
    codes, categories = column.coded
    values = np.full(len(categories) + 1, np.nan)
    for code, value in enumerate(categories):
        try:
            values[code] = _number(value) if quantity is None else quantity.number(value)
        except ValueError as error:
            raise ValueError(f"column {column.name!r} {known} {error}") from None
    return values[np.where(codes < 0, -1, codes)]


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"holds {value!r}: pass numbers") from None
