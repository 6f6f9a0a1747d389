"""Options and help texts that several commands have."""

from __future__ import annotations

import argparse
from typing import TypeAlias

from anbexact.cli.tables import MISSING_CELLS

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""What a command adds its parser to."""

DATA_HELP = f"CSV (also .csv.gz) or Parquet, with column names; missing cells: empty, {', '.join(MISSING_CELLS[1:])}"


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add the options of every command that learns."""
    parser.add_argument("--threads", type=_threads, metavar="N", help="processors to use (default all)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def add_weights(parser: argparse.ArgumentParser) -> None:
    """Add the option of the commands that take weights of rows."""
    parser.add_argument("--weights", metavar="COLUMN", help="a column that holds the weight of every row, no feature")


def number_or_auto(text: str) -> float | str:
    """Return the value of an option that is a number or ``auto``."""
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor auto") from None


def _threads(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of threads, 1 or more")
    return int(text)
