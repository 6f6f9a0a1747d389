"""Conditional tables: expected a posteriori estimates against the formula."""

from itertools import product

import numpy as np
import oracles
import pytest
from hypothesis import given
from strategies import ess_values, problems, random_problem

from anbexact import learn_anb, learn_naive_bayes
from anbexact.models.parameters.tables import fit_eap


def check_tables(problem, structure, ess):
    """Compare every cell with the formula; return the oracle's tables."""
    tables = fit_eap(problem.table, structure, ess)
    number = {name: v for v, name in enumerate(problem.names)}
    expected = {}
    assert list(tables) == list(structure.parents)
    for name, table in tables.items():
        assert table.name == name
        assert table.parents == structure.parents[name]
        assert table.variables == (name, *table.parents)
        parents = [number[parent] for parent in table.parents]
        oracle = oracles.eap(problem.rows, problem.weights, problem.arities, number[name], parents, ess)
        assert table.values.shape == tuple(problem.arities[v] for v in [number[name], *parents])
        for cell in product(*map(range, table.values.shape)):
            assert table.values[cell] == pytest.approx(oracle[cell], rel=1e-12)
        np.testing.assert_allclose(table.values.sum(axis=0), 1, rtol=1e-13)
        assert (table.values > 0).all()
        expected[number[name]] = parents, oracle
    return expected


@given(problems(max_features=3), ess_values)
def test_tables_of_small_networks(problem, ess):
    check_tables(problem, learn_anb(problem.table), ess)


@pytest.mark.parametrize("weights", ["ones", "mixed"])
def test_tables_of_larger_networks(weights):
    problem = random_problem(1, 6, n_rows=200, weights=weights)
    check_tables(problem, learn_anb(problem.table), 1.0)
    check_tables(problem, learn_naive_bayes(problem.table), 3.0)


def test_a_configuration_without_rows_is_uniform_and_an_unseen_state_gets_its_share():
    from strategies import table_of

    table = table_of([(0, 0), (1, 0)], [1.0, 3.0], [3, 2])
    values = fit_eap(table, learn_naive_bayes(table), 1.0)["f0"].values
    np.testing.assert_allclose(values[:, 1], 1 / 3)
    np.testing.assert_allclose(values[:, 0], [(1 + 1 / 6) / 4.5, (3 + 1 / 6) / 4.5, (1 / 6) / 4.5])


@pytest.mark.parametrize("ess", [0, -1, float("nan"), float("inf"), "1", None])
def test_a_senseless_ess(ess):
    table = random_problem(0, 2).table
    with pytest.raises(ValueError, match="ess must be a"):
        fit_eap(table, learn_naive_bayes(table), ess)


def test_a_table_too_large_for_memory_is_refused_with_its_size(monkeypatch):
    import anbexact.models.parameters.counts

    table = random_problem(0, 3).table
    monkeypatch.setattr(anbexact.models.parameters.counts, "available_memory", lambda: 100)
    with pytest.raises(
        ValueError,
        match=r"the conditional tables would take .* bytes; the largest is that of 'f0' .* limit .* max_parents=",
    ) as caught:
        fit_eap(table, learn_naive_bayes(table))
    assert ": group states, or limit the parents with " in str(caught.value)
    assert "ess" not in str(caught.value)
