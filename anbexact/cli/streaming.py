"""Tables classified a part at a time, with the result that the whole table would have.

What a column of separated text is (text, whole numbers, others) is told from the first part. Where a later part shows
that the whole table would be read otherwise, the work is given up: the caller then reads the whole.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from anbexact.cli.cells import EXACT, Expected
from anbexact.cli.deciding import probabilities
from anbexact.cli.delimited import Dialect, parts_as, ragged
from anbexact.cli.messages import ChangedError, InputError, noted_once
from anbexact.cli.model_columns import Unknown, check_columns, features_of, known_states, note_unknown, unknown_cells
from anbexact.cli.record_batches import RecordBatches, UnlikeError
from anbexact.cli.tables import find_columns
from anbexact.cli.text_types import CODE
from anbexact.cli.writing import takes_parts, written_in_parts
from anbexact.tables.frames.text_quantities import TextQuantity

if TYPE_CHECKING:
    from anbexact.classifiers import DiscreteClassifier
    from anbexact.cli.formats import TableFile
    from anbexact.cli.sources import Source

PART_ROWS = 100_000
"""Rows of a part."""
LEAST_BYTES = 1 << 24
"""Size of a table from which it is read in parts."""
WORDS, TEXT, WHOLE, REAL = "words", "text", "whole numbers", "other numbers"
"""What columns are: text none of which is a number or a boolean is words."""
_DTYPES = {WORDS: "category", TEXT: str, WHOLE: str, REAL: "float64"}
"""As what pandas reads them; it would make numbers of categories that look like numbers, and booleans."""
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)

Answer = Callable[[npt.NDArray[np.float64]], tuple[Any, pd.DataFrame]]
"""Takes probabilities of classes; returns the predicted classes, and these with the columns that go with them."""
Accuracy = tuple[int, int]
"""How many rows have their class given, and how many of these are predicted right."""


def streams(args: argparse.Namespace, file: TableFile) -> bool:
    """Whether a table is read, and its answers written, a part at a time."""
    told = file.format in ("csv", "parquet") and not args.explain and takes_parts(args.output)
    return told and file.source.size >= LEAST_BYTES


def predicted_in_parts(
    args: argparse.Namespace,
    classifier: DiscreteClassifier,
    file: TableFile,
    names: Mapping[str, Hashable],
    expected: Expected,
    answer: Answer,
) -> Accuracy | None:
    """Write the answers to all rows; return None, and leave nothing behind, where the whole table must be read.

    ``names`` are the classifier's columns by what the file calls them.
    """
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), noted_once():  # what is given up is noted again
            found = _predicted(args, classifier, file, names, expected, answer)
    except ChangedError:
        raise
    except (UnlikeError, InputError, ValueError, TypeError, pd.errors.ParserWarning):
        return None  # reading the whole says what is wrong
    sys.stderr.write(said.getvalue())
    return found


def _predicted(
    args: argparse.Namespace,
    classifier: DiscreteClassifier,
    file: TableFile,
    names: Mapping[str, Hashable],
    expected: Expected,
    answer: Answer,
) -> Accuracy:
    source = file.source
    opened = _Text(source, file.dialect()) if file.format == "csv" else RecordBatches(source)
    if not all(opened.names):
        raise UnlikeError
    header = pd.DataFrame(columns=opened.names)
    find_columns(args.text, header, "--text", source.label)
    passed = opened.names if args.keep else find_columns(args.id, header, "--id", source.label)
    check_columns(header, classifier, args, passed)
    used = [name for name in opened.names if name in names]
    class_name = str(classifier.vocabulary_.class_name)
    unknown: Unknown = {}
    rows = given = right = 0
    with written_in_parts(args.output) as write:
        for known, beside in opened.parts(used, expected, passed, PART_ROWS):
            X = features_of(known, classifier)
            unknown_cells(classifier, X, unknown)
            predicted, answers = answer(probabilities(classifier, X, args))
            if any(name in answers for name in passed):
                raise UnlikeError
            write(answers if beside is None else pd.concat([beside, answers], axis=1))
            if class_name in known:
                truth = known_states(known[class_name], classifier.classes_.tolist())
                observed = truth.notna().to_numpy()
                given += int(observed.sum())
                right += int((truth[observed].to_numpy(dtype=object) == predicted[observed]).sum())
            rows += len(known)
        if not rows:
            raise UnlikeError
        file.check_unchanged()
    note_unknown(classifier, unknown)
    return given, right


@dataclass(frozen=True)
class _Text:
    """The parts of separated text."""

    source: Source
    dialect: Dialect

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return self.dialect.names

    def parts(
        self, used: Sequence[str], expected: Expected, passed: list[str], rows: int
    ) -> Iterator[tuple[pd.DataFrame, pd.DataFrame | None]]:
        """Yield the columns that are used, and those that are passed through, so many rows at a time."""
        of_text = expected.texts | expected.written.keys()
        first = next(parts_as(self.source, self.dialect, dict.fromkeys(of_text, str), expected, None, rows))
        kinds = {name: _kind(first[name], name in of_text) for name in used}
        dtypes = {name: _DTYPES[kinds[name]] if name in kinds else str for name in self.names}
        written: Iterator[pd.DataFrame | None] = repeat(None)
        if passed:
            written = parts_as(self.source, self.dialect, {}, expected, passed, rows)
        checked = False
        for part, beside in zip(
            parts_as(self.source, self.dialect, dtypes, expected, None, rows), written, strict=False
        ):
            if not checked and part.iloc[:, -1].isna().any():  # it is, where a row is too short
                checked = True
                if ragged(self.source, self.dialect) is not None:
                    raise UnlikeError
            if beside is not None and len(beside) != len(part):
                raise UnlikeError
            cells = {name: _cells(part[name], kind, expected) for name, kind in kinds.items()}
            if any(
                not _admits(quantity, cells[name]) for name, quantity in expected.written.items() if name in cells
            ):
                raise UnlikeError
            known = pd.DataFrame(cells, index=part.index).reset_index(drop=True)
            yield known, None if beside is None else beside[passed].reset_index(drop=True)


def _kind(column: pd.Series[Any], is_text: bool) -> str:
    """Return what a column holds."""
    if is_text:
        cells = column.dropna().drop_duplicates().astype(str)
        other = pd.to_numeric(cells, errors="coerce").notna() | cells.str.lower().isin(("true", "false"))
        return TEXT if other.any() else WORDS
    if column.dtype.kind not in "iuf":
        raise UnlikeError
    values = column.to_numpy(dtype=np.float64)
    values = values[~np.isnan(values)]
    return WHOLE if bool((values == np.rint(values)).all()) else REAL


def _cells(column: pd.Series[Any], kind: str, expected: Expected) -> pd.Series[Any]:
    """Return the cells of a column of this kind, as :func:`anbexact.cli.tables.recognised` would."""
    if kind == REAL:
        return column
    if kind == WORDS:
        if not all(isinstance(text, str) for text in column.cat.categories):  # pandas has made others of them
            raise UnlikeError
        codes, texts = column.cat.codes.to_numpy(), column.cat.categories.tolist()
    else:
        codes, uniques = pd.factorize(column)
        texts = list(uniques)
    if kind == WHOLE:
        return _whole_numbers(column, codes, texts)
    read = [*map(expected.text_reader(str(column.name)), texts), None]
    place = {text: k for k, text in enumerate(dict.fromkeys(text for text in read if text is not None))}
    lookup = np.array([-1 if text is None else place[text] for text in read], dtype=np.int64)
    cells = pd.Categorical.from_codes(lookup[codes], pd.Index(list(place), dtype=object))
    return pd.Series(cells, index=column.index, name=column.name)


def _admits(quantity: TextQuantity, cells: pd.Series[Any]) -> bool:
    """Whether a quantity can read all texts of a column."""
    try:
        for text in cells.cat.categories:
            quantity.number(text)
    except ValueError:  # perhaps the whole column has another decimal mark
        return False
    return True


def _whole_numbers(column: pd.Series[Any], codes: npt.NDArray[Any], texts: list[str]) -> pd.Series[Any]:
    if not all(_WHOLE.fullmatch(text) and not CODE.match(text) for text in texts):
        raise UnlikeError
    numbers = [int(text) for text in texts]
    if any(abs(number) >= EXACT for number in numbers):
        raise UnlikeError
    values = np.array([*numbers, 0], dtype=np.int64)[codes]
    gaps = codes < 0
    return pd.Series(pd.arrays.IntegerArray(values, gaps) if gaps.any() else values, index=column.index)
