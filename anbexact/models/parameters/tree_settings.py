"""The settings of trees of tables, chosen by predicting rows that are held out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from anbexact._kernels.table_trees import leaves_of, trees_log_likelihood
from anbexact.models.parameters.counts import count_families
from anbexact.models.parameters.trees import GrowingTrees, TableTree, TreeSettings, columns_of, with_every_class
from anbexact.models.structure import Structure
from anbexact.tables.table import DiscreteTable

GRID: dict[str, tuple[float, ...]] = {
    "strength": (0.25, 1.0, 4.0, 16.0, 64.0, 256.0),
    "exponent": (0.0, 0.5, 1.0, 1.5, 2.0),
    "class_strength": (0.25, 1.0, 4.0, 16.0, 64.0, 256.0),
    "prior": (0.0, 0.25, 0.5, 1.0),
}
"""The values that are tried of each setting, in the order in which settings are changed."""
MOST_ROUNDS = 3
"""Maximum number of times that all settings are changed in turn; two are usually enough."""
MOST_CELLS = 2_000_000
"""Maximum number of held-out rows times classes times families, over all folds of a split; of more rows, evenly
spaced ones are predicted."""
_Kind = tuple[bool, float]
"""Whether there is a tree for every class, and the prior of trees."""


class HeldOutTrees:
    """Held-out rows, to be predicted by the trees of a structure from other rows.

    Families without the class cancel out of the posterior and are left out.

    Parameters
    ----------
    learned, held_out : DiscreteTable
        Rows to count, and rows to predict, of one vocabulary.
    structure : Structure
        Over the variables of the tables.
    most_cells : int
        See `MOST_CELLS`.
    """

    def __init__(
        self, learned: DiscreteTable, held_out: DiscreteTable, structure: Structure, most_cells: int = MOST_CELLS
    ) -> None:
        class_name = structure.class_name
        arity = learned.vocabulary.arity(class_name)
        families = [of for of in count_families(learned, structure).values() if class_name in of.variables]
        n_rows = len(held_out.codes)
        predicted = max(1, min(n_rows, most_cells // (arity * max(1, len(families)))))
        rows = np.unique(np.linspace(0, n_rows - 1, predicted).astype(np.int64))
        self._weights = held_out.weights[rows]
        self._class_codes = held_out.column(class_name)[rows].astype(np.int64)
        place = {name: k for k, name in enumerate(held_out.vocabulary.names)}
        codes = with_every_class(held_out.codes[rows], place[class_name], arity)
        columns = columns_of([family.variables for family in families], place)
        shape = len(rows), arity, len(families)
        self._states = codes.take(columns[:, 0], axis=1).astype(np.int16).reshape(shape)
        trees: dict[_Kind, list[TableTree]] = {kind: [] for kind in product((True, False), GRID["prior"])}
        for family in families:
            growing = GrowingTrees(family, class_name, GRID["prior"])
            for kind in trees:
                trees[kind].append(growing.tree(*kind))
        self._trees = {}
        for kind, of_kind in trees.items():
            nodes, starts, *others = _together(of_kind)
            leaves = leaves_of(codes, columns, nodes, starts).reshape(shape)
            self._trees[kind] = (nodes, starts, *others, leaves)

    def log_likelihood(self, settings: TreeSettings) -> float:
        """Return Σ_t w_t ln P(c_t | x_t), total in nats; ``settings.prior`` is one of `GRID`."""
        *trees, leaves = self._trees[settings.class_first, settings.prior]
        numbers = np.array([settings.class_strength, settings.strength, settings.exponent])
        rows = leaves, self._states, self._class_codes, self._weights
        return float(trees_log_likelihood(*trees, numbers, *rows))


def _together(trees: Sequence[TableTree]) -> tuple[npt.NDArray[Any], ...]:
    """Return trees as the first arguments of :func:`trees_log_likelihood`."""
    starts = np.cumsum([0, *(len(tree.nodes) for tree in trees)])
    arities = np.zeros((len(trees), max(len(tree.arities) for tree in trees)), dtype=np.int64)
    for tree, own in zip(trees, arities, strict=True):
        own[: len(tree.arities)] = tree.arities
    of_class = np.array([tree.of_class for tree in trees])
    counts = np.concatenate([tree.counts.ravel() for tree in trees])
    count_starts = np.cumsum([0, *(tree.counts.size for tree in trees)])
    return np.concatenate([tree.nodes for tree in trees]), starts, arities, of_class, counts, count_starts


def best_settings(folds: Sequence[HeldOutTrees]) -> TreeSettings:
    """Return settings with a high conditional log likelihood of the held-out rows of all folds.

    Both with a tree for each class and with the class as a parent like the others, the other settings are changed in
    turn, each to the best of the values in `GRID`, until none changes. The better result is returned; of equal ones,
    the first.

    Parameters
    ----------
    folds : sequence of HeldOutTrees
        The rows of every fold, with the structure that was learned without them.
    """
    known: dict[TreeSettings, float] = {}

    def value(settings: TreeSettings) -> float:
        if settings not in known:
            known[settings] = sum(fold.log_likelihood(settings) for fold in folds)
        return known[settings]

    found = []
    for class_first in (True, False):
        settings = TreeSettings(class_first)
        for _ in range(MOST_ROUNDS):
            before = settings
            for name, values in GRID.items():
                tried = [settings, *(_changed(settings, name, one) for one in values)]
                settings = max(tried, key=value)
            if settings == before:
                break
        found.append(settings)
    return max(found, key=value)


def _changed(settings: TreeSettings, name: str, value: float) -> TreeSettings:
    return TreeSettings(**{**settings.to_dict(), name: value})
