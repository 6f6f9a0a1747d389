"""Tables in files from their grammars, and near valid files: every cell is read as it stands there, or the file is
refused.

Text with separators is read again by the csv module, workbooks by openpyxl, and Parquet by pyarrow. A cell may have
become a number, a boolean, a date or a missing cell only if its own text or value means that.
"""

import csv
import datetime
import io
import math
import warnings
import zipfile
from argparse import Namespace
from contextlib import redirect_stderr

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fuzzing import Record, cases, damaged, edited, rngs
from hypothesis import given
from hypothesis import strategies as st

from anbexact.cli.cells import ANYTHING, MISSING_DOT, TRUTH
from anbexact.cli.messages import InputError, noted_once
from anbexact.cli.tables import open_table, read_frame, recognised
from anbexact.tables.frames.text_quantities import MISSING_WORDS

NAMES = ["x", "size (cm)", "größe", "a,b", "1", 'say "no"', "two\nlines", "class"]
WORDS = ["a", "b", "yes, no", 'he said "x"', " blank ", "two\nlines", "ünder", "#1", "-", "0x10", "a;b", "True"]
KINDS = ("whole", "measure", "comma", "code", "word", "truth", "date", "mixed")
SEPARATORS = [",", ";", "\t", "|"]
CSV_TOKENS = r"\"[^\"]*\"|[,;\t|]|\r?\n|[^,;\t|\r\n\"]+|\""


def text_of(rng, kind):
    """Return the text of a cell."""
    if rng.random() < 0.1:
        return rng.choice([*MISSING_WORDS, ""])
    if kind == "mixed":
        kind = rng.choice(KINDS[:-1])
    number = rng.choice([0, 1, 7, -3, 12.5, 0.001, 1e300, 123456789012, 2.5e-7])
    return {
        "whole": lambda: str(rng.randint(-20, 300)),
        "measure": lambda: rng.choice([repr(number), f"{number:g}", f"+{abs(number)}", ".5", "1.", "1E3", "inf"]),
        "comma": lambda: f"{rng.randint(0, 999)},{rng.randint(0, 99)}",
        "code": lambda: f"{rng.randint(0, 999):05d}",
        "word": lambda: rng.choice(WORDS),
        "truth": lambda: rng.choice(list(TRUTH)),
        "date": lambda: f"2024-0{rng.randint(1, 9)}-{rng.randint(1, 31):02d}",
    }[kind]()


@st.composite
def texts(draw):
    """Names of columns, rows of texts, and what chooses how they are written."""
    rng = draw(rngs)
    names = rng.sample(NAMES, draw(st.integers(1, 5)))
    kinds = [rng.choice(KINDS) for _ in names]
    rows = [[text_of(rng, kind) for kind in kinds] for _ in range(draw(st.integers(1, 12)))]
    return names, rows, rng


def written(names, rows, rng):
    """Return a table as the bytes of text with separators, and the separator."""
    separator = rng.choice(SEPARATORS)
    file = io.StringIO()
    writer = csv.writer(
        file,
        delimiter=separator,
        quoting=rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
        lineterminator=rng.choice(["\n", "\r\n"]),
    )
    writer.writerows([names, *rows])
    text = file.getvalue()
    return text.encode(rng.choice(["utf-8", "utf-8-sig", "utf-16"])), separator


def read(path, separator=None):
    """Return the columns of a file, and how it was read; None and the message if it is refused as documented."""
    options = dict.fromkeys(("format", "decimal", "encoding", "sheet"))
    try:
        with warnings.catch_warnings(), noted_once(), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            file = open_table(Namespace(data=str(path), sep=separator, **options))
            return recognised(read_frame(file, ANYTHING), file, ANYTHING), file
    except InputError as error:
        return None, str(error)


def means(text, value, decimal):
    """Whether the text of a cell means a value."""
    bare = text.strip()
    if value is None or value is pd.NaT or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return bare in (*MISSING_WORDS, MISSING_DOT)
    if isinstance(value, bool | np.bool_):
        return TRUTH.get(bare) is bool(value)
    if isinstance(value, datetime.datetime):
        return pd.Timestamp(bare.replace("/", "-")) == value
    if isinstance(value, datetime.date):
        return datetime.date.fromisoformat(bare.replace("/", "-")) == value
    if isinstance(value, int | float | np.number):
        if decimal == ",":
            bare = bare.replace(".", "").replace(",", ".") if "," in bare else bare
        return float(bare) == float(value)
    return bare == str(value).strip()


