"""Set scores of a table with one row less, or one more."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from anbexact._kernels.jit import kernel


class CodedRows(NamedTuple):
    """Rows as numbers.

    Attributes
    ----------
    codes : (n, rows) int16
        States of the features.
    classes, weights : (rows,) int64, float64
        Class and weight of every row.
    """

    codes: npt.NDArray[np.int16]
    classes: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]


class FamilyCells(NamedTuple):
    """Tables of features given their parents and the class.

    Attributes
    ----------
    parents, children, arities : (families,) int64
        The mask of the parents among the features, the place of the feature, and its number of states.
    parameters : (families,) float64
        The prior weight that is added to every cell.
    """

    parents: npt.NDArray[np.int64]
    children: npt.NDArray[np.int64]
    arities: npt.NDArray[np.int64]
    parameters: npt.NDArray[np.float64]


@kernel
def agreements(codes, row, masks):
    """Write, for every row, the mask of the features in whose states it agrees with a given row.

    Parameters
    ----------
    codes : (n, rows) int16
        States.
    row : (n,) int16
        States; a negative one agrees with no row.
    masks : (rows,) int64
        Receives the masks.
    """
    for r in range(codes.shape[1]):
        mask = 0
        for b in range(codes.shape[0]):
            if codes[b, r] == row[b]:
                mask |= 1 << b
        masks[r] = mask


@kernel
def agreeing_in_sets(masks, classes, weights, class_, counts):
    """Write n_T, the weight of the rows of a class that agree in all features of T, for all sets T.

    Parameters
    ----------
    masks, classes, weights : (rows,) int64, int64, float64
        From :func:`agreements`, and the class and the weight of every row.
    class_ : int
        The class.
    counts : (2**n,) float64
        Receives n_T.
    """
    for s in range(counts.shape[0]):
        counts[s] = 0.0
    for r in range(masks.shape[0]):
        if classes[r] == class_:
            counts[masks[r]] += weights[r]
    step = 1
    while step < counts.shape[0]:
        for base in range(0, counts.shape[0], 2 * step):
            for s in range(base, base + step):
                counts[s] += counts[s + step]
        step *= 2


@kernel
def scores_without(scores, parameters, masks, classes, weights, class_, counts, out):
    """Write the set scores of a table without one row of weight 1.

    The cell of the row in a set T has the weight n_T, the total weight of the rows of its class that agree with it in
    T. Without the row, ``lnΓ(a + n_T)`` becomes ``lnΓ(a + n_T - 1)``, so the score falls by ``ln(a + n_T - 1)``.

    Parameters
    ----------
    scores, parameters : (2**n,) float64
        F of every set, and the parameter a of its cells.
    masks, classes, weights : (rows,) int64, int64, float64
        From :func:`agreements`, and the class and the weight of every row.
    class_ : int
        The class of the row.
    counts, out : (2**n,) float64
        Room for n_T; receives the scores.
    """
    agreeing_in_sets(masks, classes, weights, class_, counts)
    for s in range(counts.shape[0]):
        out[s] = scores[s] - math.log(parameters[s] + counts[s] - 1.0)


@kernel
def scores_with(scores, parameters, masks, classes, weights, class_, counts, out):
    """Write the set scores of a table with one more row, of this class: they rise by ``ln(a + n_T)``.

    Parameters are those of :func:`scores_without`.
    """
    agreeing_in_sets(masks, classes, weights, class_, counts)
    for s in range(counts.shape[0]):
        out[s] = scores[s] + math.log(parameters[s] + counts[s])


@kernel
def agreeing_weights(masks, classes, weights, sets, out):
    """Write the weights of the rows of every class that agree in all features of a set, shape (sets, classes)."""
    for k in range(sets.shape[0]):
        for c in range(out.shape[1]):
            out[k, c] = 0.0
        for r in range(masks.shape[0]):
            if sets[k] & ~masks[r] == 0:
                out[k, classes[r]] += weights[r]


@kernel
def means_without(rows, t, masks, families, out):
    """Write the posterior means of P(state of a row | parents, class) by the other rows, one such row left out.

    The arithmetic is that of the tables of a network that is learned without the row, so the bits are the same: its
    parameter is added to each weight, and the total is the sum over the states in their order.

    Parameters
    ----------
    rows : CodedRows
        All rows.
    t : int
        The row, which loses a weight of 1.
    masks : (rows,) int64
        From :func:`agreements` with the row.
    families : FamilyCells
        The families.
    out : (families, classes) float64
        Receives the means.
    """
    most = 1
    for k in range(families.arities.shape[0]):
        most = max(most, families.arities[k])
    cells = np.empty((most, out.shape[1]))
    for k in range(out.shape[0]):
        own, states = rows.codes[families.children[k]], families.arities[k]
        for j in range(states):
            for c in range(out.shape[1]):
                cells[j, c] = 0.0
        for r in range(masks.shape[0]):
            if families.parents[k] & ~masks[r] == 0:
                cells[own[r], rows.classes[r]] += rows.weights[r]
        cells[own[t], rows.classes[t]] -= 1.0
        for c in range(out.shape[1]):
            total = 0.0
            for j in range(states):
                total += cells[j, c] + families.parameters[k]
            out[k, c] = (cells[own[t], c] + families.parameters[k]) / total
