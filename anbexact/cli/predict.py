"""``anbexact predict``: classify the rows of a table."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import pandas as pd

from anbexact._runtime.units import counted
from anbexact.cli.cells import cell_text
from anbexact.cli.deciding import add_deciding, check_deciding, decided, probabilities
from anbexact.cli.messages import InputError, note
from anbexact.cli.model_columns import (
    Unknown,
    check_columns,
    expected_columns,
    features_of,
    known_states,
    names_as_text,
    note_unknown,
    unknown_cells,
)
from anbexact.cli.models import read_model
from anbexact.cli.options import DATA_HELP, Commands, add_command, add_reading
from anbexact.cli.streaming import predicted_in_parts, streams
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
    group = parser.add_argument_group("what to write in addition to the predicted class")
    group.add_argument("--proba", action="store_true", help="the probability of every class")
    group.add_argument(
        "--explain",
        action="store_true",
        help="instead of one line per row, write one per term of the log odds of the predicted class against the "
        "next: what each feature adds (nats, with a 95 %% interval; factor of the odds), and its training rows",
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
    names = names_as_text(classifier, args.model)
    file = open_table(args)
    check_table_output(args.output, file.source)
    label = file.source.label
    expected = expected_columns(classifier, names, args.text)
    plain = not args.cost and args.reject is None

    def answer(proba: npt.NDArray[np.float64]) -> tuple[npt.NDArray[Any], pd.DataFrame]:
        predicted = decided(classifier, proba, args)
        return predicted, _answers(classifier, predicted, proba if args.proba else None)

    if streams(args, file):
        found = predicted_in_parts(args, classifier, file, names, expected, answer)
        if found is not None:
            if plain:
                _note_accuracy(str(classifier.vocabulary_.class_name), *found)
            return
    frame = read_frame(file, expected)
    find_columns(args.text, frame, "--text", label)
    passed = list(map(str, frame)) if args.keep else find_columns(args.id, frame, "--id", label)
    check_columns(frame, classifier, args, passed)
    known = recognised(frame[[name for name in frame if name in names]], file, expected)
    X = features_of(known, classifier)
    unknown: Unknown = {}
    try:
        unknown_cells(classifier, X, unknown)
        note_unknown(classifier, unknown)
        proba = probabilities(classifier, X, args)
    except (TypeError, ValueError) as error:
        raise InputError(f"{label}: {error}") from None
    predicted, answers = answer(proba)
    answers = _beside(answers, file, passed)
    file.check_unchanged()
    if args.explain:
        answers = _explained(classifier, X, answers, args.model)
    write_table(answers, args.output)
    class_name = str(classifier.vocabulary_.class_name)
    if class_name in known and plain:
        truth = known_states(known[class_name], classifier.classes_.tolist())
        observed = truth.notna().to_numpy()
        right = truth[observed].to_numpy(dtype=object) == predicted[observed]
        _note_accuracy(class_name, int(observed.sum()), int(right.sum()))


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
    """Return columns of the table, with their cells as they are written there, and the answers."""
    if not passed:
        return answers
    if both := [name for name in passed if name in answers]:
        raise InputError(
            f"{file.source.label} already has a column {both[0]!r}: rename it, or choose other columns with --id"
        )
    return pd.concat([file.as_written(passed), answers], axis=1)


def _explained(classifier: DiscreteClassifier, X: pd.DataFrame, answers: pd.DataFrame, path: str) -> pd.DataFrame:
    """Return the terms of all rows, each with the answers to its row; cells are text in all columns."""
    if not hasattr(classifier, "explain"):
        raise InputError(f"--explain does not apply to {path}: {type(classifier).__name__} is not a network")
    terms: pd.DataFrame = classifier.explain(X).to_frame().drop(columns="label")
    terms = terms.rename(columns={"low": "nats_low", "high": "nats_high"})
    rows = terms.pop("row").to_numpy()
    if taken := [name for name in terms if name in answers]:
        raise InputError(
            f"--explain writes a column {taken[0]!r}, which already exists: choose other columns with --id"
        )
    for name in ("feature", "value", "state"):
        terms[name] = pd.Series([cell_text(cell, str) for cell in terms[name]], dtype=object)
    beside = answers.iloc[rows].reset_index(drop=True)
    if "row" not in beside:
        beside.insert(0, "row", rows)
    return pd.concat([beside, terms], axis=1)


def _note_accuracy(class_name: str, given: int, right: int) -> None:
    """Say how many predictions are right, if any class is given."""
    if given:
        note(f"accuracy {right / given:.4f} on the {counted(given, 'row')} whose {class_name} is given")
