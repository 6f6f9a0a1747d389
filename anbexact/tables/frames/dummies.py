"""One-hot coded columns: found by their names and cells, and folded back into the columns that they code."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from math import log, log1p
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from anbexact._runtime.units import agreeing, counted
from anbexact._runtime.warn import warn
from anbexact.tables.frames.columns import Column
from anbexact.tables.frames.series import read_pandas

Dummies: TypeAlias = tuple[tuple[Hashable, str], ...]
"""The columns of zeros and ones that code one column: the name of each, and the value for which it is 1."""
SEPARATORS = "_=."
"""Characters between a column's name and its value, as written by pandas, scikit-learn, Polars and R."""
FEWEST_ROWS = 14
"""Minimum number of rows: two columns of coin tosses are complementary in so many rows with probability 2⁻¹⁴."""
CHANCE_PROBABILITY = 1e-4
"""Probability below which it is not chance that no two columns of a group are 1 in the same row."""
FIRST_ROWS = 1000
"""Rows that are looked at first, because most columns that do not belong together already show it there."""
MOST_NAMED = 5
"""Number of groups that a warning names."""
NONE = "(none)"
"""The value of rows in which no column of a group is 1, unless one of the columns has this name."""

Mask: TypeAlias = npt.NDArray[np.bool_]


def find_dummies(
    columns: Sequence[Column], kept: Mask, class_name: Hashable, declared: Collection[Hashable] = ()
) -> dict[Hashable, Dummies]:
    """Return the groups of columns that code one column each, by the name of this column.

    A group consists of all columns of zeros and ones whose names begin with the same text and one of the characters
    ``_ = .``, and at most one of which is 1 in every row. If there are rows in which none is 1 (the first category
    was dropped, or cells were missing), the columns could be separate flags. They are only a group if independent
    flags, which are 1 as often as these, would have no row with two ones with a probability below 10⁻⁴.

    Where names can be split at several places, as in ``home_owner_yes``, the largest group is taken, and the longest
    text that all its names begin with.

    Parameters
    ----------
    columns : sequence of Column
        The features.
    kept : (rows,) bool
        The rows that are learned from; with fewer than 14, only declared columns are found.
    class_name : Hashable
        The class, which no columns code.
    declared : collection
        Names that the user declares. A group with such a column is left as it is, and a group that codes a column
        with such a name is found even if it may be chance.
    """
    if not all(isinstance(column.name, str) for column in columns):
        return {}
    ones = {
        column.name: found for column in columns if not column.declared and (found := _ones(column, kept)) is not None
    }
    members: dict[str, list[str]] = {}
    for name in ones:
        for place, letter in enumerate(str(name)):
            if letter in SEPARATORS and 0 < place < len(str(name)) - 1:
                members.setdefault(str(name)[: place + 1], []).append(str(name))
    longest: dict[tuple[str, ...], str] = {}
    for beginning, of_beginning in sorted(members.items(), key=lambda item: len(item[0])):
        longest[tuple(of_beginning)] = beginning
    taken = {class_name, *(column.name for column in columns)}
    found_groups: dict[Hashable, Dummies] = {}
    for group, beginning in sorted(longest.items(), key=lambda item: -len(item[0])):
        name = beginning[:-1]
        if name in taken or not ones.keys() - set(declared) >= set(group):
            continue
        if not _is_coded([ones[member] for member in group], declared=name in declared):
            continue
        found_groups[name] = tuple((member, member[len(beginning) :]) for member in group)
        taken.add(name)
        for member in group:
            del ones[member]
    order = {column.name: place for place, column in enumerate(columns)}
    return dict(sorted(found_groups.items(), key=lambda item: order[item[1][0][0]]))


def report_dummies(dummies: Mapping[Hashable, Dummies], columns: Sequence[Column]) -> None:
    """Warn that columns are read as the columns that they code."""
    if not dummies:
        return
    by_name = {column.name: column for column in columns}
    shown = []
    for name, group in list(dummies.items())[:MOST_NAMED]:
        names = ", ".join(repr(member) for member, _ in group[:3])
        more = f" and {len(group) - 3} more" if len(group) > 3 else ""
        none = none_of(group)
        found = fold([by_name[member] for member, _ in group], {name: group})[0]
        also = f", {none!r} where all are 0" if none in found.coded[1] else ""
        shown.append(f"{name!r} (from {names}{more}{also})")
    rest = f"; and {counted(len(dummies) - MOST_NAMED, 'more column')}" if len(dummies) > MOST_NAMED else ""
    warn(
        f"one-hot coded columns are read as the columns that they code: {'; '.join(shown)}{rest}; pass "
        "fold_dummies=False to keep them apart"
    )


def warn_of_unnamed_dummies(columns: Sequence[Column], kept: Mask) -> None:
    """Warn of columns that look one-hot coded, but have no names from which to fold them back."""
    if np.count_nonzero(kept) < FEWEST_ROWS:
        return
    ones = [found for column in columns if (found := _ones(column, kept)) is not None and found.any()]
    if len(ones) < 3:
        return
    per_row = np.zeros(int(np.count_nonzero(kept)), dtype=np.int64)
    for of_column in ones:
        per_row += of_column
    if per_row[0] and len(ones) > per_row[0] and (per_row == per_row[0]).all():
        warn(
            f"{len(ones)} columns contain only 0 and 1, and {per_row[0]} of them {agreeing(per_row[0], 'is', 'are')} "
            "1 in every row: they look one-hot coded, but have no names from which they could be read as the columns "
            "that they code. Pass the table as it was before it was coded, or a DataFrame with the names that the "
            "encoder gives (get_feature_names_out)"
        )


