"""Coefficients that were estimated elsewhere, and the change of a model's potentials that gives them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from difflib import get_close_matches
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anbexact._runtime.units import with_article
from anbexact.models.logit.potentials import Floats, Potential, Potentials
from anbexact.models.logit.terms import IndexSet

if TYPE_CHECKING:
    from anbexact.models.logit.model import LogitModel


def read_coefficients(model: LogitModel, coefficients: Any) -> Floats:
    """Return coefficients, shape (terms, classes - 1), in the order of ``model.terms``.

    Terms that are not named have the coefficient 0.

    Parameters
    ----------
    model : LogitModel
    coefficients : DataFrame, results of statsmodels or FirthResult
        Log odds against the first class, in nats: terms in rows, classes other than the first in columns.

    Raises
    ------
    TypeError
        If ``coefficients`` is of another type.
    ValueError
        For a term or class that the model does not have, other classes or another order of classes in results of
        statsmodels, a term that is named twice, or a coefficient that is not finite.
    """
    frame = _as_frame(model, coefficients)
    classes = model.classes_[1:].tolist()
    names = {str(label): label for label in classes}
    columns = [label if label in classes else names.get(str(label), label) for label in frame.columns]
    if sorted(map(repr, columns)) != sorted(map(repr, classes)):
        raise ValueError(
            f"the columns must be the classes other than the first, {classes!r}, not {list(frame.columns)!r}: "
            f"coefficients are log odds against {model.classes_.tolist()[0]!r}"
        )
    frame = frame.iloc[:, [columns.index(label) for label in classes]]  # not [classes]: booleans would choose rows
    place = dict(zip(model.terms.index, count()))
    unknown = [name for name in frame.index if name not in place]
    if unknown:
        near = get_close_matches(str(unknown[0]), list(place), 1)
        advice = f"did you mean {near[0]!r}?" if near else "see the index of terms"
        raise ValueError(f"{unknown[0]!r} is not a term of the model: {advice}")
    if not frame.index.is_unique:
        twice = frame.index[frame.index.duplicated()][0]
        raise ValueError(f"the term {twice!r} has two rows of coefficients")
    values = frame.to_numpy(dtype=np.float64)
    if not np.isfinite(values).all():
        term = frame.index[~np.isfinite(values).all(axis=1)][0]
        raise ValueError(f"a coefficient of {term!r} is not a finite number")
    found = np.zeros((len(place), len(classes)))
    found[[place[name] for name in frame.index]] = values
    return found


def _as_frame(model: LogitModel, coefficients: Any) -> pd.DataFrame:
    """Return coefficients as a frame; the columns of statsmodels' results, which are numbers, become classes."""
    params = getattr(coefficients, "params", coefficients)
    if not isinstance(params, pd.DataFrame):
        raise TypeError(
            "coefficients must be a frame with terms as index and classes as columns, or the results of a fit of "
            f"statsmodels, not {with_article(type(coefficients).__name__)}"
        )
    labels = getattr(getattr(coefficients, "model", None), "_ynames_map", None)
    if labels is None:
        return params
    named = [str(labels[k]) for k in sorted(labels)]
    if named != list(map(str, model.classes_.tolist())):
        raise ValueError(
            f"the results have the classes {named}, but the model has {model.classes_.tolist()}: they "
            "must be the same in the same order, because the first class is the reference"
        )
    return params.set_axis(model.classes_[1:].tolist(), axis=1)


def with_changes(potentials: Potentials, sets: Sequence[IndexSet], changes: Sequence[Floats]) -> Potentials:
    """Return potentials whose coefficients differ by ``changes`` from the coefficients of these.

    The change of a set of features with r_1, ..., r_k states has the shape (r_1 - 1, ..., r_k - 1, classes - 1). It
    is added to the first potential whose features contain the set, to the logs of the classes other than the first.
    """
    logs = {potential.child: potential.logs.copy() for potential in potentials}
    for of_set, change in zip(sets, changes, strict=True):
        if not change.any():
            continue
        holder = next(p for p in potentials if set(p.features).issuperset(of_set))
        logs[holder.child][_cells_of(of_set, holder)] += _over_axes(of_set, holder, change)
    return tuple(Potential(p.child, p.features, logs[p.child]) for p in potentials)


def _cells_of(of_set: IndexSet, holder: Potential) -> tuple[slice, ...]:
    """Return the entries of a potential in which no feature of a set, and not the class, has its first state."""
    later, every = slice(1, None), slice(None)
    return (*(later if name in of_set else every for name in holder.features), later)


def _over_axes(of_set: IndexSet, holder: Potential, change: Floats) -> Floats:
    """Return the change of a set's coefficients with the axes of a potential, of length 1 for other features."""
    axes: list[Hashable] = [name for name in holder.features if name in of_set]
    ordered = change.transpose([*(of_set.index(name) for name in axes), change.ndim - 1])
    sizes = iter(ordered.shape)
    shape = [next(sizes) if name in of_set else 1 for name in holder.features]
    return ordered.reshape(*shape, ordered.shape[-1])
