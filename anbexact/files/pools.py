"""Pools from JSON documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from anbexact.classifiers import DiscreteClassifier, FixedStructureClassifier, PooledClassifier
from anbexact.classifiers.pooling.learning import MEMBER_COLUMNS
from anbexact.files.checked import listed, mapped, numbers, reading, text
from anbexact.files.values import decode
from anbexact.models.pool.weights import PoolWeights


def restore_pool(
    document: Mapping[str, Any], restore: Callable[[Mapping[str, Any]], DiscreteClassifier]
) -> PooledClassifier:
    """Return the pool that a document describes.

    Parameters
    ----------
    document : mapping
    restore : callable
        Returns the classifier that a document describes.

    Raises
    ------
    ValueError
        If a field is missing, is not what was expected or does not match others; the message names it.
    """
    with reading("parameters"):
        classifier = PooledClassifier(
            **{name: decode(value) for name, value in mapped(document["parameters"]).items()}
        )
        classifier.check_parameters()
    with reading("members"):
        pairs = [listed(pair, 2) for pair in listed(document["members"])]
        estimators = [(text(name), restore(mapped(of_member))) for name, of_member in pairs]
        if not estimators:
            raise ValueError("a pool has at least one member")
        classes = estimators[0][1].classes_.tolist()
        if any(model.classes_.tolist() != classes for _, model in estimators):
            raise ValueError("the members have different classes")
    with reading("weights"):
        weights = numbers(listed(document["weights"], len(estimators)))
        if not (weights >= 0).all():
            raise ValueError("a weight is below 0")
    with reading("biases"):
        biases = numbers(listed(document["biases"], len(classes)))
    with reading("ridge"):
        ridge = float(decode(document["ridge"]))
    with reading("considered"):
        columns = ("member", *MEMBER_COLUMNS)
        rows = [[decode(cell) for cell in listed(row, len(columns))] for row in listed(document["considered"])]
        members = pd.DataFrame(rows, columns=columns).set_index("member")
    with reading("common"):
        common = None if document["common"] is None else restore(mapped(document["common"]))
        if common is not None and not isinstance(common, FixedStructureClassifier):
            raise ValueError("the common states are not those of a network")
    first = estimators[0][1]
    classifier.n_features_in_ = first.n_features_in_
    if hasattr(first, "feature_names_in_"):
        classifier.feature_names_in_ = first.feature_names_in_
    return classifier.set_pool(estimators, PoolWeights(weights, biases, ridge), members, common)
