"""Columns in the vocabulary of a fitted classifier, and as codes of states."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from anbexact.tables.cuts import Cuts
from anbexact.tables.cuts.continuous import discretise
from anbexact.tables.frames.columns import Column
from anbexact.tables.frames.reading import frame_names, names_only
from anbexact.tables.vocabulary import LEFT_OUT, CodeArray, Vocabulary

HANDLE_UNKNOWN = ("marginalize", "error")
"""What a classifier can do with states that the training table does not contain."""


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse a parameter that is not one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")


def check_columns(
    fitted_by: str, feature_names: npt.NDArray[Any] | None, X: Any, features: Sequence[Hashable]
) -> None:
    """Refuse columns that are not those of the training table, in the same order.

    Names are compared as text, because the number 2 is the text ``"2"`` in a file. A table without names is read by
    position. So is any table if the training table had no names, unless it has the columns of fit in another order.

    Parameters
    ----------
    fitted_by : str
        The name of the estimator, for scikit-learn's warnings.
    feature_names : array of str or None
        The names that ``fit`` recorded; None if not all of them were strings.
    X : table
        The rows to predict.
    features : sequence
        The columns of the training table.

    Raises
    ------
    ValueError
        Naming the columns that are new, missing, or out of order. The message does not name the estimator, which may
        be part of another one.
    """
    names, expected = frame_names(X), list(features)
    known = feature_names is not None
    if known and names == expected:
        return
    unnamed = expected == [f"x{j}" for j in range(len(expected))] and not known
    mixed_up = unnamed and names is not None and names != expected and set(names) == set(expected)
    plain = names is None or (all(isinstance(name, str) for name in names) and (known or unnamed))
    if plain and not mixed_up:
        if hasattr(X, "shape"):
            if (names is None or not known) and X.shape[1] != len(features):
                raise ValueError(
                    f"X has {X.shape[1]} features, but anbexact is expecting {len(features)} features as input"
                )
            recorded = {"n_features_in_": len(expected), **({"feature_names_in_": feature_names} if known else {})}
            estimator = type(fitted_by, (BaseEstimator,), recorded)()  # scikit-learn reads both from an estimator
            validate_data(estimator, names_only(X), reset=False, skip_check_array=True)
        return
    assert names is not None
    given, wanted = list(map(str, names)), list(map(str, expected))
    if given == wanted or (unnamed and names == list(range(len(expected)))):
        return
    new = [name for name, text in zip(names, given, strict=True) if text not in wanted]
    gone = [name for name, text in zip(expected, wanted, strict=True) if text not in given]
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
    return [
        own_states(column.renamed(name), vocabulary, cut_points)
        for name, column in zip(features, columns, strict=True)
    ]


def own_states(column: Column, vocabulary: Vocabulary, cut_points: Mapping[Hashable, Cuts]) -> Column:
    """Return the column of a feature discretised, or constant if the feature was left out of training.

    Raises
    ------
    ValueError
        If it has cut points and holds something that is not a number.
    """
    if vocabulary.states[column.name] == (LEFT_OUT,):
        return column.constant(column.name, LEFT_OUT)
    return discretise(column, cut_points, vocabulary)


def cell_values(columns: Sequence[Column], features: Sequence[Hashable]) -> dict[Hashable, list[Any]]:
    """Return the cells of features, whose columns are in their order, as they were passed."""
    return {name: column.values() for name, column in zip(features, columns, strict=True)}
