"""``anbexact compare``: cross-validate classifiers side by side, and explain an answer of the recommended one.

The table is read, and its sizes are printed, before what learns is imported.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from typing import TYPE_CHECKING, Any

from anbexact._runtime.lazy import no_garbage
from anbexact._runtime.units import counted
from anbexact.cli.messages import InputError
from anbexact.cli.options import (
    DATA_HELP,
    MISSING_HELP,
    add_choosing,
    add_common,
    add_reading,
    add_weights,
    seconds_or_none,
    weighted_by,
)
from anbexact.cli.parsers import CommandParser
from anbexact.cli.tables import embedded_table, take_weights, training_table
from anbexact.cli.writing import OUTPUT_HELP, check_table_output
from anbexact.show.report.lines import class_sizes, print_wrapped
from anbexact.tables.missing import EM, HANDLE_MISSING

if TYPE_CHECKING:
    import pandas as pd

DEMO_TABLE = "tic_tac_toe"
"""The built-in table that is used without any arguments."""
FOLDS = 5
"""Default number of folds."""
TIME_LIMIT = 60.0
"""Default number of seconds."""
DESCRIPTION = f"""\
Cross-validate classifiers side by side, quick ones first, and recommend the simplest one whose log loss is within one
standard error of the lowest. It is then learned from all rows, and one of its predictions is explained. Without DATA
or --dataset, the built-in table {DEMO_TABLE} is used. If you interrupt the command, it sums up the models that are
finished."""
EXAMPLES = """\
  anbexact compare data.csv --class NAME
  anbexact compare data.csv --class NAME --models NB,TAN,ANB --folds 5 --no-refit
  anbexact compare data.xlsx --class NAME --drop id --text postcode --json
  anbexact compare data.csv --class NAME -o measured.csv
  anbexact compare --dataset iris
"""


def fill(parser: CommandParser) -> None:
    """Add the options."""
    parser.describe("[DATA --class NAME] [options]", DESCRIPTION, EXAMPLES)
    parser.add_argument("data", metavar="DATA", nargs="?", help=DATA_HELP)
    parser.add_argument("--class", dest="class_name", metavar="NAME", help="the column to predict")
    parser.add_argument("--dataset", metavar="NAME", help="a built-in table, such as wine, iris or tic_tac_toe")
    parser.add_argument("--models", type=_names, metavar="A,B,...", help="models to compare, from the lists below")
    parser.add_argument("--folds", type=int, metavar="K", help=f"number of cross-validation folds (default {FOLDS})")
    parser.add_argument(
        "--time-limit",
        type=seconds_or_none,
        default=TIME_LIMIT,
        metavar="S",
        help=f"seconds for the comparison (default {TIME_LIMIT:g}; none for no limit): a model that would not end in "
        "time is left out, with a note",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help=f"also write the measurements to this file, one line for each model ({OUTPUT_HELP})",
    )
    parser.add_argument("--no-refit", action="store_true", help="leave out the refits of networks that you name")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the random folds (default 0)")
    parser.add_argument("--missing", choices=(*HANDLE_MISSING, EM), help=MISSING_HELP)
    add_weights(parser)
    add_common(parser)
    add_reading(parser)
    add_choosing(parser)
    parser.listed = _models
    parser.set_defaults(run=run)


def _models() -> str:
    """Return the models that may be named, for the help text."""
    from anbexact.compare.models import MODELS, rivals

    texts = (
        f"models: {', '.join(MODELS)}",
        f"also, if you name them: {', '.join(rivals())}. A network is refitted where 'refitted' follows its name, "
        "and with smooth shapes where 'smooth' does, as in --models \"TAN refitted,NB smooth\"",
    )
    return "\n" + "".join(textwrap.fill(text, 78, subsequent_indent="  ") + "\n" for text in texts)


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise argparse.ArgumentTypeError(f"{text!r} contains an empty name: give names separated by commas")
    return names


def run(args: argparse.Namespace) -> None:
    """Read the table and say what it is, then measure the classifiers and show the one that is recommended."""
    if args.models:
        from anbexact.compare.models import known_names

        try:
            known_names(args.models)
        except ValueError as error:
            raise InputError(str(error)) from None
    check_table_output(args.output, *filter(None, [args.data]))
    X, y, title = _table(args)
    weights = take_weights(X, args, args.data or title)
    if not args.json:
        print_wrapped(title)
        print_wrapped(
            f"{counted(len(X), 'row')}{weighted_by(args)}, {counted(X.shape[1], 'feature')}; {class_sizes(y)}"
        )
        sys.stdout.flush()
    if args.folds is None:
        args.folds = FOLDS
    with no_garbage():
        from anbexact.cli.comparing import compare_and_print
    compare_and_print(args, X, y, weights)


def _table(args: argparse.Namespace) -> tuple[pd.DataFrame, pd.Series[Any], str]:
    """Return features, class and title of the table that the options name."""
    if args.data is not None and args.dataset is not None:
        raise InputError("pass DATA or --dataset, not both")
    if (args.data is None) != (args.class_name is None):
        raise InputError("DATA requires --class NAME, and --class NAME requires DATA")
    if args.data is not None:
        return training_table(args)
    for option in (
        "format",
        "sep",
        "decimal",
        "encoding",
        "sheet",
        "text",
        "drop",
        "columns",
        "counts",
        "scale_weights",
    ):
        if getattr(args, option):
            raise InputError(f"--{option} requires DATA")
    from anbexact.show.report.text import about

    name = args.dataset or DEMO_TABLE
    X, y = embedded_table(name)
    return X, y, f"{name}, a built-in table. {about(name)}"
