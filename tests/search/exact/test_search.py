"""Searches: against brute force and a plain dynamic programme; constraints, limits, ties."""

import io
import signal
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count, pairwise

import numpy as np
import oracles
import pandas as pd
import pytest
from deadlines import watch
from hypothesis import given
from hypothesis import strategies as st
from strategies import (
    SCORES,
    SEARCHES,
    Problem,
    constrained_problems,
    ess_values,
    numbered,
    problems,
    random_problem,
    table_of,
)
from tiers import examples

import anbexact.search.exact.by_family as families
import anbexact.search.exact.lattice as lattice
import anbexact.search.exact.possible_parents as configurations
from anbexact import BDeu, DiscreteTable, SearchTooLargeError, learn_anb, learn_naive_bayes
from anbexact._kernels.lattice import ParentLimits, first_parent_sets
from anbexact._runtime import deadline as deadlines
from anbexact._runtime import progress as progress_module
from anbexact._runtime import tasks
from anbexact._runtime.deadline import Deadline
from anbexact.scores import FNML, K2, QNML
from anbexact.search.constraints import make_constraints
from anbexact.search.exact import exact_search, learn, plan
from anbexact.search.scoring import set_scores
from anbexact.search.scoring.totals import total_score

WEIGHTS = ["ones", "whole", "real", "mixed"]


def check_structure(structure, problem, ess, max_parents=None, required=(), forbidden=()):
    """Everything that must hold of a structure, whether optimal or not."""
    number = {name: v for v, name in enumerate(problem.names)}
    parents = {number[child]: [number[p] for p in of_child] for child, of_child in structure.parents.items()}
    assert set(parents) == set(range(problem.n + 1))
    assert oracles.is_acyclic(parents)
    assert parents[problem.n] == []
    for child in range(problem.n):
        assert parents[child][0] == problem.n
        assert parents[child][1:] == sorted(set(parents[child][1:]))
        assert oracles.admitted(child, parents[child][1:], max_parents, required, forbidden)
    score = oracles.structure_score(problem.rows, problem.weights, problem.arities, parents, ess)
    assert structure.score == pytest.approx(score, rel=1e-10, abs=1e-10)
    certificate = structure.certificate
    assert certificate.gap >= 0
    assert certificate.upper_bound >= structure.score
    assert certificate.gap == pytest.approx(certificate.upper_bound - structure.score, abs=1e-9)
    return parents


def plain_optimum(problem, ess, **constraints):
    """The optimum by the plain dynamic programme, class included."""
    scores = oracles.all_set_scores(problem.rows, problem.weights, problem.arities, ess)
    class_score = oracles.bdeu_local(problem.rows, problem.weights, problem.arities, problem.n, [], ess)
    return class_score + oracles.lattice_optimum(scores, problem.n, **constraints)[-1]


