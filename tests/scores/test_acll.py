"""aCLL: its constants, its local scores, and the parameters that maximise it; and the other rules for parameters."""

import re
from functools import cache
from itertools import product
from math import log, pi

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import spence
from sklearn.base import clone
from strategies import problems, random_problem, table_of

import anbexact
from anbexact import NaiveBayesClassifier
from anbexact.classifiers import FixedStructureClassifier
from anbexact.datasets import load_dataset
from anbexact.models.network.posterior import Posterior
from anbexact.models.parameters.counts import count_families
from anbexact.models.parameters.tables import acll_tables, friedman_tables, ml_tables
from anbexact.models.structure import Certificate, Structure
from anbexact.scores import ACLL, Score, SetScore, acll_constants, acll_standard_error, family_counts

X, Y = load_dataset("tic_tac_toe")
RULES = ["ml", "friedman", "acll"]
uniform_constants = cache(oracles.acll_constants_uniform)


def uniform_pairs(rng, size):
    """Sampler of [0, 1]²."""
    return rng.random((size, 2))


def close(a, b, tolerance=1e-9):
    return abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))


def structure(parents, class_name="c"):
    return Structure(class_name, parents, 0.0, Certificate.unknown("given"))


@st.composite
def augmented(draw, problem):
    """Parents of an augmented naive Bayes, the class anywhere among them."""
    parents = {"c": ()}
    for v in range(problem.n):
        others = draw(st.lists(st.sampled_from(range(v)), unique=True)) if v else []
        place = draw(st.integers(0, len(others)))
        names = [f"f{u}" for u in others]
        parents[f"f{v}"] = (*names[:place], "c", *names[place:])
    return parents


def beta_of(prior, problem):
    """Slope by the oracles; the class has the last of the arities."""
    s = problem.arities[-1]
    if s == 1:
        return -1.0
    if prior == "uniform":
        return uniform_constants(s)[0]
    return oracles.acll_constants_dirichlet(s, *(prior[1:] if prior != "dirichlet" else (1, sum(problem.weights))))[0]


priors = st.sampled_from(["uniform", "dirichlet", ("dirichlet", 0.5, 3.0), ("dirichlet", 2.0, 1000.0)])
pseudo_counts = st.sampled_from([0.01, 0.5, 1.0, 5.0])


