"""Columns in the vocabulary of a fitted classifier, and as codes of states."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from anbexact.discretize import Cuts
from anbexact.inputs.continuous import discretise
from anbexact.tables.columns import Column
from anbexact.tables.frames import frame_names
from anbexact.tables.vocabulary import LEFT_OUT, CodeArray, Vocabulary

HANDLE_UNKNOWN = ("marginalize", "error")


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse a parameter that is not one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")


def check_columns(estimator: Any, X: Any, features: Sequence[Hashable]) -> None:
    """Refuse columns that are not those of the training table, in the same order.

    Raises
    ------
    ValueError
        Naming the columns that are new, missing, or out of order. The message does not name the estimator, which may
        be that within another one.
    """
    names = frame_names(X)
    if names is None or all(isinstance(name, str) for name in names):
        if hasattr(X, "shape"):
            unnamed = names is None or not hasattr(estimator, "feature_names_in_")
            if unnamed and X.shape[1] != len(features):
                raise ValueError(
                    f"X has {X.shape[1]} features, but anbexact is expecting {len(features)} features as input"
                )
            validate_data(estimator, X, reset=False, skip_check_array=True)
        return
    expected = list(features)
    numbered = expected == [f"x{j}" for j in range(len(expected))] and names == list(range(len(expected)))
    if names == expected or numbered:
        return
    new = [name for name in names if name not in expected]
    gone = [name for name in expected if name not in names]
    raise ValueError(
        "The feature names should match those that were passed during fit, in the same order: "
        f"unseen at fit time: {new}; now missing: {gone}; expected {expected}"
    )


def encode_features(
    columns: Sequence[Column],
    vocabulary: Vocabulary,
    cut_points: Mapping[Hashable, Cuts],
    *,
    handle_unknown: str,
    handle_missing: Mapping[Hashable, str],
) -> CodeArray:
    """Return the codes of columns in the vocabulary's order, shape (features, rows)."""
    own = in_vocabulary(columns, vocabulary, cut_points)
    codes = np.empty((len(own), len(own[0])), dtype=np.int16)
    for j, column in enumerate(own):
        rule = handle_missing[column.name]
        codes[j] = vocabulary.encode(column, handle_unknown=handle_unknown, handle_missing=rule)
    return codes


def in_vocabulary(
    columns: Sequence[Column], vocabulary: Vocabulary, cut_points: Mapping[Hashable, Cuts]
) -> list[Column]:
    """Return columns in the vocabulary's order under its names, discretised.

    Raises
    ------
    ValueError
        If there are fewer or more of them, or one with cut points holds something that is not a number.
    """
    features = vocabulary.features
    if len(columns) != len(features):
        raise ValueError(
            f"X has {len(columns)} features, but {len(features)} are expected as input: {list(features)}"
        )
    left_out = vocabulary.left_out
    return [
        column.constant(name, LEFT_OUT)
        if name in left_out
        else discretise(column.renamed(name), cut_points, vocabulary)
        for name, column in zip(features, columns, strict=True)
    ]


def cell_values(columns: Sequence[Column], features: Sequence[Hashable]) -> dict[Hashable, list[Any]]:
    """Return the cells of features as they were passed: from the columns of their names, else of their places."""
    by_name = {column.name: column for column in columns}
    if not by_name.keys() >= set(features):
        by_name = dict(zip(features, columns, strict=True))
    return {name: by_name[name].values() for name in features}
