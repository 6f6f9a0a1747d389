"""Distances between networks: of graphs against all graphs of four variables, of distributions by enumeration."""

from itertools import pairwise
from math import inf

import networkx as nx
import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pgmpy.base import DAG, PDAG
from pgmpy.factors.discrete import TabularCPD
from pgmpy.metrics import SHD
from pgmpy.models import DiscreteBayesianNetwork
from sklearn.exceptions import NotFittedError
from strategies import random_problem
from tiers import examples

from anbexact import ANBClassifier, NaiveBayesClassifier, RefittedClassifier, Structure, TANClassifier
from anbexact.classifiers import AODEClassifier
from anbexact.compare import kl_divergence, structural_hamming_distance
from anbexact.datasets import load_iris, load_monks

GRAPHS = list(oracles.graphs(4))
CLASSES = {}
for graph in GRAPHS:
    CLASSES.setdefault(oracles.equivalence_class(graph), []).append(graph)


def edges(graph):
    return oracles.edges_of_class(graph, CLASSES[oracles.equivalence_class(graph)])


class TestStructuralHammingDistance:
    @examples(400, quick=100)
    @given(st.sampled_from(GRAPHS), st.sampled_from(GRAPHS))
    def test_counts_pairs_that_the_equivalence_classes_join_differently(self, first, second):
        one, other = edges(first), edges(second)
        assert structural_hamming_distance(first, second) == sum(one[pair] != other[pair] for pair in one)

    @examples(200, quick=50)
    @given(st.sampled_from(GRAPHS), st.sampled_from(GRAPHS))
    def test_of_arcs_is_that_of_pgmpy(self, first, second):
        graphs = [DAG([(u, v) for v, of_v in graph.items() for u in of_v]) for graph in (first, second)]
        for graph in graphs:
            graph.add_nodes_from(range(4))
        expected = SHD()(true_causal_graph=graphs[0], est_causal_graph=graphs[1])
        assert structural_hamming_distance(first, second, completed=False) == expected
        assert structural_hamming_distance(*graphs, completed=False) == expected

    @given(st.sampled_from(GRAPHS), st.sampled_from(GRAPHS))
    def test_partially_directed_graphs_are_compared_as_they_are(self, first, second):
        """The completed graph of a class in pgmpy's form is at distance 0 from the members of the class."""
        pairs = edges(first)
        completed = PDAG(
            [(u, v) if out else (v, u) for (u, v), (out, back) in pairs.items() if out != back],
            [pair for pair, (out, back) in pairs.items() if out and back],
        )
        completed.add_nodes_from(range(4))
        for member in CLASSES[oracles.equivalence_class(first)]:
            assert structural_hamming_distance(completed, member) == 0
        assert structural_hamming_distance(completed, second) == structural_hamming_distance(first, second)

    def test_takes_structures_and_classifiers(self):
        X, y = load_monks(1)
        tree, bayes = TANClassifier(ess=1).fit(X, y), NaiveBayesClassifier(ess=1).fit(X, y)
        n_extra = len(tree.structure_.edges) - len(bayes.structure_.edges)
        assert n_extra > 0
        for graph in (tree, tree.structure_, tree.structure_.parents, tree.model_.structure, tree.network_):
            assert structural_hamming_distance(graph, bayes.structure_, completed=False) == n_extra
        assert structural_hamming_distance(RefittedClassifier(TANClassifier(ess=1)).fit(X, y), tree) == 0

    @pytest.mark.parametrize(
        ("graph", "error", "message"),
        [
            ({"a": ()}, ValueError, "must have the same variables, but only the second one has 'b'"),
            ({"a": (), "b": (), 3: ()}, ValueError, "same variables, but only the first one has 3"),
            ({"a": ("z",), "b": ()}, ValueError, "'z', a parent of 'a', is not a variable of the graph"),
            (nx.DiGraph([("a", "b"), ("b", "c"), ("c", "a")]), ValueError, "same variables"),
            ([("a", "b")], TypeError, "a graph must be a Structure, .* not a list"),
            (TANClassifier(), NotFittedError, "not fitted"),
        ],
    )
    def test_refusals(self, graph, error, message):
        with pytest.raises(error, match=message):
            structural_hamming_distance(graph, {"a": (), "b": ("a",)})

    def test_cycles_are_refused(self):
        cycle = nx.DiGraph([*pairwise("abca")])
        with pytest.raises(ValueError, match="the graph has a directed cycle among"):
            structural_hamming_distance(cycle, Structure.given("a", {"a": (), "b": (), "c": ()}))


def random_network(rng, arities, zeros=False):
    """Tables by variable, over a random order: the parents, and P(v | parents)."""
    tables, before = {}, []
    for v in rng.permutation(len(arities)).tolist():
        parents = tuple(u for u in before if rng.random() < 0.5)
        shape = [arities[u] for u in (v, *parents)]
        values = rng.gamma(1.0, size=shape) * (rng.random(shape) < 0.8 if zeros else 1)
        values[0] += values.sum(axis=0) == 0
        tables[v] = parents, values / values.sum(axis=0)
        before.append(v)
    return tables


