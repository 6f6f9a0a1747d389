"""A check of certificates without repeating the search."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import replace
from math import fsum, inf, isfinite

import numpy as np

from anbexact._kernels.families import best_totals
from anbexact._runtime.arrays import Floats
from anbexact._runtime.cached import cached_property
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.memory import SearchTooLargeError, available_memory
from anbexact._runtime.tasks import thread_count
from anbexact._runtime.units import human_bytes
from anbexact.models.proof import Component, Exhaustion, Proof
from anbexact.models.structure import Structure
from anbexact.scores.capabilities import has_set_scores
from anbexact.search.constraints import Constraints, make_constraints
from anbexact.search.exact.candidates import has_candidates
from anbexact.search.exact.case_bounds import ListedSets, case_bound
from anbexact.search.exact.lattice import at_all_levels, set_scorer
from anbexact.search.exact.parent_sets import ListMeans, ParentSets, unpack
from anbexact.search.exact.pruned import parent_set_lists
from anbexact.search.exact.solution import rounding_error
from anbexact.search.exact.verify_class_parameters import states_fewest, verify_fewest
from anbexact.search.scoring.set_scores import prepare
from anbexact.search.scoring.totals import sum_of_local_scores
from anbexact.search.single_states import single_states
from anbexact.tables.table import DiscreteTable


def verify(structure: Structure, table: DiscreteTable) -> bool:
    """Check, against the table, the score of a structure and the statement of its certificate.

    The score is computed again, family by family. To check the bound, the candidate lists are made again (their
    completeness is not checked), and every case of the proof is checked with them,

        Σ_i max_W [local(i | W) + Σ_{K ∋ i, |K ∩ W| < k_K} z_K] - Σ_K k_K z_K ≤ bound, z ≥ 0,

    where W ranges over the parent sets of i that the case admits. The sums over z are exact. Components that the
    search solved by dynamic programming are solved again, by a plain dynamic programme. Scores and bounds may differ
    by rounding: by 10⁻¹¹ of the largest total per variable, once for all components together.

    The statement of :func:`~anbexact.search.learn_mcp`, that no I-map has fewer class parameters, is checked by a
    plain dynamic programme over all orders, which also checks that the structure is one of these I-maps.

    The statement that is checked is that of the proof. It refers to all structures with up to ``proof.max_parents``
    feature parents that have all required arcs and no forbidden ones, and in which the features of ``proof.apart``
    stand alone; none of these is better than this structure by more than ``proof.gap``. The text of
    ``certificate.method`` is not checked.

    Parameters
    ----------
    structure : Structure
        As :func:`~anbexact.learn_anb`, :func:`~anbexact.learn_gbn` or :func:`~anbexact.search.learn_mcp` returned it.
    table : DiscreteTable
        The table from which it was learned.

    Returns
    -------
    bool
        Whether everything holds, to within rounding.

    Raises
    ------
    ValueError
        If the certificate has no proof, or the variables of the table and the structure differ.
    SearchTooLargeError
        If the search enumerated all sets of features, and enumerating them again would take more memory than is
        available.
    KeyboardInterrupt
        When interrupted, because a check that did not end has no answer.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from anbexact import DiscreteTable, learn_anb, verify
    >>> from anbexact.datasets import load_monks
    >>> table = DiscreteTable.from_frame(*load_monks(1))
    >>> structure = learn_anb(table)
    >>> verify(structure, table)
    True
    >>> verify(replace(structure, score=structure.score + 0.5), table)
    False
    """
    certificate, proof = structure.certificate, structure.certificate.proof
    if proof is None:
        raise ValueError(
            f"the certificate carries no proof to check ({certificate.method}); learn_anb and learn_gbn attach one "
            "unless time_limit ends a search over all sets of features"
        )
    class_name = table.vocabulary.class_name
    if set(structure.parents) != set(table.vocabulary.names) or structure.class_name != class_name:
        raise ValueError(
            f"the structure has the class {structure.class_name!r} and the features {list(structure.features)}, but "
            f"the table has the class {class_name!r} and the features {list(table.vocabulary.features)}"
        )
    if states_fewest(proof):
        return verify_fewest(structure, proof, table)
    if proof.apart:
        alone = len(set(proof.apart)) == len(proof.apart) and all(
            name in table.vocabulary.features and not structure.parents[name] and not structure.children(name)
            for name in proof.apart
        )
        return alone and verify(*_without(structure, proof, table, proof.apart))
    shared_out = [name for component in proof.components for name in component.features]
    above = () if class_name is None or class_name in shared_out else (class_name,)
    unsearched = single_states(table, proof.score, shared_out)
    if unsearched:
        below_class = all(structure.parents[name] == above and not structure.children(name) for name in unsearched)
        return below_class and verify(*_without(structure, proof, table, unsearched))
    if class_name in shared_out:  # a general network
        table = table.without_class()
    features, common = table.vocabulary.features, table.vocabulary.common_parents
    constraints = make_constraints(features, proof.max_parents, proof.required, proof.forbidden)
    total = sum_of_local_scores(table, proof.score, dict(structure.parents))
    slack = rounding_error(table, total)
    if len(shared_out) != len(features) or set(shared_out) != set(features):
        return False
    check = _Check(table, proof, constraints, slack)
    return (
        check.answers
        and _is_admitted(structure, constraints, common)
        and abs(structure.score - total) <= slack
        and _is_consistent(structure, slack)
        and check.holds(structure, total)
    )


def _is_consistent(structure: Structure, slack: float) -> bool:
    """Return whether gap, bound and verdict of a certificate agree with each other and the score."""
    certificate = structure.certificate
    if certificate.upper_bound == inf:  # nothing is stated
        return certificate.gap == inf and not certificate.optimal
    agree = abs(certificate.upper_bound - certificate.gap - structure.score) <= slack
    return agree and (certificate.gap <= slack or not certificate.optimal)


def _without(
    structure: Structure, proof: Proof, table: DiscreteTable, apart: Collection[Hashable]
) -> tuple[Structure, DiscreteTable]:
    """Return structure and table without the features that stand alone, which have no children."""
    alone = sum(proof.score.local_score(table, name, structure.parents[name]) for name in apart)
    certificate = structure.certificate
    stated = replace(certificate, upper_bound=certificate.upper_bound - alone, proof=replace(proof, apart=()))
    parents = {name: of_name for name, of_name in structure.parents.items() if name not in apart}
    rest = Structure(structure.class_name, parents, structure.score - alone, stated)
    return rest, table.restricted(parents)


def _is_admitted(structure: Structure, constraints: Constraints, common: Collection[Hashable]) -> bool:
    """Return whether the common parents are parents of all other variables, and the other parents are admitted."""
    return not any(structure.parents[name] for name in common) and all(
        set(common) <= set(child_parents)
        and constraints.admits(child, (name for name in child_parents if name not in common))
        for child, child_parents in structure.parents.items()
        if child not in common
    )


class _Check:
    """The components of a proof against a table."""

    def __init__(self, table: DiscreteTable, proof: Proof, constraints: Constraints, slack: float) -> None:
        self.table, self.proof, self.constraints, self.slack = table, proof, constraints, slack
        self.place = {name: k for k, name in enumerate(table.vocabulary.features)}
        cases = [type(part.case) for part in proof.components]
        self.whole = proof.largest is None and cases in ([], [Exhaustion])

    @property
    def answers(self) -> bool:
        """Whether such a proof can be checked, and every component has features and a bound."""
        limited = has_candidates(self.table, self.proof.score) or self.constraints.max_parents < len(self.place) - 1
        return (self.whole or limited) and all(
            part.features and isfinite(part.bound) for part in self.proof.components
        )

    @cached_property
    def _lists(self) -> Sequence[ParentSets] | None:
        """The candidate lists, made again; None if they do not reach as far as the proof.

        An interrupt ends the lists and is raised again.
        """
        deadline, largest = Deadline(), self.proof.largest
        means = ListMeans(thread_count(None), deadline, memory=inf)
        made = parent_set_lists(self.table, self.proof.score, self.constraints, means, largest=largest)
        if deadline.interrupted:
            raise KeyboardInterrupt
        reached = made.largest
        return made.lists if reached is None or (largest is not None and reached >= largest) else None

    def holds(self, structure: Structure, total: float) -> bool:
        """Return whether the bounds of the components and of the structure, whose score is ``total``, hold.

        Rounding is allowed once, in the sum, however many components there are.
        """
        if not self.whole and self._lists is None:
            return False
        proof, certificate = self.proof, structure.certificate
        stated = [part.bound for part in proof.components]
        shown = [self._bound(part) for part in proof.components]
        common = self.table.vocabulary.common_parents
        class_scores = [proof.score.local_score(self.table, name, []) for name in common]
        highest = max(_sum([*class_scores, *stated]), _sum([*class_scores, *shown]))
        if proof.largest is None:
            of_all = highest
        else:
            assert self._lists is not None
            of_all = _sum([*class_scores, *(max(float(own.scores[0]), own.beyond) for own in self._lists)])
        return (
            _sum([max(0.0, found - bound) for found, bound in zip(shown, stated, strict=True)]) <= self.slack
            and of_all <= certificate.upper_bound + self.slack
            and (of_all - total <= self.slack or not certificate.optimal)
            and _sum([*class_scores, *shown]) - structure.score <= proof.gap + self.slack
        )

    def _bound(self, component: Component) -> float:
        """Return the bound that the case of a component implies."""
        names = component.features
        if isinstance(component.case, Exhaustion):
            self._check_memory(len(names))
            return float(best_totals(self._best_of_all() if self.whole else self._best_of_lists(names))[-1])
        assert self._lists is not None
        own = [self._lists[self.place[name]] for name in names]
        sets = ListedSets(
            self.place,
            names,
            np.concatenate([unpack(one.masks, len(self.place)) for one in own]),
            np.concatenate([one.scores for one in own]),
            np.cumsum([0, *(len(one.scores) for one in own)]),
        )
        return case_bound(component.case, sets, self.slack / 32 * len(names) / len(self.place))

    def _check_memory(self, n: int) -> None:
        """Refuse to enumerate the sets of more features than fit into memory."""
        needed = (n + 2) << (n + 2)
        if needed > available_memory():
            raise SearchTooLargeError(
                f"enumerating all sets of {n} features again takes {human_bytes(needed)}; "
                f"{human_bytes(available_memory())} is available"
            )

    def _best_of_lists(self, names: tuple[Hashable, ...]) -> Floats:
        """Return the best local scores over subsets of parents within a component; see :func:`best_totals`."""
        n = len(names)
        best = np.full((n, 1 << (n - 1)), -np.inf)
        places = [self.place[name] for name in names]
        assert self._lists is not None
        for k, name in enumerate(names):
            own = self._lists[self.place[name]]
            within = unpack(own.masks, len(self.place))[:, places[:k] + places[k + 1 :]]
            np.maximum.at(best[k], within @ (1 << np.arange(n - 1)), own.scores)
        return _over_subsets(best)

    def _best_of_all(self) -> Floats:
        """Return the best local scores over subsets of parents, every family scored."""
        table, score, n = self.table, self.proof.score, len(self.place)
        sets = np.arange(1 << (n - 1))
        best = np.full((n, 1 << (n - 1)), -np.inf)
        order, values = table.vocabulary.features, None
        if has_set_scores(score):
            problem = prepare(table, score, self.constraints.max_parents + 1)
            order = problem.features
            threads, deadline = thread_count(None), Deadline()
            values = set_scorer(problem)(problem, threads, deadline, None)
            values = at_all_levels(problem, values, table, score, threads, deadline, None)
        for k, child in enumerate(order):
            without_child = (sets >> k << (k + 1)) | (sets & ((1 << k) - 1))
            bits = {name: 1 << b for b, name in enumerate(order)}
            must = sum(bits[name] for name in self.constraints.required[child])
            must_not = sum(bits[name] for name in self.constraints.forbidden[child])
            admitted = np.flatnonzero(
                (without_child & must == must)
                & (without_child & must_not == 0)
                & (np.bitwise_count(without_child) <= self.constraints.max_parents)
            )
            if values is not None:
                best[k, admitted] = values[without_child[admitted] | 1 << k] - values[without_child[admitted]]
                continue
            for s in admitted:
                parents = [name for name in order if without_child[s] & bits[name]]
                best[k, s] = score.local_score(table, child, [*table.vocabulary.common_parents, *parents])
        return _over_subsets(best)


def _sum(values: Sequence[float]) -> float:
    """Return the correctly rounded sum; infinite where it overflows."""
    try:
        return fsum(values)
    except OverflowError:
        return inf


def _over_subsets(best: Floats) -> Floats:
    """Replace, in every row, the value of each set by the maximum over its subsets."""
    for b in range(best.shape[1].bit_length() - 1):
        halves = best.reshape(len(best), -1, 2, 1 << b)
        np.maximum(halves[:, :, 1], halves[:, :, 0], out=halves[:, :, 1])
    return best
