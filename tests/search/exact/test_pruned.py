"""The search beyond the lattice: its optima against brute force and the lattice, its certificates, its limits."""

from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from math import inf
from time import process_time

import numpy as np
import oracles
import pytest
from deadlines import watch
from hypothesis import assume, given
from hypothesis import strategies as st
from numba.core.event import trigger_event
from strategies import Problem, random_problem
from test_candidates import BOUNDED, WEIGHTS, Looks, bounded_scores, candidate_problems, with_copies
from tiers import examples, repeats

import anbexact.search.exact.branch_and_cut as branch_and_cut
import anbexact.search.exact.possible_parents as configurations
import anbexact.search.exact.pruned as pruned
from anbexact import BDeu, SearchTooLargeError, learn_anb, verify
from anbexact._runtime.deadline import Deadline
from anbexact.scores import BIC, FNML, K2, LL
from anbexact.search.constraints import make_constraints
from anbexact.search.exact import exact_search, learn, plan
from anbexact.search.exact.parent_sets import ListMeans
from anbexact.search.exact.pruned import solve_pruned
from anbexact.search.scoring.totals import total_score


@pytest.fixture(name="_beyond")
def _forced(monkeypatch):
    """Let the search go by candidate lists, however few the features."""
    monkeypatch.setattr(plan, "LEAST_SECONDS_FOR_LISTS", -1.0)
    monkeypatch.setattr(plan.Plan, "fits", property(lambda _self: False))


def few_sets(patch, most_sets):
    """Let no more parent sets be scored."""
    made = pruned.candidate_lists

    def with_few(table, score, constraints, means, **kwargs):
        return made(table, score, constraints, means._replace(most_sets=most_sets), **kwargs)

    patch.setattr(pruned, "candidate_lists", with_few)


@pytest.fixture(name="_solver", params=["as is", "cuts"])
def _either_solver(request, monkeypatch):
    if request.param == "cuts":
        monkeypatch.setattr(branch_and_cut, "MOST_FEATURES_EXHAUSTED", 1)


def named(constraints):
    """Constraints on numbers as constraints on names."""
    edges = {key: [(f"f{a}", f"f{b}") for a, b in constraints.get(key, ())] for key in ("required", "forbidden")}
    return {"max_parents": constraints.get("max_parents"), **edges}


def solved(problem, score, *, seconds=None, most_sets=inf, memory=inf, **constraints):
    """Return what the pruned search finds, the door left aside."""
    table = problem.table
    limits = make_constraints(table.vocabulary.features, **named(constraints))
    return solve_pruned(table, score, limits, ListMeans(2, Deadline(seconds), memory, most_sets), complete=False)


def check(problem, score, structure, **constraints):
    """Everything that must hold of a structure, whether optimal or not."""
    number = {name: v for v, name in enumerate(problem.names)}
    parents = {number[child]: [number[p] for p in of_child] for child, of_child in structure.parents.items()}
    assert set(parents) == set(range(problem.n + 1))
    assert oracles.is_acyclic(parents)
    assert parents[problem.n] == []
    for child in range(problem.n):
        assert parents[child][0] == problem.n
        assert parents[child][1:] == sorted(set(parents[child][1:]))
        assert oracles.admitted(
            child, parents[child][1:], **{"max_parents": None, "required": (), "forbidden": (), **constraints}
        )
    certificate = structure.certificate
    assert structure.score == pytest.approx(total_score(problem.table, score, dict(structure.parents)), rel=1e-12)
    assert certificate.gap >= 0
    assert certificate.upper_bound >= structure.score
    assert certificate.optimal == (certificate.gap == 0)
    assert certificate.upper_bound - certificate.gap == pytest.approx(structure.score, rel=1e-12)


