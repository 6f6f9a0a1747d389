"""Structures and certificates."""

import copy
import pickle
from dataclasses import replace
from itertools import combinations, product

import networkx as nx
import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from anbexact import Certificate, Structure

PROVED = Certificate(True, -1.0, 0.0, 8, 0.1, "by hand")
OPEN = Certificate(False, -1.0, 2.5, 8, 0.1, "by hand")


def make(parents, class_name="c", certificate=PROVED):
    return Structure(class_name, parents, -1.0, certificate)


@st.composite
def graphs(draw):
    """Parents of c and four features: any orientation along a random order."""
    order = draw(st.permutations("cabde"))
    return {
        child: tuple(parent for parent in order[:place] if draw(st.booleans())) for place, child in enumerate(order)
    }


class TestStructure:
    @given(graphs())
    def test_is_what_its_parents_say(self, parents):
        structure = make(parents)
        assert dict(structure.parents) == parents
        assert set(structure.features) == set("abde")
        assert set(structure.edges) == {(a, b) for b in parents for a in parents[b]}
        assert set(structure.feature_edges) == {(a, b) for a, b in structure.edges if "c" not in (a, b)}
        for name in parents:
            assert structure.children(name) == tuple(child for child in parents if name in parents[child])
        order = structure.topological_order()
        assert sorted(order) == sorted(parents)
        assert all(order.index(a) < order.index(b) for a, b in structure.edges)
        graph = structure.to_networkx()
        assert set(graph.nodes) == set(parents)
        assert set(graph.edges) == set(structure.edges)
        assert nx.is_directed_acyclic_graph(graph)

    @given(graphs())
    def test_perfect_and_subperfect(self, parents):
        def adjacent(a, b):
            return a in parents[b] or b in parents[a]

        immoral = {(a, b) for child in parents for a, b in combinations(parents[child], 2) if not adjacent(a, b)}
        allowed = set(product(parents["c"], repeat=2))
        assert make(parents).is_perfect() == (not immoral)
        assert make(parents).is_subperfect() == (not immoral - allowed)

    @given(st.lists(st.sets(st.sampled_from("abc")), min_size=3, max_size=3))
    def test_cycles_are_refused(self, sets):
        parents = {child: tuple(sorted(of_child)) for child, of_child in zip("abc", sets, strict=True)}
        if oracles.is_acyclic(parents):
            make(parents)
        else:
            with pytest.raises(ValueError, match="the graph has a directed cycle among"):
                make(parents)

    def test_strangers_are_refused(self):
        with pytest.raises(ValueError, match="'z', a parent of 'a', is not a variable of the structure"):
            make({"c": (), "a": ("z",)})
        with pytest.raises(ValueError, match="the class 'y' is not a variable of the structure"):
            make({"c": (), "a": ("c",)}, "y")

    def test_cannot_be_changed(self):
        parents = {"c": (), "a": ["c"]}
        structure = make(parents)
        parents["a"].append("c")
        assert structure.parents["a"] == ("c",)
        with pytest.raises(TypeError):
            structure.parents["a"] = ()
        with pytest.raises(AttributeError):
            structure.score = 0.0

    def test_copies(self):
        structure = make({("c", 1): (), 2: (("c", 1),), "": (("c", 1), 2)}, ("c", 1))
        for other in (pickle.loads(pickle.dumps(structure)), copy.deepcopy(structure), copy.copy(structure)):
            assert other == structure
            assert other.topological_order() == structure.topological_order()

    @given(graphs())
    def test_markov_blanket_separates_a_variable_from_all_others(self, parents):
        structure = make(parents)
        for name in parents:
            blanket = structure.markov_blanket(name)
            assert blanket == tuple(other for other in parents if other in blanket and other != name)
            rest = set(parents) - {name, *blanket}
            assert all(oracles.d_separated(parents, name, other, blanket) for other in rest)
            for member in blanket:  # none is superfluous
                fewer = set(parents) - {name, member}
                assert not oracles.d_separated(parents, name, member, fewer)

    def test_order_is_by_depth_then_in_table_order(self):
        structure = make({"a": ("c",), "b": ("c", "d"), "d": ("c",), "c": ()})
        assert structure.topological_order() == ("c", "a", "d", "b")


def random_tables(rng, parents, arities):
    """P(v | parents) of every variable, as an array with the axis of v first, then those of its parents."""
    tables = {}
    for v, of_v in parents.items():
        values = rng.gamma(0.7, size=[arities[u] for u in (v, *of_v)])
        tables[v] = of_v, values / values.sum(axis=0)
    return tables


def joint_of(tables, arities):
    """The joint distribution, axes in the order of ``arities``."""
    axis = {v: k for k, v in enumerate(arities)}
    operands = [part for v, (of_v, values) in tables.items() for part in (values, [axis[u] for u in (v, *of_v)])]
    return np.einsum(*operands, list(range(len(axis))))