class TestOptimum:
    @pytest.mark.parametrize("low_bits", [1, 2, 12])
    @given(problem=problems(max_features=4), ess=ess_values)
    def test_equals_brute_force(self, low_bits, problem, ess):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lattice, "LOW_BITS", low_bits)
            structure = learn_anb(problem.table, BDeu(ess), n_jobs=1)
        expected = oracles.anb_optimum(problem.rows, problem.weights, problem.arities, ess)
        assert structure.score == pytest.approx(expected, rel=1e-10, abs=1e-10)
        assert structure.certificate.optimal
        assert structure.certificate.gap == 0
        check_structure(structure, problem, ess)

    @pytest.mark.parametrize("low_bits", [1, 3, 12])
    @given(case=constrained_problems(min_features=2, max_features=4), ess=ess_values)
    def test_equals_brute_force_under_constraints(self, low_bits, case, ess):
        problem, constraints = case
        arguments = {
            "max_parents": constraints["max_parents"],
            "required": numbered(constraints["required"]),
            "forbidden": numbered(constraints["forbidden"]),
        }
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lattice, "LOW_BITS", low_bits)
            structure = learn_anb(problem.table, BDeu(ess), n_jobs=1, **arguments)
        expected = oracles.anb_optimum(problem.rows, problem.weights, problem.arities, ess, **constraints)
        assert structure.score == pytest.approx(expected, rel=1e-10, abs=1e-10)
        assert structure.certificate.optimal
        check_structure(structure, problem, ess, **constraints)

    @pytest.mark.parametrize("weights", WEIGHTS)
    @pytest.mark.parametrize(("n", "low_bits"), [(5, 1), (6, 2), (7, 3), (8, 2), (9, 4), (10, 3)])
    def test_equals_the_plain_dynamic_programme(self, n, low_bits, weights, monkeypatch):
        monkeypatch.setattr(lattice, "LOW_BITS", low_bits)
        problem = random_problem(n, n, n_rows=120, weights=weights)
        structure = learn_anb(problem.table, BDeu(1.0))
        assert structure.score == pytest.approx(plain_optimum(problem, 1.0), rel=1e-10)
        assert structure.feature_edges
        check_structure(structure, problem, 1.0)

    @pytest.mark.slow
    def test_equals_the_plain_dynamic_programme_on_twelve_features(self):
        problem = random_problem(12, 12, n_rows=100)
        for low_bits in (4, 12):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(lattice, "LOW_BITS", low_bits)
                structure = learn_anb(problem.table)
            assert structure.score == pytest.approx(plain_optimum(problem, 1.0), rel=1e-10)
            check_structure(structure, problem, 1.0)

    @pytest.mark.parametrize("low_bits", [1, 2, 3, 12])
    @pytest.mark.parametrize("max_parents", [0, 1, 2, 3])
    def test_constraints_on_seven_features(self, low_bits, max_parents, monkeypatch):
        monkeypatch.setattr(lattice, "LOW_BITS", low_bits)
        problem = random_problem(70 + max_parents, 7, n_rows=90, weights="mixed")
        constraints = {
            "max_parents": max_parents,
            "required": [(0, 6), (6, 3)][: 2 * min(max_parents, 1)],
            "forbidden": [(1, 0), (0, 1), (2, 4), (5, 4), (4, 5)],
        }
        structure = learn_anb(
            problem.table,
            max_parents=max_parents,
            required=numbered(constraints["required"]),
            forbidden=numbered(constraints["forbidden"]),
        )
        assert structure.score == pytest.approx(plain_optimum(problem, 1.0, **constraints), rel=1e-10)
        check_structure(structure, problem, 1.0, **constraints)

    @pytest.mark.parametrize("ess", [0.1, 1.0, 50.0])
    def test_does_not_depend_on_the_order_of_rows_features_and_states(self, ess):
        problem = random_problem(4, 6, n_rows=80, weights="mixed")
        score = learn_anb(problem.table, BDeu(ess)).score
        rng = np.random.default_rng(0)
        for _ in range(3):
            rows = rng.permutation(len(problem.rows))
            order = [*rng.permutation(problem.n).tolist(), problem.n]
            relabel = [rng.permutation(arity).tolist() for arity in problem.arities]
            other = Problem(
                [tuple(relabel[v][problem.rows[t][v]] for v in order) for t in rows],
                [problem.weights[t] for t in rows],
                [problem.arities[v] for v in order],
            )
            assert learn_anb(other.table, BDeu(ess)).score == pytest.approx(score, rel=1e-11)

    def test_weights_are_copies(self):
        problem = random_problem(6, 5, n_rows=40)
        repeats = [t % 4 for t in range(40)]
        copies = [row for row, k in zip(problem.rows, repeats, strict=True) for _ in range(k)]
        weighted = learn_anb(table_of(problem.rows, repeats, problem.arities))
        copied = learn_anb(table_of(copies, None, problem.arities))
        assert weighted.score == copied.score
        assert dict(weighted.parents) == dict(copied.parents)

    def test_is_monotone_in_max_parents_and_zero_is_naive_bayes(self):
        problem = random_problem(8, 6, n_rows=150)
        naive = learn_naive_bayes(problem.table)
        none = learn_anb(problem.table, max_parents=0)
        assert dict(none.parents) == dict(naive.parents)
        assert none.score == pytest.approx(naive.score, rel=1e-12)
        scores = [learn_anb(problem.table, max_parents=k).score for k in range(7)]
        assert all(a <= b + 1e-9 for a, b in pairwise(scores))
        assert scores[1] > scores[0]
        assert scores[5] == scores[6] == learn_anb(problem.table).score

    @pytest.mark.parametrize("low_bits", [3, 12])
    def test_does_not_depend_on_the_number_of_threads(self, low_bits, monkeypatch):
        monkeypatch.setattr(lattice, "LOW_BITS", low_bits)
        monkeypatch.setattr(plan, "LEAST_SECONDS_FOR_THREADS", 0.0)
        problem = random_problem(9, 10, n_rows=120, weights="real")
        one, two, three = (learn_anb(problem.table, n_jobs=k) for k in (1, 2, 3))
        assert dict(one.parents) == dict(two.parents) == dict(three.parents)
        assert one.score == two.score == three.score

    @pytest.mark.parametrize(("least", "threaded"), [(0.0, True), (60.0, False)])
    def test_quick_searches_have_one_thread(self, least, threaded, monkeypatch):
        started = []

        class Counted(ThreadPoolExecutor):
            def __init__(self, *given):
                started.append(given)
                super().__init__(*given)

        monkeypatch.setattr(tasks, "ThreadPoolExecutor", Counted)
        monkeypatch.setattr(plan, "LEAST_SECONDS_FOR_THREADS", least)
        learn_anb(random_problem(14, 14, n_rows=60, max_arity=2).table, n_jobs=2)
        assert bool(started) == threaded

    def test_more_features_than_bits_in_a_block(self):
        problem = random_problem(14, 14, n_rows=60, max_arity=2, weights="mixed")
        structure = learn_anb(problem.table)
        check_structure(structure, problem, 1.0)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lattice, "LOW_BITS", 14)
            one_block = learn_anb(problem.table)
        assert dict(one_block.parents) == dict(structure.parents)


