"""Expected counts of rows with missing cells, by both ways of computing them."""

import numpy as np
import oracles
import pytest
from strategies import random_problem
from tiers import repeats

from anbexact._kernels.gaps import largest_groups
from anbexact.networks.gap_elimination import GapElimination
from anbexact.networks.gap_expectation import N_DRAWS, GapExpectation
from anbexact.parameters.tables import ConditionalTable
from anbexact.structures.structure import Structure
from anbexact.tables.incomplete import IncompleteTable


def with_gaps(seed, *, share=0.3, n=4, n_rows=14, unlabelled=True):
    """Return rows with None in the place of missing cells, weights, arities, and the same as a table."""
    problem = random_problem(seed, n, n_rows=n_rows, max_arity=3, weights="mixed")
    rng = np.random.default_rng(seed)
    codes = np.array(problem.rows, dtype=np.int16)
    gap = rng.random(codes.shape) < share
    gap[:, -1] &= unlabelled
    codes[gap] = -1
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
    rows, weights, arities, table = with_gaps(seed)
    network = random_network(seed, arities)
    names = table.vocabulary.names
    completed, shares, total = oracles.expected_rows(rows, weights, arities, network)
    expectation = GapExpectation(table, most)
    assert (len(expectation.drawn) > 0) == (most < 10**6)
    expected = expectation.under(as_tables(network, names, arities))
    assert expected.log_likelihood == pytest.approx(total, rel=1e-11)
    counts = expected.counts(as_structure(network, names))
    for v, (parents, _) in network.items():
        theirs = oracles.counts(completed, shares, arities, [v, *parents])
        for cell, value in np.ndenumerate(counts[names[v]].dense()):
            assert value == pytest.approx(theirs[cell], rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("most", [10**6, 4, 0], ids=["by groups", "some by elimination", "all by elimination"])
@pytest.mark.parametrize("seed", repeats(6))
def test_expected_counts_of_a_fixed_structure_are_those_of_all_completions(seed, most, monkeypatch):
    monkeypatch.setattr("anbexact.networks.gap_families.MOST_WAYS", most)
    rows, weights, arities, table = with_gaps(seed, n=5)
    network = random_network(seed, arities)
    names = table.vocabulary.names
    weights = [0.0 if t % 5 == 4 else weight for t, weight in enumerate(weights)]
    completed, shares, total = oracles.expected_rows(rows, weights, arities, network)
    families = GapExpectation(table, 10**6).of_families(as_structure(network, names))
    log_likelihood, counts = families.under(as_tables(network, names, arities), np.array(weights))
    assert log_likelihood == pytest.approx(total, rel=1e-11)
    assert list(counts) == [names[v] for v in network]
    for v, (parents, _) in network.items():
        theirs = oracles.counts(completed, shares, arities, [v, *parents])
        for cell, value in np.ndenumerate(counts[names[v]].dense()):
            assert value == pytest.approx(theirs[cell], rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("seed", repeats(4))
def test_groups_are_the_missing_variables_that_families_connect(seed):
    rows, _, arities, table = with_gaps(seed, n=5, share=0.5)
    network = random_network(seed, arities)
    starts = np.cumsum([0, *(1 + len(parents) for parents, _ in network.values())])
    members = np.array([u for v, (parents, _) in network.items() for u in (v, *parents)])
    found = largest_groups(table.codes, np.array(arities), starts, members)
    for row, ways in zip(rows, found, strict=True):
        groups = [{v} for v, cell in enumerate(row) if cell is None]
        for v, (parents, _) in network.items():
            joined = [group for group in groups if group & {v, *parents}]
            groups = [group for group in groups if group not in joined] + ([set().union(*joined)] if joined else [])
        assert ways == max([int(np.prod([arities[v] for v in group])) for group in groups], default=1)


def test_all_completions_as_rows_have_the_expected_counts_of_any_set():
    rows, weights, arities, table = with_gaps(3)
    network = random_network(3, arities)
    completed, shares, _ = oracles.expected_rows(rows, weights, arities, network)
    laid_out = GapExpectation(table, 10**6).under(as_tables(network, table.vocabulary.names, arities)).rows()
    assert laid_out.weight_sum == pytest.approx(sum(weights))
    theirs = oracles.counts(completed, shares, arities, range(len(arities)))
    for cell, value in np.ndenumerate(laid_out.counts(table.vocabulary.names)):
        assert value == pytest.approx(theirs[cell], abs=1e-11)


@pytest.mark.parametrize("seed", repeats(4))
def test_draws_keep_what_is_observed_and_have_the_posterior_of_a_single_gap(seed):
    rows, _, arities, table = with_gaps(seed, share=0.25)
    network = random_network(seed, arities)
    drawn = GapElimination(table, as_tables(network, table.vocabulary.names, arities), {}).draws(N_DRAWS)
    draws = drawn.reshape(len(rows), N_DRAWS, -1)
    for t, row in enumerate(rows):
        gaps = [v for v, cell in enumerate(row) if cell is None]
        for v, cell in enumerate(row):
            assert cell is None or (draws[t, :, v] == cell).all()
        if len(gaps) == 1:
            (v,) = gaps
            states, shares, _ = oracles.expected_rows([row], [1.0], arities, network)
            ends = np.cumsum(shares)
            for k, end in enumerate(ends[:-1]):
                below = sum(state[v] <= states[k][v] for state in draws[t])
                assert abs(below / N_DRAWS - end) <= 0.5 / N_DRAWS + 1e-12


def test_a_pattern_whose_factors_are_too_large_is_refused(monkeypatch):
    _, _, arities, table = with_gaps(1)
    monkeypatch.setattr("anbexact.networks.gap_elimination.MEMORY_OF_FACTORS", 8)
    tables = as_tables(random_network(1, arities), table.vocabulary.names, arities)
    with pytest.raises(ValueError, match="limit the parents with max_parents"):
        GapElimination(table, tables, {})
