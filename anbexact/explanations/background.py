"""The background of an explanation: the joint distribution of every family's features when they are unknown."""

from __future__ import annotations

from math import prod

import numpy as np
from scipy.special import logsumexp

from anbexact._runtime.arrays import Floats
from anbexact.models.family_sum import FamilySum
from anbexact.tables.vocabulary import MISSING, CodeArray


def training_distributions(source: FamilySum) -> list[Floats]:
    """Return the shares of the joint states of every family's features in the training rows, by weight.

    Raises
    ------
    ValueError
        If the network has no counts.
    """
    if source.counts is None:
        raise ValueError(
            "background='training' needs counts of the training rows, and this network has none: pass "
            "background='network' or rows"
        )
    class_name, found = source.vocabulary.class_name, []
    for potential in source.potentials:
        family = source.counts[potential.child]
        dense = family.dense().sum(axis=family.variables.index(class_name))
        axes = [name for name in family.variables if name != class_name]
        dense = dense.transpose([axes.index(name) for name in potential.features])
        found.append(dense / dense.sum())
    return found


def network_distributions(source: FamilySum) -> list[Floats]:
    """Return the joint distribution of every family's features under the network itself."""
    found = []
    for places, potential in zip(source.places, source.potentials, strict=True):
        shape = potential.logs.shape[:-1]
        codes = np.full((len(source.arities), prod(shape)), MISSING, dtype=np.int16)
        if places:
            codes[list(places)] = np.indices(shape).reshape(len(shape), -1)
        logs = source.network.log_joint(codes)
        found.append(np.exp(logsumexp(logs, axis=1)).reshape(shape))
    return found


def row_distributions(source: FamilySum, codes: CodeArray) -> list[Floats]:
    """Return the shares of the joint states of every family's features in complete rows.

    Raises
    ------
    ValueError
        If no row is complete.
    """
    complete = np.ascontiguousarray(codes[:, (codes >= 0).all(axis=0)])
    if not complete.shape[1]:
        raise ValueError(
            "no row of the background is complete, and complete rows are needed: fill in missing cells, or pass "
            "background='network'"
        )
    found = []
    for places, potential in zip(source.places, source.potentials, strict=True):
        shape = potential.logs.shape[:-1]
        if not shape:
            found.append(np.ones(()))
            continue
        cells = np.ravel_multi_index(tuple(complete[list(places)].astype(np.intp)), shape)
        found.append((np.bincount(cells, minlength=prod(shape)) / complete.shape[1]).reshape(shape))
    return found


def distributions(source: FamilySum, background: str | CodeArray | None) -> list[Floats]:
    """Return the joint distribution of every family's features, with the axes of its potential except the class.

    Parameters
    ----------
    source : FamilySum
        The class posterior.
    background : {"training", "network"}, None or (features, rows) int16
        The source of the distributions. None stands for the training rows if the network has their counts, else for
        the network. Codes are rows of equal weight; incomplete ones are left out.

    Raises
    ------
    ValueError
        For an unknown word, for training rows without counts, or if no row is complete.
    """
    if background is None:
        background = "network" if source.counts is None else "training"
    if not isinstance(background, str):
        return row_distributions(source, background)
    if background not in ("training", "network"):
        raise ValueError(f"background must be 'training', 'network' or rows, not {background!r}")
    return training_distributions(source) if background == "training" else network_distributions(source)
