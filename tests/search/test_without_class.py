"""Searches of tables without a class: against brute force over all graphs, and against a class of one state."""

from dataclasses import replace
from itertools import combinations

import networkx as nx
import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from strategies import SCORES, ess_values, problems, random_problem
from tiers import examples, repeats

import anbexact.search.exact.branch_and_cut as branch_and_cut
from anbexact import (
    BDeu,
    DiscreteTable,
    UniversalMeasure,
    learn_anb,
    learn_ckg,
    learn_fan,
    learn_gbn,
    learn_naive_bayes,
    learn_tan,
    near_optimal,
    relearned_leave_one_out,
    structure_posterior,
    verify,
)
from anbexact.scores import ACLL, CLL, K2, LL, MIT
from anbexact.search import learn_greedy_gbn, learn_kdb
from anbexact.search.exact import plan
from anbexact.search.exact.candidates import has_candidates

GENERAL = {name: score for name, score in SCORES.items() if name != "ACLL"}
"""The scores that need no class."""
WHOLE = {"learn_gbn": learn_gbn, "learn_tan": learn_tan, "learn_fan": learn_fan, "learn_ckg": learn_ckg}
each_score = pytest.mark.parametrize("score", GENERAL.values(), ids=GENERAL)


def plain_table(problem):
    """The table of all variables of a problem, read without a class."""
    frame = pd.DataFrame(problem.rows, columns=problem.names, dtype=np.int64)
    return DiscreteTable.from_frame(frame, sample_weight=problem.weights, categories=problem.categories)


def local_of(problem, score):
    """Local scores by the numbers of variables, each computed once."""
    table, known = plain_table(problem), {}

    def local(child, parents):
        key = child, tuple(sorted(parents))
        if key not in known:
            known[key] = score.local_score(table, problem.names[child], [problem.names[p] for p in key[1]])
        return known[key]

    return local


def bdeu_of(problem, ess):
    """The same of BDeu, from its formula."""
    return lambda v, parents: oracles.bdeu_local(
        problem.rows, problem.weights, problem.arities, v, list(parents), ess
    )


def by_number(structure, problem):
    """The parents of a structure, variables by number."""
    number = {name: v for v, name in enumerate(problem.names)}
    return {number[child]: [number[p] for p in of_child] for child, of_child in structure.parents.items()}


def total(local, graph):
    return sum(local(child, parents) for child, parents in graph.items())


def best_branching(local, n, *, tree):
    """The highest score of a tree, or a forest, by enumeration, and the branching that comes first."""
    scored = [
        (sum(local(v, () if p is None else (p,)) for v, p in enumerate(branching)), branching)
        for branching in oracles.branchings(n, tree)
    ]
    return max(score for score, _ in scored)


def assert_is(structure, problem, expected, local):
    """The structure has no class, all variables, no cycle, the score of its graph, and this score is the expected."""
    assert structure.class_name is None
    assert structure.features == tuple(structure.parents) == tuple(problem.names)
    graph = by_number(structure, problem)
    assert oracles.is_acyclic(graph)
    close = {"rel": 1e-9, "abs": 1e-8}
    assert structure.score == pytest.approx(total(local, graph), **close)
    assert structure.score == pytest.approx(expected, **close)


