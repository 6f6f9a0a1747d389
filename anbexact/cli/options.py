"""Options and help texts that several commands have."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from anbexact.cli.delimited import SEPARATORS
from anbexact.cli.formats import FORMATS
from anbexact.tables.frames.text_quantities import MISSING_WORDS
from anbexact.tables.frames.written_numbers import DECIMAL_MARKS

DATA_HELP = (
    "a table with column names: CSV, TSV or text with another separator, JSON, Parquet, Feather or Excel (.xlsx), "
    "each also compressed (.gz, .bz2, .xz, .zip); - for standard input"
)
MISSING_HELP = (
    "missing cells: marginalize leaves their rows out of training and sums them out at prediction, own_state treats "
    "them as a state, auto (the default) chooses between the two for each column, error refuses them; "
    "em completes them as the network itself expects (networks with conditional tables)"
)


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a table is read; :func:`anbexact.cli.tables.open_table` takes them."""
    group = parser.add_argument_group("how to read DATA (by default, inferred from its name and content)")
    group.add_argument("--format", choices=tuple(FORMATS), help="the format of DATA; csv: text with any separator")
    group.add_argument(
        "--sep",
        type=_separator,
        metavar="C",
        help=f"the separator of text: a character, or one of the words {', '.join(SEPARATORS)}",
    )
    group.add_argument(
        "--decimal",
        choices=DECIMAL_MARKS,
        metavar="C",
        help="the decimal mark of numbers, . or , (default: found for each column)",
    )
    group.add_argument("--encoding", metavar="NAME", help="the encoding of text: utf-8, utf-16, cp1252, latin-1, ...")
    group.add_argument("--sheet", metavar="NAME", help="the sheet of an Excel workbook; by default the first")
    group.add_argument(
        "--text",
        action="append",
        default=[],
        metavar="COLUMN",
        help="read this column as text even if its cells look like numbers or dates, as in postal codes; repeatable",
    )
    group.description = f"Missing cells: empty, {', '.join(MISSING_WORDS[1:])}."


def add_choosing(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose columns."""
    group = parser.add_argument_group("which columns are features (by default, all except the class)")
    group.add_argument(
        "--drop", action="append", default=[], metavar="COLUMN[,...]", help="leave out these columns; repeatable"
    )
    group.add_argument(
        "--columns", action="append", default=[], metavar="COLUMN[,...]", help="use only these columns; repeatable"
    )


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add the options of every command that learns."""
    parser.add_argument(
        "--threads", type=_number_of("threads"), metavar="N", help="number of threads (default: one per processor)"
    )
    add_workers(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Add the option of the commands that divide their work."""
    parser.add_argument(
        "--workers",
        type=_number_of("workers"),
        default=1,
        metavar="N",
        help="number of processes among which models, folds and other independent work are divided (default 1)",
    )


def add_weights(parser: argparse._ActionsContainer) -> None:
    """Add the options of the commands that take weights or counts of rows."""
    either = parser.add_mutually_exclusive_group()
    either.add_argument(
        "--weights", metavar="COLUMN", help="a column with the weight of every row; it is not used as a feature"
    )
    parser.add_argument(
        "--scale-weights",
        action="store_true",
        help="divide the weights by their mean, so that they add up to the number of rows, as a survey's should",
    )
    either.add_argument(
        "--counts",
        metavar="COLUMN",
        help="a column that says how many equal rows a row stands for, as in a table of counts",
    )


def weighted_by(args: argparse.Namespace) -> str:
    """Return what a title says about weights or counts, after the number of rows."""
    if args.counts is not None:
        return f", counted by {args.counts}"
    return "" if args.weights is None else f", weighted by {args.weights}"


def number_or_auto(text: str) -> float | str:
    """Return the value of an option that is a number or ``auto``."""
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor auto") from None


def numbers_or_auto(text: str) -> float | str | tuple[float, ...]:
    """Return the value of an option that is a number, several with commas between them, or ``auto``."""
    return numbers(text) if "," in text else number_or_auto(text)


def numbers(text: str) -> float | tuple[float, ...]:
    """Return the value of an option that is a number, or several with commas between them."""
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a number nor several numbers separated by commas"
        ) from None
    return values if len(values) > 1 else values[0]


def seconds_or_none(text: str) -> float | None:
    """Return the value of the time limit."""
    if text == "none":
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number of seconds above 0 nor none")
    return seconds


def size(text: str) -> float:
    """Return the value of an option that is a number of bytes, such as ``4GB`` or ``500MB``."""
    units = {"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}
    plain, unit = (text[:-2], units[text[-2:].lower()]) if text[-2:].lower() in units else (text, 1.0)
    try:
        return float(plain) * unit
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size, such as 4GB or 500MB") from None


def _separator(text: str) -> str:
    separator = SEPARATORS.get(text.lower(), {"\\t": "\t"}.get(text, text))
    if len(separator) != 1 or separator in '"\r\n':
        raise argparse.ArgumentTypeError(f"{text!r} is neither one character nor one of {', '.join(SEPARATORS)}")
    return separator


def _number_of(what: str) -> Callable[[str], int]:
    """Return the function that reads the value of an option that is a whole number, 1 or more."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < 1:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number of {what} (1 or more)")
        return int(text)

    return read