class TestConstants:
    def test_two_classes_uniform(self):
        beta, gamma = acll_constants(2)
        assert beta == pytest.approx((pi**2 - 18) / 24, rel=1e-14)
        assert gamma == pytest.approx(pi**2 / 12 - 2 * log(2), rel=1e-14)

    @pytest.mark.parametrize("s", range(2, 9))
    def test_uniform_against_another_integral(self, s):
        np.testing.assert_allclose(acll_constants(s), uniform_constants(s), rtol=1e-12)

    def test_three_classes_uniform(self):
        """Example 3.4 of the paper, with the signs that make its terms fit: they were lost in print."""

        def dilogarithm(z):
            return spence(1 - z)

        terms = 11 - 9 * log(3) + 12 * log(2) - 60 * log(2) ** 2 - 72 * dilogarithm(-2) - 24 * dilogarithm(1 / 4)
        assert acll_constants(3)[0] == pytest.approx((15 * pi**2 - 2 * terms) / 36, rel=1e-12)

    def test_many_classes_uniform(self):
        # As the sum of the U is ever closer to s/2, Cov(A, ln U_1) tends to Cov(U, ln U) / (s/2) = 1 / (2s).
        beta, gamma = acll_constants(5000)
        assert beta * 2 * 5000 == pytest.approx(-1, abs=2e-4)
        assert gamma == pytest.approx(-log(2500) + 5000 * beta, abs=1e-3)

    @pytest.mark.parametrize("s", range(2, 7))
    @pytest.mark.parametrize("prior", ["uniform", ("dirichlet", 1.0, 1000.0), ("dirichlet", 0.7, 5.0)], ids=str)
    def test_against_simulation(self, s, prior):
        rng = np.random.default_rng(s)
        m = 10**6
        draws = rng.random((m, s)) if prior == "uniform" else rng.dirichlet([prior[1]] * s + [prior[2]], m)[:, :s]
        # The slow twin takes a part of the draws.
        beta, gamma, error_beta, error_gamma = oracles.acll_constants_of_draws(draws[:20_000].tolist())
        got = acll_constants(s, prior)
        assert abs(got[0] - beta) < 4 * error_beta / 20_000**0.5
        assert abs(got[1] - gamma) < 4 * error_gamma / 20_000**0.5
        a, b = np.log(draws.sum(axis=1)), np.log(draws).sum(axis=1)
        slope, intercept = np.polyfit(b, -a, 1)
        assert abs(got[0] - slope) < 4 * error_beta / m**0.5
        assert abs(got[1] - intercept) < 4 * error_gamma / m**0.5

    @pytest.mark.parametrize(("s", "a", "b"), [(2, 1, 1000), (3, 1, 1000), (2, 0.5, 0.1), (5, 3, 40), (30, 1, 1e9)])
    def test_dirichlet_closed_form(self, s, a, b):
        got = acll_constants(s, ("dirichlet", a, b))
        np.testing.assert_allclose(got, oracles.acll_constants_dirichlet(s, a, b), rtol=1e-9)

    @pytest.mark.slow
    def test_published_values(self):
        """Carvalho, Adão and Mateus 2013, examples 3.6 and 3.7, without the minus signs that were lost in print."""
        assert acll_constants(2, ("dirichlet", 1, 1000))[0] == pytest.approx(-0.39194, abs=5e-6)
        assert acll_constants(3, ("dirichlet", 1, 1000))[0] == pytest.approx(-0.23992, abs=5e-6)
        rng = np.random.default_rng(0)
        for s, m, prior, beta, gamma in [
            (2, 100_000, ("dirichlet", 1, 1000), -0.39291, 0.61698),
            (3, 100_000, ("dirichlet", 1, 1000), -0.239266, 0.6085),
            (3, 80_000, "uniform", -0.198873, None),
        ]:
            draws = rng.random((m, s)) if prior == "uniform" else rng.dirichlet([1] * s + [1000], m)[:, :s]
            _, _, error_beta, error_gamma = oracles.acll_constants_of_draws(draws.tolist())
            got = acll_constants(s, prior)
            assert abs(got[0] - beta) < 2.5 * error_beta / m**0.5
            assert gamma is None or abs(got[1] - gamma) < 2.5 * error_gamma / m**0.5

    def test_a_sampler(self):
        def dirichlet(rng, size):
            return rng.dirichlet([1.0, 1.0, 1.0, 20.0], size)[:, :3]

        np.testing.assert_allclose(acll_constants(2, uniform_pairs), acll_constants(2), atol=3e-3)
        np.testing.assert_allclose(acll_constants(3, dirichlet), acll_constants(3, ("dirichlet", 1, 20)), atol=6e-3)
        assert acll_constants(2, uniform_pairs) == acll_constants(2, lambda rng, size: rng.random((size, 2)))

    def test_the_scale_changes_gamma_as_stated(self):
        def narrow(rng, size):
            return rng.random((size, 2)) * 0.001

        beta, gamma = acll_constants(2, uniform_pairs)
        scaled = acll_constants(2, narrow)
        assert scaled[0] == pytest.approx(beta, rel=1e-9)
        assert scaled[1] == pytest.approx(gamma - (1 + 2 * beta) * log(0.001), rel=1e-9)

    @pytest.mark.parametrize("prior", ["uniform", ("dirichlet", 2, 3), uniform_pairs])
    def test_one_class(self, prior):
        assert acll_constants(1, prior) == (-1.0, 0.0)
        assert acll_standard_error(1, prior) == 0

    @pytest.mark.parametrize(
        ("n_classes", "prior", "message"),
        [
            (0, "uniform", "n_classes must be a whole number above 0, not 0"),
            (2.0, "uniform", "n_classes must be a whole number"),
            (True, "uniform", "n_classes must be a whole number"),
            (2, "flat", "prior must be .*not 'flat'"),
            (2, None, "prior must be"),
            (2, ACLL, "prior must be"),
            (2, ("dirichlet", 1), "prior must be"),
            (2, "dirichlet", "requires a and b"),
            (2, ("dirichlet", 0, 1), "a of the Dirichlet prior must be a finite number above 0, not 0"),
            (2, ("dirichlet", 1, float("inf")), "b must be a finite number above 0, not inf"),
            (2, ("dirichlet", 1, "N"), "b must be a number above 0, not 'N'"),
            (3, uniform_pairs, r"returned shape \(20000, 2\), not \(20000, 3\)"),
            (2, lambda rng, size: rng.random((size, 2)) - 0.5, "not positive and finite"),
            (2, lambda _, size: np.full((size, 2), np.nan), "not positive and finite"),
            (2, lambda _, size: np.full((size, 2), 0.5), "always returns the same numbers"),
        ],
    )
    def test_refusals(self, n_classes, prior, message):
        with pytest.raises(ValueError, match=message):
            acll_constants(n_classes, prior)
        with pytest.raises(ValueError, match=message):
            acll_standard_error(n_classes, prior)


