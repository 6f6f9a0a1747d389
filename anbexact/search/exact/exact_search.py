"""The execution of exact searches: by candidate lists, or over all sets of features."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from math import inf, isinf
from typing import Any, NamedTuple

import numpy as np

from anbexact._runtime.cached import cached_property
from anbexact._runtime.deadline import Deadline, ProcessorDeadline, interruptible
from anbexact._runtime.memory import SearchTooLargeError
from anbexact._runtime.progress import Progress
from anbexact._runtime.units import counted, human_seconds
from anbexact._runtime.warn import warn
from anbexact.models.proof import Component, Exhaustion, Proof
from anbexact.models.structure import Certificate, Structure
from anbexact.scores import BoundedScore
from anbexact.search.constraints import Constraints
from anbexact.search.exact.by_family import solve_families
from anbexact.search.exact.candidates import FEWER_SETS, MOST_SETS
from anbexact.search.exact.lattice import solve_lattice, unsolved
from anbexact.search.exact.parent_sets import ListMeans
from anbexact.search.exact.plan import TRIAL_SHARE, Plan, check_fits
from anbexact.search.exact.pruned import solve_pruned
from anbexact.search.exact.solution import TIE_SHARE, Optimum, Stopped, rounding_error
from anbexact.search.greedy.hill_climbing import add_arcs
from anbexact.search.scoring.totals import total_score
from anbexact.search.trees.branching import best_forest
from anbexact.tables.table import DiscreteTable

SURE_SHARE, HOPELESS_SHARE = 1 / 3, 4.0
"""Estimated shares of the remaining time below which a search will end in time, and above which it will not."""
ALL_SETS = "lattice dynamic programme"
"""The name, in certificates, of the search over all sets of features."""


Solve = Callable[[DiscreteTable, Any, Constraints, int, Deadline, Progress | None], Optimum | Stopped]


class Solver(NamedTuple):
    """A function that solves a problem without candidate lists, and its name for the certificate."""

    solve: Solve
    method: str


class Fallback(NamedTuple):
    """The feature parents to return if there is not enough time, and whether this is certain from the beginning."""

    parents: Mapping[Hashable, tuple[Hashable, ...]] | None
    hopeless: bool = False


@dataclass(frozen=True)
class ExactSearch:
    """A search that follows a plan; in a table without a class, it is a search for a general network."""

    plan: Plan
    class_name: Hashable | None
    progress: Progress | None

    def pruned(self) -> Structure | None:
        """Return the best structure by candidate lists; None if enumerating everything is expected to be better."""
        plan = self.plan
        deadline, most_sets = plan.deadline, inf
        seconds = plan.seconds / plan.threads if plan.fits and plan.has_lattice else inf
        otherwise = deadline.left > 2 * seconds
        if otherwise:
            deadline, most_sets = ProcessorDeadline(TRIAL_SHARE * plan.seconds, deadline), plan.most_sets
        elif isinf(deadline.left) and plan.constraints.max_parents >= plan.n - 1:
            assert isinstance(plan.score, BoundedScore)
            most_sets = MOST_SETS if plan.score.proportional_penalty else FEWER_SETS
        try:
            with interruptible(plan.deadline):
                means = ListMeans(plan.threads, deadline, plan.memory, most_sets, self.progress)
                found = solve_pruned(plan.table, plan.score, plan.constraints, means, complete=otherwise)
        except SearchTooLargeError:
            if not plan.fits:
                raise
            return None
        if found is None:
            return None
        if plan.deadline.interrupted:
            warn("interrupted: this is the best structure found so far, with its gap")
        method = f"pruned search{self._limits}"
        structure = self._certified(found.parents, found.bound, found.sets, method, found.proof)
        proved = structure.certificate.optimal
        if not proved and otherwise and not plan.deadline.passed:
            return None
        if plan.deadline.passed or not found.limit:
            method += self._ending(proved)
        if not found.limit:
            return self._certified(found.parents, found.bound, found.sets, method, found.proof)
        forest = structure if self.forest is None else self._certified(self.forest, found.beyond, 0, method, None)
        if forest.score > structure.score:  # then there was no time for the lists
            assert self.forest is not None
            method = (
                f"pruned search{self._limits}, stopped by time_limit; the best forest, because few parent sets "
                "were scored"
            )
            return self._certified(self.forest, found.beyond, found.sets, method, found.proof)
        gap = "optimal" if proved else f"within {structure.certificate.gap:.6g} nats of the best"
        most = found.proof.largest
        if most is not None and most >= max(map(len, plan.constraints.required.values())):
            method += f"; proved {gap} among structures with at most {counted(most, self._parent)}"
            method += f"; larger parent sets were not enumerated: {found.limit}"
        else:
            method += f"; few parent sets were enumerated: {found.limit}"
        return self._certified(found.parents, found.beyond, found.sets, method, found.proof)

    def _ending(self, proved: bool) -> str:
        if proved:
            return ""
        if not self.plan.deadline.passed:
            return ", the proof abandoned"
        return ", interrupted" if self.plan.deadline.interrupted else ", stopped by time_limit"

    def exhaustive(self) -> tuple[Solver, Fallback]:
        """Return the solver over all sets of features, or all families, and the fallback if it does not finish.

        If the remaining time is certainly too short to enumerate all sets of features, the enumeration is not
        started.
        """
        plan = self.plan
        check_fits(plan)
        solver = Solver(solve_families, "dynamic programme over families")
        if plan.has_lattice:
            solver = Solver(solve_lattice, ALL_SETS)
        if isinf(plan.deadline.left):
            return solver, Fallback(None)
        hopeless = plan.all_sets and plan.seconds / plan.threads > HOPELESS_SHARE * plan.deadline.left
        share = plan.deadline if hopeless else plan.deadline.within(plan.deadline.left / 2)
        parents = self.forest
        if parents is None or hopeless or plan.foreseen > SURE_SHARE * plan.deadline.left:
            parents = add_arcs(
                plan.table, plan.score, plan.constraints, share, start=self.forest, threads=plan.threads
            )
        return Solver(unsolved, "") if hopeless else solver, Fallback(parents, hopeless)

    def concluded(self, solved: Optimum | Stopped, method: str, fallback: Fallback) -> Structure:
        """Return the structure that follows from what a solver returned."""
        plan = self.plan
        score, constraints = plan.score, plan.constraints
        if isinstance(solved, Stopped):
            method = f"greedy, stopped by time_limit{self._limits}"
            if fallback.hopeless:
                method += (
                    f", because all sets of features would take about {human_seconds(plan.seconds / plan.threads)}"
                )
            if fallback.parents is None:  # there was no time limit
                raise KeyboardInterrupt
            return self._certified(fallback.parents, solved.bound, solved.sets, method, None)
        if not np.isfinite(solved.total):
            raise ValueError(
                "no structure satisfies the constraints: see required_edges, forbidden_edges and max_parents"
            )
        case = Component(plan.table.vocabulary.features, solved.total, Exhaustion())
        proof = Proof(
            score, constraints.max_parents, constraints.required_edges, constraints.forbidden_edges, None, (case,)
        )
        for rounding in (TIE_SHARE, TIE_SHARE / 1000, 0.0):  # set scores far above the total lose digits
            chosen = solved.parents(rounding)
            structure = self._certified(chosen, solved.total, solved.sets, f"{method}{self._limits}", proof)
            if structure.certificate.optimal:
                break
        stated = structure.certificate
        return replace(structure, certificate=replace(stated, proof=replace(proof, gap=stated.gap)))

    @cached_property
    def forest(self) -> dict[Hashable, tuple[Hashable, ...]] | None:
        """The feature parents in the best forest, if the constraints admit it; for searches with a time limit."""
        if isinf(self.plan.deadline.left):
            return None
        return best_forest(
            self.plan.table,
            self.plan.score,
            self.plan.constraints,
            self.plan.deadline,
            class_name=self.class_name,
            threads=self.plan.threads,
        )

    @cached_property
    def _parent(self) -> str:
        return "feature parent" if self.plan.table.vocabulary.common_parents else "parent"

    @cached_property
    def _limits(self) -> str:
        return "" if self.plan.constraints.free else _describe(self.plan.constraints, self.plan.n, self._parent)

    def _certified(
        self,
        feature_parents: Mapping[Hashable, tuple[Hashable, ...]],
        bound: float,
        sets: int,
        method: str,
        proof: Proof | None,
    ) -> Structure:
        """Score the structure again and state what the bound on the scores of the features proves."""
        common = self.plan.table.vocabulary.common_parents
        parents = {
            child: (*common, *sorted(feature_parents[child], key=lambda name: name != self.class_name))
            for child in self.plan.table.vocabulary.features
        }
        for name in common:
            parents[name] = ()
            bound += self.plan.score.local_score(self.plan.table, name, [])
        total = total_score(self.plan.table, self.plan.score, parents)
        optimal = bound - total <= rounding_error(self.plan.table, total)
        bound = total if optimal else bound
        certificate = Certificate(optimal, bound, bound - total, sets, self.plan.deadline.worked, method, proof)
        return Structure(self.class_name, parents, total, certificate)


def _describe(constraints: Constraints, n: int, parent: str) -> str:
    parts = []
    if constraints.max_parents < n - 1:
        parts.append(f"at most {counted(constraints.max_parents, parent)}")
    n_required = sum(map(len, constraints.required.values()))
    n_forbidden = sum(map(len, constraints.forbidden.values()))
    if n_required:
        parts.append(counted(n_required, "required edge"))
    if n_forbidden:
        parts.append(counted(n_forbidden, "forbidden edge"))
    return " among structures with " + ", ".join(parts)
