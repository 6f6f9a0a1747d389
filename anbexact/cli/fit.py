"""``anbexact fit``: learn a classifier from a table.

The table is read, and its sizes are printed, before what learns is imported.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from anbexact._runtime.lazy import no_garbage
from anbexact._runtime.units import counted
from anbexact.cli.fit_options import add_learning, chosen_parameters, titles
from anbexact.cli.models import FORMATS_HELP, check_output
from anbexact.cli.options import DATA_HELP, add_choosing, add_common, add_reading, weighted_by
from anbexact.cli.tables import take_weights, training_table
from anbexact.show.report.lines import class_sizes, print_wrapped

if TYPE_CHECKING:
    from anbexact.cli.parsers import CommandParser

DESCRIPTION = """\
Learn a classifier from a table, print it, and save it.

Without options, fit learns as many models as half a minute allows (naive Bayes and networks with smooth shapes, the
optimal augmented naive Bayes), and pools those that predict held-out rows best. --model chooses one of the models
below instead: --model anb learns the augmented naive Bayes network that is proved to have the highest BDeu score.
"""
EXAMPLES = """\
  anbexact fit data.csv --class NAME
  anbexact fit data.csv --class NAME --time-budget 5 -o model.json
  anbexact fit data.xlsx --class NAME --drop id,name --text postcode
  anbexact fit data.csv --class NAME --model tan --ess 1 --missing own_state
  anbexact fit data.csv --class NAME --missing em --missing-class em
  anbexact fit data.csv --class NAME --model anb -o model.json
  anbexact fit data.csv --class NAME --max-parents 2 --forbidden 'a->b'
  zcat data.csv.gz | anbexact fit - --class NAME --json
"""


def _models() -> str:
    of_models = titles()
    width = max(map(len, of_models))
    return "\nmodels:\n" + "".join(f"  {name:{width}}  {title}\n" for name, title in of_models.items())


def fill(parser: CommandParser) -> None:
    """Add the options."""
    parser.describe("DATA --class NAME [options]", DESCRIPTION, EXAMPLES)
    parser.add_argument("data", metavar="DATA", help=DATA_HELP)
    parser.add_argument("--class", dest="class_name", metavar="NAME", required=True, help="the column to predict")
    parser.add_argument("-o", "--output", metavar="MODEL", help=f"save it here: {FORMATS_HELP}")
    add_common(parser)
    add_reading(parser)
    add_choosing(parser)
    add_learning(parser)
    parser.listed = _models
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Read the table and say what it is, learn the classifier, save it if asked to, and say what was learned."""
    if args.output is not None:
        check_output(args.output, args.data)
    X, y, label = training_table(args, unlabelled=args.missing_class is not None)
    weights = take_weights(X, args, label)
    parameters = chosen_parameters(args, X, label)
    if not args.json:
        print(f"{label}: {counted(len(X), 'row')}{weighted_by(args)}, {counted(X.shape[1], 'feature')}")
        print_wrapped(class_sizes(y))
        sys.stdout.flush()
    with no_garbage():
        from anbexact.cli.fitting import learn_and_print
    learn_and_print(args, X, y, weights, label, parameters)