def in_pgmpy(tables, states):
    """The network in pgmpy's form; ``states[v]`` are the states in the order that it has them, by number."""
    network = DiscreteBayesianNetwork()
    network.add_nodes_from([f"v{v}" for v in tables])
    for v, (parents, values) in tables.items():
        variables = (v, *parents)
        values = values[np.ix_(*(states[u] for u in variables))]
        network.add_edges_from((f"v{u}", f"v{v}") for u in parents)
        network.add_cpds(
            TabularCPD(
                f"v{v}",
                len(values),
                values.reshape(len(values), -1),
                evidence=[f"v{u}" for u in parents] or None,
                evidence_card=values.shape[1:] or None,
                state_names={f"v{u}": [f"s{state}" for state in states[u]] for u in variables},
            )
        )
    return network


class TestKullbackLeibler:
    @examples(100, quick=10)
    @given(seed=st.integers(0, 10**9), zeros=st.booleans())
    def test_is_the_sum_over_all_joint_states(self, seed, zeros):
        rng = np.random.default_rng(seed)
        arities = rng.integers(1, 4, rng.integers(1, 6)).tolist()
        p, q = random_network(rng, arities, zeros), random_network(rng, arities, zeros)
        expected = oracles.kl_divergence(oracles.network_joint(p, arities), oracles.network_joint(q, arities))
        networks = [in_pgmpy(tables, [rng.permutation(arity) for arity in arities]) for tables in (p, q)]
        assert kl_divergence(*networks) == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert kl_divergence(networks[0], networks[0]) == pytest.approx(0, abs=1e-12)

    def test_is_infinite_where_only_the_second_excludes_a_state(self):
        p, q = {0: ((), np.array([0.5, 0.5]))}, {0: ((), np.array([1.0, 0.0]))}
        one, other = (in_pgmpy(tables, [[0, 1]]) for tables in (p, q))
        assert kl_divergence(one, other) == inf
        assert kl_divergence(other, one) == pytest.approx(np.log(2))

    def test_of_classifiers_is_that_of_their_networks(self):
        problem = random_problem(3, 4)
        X, y = problem.frame()
        kinds = (ANBClassifier, NaiveBayesClassifier)
        one, other = (kind(ess=1, categories=problem.categories).fit(X, y) for kind in kinds)
        expected = kl_divergence(one, other)
        assert expected > 0
        for p in (one.network_, one.model_):
            for q in (other.network_, other.model_):
                assert kl_divergence(p, q) == pytest.approx(expected, rel=1e-12)

    def test_learned_tables_come_near_the_true_network(self):
        """Of the tables of one graph, EAP's come near; and the divergence of another graph stays."""
        rng = np.random.default_rng(0)
        x = rng.integers(0, 3, 20_000)
        frame = pd.DataFrame({"x": x, "z": np.where(rng.random(20_000) < 0.7, x, rng.integers(0, 3, 20_000))})
        y = pd.Series(np.where(rng.random(20_000) < 0.8, x > 0, False))
        many, few = (TANClassifier(ess=1).fit(frame[:n], y[:n]) for n in (20_000, 200))
        half = TANClassifier(ess=1).fit(frame[10_000:], y[10_000:])
        apart = NaiveBayesClassifier(ess=1).fit(frame, y)
        assert kl_divergence(many, half) < kl_divergence(many, few) < kl_divergence(many, apart)

    def test_refusals(self):
        X, y = load_monks(1)
        bayes = NaiveBayesClassifier(ess=1).fit(X, y)
        fewer = NaiveBayesClassifier(ess=1).fit(X.drop(columns="holding"), y)
        with pytest.raises(ValueError, match="must have the same variables, but only the first one has 'holding'"):
            kl_divergence(bayes, fewer)
        capital = X.assign(holding=X["holding"].astype(str).replace("flag", "Flag"))
        renamed = NaiveBayesClassifier(ess=1).fit(capital, y)
        with pytest.raises(ValueError, match="the same states of 'holding', but only the first one has 'flag'"):
            kl_divergence(bayes, renamed)
        with pytest.raises(NotFittedError):
            kl_divergence(NaiveBayesClassifier(), bayes)
        with pytest.raises(TypeError, match="network must be a pgmpy DiscreteBayesianNetwork, not a DataFrame"):
            kl_divergence(X, bayes)
        with pytest.raises(TypeError, match="AODE"):
            kl_divergence(AODEClassifier(ess=1).fit(*load_iris()), bayes)
        with pytest.raises(ValueError, match="the network has no nodes"):
            kl_divergence(DiscreteBayesianNetwork(), bayes)
