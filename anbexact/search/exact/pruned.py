"""Exact search beyond the lattice of all feature sets: candidate lists, then branch and cut."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from math import inf

from anbexact._runtime.deadline import ProcessorDeadline
from anbexact.models.proof import Proof
from anbexact.scores import BoundedScore, Score
from anbexact.search.constraints import Constraints
from anbexact.search.exact.branch_and_cut import Choice, solve_lists
from anbexact.search.exact.candidates import Candidates, candidate_lists, has_candidates, is_bounded
from anbexact.search.exact.enumerated import EnumeratedLists, enumerated_lists
from anbexact.search.exact.parent_sets import ListMeans, ParentSets, members
from anbexact.search.exact.solution import rounding_error, tie_tolerance
from anbexact.search.exact.ties import first_choice
from anbexact.tables.table import DiscreteTable

SHARE_OF_LISTS = 0.7
"""Share of the remaining time that candidate lists may take; they are continued if the proof leaves time."""
MOST_NODES, PROOF_SECONDS = 20, 20.0
"""Limits of the proof, in branches and in processor seconds, if parent sets were left out for another reason than
time, or if the score has no bounds."""


@dataclass(frozen=True)
class Pruned:
    """The result of the pruned search, and what it proved.

    Attributes
    ----------
    parents : dict
        Feature parents of every feature, in table order.
    total : float
        Sum of the features' local scores, in nats.
    bound : float
        Proved upper bound on the total of every admitted structure with up to ``proof.largest`` feature parents.
    beyond : float
        Proved upper bound on the total of every admitted structure; equal to ``bound`` with complete lists.
    sets : int
        Parent sets that were scored.
    limit : str
        The reason why the candidate lists are not complete; empty if they are.
    proof : Proof
        The proof of ``bound``.
    """

    parents: dict[Hashable, tuple[Hashable, ...]]
    total: float
    bound: float
    beyond: float
    sets: int
    limit: str
    proof: Proof


def parent_set_lists(
    table: DiscreteTable,
    score: Score,
    constraints: Constraints,
    means: ListMeans,
    *,
    largest: int | None = None,
) -> Candidates | EnumeratedLists:
    """Return candidate lists if the score has bounds that can save work, else those of all families.

    With one parent at most, all families are scored in less time than their bounds take.
    """
    if isinstance(score, BoundedScore) and has_candidates(table, score) and constraints.max_parents > 1:
        return candidate_lists(table, score, constraints, means, largest=largest)
    return enumerated_lists(table, score, constraints, means, largest=largest)


def solve_pruned(
    table: DiscreteTable,
    score: Score,
    constraints: Constraints,
    means: ListMeans,
    *,
    complete: bool,
) -> Pruned | None:
    """Return the best structure found by the deadline, with what is proved; see :func:`~anbexact.learn_anb`.

    Parameters
    ----------
    means : ListMeans
        Time, memory and threads.
    complete : bool
        Whether complete lists are required; None is returned if they cannot be completed.
    """
    features, deadline, progress = table.vocabulary.features, means.deadline, means.progress
    share = deadline.within(SHARE_OF_LISTS * deadline.left)
    candidates = parent_set_lists(table, score, constraints, means._replace(deadline=share))
    if complete and candidates.limit and not deadline.interrupted:
        return None
    tolerance = rounding_error(table) / 2

    def solve() -> tuple[tuple[ParentSets, ...], int | None, Choice]:
        lists = candidates.lists
        brief = candidates.limit not in ("", "time_limit") or not is_bounded(table, score)
        choice = solve_lists(
            lists, features, tolerance, ProcessorDeadline(PROOF_SECONDS, deadline) if brief else deadline, progress,
            threads=means.threads, most_nodes=MOST_NODES if brief else inf,
        )  # fmt: skip
        return lists, candidates.largest, choice

    lists, largest, choice = solve()
    while candidates.limit == "time_limit" and not deadline.passed and choice.bound - choice.total <= tolerance:
        rest = deadline.within(SHARE_OF_LISTS * deadline.left)
        if not candidates.extend(rest, most_sets=means.most_sets, progress=progress):
            break
        following = solve()
        if following[-1].total < choice.total:  # the time did not suffice to find the earlier choice again
            break
        lists, largest, choice = following
    limit = next((own.limit for own in lists if own.limit), "")
    found = {
        k: tuple(members(own.masks[place])) for k, (own, place) in enumerate(zip(lists, choice.chosen, strict=True))
    }
    if choice.bound - choice.total <= tolerance and not deadline.passed:
        tie = tie_tolerance(table)
        first = first_choice(lists, features, choice, candidates.copies, tie, tolerance, deadline, means.threads)
        found = found if first is None else first
    parents = {name: tuple(features[b] for b in found[k]) for k, name in enumerate(features)}
    beyond = sum(max(float(own.scores[0]), own.beyond) for own in lists) if limit else choice.bound
    proof = Proof(
        score, constraints.max_parents, constraints.required_edges, constraints.forbidden_edges, largest,
        choice.components, choice.bound - choice.total,
    )  # fmt: skip
    return Pruned(parents, choice.total, choice.bound, max(beyond, choice.bound), candidates.scored, limit, proof)
