"""``anbexact fit``: learn a classifier from a table."""

from __future__ import annotations

import argparse
import warnings
from typing import TYPE_CHECKING, Any

from anbexact.classifiers import AODEClassifier, MeasuredClassifier, NetworkClassifier, TableClassifier
from anbexact.classifiers.base import PARAMETERS
from anbexact.classifiers.measured import CONTINUOUS
from anbexact.cli.learning import MODELS, learn, unfitted
from anbexact.cli.models import FORMATS_HELP, check_output, write_model
from anbexact.cli.options import DATA_HELP, Commands, add_common, add_weights, number_or_auto
from anbexact.cli.tables import features_and_class, read_table, take_weights
from anbexact.densities import likeliest_levels
from anbexact.discretize import AUTO, RULES
from anbexact.missing import HANDLE_MISSING
from anbexact.report import feature_report
from anbexact.report.text import (
    class_sizes,
    describe,
    print_features,
    print_json,
    print_mixture,
    print_reading,
    print_structure,
    print_wrapped,
    sample_sizes,
)
from anbexact.scores.names import SCORES

if TYPE_CHECKING:
    import pandas as pd


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser("fit", help="learn a classifier from a table", allow_abbrev=False)
    parser.add_argument("data", metavar="DATA", help=DATA_HELP)
    parser.add_argument(
        "--class", dest="class_name", metavar="NAME", required=True, help="the column to be predicted"
    )
    parser.add_argument(
        "--model",
        choices=tuple(MODELS),
        default="anb",
        help="; ".join(f"{name}: {title}" for name, (title, _) in MODELS.items()),
    )
    parser.add_argument("-o", "--output", metavar="MODEL", help=f"save it here: {FORMATS_HELP}")
    parser.add_argument(
        "--ess",
        type=number_or_auto,
        metavar="A",
        help="equivalent sample size, or auto (the default): chosen from the data",
    )
    parser.add_argument(
        "--smoothing",
        type=number_or_auto,
        metavar="A",
        help="equivalent sample size of the tables alone, or auto: what predicts left-out rows best",
    )
    parser.add_argument(
        "--continuous",
        choices=CONTINUOUS,
        help="what becomes of numeric columns with more than 10 distinct values: they are cut into intervals "
        "(discretize, the default), or measured by a mixture of finer and coarser ones (universal: anb, gbn, nb, "
        "tan, fan, ckg)",
    )
    parser.add_argument(
        "--discretizer",
        choices=tuple(RULES),
        default="auto",
        help=f"where continuous columns are cut (default auto: {AUTO})",
    )
    parser.add_argument(
        "--score",
        choices=(*SCORES, "cmdl", "cll"),
        help="what the structure is scored by (default bdeu; cmdl and cll: ggbn alone)",
    )
    parser.add_argument("--parameters", choices=PARAMETERS, help="how the tables are estimated (default eap)")
    parser.add_argument(
        "--max-parents", type=int, metavar="K", help="most parents, besides the class (anb, fsanb), or in all"
    )
    parser.add_argument("--k", type=int, metavar="K", help="most feature parents of a feature (ckg, kdb; default 2)")
    parser.add_argument(
        "--time-limit", type=float, metavar="S", help="seconds after which a search ends: the best so far is taken"
    )
    add_weights(parser)
    parser.add_argument(
        "--missing",
        choices=HANDLE_MISSING,
        help="what becomes of missing cells of features: they are a state of their own (own_state), their rows are "
        "left out of training and they are summed out at prediction (marginalize), either, by column (auto, the "
        "default), or they are refused (error)",
    )
    parser.add_argument(
        "--keep-identifiers",
        action="store_true",
        help="use columns that look like identifiers or numbers of the rows, which are left out otherwise",
    )
    add_common(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Learn the classifier, save it if asked to, and say what was learned."""
    _check(args)
    X, y = features_and_class(read_table(args.data), args.class_name, args.data)
    weights = None if args.weights is None else take_weights(X, args.weights, args.data)
    classifier = unfitted(
        args.model,
        threads=args.threads,
        structure_score=args.score,
        ess=args.ess,
        parameters=args.parameters,
        smoothing=args.smoothing,
        continuous=args.continuous,
        discretizer=args.discretizer,
        max_parents=args.max_parents,
        k=args.k,
        time_limit=args.time_limit,
        handle_missing=args.missing,
        drop_identifiers=False if args.keep_identifiers else None,
    )
    learn(classifier, X, y, weights)
    if args.output is not None:
        write_model(classifier, args.output)
    rows_trained = _count_trained(classifier, X, weights)
    accuracy = classifier.score(X, y, weights)
    features = None
    if isinstance(classifier, NetworkClassifier):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of rows that are left out: said already
            features = feature_report(classifier, X, y, weights)
    if args.json:
        document = _document(args, classifier, len(X), rows_trained, accuracy)
        if features is not None:
            document["feature_report"] = features.reset_index().to_dict(orient="records")
        print_json(document)
    else:
        _print_table(args, X, y, rows_trained)
        _print_classifier(args, classifier, accuracy)
        if features is not None:
            print_features(features, args.class_name)
        if args.output is not None:
            print(f"saved to {args.output}")


def _check(args: argparse.Namespace) -> None:
    """Refuse, before all the work, an output that could not be written."""
    if args.output is not None:
        check_output(args.output)


def _count_trained(classifier: TableClassifier, X: pd.DataFrame, weights: pd.Series[Any] | None) -> int:
    """Return the number of rows that counted: weight above zero, and no missing cell that costs the row."""
    vocabulary = classifier.vocabulary_
    rules = classifier.handle_missing_
    costly = [name for name in vocabulary.features if rules[name] != "own_state" and vocabulary.arity(name) > 1]
    trained = X[costly].notna().all(axis=1)
    return int((trained if weights is None else trained & (weights > 0)).sum())


def _document(
    args: argparse.Namespace, classifier: TableClassifier, rows: int, rows_trained: int, accuracy: float
) -> dict[str, Any]:
    """Return all of it for JSON."""
    return {
        "data": args.data,
        "rows": rows,
        "rows_trained": rows_trained,
        "weights": args.weights,
        "model": args.model,
        **describe(classifier),
        "training_accuracy": accuracy,
        "saved_to": args.output,
    }


def _print_table(args: argparse.Namespace, X: pd.DataFrame, y: pd.Series[Any], rows_trained: int) -> None:
    """Print what the classifier was learned from."""
    weighted = f", weighted by {args.weights}" if args.weights is not None else ""
    print(f"{args.data}: {rows_trained:,} rows to learn from{weighted}, {X.shape[1]} features")
    print_wrapped(class_sizes(y))


def _print_classifier(args: argparse.Namespace, classifier: TableClassifier, accuracy: float) -> None:
    """Print what was learned: cells of continuous columns, structure and accuracy."""
    print_reading(classifier)
    if isinstance(classifier, MeasuredClassifier) and classifier.measure_ is not None:
        _print_cells(classifier)
    else:
        _print_cuts(classifier, AUTO if args.discretizer == "auto" else args.discretizer)
    print()
    title = MODELS[args.model][0]
    if isinstance(classifier, NetworkClassifier) and not classifier.structure_.certificate.optimal:
        title = title.removeprefix("optimal ")
    print(f"{title}, {sample_sizes(classifier)}")
    if isinstance(classifier, AODEClassifier):
        print_mixture(classifier)
    elif isinstance(classifier, NetworkClassifier):
        print_structure(classifier)
    print(f"accuracy on the rows it was learned from: {accuracy:.4f} (flattering; anbexact compare cross-validates)")


def _print_cuts(classifier: TableClassifier, rule: str) -> None:
    """Print where continuous columns are cut."""
    cuts = {name: ", ".join(f"{cut:g}" for cut in of_name) for name, of_name in classifier.cut_points_.items()}
    found = [f"{name} at {of_name}" for name, of_name in cuts.items() if of_name]
    if found:
        print_wrapped(f"cut points ({rule}): {'; '.join(found)}")
    whole = [str(name) for name, of_name in cuts.items() if not of_name]
    if whole:
        print_wrapped(f"not cut, so of no use: {', '.join(whole)}")


def _print_cells(classifier: MeasuredClassifier) -> None:
    """Print into how many cells continuous columns fall, at their finest and at their likeliest levels."""
    assert classifier.measure_ is not None
    assert classifier.densities_ is not None
    likeliest = likeliest_levels(classifier.densities_)
    cells = [
        f"{name} {len(partition.cuts_at(likeliest[name])) + 1} of {len(partition.masses)}"
        for name, partition in classifier.measure_.partitions.items()
    ]
    if cells:
        print_wrapped(f"measured; cells at the likeliest level, of those at the finest: {'; '.join(cells)}")
