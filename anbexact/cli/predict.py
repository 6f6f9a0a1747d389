"""``anbexact predict``: classify the rows of a table."""

from __future__ import annotations

import argparse
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

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
from anbexact.cli.options import DATA_HELP, add_reading
from anbexact.cli.parsers import CommandParser
from anbexact.cli.scoring import is_card, score_rows
from anbexact.cli.streaming import predicted_in_parts, streams
from anbexact.cli.tables import find_columns, open_table, read_frame, recognised
from anbexact.cli.writing import OUTPUT_HELP, check_table_output, write_table

if TYPE_CHECKING:
    from anbexact.classifiers import DiscreteClassifier

DESCRIPTION = """\
Classify the rows of a table. The columns can be in any order; other columns are ignored. A scorecard also writes its
scores and, with --explain, what costs a row most points."""
EXAMPLES = """\
  anbexact predict model.json new.csv
  anbexact predict model.json new.csv --proba --id patient -o out.xlsx
  anbexact predict model.json new.parquet --keep -o out.parquet
  anbexact predict model.json new.csv --explain --id patient -o why.csv
  anbexact predict model.json new.csv --class-prior ill=0.1,well=0.9 --cost ill=5 --reject 0.5
  zcat new.csv.gz | anbexact predict model.json - > out.csv
"""


def fill(parser: CommandParser) -> None:
    """Add the options."""
    parser.describe("MODEL DATA [options]", DESCRIPTION, EXAMPLES)
    parser.add_argument("model", metavar="MODEL", help="a classifier written by fit or convert, or a scorecard")
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
    if is_card(args.model):
        score_rows(args)
        return
    check_deciding(args)
    check_table_output(args.output, args.model, args.data)
    classifier = read_model(args.model, args.class_name)
    names = names_as_text(classifier, args.model)
    file = open_table(args)
    label = file.source.label
    expected = expected_columns(classifier, names, args.text)
    if streams(args, file):
        done = predicted_in_parts(file, expected, Rows(args, classifier, names, label))
        if done is not None:
            done.note()
            return
    rows = Rows(args, classifier, names, label)
    copied = None if args.keep else {name.strip() for text in args.id for name in (text, *text.split(","))}
    frame = read_frame(file, expected, copied)
    used, passed = rows.columns(list(map(str, frame)))
    try:
        X, answers = rows.answers(recognised(frame[used], file, expected), frame[passed])
    except (TypeError, ValueError) as error:
        raise InputError(f"{label}: {error}") from None
    file.check_unchanged()
    write_table(_explained(classifier, X, answers, args.model) if args.explain else answers, args.output)
    rows.note()


@dataclass
class Rows:
    """Classifies rows, and counts what is to be noted about them.

    Attributes
    ----------
    args : Namespace
        The options of the command.
    classifier : DiscreteClassifier
        The fitted classifier.
    names : mapping
        The columns of the classifier, by their names in the file.
    label : str
        The name of the table.
    """

    args: argparse.Namespace
    classifier: DiscreteClassifier
    names: Mapping[str, Hashable]
    label: str
    _unknown: Unknown = field(default_factory=dict)
    _given: int = 0
    _right: int = 0

    def columns(self, found: list[str]) -> tuple[list[str], list[str]]:
        """Return the columns that the classifier uses, and those that are copied; refuse a table that lacks some."""
        header = pd.DataFrame(columns=found)
        find_columns(self.args.text, header, "--text", self.label)
        passed = found if self.args.keep else find_columns(self.args.id, header, "--id", self.label)
        check_columns(header, self.classifier, self.args, passed)
        return [name for name in found if name in self.names], passed

    def answers(self, known: pd.DataFrame, passed: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the features of rows, and their predictions next to the columns that are copied."""
        classifier, class_name = self.classifier, str(self.classifier.vocabulary_.class_name)
        X = features_of(known, classifier)
        unknown_cells(classifier, X, self._unknown)
        proba = probabilities(classifier, X, self.args)
        predicted = decided(classifier, proba, self.args)
        answers = pd.DataFrame({"predicted": predicted})
        if self.args.proba:
            shares = pd.DataFrame(proba, columns=[f"P({label})" for label in classifier.classes_.tolist()])
            answers = pd.concat([answers, shares], axis=1)
        if both := [name for name in passed if name in answers]:
            raise InputError(
                f"{self.label} already has a column {both[0]!r}: rename it, or choose other columns with --id"
            )
        if class_name in known:
            truth = known_states(known[class_name], classifier.classes_.tolist())
            observed = truth.notna().to_numpy()
            self._given += int(observed.sum())
            self._right += int((truth[observed].to_numpy(dtype=object) == predicted[observed]).sum())
        return X, pd.concat([passed, answers], axis=1) if len(passed.columns) else answers

    def note(self) -> None:
        """Note which states are unknown, and the accuracy on the rows whose class is given."""
        note_unknown(self.classifier, self._unknown)
        if self._given and not self.args.cost and self.args.reject is None:
            name = self.classifier.vocabulary_.class_name
            share = self._right / self._given
            note(f"accuracy {share:.4f} on the {counted(self._given, 'row')} whose {name} is given")


def _explained(classifier: DiscreteClassifier, X: pd.DataFrame, answers: pd.DataFrame, path: str) -> pd.DataFrame:
    """Return the terms of all rows, each with the answers for its row; cells and states are text."""
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
    repeated = answers.iloc[rows].reset_index(drop=True)
    if "row" not in repeated:
        repeated.insert(0, "row", rows)
    return pd.concat([repeated, terms], axis=1)
