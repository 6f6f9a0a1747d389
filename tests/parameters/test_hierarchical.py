"""Hierarchical tables: against their recursion, and their strengths against counting and a grid."""

from itertools import pairwise
from math import exp, log

import numpy as np
import oracles
import pytest
from strategies import random_problem
from tiers import repeats

import anbexact
from anbexact import ANBClassifier, GBNClassifier, NaiveBayesClassifier, TANClassifier
from anbexact._runtime.deadline import Deadline
from anbexact.classifiers import KDBClassifier
from anbexact.classifiers.table_strengths import chosen_strengths
from anbexact.datasets import load_dataset, load_monks
from anbexact.parameters.counts import count_families
from anbexact.parameters.hierarchical import hierarchical_tables, ordered_parents
from anbexact.parameters.strengths import CENTRE, SPREAD, SPREAD_OF_VARIABLES, HeldOutHierarchy, best_strengths
from anbexact.search import learn_kdb, learn_naive_bayes
from anbexact.structures.structure import Structure
from anbexact.tables.folds import split_table
from anbexact.tables.table import DiscreteTable

STRENGTHS = (2.0, 0.5, 7.0, 1.5)


def different_strengths(names):
    """Strengths that differ from variable to variable."""
    return {name: tuple(strength * (1 + place / 3) for strength in STRENGTHS) for place, name in enumerate(names)}


def problem_and_parents(seed):
    """A random table, and a graph in which the class may have parents, or not be a parent of all."""
    rng = np.random.default_rng(seed)
    problem = random_problem(seed, 3, n_rows=14, max_arity=3, weights="real" if seed % 2 else "ones")
    order = rng.permutation(problem.n + 1).tolist()
    parents = {v: tuple(sorted(u for u in order[:k] if rng.random() < 0.7)) for k, v in enumerate(order)}
    names = problem.names
    structure = Structure.given("c", {names[v]: tuple(names[u] for u in parents[v]) for v in range(problem.n + 1)})
    return problem, structure


def orders(problem, structure):
    """The ordered parents of every variable, by positions."""
    counts = count_families(problem.table, structure)
    place = {name: v for v, name in enumerate(problem.names)}
    return {place[name]: tuple(place[p] for p in ordered_parents(of, "c")) for name, of in counts.items()}


@pytest.mark.parametrize("seed", range(4))
def test_parents_come_in_the_order_of_what_they_tell(seed):
    problem, structure = problem_and_parents(seed)
    c = problem.n
    for child, order in orders(problem, structure).items():
        assert order[:1] == (c,) or c not in order
        given = [c] if c in order else []
        told = [
            oracles.conditional_information(problem.rows, problem.weights, child, parent, given)
            for parent in order
            if parent != c
        ]
        assert all(one >= other - 1e-6 for one, other in pairwise(told))


@pytest.mark.parametrize("seed", range(4))
def test_tables_are_the_recursion(seed):
    problem, structure = problem_and_parents(seed)
    counts = count_families(problem.table, structure)
    strengths = different_strengths(problem.names)
    tables = hierarchical_tables(counts, "c", strengths)
    place = {name: v for v, name in enumerate(problem.names)}
    for child, order in orders(problem, structure).items():
        table = tables[problem.names[child]]
        np.testing.assert_allclose(table.values.sum(axis=0), 1)
        for cell in np.ndindex(table.values.shape):
            states = {place[name]: code for name, code in zip(table.variables, cell, strict=True)}
            expected = oracles.hierarchical_entry(
                problem.rows, problem.weights, problem.arities, child, order, strengths[table.name], states
            )
            assert table.values[cell] == pytest.approx(expected, abs=1e-12)


def halves(problem):
    """The rows of the table, by turns to learn from and held out."""
    table = problem.table
    return [
        DiscreteTable(table.vocabulary, table.codes[part], table.weights[part], len(table.codes[part]))
        for part in (slice(0, None, 2), slice(1, None, 2))
    ]


