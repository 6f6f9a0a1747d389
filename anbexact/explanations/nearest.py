"""The nearest change of a decision: the fewest features to change."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any

import numpy as np
import pandas as pd

from anbexact._kernels.changes import changes_to_class, nearest_changes
from anbexact._runtime.arrays import Bools
from anbexact._runtime.tasks import run_on_rows
from anbexact.explanations.max_sum import arranged
from anbexact.explanations.reasons import TOLERANCE
from anbexact.models.family_sum import FamilySum
from anbexact.models.network.explain import class_code
from anbexact.models.network.explanation_text import value_text
from anbexact.tables.reader import Rows
from anbexact.tables.vocabulary import Vocabulary

CHUNK = 100
"""Number of rows per task."""
MOST_NODES = 20_000
"""Maximum number of nodes of the search for the nearest change to a given class, for every number of changes."""


def changeable_features(vocabulary: Vocabulary, keep: Collection[Hashable]) -> Bools:
    """Return which features may be changed: all that are not in ``keep``.

    Raises
    ------
    ValueError
        If ``keep`` contains a name that is not a feature.
    """
    kept = [keep] if isinstance(keep, str) else list(keep)
    if unknown := [name for name in kept if name not in vocabulary.features]:
        raise ValueError(f"keep names {unknown[0]!r}, which is not a feature of the classifier")
    return np.array([name not in kept for name in vocabulary.features], dtype=np.bool_)


def nearest_change(
    source: FamilySum,
    rows: Rows,
    keep: Collection[Hashable] = (),
    target: Any = None,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Return one row per row; see :meth:`anbexact.classifiers.explaining.Explaining.nearest_change`.

    Raises
    ------
    ValueError
        If a cell is missing, if ``keep`` contains a name that is not a feature, if ``target`` is not a class, or if
        the elimination would need too large tables.
    """
    vocabulary, codes = source.vocabulary, rows.codes
    changeable = changeable_features(vocabulary, keep)
    if (codes < 0).any():
        t, j = np.argwhere(codes.T < 0)[0].tolist()
        raise ValueError(
            f"the cell of {vocabulary.features[j]!r} in row {rows.index[t]!r} is missing or unknown, so its change "
            "cannot be stated: fill it in, or leave the row out"
        )
    wanted = None if target is None else class_code(vocabulary, "target", target)
    elimination = arranged(source)
    changeable &= elimination.relevant
    decided = source.log_posterior(codes).argmax(axis=1).astype(np.int64)
    n_features, n_rows = codes.shape
    found = np.empty((n_rows, n_features), dtype=np.int64)
    lead = np.where(
        decided == (-1 if wanted is None else wanted), 0.0, -np.inf
    )  # a row that is decided as wanted needs no change
    proved = np.ones(n_rows, dtype=np.bool_)
    arguments = codes, elimination.buckets, source.arities, changeable

    def work(start: int, stop: int) -> None:
        if wanted is None:
            most = int(changeable.sum())
            nearest_changes(*arguments, decided, TOLERANCE, most, start, stop, found, lead)
        else:
            changes_to_class(*arguments, wanted, TOLERANCE, MOST_NODES, start, stop, found, lead, proved)

    run_on_rows(work, n_rows, CHUNK, n_jobs)
    changed = source.log_posterior(np.ascontiguousarray(found.T.astype(np.int16)))
    classes = vocabulary.states[vocabulary.class_name]
    exists = np.isfinite(lead)
    after = changed.argmax(axis=1)
    moves = [_changes(vocabulary, codes[:, t], found[t]) for t in range(n_rows)]
    return pd.DataFrame(
        {
            "row": list(rows.index),
            "decision": [classes[c] for c in decided.tolist()],
            "exists": exists,
            "smallest": proved,
            "size": [len(of_row) for of_row in moves],
            "changes": pd.Series([{name: new for name, _, new in of_row} for of_row in moves], dtype=object),
            "text": [
                ", ".join(f"{name}: {value_text(old)} → {value_text(new)}" for name, old, new in of_row)
                for of_row in moves
            ],
            "becomes": pd.Series([classes[c] for c in after.tolist()], dtype=object).where(exists, None),
            "probability": np.where(exists, np.exp(changed[np.arange(n_rows), after]), np.nan),
        }
    )


def _changes(vocabulary: Vocabulary, before: Any, after: Any) -> list[tuple[Hashable, Any, Any]]:
    """Return the features that differ, with their states before and after."""
    names = vocabulary.features
    return [
        (names[j], vocabulary.states[names[j]][before[j]], vocabulary.states[names[j]][after[j]])
        for j in np.flatnonzero(before != after).tolist()
    ]
