"""The posterior over structures against the list of all structures."""

import math
from collections import Counter

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from strategies import SCORES, ess_values, problems, random_problem
from tiers import examples, repeats

from anbexact import BDeu, DiscreteTable, SearchTooLargeError, learn_anb, learn_gbn, structure_posterior
from anbexact._kernels.tree_sums import arc_probabilities, eliminate
from anbexact.datasets import load_monks

KINDS = [("anb", "orders"), ("anb", "graphs"), ("gbn", "orders"), ("gbn", "graphs"), ("tan", None), ("fan", None)]


def graphs_of(problem, networks):
    """All graphs of a kind over the features, or over all variables."""
    n = len(problem.arities) if networks == "gbn" else problem.n
    if networks in ("tan", "fan"):
        forests = oracles.branchings(n, tree=networks == "tan")
        return [{v: () if p is None else (p,) for v, p in enumerate(forest)} for forest in forests]
    return list(oracles.graphs(n))


def expected(problem, local, networks, prior):
    """All graphs of a kind, the ln of their weights, and the ln of their prior weights."""
    graphs = graphs_of(problem, networks)
    return graphs, *(oracles.graph_weights(graphs, own, prior) for own in (local, lambda *_: 0.0))


def local_of(problem, networks, ess):
    given_class = [] if networks == "gbn" else [problem.n]
    return lambda v, parents: oracles.bdeu_local(
        problem.rows, problem.weights, problem.arities, v, [*given_class, *parents], ess
    )


def matrix(posterior, names):
    """The probabilities of arcs, parents by children."""
    found = np.zeros((len(names), len(names)))
    for row in posterior.arcs.itertuples():
        found[names.index(row.parent), names.index(row.child)] = row.probability
    return found


@pytest.mark.parametrize(("networks", "prior"), KINDS)
@given(problem=problems(max_features=3, min_arity=2), ess=ess_values)
@examples(40)
def test_against_all_structures(networks, prior, problem, ess):
    graphs, weights, prior_weights = expected(problem, local_of(problem, networks, ess), networks, prior)
    posterior = structure_posterior(problem.table, BDeu(ess), networks=networks, prior=prior)
    alone = 0.0
    if networks != "gbn":
        alone = oracles.bdeu_local(problem.rows, problem.weights, problem.arities, problem.n, [], ess)
    evidence = alone + logsumexp(weights) - logsumexp(prior_weights)
    assert posterior.log_evidence == pytest.approx(evidence, rel=1e-10, abs=1e-9)
    names = problem.names if networks == "gbn" else problem.names[:-1]
    probabilities = np.exp(np.array(weights) - logsumexp(weights))
    arcs = np.zeros((len(names), len(names)))
    sets = [Counter() for _ in names]
    for graph, probability in zip(graphs, probabilities, strict=True):
        for v, parents in graph.items():
            arcs[list(parents), v] += probability
            sets[v][tuple(names[p] for p in parents)] += probability
    np.testing.assert_allclose(matrix(posterior, names), arcs, atol=1e-10)
    for v, name in enumerate(names):
        frame = posterior.parent_sets(name, most=None)
        listed = dict(zip(frame["parents"], frame["probability"], strict=True))
        assert listed.keys() >= {parents for parents, p in sets[v].items() if p > 1e-9}
        assert listed == pytest.approx({parents: sets[v][parents] for parents in listed}, abs=1e-10)
        assert frame["probability"].is_monotonic_decreasing
    if prior != "orders":
        entropy = -sum(p * math.log(p) for p in probabilities if p > 0)
        assert posterior.effective_networks() == pytest.approx(math.exp(entropy), rel=1e-8)


@pytest.mark.parametrize(
    ("networks", "prior", "n"),
    [
        ("anb", "orders", 4),
        ("anb", "graphs", 4),
        pytest.param("gbn", "orders", 3, marks=pytest.mark.slow),
        pytest.param("gbn", "graphs", 3, marks=pytest.mark.slow),
        ("tan", None, 5),
        pytest.param("fan", None, 5, marks=pytest.mark.slow),
    ],
)
def test_four_variables_and_trees_of_five(networks, prior, n):
    problem = random_problem(8, n, n_rows=50, max_arity=3, n_classes=2, weights="real")
    local = local_of(problem, networks, 1.7)
    graphs, weights, _ = expected(problem, local, networks, prior)
    posterior = structure_posterior(problem.table, BDeu(1.7), networks=networks, prior=prior)
    names = problem.names if networks == "gbn" else problem.names[:-1]
    arcs = np.zeros((len(names), len(names)))
    for graph, probability in zip(graphs, np.exp(np.array(weights) - logsumexp(weights)), strict=True):
        for v, parents in graph.items():
            arcs[list(parents), v] += probability
    np.testing.assert_allclose(matrix(posterior, names), arcs, atol=1e-10)


