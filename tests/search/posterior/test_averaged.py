"""Predictions averaged over networks against the list of all networks."""

from itertools import product

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from strategies import ess_values, problems, random_problem, table_of
from tiers import examples, repeats

from anbexact.models.network.table_draws import Wanted
from anbexact.search.posterior import averaged_model, predictive
from anbexact.search.posterior.averaged_model import AveragedModel, Averaging, averaged_intervals

KINDS = [("anb", "orders"), ("anb", "graphs"), ("tan", None), ("fan", None)]


def model_of(problem, **averaging):
    table = problem.table
    return AveragedModel(vocabulary=table.vocabulary, cut_points={}, table=table, averaging=Averaging(**averaging))


def graphs_of(n, networks):
    if networks == "anb":
        return list(oracles.graphs(n))
    forests = oracles.branchings(n, tree=networks == "tan")
    return [{v: () if p is None else (p,) for v, p in enumerate(forest)} for forest in forests]


def weights_of(problem, graphs, prior, ess, *, likelihood=True):
    def local(v, parents):
        if not likelihood:
            return 0.0
        return oracles.bdeu_local(problem.rows, problem.weights, problem.arities, v, [problem.n, *parents], ess)

    return oracles.graph_weights(graphs, local, prior)


def averaged(problem, networks, prior, ess_values, evidence):
    """Ln P(class, evidence) by all graphs, and all equivalent sample sizes by their evidence."""
    graphs = graphs_of(problem.n, networks)
    unweighted = oracles.log_sum(weights_of(problem, graphs, prior, 1.0, likelihood=False))
    evidences, joints = [], []
    for ess in ess_values:
        weights = weights_of(problem, graphs, prior, ess)
        class_score = oracles.bdeu_local(problem.rows, problem.weights, problem.arities, problem.n, [], ess)
        evidences.append(class_score + oracles.log_sum(weights) - unweighted)
        data = problem.rows, problem.weights, problem.arities
        joints.append(oracles.averaged_predictive(graphs, weights, data, ess, evidence))
    shares = np.array(evidences) - oracles.log_sum(evidences)
    return logsumexp(shares[:, None] + np.array(joints), axis=0), np.exp(shares)


def as_codes(row):
    return np.array([[-1 if state is None else state] for state in row], dtype=np.int16)


@pytest.mark.parametrize(("networks", "prior"), KINDS)
@given(data=st.data(), problem=problems(max_features=3, min_arity=2), ess=ess_values)
@examples(40)
def test_against_all_networks(networks, prior, data, problem, ess):
    cells = [st.one_of(st.none(), st.integers(0, arity - 1)) for arity in problem.arities[:-1]]
    row = data.draw(st.tuples(*cells))
    evidence = {v: state for v, state in enumerate(row) if state is not None}
    expected, _ = averaged(problem, networks, prior, [ess], evidence)
    model = model_of(problem, networks=networks, prior=prior, ess=(ess,))
    np.testing.assert_allclose(model.log_joint(as_codes(row))[0], expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("networks", "prior", "n"),
    [pytest.param("anb", "orders", 4, marks=pytest.mark.slow), ("anb", "graphs", 4), ("tan", None, 5)],
)
def test_more_features(networks, prior, n):
    problem = random_problem(5, n, n_rows=30, max_arity=2, n_classes=2, weights="real")
    model = model_of(problem, networks=networks, prior=prior, ess=(0.7,))
    for row in problem.rows[:2]:
        expected, _ = averaged(problem, networks, prior, [0.7], dict(enumerate(row[:-1])))
        np.testing.assert_allclose(model.log_joint(as_codes(row[:-1]))[0], expected, rtol=1e-10)


@pytest.mark.parametrize("networks", ["anb", "tan"])
def test_averages_over_sample_sizes(networks):
    problem = random_problem(2, 3, n_rows=12, n_classes=2)
    sizes = (0.5, 2.0, 9.0)
    row = problem.rows[0][:-1]
    prior = "orders" if networks == "anb" else None
    expected, shares = averaged(problem, networks, prior, sizes, dict(enumerate(row)))
    model = model_of(problem, networks=networks, prior=prior, ess=sizes)
    np.testing.assert_allclose(model.log_joint(as_codes(row))[0], expected, rtol=1e-10)
    np.testing.assert_allclose(model.ess_shares, shares, rtol=1e-9)
    frame = model.arcs.set_index(["parent", "child"])
    by_hand = sum(
        share * model_of(problem, networks=networks, prior=prior, ess=(ess,)).arcs.set_index(["parent", "child"])
        for ess, share in zip(sizes, shares, strict=True)
    )
    np.testing.assert_allclose(frame["probability"], by_hand.loc[frame.index, "probability"], atol=1e-12)


