"""Columns of numbers, and of many categories: where they are cut and grouped, and as intervals."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import get_tags

from anbexact._runtime.json_checks import plain_numbers
from anbexact._runtime.units import agreeing, counted
from anbexact._runtime.warn import warn
from anbexact.tables.cuts import RULES, Cuts, cut_codes, find_cut_points, group_values, interval_names
from anbexact.tables.cuts.base import row_weights
from anbexact.tables.frames.columns import Column
from anbexact.tables.frames.quantities import Quantity
from anbexact.tables.frames.records import ColumnRecord, record_of_numbers
from anbexact.tables.frames.text_quantities import TextQuantity
from anbexact.tables.row_codes import totals
from anbexact.tables.table import (
    Weights,
)
from anbexact.tables.text_advice import unread_advice
from anbexact.tables.vocabulary import Groups, Vocabulary

MANY_VALUES = 10
"""Numeric columns with more distinct values than this are continuous; columns of categories are grouped."""


def fit_cut_points(
    columns: Sequence[Column],
    target: Column | None,
    weights: Weights,
    discretizer: Any,
    declared: Mapping[Hashable, Any],
) -> dict[Hashable, Cuts]:
    """Return the cut points of the continuous columns: numeric, many values, not declared.

    Raises
    ------
    ValueError
        If there are such columns and ``discretizer`` is None, or needs a class and there is no ``target``; if one
        holds an infinite value.
    TypeError
        If ``discretizer`` is neither a rule's name, None nor a transformer.
    """
    check_discretizer(discretizer)
    kept = weights > 0
    continuous = continuous_columns(columns, kept, declared)
    if not continuous:
        return {}
    refuse_uncut(continuous, discretizer)
    refuse_infinite(continuous, kept)
    values = np.column_stack([np.asarray(column.numbers, dtype=np.float64) for column in continuous])
    if target is None:
        refuse_supervised(discretizer)
        labelled, labels = kept, np.zeros(int(kept.sum()), dtype=np.int64)
    else:
        labelled = kept & ~target.missing if kept.any() and not target.missing[kept].all() else kept
        labels = target.coded[0][labelled].astype(np.int64)
    found = find_cut_points(discretizer, values[labelled], labels, weights[labelled])
    cut_points = {column.name: cuts for column, cuts in zip(continuous, found, strict=True)}
    warn_of_no_cuts(cut_points)
    return cut_points


def check_discretizer(discretizer: Any) -> None:
    """Refuse what is neither a rule's name, None nor a transformer."""
    known = discretizer in RULES if isinstance(discretizer, str) else hasattr(discretizer, "fit")
    if discretizer is not None and not known:
        raise TypeError(
            f"discretizer must be one of {', '.join(map(repr, RULES))}, None or a transformer with cut_points_ or "
            f"bin_edges_, not {discretizer!r}"
        )


def refuse_supervised(discretizer: Any) -> None:
    """Refuse a rule that looks at the class, for a table that has none."""
    rule = RULES[discretizer]() if isinstance(discretizer, str) else discretizer
    if get_tags(rule).target_tags.required:
        free = ", ".join(repr(name) for name, make in RULES.items() if not get_tags(make()).target_tags.required)
        raise ValueError(
            f"the discretizer {discretizer!r} looks at the class, and the table has none: use one of {free}, or "
            "scikit-learn's KBinsDiscretizer"
        )


def refuse_uncut(continuous: Sequence[Column], discretizer: Any) -> None:
    """Refuse continuous columns if ``discretizer=None`` leaves them uncut."""
    names = [column.name for column in continuous]
    if discretizer is None:
        quantity = continuous[0].quantity
        what = f"is numeric with more than {MANY_VALUES} distinct values"
        if quantity is not None:
            what = f"contains more than {MANY_VALUES} distinct {quantity.noun}"
        raise ValueError(
            f"column {names[0]!r} {what} "
            f"({counted(len(names), 'such column')}), and discretizer is None: use discretizer='auto', "
            "cut it yourself, or declare its states in categories="
        )


