"""All structures whose score is within a Bayes factor of the optimum."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations, count
from math import inf, isfinite, log
from numbers import Real

import numpy as np
import pandas as pd

from anbexact._kernels.network_sums import sum_contexts, sum_orders
from anbexact._runtime.arrays import Floats
from anbexact._runtime.cached import cached_property
from anbexact._runtime.displayed import Displayed
from anbexact._runtime.progress import Progress
from anbexact._runtime.units import counted
from anbexact.models.structure import Certificate, Structure
from anbexact.scores import Score
from anbexact.search.constraints import Edge
from anbexact.search.exact.by_family import mask_at
from anbexact.search.posterior.families import FamilyWeights, Work, all_family_weights
from anbexact.search.posterior.setting import Limits, chosen_networks
from anbexact.tables.table import DiscreteTable

SCORE_TOLERANCE = 1e-12
"""Share of the score by which a structure may fall below the threshold: more than sums in another order lose."""
Parents = tuple[int, ...]
"""The set of parents of every variable, as a mask."""


@dataclass(frozen=True, eq=False)
class NearOptimal(Displayed):
    """The structures whose score is within a Bayes factor of the optimum.

    Attributes
    ----------
    bayes_factor : float
        The factor.
    augmented : bool
        Whether the class is a parent of every feature in all of them.
    structures : tuple of Structure
        One structure of each Markov equivalence class, the highest score first; every single structure if equivalent
        structures have different scores.
    members : tuple of int
        The number of structures of each equivalence class that were found.
    complete : bool
        Whether these are all of them: the search did not stop at ``most`` structures.
    """

    bayes_factor: float
    augmented: bool
    structures: tuple[Structure, ...]
    members: tuple[int, ...]
    complete: bool

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The structures, and how they differ from the first.

        Returns
        -------
        DataFrame
            Columns ``score`` (total in nats), ``bayes_factor`` (of the first structure against this one),
            ``members``, ``added`` and ``removed``: tuples of the pairs of variables that are joined in this structure
            but not in the first one, and vice versa. Arcs from a class that is a parent of every feature are left
            out.
        """
        first, joined = self.structures[0], self._joined
        rows = [
            (
                own.score,
                float(np.exp(first.score - own.score)),
                members,
                tuple(sorted(pairs - joined[0], key=str)),
                tuple(sorted(joined[0] - pairs, key=str)),
            )
            for own, members, pairs in zip(self.structures, self.members, joined, strict=True)
        ]
        return pd.DataFrame(rows, columns=["score", "bayes_factor", "members", "added", "removed"])

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """The pairs of variables that are joined in at least one of the structures.

        Returns
        -------
        DataFrame
            Columns ``first``, ``second``, and ``share``, the proportion of ``structures`` in which an arc joins them;
            it is 1 for pairs on which all near-optimal structures agree.
        """
        found = self._joined
        every = sorted(set().union(*found), key=str)
        rows = [(*pair, sum(pair in own for own in found) / len(found)) for pair in every]
        frame = pd.DataFrame(rows, columns=["first", "second", "share"]).astype({"share": float})
        return frame.sort_values("share", ascending=False, kind="stable", ignore_index=True)

    @cached_property
    def _joined(self) -> list[set[tuple[Hashable, Hashable]]]:
        return [_pairs(own, augmented=self.augmented) for own in self.structures]

    def __str__(self) -> str:
        within = f"within a Bayes factor of {self.bayes_factor:g} of the optimum"
        if self.complete and len(self.structures) == 1:
            return f"no other structure is {within}"
        return f"{'all' if self.complete else 'the best'} {counted(len(self.structures), 'structure')} {within}"