class TestStandardError:
    @pytest.mark.parametrize("s", range(2, 7))
    def test_uniform_against_another_integral(self, s):
        assert acll_standard_error(s) == pytest.approx(oracles.acll_standard_error_uniform(s), rel=1e-9)

    @pytest.mark.parametrize("s", range(2, 5))
    @pytest.mark.parametrize("prior", ["uniform", ("dirichlet", 1.0, 1000.0), ("dirichlet", 0.7, 5.0)], ids=str)
    def test_against_simulation(self, s, prior):
        rng = np.random.default_rng(s)
        m = 30_000
        draws = rng.random((m, s)) if prior == "uniform" else rng.dirichlet([prior[1]] * s + [prior[2]], m)[:, :s]
        expected = oracles.acll_standard_error_of_draws(draws.tolist())
        assert acll_standard_error(s, prior) == pytest.approx(expected, rel=0.03)

    def test_of_a_sampler(self):
        assert acll_standard_error(2, uniform_pairs) == pytest.approx(acll_standard_error(2), rel=3e-3)

    def test_many_classes(self):
        # A is almost linear in ΣU then, and the squared correlation of U and ln U is 3/4.
        assert acll_standard_error(1000) == pytest.approx((1 / 3000 / 4) ** 0.5, rel=0.01)
        with_dirichlet = acll_standard_error(1000, ("dirichlet", 1.0, 1e6))
        assert 0 < with_dirichlet < acll_standard_error(2, ("dirichlet", 1.0, 1e6))

    def test_published_relative_errors(self):
        """Section 5: 13.92 % for Dir(1, 1, 1000), "half of the uniform's": only one of the two is under the root."""
        dirichlet = ("dirichlet", 1.0, 1000.0)
        assert acll_standard_error(2, dirichlet) ** 2 == pytest.approx(0.1392, abs=5e-5)
        mean = 1 + 2 * log(2) - 3 / 2  # E[-ln P(c | x)] = E[A] - E[ln U], with E[A] = 2 ln 2 - 3/2
        assert acll_standard_error(2) / mean == pytest.approx(0.275, abs=5e-4)

    def test_of_the_score_is_that_of_its_prior(self):
        assert ACLL().standard_error(3, 50.0) == acll_standard_error(3, ("dirichlet", 1.0, 50.0))
        assert ACLL("uniform").standard_error(3, 50.0) == acll_standard_error(3)


