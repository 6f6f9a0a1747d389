"""What ``anbexact compare`` measures of a table that has been read, and what it prints of it."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Collection
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from sklearn.base import clone

import anbexact
from anbexact._runtime.units import agreeing
from anbexact.cli.compare import DEMO_TABLE
from anbexact.cli.learning import learn, unfitted
from anbexact.cli.messages import InputError, ProgressLine, in_options, note
from anbexact.compare import Comparison, InterruptedComparisonError, compare
from anbexact.compare.folds import prepare
from anbexact.compare.models import UNCUT
from anbexact.show.report.facts import facts, print_learned, print_reading, sample_sizes
from anbexact.show.report.lines import print_wrapped
from anbexact.show.report.plain import print_json
from anbexact.show.report.text import TABLE_WIDTH, print_comparison, read_comparison
from anbexact.tables.cuts.continuous import MANY_VALUES
from anbexact.tables.identifiers import LOOKS_LIKE_AN_IDENTIFIER

if TYPE_CHECKING:
    import pandas as pd

    from anbexact.classifiers import NetworkClassifier
    from anbexact.show.report.case_study import Query

DEMO_MODELS = (
    "NB",
    "TAN",
    "ANB",
    "TAN smooth",
    "pool",
    "logistic regression",
    "random forest",
    "gradient boosting",
    "class frequencies",
)
"""The models that are compared without any arguments: from naive Bayes to the pool, and popular alternatives."""


def compare_and_print(
    args: argparse.Namespace, X: pd.DataFrame, y: pd.Series[Any], weights: pd.Series[Any] | None
) -> None:
    """Measure the classifiers, then learn one from all rows, and explain its answer for a row that is left out."""
    try:
        frame = _cross_validate(X, y, weights, args)
    except InterruptedComparisonError as stop:
        if args.json:
            print_json({**_measurements(args, stop.frame), "unfinished": stop.unfinished})
        elif len(stop.frame):
            _print_measured(stop.frame, X)
        raise
    if not args.json:
        _print_measured(frame, X)
    kept = y.notna() if weights is None else y.notna() & (weights > 0)
    X, y = X[kept].reset_index(drop=True), y[kept].reset_index(drop=True)
    if weights is not None:
        weights = weights[kept].reset_index(drop=True)
    name, classifier = _learn(X, y, weights, args, frame.index)
    query = _ask(clone(classifier), X, y, weights, frame.attrs["folds"], args.threads)
    if args.json:
        document = {**_measurements(args, frame), "learned": {"model": name, **facts(classifier)}}
        print_json({**document, "query": query and query.to_dict()})
    else:
        _print_learned(name, classifier, query)
        if args.data is None:
            print("\nOn a table of your own: anbexact compare DATA.csv --class NAME")


def _cross_validate(
    X: pd.DataFrame, y: pd.Series[Any], weights: pd.Series[Any] | None, args: argparse.Namespace
) -> Comparison:
    """Return the measurements, and note each warning of the classifiers once, unless their notes say the same."""
    demo = args.data is None and args.dataset is None
    with ProgressLine() as line, warnings.catch_warnings(record=True) as caught:
        try:
            frame = compare(
                X,
                y,
                sample_weight=weights,
                folds=args.folds,
                seed=args.seed,
                models=args.models or (DEMO_MODELS if demo else None),
                refit=not args.no_refit,
                handle_missing=args.missing,
                decimal=args.decimal,
                n_jobs=args.threads,
                progress=line.show,
            )
        except (TypeError, ValueError) as error:
            raise InputError(str(error)) from None
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        if text not in frame.attrs["notes"]:
            note(text)
    return frame


def _print_measured(frame: Comparison, X: pd.DataFrame) -> None:
    """Print the measurements, the notes that they require, and what they say."""
    print(f"\n{frame.attrs['folds']}-fold cross-validation, structure and cut points relearned in every fold")
    print_comparison(frame)
    uncut = [name for name in frame.index if name in UNCUT]
    if uncut and any(X[column].dtype.kind in "iuf" and X[column].nunique() > MANY_VALUES for column in X):
        use = agreeing(len(uncut), "uses", "use")
        others = "; the other models cut them into intervals" if len(uncut) < len(frame) else ""
        print_wrapped(f"{', '.join(uncut)} {use} numbers as they are{others}", width=TABLE_WIDTH)
    for text in frame.attrs["notes"]:
        print_wrapped(f"note: {in_options(text)}")
    for sentence in read_comparison(frame):
        print_wrapped(sentence, width=TABLE_WIDTH)
    if frame.recommendation is not None:
        print_wrapped(str(frame.recommendation), width=TABLE_WIDTH)


def _learn(
    X: pd.DataFrame,
    y: pd.Series[Any],
    weights: pd.Series[Any] | None,
    args: argparse.Namespace,
    compared: Collection[str],
) -> tuple[str, NetworkClassifier]:
    """Return the ANB of all rows (the universal one if only that was compared), or NB if its search is too large."""
    name, continuous = "ANB", None
    if "ANB universal" in compared and "ANB" not in compared:
        name, continuous = "ANB universal", "universal"
    settings = {"threads": args.threads, "handle_missing": args.missing, "decimal": args.decimal}
    classifier = unfitted("anb", continuous=continuous, **settings)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=f".*({LOOKS_LIKE_AN_IDENTIFIER}|left out of training)")  # noted
        try:
            learn(classifier, X, y, weights)
        except anbexact.SearchTooLargeError:
            name, classifier = "NB", unfitted("nb", **settings)
            learn(classifier, X, y, weights)
    return name, cast("NetworkClassifier", classifier)


def _ask(
    classifier: NetworkClassifier,
    X: pd.DataFrame,
    y: pd.Series[Any],
    weights: pd.Series[Any] | None,
    folds: int,
    threads: int | None,
) -> Query | None:
    """Return the question about one row with its answer; None, with a note, if it cannot be answered.

    The row is one of the first fold. The classifier, which is not fitted yet, learns from the other folds.
    """
    from anbexact.show.report.case_study import Query

    try:
        (_, left_out), *_ = prepare(X, y, None, folds, 0).splits
        return Query(classifier, X, y, left_out, threads, weights)
    except (MemoryError, ValueError) as error:
        note(f"the case study is skipped: {error}")
        return None


def _measurements(args: argparse.Namespace, frame: Comparison) -> dict[str, Any]:
    """Return what was measured, for JSON."""
    refit_of = {new: old for old, new in frame.attrs["refits"].items()}
    return {
        "data": args.data or args.dataset or DEMO_TABLE,
        "weights": args.weights,
        "counts": args.counts,
        **{key: frame.attrs[key] for key in ("rows", "folds", "notes")},
        "recommendation": None if frame.recommendation is None else asdict(frame.recommendation),
        "models": [
            {"model": model, "refit_of": refit_of.get(model), **row}
            for model, row in frame.to_dict(orient="index").items()
        ],
    }


def _print_learned(name: str, classifier: NetworkClassifier, query: Query | None) -> None:
    """Print the network, and the question about one row with its answer."""
    print(f"\nThe {name} of all rows, {sample_sizes(classifier)}")
    print_reading(classifier)
    print_learned(classifier)
    if query is not None:
        print()
        query.print(classifier.structure_)
