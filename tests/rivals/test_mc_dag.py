"""Equivalence classes against all graphs of four and five variables; the search over them against a slow twin."""

import signal

import numpy as np
import oracles
import pytest
from hypothesis import given
from strategies import problems, random_problem
from tiers import examples

import anbexact.rivals.mc_dag_search as equivalence
from anbexact._runtime.deadline import Deadline
from anbexact.rivals.mc_dag_search import (
    applied,
    cliques,
    deletions,
    extension,
    insertions,
    is_class_focused,
    learn_mc_dag,
)
from anbexact.scores import CLL
from anbexact.search.equivalence import EquivalenceClass, class_of_graph
from anbexact.search.exact.solution import rounding_error
from anbexact.search.graphs import ancestors, as_mask, elements


def as_dict(graph):
    return {v: tuple(elements(of_v)) for v, of_v in enumerate(graph)}


@pytest.fixture(scope="module", params=[4, pytest.param(5, marks=pytest.mark.slow)])
def classes(request):
    """All equivalence classes, each with its graphs."""
    found = {}
    for graph in oracles.graphs_by_masks(request.param):
        found.setdefault(oracles.equivalence_class(as_dict(graph)), []).append(graph)
    assert len(found) == {4: 185, 5: 8782}[request.param]
    by_class = {}
    for graphs in found.values():
        n = len(graphs[0])
        always = [0] * n
        sometimes = [0] * n
        for v in range(n):
            always[v] = as_mask([u for u in range(n) if all(graph[v] >> u & 1 for graph in graphs)])
            sometimes[v] = as_mask(
                [u for u in range(n) if any((graph[v] >> u | graph[u] >> v) & 1 for graph in graphs)]
            )
        free = [sometimes[v] & ~always[v] & ~as_mask([u for u in range(n) if always[u] >> v & 1]) for v in range(n)]
        by_class[EquivalenceClass(tuple(always), tuple(free))] = graphs
    return by_class


def with_arcs(graphs, *, more):
    """All acyclic graphs with one arc more, or less, than one of these."""
    for graph in graphs:
        above = ancestors(graph)
        for child in range(len(graph)):
            for parent in range(len(graph)):
                present = bool(graph[child] >> parent & 1)
                if parent == child or present == more or (more and above[parent] >> child & 1):
                    continue
                yield tuple(of_v ^ (1 << parent if v == child else 0) for v, of_v in enumerate(graph))


def some(classes):
    """All classes of four variables, and every twentieth of five."""
    return list(classes.items())[:: 1 if len(classes) < 1000 else 20]


@pytest.mark.slow
def test_every_graph_tells_its_class(classes):
    for found, graphs in classes.items():
        for graph in graphs:
            assert class_of_graph(graph) == found


def test_extensions(classes):
    for found, graphs in classes.items():
        for node in range(len(found.parents)):
            graph = extension(found, node)
            assert graph in graphs
            assert not graph[node] & found.neighbours[node]


def test_operators_reach_the_classes_one_arc_away(classes):
    for found, graphs in some(classes):
        for operators, more in ((insertions(found, 4), True), (deletions(found), False)):
            expected = {class_of_graph(graph) for graph in with_arcs(graphs, more=more)}
            reached = set()
            for operator in operators:
                following = applied(found, operator)
                reached.add(following)
                tail = 1 << operator.tail
                before, after = operator.given, operator.given | tail
                if not more:
                    before, after = after, before
                changed = [
                    tuple(after if v == operator.head else of_v for v, of_v in enumerate(graph))
                    for graph in graphs
                    if graph[operator.head] == before
                ]
                assert set(changed) & set(classes[following])
            assert reached == expected


def test_the_largest_number_of_parents_is_that_of_the_class(classes):
    for found, graphs in some(classes):
        largest = {max(of_v.bit_count() for of_v in graph) for graph in graphs}
        assert len(largest) == 1
        for most in range(max(largest), 4):
            reached = {applied(found, operator) for operator in insertions(found, most)}
            assert reached == {
                class_of_graph(graph)
                for graph in with_arcs(graphs, more=True)
                if max(of_v.bit_count() for of_v in graph) <= most
            }


def test_class_focused_graphs(classes):
    n = len(next(iter(classes)).parents)
    for found, graphs in classes.items():
        for class_node in {0, n - 1}:
            expected = any(oracles.is_class_focused_graph(as_dict(graph), class_node) for graph in graphs)
            assert is_class_focused(found, class_node) == expected
            if expected:
                assert oracles.is_class_focused_graph(as_dict(extension(found, class_node)), class_node)


