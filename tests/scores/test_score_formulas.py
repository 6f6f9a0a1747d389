"""Every score against its formula, and the properties that it claims or denies."""

import re
from fractions import Fraction
from itertools import permutations, product
from math import e, log, log1p, prod, sqrt

import numpy as np
import oracles
import pytest
from forced import force
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2
from strategies import Problem, ess_values, problems, random_problem, table_of

from anbexact import BDeu, DiscreteTable, learn_anb
from anbexact.scores import AIC, BIC, FNML, HQ, K2, LL, MIT, QNML, BDs, SetScore, family_counts, log_regret

PENALTIES = {
    "LL": lambda _: 0.0,
    "AIC": lambda _: 1.0,
    "BIC": lambda n: 0.5 * log(n) if n > 1 else 0.0,
    "HQ": lambda n: 1.3 * log(log(n)) if n > e else 0.0,
}
"""Weight of a free parameter at total weight N."""

SCORES = {
    "LL": LL(), "AIC": AIC(), "BIC": BIC(), "HQ": HQ(0.3), "QNML": QNML(), "FNML": FNML(), "K2": K2(),
    "BDs": BDs(2.5), "MIT": MIT(0.9), "BDeu": BDeu(2.5),
}  # fmt: skip
SET_SCORES = {name: score for name, score in SCORES.items() if score.has_set_score}
OTHERS = {name: score for name, score in SCORES.items() if not score.has_set_score}


def oracle(name, rows, weights, arities, child, parents):
    """Return the local score by the formula."""
    args = rows, weights, arities, child, parents
    if name in PENALTIES:
        return oracles.penalised_local(*args, PENALTIES[name](sum(weights)))
    return {
        "QNML": lambda: oracles.qnml_local(*args),
        "FNML": lambda: oracles.fnml_local(*args),
        "K2": lambda: oracles.k2_local(*args),
        "BDs": lambda: oracles.bds_local(*args, 2.5),
        "MIT": lambda: oracles.mit_local(*args, 0.9),
        "BDeu": lambda: oracles.bdeu_local(*args, 2.5),
    }[name]()


def close(a, b, tolerance=1e-10):
    return abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))


def local(score, problem, child, parents):
    return score.local_score(problem.table, problem.names[child], [problem.names[v] for v in parents])


def total(score, problem, graph):
    return sum(local(score, problem, child, parents) for child, parents in graph.items())


def other_variables(problem, child):
    return [v for v in range(problem.n + 1) if v != child]


