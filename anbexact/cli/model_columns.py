"""The columns of a table that a fitted classifier reads: recognised, checked, and under its own names."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Hashable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from anbexact._runtime.units import agreeing, counted
from anbexact.cli.cells import Expected, is_text
from anbexact.cli.messages import InputError, listed, note
from anbexact.tables.frames.dummies import folded_frame
from anbexact.tables.frames.native_values import native
from anbexact.tables.frames.text_quantities import TextQuantity, meaning_of
from anbexact.tables.vocabulary import UNKNOWN

if TYPE_CHECKING:
    from anbexact.classifiers import DiscreteClassifier


Unknown: TypeAlias = dict[Hashable, tuple[int, Any]]
"""By feature, how many cells contain an unknown state, and the first of these."""


def names_as_text(classifier: DiscreteClassifier, path: str) -> dict[str, Hashable]:
    """Return the classifier's names of columns, by the texts that a file has for them."""
    vocabulary = classifier.vocabulary_
    names = {str(name): name for name in (*vocabulary.names, *vocabulary.columns)}
    if len(names) < len({*vocabulary.names, *vocabulary.columns}):
        raise InputError(f"{path}: two of its columns have the same name when written as text")
    return names


def expected_columns(
    classifier: DiscreteClassifier, names: Mapping[str, Hashable], texts: Collection[str]
) -> Expected:
    """Return how to read the columns of a table for a classifier; ``texts`` are those of the option ``--text``.

    A column whose states are texts is read as text, even if all of its states in this file look like numbers, and a
    text that is a state is read as that state. Columns of text that the classifier reads as numbers, dates or times
    stay as they are written.
    """
    vocabulary = classifier.vocabulary_
    values = {
        text: vocabulary.values(name)
        for text, name in names.items()
        if name in vocabulary.states and name not in classifier.cut_points_ and name not in vocabulary.left_out
    }
    states = {
        text: frozenset(value for value in of_column if isinstance(value, str)) for text, of_column in values.items()
    }
    of_text = [text for text, of_column in values.items() if all(isinstance(value, str) for value in of_column)]
    quantities = {text: vocabulary.quantities.get(name) for text, name in names.items()}
    written = {text: quantity for text, quantity in quantities.items() if isinstance(quantity, TextQuantity)}
    return Expected(frozenset([*of_text, *texts]), states, written)


def check_columns(
    frame: pd.DataFrame, classifier: DiscreteClassifier, args: argparse.Namespace, passed: list[str]
) -> None:
    """Refuse a table without all features, and note columns that are neither known nor passed through."""
    vocabulary = classifier.vocabulary_
    names = list(map(str, (*vocabulary.names, *vocabulary.columns)))
    needed = [
        column
        for name in vocabulary.features
        if str(name) not in frame and name not in vocabulary.left_out
        for column, _ in vocabulary.dummies.get(name, ((name, ""),))
    ]
    gone = [str(column) for column in needed if str(column) not in frame]
    if gone:
        raise InputError(f"{args.data} lacks {listed(gone, 'column')}, required by {args.model}")
    extra = [name for name in map(str, frame) if name not in names and name not in passed]
    if extra:
        note(f"ignoring {listed(extra, 'column')}, not used by {args.model}")


def features_of(frame: pd.DataFrame, classifier: DiscreteClassifier) -> pd.DataFrame:
    """Return the classifier's features, in its order and under its own names."""
    vocabulary = classifier.vocabulary_
    tolerant = classifier.reader_.handle_unknown == "marginalize"
    columns = {}
    frame = folded_frame(frame, vocabulary.dummies)
    for name in vocabulary.features:
        if name in vocabulary.left_out:  # its cells are not looked at, and need not be there
            columns[name] = pd.Series(None, index=frame.index, dtype=object)
            continue
        column = frame[str(name)]
        quantity = vocabulary.quantities.get(name)
        if isinstance(quantity, TextQuantity):
            columns[name] = _in_notation(column, quantity)
        elif name in classifier.cut_points_ and tolerant:
            columns[name] = _numbers(column)
        else:
            columns[name] = known_states(column, vocabulary.states[name])
    return pd.DataFrame(columns, index=frame.index, columns=list(vocabulary.features))


def known_states(column: pd.Series[Any], states: Any) -> pd.Series[Any]:
    """Return a column of text with its states in their own types: one odd cell makes a column of numbers text."""
    known = {str(state): state for state in states if not isinstance(state, str)}
    if not known or not is_text(column):
        return column
    cells = [known.get(cell, cell) if isinstance(cell, str) else cell for cell in column]
    return pd.Series(cells, index=column.index, name=column.name, dtype=object)


def _in_notation(column: pd.Series[Any], quantity: TextQuantity) -> pd.Series[Any]:
    """Return a column of text for the classifier: as numbers, with a note, if it has the other decimal mark."""
    codes, texts = pd.factorize(column, use_na_sentinel=True)
    meaning = meaning_of(list(texts), quantity.decimal)
    own = meaning.quantity
    if quantity.kind != "decimal" or own is None or own.kind != "decimal" or own.decimal == quantity.decimal:
        return column
    if not quantity.admits(own):
        return column
    note(f"column {column.name!r}: numbers such as {own.example} are read with another decimal mark than the model's")
    return pd.Series(np.append(meaning.numbers, np.nan)[codes], index=column.index, name=column.name)


def _numbers(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column of numbers in which all other cells are missing, with a note that counts these cells."""
    if not is_text(column):
        return column
    codes, texts = pd.factorize(column, use_na_sentinel=True)
    meaning = meaning_of(list(texts))
    if meaning.quantity is not None and meaning.quantity.kind == "decimal" and meaning.quantity.affixes == ("", ""):
        return pd.Series(np.append(meaning.numbers, np.nan)[codes], index=column.index, name=column.name)
    values = pd.to_numeric(column, errors="coerce")
    odd = values.isna() & column.notna()
    if values.notna().any() and odd.any():
        first, n_odd = column[odd].iloc[0], int(odd.sum())
        are = agreeing(n_odd, "is", "are")
        note(
            f"column {column.name!r}: {counted(n_odd, 'cell')} {are} not {agreeing(n_odd, 'a number', 'numbers')} "
            f"(first: {first!r}) and {are} summed out"
        )
        return values
    return column


def unknown_cells(classifier: DiscreteClassifier, X: pd.DataFrame, found: Unknown) -> None:
    """Add the cells of unknown states in some rows to those found in earlier rows."""
    unknown = classifier.reader_.codes(X) == UNKNOWN
    for j, name in enumerate(classifier.vocabulary_.features):
        if unknown[j].any():
            count, value = found.get(name, (0, native(X[name].iloc[int(unknown[j].argmax())])))
            found[name] = (count + int(unknown[j].sum()), value)


def note_unknown(classifier: DiscreteClassifier, unknown: Unknown) -> None:
    """Note which columns contain unknown states, because these are silently summed out."""
    for name in classifier.vocabulary_.features:
        if name in unknown:
            count, value = unknown[name]
            contain, are = agreeing(count, "contains", "contain"), agreeing(count, "is", "are")
            note(
                f"column {name!r}: {counted(count, 'cell')} {contain} an unknown state (first: {value!r}) and {are} "
                "summed out"
            )
