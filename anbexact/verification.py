"""A check of certificates that repeats no search."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from anbexact._kernels.families import best_totals
from anbexact.limits import Deadline, SearchTooLargeError, available_memory, human_bytes, thread_count
from anbexact.proof import Case, Component, Duals, Exhaustion, Proof, Split
from anbexact.scores import SetScore, Universal
from anbexact.search.candidates import Candidates, has_candidates
from anbexact.search.constraints import Constraints, make_constraints
from anbexact.search.enumerated import EnumeratedLists
from anbexact.search.lattice import all_set_scores
from anbexact.search.naive_bayes import class_of, total_score
from anbexact.search.optimum import rounding_error
from anbexact.search.parent_sets import unpack
from anbexact.search.pruned import parent_set_lists
from anbexact.search.set_scores import prepare
from anbexact.search.single_states import single_states
from anbexact.structure import Structure
from anbexact.table import DiscreteTable

Floats = npt.NDArray[np.float64]


def verify(structure: Structure, table: DiscreteTable) -> bool:
    """Check, from the table, that the score of a structure and what its certificate states are right.

    The score is recomputed, family by family. Then the bound: the candidate lists are made anew (their bounds are
    what is taken on trust), and with them every case of the proof is checked,

        Σ_i max_W [local(i | W) + Σ_{K ∋ i, |K ∩ W| < k_K} z_K] - Σ_K k_K z_K ≤ bound, z ≥ 0,

    W going through the parent sets of i that the case admits. A component that was gone through by dynamic
    programming is gone through again, by a plain one.

    Parameters
    ----------
    structure : Structure
        As :func:`~anbexact.learn_anb` or :func:`~anbexact.learn_gbn` returned it.
    table : DiscreteTable
        The table from which it was learned.

    Returns
    -------
    bool
        Whether everything holds, to within rounding.

    Raises
    ------
    ValueError
        If the certificate carries no proof, or the table has other variables than the structure.
    SearchTooLargeError
        If all sets of features were gone through, and going through them again takes more memory than there is.

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
            "unless the time runs out in a search through all sets of features"
        )
    class_name = class_of(table)
    if set(structure.parents) != set(table.vocabulary.names) or structure.class_name != class_name:
        raise ValueError(
            f"the structure has the class {structure.class_name!r} and the features {list(structure.features)}, the "
            f"table the class {class_name!r} and the features {list(table.vocabulary.features)}"
        )
    shared_out = [name for component in proof.components for name in component.features]
    if proof.apart:
        alone = all(
            name in table.vocabulary.features and not structure.parents[name] and not structure.children(name)
            for name in proof.apart
        )
        return alone and verify(*_without(structure, proof, table, proof.apart))
    above = () if class_name in shared_out else (class_name,)
    unsearched = single_states(table, proof.score, shared_out)
    if unsearched:
        below_class = all(structure.parents[name] == above and not structure.children(name) for name in unsearched)
        return below_class and verify(*_without(structure, proof, table, unsearched))
    if class_name in shared_out:  # a general network
        table = table.without_class()
    features, common = table.vocabulary.features, table.vocabulary.common_parents
    constraints = make_constraints(features, proof.max_parents, proof.required, proof.forbidden)
    total = total_score(table, proof.score, dict(structure.parents))
    of_class = sum(proof.score.local_score(table, name, []) for name in common)
    slack = rounding_error(table, total)
    if len(shared_out) != len(features) or set(shared_out) != set(features):
        return False
    check = _Check(table, proof, constraints, slack)
    if not (check.whole or has_candidates(table, proof.score) or proof.max_parents < len(features) - 1):
        return False
    bound = of_class + sum(component.bound for component in proof.components)
    stated = bound if proof.largest is None else of_class + check.bound_beyond()
    return (
        _is_admitted(structure, constraints, common)
        and abs(structure.score - total) <= slack
        and abs(certificate.upper_bound - certificate.gap - structure.score) <= slack
        and (certificate.gap <= slack or not certificate.optimal)
        and stated <= certificate.upper_bound + slack
        and (proof.largest is None or bound - structure.score <= proof.gap + slack)
        and all(check.component(component) for component in proof.components)
    )


def _without(
    structure: Structure, proof: Proof, table: DiscreteTable, apart: Collection[Hashable]
) -> tuple[Structure, DiscreteTable]:
    """Return structure and table without the features that stand apart, which have no children."""
    alone = sum(proof.score.local_score(table, name, structure.parents[name]) for name in apart)
    certificate = structure.certificate
    stated = replace(certificate, upper_bound=certificate.upper_bound - alone, proof=replace(proof, apart=()))
    parents = {name: of_name for name, of_name in structure.parents.items() if name not in apart}
    rest = Structure(structure.class_name, parents, structure.score - alone, stated)
    return rest, table.restricted(parents)


def _is_admitted(structure: Structure, constraints: Constraints, common: Collection[Hashable]) -> bool:
    """Return whether the common parents are parents of all others, and the other parents are admitted."""
    return not any(structure.parents[name] for name in common) and all(
        set(common) <= set(of_child) and constraints.admits(child, (name for name in of_child if name not in common))
        for child, of_child in structure.parents.items()
        if child not in common
    )