class TestLocalScore:
    @given(problems(max_features=3, max_arity=4), priors, pseudo_counts, st.data())
    def test_is_the_formula(self, problem, prior, pseudo_count, data):
        child = data.draw(st.integers(0, problem.n))
        free = [v for v in range(problem.n) if v != child]
        others = data.draw(st.lists(st.sampled_from(free), unique=True)) if free and child < problem.n else []
        names = [problem.names[v] for v in others]
        if child < problem.n:
            names.insert(data.draw(st.integers(0, len(names))), "c")
        got = ACLL(prior, pseudo_count).local_score(problem.table, problem.names[child], names)
        args = problem.rows, problem.weights, problem.arities
        assert close(got, oracles.acll_local(*args, child, others, beta_of(prior, problem), pseudo_count))

    @pytest.mark.parametrize("weights", ["ones", "whole", "real", "mixed"])
    @pytest.mark.parametrize("prior", ["uniform", "dirichlet"])
    def test_larger_tables(self, weights, prior):
        problem = random_problem(4, 4, n_rows=150, weights=weights)
        args = problem.rows, problem.weights, problem.arities
        for child, others in [(0, []), (1, [0, 3]), (2, [0, 1, 3]), (4, [])]:
            names = ["c"] * (child < 4) + [problem.names[v] for v in others]
            expected = oracles.acll_local(*args, child, others, beta_of(prior, problem), 5.0)
            assert close(ACLL(prior).local_score(problem.table, problem.names[child], names), expected)

    def test_configurations_that_do_not_occur_add_nothing(self):
        problem = random_problem(0, 3, weights="real")
        counts = family_counts(problem.table, "f0", ["c", "f1", "f2"])
        wide = np.zeros((1, counts.shape[0], counts.shape[1] + 7, counts.shape[2]))
        wide[0, :, 3:-4] = counts
        arities = problem.table.shape(["c", "f1", "f2"])
        score = ACLL()
        assert close(score.family_scores(wide, arities)[0], score.family_scores(counts[None], arities)[0], 1e-12)

    def test_many_families_at_once(self):
        tables = [random_problem(seed, 2, max_arity=2, unseen=False, weights="real").table for seed in range(5)]
        for child, parents in [("f0", ["c", "f1"]), ("c", [])]:
            counts = np.stack([family_counts(table, child, parents) for table in tables])
            got = ACLL().family_scores(counts, tables[0].shape(parents))
            expected = [ACLL().local_score(table, child, parents) for table in tables]
            np.testing.assert_allclose(got, expected, rtol=1e-12)

    def test_one_class_scores_nothing(self):
        table = table_of([(0, 1, 0), (1, 2, 0), (1, 1, 0)], [1.0, 2.5, 1.0], [2, 3, 1])
        for child, parents in [("f0", ["c"]), ("f1", ["f0", "c"]), ("c", [])]:
            assert ACLL().local_score(table, child, parents) == 0
        assert ACLL().approximate_cll(table, {"f0": ("c",), "f1": ("c", "f0"), "c": ()}) == 0

    def test_neither_score_equivalent_nor_with_a_set_score(self):
        """Either would make the two orders score the same: both are F(c, f0, f1) - F(c)."""
        assert isinstance(ACLL(), Score)
        assert not isinstance(ACLL(), SetScore)
        assert not ACLL.score_equivalent
        assert not ACLL.has_set_score
        table = table_of([(0, 0, 1), (0, 1, 1), (1, 1, 0), (1, 1, 1)], [1.0] * 4, [2, 2, 2])
        for score in (ACLL("uniform", 0.1), ACLL("dirichlet", 0.1)):
            one = score.local_score(table, "f0", ["c"]) + score.local_score(table, "f1", ["c", "f0"])
            other = score.local_score(table, "f1", ["c"]) + score.local_score(table, "f0", ["c", "f1"])
            assert abs(one - other) > 0.1

    @pytest.mark.parametrize(
        ("child", "parents", "message"),
        [
            ("f0", [], r"aCLL needs the class 'c' among the parents of every feature, but 'f0' has \[\]"),
            ("f0", ["f1"], r"but 'f0' has \['f1'\]"),
            ("c", ["f0"], r"aCLL needs a class without parents, but 'c' has \['f0'\]"),
        ],
    )
    def test_other_families_are_refused(self, child, parents, message):
        table = random_problem(0, 2).table
        with pytest.raises(ValueError, match=message):
            ACLL().local_score(table, child, parents)
        if child != "c" and parents:
            with pytest.raises(ValueError, match="aCLL needs the class among the parents"):
                ACLL().family_scores(family_counts(table, child, parents)[None], table.shape(parents))

    def test_a_table_without_a_class(self):
        with pytest.raises(ValueError, match="aCLL needs a class, but the table has no class variable"):
            ACLL().local_score(anbexact.DiscreteTable.from_frame([[0, 1]]), "x0", ["x1"])

    @pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), "5", None, True])
    def test_senseless_pseudo_counts(self, value):
        with pytest.raises(ValueError, match="pseudo_count must be a"):
            ACLL(pseudo_count=value)
        with pytest.raises(ValueError, match="pseudo must be a"):
            friedman_tables({}, value)

    def test_senseless_priors(self):
        class Unhashable:
            __hash__ = None

            def __call__(self, rng, size):
                return rng.random((size, 2))

        with pytest.raises(ValueError, match="prior must be"):
            ACLL("jeffreys")
        with pytest.raises(ValueError, match="a sampler must be hashable"):
            ACLL(Unhashable())

    def test_equality(self):
        assert ACLL(("dirichlet", 1, 2)) == ACLL(["dirichlet", 1.0, np.float64(2)], 5)
        assert ACLL("uniform") != ACLL()