def warn_of_no_cuts(cut_points: Mapping[Hashable, Cuts]) -> None:
    """Warn if there are continuous columns and none of them has a cut point."""
    if cut_points and not any(map(len, cut_points.values())):
        n, first = len(cut_points), next(iter(cut_points))
        where = (
            f"the continuous column {first!r}" if n == 1 else f"any of the {n} continuous columns ({first!r}, ...)"
        )
        warn(
            f"no cut point was found in {where}, so {agreeing(n, 'it carries', 'they carry')} no information about "
            "the class; discretizer='median' cuts without looking at the class"
        )


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
    grouped = [
        column
        for column in columns
        if column.numbers is None
        and column.name not in declared
        and len(pd.unique(column.coded[0][kept & ~column.missing])) > most
    ]
    texts = [column for column in grouped if not (column.declared or column.categorical)]
    unread = [(column.name, advice) for column in texts if (advice := unread_advice(column.coded[1]))]
    if unread:
        name, advice = unread[0]
        more = f" ({len(unread) - 1} more such columns)" if len(unread) > 1 else ""
        warn(f"column {name!r}{more} is treated as categorical, and its values are grouped, although {advice}")
    return {column.name: group_values(column, labels, kept_weights) for column in grouped}


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
    """Refuse infinite numbers in the rows that are kept: cut points between finite numbers do not bound them."""
    for column in columns:
        infinite = kept & np.isinf(column.numbers) if column.numbers is not None else np.zeros(0, dtype=bool)
        if infinite.any():
            row = int(infinite.argmax())
            raise ValueError(
                f"column {column.name!r}, row {row}: {numbers_of(column)[row]} cannot be discretised; "
                "replace infinite values by finite ones or by missing cells"
            )


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
    numbers, unread = _read(column, quantity, "was numeric in fit and discretised, but now")
    codes = cut_codes(numbers, cuts)
    if len(unread):
        own, values = column.coded
        place = np.full(len(values) + 1, -1)
        place[unread] = np.arange(len(unread)) + len(names)
        codes = np.where(place[own] >= 0, place[own], codes)
        names = (*names, *(values[code] for code in unread))
    return Column(column.name, codes, names, declared=True, quantity=quantity)


def as_states(
    columns: Sequence[Column],
    weights: Weights,
    cut_points: Mapping[Hashable, Cuts],
    groups: Mapping[Hashable, Groups] | None = None,
) -> list[Column]:
    """Return training columns with intervals where they have cut points, and with the records of their values.

    A column that is neither cut nor grouped is returned as it is, with the codes of its values if they are known.
    """
    found = []
    for column in columns:
        cut = discretise(column, cut_points)
        record = record_of(column, weights, column.name in cut_points, (groups or {}).get(column.name))
        same = cut is column and record is None and column.record is None
        found.append(column if same else replace(cut, record=record, dummies=column.dummies))
    return found


def record_of(column: Column, weights: Weights, cut: bool, groups: Groups | None) -> ColumnRecord | None:
    """Return the record of a column that is cut, or whose values are grouped; None for any other column.

    Rows of weight 0 are ignored, as are cells that are missing or not finite.
    """
    if cut:
        numbers = numbers_of(column, column.quantity)
        kept = (weights > 0) & np.isfinite(numbers)
        if not kept.any():
            return None
        dtype = "int64" if numbers.dtype.kind in "iu" else "float64"
        return record_of_numbers(numbers[kept], weights[kept], dtype if column.quantity is None else "")
    if groups is None:
        return None
    codes, values = column.coded
    kept = (weights > 0) & ~column.missing
    found = plain_numbers(totals(codes[kept].astype(np.int64), weights[kept], len(values)))
    of_values = dict(zip(values, found, strict=True))
    members = tuple(value for group in groups for value in group)
    of_members = tuple(of_values.get(value, 0) for value in members)
    return ColumnRecord(members, of_members, dtype=column.categorical_dtype)


def numbers_of(
    column: Column,
    quantity: Quantity | None = None,
    known: str = "was numeric in fit and discretised, but now",
) -> npt.NDArray[np.number[Any]]:
    """Return the numbers of a column, NaN where missing, as a quantity has them if one is given.

    If the quantity was written as text, text that cannot be read is NaN, too.

    Raises
    ------
    ValueError
        For a value that is not a number, or not of the quantity; the message says why it should be one.
    """
    return _read(column, quantity, known)[0]


def _read(
    column: Column, quantity: Quantity | None, known: str
) -> tuple[npt.NDArray[np.number[Any]], npt.NDArray[np.intp]]:
    """Return the numbers of a column, and the codes of its texts that cannot be read."""
    none = np.empty(0, dtype=np.intp)
    if column.numbers is not None and column.quantity == quantity:
        return column.numbers, none
    plain = quantity is None or quantity.kind == "decimal"
    if column.numbers is not None and plain and (column.quantity is None or column.quantity.kind == "decimal"):
        return column.numbers, none
    if quantity is not None:
        known = f"contained {quantity.noun} in fit, but now"
        if column.numbers is not None and column.quantity is not None:
            try:
                return quantity.convert(np.asarray(column.numbers, dtype=np.float64), column.quantity), none
            except ValueError as error:
                raise ValueError(f"column {column.name!r} {known} {error}") from None
    codes, categories = column.coded
    values = np.full(len(categories) + 1, np.nan)
    unread = []
    for code, value in enumerate(categories):
        try:
            values[code] = _number(value) if quantity is None else quantity.number(value)
        except ValueError as error:
            if not isinstance(quantity, TextQuantity):
                raise ValueError(f"column {column.name!r} {known} {error}") from None
            unread.append(code)
    return values[np.where(codes < 0, -1, codes)], np.array(unread, dtype=np.intp)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"contains {value!r}: pass numbers") from None