@pytest.mark.parametrize("name", SCORES)
class TestLocalScore:
    @given(problems(max_features=3, max_arity=4), st.data())
    def test_is_the_formula(self, name, problem, data):
        child = data.draw(st.integers(0, problem.n))
        parents = data.draw(st.lists(st.sampled_from(other_variables(problem, child)), unique=True))
        got = local(SCORES[name], problem, child, parents)
        assert close(got, oracle(name, problem.rows, problem.weights, problem.arities, child, parents), 1e-9)

    @pytest.mark.parametrize("weights", ["ones", "whole", "real", "mixed"])
    def test_is_the_formula_on_larger_tables(self, name, weights):
        problem = random_problem(4, 4, n_rows=50, weights=weights)
        for child in (1, 4):
            for parents in oracles.subsets(other_variables(problem, child), at_most=3):
                got = local(SCORES[name], problem, child, parents)
                assert close(got, oracle(name, problem.rows, problem.weights, problem.arities, child, parents), 1e-9)

    @pytest.mark.parametrize("with_class", [True, False])
    @pytest.mark.parametrize("unseen", [0, 3])
    def test_families_at_once(self, name, with_class, unseen):
        problem = random_problem(7, 5, n_rows=30, weights="mixed")
        problem.arities[:5] = [max(problem.arities[:5])] * 5
        score = SCORES[name]
        cases = [(0, (1, 2)), (1, (0, 3)), (4, (3, 2)), (2, (4, 0))]
        cases = [(child, (*parents, 5) if with_class else parents) for child, parents in cases]
        tables = [
            family_counts(problem.table, f"f{child}", [problem.names[v] for v in parents]) for child, parents in cases
        ]
        width = max(counts.shape[1] for counts in tables) + unseen
        batch = np.zeros((len(cases), tables[0].shape[0], width, problem.arities[0]))
        for row, counts in zip(batch, tables, strict=True):
            row[:, : counts.shape[1]] = counts
        got = score.family_scores(batch, [problem.arities[v] for v in cases[0][1]])
        assert got.shape == (4,)
        for value, (child, parents) in zip(got, cases, strict=True):
            assert close(value, local(score, problem, child, parents))

    def test_no_family(self, name):
        assert SCORES[name].family_scores(np.zeros((0, 2, 3, 2)), [2, 3]).shape == (0,)

    def test_relabelled_states(self, name):
        problem = random_problem(5, 3, n_rows=40, weights="mixed")
        rng = np.random.default_rng(0)
        labels = [rng.permutation(arity).tolist() for arity in problem.arities]
        rows = [tuple(labels[v][state] for v, state in enumerate(row)) for row in problem.rows]
        other = Problem(rows, problem.weights, problem.arities)
        for child in range(4):
            for parents in oracles.subsets(other_variables(problem, child)):
                assert close(local(SCORES[name], problem, child, parents), local(SCORES[name], other, child, parents))

    def test_a_weighted_row_is_as_good_as_its_parts(self, name):
        problem = random_problem(6, 3, n_rows=30, weights="real")
        rows = [*problem.rows, *problem.rows, problem.rows[0]]
        weights = [*(w / 4 for w in problem.weights), *(3 * w / 4 for w in problem.weights), 0.0]
        other = Problem(rows, weights, problem.arities)
        for child in range(4):
            for parents in oracles.subsets(other_variables(problem, child)):
                assert close(local(SCORES[name], problem, child, parents), local(SCORES[name], other, child, parents))

    @pytest.mark.parametrize("weight", [1e-9, 1e-3, 1.0, 1e9])
    def test_a_single_row(self, name, weight):
        problem = Problem([(0, 1, 1)], [weight], [2, 3, 2])
        for child, parents in [(0, []), (1, [2]), (1, [0, 2]), (2, [])]:
            got = local(SCORES[name], problem, child, parents)
            if weight <= 1 or name not in ("K2", "BDs", "BDeu"):  # the oracle takes differences of large lnΓ
                assert close(got, oracle(name, problem.rows, problem.weights, problem.arities, child, parents), 1e-9)
            assert got <= 0