class TestNoFeature:
    def test_a_table_of_the_class_alone(self):
        table = DiscreteTable.from_frame(pd.DataFrame({"y": ["a", "b", "a"]}), class_name="y")
        structure = learn_anb(table, BDeu(2.0))
        assert dict(structure.parents) == {"y": ()}
        assert structure.score == pytest.approx(oracles.bdeu_local([(0,), (1,), (0,)], [1, 1, 1], [2], 0, [], 2.0))
        assert structure.certificate.optimal


class TestHeavyWeights:
    @pytest.mark.parametrize("weight", [1e6, 1e9])
    def test_set_scores_far_above_the_total_cost_no_optimum(self, weight):
        rng = np.random.default_rng(0)
        X = pd.DataFrame((rng.random((2000, 8)) < 0.001).astype(int)).add_prefix("f")
        table = DiscreteTable.from_frame(X, rng.integers(0, 2, 2000), sample_weight=np.full(2000, weight))
        assert learn_anb(table).certificate.optimal


class TestLargeEquivalentSampleSize:
    @pytest.mark.parametrize("ess", [1e4, 1e6, 1e8])
    @pytest.mark.parametrize("weights", [None, 0.5, "random"])
    def test_a_completed_search_is_certified(self, ess, weights):
        for seed in range(30):
            rng = np.random.default_rng(seed)
            n = int(rng.integers(3, 20))
            X = pd.DataFrame(rng.integers(0, 3, (n, 4)), columns=list("abcd"))
            weight = {None: None, 0.5: np.full(n, 0.5), "random": rng.random(n) + 0.1}[weights]
            table = DiscreteTable.from_frame(X, ["p", "q"] + ["p"] * (n - 2), sample_weight=weight)
            assert learn_anb(table, BDeu(ess)).certificate.optimal


@pytest.mark.parametrize(("most", "times"), [(0, 2), (10**6, 1)])
def test_rows_are_sorted_once_for_all_sample_sizes_unless_there_are_many(most, times, monkeypatch):
    sorted_rows, calls = set_scores._sorted_rows, []
    monkeypatch.setattr(set_scores, "MOST_SORTED_KEPT", most)
    monkeypatch.setattr(set_scores, "_sorted_rows", lambda table: calls.append(table) or sorted_rows(table))
    given = random_problem(3, 5, n_rows=80, weights="real").table
    table = replace(given)
    found = [learn_anb(table, BDeu(ess), n_jobs=1) for ess in (1.0, 30.0)]
    assert len(calls) == times
    alone = [learn_anb(replace(given), BDeu(ess), n_jobs=1) for ess in (1.0, 30.0)]
    assert [(one.parents, one.score) for one in found] == [(one.parents, one.score) for one in alone]


class TestTies:
    """Ties are broken as the docstring of learn_anb says."""

    @given(problem=problems(min_features=2, max_features=4, max_rows=8, max_arity=2), ess=ess_values)
    def test_the_written_rule(self, problem, ess):
        structure = learn_anb(problem.table, BDeu(ess), n_jobs=1)
        scores = oracles.all_set_scores(problem.rows, problem.weights, problem.arities, ess)
        tolerance = 1e-12 * max(1.0, *map(abs, scores))
        loose, tight = (oracles.lattice_structure(scores, problem.n, k * tolerance) for k in (10, 0.5))
        if loose == tight:
            expected = {f"f{v}": ("c", *(f"f{p}" for p in of_v)) for v, of_v in tight.items()}
            assert {name: structure.parents[name] for name in expected} == expected

    @examples(200, quick=60)
    @given(
        gains=st.lists(st.integers(0, 2), min_size=16, max_size=16), child=st.integers(0, 3),
        position=st.permutations(range(4)), threshold=st.integers(0, 2), most=st.integers(0, 3),
        allowed=st.sampled_from([15, 15, 15, 13, 7, 9]), required=st.sampled_from([0, 0, 0, 1, 4]),
    )  # fmt: skip
    def test_first_parent_sets(self, gains, child, position, threshold, most, allowed, required):
        """The fewest parents, then those that come first in the table."""
        bit, sets = 1 << child, [own for own in range(16) if not own >> child & 1]
        scores = np.zeros(16)
        scores[[own | bit for own in sets]] = [gains[own] for own in sets]
        others = 15 & ~bit
        places = {own: sorted(position[b] for b in range(4) if own >> b & 1) for own in sets}
        fitting = [
            own
            for own in sets
            if gains[own] >= threshold
            and not own & ~allowed
            and not required & others & ~own
            and len(places[own]) <= most
        ]
        expected = min(fitting, key=lambda own: (len(places[own]), places[own]), default=-1)
        limits = ParentLimits(np.full(4, allowed), np.full(4, required & others), most, False)
        # The score of all four exceeds that of the others by the threshold, and 1 is the tolerance.
        in_order, optimum = np.argsort(position), np.random.default_rng(0).integers(-3, 4, 16).astype(float)
        optimum[15] = optimum[others] + threshold + 1
        by_size = [
            int(first_parent_sets(scores, optimum, 15, size, 1.0, limits, in_order)[child]) for size in range(5)
        ]
        below = [optimum[others] - optimum[others & ~(1 << b)] - 1.0 <= 0 for b in range(4)]
        alone = [0 if below[b] and b != child and not required & others else -1 for b in range(4)]
        assert first_parent_sets(scores, optimum, others, 0, 1.0, limits, in_order).tolist() == alone
        assert next((own for own in by_size if own >= 0), -1) == expected
        assert all(len(places[own]) == size for size, own in enumerate(by_size) if own >= 0)

    @pytest.mark.parametrize("low_bits", [1, 2, 12])
    def test_duplicated_columns(self, low_bits, monkeypatch):
        monkeypatch.setattr(lattice, "LOW_BITS", low_bits)
        rng = np.random.default_rng(1)
        column = rng.integers(0, 3, 60)
        classes = (column + rng.integers(0, 2, 60)) % 3
        rows = [(k, k, k, k, c) for k, c in zip(column.tolist(), classes.tolist(), strict=True)]
        parents = learn_anb(table_of(rows, None, [3, 3, 3, 3, 3])).parents
        scores = oracles.all_set_scores(rows, [1.0] * 60, [3] * 5, 1.0)
        rule = oracles.lattice_structure(scores, 4, 1e-9)
        assert {name: parents[name] for name in ("f0", "f1", "f2", "f3")} == {
            f"f{v}": ("c", *(f"f{p}" for p in rule[v])) for v in range(4)
        }
        # Every order scores the same; each copy has all copies before it as parents (BDeu's well-known weakness).
        assert parents == {
            "f0": ("c",),
            "f1": ("c", "f0"),
            "f2": ("c", "f0", "f1"),
            "f3": ("c", "f0", "f1", "f2"),
            "c": (),
        }

    def test_constant_columns_get_no_arcs(self):
        rows = [(0, t % 2, 0, t % 3) for t in range(30)]
        structure = learn_anb(table_of(rows, None, [1, 2, 1, 3]))
        assert structure.feature_edges == ()

    @pytest.mark.parametrize("weights", WEIGHTS)
    def test_do_not_depend_on_row_order(self, weights):
        problem = random_problem(11, 5, n_rows=25, max_arity=2, weights=weights, unseen=False)
        rows = [(*row[:2], *row[:4], row[-1]) for row in problem.rows]
        arities = [*problem.arities[:2], *problem.arities[:4], problem.arities[-1]]
        first = learn_anb(table_of(rows, problem.weights, arities))
        order = np.random.default_rng(2).permutation(25)
        again = learn_anb(table_of([rows[t] for t in order], [problem.weights[t] for t in order], arities))
        assert dict(first.parents) == dict(again.parents)


