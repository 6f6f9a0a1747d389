"""Exact search for the optimal augmented naive Bayes, and the optimal general network: the front door."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isinf

import numpy as np

from anbexact._runtime.advice import advise
from anbexact._runtime.deadline import Deadline, ProcessorDeadline, check_limit, interruptible
from anbexact._runtime.memory import SearchTooLargeError, available_memory
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import thread_count
from anbexact._runtime.units import human_bytes, human_seconds
from anbexact._runtime.warn import warn
from anbexact.scores import BoundedScore, Score, SetScore, Universal
from anbexact.search.advice import LONG_SEARCH, expected_to_be_long, not_proved
from anbexact.search.constraints import Constraints, Edge, make_constraints
from anbexact.search.exact.by_family import MOST_FEATURES_UNLIMITED, family_memory, solve_families
from anbexact.search.exact.candidates import FEWER_SETS, MOST_SETS, has_candidates
from anbexact.search.exact.enumerated import enumerated_families
from anbexact.search.exact.lattice import MOST_FEATURES, Cost, lattice_cost, lattice_seconds, solve_lattice, unsolved
from anbexact.search.exact.pruned import PROOF_SECONDS, solve_pruned
from anbexact.search.exact.solution import ROUNDING, Optimum, Stopped, rounding_error
from anbexact.search.greedy.hill_climbing import add_arcs
from anbexact.search.naive_bayes import learn_naive_bayes
from anbexact.search.scoring.requirements import SearchRequirements
from anbexact.search.scoring.set_scores import cell_value_bytes, n_sets
from anbexact.search.scoring.totals import class_of, total_score
from anbexact.search.scoring.universal_sets import Mixture
from anbexact.search.single_states import single_states_apart
from anbexact.search.trees.feature_forest import best_forest
from anbexact.structures.proof import Component, Exhaustion, Proof
from anbexact.structures.structure import Certificate, Structure
from anbexact.tables.table import DiscreteTable

AT_ONCE, QUICK = 2.0, 20.0
"""Estimated processor seconds up to which all sets of features are gone through without candidate lists being tried
first: where a limit on parents promises short lists, and where nothing does."""
TRIED = 0.3
"""Part of these seconds that candidate lists may take before all sets of features are gone through after all."""
COMPILED = 0.1
"""Part of a trial that the compilation of kernels may take."""
LISTED = 4e-9
"""Processor seconds that a parent set of a candidate list takes for each distinct row."""
LAY_OUT, LAID_OUT = 30e-9, 16
"""Processor seconds, and bytes, that it takes to lay a row out for the lists, for each ordered pair of features."""
SMALL = 1_000_000_000
"""Bytes that candidate lists may take in any case, instead of all sets of features."""
SURE, HOPELESS = 1 / 3, 4.0
"""Estimated part of the time left below which a search will end in time, and above which it will not."""
SETS_A_SECOND = 100_000
"""Parent sets a processor second that candidate lists may take to be preferred to all sets of features; a fifth of
what is scored."""

MOST_ENUMERATED = 20_000_000
"""Families that are all scored at most, by scores without candidate lists (a few minutes)."""
COMMON_FEATURES = 27
"""Features of which all sets can be gone through on most machines (16 GB)."""
MOST_TUPLES, MOST_TERMS = 1 << 20, 10**9
"""Tuples of levels that a set may have by a universal measure, and that all sets together may have."""


@single_states_apart(below_class=True)
def learn_anb(
    table: DiscreteTable,
    score: Score | None = None,
    *,
    max_parents: int | None = None,
    required: Iterable[Edge] = (),
    forbidden: Iterable[Edge] = (),
    time_limit: float | None = None,
    memory_limit: float | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Structure:
    """Learn the augmented naive Bayes of highest score, and prove it.

    The class is a parent of every feature; the arcs between features form the acyclic graph that maximises
    ``Σ_i local(i | {class} ∪ Π_i)``. There are two searches; the certificate names the one that was taken.

    *All sets of features*, where they fit into memory (n up to about 27 in 16 GB) and nothing is quicker. With set
    scores F, ``local(i | S) = F(S ∪ i) - F(S)``, and with ``best_i(T)`` the highest local score over the subsets of
    T, the best network over T is found from its best sink, ``B(T) = max_{i ∈ T} [B(T ∖ i) + best_i(T ∖ i)]``, in
    O(n 2ⁿ) steps. Ties (to within rounding) are broken while the structure is read back, last feature first: the
    sink with the smaller parent set wins, then the parent set that comes first in table order, then the later
    feature.

    *Candidate lists*, beyond: of every feature, the parent sets that can still be optimal (see
    :func:`~anbexact.search.exact.candidates.candidate_lists`), from which branch and cut chooses (see
    :func:`~anbexact.search.exact.branch_and_cut.solve_lists`). Ties are broken by the same rule, so it does not
    matter for the arcs which search is taken. The exceptions are networks without a proof, and those whose ties would
    take more than 20,000 parent sets or 100 branches to break: then the search returns the best structure that it
    found first (see :func:`~anbexact.search.exact.ties.first_choice`). Lists that some limit ends are complete for
    small parent sets only; then the certificate says up to how many feature parents the structure is optimal, and its
    bound holds for all. Without ``time_limit`` and ``max_parents``, that limit is a number of parent sets (3 million;
    50 million where the penalty is proportional to the number of parent configurations), and the proof is given up
    after half a minute.

    Parameters
    ----------
    table : DiscreteTable
        A table with a class.
    score : Score, default BDeu()
        BDeu, K2, LL, AIC, BIC, HQ and qNML have candidate lists. Of the others, those without set scores have every
        family scored by itself: n 2ⁿ⁻¹ of them, for up to 16 features. Beyond what fits into memory, and with
        ``max_parents`` such that there are no more than 20 million families, all other scores have all of these
        scored; branch and cut chooses from the lists of those that score higher than all their subsets, and gives the
        proof up after half a minute.
    max_parents : int, optional
        Most feature parents of a feature, the class not counted.
    required, forbidden : iterable of (parent, child)
        Arcs between features that must, and must not, be in the structure.
    time_limit : float, optional
        Seconds after which no further work is started; the best structure known by then is returned, with
        the proved gap.
    memory_limit : float, optional
        Bytes that the search may use; all that is available by default.
    n_jobs : int, optional
        Threads; None and -1 stand for all processors. Score and certificate do not depend on it, unless a limit ends
        the search.
    progress : callable, optional
        Called as ``progress(phase, fraction)`` from time to time.

    Returns
    -------
    Structure
        With ``certificate.optimal`` true unless a limit ended the search. :func:`~anbexact.verify` checks the
        certificate.

    Raises
    ------
    SearchTooLargeError
        Before the search starts, if it would need more memory than allowed, the features are too many for a score
        without candidate lists.
    ValueError
        For constraints or limits that make no sense.
    KeyboardInterrupt
        When interrupted while it goes through all sets of features, once the work under way (a second or so) has
        ended. The search by candidate lists returns the best structure so far instead, with a warning.

    References
    ----------
    Sugahara and Ueno, *Exact Learning Augmented Naive Bayes Classifier*, section 4; the dynamic programme is
    that of Silander and Myllymäki, UAI 2006, with the layers of Malone, Yuan and Hansen, AAAI 2011. Candidate lists
    and branch and cut: the functions named.

    Examples
    --------
    >>> from anbexact import DiscreteTable, learn_anb
    >>> from anbexact.datasets import load_monks
    >>> structure = learn_anb(DiscreteTable.from_frame(*load_monks(1)))
    >>> structure.parents["body_shape"]
    ('is_monk', 'head_shape', 'jacket_color')
    >>> structure.certificate.optimal
    True
    """
    score = SearchRequirements("learn_anb").accept(score)
    limits = (max_parents, required, forbidden, time_limit, memory_limit)
    return _learn(table, class_of(table), score, *limits, n_jobs, progress)


@single_states_apart(below_class=False)
def learn_gbn(
    table: DiscreteTable,
    score: Score | None = None,
    *,
    max_parents: int | None = None,
    required: Iterable[Edge] = (),
    forbidden: Iterable[Edge] = (),
    time_limit: float | None = None,
    memory_limit: float | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Structure:
    """Learn the general Bayesian network of highest score, and prove it.

    The acyclic graph over all variables, the class one like any other, that maximises ``Σ_v local(v | Π_v)``. The
    searches, their cost, their ties and what they prove are those of :func:`learn_anb`, over one variable more.
    Markov equivalent networks have the same score by a score-equivalent score (and the same posterior by EAP
    tables); which of them is returned is decided by the rule for ties.

    Parameters
    ----------
    table : DiscreteTable
        A table with a class.
    score : Score, default BDeu()
        Any score that needs no class among the parents, as aCLL does.
    max_parents : int, optional
        Most parents of a variable, the class counted.
    required, forbidden : iterable of (parent, child)
        Arcs that must, and must not, be in the structure; the class can be in them.
    time_limit, memory_limit, n_jobs, progress
        As in :func:`learn_anb`.

    Returns
    -------
    Structure
        With ``certificate.optimal`` true unless a limit ended the search. :func:`~anbexact.verify` checks the
        certificate.

    Raises
    ------
    TypeError
        For a score that needs the class among the parents.
    SearchTooLargeError, ValueError, KeyboardInterrupt
        As :func:`learn_anb`.

    References
    ----------
    Silander and Myllymäki, UAI 2006; Sugahara and Ueno, *Exact Learning Augmented Naive Bayes Classifier*, section 3.

    Examples
    --------
    >>> from anbexact import DiscreteTable, learn_gbn
    >>> from anbexact.datasets import load_monks
    >>> structure = learn_gbn(DiscreteTable.from_frame(*load_monks(1)))
    >>> structure.parents["is_monk"]
    ('head_shape', 'body_shape', 'jacket_color')
    >>> structure.certificate.optimal
    True
    """
    score = SearchRequirements("learn_gbn", class_free=True).accept(score)
    limits = (max_parents, required, forbidden, time_limit, memory_limit)
    return _learn(table.without_class(), class_of(table), score, *limits, n_jobs, progress)


def affordable_parents(n: int, most: int) -> int:
    """Return the most parents, up to a number, with which all sets of n features, or all families, can be scored.

    1 at least.
    """
    while n > COMMON_FEATURES and most > 1 and enumerated_families(n, most) > MOST_ENUMERATED:
        most -= 1
    return most


def _learn(
    table: DiscreteTable,
    class_name: Hashable,
    score: Score,
    max_parents: int | None,
    required: Iterable[Edge],
    forbidden: Iterable[Edge],
    time_limit: float | None,
    memory_limit: float | None,
    n_jobs: int | None,
    progress: Progress | None,
) -> Structure:
    """Return the best structure over the features of a table; its class, if it has one, is a parent of them all."""
    check_limit("time_limit", time_limit)
    check_limit("memory_limit", memory_limit)
    deadline = Deadline(time_limit)
    features = table.vocabulary.features
    constraints = make_constraints(features, max_parents, required, forbidden)
    if not features:
        naive = learn_naive_bayes(table, score)
        return replace(naive, certificate=replace(naive.certificate, proof=Proof(score, 0, (), (), None, ())))
    search = _Search(table, class_name, score, constraints, thread_count(n_jobs), deadline, memory_limit, progress)
    _ = search.forest  # first of all, in case that there is no time for more
    if not search.prunes:
        search.check_memory()
    if time_limit is None and search.foreseen > LONG_SEARCH:
        advise("long search", expected_to_be_long(table, constraints, search.foreseen, lattice=search.all_sets))
    structure = search.pruned() if search.prunes else None
    structure = search.exhaustive() if structure is None else structure
    if time_limit is None and not (structure.certificate.optimal or deadline.interrupted):
        advise("not proved", not_proved(structure.certificate, constraints))
    return structure


@dataclass(frozen=True)
class _Search:
    """What is searched, and with what means; in a table without class, a general network."""

    table: DiscreteTable
    class_name: Hashable
    score: Score
    constraints: Constraints
    threads: int
    deadline: Deadline
    memory_limit: float | None
    progress: Progress | None

    @cached_property
    def n(self) -> int:
        """Number of features."""
        return len(self.table.vocabulary.features)

    @cached_property
    def memory(self) -> float:
        """Bytes that may be used."""
        return available_memory() if self.memory_limit is None else self.memory_limit

    @cached_property
    def has_lattice(self) -> bool:
        """Whether the score has set scores."""
        return isinstance(self.score, SetScore | Universal) and self.score.has_set_score

    @property
    def largest_set(self) -> int:
        """Most features of a set that is scored."""
        return min(self.constraints.max_parents + 1, self.n)

    @cached_property
    def few_levels(self) -> bool:
        """Whether the sets of a universal measure do not have too many tuples of levels."""
        if not isinstance(self.score, Universal):
            return True
        mixture = Mixture(self.table, self.score)
        return (
            mixture.most_tuples(self.largest_set) <= MOST_TUPLES and mixture.n_terms(self.largest_set) <= MOST_TERMS
        )

    @cached_property
    def cost(self) -> Cost:
        """What going through all sets of features takes."""
        cost = lattice_cost(
            self.n, len(self.table.weights), max_parents=self.constraints.max_parents, threads=self.threads
        )
        table, score = self.table, self.score
        if isinstance(score, Universal):
            terms = Mixture(table, score).n_terms(self.largest_set)
            seconds = cost.seconds + terms * len(table.weights) * 4e-9 / self.threads
            cost, table = replace(cost, seconds=seconds), score.coarsest(table)
        return replace(cost, memory=cost.memory + cell_value_bytes(table))

    @cached_property
    def fits(self) -> bool:
        """Whether all sets of features, or all families, can be gone through."""
        if self.has_lattice:
            return self.n <= MOST_FEATURES and self.few_levels and self.cost.memory <= self.memory
        if self.n > MOST_FEATURES_UNLIMITED and self.constraints.max_parents >= self.n - 1:
            return False
        return family_memory(self.table, self.constraints.max_parents, self.threads) <= self.memory

    @cached_property
    def prunes(self) -> bool:
        """Whether candidate lists come first: where going through everything is slow, or impossible."""
        if not has_candidates(self.table, self.score):
            return not self.fits and self.enumerates
        if not self.fits:
            return True
        if not self.has_lattice:
            return self.n > MOST_FEATURES_UNLIMITED
        if self._row_pairs * LAID_OUT > max(self.cost.memory, SMALL):
            return False
        most = self.constraints.max_parents
        few = self.n * n_sets(self.n - 1, most) <= self._worth and self.seconds > AT_ONCE
        return (few or self.seconds > QUICK) and self._row_pairs * LAY_OUT <= TRIED * self.seconds

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
        """Estimated seconds of the search, more or less."""
        rows, most = len(self.table.weights), self.constraints.max_parents
        through_all = self.seconds * (1 + TRIED * self.prunes) / self.threads if self.all_sets else inf
        if self.all_sets and not (self.prunes and self.enumerates):
            return through_all
        families, proof = float(enumerated_families(self.n, most)), 0.0
        if self.prunes and has_candidates(self.table, self.score) and most >= self.n - 1:
            assert isinstance(self.score, BoundedScore)
            unending = not self.score.proportional_penalty
            families = min(families, FEWER_SETS if unending else enumerated_families(self.n, 2))
            proof = PROOF_SECONDS if unending else 0.0
        listed = proof + (families * LISTED * rows + self.prunes * self._row_pairs * LAY_OUT) / self.threads
        return min(through_all, listed)

    @cached_property
    def enumerates(self) -> bool:
        """Whether the parents are so few that every family can be scored."""
        most = self.constraints.max_parents
        return most < self.n - 1 and enumerated_families(self.n, most) <= MOST_ENUMERATED and self.few_levels

    @cached_property
    def seconds(self) -> float:
        """Estimated processor seconds of going through all sets of features."""
        rough = self.cost.seconds * self.threads
        if rough <= AT_ONCE or not isinstance(self.score, SetScore):
            return rough
        seconds = lattice_seconds(self.table, self.score, self.constraints.max_parents, self.deadline)
        return rough if seconds is None else seconds

    @cached_property
    def _worth(self) -> float:
        """Parent sets that candidate lists may score to be preferred to going through all sets of features."""
        return SETS_A_SECOND * self.seconds

    def pruned(self) -> Structure | None:
        """Return the best structure by candidate lists; None where going through everything promises more.

        A trial that ends while kernels were being compiled says nothing of the lists, and is repeated.
        """
        deadline, most_sets = self.deadline, inf
        seconds = self.seconds / self.threads if self.fits and self.has_lattice else inf
        otherwise = deadline.left > 2 * seconds
        if otherwise:
            deadline, most_sets = ProcessorDeadline(TRIED * self.seconds, deadline), self._worth
        elif isinf(deadline.left) and self.constraints.max_parents >= self.n - 1:
            assert isinstance(self.score, BoundedScore)
            most_sets = MOST_SETS if self.score.proportional_penalty else FEWER_SETS
        try:
            with interruptible(self.deadline):
                found = solve_pruned(
                    self.table, self.score, self.constraints, threads=self.threads, deadline=deadline,
                    memory=self.memory, most_sets=most_sets, complete=otherwise, progress=self.progress,
                )  # fmt: skip
        except SearchTooLargeError:
            if not self.fits:
                raise
            return None
        broken_off = otherwise and deadline.passed and not self.deadline.passed
        again = broken_off and deadline.compiling > COMPILED * deadline.elapsed
        if found is None:
            return self.pruned() if again else None
        if self.deadline.interrupted:
            warn("interrupted: this is the best structure found so far, with its gap")
        method = f"pruned search{self._limits}"
        structure = self._certified(found.parents, found.bound, found.sets, method, found.proof)
        proved = structure.certificate.optimal
        if not proved and otherwise and not self.deadline.passed:
            return self.pruned() if again else None
        if self.deadline.passed or not found.limit:
            method += self._ending(proved)
        if not found.limit:
            return self._certified(found.parents, found.bound, found.sets, method, found.proof)
        forest = structure if self.forest is None else self._certified(self.forest, found.beyond, 0, method, None)
        if forest.score > structure.score:  # then there was no time for the lists
            assert self.forest is not None
            method = (
                f"pruned search{self._limits}, stopped by time_limit; the best forest, as few parent sets were scored"
            )
            return self._certified(self.forest, found.beyond, found.sets, method, found.proof)
        gap = "optimal" if proved else f"within {structure.certificate.gap:.6g} nats of the best"
        most = found.proof.largest
        if most is not None and most >= max(map(len, self.constraints.required.values())):
            method += f"; proved {gap} among structures with at most {most} {self._parents}"
            method += f", more were not gone through: {found.limit}"
        else:
            method += f"; few parent sets were gone through: {found.limit}"
        return self._certified(found.parents, found.beyond, found.sets, method, found.proof)

    def _ending(self, proved: bool) -> str:
        if proved:
            return ""
        if not self.deadline.passed:
            return ", the proof given up"
        return ", interrupted" if self.deadline.interrupted else ", stopped by time_limit"

    def exhaustive(self) -> Structure:
        """Return the best structure, going through all sets of features, or all families."""
        table, score, constraints, deadline = self.table, self.score, self.constraints, self.deadline
        self.check_memory()
        fallback, hopeless = None, False
        if not isinf(deadline.left):
            hopeless = self.all_sets and self.seconds / self.threads > HOPELESS * deadline.left
            share = deadline if hopeless else deadline.within(deadline.left / 2)
            fallback = self.forest
            if fallback is None or hopeless or self.foreseen > SURE * deadline.left:
                fallback = add_arcs(table, score, constraints, share, start=self.forest, threads=self.threads)
        solved: Optimum | Stopped
        if isinstance(score, SetScore | Universal) and hopeless:
            method, solved = "", unsolved(table, score)
        elif isinstance(score, SetScore | Universal) and self.has_lattice:
            method = "lattice dynamic programme"
            solved = solve_lattice(table, score, constraints, self.threads, deadline, self.progress)
        else:
            method = "dynamic programme over families"
            solved = solve_families(table, score, constraints, self.threads, deadline, self.progress)
        if isinstance(solved, Stopped):
            method = f"greedy, stopped by time_limit{self._limits}"
            if hopeless:
                method += f", as all sets of features would take about {human_seconds(self.seconds / self.threads)}"
            if fallback is None:  # there was no time limit
                raise KeyboardInterrupt
            return self._certified(fallback, solved.bound, solved.sets, method, None)
        if not np.isfinite(solved.total):
            raise ValueError(
                "no structure satisfies the constraints: see required_edges, forbidden_edges and max_parents"
            )
        case = Component(table.vocabulary.features, solved.total, Exhaustion())
        proof = Proof(
            score, constraints.max_parents, constraints.required_edges, constraints.forbidden_edges, None, (case,)
        )
        for rounding in (ROUNDING, ROUNDING / 1000, 0.0):  # heavy weights: set scores far above the total cost digits
            chosen = solved.parents(rounding)
            structure = self._certified(chosen, solved.total, solved.sets, f"{method}{self._limits}", proof)
            if structure.certificate.optimal:
                break
        return structure

    @cached_property
    def forest(self) -> dict[Hashable, tuple[Hashable, ...]] | None:
        """The feature parents in the best forest, if it is admitted; for searches with a time limit."""
        if isinf(self.deadline.left):
            return None
        return best_forest(
            self.table, self.score, self.constraints, self.deadline, class_name=self.class_name, threads=self.threads
        )

    def check_memory(self) -> None:
        """Refuse what cannot be gone through."""
        if self.fits:
            return
        n = self.n
        if not self.few_levels:
            raise SearchTooLargeError(
                f"sets of up to {self.largest_set} features have too many tuples of levels: give the universal "
                "measure fewer levels= (or None, for a number that falls with the size of sets), or give max_parents="
            )
        limit = f"{human_bytes(self.memory)} is {'available' if self.memory_limit is None else 'the memory_limit'}"
        if not self.has_lattice and n > MOST_FEATURES_UNLIMITED and self.constraints.max_parents >= n - 1:
            raise SearchTooLargeError(
                f"{self.score.name} has no set scores (local(i | S) = F(S ∪ i) - F(S)), so each of the {n} 2^{n - 1} "
                f"families would be scored by itself: more than {MOST_FEATURES_UNLIMITED} features need "
                "max_parents=, or a score such as BDeu or BIC."
            )
        if not self.has_lattice:
            needed = family_memory(self.table, self.constraints.max_parents, self.threads)
            raise SearchTooLargeError(
                f"the exact search over {n} features by a score without set scores needs {human_bytes(needed)}; "
                f"{limit}. Select features first, or use a score such as BDeu or BIC."
            )
        if n > MOST_FEATURES:
            raise SearchTooLargeError(
                f"the exact search by {self.score.name} goes through all sets of features, and {n} features have "
                f"2^{n} of them; about 27 features fit into 16 GB. Give max_parents= (with 2 or 3, there are few "
                "parent sets), select features first, or use BDeu or BIC."
            )
        fitting = n
        while fitting > 1 and lattice_cost(fitting, 0).memory > self.memory:
            fitting -= 1
        enough = f"enough for about {fitting} features"
        if lattice_cost(fitting, 0).memory > self.memory:
            enough = "too little for any"
        raise SearchTooLargeError(
            f"the exact search over {n} features needs {self.cost}; {limit}, {enough}. Give max_parents= (with 2 or "
            "3, there are few parent sets), select features first, raise memory_limit on a larger machine, or use a "
            "NaiveBayesClassifier."
        )

    @cached_property
    def _parents(self) -> str:
        return "feature parents" if self.table.vocabulary.common_parents else "parents"

    @cached_property
    def _limits(self) -> str:
        return "" if self.constraints.free else _describe(self.constraints, self.n, self._parents)

    def _certified(
        self,
        feature_parents: Mapping[Hashable, tuple[Hashable, ...]],
        bound: float,
        sets: int,
        method: str,
        proof: Proof | None,
    ) -> Structure:
        """Score the structure afresh and state what the bound, on the scores of the features, proves."""
        common = self.table.vocabulary.common_parents
        parents = {
            child: (*common, *sorted(feature_parents[child], key=lambda name: name != self.class_name))
            for child in self.table.vocabulary.features
        }
        for name in common:
            parents[name] = ()
            bound += self.score.local_score(self.table, name, [])
        total = total_score(self.table, self.score, parents)
        optimal = bound - total <= rounding_error(self.table, total)
        bound = total if optimal else bound
        certificate = Certificate(optimal, bound, bound - total, sets, self.deadline.worked, method, proof)
        return Structure(self.class_name, parents, total, certificate)


def _describe(constraints: Constraints, n: int, parents: str) -> str:
    parts = []
    if constraints.max_parents < n - 1:
        parts.append(f"at most {constraints.max_parents} {parents}")
    n_required = sum(map(len, constraints.required.values()))
    n_forbidden = sum(map(len, constraints.forbidden.values()))
    if n_required:
        parts.append(f"{n_required} required edges")
    if n_forbidden:
        parts.append(f"{n_forbidden} forbidden edges")
    return " among structures with " + ", ".join(parts)
