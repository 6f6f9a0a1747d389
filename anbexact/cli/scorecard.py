"""``anbexact scorecard``: a classifier, or a table, as a scorecard of integer points."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anbexact.cli.messages import InputError, ProgressLine, note
from anbexact.cli.model_columns import check_columns, expected_columns, features_of, names_as_text
from anbexact.cli.models import is_network, read_model
from anbexact.cli.options import DATA_HELP, add_choosing, add_reading, add_weights, weighted_by
from anbexact.cli.parsers import CommandParser
from anbexact.cli.row_counts import repeat_rows
from anbexact.cli.scoring import is_card, read_card
from anbexact.cli.tables import (
    as_categories,
    find_columns,
    open_table,
    read_frame,
    recognised,
    take_weights,
    training_table,
)
from anbexact.cli.writing import check_place
from anbexact.show.report.lines import print_wrapped

if TYPE_CHECKING:
    import pandas as pd

    from anbexact.classifiers import AdditiveClassifier
    from anbexact.scorecards.scorecard import Scorecard

EXTENSIONS = (".html", ".htm", ".xlsx", ".py", ".sql", ".csv", ".json")
"""The extensions by which the format of a scorecard is inferred."""
MARK = b'"format": "anbexact classifier"'
"""What a file of a classifier contains near its beginning, and a table in JSON does not."""
MAKING = {
    "--class": "class_name",
    "--reference": "reference",
    "--double": "double",
    "--base-score": "base_score",
    "--base-odds": "base_odds",
    "--max-points": "max_points",
    "--features": "features",
    "--gap": "gap",
    "--time-limit": "time_limit",
}
"""Options that say how points are made."""
DESCRIPTION = """\
Turn a classifier into a scorecard: tables of integer points that are added up to a score. From a table, naive Bayes
with smooth shapes is learned first.

By default, the points are the log odds of the classifier, rounded: 600 points stand for odds of 50 to 1, and 20 more
double the odds. With --max-points, the points are small and have the lowest log loss that such points can have: the
search proves it, or says how much lower the loss could be when its time runs out. With --features alone, features and
points are chosen in the same way, on the scale of the log odds."""
EXAMPLES = """\
  anbexact scorecard model.json -o card.html
  anbexact scorecard data.csv --class NAME
  anbexact scorecard data.csv --class NAME --max-points 5 --features 10 -o card.html
  anbexact scorecard model.json --double 40 --base-score 500 --base-odds 20 -o card.sql
  anbexact scorecard data.csv --class NAME --features 6 -o card.json
  anbexact scorecard card.json -o card.html
  anbexact predict card.json new.csv --id patient -o scores.csv
  anbexact scorecard model.json --reference ill -o card.xlsx
  anbexact scorecard model.json --rows data.csv --max-points 5 --features 6
"""


def fill(parser: CommandParser) -> None:
    """Add the options."""
    parser.describe("MODEL_OR_DATA [options]", DESCRIPTION, EXAMPLES)
    parser.add_argument(
        "data", metavar="MODEL_OR_DATA", help=f"a classifier or a scorecard in a file, or {DATA_HELP}"
    )
    parser.add_argument(
        "--class",
        dest="class_name",
        metavar="NAME",
        help="the column to predict, if MODEL_OR_DATA is a table; needed for BIF and similar files, too",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="the file to write: by its extension a page to print with a calculator (.html), a workbook with "
        "formulas (.xlsx), a Python file (.py), a query for DuckDB (.sql), the points (.csv), or a file that this "
        "command and predict read (.json); by default, the points are printed",
    )
    parser.add_argument(
        "--reference", metavar="LABEL", help="the class against which the odds are taken (default: the first)"
    )
    parser.add_argument(
        "--rows",
        metavar="DATA",
        help="for a classifier that has no rows of its own, such as a pool: a table with its training rows, over "
        "which the loss is taken; their classes are not needed",
    )
    group = parser.add_argument_group("the scale of rounded log odds")
    group.add_argument(
        "--double",
        type=float,
        metavar="POINTS",
        help="points that double the odds (default 20; with --max-points, chosen with the points)",
    )
    group.add_argument("--base-score", type=int, metavar="POINTS", help="the score at the base odds (default 600)")
    group.add_argument("--base-odds", type=float, metavar="ODDS", help="the odds at the base score (default 50)")
    group = parser.add_argument_group("points of least loss")
    group.add_argument("--max-points", type=int, metavar="R", help="points from -R to R, such as 5")
    group.add_argument("--features", type=int, metavar="K", help="use at most K features")
    group.add_argument(
        "--gap", type=float, metavar="NATS", help="stop within this of the lowest loss; nats per row (default 0.001)"
    )
    group.add_argument("--time-limit", type=float, metavar="S", help="seconds for the search (default 30)")
    add_weights(parser)
    add_choosing(parser)
    add_reading(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Read or learn the classifier, make the card, and write or print it."""
    if args.output is not None:
        if not args.output.lower().endswith(EXTENSIONS):
            raise InputError(
                f"{args.output}: cannot infer the format; use one of the extensions {', '.join(EXTENSIONS)}"
            )
        check_place(args.output, args.data)
    if is_card(args.data):
        source, card = args.data, _read(args)
    else:
        classifier: Any = None
        if is_model(args.data):
            source, classifier = args.data, read_model(args.data, args.class_name)
        elif args.rows is not None:
            raise InputError(f"--rows applies to a classifier, and {args.data} is a table, which has the rows")
        else:
            classifier, source = _learned(args)
        card = _card(args, classifier, *(() if args.rows is None else _rows(args, classifier)))
    if args.output is not None:
        _write(card, args.output)
        note(f"{args.output}: {Path(args.output).stat().st_size / 1e3:,.0f} kB")
        return
    print(f"{source}: scorecard of {card.class_name}{weighted_by(args)}")
    print(card.to_frame().to_string(index=False, float_format=lambda share: f"{share:.3f}", na_rep=""))
    for line in explained(card):
        print_wrapped(line)


