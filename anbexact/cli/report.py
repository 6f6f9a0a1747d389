"""``anbexact report``: one page on a classifier and a table."""

from __future__ import annotations

import argparse
import shlex
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anbexact.cli.deciding import add_cost_table, costs_of
from anbexact.cli.messages import InputError, ProgressLine, note
from anbexact.cli.model_columns import check_columns, expected_columns, features_of, known_states, names_as_text
from anbexact.cli.models import read_model
from anbexact.cli.options import DATA_HELP, add_reading, add_weights, add_workers, seconds_or_none
from anbexact.cli.parsers import CommandParser
from anbexact.cli.row_counts import repeat_rows
from anbexact.cli.streams import like_a_file
from anbexact.cli.tables import (
    as_categories,
    find_columns,
    no_column,
    open_table,
    read_frame,
    recognised,
    take_weights,
)
from anbexact.cli.writing import check_place
from anbexact.show.report.plain import print_json

if TYPE_CHECKING:
    import pandas as pd

    from anbexact.classifiers import DiscreteClassifier
    from anbexact.show.report.making import Settings

DEFAULT_OUTPUT = "report.html"
TIME_LIMIT = 15.0
"""Default number of seconds for a report, without those for reading the classifier and the table."""
EXTENSIONS = (".html", ".htm", ".md", ".markdown", ".json")
"""The extensions by which the format of a report is inferred."""
DESCRIPTION = """\
Report on a classifier: the data, the network, how well it predicts rows that it was not learned from, what the
features tell, single cases, warnings, and an evidence panel. DATA has the rows that it was learned from, or others,
with their classes. The page is one file that needs no network; print it from a browser for PDF."""
EXAMPLES = """\
  anbexact report model.json data.csv
  anbexact report model.json data.csv --models NB,TAN --folds 10 -o model.html
  anbexact report model.json data.csv --markdown > model.md
  anbexact report model.json data.csv --cost ill=10,well=1 --reject 0.5
  anbexact report model.json data.csv --no-validation --json
"""


