"""The weights of all families of a table: prior weight times likelihood, in logarithms."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from anbexact._kernels.network_sums import family_weights, sum_subsets
from anbexact._runtime.arrays import Floats
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.memory import SearchTooLargeError, available_memory
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import run_tasks
from anbexact._runtime.units import human_bytes
from anbexact.scores import Score
from anbexact.scores.capabilities import has_set_scores
from anbexact.search.constraints import Constraints
from anbexact.search.exact.by_family import MOST_FEATURES_UNLIMITED, family_scores
from anbexact.search.exact.lattice import at_all_levels, parent_limits, set_scorer
from anbexact.search.scoring.set_scores import prepare
from anbexact.tables.table import DiscreteTable


@dataclass(frozen=True)
class Work:
    """The resources of long work: threads, the callback for its progress, and the bytes that it may use."""

    threads: int
    progress: Progress | None
    memory_limit: float | None

    def run(self, phase: str, tasks: list[Callable[[], object]]) -> None:
        """Run tasks in the threads; an interrupt is raised once the running tasks have ended."""
        run_tasks(iter(tasks), len(tasks), self.threads, Deadline(None), phase, self.progress)


@dataclass(frozen=True, eq=False)
class FamilyWeights:
    """The weights of all sets of parents of every variable, in logarithms.

    Attributes
    ----------
    names : tuple
        The variables; bit b of a mask stands for ``names[b]``.
    weights : (n, 2**(n - 1)) float64
        ln of prior weight times likelihood, by the position of the set (its mask without the bit of the variable);
        minus infinity for sets that are not admitted.
    sums : (n, 2**(n - 1)) float64
        For every set, ln of the sum of the weights of its subsets.
    log_prior : (n,) float64
        ln of the prior weight of a set, by its size.
    """

    names: tuple[Hashable, ...]
    weights: Floats
    sums: Floats
    log_prior: Floats

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.names)

    def prior(self) -> FamilyWeights:
        """Return the same without the likelihood."""
        sizes = np.bitwise_count(np.arange(self.weights.shape[1]))
        weights = np.where(np.isneginf(self.weights), -np.inf, self.log_prior[sizes])
        return self._summed(weights)

    def _summed(self, weights: Floats) -> FamilyWeights:
        sums = weights.copy()
        for own in sums:
            sum_subsets(own, False)
        return replace(self, weights=weights, sums=sums)


def all_family_weights(
    table: DiscreteTable,
    score: Score,
    constraints: Constraints,
    log_prior: Floats,
    work: Work,
    *,
    highest: bool = False,
) -> FamilyWeights:
    """Return the weights of all families of the features of a table; see :class:`FamilyWeights`.

    If ``highest``, its ``sums`` are the highest weights of subsets instead.

    Raises
    ------
    SearchTooLargeError
        If they need more memory than is available, or if there are too many families to score one by one.
    """
    check_fits(table, score, work)
    n = len(table.vocabulary.features)
    deadline = Deadline(None)
    shape = n, 1 << max(n - 1, 0)
    if not has_set_scores(score):
        scores = family_scores(table, score, constraints, work.threads, deadline, work.progress)
        assert scores is not None
        weights = scores + log_prior[np.bitwise_count(np.arange(shape[1]))]
        names = table.vocabulary.features
    else:
        problem = prepare(table, score, constraints.max_parents + 1)
        of_sets = set_scorer(problem)(problem, work.threads, deadline, work.progress)
        of_sets = at_all_levels(problem, of_sets, table, score, work.threads, deadline, work.progress)
        assert of_sets is not None
        names, limits = problem.features, parent_limits(problem.features, constraints)
        weights = np.empty(shape)
        work.run(
            "family weights",
            [partial(family_weights, of_sets, i, limits, log_prior, weights[i]) for i in range(n)],
        )
    sums = weights.copy()
    work.run("sums over sets of parents", [partial(sum_subsets, own, highest) for own in sums])
    return FamilyWeights(names, weights, sums, log_prior)


def check_fits(table: DiscreteTable, score: Score, work: Work) -> None:
    """Refuse sums over all sets of features that are too large."""
    n = len(table.vocabulary.features)
    if not has_set_scores(score) and n > MOST_FEATURES_UNLIMITED:
        raise SearchTooLargeError(
            f"{score.name} has no set scores, so each of the {n} 2^{n - 1} families would be scored separately: with "
            f"more than {MOST_FEATURES_UNLIMITED} features, use networks='tan' or 'fan', or a score such as BDeu"
        )
    needed = memory(n, work.threads)
    available = available_memory() if work.memory_limit is None else int(work.memory_limit)
    if needed > available:
        fitting = next(few for few in range(n, -1, -1) if few == 0 or memory(few, work.threads) <= available)
        raise SearchTooLargeError(
            f"sums over all networks of {n} features need {human_bytes(needed)}; {human_bytes(available)} is "
            f"{'available' if work.memory_limit is None else 'the memory_limit'}, enough for {fitting} features. "
            "Select features first, or use networks='tan' or 'fan', which take hundreds"
        )


def memory(n: int, threads: int) -> int:
    """Return the bytes of the sums over all networks of n features."""
    return (2 * n + 3 * threads + 6) * (8 << max(n - 1, 0)) + 50_000_000


def mask_at(place: int, i: int) -> int:
    """Return the mask of the set of this place among those without variable i."""
    return (place >> i << (i + 1)) | (place & ((1 << i) - 1))


def place_of(mask: int, i: int) -> int:
    """Return the place of a set without variable i among all such sets."""
    return (mask >> (i + 1) << i) | (mask & ((1 << i) - 1))