def of_levels(fold, strengths):
    return np.array([strengths[name][depth] for name, depth in fold.levels])


def test_held_out_rows_are_predicted_from_the_others():
    for seed in repeats(6):
        problem, structure = problem_and_parents(seed)
        learned, held_out = halves(problem)
        counts = count_families(learned, structure)
        place = {name: v for v, name in enumerate(problem.names)}
        parents = {place[name]: tuple(place[p] for p in ordered_parents(of, "c")) for name, of in counts.items()}
        strengths = different_strengths(problem.names)
        by_place = {place[name]: of_name for name, of_name in strengths.items()}
        rows = [[int(learned.column(name)[t]) for name in problem.names] for t in range(len(learned.codes))]
        expected = 0.0
        for t, weight in enumerate(held_out.weights):
            row = [int(held_out.column(name)[t]) for name in problem.names]
            posterior = oracles.hierarchical_posterior(
                rows, learned.weights.tolist(), problem.arities, parents, by_place, row
            )
            expected += weight * log(posterior[row[-1]])
        fold = HeldOutHierarchy(learned, held_out, structure)
        assert fold.log_likelihood(of_levels(fold, strengths))[0] == pytest.approx(expected, rel=1e-9)


def test_derivatives_by_strengths_are_differences():
    for seed in repeats(4):
        problem, structure = problem_and_parents(seed)
        fold = HeldOutHierarchy(*halves(problem), structure)
        at = of_levels(fold, different_strengths(problem.names))
        for level, slope in enumerate(fold.log_likelihood(at)[1]):
            step = np.exp(1e-5 * (np.arange(len(at)) == level))
            above, below = fold.log_likelihood(at * step)[0], fold.log_likelihood(at / step)[0]
            assert slope == pytest.approx((above - below) / 2e-5, abs=1e-6)


def test_many_held_out_rows_are_represented_by_some():
    X, y = load_dataset("tic_tac_toe")
    table = NaiveBayesClassifier().fit(X, y).reader_.table(X, y, None)
    structure = learn_naive_bayes(table)
    learned, held_out = split_table(table, 5)[0]
    some = HeldOutHierarchy(learned, held_out, structure, most_cells=2 * 19 * 10)
    places = np.linspace(0, len(held_out.codes) - 1, 10).astype(int)
    chosen = DiscreteTable(table.vocabulary, held_out.codes[places], held_out.weights[places], 10)
    strengths = of_levels(some, different_strengths(table.vocabulary.names))
    expected = HeldOutHierarchy(learned, chosen, structure).log_likelihood(strengths)[0]
    assert some.log_likelihood(strengths)[0] == pytest.approx(expected, rel=1e-12)


def monks():
    X, y = load_monks(2)
    return X, y, KDBClassifier(k=2, parameters="hierarchical").fit(X, y)


def test_strengths_predict_the_rows_of_folds():
    X, y, model = monks()
    table = model.reader_.table(X, y, None)
    score = model.score_of(model.ess_)
    folds = [
        HeldOutHierarchy(rows, others, learn_kdb(rows, score, k=2))
        for seed in range(4)
        for rows, others in split_table(table, 5, seed)
    ]
    assert best_strengths(folds, model.structure_, 4) == model.model_.estimation.strengths


