"""Tables that are read from files and streams, or embedded; the choice of their columns, features and class."""

from __future__ import annotations

import argparse
import math
from collections.abc import Collection, Hashable, Iterable
from difflib import get_close_matches
from typing import Any

import pandas as pd

from anbexact._runtime.units import agreeing, counted
from anbexact.cli.cells import ANYTHING, MISSING_DOT, Expected, in_one_form, meant
from anbexact.cli.formats import ReadOptions, TableFile
from anbexact.cli.messages import InputError, listed, note
from anbexact.cli.row_counts import leave_out_identifiers, note_counts, repeat_rows
from anbexact.cli.sources import READ_ERRORS, Source


def open_table(args: argparse.Namespace) -> TableFile:
    """Return the table that the options name, unread; see :func:`anbexact.cli.options.add_reading`."""
    try:
        options = ReadOptions(args.format, args.sep, args.decimal, args.encoding, args.sheet)
        return TableFile(Source(args.data), options)
    except OSError as error:
        raise InputError(f"cannot read {args.data}: {error.strerror or error}") from None
    except READ_ERRORS as error:
        raise InputError(f"cannot read {args.data}: {' '.join(str(error).split())}") from None


def read_frame(file: TableFile, expected: Expected = ANYTHING, verbatim: Collection[str] | None = ()) -> pd.DataFrame:
    """Read a table, its cells as they stand in the file; see :meth:`anbexact.cli.formats.TableFile.frame`.

    The same cells make the same frame, whatever the format, once it is :func:`recognised`.

    Raises
    ------
    InputError
        If the file cannot be read, if it has no header or no rows, or if a column has no name or the name of another.
    """
    label = file.source.label
    try:
        frame = file.frame(expected, verbatim)
    except OSError as error:
        raise InputError(f"cannot read {label}: {error.strerror or error}") from None
    except READ_ERRORS as error:
        raise InputError(f"cannot read {label}: {' '.join(str(error).split())}") from None
    if not len(frame):
        raise InputError(f"{label} has column names, but no rows")
    return frame


def recognised(frame: pd.DataFrame, file: TableFile, expected: Expected) -> pd.DataFrame:
    """Return the columns of a table as numbers, booleans, dates or text; see :func:`~anbexact.cli.cells.meant`."""
    columns: dict[Hashable, pd.Series[Any]] = {}
    dotted: list[str] = []
    for name, column in frame.items():
        try:
            columns[name] = meant(column, expected, file.decimal, dotted, typed=file.typed)
        except TypeError:
            raise InputError(
                f"cannot read {file.source.label}: column {name!r} contains lists or records; split them into one "
                "column per part"
            ) from None
    if dotted:
        note(f"{MISSING_DOT!r} alone is read as a missing cell in {listed(dotted, 'column')}")
    return pd.DataFrame(columns, index=frame.index, columns=frame.columns)


def training_table(args: argparse.Namespace, *, unlabelled: bool = False) -> tuple[pd.DataFrame, pd.Series[Any], str]:
    """Return features, class and label of the table that ``args.data`` names, the columns chosen as the options say.

    The column of ``--weights`` stays with the features; rows are repeated as the column of ``--counts`` says. Rows
    without a class are left out, unless ``unlabelled`` is true. ``args.decimal`` becomes the file's decimal mark.
    """
    file = open_table(args)
    label = file.source.label
    expected = Expected(frozenset(name for text in args.text for name in (text, *text.split(","))))
    frame = read_frame(file, expected)
    find_columns(args.text, frame, "--text", label)
    weighting = [name for name in (args.weights, args.counts) if name is not None]
    frame = recognised(choose_columns(frame, args, label, (args.class_name, *weighting)), file, expected)
    if args.counts is not None:
        (counts,) = find_columns([args.counts], frame, "--counts", label)
        keep = getattr(args, "keep_identifiers", None)  # None: the command has no such option
        if not keep:
            advice = "" if keep is None else "; pass --keep-identifiers to use such columns"
            frame = leave_out_identifiers(frame, {counts, args.class_name} & set(frame), label, advice)
        frame = repeat_rows(frame, counts, label)
    elif args.weights is None:
        note_counts(frame, args.class_name, label)
    args.decimal = file.decimal
    X, y = features_and_class(frame, args.class_name, label, unlabelled=unlabelled)
    return as_categories(X, expected.texts), y, label