class TestSetScore:
    @pytest.mark.parametrize("name", SET_SCORES)
    @given(problem=problems(max_features=3))
    def test_local_scores_are_differences(self, name, problem):
        score = SET_SCORES[name]
        f = {s: score.set_score(problem.table, [problem.names[v] for v in s]) for s in oracles.subsets(range(4))
             if max(s, default=0) <= problem.n}  # fmt: skip
        for child in range(problem.n + 1):
            for parents in oracles.subsets(other_variables(problem, child)):
                difference = f[tuple(sorted((*parents, child)))] - f[parents]
                assert close(local(score, problem, child, parents), difference, 1e-9)

    @pytest.mark.parametrize("name", [*PENALTIES, "QNML"])
    @given(problem=problems(max_features=3))
    def test_is_the_formula(self, name, problem):
        n = sum(problem.weights)
        for variables in oracles.subsets(range(problem.n + 1)):
            q = oracles.n_cells(problem.arities, variables)
            expected = oracles.sum_n_log_n(problem.rows, problem.weights, problem.arities, variables)
            expected -= PENALTIES[name](n) * q if name in PENALTIES else oracles.log_regret(n, q)
            assert close(SCORES[name].set_score(problem.table, [problem.names[v] for v in variables]), expected, 1e-9)

    @pytest.mark.parametrize("name", [*PENALTIES, "QNML"])
    def test_cells_contribute_n_log_n(self, name):
        score = SCORES[name]
        assert isinstance(score, SetScore)
        assert score.cell_parameter(np.array([1, 6, 10**30], dtype=object)).tolist() == [np.inf] * 3
        constants = score.set_constant(np.array([1.0, 2.0, 6.0]), 40.0)
        if name == "QNML":
            assert constants == pytest.approx([-oracles.log_regret(40, q) for q in (1, 2, 6)], rel=1e-12)
        else:
            assert constants == pytest.approx([-PENALTIES[name](40.0) * q for q in (1, 2, 6)], rel=1e-12)
        assert np.isfinite(score.set_constant(np.array([1e30, 10**30], dtype=object), 40.0)).all()

    @pytest.mark.parametrize("name", OTHERS)
    def test_the_others_are_no_differences(self, name):
        # F(xyc) - F(c) by two ways: a difference of set scores would give the same by both.
        rows = [(0, 0, 0), (0, 1, 0), (1, 2, 0), (1, 2, 1), (0, 2, 1)]
        problem = Problem(rows, [1.0, 2.0, 1.0, 3.0, 0.5], [2, 3, 2])
        args = problem.rows, problem.weights, problem.arities
        one = oracle(name, *args, 0, [2]) + oracle(name, *args, 1, [2, 0])
        other = oracle(name, *args, 1, [2]) + oracle(name, *args, 0, [2, 1])
        assert abs(one - other) > 0.1
        score = OTHERS[name]
        assert close(local(score, problem, 0, [2]) + local(score, problem, 1, [2, 0]), one, 1e-9)
        assert close(local(score, problem, 1, [2]) + local(score, problem, 0, [2, 1]), other, 1e-9)
        assert not score.has_set_score
        assert not score.score_equivalent

    @pytest.mark.parametrize("name", ["FNML", "K2", "BDs"])
    def test_two_variables_suffice_to_deny_score_equivalence(self, name):
        problem = Problem([(0, 0, 0), (0, 1, 0), (0, 2, 0), (0, 2, 0)], [1.0] * 4, [2, 3, 1])
        score = SCORES[name]
        one = local(score, problem, 0, []) + local(score, problem, 1, [0])
        other = local(score, problem, 1, []) + local(score, problem, 0, [1])
        assert abs(one - other) > 0.1


class TestScoreEquivalence:
    @staticmethod
    def spreads(score, problem):
        """Return the widest range of totals within a Markov equivalence class."""
        known = {
            (child, parents): local(score, problem, child, parents)
            for child in range(problem.n + 1)
            for parents in oracles.subsets(other_variables(problem, child))
        }
        totals = {}
        for graph in oracles.graphs(problem.n + 1):
            totals.setdefault(oracles.equivalence_class(graph), []).append(sum(known[item] for item in graph.items()))
        assert max(map(len, totals.values())) > 1
        return max(max(values) - min(values) for values in totals.values())

    @pytest.mark.parametrize("name", SCORES)
    @pytest.mark.parametrize("weights", ["ones", "real"])
    def test_is_as_stated(self, name, weights):
        problem = random_problem(9, 2, n_rows=25, weights=weights)
        problem.arities[:] = [4, 5, 3]
        spread = self.spreads(SCORES[name], problem)
        assert (spread < 1e-8) == SCORES[name].score_equivalent

    @pytest.mark.parametrize("name", SET_SCORES)
    @given(problem=problems(min_features=2, max_features=2))
    def test_of_set_scores(self, name, problem):
        assert self.spreads(SET_SCORES[name], problem) < 1e-8

    @pytest.mark.parametrize("name", ["BIC", "QNML"])
    def test_of_four_variables(self, name):
        assert self.spreads(SCORES[name], random_problem(10, 3, n_rows=25, weights="mixed")) < 1e-8

    def test_of_mit_among_variables_of_equally_many_states(self):
        problem = random_problem(11, 2, n_rows=40, unseen=False)
        problem.arities[:] = [4, 4, 4]
        assert self.spreads(MIT(), problem) < 1e-8

    def test_of_mit_fails_by_the_order_of_the_states(self):
        # C, X, Y with 2, 2, 3 states: χ²(1) + χ²(2) + χ²(4) against χ²(2) + χ²(2) + χ²(3), whatever the rows.
        problem = Problem([(0, 0, 0), (1, 2, 1), (1, 1, 0)], [1.0, 2.0, 1.0], [2, 3, 2])
        one = total(MIT(0.95), problem, {2: [], 0: [2], 1: [2, 0]})
        other = total(MIT(0.95), problem, {2: [], 1: [2], 0: [2, 1]})
        assert other - one == pytest.approx((3.8415 + 5.9915 + 9.4877) - (2 * 5.9915 + 7.8147), abs=1e-3)


