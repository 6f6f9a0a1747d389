"""Partial evidence: the values of some features, and the class posterior given only these."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from anbexact._runtime.units import with_article
from anbexact.tables.frames.dummies import folded_frame
from anbexact.tables.frames.native_values import native
from anbexact.tables.reader import Reader
from anbexact.tables.vocabulary import MISSING, UNKNOWN, CodeArray, is_missing

if TYPE_CHECKING:
    from anbexact.models.model import Model

MOST_SHOWN = 12
"""Maximum number of states, or names of features, that a message lists."""


def read_evidence(evidence: object, values: Mapping[str, Any] | None = None) -> dict[Hashable, Any]:
    """Return the known values by feature, from a mapping (or a row of a frame) and from keywords.

    Raises
    ------
    TypeError
        If ``evidence`` is not a mapping.
    ValueError
        If a feature is in both.
    """
    if evidence is not None and not isinstance(evidence, Mapping | pd.Series):
        raise TypeError(f"evidence must map features to values, not be {with_article(type(evidence).__name__)}")
    given = {} if evidence is None else dict(evidence.items())
    twice = [name for name in values or {} if name in given]
    if twice:
        raise ValueError(f"{twice[0]!r} is in the evidence twice, in the mapping and as a keyword")
    return {**given, **(values or {})}


def code_evidence(reader: Reader, evidence: Mapping[Hashable, Any]) -> CodeArray:
    """Return the codes of the given values of some features, shape (features,); the others are ``MISSING``.

    Values are read as the cells of a frame are.

    Raises
    ------
    ValueError
        If a name is not a feature, or a value is missing or not a state of its feature.
    """
    vocabulary, evidence = reader.vocabulary, _folded(reader, evidence)
    features = list(vocabulary.features)
    for name in evidence:
        if name == vocabulary.class_name:
            raise ValueError(
                f"the class {name!r} is among the evidence: leave it out, because its posterior is computed"
            )
        if name not in features:
            raise ValueError(f"{name!r} is not a feature of the classifier; its features are {_listed(features)}")
    for name, value in evidence.items():
        if reader.missing_rules[name] != "own_state" and is_missing(value):
            raise ValueError(f"the value of {name!r} is missing ({value!r}): leave the feature out of the evidence")
    codes = np.full(len(features), MISSING, dtype=np.int16)
    for j, name in enumerate(features):
        if name in evidence:
            codes[j] = reader.code(name, evidence[name])
            if codes[j] == UNKNOWN or codes[j] == MISSING:
                own_missing = name in vocabulary.own_missing
                _refuse(name, evidence[name], list(vocabulary.observed_states(name)), own_missing)
    return codes


def _folded(reader: Reader, evidence: Mapping[Hashable, Any]) -> Mapping[Hashable, Any]:
    """Return the evidence, one-hot coded values as the value that they code if all of them are given."""
    if not any(column in evidence for group in reader.vocabulary.dummies.values() for column, _ in group):
        return evidence
    cells = {name: pd.Series([value], dtype=object) for name, value in evidence.items()}
    frame = folded_frame(pd.DataFrame(cells), reader.vocabulary.dummies)
    return {name: frame[name].iloc[0] for name in frame}


def _row(reader: Reader, evidence: Mapping[Hashable, Any]) -> pd.DataFrame:
    """Return the evidence as a frame of one row, in which all other cells are missing."""
    columns = list(reader.vocabulary.features)
    row = {name: pd.Series([evidence.get(name)], dtype=None if name in evidence else object) for name in columns}
    return pd.DataFrame(row, columns=pd.Index(columns, tupleize_cols=False))


def code_joint_evidence(reader: Reader, evidence: Mapping[Hashable, Any]) -> CodeArray:
    """Return the codes of the given values of some variables, shape (variables,); the class may be among them.

    Errors are those of :func:`code_evidence`.
    """
    vocabulary = reader.vocabulary
    of_features = {name: value for name, value in evidence.items() if name != vocabulary.class_name}
    codes = code_evidence(reader, of_features)
    if vocabulary.class_name is None:
        return codes
    of_class = MISSING
    if vocabulary.class_name in evidence:
        value = native(evidence[vocabulary.class_name])
        of_class = vocabulary.code(vocabulary.class_name, value)
        if of_class == UNKNOWN:
            _refuse(vocabulary.class_name, value, list(vocabulary.states[vocabulary.class_name]), False)
    return np.append(codes, np.int16(of_class))


def values_within_states(reader: Reader, evidence: Mapping[Hashable, Any]) -> dict[Hashable, Any]:
    """Return the given values of features whose states are intervals or groups.

    For a column that is cut, this is the number; for a column with groups, the member of a group.
    """
    vocabulary, evidence = reader.vocabulary, _folded(reader, evidence)
    members = {name: native(value) for name, value in evidence.items() if name in vocabulary.groups}
    found = {name: value for name, value in members.items() if value in vocabulary.values(name)}
    if any(name in reader.cut_points for name in evidence):
        for name, (numbers, _) in reader.cut_columns(_row(reader, evidence)).items():
            if len(numbers):
                found[name] = float(numbers[0])
    return found


def _refuse(name: Hashable, value: Any, states: list[Any], own_missing: bool) -> None:
    """Refuse a value that is not a state; suggest a state of another type that looks the same."""
    alike = [state for state in states if str(state) == str(value)]
    missing = ", and None for a missing cell" if own_missing else ""
    advice = f"its states: {_listed(states)}{missing}"
    if alike:
        advice = f"did you mean {alike[0]!r} ({type(alike[0]).__name__})?"
    shown = f"{value!r} ({type(value).__name__})" if alike else repr(value)
    raise ValueError(f"{shown} is not a state of {name!r}; {advice}")


def _listed(items: list[Any]) -> str:
    rest = len(items) - MOST_SHOWN
    return ", ".join(map(repr, items[:MOST_SHOWN])) + (f" and {rest} more" if rest > 0 else "")


def shown_evidence(evidence: Mapping[Hashable, Any]) -> str:
    """Return evidence as text for messages."""
    return ", ".join(f"{name} = {value!r}" for name, value in evidence.items())


def posterior_of_logs(
    log_joint: npt.NDArray[np.float64], classes: tuple[Any, ...], name: Hashable, evidence: Mapping[Hashable, Any]
) -> pd.Series[float]:
    """Return probabilities in proportion to exp(log_joint), labelled.

    Raises
    ------
    ValueError
        If all of them are 0.
    """
    if log_joint.max() == -np.inf:
        raise ValueError(
            f"the evidence {shown_evidence(evidence)} has probability 0 in this network, so the class posterior is "
            "undefined"
        )
    joint = np.exp(log_joint - log_joint.max())
    return pd.Series(joint / joint.sum(), index=pd.Index(classes, dtype=object), name=name)


def query_network(
    model: Model, reader: Reader, evidence: Mapping[Hashable, Any] | None, values: Mapping[str, Any]
) -> pd.Series[float]:
    """Return P(class | some cells), labelled; the evidence is a mapping, keywords or both.

    Raises
    ------
    TypeError, ValueError
        As :func:`read_evidence`, :func:`code_evidence` and :func:`posterior_of_logs` do.
    """
    known = read_evidence(evidence, values)
    logs = model.log_support(code_evidence(reader, known)[:, None], n_jobs=1)[0]
    class_name = model.vocabulary.class_name
    return posterior_of_logs(logs, model.vocabulary.states[class_name], class_name, known)
