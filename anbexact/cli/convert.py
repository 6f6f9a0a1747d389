"""``anbexact convert``: a classifier from one file format to another."""

from __future__ import annotations

import argparse

from anbexact._runtime.units import counted
from anbexact.cli.models import FORMATS_HELP, check_output, read_model, write_model
from anbexact.cli.parsers import CommandParser

DESCRIPTION = """\
Convert a classifier between JSON, BIF, XMLBIF and XDSL, by the extensions of the files. A file of the last three
formats is accompanied by one that ends in .names.json and keeps the names and types that the format cannot hold."""
EXAMPLES = """\
  anbexact convert model.json model.xdsl
  anbexact convert model.xdsl copy.json
"""


def fill(parser: CommandParser) -> None:
    """Add the options."""
    parser.describe("FROM TO [options]", DESCRIPTION, EXAMPLES)
    parser.add_argument("source", metavar="FROM", help=FORMATS_HELP + " (these also with .gz)")
    parser.add_argument("target", metavar="TO", help=FORMATS_HELP)
    parser.add_argument(
        "--class", dest="class_name", metavar="NAME", help="the variable to predict, if FROM does not name it"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Read the classifier from one file, and write it to the other."""
    check_output(args.target)
    classifier = read_model(args.source, args.class_name)
    write_model(classifier, args.target)
    vocabulary = classifier.vocabulary_
    print(f"{args.target}: classifies {vocabulary.class_name} by {counted(len(vocabulary.used), 'feature')}")