class TestUpperBound:
    @pytest.mark.parametrize("name", [*PENALTIES, "QNML"])
    @given(problem=problems(max_features=3), scale=st.sampled_from([1e-3, 0.02, 1.0, 1e3]))
    def test_holds_for_every_parent_set(self, name, problem, scale):
        problem = Problem(problem.rows, [w * scale for w in problem.weights], problem.arities)
        self.check(SCORES[name], problem)

    @pytest.mark.parametrize("name", [*PENALTIES, "QNML"])
    @pytest.mark.parametrize("seed", range(4))
    def test_on_larger_tables(self, name, seed):
        weights = ("ones", "whole", "real", "mixed")[seed]
        self.check(SCORES[name], random_problem(seed, 5, n_rows=60, weights=weights))

    def check(self, score, problem):
        for child in range(problem.n):
            bound = score.local_upper_bound(problem.table, f"f{child}")
            best = max(
                local(score, problem, child, [*parents, problem.n])
                for parents in oracles.subsets(v for v in range(problem.n) if v != child)
            )
            assert best <= bound + 1e-9 * max(1, abs(best))
            assert bound <= 0

    def test_is_reached_by_the_likelihood(self):
        problem = random_problem(12, 4, n_rows=60)
        assert LL().local_upper_bound(problem.table, "f0") == pytest.approx(local(LL(), problem, 0, [1, 2, 3, 4]))


class TestPenalisedLikelihoods:
    @pytest.mark.parametrize("weight", [0.01, 1.0, 2.0, 2.7])
    def test_small_tables_have_no_negative_penalty(self, weight):
        problem = Problem([(0, 0, 0), (1, 1, 1)], [weight / 2] * 2, [2, 2, 2])
        for score in (LL(), HQ()):
            assert local(score, problem, 0, []) == pytest.approx(-weight * log(2))
        assert local(BIC(), problem, 0, []) <= -weight * log(2)

    def test_penalties_are_ordered(self):
        problem = random_problem(13, 3, n_rows=60)
        values = [local(score, problem, 0, [1, 3]) for score in (LL(), AIC(), HQ(0.05), HQ(0.3), BIC())]
        assert values == sorted(values, reverse=True)

    def test_unobserved_configurations_count(self):
        few = table_of([(0, 0, 0), (1, 0, 1)], None, [2, 2, 2])
        many = table_of([(0, 0, 0), (1, 0, 1)], None, [2, 5, 2])
        assert AIC().local_score(few, "f0", ["f1"]) - AIC().local_score(many, "f0", ["f1"]) == pytest.approx(3.0)

    @pytest.mark.parametrize("epsilon", [0, -1.0, float("nan"), float("inf"), "1", None, True])
    def test_refuses_a_senseless_epsilon(self, epsilon):
        with pytest.raises(ValueError, match="epsilon must be a"):
            HQ(epsilon)