@pytest.mark.parametrize(("networks", "prior"), KINDS)
@pytest.mark.parametrize("seed", repeats(2))
def test_draws_have_the_posterior(networks, prior, seed):
    """Chi-square of 2,000 draws against the probabilities of all structures, rare ones put together."""
    problem = random_problem(seed, 3, n_rows=15, n_classes=2)
    graphs, weights, _ = expected(problem, local_of(problem, networks, 2.0), networks, prior)
    posterior = structure_posterior(problem.table, BDeu(2.0), networks=networks, prior=prior)
    names = problem.names if networks == "gbn" else problem.names[:-1]
    draws = posterior.draw(2000 if prior else 300, random_state=seed)
    drawn = Counter(
        tuple(tuple(p for p in own.parents[v] if networks == "gbn" or p != "c") for v in names) for own in draws
    )
    chances = np.exp(np.array(weights) - logsumexp(weights)) * len(draws)
    statistic, rare, seen_rare = 0.0, 0.0, 0
    frequent = 0
    for graph, chance in zip(graphs, chances, strict=True):
        seen = drawn.pop(tuple(tuple(names[p] for p in graph[v]) for v in range(len(names))), 0)
        if chance < 5:
            rare, seen_rare = rare + chance, seen_rare + seen
        else:
            frequent += 1
            statistic += (seen - chance) ** 2 / chance
    assert not drawn
    assert frequent > 1
    statistic += (seen_rare - rare) ** 2 / max(rare, 1e-9) if rare >= 5 else 0.0
    assert statistic < frequent + 5 * math.sqrt(2 * frequent) + 5
    best = max(draws, key=lambda own: own.score)
    search = learn_gbn if networks == "gbn" else learn_anb
    assert best.score <= search(problem.table, BDeu(2.0)).score + 1e-9
    parents = {problem.names.index(v): [problem.names.index(p) for p in of_v] for v, of_v in best.parents.items()}
    score = oracles.structure_score(problem.rows, problem.weights, problem.arities, parents, 2.0)
    assert best.score == pytest.approx(score, rel=1e-10)


@pytest.mark.parametrize("score", sorted(SCORES))
@pytest.mark.parametrize("networks", ["anb", "fan"])
def test_every_score(score, networks):
    problem = random_problem(3, 3, n_rows=30, n_classes=2)
    chosen = SCORES[score]()
    names = problem.names[:-1]
    graphs, weights, _ = expected(
        problem,
        lambda v, parents: chosen.local_score(problem.table, names[v], ["c", *(names[p] for p in parents)]),
        networks,
        "orders" if networks == "anb" else None,
    )
    posterior = structure_posterior(problem.table, chosen, networks=networks)
    probabilities = np.exp(np.array(weights) - logsumexp(weights))
    arcs = np.zeros((3, 3))
    for graph, probability in zip(graphs, probabilities, strict=True):
        for v, parents in graph.items():
            arcs[list(parents), v] += probability
    np.testing.assert_allclose(matrix(posterior, names), arcs, atol=1e-9)


@pytest.mark.parametrize("networks", ["anb", "tan", "fan", "gbn"])
@pytest.mark.parametrize("prior", ["orders", "graphs"])
def test_constraints(networks, prior):
    problem = random_problem(1, 3 if networks == "gbn" else 4, n_rows=40, n_classes=2)
    own = prior if networks in ("anb", "gbn") else None
    limits = {"required": [("f0", "f2")], "forbidden": [("f1", "f0"), ("c" if networks == "gbn" else "f3", "f1")]}
    if own:
        limits["max_parents"] = 2
    posterior = structure_posterior(problem.table, networks=networks, prior=own, **limits)
    local = local_of(problem, networks, 1.0)
    graphs = [
        graph
        for graph in graphs_of(problem, networks)
        if 0 in graph[2] and 1 not in graph[0] and 3 not in graph[1] and max(map(len, graph.values())) <= 2
    ]
    weights = oracles.graph_weights(graphs, local, own)
    probabilities = np.exp(np.array(weights) - logsumexp(weights))
    names = problem.names if networks == "gbn" else problem.names[:-1]
    arcs = np.zeros((len(names), len(names)))
    for graph, probability in zip(graphs, probabilities, strict=True):
        for v, parents in graph.items():
            arcs[list(parents), v] += probability
    np.testing.assert_allclose(matrix(posterior, names), arcs, atol=1e-9)
    assert all("f0" in drawn.parents["f2"] for drawn in posterior.draw(5, random_state=0))


