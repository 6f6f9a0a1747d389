"""Tables of discrete variables: weighted rows of codes."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from anbexact._runtime.by_fields import ByFields
from anbexact._runtime.cached import cached_property
from anbexact.tables.frames.columns import Column
from anbexact.tables.frames.lazy import is_lazy
from anbexact.tables.frames.native_values import native, sorted_positions
from anbexact.tables.frames.reading import read_column, read_columns
from anbexact.tables.missing import (
    Categories,
    missing_cells,
    refuse_missing_class,
)
from anbexact.tables.row_codes import RowCodes, coded_rows, row_groups, totals, usable_rows
from anbexact.tables.vocabulary import CodeArray, Groups, Vocabulary, group_names, missing_label

if TYPE_CHECKING:
    from anbexact.tables.folds import Folding

Weights = npt.NDArray[np.float64]
DENSE_CELLS_PER_ROW = 8
"""Maximum number of cells per distinct row for which a contingency table is laid out completely."""
MOST_CELLS_KEPT, MOST_KEPT = 1_000, 250
"""Number of cells up to which their weights are kept for the next question, and number of such sets of variables."""


@dataclass(frozen=True, eq=False)
class DiscreteTable(ByFields):
    """Weighted rows of codes, in which equal rows are merged.

    Attributes
    ----------
    vocabulary : Vocabulary
        Names and states; column j of ``codes`` belongs to ``vocabulary.names[j]``.
    codes : (distinct rows, variables) int16
        The state of every variable in every row; rows are distinct and in lexicographic order.
    weights : (distinct rows,) float64
        Positive total weight of each distinct row.
    n_rows : int
        Number of rows of positive weight from which the table was made (without those left out for missing cells).
    folding : Folding or None
        The groups of rows that folds keep together; None if there are none.
    """

    vocabulary: Vocabulary
    codes: CodeArray
    weights: Weights
    n_rows: int
    folding: Folding | None = None

    @classmethod
    def from_frame(
        cls,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        categories: Mapping[Hashable, Sequence[Any]] | None = None,
        class_name: Hashable | None = None,
        handle_missing: str = "auto",
    ) -> DiscreteTable:
        """Read a table whose columns are all discrete.

        Parameters
        ----------
        X : eager dataframe (pandas, polars, pyarrow, ...), 2-d array or list of rows
            The features (and the class, if ``class_name`` names a column of X and ``y`` is None). Or a lazy frame
            (DuckDB, Polars, Dask, Ibis, PySpark), whose rows are counted where they are; ``y`` and ``sample_weight``
            are then names of its columns.
        y : series, array or list, optional
            The class of every row; its name is ``class_name``, otherwise the name of the series, otherwise
            ``"class"``.
        sample_weight : (rows,) array of numbers, optional
            Real weights, zero or more; rows of weight 0 are ignored.
        categories : mapping of column name to states, optional
            Declared states. By default, those of a categorical dtype, otherwise the observed values.
        class_name : Hashable, optional
            See ``X`` and ``y``.
        handle_missing : {"auto", "marginalize", "own_state", "error"}, default "auto"
            As in :class:`~anbexact.NetworkClassifier`; rows excluded because of a missing cell are left out.

        Returns
        -------
        DiscreteTable
            If rows were left out, a warning counts them.

        Raises
        ------
        TypeError, ValueError
            For input that is not a valid table; the message names the column and the value.
        """
        if is_lazy(X):
            from anbexact.tables.counted.lazy_table import lazy_table

            return lazy_table(
                X,
                class_name if y is None else y,
                sample_weight=sample_weight,
                categories=categories,
                handle_missing=handle_missing,
            )
        columns = read_columns(X)
        n_rows = len(columns[0])
        target = None
        if y is not None:
            target = read_column(y, class_name_of(y, [column.name for column in columns], class_name))
        elif class_name is not None:
            named = {column.name: column for column in columns}
            if class_name not in named:
                raise ValueError(f"no column is called {class_name!r}; the columns are {list(named)}")
            target = named[class_name]
            columns = [column for column in columns if column is not target]
        weights = check_weights(sample_weight, n_rows)
        refuse_missing_class(target, weights)
        return table_from_columns(columns, target, weights, categories=categories, handle_missing=handle_missing)

    @cached_property
    def weight_sum(self) -> float:
        """Total weight of all rows."""
        return float(self.weights.sum())

    @cached_property
    def _position(self) -> Mapping[Hashable, int]:
        return self.vocabulary.positions

    def __add__(self, other: DiscreteTable) -> DiscreteTable:
        """Return the rows of both tables, as if they had been read together.

        Observed states are merged, and declared ones must be the same; a ValueError names the variable that does not
        match. ``handle_missing="auto"`` is decided separately for each table, so set it explicitly.
        """
        if not isinstance(other, DiscreteTable):
            return NotImplemented
        vocabulary, codes, weights = rows_together(self, other)
        distinct, inverse = row_groups(codes.T, [vocabulary.arity(name) for name in vocabulary.names], len(codes))
        weight_sums = totals(inverse, weights, len(distinct))
        return DiscreteTable(vocabulary, np.asfortranarray(codes[distinct]), weight_sums, self.n_rows + other.n_rows)

    def without_class(self) -> DiscreteTable:
        """Return the same rows with the class as an ordinary variable."""
        return replace(self, vocabulary=replace(self.vocabulary, class_name=None))

    def restricted(self, names: Iterable[Hashable]) -> DiscreteTable:
        """Return the table of some variables, equal rows merged; if the class is among them, it remains the class."""
        chosen = set(names)
        kept = [name for name in self.vocabulary.names if name in chosen]
        first, inverse = row_groups([self.column(name) for name in kept], self.shape(kept), len(self.codes))
        places = [self._position[name] for name in kept]
        weights = np.bincount(inverse, self.weights, len(first)).astype(np.float64, copy=False)
        class_name = self.vocabulary.class_name if self.vocabulary.class_name in chosen else None
        states = {name: self.vocabulary.states[name] for name in kept}
        vocabulary = replace(self.vocabulary, states=states, class_name=class_name)
        return DiscreteTable(vocabulary, np.asfortranarray(self.codes[first][:, places]), weights, self.n_rows)

    def without_single_states(self, names: Iterable[Hashable]) -> DiscreteTable:
        """Return the table without these features, each of one state; its distinct rows stay distinct."""
        vocabulary = self.vocabulary.without(names)
        places = [self._position[name] for name in vocabulary.names]
        return replace(self, vocabulary=vocabulary, codes=self.codes.T[places].T)

    def foresee(self, sets: Iterable[Iterable[Hashable]]) -> None:
        """Prepare for questions about these sets of variables, all at once; there is nothing to prepare here."""

    def part(self, names: Iterable[Hashable]) -> DiscreteTable:
        """Return a table with the same counts of these variables, whose rows are in memory: this one."""
        return self

    def column(self, name: Hashable) -> CodeArray:
        """Return the codes of one variable, shape (distinct rows,)."""
        return self.codes[:, self._position[name]]

    def shape(self, names: Iterable[Hashable]) -> tuple[int, ...]:
        """Return the numbers of states of the named variables."""
        states = self.vocabulary.states
        return tuple([len(states[name]) for name in names])  # a list, as this is asked very often

    def counts(self, names: Sequence[Hashable]) -> npt.NDArray[np.float64]:
        """Return the weighted contingency table of the named variables, one axis each."""
        shape = self.shape(names)
        size = math.prod(shape)
        counts: Weights = np.bincount(self._flat(names), self.weights, minlength=size).astype(np.float64, copy=False)
        return counts.reshape(shape)

    def _flat(self, names: Sequence[Hashable]) -> npt.NDArray[np.int64]:
        """Return, for every distinct row, the flat position of its cell in the contingency table."""
        flat = self.column(names[0]).astype(np.int64) if names else np.zeros(len(self.codes), dtype=np.int64)
        for name in names[1:]:
            flat *= len(self.vocabulary.states[name])
            flat += self.column(name)
        return flat

    def cell_weights(self, names: Sequence[Hashable]) -> npt.NDArray[np.float64]:
        """Return the weights of the observed joint states of the named variables, in arbitrary order; read-only."""
        kept, key = self._kept_weights, tuple(names)
        if key in kept:
            return kept[key]
        if math.prod(self.shape(names)) <= DENSE_CELLS_PER_ROW * len(self.codes):
            counts = self.counts(names).ravel()
            found = counts[counts > 0]
        else:
            found = np.bincount(self.groups(names), self.weights).astype(np.float64, copy=False)
        found.flags.writeable = False
        if len(found) <= MOST_CELLS_KEPT and len(kept) < MOST_KEPT:
            kept[key] = found
        return found

    @cached_property
    def _kept_weights(self) -> dict[tuple[Hashable, ...], Weights]:
        """By variables, what :meth:`cell_weights` returned: searches ask again for the families of a structure."""
        return {}

    def observed_cells(self, names: Sequence[Hashable]) -> tuple[npt.NDArray[np.int64], Weights]:
        """Return the observed cells of the contingency table: ascending flat positions, and weights."""
        size = math.prod(self.shape(names))
        if size <= DENSE_CELLS_PER_ROW * len(self.codes):
            counts = self.counts(names).ravel()
            cells = np.flatnonzero(counts)
            return cells, counts[cells]
        cells, inverse = np.unique(self._flat(names), return_inverse=True)
        return cells, np.bincount(inverse, self.weights, len(cells)).astype(np.float64, copy=False)

    def groups(self, names: Sequence[Hashable]) -> npt.NDArray[np.int64]:
        """Return, for every distinct row, the number of its joint state of the named variables.

        Observed joint states are numbered from 0 in lexicographic order.
        """
        size = math.prod(self.shape(names))
        if size <= DENSE_CELLS_PER_ROW * len(self.codes):
            flat = self._flat(names)
            observed = np.zeros(size, dtype=bool)
            observed[flat] = True
            return (np.cumsum(observed) - 1)[flat]
        return row_groups([self.column(name) for name in names], self.shape(names), len(self.codes))[1]


def merged_table(rows: RowCodes) -> DiscreteTable:
    """Return rows as a table, in which equal rows are merged."""
    return DiscreteTable(rows.vocabulary, *rows.merged(), len(rows.weights))


def table_from_columns(
    columns: Sequence[Column],
    target: Column | None,
    weights: Weights,
    *,
    categories: Categories = None,
    groups: Mapping[Hashable, Groups] | None = None,
    handle_missing: str = "auto",
    measured: Collection[Hashable] = (),
    repeats: npt.NDArray[np.int64] | None = None,
) -> DiscreteTable:
    """Make a table from columns that are all discrete (see :meth:`DiscreteTable.from_frame`).

    If equal rows were merged before, ``repeats`` is the number of rows that each row represents. The other arguments
    are those of :func:`rows_from_columns`.
    """
    rows = rows_from_columns(
        columns,
        target,
        weights,
        categories=categories,
        groups=groups,
        handle_missing=handle_missing,
        measured=measured,
        repeats=repeats,
    )
    table = merged_table(rows)
    return table if repeats is None else replace(table, n_rows=int(repeats[rows.places].sum()))


def rows_from_columns(
    columns: Sequence[Column],
    target: Column | None,
    weights: Weights,
    *,
    categories: Categories = None,
    groups: Mapping[Hashable, Groups] | None = None,
    handle_missing: str = "auto",
    measured: Collection[Hashable] = (),
    repeats: npt.NDArray[np.int64] | None = None,
) -> RowCodes:
    """Return the rows of columns that are all discrete as codes of their states.

    If a column has ``groups``, these are its states. In the columns ``measured``, a missing cell cannot be a state of
    its own. If equal rows were merged before, ``repeats`` is the number of rows that each row represents. In
    rows without a class, the class has a state for missing cells, unless the caller refuses such rows.
    """
    groups = groups or {}
    names = [column.name for column in columns]
    if target is not None and target.name in names:
        raise ValueError(f"the class and a feature are both called {target.name!r}: rename one of them")
    check_declared(categories, [*names, *([target.name] if target is not None else [])])
    cells = missing_cells(columns, target, weights, categories, handle_missing, measured, groups, repeats)
    columns, target, weights, rows = usable_rows(columns, target, weights, cells)
    states = {column.name: _states(column, categories, groups) for column in columns}
    own = {column.name for column in columns if column.name in cells.own_state and column.missing.any()}
    if target is not None:
        class_states = _states(target, categories, {})
        states[target.name] = tuple(class_states[i] for i in sorted_positions(class_states))
        own |= {target.name} if target.missing.any() else set()
    states |= {name: (*states[name], missing_label(states[name], groups.get(name, ()))) for name in own}
    declared = {} if categories is None else categories
    quantities = {c.name: c.quantity for c in columns if c.quantity is not None and c.name not in declared}
    class_name = None if target is None else target.name
    all_columns = [*columns, *([target] if target is not None else [])]
    records = {c.name: record for c in all_columns if (record := c.dtype_record) is not None}
    dummies = {column.name: column.dummies for column in columns if column.dummies}
    vocabulary = Vocabulary(states, class_name, quantities, groups, own, records, dummies)
    advice = "declare it in categories= too, or leave out such rows"
    return coded_rows(vocabulary, all_columns, weights, rows, handle_missing, advice)


def class_name_of(y: Any, features: Sequence[Hashable], class_name: Hashable | None = None) -> Hashable:
    """Return the name of the class: the given name, else that of ``y``, else ``"class"``."""
    name: Hashable = class_name if class_name is not None else getattr(y, "name", None)
    if name is None or (isinstance(name, str) and not name):
        name = "class"
        while name in features:
            name += "_"
    return name


def check_weights(sample_weight: Any, n_rows: int) -> Weights:
    """Return the weights as a float array; all 1 when None.

    Raises
    ------
    ValueError
        For another shape, a negative, infinite or NaN weight (the first one is named), or a zero sum.
    """
    if sample_weight is None:
        return np.ones(n_rows)
    weights: Weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weights.shape}, expected ({n_rows},): one weight per row")
    bad = ~np.isfinite(weights) | (weights < 0)
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"sample_weight[{row}] is {weights[row]}: every weight must be a finite number, zero or more "
            f"({int(bad.sum())} of {n_rows} are not)"
        )
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not total <= 1e300:
        raise ValueError(f"sample_weight sums to {total}, which is too large: scale the weights down")
    if not weights.any():
        raise ValueError("every sample_weight is zero: there is no row to learn from")
    return weights


def check_declared(categories: Categories, names: Sequence[Hashable]) -> None:
    """Refuse declared states that are not a mapping, or that are for a column that does not exist."""
    if categories is None:
        return
    if not isinstance(categories, Mapping):
        raise TypeError(f"categories must map column names to lists of states, not be a {type(categories).__name__}")
    unknown = [name for name in categories if name not in names]
    if unknown:
        raise ValueError(f"categories names {unknown[0]!r}, but the columns are {list(names)}")


def _states(column: Column, categories: Categories, groups: Mapping[Hashable, Groups]) -> tuple[Any, ...]:
    """Return the states of a column: groups, else declared ones, else the observed values."""
    codes, values = column.coded
    if column.name in groups:
        return group_names(groups[column.name])
    if categories is not None and column.name in categories:
        return tuple(native(value) for value in categories[column.name])
    if column.declared:
        return values
    observed = np.zeros(len(values) + 1, dtype=bool)
    observed[codes] = True
    seen = tuple(value for value, is_seen in zip(values, observed[:-1], strict=True) if is_seen)
    return seen if column.ordered else tuple(seen[i] for i in sorted_positions(seen))


def united(first: Vocabulary, second: Vocabulary) -> Vocabulary:
    """Return the vocabulary of two tables of the same variables, in the order of the first.

    States that were only observed, and so are sorted, are united. Other states were declared and must be the same.

    Raises
    ------
    ValueError
        If the variables, the class or declared states differ; the message names the variable.
    """
    if set(first.names) != set(second.names):
        alone = next(
            name for name in (*first.names, *second.names) if (name in first.states) != (name in second.states)
        )
        raise ValueError(f"the tables do not have the same variables: {alone!r} is in one of them only")
    if first.class_name != second.class_name:
        raise ValueError(f"the tables have different classes: {first.class_name!r} and {second.class_name!r}")
    for name in first.names:
        for what, own, other in (
            ("unit", first.quantities.get(name), second.quantities.get(name)),
            ("groups of values", first.groups.get(name), second.groups.get(name)),
        ):
            if own != other:
                raise ValueError(
                    f"column {name!r} does not have the same {what} in both tables: read both with the same "
                    "classifier, or declare the same categories= for both tables"
                )
    states = {name: _united_states(name, first, second) for name in first.names}
    with_missing = first.own_missing | second.own_missing
    states |= {
        name: (*states[name], missing_label(states[name], first.groups.get(name, ()))) for name in with_missing
    }
    return replace(first, states=states, own_missing=with_missing)


def _united_states(name: Hashable, first: Vocabulary, second: Vocabulary) -> tuple[Any, ...]:
    """Return the states of a variable in two tables together, without the state of missing cells."""
    own, other = first.observed_states(name), second.observed_states(name)
    if own == other:
        return own
    if any(sorted_positions(states) != list(range(len(states))) for states in (own, other)):
        raise ValueError(
            f"column {name!r} has the states {own!r} in one table and {other!r} in the other, and not in ascending "
            "order: declare the same categories= for both tables"
        )
    together = list(dict.fromkeys([*own, *other]))
    return tuple(together[k] for k in sorted_positions(together))


def check_distinct(table: DiscreteTable, names: Sequence[Hashable]) -> None:
    """Refuse names that are not variables of a table, or are given twice."""
    unknown = [name for name in names if name not in table.vocabulary.states]
    if unknown:
        raise ValueError(
            f"{unknown[0]!r} is not a variable of the table; the variables are {list(table.vocabulary.names)}"
        )
    if len(set(names)) < len(names):
        raise ValueError(f"the variables {names!r} are not distinct")


def rows_together(first: DiscreteTable, second: DiscreteTable) -> tuple[Vocabulary, CodeArray, Weights]:
    """Return the vocabulary of both tables, and the codes and weights of their rows; equal rows stay apart.

    Codes have the shape (rows, variables). Errors as in :func:`united`.
    """
    vocabulary = united(first.vocabulary, second.vocabulary)
    codes = np.concatenate([_recoded(first, vocabulary), _recoded(second, vocabulary)])
    return vocabulary, codes, np.concatenate([first.weights, second.weights])


def _recoded(table: DiscreteTable, vocabulary: Vocabulary) -> CodeArray:
    """Return the codes of a table's rows by another vocabulary."""
    columns = []
    for name in vocabulary.names:
        place = {state: code for code, state in enumerate(vocabulary.observed_states(name))}
        of_own = [place[state] for state in table.vocabulary.observed_states(name)]
        if name in table.vocabulary.own_missing:
            of_own.append(vocabulary.missing_code(name))
        columns.append(np.array(of_own, dtype=np.int16)[table.column(name)])
    return np.stack(columns, axis=1)
