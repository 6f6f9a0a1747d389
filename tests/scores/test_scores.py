"""Scores: against the formula, and what every registered score must satisfy."""

from math import isqrt

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import SCORES, ess_values, problems, random_problem, table_of

from anbexact import BDeu, DiscreteTable
from anbexact._runtime.deadline import Deadline
from anbexact.scores import Score, SetScore, Universal
from anbexact.search.scoring import set_scores as of_sets
from anbexact.search.scoring.set_scores import prepare, score_all_sets


def close(a, b, tolerance=1e-10):
    return abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))


def kernel_scores(table, score, threads=1, max_size=None):
    """Return the kernel's set score of every mask of features in *table* order."""
    features = table.vocabulary.features
    problem = prepare(table, score, len(features) if max_size is None else max_size)
    scores = score_all_sets(problem, threads, Deadline(), None)
    bit = {name: b for b, name in enumerate(problem.features)}
    masks = range(1 << len(features))
    return [scores[sum(1 << bit[name] for v, name in enumerate(features) if mask >> v & 1)].item() for mask in masks]


class TestBDeu:
    @given(problems(max_features=3), ess_values, st.data())
    def test_local_score_is_the_formula(self, problem, ess, data):
        child = data.draw(st.integers(0, problem.n))
        others = [v for v in range(problem.n + 1) if v != child]
        parents = data.draw(st.lists(st.sampled_from(others), unique=True))
        got = BDeu(ess).local_score(problem.table, problem.names[child], [problem.names[v] for v in parents])
        expected = oracles.bdeu_local(problem.rows, problem.weights, problem.arities, child, parents, ess)
        assert close(got, expected)

    @given(problems(max_features=3), ess_values)
    def test_local_score_is_a_difference_of_set_scores(self, problem, ess):
        args = problem.rows, problem.weights, problem.arities
        for child in range(problem.n + 1):
            for parents in oracles.subsets(v for v in range(problem.n + 1) if v != child):
                local = oracles.bdeu_local(*args, child, parents, ess)
                joint = oracles.bdeu_set_score(*args, [*parents, child], ess)
                assert close(local, joint - oracles.bdeu_set_score(*args, parents, ess))
        names = problem.names
        assert close(BDeu(ess).set_score(problem.table, names), oracles.bdeu_set_score(*args, range(len(names)), ess))
        assert BDeu(ess).set_score(problem.table, []) == pytest.approx(
            oracles.bdeu_set_score(*args, [], ess), rel=1e-10, abs=1e-12
        )

    def test_published_value(self):
        # Two fair coin flips, one of each side, ESS 1: B(1/2 + 1, 1/2 + 1) / B(1/2, 1/2) = 1/8.
        table = DiscreteTable.from_frame([["heads"], ["tails"]])
        assert BDeu(1.0).local_score(table, "x0", []) == pytest.approx(np.log(1 / 8))

    @given(problems(max_features=3), ess_values)
    def test_local_upper_bound_holds_for_every_parent_set(self, problem, ess):
        table = problem.table
        for child in range(problem.n):
            bound = BDeu(ess).local_upper_bound(table, problem.names[child])
            for parents in oracles.subsets(v for v in range(problem.n) if v != child):
                local = oracles.bdeu_local(
                    problem.rows, problem.weights, problem.arities, child, [*parents, problem.n], ess
                )
                assert local <= bound + 1e-9 * max(1, abs(local))

    @pytest.mark.parametrize("seed", range(8))
    def test_local_upper_bound_on_larger_tables(self, seed):
        problem = random_problem(seed, 5, n_rows=80, weights=("ones", "whole", "real", "mixed")[seed % 4])
        table = problem.table
        for child in range(problem.n):
            bound = BDeu(1.0).local_upper_bound(table, problem.names[child])
            best = max(
                oracles.bdeu_local(problem.rows, problem.weights, problem.arities, child, [*parents, 5], 1.0)
                for parents in oracles.subsets(v for v in range(5) if v != child)
            )
            assert best <= bound + 1e-9 * abs(best)

    @pytest.mark.parametrize("ess", [0, -1.0, float("nan"), float("inf"), "1", None, True])
    def test_refuses_a_senseless_ess(self, ess):
        with pytest.raises(ValueError, match="ess must be a"):
            BDeu(ess)


