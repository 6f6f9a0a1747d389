"""Hill climbing against slow twins: moves, gains, local optima, tabu lists, restarts, limits."""

import signal

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import SCORES, constrained_problems, numbered, problems, random_problem, table_of
from tiers import examples

import anbexact.search.greedy.conditional_likelihood as conditional
from anbexact import BDeu, learn_anb, learn_ckg, learn_naive_bayes, learn_tan
from anbexact._runtime.deadline import Deadline
from anbexact.scores import BIC, CLL, CMDL, K2
from anbexact.search import learn_greedy_gbn
from anbexact.search.constraints import make_constraints
from anbexact.search.exact.solution import rounding_error
from anbexact.search.graphs import ancestors, as_mask, children, elements, matrix, parents_first
from anbexact.search.greedy.climb import ADD, Arcs, Climb
from anbexact.search.greedy.hill_climbing import add_arcs
from anbexact.search.greedy.local_scores import LocalScores
from anbexact.search.scoring.pair_scores import FamilyScorer

WEIGHTS = ["ones", "whole", "real", "mixed"]
CONDITIONAL = {"CLL": oracles.conditional_log_likelihood, "CMDL": oracles.conditional_description_length}
GENERAL = {name: score for name, score in SCORES.items() if name != "ACLL"}
"""Scores that need no class among the parents."""


def numbers(problem, parents):
    """Parents by number, sorted."""
    place = {name: v for v, name in enumerate(problem.names)}
    named = {place[child]: tuple(sorted(place[name] for name in of_child)) for child, of_child in parents.items()}
    return dict(sorted(named.items()))


def as_graph(graph):
    """Masks of parents."""
    return tuple(as_mask(graph[v]) for v in sorted(graph))


def plain_score(problem, score):
    """The score of a graph by the numbers of its variables, from scratch."""
    table, names = problem.table, problem.names
    if isinstance(score, CLL):
        sign = -1 if isinstance(score, CMDL) else 1
        return lambda graph: sign * CONDITIONAL[score.name](problem.rows, problem.weights, problem.arities, graph)
    known = {}

    def local(child, parents):
        if (child, parents) not in known:
            known[child, parents] = score.local_score(
                table.without_class(), names[child], [names[v] for v in parents]
            )
        return known[child, parents]

    return lambda graph: sum(local(child, of_child) for child, of_child in graph.items())


def random_graph(rng, n):
    """A random acyclic graph."""
    order = rng.permutation(n)
    graph = dict.fromkeys(range(n), ())
    for k, child in enumerate(order):
        graph[int(child)] = tuple(sorted(int(v) for v in order[:k] if rng.random() < 0.5))
    return dict(sorted(graph.items()))


class TestGraphs:
    @pytest.mark.parametrize("seed", range(20))
    def test_against_plain_definitions(self, seed):
        rng = np.random.default_rng(seed)
        graph = random_graph(rng, int(rng.integers(1, 12)))
        parents = as_graph(graph)
        order = parents_first(parents)
        assert sorted(order) == list(graph)
        for v, above in enumerate(ancestors(parents)):
            reached, waiting = set(), set(graph[v])
            while waiting:
                reached |= waiting
                waiting = {u for w in waiting for u in graph[w]} - reached
            assert set(elements(above)) == reached
            assert all(order.index(u) < order.index(v) for u in reached)
        assert [set(elements(mask)) for mask in children(parents)] == [
            {child for child in graph if v in graph[child]} for v in graph
        ]
        np.testing.assert_array_equal(matrix(parents, len(parents)), [[u in graph[v] for u in graph] for v in graph])

    @given(drawn=constrained_problems(min_features=2, max_features=4), data=st.data())
    @examples(80)
    def test_moves(self, drawn, data):
        problem, constraints = drawn
        n = problem.n
        edges = {key: numbered(constraints[key]) for key in ("required", "forbidden")}
        arcs = Arcs.of(
            problem.names[:-1], make_constraints(problem.names[:-1], constraints["max_parents"], *edges.values())
        )
        graph = {child: tuple(elements(of_child)) for child, of_child in enumerate(arcs.required)}
        for _ in range(4):
            places = np.flatnonzero(arcs.moves(as_graph(graph)))
            expected = oracles.moves(graph, **constraints)
            assert [arcs.after(as_graph(graph), int(place)) for place in places] == [as_graph(g) for g in expected]
            if expected:
                graph = data.draw(st.sampled_from(expected))
        assert set(graph) == set(range(n))