@pytest.mark.parametrize("seed", range(10))
def test_cliques(seed):
    rng = np.random.default_rng(seed)
    joined = [0] * 7
    for v in range(7):
        for u in range(v):
            if rng.random() < 0.6:
                joined[v] |= 1 << u
                joined[u] |= 1 << v
    core, others = (as_mask([v for v in own if rng.random() < 0.5]) for own in (range(3), range(3, 7)))
    for most in range(5):
        expected = [
            core | as_mask(chosen)
            for chosen in oracles.subsets(elements(others))
            if all(joined[a] >> b & 1 for own in [[*elements(core), *chosen]] for a in own for b in own if a != b)
            and core.bit_count() + len(chosen) <= most
        ]
        assert list(cliques(core, others, joined, most)) == expected


def plain_search(problem, tolerance):
    """The search as it is described, over graphs that stand for their classes; the CLL that it ends with."""
    known = {}

    def score(graph):
        if graph not in known:
            known[graph] = oracles.conditional_log_likelihood(
                problem.rows, problem.weights, problem.arities, as_dict(graph)
            )
        return known[graph]

    members = {}
    for graph in oracles.graphs_by_masks(problem.n + 1):
        members.setdefault(oracles.equivalence_class(as_dict(graph)), []).append(graph)
    own = {graph: graphs for graphs in members.values() for graph in graphs}

    def best_step(graph, more):
        found = [
            other
            for other in with_arcs(own[graph], more=more)
            if any(oracles.is_class_focused_graph(as_dict(same), problem.n) for same in own[other])
        ]
        other = max(found, key=score, default=graph)
        return other if score(other) > score(graph) + tolerance else None

    graph, still, more = (0,) * (problem.n + 1), 0, True
    while still < 2:
        still += 1
        while (following := best_step(graph, more)) is not None:
            graph, still = following, 0
        more = not more
    return score(graph), max(
        score(other) for more in (True, False) for other in (best_step(graph, more) or graph, graph)
    )


@pytest.mark.parametrize("weights", ["ones", "whole", "real", "mixed"])
@pytest.mark.parametrize("seed", range(4))
def test_search_against_slow_twin(seed, weights):
    problem = random_problem(seed, 3, n_rows=30 + 30 * seed, weights=weights, n_classes=2 + seed % 2)
    structure = learn_mc_dag(problem.table)
    score, _ = plain_search(problem, rounding_error(problem.table))
    assert structure.score == pytest.approx(score, rel=1e-9, abs=1e-9)


@given(problem=problems(min_features=1, max_features=3, max_rows=10))
@examples(40)
def test_ends_where_no_operator_gains(problem):
    structure = learn_mc_dag(problem.table)
    graph = {
        v: tuple(problem.names.index(u) for u in structure.parents[problem.names[v]]) for v in range(problem.n + 1)
    }
    assert oracles.is_class_focused_graph(graph, problem.n)
    slack = 4 * rounding_error(problem.table) + 1e-9
    own = oracles.conditional_log_likelihood(problem.rows, problem.weights, problem.arities, graph)
    assert structure.score == pytest.approx(own, abs=slack)
    found = class_of_graph(tuple(as_mask(graph[v]) for v in sorted(graph)))
    for operator in [*insertions(found, problem.n), *deletions(found)]:
        following = applied(found, operator)
        if is_class_focused(following, problem.n):
            other = as_dict(extension(following))
            value = oracles.conditional_log_likelihood(problem.rows, problem.weights, problem.arities, other)
            assert value <= own + slack


@pytest.mark.parametrize(("n", "seed"), [(5, 292), (5, 358), (5, 434), (6, 16), (6, 43), (6, 275)])
def test_deletions_come_after_insertions(n, seed):
    """Tables where one insertion makes another useless: the end has no better neighbour of either kind."""
    problem = random_problem(
        seed, n, n_rows=20 + seed % 7 * 15, n_classes=2 + seed % 2, max_arity=3, weights=["ones", "real"][seed % 2]
    )
    most = [n, 2, 3][seed % 3]
    structure = learn_mc_dag(problem.table, max_parents=most)
    names = problem.names
    found = class_of_graph(tuple(as_mask([names.index(u) for u in structure.parents[name]]) for name in names))
    for operator in [*insertions(found, most), *deletions(found)]:
        following = applied(found, operator)
        if is_class_focused(following, n):
            graph = extension(following)
            named = {names[v]: [names[u] for u in elements(of_v)] for v, of_v in enumerate(graph)}
            assert CLL().structure_score(problem.table, named) <= structure.score + rounding_error(problem.table)


