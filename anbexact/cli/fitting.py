"""What ``anbexact fit`` learns from a table that has been read, and what it prints of it."""

from __future__ import annotations

import argparse
import warnings
from typing import TYPE_CHECKING, Any

from anbexact._runtime.units import counted
from anbexact.classifiers.discrete import first_table_classifier
from anbexact.classifiers.pooling.learning import OUT_OF_TIME
from anbexact.cli.fit_options import DEFAULT, OTHERWISE, titles
from anbexact.cli.learning import foreign_to, learn, refitted, unfitted
from anbexact.cli.models import write_model
from anbexact.cli.shape_options import chosen_shapes
from anbexact.models.network.probable_levels import most_probable_levels
from anbexact.report import feature_report
from anbexact.show.report.facts import facts, print_learned, print_reading, sample_sizes
from anbexact.show.report.lines import print_wrapped
from anbexact.show.report.plain import print_json
from anbexact.show.report.text import print_features
from anbexact.tables.cuts import cut_texts
from anbexact.tables.frames.dummies import folded_frame
from anbexact.tables.missing import EM

if TYPE_CHECKING:
    import pandas as pd

    from anbexact.classifiers import DiscreteClassifier, TableClassifier

MOST_CUTS = 24
"""Maximum number of cut points of a column that are listed; of more, only the number is printed."""


def learn_and_print(
    args: argparse.Namespace,
    X: pd.DataFrame,
    y: pd.Series[Any],
    weights: pd.Series[Any] | None,
    label: str,
    parameters: dict[str, Any],
) -> None:
    """Learn the classifier, save it if asked to, and say what was learned.

    Parameters
    ----------
    args : Namespace
        The options; ``model`` becomes the name of what was learned.
    X, y, weights
        Features, classes, of which some may be missing, and weights.
    label : str
        The name of the table.
    parameters : dict
        The parameters of the classifier that options set.
    """
    args.model = args.model or _suits(args, parameters)
    chosen = _fitted(args, X, y, weights, parameters)
    if args.output is not None:
        write_model(chosen, args.output)
    rows, rows_trained = len(X), _count_trained(first_table_classifier(chosen), X, weights)
    X, y, weights = _labelled(X, y, weights)
    accuracy = chosen.score(X, y, weights)
    features = None
    if chosen.model_.learned is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about rows that are left out: the fit has given these
            features = feature_report(chosen, X, y, weights)
    if args.json:
        document = _document(args, label, chosen, rows, rows_trained, accuracy)
        if features is not None:
            document["feature_report"] = features.reset_index().to_dict(orient="records")
        print_json(document)
        return
    if rows_trained < rows:
        print(f"{counted(rows_trained, 'row')} to learn from; the others have missing cells or no weight")
    _print_classifier(args, chosen, accuracy)
    if features is not None:
        used = features.drop(index=[*first_table_classifier(chosen).vocabulary_.left_out])
        print_features(used, args.class_name)
    if args.output is not None:
        print(f"saved to {args.output}")


def _suits(args: argparse.Namespace, parameters: dict[str, Any]) -> str:
    """Return the model to learn if none is named: the default, or the one to which all options apply."""
    refits = args.refit or args.smooth or EM in (args.missing, args.missing_class)
    return OTHERWISE if refits or foreign_to(DEFAULT, parameters) else DEFAULT


def _fitted(
    args: argparse.Namespace,
    X: pd.DataFrame,
    y: pd.Series[Any],
    weights: pd.Series[Any] | None,
    parameters: dict[str, Any],
) -> DiscreteClassifier:
    """Return the fitted classifier that the options name."""
    classifier = unfitted(args.model, threads=args.threads, **parameters)
    refits = args.refit or args.smooth
    shapes = chosen_shapes(args, y.dropna().unique().tolist())
    chosen = refitted(args.model, classifier, smooth=args.smooth, **shapes) if refits else classifier
    learn(chosen, X, y, weights)
    return chosen


def _labelled(
    X: pd.DataFrame, y: pd.Series[Any], weights: pd.Series[Any] | None
) -> tuple[pd.DataFrame, pd.Series[Any], pd.Series[Any] | None]:
    """Return the rows that have a class."""
    kept = y.notna()
    return X[kept], y[kept], None if weights is None else weights[kept]