class TestConditionalLikelihood:
    """What is kept of rows and classes, against products of tables."""

    @given(problem=problems(max_features=4, max_rows=12), data=st.data())
    @examples(40)
    def test_gains_on_a_walk(self, problem, data):
        arcs = Arcs.of(problem.names, make_constraints(problem.names, None, (), ()))
        score = data.draw(st.sampled_from([CLL(), CMDL()]))
        plain = plain_score(problem, score)
        objective = conditional.ConditionalObjective(problem.table, score, 1, Deadline(), None)
        tolerance = 1e-9 * max(1.0, sum(problem.weights))
        graph = dict.fromkeys(range(problem.n + 1), ())
        for _ in range(4):
            parents = as_graph(graph)
            assert objective.move_to(parents)
            assert objective.total == pytest.approx(plain(graph), abs=tolerance)
            admitted = arcs.moves(parents)
            gains = objective.gains(admitted)
            assert (np.isneginf(gains) == ~admitted).all()
            following = oracles.moves(graph)
            expected = [plain(other) - plain(graph) for other in following]
            np.testing.assert_allclose(gains[admitted], expected, rtol=0, atol=tolerance)
            if following:
                graph = data.draw(st.sampled_from(following))

    @pytest.mark.slow
    @pytest.mark.parametrize("weights", WEIGHTS)
    @pytest.mark.parametrize("score", [CLL(), CMDL()], ids=lambda s: s.name)
    def test_gains_on_larger_tables(self, score, weights):
        problem = random_problem(3, 6, n_rows=200, weights=weights, n_classes=4)
        plain = plain_score(problem, score)
        graph = random_graph(np.random.default_rng(1), 7)
        arcs = Arcs.of(problem.names, make_constraints(problem.names, None, (), ()))
        objective = conditional.ConditionalObjective(problem.table, score, 2, Deadline(), None)
        objective.move_to(as_graph(graph))
        gains = objective.gains(arcs.moves(as_graph(graph)))
        expected = [plain(other) - plain(graph) for other in oracles.moves(graph)]
        np.testing.assert_allclose(gains[gains > -np.inf], expected, rtol=1e-9, atol=1e-9 * sum(problem.weights))

    def test_probabilities_too_small_for_a_float(self):
        """256 zeros in one row, and a class left over that was e^-3500 times as probable as another."""
        n = 256
        rows = [
            ((0,) * n, 0, 0, 1e6),
            ((1, *(0,) * (n - 1)), 1, 0, 1.0),
            ((1,) * n, 0, 1, 1e6),
            ((0,) * n, 1, 1, 1.0),
            ((1,) * n, 1, 2, 1.0),
        ]
        table = table_of([(*block, z, c) for block, z, c, _ in rows], [w for *_, w in rows], [2] * (n + 1) + [3])
        names = table.vocabulary.names
        naive = (*(1 << (n + 1),) * (n + 1), 0)
        objective = conditional.ConditionalObjective(table, CLL(), 1, Deadline(), None)
        assert objective.move_to(naive)
        admitted = np.zeros((3, n + 2, n + 2), dtype=bool)
        admitted[ADD, n, :3] = True
        gains = objective.gains(admitted)[admitted]

        def score(graph):
            named = {names[v]: [names[u] for u in elements(of_v)] for v, of_v in enumerate(graph)}
            return CLL().structure_score(table, named)

        assert objective.total == pytest.approx(score(naive), rel=1e-9)
        changed = [(*naive[:n], naive[n] | 1 << parent, 0) for parent in range(3)]
        slack = rounding_error(table)
        np.testing.assert_allclose(objective.total + gains, [score(graph) for graph in changed], rtol=0, atol=slack)
        assert gains[0] > 3000

    @given(problem=problems(max_features=3), seed=st.integers(0, 10**6))
    @examples(60)
    def test_structure_score(self, problem, seed):
        graph = random_graph(np.random.default_rng(seed), problem.n + 1)
        parents = {problem.names[v]: tuple(problem.names[u] for u in of_v) for v, of_v in graph.items()}
        for score in (CLL(), CMDL()):
            tolerance = 1e-9 * max(1.0, sum(problem.weights))
            assert score.structure_score(problem.table, parents) == pytest.approx(
                plain_score(problem, score)(graph), abs=tolerance
            )

    def test_equivalent_graphs_score_the_same(self):
        problem = random_problem(8, 3, n_rows=25, weights="real")
        by_class = {}
        for graph in oracles.graphs(4):
            named = {problem.names[v]: [problem.names[u] for u in of_v] for v, of_v in graph.items()}
            by_class.setdefault(oracles.equivalence_class(graph), []).append(
                CLL().structure_score(problem.table, named)
            )
        assert len(by_class) == 185
        for values in by_class.values():
            np.testing.assert_allclose(values, values[0], rtol=1e-10)