@pytest.mark.parametrize("seed", range(4))
def test_steps_from_anywhere(seed):
    """From classes that no climb may reach, a step leads to the best class-focused one that is an arc away."""
    problem = random_problem(seed, 3, n_rows=25, weights=["ones", "real"][seed % 2], n_classes=2, max_arity=2)
    members = {}
    for graph in oracles.graphs_by_masks(4):
        members.setdefault(class_of_graph(graph), []).append(graph)
    focused = [
        found
        for found, graphs in members.items()
        if any(oracles.is_class_focused_graph(as_dict(graph), 3) for graph in graphs)
    ]
    score = {
        found: oracles.conditional_log_likelihood(
            problem.rows, problem.weights, problem.arities, as_dict(members[found][0])
        )
        for found in focused
    }
    slack = rounding_error(problem.table)
    likelihood = equivalence.ConditionalLikelihood(problem.table, 1, Deadline(), None)
    search = equivalence._Search(likelihood, 3, slack, Deadline())
    deleted = 0
    for found in focused:
        for insert in (True, False):
            near = {class_of_graph(graph) for graph in with_arcs(members[found], more=insert)}
            best = max([score[found], *(score[other] for other in near & score.keys())])
            search.found = found
            following = search._step(insert=insert)
            assert score[following] == pytest.approx(best, abs=2 * slack)
            deleted += following != found and not insert
    assert deleted > 3


@pytest.mark.parametrize("weights", ["ones", "real"])
def test_every_step_gains_what_it_promised(weights, monkeypatch):
    """What two families promise is the difference of the CLL of the whole structures."""
    problem = random_problem(2, 6, n_rows=150, weights=weights, n_classes=3)
    found = []

    class Watched(equivalence.ConditionalLikelihood):
        def move_to(self, parents):
            super().move_to(parents)
            named = {problem.names[v]: [problem.names[u] for u in elements(of_v)] for v, of_v in enumerate(parents)}
            found.append((self.total, CLL().structure_score(problem.table, named)))

        def likelihoods(self, *arguments):
            values = super().likelihoods(*arguments)
            promised.append(np.concatenate([*values, [self.total]]))
            return values

    promised = []
    monkeypatch.setattr(equivalence, "ConditionalLikelihood", Watched)
    structure = learn_mc_dag(problem.table)
    totals = [total for total, _ in found]
    assert len(totals) > 4
    assert totals == sorted(totals)
    np.testing.assert_allclose(totals, [score for _, score in found], rtol=1e-9)
    for values, total in zip(promised[:-1], totals[1:], strict=True):
        assert np.abs(values - total).min() <= 1e-9 * abs(total)
    assert structure.score == pytest.approx(totals[-1], rel=1e-9)


def test_classes_are_told_apart_better_than_by_naive_bayes():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (300, 5))
    codes[:, -1] = codes[:, 0] ^ codes[:, 1]
    problem = random_problem(0, 4)
    problem.rows, problem.weights = [tuple(map(int, row)) for row in codes], [1.0] * 300
    problem.arities = [2] * 5
    structure = learn_mc_dag(problem.table)
    assert structure.score > -300 * np.log(2) * 0.5
    assert learn_mc_dag(problem.table, max_parents=1).score < structure.score


class TestLimits:
    def test_max_parents_and_threads(self):
        table = random_problem(7, 7, n_rows=200, n_classes=3).table
        for most in (0, 1, 2, 3):
            structure = learn_mc_dag(table, max_parents=most)
            assert max(map(len, structure.parents.values())) <= most
            assert structure.certificate.method.endswith(
                f"class-focused graphs, at most {most} parent{'s' * (most != 1)}"
            )
            twin = learn_mc_dag(table, max_parents=most, n_jobs=1)
            assert (twin.parents, twin.score) == (structure.parents, structure.score)
        with pytest.raises(ValueError, match="max_parents must be None or a whole number"):
            learn_mc_dag(table, max_parents=-1)

    def test_time_limit(self):
        structure = learn_mc_dag(random_problem(7, 5).table, time_limit=1e-9)
        assert structure.edges == ()
        assert structure.certificate.method.endswith("graphs, stopped by time_limit")
        assert not structure.certificate.optimal

    def test_an_interrupt_returns_the_structure_so_far(self):
        pressed = []

        def progress(_, fraction):
            if fraction == 1 and not pressed:
                pressed.append(fraction)
                signal.raise_signal(signal.SIGINT)

        with pytest.warns(UserWarning, match="interrupted: this is the best structure found so far"):
            structure = learn_mc_dag(random_problem(7, 5, n_rows=100).table, progress=progress)
        assert structure.certificate.method.endswith("graphs, interrupted")
        assert len(structure.edges) <= 1
