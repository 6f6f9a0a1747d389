"""Searches for parents and children: against their definitions, and in distributions that are known."""

from dataclasses import dataclass
from itertools import product
from math import inf, lgamma, log, prod

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mixed import mixed_columns
from scipy.stats import chi2, chi2_contingency
from strategies import problems, random_problem, table_of

from anbexact import BDeu, UniversalMeasure
from anbexact._kernels.contingency import log_survival
from anbexact.rivals.selection.hiton_pc import HITONPC
from anbexact.rivals.selection.independence_tests import BayesFactorTest, G2Test, UniversalTest
from anbexact.rivals.selection.mmpc import MMPC
from anbexact.rivals.selection.pcmb import PCMB
from anbexact.rivals.selection.s2tmb import S2TMB
from anbexact.rivals.selection.sll import SLL

BY_TESTS = {
    MMPC: oracles.max_min_candidates,
    HITONPC: oracles.hiton_candidates,
    PCMB: oracles.pcmb_candidates,
}
BY_SCORE = (SLL, S2TMB)


@dataclass(frozen=True)
class Given:
    """A test that answers by a function of two positions and a tuple of positions."""

    association: object

    def on(self, table):
        return lambda x, others, given: np.array([self.association(x, int(y), given) for y in others], dtype=float)


def blank(n):
    """A table of n variables, whose rows do not matter, and their names."""
    table = table_of([(0,) * n], [1.0], [2] * n)
    return table, table.vocabulary.names


