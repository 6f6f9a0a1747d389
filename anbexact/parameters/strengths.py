"""The strengths of hierarchical tables, chosen by predicting rows that are held out."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from anbexact._kernels.hierarchy import value_and_gradient
from anbexact._runtime.arrays import Floats, Positions
from anbexact._runtime.tasks import one_blas_thread
from anbexact.parameters.counts import FamilyCounts, count_families
from anbexact.parameters.hierarchical import Strengths, ordered_parents
from anbexact.structures.structure import Structure
from anbexact.tables.table import DiscreteTable

CENTRE, SPREAD = 5.0, 4.0
"""The mean of ln m over variables, for every depth, is normal around ln 5 with this standard deviation."""
SPREAD_OF_VARIABLES = 0.5
"""Standard deviation of ln m around that mean."""
LEAST, MOST = 0.01, 10_000.0
"""Bounds of the means over variables."""
MOST_DIFFERENCE = 3.0
"""Largest difference of ln m from its mean."""
MOST_CELLS = 4_000_000
"""Held-out rows times classes times levels up to which all are predicted; beyond, some rows at even distances are."""
MOST_STEPS = 200


class HeldOutHierarchy:
    """Held-out rows, to be predicted by hierarchical tables of a structure from other rows.

    Families without the class cancel.

    Parameters
    ----------
    learned, held_out : DiscreteTable
        Rows to count, and rows to predict, of one vocabulary.
    structure : Structure
        Over the variables of the tables.
    most_cells : int
        Held-out rows times classes times levels up to which all rows are predicted; beyond, some at even distances.

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
        both = DiscreteTable(
            learned.vocabulary,
            np.asfortranarray(np.concatenate([learned.codes, held_out.codes[rows]])),
            np.concatenate([learned.weights, np.zeros(len(rows))]),
            learned.n_rows + len(rows),
        )
        asked = len(learned.codes) + np.arange(len(rows))
        self._joint = np.empty((len(rows), len(self.levels), self._arity))
        self._given = np.empty_like(self._joint)
        first = 0
        for family in families:
            first = self._add_levels(both, asked, family, first)

    def _add_levels(self, both: DiscreteTable, asked: Positions, family: FamilyCounts, first: int) -> int:
        """Fill in the levels of a family from the place ``first`` on; return the place after them."""
        order = ordered_parents(family, self._class_name)
        for depth in range(len(order) + 1):
            parents = list(order[:depth])
            self._joint[:, first + depth] = self._weights_of(both, [family.name, *parents], asked)
            self._given[:, first + depth] = self._weights_of(both, parents, asked)
        return first + len(order) + 1

    def _weights_of(self, both: DiscreteTable, names: Sequence[object], asked: Positions) -> Floats:
        """Return the weights of joint states, (rows, classes), the class being each in turn."""
        others = [name for name in names if name != self._class_name]
        group = both.groups(others) if others else np.zeros(len(both.codes), dtype=np.int64)
        if len(others) == len(names):
            weights = np.bincount(group, both.weights)[group[asked]]
            return np.broadcast_to(weights[:, None], (len(asked), self._arity))
        codes = both.column(self._class_name).astype(np.int64)
        size = (int(group.max()) + 1) * self._arity
        weights = np.bincount(group * self._arity + codes, both.weights, size).reshape(-1, self._arity)
        return np.asarray(weights[group[asked]], dtype=np.float64)

    def log_likelihood(self, strengths: Floats) -> tuple[float, Floats]:
        """Return Σ_t w_t ln P(c_t | x_t), and its derivatives by ln m, given m of every level; total in nats."""
        gradient = np.zeros(len(self.levels))
        value = value_and_gradient(
            self._joint, self._given, self._ends, self._uniform, strengths, self._classes, self._weights, gradient
        )
        return float(value), gradient


def best_strengths(folds: Sequence[HeldOutHierarchy], structure: Structure, repetitions: int = 1) -> Strengths:
    """Return the strengths with the highest conditional log likelihood of held-out rows, minus a penalty.

    The penalty is that of a hierarchical prior: ``ln m`` of a variable at depth d is normal around a mean μ_d of its
    own, with standard deviation `SPREAD_OF_VARIABLES`, and μ_d is normal around ln `CENTRE` with `SPREAD`.

    Parameters
    ----------
    folds : sequence of HeldOutHierarchy
        The rows of every fold, with the structure that was learned without them.
    structure : Structure
        The one whose tables are to be estimated; strengths of levels that no fold has are those of the mean.
    repetitions : int
        How often every row is held out; the log likelihood is divided by it.

    Returns
    -------
    dict
        m_0, m_1, ... of every variable.
    """
    own = [(name, depth) for name, parents in structure.parents.items() for depth in range(len(parents) + 1)]
    levels = list(dict.fromkeys([*own, *(level for fold in folds for level in fold.levels)]))
    place = {level: k for k, level in enumerate(levels)}
    depths = np.array([depth for _, depth in levels])
    n_depths = int(depths.max()) + 1
    of_fold = [np.array([place[level] for level in fold.levels], dtype=np.int64) for fold in folds]

    def log_strengths(unknowns: Floats) -> Floats:
        return np.asarray(unknowns[depths] + unknowns[n_depths:])

    def loss(unknowns: Floats) -> tuple[float, npt.NDArray[np.float64]]:
        strengths = np.exp(log_strengths(unknowns))
        offset = unknowns - centre
        value, gradient = -float(scale @ offset**2) / 2, -scale * offset
        for fold, positions in zip(folds, of_fold, strict=True):
            of_rows, by_level = fold.log_likelihood(strengths[positions])
            value += of_rows / repetitions
            np.add.at(gradient, depths[positions], by_level / repetitions)
            np.add.at(gradient, n_depths + positions, by_level / repetitions)
        return -value, -gradient

    means, differences = np.ones(n_depths), np.ones(len(levels))
    centre = np.concatenate([log(CENTRE) * means, 0.0 * differences])
    scale = np.concatenate([means / SPREAD**2, differences / SPREAD_OF_VARIABLES**2])
    bounds = [(log(LEAST), log(MOST))] * n_depths + [(-MOST_DIFFERENCE, MOST_DIFFERENCE)] * len(levels)
    with one_blas_thread():
        found = minimize(loss, centre, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": MOST_STEPS})
    chosen = np.exp(log_strengths(found.x))
    return {
        name: tuple(float(chosen[place[name, depth]]) for depth in range(len(parents) + 1))
        for name, parents in structure.parents.items()
    }