def assert_cells(frame, names, rows, decimal):
    """Every cell means what its text means, and none is missing from the frame."""
    assert len(frame) == len(rows)
    named = [place for place, name in enumerate(names) if name.strip()]  # columns without a name are left out
    assert list(frame) == [names[place].strip() for place in named]
    for place, column in zip(named, frame, strict=True):
        for row, value in zip(rows, frame[column].tolist(), strict=True):
            assert means(row[place], value, decimal), (column, row[place], value)


def read_by_csv(content, separator):
    """Return names and rows as the csv module reads them, without blank lines, and without the names of R's rows."""
    for encoding in ("utf-16",) if content[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "cp1252", "latin-1"):
        try:
            text = content.decode(encoding).lstrip("\ufeff")
            break
        except UnicodeDecodeError:
            continue
    last = ""
    lines = (last := line for line in io.StringIO(text, newline=""))
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    names, *rows = [row for row in reader if row and (len(row) > 1 or last.strip(" \t\r\n"))]
    if separator != "," and rows and all(len(row) == len(names) + 1 for row in rows):
        rows = [row[1:] for row in rows]
    return names, rows


@pytest.fixture(scope="module", name="records")
def _records():
    records = {name: Record(name) for name in ("csv, grammar", "csv, near valid files", "xlsx", "parquet")}
    yield records
    for record in records.values():
        record.write()


@cases(300)
@given(table=texts())
def test_separated_text(records, table, tmp_path_factory):
    names, rows, rng = table
    content, separator = written(names, rows, rng)
    path = tmp_path_factory.getbasetemp() / "grammar.csv"
    path.write_bytes(content)
    with records["csv, grammar"].case() as outcome:
        frame, how = read(path, separator)
        if frame is None:
            assert path.name in how
            outcome.append("refused")
            return
        found, own = read_by_csv(content, separator)
        assert_cells(frame, found, own, how.decimal)
        outcome.append("accepted")


@cases(200)
@given(table=texts())
def test_separated_text_near_a_valid_one(records, table, tmp_path_factory):
    names, rows, rng = table
    content, separator = written(names, rows, rng)
    if content[:2] != b"\xff\xfe" and rng.random() < 0.6:
        content = edited(content.decode("utf-8"), CSV_TOKENS, rng).encode()
    else:
        content = damaged(content, rng)
    path = tmp_path_factory.getbasetemp() / "near.csv"
    path.write_bytes(content)
    with records["csv, near valid files"].case() as outcome:
        frame, how = read(path, separator)
        if frame is None:
            assert path.name in how
            outcome.append("refused")
            return
        found, own = read_by_csv(content, separator)
        assert_cells(frame, found, own, how.decimal)
        outcome.append("accepted")


def value_of(rng, kind):
    """Return the value of a cell of a typed file."""
    if rng.random() < 0.1:
        return None
    return {
        "whole": lambda: rng.randint(-20, 2**53),
        "measure": lambda: rng.choice([0.1, -2.5, 1e-7, 3.0, 1e20]),
        "word": lambda: rng.choice([*WORDS, "NA", "12", "2024-01-01", "00501"]),
        "truth": lambda: rng.random() < 0.5,
        "date": lambda: datetime.datetime(2024, 1, rng.randint(1, 28), rng.choice([0, 0, 13])),
    }[kind]()


TYPES = {
    "whole": [pa.int64(), pa.float64()],
    "measure": [pa.float64(), pa.float32()],
    "word": [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())],
    "truth": [pa.bool_()],
    "date": [pa.timestamp("us"), pa.timestamp("ms")],
}


@st.composite
def typed_tables(draw):
    """Names of columns with their kinds, and rows of values."""
    rng = draw(rngs)
    names = rng.sample(NAMES, draw(st.integers(1, 4)))
    kinds = {name: rng.choice(list(TYPES)) for name in names}
    rows = [[value_of(rng, kind) for kind in kinds.values()] for _ in range(draw(st.integers(1, 6)))]
    return kinds, rows, rng