def brute_force(problem, score, **constraints):
    """The optimum, the class included, by all orders or best sinks."""
    table, known = problem.table, {}

    def local(child, parents):
        key = child, tuple(sorted(parents))
        if key not in known:
            known[key] = score.local_score(table, f"f{child}", ["c", *(f"f{v}" for v in key[1])])
        return known[key]

    search = oracles.best_over_orders if problem.n <= 4 else oracles.sink_optimum
    return score.local_score(table, "c", []) + search(range(problem.n), local, **constraints)


@cache
def searched_exhaustively(name, weights, seed):
    """A problem, constraints, and the structure found by going through all sets, or all families."""
    n = (6, 6, 9, 10)[seed] if name in ("BIC", "HQ") else (5, 5, 5, 6)[seed]
    problem = random_problem(100 + seed, n, n_rows=(30, 80, 150, 300)[seed], weights=weights, max_arity=3)
    if seed % 2:
        problem = with_copies(problem, seed)
    constraints = {}
    if seed > 1:
        constraints = {"max_parents": seed, "required": [(0, 3), (3, 4)], "forbidden": [(1, 0), (2, 4), (4, 1)]}
    return problem, constraints, learn_anb(problem.table, BOUNDED[name](), **named(constraints))


class TestOptimum:
    @examples(100)
    @given(case=candidate_problems(max_features=5), score=bounded_scores, exhausted=st.sampled_from([1, 14]))
    def test_equals_brute_force(self, case, score, exhausted):
        problem, constraints = case
        assume(score.bounded_at(sum(problem.weights)))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(branch_and_cut, "MOST_FEATURES_EXHAUSTED", exhausted)
            patch.setattr(plan, "LEAST_SECONDS_FOR_LISTS", -1.0)
            patch.setattr(plan.Plan, "fits", property(lambda _self: False))
            structure = learn_anb(problem.table, score, n_jobs=1, **named(constraints))
        expected = brute_force(problem, score, **constraints)
        assert structure.score == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert structure.certificate.optimal
        assert structure.certificate.method.startswith(("pruned search", "naive Bayes"))  # of features of one state
        check(problem, score, structure, **constraints)
        assert verify(structure, problem.table)

    @pytest.mark.usefixtures("_solver")
    @pytest.mark.parametrize("name", BOUNDED)
    @pytest.mark.parametrize("weights", WEIGHTS)
    def test_equals_the_lattice(self, name, weights):
        score = BOUNDED[name]()
        for seed in repeats(4):
            problem, constraints, exhaustive = searched_exhaustively(name, weights, seed)
            assert "dynamic programme" in exhaustive.certificate.method
            class_score = score.local_score(problem.table, "c", [])
            found = solved(problem, score, **constraints)
            assert found.total + class_score == pytest.approx(exhaustive.score, rel=1e-9)
            assert found.bound + class_score == pytest.approx(exhaustive.score, rel=1e-9)
            assert found.beyond == found.bound
            assert found.limit == ""
            assert found.proof.largest is None

    @pytest.mark.usefixtures("_solver")
    @pytest.mark.parametrize("ess", [0.01, 1.0, 3000.0])
    def test_equals_the_lattice_for_every_sample_size(self, ess):
        for seed in repeats(5):
            problem = with_copies(random_problem(200 + seed, 4 + seed % 3, n_rows=60, max_arity=3), seed)
            expected = learn_anb(problem.table, BDeu(ess)).score
            found = solved(problem, BDeu(ess))
            assert found.bound == pytest.approx(found.total, rel=1e-9)
            assert found.total + BDeu(ess).local_score(problem.table, "c", []) == pytest.approx(expected, rel=1e-9)

    @pytest.mark.usefixtures("_beyond")
    def test_many_copies(self):
        """Eight copies of one feature, with states renamed: the optimum needs none to be told from another."""
        problem = random_problem(7, 9, n_rows=60, max_arity=3, unseen=False)
        problem.rows = [(*((row[0] + v) % 3 for v in range(6)), *row[6:]) for row in problem.rows]
        problem.arities = [3] * 6 + problem.arities[6:]
        for score in (BDeu(1.0), BIC(), K2()):
            structure = learn_anb(problem.table, score)
            assert structure.certificate.optimal
            check(problem, score, structure)
            with pytest.MonkeyPatch.context() as patch:
                patch.undo()
                patch.setattr(plan.Plan, "prunes", False)
                patch.setattr(plan.Plan, "fits", property(lambda _self: True))
                lattice = learn_anb(problem.table, score)
            assert "dynamic programme" in lattice.certificate.method
            assert structure.score == pytest.approx(lattice.score, rel=1e-10)