@pytest.mark.parametrize("networks", ["anb", "fan"])
def test_intervals_are_those_of_drawn_networks(networks):
    """Against draws of sample sizes and graphs from the list of all, and of tables cell by cell."""
    problem = random_problem(6, 3, n_rows=14, n_classes=2, weights="ones")
    data, sizes = (problem.rows, problem.weights, problem.arities), (4.0, 16.0)
    prior = "orders" if networks == "anb" else None
    row = problem.rows[0][:-1]
    _, shares = averaged(problem, networks, prior, sizes, {})
    graphs, rng = graphs_of(problem.n, networks), np.random.default_rng(0)
    drawn = []
    for ess, share in zip(sizes, shares, strict=True):
        weights = np.array(weights_of(problem, graphs, prior, ess))
        counts = rng.multinomial(round(4000 * share), np.exp(weights - oracles.log_sum(weights)))
        for graph, count in zip(graphs, counts.tolist(), strict=True):
            parents = {problem.n: (), **{v: (problem.n, *of) for v, of in graph.items()}}
            drawn.append(oracles.drawn_posteriors(data, parents, ess, dict(enumerate(row)), count, rng))
    expected = np.concatenate(drawn)
    model = model_of(problem, networks=networks, prior=prior, ess=sizes)
    found = averaged_intervals(model, as_codes(row), Wanted(0.9, 1000), 0, None)[0]
    assert found.shape == (2, 2)
    for c, (low, high) in enumerate(found):
        assert (expected[:, c] < low).mean() == pytest.approx(0.05, abs=0.02)
        assert (expected[:, c] > high).mean() == pytest.approx(0.05, abs=0.02)


def test_sums_to_one_with_extreme_weights():
    problem = random_problem(7, 4, n_rows=60, max_arity=2, n_classes=2, weights="whole")
    rows = np.array(list(product(*(range(arity) for arity in problem.arities[:-1]))), dtype=np.int16).T
    for networks in ("anb", "tan", "fan"):
        joint = model_of(problem, networks=networks, ess=(1.0,)).log_joint(rows)
        assert np.exp(joint).sum() == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize("networks", ["anb", "tan"])
def test_draws_approach_the_sum(networks, monkeypatch):
    problem = random_problem(1, 3, n_rows=15, n_classes=2)
    rows = np.array([row[:-1] for row in problem.rows[:5]], dtype=np.int16).T
    rows[0, 0] = -1
    exact = model_of(problem, networks=networks, ess=(1.0, 4.0)).posterior(rows)
    monkeypatch.setattr(averaged_model, "exact_predictive", lambda *_: None)
    drawn = model_of(problem, networks=networks, ess=(1.0, 4.0), draws=4000)
    assert not drawn.exact
    np.testing.assert_allclose(drawn.posterior(rows), exact, atol=0.02)
    assert sum(member.share for member in drawn.members) == pytest.approx(1.0)
    free = [
        sum((problem.table.vocabulary.arity(v) - 1) * np.prod(problem.table.shape(p)) for v, p in own.parents.items())
        for own in drawn.members
    ]
    shares = [member.share for member in drawn.members]
    assert drawn.n_parameters == pytest.approx(np.dot(shares, free), abs=0.5)


def test_rows_with_many_missing_cells_are_predicted_by_draws(monkeypatch):
    problem = random_problem(1, 3, n_rows=15, n_classes=2)
    rows = np.array([row[:-1] for row in problem.rows[:5]], dtype=np.int16).T
    rows[:2, 3] = -1
    exact = model_of(problem, ess=(1.0,)).posterior(rows)
    monkeypatch.setattr(averaged_model, "MOST_COMPLETIONS", 2)
    found = model_of(problem, ess=(1.0,), draws=4000).posterior(rows)
    np.testing.assert_array_equal(np.delete(found, 3, axis=0), np.delete(exact, 3, axis=0))
    assert 0 < np.abs(found[3] - exact[3]).max() < 0.02


