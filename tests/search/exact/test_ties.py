"""Ties between equally good networks: one rule, whichever search finds the optimum."""

from itertools import pairwise

import numpy as np
import oracles
import pytest
from forced import force
from hypothesis import given
from hypothesis import strategies as st
from strategies import random_problem, table_of
from test_candidates import WEIGHTS
from tiers import examples

import anbexact.search.exact.ties as ties
from anbexact import BDeu, learn_anb, learn_gbn, verify
from anbexact._runtime.deadline import Deadline
from anbexact.models.proof import Component, Duals
from anbexact.scores import AIC, BIC, FNML, K2, LL, QNML
from anbexact.search.exact import plan
from anbexact.search.exact.branch_and_cut import solve_lists
from anbexact.search.exact.parent_sets import ParentSets, pack
from anbexact.search.exact.solution import first_optimum
from anbexact.search.exact.tight_choices import tight_cases

SCORES = [BDeu(0.1), BDeu(1.0), BDeu(10.0), K2(), LL(), AIC(), BIC(), QNML()]


def by_lists(table, score, exhausted, learn=learn_anb, **limits):
    """What the search by candidate lists returns, components of more features than this by branch and cut."""
    with pytest.MonkeyPatch.context() as patch:
        force(patch, exhausted)
        structure = learn(table, score, **limits)
    assert "pruned search" in structure.certificate.method
    return structure


class TestTheSearchDoesNotDecide:
    @given(
        st.integers(0, 2**32), st.integers(2, 5), st.integers(3, 30), st.sampled_from(SCORES),
        st.sampled_from(WEIGHTS), st.sampled_from([None, 1, 2]),
    )  # fmt: skip
    @examples(30, quick=6)
    def test_small_tables(self, seed, n, n_rows, score, weights, max_parents):
        table = random_problem(seed, n, n_rows=n_rows, max_arity=2 + seed % 2, weights=weights).table
        usual = learn_anb(table, score, max_parents=max_parents)
        assert "dynamic programme" in usual.certificate.method
        for exhausted in (1, 14):
            other = by_lists(table, score, exhausted, max_parents=max_parents)
            assert dict(other.parents) == dict(usual.parents)
            assert other.certificate.optimal
            assert verify(other, table)

    @pytest.mark.parametrize("seed", range(6))
    def test_copies_of_columns(self, seed):
        """The lists leave out most sets with copies, which the rule may choose all the same."""
        problem = random_problem(seed, 3, n_rows=40, max_arity=3)
        rows = [(*row[:-1], row[seed % 3], row[0], row[-1]) for row in problem.rows]
        arities = [*problem.arities[:-1], problem.arities[seed % 3], problem.arities[0], problem.arities[-1]]
        order = [*np.random.default_rng(seed).permutation(5).tolist(), 5]
        table = table_of([[row[k] for k in order] for row in rows], problem.weights, [arities[k] for k in order])
        for score in SCORES:
            usual = learn_anb(table, score)
            for exhausted in (1, 14):
                assert dict(by_lists(table, score, exhausted).parents) == dict(usual.parents)

    @pytest.mark.slow
    @pytest.mark.parametrize("weights", WEIGHTS)
    def test_networks_with_the_class_as_one_of_the_variables(self, weights):
        """Markov equivalent networks: arcs can be reversed wherever no other is forced by it."""
        for seed in range(4):
            n = 5 if seed == 0 else 4
            table = random_problem(700 + seed, n, n_rows=80, max_arity=3, weights=weights).table
            usual = learn_gbn(table)
            for exhausted in (1, 14):
                assert dict(by_lists(table, BDeu(), exhausted, learn_gbn).parents) == dict(usual.parents)

    @pytest.mark.slow
    @pytest.mark.parametrize("n", [13, 16])
    def test_more_features(self, n):
        table = random_problem(40 + n, n, n_rows=120, max_arity=3).table
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(plan, "LEAST_SECONDS_FOR_LISTS", 1e9)
            patch.setattr(plan, "LEAST_SECONDS_FOR_SHORT_LISTS", 1e9)
            usual = learn_anb(table, BDeu(10.0))
        assert "lattice" in usual.certificate.method
        for exhausted in (3, 14):
            assert dict(by_lists(table, BDeu(10.0), exhausted).parents) == dict(usual.parents)

    def test_every_family_scored(self, monkeypatch):
        """Memory decides whether families are enumerated for lists, or for a dynamic programme."""
        for seed in range(8):
            table = random_problem(800 + seed, 5, n_rows=12, max_arity=2).table
            usual = learn_anb(table, FNML(), max_parents=2)
            assert "families" in usual.certificate.method
            other = by_lists(table, FNML(), 14, max_parents=2)
            assert dict(other.parents) == dict(usual.parents)


