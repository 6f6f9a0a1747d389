"""Lazy frames as columns to learn from: the engine counts their values, and then their distinct rows.

One query for each column counts its values in every class. States, identifiers, cut points and groups of values
follow from these counts as they would from the rows. One more query counts the distinct rows, in which every value is
replaced by its state.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils.validation import validate_data

from anbexact._runtime.cached import cached_property
from anbexact._runtime.progress import Progress, progress_of
from anbexact._runtime.units import with_article
from anbexact.tables.counted.counted_table import MOST_CELLS, CountedTable, TooManyRowsError, blocks_of
from anbexact.tables.counted.lazy_table import (
    check_values,
    coded_rows,
    column_of_values,
    refuse_undeclared,
    refuse_unlabelled,
)
from anbexact.tables.cuts import Cuts, cut_codes, find_cut_points, interval_names
from anbexact.tables.cuts.continuous import (
    check_discretizer,
    continuous_columns,
    fit_groups,
    record_of,
    refuse_uncut,
    warn_of_no_cuts,
)
from anbexact.tables.frames.columns import Column
from anbexact.tables.frames.lazy import Groups as CountedGroups
from anbexact.tables.frames.lazy import LazySource
from anbexact.tables.frames.native_values import NARROW
from anbexact.tables.frames.records import ColumnRecord
from anbexact.tables.frames.text_quantities import TextQuantity
from anbexact.tables.identifiers import identifier_reason, may_miss, report_identifiers, warn_about_class
from anbexact.tables.incomplete import IncompleteTable
from anbexact.tables.labels import check_labels
from anbexact.tables.table import DiscreteTable, Weights, table_from_columns
from anbexact.tables.text_columns import Words, read_text, warn_of_words
from anbexact.tables.training import TrainingColumns, declared_states
from anbexact.tables.vocabulary import ANY_VALUE, LEFT_OUT, Groups, Vocabulary
from anbexact.tables.weights import apply_class_weight


@dataclass(frozen=True, kw_only=True)
class CountedColumns(TrainingColumns):
    """The training data of a lazy frame, counted by its engine: distinct rows with continuous columns cut.

    Attributes in addition to those of :class:`TrainingColumns`:

    repeats : (rows,) int64
        Number of rows of the frame that each row represents.
    cut_points : mapping
        The cut points of the columns that are cut.
    """

    repeats: npt.NDArray[np.int64]
    cut_points: Mapping[Hashable, Cuts]

    def table(self, cut_points: Mapping[Hashable, Cuts], measured: Collection[Hashable] = ()) -> DiscreteTable:
        """Return the table, whose columns are already cut."""
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
        """Raise an error, because the counts of a lazy frame have no rows to be completed."""
        raise TypeError(
            "missing cells of a lazy frame cannot be completed by expectation maximisation: choose another "
            "handle_missing, or collect the frame first"
        )

    def learned_weights(self, measured: Collection[Hashable]) -> Weights:
        """Raise an error, because continuous columns of a lazy frame can only be cut."""
        raise TypeError(
            "continuous columns of a lazy frame cannot be measured, since only its counts are read: use "
            "continuous='discretize', or collect the frame first"
        )


@dataclass(frozen=True)
class _Feature:
    """A feature, and how its values become states, as decided from their counts.

    Attributes
    ----------
    column : Column
        Its distinct values; a value may occur several times, once for each class.
    repeats : (values,) int64
        Number of rows with each value.
    key : narwhals expression, optional
        The expression that is counted in its place: the number of the interval or of the group, or the same value
        for all cells that are not missing.
    cuts, groups : optional
        Its cut points, or the groups of its values.
    record : ColumnRecord, optional
        The record of its values, if they are cut or grouped.
    """

    column: Column
    repeats: npt.NDArray[np.int64]
    key: Any = None
    cuts: Cuts | None = None
    groups: Groups | None = None
    record: ColumnRecord | None = None

    @property
    def values(self) -> Sequence[Hashable]:
        """The values that are counted: numbers of intervals or groups, or the column's own values."""
        if self.cuts is not None:
            return range(len(self.cuts) + 1)
        return self.column.coded[1] if self.groups is None else range(len(self.groups))

    @cached_property
    def positions(self) -> npt.NDArray[np.int16]:
        """The position in ``values`` of each of the column's values; negative where it is missing."""
        codes, values = self.column.coded
        if self.cuts is not None:
            assert self.column.numbers is not None
            found = np.full(len(codes), -1)
            found[~self.column.missing] = cut_codes(self.column.numbers[~self.column.missing], self.cuts)
            return found.astype(np.int16)
        if self.groups is None:
            return codes.astype(np.int16)
        place = {value: k for k, of in enumerate(self.groups) for value in of}
        return np.array([*(place[str(value)] for value in values), -1], dtype=np.int16)[codes]

    def coded(self, codes: npt.NDArray[np.int16]) -> Column:
        """Return the column whose cells are these positions in ``values``."""
        column = self.column
        if self.cuts is not None:
            names = interval_names(self.cuts, column.quantity)
            return Column(column.name, codes, names, declared=True, quantity=column.quantity, record=self.record)
        if self.groups is None:
            return column_of_values(column, codes)
        firsts = tuple(values[0] for values in self.groups)
        return Column(column.name, codes, firsts, ordered=column.ordered, record=self.record)