def fold(columns: Sequence[Column], dummies: Mapping[Hashable, Dummies]) -> list[Column]:
    """Return columns in which every group is one column, at the place of the first column of the group.

    Its cells are the value of the column that is 1, ``"(none)"`` if all are 0, and missing if a cell is missing and
    no other is 1. If several are 1, the cell is the values of them all, joined by "and", which is no known state.
    A group of which columns are lacking stays as it is.

    Raises
    ------
    ValueError
        If a cell is neither 0 nor 1.
    """
    by_name = {column.name: column for column in columns}
    whole = {name: group for name, group in dummies.items() if all(member in by_name for member, _ in group)}
    first = {group[0][0]: name for name, group in whole.items()}
    gone = {member for group in whole.values() for member, _ in group}
    return [
        _folded(first[column.name], whole[first[column.name]], by_name) if column.name in first else column
        for column in columns
        if column.name not in gone or column.name in first
    ]


def folded_frame(frame: pd.DataFrame, dummies: Mapping[Hashable, Dummies]) -> pd.DataFrame:
    """Return a frame in which every group of columns that it has is one column of text; see :func:`fold`."""
    found = {}
    for name, group in dummies.items():
        members = [member for member, _ in group]
        if name not in frame and frame.columns.isin(members).sum() == len(members):
            (column,) = fold([read_pandas(frame[member], member) for member in members], {name: group})
            found[name] = column.values(), members
    for name, (values, members) in found.items():
        names: list[Hashable] = list(frame.columns)
        place = names.index(members[0])
        frame = frame.drop(columns=members)
        frame.insert(place, name, pd.Series(values, index=frame.index, dtype=object))
    return frame


def none_of(group: Dummies) -> str:
    """Return the value of rows in which no column of the group is 1."""
    name = NONE
    while name in [value for _, value in group]:
        name = f"{name[:-1]} of these)"
    return name


def _folded(name: Hashable, group: Dummies, columns: Mapping[Hashable, Column]) -> Column:
    """Return the column that a group codes."""
    n_rows = len(columns[group[0][0]])
    codes, missing = np.full(n_rows, len(group)), np.zeros(n_rows, dtype=bool)
    number = np.zeros(n_rows, dtype=np.int64)
    several: dict[int, str] = {}
    for place, (member, value) in enumerate(group):
        cells = _zeros_and_ones(columns[member], name)
        ones = cells == 1
        missing |= np.isnan(cells)
        for row in np.flatnonzero(ones & (number > 0)).tolist():
            several[row] = f"{several.get(row, group[codes[row]][1])} and {value}"
        codes[ones & (number == 0)] = place
        number += ones
    codes[(number == 0) & missing] = -1
    values = [*(value for _, value in group), none_of(group)]
    for row, text in several.items():
        if text not in values:
            values.append(text)
        codes[row] = values.index(text)
    seen = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=len(values)))
    renumbered = np.full(len(values) + 1, -1)
    renumbered[seen] = np.arange(len(seen))
    return Column(name, renumbered[codes], tuple(values[code] for code in seen), dummies=group)


def _zeros_and_ones(column: Column, coded: Hashable) -> npt.NDArray[np.float64]:
    """Return the cells of a column as 0 and 1, NaN where missing; refuse any others."""
    codes, values = column.coded
    known = np.array([*(_zero_or_one(value) for value in values), np.nan])
    strange = np.isnan(known[:-1])
    if strange.any():
        value = values[int(strange.argmax())]
        row = int((codes == int(strange.argmax())).argmax())
        raise ValueError(
            f"column {column.name!r}, row {row}: {value!r} is neither 0 nor 1, but in training this "
            f"column was one of those that code {coded!r}"
        )
    return known[codes]


def _zero_or_one(value: Any) -> float:
    """Return 0 or 1 for a number, a truth value or a text that means one of them, otherwise NaN."""
    text = str(value)
    return 1.0 if text in ("1", "1.0", "True") else 0.0 if text in ("0", "0.0", "False") else np.nan


def _ones(column: Column, kept: Mask) -> Mask | None:
    """Return in which of the rows kept the column is 1; None for a column of anything but zeros and ones."""
    if column.quantity is not None or column.missing.any():
        return None
    if column.numbers is None:
        codes, values = column.coded
        if len(values) > 2 or not all(isinstance(value, bool) for value in values):
            return None
        return np.asarray([*values, False], dtype=bool)[codes][kept]
    first = column.numbers[:FIRST_ROWS]
    if not ((first == 0) | (first == 1)).all():
        return None
    ones = column.numbers == 1
    return np.asarray(ones[kept]) if (ones | (column.numbers == 0)).all() else None


def _is_coded(ones: Sequence[Mask], *, declared: bool) -> bool:
    """Whether at most one of the columns is 1 in every row, and not by chance; see :func:`find_dummies`."""
    if not declared and (len(ones[0]) < FEWEST_ROWS or sum(map(np.any, ones)) < 2):
        return False
    for rows in (slice(FIRST_ROWS), slice(None)):
        number = np.zeros(len(ones[0][rows]), dtype=np.int64)
        for of_column in ones:
            number += of_column[rows]
        if (number > 1).any():
            return False
    if declared or number.all():
        return True
    shares = np.array([of_column.mean() for of_column in ones])
    at_most_one = float(np.log1p(-shares).sum() + log1p(float((shares / (1 - shares)).sum())))
    return len(number) * at_most_one < log(CHANCE_PROBABILITY)
