"""Averages over networks as JSON: the rows that the posterior over structures rests on, and drawn structures."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from anbexact.classifiers import AveragedClassifier
from anbexact.files.checked import listed, mapped, number, numbers, reading, references, whole
from anbexact.models.structure import Certificate, Structure
from anbexact.search.posterior.averaged_model import AveragedModel, Member
from anbexact.tables.cuts import Cuts
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import Vocabulary


def describe_average(classifier: AveragedClassifier, number_of: Mapping[Hashable, int]) -> dict[str, Any]:
    """Return the distinct rows as codes of states, their weights, and the structures if predictions rest on some."""
    model = classifier.model_
    members = () if model.exact else model.members
    return {
        "rows": {
            "number": int(model.table.n_rows),
            "codes": model.table.codes.tolist(),
            "weights": model.table.weights.tolist(),
        },
        "drawn": [
            {
                "share": member.share,
                "ess": member.ess,
                "parents": [
                    [number_of[child], [number_of[parent] for parent in parents]]
                    for child, parents in member.parents.items()
                ],
            }
            for member in members
        ],
    }


def restore_average(
    classifier: AveragedClassifier,
    document: Mapping[str, Any],
    vocabulary: Vocabulary,
    cut_points: Mapping[Hashable, Cuts],
) -> AveragedClassifier:
    """Return the classifier that a document describes."""
    with reading("rows"):
        table = _restore_rows(mapped(document["rows"]), vocabulary)
    with reading("drawn"):
        drawn = tuple(_restore_member(mapped(member), vocabulary) for member in listed(document["drawn"]))
    with reading("parameters"):
        averaging = classifier.averaging()
    if not {member.ess for member in drawn} <= set(averaging.ess):
        raise ValueError("drawn: an equivalent sample size is not one of those that are averaged over")
    model = AveragedModel(
        vocabulary=vocabulary, cut_points=cut_points, table=table, averaging=averaging, drawn=drawn or None
    )
    with reading("rows and parameters"):
        return classifier.set_model(model)


def _restore_rows(described: Mapping[str, Any], vocabulary: Vocabulary) -> DiscreteTable:
    weights = numbers(described["weights"])
    rows = [listed(row, len(vocabulary.names)) for row in listed(described["codes"], len(weights))]
    if not rows or not (weights > 0).all():
        raise ValueError("rows of positive weight were expected")
    most = [vocabulary.arity(name) - 1 for name in vocabulary.names]
    checked = [[whole(code, 0, top) for code, top in zip(row, most, strict=True)] for row in rows]
    if any(first >= second for first, second in pairwise(checked)):
        raise ValueError("the rows must be distinct and in ascending order")
    codes = np.asfortranarray(np.array(checked, dtype=np.int16))
    return DiscreteTable(vocabulary, codes, weights, whole(described["number"], 1))


def _restore_member(described: Mapping[str, Any], vocabulary: Vocabulary) -> Member:
    names = list(vocabulary.names)
    pairs = [listed(pair, 2) for pair in listed(described["parents"], len(names))]
    children = references([child for child, _ in pairs], len(names))
    parents = {
        names[child]: tuple(names[parent] for parent in references(above, len(names)))
        for child, (_, above) in zip(children, pairs, strict=True)
    }
    Structure(vocabulary.class_name, parents, 0.0, Certificate.unknown("drawn from the posterior"))
    return Member(number(described["share"], above=0), number(described["ess"], above=0), parents)
