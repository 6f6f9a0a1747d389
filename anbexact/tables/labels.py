"""Class columns and labels, whatever they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from anbexact._runtime.arrays import Floats
from anbexact.tables.frames.columns import Column
from anbexact.tables.frames.reading import frame_names, is_series, read_column
from anbexact.tables.table import (
    Weights,
    check_weights,
    class_name_of,
)


def read_target(y: Any, columns: Sequence[Column], weights: Weights) -> Column:
    """Read the class column; its name is its own, or ``"class"``. Rows of weight 0 may hold anything.

    Raises
    ------
    ValueError
        If y is not one-dimensional, or holds measurements rather than classes.
    """
    target = read_labels(y, columns)
    check_labels(target, weights)
    return target


def check_labels(target: Column, weights: Weights) -> None:
    """Refuse a class that holds measurements rather than classes; see :func:`read_target`."""
    if target.numbers is not None:
        kept = (weights > 0) & ~target.missing
        if np.isinf(target.numbers[kept]).any():
            raise ValueError(f"Input y contains infinity: the class {target.name!r} must contain labels")
        try:
            with np.errstate(invalid="ignore"):  # whole floats beyond 64 bits
                check_classification_targets(target.numbers[kept])
        except ValueError as error:
            n_values = len(pd.unique(target.numbers[kept]))
            raise ValueError(
                f"{error} The class {target.name!r} contains {n_values:,} different numbers, not all of them whole: "
                "these are measurements. Cut them into a few classes, for instance with pandas.qcut(y, 3), or pass "
                "labels as text."
            ) from None


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


def logs_of_labels(logs: Floats, classes: Sequence[Any], y: Any, sample_weight: Any) -> tuple[Floats, Weights]:
    """Return ln P(true class | row) of rows in nats, and their weights, given that of all classes, (rows, classes).

    Raises
    ------
    ValueError
        If a row of positive weight has another class, or if lengths differ.
    """
    check_consistent_length(logs, y)
    weights = check_weights(sample_weight, len(logs))
    codes, labels = read_labels(y).coded
    place = {label: k for k, label in enumerate(classes)}
    unknown = [labels[code] if code >= 0 else None for code in np.unique(codes[weights > 0])]
    unknown = [label for label in unknown if label not in place]
    if unknown:
        raise ValueError(
            f"y contains {unknown[0]!r}, which is not a class of this model (classes: {list(classes)}): "
            "leave such rows out, as they have no likelihood under it"
        )
    known = np.array([*(place.get(label, 0) for label in labels), 0])[codes]
    return logs[np.arange(len(logs)), known], weights


def check_classes(classes: Any) -> list[Any]:
    """Return announced classes as a list."""
    if isinstance(classes, str) or not hasattr(classes, "__iter__"):
        raise TypeError(f"classes must be a sequence of class labels, not {classes!r}")
    return list(classes)


def declared_order(y: Any) -> list[Any] | None:
    """Return the categories of an ordered categorical column, such as of pandas, or an Enum of polars; else None."""
    dtype = getattr(y, "dtype", None)
    if isinstance(dtype, pd.CategoricalDtype):
        return dtype.categories.tolist() if dtype.ordered else None
    column = nw.from_native(y, series_only=True, pass_through=True)
    enum = column.dtype if isinstance(column, nw.Series) else None
    return list(enum.categories) if isinstance(enum, nw.Enum) else None


def order_of(classes: Sequence[Any], order: Any) -> npt.NDArray[np.intp]:
    """Return the codes of classes from the lowest to the highest; the order may list further classes.

    Raises
    ------
    ValueError
        If the order lacks a class, or names one twice.
    """
    listed = check_classes(order)
    missing = [label for label in classes if label not in listed]
    if missing or len(set(listed)) < len(listed):
        raise ValueError(
            f"ordered_classes must list every class once, from the lowest to the highest, but {listed} "
            + (f"lacks {missing[0]!r}" if missing else "lists one twice")
            + f": the classes are {list(classes)}"
        )
    return np.array([list(classes).index(label) for label in listed if label in classes], dtype=np.intp)


def asked_order(classes: Sequence[Any], order: Any, y: Any) -> npt.NDArray[np.intp]:
    """Return the codes of classes from the lowest to the highest: in the order that is given, or True for that of y.

    Raises
    ------
    ValueError
        If y declares no order, or the order lacks a class, or names one twice.
    """
    if order is not True:
        return order_of(classes, order)
    declared = declared_order(y)
    if declared is None:
        raise ValueError(
            "ordered_classes=True takes the order of an ordered categorical y, but this y has none: list the classes "
            f"from the lowest to the highest, ordered_classes={list(classes)}, or convert y to such a column"
        )
    return order_of(classes, declared)
