"""Expected counts of rows with missing cells, by both ways of computing them."""

import numpy as np
import oracles
import pytest
from strategies import random_problem
from tiers import repeats

from anbexact.models.em.expectation import LEAST_DRAWS, MOST_DRAWS, CompletionExpectation
from anbexact.models.parameters.tables import ConditionalTable
from anbexact.models.structure import Structure
from anbexact.tables.incomplete import IncompleteTable


def incomplete_table(seed, *, share=0.3, n=4, n_rows=14, unlabelled=True):
    """Return rows with None in the place of missing cells, weights, arities, and the same as a table."""
    problem = random_problem(seed, n, n_rows=n_rows, max_arity=3, weights="mixed")
    rng = np.random.default_rng(seed)
    codes = np.array(problem.rows, dtype=np.int16)
    missing = rng.random(codes.shape) < share
    missing[:, -1] &= unlabelled
    codes[missing] = -1
    rows = [tuple(None if cell < 0 else int(cell) for cell in row) for row in codes]
    table = problem.table
    own = IncompleteTable(table.vocabulary, np.asfortranarray(codes), np.array(problem.weights), len(rows))
    return rows, problem.weights, problem.arities, own


def random_network(seed, arities):
    """Return a random graph, class included, and its tables with random probabilities, as the oracles take them."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(arities)).tolist()
    tables = {}
    for k, v in enumerate(order):
        parents = sorted(int(u) for u in order[:k] if rng.random() < 0.6)[:3]
        values = rng.dirichlet(np.ones(arities[v]), size=[arities[u] for u in parents])
        tables[v] = (parents, {(s, *j): float(values[(*j, s)]) for *j, s in np.ndindex(values.shape)})
    return tables


def as_tables(tables, names, arities):
    """Return tables of the oracles as those of a network."""
    found = {}
    for v, (parents, table) in tables.items():
        values = np.empty([arities[u] for u in (v, *parents)])
        for cell, probability in table.items():
            values[cell] = probability
        found[names[v]] = ConditionalTable(names[v], tuple(names[u] for u in parents), values)
    return found


def as_structure(tables, names):
    return Structure.given("c", {names[v]: tuple(names[u] for u in parents) for v, (parents, _) in tables.items()})


@pytest.mark.parametrize("most", [10**6, 20, 0], ids=["all laid out", "some", "none"])
@pytest.mark.parametrize("seed", repeats(6))
def test_expected_counts_are_those_of_all_completions(seed, most):
    rows, weights, arities, table = incomplete_table(seed)
    network = random_network(seed, arities)
    names = table.vocabulary.names
    completed, shares, total = oracles.expected_rows(rows, weights, arities, network)
    expectation = CompletionExpectation(table, most)
    assert (len(expectation.drawn) > 0) == (most < 10**6)
    expected = expectation.under(as_tables(network, names, arities))
    assert expected.log_likelihood == pytest.approx(total, rel=1e-11)
    counts = expected.counts(as_structure(network, names))
    for v, (parents, _) in network.items():
        theirs = oracles.counts(completed, shares, arities, [v, *parents])
        for cell, value in np.ndenumerate(counts[names[v]].dense()):
            assert value == pytest.approx(theirs[cell], rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("seed", repeats(6))
def test_expected_counts_of_a_fixed_structure_are_those_of_all_completions(seed):
    rows, weights, arities, table = incomplete_table(seed, n=5)
    network = random_network(seed, arities)
    names = table.vocabulary.names
    weights = [0.0 if t % 5 == 4 else weight for t, weight in enumerate(weights)]
    completed, shares, total = oracles.expected_rows(rows, weights, arities, network)
    families = CompletionExpectation(table, 10**6).of_families(as_structure(network, names))
    log_likelihood, counts = families.under(as_tables(network, names, arities), np.array(weights))
    assert log_likelihood == pytest.approx(total, rel=1e-11)
    assert list(counts) == [names[v] for v in network]
    for v, (parents, _) in network.items():
        theirs = oracles.counts(completed, shares, arities, [v, *parents])
        for cell, value in np.ndenumerate(counts[names[v]].dense()):
            assert value == pytest.approx(theirs[cell], rel=1e-9, abs=1e-11)


def test_all_completions_as_rows_have_the_expected_counts_of_any_set():
    rows, weights, arities, table = incomplete_table(3)
    network = random_network(3, arities)
    completed, shares, _ = oracles.expected_rows(rows, weights, arities, network)
    laid_out = CompletionExpectation(table, 10**6).under(as_tables(network, table.vocabulary.names, arities)).rows()
    assert laid_out.weight_sum == pytest.approx(sum(weights))
    theirs = oracles.counts(completed, shares, arities, range(len(arities)))
    for cell, value in np.ndenumerate(laid_out.counts(table.vocabulary.names)):
        assert value == pytest.approx(theirs[cell], abs=1e-11)


@pytest.mark.parametrize("n_draws", [LEAST_DRAWS, 43])
@pytest.mark.parametrize("seed", repeats(4))
def test_draws_keep_what_is_observed_and_have_the_posterior_of_a_single_gap(seed, n_draws):
    rows, _, arities, table = incomplete_table(seed, share=0.25)
    network = random_network(seed, arities)
    table = table.rows(np.flatnonzero(table.missing.any(axis=1)))
    rows = [row for row in rows if None in row]
    expectation = CompletionExpectation(table, 0)
    expectation.n_draws = n_draws
    draws = expectation.under(as_tables(network, table.vocabulary.names, arities)).draws
    draws = draws.reshape(len(rows), n_draws, -1)
    for t, row in enumerate(rows):
        missing = [v for v, cell in enumerate(row) if cell is None]
        for v, cell in enumerate(row):
            assert cell is None or (draws[t, :, v] == cell).all()
        if len(missing) == 1:
            (v,) = missing
            states, shares, _ = oracles.expected_rows([row], [1.0], arities, network)
            ends = np.cumsum(shares)
            for k, end in enumerate(ends[:-1]):
                below = sum(state[v] <= states[k][v] for state in draws[t])
                assert abs(below / n_draws - end) <= 0.5 / n_draws + 1e-12


@pytest.mark.parametrize("seed", repeats(4))
def test_many_draws_have_the_joint_posterior_of_several_missing_cells(seed):
    rows, weights, arities, table = incomplete_table(seed, share=0.5, n_rows=6)
    network = random_network(seed, arities)
    expectation = CompletionExpectation(table, 0)
    expectation.n_draws = 4000
    drawn = expectation.under(as_tables(network, table.vocabulary.names, arities)).rows()
    completed, shares, _ = oracles.expected_rows(rows, weights, arities, network)
    theirs = oracles.counts(completed, shares, arities, range(len(arities)))
    for cell, value in np.ndenumerate(drawn.counts(table.vocabulary.names)):
        assert value == pytest.approx(theirs[cell], abs=0.05 * sum(weights))


def test_a_row_may_take_an_eighth_of_the_completions_and_few_rows_get_many_draws():
    _, _, _, table = incomplete_table(1, share=0.5)
    ways = table.n_completions()
    most = int(ways.max()) * 8
    assert ways.sum() <= most
    assert len(CompletionExpectation(table, most).drawn) == 0
    few = CompletionExpectation(table, most - 8)
    assert (few.drawn == np.flatnonzero(ways == ways.max())).all()
    assert few.n_draws == MOST_DRAWS
    assert CompletionExpectation(table, 0).n_draws == LEAST_DRAWS


def test_a_pattern_whose_factors_are_too_large_is_refused(monkeypatch):
    _, _, arities, table = incomplete_table(1)
    monkeypatch.setattr("anbexact.models.network.elimination.USUAL_CELLS", 1)
    monkeypatch.setattr("anbexact.models.network.elimination.MOST_BYTES", 1)
    tables = as_tables(random_network(1, arities), table.vocabulary.names, arities)
    with pytest.raises(ValueError, match="use a network with fewer parents"):
        CompletionExpectation(table, 0).under(tables)