def same(given_value, value, typed):
    """Whether a value was read as the one that the file has."""
    missing = value is None or value is pd.NaT or value is pd.NA or (isinstance(value, float) and math.isnan(value))
    if given_value is None or (isinstance(given_value, float) and math.isnan(given_value)):
        return missing
    if isinstance(given_value, str):
        return means(given_value, value, None) if not isinstance(value, bool | np.bool_) or not typed else False
    if missing:
        return False
    if isinstance(given_value, datetime.datetime):
        return pd.Timestamp(given_value) == pd.Timestamp(value)
    if isinstance(given_value, bool):
        return value in (given_value, str(given_value))
    if isinstance(value, str):  # a column of several types is text
        return float(value) == given_value
    return math.isclose(float(value), given_value, rel_tol=1e-7 if typed == "float32" else 0)


def opened(path):
    """Return a workbook as openpyxl reads it."""
    try:
        return openpyxl.load_workbook(path, data_only=True)
    except IndexError:  # a cell names a style that does not exist; then it has none
        return openpyxl.load_workbook(path, data_only=True, read_only=True)


@cases(50)
@given(table=typed_tables())
def test_workbooks(records, table, tmp_path_factory):
    kinds, rows, rng = table
    book = openpyxl.Workbook()
    book.active.append(list(kinds))
    for row in rows:
        book.active.append(row)
    path = tmp_path_factory.getbasetemp() / "grammar.xlsx"
    book.save(path)
    if rng.random() < 0.3:
        path.write_bytes(damaged(path.read_bytes(), rng))
    elif rng.random() < 0.4:
        edit_a_part(path, rng)
    with records["xlsx"].case() as outcome:
        frame, how = read(path)
        if frame is None:
            assert path.name in how
            outcome.append("refused")
            return
        cells = [list(row) for row in opened(path).worksheets[0].iter_rows(values_only=True)]
        names, *own = [row for row in cells if any(not blank(cell) for cell in row)]
        kept = [k for k, name in enumerate(names) if not blank(name)]  # columns without a name are left out
        assert [str(name).strip() for name in frame] == [str(names[k]).strip() for k in kept]
        for place, column in zip(kept, frame, strict=True):
            for row, value in zip(own, frame[column].tolist(), strict=True):
                assert same(None if blank(row[place]) else row[place], value, ""), (column, row[place], value)
        outcome.append("accepted")


def edit_a_part(path, rng):
    """Edit the XML of a part of a workbook, whose checksum is right then."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice([*parts, "xl/worksheets/sheet1.xml", "xl/workbook.xml"])
    parts[name] = edited(parts[name].decode(), r"<[^<>]*>|[^<>]+", rng).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for part, content in parts.items():
            archive.writestr(part, content)


def blank(cell):
    """Whether a cell of a workbook is missing, as one is whose date is out of range."""
    return cell is None or (isinstance(cell, str) and cell.strip() in ("", "#VALUE!"))


@cases(100)
@given(table=typed_tables())
def test_parquet(records, table, tmp_path_factory):
    kinds, rows, rng = table
    types = {name: rng.choice(TYPES[kind]) for name, kind in kinds.items()}
    columns = {
        name: pa.array([row[place] for row in rows], type=types[name], safe=False) for place, name in enumerate(kinds)
    }
    path = tmp_path_factory.getbasetemp() / "grammar.parquet"
    codec = rng.choice(["none", "snappy", "gzip"])
    pq.write_table(pa.table(columns), path, compression=codec, write_page_checksum=rng.random() < 0.5)
    if rng.random() < 0.4:
        path.write_bytes(damaged(path.read_bytes(), rng))
    with records["parquet"].case() as outcome:
        frame, how = read(path)
        if frame is None:
            assert path.name in how
            outcome.append("refused")
            return
        theirs = pq.read_table(path)
        assert [str(name).strip() for name in frame] == [name.strip() for name in theirs.column_names]
        for name, column in zip(theirs.column_names, frame, strict=True):
            kind = "float32" if pa.types.is_float32(theirs[name].type) else "typed"
            try:
                given = theirs[name].to_pylist()
            except OverflowError:  # a time beyond the years that Python's datetime knows
                given = theirs[name].to_pandas().tolist()
            for given_value, value in zip(given, frame[column].tolist(), strict=True):
                assert same(given_value, value, kind), (column, given_value, value)
        outcome.append("accepted")