class TestIncomplete:
    @pytest.mark.usefixtures("_solver")
    @pytest.mark.parametrize("most_sets", [0, 20, 60])
    @pytest.mark.parametrize("name", BOUNDED)
    def test_bounds_hold(self, name, most_sets):
        score = BOUNDED[name]()
        for seed in repeats(2):
            problem = random_problem(300 + seed, 5, n_rows=120, max_arity=3, weights=WEIGHTS[seed])
            found = solved(problem, score, most_sets=most_sets)
            best = brute_force(problem, score) - score.local_score(problem.table, "c", [])
            slack = 1e-9 * abs(best)
            assert found.total <= best + slack
            assert found.beyond >= best - slack
            assert found.beyond >= found.bound >= found.total
            if found.proof.largest is None:
                assert found.total == pytest.approx(best, rel=1e-9)
                continue
            assert found.limit
            of_few = brute_force(problem, score, max_parents=found.proof.largest)
            assert found.bound + score.local_score(problem.table, "c", []) == pytest.approx(of_few, rel=1e-9)
            assert found.total == pytest.approx(found.bound, rel=1e-9)

    @pytest.mark.usefixtures("_beyond")
    def test_method_says_what_is_proved(self, monkeypatch):
        few_sets(monkeypatch, 150)
        problem = random_problem(320, 8, n_rows=200)
        structure = learn_anb(problem.table)
        certificate = structure.certificate
        check(problem, BDeu(), structure)
        assert not certificate.optimal
        assert certificate.gap > 0
        k = certificate.proof.largest
        assert k is not None
        assert certificate.method == (
            f"pruned search; proved optimal among structures with at most {k} feature parent{'s' * (k > 1)}; "
            "larger parent sets were not enumerated: there are more than 150 to score"
        )
        monkeypatch.undo()
        assert structure.score == pytest.approx(learn_anb(problem.table, max_parents=k).score, rel=1e-10)
        assert certificate.upper_bound >= learn_anb(problem.table).score
        assert certificate.sets_scored <= 150

    def test_complete_or_nothing(self):
        problem = random_problem(321, 6)
        constraints = make_constraints(problem.table.vocabulary.features, None, (), ())
        found = [
            solve_pruned(problem.table, BDeu(), constraints, ListMeans(1, Deadline(), inf, most), complete=True)
            for most in (10, inf)
        ]
        assert found[0] is None
        assert found[1].limit == ""

    @pytest.mark.parametrize("seconds", [1e-9, 0.05, pytest.param(0.3, marks=pytest.mark.slow)])
    @pytest.mark.parametrize("score", [BDeu(1.0), BIC(), LL(), K2()], ids=str)
    def test_time(self, score, seconds, monkeypatch):
        problem = random_problem(330, 34, n_rows=300, max_arity=3)
        deadlines = watch(monkeypatch, learn)
        structure = learn_anb(problem.table, score, time_limit=seconds)
        assert deadlines[0].late < 20
        check(problem, score, structure)
        certificate = structure.certificate
        assert certificate.method.startswith("pruned search")
        if not certificate.optimal:
            assert certificate.upper_bound > structure.score
            assert "stopped by time_limit" in certificate.method or "not enumerated" in certificate.method
        if seconds < 0.01:
            assert not certificate.optimal

    @pytest.mark.usefixtures("_beyond")
    @pytest.mark.parametrize("looks", [0, 8, 11, 14])
    @pytest.mark.parametrize("name", BOUNDED)
    def test_rows_not_laid_out_in_time(self, name, looks, monkeypatch):
        """What was not laid out has the required parents, and a bound; the statement is true and can be checked."""
        monkeypatch.setattr(learn, "Deadline", lambda _seconds: Looks(looks))
        score = BOUNDED[name]()
        problem = random_problem(333, 6, n_rows=80)
        constraints = {"required": [(0, 3), (3, 4)]}
        structure = learn_anb(problem.table, score, n_jobs=1, **named(constraints))
        check(problem, score, structure, **constraints)
        assert not structure.certificate.optimal
        assert structure.certificate.method.startswith("pruned search")
        assert "time_limit" in structure.certificate.method
        assert structure.certificate.upper_bound >= brute_force(problem, score, **constraints)
        assert verify(structure, problem.table)

    @pytest.mark.usefixtures("_beyond")
    def test_too_many_numbers_of_joint_states(self, monkeypatch):
        monkeypatch.setattr(configurations, "MOST_CONFIGURATION_COUNTS", 8)
        problem = random_problem(334, 7, n_rows=80, max_arity=5)
        structure = learn_anb(problem.table)
        check(problem, BDeu(), structure)
        assert structure.certificate.method == (
            "pruned search; proved optimal among structures with at most 2 feature parents; "
            "larger parent sets were not enumerated: they have too many distinct numbers of joint states"
        )
        assert structure.certificate.upper_bound >= brute_force(problem, BDeu())
        assert verify(structure, problem.table)

    @pytest.mark.slow
    @pytest.mark.parametrize("score", [BDeu(1.0), BIC()], ids=str)
    def test_memory(self, score):
        problem = random_problem(331, 30, n_rows=200, max_arity=3)
        with pytest.raises(SearchTooLargeError, match=r"30 features.*memory_limit"):
            learn_anb(problem.table, score, memory_limit=20_000)
        largest = set()
        for memory in (3e7, 1e8):
            structure = learn_anb(problem.table, score, memory_limit=memory, max_parents=3)
            check(problem, score, structure, max_parents=3)
            largest.add(structure.certificate.proof.largest)
        assert largest - {None}

    def test_interrupt(self):
        problem = random_problem(332, 40, n_rows=200, max_arity=2)

        def interrupt(phase, fraction):
            if "size 2" in phase and fraction > 0.2:
                raise KeyboardInterrupt

        with pytest.warns(UserWarning, match="interrupted: this is the best structure found so far"):
            structure = learn_anb(problem.table, BDeu(1.0), n_jobs=2, progress=interrupt)
        check(problem, BDeu(1.0), structure)
        assert not structure.certificate.optimal
        assert structure.certificate.proof.largest == 1
        assert "interrupt" in structure.certificate.method