class TestOptimum:
    @each_score
    @given(problem=problems(max_features=3), lists=st.booleans())
    def test_networks(self, score, problem, lists):
        """By set scores, by families, and by candidate lists with cuts where there are such."""
        score, table = score(), plain_table(problem)
        with pytest.MonkeyPatch.context() as patch:
            if lists and has_candidates(table, score):
                patch.setattr(plan.Plan, "fits", property(lambda _self: False))
                patch.setattr(branch_and_cut, "MOST_FEATURES_EXHAUSTED", 1)
            structure = learn_gbn(table, score)
        local = local_of(problem, score)
        assert_is(structure, problem, oracles.best_over_orders(range(problem.n + 1), local), local)
        assert structure.certificate.optimal
        assert verify(structure, table)

    @given(problem=problems(min_features=4, max_features=4), ess=ess_values)
    @examples(30)
    def test_five_variables_by_the_formula(self, problem, ess):
        structure, local = learn_gbn(plain_table(problem), BDeu(ess)), bdeu_of(problem, ess)
        assert_is(structure, problem, oracles.best_over_orders(range(5), local), local_of(problem, BDeu(ess)))

    @pytest.mark.slow
    @pytest.mark.parametrize("score", [BDeu(), K2(), LL(), MIT()], ids=lambda score: score.name)
    def test_all_graphs_of_five_variables(self, score):
        """Every one of the 29,281 graphs."""
        problem = random_problem(3, 4, n_rows=40, max_arity=3, weights="mixed")
        local = local_of(problem, score)
        graphs = oracles.graphs_by_masks(5)
        assert len(graphs) == 29_281
        members = {mask: tuple(v for v in range(5) if mask >> v & 1) for mask in range(32)}
        expected = max(sum(local(v, members[mask]) for v, mask in enumerate(graph)) for graph in graphs)
        assert_is(learn_gbn(plain_table(problem), score), problem, expected, local)

    @pytest.mark.parametrize("tree", [True, False], ids=["tree", "forest"])
    @each_score
    @given(problem=problems(max_features=3))
    def test_trees_and_forests(self, score, tree, problem):
        score, table = score(), plain_table(problem)
        structure = (learn_tan if tree else learn_fan)(table, score)
        local = local_of(problem, score)
        used = [v for v, arity in enumerate(problem.arities) if arity > 1]  # others are left out of every search
        place = dict(enumerate(used))
        expected = best_branching(lambda v, p: local(place[v], [place[u] for u in p]), len(used), tree=tree)
        assert_is(
            structure, problem, expected + sum(local(v, ()) for v in range(problem.n + 1) if v not in used), local
        )
        assert structure.certificate.optimal
        assert len(structure.edges) == max(len(used) - 1, 0) or not tree

    @each_score
    @given(problem=problems(max_features=3, min_arity=2), k=st.integers(1, 3))
    def test_k_graphs(self, score, problem, k):
        score, table = score(), plain_table(problem)
        tree = {name: (p[0] if p else None) for name, p in learn_tan(table, score).parents.items()}
        order = [problem.names.index(tree[name]) if tree[name] else None for name in problem.names]
        local = local_of(problem, score)
        expected = 0.0
        for v in range(problem.n + 1):
            above = oracles.ancestors(order, v)
            sets = [chosen for size in range(k + 1) for chosen in combinations(above, min(size, len(above)))]
            expected += max(local(v, chosen) for chosen in sets)
        structure = learn_ckg(table, score, k=k)
        assert_is(structure, problem, expected, local)
        assert max(map(len, structure.parents.values())) <= k

    @each_score
    @given(problem=problems(max_features=3))
    def test_no_arc_improves_what_the_greedy_search_finds(self, score, problem):
        score, table = score(), plain_table(problem)
        found, local = learn_greedy_gbn(table, score), local_of(problem, score)
        graph = by_number(found, problem)
        assert_is(found, problem, total(local, graph), local)
        for child in graph:
            for parent in graph:
                if parent != child:
                    moved = {**graph, child: sorted({parent} ^ set(graph[child]))}
                    gain = total(local, moved) - found.score
                    assert not oracles.is_acyclic(moved) or gain <= 1e-8 * max(1.0, abs(found.score))
        assert found.score <= learn_gbn(table, score).score + 1e-8 * max(1.0, abs(found.score))


@pytest.mark.parametrize("seed", repeats(4))
def test_the_tree_by_likelihood_is_that_of_chow_and_liu(seed):
    problem = random_problem(seed, 6, n_rows=80, weights="real")
    tree = learn_tan(plain_table(problem), LL())
    rows, weights, arities = problem.rows, problem.weights, problem.arities
    graph = nx.Graph()
    for u, v in combinations(range(7), 2):
        graph.add_edge(u, v, weight=oracles.mutual_information(rows, weights, arities, v, [u]))
    best = nx.maximum_spanning_tree(graph)
    found = by_number(tree, problem)
    arcs = {frozenset((child, parent)) for child, parents in found.items() for parent in parents}
    assert arcs == set(map(frozenset, best.edges))


