"""An upper bound on the Dirichlet scores of one child with all supersets of a set of parents."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from anbexact._kernels.cells import cell_value
from anbexact._kernels.jit import kernel


class Atoms(NamedTuple):
    """Counts of the child in the joint states of all other variables in which at least two of its states occur.

    Attributes
    ----------
    counts : (atoms, states of the child) float64
        The counts.
    codes : (features, atoms) uint16
        States of the features.
    likelihoods, modes : (atoms,) float64
        Maximum log-likelihood; parameter of the highest Dirichlet marginal likelihood.
    cells : (depths, atoms) int32
        In which cell of a set every atom is, by the number of the set's members that are laid out.
    by_cell : (2, cells) float64
        Room for :func:`upper_bound`.
    """

    counts: npt.NDArray[np.float64]
    codes: npt.NDArray[np.uint16]
    likelihoods: npt.NDArray[np.float64]
    modes: npt.NDArray[np.float64]
    cells: npt.NDArray[np.int32]
    by_cell: npt.NDArray[np.float64]


@kernel
def dirichlet_likelihood(counts, a):
    """Return the Dirichlet marginal likelihood of counts, with the parameter a spread evenly over the states."""
    share = a / counts.shape[0]
    lg = math.lgamma(share)
    total = 0.0
    given = 0.0
    for k in range(counts.shape[0]):
        if counts[k] > 0:
            total += cell_value(counts[k], share, lg)
            given += counts[k]
    return total - cell_value(given, a, math.lgamma(a))


@kernel
def upper_bound(cells, atoms, depth, log_states, largest):
    """Return the bound Σ_j min(f_j, g_j, h_j) over the cells j of a set, on the scores of all its supersets.

    Parameters
    ----------
    cells, depth : Cells, int
        The cells that are not settled, and the number of the set's members.
    atoms : Atoms
        The counts for the bounds g and h; see :func:`~anbexact.search.exact.candidates.candidate_lists`.
    log_states, largest : float
        Logarithm of the child's number of states; the greatest parameter of a cell of a superset.
    """
    kids, weights, starts = cells.kids, cells.weights, cells.starts
    cell, likelihoods = atoms.cells[depth], atoms.likelihoods
    by_likelihood, by_mode = atoms.by_cell[0], atoms.by_cell[1]
    for c in range(cells.count):
        by_likelihood[c] = 0.0
        by_mode[c] = 0.0
    for t in range(cell.shape[0]):
        c = cell[t]
        by_likelihood[c] += likelihoods[t]
        highest = dirichlet_likelihood(atoms.counts[t], min(largest, atoms.modes[t]))
        by_mode[c] = min(by_mode[c], highest - likelihoods[t])
    total = 0.0
    for c in range(cells.count):
        observed = 0.0
        last = -1
        weight = 0.0
        for t in range(starts[c], starts[c + 1]):
            if kids[t] != last:
                observed += min(1.0, weight)
                last = kids[t]
                weight = 0.0
            weight += weights[t]
        observed += min(1.0, weight)
        total += min(-log_states * observed, by_likelihood[c] + by_mode[c])
    return total
