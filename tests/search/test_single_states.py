"""Features of one state: they leave every search at its door, and stand below the class afterwards."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import SCORES, SEARCHES, problems, random_problem
from tiers import examples

from anbexact import ANBClassifier, BDeu, DiscreteTable, UniversalMeasure, learn_anb, learn_gbn, learn_tan, verify
from anbexact.models.proof import Component, Exhaustion
from anbexact.rivals.logit_fan_search import learn_logit_fan
from anbexact.rivals.mc_dag_search import learn_mc_dag
from anbexact.scores import Universal
from anbexact.search.single_states import single_states

GENERAL = {"learn_gbn", "learn_greedy_gbn", "learn_mc_dag", "learn_mcp", "learn_skdb"}
DOORS = {**SEARCHES, "learn_mc_dag": learn_mc_dag, "learn_logit_fan": learn_logit_fan}
DOORS = {name: search for name, search in DOORS.items() if name != "learn_naive_bayes"}


def with_constants(problem, places):
    """Return the table of a problem, and the same with columns of one state before the features of these numbers."""
    frame = pd.DataFrame(problem.rows, columns=problem.names)
    for k, place in enumerate(places):
        frame.insert(min(place + k, len(frame.columns) - 1), f"one{k}", 7)
    limits = {"class_name": "c", "sample_weight": problem.weights, "categories": problem.categories}
    return problem.table, DiscreteTable.from_frame(frame, **limits)


@pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
@given(problem=problems(min_features=2, max_features=3), data=st.data())
def test_every_score_gives_them_nothing(score, problem, data):
    _, table = with_constants(problem, [1])
    score = score()
    assert score.ignores_single_states
    others = data.draw(st.lists(st.sampled_from([f"f{v}" for v in range(problem.n)]), unique=True))
    scale = 1 + table.weight_sum * np.log1p(table.weight_sum)
    assert score.local_score(table, "one0", ["c", *others]) == pytest.approx(0, abs=1e-11 * scale)
    child = data.draw(st.sampled_from([f"f{v}" for v in range(problem.n) if f"f{v}" not in others] or ["f0"]))
    others = [name for name in others if name != child]
    alone = score.local_score(table, child, ["c", *others])
    assert score.local_score(table, child, ["c", *others, "one0"]) == pytest.approx(alone, abs=1e-11 * scale)


@pytest.mark.parametrize("name", DOORS)
def test_every_search_leaves_them_out(name):
    problem = random_problem(5, 5, n_rows=80)
    table, wider = with_constants(problem, [0, 2, 2, 5])
    structure, with_them = DOORS[name](table), DOORS[name](wider)
    below = () if name in GENERAL else ("c",)
    for child in wider.vocabulary.names:
        assert with_them.parents[child] == (below if child.startswith("one") else structure.parents[child])
    assert tuple(with_them.parents) == wider.vocabulary.names
    assert with_them.score == pytest.approx(structure.score)
    assert with_them.certificate.sets_scored == structure.certificate.sets_scored


@pytest.mark.parametrize("search", [learn_anb, learn_gbn], ids=["anb", "gbn"])
@pytest.mark.parametrize("max_parents", [None, 2])
def test_exact_searches_score_no_set_more_and_are_verified(search, max_parents):
    table, wider = with_constants(random_problem(3, 8, n_rows=100), [4] * 16)
    structure = search(wider, max_parents=max_parents, time_limit=60)
    assert structure.certificate.sets_scored == search(table, max_parents=max_parents).certificate.sets_scored
    assert structure.certificate.optimal
    assert verify(structure, wider)
    assert not verify(replace(structure, parents={**structure.parents, "one3": ("c", "f0")}), wider)


def test_they_do_not_count_against_the_features_that_fit():
    _, wider = with_constants(random_problem(3, 4), [0] * 60)
    assert learn_anb(wider).certificate.method == "lattice dynamic programme"


def test_proofs_in_which_they_take_part_still_hold():
    table = with_constants(random_problem(3, 4), [0, 2])[1]
    structure = learn_anb(table)
    proof = structure.certificate.proof
    case = Component(table.vocabulary.features, proof.components[0].bound, Exhaustion())
    certificate = replace(structure.certificate, proof=replace(proof, components=(case,), max_parents=5))
    assert verify(replace(structure, certificate=certificate), table)


@given(problem=problems(max_features=3), search=st.sampled_from([learn_anb, learn_gbn]))
@examples(25)
def test_nothing_but_features_of_one_state(problem, search):
    table = with_constants(problem, [0, 0])[1].restricted(["one0", "one1", "c"])
    structure = search(table)
    assert structure.certificate.optimal
    assert set(structure.parents["one0"]) <= {"c"}
    assert verify(structure, table)


class TestEdges:
    def test_a_required_one_stays_in(self):
        table = with_constants(random_problem(3, 4), [0, 2])[1]
        structure = learn_anb(table, required=[("one0", "f1")])
        assert "one0" in structure.parents["f1"]
        assert structure.parents["one1"] == ("c",)
        assert verify(structure, table)
        assert learn_tan(table, required=[("f1", "one1")]).parents["one1"] == ("c", "f1")

    def test_a_forbidden_one_is_obeyed_without_a_search(self):
        table = with_constants(random_problem(3, 4), [0, 2])[1]
        edges = [("one0", "f1"), ("f2", "one1"), ("f0", "f1")]
        structure = learn_anb(table, forbidden=edges)
        assert not set(edges) & set(structure.edges)
        assert learn_gbn(table, forbidden=[("c", "one0")]).parents["one0"] == ()

    @pytest.mark.parametrize("edge", [("one0", "f9"), ("one0", "one0"), ("one0",), "one0", ("c", "one0")])
    def test_what_is_wrong_is_refused_all_the_same(self, edge):
        table = with_constants(random_problem(3, 4), [0, 2])[1]
        with pytest.raises(ValueError, match="forbidden edge"):
            learn_anb(table, forbidden=[edge] if edge != ("c", "one0") else [("c", "f0")])

    def test_edges_that_can_be_read_once_are_refused(self):
        table = with_constants(random_problem(3, 4), [0])[1]
        with pytest.raises(TypeError, match="more than once"):
            learn_anb(table, forbidden=iter([("one0", "f1")]))


class _LovesArcs:
    """A user's score that pays for every parent, so that features of one state are worth having as parents."""

    name, score_equivalent, has_set_score = "own", False, False

    def local_score(self, table, child, parents):
        return BDeu().local_score(table, child, parents) + 3.0 * len(parents)