class TestLogRegret:
    @pytest.mark.parametrize("k", range(1, 6))
    @pytest.mark.parametrize("n", range(7))
    def test_is_the_sum_over_all_samples(self, n, k):
        expected = log(oracles.regret(n, k))
        assert float(log_regret(n, k)) == pytest.approx(expected, rel=1e-13, abs=1e-15)
        assert oracles.log_regret(n, k) == pytest.approx(expected, rel=1e-11, abs=1e-11)

    @pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 100, 1000, 20000])
    def test_keeps_the_recursion(self, n):
        expected = np.array(oracles.log_regrets_by_recursion(n, 3000))
        got = log_regret(n, np.arange(1, 3001))
        np.testing.assert_allclose(got[:1024], expected[:1024], rtol=1e-10)
        np.testing.assert_allclose(got[1024:], expected[1024:], rtol=0, atol=2e-8)

    @pytest.mark.parametrize("n", [1e-6, 0.3, 0.99, 1.5, 15.99, 16.01, 7.25, 333.3, 1e4 + 0.5])
    def test_of_real_weights_is_the_expectation(self, n):
        for k in (2, 3, 4, 10, 1024, 1025, 4000):
            assert close(float(log_regret(n, k)), oracles.log_regret(n, k), 1e-10 if k <= 1024 else 2e-8)

    @pytest.mark.parametrize("n", [0.9e9, 1.2e9, 1e12])
    def test_of_far_more_rows_than_states(self, n):
        for k in (1024, 1025, 1200):
            assert float(log_regret(n, k)) == pytest.approx(oracles.log_regret(n, k), rel=0, abs=1e-7)

    def test_of_no_rows_or_one_state_is_zero(self):
        assert log_regret(0, [1, 2, 5, 2000, 1e30]).tolist() == [0.0] * 5
        assert log_regret([0, 0.5, 3, 1e12, 1e300], 1).tolist() == [0.0] * 5

    @pytest.mark.parametrize("n", [1e-9, 0.1, 1, 2.5, 30, 1e3, 1e6, 1e9, 1e15])
    def test_rises_with_the_states(self, n):
        k = np.unique(np.concatenate([np.arange(1, 1400), np.rint(np.logspace(3.2, 30, 500))]))
        assert (np.diff(log_regret(n, k)) > 0).all()

    @pytest.mark.parametrize("k", [2, 3, 50, 1024, 1025, 10**6, 10**30])
    def test_rises_with_the_weight(self, k):
        n = np.concatenate([[0], np.logspace(-6, 12, 400)])
        assert (np.diff(log_regret(n, k)) > 0).all()

    def test_of_very_many_states(self):
        # Nearly all samples are of distinct states: C(n, k) -> n!/n^n binom(k, n) -> (k/n)^n.
        for n in (1, 2, 5, 40):
            assert float(log_regret(n, 10**30)) == pytest.approx(n * (log(1e30) - log(n)), rel=1e-14)
            assert float(log_regret(n, 1e300)) == pytest.approx(n * (log(1e300) - log(n)), rel=1e-14)
        assert np.isfinite(log_regret([1e-300, 1e-9, 1e6, 1e200], 1e250)).all()

    @pytest.mark.parametrize(("n", "k"), [(1e4, 1e4), (1e6, 2e4), (2e3, 1e7), (5e7, 3e7)])
    def test_is_near_the_published_approximation(self, n, k):
        a = k / n
        c = 0.5 + 0.5 * sqrt(1 + 4 / a)
        published = n * (log(a) + (a + 2) * log(c) - 1 / c) - 0.5 * log(c + 2 / a)
        assert float(log_regret(n, k)) == pytest.approx(published, abs=1e-3)

    def test_broadcasts(self):
        grid = log_regret([[0.0], [3.0], [2.5]], [1, 4, 5000])
        assert grid.shape == (3, 3)
        for i, n in enumerate([0.0, 3.0, 2.5]):
            for j, k in enumerate([1, 4, 5000]):
                assert grid[i, j] == log_regret(n, k)
        assert log_regret(3, 4).shape == ()
        assert log_regret([], 4).shape == (0,)

    @pytest.mark.parametrize(("n", "k"), [(-1, 2), (float("nan"), 2), (float("inf"), 2), (3, 0), (3, float("nan"))])
    def test_refuses_what_is_no_sample(self, n, k):
        with pytest.raises(ValueError, match=r"^[nk] must be"):
            log_regret(n, k)