def conditional_log_likelihood(table, parents, prior):
    tables = acll_tables(count_families(table, structure(parents)), "c", prior)
    posterior = Posterior(tables, "c", table.vocabulary.features)
    logs = posterior.log_posterior(np.ascontiguousarray(table.codes[:, :-1].T))
    return float(table.weights @ logs[np.arange(len(logs)), table.column("c")])


class TestApproximation:
    def test_is_the_score_and_gamma(self):
        problem = random_problem(5, 3, weights="real")
        parents = {"f0": ("c",), "f1": ("c", "f0"), "f2": ("f1", "c"), "c": ()}
        args = problem.rows, problem.weights, problem.arities
        beta, gamma = uniform_constants(problem.arities[-1])
        families = [(0, []), (1, [0]), (2, [1]), (3, [])]
        expected = sum(oracles.acll_local(*args, v, others, beta, 5.0) for v, others in families)
        got = ACLL("uniform").approximate_cll(problem.table, parents)
        assert close(got, expected + gamma * sum(problem.weights))

    @pytest.mark.parametrize("prior", ["uniform", "dirichlet"])
    @pytest.mark.parametrize("n_classes", [2, 3])
    @pytest.mark.parametrize("seed", range(5))
    def test_structures_are_ordered_much_as_by_the_conditional_likelihood(self, prior, n_classes, seed):
        table = random_problem(seed, 3, n_rows=200, n_classes=n_classes, unseen=False).table
        points = []
        for of_1, of_2 in product(oracles.subsets(["f0"]), oracles.subsets(["f0", "f1"])):
            parents = {"f0": ("c",), "f1": ("c", *of_1), "f2": ("c", *of_2), "c": ()}
            approximate = ACLL(prior).approximate_cll(table, parents)
            points.append((approximate, conditional_log_likelihood(table, parents, prior)))
        assert np.corrcoef(np.array(points).T)[0, 1] > 0.7

    def test_is_unbiased_for_its_prior(self):
        draws = np.random.default_rng(1).dirichlet([1, 1, 1, 50], 200_000)[:, :3]
        beta, gamma = acll_constants(3, ("dirichlet", 1, 50))
        exact = np.log(draws[:, 0]) - np.log(draws.sum(axis=1))
        error = np.log(draws[:, 0]) + beta * np.log(draws).sum(axis=1) + gamma - exact
        assert abs(error.mean()) < 4 * error.std() / 200_000**0.5
        assert error.std() < 0.5 * exact.std()


