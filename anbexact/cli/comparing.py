"""What ``anbexact compare`` measures of a table that has been read, and what it prints of it."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pandas as pd
from sklearn.base import clone

from anbexact._runtime.units import agreeing
from anbexact.classifiers.choosing.frequencies import PredictedWorseWarning
from anbexact.cli.compare import DEMO_TABLE
from anbexact.cli.learning import learn
from anbexact.cli.messages import InputError, ProgressLine, in_options, note
from anbexact.cli.writing import write_table
from anbexact.compare import Comparison, InterruptedComparisonError, compare
from anbexact.compare.folds import Data, prepare
from anbexact.compare.metrics import BASELINE
from anbexact.compare.models import MODELS, UNCUT, choose
from anbexact.show.report.facts import facts, print_learned, print_reading, sample_sizes
from anbexact.show.report.lines import print_wrapped
from anbexact.show.report.plain import print_json
from anbexact.show.report.text import TABLE_WIDTH, ComparisonTable, print_legend, read_comparison
from anbexact.tables.cuts.continuous import MANY_VALUES
from anbexact.tables.identifiers import LOOKS_LIKE_AN_IDENTIFIER

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from anbexact.classifiers import DiscreteClassifier
    from anbexact.show.report.case_study import Query

DEMO_MODELS = (
    BASELINE,
    "NB",
    "TAN",
    "logistic regression",
    "ANB",
    "gradient boosting",
    "random forest",
    "TAN smooth",
    "auto",
)
"""The models that are compared without any arguments: those of this package, and popular alternatives."""


def compare_and_print(
    args: argparse.Namespace, X: pd.DataFrame, y: pd.Series[Any], weights: pd.Series[Any] | None
) -> None:
    """Measure the classifiers, then learn the recommended one from all rows, and explain its answer for one row."""
    try:
        frame = _cross_validate(X, y, weights, args)
    except InterruptedComparisonError as stop:
        if args.json:
            print_json({**_measurements(args, stop.frame), "unfinished": stop.unfinished})
        elif len(stop.frame):
            _print_conclusions(stop.frame, X)
        raise
    if args.output is not None:
        write_table(pd.DataFrame(frame).rename_axis("model").reset_index(), args.output)
    if not args.json:
        _print_conclusions(frame, X)
    kept = y.notna() if weights is None else y.notna() & (weights > 0)
    X, y = X[kept].reset_index(drop=True), y[kept].reset_index(drop=True)
    if weights is not None:
        weights = weights[kept].reset_index(drop=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the comparison has given them
        data = prepare(X, y, None, frame.attrs["folds"], args.seed, args.missing, args.decimal)
        own = _own(data, args, frame.index)
    name, learned, query = _shown(frame, own), None, None
    if name is not None:
        learned = _learn(own[name], X, y, weights)
        query = _ask(clone(own[name]), X, y, weights, data.splits[0][1], args.threads)
    if args.json:
        shown = None if learned is None else {"model": name, **facts(learned)}
        print_json({**_measurements(args, frame), "learned": shown, "query": query and query.to_dict()})
        return
    if name is not None and learned is not None:
        _print_learned(name, learned, query, frame)
    if args.data is None:
        print("\nOn a table of your own: anbexact compare DATA.csv --class NAME")


def _cross_validate(
    X: pd.DataFrame, y: pd.Series[Any], weights: pd.Series[Any] | None, args: argparse.Namespace
) -> Comparison:
    """Return the measurements, and note each warning of the classifiers once, unless their notes say the same.

    Raises
    ------
    InputError
        If a parameter is wrong, or if no model ended in time.
    """
    demo = args.data is None and args.dataset is None
    models = args.models or (DEMO_MODELS if demo else None)
    table = None if args.json else ComparisonTable([*(args.models or MODELS), "TAN refitted"])

    def show(frame: Comparison) -> None:
        if table is not None:
            line.wipe()
            table.show(frame)

    if table is not None:
        print(f"\n{args.folds}-fold cross-validation, structure and cut points relearned in every fold")
    with ProgressLine() as line, warnings.catch_warnings(record=True) as caught:
        try:
            frame = compare(
                X,
                y,
                sample_weight=weights,
                folds=args.folds,
                seed=args.seed,
                models=models,
                refit=False if args.no_refit else None,
                handle_missing=args.missing,
                decimal=args.decimal,
                n_jobs=args.threads,
                time_limit=args.time_limit,
                progress=line.show,
                each=show,
            )
        except (TypeError, ValueError) as error:
            raise InputError(str(error)) from None
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        if text not in frame.attrs["notes"]:
            note(text)
    if frame.empty:
        raise InputError(
            f"no model ended within the time limit of {args.time_limit:g} s: pass a longer --time-limit, or none"
        )
    return frame


def _print_conclusions(frame: Comparison, X: pd.DataFrame) -> None:
    """Print how to read the measurements, the notes that they require, and what they say."""
    print_legend(frame)
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


def _own(data: Data, args: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Return the unfitted classifiers of this package among models, if they can be explained, by name."""
    chosen = choose(list(names), data, args.threads, args.missing)
    return {name: of.estimator for name, of in chosen.items() if hasattr(of.estimator, "explain")}


def _shown(frame: Comparison, own: Mapping[str, Any]) -> str | None:
    """Return the model that is shown: the recommended one, or else the one of this package that comes next to it.

    That is the simplest of those within one standard error of the best, or else the one with the lowest log loss.
    """
    found = frame.recommendation
    close = [] if found is None else [name for name in (found.model, *found.others) if name in own]
    if found is not None and found.model in own:
        return found.model
    sizes = frame["parameters"] + frame["rows_to_read"]
    if close:
        return str(sizes[close].idxmin())
    losses = frame["log_loss"].reindex([name for name in frame.index if name in own]).dropna()
    return None if losses.empty else str(losses.idxmin())


def _learn(
    classifier: DiscreteClassifier, X: pd.DataFrame, y: pd.Series[Any], weights: pd.Series[Any] | None
) -> DiscreteClassifier:
    """Return a copy of a classifier that is learned from all rows."""
    fitted: DiscreteClassifier = clone(classifier)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=f".*({LOOKS_LIKE_AN_IDENTIFIER}|left out of training)")  # noted
        warnings.simplefilter("ignore", PredictedWorseWarning)  # the line of the class frequencies shows it
        learn(fitted, X, y, weights)
    return fitted


def _ask(
    classifier: DiscreteClassifier,
    X: pd.DataFrame,
    y: pd.Series[Any],
    weights: pd.Series[Any] | None,
    left_out: npt.NDArray[np.intp],
    threads: int | None,
) -> Query | None:
    """Return the question about one row with its answer; None, with a note, if it cannot be answered.

    The row is one of those that are left out. The classifier, which is not fitted yet, learns from the others.
    """
    from anbexact.show.report.case_study import Query

    try:
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


def _print_learned(name: str, classifier: DiscreteClassifier, query: Query | None, frame: Comparison) -> None:
    """Print the model, and the question about one row with its answer."""
    found = frame.recommendation
    if found is not None and name != found.model:
        print()
        if found.model == BASELINE:
            why = "No model is recommended"
        else:
            why = f"{found.model} comes from another package and is not explained here"
        print_wrapped(f"{why}. What follows is the {name}, the next choice among this package's.", width=TABLE_WIDTH)
    print(f"\n{', '.join(filter(None, [f'{name}, learned from all rows', sample_sizes(classifier)]))}")
    print_reading(classifier)
    print_learned(classifier)
    if query is not None:
        print()
        query.print(classifier)