def tolerance_of(problem):
    return rounding_error(problem.table)


@pytest.mark.parametrize(
    "score", [*(score() for score in GENERAL.values()), CLL(), CMDL()], ids=lambda score: score.name
)
class TestEveryScore:
    @given(drawn=constrained_problems(max_features=3))
    @examples(15)
    def test_ends_where_no_move_gains(self, score, drawn):
        problem, constraints = drawn
        edges = {key: numbered(constraints[key]) for key in ("required", "forbidden")}
        structure = learn_greedy_gbn(problem.table, score, max_parents=constraints["max_parents"], **edges)
        plain = plain_score(problem, score)
        graph = numbers(problem, structure.parents)
        slack = 4 * tolerance_of(problem) + 1e-9
        assert structure.score == pytest.approx(plain(graph), rel=1e-9, abs=slack)
        for v, of_v in graph.items():
            assert oracles.admitted(v, of_v, **constraints)
        for other in oracles.moves(graph, **constraints):
            assert plain(other) <= plain(graph) + slack
        best = max(
            plain(other)
            for other in oracles.graphs(problem.n + 1)
            if all(oracles.admitted(v, of_v, **constraints) for v, of_v in other.items())
        )
        assert structure.score <= best + slack

    @pytest.mark.parametrize("seed", range(4))
    def test_climbs_like_the_slow_twin(self, score, seed):
        problem = random_problem(seed, 4, n_rows=40 + 40 * seed, weights=WEIGHTS[seed], max_arity=3)
        constraints = [
            {},
            {"max_parents": 1},
            {"max_parents": 2, "required": [(0, 1), (4, 2)], "forbidden": [(3, 4)]},
            {"forbidden": [(1, 4), (4, 1), (2, 3)]},
        ][seed]
        edges = {
            key: [(problem.names[a], problem.names[b]) for a, b in constraints.get(key, ())]
            for key in ("required", "forbidden")
        }
        start = {v: tuple(sorted(a for a, b in constraints.get("required", ()) if b == v)) for v in range(5)}
        for tabu in (0, 3):
            graph, value = oracles.climb(
                start, plain_score(problem, score), tolerance_of(problem), tabu, **constraints
            )
            structure = learn_greedy_gbn(
                problem.table, score, max_parents=constraints.get("max_parents"), tabu=tabu, **edges
            )
            assert structure.score == pytest.approx(value, rel=1e-9)
            assert numbers(problem, structure.parents) == graph

    def test_restarts_and_tabu_only_help(self, score):
        problem = random_problem(11, 6, n_rows=150, weights="mixed")
        plain = learn_greedy_gbn(problem.table, score, max_parents=3)
        again = learn_greedy_gbn(problem.table, score, max_parents=3, restarts=3, random_state=1)
        assert again.score >= plain.score - tolerance_of(problem)
        longer = learn_greedy_gbn(problem.table, score, max_parents=3, tabu=5)
        assert longer.score >= plain.score - tolerance_of(problem)
        twin = learn_greedy_gbn(problem.table, score, max_parents=3, restarts=3, random_state=1, n_jobs=1)
        assert twin.parents == again.parents
        assert twin.score == again.score


def test_restarts_leave_a_local_optimum():
    """Some climb ends below the optimum, and random moves lead further."""
    better = []
    for seed in range(8):
        table = random_problem(seed, 7, n_rows=120).table
        plain, again = (learn_greedy_gbn(table, restarts=k, random_state=0).score for k in (0, 8))
        better.append(again - plain)
    assert min(better) >= -1e-9
    assert max(better) > 0.1


@pytest.mark.slow
def test_random_state_decides():
    table = random_problem(4, 7, n_rows=60).table
    graphs = {tuple(learn_greedy_gbn(table, K2(), restarts=1, random_state=k).parents.items()) for k in range(12)}
    assert len(graphs) > 1


@pytest.mark.parametrize("weights", WEIGHTS)
def test_add_arcs_keeps_the_class_a_parent_of_all(weights):
    problem = random_problem(5, 6, n_rows=100, weights=weights)
    features = problem.names[:-1]
    constraints = make_constraints(features, 2, [("f0", "f1")], [("f2", "f3")])
    parents = add_arcs(problem.table, BDeu(), constraints, Deadline())
    assert list(parents) == features

    def plain(graph):
        return sum(
            oracles.bdeu_local(problem.rows, problem.weights, problem.arities, v, [problem.n, *of_v], 1.0)
            for v, of_v in graph.items()
        )

    limits = {"max_parents": 2, "required": [(0, 1)], "forbidden": [(2, 3)]}
    start = {v: (0,) if v == 1 else () for v in range(problem.n)}
    graph, _ = oracles.climb(start, plain, tolerance_of(problem), **limits)
    assert {v: tuple(features.index(u) for u in parents[features[v]]) for v in graph} == graph
    stopped = add_arcs(problem.table, BDeu(), constraints, Deadline(0.0))
    assert stopped == {name: ("f0",) if name == "f1" else () for name in features}


