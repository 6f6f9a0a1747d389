"""``anbexact nomogram``: a sheet of rulers from which probabilities are read, with a calculator as a page."""

from __future__ import annotations

import argparse
from pathlib import Path

from anbexact.cli.messages import InputError, note
from anbexact.cli.models import read_model
from anbexact.cli.parsers import CommandParser
from anbexact.cli.writing import check_place
from anbexact.show.svg.markup import shortened

EXTENSIONS = (".html", ".htm", ".pdf", ".png", ".svg")
"""The extensions by which the format is inferred."""
DESCRIPTION = """\
Draw a classifier as a nomogram on one sheet of A4: a ruler of points for every feature, tables of points for pairs of
features that interact, the total, and the probability. As HTML, the sheet has a calculator, which computes the same
probabilities as the classifier and needs no network connection; printing the page prints the sheet alone."""
EXAMPLES = """\
  anbexact nomogram model.json
  anbexact nomogram model.json -o sheet.pdf
  anbexact nomogram model.json --most 8 --title "Risk of the outcome" -o sheet.html
"""


def fill(parser: CommandParser) -> None:
    """Add the options."""
    parser.describe("MODEL [options]", DESCRIPTION, EXAMPLES)
    parser.add_argument("model", metavar="MODEL", help="a classifier written by fit or convert")
    parser.add_argument(
        "--class", dest="class_name", metavar="NAME", help="the variable to predict, if MODEL does not name it"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="the file to write (by default MODEL with the extension .nomogram.html); by its extension HTML with a "
        "calculator, or the sheet alone as PDF, PNG or SVG",
    )
    parser.add_argument(
        "--against", metavar="CLASS", help="the class with which the others are compared (by default, the first)"
    )
    parser.add_argument(
        "--most", type=_number, metavar="N", help="most features on the sheet (by default, as many as fit)"
    )
    parser.add_argument("--title", default="", metavar="TEXT", help="what is written above the sheet")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Write the sheet."""
    from anbexact.report import nomogram

    path = args.output or str(Path(args.model).with_suffix(".nomogram.html").name)
    if not path.lower().endswith(EXTENSIONS):
        raise InputError(f"{path}: cannot infer the format; use one of the extensions .html, .pdf, .png, .svg")
    check_place(path, args.model)
    classifier = read_model(args.model, args.class_name)
    labels = {str(label): label for label in classifier.classes_.tolist()}
    if args.against is not None and args.against not in labels:
        raise InputError(f"--against {args.against!r}: the classes are {', '.join(labels)}")
    against = None if args.against is None else labels[args.against]
    try:
        made = nomogram(classifier, against=against, most=args.most, title=args.title)
        made.save(path)
    except (TypeError, ValueError) as error:
        raise InputError(f"{args.model}: {error}") from None
    note(f"{path}: {Path(path).stat().st_size / 1e3:,.0f} kB")
    if made.left_out:
        names = ", ".join(shortened(" and ".join(map(str, features)), 40) for features in made.left_out[:6])
        more = f", and {len(made.left_out) - 6} more" if len(made.left_out) > 6 else ""
        note(f"left out, because the sheet has no room for it: {names}{more}")


def _number(text: str) -> int:
    """Return the value of an option that is above 0."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of features (1 or more)")
    return int(text)