def _read(args: argparse.Namespace) -> Scorecard:
    """Return the card in a file; refuse options that would change its points."""
    given = [option for option, name in {**MAKING, "--rows": "rows"}.items() if getattr(args, name) is not None]
    if given:
        raise InputError(f"{given[0]} does not apply to {args.data}: the points of a scorecard are made")
    return read_card(args.data)


def is_model(path: str) -> bool:
    """Whether a file contains a classifier, not a table."""
    if is_network(path):
        return True
    try:
        with open(path, "rb") as file:
            return path != "-" and MARK in file.read(200)
    except OSError:
        return False  # reading it as a table says what is wrong


def _learned(args: argparse.Namespace) -> tuple[AdditiveClassifier, str]:
    """Return naive Bayes with smooth shapes of the table, and the table's name."""
    if args.class_name is None:
        raise InputError(f"{args.data} is not a file of a classifier: pass --class to learn one from it")
    X, y, label = training_table(args)
    weights = take_weights(X, args, label)
    from anbexact.classifiers import AdditiveClassifier, NaiveBayesClassifier
    from anbexact.cli.learning import learn

    classifier = AdditiveClassifier(NaiveBayesClassifier())
    learn(classifier, X, y, weights)
    return classifier, label


def _rows(args: argparse.Namespace, classifier: Any) -> tuple[pd.DataFrame, Any]:
    """Return the features in the table of ``--rows``, and the weights of its rows, or None."""
    of_rows = argparse.Namespace(**{**vars(args), "data": args.rows})
    names = names_as_text(classifier, args.data)
    file = open_table(of_rows)
    expected, label = expected_columns(classifier, names, args.text), file.source.label
    frame = read_frame(file, expected)
    passed = {"--weights": args.weights, "--counts": args.counts}
    weighted, counted = (
        [] if name is None else find_columns([name], frame, option, label) for option, name in passed.items()
    )
    check_columns(frame, classifier, of_rows, [*weighted, *counted])
    used = {*names, *weighted, *counted}
    known = recognised(frame[[name for name in frame if name in used]], file, expected)
    for column in counted:
        known = repeat_rows(known, column, label)
    X = as_categories(features_of(known, classifier), classifier.vocabulary_.groups)
    return X, take_weights(known, of_rows, label)


def _card(args: argparse.Namespace, classifier: Any, X: Any = None, weights: Any = None) -> Scorecard:
    from anbexact.scorecards.making import to_scorecard

    given = {
        "points_to_double_odds": args.double,
        "base_score": args.base_score,
        "base_odds": args.base_odds,
        "max_points": args.max_points,
        "n_features": args.features,
        "gap": args.gap,
        "time_limit": args.time_limit,
    }
    if args.reference is not None:
        texts = {str(label): label for label in classifier.classes_.tolist()}
        if args.reference not in texts:
            raise InputError(f"--reference {args.reference}: the classes are {', '.join(texts)}")
        given["reference"] = texts[args.reference]
    with ProgressLine() as line:
        try:
            return to_scorecard(
                classifier,
                X,
                None,
                weights,
                progress=line.show,
                **{name: value for name, value in given.items() if value is not None},
            )
        except (TypeError, ValueError) as error:
            raise InputError(str(error)) from None


def _write(card: Scorecard, path: str) -> None:
    """Write a card in the format of the file's extension."""
    kind = Path(path).suffix.lower()
    try:
        if kind == ".xlsx":
            card.to_excel(path)
        elif kind == ".py":
            card.to_python(path)
        elif kind == ".sql":
            Path(path).write_text(card.to_sql() + "\n", encoding="utf-8")
        elif kind == ".csv":
            card.to_frame().to_csv(path, index=False)
        elif kind == ".json":
            from anbexact.files.scorecards import save_scorecard

            save_scorecard(card, path)
        else:
            card.to_html(path)
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: {error}") from None


def explained(card: Scorecard) -> list[str]:
    """Return sentences on how a score is read, and on what is proved about the points."""
    from anbexact.show.scorecard.sheet import claims, meaning

    return ["", *meaning(card), *claims(card)]