class TestKernel:
    """The set scores of all subsets at once, against one dictionary per subset."""

    @given(problems(max_features=5, max_rows=20, max_arity=4), ess_values)
    def test_small_tables(self, problem, ess):
        expected = oracles.all_set_scores(problem.rows, problem.weights, problem.arities, ess)
        for got, value in zip(kernel_scores(problem.table, BDeu(ess)), expected, strict=True):
            assert close(got, value)

    @pytest.mark.parametrize("weights", ["ones", "whole", "real", "mixed"])
    @pytest.mark.parametrize("n_features", [6, 7])
    @pytest.mark.parametrize("unseen", [False, True])
    def test_larger_tables(self, n_features, weights, unseen):
        problem = random_problem(n_features, n_features, n_rows=150, weights=weights, unseen=unseen)
        expected = oracles.all_set_scores(problem.rows, problem.weights, problem.arities, 1.0)
        for threads in (1, 2):
            for got, value in zip(kernel_scores(problem.table, BDeu(), threads), expected, strict=True):
                assert close(got, value)

    @pytest.mark.parametrize("width", [1, 33, 40])
    def test_weights_beyond_the_tabulated_ones(self, width, monkeypatch):
        monkeypatch.setattr("anbexact.search.scoring.set_scores.TABLE_CELLS", width)
        problem = random_problem(3, 6, n_rows=100, weights="whole")
        expected = oracles.all_set_scores(problem.rows, problem.weights, problem.arities, 2.0)
        for got, value in zip(kernel_scores(problem.table, BDeu(2.0)), expected, strict=True):
            assert close(got, value)

    def test_as_many_weights_are_tabulated_as_pay(self, monkeypatch):
        """With few sets of features and many rows, ln Γ of heavy cells costs less than a table of all weights."""
        few, many = (random_problem(0, n_features, n_rows=60, weights="whole") for n_features in (3, 12))

        def width(problem, total):
            heavy = [float(int(weight * total / sum(problem.weights))) for weight in problem.weights]
            distinct, found = of_sets._table_shape(table_of(problem.rows, heavy, problem.arities))
            return found, int(sum(heavy)), distinct

        assert width(few, 40_000)[0] == 1024
        found, heaviest, distinct = width(many, 10**7)
        assert found == min(of_sets.TABLE_CELLS // distinct, isqrt(10 * 2**12 * heaviest // distinct))
        assert 1024 < found < heaviest
        found, heaviest, _ = width(many, 900)
        assert found == heaviest
        assert of_sets._table_shape(table_of(few.rows, [0.5] * len(few.rows), few.arities))[1] == of_sets.HISTOGRAM
        problem = random_problem(3, 6, n_rows=100, weights="whole")
        expected = kernel_scores(problem.table, BDeu(2.0))
        monkeypatch.setattr(of_sets, "LEAST_TABULATED", 33)
        monkeypatch.setattr(of_sets, "CELLS_PER_GAMMA", 0)
        assert of_sets._table_shape(problem.table)[1] == 33
        for got, value in zip(kernel_scores(problem.table, BDeu(2.0)), expected, strict=True):
            assert close(got, value)

    @pytest.mark.parametrize("weight", [1e-12, 1e-3, 2.0**31, 1e12, 1e19, 1e30])
    def test_extreme_weights(self, weight):
        rows = [(0, 0, 0), (0, 1, 0), (1, 1, 1), (1, 0, 1), (1, 0, 0)]
        weights = [weight, 1.0, weight, 2.0, 0.5]
        expected = oracles.all_set_scores(rows, weights, [2, 2, 2], 1.0)
        for got, value in zip(kernel_scores(table_of(rows, weights, [2, 2, 2]), BDeu()), expected, strict=True):
            assert close(got, value, 1e-9)

    @pytest.mark.parametrize(
        ("rows", "arities"),
        [
            ([(0, 0, 0)], [1, 1, 1]),
            ([(0, 0, 0)] * 50, [2, 3, 2]),
            ([(0, 0, 0), (0, 1, 0), (0, 2, 0)], [1, 3, 1]),
            ([(0, 0, c) for c in range(5)], [2, 1, 5]),
            ([(i, i, i % 2) for i in range(40)], [40, 40, 2]),
            ([(i % 2, i % 3, 0) for i in range(40)], [2, 3, 4]),
        ],
        ids=["one row", "copies", "one class", "constant features", "identifiers", "unseen classes"],
    )
    def test_degenerate_tables(self, rows, arities):
        weights = [1.0] * len(rows)
        expected = oracles.all_set_scores(rows, weights, arities, 1.0)
        for got, value in zip(kernel_scores(table_of(rows, weights, arities), BDeu()), expected, strict=True):
            assert close(got, value)

    def test_sets_that_are_too_large_need_not_be_scored(self):
        problem = random_problem(5, 7, n_rows=50)
        expected = oracles.all_set_scores(problem.rows, problem.weights, problem.arities, 1.0)
        for max_size in range(1, 8):
            got = kernel_scores(problem.table, BDeu(), max_size=max_size)
            for mask, value in enumerate(expected):
                assert mask.bit_count() > max_size or close(got[mask], value)


@pytest.mark.parametrize("name", SCORES)
class TestEveryScore:
    @pytest.fixture
    def score(self, name):
        return SCORES[name]()

    def test_keeps_the_protocol(self, score):
        assert isinstance(score, Score)
        assert isinstance(score.name, str)
        if score.has_set_score:
            assert isinstance(score, SetScore | Universal)

    @pytest.mark.parametrize("weights", ["ones", "mixed"])
    def test_does_not_depend_on_row_order_or_parent_order(self, score, weights):
        problem = random_problem(0, 4, n_rows=40, weights=weights)
        turned = table_of(problem.rows[::-1], problem.weights[::-1], problem.arities)
        families = [("f0", ["c"]), ("f1", ["c", "f0", "f3"]), ("c", [])]
        if score.name != "aCLL":  # which has families with the class only
            families.append(("f2", []))
        for child, parents in families:
            value = score.local_score(problem.table, child, parents)
            assert np.isfinite(value)
            assert close(value, score.local_score(turned, child, parents))
            assert close(value, score.local_score(problem.table, child, parents[::-1]))

    def test_weights_are_copies(self, score):
        problem = random_problem(1, 3, n_rows=30)
        repeats = [1 + t % 3 for t in range(30)]
        copies = [row for row, k in zip(problem.rows, repeats, strict=True) for _ in range(k)]
        weighted = table_of(problem.rows, repeats, problem.arities)
        copied = table_of(copies, None, problem.arities)
        for child, parents in [("f0", ["c"]), ("f1", ["c", "f0"])]:
            assert close(score.local_score(weighted, child, parents), score.local_score(copied, child, parents))

    def test_score_equivalence_is_as_stated(self, score):
        problem = random_problem(2, 2, n_rows=40)

        def both(first, second):
            return score.local_score(problem.table, first, ["c"]) + score.local_score(
                problem.table, second, ["c", first]
            )

        if score.score_equivalent:
            assert close(both("f0", "f1"), both("f1", "f0"))

    def test_set_scores_give_the_local_scores(self, score):
        if not score.has_set_score:
            return
        problem = random_problem(3, 4, n_rows=40, weights="mixed")
        table = problem.table
        every = kernel_scores(table, score)
        for child in range(4):
            for parents in oracles.subsets(v for v in range(4) if v != child):
                mask = sum(1 << v for v in parents)
                names = ["c", *(problem.names[v] for v in parents)]
                local = score.local_score(table, problem.names[child], names)
                assert close(local, every[mask | 1 << child] - every[mask])
                assert local <= score.local_upper_bound(table, problem.names[child]) + 1e-9
