"""Frames of drawn rows: states as values in the units, and with the types, of the training table."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from anbexact._runtime.arrays import Floats
from anbexact._runtime.warn import warn
from anbexact.tables.cuts import Cuts
from anbexact.tables.vocabulary import CodeArray, Vocabulary

Mask = npt.NDArray[np.bool_]
NULLABLE: dict[str, Any] = {"int64": "Int64", "bool": "boolean"}
"""pandas' types of whole numbers and booleans with missing cells."""


def frame_of_codes(
    codes: CodeArray,
    vocabulary: Vocabulary,
    cut_points: Mapping[Hashable, Cuts],
    given: Mapping[Hashable, Any],
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Return rows of states as a frame of values.

    A state that is an interval or a group becomes one of its values, distributed as the training values within it
    (:meth:`~anbexact.tables.frames.records.ColumnRecord.numbers_within`), independently of the other columns. Columns
    whose training values are not known keep their intervals or groups, with a warning. Cells of columns that were
    left out in training are missing.

    Parameters
    ----------
    codes : (variables, rows) int16
        States of all variables, in the order of ``vocabulary.names``.
    vocabulary, cut_points
        The states, and the cut points of the columns that are cut.
    given : mapping
        Columns in which the value is the same in all rows: the number of one that is cut, or the member of a group.
    rng : Generator
        Source of the values within intervals and groups.

    Returns
    -------
    DataFrame
        One column for every variable, with these types: categorical columns and those of whole numbers, floats,
        booleans, datetimes, durations and periods as in training; dates, times of day and decimals as objects;
        numbers and dates that were text as text in the same notation.
    """
    found: dict[Hashable, pd.Series[Any]] = {}
    plain = []
    for name, own in zip(vocabulary.names, codes, strict=True):
        missing = np.asarray(own == vocabulary.missing_code(name))
        inner = name in cut_points or name in vocabulary.groups
        record = vocabulary.records.get(name)
        if name in vocabulary.left_out:
            column = pd.Series([None] * len(own), dtype=object)
        elif inner and (record is None or not record.values):
            column = _of_states(own, missing, vocabulary.observed_states(name), "ordered")
            plain.append(name)
        elif name in cut_points:
            column = _of_intervals(own, missing, name, vocabulary, cut_points[name], given, 1 - rng.random(len(own)))
        elif inner:
            column = _of_groups(own, missing, name, vocabulary, given, 1 - rng.random(len(own)))
        else:
            column = _of_states(own, missing, vocabulary.observed_states(name), record.dtype if record else "")
        found[name] = column
    if plain:
        are = "column" if len(plain) == 1 else f"{len(plain)} columns, among them"
        warn(
            f"the sample has intervals or groups instead of values in {are} {plain[0]!r}, because this model does "
            "not know how the training values are distributed within them: it comes from a file of an earlier "
            "version, from another program, or from without_rows. Fit again to draw values"
        )
    frame = pd.DataFrame(dict(enumerate(found.values())), index=range(codes.shape[1]))
    frame.columns = pd.Index(list(found), tupleize_cols=False)
    return frame


def _of_states(
    codes: npt.NDArray[np.integer[Any]], missing: Mask, values: tuple[Any, ...], dtype: str
) -> pd.Series[Any]:
    """Return a column of states."""
    if dtype:
        places = np.where(missing, -1, codes)
        categories = pd.CategoricalDtype(list(values), ordered=dtype == "ordered")
        return pd.Series(pd.Categorical.from_codes(places, dtype=categories))
    states = pd.Series(list(values), dtype=None if values else object)
    return _with_missing(states.take(codes[~missing].astype(np.intp)), missing)


def _of_intervals(
    codes: CodeArray,
    missing: Mask,
    name: Hashable,
    vocabulary: Vocabulary,
    cuts: Cuts,
    given: Mapping[Hashable, Any],
    uniforms: Floats,
) -> pd.Series[Any]:
    """Return a column of numbers, or of the values of a quantity, within intervals."""
    record, quantity = vocabulary.records[name], vocabulary.quantities.get(name)
    numbers = record.numbers_within(cuts, codes[~missing].astype(np.int64), uniforms[~missing])
    if name in given:
        numbers[:] = given[name]
    if quantity is not None:
        return _with_missing(quantity.series(numbers), missing)
    whole = record.dtype == "int64" and np.array_equal(numbers, np.rint(numbers))
    return _with_missing(pd.Series(numbers.astype(np.int64) if whole else numbers), missing)


def _of_groups(
    codes: CodeArray,
    missing: Mask,
    name: Hashable,
    vocabulary: Vocabulary,
    given: Mapping[Hashable, Any],
    uniforms: Floats,
) -> pd.Series[Any]:
    """Return a column of members of groups, drawn by their weights; equally probable in a group of weight 0."""
    record = vocabulary.records[name]
    sizes = [len(group) for group in vocabulary.groups[name]]
    first = np.cumsum([0, *sizes])
    weights = np.array(record.weights, dtype=np.float64)
    totals = np.add.reduceat(weights, first[:-1])
    below = np.concatenate([[0.0], np.cumsum(np.where(np.repeat(totals, sizes) > 0, weights, 1.0))])
    own = codes.astype(np.int64).clip(0, len(sizes) - 1)
    wanted = below[first[own]] + uniforms * (below[first[own + 1]] - below[first[own]])
    members = np.clip(np.searchsorted(below, wanted) - 1, first[own], first[own + 1] - 1)
    if name in given:
        members[:] = record.values.index(given[name])
    return _of_states(members, missing, record.values, record.dtype)


def _with_missing(values: pd.Series[Any], missing: Mask) -> pd.Series[Any]:
    """Return a column with these values where cells are not missing."""
    if not missing.any():
        return values.reset_index(drop=True)
    values = values.astype(NULLABLE.get(str(values.dtype), values.dtype))
    return values.set_axis(np.flatnonzero(~missing)).reindex(range(len(missing)))