class TestTheRule:
    """The rule on lists, against brute force over all acyclic choices."""

    @staticmethod
    def by_brute_force(lists, tie):
        """Last feature first, among all optimal choices: the sink whose set precedes all others'."""
        n = len(lists)
        choices = []

        def extend(chosen):
            if len(chosen) == n:
                if oracles.is_acyclic({i: parents for i, (parents, _) in enumerate(chosen)}):
                    choices.append(chosen)
                return
            for option in lists[len(chosen)]:
                extend([*chosen, option])

        extend([])
        left = set(range(n))
        found = {}
        while left:
            best = max(sum(choice[i][1] for i in left) for choice in choices)
            choices = [choice for choice in choices if sum(choice[i][1] for i in left) >= best - tie]
            options = [
                (len(choice[i][0]), choice[i][0], -i)
                for choice in choices
                for i in left
                if not any(i in choice[j][0] for j in left)
            ]
            _, parents, sink = min(options)
            found[-sink] = parents
            left.remove(-sink)
            choices = [
                choice
                for choice in choices
                if choice[-sink][0] == parents and not any(-sink in choice[j][0] for j in left)
            ]
        return found

    @pytest.mark.parametrize("exhausted", [1, 14])
    def test_random_lists(self, exhausted, monkeypatch):
        monkeypatch.setattr("anbexact.search.exact.branch_and_cut.MOST_FEATURES_EXHAUSTED", exhausted)
        for seed in range(150):
            rng = np.random.default_rng(seed)
            n = int(rng.integers(1, 5))
            lists = []
            for i in range(n):
                sets = {()}
                for _ in range(int(rng.integers(0, 4))):
                    sets.add(tuple(j for j in range(n) if j != i and rng.random() < 0.4))
                lists.append([(parents, -float(rng.integers(0, 3)) - (not parents)) for parents in sorted(sets)])
            own = []
            for options in lists:
                options.sort(key=lambda option: -option[1])
                masks = pack(np.array([[j in parents for j in range(n)] for parents, _ in options], dtype=bool))
                own.append(ParentSets(masks, np.array([score for _, score in options]), 0, "", -np.inf))
            choice = solve_lists(own, list(range(n)), 1e-7, Deadline(), None)
            found = ties.first_choice(own, range(n), choice, (), 1e-9, 1e-7, Deadline(), 1)
            assert found == self.by_brute_force(lists, 1e-9), seed

    @staticmethod
    def with_ties(seed, n, most):
        """Lists of n features with sets of up to so many parents, many with equal scores, and a choice among them."""
        rng = np.random.default_rng(seed)
        lists = []
        for i in range(n):
            sets = {()}
            for _ in range(int(rng.integers(0, 4))):
                sets.add(tuple(sorted(rng.permutation([j for j in range(n) if j != i])[: rng.integers(0, most + 1)])))
            lists.append([(tuple(map(int, p)), -float(rng.integers(0, 2)) - (not p)) for p in sorted(sets)])
        return lists

    @staticmethod
    def first_choice(lists):
        n, own = len(lists), []
        for options in lists:
            options = sorted(options, key=lambda option: -option[1])
            masks = pack(np.array([[j in parents for j in range(n)] for parents, _ in options], dtype=bool))
            own.append(ParentSets(masks, np.array([score for _, score in options]), 0, "", -np.inf))
        choice = solve_lists(own, list(range(n)), 1e-7, Deadline(), None)
        return ties.first_choice(own, range(n), choice, (), 1e-9, 1e-7, Deadline(), 1)

    @pytest.mark.parametrize("most", [1, 2])
    @pytest.mark.parametrize("exhausted", [1, 14])
    def test_few_parents(self, most, exhausted, monkeypatch):
        monkeypatch.setattr("anbexact.search.exact.branch_and_cut.MOST_FEATURES_EXHAUSTED", exhausted)
        for seed in range(150):
            lists = self.with_ties(seed, 2 + seed % 4, most)
            assert self.first_choice(lists) == self.by_brute_force(lists, 1e-9), seed

    @pytest.mark.parametrize("most", [1, 2])
    def test_without_the_proof(self, most, monkeypatch):
        """The proof of the best total only saves work: the choice is the same where each feature is left out anew."""
        monkeypatch.setattr("anbexact.search.exact.branch_and_cut.MOST_FEATURES_EXHAUSTED", 1)
        for seed in range(40):
            lists = self.with_ties(seed, 12, most)
            by_proof = self.first_choice(lists)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(ties, "tight_cases", lambda *_: [])
                assert self.first_choice(lists) == by_proof, seed

    @pytest.mark.parametrize("decisions", [0, 100])
    def test_undecided_choices_are_solved(self, decisions, monkeypatch):
        monkeypatch.setattr("anbexact.search.exact.branch_and_cut.MOST_FEATURES_EXHAUSTED", 1)
        monkeypatch.setattr("anbexact.search.exact.tight_choices.MOST_DECISIONS", decisions)
        for seed in range(40):
            lists = self.with_ties(seed, 5, 2)
            assert self.first_choice(lists) == self.by_brute_force(lists, 1e-9), seed

    @pytest.mark.parametrize(("multiplier", "least"), [(2.0, [1]), (0.5, [])])
    def test_only_multipliers_that_no_optimal_choice_can_lose_exclude(self, multiplier, least):
        features = tuple(range(3))
        proof = [Component(features, 0.0, Duals(((features, 1, multiplier),)))]
        cases = tight_cases(proof, {j: j for j in features}, 0b111, [[0, 1], [0, 1], [0, 2]], 1.0)
        assert [cluster for case in cases for cluster in case.clusters] == [(0b111, k) for k in least]

    def test_the_proof_saves_searches(self, monkeypatch):
        """A chain of features, whose arcs can all be reversed: only its ends can be last."""
        n, solved = 40, []
        monkeypatch.setattr(ties._TieBreaker, "_solved", lambda *arguments: solved.append(arguments))
        order = np.random.default_rng(0).permutation(n).tolist()
        lists = [[((), -1.0)] for _ in range(n)]
        for a, b in pairwise(order):
            lists[a].append(((b,), 0.0))
            lists[b].append(((a,), 0.0))
        found = self.first_choice(lists)
        assert sum(map(len, found.values())) == n - 1
        assert not solved

    def test_features_without_arcs_between_them_are_chosen_apart(self, monkeypatch):
        """Ten groups, in a random order of the features, each as if it were alone; no other features are solved."""
        sizes, solved = [], ties.best_branching

        def counted(part):
            sizes.append(part.n)
            return solved(part)

        rng = np.random.default_rng(1)
        paths = [[((), -1.0), *(((j,), 0.0) for j in (i - 1, i + 1) if j in range(4))] for i in range(4)]
        groups = [paths if seed % 2 else self.with_ties(seed, 4, 1) for seed in range(10)]
        place = rng.permutation(40).reshape(10, 4)
        place.sort(axis=1)
        together = [None] * 40
        expected = {}
        for own, at in zip(groups, place.tolist(), strict=True):
            for i, options in enumerate(own):
                together[at[i]] = [(tuple(at[j] for j in parents), score) for parents, score in options]
            alone = self.by_brute_force(own, 1e-9)
            expected |= {at[i]: tuple(at[j] for j in parents) for i, parents in alone.items()}
        monkeypatch.setattr(ties, "best_branching", counted)
        assert self.first_choice(together) == expected
        assert sizes
        assert max(sizes) <= 3

    def test_kept_sets(self):
        """A set is kept if, and by exhaustion only if, an optimal choice holds it."""
        for seed in range(60):
            rng = np.random.default_rng(seed)
            n = 4
            own, lists = [], []
            for i in range(n):
                sets = {(), *(tuple(j for j in range(n) if j != i and rng.random() < 0.4) for _ in range(3))}
                options = sorted(((p, -float(rng.integers(0, 4))) for p in sorted(sets)), key=lambda o: -o[1])
                lists.append(options)
                masks = pack(np.array([[j in parents for j in range(n)] for parents, _ in options], dtype=bool))
                own.append(ParentSets(masks, np.array([score for _, score in options]), 0, "", -np.inf))
            choice = solve_lists(own, list(range(n)), 1e-7, Deadline(), None)
            best, optimal = -np.inf, []
            for pick in np.ndindex(*map(len, lists)):
                if oracles.is_acyclic({i: lists[i][k][0] for i, k in enumerate(pick)}):
                    total = sum(lists[i][k][1] for i, k in enumerate(pick))
                    if total > best:
                        best, optimal = total, []
                    if total == best:
                        optimal.append(pick)
            assert choice.total == best
            for i in range(n):
                assert choice.kept()[i].tolist() == sorted({pick[i] for pick in optimal})

    def test_first_optimum_takes_the_preferred_sink(self):
        seen = []

        def sinks(members):
            seen.append(members)
            return [(b, ()) for b in range(3) if members >> b & 1]

        assert list(first_optimum(0b111, sinks)) == [2, 1, 0]
        assert seen == [7, 3, 1]


class TestTooMuch:
    @pytest.mark.parametrize(("name", "value"), [("MOST_SETS", 3), ("MOST_NODES", 0)])
    def test_what_was_found_stays(self, name, value, monkeypatch):
        """Where breaking the ties would take too much, an optimal structure is returned all the same."""
        table = random_problem(41, 9, n_rows=60, max_arity=2).table
        usual = by_lists(table, BDeu(10.0), 1)
        monkeypatch.setattr(ties, name, value)
        again = by_lists(table, BDeu(10.0), 1)
        assert again.score == pytest.approx(usual.score, abs=1e-7)
        assert again.certificate.optimal
        assert verify(again, table)