class TestDirichletScores:
    def test_published_value_of_k2(self):
        # Cooper and Herskovits (1992), their ten cases: P(D | chain) = 2.23e-9, P(D | fork) = 2.23e-10.
        rows = [(1, 0, 0), (1, 1, 1), (0, 0, 1), (1, 1, 1), (0, 0, 0), (0, 1, 1), (1, 1, 1), (0, 0, 0), (1, 1, 1),
                (0, 0, 0)]  # fmt: skip
        problem = Problem(rows, [1.0] * 10, [2, 2, 2])
        chain = total(K2(), problem, {0: [], 1: [0], 2: [1]})
        fork = total(K2(), problem, {0: [], 1: [0], 2: [0]})
        assert np.exp(chain) == pytest.approx(2.23e-9, rel=2e-3)
        assert np.exp(fork) == pytest.approx(2.23e-10, rel=2e-3)

    @given(problems(max_features=2, max_arity=3), ess_values)
    def test_bds_is_bdeu_where_every_configuration_occurs(self, problem, ess):
        every = list(oracles.counts([], [], problem.arities, range(problem.n + 1)))
        full = Problem([*problem.rows, *every], [*problem.weights, *([0.5] * len(every))], problem.arities)
        for child in range(problem.n + 1):
            for parents in oracles.subsets(other_variables(problem, child)):
                assert close(local(BDs(ess), full, child, parents), local(BDeu(ess), full, child, parents))

    def test_bds_ignores_a_redundant_parent(self):
        rows = [(0, 0, 0), (1, 1, 0), (0, 0, 1), (1, 1, 1), (0, 0, 1)]
        problem = Problem([(x, y, c) for x, y, c in rows], [1.0] * 5, [2, 2, 2])
        assert local(BDs(), problem, 2, [0, 1]) == pytest.approx(local(BDs(), problem, 2, [0]), rel=1e-12)
        assert local(BDeu(), problem, 2, [0, 1]) != pytest.approx(local(BDeu(), problem, 2, [0]), rel=1e-3)

    @pytest.mark.parametrize("ess", [64.0, 1e4, 1e9, 1e15])
    def test_bds_with_a_large_sample_size(self, ess):
        problem = random_problem(14, 2, n_rows=200, unseen=False)
        assert close(local(BDs(ess), problem, 0, [1]), local(BDeu(ess), problem, 0, [1]))

    @pytest.mark.parametrize("ess", [0, -1.0, float("nan"), float("inf"), "1", None, True])
    def test_refuses_a_senseless_ess(self, ess):
        with pytest.raises(ValueError, match="ess must be a"):
            BDs(ess)


EXTREME_SIZES = [1e-100, 1e-50, 1e-9, 1e9, 1e15, 1e16, 1e30, 1e99, 1e100]


