"""Scorecards in files: read, and used by ``anbexact predict`` to score the rows of a table."""

from __future__ import annotations

import argparse
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from anbexact.cli.messages import InputError
from anbexact.cli.model_columns import check_columns, expected_columns, features_of, names_as_text
from anbexact.cli.tables import find_columns, open_table, read_frame, recognised
from anbexact.cli.writing import check_table_output, write_table

if TYPE_CHECKING:
    from anbexact.scorecards.scorecard import Scorecard
    from anbexact.tables.reader import Reader
    from anbexact.tables.vocabulary import Vocabulary

MARK = b'"format": "anbexact scorecard"'
"""What a file of a scorecard contains near its beginning."""
OF_CLASSIFIERS = {
    "cost": "--cost",
    "reject": "--reject",
    "class_prior": "--class-prior",
    "class_name": "--class",
}
"""Options of ``anbexact predict`` that a scorecard does not have."""


def is_card(path: str) -> bool:
    """Whether a file contains a scorecard."""
    try:
        with open(path, "rb") as file:
            return MARK in file.read(200)
    except OSError:
        return False  # reading it as a classifier says what is wrong


def read_card(path: str) -> Scorecard:
    """Return the scorecard in a file."""
    from anbexact.files.scorecards import load_scorecard

    try:
        return load_scorecard(path)
    except ValueError as error:
        raise InputError(str(error)) from None


@dataclass(frozen=True)
class _Columns:
    """The columns that a scorecard needs: those of its features, and of the class if a table has it."""

    reader_: Reader

    @property
    def vocabulary_(self) -> Vocabulary:
        return self.reader_.vocabulary

    @property
    def cut_points_(self) -> Mapping[Hashable, Any]:
        return self.reader_.cut_points


def score_rows(args: argparse.Namespace) -> None:
    """Write the scores and the predicted classes of the rows of a table; with ``--explain``, the reasons."""
    card = read_card(args.model)
    for name, option in OF_CLASSIFIERS.items():
        if getattr(args, name) not in (None, []):
            raise InputError(f"{option} does not apply to {args.model}: it is a scorecard")
    if args.explain and card.n_scores > 1:
        raise InputError(f"--explain does not apply to {args.model}: its classes have {card.n_scores} scores")
    vocabulary = card.reader.vocabulary
    own = vocabulary.without(set(vocabulary.features) - set(card.features))
    columns: Any = _Columns(replace(card.reader, vocabulary=own, feature_names=None))
    names = names_as_text(columns, args.model)
    file = open_table(args)
    check_table_output(args.output, args.model, args.data)
    expected = expected_columns(columns, names, args.text)
    frame = read_frame(file, expected, None if args.keep else set(args.id) | set(",".join(args.id).split(",")))
    passed = list(map(str, frame)) if args.keep else find_columns(args.id, frame, "--id", file.source.label)
    check_columns(frame, columns, args, passed)
    used = [name for name in map(str, frame) if name in names]
    try:
        X = features_of(recognised(frame[used], file, expected), columns)
        found = _scored(card, X, args)
    except (TypeError, ValueError) as error:
        raise InputError(f"{file.source.label}: {error}") from None
    if both := [name for name in passed if name in found]:
        raise InputError(
            f"{file.source.label} already has a column {both[0]!r}: rename it, or choose other columns with --id"
        )
    file.check_unchanged()
    found = pd.concat([frame[passed], found], axis=1) if passed else found
    if args.explain:
        reasons = card.reasons(X).reset_index(names=["row", "reason"])
        rows = reasons.pop("row").to_numpy()
        found = pd.concat([found.iloc[rows].reset_index(drop=True), reasons], axis=1)
    write_table(found, args.output)


def _scored(card: Scorecard, X: pd.DataFrame, args: argparse.Namespace) -> pd.DataFrame:
    """Return the scores and the predicted class of every row, and the probabilities if they are asked for."""
    scores = card.score(X).reshape(len(X), -1)
    found = pd.DataFrame(scores, columns=card.score_names)
    found.insert(0, "predicted", card.predict(X))
    if args.proba:
        shares = pd.DataFrame(card.probabilities(scores), columns=[f"P({label})" for label in card.classes_.tolist()])
        found = pd.concat([found, shares], axis=1)
    return found
