"""The options of ``anbexact fit`` that become parameters of a classifier."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from anbexact.cli.edges import EDGE_HELP, read_edges
from anbexact.cli.messages import OPTIONS
from anbexact.cli.options import MISSING_HELP, add_weights, number_or_auto, numbers, numbers_or_auto, size
from anbexact.cli.parsers import Later
from anbexact.cli.shape_options import add_shapes
from anbexact.tables.missing import EM, HANDLE_MISSING

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
    "readable",
    "required_edges",
    "forbidden_edges",
    "time_budget",
    "time_limit",
    "memory_limit",
    "tabu",
    "restarts",
    "random_state",
    "draws",
    "prior",
)
"""Parameters of classifiers that options set, by the name under which the parser stores these."""


DEFAULT, OTHERWISE = "auto", "anb"
"""The model that is learned if ``--model`` is not given, and the one that is if other options do not apply to it."""


def titles() -> dict[str, str]:
    """Return what ``--model`` may be, with the title of every model."""
    from anbexact.classifiers.registry import named_classifiers

    return {name: entry.title for name, entry in named_classifiers().items()}


def add_learning(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what is learned, and how."""
    _add_cells(parser.add_argument_group("how to treat rows and columns"))
    _add_model(parser.add_argument_group("what to learn"))
    _add_search(parser.add_argument_group("how to search (an option that does not apply to the model is refused)"))


def chosen_parameters(args: argparse.Namespace, X: pd.DataFrame, label: str) -> dict[str, Any]:
    """Return the parameters of the classifier that options set; the others are None."""
    parameters: dict[str, Any] = {name: getattr(args, name, None) for name in PARAMETER_NAMES}
    parameters |= {"handle_missing": args.missing, "handle_unknown": args.unknown}
    parameters |= {"missing_class": args.missing_class, "decimal": args.decimal}
    parameters["drop_identifiers"] = False if args.keep_identifiers else None
    parameters["fold_dummies"] = False if args.keep_dummies else None
    for name in ("required_edges", "forbidden_edges"):
        if parameters[name] is not None:
            parameters[name] = read_edges(parameters[name], list(map(str, X)), OPTIONS[name], label)
    return parameters


def _add_cells(group: argparse._ArgumentGroup) -> None:
    add_weights(group)
    group.add_argument(
        "--missing",
        choices=(*HANDLE_MISSING, EM),
        help=MISSING_HELP,
    )
    group.add_argument(
        "--missing-class",
        choices=(EM,),
        help="learn from rows without a class, too, together with --missing em or --missing own_state; "
        "by default they are left out",
    )
    group.add_argument(
        "--keep-identifiers",
        action="store_true",
        help="use columns that look like identifiers or row numbers; by default they are left out",
    )
    group.add_argument(
        "--keep-dummies",
        action="store_true",
        help="use one-hot coded columns (color_blue, color_red, ...) as they are; by default they are read as the "
        "column that they code (color)",
    )
    group.add_argument(
        "--unknown",
        choices=Later(_unknown_values),
        metavar="HOW",
        help="values that did not occur in training: marginalize (the default) sums them out, error refuses them",
    )
    group.add_argument(
        "--continuous",
        choices=Later(_continuous),
        metavar="HOW",
        help="numeric columns with more than 10 distinct values: discretize (the default) cuts them into "
        "intervals, universal models them by a mixture of finer and coarser intervals (anb, gbn, nb, tan, fan, ckg)",
    )
    group.add_argument(
        "--discretizer",
        choices=Later(_rules),
        metavar="RULE",
        help="where such columns are cut: %(choices)s (default auto)",
    )


def _score(name: str) -> str:
    """Return the name of a score; refuse a name that the score has elsewhere, and say what it is called here."""
    from anbexact.scores.registry import near_score

    near = near_score(name)
    if near is not None and name not in _scores():
        raise argparse.ArgumentTypeError(f"{name!r} is called {near!r} here: pass --score {near}")
    return name


def _scores() -> tuple[str, ...]:
    from anbexact.scores.registry import CONDITIONAL_SCORES, score_names

    return (*score_names(), *CONDITIONAL_SCORES)


def _rules() -> tuple[str, ...]:
    from anbexact.tables.cuts import RULES

    return tuple(RULES)


def _continuous() -> tuple[str, ...]:
    from anbexact.classifiers.measured import CONTINUOUS

    return CONTINUOUS