class TestExtremeSampleSizes:
    """Against rising factorials in fractions, which no rounding touches."""

    @staticmethod
    def log_of(fraction):
        """Ln of a fraction near or far from 1, to nearly the last digit."""
        if abs(fraction - 1) < Fraction(1, 1000):
            return log1p(float(fraction - 1))
        return log(fraction.numerator) - log(fraction.denominator)

    def exact(self, problem, child, parents, ess, *, sparse):
        """The marginal likelihood as one fraction: of cells, over that of configurations."""
        counts = oracles.counts(problem.rows, problem.weights, problem.arities, [*parents, child])
        configurations = {}
        for cell, weight in counts.items():
            if weight:
                configurations.setdefault(cell[:-1], []).append(int(weight))
        q = prod(problem.arities[v] for v in parents)
        a = Fraction(ess) / (len(configurations) if sparse else q)
        b = a / problem.arities[child]
        value = Fraction(1)
        for weights in configurations.values():
            for weight in weights:
                value *= prod((b + k for k in range(weight)), start=Fraction(1))
            value /= prod((a + k for k in range(sum(weights))), start=Fraction(1))
        return self.log_of(value)

    @pytest.mark.parametrize("ess", EXTREME_SIZES)
    @pytest.mark.parametrize("score", [BDeu, BDs])
    def test_local_scores(self, score, ess):
        problem = random_problem(7, 3, n_rows=50, max_arity=3)
        for child, parents in ((0, [3]), (1, [3, 0]), (2, [3, 0, 1]), (3, [])):
            expected = self.exact(problem, child, parents, ess, sparse=score is BDs)
            assert local(score(ess), problem, child, parents) == pytest.approx(expected, rel=1e-11, abs=1e-10)

    @pytest.mark.parametrize("weights", ["ones", "real"])
    @pytest.mark.parametrize("ess", EXTREME_SIZES)
    def test_searches(self, ess, weights):
        """Set scores, candidate lists and families agree, by whole and by real weights."""
        problem = random_problem(8, 4, n_rows=50, max_arity=3, weights=weights)
        structure = learn_anb(problem.table, BDeu(ess))
        assert structure.certificate.optimal
        with pytest.MonkeyPatch.context() as patch:
            force(patch)
            again = learn_anb(problem.table, BDeu(ess))
        assert again.score == pytest.approx(structure.score, rel=1e-10, abs=1e-9)
        assert again.certificate.optimal
        assert learn_anb(problem.table, BDs(ess)).certificate.optimal

    @pytest.mark.parametrize("ess", [1e-310, 5e-324, 1e-101, 1.1e100, 1e300, 1.7e308])
    @pytest.mark.parametrize("score", [BDeu, BDs])
    def test_refused_by_name(self, score, ess):
        with pytest.raises(
            ValueError, match=r"ess must lie between 1e-100 and 1e\+100, .* but is " + re.escape(repr(ess))
        ):
            score(ess)


class TestMIT:
    def test_critical_values(self):
        # Independent rows have no mutual information: the score is minus the quantile of printed χ² tables.
        table = DiscreteTable.from_frame([[x, y] for x in range(2) for y in range(3)])
        for alpha, quantile in [(0.9, 4.605), (0.95, 5.991), (0.99, 9.210), (0.999, 13.816)]:
            assert MIT(alpha).local_score(table, "x1", ["x0"]) == pytest.approx(-quantile, abs=1e-3)

    def test_the_order_of_the_parents(self):
        """Descending numbers of states have the largest sum of critical values, but not at low levels."""

        def critical(arity, arities, alpha):
            freedom = [(arity - 1) * (r - 1) * prod(arities[:k]) for k, r in enumerate(arities)]
            return sum(chi2.ppf(alpha, df) for df in freedom if df)

        for alpha, largest in ((0.3, False), (0.55, False), (0.6, True), (0.95, True)):
            for arities in product([2, 3, 5], repeat=3):
                assert MIT(alpha)._critical_value(2, arities) == pytest.approx(
                    critical(2, sorted(arities, reverse=True), alpha)
                )
                if largest:
                    highest = max(critical(2, order, alpha) for order in permutations(arities))
                    assert MIT(alpha)._critical_value(2, arities) == pytest.approx(highest)
            assert (critical(2, (3, 2), alpha) > critical(2, (2, 3), alpha)) == largest

    def test_variables_of_one_state_cost_nothing(self):
        problem = Problem([(0, 0, 0), (1, 0, 1), (1, 0, 0)], [1.0, 2.0, 1.0], [2, 1, 2])
        assert local(MIT(), problem, 0, [1]) == 0
        assert local(MIT(), problem, 1, [0, 2]) == 0
        assert local(MIT(), problem, 0, [2, 1]) == local(MIT(), problem, 0, [2])

    @pytest.mark.parametrize("alpha", [0, 1, -0.5, 2, float("nan"), "0.9", None, True])
    def test_refuses_a_senseless_alpha(self, alpha):
        with pytest.raises(ValueError, match="alpha must"):
            MIT(alpha)


def test_parameters_of_numpy_are_numbers():
    assert HQ(np.float64(0.5)) == HQ(0.5)
    assert MIT(np.float32(0.5)) == MIT(0.5)
    assert BDs(np.int64(2)) == BDs(2.0)
    assert hash(QNML()) == hash(QNML())