class TestDoor:
    def test_small_tables_go_through_the_lattice(self):
        problem = random_problem(400, 8)
        assert learn_anb(problem.table).certificate.method == "lattice dynamic programme"
        assert learn_anb(problem.table, K2()).certificate.method == "dynamic programme over families"
        assert learn_anb(problem.table, FNML()).certificate.method == "dynamic programme over families"

    @pytest.mark.slow
    @pytest.mark.parametrize(("score", "limit"), [(BIC(), 1), (BDeu(1.0), 1), (K2(), None), (LL(), 1)], ids=str)
    def test_more_features_than_the_lattice_takes(self, score, limit):
        """Which of the equally good networks is the first takes long to decide, but for K2."""
        problem = random_problem(401, 66, n_rows=60, max_arity=2)
        structure = learn_anb(problem.table, score, max_parents=1, time_limit=limit)
        check(problem, score, structure, max_parents=1)
        assert structure.certificate.method.startswith("pruned search among structures with at most 1 feature parent")
        naive = learn_anb(problem.table, score, max_parents=0)
        assert naive.certificate.optimal
        assert structure.score > naive.score

    @pytest.mark.slow
    def test_k2_with_twenty_features(self):
        problem = random_problem(402, 20, n_rows=40, max_arity=2)
        structure = learn_anb(problem.table, K2(), time_limit=5)
        check(problem, K2(), structure)
        assert structure.certificate.method.startswith("pruned search")
        with pytest.raises(SearchTooLargeError, match="no set scores"):
            learn_anb(problem.table, FNML())

    @pytest.mark.parametrize("few", [True, False])
    def test_the_lattice_helps_out_where_lists_are_not_complete(self, few, monkeypatch):
        """Where both fit, lists that are not complete are dropped; complete ones are the answer."""
        problem = random_problem(403, 8, n_rows=100)
        expected = learn_anb(problem.table)
        monkeypatch.setattr(plan, "LEAST_SECONDS_FOR_LISTS", -1.0)
        if few:
            few_sets(monkeypatch, 5)
        else:
            monkeypatch.setattr(plan.Plan, "seconds", 1e6)
        structure = learn_anb(problem.table)
        assert structure.certificate.method == ("lattice dynamic programme" if few else "pruned search")
        assert structure.score == pytest.approx(expected.score, rel=1e-12)
        assert structure.certificate.optimal

    @pytest.mark.parametrize("compiled", [True, False])
    @pytest.mark.parametrize("listed", [True, False])
    def test_the_time_in_which_kernels_are_compiled_does_not_count_in_a_trial(self, compiled, listed, monkeypatch):
        problem = random_problem(405, 8, n_rows=100)
        expected = learn_anb(problem.table)
        monkeypatch.setattr(plan, "LEAST_SECONDS_FOR_LISTS", -1.0)
        monkeypatch.setattr(plan.Plan, "seconds", 1.0)
        trials = []

        def slow_at_first(table, score, constraints, means, **kwargs):
            deadline = means.deadline
            trials.append(deadline.seconds)
            found = solve_pruned(table, score, constraints, means, **kwargs)
            began = process_time()
            with trigger_event("numba:compile") if compiled else nullcontext():
                while process_time() - began < 2 * plan.TRIAL_SHARE:  # a trial goes by processor time
                    sum(range(10_000))
            assert deadline.passed != compiled
            if compiled:
                return found
            return replace(found, bound=inf) if listed else None

        monkeypatch.setattr(exact_search, "solve_pruned", slow_at_first)
        structure = learn_anb(problem.table, n_jobs=1)
        assert structure.certificate.method == ("pruned search" if compiled else "lattice dynamic programme")
        assert trials == [plan.TRIAL_SHARE]
        assert structure.score == pytest.approx(expected.score, rel=1e-12)
        assert structure.certificate.optimal

    def test_thirty_two_features_by_few_of_their_sets(self):
        rng = np.random.default_rng(404)
        codes = rng.integers(0, 3, (300, 33))
        for v in range(1, 16, 2):
            kept = rng.random(300) < 0.7
            codes[kept, v] = codes[kept, v - 1]
        codes[:, -1] %= 2
        rows = [tuple(row) for row in codes.tolist()]
        problem = Problem(rows, [1.0] * 300, [3] * 32 + [2])
        structure = learn_anb(problem.table, BIC())
        certificate = structure.certificate
        assert certificate.sets_scored < 200_000
        assert certificate.optimal
        assert certificate.method == "pruned search"
        assert certificate.proof.largest is None
        joined = {frozenset(edge) for edge in structure.feature_edges}
        assert joined >= {frozenset((f"f{v}", f"f{v - 1}")) for v in range(1, 16, 2)}
        check(problem, BIC(), structure)
        assert verify(structure, problem.table)
