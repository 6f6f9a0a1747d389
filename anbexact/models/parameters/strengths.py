"""The strengths of hierarchical tables, chosen by predicting rows that are held out."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import log

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from anbexact._kernels.hierarchy import value_and_gradient
from anbexact._runtime.arrays import Floats, Positions
from anbexact._runtime.tasks import one_blas_thread
from anbexact.models.parameters.counts import FamilyCounts, count_families
from anbexact.models.parameters.hierarchical import Strengths, ordered_parents
from anbexact.models.structure import Structure
from anbexact.tables.table import DiscreteTable

CENTRE, SPREAD = 5.0, 4.0
"""Prior of the mean of ln m at each depth: normal around ln `CENTRE` with standard deviation `SPREAD`."""
SPREAD_OF_VARIABLES = 0.5
"""Standard deviation of ln m of the variables around that mean."""
EXPONENT, SPREAD_OF_EXPONENT, MOST_EXPONENT = 1.0, 1.5, 6.0
"""Prior of the exponent: normal around the first number, with the second as its standard deviation, and between 0 and
the third."""
LEAST, MOST = 0.01, 10_000.0
"""Bounds of exp(μ_d), μ_d being the mean of ln m at depth d."""
MOST_DIFFERENCE = 3.0
"""Largest difference of ln m of a variable from the mean."""
MOST_CELLS = 4_000_000
"""Maximum number of held-out rows times classes times levels, over all folds of a split; of more rows, evenly spaced
ones are predicted."""
DENSE_STATES = 50
"""Maximum number of joint states per observed cell for which all are counted; if there are more, only those that
occur."""
MOST_STEPS = 200
"""Maximum number of steps of the search for the best strengths, which usually takes 20; little is lost if it is cut
off."""
PRECISION = 1e-5
"""The search ends when a step lowers the loss by less than this share of it: held-out rows cannot distinguish
strengths any better."""


class HeldOutHierarchy:
    """Held-out rows, to be predicted by hierarchical tables of a structure from other rows.

    Families without the class cancel out of the posterior and are left out.

    Parameters
    ----------
    learned, held_out : DiscreteTable
        Rows to count, and rows to predict, of one vocabulary.
    structure : Structure
        Over the variables of the tables.
    most_cells : int
        See `MOST_CELLS`.

    Attributes
    ----------
    levels : list of (Hashable, int)
        Variable and number of parents of every level.
    """

    def __init__(
        self, learned: DiscreteTable, held_out: DiscreteTable, structure: Structure, most_cells: int = MOST_CELLS
    ) -> None:
        self._class_name = structure.class_name
        self._arity = learned.vocabulary.arity(self._class_name)
        counts = count_families(learned, structure)
        families = [family for family in counts.values() if self._class_name in family.variables]
        self.levels = [(family.name, depth) for family in families for depth in range(len(family.parents) + 1)]
        n_rows = len(held_out.codes)
        predicted = max(1, min(n_rows, most_cells // (self._arity * max(1, len(self.levels)))))
        rows = np.unique(np.linspace(0, n_rows - 1, predicted).astype(np.int64))
        self._weights = held_out.weights[rows]
        self._classes = held_out.column(self._class_name)[rows].astype(np.int64)
        self._ends = np.cumsum([len(family.parents) + 1 for family in families], dtype=np.int64)
        self._uniform = np.array([1.0 / family.shape[0] for family in families])
        codes = {name: held_out.column(name)[None, rows].astype(np.int64) for name in held_out.vocabulary.names}
        codes[self._class_name] = np.arange(self._arity)[:, None]  # one column for every class
        shape = (len(self.levels), self._arity, len(rows))
        self._joint, self._given = np.empty(shape), np.empty(shape)
        self._occurring = np.empty(shape, dtype=np.int32)
        first = 0
        for family in families:
            last = first + len(family.parents) + 1
            self._fill(family, codes, slice(first, last))
            first = last
        states = np.arange(max((family.shape[0] for family in families), default=0) + 1)
        self._log_states = np.log(np.maximum(states, 1))

    def _fill(self, family: FamilyCounts, codes: Mapping[Hashable, Positions], levels: slice) -> None:
        """Fill in the weights of a family's levels, and the numbers of states that occur, (levels, classes, rows)."""
        joint, given, occurring = self._joint[levels], self._given[levels], self._occurring[levels]
        counted = dict(zip(family.variables, np.unravel_index(family.cells, family.shape), strict=True))
        arities = dict(zip(family.variables, family.shape, strict=True))
        arity, child, own = family.shape[0], counted[family.name], codes[family.name]
        n_states = 1
        states, asked = np.zeros(len(child), dtype=np.int64), np.zeros((1, 1), dtype=np.int64)
        present = family.weights > 0
        for depth, parent in enumerate([None, *ordered_parents(family, self._class_name)]):
            if parent is not None:
                n_states *= arities[parent]
                states = states * arities[parent] + counted[parent]
                asked = asked * arities[parent] + codes[parent]
            given[depth] = _weights_of(asked, states, family.weights, n_states)
            cells = states * arity + child
            joint[depth] = _weights_of(asked * arity + own, cells, family.weights, n_states * arity)
            occurring[depth] = _states_that_occur(asked, cells[present], n_states, arity)

    def log_likelihood(self, strengths: Floats, exponent: float) -> tuple[float, Floats]:
        """Return Σ_t w_t ln P(c_t | x_t), total in nats, and its derivatives by ln m of every level and the exponent.

        Parameters
        ----------
        strengths : array of shape (levels,)
            m.
        exponent : float
            γ.
        """
        gradient = np.zeros(len(self.levels) + 1)
        value = value_and_gradient(
            self._joint,
            self._given,
            self._occurring,
            self._ends,
            self._uniform,
            strengths,
            exponent,
            self._log_states,
            self._classes,
            self._weights,
            gradient,
        )
        return float(value), gradient


