"""``anbexact report``: one page on a classifier and a table."""

from __future__ import annotations

import argparse
import shlex
import warnings
from collections.abc import Mapping
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
    from anbexact.show.report.subject import Subject

DEFAULT_OUTPUT, DEFAULT_CARD = "report.html", "card.md"
"""The files that are written by default: a report, and a model card."""
TIME_LIMIT = 15.0
"""Default number of seconds for a report, without those for reading the classifier and the table."""
EXTENSIONS = (".html", ".htm", ".md", ".markdown", ".json")
"""The extensions by which the format of a report is inferred."""
DESCRIPTION = """\
Report on a classifier: the data, the network, how well it predicts rows that it was not learned from, what the
features tell, single cases, warnings, and an evidence panel. DATA has its training rows, or others, with their
classes. The page is one file that works offline; print it from a browser for PDF."""
EXAMPLES = """\
  anbexact report model.json data.csv
  anbexact report model.json data.csv --models NB,TAN --folds 10 -o model.html
  anbexact report model.json data.csv --markdown > model.md
  anbexact report model.json data.csv --cost ill=10,well=1 --reject 0.5
  anbexact report model.json data.csv --no-validation --json
  anbexact report model.json data.csv --by age
  anbexact report model.json data.csv --card --use "Triage by nurses of this clinic." -o card.md
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
        "the time that the rest leaves: it may then consist of fewer folds",
    )
    group.add_argument("--no-validation", action="store_true", help="leave out the cross-validation")
    parser.add_argument(
        "--stability",
        action="store_true",
        help="add a section on how certain the arcs and the probabilities are; with many features this can take some "
        "minutes",
    )
    parser.add_argument(
        "--by",
        action="append",
        default=[],
        metavar="COLUMN",
        help="add a section on predictions by group: selection, error rates and calibration for the values of this "
        "column of DATA, which need not be a feature; repeatable",
    )
    parser.add_argument(
        "--card", action="store_true", help="write a short model card instead: model, use, data, measures, limits"
    )
    parser.add_argument("--use", default="", metavar="TEXT", help="with --card: what the model may be used for")
    add_cost_table(parser)
    add_workers(parser)
    add_weights(parser)
    add_reading(parser)
    parser.set_defaults(run=run)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def run(args: argparse.Namespace) -> None:
    """Read the classifier and the table, make the report, write it."""
    from anbexact.show.report.making import Settings, make_card, make_report
    from anbexact.show.report.subject import Subject

    if args.use and not args.card:
        raise InputError("--use is a part of the model card: pass --card, too")
    default = DEFAULT_CARD if args.card else DEFAULT_OUTPUT
    path = None if args.json or args.markdown else _output(args.output or default, args.model, args.data)
    if path is None and args.output is not None:
        raise InputError("pass -o or one of --json and --markdown, not both")
    classifier = read_model(args.model, args.class_name)
    X, y, weights, by = _rows(args, classifier)
    folds = None if args.no_validation else args.folds
    command = "anbexact report " + " ".join(map(shlex.quote, _arguments(args, folds)))
    with ProgressLine() as line, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*left out of training")  # the report has a note that says so
        decided = costs_of(args, classifier.classes_.tolist())
        try:
            subject = Subject.of(classifier, X, y, weights)
            groups = _groups(subject, by)
            how = (args.models, folds, args.time_limit, args.seed, command, line.show, args.stability, decided)
            settings: Settings = Settings(*how, groups)
            made = make_card(subject, settings, args.use) if args.card else make_report(subject, settings)
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


def _groups(subject: Subject, by: Mapping[str, Any]) -> dict[str, Any]:
    """Return the groups of rows: the states of features, and the values of other columns."""
    features = {str(name): name for name in subject.vocabulary.used}
    found: dict[str, Any] = {}
    for name, values in by.items():
        found |= subject.groups(features[name]) if name in features else subject.groups({name: values})
    return found


def _output(path: str, *inputs: str) -> str:
    """Refuse, before all the work, an output that could not be written, or that is one of the inputs."""
    if not path.lower().endswith(EXTENSIONS):
        raise InputError(f"{path}: cannot infer the format; use one of the extensions .html, .md, .json")
    check_place(path, *inputs)
    return path


def _rows(args: argparse.Namespace, classifier: DiscreteClassifier) -> tuple[pd.DataFrame, Any, Any, dict[str, Any]]:
    """Return features, classes, weights (or None) and the columns of groups of the table."""
    names = names_as_text(classifier, args.model)
    file = open_table(args)
    expected = expected_columns(classifier, names, args.text)
    frame = read_frame(file, expected)
    label = file.source.label
    find_columns(args.text, frame, "--text", label)
    weighted = [] if args.weights is None else find_columns([args.weights], frame, "--weights", label)
    counted = [] if args.counts is None else find_columns([args.counts], frame, "--counts", label)
    grouped = find_columns(args.by, frame, "--by", label)
    check_columns(frame, classifier, args, [*weighted, *counted, *grouped])
    class_name = str(classifier.vocabulary_.class_name)
    if class_name not in frame:
        raise InputError(f"a report needs the true classes: {no_column(class_name, list(map(str, frame)), label)}")
    used = {*names, *weighted, *counted, *grouped}
    known = recognised(frame[[name for name in frame if name in used]], file, expected)
    for column in counted:
        known = repeat_rows(known, column, label)
    X = as_categories(features_of(known, classifier), classifier.vocabulary_.groups)
    for name in classifier.vocabulary_.left_out:  # the cross-validation reads all columns, as the fit did
        if str(name) in known:
            X[name] = known[str(name)]
    y = known_states(known[class_name], classifier.classes_.tolist())
    y.name = classifier.vocabulary_.class_name
    by = {name: known[name].to_numpy(dtype=object) for name in grouped}
    return X, y, take_weights(known, args, label), by


def _arguments(args: argparse.Namespace, folds: int | None) -> list[str]:
    """Return the arguments of the command that makes the report again."""
    given = [args.model, args.data]
    given += ["--no-validation"] if folds is None else ["--folds", str(folds), "--seed", str(args.seed)]
    given += ["--class", args.class_name] if args.class_name is not None else []
    if args.time_limit != TIME_LIMIT:
        given += ["--time-limit", "none" if args.time_limit is None else f"{args.time_limit:g}"]
    given += ["--stability"] if args.stability else []
    given += [part for name in args.by for part in ("--by", name)]
    given += ["--card"] if args.card else []
    given += ["--use", args.use] if args.use else []
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