@pytest.mark.parametrize("seed", repeats(3))
def test_rows_are_added(seed):
    problem = random_problem(seed, 3, n_rows=20, n_classes=2)
    halves = [table_of(problem.rows[k::2], problem.weights[k::2], problem.arities) for k in range(2)]
    whole = model_of(problem, ess=(1.0, 2.0))
    first = AveragedModel(
        vocabulary=halves[0].vocabulary, cut_points={}, table=halves[0], averaging=whole.averaging
    ).add(halves[1])
    rows = np.array([row[:-1] for row in problem.rows], dtype=np.int16).T
    np.testing.assert_allclose(first.log_joint(rows), whole.log_joint(rows), rtol=1e-10)


def test_constraints_and_constant_columns():
    problem = random_problem(3, 3, n_rows=25, n_classes=2)
    problem.arities.insert(3, 1)
    problem.rows = [(*row[:3], 0, row[3]) for row in problem.rows]
    problem.weights = problem.weights[: len(problem.rows)]
    model = model_of(problem, ess=(1.0,), required=(("f0", "f1"),), forbidden=(("f2", "f1"),), max_parents=1)
    arcs = model.arcs.set_index(["parent", "child"])["probability"]
    assert arcs["f0", "f1"] == pytest.approx(1.0)
    assert arcs["f2", "f1"] == 0
    rows = np.array([row[:-1] for row in problem.rows[:4]], dtype=np.int16).T
    unknown = rows.copy()
    unknown[3] = -1
    np.testing.assert_array_equal(model.log_joint(unknown), model.log_joint(rows))


def test_blocks_of_rows_do_not_matter(monkeypatch):
    problem = random_problem(4, 4, n_rows=30, n_classes=3)
    rows = np.array([row[:-1] for row in problem.rows], dtype=np.int16).T
    rows[1, ::3] = -1
    whole = model_of(problem, networks="tan", ess=(1.0,)).log_joint(rows, 1)
    monkeypatch.setattr(predictive, "BLOCK_BYTES", 1)
    monkeypatch.setattr(averaged_model, "ROWS_AT_ONCE", 3)
    np.testing.assert_array_equal(model_of(problem, networks="tan", ess=(1.0,)).log_joint(rows, 2), whole)


def test_of_no_feature():
    problem = random_problem(0, 0, n_classes=3)
    expected = oracles.eap(problem.rows, problem.weights, problem.arities, 0, [], 2.0)
    for networks in ("anb", "tan"):
        joint = model_of(problem, networks=networks, ess=(2.0,)).log_joint(np.zeros((0, 2), dtype=np.int16))
        np.testing.assert_allclose(np.exp(joint), [[expected[c,] for c in range(problem.arities[0])]] * 2)


@pytest.mark.parametrize(("networks", "prior"), [("anb", "orders"), ("tan", None)])
def test_improbable_sample_sizes_count(networks, prior):
    """Sizes of a share below 10⁻⁶ were left out, which made an error of 10⁻⁵ for rare rows."""
    problem = random_problem(1, 2, n_rows=120, max_arity=3, n_classes=2)
    model = model_of(problem, networks=networks, prior=prior)
    rows = list(product(*map(range, problem.arities[:-1])))
    expected = [averaged(problem, networks, prior, model.averaging.ess, dict(enumerate(row))) for row in rows]
    found = model.log_joint(np.array(rows, dtype=np.int16).T)
    np.testing.assert_allclose(found, [logs for logs, _ in expected], rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.ess_shares, expected[0][1], rtol=1e-9)
    assert (model.ess_shares < 1e-6).any()


def test_a_size_that_no_double_notices_is_not_asked(monkeypatch):
    problem = random_problem(0, 3, n_rows=30, n_classes=2)
    model = model_of(problem, networks="tan", ess=(1.0, 2.0))
    rows = np.array(problem.rows, dtype=np.int16).T[:-1]
    (_, first), (_, second) = model.class_posterior._terms
    monkeypatch.setattr(model.class_posterior, "_terms", [(0.0, first), (-60.0, second)])
    monkeypatch.setattr(second, "log_joint", None)
    np.testing.assert_array_equal(model.log_joint(rows), first.log_joint(rows, None))