def _weights_of(asked: Positions, states: Positions, weights: Floats, n_states: int) -> Floats:
    """Return the total weight of every state that is asked for; 0 for one that does not occur."""
    if n_states > DENSE_STATES * len(states):
        occurring, states = np.unique(states, return_inverse=True)
        place = np.searchsorted(occurring, asked).clip(max=len(occurring) - 1)
        totals = np.bincount(states, weights)
        return np.where(occurring[place] == asked, totals[place], 0.0)
    return np.bincount(states, weights, n_states).astype(np.float64, copy=False)[asked]


def _states_that_occur(asked: Positions, cells: Positions, n_states: int, arity: int) -> Positions:
    """Return how many states of the variable occur with every joint state that is asked for.

    ``cells`` are joint states, from 0 to ``n_states - 1``, times ``arity``, plus the state of the variable.
    """
    if n_states * arity > DENSE_STATES * len(cells):
        distinct = np.unique(cells)
        return _weights_of(asked, distinct // arity, np.ones(len(distinct)), n_states).astype(np.int64)
    occurs = np.zeros(n_states * arity, dtype=np.bool_)
    occurs[cells] = True
    return np.asarray(occurs.reshape(n_states, arity).sum(axis=1)[asked])


def best_strengths(folds: Sequence[HeldOutHierarchy], structure: Structure, repetitions: int = 1) -> Strengths:
    """Return the strengths with the highest conditional log likelihood of held-out rows, minus a penalty.

    The penalty follows from a hierarchical prior: ``ln m`` of a variable at depth d is normal around a mean μ_d of
    its own, with standard deviation `SPREAD_OF_VARIABLES`, and μ_d is normal around ln `CENTRE` with `SPREAD`. The
    exponent is normal around `EXPONENT` with `SPREAD_OF_EXPONENT`. The objective, over m, μ and γ, is

    ``1/R Σ_t w_t ln P(c_t | x_t; m, γ) - Σ_d (μ_d - ln 5)² / (2 · 4²) - Σ_id (ln m_id - μ_d)² / (2 · 0.5²)
    - (γ - 1)² / (2 · 1.5²)``

    in nats, where t runs over the held-out rows of all folds and R is ``repetitions``.

    Parameters
    ----------
    folds : sequence of HeldOutHierarchy
        The rows of every fold, with the structure that was learned without them.
    structure : Structure
        The one whose tables are to be estimated. A level that no fold has gets the mean of its depth, and a depth
        that no fold has gets the mean of the deepest.
    repetitions : int
        Number of times that every row is held out, by which the log likelihood is divided.

    Returns
    -------
    Strengths
        m_0, m_1, ... of every variable, in rows, and the exponent.

    References
    ----------
    Petitjean, Buntine, Webb and Zaidi, *Accurate parameter estimation for Bayesian network classifiers using
    hierarchical Dirichlet processes*, Machine Learning 107 (2018), who sample the strengths.
    """
    own = [(name, depth) for name, parents in structure.parents.items() for depth in range(len(parents) + 1)]
    levels = list(dict.fromkeys([*own, *(level for fold in folds for level in fold.levels)]))
    place = {level: k for k, level in enumerate(levels)}
    depths = np.array([depth for _, depth in levels])
    n_depths = int(depths.max()) + 1
    of_fold = [np.array([place[level] for level in fold.levels], dtype=np.int64) for fold in folds]

    n_strengths = n_depths + len(levels)

    def log_strengths(unknowns: Floats) -> Floats:
        return np.asarray(unknowns[depths] + unknowns[n_depths:n_strengths])

    def loss(unknowns: Floats) -> tuple[float, npt.NDArray[np.float64]]:
        strengths, exponent = np.exp(log_strengths(unknowns)), float(unknowns[-1])
        offset = unknowns - centre
        value, gradient = -float(scale @ offset**2) / 2, -scale * offset
        for fold, positions in zip(folds, of_fold, strict=True):
            of_rows, slopes = fold.log_likelihood(strengths[positions], exponent)
            value += of_rows / repetitions
            np.add.at(gradient, depths[positions], slopes[:-1] / repetitions)
            np.add.at(gradient, n_depths + positions, slopes[:-1] / repetitions)
            gradient[-1] += slopes[-1] / repetitions
        return -value, -gradient

    means, differences = np.ones(n_depths), np.ones(len(levels))
    centre = np.concatenate([log(CENTRE) * means, 0.0 * differences, [EXPONENT]])
    spread = np.concatenate([SPREAD * means, SPREAD_OF_VARIABLES * differences, [SPREAD_OF_EXPONENT]])
    scale = 1 / spread**2
    bounds = [(log(LEAST), log(MOST))] * n_depths + [(-MOST_DIFFERENCE, MOST_DIFFERENCE)] * len(levels)
    with one_blas_thread():
        found = minimize(
            loss,
            centre,
            jac=True,
            method="L-BFGS-B",
            bounds=[*bounds, (0.0, MOST_EXPONENT)],
            options={"maxiter": MOST_STEPS, "ftol": PRECISION},
        )
    deepest = max((depth for fold in folds for _, depth in fold.levels), default=0)
    chosen = np.exp(found.x[np.minimum(depths, deepest)] + found.x[n_depths:n_strengths])
    of_variables = {
        name: tuple(float(chosen[place[name, depth]]) for depth in range(len(parents) + 1))
        for name, parents in structure.parents.items()
    }
    return Strengths(of_variables, float(found.x[-1]))