class Clock(deadlines.Deadline):
    """A deadline that passes after a number of looks at it."""

    looks = 0

    def __init__(self, seconds=None):
        super().__init__(seconds)
        self.looks_left = Clock.looks

    @property
    def passed(self):
        self.looks_left -= 1
        return self.looks_left < 0


class TestTimeLimit:
    @pytest.mark.parametrize("weights", ["ones", "mixed"])
    @pytest.mark.parametrize("max_parents", [None, 2])
    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_stopped_at_any_moment(self, max_parents, weights, n_jobs, monkeypatch):
        monkeypatch.setattr(lattice, "LOW_BITS", 3)
        monkeypatch.setattr(set_scores, "LEAST_SETS", 2)
        monkeypatch.setattr(learn, "Deadline", Clock)
        problem = random_problem(21, 8, n_rows=60, weights=weights)
        optimum = plain_optimum(problem, 1.0, max_parents=max_parents)
        stopped_in = set()
        for looks in [*range(0, 20, 3), *range(20, 140, 5), 10_000]:
            monkeypatch.setattr(Clock, "looks", looks)
            phases = ["before"]
            structure = learn_anb(
                problem.table,
                max_parents=max_parents,
                time_limit=1000,
                n_jobs=n_jobs,
                progress=lambda *call, phases=phases: phases.append(call[0]),
            )
            check_structure(structure, problem, 1.0, max_parents=max_parents)
            certificate = structure.certificate
            assert certificate.upper_bound >= optimum - 1e-9 * abs(optimum)
            if certificate.optimal:
                assert structure.score == pytest.approx(optimum, rel=1e-10)
            if "time_limit" in certificate.method:
                stopped_in.add(phases[-1].split(",")[0])
            else:
                assert certificate.optimal
        assert {"set scores", "dynamic programme"} <= stopped_in
        assert certificate.optimal
        assert "time_limit" not in certificate.method

    @pytest.mark.parametrize("looks", [0, 3, 40, 66, 70])
    @pytest.mark.parametrize("max_parents", [1, 2, None])
    def test_respects_the_constraints(self, looks, max_parents, monkeypatch):
        monkeypatch.setattr(lattice, "LOW_BITS", 2)
        monkeypatch.setattr(learn, "Deadline", Clock)
        monkeypatch.setattr(Clock, "looks", looks)
        problem = random_problem(22, 7, n_rows=80)
        constraints = {"max_parents": max_parents, "required": [(2, 5), (5, 0)], "forbidden": [(1, 3), (3, 1)]}
        structure = learn_anb(
            problem.table,
            max_parents=max_parents,
            required=numbered(constraints["required"]),
            forbidden=numbered(constraints["forbidden"]),
            time_limit=1000,
            n_jobs=1,
        )
        check_structure(structure, problem, 1.0, **constraints)
        optimum = plain_optimum(problem, 1.0, **constraints)
        assert structure.certificate.upper_bound >= optimum - 1e-9 * abs(optimum)
        if structure.certificate.optimal:
            assert structure.score == pytest.approx(optimum, rel=1e-10)

    @pytest.mark.parametrize("max_parents", [1, 2, None])
    def test_bound_improves_once_the_set_scores_are_known(self, max_parents, monkeypatch):
        problem = random_problem(22, 7, n_rows=80)
        monkeypatch.setattr(learn, "Deadline", Clock)
        monkeypatch.setattr(Clock, "looks", 0)
        early = learn_anb(problem.table, max_parents=max_parents, time_limit=1000, n_jobs=1)
        monkeypatch.undo()
        monkeypatch.setattr(lattice, "solve_sets", lambda *_: None)
        late = learn_anb(problem.table, max_parents=max_parents, time_limit=1000, n_jobs=1)
        assert "time_limit" in late.certificate.method
        assert late.certificate.upper_bound <= early.certificate.upper_bound

    def test_a_real_limit_is_kept(self, monkeypatch):
        problem = random_problem(23, 20, n_rows=2000, max_arity=3)
        deadlines = watch(monkeypatch, learn)
        structure = learn_anb(problem.table, time_limit=0.2)
        assert "time_limit" in structure.certificate.method
        assert deadlines[0].late < 20
        assert structure.certificate.sets_scored < 2**20
        assert not structure.certificate.optimal
        assert structure.certificate.gap > 0
        check_structure(structure, problem, 1.0)

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_a_real_limit_is_kept_on_many_rows(self, n_jobs, monkeypatch):
        rng = np.random.default_rng(1)
        table = DiscreteTable.from_frame(rng.integers(0, 3, (20_000, 22)), rng.integers(0, 2, 20_000))
        deadlines = watch(monkeypatch, learn)
        structure = learn_anb(table, time_limit=0.5, n_jobs=n_jobs)
        assert "time_limit" in structure.certificate.method
        assert deadlines[0].late < 20
        assert structure.certificate.sets_scored < 2**20
        assert not structure.certificate.optimal

    def test_greedy_structure_gains_over_naive_bayes(self):
        problem = random_problem(24, 18, n_rows=1000, max_arity=3)
        structure = learn_anb(problem.table, time_limit=1.0)
        assert structure.score > learn_naive_bayes(problem.table).score

    def test_a_generous_limit_changes_nothing(self):
        problem = random_problem(25, 8, n_rows=80)
        limited, free = learn_anb(problem.table, time_limit=60), learn_anb(problem.table)
        assert dict(limited.parents) == dict(free.parents)
        assert limited.certificate.optimal

    @pytest.mark.parametrize("limit", [0, -1, float("nan")])
    @pytest.mark.parametrize("name", ["time_limit", "memory_limit"])
    def test_senseless_limits(self, name, limit):
        with pytest.raises(ValueError, match=f"{name} must be None or a number above 0"):
            learn_anb(random_problem(0, 2).table, **{name: limit})

    @pytest.mark.parametrize("name", ["time_limit", "memory_limit"])
    def test_limits_that_are_no_numbers(self, name):
        with pytest.raises((TypeError, ValueError), match=f"{name} must be None or a number above 0"):
            learn_anb(random_problem(0, 2).table, **{name: "5"})


