"""``anbexact sample``: draw rows from a classifier."""

from __future__ import annotations

import argparse
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from anbexact.cli.messages import InputError, listed
from anbexact.cli.model_columns import names_as_text
from anbexact.cli.models import read_model
from anbexact.cli.parsers import CommandParser
from anbexact.cli.writing import OUTPUT_HELP, check_table_output, write_table

if TYPE_CHECKING:
    from anbexact.classifiers import DiscreteClassifier

DESCRIPTION = """\
Write a table of rows drawn from the network of a classifier: its columns and the class, in their own units. Given
evidence, all rows have these values, and the others are drawn from their exact conditional distribution."""
EXAMPLES = """\
  anbexact sample model.json -n 1000 -o rows.csv
  anbexact sample model.json -n 5 --evidence NAME=ill --evidence age=61 --random-state 1
"""


def fill(parser: CommandParser) -> None:
    """Add the options."""
    parser.describe("MODEL -n ROWS [options]", DESCRIPTION, EXAMPLES)
    parser.add_argument("model", metavar="MODEL", help="a classifier written by fit or convert")
    parser.add_argument("-n", "--rows", type=_rows, required=True, metavar="ROWS", help="number of rows")
    parser.add_argument(
        "--class", dest="class_name", metavar="NAME", help="the variable to predict, if MODEL does not name it"
    )
    parser.add_argument(
        "-o", "--output", metavar="OUT", help=f"write to this file ({OUTPUT_HELP}) instead of standard output"
    )
    parser.add_argument(
        "--evidence",
        action="append",
        default=[],
        metavar="COLUMN=VALUE",
        help="the value of a column, or of the class, in all rows; repeatable. Nothing after the equals sign means a "
        "missing cell",
    )
    parser.add_argument(
        "--missing",
        action="store_true",
        help="leave cells missing as often as in training, in columns where missing cells are a state",
    )
    parser.add_argument(
        "--random-state", type=int, metavar="N", help="seed of the draws (by default, other rows each time)"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Write the rows."""
    check_table_output(args.output, args.model)
    classifier = read_model(args.model, args.class_name)
    evidence = _evidence(args.evidence, classifier, args.model)
    try:
        rows = classifier.sample(args.rows, evidence, random_state=args.random_state, missing=args.missing)
    except (TypeError, ValueError) as error:
        raise InputError(f"{args.model}: {error}") from None
    write_table(rows.set_axis(list(map(str, rows)), axis=1), args.output)


def _evidence(texts: Sequence[str], classifier: DiscreteClassifier, path: str) -> dict[Hashable, Any]:
    """Return the values of columns, from texts such as ``"age=61"``."""
    names, found = names_as_text(classifier, path), {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name not in names:
            raise InputError(f"--evidence {text!r}: write COLUMN=VALUE, with a column out of {listed(names, '')}")
        if names[name] in found:
            raise InputError(f"--evidence: {name} has two values")
        found[names[name]] = _value(names[name], value, classifier)
    return found


def _value(name: Hashable, text: str, classifier: DiscreteClassifier) -> Any:
    """Return the value that a text stands for in a column; None if it is empty, for a missing cell."""
    vocabulary = classifier.vocabulary_
    if name not in classifier.cut_points_:
        known = {str(value): value for value in vocabulary.values(name)}
        return known.get(text, text or None)
    if not text or name in vocabulary.quantities:
        return text or None
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--evidence: column {name} contains numbers, which {text!r} is not") from None


def _rows(text: str) -> int:
    """Return the value of an option that is 0 or more."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of rows (0 or more)")
    return int(text)
