"""Lazy frames as columns to learn from: their values, and then their distinct rows, are counted where they are.

One query for each column counts its values in every class. From these counts follow states, identifiers, cut points
and groups of values, as they would from the rows. One more query counts the distinct rows of states.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils.validation import validate_data

from anbexact._runtime.progress import Progress, progress_of
from anbexact.discretize import Cuts, cut_codes, find_cut_points, interval_names
from anbexact.inputs.class_weights import apply_class_weight
from anbexact.inputs.continuous import (
    check_discretizer,
    continuous_columns,
    fit_groups,
    refuse_uncut,
    warn_of_no_cuts,
)
from anbexact.inputs.identifiers import identifier_reason, question_class, report_identifiers
from anbexact.inputs.labels import check_labels
from anbexact.inputs.training import TrainingColumns, declared_states
from anbexact.tables.columns import Column
from anbexact.tables.incomplete import IncompleteTable
from anbexact.tables.lazy import Groups as CountedGroups
from anbexact.tables.lazy import LazySource
from anbexact.tables.lazy_table import coded_rows, column_of_values, refuse_missing_class, refuse_undeclared
from anbexact.tables.table import DiscreteTable, Weights, table_from_columns
from anbexact.tables.vocabulary import LEFT_OUT, Groups


@dataclass(frozen=True, kw_only=True)
class CountedColumns(TrainingColumns):
    """What is learned from, counted where it is: distinct rows of states, continuous columns being cut already.

    Attributes beside those of :class:`TrainingColumns`:

    repeats : (rows,) int64
        How many rows of the frame each row stands for.
    cut_points : mapping
        The cut points of the columns that are cut.
    """

    repeats: npt.NDArray[np.int64]
    cut_points: Mapping[Hashable, Cuts]

    def table(self, cut_points: Mapping[Hashable, Cuts], measured: Collection[Hashable] = ()) -> DiscreteTable:
        """Return the table; its columns are cut already."""
        return table_from_columns(
            self.columns,
            self.target,
            self.weights,
            categories=self.categories,
            groups=self.groups,
            handle_missing=self.handle_missing,
            measured=measured,
            repeats=self.repeats,
        )

    def discretised(self, discretizer: Any) -> tuple[DiscreteTable, dict[Hashable, Cuts]]:
        """Return the table and the cut points."""
        return self.table(self.cut_points), dict(self.cut_points)

    def incomplete(self, discretizer: Any) -> tuple[DiscreteTable | IncompleteTable, dict[Hashable, Cuts]]:
        """Refuse: the counts of a lazy frame have no rows to be completed."""
        raise TypeError(
            "missing cells of a lazy frame cannot be completed by expectation maximisation: choose another "
            "handle_missing, or collect the frame first"
        )

    def learned_weights(self, measured: Collection[Hashable]) -> Weights:
        """Refuse: columns of a lazy frame are cut, not measured."""
        raise TypeError(
            "continuous columns of a lazy frame cannot be measured, since only its counts are read: use "
            "continuous='discretize', or collect the frame first"
        )


@dataclass(frozen=True)
class _Feature:
    """What was decided about a feature from the counts of its values.

    Attributes
    ----------
    column : Column
        Its distinct values, perhaps several times.
    key : narwhals expression, optional
        What is counted in its place: the number of its interval or of its group.
    cuts, groups : optional
        Its cut points, or the groups of its values.
    """

    column: Column
    key: Any = None
    cuts: Cuts | None = None
    groups: Groups | None = None

    @property
    def values(self) -> Sequence[Hashable]:
        """What is counted: numbers of intervals or groups, or the values themselves."""
        if self.cuts is not None:
            return range(len(self.cuts) + 1)
        return self.column.coded[1] if self.groups is None else range(len(self.groups))

    def coded(self, codes: npt.NDArray[np.int16]) -> Column:
        """Return the column of these positions in ``values``."""
        column = self.column
        if self.cuts is not None:
            names = interval_names(self.cuts, column.quantity)
            return Column(column.name, codes, names, declared=True, quantity=column.quantity)
        if self.groups is None:
            return column_of_values(column, codes)
        return Column(column.name, codes, tuple(values[0] for values in self.groups), ordered=column.ordered)


def counted_columns(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, classes: Any = None, named: Collection[Hashable] = ()
) -> CountedColumns:
    """Count what to learn from a lazy frame, as the estimator's parameters of reading say.

    Parameters are those of :func:`~anbexact.inputs.training.training_columns`, but ``y`` and ``sample_weight`` are
    names of columns. What is learned from the result is what would be learned from the rows: exactly, if the weights
    are whole numbers, and otherwise up to the rounding of their sums.

    Raises
    ------
    TypeError, ValueError
        For a frame that is not suitable for training, or that changes while it is read; the message names the column.
    """
    source = LazySource.of(X, sample_weight)
    names = source.names(y)
    if y is None:
        raise TypeError("y must be the name of the column of a lazy frame that is the class")
    validate_data(estimator, pd.DataFrame(columns=names), skip_check_array=True)
    progress = progress_of(estimator.verbose)
    source = source.gathered([*names, y])
    of_class = source.marginal([y])
    target = refuse_missing_class(of_class.columns[0], of_class.repeats)
    check_labels(target, of_class.weights)
    categories = declared_states(estimator, names, y, classes)
    refuse_undeclared(target, of_class.repeats, categories)
    question_class(target, of_class.weights, categories.get(y, ()), of_class.repeats)
    target = target if target.quantity is None else Column(y, *target.coded)
    check_discretizer(estimator.discretizer)
    if getattr(estimator, "continuous", "discretize") not in (None, "discretize"):
        CountedColumns.learned_weights(None, ())  # type: ignore[arg-type]
    class_weight = getattr(estimator, "class_weight", None)
    scaled = apply_class_weight(class_weight, target, of_class.weights, categories.get(y, ()))
    decided, dropped = _decided(estimator, source, of_class, categories, {*categories, *named}, progress)
    if any(feature.key is not None for feature in decided.values()):
        _refuse_small_weights(source, of_class, scaled)
    found: dict[Hashable, Cuts] = {
        name: feature.cuts for name, feature in decided.items() if feature.cuts is not None
    }
    warn_of_no_cuts(found)
    counted = [*decided, y]
    keys = {name: feature.key for name, feature in decided.items() if feature.key is not None}
    values = {name: feature.values for name, feature in decided.items()} | {y: target.coded[1]}
    codes, weights, repeats = coded_rows(source, counted, keys, values, of_class)
    place = {name: j for j, name in enumerate(counted)}
    own = column_of_values(target, codes[-1])
    columns = [
        Column(name, np.zeros(len(weights), dtype=np.int8), (LEFT_OUT,), declared=True)
        if name in dropped
        else decided[name].coded(codes[place[name]])
        for name in names
    ]
    weights = apply_class_weight(class_weight, own, weights, categories.get(y, ()))
    groups: dict[Hashable, Groups] = {
        name: feature.groups for name, feature in decided.items() if feature.groups is not None
    }
    return CountedColumns(
        columns, own, weights, categories, groups, estimator.handle_missing, dropped,
        repeats=repeats, cut_points=found,
    )  # fmt: skip


def _decided(
    estimator: Any,
    source: LazySource,
    of_class: CountedGroups,
    categories: Mapping[Hashable, Sequence[Any]],
    stay: Collection[Hashable],
    progress: Progress | None,
) -> tuple[dict[str, _Feature], dict[Hashable, str]]:
    """Count the values of every feature, and decide what they become; also the features that are left out."""
    y = str(of_class.columns[0].name)
    names = source.names(y)
    decided: dict[str, _Feature] = {}
    reasons: dict[Hashable, str] = {}
    for k, name in enumerate(names):
        if progress is not None:
            progress("counting the values of columns", k / (len(names) + 1))
        counts = source.counted_with([name, y], of_class)
        column, target = counts.columns
        if getattr(estimator, "drop_identifiers", False) and name not in stay:
            reasons[name] = identifier_reason(column, counts.weights > 0, counts.repeats)
            if reasons[name]:
                continue
        refuse_undeclared(column, counts.repeats, categories)
        weights = apply_class_weight(
            getattr(estimator, "class_weight", None), target, counts.weights, categories.get(y, ())
        )
        decided[name] = _feature(estimator, source, column, target, weights, categories)
    if progress is not None:
        progress("counting the values of columns", 1.0)
    return decided, report_identifiers(reasons, len(names))


def _feature(
    estimator: Any,
    source: LazySource,
    column: Column,
    target: Column,
    weights: Weights,
    categories: Mapping[Hashable, Sequence[Any]],
) -> _Feature:
    """Decide what the values of a feature become, from their weights in every class."""
    name = str(column.name)
    kept = np.ones(len(weights), dtype=bool)
    if continuous_columns([column], kept, categories):
        refuse_uncut([column], estimator.discretizer)
        assert column.numbers is not None
        numbers = np.asarray(column.numbers, dtype=np.float64)
        if np.isinf(numbers).any():
            raise ValueError(
                f"column {name!r} contains infinite values, which cannot be discretised: replace them by finite ones "
                "or by missing cells"
            )
        labels = target.coded[0].astype(np.int64)
        cuts = find_cut_points(estimator.discretizer, numbers[:, None], labels, weights)[0]
        return _Feature(column, _interval_number(source.cell(name), source.dtypes[name], column, cuts), cuts)
    groups = fit_groups([column], target, weights, estimator.group_categories, categories).get(name)
    if groups is None:
        return _Feature(column)
    return _Feature(column, _group_number(source.cell(name), groups), groups=groups)


def _refuse_small_weights(source: LazySource, of_class: CountedGroups, weights: Weights) -> None:
    """Refuse weights of which none reaches 1: rules for cut points and groups scale them by those of single rows.

    ``weights`` are those of the classes, class weights included.
    """
    target = of_class.columns[0]
    factor = dict(zip(target.values(), (weights / of_class.weights).tolist(), strict=True))
    labels, largest = source.largest_weights(str(target.name))
    if max(factor[label] * weight for label, weight in zip(labels.values(), largest.tolist(), strict=True)) < 1:
        raise ValueError(
            "no row of the lazy frame has a weight of 1 or more, class weights included: multiply the weights by a "
            "number, so that the largest is 1 or more"
        )


def _interval_number(cell: Any, dtype: Any, column: Column, cuts: Cuts) -> Any:
    """Return the expression of the number of a cell's interval: how many intervals' least values it reaches."""
    assert column.numbers is not None
    observed = np.flatnonzero(~column.missing)
    order = observed[np.argsort(column.numbers[observed], kind="stable")]
    numbers = column.numbers[order]
    codes = cut_codes(numbers, cuts)
    number: Any = cell.is_null().cast(nw.Int16) * 0
    for k in range(1, len(cuts) + 1):
        first = int(np.searchsorted(codes, k))
        if first == len(codes):
            break
        alike = order[numbers == numbers[first]]
        number = number + (cell >= nw.lit(min(column.take(alike).values()))).cast(nw.Int16)
    missing = cell.is_null()
    if dtype.is_float():
        missing = missing | cell.is_nan()
    return nw.when(~missing).then(number)


def _group_number(cell: Any, groups: Groups) -> Any:
    """Return the expression of the number of a cell's group."""
    cell = cell.cast(nw.String)
    number: Any = cell.is_null().cast(nw.Int32) * 0
    for k, values in enumerate(groups):
        if k:
            number = number + cell.is_in(list(values)).cast(nw.Int32) * k
    return nw.when(~cell.is_null()).then(number)