def light_table(n):
    """A table of total weight below 1, for which qNML has no bounds that candidate lists could be cut by."""
    rng = np.random.default_rng(0)
    rows = np.append(rng.integers(0, 2, (50, n)), np.arange(50)[:, None] % 2, axis=1)
    return table_of(rows, np.full(50, 0.01), [2] * (n + 1))


class TestMemoryLimit:
    def test_is_refused_with_numbers_and_advice(self):
        table = light_table(20)
        with pytest.raises(SearchTooLargeError) as error:
            learn_anb(table, QNML(), memory_limit=105e6)
        message = str(error.value)
        assert "20 features" in message
        assert "1,048,576 sets" in message
        assert "105 MB is the memory_limit" in message
        assert "Give max_parents=" in message
        assert "select features first" in message

    def test_forty_features_without_bounds_are_refused_before_any_set_is_scored(self, monkeypatch):
        monkeypatch.setattr(exact_search, "solve_lattice", None)
        monkeypatch.setattr(exact_search, "solve_families", None)
        monkeypatch.setattr(exact_search, "solve_pruned", None)
        table = light_table(40)
        with pytest.raises(SearchTooLargeError, match=r"40 features needs 1,099,511,627,776 sets, .* TB"):
            learn_anb(table, QNML())
        with pytest.raises(SearchTooLargeError, match="500 features have 2"):
            learn_anb(light_table(500), QNML(), max_parents=4)

    def test_rows_that_do_not_fit_are_refused(self):
        with pytest.raises(SearchTooLargeError, match=r"lay out the .* each of 70 features; .* memory_limit"):
            learn_anb(light_table(70), BDeu(), max_parents=2, memory_limit=1e5)
        with pytest.raises(SearchTooLargeError, match=r"scoring all families of 70 features .* 100 kB is available"):
            learn_anb(light_table(70), BDeu(), max_parents=1, memory_limit=1e5)

    @pytest.mark.parametrize("arities", [[3] * 19, list(range(2, 21))], ids=["equal arities", "distinct arities"])
    def test_a_search_that_is_not_refused_keeps_to_its_limit(self, arities):
        rng = np.random.default_rng(0)
        rows = np.stack([rng.integers(0, arity, 300) for arity in [*arities, 2]], axis=1)
        table = table_of(rows, None, [*arities, 2])
        learn_anb(random_problem(0, 3).table)
        refused = False
        tracemalloc.start()
        try:
            learn_anb(table, memory_limit=200e6)
        except SearchTooLargeError:
            refused = True
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak <= 200e6
        assert not refused or len(set(arities)) > 1


