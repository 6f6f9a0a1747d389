"""``anbexact predict``: classify the rows of a table."""

from __future__ import annotations

import argparse
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from anbexact.classifiers import NetworkClassifier, PooledClassifier, RefittedClassifier
from anbexact.classifiers.fitted_pool import first_table_classifier
from anbexact.cli.cells import cell_text, is_text
from anbexact.cli.deciding import add_deciding, check_deciding, decided, probabilities
from anbexact.cli.messages import InputError, listed, note
from anbexact.cli.models import read_model
from anbexact.cli.options import DATA_HELP, Commands, add_command, add_reading
from anbexact.cli.tables import find_columns, open_table, read_frame, recognised
from anbexact.cli.writing import OUTPUT_HELP, check_table_output, write_table

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from anbexact.classifiers import DiscreteClassifier
    from anbexact.cli.formats import TableFile

DESCRIPTION = """\
Classify the rows of a table. The columns can be in any order; other columns are ignored."""
EXAMPLES = """\
  anbexact predict model.json new.csv
  anbexact predict model.json new.csv --proba --id patient -o out.xlsx
  anbexact predict model.json new.parquet --keep -o out.parquet
  anbexact predict model.json new.csv --explain --id patient -o why.csv
  anbexact predict model.json new.csv --class-prior ill=0.1,well=0.9 --cost ill=5 --reject 0.5
  zcat new.csv.gz | anbexact predict model.json - > out.csv
"""


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = add_command(
        commands,
        "predict",
        "MODEL DATA [options]",
        summary="classify the rows of a table",
        description=DESCRIPTION,
        examples=EXAMPLES,
    )
    parser.add_argument("model", metavar="MODEL", help="a classifier written by fit or convert")
    parser.add_argument("data", metavar="DATA", help=DATA_HELP)
    parser.add_argument(
        "--class", dest="class_name", metavar="NAME", help="the variable to predict, if MODEL does not name it"
    )
    parser.add_argument(
        "-o", "--output", metavar="OUT", help=f"write to this file ({OUTPUT_HELP}) instead of standard output"
    )
    group = parser.add_argument_group("what to write beside the predicted class")
    group.add_argument("--proba", action="store_true", help="the probability of every class")
    group.add_argument(
        "--explain",
        action="store_true",
        help="instead of one line per row, write one per term of the log odds of the predicted class against the "
        "next: what each feature adds (nats; factor of the odds), with a 95 %% interval and its training rows",
    )
    which = group.add_mutually_exclusive_group()
    which.add_argument(
        "--id", action="append", default=[], metavar="COLUMN[,...]", help="copy this column of DATA; repeatable"
    )
    which.add_argument("--keep", action="store_true", help="copy all columns of DATA")
    add_deciding(parser)
    add_reading(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Write the predicted classes, and note the accuracy if the classes are given and errors cost the same."""
    check_deciding(args)
    classifier = read_model(args.model, args.class_name)
    names = _names_as_text(classifier, args.model)
    file = open_table(args)
    check_table_output(args.output, file.source)
    label = file.source.label
    texts = [*_text_columns(classifier, names), *args.text]
    frame = read_frame(file, texts)
    find_columns(args.text, frame, "--text", label)
    passed = list(map(str, frame)) if args.keep else find_columns(args.id, frame, "--id", label)
    _check_columns(frame, classifier, args, passed)
    known = recognised(frame[[name for name in frame if name in names]], file, texts)
    X = _features(known, classifier)
    try:
        _note_unknown(classifier, X)
        proba = probabilities(classifier, X, args)
    except (TypeError, ValueError) as error:
        raise InputError(f"{label}: {error}") from None
    predicted = decided(classifier, proba, args)
    answers = _beside(_answers(classifier, predicted, proba if args.proba else None), file, passed)
    if args.explain:
        answers = _explained(classifier, X, answers, args.model)
    write_table(answers, args.output)
    class_name = str(classifier.vocabulary_.class_name)
    if class_name in known and not args.cost and args.reject is None:
        _note_accuracy(_known_states(known[class_name], classifier.classes_.tolist()), predicted)


def _names_as_text(classifier: DiscreteClassifier, path: str) -> dict[str, Hashable]:
    """Return the classifier's names of columns by what a file calls them."""
    names = {str(name): name for name in classifier.vocabulary_.names}
    if len(names) < len(classifier.vocabulary_.names):
        raise InputError(f"{path}: two of its columns have the same name when written as text")
    return names


def _text_columns(classifier: DiscreteClassifier, names: Mapping[str, Hashable]) -> list[str]:
    """Return the columns whose states are text, even where a file has only some that look like numbers."""
    vocabulary = classifier.vocabulary_
    return [
        text
        for text, name in names.items()
        if all(isinstance(value, str) for value in vocabulary.values(name)) and name not in classifier.cut_points_
    ]


def _check_columns(
    frame: pd.DataFrame, classifier: DiscreteClassifier, args: argparse.Namespace, passed: list[str]
) -> None:
    """Refuse a table without all features, and note columns that are neither known nor passed through."""
    names = list(map(str, classifier.vocabulary_.names))
    vocabulary = classifier.vocabulary_
    gone = [str(name) for name in vocabulary.features if str(name) not in frame and name not in vocabulary.left_out]
    if gone:
        raise InputError(f"{args.data} lacks {listed(gone, 'column')}, required by {args.model}")
    extra = [name for name in map(str, frame) if name not in names and name not in passed]
    if extra:
        note(f"ignoring {listed(extra, 'column')}, not used by {args.model}")


def _features(frame: pd.DataFrame, classifier: DiscreteClassifier) -> pd.DataFrame:
    """Return the classifier's features, in its order and under its own names."""
    vocabulary = classifier.vocabulary_
    tolerant = first_table_classifier(classifier).handle_unknown == "marginalize"
    columns = {}
    for name in vocabulary.features:
        if name in vocabulary.left_out:  # its cells are not looked at, and need not be there
            columns[name] = pd.Series(None, index=frame.index, dtype=object)
            continue
        column = frame[str(name)]
        if name in classifier.cut_points_ and tolerant:
            columns[name] = _numbers(column)
        else:
            columns[name] = _known_states(column, vocabulary.states[name])
    return pd.DataFrame(columns, index=frame.index, columns=list(vocabulary.features))


def _known_states(column: pd.Series[Any], states: Any) -> pd.Series[Any]:
    """Return a column of text with the states that it writes; one odd cell makes text of all numbers beside it."""
    known = {str(state): state for state in states if not isinstance(state, str)}
    if not known or not is_text(column):
        return column
    cells = [known.get(cell, cell) if isinstance(cell, str) else cell for cell in column]
    return pd.Series(cells, index=column.index, name=column.name, dtype=object)


def _numbers(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a numeric column without cells that are not numbers; a note counts these."""
    if not is_text(column):
        return column
    values = pd.to_numeric(column, errors="coerce")
    odd = values.isna() & column.notna()
    if values.notna().any() and odd.any():
        first = column[odd].iloc[0]
        note(
            f"column {column.name!r}: {int(odd.sum()):,} cells are not numbers (first: {first!r}) and are summed out"
        )
        return values
    return column


def _note_unknown(classifier: DiscreteClassifier, X: pd.DataFrame) -> None:
    """Note which columns contain unknown states, because these are silently summed out."""
    from anbexact.tables.vocabulary import UNKNOWN

    unknown = classifier.reader_.codes(X) == UNKNOWN
    for j, name in enumerate(classifier.vocabulary_.features):
        if unknown[j].any():
            value = X[name].iloc[int(unknown[j].argmax())]
            count = int(unknown[j].sum())
            note(f"column {name!r}: {count:,} cells contain an unknown state (first: {value!r}) and are summed out")


def _answers(
    classifier: DiscreteClassifier, predicted: npt.NDArray[Any], proba: npt.NDArray[np.float64] | None
) -> pd.DataFrame:
    """Return the predicted classes, and their probabilities unless None."""
    answers = pd.DataFrame({"predicted": predicted})
    if proba is None:
        return answers
    shares = pd.DataFrame(proba, columns=[f"P({label})" for label in classifier.classes_.tolist()])
    return pd.concat([answers, shares], axis=1)


def _beside(answers: pd.DataFrame, file: TableFile, passed: list[str]) -> pd.DataFrame:
    """Return the answers beside columns of the table, each cell of these as it stood there."""
    if not passed:
        return answers
    if both := [name for name in passed if name in answers]:
        raise InputError(
            f"{file.source.label} already has a column {both[0]!r}: rename it, or choose other columns with --id"
        )
    return pd.concat([file.as_written(passed), answers], axis=1)


def _explained(classifier: DiscreteClassifier, X: pd.DataFrame, answers: pd.DataFrame, path: str) -> pd.DataFrame:
    """Return the terms of every row, each beside the answers to its row; cells are text, whatever their column."""
    if not isinstance(classifier, NetworkClassifier | PooledClassifier | RefittedClassifier):
        raise InputError(f"--explain does not apply to {path}: {type(classifier).__name__} is not a network")
    terms = classifier.explain(X).to_frame().drop(columns="label")
    rows = terms.pop("row").to_numpy()
    if taken := [name for name in terms if name in answers]:
        raise InputError(
            f"--explain writes a column {taken[0]!r}, which already exists: choose other columns with --id"
        )
    for name in ("feature", "value", "state"):
        terms[name] = pd.Series([cell_text(cell) for cell in terms[name]], dtype=object)
    beside = answers.iloc[rows].reset_index(drop=True)
    if "row" not in beside:
        beside.insert(0, "row", rows)
    return pd.concat([beside, terms], axis=1)


def _note_accuracy(truth: pd.Series[Any], predicted: npt.NDArray[Any]) -> None:
    """Say how many predictions are right, if any class is given."""
    known = truth.notna().to_numpy()
    if known.any():
        accuracy = float((truth[known].to_numpy(dtype=object) == predicted[known]).mean())
        note(f"accuracy {accuracy:.4f} on the {int(known.sum()):,} rows whose {truth.name} is given")
