"""Hierarchical tables: against their recursion, and leave-one-out against counting without the row."""

from itertools import pairwise
from math import log

import numpy as np
import oracles
import pytest
from strategies import random_problem
from tiers import repeats

import anbexact
from anbexact import ANBClassifier, GBNClassifier, NaiveBayesClassifier, TANClassifier
from anbexact.classifiers import KDBClassifier
from anbexact.datasets import load_dataset, load_monks
from anbexact.parameters.counts import count_families
from anbexact.parameters.hierarchical import (
    CENTRE,
    SPREAD,
    LeaveOneOut,
    best_strengths,
    hierarchical_tables,
    ordered_parents,
)
from anbexact.structures.structure import Structure

STRENGTHS = (2.0, 0.5, 7.0, 1.5)


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
    tables = hierarchical_tables(counts, "c", STRENGTHS)
    place = {name: v for v, name in enumerate(problem.names)}
    for child, order in orders(problem, structure).items():
        table = tables[problem.names[child]]
        np.testing.assert_allclose(table.values.sum(axis=0), 1)
        for cell in np.ndindex(table.values.shape):
            states = {place[name]: code for name, code in zip(table.variables, cell, strict=True)}
            expected = oracles.hierarchical_entry(
                problem.rows, problem.weights, problem.arities, child, order, STRENGTHS, states
            )
            assert table.values[cell] == pytest.approx(expected, abs=1e-12)


def test_leave_one_out_is_counting_without_the_row():
    for seed in repeats(6):
        problem, structure = problem_and_parents(seed)
        of_class = orders(problem, structure)
        expected = 0.0
        merged = {}
        for row, weight in zip(problem.rows, problem.weights, strict=True):
            if weight > 0:
                merged[tuple(row)] = merged.get(tuple(row), 0.0) + weight
        rows, weights = list(merged), list(merged.values())
        for t, row in enumerate(rows):
            without = [w - min(w, 1.0) * (k == t) for k, w in enumerate(weights)]
            posterior = oracles.hierarchical_posterior(rows, without, problem.arities, of_class, STRENGTHS, row)
            expected += weights[t] * log(posterior[row[-1]])
        found = LeaveOneOut(problem.table, structure)
        strengths = STRENGTHS[: found.n_strengths]
        assert found.log_likelihood(strengths) == pytest.approx(expected, rel=1e-9)


def test_no_other_strength_is_better():
    X, y = load_monks(2)
    model = KDBClassifier(k=2, parameters="hierarchical").fit(X, y)
    table = model.reader_.table(X, y, None)
    strengths = best_strengths(table, model.structure_)
    assert strengths == model.model_.estimation.strengths
    left_out = LeaveOneOut(table, model.structure_)

    def value(tried):
        return left_out.log_likelihood(tried) - sum((log(one / CENTRE) / SPREAD) ** 2 for one in tried) / 2

    best = value(strengths)
    last = len(strengths) - 1
    for factor in (0.2, 0.7, 1.5, 5.0):
        assert value((*strengths[:last], strengths[last] * factor)) < best


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