class TestProgress:
    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_is_told_phase_by_phase(self, n_jobs, monkeypatch):
        monkeypatch.setattr(lattice, "LOW_BITS", 5)
        calls = []
        problem = random_problem(0, 9)
        learn_anb(problem.table, n_jobs=n_jobs, progress=lambda *call: calls.append(call))
        phases = list(dict.fromkeys(phase for phase, _ in calls))
        assert phases[0] == "set scores"
        assert phases[1:] == [f"dynamic programme, layer {k} of 5" for k in range(1, 6)]
        for phase in phases:
            fractions = [fraction for other, fraction in calls if other == phase]
            assert fractions == sorted(fractions)
            assert fractions[0] > 0
            assert fractions[-1] == pytest.approx(1)

    @pytest.mark.parametrize("max_parents", [0, 1, 2])
    def test_ends_at_one_with_max_parents(self, max_parents):
        calls = []
        learn_anb(random_problem(0, 9).table, max_parents=max_parents, progress=lambda *call: calls.append(call))
        assert calls[-1][1] == pytest.approx(1)
        assert max(fraction for _, fraction in calls) == pytest.approx(1)

    @pytest.mark.parametrize("n_jobs", [1, 2])
    @pytest.mark.parametrize("phase", ["set scores", "dynamic programme"])
    def test_an_interrupt_gets_through(self, n_jobs, phase, monkeypatch):
        monkeypatch.setattr(lattice, "LOW_BITS", 8)
        table = random_problem(0, 16, n_rows=300).table
        calls = []

        def interrupt(name, _):
            calls.append(name)
            if name.startswith(phase):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            learn_anb(table, n_jobs=n_jobs, progress=interrupt)
        assert sum(name.startswith(phase) for name in calls) == 1


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


class TestProgressLine:
    def test_one_line_for_every_phase_that_ended_in_a_file(self):
        stream = io.StringIO()
        show = progress_module.progress_line(stream)
        for phase, fraction in (("set scores", 0.5), ("set scores", 1.0), ("layer 1", 1.0)):
            show(phase, fraction)
        assert stream.getvalue() == "set scores: done\nlayer 1: done\n"

    def test_a_terminal_is_left_as_it_was(self):
        stream = Screen()
        show = progress_module.progress_line(stream)
        show("set scores", 0.25)
        assert stream.getvalue() == "\rset scores:  25%\033[K"
        show("set scores", 0.26)
        assert stream.getvalue().count("\r") == 1, "no more than a few times a second"
        show("set scores", 1.0)
        assert stream.getvalue().endswith("\r\033[K")