def _count_trained(classifier: TableClassifier, X: pd.DataFrame, weights: pd.Series[Any] | None) -> int:
    """Return the number of rows that were learned from: of weight above zero, and not left out for missing cells."""
    vocabulary = classifier.vocabulary_
    X = folded_frame(X, vocabulary.dummies)
    rules = classifier.handle_missing_
    kept = ("own_state", EM)
    costly = [name for name in vocabulary.features if rules[name] not in kept and vocabulary.arity(name) > 1]
    trained = X[costly].notna().all(axis=1)
    return int((trained if weights is None else trained & (weights > 0)).sum())


def _document(
    args: argparse.Namespace,
    label: str,
    classifier: DiscreteClassifier,
    rows: int,
    rows_trained: int,
    accuracy: float,
) -> dict[str, Any]:
    """Return what is printed as a document for JSON."""
    return {
        "data": label,
        "rows": rows,
        "rows_trained": rows_trained,
        "weights": args.weights,
        "counts": args.counts,
        "model": args.model,
        **facts(classifier),
        "training_accuracy": accuracy,
        "saved_to": args.output,
    }


def _print_classifier(args: argparse.Namespace, chosen: DiscreteClassifier, accuracy: float) -> None:
    """Print what was learned: cells of continuous columns, structure, refit and accuracy."""
    classifier = first_table_classifier(chosen)
    print_reading(classifier)
    title, learned = titles()[args.model], chosen.model_.learned
    if not hasattr(chosen, "members_"):  # the members of a pool cut columns in different ways
        if getattr(classifier, "universal_score_", None) is not None:
            _print_cells(learned)
        else:
            automatic = args.discretizer in (None, "auto")
            _print_cuts(classifier, classifier.automatic_rule if automatic else args.discretizer)
    if learned is not None and not learned.structure.certificate.optimal:
        title = title.removeprefix("optimal ")
    print(f"\n{', '.join(filter(None, [title, sample_sizes(chosen)]))}")
    print_learned(chosen)
    _print_late(chosen)
    _print_accuracy(accuracy)


def _print_late(chosen: Any) -> None:
    """Print how many models the budget of time did not allow, if there is one."""
    if getattr(chosen, "time_budget", None) is None:
        return
    late = int((chosen.members_["outcome"] == OUT_OF_TIME).sum())
    if late:
        print(
            f"the budget of {chosen.time_budget:g} s was too short for {counted(late, 'model')}: a longer one "
            "(--time-budget) may predict better"
        )


def _print_accuracy(accuracy: float) -> None:
    print(
        f"accuracy on the rows it was learned from: {accuracy:.4f} (optimistic; cross-validate with anbexact compare)"
    )


def _print_cuts(classifier: DiscreteClassifier, rule: str) -> None:
    """Print where continuous columns are cut, and how many groups the values of others form."""
    quantities = classifier.vocabulary_.quantities
    found, whole = [], []
    for name, cuts in classifier.cut_points_.items():
        if len(cuts) > MOST_CUTS:
            found.append(f"{name} at {len(cuts)} points")
        elif len(cuts):
            found.append(f"{name} at {', '.join(cut_texts(cuts, quantities.get(name)))}")
        else:
            whole.append(str(name))
    if found:
        print_wrapped(f"cut points ({rule}): {'; '.join(found)}")
    if whole:
        print_wrapped(f"no cut point was found in: {', '.join(whole)}")
    groups = classifier.vocabulary_.groups
    if groups:
        sizes = [f"{name}, {sum(map(len, of_name)):,} to {len(of_name):,}" for name, of_name in groups.items()]
        print_wrapped(f"values put into groups: {'; '.join(sizes)}")
        useless = [str(name) for name, of_name in groups.items() if len(of_name) == 1]
        if useless:
            print_wrapped(f"a single group, which carries no information about the class: {', '.join(useless)}")


def _print_cells(model: Any) -> None:
    """Print how many cells continuous columns have at their most probable and at their finest levels."""
    most_probable = most_probable_levels(model.densities)
    cells = [
        f"{name} {len(partition.cuts_at(most_probable[name])) + 1} of {len(partition.masses)}"
        for name, partition in model.measure.partitions.items()
    ]
    if cells:
        print_wrapped(f"universal measure; cells at the most probable level, of the finest level: {'; '.join(cells)}")