class TestParameters:
    @given(problems(max_features=3, max_arity=4), priors, pseudo_counts, st.data())
    def test_acll(self, problem, prior, pseudo_count, data):
        parents = data.draw(augmented(problem))
        counts = count_families(problem.table, structure(parents))
        tables = acll_tables(counts, "c", prior, pseudo_count)
        assert list(tables) == list(parents)
        beta = beta_of(prior, problem)
        score = ACLL(prior, pseudo_count)
        for name, table in tables.items():
            others = [other for other in parents[name] if other != "c"]
            places = [problem.names.index(other) for other in others]
            weighted = oracles.acll_weighted(
                problem.rows, problem.weights, problem.arities, problem.names.index(name), places, beta
            )
            theta = oracles.acll_parameters(weighted, pseudo_count)
            order = [table.variables.index(v) for v in ([name] if name == "c" else [name, *others, "c"])]
            values = np.transpose(table.values, order)
            for cell, value in theta.items():
                assert values[cell] == pytest.approx(value, rel=1e-12)
            objective = sum(m * log(values[cell]) for cell, m in weighted.items())
            assert close(objective, score.local_score(problem.table, name, parents[name]))

    @given(problems(max_features=3, max_arity=3), st.data())
    def test_maximum_likelihood_and_friedman(self, problem, data):
        parents = data.draw(augmented(problem))
        counts = count_families(problem.table, structure(parents))
        pseudo = data.draw(st.sampled_from([0.3, 5.0]))
        unseen = {name: int((family.dense().sum(axis=0) == 0).sum()) for name, family in counts.items()}
        if any(unseen.values()):
            with pytest.warns(UserWarning, match=f"^{sum(unseen.values())} joint states of parents do not") as caught:
                likely = ml_tables(counts)
            assert len(caught) == 1
        else:
            likely = ml_tables(counts)
        smooth = friedman_tables(counts, pseudo)
        args = problem.rows, problem.weights, problem.arities
        for name, of_name in parents.items():
            child, *places = map(problem.names.index, (name, *of_name))
            twins = [
                (likely, oracles.maximum_likelihood(*args, child, places)),
                (smooth, oracles.friedman(*args, child, places, pseudo)),
            ]
            for tables, twin in twins:
                assert tables[name].variables == (name, *of_name)
                assert tables[name].values.shape == tuple(problem.arities[v] for v in (child, *places))
                for cell, value in twin.items():
                    assert tables[name].values[cell] == pytest.approx(value, rel=1e-12, abs=1e-300)
                np.testing.assert_allclose(tables[name].values.sum(axis=0), 1, rtol=1e-13)

    @pytest.mark.parametrize("seed", range(6))
    def test_acll_parameters_maximise(self, seed):
        """Σ M ln θ over the θ with θ_jck ≥ N' / N+_jc, and Σ N+ ln θ over all θ; the first is unbounded over all."""
        rng = np.random.default_rng(seed)
        problem = random_problem(seed, 2, n_rows=120, weights=("ones", "real")[seed % 2])
        pseudo_count = (0.5, 5.0)[seed // 2 % 2]
        prior = ("uniform", "dirichlet")[seed // 3]
        args = problem.rows, problem.weights, problem.arities
        weighted = oracles.acll_weighted(*args, 0, [1], beta_of(prior, problem))
        parents = {"f0": ("f1", "c"), "f1": ("c",), "c": ()}
        counts = count_families(problem.table, structure(parents))
        theta = acll_tables(counts, "c", prior, pseudo_count)["f0"].values
        m = np.array(list(weighted.values())).reshape(theta.shape)
        plus = np.maximum(m, pseudo_count)
        least = pseudo_count / plus.sum(axis=0)
        assert (theta >= least * (1 - 1e-12)).all()
        assert (m < 0).any()
        free = 1 - len(theta) * least
        for _ in range(300):
            direction = np.moveaxis(
                rng.dirichlet(np.full(len(theta), rng.choice([0.3, 1, 5])), theta.shape[1:]), -1, 0
            )
            anywhere = least + free * direction
            for step in (1.0, 0.1, 1e-3):
                moved = theta + step * (anywhere - theta)
                assert (m * np.log(moved)).sum() <= (m * np.log(theta)).sum() + 1e-9
                assert (plus * np.log(moved)).sum() <= (plus * np.log(theta)).sum() + 1e-9
                unbounded = theta + 0.999 * step * (direction - theta)
                assert (plus * np.log(unbounded)).sum() <= (plus * np.log(theta)).sum() + 1e-9
        cell = np.unravel_index(m.argmin(), m.shape)
        lower = theta.copy()
        lower[:, *cell[1:]] *= (1 - 1e-30) / (1 - theta[cell])
        lower[cell] = 1e-30
        assert (m * np.log(lower)).sum() > (m * np.log(theta)).sum()

    def test_acll_needs_the_class_everywhere(self):
        table = random_problem(0, 2).table
        for parents, message in [
            ({"f0": ("f1",), "f1": ("c",), "c": ()}, "aCLL needs the class 'c' among the parents .* but 'f0' has"),
            ({"f0": (), "f1": ("c",), "c": ("f0",)}, "aCLL needs"),
            ({"c": ("f0",), "f0": (), "f1": ("c",)}, "aCLL needs a class without parents, but 'c' has"),
        ]:
            with pytest.raises(ValueError, match=message):
                acll_tables(count_families(table, structure(parents)), "c")


def fixed(**parameters):
    """An augmented naive Bayes over the squares of a board, whose states are declared."""
    parents = dict.fromkeys(X, ("x_wins",)) | {"x_wins": ()}
    parents["top_middle"] = ("top_left", "x_wins")
    parents["middle_middle"] = ("x_wins", "top_left", "top_middle")
    categories = {name: ["b", "never", "o", "x"] for name in X}
    return FixedStructureClassifier(parents, categories=categories, ess=1.0, **parameters)


@pytest.mark.filterwarnings("ignore:.*joint states of parents do not occur")
class TestClassifier:
    def test_each_rule_gives_its_tables(self):
        score = ACLL("uniform", 2.0)
        for structure_score in ("bdeu", score):
            models = {rule: fixed(parameters=rule, structure_score=structure_score).fit(X, Y) for rule in RULES}
            counts = models["ml"].counts_
            prior = ("uniform", 2.0) if structure_score is score else ()
            expected = {
                "ml": ml_tables(counts),
                "friedman": friedman_tables(counts),
                "acll": acll_tables(counts, "x_wins", *prior),
            }
            for rule, model in models.items():
                for name, table in expected[rule].items():
                    np.testing.assert_array_equal(model.conditional_tables_[name].values, table.values)
                assert model.score(X, Y) > 0.6

    @pytest.mark.parametrize("rule", RULES)
    def test_rows_may_be_added(self, rule):
        model = fixed(parameters=rule)
        weights = np.random.default_rng(0).integers(1, 5, len(X)).astype(float)
        together = clone(model).fit(X, Y, sample_weight=weights)
        stepwise = clone(model).fit(X[::2], Y[::2], sample_weight=weights[::2])
        stepwise.partial_fit(X[1::2], Y[1::2], sample_weight=weights[1::2])
        for name, table in together.conditional_tables_.items():
            np.testing.assert_array_equal(table.values, stepwise.conditional_tables_[name].values)
        assert stepwise.structure_.score == pytest.approx(together.structure_.score, rel=1e-12)

    def test_rows_may_be_added_under_its_own_score(self):
        model = fixed(structure_score=ACLL(), parameters="acll")
        stepwise = clone(model).fit(X[::2], Y[::2]).partial_fit(X[1::2], Y[1::2])
        assert stepwise.structure_.score == pytest.approx(clone(model).fit(X, Y).structure_.score, rel=1e-12)

    @pytest.mark.parametrize("rule", RULES)
    @pytest.mark.parametrize("score", ["bdeu", ACLL(), ACLL("uniform", 0.5), ACLL(("dirichlet", 1, 70.5))], ids=repr)
    def test_saved_and_loaded(self, rule, score, tmp_path):
        model = fixed(parameters=rule, structure_score=score).fit(X[::3], Y[::3])
        model.save(tmp_path / "m.json")
        loaded = anbexact.load(tmp_path / "m.json")
        assert loaded.get_params() == model.get_params()
        for name, table in model.conditional_tables_.items():
            assert loaded.conditional_tables_[name].values.tobytes() == table.values.tobytes()
        if score == "bdeu":
            for one in (model, loaded):
                one.partial_fit(X[1::3], Y[1::3])
            for name, table in model.conditional_tables_.items():
                assert loaded.conditional_tables_[name].values.tobytes() == table.values.tobytes()

    def test_a_sampler_is_not_saved(self, tmp_path):
        model = NaiveBayesClassifier(structure_score=ACLL(uniform_pairs), parameters="acll").fit(X, Y)
        with pytest.raises(
            TypeError, match=r"cannot save the parameter structure_score: a builtins\.function cannot"
        ):
            model.save(tmp_path / "m.json")
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("rule", RULES)
    def test_smoothing_belongs_to_eap(self, rule):
        for smoothing in (1.0, "auto"):
            message = re.escape(f"smoothing={smoothing!r} applies only with parameters='eap'")
            with pytest.raises(ValueError, match=message):
                NaiveBayesClassifier(parameters=rule, smoothing=smoothing).fit(X, Y)
        model = NaiveBayesClassifier(parameters=rule, ess=3.0).fit(X, Y)
        assert (model.ess_, model.smoothing_) == (3.0, 3.0)

    def test_unknown_rules(self):
        with pytest.raises(
            ValueError,
            match="parameters must be one of 'eap', 'ml', 'friedman', 'acll', 'hierarchical', 'tree', not 'map'",
        ):
            NaiveBayesClassifier(parameters="map").fit(X, Y)

    @pytest.mark.parametrize("rule", RULES)
    def test_impossible_rows(self, rule):
        model = fixed(parameters=rule).fit(X, Y)
        row = X[:3].astype(object)
        row.iloc[1, 8] = "never"
        if rule == "acll":
            assert np.isfinite(model.predict_log_proba(row)).all()
            return
        with pytest.warns(UserWarning, match=r"row 1 is impossible under the network.* \(1 such rows\).*'negative'"):
            predicted = model.predict(row)
        assert predicted[1] == "negative"
        with pytest.warns(UserWarning, match="row 1 is impossible under the network"):
            probabilities = model.predict_proba(row)
        assert np.isnan(probabilities[1]).all()
        np.testing.assert_allclose(probabilities[[0, 2]].sum(axis=1), 1)
        assert model.predict(row.iloc[[0, 2]]).tolist() == predicted[[0, 2]].tolist()

    def test_one_warning_of_configurations_that_do_not_occur(self):
        with pytest.warns(UserWarning, match="there is no maximum likelihood estimate") as caught:
            fixed(parameters="ml").fit(X, Y)
        messages = [str(warning.message) for warning in caught]
        assert len(messages) == 1
        assert re.match(r"\d+ joint states of parents do not occur, \d+ of them for 'middle_middle'", messages[0])