def test_a_score_that_does_not_say_so_keeps_them():
    table = with_constants(random_problem(3, 3), [0])[1]
    assert "one0" in str([learn_anb(table, _LovesArcs()).parents[f"f{v}"] for v in range(3)])
    assert single_states(table, object()) == ()


def test_continuous_variables_of_one_cell_stay():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=50), "one": "a", "y": np.arange(50) % 2})
    table, score = UniversalMeasure().read(frame[["x", "one"]], frame["y"])
    assert single_states(table, score) == ("one",)
    one_cell = DiscreteTable.from_frame(pd.DataFrame({"x": ["c"] * 4, "one": "a", "y": [0, 1, 0, 1]}), class_name="y")
    assert single_states(one_cell, Universal({"x": score.partitions["x"]})) == ("one",)


@pytest.mark.parametrize("ess", [1.0, "auto"])
def test_a_classifier_with_many_of_them(ess):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (200, 6)), columns=list("abcdef"))
    y = X["a"] ^ (X["b"] & (rng.random(200) < 0.8))
    wider = X.assign(**{f"one{k}": "same" for k in range(30)})
    plain, fitted = ANBClassifier(ess=ess).fit(X, y), ANBClassifier(ess=ess).fit(wider, y)
    assert fitted.structure_.certificate.sets_scored == 2**6
    np.testing.assert_allclose(fitted.predict_proba(wider), plain.predict_proba(X))
