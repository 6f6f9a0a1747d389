"""The acyclic choice of listed parent sets with the highest total, proved by branch and cut."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from anbexact._runtime.arrays import Floats, Positions
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.progress import Progress
from anbexact.models.proof import Case, Component, Duals, Exhaustion
from anbexact.search.exact.branch_tree import ComponentSearch, ProofProgress
from anbexact.search.exact.parent_sets import Branch, Lists, ParentSets, pack, unpack
from anbexact.search.exact.relaxation import duals, proved, totals_with_each
from anbexact.search.exact.simple_components import (
    best_branching,
    exhausted,
    have_single_parents,
    totals_with_each_exhausted,
)

_Result = TypeVar("_Result")
MOST_FEATURES_EXHAUSTED = 14
"""Maximum number of features of a component that is solved by dynamic programming."""


@dataclass(frozen=True)
class Choice:
    """One listed parent set for every feature, acyclic together, and a proved bound on all such choices.

    Attributes
    ----------
    chosen : tuple of int
        Positions in the features' lists.
    total : float
        The sum of their scores, in nats.
    bound : float
        Upper bound on the total of every acyclic choice, the sum of the components' bounds; at least ``total``.
    components : tuple of Component
        The proof of the bound.
    nodes : int
        Number of branches that were bounded.
    kept : callable
        Returns, for every feature, the positions of all sets that can be part of a choice whose total is at least
        ``total`` minus the tolerance.
    """

    chosen: tuple[int, ...]
    total: float
    bound: float
    components: tuple[Component, ...]
    nodes: int
    kept: Callable[[], list[Positions]] = field(repr=False, compare=False)


def solve_lists(
    lists: Sequence[ParentSets],
    names: Sequence[Hashable],
    tolerance: float,
    deadline: Deadline,
    progress: Progress | None,
    *,
    threads: int = 1,
    most_nodes: float = inf,
) -> Choice:
    """Return the best acyclic choice of listed parent sets found by the deadline, with a proved bound.

    Features that do not lie on a common cycle of possible arcs are solved separately (Fan, Malone & Yuan, Finding
    optimal Bayesian network structures with constraints learned from data, UAI 2014): small components by dynamic
    programming over all subsets (Silander & Myllymäki, UAI 2006), those without a set of two parents as a maximum
    branching (see :func:`~anbexact.search.exact.simple_components.best_branching`), others by branch and cut on arcs,
    with cluster inequalities (Bartlett & Cussens, Integer linear programming for the Bayesian network structure
    learning problem, Artificial Intelligence 2017).

    Parameters
    ----------
    lists : sequence of ParentSets
        The lists of all features, in the order that the masks refer to. Each contains a set such that these sets
        together are acyclic.
    names : sequence of features
        Their names, for the proof.
    tolerance : float
        Nats by which the bound may exceed the total for the choice to count as optimal.
    deadline : Deadline
        When to stop; the best choice found by then is returned. An interrupt (Ctrl-C) makes the deadline pass.
    progress : Progress, optional
        Called with the share of the gap that has been closed.
    threads : int
        Number of threads; the result does not depend on it.
    most_nodes : float
        Number of branches that are bounded before the search stops as at the deadline. Branches that are necessary
        for any bound are bounded in any case.

    Returns
    -------
    Choice
    """
    n = len(lists)
    inside = [unpack(own.masks, n) for own in lists]
    chosen = np.zeros(n, np.int64)
    components: dict[int, Component] = {}
    searches: list[tuple[Positions, Positions, ComponentSearch]] = []
    solved: list[tuple[Positions, Lists, Callable[[], Floats]]] = []
    for group in _groups(inside):
        case: Case = Duals(())
        if len(group) == 1:  # the first set of its list is the best
            i = int(group[0])
            components[i] = Component((names[i],), float(lists[i].scores[0]), case)
            continue
        part, origins = _restricted(lists, inside, group)
        if len(group) <= MOST_FEATURES_EXHAUSTED:
            (places, bound), case = _completed(partial(exhausted, part), deadline), Exhaustion()
            solved.append((group, part, partial(totals_with_each_exhausted, part)))
        elif have_single_parents(part):
            places, clusters, multipliers = best_branching(part)
            everything = Branch.everything(part)
            bound, _ = proved(part, everything, clusters, multipliers)
            case = duals(clusters, multipliers, [names[i] for i in group])
            solved.append((group, part, partial(totals_with_each, part, everything, clusters, multipliers)))
        else:
            searches.append((group, origins, _completed(partial(ComponentSearch, part), deadline)))
            continue
        chosen[group] = origins[places]
        components[int(group[0])] = Component(tuple(names[i] for i in group), bound, case)
    for k, (group, origins, search) in enumerate(searches):
        others = sum(other.nodes for *_, other in searches) - search.nodes
        report = ProofProgress(progress, k, len(searches))
        try:
            search.run(tolerance / len(searches), most_nodes - others, threads, deadline, report)
        except KeyboardInterrupt:
            deadline.interrupt()
        chosen[group] = origins[search.orders.chosen]
        own = [names[i] for i in group]
        components[int(group[0])] = Component(tuple(own), search.bound, search.case(own))
        solved.append((group, search.relaxation.lists, search.totals_with))
    if progress is not None:
        progress("proof", 1.0)
    total = sum(float(own.scores[k]) for own, k in zip(lists, chosen.tolist(), strict=True))
    ordered = tuple(components[first] for first in sorted(components))
    bound = max(total, sum(component.bound for component in ordered))
    nodes = sum(search.nodes for *_, search in searches)
    return Choice(
        tuple(chosen.tolist()), total, bound, ordered, nodes, partial(_kept, lists, inside, solved, tolerance)
    )


def _kept(
    lists: Sequence[ParentSets],
    inside: Sequence[npt.NDArray[np.bool_]],
    solved: Sequence[tuple[Positions, Lists, Callable[[], Floats]]],
    tolerance: float,
) -> list[Positions]:
    """Return the positions of the sets of every feature that can be part of an optimal choice; see :class:`Choice`.

    ``solved`` contains the components of several features, and, for each of their sets, a bound on the totals of the
    choices that contain it.
    """
    kept = [np.flatnonzero(own.scores[0] - own.scores <= tolerance) for own in lists]
    for group, part, totals_with in solved:
        lost = totals_with()
        lost = lost.max() - lost
        for k, i in enumerate(group):
            own = slice(int(part.starts[k]), int(part.starts[k + 1]))
            masks = pack(inside[i][:, group])
            joined, place = np.unique(np.concatenate([part.masks[own], masks]), axis=0, return_inverse=True)
            number = own.stop - own.start
            of_mask = np.empty(len(joined), np.int64)
            of_mask[place.ravel()[:number]] = np.arange(own.start, own.stop)
            at = of_mask[place.ravel()[number:]]
            kept[i] = np.flatnonzero(lost[at] + part.scores[at] - lists[i].scores <= tolerance)
    return kept


def _completed(work: Callable[[], _Result], deadline: Deadline) -> _Result:
    """Return the result of indispensable work: after an interrupt, the work is repeated."""
    try:
        return work()
    except KeyboardInterrupt:
        deadline.interrupt()
        return work()


def _groups(inside: Sequence[npt.NDArray[np.bool_]]) -> list[Positions]:
    """Return the strongly connected components of the possible arcs, small ones first."""
    arcs = np.stack([rows.any(axis=0) for rows in inside])
    _, labels = connected_components(coo_matrix(arcs), connection="strong")
    groups = [np.flatnonzero(labels == label) for label in range(labels.max() + 1)]
    return sorted(groups, key=lambda group: (len(group), group[0]))


def _restricted(
    lists: Sequence[ParentSets], inside: Sequence[npt.NDArray[np.bool_]], group: Positions
) -> tuple[Lists, Positions]:
    """Return the lists of a component without arcs into it, and the positions of their sets in the full lists.

    Among sets with the same parents in the component, the best is kept.
    """
    outside = np.ones(len(lists), dtype=np.bool_)
    outside[group] = False
    masks, kept = [], []
    for i in group:
        own = pack(inside[i][:, group])
        masks.append(own)
        if (inside[i] & outside).any():
            kept.append(np.sort(np.unique(own, axis=0, return_index=True)[1]))
        else:
            kept.append(np.arange(len(own)))
    part = Lists(
        np.concatenate([own[k] for own, k in zip(masks, kept, strict=True)]),
        np.concatenate([lists[i].scores[k] for i, k in zip(group, kept, strict=True)]),
        np.cumsum([0, *map(len, kept)]),
    )
    return part, np.concatenate(kept)
