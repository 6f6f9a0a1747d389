"""Interventional Shapley values of the features, family by family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import factorial, prod

import numpy as np

from anbexact._kernels.posterior import Families
from anbexact._kernels.shapley import add_shapley_values
from anbexact._runtime.arrays import Floats, Integers
from anbexact._runtime.memory import available_memory
from anbexact._runtime.tasks import run_on_rows
from anbexact._runtime.units import human_bytes
from anbexact.models.family_sum import FamilySum
from anbexact.tables.vocabulary import CodeArray

CHUNK = 20_000
"""Rows that a task works off."""


def _subsets(axes: Sequence[int]) -> list[tuple[int, ...]]:
    return [chosen for size in range(len(axes) + 1) for chosen in combinations(axes, size)]


def expectations(logs: Floats, shares: Floats) -> dict[tuple[int, ...], Floats]:
    """Return ``v_T(x_T, c) = Σ q(z_rest) f(x_T, z_rest, c)`` for all sets T of axes of f but the last.

    q are the marginals of ``shares``; the axes that are not in T have length 1.
    """
    axes = range(shares.ndim)
    found = {}
    for known in _subsets(axes):
        rest = tuple(axis for axis in axes if axis not in known)
        weights = shares.sum(axis=known, keepdims=True)[..., None]
        found[known] = (logs * weights).sum(axis=rest, keepdims=True)
    return found


def family_values(logs: Floats, shares: Floats, absent: bool) -> Floats:
    """Return the Shapley values of a family's features at all their joint states.

    ``φ_j = Σ_T |T|! (m - |T| - 1)! / m! (v_{T ∪ j} - v_T)``, T running over the sets of the other features and v
    being those of :func:`expectations`.

    Parameters
    ----------
    logs : (*states, classes) float64
        The function f of the m features and the class.
    shares : (*states) float64
        Their joint distribution q.
    absent : bool
        Whether every feature has one more state, in which it takes no part in the game and has the value 0.

    Returns
    -------
    (*states, m, classes) float64
        Nats.
    """
    m = shares.ndim
    v = expectations(logs, shares)
    values = np.zeros((*(size + absent for size in shares.shape), m, logs.shape[-1]))
    for missing in _subsets(range(m)) if absent else [()]:
        players = [axis for axis in range(m) if axis not in missing]
        place = tuple(
            slice(size, size + 1) if axis in missing else slice(0, size) for axis, size in enumerate(shares.shape)
        )
        for j in players:
            total = values[(*place, j)]
            for others in _subsets([axis for axis in players if axis != j]):
                weight = factorial(len(others)) * factorial(len(players) - len(others) - 1) / factorial(len(players))
                total += weight * (v[tuple(sorted((*others, j)))] - v[others])
    return values


@dataclass(frozen=True, eq=False)
class ShapleyTables:
    """The Shapley values of all families at all their joint states, ready to be added up for rows.

    Attributes
    ----------
    base : (classes + 1,) float64
        ``Σ_F v_∅(c)`` of every class, in nats; last, the mean over the classes.
    """

    source: FamilySum
    base: Floats
    _families: Families

    @classmethod
    def made(cls, source: FamilySum, shares: Sequence[Floats], absent: bool) -> ShapleyTables:
        """Return the tables of a class posterior given the joint distributions of its families.

        Raises
        ------
        ValueError
            If they would not fit into memory.
        """
        needed = sum(
            8 * (source.n_classes + 1) * q.ndim * prod(size + absent for size in q.shape) for q in shares if q.ndim
        )
        if 3 * needed > available_memory():
            raise ValueError(
                f"the Shapley values of all joint states of the families would take {human_bytes(3 * needed)}: learn "
                "a network with fewer parents, or group states"
            )
        base = np.zeros(source.n_classes + 1)
        values: list[Floats] = []
        variables: list[int] = []
        strides: list[int] = []
        firsts = [0]
        for places, potential, q in zip(source.places, source.potentials, shares, strict=True):
            mean = potential.logs.mean(axis=-1, keepdims=True)
            logs = np.concatenate([potential.logs, mean], axis=-1)
            base += (logs * q[..., None]).reshape(-1, logs.shape[-1]).sum(axis=0)
            if not q.ndim:
                continue
            of_family = family_values(logs, q, absent)
            values.append(of_family.reshape(-1))
            variables += places
            strides += [prod(of_family.shape[k + 1 :]) for k in range(q.ndim)]
            firsts.append(len(variables))
        offsets = np.cumsum([0, *map(len, values)]).astype(np.int64)
        families = Families(
            np.zeros(0, dtype=np.int64),
            np.array(firsts, dtype=np.int64),
            np.array(variables, dtype=np.int64),
            np.array(strides, dtype=np.int64),
            offsets,
            np.concatenate(values) if values else np.zeros(0),
        )
        return cls(source, base, families)

    def values(self, codes: CodeArray, first: Integers, second: Integers, n_jobs: int | None = None) -> Floats:
        """Return the Shapley values of rows, of the log odds of one class against another; in nats per row.

        Parameters
        ----------
        codes : (features, rows) int16
            Codes; a negative one, of a feature that takes no part, is allowed in tables that were made so.
        first, second : (rows,) int
            Codes of the classes; the number of classes stands for the mean of all of them.
        n_jobs : int, optional
            Number of threads.

        Returns
        -------
        (rows, features) float64
        """
        n_features, n_rows = codes.shape
        out = np.zeros((n_rows, n_features))
        compared = np.stack([first, second]).astype(np.int64)
        arguments = codes, self._families, self.source.arities, compared

        def work(start: int, stop: int) -> None:
            add_shapley_values(*arguments, start, stop, out)

        run_on_rows(work, n_rows, CHUNK, n_jobs)
        return out
