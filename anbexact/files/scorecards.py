"""Scorecards as lossless JSON files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from anbexact._runtime.arrays import Positions
from anbexact._runtime.json_checks import flag, listed, mapped, number, numbers, reading, references, text, whole
from anbexact._runtime.json_values import decode, encode, encode_as
from anbexact.files.describe import describe_cut_points, describe_quantities, describe_variables
from anbexact.files.document import SCORECARD, read_document, write_document
from anbexact.files.restore import read_cut_points, read_vocabulary
from anbexact.models.logit.edits import LoggedEdit
from anbexact.scorecards.scorecard import Certificate, Scorecard
from anbexact.scorecards.tables import MOST_POINTS, PointTable
from anbexact.tables.reader import Reader
from anbexact.tables.vocabulary import Vocabulary


def save_scorecard(card: Scorecard, path: str | Path) -> None:
    """Write a scorecard to a JSON file that :func:`load_scorecard` reads.

    The file has the points, the scale, what is proved about them, the log of changes by hand, and how frames are
    read: names and states of the columns, and their cut points. It does not have the classifier from which the card
    was made. It is replaced only when the new one is complete.

    Parameters
    ----------
    card : Scorecard
    path : str or Path
        The file; its folder must exist.

    Raises
    ------
    TypeError
        If this is not a scorecard, or a name or a state is of a type that cannot be written; nothing is written.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from anbexact import NaiveBayesClassifier, load_scorecard, save_scorecard
    >>> from anbexact.adapters import to_scorecard
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> path = tempfile.mkdtemp() + "/card.json"
    >>> save_scorecard(to_scorecard(NaiveBayesClassifier().fit(X, y)), path)
    >>> load_scorecard(path).score(X)[:3].tolist()
    [749, 749, 468]
    """
    if not hasattr(card, "intercept") or not hasattr(card, "tables"):
        raise TypeError(f"save_scorecard writes scorecards, such as to_scorecard returns, not {card!r}")
    reader, position = card.reader, card.reader.vocabulary.positions
    contents = {
        **describe_variables(reader.vocabulary),
        "cut_points": describe_cut_points(reader.vocabulary, reader.cut_points),
        **describe_quantities(reader.vocabulary),
        "reader": {
            "fitted_by": reader.fitted_by,
            "feature_names": None if reader.feature_names is None else [str(name) for name in reader.feature_names],
            "handle_unknown": reader.handle_unknown,
            "handle_missing": reader.handle_missing,
            "missing_rules": [[position[name], rule] for name, rule in reader.missing_rules.items()],
            "class_weight": encode_as("class_weight", reader.class_weight),
        },
        "tables": [
            {
                "features": [position[name] for name in table.features],
                "points": table.points.ravel().tolist(),
                "weight": encode(table.weight.ravel().tolist()),
            }
            for table in card.tables
        ],
        "intercept": card.intercept.tolist(),
        "scale": float(card.scale),
        "offset": encode(card.offset.tolist()),
        "reference": card.classes_.tolist().index(card.reference),
        "total_weight": float(card.total_weight),
        "certificate": None if card.certificate is None else asdict(card.certificate),
        **({"edits": [edit.to_dict(position) for edit in card.edits]} if card.edits else {}),
    }
    write_document(SCORECARD, contents, path)


def load_scorecard(path: str | Path) -> Scorecard:
    """Read a scorecard that :func:`save_scorecard` wrote.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    Scorecard
        With the same scores and probabilities, bit for bit.

    Raises
    ------
    ValueError
        If the file was not written by :func:`save_scorecard`, is damaged, or was written by a newer version of the
        package; the message says which, and what to do.
    OSError
        If the file cannot be read.
    """
    return read_document(SCORECARD, path, _restore)


def _restore(document: Mapping[str, Any]) -> Scorecard:
    """Return the scorecard that a document describes."""
    vocabulary = read_vocabulary(document)
    reader = _read_reader(document, vocabulary)
    n_classes = len(vocabulary.classes)
    with reading("intercept"):
        intercept = _points(document["intercept"], n_classes - 1)
    with reading("offset"):
        offset = numbers(decode(document["offset"]))
        if offset.shape != intercept.shape:
            raise ValueError("there must be a number for every score")
    with reading("tables"):
        tables = tuple(_read_table(mapped(table), vocabulary, len(intercept)) for table in listed(document["tables"]))
    with reading("scale"):
        scale = number(document["scale"], above=0)
    with reading("reference"):
        reference = vocabulary.classes.tolist()[whole(document["reference"], 0, n_classes - 1)]
    with reading("total_weight"):
        total = number(document["total_weight"], least=0)
    with reading("certificate"):
        certificate = None
        if document["certificate"] is not None:
            certificate = _read_certificate(mapped(document["certificate"]))
    with reading("edits"):
        edits = tuple(_read_edit(mapped(edit), vocabulary, tables) for edit in listed(document.get("edits", [])))
    return Scorecard(tables, intercept, scale, offset, reference, reader, total, certificate, edits)


def _read_reader(document: Mapping[str, Any], vocabulary: Vocabulary) -> Reader:
    """Return how frames are read."""
    cut_points = read_cut_points(document, vocabulary)
    with reading("reader"):
        of_reader = mapped(document["reader"])
        names = of_reader["feature_names"]
        if names is not None:
            names = np.array([text(name) for name in listed(names, len(vocabulary.features))], dtype=object)
            if names.tolist() != list(vocabulary.features):
                raise ValueError("the names must be those of the features")
        rules = [listed(pair, 2) for pair in listed(of_reader["missing_rules"])]
        places = references([place for place, _ in rules], len(vocabulary.names))
        return Reader(
            fitted_by=text(of_reader["fitted_by"]),
            feature_names=names,
            vocabulary=vocabulary,
            cut_points=cut_points,
            handle_unknown=text(of_reader["handle_unknown"]),
            handle_missing=text(of_reader["handle_missing"]),
            missing_rules={vocabulary.names[k]: text(rule) for k, (_, rule) in zip(places, rules, strict=True)},
            class_weight=decode(of_reader["class_weight"]),
        )


def _read_table(table: Mapping[str, Any], vocabulary: Vocabulary, n_scores: int) -> PointTable:
    """Return a table of points; refuse one whose size is not that of its features."""
    features = tuple(vocabulary.names[k] for k in references(table["features"], len(vocabulary.names)))
    if not features or vocabulary.class_name in features:
        raise ValueError("a table of points has one feature or several")
    arities = [vocabulary.arity(name) for name in features]
    shape = (*(arity + 1 for arity in arities), n_scores)
    points = _points(table["points"], int(np.prod(shape)))
    weight = numbers(decode(table["weight"]))
    if weight.shape != (int(np.prod(arities)),) or (weight < 0).any():
        raise ValueError("there must be a weight, 0 or more, for every joint state")
    return PointTable(features, points.reshape(shape), weight.reshape(arities))


def _read_edit(described: Mapping[str, Any], vocabulary: Vocabulary, tables: tuple[PointTable, ...]) -> LoggedEdit:
    """Return a change by hand; refuse one of features without a table of points."""
    edit = LoggedEdit.from_dict(described, vocabulary)
    if edit.features not in [table.features for table in tables]:
        raise ValueError(f"no table of points has the features {list(edit.features)}, whose points were changed")
    return edit


def _points(value: Any, length: int) -> Positions:
    """Return a list of points, whole numbers of either sign."""
    return np.array([whole(points, -MOST_POINTS, MOST_POINTS) for points in listed(value, length)], dtype=np.int64)


def _read_certificate(described: Mapping[str, Any]) -> Certificate:
    """Return what is proved about the points."""
    amounts: Any = {name: number(described[name]) for name in ("loss", "bound", "relaxed_loss", "pull", "seconds")}
    flags: Any = {name: flag(described[name]) for name in ("observed", "scale_is_given", "in_time")}
    n_features = None if described["n_features"] is None else whole(described["n_features"], 1)
    return Certificate(
        most=whole(described["most"], 1),
        n_features=n_features,
        nodes=whole(described["nodes"], 0),
        **amounts,
        **flags,
    )