class TestConstraintsThatMakeNoSense:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"max_parents": -1}, "max_parents must be None or a whole number, 0 or more, not -1"),
            ({"max_parents": 1.5}, "max_parents must be None or a whole number, 0 or more, not 1.5"),
            ({"max_parents": True}, "max_parents must be None or a whole number"),
            ({"max_parents": "2"}, "max_parents must be None or a whole number"),
            (
                {"required": [("f0", "nobody")]},
                r"required edge \('f0', 'nobody'\) names 'nobody', but edges can be required",
            ),
            ({"forbidden": [("c", "f0")]}, r"names 'c', but edges can be .* parent of every feature"),
            ({"required": [("f0", "f0")]}, "joins a feature to itself"),
            ({"required": ["f0f1"]}, r"must be \(parent, child\) pairs of feature names, not 'f0f1'"),
            ({"required": [("f0", "f1", "f2")]}, r"must be \(parent, child\) pairs"),
            ({"required": [("f0", "f1"), ("f1", "f2"), ("f2", "f0")]}, "the required edges form a cycle"),
            (
                {"required": [("f0", "f1")], "forbidden": [("f0", "f1")]},
                r"the edge \('f0', 'f1'\) is both required and forbidden",
            ),
            (
                {"required": [("f0", "f2"), ("f1", "f2")], "max_parents": 1},
                "give 'f2' 2 parents, but max_parents is 1",
            ),
            ({"n_jobs": 0}, "n_jobs must be"),
            ({"n_jobs": -2}, "n_jobs must be"),
        ],
    )
    def test_are_refused(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            learn_anb(random_problem(0, 3).table, **arguments)

    def test_too_many_families_to_score_one_by_one(self):
        table = random_problem(0, 17, n_rows=20).table
        with pytest.raises(MemoryError, match=r"fNML has no set scores .* each of the 17 2\^16 families .* max_par"):
            learn_anb(table, FNML())
        structure = learn_anb(table, FNML(), max_parents=1)
        assert structure.certificate.optimal
        assert "over families among structures with at most 1 feature" in structure.certificate.method
        with pytest.raises(MemoryError, match=r"all families of 17 features with at most 1 parent needs .*; 1 kB is"):
            learn_anb(table, FNML(), max_parents=1, memory_limit=1000)

    def test_a_table_without_a_class(self):
        table = DiscreteTable.from_frame(pd.DataFrame({"a": [0, 1]}))
        for name, search in SEARCHES.items():
            if name in ("learn_gbn", "learn_tan", "learn_fan", "learn_ckg", "learn_greedy_gbn"):
                assert search(table).class_name is None
                continue
            with pytest.raises(ValueError, match="the table has no class"):
                search(table)


class _PlainFormula:
    """A user's own score: one method, neither equivalent nor with set scores."""

    name, score_equivalent, has_set_score = "own", False, False

    def local_score(self, table, child, parents):
        return K2().local_score(table, child, parents)


@pytest.mark.parametrize("score", [*(score() for score in SCORES.values()), _PlainFormula()], ids=lambda s: s.name)
class TestEveryScore:
    """The exact search with every score, against the search through all orders with the score's own local scores."""

    @given(drawn=constrained_problems(max_features=4))
    @examples(15)
    def test_optimum(self, score, drawn):
        problem, constraints = drawn
        table, names = problem.table, problem.names

        def local(child, parents):
            return score.local_score(table, names[child], ["c", *(names[v] for v in sorted(parents))])

        best = oracles.best_over_orders(range(problem.n), local, **constraints)
        edges = {key: numbered(constraints[key]) for key in ("required", "forbidden")}
        structure = learn_anb(table, score, max_parents=constraints["max_parents"], **edges)
        assert structure.score == pytest.approx(best + score.local_score(table, "c", []), rel=1e-9, abs=1e-9)
        assert structure.certificate.optimal
        parents = dict(structure.parents)
        assert structure.score == pytest.approx(total_score(table, score, parents), rel=1e-12)

    def test_many_states_and_heavy_rows_cost_no_digits(self, score):
        problem = random_problem(3, 5, n_rows=80, max_arity=12, weights="whole")
        problem.weights = [weight * 1000 for weight in problem.weights]
        structure = learn_anb(problem.table, score)
        assert structure.certificate.optimal
        twin = random_problem(3, 5, n_rows=80, max_arity=12, weights="whole")
        twin.weights = problem.weights
        assert learn_anb(twin.table, score).parents == structure.parents

    def test_time_limit(self, score, monkeypatch):
        monkeypatch.setattr(families, "run_tasks", lambda *_: False)
        monkeypatch.setattr(lattice, "score_all_sets", lambda *_: None)
        structure = learn_anb(random_problem(0, 5).table, score, time_limit=60)
        assert not structure.certificate.optimal
        assert structure.certificate.upper_bound >= structure.score


def test_families_keep_the_time_limit_within_a_task(monkeypatch):
    monkeypatch.setattr(families.Deadline, "passed", property(lambda self: self.seconds is not None))
    monkeypatch.setattr(families, "run_tasks", lambda tasks, *_: [task() for task in tasks] and True)
    structure = learn_anb(random_problem(0, 5).table, K2(), time_limit=100)
    assert not structure.certificate.optimal
    assert "stopped by time_limit" in structure.certificate.method


class TestHeavyRows:
    @pytest.mark.parametrize("weight", [1e6, 1e9])
    @pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
    def test_one_heavy_row_leaves_the_optimum_proved(self, score, weight):
        problem = random_problem(5, 3, n_rows=40)
        problem.weights[0] = weight
        assert learn_anb(problem.table, score()).certificate.optimal


class TestFamilies:
    """The search family by family agrees with that through set scores, down to the ties."""

    @given(drawn=constrained_problems(max_features=5), ess=ess_values)
    @examples(30)
    def test_same_structure(self, drawn, ess):
        problem, constraints = drawn
        edges = {key: numbered(constraints[key]) for key in ("required", "forbidden")}
        limits = make_constraints(problem.names[:-1], constraints["max_parents"], *edges.values())
        solved = [
            solve(problem.table, BDeu(ess), limits, 2, Deadline(), None)
            for solve in (families.solve_families, lattice.solve_lattice)
        ]
        assert solved[0].total == pytest.approx(solved[1].total, rel=1e-10)
        assert solved[0].parents(1e-10) == solved[1].parents(1e-10)
        assert solved[0].sets <= problem.n * 2 ** max(problem.n - 1, 0)


REFUSED = {("learn_gbn", "ACLL"), ("learn_greedy_gbn", "ACLL"), ("learn_mcp", "ACLL"), ("learn_skdb", "ACLL")}
"""What no search learns by which score; every other pair must work."""
EXACT = {"learn_anb", "learn_ckg", "learn_fan", "learn_gbn", "learn_mcp", "learn_naive_bayes", "learn_tan"}
"""Searches that prove what they find."""


def accepted(score):
    """The searches that learn by a score, by name."""
    return {name: search for name, search in SEARCHES.items() if (name, score) not in REFUSED}


PAIRS = [(name, score) for score in SCORES for name in accepted(score)]


class TestEveryScoreAndSearch:
    """What any search must satisfy with any score it accepts (objective values, not structures)."""

    @pytest.mark.parametrize(("name", "score"), sorted(REFUSED))
    def test_refused(self, name, score):
        score = SCORES[score]()
        with pytest.raises(TypeError, match=f"{name} treats the class .*, but {score.name} needs it"):
            SEARCHES[name](random_problem(31, 5).table, score)

    @pytest.mark.parametrize("weights", WEIGHTS)
    @pytest.mark.parametrize(("name", "score"), PAIRS)
    def test_the_structure_is_consistent(self, name, score, weights):
        problem, score = random_problem(31, 5, n_rows=60, weights=weights), SCORES[score]()
        structure = SEARCHES[name](problem.table, score)
        parents = dict(structure.parents)
        assert oracles.is_acyclic(parents)
        assert set(parents) == set(problem.names)
        locals_ = [score.local_score(problem.table, child, of_child) for child, of_child in parents.items()]
        assert structure.score == pytest.approx(sum(locals_), rel=1e-10)
        certificate = structure.certificate
        assert certificate.optimal == (name in EXACT)
        assert certificate.upper_bound >= structure.score
        assert certificate.gap == (0 if certificate.optimal else certificate.upper_bound - structure.score)

    @pytest.mark.parametrize("name", SEARCHES)
    def test_the_seconds_of_the_search_are_told(self, name, monkeypatch):
        ticks = count()
        monkeypatch.setattr(deadlines.time, "perf_counter", lambda: float(next(ticks)))
        certificate = SEARCHES[name](random_problem(31, 3).table, BDeu()).certificate
        assert (0 < certificate.seconds < next(ticks)) == (name not in {"learn_kdb", "learn_skdb"}), (
            "kDB does not search"
        )

    @pytest.mark.parametrize("score", SCORES)
    @given(problem=problems(max_features=3))
    def test_row_order_and_copies_do_not_matter(self, score, problem):
        table = problem.table
        halves = [weight / 2 for weight in problem.weights]
        split = table_of((problem.rows * 2)[::-1], (halves * 2)[::-1], problem.arities)
        np.testing.assert_array_equal(split.codes, table.codes)
        np.testing.assert_allclose(split.weights, table.weights, rtol=1e-14)
        for name, search in accepted(score).items():
            expected = pytest.approx(search(table, SCORES[score]()).score, rel=1e-10, abs=1e-10)
            assert search(split, SCORES[score]()).score == expected, name

    @pytest.mark.parametrize(("name", "score"), PAIRS)
    def test_the_table_is_left_alone(self, name, score):
        table = random_problem(32, 4, weights="real").table
        codes, weights = table.codes.copy(), table.weights.copy()
        SEARCHES[name](table, SCORES[score]())
        np.testing.assert_array_equal(table.codes, codes)
        np.testing.assert_array_equal(table.weights, weights)

    @pytest.mark.parametrize(("name", "score"), PAIRS)
    def test_one_feature_and_one_row(self, name, score):
        for rows, arities in [([(0, 0)], [1, 1]), ([(0, 1)], [2, 2]), ([(0, 0), (1, 1)], [2, 2])]:
            structure = SEARCHES[name](table_of(rows, None, arities), SCORES[score]())
            assert set(structure.parents) == {"f0", "c"}
            assert structure.certificate.gap >= 0


def test_lists_that_cannot_be_made_leave_the_lattice(monkeypatch):
    table = random_problem(3, 5, n_rows=40).table
    usual = learn_anb(table)
    monkeypatch.setattr(plan, "LEAST_SECONDS_FOR_LISTS", -1.0)
    monkeypatch.setattr(plan, "lattice_seconds", lambda *_: 1e6)
    monkeypatch.setattr(plan, "lattice_cost", lambda *_a, **_k: plan.Cost(1, 1, 1e6))
    monkeypatch.setattr(plan, "cell_value_bytes", lambda _table: 0)
    assert learn_anb(table).certificate.method == "pruned search"
    monkeypatch.setattr(configurations, "MOST_CONFIGURATION_COUNTS", 1)
    again = learn_anb(table)
    assert again.certificate.method == "lattice dynamic programme"
    assert dict(again.parents) == dict(usual.parents)


def test_first_interrupt_ends_the_time_and_the_second_raises():
    deadline = Deadline()
    usual = signal.getsignal(signal.SIGINT)
    inner = deadline.within(100)
    with deadlines.interruptible(deadline):
        assert not inner.interrupted
        signal.raise_signal(signal.SIGINT)
        for either in (deadline, inner):
            assert either.passed
            assert either.interrupted
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is usual