@pytest.mark.parametrize(
    ("with_class", "without"), [(learn_anb, learn_gbn), (learn_tan, learn_tan), (learn_fan, learn_fan)]
)
@given(problem=problems(max_features=4, min_arity=2), ess=ess_values)
def test_a_class_of_one_state_changes_nothing(with_class, without, problem, ess):
    frame = pd.DataFrame(problem.rows, columns=problem.names, dtype=np.int64)
    kinds = {"sample_weight": problem.weights, "categories": problem.categories}
    constant = DiscreteTable.from_frame(frame, np.zeros(len(frame)), class_name="one", **kinds)
    below, plain = with_class(constant, BDeu(ess)), without(plain_table(problem), BDeu(ess))
    assert {name: parents[1:] for name, parents in below.parents.items() if name != "one"} == dict(plain.parents)
    assert plain.score == pytest.approx(below.score, rel=1e-10, abs=1e-9)


@pytest.mark.parametrize(("name", "search"), WHOLE.items(), ids=WHOLE)
def test_constraints_and_single_states(name, search):
    problem = random_problem(5, 3, n_rows=50)
    frame = pd.DataFrame(problem.rows, columns=problem.names).assign(one="same")
    table = DiscreteTable.from_frame(frame)
    structure = search(table, required=[("c", "f1")], forbidden=[("f0", "f2"), ("one", "c")])
    assert "c" in structure.parents["f1"]
    assert "f0" not in structure.parents["f2"]
    assert structure.parents["one"] == structure.children("one") == ()
    assert name != "learn_gbn" or verify(structure, table)


@pytest.mark.parametrize("search", [*WHOLE.values(), learn_greedy_gbn], ids=lambda search: search.__name__)
def test_variables_of_one_state_only(search):
    structure = search(DiscreteTable.from_frame(pd.DataFrame({"a": [1, 1], "b": ["x", "x"]})))
    assert dict(structure.parents) == {"a": (), "b": ()}
    assert structure.score == 0.0
    assert isinstance(structure.score, float)


@pytest.mark.parametrize("search", [learn_tan, learn_fan, learn_ckg])
def test_no_time(search):
    problem = random_problem(5, 3, n_rows=50)
    structure = search(plain_table(problem), time_limit=1e-9, required=[("c", "f1")])
    assert structure.edges == (("c", "f1"),)
    assert not structure.certificate.optimal
    assert structure.certificate.upper_bound >= learn_gbn(plain_table(problem)).score
    assert structure.certificate.method.startswith("no arcs, stopped by time_limit")


def test_little_time_for_an_exact_search():
    structure = learn_gbn(plain_table(random_problem(5, 5, n_rows=50)), time_limit=1e-9)
    assert structure.class_name is None
    assert not structure.certificate.optimal


def test_forged_certificates_are_refused():
    problem = random_problem(2, 4, n_rows=60)
    table = plain_table(problem)
    structure = learn_gbn(table)
    assert structure.edges
    assert verify(structure, table)
    assert not verify(replace(structure, score=structure.score + 0.5), table)
    child = structure.edges[0][1]
    emptied = {**structure.parents, child: ()}
    assert not verify(replace(structure, parents=emptied), table)
    with pytest.raises(ValueError, match="the structure has the class None"):
        verify(structure, problem.table)


