"""Structures within a Bayes factor of the optimum against the list of all structures."""

import math

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import SCORES, ess_values, problems, random_problem
from tiers import examples

from anbexact import BDeu, DiscreteTable, learn_anb, learn_gbn, near_optimal
from anbexact.datasets import load_monks


def by_brute_force(problem, networks, local, factor, admitted=bool, apart=False):
    """The classes of graphs within the factor, with the scores of their members that reach the threshold."""
    n = len(problem.arities) if networks == "gbn" else problem.n
    scored = [
        (sum(local(v, parents) for v, parents in graph.items()), graph)
        for graph in oracles.graphs(n)
        if admitted(graph)
    ]
    threshold = max(total for total, _ in scored) - math.log(factor) - 1e-9
    classes = {}
    for k, (total, graph) in enumerate(scored):
        if total >= threshold:
            classes.setdefault(k if apart else oracles.equivalence_class(graph), []).append(total)
    return classes


def as_graph(structure, problem, networks):
    """A structure as numbers of parents, without the class where it is a parent of every feature."""
    names = problem.names if networks == "gbn" else problem.names[:-1]
    return {v: [names.index(p) for p in structure.parents[name] if p in names] for v, name in enumerate(names)}


def bdeu(problem, networks, ess):
    given_class = [] if networks == "gbn" else [problem.n]
    return lambda v, parents: oracles.bdeu_local(
        problem.rows, problem.weights, problem.arities, v, [*given_class, *parents], ess
    )


@pytest.mark.parametrize("networks", ["anb", "gbn"])
@given(problem=problems(max_features=3, min_arity=2), ess=ess_values, factor=st.sampled_from([1, 3, 20, 1e4]))
@examples(40)
def test_against_all_structures(networks, problem, ess, factor):
    expected = by_brute_force(problem, networks, bdeu(problem, networks, ess), factor)
    found = near_optimal(problem.table, BDeu(ess), networks=networks, bayes_factor=factor)
    assert found.complete
    classes = {
        oracles.equivalence_class(as_graph(own, problem, networks)): size
        for own, size in zip(found.structures, found.members, strict=True)
    }
    assert classes == {key: len(totals) for key, totals in expected.items()}
    search = learn_gbn if networks == "gbn" else learn_anb
    optimum = search(problem.table, BDeu(ess)).score
    assert found.structures[0].score == pytest.approx(optimum, rel=1e-12, abs=1e-9)
    for own in found.structures:
        parents = {problem.names.index(v): [problem.names.index(p) for p in of] for v, of in own.parents.items()}
        score = oracles.structure_score(problem.rows, problem.weights, problem.arities, parents, ess)
        assert own.score == pytest.approx(score, rel=1e-10, abs=1e-9)


@pytest.mark.parametrize("score", sorted(SCORES))
def test_every_score(score):
    problem = random_problem(3, 3, n_rows=30, n_classes=2)
    chosen = SCORES[score]()
    names = problem.names[:-1]

    def local(v, parents):
        return chosen.local_score(problem.table, names[v], ["c", *(names[p] for p in parents)])

    apart = not chosen.score_equivalent
    expected = by_brute_force(problem, "anb", local, 50.0, apart=apart)
    found = near_optimal(problem.table, chosen, bayes_factor=50.0)
    assert sorted(found.members) == sorted(map(len, expected.values()))
    best = sorted((max(totals) for totals in expected.values()), reverse=True)
    alone = chosen.local_score(problem.table, "c", [])
    np.testing.assert_allclose([own.score - alone for own in found.structures], best, rtol=1e-9)


@pytest.mark.parametrize("networks", ["anb", "gbn"])
def test_constraints(networks):
    problem = random_problem(1, 4 if networks == "anb" else 3, n_rows=40, n_classes=2)
    limits = {"required": [("f0", "f2")], "forbidden": [("f1", "f0")], "max_parents": 2}

    def admitted(graph):
        return 0 in graph[2] and 1 not in graph[0] and max(map(len, graph.values())) <= 2

    expected = by_brute_force(problem, networks, bdeu(problem, networks, 1.0), 1000.0, admitted)
    found = near_optimal(problem.table, networks=networks, bayes_factor=1000.0, **limits)
    assert sorted(found.members) == sorted(map(len, expected.values()))


def test_the_best_of_too_many():
    problem = random_problem(2, 4, n_rows=10, n_classes=2)
    everything = near_optimal(problem.table, bayes_factor=1e9)
    some = near_optimal(problem.table, bayes_factor=1e9, most=20)
    assert everything.complete
    assert not some.complete
    assert sum(some.members) == 20 < sum(everything.members)
    scores = [own.score for own in everything.structures]
    assert scores == sorted(scores, reverse=True)
    np.testing.assert_allclose([own.score for own in some.structures], scores[: len(some.structures)])


class TestAnswers:
    def test_frame_and_pairs(self):
        found = near_optimal(DiscreteTable.from_frame(*load_monks(1)), networks="gbn", bayes_factor=150)
        frame = found.frame
        assert frame["added"][0] == frame["removed"][0] == ()
        assert frame["bayes_factor"].is_monotonic_increasing
        assert frame["bayes_factor"][0] == 1
        assert found.pairs["share"].between(0, 1).all()
        certain = found.pairs[found.pairs["share"] == 1]
        assert ("head_shape", "is_monk") in set(zip(certain["first"], certain["second"], strict=True))

    def test_text(self):
        table = DiscreteTable.from_frame(*load_monks(1))
        assert str(near_optimal(table)) == "all 2 structures within a Bayes factor of 20 of the optimum"
        assert str(near_optimal(table, bayes_factor=1e6, most=3)).startswith("the best ")
        alone = near_optimal(table, networks="gbn", bayes_factor=3)
        assert str(alone) == "no other structure is within a Bayes factor of 3 of the optimum"

    def test_single_states_and_no_feature(self):
        X, y = load_monks(1)
        plain = near_optimal(DiscreteTable.from_frame(X, y))
        with_constant = near_optimal(DiscreteTable.from_frame(X.assign(constant="a"), y))
        assert plain.members == with_constant.members
        assert with_constant.structures[0].parents["constant"] == ("is_monk",)
        assert near_optimal(random_problem(0, 0).table).structures[0].parents == {"c": ()}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"networks": "tan"}, "networks must be one of 'anb', 'gbn', not 'tan'"),
        ({"bayes_factor": 0.5}, "bayes_factor must be a number of at least 1, not 0.5"),
        ({"bayes_factor": float("nan")}, "bayes_factor must be a number of at least 1, not nan"),
        ({"most": 0}, "most must be a whole number of at least 1, not 0"),
    ],
)
def test_refusals(options, words):
    with pytest.raises(ValueError, match=words):
        near_optimal(random_problem(0, 2).table, **options)


def test_a_class_of_one_state_is_left_out_of_networks():
    frame = pd.DataFrame({"a": list("uvuvuuvv"), "b": list("pqpqpqpq"), "k": ["z"] * 8})
    found = near_optimal(DiscreteTable.from_frame(frame, class_name="k"), networks="gbn", bayes_factor=1e6)
    assert found.members == (1, 2)  # no arc, and an arc in both directions
    assert found.pairs[["first", "second"]].to_numpy().tolist() == [["a", "b"]]
    assert all(structure.parents["k"] == () for structure in found.structures)
    constants = DiscreteTable.from_frame(frame.assign(a="u", b="p"), class_name="k")
    assert near_optimal(constants, networks="gbn").members == (1,)
