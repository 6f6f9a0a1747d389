"""A check of certificates that state the fewest class parameters: the dynamic programme again, in plain arrays."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from math import inf

import numpy as np
import numpy.typing as npt

from anbexact._runtime.arrays import Floats
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.tasks import thread_count
from anbexact.models.proof import FewestClassParameters, Proof
from anbexact.models.structure import Structure
from anbexact.search.constraints import make_constraints
from anbexact.search.exact.class_parameters import class_parameters, fits_lattice
from anbexact.search.exact.class_parameters_by_lists import OrderProgramme
from anbexact.search.exact.class_parameters_by_sets import Families, Whole
from anbexact.search.exact.plan import Plan
from anbexact.search.exact.solution import rounding_error, tie_tolerance
from anbexact.search.scoring.totals import class_of, sum_of_local_scores
from anbexact.search.single_states import single_states, without
from anbexact.tables.table import DiscreteTable


def states_fewest(proof: Proof) -> bool:
    """Whether a proof states the fewest class parameters."""
    return any(isinstance(part.case, FewestClassParameters) for part in proof.components)


def verify_fewest(structure: Structure, proof: Proof, table: DiscreteTable) -> bool:
    """Check that a structure is the I-map of an order, that none has fewer class parameters, and its score.

    The variables of structure and table are the same; see :func:`~anbexact.verify`.
    """
    class_name, certificate = class_of(table), structure.certificate
    features = proof.components[0].features
    apart = single_states(table, proof.score, features)
    if len(proof.components) > 1 or sorted(map(str, (*apart, *features))) != sorted(map(str, structure.features)):
        return False
    if any(structure.parents[name] or structure.children(name) for name in apart) or structure.parents[class_name]:
        return False
    parents = {name: of_name for name, of_name in structure.parents.items() if name not in apart}
    within = without(table, apart).without_class() if apart else table.without_class()
    constraints = make_constraints(within.vocabulary.features, proof.max_parents, proof.required, proof.forbidden)
    total = sum_of_local_scores(within, proof.score, parents)
    slack = rounding_error(within, total)
    case = proof.components[0].case
    count = class_parameters(parents, class_name, within.vocabulary.arity)
    stated = (structure.score, certificate.upper_bound, proof.components[0].bound)
    if (
        not all(constraints.admits(name, of_name) for name, of_name in parents.items())
        or not all(abs(value - total) <= slack for value in stated)
        or not abs(certificate.gap) <= slack
        or not proof.gap >= -slack
        or not isinstance(case, FewestClassParameters)
        or case.count != count
    ):
        return False
    barred = {**constraints.forbidden, class_name: frozenset(within.vocabulary.features)}
    plan = Plan(within, proof.score, replace(constraints, forbidden=barred), thread_count(None), Deadline(), None)
    class_score = proof.score.local_score(within, class_name, [])
    own = count - (within.vocabulary.arity(class_name) - 1)
    if not fits_lattice(plan):
        programme = OrderProgramme.scored(plan, class_name, None)
        best = None if programme is None else programme.best_map(Deadline(), inf)
        assert programme is not None  # there is no time limit
        assert best is not None
        return programme.is_map(parents) and own == best.count and best.score - (total - class_score) <= slack
    families = Families.scored(plan, class_name, None)
    assert families is not None  # there is no time limit
    fewest, highest, is_map = _best_orders(families, parents, class_name, tie_tolerance(within))
    return is_map and own == fewest and highest - (total - class_score) <= slack


def _best_orders(
    families: Families, parents: Mapping[Hashable, tuple[Hashable, ...]], class_name: Hashable, tolerance: float
) -> tuple[int, float, bool]:
    """Return the fewest class parameters, the best score with as few, and whether ``parents`` are an I-map.

    ``parents`` are an I-map if, for some order, the parents of each feature are among its best after the previous
    ones.
    """
    n = len(families.features)
    best = [_best_below(*families.of_child(b), tolerance) for b in range(n)]
    allowed = [_allowed(families, b, parents, class_name, best[b], tolerance) for b in range(n)]
    cost = np.full(1 << n, np.iinfo(np.int64).max)
    score = np.full(1 << n, -np.inf)
    reached = np.zeros(1 << n, dtype=np.bool_)
    cost[0], score[0], reached[0] = 0, 0.0, True
    sets = np.arange(1 << n)
    sizes = np.bitwise_count(sets)
    for size in range(1, n + 1):
        layer = sets[sizes == size]
        for b in range(n):
            members = layer[layer >> b & 1 == 1]
            before = members ^ (1 << b)
            place = (members >> (b + 1) << b) | (members & ((1 << b) - 1))
            new_score = score[before] + best[b][0][place]
            possible = np.isfinite(new_score)
            new_cost = np.where(possible, cost[before] + best[b][1][place], np.iinfo(np.int64).max)
            better = possible & (
                (new_cost < cost[members]) | ((new_cost == cost[members]) & (new_score > score[members]))
            )
            cost[members[better]], score[members[better]] = new_cost[better], new_score[better]
            reached[members] |= reached[before] & allowed[b][place]
    return int(cost[-1]), float(score[-1]), bool(reached[-1])


def _best_below(without_class: Floats, with_class: Floats, cost: Whole, tolerance: float) -> tuple[Floats, Whole]:
    """Return the best local score after every set, and its class parameters."""
    for b in range(len(cost).bit_length() - 1):
        halves = without_class.reshape(-1, 2, 1 << b)
        np.maximum(halves[:, 1], halves[:, 0], out=halves[:, 1])
        halves, costs = with_class.reshape(-1, 2, 1 << b), cost.reshape(-1, 2, 1 << b)
        with np.errstate(invalid="ignore"):
            gain = halves[:, 0] - halves[:, 1]
        taken = (gain > tolerance) | ((gain >= -tolerance) & (costs[:, 0] < costs[:, 1]))
        costs[:, 1] = np.where(taken, costs[:, 0], costs[:, 1])
        np.maximum(halves[:, 1], halves[:, 0], out=halves[:, 1])
    has_class = with_class > without_class + tolerance
    return np.where(has_class, with_class, without_class), np.where(has_class, cost, 0)


def _allowed(
    families: Families,
    b: int,
    parents: Mapping[Hashable, tuple[Hashable, ...]],
    class_name: Hashable,
    best: tuple[Floats, Whole],
    tolerance: float,
) -> npt.NDArray[np.bool_]:
    """Return after which sets the parents of a feature are among its best."""
    child = families.features[b]
    others = [name for name in families.features if name != child]
    mask = sum(1 << k for k, name in enumerate(others) if name in parents[child])
    without_class, with_class, cost = families.of_child(b)
    has_class = class_name in parents[child]
    own_score = (with_class if has_class else without_class)[mask]
    own_cost = cost[mask] if has_class else 0
    sets = np.arange(len(cost))
    return np.asarray((sets & mask == mask) & (best[0] - own_score <= tolerance) & (best[1] == own_cost))
