"""The choice of an exact search, its estimated cost, and the refusal of searches that are too large."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from math import inf

from anbexact._runtime.cached import cached_property
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.memory import SearchTooLargeError, available_memory
from anbexact._runtime.units import human_bytes
from anbexact.scores import BoundedScore, Score, SetScore
from anbexact.scores.capabilities import has_set_scores
from anbexact.search.constraints import Constraints
from anbexact.search.exact.by_family import MOST_FEATURES_UNLIMITED, family_memory
from anbexact.search.exact.candidates import FEWER_SETS, has_candidates
from anbexact.search.exact.enumerated import enumerated_families
from anbexact.search.exact.lattice import MOST_FEATURES, Cost, lattice_cost, lattice_seconds
from anbexact.search.exact.pruned import PROOF_SECONDS
from anbexact.search.scoring.set_scores import cell_value_bytes, n_sets
from anbexact.search.scoring.universal_sets import Mixture, mixture_of
from anbexact.tables.counted.counted_table import CountedTable, TooManyRowsError
from anbexact.tables.table import DiscreteTable

LEAST_SECONDS_FOR_SHORT_LISTS, LEAST_SECONDS_FOR_LISTS = 2.0, 20.0
"""Estimated processor seconds of enumerating all sets of features above which candidate lists are tried first: if a
limit on parents promises short lists, and otherwise."""
LEAST_SECONDS_FOR_SINGLE_PARENTS = 0.03
"""The same if the limit is one parent: then there are few lists to score, and branch and cut has little to do."""
TRIAL_SHARE = 0.3
"""Share of these seconds that candidate lists may take before all sets of features are enumerated after all."""
SECONDS_PER_LISTED_ROW = 4e-9
"""Processor seconds per parent set of a candidate list and distinct row."""
SECONDS_PER_ROW_PAIR, BYTES_PER_ROW_PAIR = 30e-9, 16
"""Processor seconds and bytes per row and ordered pair of features to lay out the rows for the lists."""
BYTES_IN_ANY_CASE = 1_000_000_000
"""Memory in bytes that candidate lists may always take, however little all sets of features would take."""
SETS_PER_SECOND = 100_000
"""Candidate lists are preferred to all sets of features if they have at most this many parent sets per processor
second of the latter; five times as many can be scored."""
MOST_ENUMERATED, MOST_COUNTED = 20_000_000, 200_000
"""Maximum number of families that are all scored, for scores without candidate lists (a few minutes), and where the
rows are not in memory (hundreds of queries)."""
COMMON_FEATURES = 27
"""Number of features whose sets can all be enumerated on most machines (16 GB)."""
LEAST_SECONDS_FOR_THREADS = 0.005
"""Estimated processor seconds of enumerating all sets of features below which threads take longer than they save."""
MOST_TUPLES, MOST_TERMS = 1 << 20, 10**9
"""Maximum number of tuples of levels with a mixed score, of one set and of all sets together."""


def affordable_parents(n: int, most: int) -> int:
    """Return the most parents, up to a number, with which all sets of n features, or all families, can be scored.

    The result is at least 1.
    """
    while n > COMMON_FEATURES and most > 1 and enumerated_families(n, most) > MOST_ENUMERATED:
        most -= 1
    return most


@dataclass(frozen=True)
class Plan:
    """The search problem, the resources for it, and the estimated cost of each method."""

    table: DiscreteTable
    score: Score
    constraints: Constraints
    threads: int
    deadline: Deadline
    memory_limit: float | None

    def with_worthwhile_threads(self) -> Plan:
        """Return the plan with a single thread if all sets of features are enumerated within milliseconds."""
        quick = self.all_sets and self.seconds < LEAST_SECONDS_FOR_THREADS
        return replace(self, threads=1) if quick else self

    @cached_property
    def n(self) -> int:
        """Number of features."""
        return len(self.table.vocabulary.features)

    @cached_property
    def memory(self) -> float:
        """Memory in bytes that may be used."""
        return available_memory() if self.memory_limit is None else self.memory_limit

    @cached_property
    def has_lattice(self) -> bool:
        """Whether the score has set scores."""
        return has_set_scores(self.score)

    @property
    def largest_set(self) -> int:
        """Maximum number of features of a set that is scored."""
        return min(self.constraints.max_parents + 1, self.n)

    @cached_property
    def _mixture(self) -> Mixture | None:
        """How sets are scored at several levels of their variables; None if there are no levels."""
        return mixture_of(self.table, self.score)

    @cached_property
    def few_levels(self) -> bool:
        """Whether the number of tuples of levels is small enough."""
        mixture = self._mixture
        return mixture is None or (
            mixture.most_tuples(self.largest_set) <= MOST_TUPLES and mixture.n_terms(self.largest_set) <= MOST_TERMS
        )

    @cached_property
    def cost(self) -> Cost:
        """The cost of enumerating all sets of features."""
        cost = lattice_cost(
            self.n, len(self.table.weights), max_parents=self.constraints.max_parents, threads=self.threads
        )
        table = self.table
        if self._mixture is not None:
            terms = self._mixture.n_terms(self.largest_set)
            seconds = cost.seconds + terms * len(table.weights) * 4e-9 / self.threads
            cost, table = replace(cost, seconds=seconds), self._mixture.coarsest
        return replace(cost, memory=cost.memory + cell_value_bytes(table))

    @cached_property
    def fits(self) -> bool:
        """Whether all sets of features, or all families, can be enumerated."""
        if isinstance(self.table, CountedTable):
            return False
        if self.has_lattice:
            return self.n <= MOST_FEATURES and self.few_levels and self.cost.memory <= self.memory
        if self.n > MOST_FEATURES_UNLIMITED and self.constraints.max_parents >= self.n - 1:
            return False
        return family_memory(self.table, self.constraints.max_parents, self.threads) <= self.memory

    @cached_property
    def prunes(self) -> bool:
        """Whether candidate lists are tried first, because enumerating everything is slow or impossible."""
        if not has_candidates(self.table, self.score):
            return not self.fits and self.enumerates
        if not self.fits:
            return True
        if not self.has_lattice:
            return self.n > MOST_FEATURES_UNLIMITED
        if self._row_pairs * BYTES_PER_ROW_PAIR > max(self.cost.memory, BYTES_IN_ANY_CASE):
            return False
        most = self.constraints.max_parents
        least = LEAST_SECONDS_FOR_SINGLE_PARENTS if most == 1 else LEAST_SECONDS_FOR_SHORT_LISTS
        few = self.n * n_sets(self.n - 1, most) <= self.most_sets and self.seconds > least
        return (
            few or self.seconds > LEAST_SECONDS_FOR_LISTS
        ) and self._row_pairs * SECONDS_PER_ROW_PAIR <= TRIAL_SHARE * self.seconds

    @property
    def _row_pairs(self) -> int:
        """Distinct rows times pairs of features."""
        return self.n * (self.n - 1) * len(self.table.weights)

    @property
    def all_sets(self) -> bool:
        """Whether all sets of features can be scored at all."""
        return self.has_lattice and self.fits

    @cached_property
    def foreseen(self) -> float:
        """Rough estimate of the seconds of the search."""
        if isinstance(self.table, CountedTable):
            names, common = self.table.vocabulary.features, self.table.vocabulary.common_parents
            return self.table.seconds_for({*common, *chosen} for chosen in combinations(names, self.largest_set))
        rows, most = len(self.table.weights), self.constraints.max_parents
        through_all = self.seconds * (1 + TRIAL_SHARE * self.prunes) / self.threads if self.all_sets else inf
        if self.all_sets and not (self.prunes and self.enumerates):
            return through_all
        families, proof = float(enumerated_families(self.n, most)), 0.0
        if self.prunes and has_candidates(self.table, self.score) and most >= self.n - 1:
            assert isinstance(self.score, BoundedScore)
            unending = not self.score.proportional_penalty
            families = min(families, FEWER_SETS if unending else enumerated_families(self.n, 2))
            proof = PROOF_SECONDS if unending else 0.0
        laid_out = self.prunes * self._row_pairs * SECONDS_PER_ROW_PAIR
        listed = (proof + families * SECONDS_PER_LISTED_ROW * rows + laid_out) / self.threads
        return min(through_all, listed)

    @cached_property
    def enumerates(self) -> bool:
        """Whether the limit on parents is so low that every family can be scored."""
        most = self.constraints.max_parents
        largest = MOST_COUNTED if isinstance(self.table, CountedTable) else MOST_ENUMERATED
        return most < self.n - 1 and enumerated_families(self.n, most) <= largest and self.few_levels

    @cached_property
    def seconds(self) -> float:
        """Estimated processor seconds of enumerating all sets of features."""
        rough = self.cost.seconds * self.threads
        if rough <= LEAST_SECONDS_FOR_SHORT_LISTS or not isinstance(self.score, SetScore):
            return rough
        seconds = lattice_seconds(self.table, self.score, self.constraints.max_parents, self.deadline)
        return rough if seconds is None else seconds

    @cached_property
    def most_sets(self) -> float:
        """Parent sets that candidate lists may score to be preferred to enumerating all sets of features."""
        return SETS_PER_SECOND * self.seconds


def check_fits(plan: Plan) -> None:
    """Refuse a search over all sets of features, or over all families, that is too large; say what would help."""
    if plan.fits:
        return
    n = plan.n
    if isinstance(plan.table, CountedTable):
        raise TooManyRowsError(plan.table.refusal)
    if not plan.few_levels:
        raise SearchTooLargeError(
            f"sets of up to {plan.largest_set} features have too many tuples of levels: give the universal "
            "measure fewer levels= (or None, for a number that falls with the size of sets), or give max_parents="
        )
    limit = f"{human_bytes(plan.memory)} is {'available' if plan.memory_limit is None else 'the memory_limit'}"
    if not plan.has_lattice and n > MOST_FEATURES_UNLIMITED and plan.constraints.max_parents >= n - 1:
        raise SearchTooLargeError(
            f"{plan.score.name} has no set scores (local(i | S) = F(S ∪ i) - F(S)), so each of the {n} 2^{n - 1} "
            f"families would be scored separately: with more than {MOST_FEATURES_UNLIMITED} features, give "
            "max_parents=, or use a score such as BDeu or BIC."
        )
    if not plan.has_lattice:
        needed = family_memory(plan.table, plan.constraints.max_parents, plan.threads)
        raise SearchTooLargeError(
            f"the exact search over {n} features by a score without set scores needs {human_bytes(needed)}; "
            f"{limit}. Select features first, or use a score such as BDeu or BIC."
        )
    if n > MOST_FEATURES:
        raise SearchTooLargeError(
            f"the exact search by {plan.score.name} enumerates all sets of features, and {n} features have "
            f"2^{n} of them; about 27 features fit into 16 GB. Give max_parents= (with 2 or 3, there are few "
            "parent sets), select features first, or use BDeu or BIC."
        )
    fitting = n
    while fitting > 1 and lattice_cost(fitting, 0).memory > plan.memory:
        fitting -= 1
    enough = f"enough for about {fitting} features"
    if lattice_cost(fitting, 0).memory > plan.memory:
        enough = "too little for any"
    raise SearchTooLargeError(
        f"the exact search over {n} features needs {plan.cost}; {limit}, {enough}. Give max_parents= (with 2 or "
        "3, there are few parent sets), select features first, raise memory_limit on a larger machine, or use a "
        "NaiveBayesClassifier."
    )