class _Check:
    """The components of a proof against a table."""

    def __init__(self, table: DiscreteTable, proof: Proof, constraints: Constraints, slack: float) -> None:
        self.table, self.proof, self.constraints, self.slack = table, proof, constraints, slack
        self.place = {name: k for k, name in enumerate(table.vocabulary.features)}
        cases = [type(part.case) for part in proof.components]
        self.whole = proof.largest is None and cases in ([], [Exhaustion])
        self._made: Candidates | EnumeratedLists | None = None

    def _candidates(self) -> Candidates | EnumeratedLists:
        """Make the candidate lists anew."""
        if self._made is None:
            self._made = parent_set_lists(
                self.table, self.proof.score, self.constraints, threads=thread_count(None), deadline=Deadline(),
                memory=np.inf, most_sets=np.inf, largest=self.proof.largest, progress=None,
            )  # fmt: skip
        return self._made

    def bound_beyond(self) -> float:
        """Return a bound on the score of all features, parent sets that were not gone through included."""
        return sum(max(float(own.scores[0]), own.beyond) for own in self._candidates().lists)

    def component(self, component: Component) -> bool:
        """Return whether the bound of a component holds."""
        names = component.features
        if isinstance(component.case, Exhaustion):
            best = self._best_of_all() if self.whole else self._best_of_lists(names)
            return float(best_totals(best)[-1]) <= component.bound + self.slack
        lists = self._candidates().lists
        members = {name: unpack(lists[self.place[name]].masks, len(self.place)) for name in names}
        scores = {name: lists[self.place[name]].scores for name in names}
        return self._case(component.case, members, scores, component.bound + self.slack)

    def _case(
        self,
        case: Case,
        members: Mapping[Hashable, npt.NDArray[np.bool_]],
        scores: Mapping[Hashable, Floats],
        bound: float,
    ) -> bool:
        """Return whether no acyclic choice among these parent sets scores above the bound."""
        if isinstance(case, Split):
            parent, child = case.parent, case.child
            if parent == child or parent not in members or child not in members:
                return False
            has = members[child][:, self.place[parent]]
            turned = members[parent][:, self.place[child]]
            absent = {child: ~has}
            present = {child: has, parent: ~turned}
            return self._case(case.absent, *_restricted(members, scores, absent), bound) and self._case(
                case.present, *_restricted(members, scores, present), bound
            )
        if not isinstance(case, Duals) or any(
            not (np.isfinite(z) and z >= 0 and 1 <= least < len(cluster) == len(set(cluster)))
            or not set(cluster) <= set(members)
            for cluster, least, z in case.clusters
        ):
            return False
        reached = {name: own.copy() for name, own in scores.items()}
        for cluster, least, z in case.clusters:
            places = [self.place[name] for name in cluster]
            for name in cluster:
                reached[name][members[name][:, places].sum(axis=1) < least] += z
        owed = sum(least * z for _, least, z in case.clusters)
        return sum(float(own.max(initial=-np.inf)) for own in reached.values()) - owed <= bound

    def _best_of_lists(self, names: tuple[Hashable, ...]) -> Floats:
        """Return the best local scores over subsets of parents within a component; see :func:`best_totals`."""
        n = len(names)
        best = np.full((n, 1 << (n - 1)), -np.inf)
        places = [self.place[name] for name in names]
        for k, name in enumerate(names):
            own = self._candidates().lists[self.place[name]]
            within = unpack(own.masks, len(self.place))[:, places[:k] + places[k + 1 :]]
            np.maximum.at(best[k], within @ (1 << np.arange(n - 1)), own.scores)
        return _over_subsets(best)

    def _best_of_all(self) -> Floats:
        """Return the best local scores over subsets of parents, every family scored."""
        table, score, n = self.table, self.proof.score, len(self.place)
        needed = (n + 2) << (n + 2)
        if needed > available_memory():
            raise SearchTooLargeError(
                f"to go through all sets of {n} features again takes {human_bytes(needed)}; "
                f"{human_bytes(available_memory())} is available"
            )
        sets = np.arange(1 << (n - 1))
        best = np.full((n, 1 << (n - 1)), -np.inf)
        order, values = table.vocabulary.features, None
        if isinstance(score, SetScore | Universal) and score.has_set_score:
            problem = prepare(table, score, self.constraints.max_parents + 1)
            order = problem.features
            values = all_set_scores(problem, table, score, thread_count(None), Deadline(), None)
        for k, child in enumerate(order):
            with_gap = (sets >> k << (k + 1)) | (sets & ((1 << k) - 1))
            bits = {name: 1 << b for b, name in enumerate(order)}
            must = sum(bits[name] for name in self.constraints.required[child])
            must_not = sum(bits[name] for name in self.constraints.forbidden[child])
            admitted = np.flatnonzero(
                (with_gap & must == must)
                & (with_gap & must_not == 0)
                & (np.bitwise_count(with_gap) <= self.constraints.max_parents)
            )
            if values is not None:
                best[k, admitted] = values[with_gap[admitted] | 1 << k] - values[with_gap[admitted]]
                continue
            for s in admitted:
                parents = [name for name in order if with_gap[s] & bits[name]]
                best[k, s] = score.local_score(table, child, [*table.vocabulary.common_parents, *parents])
        return _over_subsets(best)


def _restricted(
    members: Mapping[Hashable, npt.NDArray[np.bool_]],
    scores: Mapping[Hashable, Floats],
    kept: Mapping[Hashable, npt.NDArray[np.bool_]],
) -> tuple[dict[Hashable, npt.NDArray[np.bool_]], dict[Hashable, Floats]]:
    """Return the parent sets that a case admits."""
    return (
        {name: own[kept[name]] if name in kept else own for name, own in members.items()},
        {name: own[kept[name]] if name in kept else own for name, own in scores.items()},
    )


def _over_subsets(best: Floats) -> Floats:
    """Replace, in every row, the value of each set by the maximum over its subsets."""
    for b in range(best.shape[1].bit_length() - 1):
        halves = best.reshape(len(best), -1, 2, 1 << b)
        np.maximum(halves[:, :, 1], halves[:, :, 0], out=halves[:, :, 1])
    return best