def posterior_of(tables, arities):
    """P(c | all others), the class on the first axis."""
    joint = joint_of(tables, arities)
    return joint / joint.sum(axis=0)


def with_the_same_posterior(tables, structure, arities):
    """Tables of ``structure``, an augmented naive Bayes, with the posterior of c that a general network has.

    Those of children of c do not change. As to its parents, let q(c, parents) be P(c | parents) times a uniform
    distribution: c gets q(c), and the parents q(parent | c, parents before it). No other table matters.
    """
    order = [v for v in structure.topological_order() if v in tables["c"][0]]
    of_class, values = tables["c"]
    q = np.transpose(values, [0, *(1 + of_class.index(v) for v in order)])
    q = q / q.sum()
    found = {"c": ((), q.sum(axis=tuple(range(1, q.ndim))))}
    for v in structure.features:
        own = structure.parents[v]
        if v in order:
            place = order.index(v)
            upto = q.sum(axis=tuple(range(place + 2, q.ndim)))
            known, old = ("c", *order[:place]), np.moveaxis(upto / upto.sum(axis=-1, keepdims=True), -1, 0)
        else:
            known, old = tables[v]
        shape = [arities[u] if u in (v, *known) else 1 for u in (v, *own)]
        axes = [0, *(1 + known.index(u) for u in own if u in known)]
        new = np.broadcast_to(np.transpose(old, axes).reshape(shape), [arities[u] for u in (v, *own)])
        found[v] = own, new
    return found


class TestAugmentedNaiveBayes:
    @examples(200, quick=20)
    @given(graphs(), st.integers(0, 10**9))
    def test_has_every_posterior_of_the_general_network(self, parents, seed):
        rng = np.random.default_rng(seed)
        arities = {v: int(rng.integers(2, 4)) for v in "cabde"}
        structure = make(parents).to_anb()
        assert structure.parents["c"] == ()
        assert all(structure.parents[v][0] == "c" for v in "abde")
        assert set(structure.feature_edges) >= set(make(parents).feature_edges)
        added = set(structure.feature_edges) - set(make(parents).feature_edges)
        assert all({a, b} <= set(parents["c"]) for a, b in added)
        tables = random_tables(rng, parents, arities)
        same = with_the_same_posterior(tables, structure, arities)
        np.testing.assert_allclose(joint_of(same, arities).sum(), 1, rtol=1e-12)
        np.testing.assert_allclose(posterior_of(same, arities), posterior_of(tables, arities), rtol=1e-9, atol=1e-12)

    @examples(200, quick=20)
    @given(graphs(), st.integers(0, 10**9))
    def test_has_every_joint_distribution_if_the_class_is_adjacent_to_all(self, parents, seed):
        """Lemma 5, and Lemma 4: then the result is equivalent to the graph with its parents joined."""
        order = make(parents).topological_order()
        place = order.index("c")
        parents = {
            v: tuple(dict.fromkeys((*of_v, *("c" if order.index(v) > place else ())))) for v, of_v in parents.items()
        }
        parents["c"] = order[:place]
        rng = np.random.default_rng(seed)
        arities = {v: int(rng.integers(2, 4)) for v in "cabde"}
        joint = joint_of(random_tables(rng, parents, arities), arities)
        factors = {}
        for v, of_v in make(parents).to_anb().parents.items():
            axes = [list(arities).index(u) for u in (v, *of_v)]
            family = np.einsum(joint, list(range(5)), axes)
            factors[v] = of_v, family / family.sum(axis=0)
        np.testing.assert_allclose(joint_of(factors, arities), joint, rtol=1e-9, atol=1e-12)
        joined = {v: {*of_v, *(order[: order.index(v)] if v in order[:place] else ())} for v, of_v in parents.items()}
        anb = {v: set(of_v) for v, of_v in make(parents).to_anb().parents.items()}
        assert oracles.equivalence_class(anb) == oracles.equivalence_class(joined)

    def test_of_an_augmented_naive_bayes_is_the_same(self):
        parents = {"c": (), "a": ("c",), "b": ("c", "a"), "d": ("c", "a", "b")}
        assert dict(make(parents).to_anb().parents) == parents
        alone = make({"c": ()})
        assert dict(alone.to_anb().parents) == {"c": ()}


class TestCertificate:
    def test_says_what_is_proved(self):
        assert str(PROVED).startswith("proved optimal (by hand; 8 sets scored in 0.1 s)")
        assert "; 1 set scored in " in str(replace(PROVED, sets_scored=1))
        assert str(OPEN).startswith("not proved optimal: gap at most 2.5 nats")

    @pytest.mark.parametrize(("optimal", "gap"), list(product([True, False], [0.0, 3.0])))
    def test_is_plain_data(self, optimal, gap):
        certificate = Certificate(optimal, 0.0, gap, 1, 0.0, "m")
        assert pickle.loads(pickle.dumps(certificate)) == certificate