def as_categories(X: pd.DataFrame, names: Collection[Hashable]) -> pd.DataFrame:
    """Return features with the named ones as categories, so that their text is not read as numbers."""
    X = X.copy(deep=False)
    for name in X:
        if name in names:
            X[name] = X[name].astype("category")
    return X


def choose_columns(
    frame: pd.DataFrame, args: argparse.Namespace, label: str, always: Collection[str] = ()
) -> pd.DataFrame:
    """Return the columns that ``--columns`` and ``--drop`` leave; ``--columns`` need not name those of ``always``."""
    dropped = find_columns(args.drop, frame, "--drop", label)
    if gone := [name for name in always if name in dropped]:
        raise InputError(f"--drop {gone[0]}: this column is required")
    kept = list(frame)
    if args.columns:
        named = find_columns(args.columns, frame, "--columns", label)
        if both := [name for name in named if name in dropped]:
            raise InputError(f"{both[0]!r} is in both --columns and --drop")
        kept = [name for name in frame if name in named or name in always]
    return frame[[name for name in kept if name not in dropped]]


def find_columns(given: Iterable[str], frame: pd.DataFrame, option: str, label: str) -> list[str]:
    """Return the columns that an option names, each once; commas separate several names.

    Raises
    ------
    InputError
        For a name that no column has; the message suggests similar names.
    """
    known = list(map(str, frame))
    found: dict[str, None] = {}
    for text in given:
        names = [text] if text in known else [name.strip() for name in text.split(",")]
        for name in names:
            if name not in known:
                raise InputError(f"{option} {name}: {no_column(name, known, label)}")
            found[name] = None
    return list(found)


def no_column(name: str, known: Collection[str], label: str) -> str:
    """Return the message that there is no such column, with similar names, or else with all."""
    by_lower = {other.lower(): other for other in known}
    near = [by_lower[lower] for lower in get_close_matches(name.lower(), by_lower, n=3)]
    if near:
        return f"{label} has no column {name!r}; did you mean {' or '.join(map(repr, near))}?"
    hint = " (is another character the separator? --sep)" if len(known) == 1 else ""
    return f"{label} has no column {name!r}; its columns: {listed(known, '')}{hint}"


def features_and_class(
    frame: pd.DataFrame, class_name: str, label: str, *, unlabelled: bool = False
) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Split a table, leaving out the rows without a class, unless ``unlabelled`` is true."""
    if class_name not in frame:
        raise InputError(no_column(class_name, list(map(str, frame)), label))
    y = frame[class_name]
    absent = int(y.isna().sum())
    if absent == len(y):
        raise InputError(f"{label}: every cell of the column {class_name} is missing")
    lacking = f"{counted(len(y), 'row')} {agreeing(absent, 'has', 'have')}"
    if absent and unlabelled:
        them = agreeing(absent, "it", "them")
        note(f"{absent:,} of {lacking} a missing {class_name}; the network is learned from {them}, too")
        y = in_one_form(y[y.notna()]).astype(object).reindex(y.index)
    elif absent:
        note(f"{absent:,} of {lacking} a missing {class_name} and {agreeing(absent, 'is', 'are')} left out")
        frame, y = frame[y.notna()], in_one_form(y[y.notna()])
    return frame.drop(columns=class_name).reset_index(drop=True), y.reset_index(drop=True)


def take_weights(X: pd.DataFrame, args: argparse.Namespace, label: str) -> pd.Series[Any] | None:
    """Remove the column of weights from the features and return it, scaled if asked to; None without weights."""
    name = args.weights
    if name is None:
        if args.scale_weights:
            raise InputError("--scale-weights requires --weights COLUMN")
        return None
    if name not in X:
        raise InputError(f"--weights: {no_column(name, list(map(str, X)), label)}")
    weights = X.pop(name)
    if weights.dtype.kind not in "iuf":
        raise InputError(f"--weights: column {name!r} contains cells that are not numbers")
    if not args.scale_weights:
        return weights
    mean = weights[weights > 0].mean()
    return weights / mean if 0 < mean < math.inf else weights


def embedded_table(name: str) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return features and class of an embedded table; an unknown name becomes an `InputError`."""
    from anbexact.datasets import load_dataset

    try:
        return load_dataset(name)
    except ValueError as error:
        raise InputError(str(error)) from None
