"""``anbexact predict``: classify the rows of a table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

from anbexact.cli.messages import InputError, listed, note
from anbexact.cli.models import read_model
from anbexact.cli.options import DATA_HELP, Commands
from anbexact.cli.tables import read_table

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from anbexact.classifiers import TableClassifier


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser("predict", help="classify the rows of a table", allow_abbrev=False)
    parser.add_argument("model", metavar="MODEL", help="a classifier that fit or convert wrote")
    parser.add_argument("data", metavar="DATA", help=DATA_HELP)
    parser.add_argument(
        "--class", dest="class_name", metavar="NAME", help="the variable to be predicted, where MODEL does not say"
    )
    parser.add_argument("--proba", action="store_true", help="add the probability of every class")
    parser.add_argument("-o", "--output", metavar="OUT.csv", help="write here, not to standard output")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Write the predicted classes as CSV, and note the accuracy if the classes are given."""
    classifier = read_model(args.model, args.class_name)
    names = _names_as_text(classifier, args.model)
    frame = read_table(args.data, _text_columns(classifier, names))
    X = _features(frame, classifier, names, args)
    try:
        _note_unknown(classifier, X)
        proba = classifier.predict_proba(X)
    except (TypeError, ValueError) as error:
        raise InputError(f"{args.data}: {error}") from None
    predicted = classifier.classes_[proba.argmax(axis=1)]
    _write(predicted, proba if args.proba else None, classifier.classes_.tolist(), args.output)
    class_name = str(classifier.vocabulary_.class_name)
    if class_name in frame:
        _note_accuracy(frame[class_name], predicted)


def _names_as_text(classifier: TableClassifier, path: str) -> dict[str, Hashable]:
    """Return the classifier's names of columns by what a file calls them."""
    names = {str(name): name for name in classifier.vocabulary_.names}
    if len(names) < len(classifier.vocabulary_.names):
        raise InputError(f"{path}: two of its columns have the same name as text, which a table cannot tell apart")
    return names


def _text_columns(classifier: TableClassifier, names: Mapping[str, Hashable]) -> list[str]:
    """Return the columns whose states are text, even where a file has only some that look like numbers."""
    states = classifier.vocabulary_.states
    return [
        text
        for text, name in names.items()
        if all(isinstance(state, str) for state in states[name]) and name not in classifier.cut_points_
    ]


def _features(
    frame: pd.DataFrame, classifier: TableClassifier, names: Mapping[str, Hashable], args: argparse.Namespace
) -> pd.DataFrame:
    """Return the classifier's features, in its order and under its own names."""
    features = classifier.vocabulary_.features
    left_out = {str(name) for name in classifier.vocabulary_.left_out}
    frame = frame.assign(**dict.fromkeys(left_out.difference(frame)))
    gone = [name for name in map(str, features) if name not in frame]
    if gone:
        raise InputError(f"{args.data} lacks {listed(gone, 'column')} that {args.model} needs")
    extra = [str(name) for name in frame if name not in names]
    if extra:
        note(f"ignoring {listed(extra, 'column')} that {args.model} does not know")
    return frame[[str(name) for name in features]].set_axis(list(features), axis=1)


def _note_unknown(classifier: TableClassifier, X: pd.DataFrame) -> None:
    """Say which columns hold values that are no states, since these are silently summed out."""
    from anbexact.vocabulary import UNKNOWN

    unknown = classifier._codes(X) == UNKNOWN
    for j, name in enumerate(classifier.vocabulary_.features):
        if unknown[j].any():
            value = X[name].iloc[int(unknown[j].argmax())]
            count = int(unknown[j].sum())
            note(f"column {name!r}: {count:,} cells hold no known state (first: {value!r}) and are summed out")


def _write(
    predicted: npt.NDArray[Any], proba: npt.NDArray[np.float64] | None, labels: list[Any], path: str | None
) -> None:
    """Write the classes, and their probabilities unless None, to a file or to standard output."""
    import pandas as pd

    out = pd.DataFrame({"predicted": predicted})
    if proba is not None:
        shares = pd.DataFrame(proba, columns=[f"P({label})" for label in labels])
        out = pd.concat([out, shares], axis=1)
    out.to_csv(path if path is not None else sys.stdout, index=False)


def _note_accuracy(truth: pd.Series[Any], predicted: npt.NDArray[Any]) -> None:
    """Say how many predictions are right, if any class is given."""
    known = truth.notna().to_numpy()
    if known.any():
        accuracy = float((truth[known].to_numpy(dtype=object) == predicted[known]).mean())
        note(f"accuracy {accuracy:.4f} on the {int(known.sum()):,} rows whose {truth.name} is given")