class TestPosterior:
    @pytest.mark.parametrize(
        ("networks", "prior"), [("gbn", "orders"), ("gbn", "graphs"), ("tan", None), ("fan", None)]
    )
    @given(problem=problems(max_features=2, min_arity=2), ess=ess_values)
    @examples(30)
    def test_against_all_structures(self, networks, prior, problem, ess):
        n = problem.n + 1
        graphs = list(oracles.graphs(n))
        if networks != "gbn":
            forests = oracles.branchings(n, tree=networks == "tan")
            graphs = [{v: () if p is None else (p,) for v, p in enumerate(forest)} for forest in forests]
        weights = np.array(oracles.graph_weights(graphs, bdeu_of(problem, ess), prior))
        prior_weights = oracles.graph_weights(graphs, lambda *_: 0.0, prior)
        posterior = structure_posterior(plain_table(problem), BDeu(ess), networks=networks, prior=prior)
        evidence = logsumexp(weights) - logsumexp(prior_weights)
        assert posterior.log_evidence == pytest.approx(evidence, rel=1e-10, abs=1e-9)
        arcs = np.zeros((n, n))
        for graph, probability in zip(graphs, np.exp(weights - logsumexp(weights)), strict=True):
            for v, parents in graph.items():
                arcs[list(parents), v] += probability
        for row in posterior.arcs.itertuples():
            place = problem.names.index(row.parent), problem.names.index(row.child)
            assert row.probability == pytest.approx(arcs[place], abs=1e-10)
        assert len(posterior.arcs) == n * (n - 1)
        drawn = posterior.draw(random_state=0)[0]
        assert_is(drawn, problem, total(bdeu_of(problem, ess), by_number(drawn, problem)), bdeu_of(problem, ess))

    @given(problem=problems(max_features=2, min_arity=2), factor=st.sampled_from([1, 3, 20]))
    @examples(30)
    def test_near_optimal_ones(self, problem, factor):
        local = bdeu_of(problem, 1.0)
        scored = [(total(local, graph), graph) for graph in oracles.graphs(problem.n + 1)]
        threshold = max(score for score, _ in scored) - np.log(factor) - 1e-9
        expected = {oracles.equivalence_class(graph) for score, graph in scored if score >= threshold}
        found = near_optimal(plain_table(problem), BDeu(1.0), bayes_factor=factor)
        assert not found.augmented
        assert {oracles.equivalence_class(by_number(own, problem)) for own in found.structures} == expected
        assert sum(found.members) == sum(score >= threshold for score, _ in scored)

    def test_the_kind_follows_from_the_table(self):
        problem = random_problem(2, 3)
        assert structure_posterior(plain_table(problem)).networks == "gbn"
        assert structure_posterior(problem.table).networks == "anb"
        assert not near_optimal(plain_table(problem)).augmented
        assert near_optimal(problem.table).augmented

    def test_what_is_printed(self):
        text = str(structure_posterior(plain_table(random_problem(2, 3)), networks="fan"))
        assert text.startswith("posterior over all forests of 4 variables, prior: trees")


REFUSALS = {
    "learn_anb": (learn_anb, {}, "learn_gbn, learn_tan, learn_fan, learn_ckg and learn_greedy_gbn also learn"),
    "learn_naive_bayes": (learn_naive_bayes, {}, "the table has no class variable"),
    "learn_kdb": (learn_kdb, {}, "the table has no class variable"),
    "leave_one_out": (relearned_leave_one_out, {}, "the table has no class variable"),
    "posterior of anb": (structure_posterior, {"networks": "anb"}, "'anb' needs a class.*'gbn' or .*'tan' or"),
    "near-optimal anb": (near_optimal, {"networks": "anb"}, "'anb' needs a class.*or use networks='gbn'$"),
    **{
        f"{search.__name__} by aCLL": (search, {"score": ACLL()}, "aCLL needs a class, but the table has no class")
        for search in (learn_tan, learn_fan, learn_ckg, structure_posterior, near_optimal)
    },
    "greedy by CLL": (learn_greedy_gbn, {"score": CLL()}, "CLL needs a class, but the table has no class"),
}


@pytest.mark.parametrize(("function", "options", "message"), REFUSALS.values(), ids=REFUSALS)
def test_what_needs_a_class_says_so(function, options, message):
    with pytest.raises(ValueError, match=message):
        function(plain_table(random_problem(2, 3)), **options)


def test_continuous_columns_by_a_universal_measure():
    """The best of all graphs; a column and its noisy copy are joined."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 400))
    y = x + 0.3 * rng.normal(size=400)
    table, score = UniversalMeasure().read(pd.DataFrame({"x": x, "y": y, "z": z, "sign": np.where(y > 0, "+", "-")}))
    structure, names = learn_gbn(table, score), table.vocabulary.names
    assert structure.class_name is None
    assert verify(structure, table)
    expected = oracles.best_over_orders(
        range(4), lambda v, parents: score.local_score(table, names[v], [names[p] for p in parents])
    )
    assert structure.score == pytest.approx(expected, rel=1e-10)
    arcs = structure_posterior(table, score, networks="fan").arcs.set_index(["parent", "child"])["adjacent"]
    assert arcs["x", "y"] > 0.99
    assert arcs["x", "z"] < 0.5
