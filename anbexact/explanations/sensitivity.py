"""The posterior of changed rows: scenarios, and every feature varied on its own."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from anbexact._runtime.arrays import Bools, Floats, Integers
from anbexact.explanations.local import states_of
from anbexact.models.family_sum import FamilySum
from anbexact.models.network.evidence import code_evidence
from anbexact.models.network.explain import class_code
from anbexact.tables.reader import Reader, Rows
from anbexact.tables.vocabulary import MISSING, CodeArray, is_missing

EQUAL_PROBABILITIES = 1e-12
"""Probabilities that differ by up to this much count as equal: rounding decides between them."""


def read_scenarios(changes: Any) -> dict[str, dict[Hashable, Any]]:
    """Return scenarios by name: from one mapping of features to values, a list of them, or a mapping of them.

    Raises
    ------
    TypeError
        If ``changes`` has another form.
    """
    if isinstance(changes, Mapping) and changes and all(isinstance(of, Mapping) for of in changes.values()):
        return {str(name): dict(of_name) for name, of_name in changes.items()}
    listed = [changes] if isinstance(changes, Mapping) else changes
    if not isinstance(listed, Sequence) or not all(isinstance(scenario, Mapping) for scenario in listed):
        raise TypeError("changes must map features to values, or be a list or a mapping of such mappings")
    return {
        ", ".join(f"{name} = {'unknown' if is_missing(value) else value}" for name, value in scenario.items()): dict(
            scenario
        )
        for scenario in listed
    }


def what_if(source: FamilySum, reader: Reader, rows: Rows, changes: Any) -> pd.DataFrame:
    """Return the posteriors of changed rows; see :meth:`anbexact.classifiers.explaining.Explaining.what_if`."""
    classes = source.vocabulary.states[source.vocabulary.class_name]
    before = np.exp(source.log_posterior(rows.codes))
    frames = []
    for name, scenario in read_scenarios(changes).items():
        known = {feature: value for feature, value in scenario.items() if not is_missing(value)}
        new = code_evidence(reader, known)
        codes = rows.codes.copy()
        for j, feature in enumerate(source.vocabulary.features):
            if feature in scenario:
                codes[j] = new[j] if feature in known else MISSING
        if unknown := [feature for feature in scenario if feature not in source.vocabulary.features]:
            raise ValueError(f"{unknown[0]!r} is not a feature of the classifier")
        after = np.exp(source.log_posterior(codes))
        frames.append(
            pd.DataFrame(
                {
                    "row": np.repeat(pd.Series(list(rows.index)).to_numpy(), len(classes)),
                    "scenario": name,
                    "class": pd.Series(list(classes) * len(after), dtype=object).infer_objects(),
                    "before": before.reshape(-1),
                    "probability": after.reshape(-1),
                    "change": (after - before).reshape(-1),
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


@dataclass(frozen=True, eq=False)
class Varied:
    """The posteriors of rows in which one feature has each of its states.

    Attributes
    ----------
    feature : int
        Position of the feature.
    posteriors : (states, rows, classes) float64
        P(c | the row with that state).
    """

    feature: int
    posteriors: Floats


def vary(source: FamilySum, codes: CodeArray) -> list[Varied]:
    """Return the posteriors of rows with every feature of two states or more varied on its own."""
    found = []
    for j in np.flatnonzero(source.arities > 1).tolist():
        arity = int(source.arities[j])
        logs = np.empty((arity, codes.shape[1], source.n_classes))
        for state in range(arity):
            changed = codes.copy()
            changed[j] = state
            logs[state] = source.log_posterior(changed)
        found.append(Varied(j, np.exp(logs)))
    return found


def explained_classes(source: FamilySum, posterior: Floats, label: Any) -> Integers:
    """Return the code of the class that is explained in every row: ``label``, or the predicted one."""
    if label is None:
        return np.asarray(posterior.argmax(axis=1))
    return np.full(len(posterior), class_code(source.vocabulary, "label", label))


def _another(posteriors: Floats, predicted: Integers) -> Bools:
    """Return where another class is more probable than the predicted one, by more than rounding; (states, rows)."""
    kept = posteriors[:, np.arange(len(predicted)), predicted]
    return np.asarray(kept < posteriors.max(axis=2) - EQUAL_PROBABILITIES)


def tornado(source: FamilySum, rows: Rows, label: Any = None) -> pd.DataFrame:
    """Return the range of P(label | row) over the states of each feature.

    See :meth:`anbexact.classifiers.explaining.Explaining.tornado`.
    """
    vocabulary, n_rows = source.vocabulary, rows.codes.shape[1]
    classes = vocabulary.states[vocabulary.class_name]
    posterior = np.exp(source.log_posterior(rows.codes))
    explained = explained_classes(source, posterior, label)
    place, predicted = np.arange(n_rows), posterior.argmax(axis=1)
    index = pd.Series(list(rows.index)).to_numpy()
    frames = []
    for varied in vary(source, rows.codes):
        name = vocabulary.features[varied.feature]
        states = vocabulary.states[name]
        shares = varied.posteriors[:, place, explained]
        lowest, highest = shares.argmin(axis=0), shares.argmax(axis=0)
        frames.append(
            pd.DataFrame(
                {
                    "row": index,
                    "label": [classes[c] for c in explained.tolist()],
                    "feature": pd.Series([name] * n_rows, dtype=object),
                    "state": pd.Series(states_of(vocabulary, rows, varied.feature), dtype=object),
                    "probability": posterior[place, explained],
                    "low": shares[lowest, place],
                    "high": shares[highest, place],
                    "low_state": pd.Series([states[k] for k in lowest.tolist()], dtype=object),
                    "high_state": pd.Series([states[k] for k in highest.tolist()], dtype=object),
                    "changes_decision": _another(varied.posteriors, predicted).any(axis=0),
                    "_place": place,
                }
            )
        )
    return widest_first(frames)


def widest_first(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return frames with ``low``, ``high`` and the ``_place`` of rows as one: the widest range of a row first."""
    if not frames:
        return pd.DataFrame()
    frame = pd.concat(frames, ignore_index=True)
    order = np.lexsort((frame["low"] - frame["high"], frame["_place"]))
    return frame.iloc[order].drop(columns="_place").reset_index(drop=True)