def counted_columns(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, classes: Any = None, named: Collection[Hashable] = ()
) -> CountedColumns:
    """Read a lazy frame for training, as the estimator's parameters say, by counting its values and rows.

    Parameters are those of :func:`~anbexact.tables.training.training_columns`, but ``y`` and ``sample_weight`` are
    names of columns. An estimator learns the same from the result as from the rows: exactly the same if the weights
    are whole numbers, and otherwise the same up to rounding of their sums.

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
    class_groups = source.marginal([y])
    target = refuse_unlabelled(class_groups.columns[0], class_groups.repeats)
    check_labels(target, class_groups.weights)
    categories = declared_states(estimator, names, y, classes)
    refuse_undeclared(target, class_groups.repeats, categories)
    warn_about_class(target, class_groups.weights, categories.get(y, ()), class_groups.repeats)
    target = target if target.quantity is None else Column(y, *target.coded)
    check_discretizer(estimator.discretizer)
    if getattr(estimator, "continuous", "discretize") not in (None, "discretize"):
        CountedColumns.learned_weights(None, ())  # type: ignore[arg-type]
    class_weight = getattr(estimator, "class_weight", None)
    scaled = apply_class_weight(class_weight, target, class_groups.weights, categories.get(y, ()))
    decided, dropped = _decided(estimator, source, class_groups, categories, {*categories, *named}, progress)
    if any(feature.key is not None for feature in decided.values()):
        _refuse_small_weights(source, class_groups, scaled)
    warn_of_no_cuts({name: feature.cuts for name, feature in decided.items() if feature.cuts is not None})
    groups: dict[Hashable, Groups] = {
        name: feature.groups for name, feature in decided.items() if feature.groups is not None
    }
    counting = _Counting(source, class_groups, target, decided, dropped, categories, groups, estimator)
    try:
        return counting.columns(names)
    except TooManyRowsError as error:
        refusal = str(error)
    return LargeColumns(
        [], target, np.empty(0), categories, groups, estimator.handle_missing, dropped,
        repeats=class_groups.repeats, cut_points=counting.cut_points, counting=counting, refusal=refusal,
    )  # fmt: skip


@dataclass(frozen=True)
class _Counting:
    """A lazy frame whose values were counted and whose states are decided, so that its distinct rows can be counted.

    Attributes
    ----------
    source, class_groups, target
        The rows, the counts of the classes, and the class column.
    decided : mapping
        The features, each with its cut points or groups.
    dropped, categories, groups : mapping
        As in :class:`TrainingColumns`.
    estimator
        The estimator that is fitted.
    """

    source: LazySource
    class_groups: CountedGroups
    target: Column
    decided: Mapping[str, _Feature]
    dropped: Mapping[Hashable, str]
    categories: Mapping[Hashable, Sequence[Any]]
    groups: Mapping[Hashable, Groups]
    estimator: Any

    @property
    def cut_points(self) -> dict[Hashable, Cuts]:
        """The cut points of the columns that are cut."""
        return {name: feature.cuts for name, feature in self.decided.items() if feature.cuts is not None}

    def columns(self, names: Sequence[str]) -> CountedColumns:
        """Return the distinct rows of some features and the class."""
        y = str(self.target.name)
        counted = [name for name in names if name not in self.dropped]
        features = [self.decided[name] for name in counted]
        keys = {str(feature.column.name): feature.key for feature in features if feature.key is not None}
        values = {str(feature.column.name): feature.values for feature in features}
        codes, weights, repeats = coded_rows(
            self.source, [*counted, y], keys, values | {y: self.target.coded[1]}, self.class_groups
        )
        of_columns = [*features, _Feature(self.target, self.class_groups.repeats)]
        for own_codes, feature in zip(codes, of_columns, strict=True):
            check_values(feature.column.name, own_codes, repeats, feature.positions, feature.repeats)
        own = column_of_values(self.target, codes[-1])
        left_out = np.zeros(len(weights), dtype=np.int8)
        place = {name: j for j, name in enumerate(counted)}
        columns = [
            self.decided[name].coded(codes[place[name]])
            if name in place
            else Column(name, left_out, (LEFT_OUT,), declared=True)
            for name in names
        ]
        class_weight = getattr(self.estimator, "class_weight", None)
        weights = apply_class_weight(class_weight, own, weights, self.categories.get(y, ()))
        groups: dict[Hashable, Groups] = {name: of for name, of in self.groups.items() if name in place}
        declared: dict[Hashable, Sequence[Any]] = {
            name: states for name, states in self.categories.items() if name in (*names, y)
        }
        cut_points: dict[Hashable, Cuts] = {n: cuts for n, cuts in self.cut_points.items() if n in place}
        return CountedColumns(
            columns, own, weights, declared, groups, self.estimator.handle_missing, self.dropped,
            repeats=repeats, cut_points=cut_points,
        )  # fmt: skip

    def part(self, names: Sequence[Hashable]) -> DiscreteTable:
        """Return the table of some features and the class.

        Raises
        ------
        ValueError
            If rows are left out because of missing cells, since which ones depends on the other features.
        """
        columns = self.columns([str(name) for name in names])
        table = columns.table(columns.cut_points)
        n_rows = int(self.class_groups.repeats.sum())
        if table.n_rows < n_rows:
            raise ValueError(
                f"the distinct rows do not fit into memory, and {n_rows - table.n_rows:,} of {n_rows:,} rows would "
                "be left out for missing cells, which cannot be counted a few columns at a time: use "
                "handle_missing='own_state', or fill in the cells"
            )
        return table


@dataclass(frozen=True, kw_only=True)
class LargeColumns(CountedColumns):
    """The training data of a lazy frame with too many distinct rows for memory, counted a few columns at a time.

    Attributes in addition to those of :class:`CountedColumns`, which has no rows here:

    counting : _Counting
        The frame, which counts some of its columns on demand.
    refusal : str
        The reason why the distinct rows are not in memory, for error messages.
    """

    counting: _Counting
    refusal: str

    def table(self, cut_points: Mapping[Hashable, Cuts], measured: Collection[Hashable] = ()) -> DiscreteTable:
        """Return a table that counts sets of variables on demand."""
        counting, names = self.counting, self.counting.source.names(self.target.name)
        arity: dict[Hashable, int] = {name: len(feature.values) + 1 for name, feature in counting.decided.items()}
        arity |= dict.fromkeys(self.dropped, 1) | {self.target.name: len(self.repeats)}
        blocks = blocks_of([frozenset([name, self.target.name]) for name in names], arity.__getitem__, MOST_CELLS)
        parts = [counting.part([name for name in names if name in block]) for block in blocks]
        found = {name: part.vocabulary for part in parts for name in part.vocabulary.names}
        states = {name: found[name].states[name] for name in (*names, self.target.name)}
        quantities = {name: quantity for part in parts for name, quantity in part.vocabulary.quantities.items()}
        own = {name for part in parts for name in part.vocabulary.own_missing}
        records = {name: record for part in parts for name, record in part.vocabulary.records.items()}
        vocabulary = Vocabulary(states, self.target.name, quantities, self.groups, own, records)
        refusal = (
            f"{self.refusal}. Only the counts of a few columns at a time are at hand. They are enough for "
            "NaiveBayesClassifier, TANClassifier, FANClassifier and KDBClassifier, and for ANBClassifier with a low "
            "max_parents, each with a number for ess or smoothing"
        )
        return CountedTable(
            vocabulary, parts[0].n_rows, parts, counting.part, refusal, progress_of(counting.estimator.verbose)
        )


def _decided(
    estimator: Any,
    source: LazySource,
    class_groups: CountedGroups,
    categories: Mapping[Hashable, Sequence[Any]],
    stay: Collection[Hashable],
    progress: Progress | None,
) -> tuple[dict[str, _Feature], dict[Hashable, str]]:
    """Count the values of every feature, decide on their states, and return also the features that are left out."""
    y = str(class_groups.columns[0].name)
    names = source.names(y)
    decided: dict[str, _Feature] = {}
    reasons: dict[Hashable, str] = {}
    present: set[Hashable] = set()
    words: Words = {}
    for k, name in enumerate(names):
        if progress is not None:
            progress("counting the values of columns", k / (len(names) + 1))
        counts = source.counted_with([name, y], class_groups)
        column, target = counts.columns
        if name not in categories:
            column = read_text(column, counts.weights > 0, estimator.decimal, words)
            counts = replace(counts, columns=[column, target])
        if getattr(estimator, "drop_identifiers", False) and name not in stay:
            reasons[name] = identifier_reason(column, counts.weights > 0, counts.repeats)
            if reasons[name] and estimator.handle_missing == "own_state" and may_miss(column, counts.weights > 0):
                present.add(name)
                value = nw.when(~source.cell(name).is_null()).then(nw.lit(ANY_VALUE))
                decided[name] = _Feature(column.presence(ANY_VALUE), counts.repeats, value)
            if reasons[name]:
                continue
        refuse_undeclared(column, counts.repeats, categories)
        weights = apply_class_weight(
            getattr(estimator, "class_weight", None), target, counts.weights, categories.get(y, ())
        )
        decided[name] = _feature(estimator, source, counts, weights, categories)
    if progress is not None:
        progress("counting the values of columns", 1.0)
    warn_of_words(words)
    return decided, report_identifiers(reasons, len(names), present)


def _feature(
    estimator: Any,
    source: LazySource,
    counts: CountedGroups,
    weights: Weights,
    categories: Mapping[Hashable, Sequence[Any]],
) -> _Feature:
    """Decide on the states of a feature, given the weights of its values in every class."""
    column, target = counts.columns
    name = str(column.name)
    if continuous_columns([column], np.ones(len(weights), dtype=bool), categories):
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
        number = interval_number(source.cell(name), source.dtypes[name], column, cuts)
        record = record_of(column, weights, cut=True, groups=None)
        return _Feature(column, counts.repeats, number, cuts, record=record)
    groups = fit_groups([column], target, weights, estimator.group_categories, categories).get(name)
    if groups is None:
        return _Feature(column, counts.repeats)
    record = record_of(column, weights, cut=False, groups=groups)
    number = group_number(source.cell(name), name, groups)
    return _Feature(column, counts.repeats, number, groups=groups, record=record)


def _refuse_small_weights(source: LazySource, class_groups: CountedGroups, weights: Weights) -> None:
    """Refuse weights that are all below 1, which cut rules could only scale with the weights of single rows.

    ``weights`` are those of the classes, class weights included.
    """
    target = class_groups.columns[0]
    factor = dict(zip(target.values(), (weights / class_groups.weights).tolist(), strict=True))
    labels, largest = source.largest_weights(str(target.name))
    if max(factor[label] * weight for label, weight in zip(labels.values(), largest.tolist(), strict=True)) < 1:
        raise ValueError(
            "no row of the lazy frame has a weight of 1 or more, class weights included: multiply the weights by a "
            "number, so that the largest is 1 or more"
        )


def interval_number(cell: Any, dtype: Any, column: Column, cuts: Cuts) -> Any:
    """Return the expression for the number of a cell's interval: how many intervals begin at or below the cell."""
    assert column.numbers is not None
    if isinstance(column.quantity, TextQuantity):
        codes, texts = column.coded
        of_text = np.full(len(texts), np.nan)
        of_text[codes[codes >= 0]] = column.numbers[codes >= 0]
        interval = cut_codes(of_text, cuts)
        of_intervals: list[list[str]] = [[] for _ in range(len(cuts) + 1)]
        for text, k in zip(texts, interval.tolist(), strict=True):
            if k >= 0:
                of_intervals[k].append(text)
        return group_number(cell, column.name, of_intervals)
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
        least = min(column.take(alike).values())
        if str(dtype) in NARROW:  # engines compare the cells in double precision
            least = float(NARROW[str(dtype)](least))
        number = number + (cell >= nw.lit(least)).cast(nw.Int16)
    missing = cell.is_null()
    if dtype.is_float():
        missing = missing | cell.is_nan()
    return nw.when(~missing).then(number)


def group_number(cell: Any, name: Hashable, groups: Sequence[Sequence[Any]]) -> Any:
    """Return the expression for the number of a cell's group; missing if no group has the cell.

    Raises
    ------
    TypeError
        If the values are not text, because each engine writes other values in its own way; the message names the
        column.
    """
    for value in (value for values in groups for value in values):
        if not isinstance(value, str):
            raise TypeError(
                f"column {name!r} contains {value!r}, {with_article(type(value).__name__)}, and many other such "
                "values, which a lazy frame cannot group: convert it to text, numbers or dates in the query"
            )
    cell = cell.cast(nw.String)
    number: Any = cell.is_null().cast(nw.Int32) * 0 - 1
    for k, values in enumerate(groups):
        number = number + cell.is_in(list(values)).cast(nw.Int32) * (k + 1)
    return nw.when(number >= 0).then(number)
