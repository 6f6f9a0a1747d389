"""Searches by shared counts: every part has the scores and the network that it would have by itself."""

from collections import Counter
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import oracles
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import ess_values, problems, random_problem
from tiers import examples

from anbexact import ANBClassifier, BDeu, learn_anb, verify
from anbexact._kernels.shared_counts import count_sets
from anbexact.classifiers import exact
from anbexact.search.exact.shared_counts import SharedCounts
from anbexact.tables.folds import split_table


def parts_of(table, folds):
    """The rows of all folds but one, for every fold."""
    return [rows for rows, _ in split_table(table, folds)]


@given(problems(max_features=4, max_rows=14), st.integers(2, 5), ess_values)
@examples(60)
def test_scores_are_those_of_every_part_alone_and_of_the_formula(problem, folds, ess):
    assume(all(weight == round(weight) for weight in problem.weights))
    table, parts = problem.table, parts_of(problem.table, folds)
    shared = SharedCounts.of(table, parts)
    several = [v for v in range(problem.n) if problem.arities[v] > 1]
    for k, part in enumerate([table, *parts]):
        found = shared.set_scores(k, ess)
        np.testing.assert_array_equal(found, SharedCounts.of(part, []).set_scores(0, ess))
        rows, weights = part.codes.tolist(), part.weights.tolist()
        for size in range(len(several) + 1):
            for members in combinations(range(len(several)), size):
                chosen = [problem.n, *(several[b] for b in members)]
                expected = oracles.bdeu_set_score(rows, weights, problem.arities, chosen, ess)
                assert found[sum(1 << b for b in members)] == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("weights", ["ones", "whole"])
@pytest.mark.parametrize("seed", range(6))
def test_networks_are_those_of_the_search(seed, weights):
    problem = random_problem(seed, 3 + seed % 3, weights=weights, n_rows=80)
    table, parts = problem.table, parts_of(problem.table, 4)
    shared = SharedCounts.of(table, parts)
    for part in (table, *parts):
        for ess in (0.3, 2.0, 40.0):
            for most in (None, 2, 1, 0):
                found = shared.learn(part, BDeu(ess), most)
                expected = learn_anb(part, BDeu(ess), max_parents=most)
                assert found.parents == expected.parents
                assert found.score == pytest.approx(expected.score, rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_the_structure_to_be_used_has_the_certificate_of_the_search(seed):
    problem = random_problem(seed, 3 + seed % 3, weights="whole", n_rows=80)
    if seed % 2:  # a feature with one state, which the search leaves out
        rows = [(0, *row) for row in problem.rows]
        problem = type(problem)(rows, problem.weights, [1, *problem.arities])
    shared = SharedCounts.of(problem.table, parts_of(problem.table, 4))
    for ess in (0.3, 40.0):
        for most in (None, 2, 1, 0):
            found = shared.proved(BDeu(ess), most)
            expected = learn_anb(problem.table, BDeu(ess), max_parents=most)
            assert (found.parents, found.score) == (expected.parents, expected.score)
            stated, proof = found.certificate, expected.certificate.proof
            assert stated.optimal
            assert stated == replace(expected.certificate, seconds=stated.seconds)
            assert replace(stated.proof, gap=proof.gap, components=proof.components) == proof
            assert stated.proof.components[0].bound == pytest.approx(proof.components[0].bound, rel=1e-12)
            assert verify(found, problem.table)


def test_ties_are_broken_as_in_the_search():
    problem = random_problem(3, 4, n_rows=30)
    rows = [[row[0], row[0], row[1], row[1], row[-1]] for row in problem.rows]  # every feature twice
    arities = [problem.arities[k] for k in (0, 0, 1, 1, -1)]
    table = type(problem)(rows, problem.weights, arities).table
    for most in (None, 1):
        assert (
            SharedCounts.of(table, []).learn(table, BDeu(), most).parents
            == learn_anb(table, max_parents=most).parents
        )


def test_other_tables_and_real_weights_are_not_shared():
    table, other = random_problem(0, 3).table, random_problem(1, 3).table
    assert SharedCounts.of(table, [other]) is None
    assert SharedCounts.of(other, [table]) is None
    rows, held_out = split_table(table, 3)[0]
    assert SharedCounts.of(rows, [held_out]) is None
    real = random_problem(0, 3, weights="real").table
    assert SharedCounts.of(real, []) is None


@pytest.mark.parametrize("seed", range(3))
def test_a_fit_chooses_what_separate_searches_choose(seed, monkeypatch):
    X, y = random_problem(seed, 5, n_rows=150, weights="ones").frame()
    shared = ANBClassifier().fit(X, y)
    monkeypatch.setattr(exact.ANBClassifier, "_sharing", lambda *_: None)
    alone = ANBClassifier().fit(X, y)
    assert shared.structure_ == replace(
        alone.structure_,
        certificate=replace(alone.structure_.certificate, seconds=shared.structure_.certificate.seconds),
    )
    assert (shared.ess_, shared.smoothing_) == pytest.approx((alone.ess_, alone.smoothing_), rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("seed", range(6))
def test_weights_of_cells_in_all_rows_and_without_every_fold(seed, n):
    """Some entries are heavy, and some are held out by no fold; features and the class can have a single state."""
    rng = np.random.default_rng(100 * n + seed)
    n_rows, n_folds, n_classes, arities = 25, int(rng.integers(1, 5)), int(rng.integers(1, 4)), rng.integers(1, 5, n)
    codes = np.stack([rng.integers(0, arity, n_rows) for arity in arities]).astype(np.uint16)
    class_codes = rng.integers(0, n_classes, n_rows).astype(np.uint16)
    held, sizes = rng.integers(0, n_folds + 1, n_rows).astype(np.uint16), rng.integers(1, 5, n_rows).astype(np.uint32)
    counted = count_sets(codes, class_codes, held, sizes, n_folds, arities, n_classes, rng.permutation(n))
    for members, part in product(range(1 << n), range(n_folds + 1)):
        weights = Counter()
        for t in range(n_rows):
            if part == 0 or held[t] != part - 1:
                weights[class_codes[t], *(codes[b, t] for b in range(n) if members >> b & 1)] += int(sizes[t])
        begin, end = counted[0][members, part]
        found = list(zip(*(own[begin:end].tolist() for own in counted[1:]), strict=True))
        assert found == sorted(Counter(weights.values()).items())
