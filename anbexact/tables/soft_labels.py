"""Class probabilities of rows as targets to learn from, such as those that another classifier predicts."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from anbexact._runtime.arrays import Floats, Integers
from anbexact.tables.frames.reading import frame_names

ROUNDED = 1e-4
"""How far the probabilities of a row may add up to something else than 1, because they were rounded."""


def check_soft_weight(soft_weight: Any) -> float:
    """Return the share of the probabilities in the targets; refuse what is not a number from 0 to 1."""
    if isinstance(soft_weight, bool | str) or not isinstance(soft_weight, Real) or not 0 <= float(soft_weight) <= 1:
        raise ValueError(f"soft_weight must be a number from 0 to 1, not {soft_weight!r}")
    return float(soft_weight)


def read_soft(soft: Any, classes: Sequence[Any], weights: Floats) -> Floats:
    """Return the class probabilities of rows, columns in the order of ``classes``, each row divided by its sum.

    Parameters
    ----------
    soft : frame or (rows, classes) array
        The columns of a frame are named after the classes, in any order; those of an array are in the order of
        ``classes``. Rows of weight 0 may hold anything.
    classes : sequence
    weights : (rows,) array

    Returns
    -------
    (rows, classes) float64
        Zeros in rows of weight 0.

    Raises
    ------
    ValueError
        For another number of rows or columns, columns of a frame that are not the classes, a probability that is
        missing, negative or not a number, or a row that does not add up to 1; the message names the row.
    """
    names = frame_names(soft)
    values = np.asarray(soft if names is None else nw.from_native(soft, eager_only=True).to_numpy())
    if values.ndim != 2 or values.shape != (len(weights), len(classes)):
        raise ValueError(
            f"soft has shape {values.shape}, expected ({len(weights)}, {len(classes)}): one row per row of X, and "
            f"one probability for each of the classes {list(classes)}"
        )
    if names is not None:
        places = {str(name): k for k, name in enumerate(names)}
        lacking = [label for label in classes if str(label) not in places]
        if lacking:
            raise ValueError(
                f"soft has the columns {list(names)}, but must have one column for each of the classes "
                f"{list(classes)}: {lacking[0]!r} is missing. Pass an array if its "
                "columns are in the order of the sorted classes"
            )
        values = values[:, [places[str(label)] for label in classes]]
    try:
        found: Floats = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("soft must hold probabilities, but some of its cells are not numbers") from None
    found[weights == 0] = 0.0
    bad = ~np.isfinite(found) | (found < 0)
    if bad.any():
        row, k = map(int, np.argwhere(bad)[0])
        raise ValueError(
            f"soft holds {found[row, k]} for class {classes[k]!r} in row {row}: every probability must be a number "
            f"from 0 to 1 ({int(bad.any(axis=1).sum())} of {len(found)} rows have others)"
        )
    sums = found.sum(axis=1)
    off = (np.abs(sums - 1) > ROUNDED) & (weights > 0)
    if off.any():
        row = int(off.argmax())
        raise ValueError(
            f"the probabilities of soft add up to {sums[row]:.6g} in row {row}, but must add up to 1 "
            f"({int(off.sum())} of {len(found)} rows do not)"
        )
    return np.asarray(found / np.where(sums > 0, sums, 1.0)[:, None])


def mixed_with_labels(soft: Floats, codes: Integers, share: float) -> Floats:
    """Return ``(1 - share) e_y + share q`` for every row, where e_y is 1 for its class y and 0 for others."""
    targets = np.zeros(soft.shape)
    targets[np.arange(len(codes)), codes] = 1.0
    return np.asarray(targets + share * (soft - targets))