def near_optimal(
    table: DiscreteTable,
    score: Score | None = None,
    *,
    bayes_factor: float = 20.0,
    networks: str | None = None,
    most: int = 10_000,
    max_parents: int | None = None,
    required: Iterable[Edge] = (),
    forbidden: Iterable[Edge] = (),
    memory_limit: float | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> NearOptimal:
    """List all structures whose score is within a Bayes factor of the optimum: score ≥ optimum - ln(bayes_factor).

    The dynamic programme over all sets of variables, forwards and backwards, gives the highest score of a network
    that contains a family. Families that cannot reach the threshold are dropped. The others are combined from the
    last variable to the first. The highest score that can still be reached is known exactly at each step, so
    structures are found in the order of their scores. The search takes O(n² 2ⁿ) steps, then a few for every
    structure.

    Parameters
    ----------
    table : DiscreteTable
        A table with or without a class.
    score : Score, default BDeu()
        Any decomposable score. Differences are ln Bayes factors if it is a ln marginal likelihood, as BDeu is.
    bayes_factor : float, default 20
        At least 1. The usual limits of weak, positive and strong evidence are 3, 20 and 150 (Kass and Raftery, JASA
        90, 1995).
    networks : {"anb", "gbn"}, optional
        Whether the class is a parent of every feature, or an ordinary variable; by default ``"anb"``, or ``"gbn"`` if
        the table has no class.
    most : int, default 10000
        The search stops after this many structures, counting equivalent ones separately. It then returns the best
        ones.
    max_parents, required, forbidden, memory_limit, n_jobs, progress
        As in :func:`~anbexact.structure_posterior`.

    Returns
    -------
    NearOptimal

    Raises
    ------
    TypeError
        For a score that the kind of network cannot use.
    ValueError
        For an invalid parameter or constraint.
    SearchTooLargeError
        If there are too many features; the message says how many are possible.

    References
    ----------
    Liao, Sharma, Cussens and van Beek, *Finding all Bayesian network structures within a factor of optimal*, AAAI
    2019.

    Examples
    --------
    >>> from anbexact import DiscreteTable, near_optimal
    >>> from anbexact.datasets import load_monks
    >>> found = near_optimal(DiscreteTable.from_frame(*load_monks(1)))
    >>> print(found)
    all 2 structures within a Bayes factor of 20 of the optimum
    >>> found.frame[["bayes_factor", "removed"]].round(3)
       bayes_factor                        removed
    0           1.0                             ()
    1           1.0  ((head_shape, jacket_color),)
    """
    networks = chosen_networks(networks, ("anb", "gbn"), table)
    _check_factor(bayes_factor)
    if isinstance(most, bool) or not hasattr(most, "__index__") or most < 1:
        raise ValueError(f"most must be a whole number of at least 1, not {most!r}")
    limits = Limits(max_parents, required, forbidden, memory_limit, n_jobs, progress)
    augmented = networks == "anb"
    setting = limits.setting(table, score, f"near_optimal(networks={networks!r})", augmented=augmented)
    constraints, maker = setting.constraints(), setting.maker
    features = setting.table.vocabulary.features
    found: list[tuple[float, Parents]] = [(0.0, ())]
    names, complete = features, True
    if features:
        families = all_family_weights(
            setting.table, setting.score, constraints, np.zeros(len(features)), setting.work, highest=True
        )
        names = families.names
        found, complete = _Search(families, log(bayes_factor), setting.work).run(int(most))
    classes = _classes(found, apart=not setting.score.score_equivalent)
    certificate = Certificate.unknown(f"within a Bayes factor of {bayes_factor:g} of the optimum")
    log_class = setting.log_class(table)
    structures = [
        maker.make(_by_name(parents, names), log_class + total, certificate) for total, parents, _ in classes
    ]
    sizes = tuple(size for *_, size in classes)
    return NearOptimal(float(bayes_factor), maker.augmented, tuple(structures), sizes, complete)


def _check_factor(value: object) -> None:
    """Refuse values that are not finite numbers of at least 1."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 1 <= float(value) < inf:
        raise ValueError(f"bayes_factor must be a number of at least 1, not {value!r}")


def _by_name(parents: Parents, names: tuple[Hashable, ...]) -> dict[Hashable, set[Hashable]]:
    """Return the sets of parents by name."""
    return {
        child: {name for b, name in enumerate(names) if mask >> b & 1}
        for child, mask in zip(names, parents, strict=True)
    }


class _Search:
    """Best-first search for networks, from the last variable of an order to the first.

    Every network is found once, in the order in which the sink with the highest number is removed first. Therefore, a
    remaining variable with a higher number must be a parent of a variable that is removed now or later.
    """

    def __init__(self, families: FamilyWeights, slack: float, work: Work) -> None:
        self.n = families.n
        self.best: Floats = np.empty(1 << self.n)
        backward: Floats = np.empty(1 << self.n)
        sum_orders(families.sums, self.best, backward, True)
        self.optimum = float(self.best[-1])
        self.threshold = self.optimum - slack - SCORE_TOLERANCE * max(1.0, abs(self.optimum))
        self.candidates: list[list[tuple[int, float]]] = [[] for _ in range(self.n)]
        work.run("families", [partial(self._keep, families, i, backward) for i in range(self.n)])

    def _keep(self, families: FamilyWeights, i: int, backward: Floats) -> None:
        """Keep the sets of parents of i that are in a network that reaches the threshold, best first."""
        weights = families.weights[i]
        highest = np.empty(len(weights))
        sum_contexts(self.best, backward, i, highest, True)
        places = np.flatnonzero(weights + highest >= self.threshold)
        ordered = places[np.argsort(-weights[places], kind="stable")]
        self.candidates[i] = [(mask_at(p, i), float(weights[p])) for p in ordered.tolist()]

    def run(self, most: int) -> tuple[list[tuple[float, Parents]], bool]:
        """Return the networks with their scores, the highest first, and whether these are all."""
        if not isfinite(self.optimum):
            raise ValueError("no structure satisfies the constraints")
        number = count()
        full = (1 << self.n) - 1
        # (minus the bound, number of the entry, remaining variables, those that must become parents, score, parents)
        queue = [(-self.optimum, next(number), full, 0, 0.0, (0,) * self.n)]
        found: list[tuple[float, Parents]] = []
        while queue:
            _, _, left, pending, total, parents = heapq.heappop(queue)
            if not left:
                if len(found) == most:
                    return found, False
                found.append((total, parents))
                continue
            for bound, rest, waiting, reached, chosen in self._steps(left, pending, total, parents):
                heapq.heappush(queue, (-bound, next(number), rest, waiting, reached, chosen))
        return found, True

    def _steps(
        self, left: int, pending: int, total: float, parents: Parents
    ) -> Iterator[tuple[float, int, int, float, Parents]]:
        """Yield the successors in which one of the remaining variables is removed as a sink."""
        for i in range(self.n):
            if not left >> i & 1 or pending >> i & 1:
                continue
            rest = left ^ (1 << i)
            higher = rest & ~((2 << i) - 1)
            below = float(self.best[rest])
            for mask, weight in self.candidates[i]:
                bound = total + weight + below
                if bound < self.threshold:
                    break
                if mask & ~rest:
                    continue
                waiting = (pending | higher) & ~mask
                chosen = (*parents[:i], mask, *parents[i + 1 :])
                yield bound, rest, waiting, total + weight, chosen


def _classes(found: list[tuple[float, Parents]], *, apart: bool) -> list[tuple[float, Parents, int]]:
    """Return the first network of each equivalence class, or every network, and the sizes of the classes."""
    if apart:
        return [(total, parents, 1) for total, parents in found]
    first: dict[object, tuple[float, Parents]] = {}
    sizes: dict[object, int] = {}
    for total, parents in found:
        key = _equivalence_class(parents)
        first.setdefault(key, (total, parents))
        sizes[key] = sizes.get(key, 0) + 1
    return [(*first[key], sizes[key]) for key in first]


def _equivalence_class(parents: Parents) -> tuple[frozenset[tuple[int, int]], frozenset[tuple[int, int, int]]]:
    """Return the invariants of Markov equivalent networks (Verma and Pearl, 1990): adjacent pairs, and colliders."""
    n = len(parents)
    sets = [[p for p in range(n) if mask >> p & 1] for mask in parents]
    joined = frozenset((min(p, v), max(p, v)) for v in range(n) for p in sets[v])
    colliders = frozenset((a, v, b) for v in range(n) for a, b in combinations(sets[v], 2) if (a, b) not in joined)
    return joined, colliders


def _pairs(structure: Structure, *, augmented: bool) -> set[tuple[Hashable, Hashable]]:
    """Return the pairs of variables that an arc joins, without the class where it is a parent of every feature."""
    place = {name: k for k, name in enumerate(structure.parents)}
    edges = structure.feature_edges if augmented else structure.edges
    return {(a, b) if place[a] < place[b] else (b, a) for a, b in edges}