class TestTrees:
    @given(
        seed=st.integers(0, 10**6),
        n=st.integers(1, 5),
        spread=st.sampled_from([1.0, 40.0, 400.0]),
        forest=st.booleans(),
    )
    @examples(150, quick=30)
    def test_elimination_loses_nothing(self, seed, n, spread, forest):
        """Weights that differ by hundreds of nats, and arcs that are missing."""
        rng = np.random.default_rng(seed)
        arcs, roots = rng.normal(size=(n, n)) * spread, rng.normal(size=n) * spread
        arcs[rng.random((n, n)) < 0.2] = -np.inf
        np.fill_diagonal(arcs, -np.inf)
        trees = oracles.branchings(n, tree=not forest)
        weights = np.array(
            [sum(roots[v] if p is None else arcs[p, v] for v, p in enumerate(parents)) for parents in trees]
        )
        reduced, reduced_roots, totals = arcs.copy(), roots.copy(), np.empty(n)
        value = eliminate(reduced, reduced_roots, forest, totals)
        if np.isneginf(weights).all():
            assert value == -np.inf
            return
        assert value == pytest.approx(logsumexp(weights), rel=1e-12, abs=1e-9)
        of_arcs, of_roots = np.zeros((n, n)), np.zeros(n)
        arc_probabilities(reduced, reduced_roots, forest, totals, of_arcs, of_roots)
        expected_arcs, expected_roots = np.zeros((n, n)), np.zeros(n)
        for parents, probability in zip(trees, np.exp(weights - logsumexp(weights)), strict=True):
            for v, p in enumerate(parents):
                if p is None:
                    expected_roots[v] += probability
                else:
                    expected_arcs[p, v] += probability
        np.testing.assert_allclose(of_arcs, expected_arcs, atol=1e-10)
        np.testing.assert_allclose(of_roots, expected_roots, atol=1e-10)

    def test_many_features(self):
        problem = random_problem(0, 60, n_rows=200, n_classes=2)
        posterior = structure_posterior(problem.table, networks="tan")
        assert matrix(posterior, problem.names[:-1]).sum() == pytest.approx(59, abs=1e-7)
        forest = structure_posterior(problem.table, networks="fan")
        assert matrix(forest, problem.names[:-1]).sum(axis=0).max() < 1 + 1e-9


class TestAnswers:
    def test_features_of_one_state_have_no_arcs(self):
        X, y = load_monks(1)
        plain = structure_posterior(DiscreteTable.from_frame(X, y))
        with_constant = structure_posterior(DiscreteTable.from_frame(X.assign(constant="a"), y))
        pd.testing.assert_frame_equal(plain.arcs, with_constant.arcs)
        assert with_constant.draw(1, random_state=0)[0].parents["constant"] == ("is_monk",)
        assert plain.log_evidence == pytest.approx(with_constant.log_evidence)

    def test_effective_networks_by_draws(self):
        """Against the entropy of all structures."""
        problem = random_problem(5, 3, n_rows=20, n_classes=2)
        _, weights, _ = expected(problem, local_of(problem, "anb", 1.0), "anb", "orders")
        probabilities = np.exp(np.array(weights) - logsumexp(weights))
        entropy = -(probabilities * np.log(probabilities)).sum()
        posterior = structure_posterior(problem.table)
        assert math.log(posterior.effective_networks(draws=4000)) == pytest.approx(entropy, abs=0.1)

    def test_seeds(self):
        posterior = structure_posterior(random_problem(0, 5).table)
        first, second, third = (
            [dict(own.parents) for own in posterior.draw(20, random_state=seed)] for seed in (0, 0, 1)
        )
        assert first == second != third

    def test_threads_do_not_matter(self):
        table = random_problem(0, 7).table
        one, two = (structure_posterior(table, n_jobs=n_jobs).arcs for n_jobs in (1, 2))
        pd.testing.assert_frame_equal(one, two)

    def test_no_feature_and_one_feature(self):
        for n in (0, 1):
            posterior = structure_posterior(random_problem(0, n).table)
            assert posterior.arcs.empty
            assert posterior.draw(1, random_state=0)[0].parents["c"] == ()
            assert posterior.effective_networks() == pytest.approx(1.0)

    def test_text(self):
        text = str(structure_posterior(DiscreteTable.from_frame(*load_monks(1)), networks="gbn"))
        assert "posterior over all networks of 6 features, prior: orders" in text
        assert "100.0%  head_shape - is_monk  (head_shape -> is_monk 100.0%)" in text
        assert text.count("head_shape - is_monk") == 1


