"""``anbexact panel``: a page in which evidence is chosen and posteriors are computed."""

from __future__ import annotations

import argparse
import webbrowser
from pathlib import Path

from anbexact.cli.deciding import add_cost_table, costs_of
from anbexact.cli.messages import InputError, note
from anbexact.cli.models import read_model
from anbexact.cli.parsers import CommandParser
from anbexact.cli.writing import check_place

DESCRIPTION = """\
Write a page that lists all variables of a classifier with their probabilities, and open it in a browser. Choosing
states changes all probabilities; the page computes them itself, exactly, and needs no network connection. It also
says what to decide; the costs that you pass are those it starts with."""
EXAMPLES = """\
  anbexact panel model.json
  anbexact panel model.json -o panel.html --no-open
  anbexact panel model.json --cost ill=10,well=1 --reject 0.5
  anbexact panel model.json --costs costs.csv
"""


def fill(parser: CommandParser) -> None:
    """Add the options."""
    parser.describe("MODEL [options]", DESCRIPTION, EXAMPLES)
    parser.add_argument("model", metavar="MODEL", help="a classifier written by fit or convert")
    parser.add_argument(
        "--class", dest="class_name", metavar="NAME", help="the variable to predict, if MODEL does not name it"
    )
    parser.add_argument(
        "-o", "--output", metavar="OUT", help="the file to write (by default MODEL with the extension .panel.html)"
    )
    parser.add_argument("--no-open", action="store_true", help="do not open the page in a browser")
    add_cost_table(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Write the page, and open it."""
    from anbexact.show.report.evidence_panel import write_panel

    path = args.output or str(Path(args.model).with_suffix(".panel.html").name)
    if not path.lower().endswith((".html", ".htm")):
        raise InputError(f"{path}: the page is HTML; use the extension .html")
    check_place(path, args.model)
    classifier = read_model(args.model, args.class_name)
    decided = costs_of(args, classifier.classes_.tolist())
    try:
        write_panel(classifier, path, decided)
    except (TypeError, ValueError) as error:
        raise InputError(f"{args.model}: {error}") from None
    note(f"{path}: {Path(path).stat().st_size / 1e3:,.0f} kB")
    if not args.no_open and not webbrowser.open(Path(path).resolve().as_uri()):
        note(f"no browser was found: open {path} yourself")
