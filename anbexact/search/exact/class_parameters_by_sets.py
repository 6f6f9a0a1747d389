"""The fewest class parameters by a dynamic programme over all sets of features."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from anbexact._kernels.class_parameters import best_below, best_orders
from anbexact._runtime.arrays import Floats
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import run_tasks
from anbexact.scores.capabilities import has_set_scores
from anbexact.search.constraints import Constraints
from anbexact.search.exact.by_family import family_scores
from anbexact.search.exact.lattice import at_all_levels, set_scorer
from anbexact.search.exact.plan import Plan
from anbexact.search.exact.solution import first_optimum, tie_tolerance
from anbexact.search.scoring.set_scores import prepare

MOST_PARAMETERS = 1 << 55
"""Upper limit of a family's class parameters, at which larger numbers are capped."""
Whole = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Families:
    """The local scores of all families; bit b of a mask stands for ``features[b]``, which the class is not among.

    Attributes
    ----------
    features, n_states : sequence
        The features in an order of their own, and their numbers of states.
    n_classes : int
        Number of classes.
    raw : callable
        ``raw(b)``: local scores of feature b given every set of other features, without and with the class; its own
        bit is taken out of the masks.
    admits : callable
        ``admits(b)``: which of these families the constraints admit, or None for all.
    """

    features: tuple[Hashable, ...]
    n_states: tuple[int, ...]
    n_classes: int
    raw: Callable[[int], tuple[Floats, Floats]]
    admits: Callable[[int], tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]] | None]

    @classmethod
    def scored(cls, plan: Plan, class_name: Hashable, progress: Progress | None) -> Families | None:
        """Score all families; None when time ran out."""
        table, score, constraints = plan.table, plan.score, plan.constraints
        order, values, local = table.vocabulary.features, None, None
        if has_set_scores(score):
            problem = prepare(table, score, constraints.max_parents + 1)
            order = problem.features
            values = set_scorer(problem)(problem, plan.threads, plan.deadline, progress)
            values = at_all_levels(problem, values, table, score, plan.threads, plan.deadline, progress)
        else:
            local = family_scores(table, score, constraints, plan.threads, plan.deadline, progress)
        if values is None and local is None:
            return None
        place = order.index(class_name)
        features = tuple(name for name in order if name != class_name)

        def raw(b: int) -> tuple[Floats, Floats]:
            own = b + (b >= place)  # the class is one of the variables that were scored
            if values is not None:
                halves = values.reshape(-1, 2, 1 << own)
                of_child = (halves[:, 1] - halves[:, 0]).ravel()
            else:
                assert local is not None
                of_child = local[own]
            halves = of_child.reshape(-1, 2, 1 << (place - (own < place)))
            return halves[:, 0].ravel(), halves[:, 1].ravel()

        n_states = tuple(map(table.vocabulary.arity, features))
        admits = partial(_admitted, features, class_name, constraints)
        return cls(features, n_states, table.vocabulary.arity(class_name), raw, admits)

    def of_child(self, b: int) -> tuple[Floats, Floats, Whole]:
        """Return the local scores of a feature, minus infinity for families that are not admitted, and the costs.

        The costs are the class parameters of the families with the class.
        """
        without, within = self.raw(b)
        admitted = self.admits(b)
        if admitted is not None:
            without[~admitted[0]] = -np.inf
            within[~admitted[1]] = -np.inf
        cost = np.array([(self.n_states[b] - 1) * self.n_classes], dtype=np.int64)
        for other, arity in enumerate(self.n_states):
            if other != b:
                cost = np.concatenate([cost, np.minimum(cost, MOST_PARAMETERS // arity) * arity])
        return without, within, cost


def _admitted(
    features: Sequence[Hashable], class_name: Hashable, constraints: Constraints, b: int
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]] | None:
    """Return which families of a feature are admitted, without and with the class; None for all."""
    child = features[b]
    required, forbidden, most = constraints.required[child], constraints.forbidden[child], constraints.max_parents
    if not required and not forbidden and most >= len(features):
        return None
    others = [name for name in features if name != child]
    masks = np.arange(1 << len(others))
    must = sum(1 << k for k, name in enumerate(others) if name in required)
    must_not = sum(1 << k for k, name in enumerate(others) if name in forbidden)
    admitted = (masks & must == must) & (masks & must_not == 0)
    sizes = np.bitwise_count(masks)
    nowhere = np.zeros_like(admitted)
    without = nowhere if class_name in required else admitted & (sizes <= most)
    within = nowhere if class_name in forbidden else admitted & (sizes < most)
    return without, within


@dataclass(frozen=True)
class BestOrders:
    """The best family of every feature after every set, and the best order of every set.

    Attributes
    ----------
    family_score, family_cost : (n, 2**(n - 1)) float64, int64
        See :func:`~anbexact._kernels.class_parameters.best_below`.
    cost, score : (2**n,) int64, float64
        See :func:`~anbexact._kernels.class_parameters.best_orders`.
    """

    family_score: Floats
    family_cost: Whole
    cost: Whole
    score: Floats

    @classmethod
    def of(cls, families: Families, plan: Plan, progress: Progress | None) -> BestOrders | None:
        """Find the best families and orders; None when time ran out."""
        n, tolerance = len(families.features), tie_tolerance(plan.table)
        shape = n, 1 << max(n - 1, 0)
        best = cls(
            np.empty(shape), np.empty(shape, dtype=np.int64), np.empty(1 << n, dtype=np.int64), np.empty(1 << n)
        )

        def below(b: int) -> None:
            without, within, cost = families.of_child(b)
            best_below(without, within, cost, tolerance)
            best.family_score[b], best.family_cost[b] = without, cost

        tasks = (partial(below, b) for b in range(n))
        if not run_tasks(tasks, n, plan.threads, plan.deadline, "best families", progress):
            return None
        orders = partial(best_orders, best.family_score, best.family_cost, best.cost, best.score)
        return best if run_tasks([orders], 1, 1, plan.deadline, "best orders", progress) else None

    def parents(
        self, families: Families, variables: Sequence[Hashable], tolerance: float
    ) -> dict[Hashable, tuple[Hashable, ...]]:
        """Return the parents of every feature in the best structure, ties broken as :func:`learn_mcp` says.

        ``variables`` are the features and the class in table order.
        """
        in_order = [name for name in variables if name in families.features]
        bits = [families.features.index(name) for name in in_order]

        def sinks(left: int) -> Iterator[tuple[int, tuple[int, ...]]]:
            members = sum(1 << b for k, b in enumerate(bits) if left >> k & 1)
            for k, b in enumerate(bits):
                before = members ^ (1 << b)
                if not left >> k & 1 or self.cost[before] < 0:
                    continue
                place = (members >> (b + 1) << b) | (members & ((1 << b) - 1))
                score = self.score[before] + self.family_score[b, place]
                cost = self.cost[before] + self.family_cost[b, place]
                if cost == self.cost[members] and score >= self.score[members] - tolerance:
                    yield k, self._first_set(families, variables, (b, place), tolerance)

        chosen = first_optimum((1 << len(bits)) - 1, sinks)
        return {in_order[k]: tuple(variables[v] for v in parents) for k, parents in chosen.items()}

    def _first_set(
        self, families: Families, variables: Sequence[Hashable], family: tuple[int, int], tolerance: float
    ) -> tuple[int, ...]:
        """Return the first of the equally good parent sets of a feature after a set, as numbers of variables."""
        b, after = family
        without, within, costs = families.of_child(b)
        cost = self.family_cost[b, after]
        reached = (within if cost else without) >= self.family_score[b, after] - tolerance
        masks = np.flatnonzero(reached & (costs == cost) if cost else reached)
        others = [name for name in families.features if name != families.features[b]]
        common = set(variables).difference(families.features) if cost else set()
        sets = [
            sorted(map(variables.index, common.union(name for k, name in enumerate(others) if mask >> k & 1)))
            for mask in masks[masks & ~after == 0].tolist()
        ]
        return min(map(tuple, sets), key=lambda parents: (len(parents), parents))