def _unknown_values() -> tuple[str, ...]:
    from anbexact.tables.prediction import HANDLE_UNKNOWN

    return HANDLE_UNKNOWN


def _estimates() -> tuple[str, ...]:
    from anbexact.models.network.estimation import ESTIMATES

    return ESTIMATES


def _priors() -> tuple[str, ...]:
    from anbexact.search.posterior.structure_posterior import PRIORS

    return PRIORS


def _add_model(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--model",
        choices=Later(titles),
        metavar="MODEL",
        help="one of the models below (default auto; anb if you pass an option that applies to networks only)",
    )
    group.add_argument(
        "--score",
        dest="structure_score",
        type=_score,
        choices=Later(_scores),
        metavar="SCORE",
        help="the score of the structure: %(choices)s (default bdeu; the last two only for ggbn)",
    )
    group.add_argument(
        "--ess",
        type=numbers_or_auto,
        metavar="A",
        help="equivalent sample size, or auto (the default): chosen from the data, or averaged over (averaged-...); "
        "fsanb accepts several values separated by commas and chooses one",
    )
    group.add_argument(
        "--smoothing",
        type=number_or_auto,
        metavar="A",
        help="equivalent sample size of the tables alone, or auto: the one that predicts held-out rows best",
    )
    group.add_argument(
        "--parameters",
        choices=Later(_estimates),
        metavar="HOW",
        help="the estimate of the conditional tables: %(choices)s (default eap)",
    )
    refits = group.add_mutually_exclusive_group()
    refits.add_argument(
        "--refit",
        action="store_true",
        help="refit the class posterior of the network by conditional likelihood, which often predicts better",
    )
    refits.add_argument(
        "--smooth",
        action="store_true",
        help="refit it with smooth shapes on fine intervals, which often predicts better still if columns are "
        "continuous",
    )
    add_shapes(group)
    group.add_argument(
        "--threshold",
        type=numbers,
        metavar="T",
        help="drop a feature whose Bayes factor for independence of the class is above this; fsanb accepts several "
        "values separated by commas and chooses one",
    )
    group.add_argument(
        "--network-ess",
        type=float,
        metavar="A",
        help="equivalent sample size of the network over the selected features (fsanb)",
    )
    group.add_argument(
        "--min-weight",
        type=float,
        metavar="W",
        help="minimum total weight of the rows with a state for that state to be a parent (aode)",
    )
    group.add_argument(
        "--readable",
        action="store_true",
        default=None,
        help="leave out members whose terms are large, such as those for which the pool could not be written as one "
        "network (pool)",
    )


def _add_search(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--max-parents",
        type=int,
        metavar="K",
        help="maximum number of parents of a feature: besides the class (anb, fsanb, averaged-anb), or in total "
        "(gbn, ggbn, mcdag)",
    )
    group.add_argument(
        "--k", type=int, metavar="K", help="maximum number of feature parents of a feature (ckg, kdb; default 2)"
    )
    for option, which in (
        ("--required", "which the structure must have"),
        ("--forbidden", "which the structure must not have"),
    ):
        group.add_argument(
            option,
            dest=f"{option[2:]}_edges",
            action="append",
            metavar="A->B",
            help=f"{EDGE_HELP}, {which}; repeatable",
        )
    group.add_argument(
        "--time-budget",
        type=float,
        metavar="S",
        help="seconds in which auto learns as many models as it can (default 30)",
    )
    group.add_argument(
        "--time-limit",
        type=float,
        metavar="S",
        help="seconds after which the search stops and keeps the best structure found so far",
    )
    group.add_argument("--memory-limit", type=size, metavar="SIZE", help="maximum memory of a search, such as 4GB")
    group.add_argument("--tabu", type=int, metavar="N", help="length of the tabu list (ggbn)")
    group.add_argument("--restarts", type=int, metavar="N", help="number of random restarts (ggbn)")
    group.add_argument(
        "--random-state",
        type=int,
        metavar="SEED",
        help="seed of the restarts (ggbn), or of the draws (averaged-...)",
    )
    group.add_argument(
        "--draws",
        type=int,
        metavar="N",
        help="number of networks drawn where there are too many to sum over (averaged-...)",
    )
    group.add_argument(
        "--prior",
        choices=Later(_priors),
        metavar="WHAT",
        help="what is equally probable a priori: all orders of the features (orders, the default), or all acyclic "
        "graphs (graphs; averaged-anb, up to 12 features)",
    )