class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"networks": "naive"}, "networks must be one of 'anb', 'gbn', 'tan', 'fan', not 'naive'"),
            ({"prior": "uniform"}, "prior must be one of 'orders', 'graphs', not 'uniform'"),
            ({"networks": "tan", "prior": "orders"}, "prior cannot be chosen for networks='tan'"),
            ({"networks": "fan", "max_parents": 1}, "max_parents has no meaning for networks='fan'"),
            ({"memory_limit": -1}, "memory_limit must be None or a number above 0"),
        ],
    )
    def test_parameters(self, options, words):
        with pytest.raises(ValueError, match=words):
            structure_posterior(random_problem(0, 3).table, **options)

    def test_no_structure(self):
        forbidden = [(a, b) for a in ("f0", "f1", "f2") for b in ("f0", "f1", "f2") if a != b]
        with pytest.raises(ValueError, match="no structure of the kind 'tan' satisfies the constraints"):
            structure_posterior(random_problem(0, 3).table, networks="tan", forbidden=forbidden)

    def test_too_many(self):
        with pytest.raises(ValueError, match="up to 12 variables, not for 13"):
            structure_posterior(random_problem(0, 13).table, prior="graphs")
        with pytest.raises(SearchTooLargeError, match=r"enough for \d+ features"):
            structure_posterior(random_problem(0, 22).table, memory_limit=1e8)

    def test_unknown_child(self):
        with pytest.raises(ValueError, match="'x' is not one of the variables"):
            structure_posterior(random_problem(0, 2).table).parent_sets("x")


@pytest.fixture(scope="module")
def one_class():
    """Two features, and a class of one state that stands last, first or between them."""
    return pd.DataFrame({"a": list("uvuvuuvv"), "b": list("pqpqpqpq"), "k": ["z"] * 8})


@pytest.mark.parametrize("prior", ["orders", "graphs"])
@pytest.mark.parametrize("names", [["a", "b", "k"], ["k", "a", "b"]])
def test_a_class_of_one_state_is_left_out_of_networks(one_class, prior, names):
    """P(a → b) = .28664 with equally probable graphs, and no other arc."""
    table = DiscreteTable.from_frame(one_class[names], class_name="k")
    found = structure_posterior(table, networks="gbn", prior=prior)
    features = DiscreteTable.from_frame(one_class[["a", "b"]], ["z", "y"] * 4).restricted(["a", "b"])
    local = BDeu().local_score
    alone = local(features, "a", []) + local(features, "b", [])
    arc = local(features, "a", []) + local(features, "b", ["a"])
    # of two variables, one order admits each arc and both admit no arc; parents of size 0 and 1 have weight 1
    weights = np.exp(np.array([alone, arc, arc]) - arc) * ([1, 1, 1] if prior == "graphs" else [2, 1, 1])
    expected = float(weights[1] / weights.sum())
    if prior == "graphs":
        assert expected == pytest.approx(0.28664, abs=5e-6)
    assert found.arcs["probability"].tolist() == pytest.approx([expected, expected])
    assert found.arcs["adjacent"].tolist() == pytest.approx([2 * expected, 2 * expected])
    assert {frozenset(pair) for pair in found.arcs[["parent", "child"]].to_numpy().tolist()} == {frozenset("ab")}
    assert all(drawn.parents["k"] == () for drawn in found.draw(5, random_state=0))
    assert list(found.draw(1)[0].parents) == list(table.vocabulary.names)
    assert 1 <= found.effective_networks() <= 3
    assert "a - b" in str(found) or prior == "orders"
    assert "anbexact" in found._repr_html_()


def test_networks_of_constants_alone(one_class):
    table = DiscreteTable.from_frame(one_class.assign(a="u", b="p"), class_name="k")
    found = structure_posterior(table, networks="gbn")
    assert found.arcs.empty
    assert found.draw(1)[0].parents == {"a": (), "b": (), "k": ()}


def test_a_required_arc_keeps_a_class_of_one_state(one_class):
    table = DiscreteTable.from_frame(one_class, class_name="k")
    found = structure_posterior(table, networks="gbn", prior="graphs", required=[("a", "k")])
    assert all(drawn.parents["k"][0] == "a" for drawn in found.draw(5, random_state=0))
