"""Structures and certificates."""

import copy
import pickle
from dataclasses import replace
from itertools import combinations, product

import networkx as nx
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st

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

    def test_order_is_by_depth_then_in_table_order(self):
        structure = make({"a": ("c",), "b": ("c", "d"), "d": ("c",), "c": ()})
        assert structure.topological_order() == ("c", "a", "d", "b")


class TestCertificate:
    def test_says_what_is_proved(self):
        assert str(PROVED).startswith("proved optimal (by hand; 8 sets scored in 0.1 s)")
        assert "; 1 set scored in " in str(replace(PROVED, sets_scored=1))
        assert str(OPEN).startswith("not proved optimal: gap at most 2.5 nats")

    @pytest.mark.parametrize(("optimal", "gap"), list(product([True, False], [0.0, 3.0])))
    def test_is_plain_data(self, optimal, gap):
        certificate = Certificate(optimal, 0.0, gap, 1, 0.0, "m")
        assert pickle.loads(pickle.dumps(certificate)) == certificate