def test_no_other_strengths_are_better():
    X, y, model = monks()
    table = model.reader_.table(X, y, None)
    folds = [HeldOutHierarchy(*fold, model.structure_) for seed in (0, 1) for fold in split_table(table, 5, seed)]
    every = {name: [*of_name] for name, of_name in best_strengths(folds, model.structure_, 2).items()}
    depths = max(len(of_name) for of_name in every.values())

    def value(strengths):
        """The penalty of the means over variables is taken at its best."""
        total = sum(fold.log_likelihood(of_levels(fold, strengths))[0] for fold in folds) / 2
        for depth in range(depths):
            logs = np.array([log(of_name[depth]) for of_name in strengths.values() if depth < len(of_name)])
            within, between = len(logs) / SPREAD_OF_VARIABLES**2, 1 / SPREAD**2
            mean = (within * logs.mean() + between * log(CENTRE)) / (within + between)
            total -= ((logs - mean) ** 2).sum() / 2 / SPREAD_OF_VARIABLES**2
            total -= (mean - log(CENTRE)) ** 2 / 2 / SPREAD**2
        return total

    best = value(every)
    for name, of_name in every.items():
        for depth in range(len(of_name)):
            for step in (-0.5, -0.05, 0.05, 0.5):
                other = [strength * exp(step * (d == depth)) for d, strength in enumerate(of_name)]
                assert value({**every, name: other}) < best
    for depth in range(depths):
        for step in (-2.0, -0.2, 0.2, 2.0):
            moved = {n: [m * exp(step * (d == depth)) for d, m in enumerate(of)] for n, of in every.items()}
            assert value(moved) < best


def test_a_depth_that_no_fold_has_gets_the_centre():
    X, y, model = monks()
    table = model.reader_.table(X, y, None)
    folds = [HeldOutHierarchy(*fold, learn_naive_bayes(fold[0])) for fold in split_table(table, 5)]
    strengths = best_strengths(folds, model.structure_)
    deep = [of_name[2] for of_name in strengths.values() if len(of_name) > 2]
    assert deep
    assert deep == pytest.approx([CENTRE] * len(deep))
    assert best_strengths([], model.structure_)["is_monk"] == pytest.approx((CENTRE,))


class Counting(KDBClassifier):
    """Counts its searches."""

    searches = 0

    def _learn(self, table, score, time_limit):
        type(self).searches += 1
        return super()._learn(table, score, time_limit)


def test_structures_are_learned_again_in_every_fold():
    X, y = load_monks(1)
    Counting.searches = 0
    Counting(k=2, ess=1.0, parameters="eap").fit(X, y)
    once, Counting.searches = Counting.searches, 0
    Counting(k=2, ess=1.0, parameters="hierarchical").fit(X, y)
    assert Counting.searches == once + 4 * 5  # 432 rows, split four times


def test_no_search_is_started_when_the_time_has_run_out():
    X, y, model = monks()
    table = model.reader_.table(X, y, None)
    score = model.score_of(1.0)
    passed = Deadline(0.0)

    def learn(*_):
        raise AssertionError("no search was to be started")

    alone = chosen_strengths(table, model.structure_, None, score, Deadline())
    assert chosen_strengths(table, model.structure_, learn, score, passed) == alone


@pytest.mark.parametrize("model", [NaiveBayesClassifier, TANClassifier, ANBClassifier, GBNClassifier])
def test_of_every_network(model, tmp_path):
    X, y = load_dataset("iris")
    network = model(ess=1.0, parameters="hierarchical").fit(X, y)
    expected = hierarchical_tables(network.counts_, y.name, network.model_.estimation.strengths)
    for name, table in expected.items():
        np.testing.assert_array_equal(network.conditional_tables_[name].values, table.values)
    assert network.score(X, y) > 0.9
    network.save(tmp_path / "model.json")
    read = anbexact.load(tmp_path / "model.json")
    np.testing.assert_array_equal(read.predict_proba(X), network.predict_proba(X))
    more = read.partial_fit(X, y)
    assert more.model_.estimation.strengths == network.model_.estimation.strengths
    assert np.isfinite(more.predict_log_proba(X)).all()


def test_dense_tables_predict_better():
    X, y = load_dataset("tic_tac_toe")
    train = np.random.default_rng(0).random(len(y)) < 0.7
    losses = []
    for parameters in ("eap", "hierarchical"):
        model = KDBClassifier(k=5, parameters=parameters).fit(X[train], y[train])
        logs = model.predict_log_proba(X[~train])
        codes = np.searchsorted(model.classes_, y[~train])
        losses.append(-logs[np.arange(len(codes)), codes].mean())
    assert losses[1] < losses[0] - 0.05
