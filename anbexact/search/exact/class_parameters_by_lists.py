"""The fewest class parameters beyond the lattice: ranked families, and an integer programme over orders.

With y_ab = 1 where feature a comes before b, and x_ip = 1 where feature i takes its p-th family W_ip, best first, the
I-maps of all orders are the integer points of

    Σ_p x_ip = 1;    Σ_{p: j ∈ W_ip} x_ip ≤ y_ji;    Σ_{p ≤ q} x_ip + Σ_{j ∈ W_iq} y_ij ≥ 1;
    0 ≤ y_ab + y_bc - y_ac ≤ 1.

The third says that a family can be skipped only if one of its members comes later. The programme minimises the class
parameters; a second one maximises the score of the I-maps that have as few.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import gcd, inf

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from anbexact._runtime.arrays import Bools, Floats, Integers
from anbexact._runtime.cached import cached_property
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.progress import Progress
from anbexact.search.exact.class_parameters_by_sets import MOST_PARAMETERS
from anbexact.search.exact.enumerated import enumerated_families, enumerated_lists
from anbexact.search.exact.parent_sets import ListMeans, unpack
from anbexact.search.exact.plan import MOST_ENUMERATED, Plan
from anbexact.search.exact.solution import tie_tolerance

SCORE_SECONDS = 60.0
"""Time limit, in seconds, of the search for the highest score among the I-maps with the fewest class parameters."""
SOLVED, INFEASIBLE = 0, 2
"""Status of an integer programme with a proved optimum, and of one without a solution."""


def takes_lists(plan: Plan) -> bool:
    """Whether all families can be scored, which requires a low limit on parents."""
    return enumerated_families(plan.n, plan.constraints.max_parents) <= MOST_ENUMERATED


@dataclass(frozen=True)
class RankedFamilies:
    """The families of a feature that can be the best after some set of features: the best one first.

    Attributes
    ----------
    members : (families, features) bool
        The parents of each, the class left out.
    has_class : (families,) bool
        Whether the class is a parent.
    scores : (families,) float64
        Local scores, in nats.
    costs : (families,) int64
        Class parameters; 0 without the class.
    """

    members: Bools
    has_class: Bools
    scores: Floats
    costs: Integers

    def first_within(self, before: Bools) -> int:
        """Return the best family after a set of features, (features,); -1 if there is none."""
        possible = np.flatnonzero(~(self.members & ~before).any(axis=1))
        return int(possible[0]) if len(possible) else -1

    def place_of(self, parents: Bools, has_class: bool) -> int:
        """Return the place of a family; -1 if it is the best after no set."""
        same = np.flatnonzero((self.members == parents).all(axis=1) & (self.has_class == has_class))
        return int(same[0]) if len(same) else -1


def _ranked(members: Bools, has_class: Bools, scores: Floats, costs: Integers, tolerance: float) -> RankedFamilies:
    """Rank families by score; among equal scores, those without the class are first, then those of lower cost."""
    order = np.argsort(-scores, kind="stable")
    level = np.zeros(len(order), dtype=np.int64)
    level[order[1:]] = np.cumsum(-np.diff(scores[order]) > tolerance)
    order = np.lexsort((members.sum(axis=1), costs, has_class, level))
    kept: list[int] = []
    for place in order.tolist():
        if not kept or not (~members[kept] | members[place]).all(axis=1).any():
            kept.append(place)
    return RankedFamilies(members[kept], has_class[kept], scores[kept], costs[kept])


@dataclass(frozen=True)
class BestMap:
    """The I-map with the fewest class parameters.

    Attributes
    ----------
    count : int
        Class parameters of the features: those of the class's own distribution are not among them.
    score : float
        Sum of the features' local scores, in nats.
    parents : dict
        Parents of every feature, the class first.
    gap : float
        By how much the score of an I-map with as few class parameters can be higher, in nats; 0 if that is proved.
    """

    count: int
    score: float
    parents: dict[Hashable, tuple[Hashable, ...]]
    gap: float


@dataclass(frozen=True)
class OrderProgramme:
    """The integer programme; see the top of the module.

    Attributes
    ----------
    class_name : Hashable
        The class.
    features : tuple
        The others.
    families : tuple of RankedFamilies
        One for each.
    n_scored : int
        Families that were scored.
    """

    class_name: Hashable
    features: tuple[Hashable, ...]
    families: tuple[RankedFamilies, ...]
    n_scored: int

    @classmethod
    def scored(cls, plan: Plan, class_name: Hashable, progress: Progress | None) -> OrderProgramme | None:
        """Score all families that are admitted; None when time ran out."""
        table, names = plan.table, plan.table.vocabulary.features
        means = ListMeans(plan.threads, plan.deadline, plan.memory, inf, progress)
        found = enumerated_lists(table, plan.score, plan.constraints, means)
        if found.limit:
            return None
        place = names.index(class_name)
        features = tuple(name for name in names if name != class_name)
        states = np.array([table.vocabulary.arity(name) for name in features], dtype=np.float64)
        families = []
        for name, own in zip(names, found.lists, strict=True):
            if name == class_name:
                continue
            members = unpack(own.masks, len(names))
            has_class, members = members[:, place], np.delete(members, place, axis=1)
            joint = np.where(members, states, 1.0).prod(axis=1) * table.vocabulary.arity(class_name)
            costs = np.where(has_class, joint * (table.vocabulary.arity(name) - 1), 0.0)
            costs = np.minimum(costs, MOST_PARAMETERS).astype(np.int64)
            families.append(_ranked(members, has_class, own.scores, costs, tie_tolerance(table)))
        return cls(class_name, features, tuple(families), found.scored)

    def best_map(self, deadline: Deadline, seconds: float = SCORE_SECONDS) -> BestMap | None:
        """Return the I-map with the fewest class parameters, and of those the one of highest score.

        The search for the highest score takes ``seconds`` at most. None is returned when time ran out before it.

        Raises
        ------
        ValueError
            If no order has an I-map within the constraints.
        """
        if not self.features:
            return BestMap(0, 0.0, {}, 0.0)
        costs = np.concatenate([own.costs for own in self.families])
        unit = gcd(*costs.tolist()) or 1
        chosen, bound = self._solved(costs / unit, deadline.left)
        if chosen is None or bound is not None:
            return None
        fewest = int(sum(own.costs[place] for own, place in zip(self.families, chosen, strict=True)))
        regret = np.concatenate([own.scores[0] - own.scores for own in self.families])
        limit = costs / unit, fewest / unit + 0.5
        better, bound = self._solved(regret, min(deadline.left, seconds), at_most=limit)
        chosen = better or chosen
        parents = {}
        for name, own, place in zip(self.features, self.families, chosen, strict=True):
            above = (self.class_name,) if own.has_class[place] else ()
            parents[name] = (*above, *(self.features[v] for v in np.flatnonzero(own.members[place])))
        score = float(sum(own.scores[place] for own, place in zip(self.families, chosen, strict=True)))
        least = sum(float(own.scores[0]) for own in self.families) - score
        return BestMap(fewest, score, parents, 0.0 if bound is None else max(least - bound, 0.0))

    def is_map(self, parents: Mapping[Hashable, tuple[Hashable, ...]]) -> bool:
        """Whether the parents are the I-map of some order; where families are equally good, of the first of them."""
        places = []
        for name, own in zip(self.features, self.families, strict=True):
            members = np.array([other in parents[name] for other in self.features], dtype=np.bool_)
            places.append(own.place_of(members, self.class_name in parents[name]))
        if min(places, default=0) < 0 or not places:
            return not places
        try:
            return self._solved(np.zeros(self._n_families), inf, fixed=places)[0] == places
        except ValueError:  # no order has them
            return False

    @cached_property
    def _firsts(self) -> list[int]:
        """Positions among all families at which those of each feature begin, and the end of the last."""
        return [0, *np.cumsum([len(own.costs) for own in self.families]).tolist()]

    @property
    def _n_families(self) -> int:
        return self._firsts[-1]

    def _before(self, a: int, b: int) -> tuple[int, int, int]:
        """Return a variable v, a factor f and a constant k such that y_ab = f v + k."""
        n, low, high = len(self.features), min(a, b), max(a, b)
        variable = self._n_families + low * n - low * (low + 1) // 2 + high - low - 1
        return (variable, 1, 0) if a < b else (variable, -1, 1)

    @cached_property
    def _constraints(self) -> LinearConstraint:
        n, rows = len(self.features), _Rows()
        for i, own in enumerate(self.families):
            first = self._firsts[i]
            rows.add([(first + p, 1) for p in range(len(own.costs))], 1, 1)
            for j in range(n):
                places = np.flatnonzero(own.members[:, j])
                if len(places):
                    variable, factor, constant = self._before(j, i)
                    rows.add([(first + int(p), 1) for p in places] + [(variable, -factor)], -inf, constant)
            for q, members in enumerate(own.members):
                terms = [(first + p, 1) for p in range(q + 1)]
                least = 1
                for j in np.flatnonzero(members).tolist():
                    variable, factor, constant = self._before(i, j)
                    terms.append((variable, factor))
                    least -= constant
                rows.add(terms, least, inf)
        for a, b, c in combinations(range(n), 3):
            rows.add([(self._before(a, b)[0], 1), (self._before(b, c)[0], 1), (self._before(a, c)[0], -1)], 0, 1)
        return rows.constraint(self._n_families + n * (n - 1) // 2)

    def _solved(
        self,
        objective: Floats,
        seconds: float,
        *,
        at_most: tuple[Floats, float] | None = None,
        fixed: Sequence[int] | None = None,
    ) -> tuple[list[int] | None, float | None]:
        """Return the families of the I-map with the least objective that was found, and a lower bound on it.

        The bound is None where the objective is proved to be the least.

        ``at_most`` limits another sum over the families; ``fixed`` are families that are to be taken.
        """
        n = len(self.features)
        n_pairs = n * (n - 1) // 2
        constraints = [self._constraints]
        if at_most is not None:
            constraints.append(LinearConstraint(np.append(at_most[0], np.zeros(n_pairs))[None], -inf, at_most[1]))
        low = np.zeros(self._n_families + n_pairs)
        if fixed is not None:
            low[[first + place for first, place in zip(self._firsts[:-1], fixed, strict=True)]] = 1.0
        options = {"mip_rel_gap": 0.0, "time_limit": max(seconds, 0.0)}
        found = milp(
            np.append(objective, np.zeros(n_pairs)),
            integrality=np.ones(len(low), dtype=np.int64),
            bounds=Bounds(low, 1.0),
            constraints=constraints,
            options=options,  # type: ignore[arg-type]  # its stubs want a dictionary of a type of their own
        )
        if found.status == INFEASIBLE:
            raise ValueError(
                "no structure satisfies the constraints: see required_edges, forbidden_edges and max_parents"
            )
        bound = found.mip_dual_bound
        if found.status == SOLVED:
            bound = None
        elif bound is None or not np.isfinite(bound):
            bound = 0.0  # no objective is negative
        return None if found.x is None else self._map_of(found.x), bound

    def _map_of(self, solution: Floats) -> list[int]:
        """Return the families of the I-map of a solution's order, computed from the order alone."""
        n = len(self.features)
        before = np.zeros((n, n), dtype=np.bool_)
        for a, b in combinations(range(n), 2):
            first = solution[self._before(a, b)[0]] > 0.5
            before[a, b], before[b, a] = first, not first
        return [own.first_within(before[:, i]) for i, own in enumerate(self.families)]


class _Rows:
    """Rows of constraints, collected one by one."""

    def __init__(self) -> None:
        self._places: list[tuple[int, int, int]] = []
        self._low: list[float] = []
        self._high: list[float] = []

    def add(self, terms: Sequence[tuple[int, int]], low: float, high: float) -> None:
        """Add low ≤ Σ factor · variable ≤ high."""
        row = len(self._low)
        self._places += [(row, variable, factor) for variable, factor in terms]
        self._low.append(low)
        self._high.append(high)

    def constraint(self, n_variables: int) -> LinearConstraint:
        """Return all rows as one constraint."""
        rows, columns, factors = np.array(self._places, dtype=np.int64).reshape(-1, 3).T
        shape = len(self._low), n_variables
        return LinearConstraint(
            coo_array((factors.astype(float), (rows, columns)), shape).tocsr(), self._low, self._high
        )