def fill(parser: CommandParser) -> None:
    """Add the options."""
    parser.describe("MODEL DATA [options]", DESCRIPTION, EXAMPLES)
    parser.add_argument("model", metavar="MODEL", help="a classifier written by fit or convert")
    parser.add_argument("data", metavar="DATA", help=DATA_HELP)
    parser.add_argument(
        "--class", dest="class_name", metavar="NAME", help="the variable to predict, if MODEL does not name it"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help=f"the file to write (default {DEFAULT_OUTPUT}); by its extension HTML (.html), Markdown (.md) or JSON",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON document instead")
    form.add_argument("--markdown", action="store_true", help="print Markdown instead")
    group = parser.add_argument_group("cross-validation, in which the classifier is learned again")
    group.add_argument("--folds", type=int, default=5, metavar="K", help="number of folds (default 5)")
    group.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the random folds (default 0)")
    group.add_argument(
        "--models", type=_names, default=(), metavar="A,B,...", help="rivals, by their names in anbexact compare"
    )
    group.add_argument(
        "--time-limit",
        type=seconds_or_none,
        default=TIME_LIMIT,
        metavar="S",
        help=f"seconds for the report (default {TIME_LIMIT:g}; none for no limit), of which the cross-validation has "
        "what the rest leaves: it may then consist of fewer folds",
    )
    group.add_argument("--no-validation", action="store_true", help="leave out the cross-validation")
    parser.add_argument(
        "--stability",
        action="store_true",
        help="add a section on how certain the arcs and the probabilities are; with many features this can take some "
        "minutes",
    )
    add_cost_table(parser)
    add_workers(parser)
    add_weights(parser)
    add_reading(parser)
    parser.set_defaults(run=run)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def run(args: argparse.Namespace) -> None:
    """Read the classifier and the table, make the report, write it."""
    from anbexact.show.report.making import Settings, make_report
    from anbexact.show.report.subject import Subject

    path = None if args.json or args.markdown else _output(args.output or DEFAULT_OUTPUT)
    if path is None and args.output is not None:
        raise InputError("pass -o or one of --json and --markdown, not both")
    classifier = read_model(args.model, args.class_name)
    X, y, weights = _rows(args, classifier)
    folds = None if args.no_validation else args.folds
    command = "anbexact report " + " ".join(map(shlex.quote, _arguments(args, folds)))
    with ProgressLine() as line, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*left out of training")  # the report has a note that says so
        decided = costs_of(args, classifier.classes_.tolist())
        settings: Settings = Settings(
            args.models, folds, args.time_limit, args.seed, command, line.show, args.stability, decided
        )
        try:
            made = make_report(Subject.of(classifier, X, y, weights), settings)
        except (TypeError, ValueError) as error:
            raise InputError(str(error)) from None
    if path is not None:
        made.save(path)
        note(f"{path}: {Path(path).stat().st_size / 1e3:,.0f} kB")
    elif args.json:
        print_json(made.to_dict())
    else:
        with like_a_file():
            print(made.to_markdown(), end="")


def _output(path: str) -> str:
    """Refuse, before all the work, an output that could not be written."""
    if not path.lower().endswith(EXTENSIONS):
        raise InputError(f"{path}: cannot infer the format; use one of the extensions .html, .md, .json")
    check_place(path)
    return path


def _rows(args: argparse.Namespace, classifier: DiscreteClassifier) -> tuple[pd.DataFrame, Any, Any]:
    """Return features, classes and weights (or None) of the table."""
    names = names_as_text(classifier, args.model)
    file = open_table(args)
    expected = expected_columns(classifier, names, args.text)
    frame = read_frame(file, expected)
    label = file.source.label
    find_columns(args.text, frame, "--text", label)
    weighted = [] if args.weights is None else find_columns([args.weights], frame, "--weights", label)
    counted = [] if args.counts is None else find_columns([args.counts], frame, "--counts", label)
    check_columns(frame, classifier, args, [*weighted, *counted])
    class_name = str(classifier.vocabulary_.class_name)
    if class_name not in frame:
        raise InputError(f"a report needs the true classes: {no_column(class_name, list(map(str, frame)), label)}")
    used = {*names, *weighted, *counted}
    known = recognised(frame[[name for name in frame if name in used]], file, expected)
    for column in counted:
        known = repeat_rows(known, column, label)
    X = as_categories(features_of(known, classifier), classifier.vocabulary_.groups)
    for name in classifier.vocabulary_.left_out:  # the cross-validation reads all columns, as the fit did
        if str(name) in known:
            X[name] = known[str(name)]
    y = known_states(known[class_name], classifier.classes_.tolist())
    y.name = classifier.vocabulary_.class_name
    return X, y, take_weights(known, args, label)


def _arguments(args: argparse.Namespace, folds: int | None) -> list[str]:
    """Return the arguments of the command that makes the report again."""
    given = [args.model, args.data]
    given += ["--no-validation"] if folds is None else ["--folds", str(folds), "--seed", str(args.seed)]
    given += ["--class", args.class_name] if args.class_name is not None else []
    if args.time_limit != TIME_LIMIT:
        given += ["--time-limit", "none" if args.time_limit is None else f"{args.time_limit:g}"]
    given += ["--stability"] if args.stability else []
    if args.models:
        given += ["--models", ",".join(args.models)]
    given += [part for text in args.cost for part in ("--cost", text)]
    given += ["--costs", args.costs] if args.costs is not None else []
    given += ["--reject", f"{args.reject:g}"] if args.reject is not None else []
    if args.weights is not None:
        given += ["--weights", args.weights, *(["--scale-weights"] if args.scale_weights else [])]
    if args.counts is not None:
        given += ["--counts", args.counts]
    return given