def random_graph(seed, n=None):
    """A random acyclic graph over 5 to 8 variables, in random order."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 9)) if n is None else n
    order = rng.permutation(n)
    density = rng.uniform(0.2, 0.5)
    return {int(v): [int(u) for u in order[:place] if rng.random() < density] for place, v in enumerate(order)}


def random_associations(seed, share=0.15):
    """Associations that obey no law: they depend on the two variables and the set by chance alone."""
    known = {}
    rng = np.random.default_rng(seed)

    def association(x, y, given):
        key = x, y, frozenset(given)
        if key not in known:
            known[key] = float(rng.integers(-3, 20)) if rng.random() < share else float(rng.integers(0, 20))
        return known[key]

    return association


def joint_table(seed, graph, rows=1e6):
    """All joint states of a network, with random conditional distributions, weighted as in so many rows."""
    rng = np.random.default_rng(seed)
    n = len(graph)
    arities = [int(rng.integers(2, 4)) for _ in range(n)]
    tables = {
        v: {j: rng.dirichlet(np.full(arities[v], 0.5)) for j in product(*(range(arities[u]) for u in graph[v]))}
        for v in graph
    }
    states = list(product(*map(range, arities)))
    weights = [rows * prod(tables[v][tuple(state[u] for u in graph[v])][state[v]] for v in graph) for state in states]
    return table_of(states, weights, arities)


def pair_and_given(problem):
    """Two different variables, and others in a row."""
    places = list(range(len(problem.arities)))
    return st.permutations(places).flatmap(
        lambda p: st.integers(0, len(p) - 2).map(lambda k: (p[0], p[1], p[2 : 2 + k]))
    )


@given(st.data(), problems())
def test_g2_follows_its_formula(data, problem):
    x, y, others = data.draw(pair_and_given(problem))
    statistic, freedom = oracles.g2_test(problem.rows, problem.weights, x, y, others)
    test = G2Test(alpha=0.1, rows_per_cell=1e-12).on(problem.table)
    association = test(x, np.array([y]), tuple(sorted(others)))[0]
    expected = log(0.1) - (chi2.logsf(statistic, freedom) if freedom else 0.0)
    assert association == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_g2_of_many_variables_at_once_in_groups_numbered_anew():
    problem = random_problem(3, 9, n_rows=25, weights="mixed")
    others = np.array([0, 4, 9])
    got = G2Test(rows_per_cell=1e-12).on(problem.table)(2, others, (1, 3, 5, 6, 7, 8))
    for y, association in zip(others, got, strict=True):
        statistic, freedom = oracles.g2_test(problem.rows, problem.weights, 2, y, (1, 3, 5, 6, 7, 8))
        assert association == pytest.approx(log(0.05) - (chi2.logsf(statistic, freedom) if freedom else 0.0))


def test_g2_agrees_with_scipy_stratum_by_stratum():
    problem = random_problem(1, 3, n_rows=300, unseen=False, max_arity=3)
    table = problem.table
    statistic = freedom = 0.0
    for counts in table.counts(["f2", "f0", "f1"]):
        found = chi2_contingency(counts, correction=False, lambda_="log-likelihood")
        statistic, freedom = statistic + found.statistic, freedom + found.dof
    association = G2Test().on(table)(0, np.array([1]), (2,))[0]
    assert association == pytest.approx(log(0.05) - chi2.logsf(statistic, freedom), rel=1e-10)


@pytest.mark.parametrize(("statistic", "terms"), [(0.3, 1), (1.5, 4), (9.0, 4), (40.0, 3), (3000.0, 5), (9e5, 40)])
def test_survival_function_where_it_has_a_closed_form(statistic, terms):
    half = statistic / 2
    expected = oracles.log_sum([k * log(half) - lgamma(k + 1) - half for k in range(terms)])
    assert log_survival(statistic, 2 * terms) == pytest.approx(expected, rel=1e-12)


def test_states_that_never_occur_along_with_what_is_given_take_no_degrees_of_freedom():
    problem = random_problem(8, 2, n_rows=200, unseen=False)
    wider = table_of(problem.rows, problem.weights, [arity + 1 for arity in problem.arities])
    few, many = (G2Test(rows_per_cell=1).on(table)(0, np.array([1]), (2,)) for table in (problem.table, wider))
    assert few[0] == many[0] != inf


def test_without_enough_rows_pairs_are_independent_and_larger_tests_are_not_made():
    table = table_of([(0, 0, 0), (1, 1, 1)], [20.0, 20.0], [2, 2, 2])
    others = np.array([1])
    assert np.isfinite(G2Test(rows_per_cell=10).on(table)(0, others, ()))[0]
    assert G2Test(rows_per_cell=10.01).on(table)(0, others, ())[0] == -inf
    assert np.isfinite(G2Test(rows_per_cell=5).on(table)(0, others, (2,)))[0]
    assert G2Test(rows_per_cell=5.01).on(table)(0, others, (2,))[0] == inf


@pytest.mark.parametrize("given", [(), (1,), (3,)])
@pytest.mark.parametrize("cells", [4, 8, 12, 16, 24, 31, 36, 72])
def test_which_pairs_have_enough_rows_depends_on_their_own_cells(cells, given):
    arities = [3, 2, 2, 4, 6]
    rng = np.random.default_rng(5)
    rows = [tuple(int(rng.integers(r)) for r in arities) for _ in range(60)]
    weights = rng.choice([0.5, 1.0, 2.5], 60).tolist()
    table = table_of(rows, weights, arities)
    test = G2Test(rows_per_cell=sum(weights) / (cells + 0.5)).on(table)
    for x in set(range(5)) - set(given):
        others = np.array([y for y in range(5) if y not in (x, *given)])
        needed = [prod(arities[v] for v in (x, y, *given)) for y in others]
        for found, own in zip(test(x, others, given), needed, strict=True):
            assert np.isfinite(found) if own <= cells else found == (inf if given else -inf)


@given(st.data(), problems(), st.sampled_from([0.5, 1.0, 10.0]), st.sampled_from([0.3, 3.0, 150.0]))
def test_bayes_factor_follows_its_formula(data, problem, ess, threshold):
    x, y, others = data.draw(pair_and_given(problem))
    rows = (problem.rows, problem.weights, problem.arities)
    log_factor = oracles.bdeu_local(*rows, x, others, ess) - oracles.bdeu_local(*rows, x, [*others, y], ess)
    association = BayesFactorTest(threshold, ess).on(problem.table)(x, np.array([y]), tuple(sorted(others)))[0]
    assert association == pytest.approx(log(threshold) - log_factor, abs=1e-8)


@given(st.data(), mixed_columns().filter(lambda mixed: len(mixed.columns) > 1), st.sampled_from([0.01, 0.5, 0.9]))
def test_universal_measures_are_compared_as_written(data, mixed, prior):
    """Independent where p g(XZ) g(YZ) ≥ (1 - p) g(XYZ) g(Z), all of them sums over levels."""
    table, score = mixed.read()
    x, y, *others = data.draw(st.permutations(list(mixed.columns)))
    z = others[: data.draw(st.integers(0, len(others)))]

    def log_g(names):
        return mixed.log_measure(names) + sum(log(len(views)) for views in mixed.all_views(names))

    independent = log(prior) + log_g([x, *z]) + log_g([y, *z])
    dependent = log(1 - prior) + log_g([x, y, *z]) + log_g(z)
    test = UniversalTest(score, prior)
    odds = test.log_odds(table, x, y, z)
    assert odds == pytest.approx(independent - dependent, rel=1e-9, abs=1e-7)
    assert test.log_odds(table, y, x, z[::-1]) == pytest.approx(odds, rel=1e-9, abs=1e-8)
    place = table.vocabulary.names.index
    association = test.on(table)(place(x), np.array([place(y)]), tuple(sorted(map(place, z))))[0]
    assert association == pytest.approx(-odds, rel=1e-9, abs=1e-7)
    if abs(odds) > 1e-6:
        assert (association < 0) == (independent >= dependent)


def test_universal_measures_that_are_equal_speak_for_independence():
    table = table_of([(0, 0, 0), (0, 1, 1), (0, 1, 0)], [3.0, 2.5, 40.0], [1, 2, 2])
    assert UniversalTest().log_odds(table, "f0", "f1", ["c"]) == pytest.approx(0.0, abs=1e-12)
    for given_ in ((), (2,)):
        assert UniversalTest().on(table)(0, np.array([1]), given_)[0] < 0
        assert UniversalTest(prior=0.49).on(table)(0, np.array([1]), given_)[0] > 0


def test_universal_measures_find_what_a_chain_of_numbers_and_states_depends_on():
    rng = np.random.default_rng(0)
    a = rng.normal(size=2000)
    b = np.sin(2 * a) + 0.3 * rng.normal(size=2000)
    c = np.where(rng.random(2000) < 0.9, b > 0, b <= 0)
    table, score = UniversalMeasure().read(pd.DataFrame({"a": a, "b": b, "c": c, "d": rng.normal(size=2000)}))
    for selector in BY_TESTS:
        search = selector(UniversalTest(score))
        assert search.parents_children(table, "a") == ("b",)
        assert search.parents_children(table, "b") == ("a", "c")
        assert search.parents_children(table, "d") == ()


def test_universal_measures_of_what_is_not_there():
    table = random_problem(0, 2).table
    with pytest.raises(ValueError, match="'f7' is not a variable of the table"):
        UniversalTest().log_odds(table, "c", "f7")
    with pytest.raises(ValueError, match="are not distinct"):
        UniversalTest().log_odds(table, "c", "f0", ["f0"])


@pytest.mark.parametrize("selector", BY_TESTS)
@pytest.mark.parametrize("seed", range(12))
def test_d_separation_gives_the_parents_and_children(selector, seed):
    graph = random_graph(seed)
    strength = random_associations(seed, share=0.0)

    def association(x, y, given):
        return -1.0 if oracles.d_separated(graph, x, y, given) else 1.0 + strength(x, y, given)

    table, names = blank(len(graph))
    search = selector(Given(association))
    for target in graph:
        expected = {names[v] for v in oracles.neighbours_in(graph, target)}
        assert set(search.parents_children(table, names[target])) == expected


@pytest.mark.parametrize("most", [None, 0, 1, 2])
@pytest.mark.parametrize("selector", BY_TESTS)
@pytest.mark.parametrize("seed", range(8))
def test_searches_follow_their_descriptions_whatever_the_test_says(selector, seed, most):
    n = 7
    association = random_associations(seed)
    table, names = blank(n)
    candidates = {x: BY_TESTS[selector](n, x, association, most) for x in range(n)}
    search = selector(Given(association), most)
    for x in range(n):
        expected = tuple(names[y] for y in sorted(candidates[x]) if x in candidates[y])
        assert search.parents_children(table, names[x]) == expected


@pytest.mark.parametrize("selector", BY_TESTS)
@pytest.mark.parametrize("seed", range(4))
def test_tests_with_too_many_cells_separate_nothing(selector, seed):
    n = 7
    arities = np.random.default_rng(seed).choice([2, 3, 12], n)
    association = random_associations(seed)
    table = table_of([(0,) * n], [1.0], arities.tolist())

    def limited(x, y, given):
        return inf if given and arities[[x, y, *given]].prod() > 60 else association(x, y, given)

    names = table.vocabulary.names
    candidates = {x: BY_TESTS[selector](n, x, limited) for x in range(n)}
    for x in range(n):
        expected = tuple(names[y] for y in sorted(candidates[x]) if x in candidates[y])
        assert selector(Given(limited)).parents_children(table, names[x]) == expected


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("selector", BY_SCORE)
def test_scores_of_small_tables_by_brute_force_over_all_graphs(selector, seed):
    problem = random_problem(seed, 3, n_rows=80, max_arity=3, n_classes=2, weights="mixed")
    rows = (problem.rows, problem.weights, problem.arities)
    names = problem.table.vocabulary.names
    spouses = selector is S2TMB
    candidates = {x: oracles.score_based_candidates(*rows, x, 2.0, spouses=spouses) for x in range(4)}
    for x in range(4):
        expected = tuple(names[y] for y in sorted(candidates[x]) if spouses or x in candidates[y])
        assert selector(BDeu(2.0)).parents_children(problem.table, names[x]) == expected


@pytest.mark.parametrize("search", [MMPC(), HITONPC(BayesFactorTest()), PCMB(), SLL(), S2TMB()], ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_large_tables_give_the_parents_and_children(search, seed):
    graph = random_graph(100 + seed, 6)
    table = joint_table(seed, graph)
    names = table.vocabulary.names
    for target in graph:
        expected = {names[v] for v in oracles.neighbours_in(graph, target)}
        assert set(search.parents_children(table, names[target])) == expected


@pytest.mark.parametrize(
    "search", [MMPC(), MMPC(UniversalTest()), HITONPC(), PCMB(BayesFactorTest()), SLL(), S2TMB()], ids=repr
)
def test_weights_stand_for_copies_and_the_class_is_a_variable(search):
    problem = random_problem(6, 4, n_rows=60, weights="ones")
    once = table_of(problem.rows, [3.0] * 60, problem.arities)
    copies = table_of(problem.rows * 3, [1.0] * 180, problem.arities)
    for name in once.vocabulary.names:
        found = search.parents_children(once, name)
        assert found == search.parents_children(copies, name) == search.parents_children(once.without_class(), name)


@pytest.mark.parametrize("search", [MMPC(), HITONPC(), PCMB(), SLL(), S2TMB()], ids=repr)
def test_a_target_that_is_no_variable_is_refused(search):
    table, _ = blank(2)
    with pytest.raises(ValueError, match="'z' is not a variable"):
        search.parents_children(table, "z")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: G2Test(alpha=0.0), "alpha"),
        (lambda: G2Test(rows_per_cell=0), "rows_per_cell"),
        (lambda: BayesFactorTest(threshold=0.0), "threshold"),
        (lambda: BayesFactorTest(ess=-1.0), "ess"),
        *((lambda prior=prior: UniversalTest(prior=prior), "prior") for prior in (0, 1, -0.1, 1.5, np.nan)),
        *((lambda selector=selector: selector(max_conditioning=-1), "max_conditioning") for selector in BY_TESTS),
    ],
)
def test_settings_that_make_no_sense_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
