"""The distinct rows of a lazy frame as codes, and as a table whose columns are all discrete."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from anbexact._runtime.memory import available_memory
from anbexact._runtime.units import agreeing, human_bytes
from anbexact.tables.counted.counted_table import TooManyRowsError
from anbexact.tables.frames.columns import Codes, Column
from anbexact.tables.frames.lazy import CHANGED, Counts, Groups, LazySource
from anbexact.tables.missing import Categories, MissingClassError
from anbexact.tables.table import DiscreteTable, Weights, check_declared, table_from_columns
from anbexact.tables.vocabulary import UNKNOWN, CodeArray, Vocabulary, check_number_of_states

MEMORY_SHARE = 0.5
"""Share of the available memory that the distinct rows may fill."""
BYTES_PER_CELL, BYTES_PER_ROW = 6, 64
"""Bytes that a distinct row takes while a table is made of it: for each of its cells, and for the row itself."""


def lazy_table(
    X: Any,
    class_name: Any = None,
    *,
    sample_weight: Any = None,
    categories: Categories = None,
    handle_missing: str = "auto",
) -> DiscreteTable:
    """Count the table of a lazy frame whose columns are all discrete (see :meth:`DiscreteTable.from_frame`).

    ``class_name`` and ``sample_weight`` are names of columns.
    """
    source = LazySource.of(X, sample_weight)
    names = source.names(class_name)
    check_declared(categories, [*names, *([] if class_name is None else [class_name])])
    all_names = names if class_name is None else [*names, class_name]
    source = source.gathered(all_names)
    counted = [source.marginal([all_names[-1]])]
    counted += [source.counted_with([name], counted[0]) for name in all_names[:-1]]
    found = {str(groups.columns[0].name): groups.columns[0] for groups in counted}
    if class_name is not None:
        found[class_name] = refuse_unlabelled(found[class_name], counted[0].repeats)
    for groups in counted:
        refuse_undeclared(groups.columns[0], groups.repeats, categories)
    values = {name: column.coded[1] for name, column in found.items()}
    codes, weights, repeats = coded_rows(source, all_names, {}, values, counted[0])
    for groups in counted:
        column = groups.columns[0]
        j = all_names.index(str(column.name))
        check_values(column.name, codes[j], repeats, column.coded[0], groups.repeats)
    columns = [column_of_values(found[name], codes[j]) for j, name in enumerate(all_names)]
    target = None if class_name is None else columns.pop()
    return table_from_columns(
        columns, target, weights, categories=categories, handle_missing=handle_missing, repeats=repeats
    )


def coded_rows(
    source: LazySource,
    names: Sequence[str],
    keys: Mapping[str, Any],
    values: Mapping[str, Sequence[Hashable]],
    earlier: Groups,
) -> tuple[CodeArray, Weights, Counts]:
    """Return the distinct rows as positions of their values, with their weights and numbers of rows.

    Parameters
    ----------
    source, names, keys
        As in :meth:`LazySource.joint`.
    values : mapping of column to values
        The values that the column, or the key that replaces it, may have.
    earlier : Groups
        The result of an earlier query of the same rows.

    Returns
    -------
    codes : (columns, rows) int16
        Negative where the cell is missing.
    weights, repeats : (rows,)
        Total weight of each distinct row, and the number of rows that it stands for.

    Raises
    ------
    TooManyRowsError
        If the distinct rows need more than half of the available memory.
    ValueError
        If the rows changed since the earlier query.
    """
    for name in names:
        check_number_of_states(name, len(values[name]))
    places = {name: {value: k for k, value in enumerate(values[name])} for name in names}
    most = int(available_memory() * MEMORY_SHARE) // (BYTES_PER_CELL * len(names) + BYTES_PER_ROW)
    parts: list[tuple[CodeArray, Weights, Counts]] = []
    n_rows = 0
    for groups in source.joint(names, keys):
        n_rows += len(groups.weights)
        if n_rows > most:
            raise TooManyRowsError(
                f"of {int(earlier.repeats.sum()):,} rows, the lazy frame has more than {most:,} distinct rows of "
                f"states, which do not fit into memory ({human_bytes(available_memory())} is available): leave out "
                "columns, group their values with group_categories=, or cut them with a coarser discretizer="
            )
        codes = np.stack(
            [_positions(column, places[name]) for name, column in zip(names, groups.columns, strict=True)]
        )
        parts.append((codes, groups.weights, groups.repeats))
    weights = np.concatenate([weights for _, weights, _ in parts]) if parts else np.empty(0)
    repeats = np.concatenate([repeats for _, _, repeats in parts]) if parts else np.empty(0, dtype=np.int64)
    earlier.check_same(weights, repeats)
    return np.concatenate([codes for codes, _, _ in parts], axis=1), weights, repeats


def check_values(name: Hashable, codes: Codes, repeats: Counts, earlier: Codes, counted: Counts) -> None:
    """Refuse values that occur more or less often than in an earlier query.

    Parameters
    ----------
    name : Hashable
        The column.
    codes, repeats : (rows,)
        Positions of its values, negative where missing, and how many rows have each.
    earlier, counted : (values,)
        The values' own positions and numbers of rows in the earlier query.

    Raises
    ------
    ValueError
        If the numbers of rows differ: the frame's rows changed in between.
    """
    last = int(max(codes.max(initial=-1), earlier.max(initial=-1))) + 1
    now, before = (
        np.bincount(np.where(of < 0, last, of), numbers, last + 1)
        for of, numbers in ((codes, repeats), (earlier, counted))
    )
    if not np.array_equal(now, before):
        raise ValueError(CHANGED.format(f"other numbers of the values of {name!r}"))


def _positions(column: Column, places: Mapping[Hashable, int]) -> CodeArray:
    """Return the position of every cell among the values; negative where it is missing."""
    codes, categories = column.coded
    used = np.unique(codes[codes >= 0]).tolist()
    lookup = np.full(len(categories) + 1, -1, dtype=np.int16)
    try:
        lookup[used] = [places[categories[code]] for code in used]
    except KeyError:
        raise ValueError(CHANGED.format(f"other values of {column.name!r}")) from None
    return lookup[np.maximum(codes, -1)]


def column_of_values(column: Column, codes: npt.NDArray[np.int16]) -> Column:
    """Return a discrete column with the values of another column at these positions."""
    return Column(
        column.name,
        codes,
        column.coded[1],
        declared=column.declared,
        quantity=column.quantity,
        ordered=column.ordered,
    )


def refuse_unlabelled(target: Column, repeats: Counts) -> Column:
    """Return the class; refuse rows without one.

    Parameters
    ----------
    target : Column
        The class column, with its distinct values.
    repeats : (values,) int64
        Number of rows with each value.
    """
    if target.missing.any():
        raise MissingClassError(target.name, int(repeats[target.missing].sum()))
    return target


def refuse_undeclared(column: Column, repeats: Counts, categories: Categories) -> None:
    """Refuse values of a column that are not among its declared states; parameters as above."""
    if categories is None or column.name not in categories:
        return
    quantities = {} if column.quantity is None else {column.name: column.quantity}
    vocabulary = Vocabulary({column.name: tuple(categories[column.name])}, quantities=quantities)
    codes = vocabulary.encode(column)
    if (codes == UNKNOWN).any():
        value = column.take(np.flatnonzero(codes == UNKNOWN)[:1]).values()[0]
        n = int(repeats[codes == UNKNOWN].sum())
        raise ValueError(
            f"column {column.name!r} contains {value!r}, which is not a declared state "
            f"({n} such {agreeing(n, 'row', 'rows')}): declare it in categories= too, or leave out such rows"
        )
