"""The universal measure of a frame: the partitions of its columns, and the resulting score."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from anbexact._runtime.json_values import register_object
from anbexact.scores.universal import Universal, most_levels
from anbexact.tables.cuts import PartitionRule, QuantilePartition
from anbexact.tables.cuts.continuous import as_states, continuous_columns, numbers_of, refuse_infinite
from anbexact.tables.frames.columns import Column
from anbexact.tables.frames.reading import read_column, read_columns
from anbexact.tables.missing import missing_cells, refuse_missing_class
from anbexact.tables.partitions import NestedPartition
from anbexact.tables.table import DiscreteTable, Weights, check_weights, class_name_of, table_from_columns
from anbexact.tables.text_columns import as_meant


@register_object
@dataclass(frozen=True)
class UniversalMeasure:
    """Settings of a universal measure, which models continuous columns by a mixture of finer and coarser intervals.

    See :class:`~anbexact.scores.Universal` for the measure.

    Parameters
    ----------
    partitions : mapping of column name to PartitionRule
        Rules for columns of your choice; :class:`~anbexact.tables.cuts.QuantilePartition` for all other columns of
        numbers with more than 10 distinct values. A column that is named here counts as continuous even if it has few
        values.
    levels, epsilon
        Those of :class:`~anbexact.scores.Universal`.

    Raises
    ------
    TypeError
        If ``partitions`` does not map names to rules.
    ValueError
        As :class:`~anbexact.scores.Universal`.

    Examples
    --------
    >>> import numpy as np
    >>> from anbexact import UniversalMeasure, learn_gbn
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=300)
    >>> y = x + rng.normal(size=300)
    >>> z = y + rng.normal(size=300)
    >>> table, score = UniversalMeasure().read(np.column_stack([x, y, z]), x > 0)
    >>> learn_gbn(table, score).certificate.optimal
    True
    """

    partitions: Mapping[Hashable, PartitionRule] = field(default_factory=dict)
    levels: int | None = None
    epsilon: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", Universal({}, self.levels, self.epsilon).levels)
        if not isinstance(self.partitions, Mapping):
            raise TypeError(f"partitions must map column names to rules, not be a {type(self.partitions).__name__}")
        for name, rule in self.partitions.items():
            if not isinstance(rule, PartitionRule):
                raise TypeError(f"the partition of {name!r} must be a rule such as QuantilePartition(), not {rule!r}")
        object.__setattr__(self, "partitions", dict(self.partitions))

    def __hash__(self) -> int:
        return hash((frozenset(self.partitions.items()), self.levels, self.epsilon))

    def read(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        categories: Mapping[Hashable, Sequence[Any]] | None = None,
        class_name: Hashable | None = None,
        handle_missing: str = "auto",
    ) -> tuple[DiscreteTable, Universal]:
        """Return the table of a frame, with continuous columns as cells of their finest level, and the score for it.

        Parameters and errors are those of :meth:`~anbexact.DiscreteTable.from_frame`, with two exceptions: the class,
        if there is one, is ``y``, and a missing cell of a continuous column cannot be a state.

        Raises
        ------
        ValueError
            In addition, for a value that the rule of a column does not admit.
        """
        columns = read_columns(X)
        weights = check_weights(sample_weight, len(columns[0]))
        target = None
        if y is not None:
            target = read_column(y, class_name_of(y, [column.name for column in columns], class_name))
        elif class_name is not None:
            raise ValueError(f"class_name={class_name!r} names y, which is not given")
        refuse_missing_class(target, weights)
        columns = [column.exactly(weights > 0) for column in as_meant(columns, weights > 0, categories or {})]
        measured = self.measured(columns, weights, categories or {})
        cells = missing_cells(columns, target, weights, categories, handle_missing, measured)
        score = self.fit(columns, weights * ~cells.incomplete, categories or {}, measured)
        cut_points = {name: partition.finest for name, partition in score.partitions.items()}
        own = as_states(columns, weights, cut_points)
        table = table_from_columns(
            own, target, weights, categories=categories, handle_missing=handle_missing, measured=measured
        )
        return table, score

    def measured(
        self, columns: Sequence[Column], weights: Weights, declared: Collection[Hashable]
    ) -> frozenset[Hashable]:
        """Return the columns that are continuous in the rows of positive weight, or have a partition."""
        found = {column.name for column in continuous_columns(columns, weights > 0, declared)}
        return frozenset(found.union(self.partitions))

    def fit(
        self,
        columns: Sequence[Column],
        weights: Weights,
        declared: Collection[Hashable],
        measured: Collection[Hashable],
    ) -> Universal:
        """Return the score, with the partitions of the columns ``measured``; rows of weight 0 are ignored."""
        unknown = [name for name in self.partitions if name not in {column.name for column in columns}]
        if unknown:
            raise ValueError(
                f"partitions names {unknown[0]!r}, but the columns are {[column.name for column in columns]}"
            )
        twice = [name for name in self.partitions if name in declared]
        if twice:
            raise ValueError(
                f"column {twice[0]!r} has declared states and a partition: leave it out of one of the two"
            )
        continuous = [column for column in columns if column.name in measured]
        refuse_infinite(continuous, weights > 0)
        levels = most_levels(1, float(weights.sum())) if self.levels is None else self.levels
        return Universal(
            {column.name: self._partition(column, weights, levels) for column in continuous},
            self.levels,
            self.epsilon,
        )

    def _partition(self, column: Column, weights: Weights, levels: int) -> NestedPartition:
        """Return the partition of a column."""
        rule = self.partitions.get(column.name, QuantilePartition())
        if (
            column.quantity is not None
            and column.quantity.kind != "decimal"
            and not isinstance(rule, QuantilePartition)
        ):
            raise ValueError(
                f"column {column.name!r} contains {column.quantity.noun}, whose units depend on the rows: the "
                f"partition of such a column must be QuantilePartition(), not {rule!r}"
            )
        numbers = np.asarray(numbers_of(column, column.quantity, "is given a partition, but"), dtype=np.float64)
        observed = (weights > 0) & ~np.isnan(numbers)
        return rule.fit(column.name, numbers[observed], weights[observed], levels)