class TestLimits:
    @pytest.mark.parametrize("score", [BDeu(), CMDL()], ids=lambda score: score.name)
    def test_time_limit(self, score, monkeypatch):
        table = random_problem(6, 6, n_rows=100).table
        whole = learn_greedy_gbn(table, score)
        assert whole.certificate.method == f"hill climbing by {score.name}"
        none = learn_greedy_gbn(table, score, time_limit=1e-9, required=[("f0", "c")])
        assert none.edges == (("f0", "c"),)
        assert none.certificate.method.endswith("with 1 required edge, stopped by time_limit")
        assert not none.certificate.optimal
        looks = []

        def passed(self):
            looks.append(self)
            return len(looks) > 20

        monkeypatch.setattr(Deadline, "passed", property(passed))
        some = learn_greedy_gbn(table, score, n_jobs=1)
        assert none.score < some.score <= whole.score

    def test_an_interrupt_returns_the_best_so_far(self):
        table = random_problem(6, 6, n_rows=100).table

        pressed = []

        def progress(phase, fraction):
            if phase.startswith("moves") and fraction == 1 and not pressed:
                pressed.append(phase)
                signal.raise_signal(signal.SIGINT)

        with pytest.warns(UserWarning, match="interrupted: this is the best structure found so far"):
            structure = learn_greedy_gbn(table, progress=progress)
        assert structure.certificate.method == "hill climbing by BDeu, interrupted"
        assert len(structure.edges) <= 1

    @pytest.mark.parametrize(("name", "value"), [("tabu", -1), ("tabu", 1.5), ("restarts", True), ("restarts", None)])
    def test_senseless_numbers(self, name, value):
        with pytest.raises(ValueError, match=f"{name} must be a whole number, 0 or more, not {value}"):
            learn_greedy_gbn(random_problem(0, 2).table, **{name: value})

    def test_method_names_everything(self):
        table = random_problem(6, 4).table
        structure = learn_greedy_gbn(
            table, BIC(), max_parents=2, forbidden=[("c", "f0")], tabu=4, restarts=2, random_state=0
        )
        assert structure.certificate.method == (
            "hill climbing by BIC, 4 structures tabu, 2 restarts with 1 forbidden edge, at most 2 parents"
        )
        assert structure.certificate.sets_scored > 20
        assert str(structure.certificate).startswith("nothing proved")


class _Strange:
    """A score that is no number for one family."""

    name, score_equivalent, has_set_score = "strange", True, False

    def __init__(self, value, size):
        self.value, self.size = value, size

    def local_score(self, table, child, parents):
        return self.value if child == "f1" and len(parents) == self.size else -float(len(parents))


def test_scores_that_are_no_number_are_refused():
    table = random_problem(0, 3).table
    for value, size in [(np.nan, 1), (np.inf, 1), (-np.inf, 0)]:
        with pytest.raises(ValueError, match=r"score 'strange' of 'f1' given \[.*\] is not a finite number"):
            learn_greedy_gbn(table, _Strange(value, size))
    assert learn_greedy_gbn(table, _Strange(-np.inf, 1)).edges == ()


@pytest.mark.parametrize("search", [learn_anb, learn_tan, learn_ckg, learn_naive_bayes])
@pytest.mark.parametrize("score", [CLL(), CMDL()], ids=lambda score: score.name)
def test_other_searches_refuse_scores_of_whole_structures(search, score):
    with pytest.raises(TypeError, match=f"{score.name} is a score of whole structures: it has no local scores"):
        search(random_problem(0, 3).table, score)


def test_families_are_scored_once():
    table = random_problem(1, 6, n_rows=100).table
    calls = []

    class Watched:
        name, score_equivalent, has_set_score = "watched", True, False

        def local_score(self, table, child, parents):
            calls.append((child, tuple(parents)))
            return BDeu().local_score(table, child, parents)

    objective = LocalScores(FamilyScorer(table.without_class(), Watched(), 1, Deadline()), None)
    climb = Climb(
        objective,
        Arcs.of(table.vocabulary.names, make_constraints(table.vocabulary.names, None, (), ())),
        1e-9,
        tabu=4,
    )
    assert climb.run()
    assert len(calls) == len(set(calls)) == objective.scored
