"""The options of ``anbexact fit`` that become parameters of a classifier."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from anbexact.classifiers.measured import CONTINUOUS
from anbexact.cli.edges import EDGE_HELP, read_edges
from anbexact.cli.learning import titles
from anbexact.cli.messages import OPTIONS
from anbexact.cli.options import MISSING_HELP, add_weights, number_or_auto, numbers, numbers_or_auto, size
from anbexact.discretize import AUTO, RULES
from anbexact.inputs.prediction import HANDLE_UNKNOWN
from anbexact.networks.estimation import ESTIMATES
from anbexact.scores.registry import CONDITIONAL_SCORES, score_names
from anbexact.tables.missing import HANDLE_MISSING

if TYPE_CHECKING:
    import pandas as pd

PARAMETER_NAMES = (
    "structure_score",
    "ess",
    "network_ess",
    "parameters",
    "smoothing",
    "continuous",
    "discretizer",
    "max_parents",
    "k",
    "threshold",
    "min_weight",
    "required_edges",
    "forbidden_edges",
    "time_limit",
    "memory_limit",
    "tabu",
    "restarts",
    "random_state",
)
"""Parameters of classifiers that options of the same name set."""


def add_learning(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what is learned, and how."""
    _add_cells(parser.add_argument_group("what becomes of rows and columns"))
    _add_model(parser.add_argument_group("what is learned"))
    _add_search(parser.add_argument_group("how it is searched (an option that a model does not have is refused)"))


def chosen_parameters(args: argparse.Namespace, X: pd.DataFrame, label: str) -> dict[str, Any]:
    """Return the parameters of the classifier that options set; the others are None."""
    parameters: dict[str, Any] = {name: getattr(args, name, None) for name in PARAMETER_NAMES}
    parameters |= {"handle_missing": args.missing, "handle_unknown": args.unknown}
    parameters["drop_identifiers"] = False if args.keep_identifiers else None
    for name in ("required_edges", "forbidden_edges"):
        if parameters[name] is not None:
            parameters[name] = read_edges(parameters[name], list(map(str, X)), OPTIONS[name], label)
    return parameters


def _add_cells(group: argparse._ArgumentGroup) -> None:
    add_weights(group)
    group.add_argument(
        "--missing",
        choices=HANDLE_MISSING,
        help=MISSING_HELP,
    )
    group.add_argument(
        "--keep-identifiers",
        action="store_true",
        help="use columns that look like identifiers or numbers of the rows, which are left out otherwise",
    )
    group.add_argument(
        "--unknown",
        choices=HANDLE_UNKNOWN,
        help="values at prediction that were not there in training: summed out (marginalize, the default) or refused",
    )
    group.add_argument(
        "--continuous",
        choices=CONTINUOUS,
        help="numeric columns with more than 10 distinct values: they are cut into intervals (discretize, the "
        "default), or measured by a mixture of finer and coarser ones (universal: anb, gbn, nb, tan, fan, ckg)",
    )
    group.add_argument(
        "--discretizer",
        choices=tuple(RULES),
        metavar="RULE",
        help=f"where such columns are cut: {', '.join(RULES)} (default auto: {AUTO})",
    )


def _add_model(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--model",
        choices=tuple(titles()),
        default="anb",
        metavar="MODEL",
        help="one of the models below (default anb: optimal augmented naive Bayes)",
    )
    group.add_argument(
        "--score",
        dest="structure_score",
        choices=(*score_names(), *CONDITIONAL_SCORES),
        metavar="SCORE",
        help=f"what the structure is scored by: {', '.join(score_names())} (default bdeu); ggbn also by cmdl and cll",
    )
    group.add_argument(
        "--ess",
        type=numbers_or_auto,
        metavar="A",
        help="equivalent sample size, or auto (the default): chosen from the data; fsanb chooses among several with "
        "commas between them",
    )
    group.add_argument(
        "--smoothing",
        type=number_or_auto,
        metavar="A",
        help="equivalent sample size of the tables alone, or auto: what predicts left-out rows best",
    )
    group.add_argument("--parameters", choices=ESTIMATES, help="how the tables are estimated (default eap)")
    refits = group.add_mutually_exclusive_group()
    refits.add_argument(
        "--refit",
        action="store_true",
        help="then refit the network's posterior of the class by conditional likelihood: it often predicts better",
    )
    refits.add_argument(
        "--smooth",
        action="store_true",
        help="then refit it with smooth shapes on fine intervals: better still where columns are continuous",
    )
    group.add_argument(
        "--threshold",
        type=numbers,
        metavar="T",
        help="log Bayes factor from which a feature is selected; several with commas between them (fsanb)",
    )
    group.add_argument(
        "--network-ess", type=float, metavar="A", help="equivalent sample size after the selection (fsanb)"
    )
    group.add_argument(
        "--min-weight", type=float, metavar="W", help="weight of the rows that a feature's state must have (aode)"
    )


def _add_search(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--max-parents",
        type=int,
        metavar="K",
        help="most parents of a feature: besides the class (anb, fsanb), or in all (gbn, ggbn, mcdag)",
    )
    group.add_argument("--k", type=int, metavar="K", help="most feature parents of a feature (ckg, kdb; default 2)")
    for option, which in (("--required", "that the structure must have"), ("--forbidden", "that it must not have")):
        group.add_argument(
            option,
            dest=f"{option[2:]}_edges",
            action="append",
            metavar="A->B",
            help=f"{EDGE_HELP}, {which}; repeatable",
        )
    group.add_argument(
        "--time-limit", type=float, metavar="S", help="seconds after which a search ends: the best so far is taken"
    )
    group.add_argument("--memory-limit", type=size, metavar="SIZE", help="what a search may take, such as 4GB")
    group.add_argument("--tabu", type=int, metavar="N", help="length of the tabu list (ggbn)")
    group.add_argument("--restarts", type=int, metavar="N", help="how often the search starts again (ggbn)")
    group.add_argument("--random-state", type=int, metavar="SEED", help="of the restarts (ggbn)")
