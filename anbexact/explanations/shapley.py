"""Shapley values of log odds: over a background, by the network itself, and over all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import factorial, prod

import numpy as np
import pandas as pd
from scipy.special import logsumexp, xlogy

from anbexact._kernels.posterior import Families
from anbexact._kernels.shapley import add_shapley_values
from anbexact._runtime.arrays import Floats, Integers
from anbexact._runtime.memory import available_memory
from anbexact._runtime.tasks import run_on_rows
from anbexact._runtime.units import human_bytes
from anbexact.explanations.background import distributions
from anbexact.models.family_sum import FamilySum
from anbexact.models.network.network import TableNetwork
from anbexact.tables.vocabulary import MISSING, CodeArray

CHUNK = 20_000
"""Number of rows per task."""
MOST_FEATURES = 12
"""Maximum number of observed features of a component; all of its subsets are enumerated, at most 4,096."""
MOST_CELLS = 4_000_000
"""Number of codes that are evaluated at a time."""


def _subsets(axes: Sequence[int]) -> list[tuple[int, ...]]:
    """Return all subsets, small ones first."""
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

    ``φ_j = Σ_T |T|! (m - |T| - 1)! / m! (v_{T ∪ j} - v_T)``, where T runs over the sets of the other features, and v
    is defined in :func:`expectations`.

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
            If the tables would not fit into memory.
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
            Codes of states. Features with negative codes take no part; this requires tables that were made with
            ``absent``.
        first, second : (rows,) int
            Codes of the two classes; the number of classes, as a code, means the mean over all classes.
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


def components(network: TableNetwork) -> list[list[int]]:
    """Return the sets of features that are independent of each other given the class, as ascending positions.

    Two features are in the same set if a path of families that both share a feature leads from one to the other.
    """
    features = network.vocabulary.features
    root = {name: name for name in features}

    def find(name: object) -> object:
        while root[name] != name:
            name = root[name]
        return name

    for table in network.tables.values():
        members = [name for name in table.variables if name in root]
        for other in members[1:]:
            root[find(other)] = find(members[0])
    found: dict[object, list[int]] = {}
    for j, name in enumerate(features):
        found.setdefault(find(name), []).append(j)
    return list(found.values())


def _all_subsets(network: TableNetwork, codes: CodeArray, players: list[int]) -> Floats:
    """Return ln P(c, x_T) for all subsets T of some features; shape (subsets, rows, classes), T a binary number."""
    m, n_rows = len(players), codes.shape[1]
    known = (np.arange(2**m)[:, None] >> np.arange(m)) & 1
    hidden = np.full((codes.shape[0], 2**m, n_rows), MISSING, dtype=np.int16)
    for k, j in enumerate(players):
        hidden[j] = np.where(known[:, k, None] > 0, codes[j], MISSING)
    logs = network.log_joint(hidden.reshape(codes.shape[0], -1), n_jobs=1)
    return logs.reshape(2**m, n_rows, -1)


def _component_values(network: TableNetwork, codes: CodeArray, players: list[int]) -> Floats:
    """Return the Shapley values of ln P(c, x_T), shape (rows, players, classes)."""
    m = len(players)
    step = max(1, MOST_CELLS // (2**m * codes.shape[0]))
    values = np.zeros((codes.shape[1], m, network.vocabulary.arity(network.vocabulary.class_name)))
    subsets = np.arange(2**m)
    sizes = np.array([subset.bit_count() for subset in range(2**m)])
    weights = np.array([factorial(size) * factorial(m - size - 1) / factorial(m) for size in range(m)])
    for start in range(0, codes.shape[1], step):
        logs = _all_subsets(network, np.ascontiguousarray(codes[:, start : start + step]), players)
        for k in range(m):
            without = subsets[(subsets >> k) & 1 == 0]
            gained = logs[without | (1 << k)] - logs[without]
            values[start : start + step, k] = np.tensordot(weights[sizes[without]], gained, axes=1)
    return values


def conditional_values(source: FamilySum, codes: CodeArray, first: Integers, second: Integers) -> Floats:
    """Return the Shapley values of ``v(S) = ln P(first | x_S) / P(second | x_S)``, shape (rows, features).

    Features that are not in S are summed out under the network; missing cells are never in S. As features of
    different components are independent given the class, v is a sum over components, and only the subsets of each are
    enumerated.

    Raises
    ------
    ValueError
        If a component has too many observed features.
    """
    network = source.network
    values = np.zeros((codes.shape[1], codes.shape[0]))
    for component in components(network):
        own = codes[component]
        patterns, group = np.unique(own >= 0, axis=1, return_inverse=True)
        for g in range(patterns.shape[1]):
            players = [j for j, observed in zip(component, patterns[:, g], strict=True) if observed]
            if len(players) > MOST_FEATURES:
                raise ValueError(
                    "conditional=True enumerates all subsets of features that depend on each other given the class. "
                    f"It can do so for {MOST_FEATURES} features, but a row has {len(players)} that are observed, "
                    f"with 2**{len(players)} subsets: use conditional=False, which enumerates single families only"
                )
            if not players:
                continue
            rows = np.flatnonzero(group.reshape(-1) == g)
            distinct, inverse = np.unique(codes[:, rows][players], axis=1, return_inverse=True)
            full = np.full((codes.shape[0], distinct.shape[1]), MISSING, dtype=np.int16)
            full[players] = distinct
            of_rows = _component_values(network, full, players)[inverse.reshape(-1)]
            place = np.arange(len(rows))
            values[rows[:, None], players] = of_rows[place, :, first[rows]] - of_rows[place, :, second[rows]]
    return values


def centred_values(
    source: FamilySum, codes: CodeArray, background: str | CodeArray | None = None, n_jobs: int | None = None
) -> Floats:
    """Return the Shapley values of ``ln P(c | x) - mean over all classes``; shape (rows, features, classes), nats."""
    absent = bool(codes.min(initial=0) < 0)
    tables = ShapleyTables.made(source, distributions(source, background), absent)
    n_rows, s = codes.shape[1], source.n_classes
    mean = np.full(n_rows, s)
    return np.stack([tables.values(codes, np.full(n_rows, c), mean, n_jobs) for c in range(s)], axis=-1)


def informations(source: FamilySum) -> tuple[Floats, float]:
    """Return the mutual information of every feature with the class under the network, and the class's entropy; nats.

    ``I(X_j; C) = Σ P(x_j, c) ln P(x_j, c) / (P(x_j) P(c))``.
    """
    n_features = len(source.arities)
    codes = np.full((n_features, int(source.arities.sum()) + 1), MISSING, dtype=np.int16)
    bounds = np.cumsum([0, *source.arities])
    for j in range(n_features):
        codes[j, bounds[j] : bounds[j + 1]] = np.arange(source.arities[j])
    logs = source.network.log_joint(codes)
    joint, prior = np.exp(logs[:-1]), np.exp(logs[-1] - logsumexp(logs[-1]))
    of_states = joint.sum(axis=1, keepdims=True)
    terms = (xlogy(joint, joint) - xlogy(joint, of_states * prior)).sum(axis=1)
    found = np.array([terms[bounds[j] : bounds[j + 1]].sum() for j in range(n_features)])
    return found, float(-xlogy(prior, prior).sum())


def explain_globally(
    source: FamilySum, codes: CodeArray | None, background: str | CodeArray | None, n_jobs: int | None
) -> pd.DataFrame:
    """Return one row per feature; see :meth:`anbexact.classifiers.explaining.Explaining.explain_global`."""
    information, entropy = informations(source)
    frame = pd.DataFrame({"feature": pd.Series(list(source.vocabulary.features), dtype=object)})
    if codes is not None:
        values = np.abs(centred_values(source, codes, background, n_jobs))
        frame["mean_abs_nats"] = values.mean(axis=(0, 2))
    frame["information"] = information
    frame["share"] = information / entropy if entropy > 0 else np.nan
    first = "information" if codes is None else "mean_abs_nats"
    return frame.sort_values(first, ascending=False, kind="stable", ignore_index=True)
