"""Trees, forests and consistent k-graphs: against brute force; constraints, limits, ties."""

from itertools import pairwise
from math import lgamma

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import SCORES, Problem, ess_values, numbered, problems, random_problem, table_of

import anbexact.search.scoring.pair_scores as pairs
import anbexact.search.trees.branching as branching
import anbexact.search.trees.k_graph as k_graph
from anbexact import (
    BDeu,
    CkGClassifier,
    DiscreteTable,
    FANClassifier,
    SearchTooLargeError,
    TANClassifier,
    learn_anb,
    learn_ckg,
    learn_fan,
    learn_naive_bayes,
    learn_tan,
)
from anbexact._runtime.deadline import Deadline
from anbexact.scores import FamilyScore
from anbexact.search.scoring.pair_scores import FamilyScorer, pair_scores

WEIGHTS = ["ones", "whole", "real", "mixed"]


class OnlyLocal:
    """K2 from its formula, as a user may write a score: local scores, nothing else."""

    name = "own"
    score_equivalent = False
    has_set_score = False

    def local_score(self, table, child, parents):
        """The double sum over parent configurations and states."""
        counts = table.counts([*parents, child]).reshape(-1, table.vocabulary.arity(child))
        r = counts.shape[1]
        return sum(lgamma(r) - lgamma(r + row.sum()) + sum(lgamma(1 + n) for n in row) for row in counts)


class OwnFamilies(FamilyScore):
    """A FamilyScore that is not score equivalent: the log likelihood, less a penalty by the names' arities."""

    name = "own families"
    score_equivalent = False
    has_set_score = False

    def family_scores(self, counts, arities):
        """Σ N ln(N / N_parents) - 0.3 q r."""
        given = counts.sum(axis=-1, keepdims=True)
        terms = counts * np.log(np.maximum(counts, 1e-300) / np.maximum(given, 1e-300))
        return terms.sum(axis=(1, 2, 3)) - 0.3 * np.prod(arities) * counts.shape[-1]


class Given:
    """Local scores as given: ``gains[parent, child]`` for one parent, ``bonus[child, parents]`` for several."""

    name = "given"
    score_equivalent = False
    has_set_score = False

    def __init__(self, gains, larger=None):
        self.gains = gains
        self.larger = larger or {}

    def local_score(self, table, child, parents):
        """Look it up; 0 with the class alone."""
        numbers = tuple(int(name[1:]) for name in parents if name != "c")
        if child == "c" or not numbers:
            return 0.0
        if len(numbers) > 1:
            return float(self.larger.get((int(child[1:]), numbers), -1.0))
        return float(self.gains[numbers[0]][int(child[1:])])


ALL_SCORES = {**SCORES, "own": OnlyLocal, "own families": OwnFamilies}
each_score = pytest.mark.parametrize("score", ALL_SCORES.values(), ids=ALL_SCORES)


def local_of(problem, score):
    """``local(child, feature parents)`` by number, remembered."""
    known = {}

    def local(child, parents):
        key = child, tuple(parents)
        if key not in known:
            names = ["c", *(f"f{p}" for p in parents)]
            known[key] = score.local_score(problem.table, f"f{child}", names)
        return known[key]

    return local


def feature_parents(structure):
    """Feature parents by number, as the oracles have them."""
    return tuple(
        tuple(int(name[1:]) for name in structure.parents[child] if name != structure.class_name)
        for child in structure.features
    )


def as_parents(structure):
    """The one feature parent of every feature, or None."""
    return tuple(of_child[0] if of_child else None for of_child in feature_parents(structure))


def check(structure, problem, score, expected, scale=1.0):
    """The score is the expected one, that of the structure, and proved."""
    close = {"rel": 1e-9, "abs": 1e-9 * scale}
    class_score = score.local_score(problem.table, "c", [])
    assert structure.score == pytest.approx(expected + class_score, **close)
    own = sum(score.local_score(problem.table, child, of_child) for child, of_child in structure.parents.items())
    assert structure.score == pytest.approx(own, **close)
    assert all(of_child[0] == "c" for child, of_child in structure.parents.items() if child != "c")
    assert structure.certificate.optimal
    assert structure.certificate.gap == 0
    assert structure.certificate.upper_bound == structure.score


@st.composite
def branching_constraints(draw, n):
    """Required arcs that a branching can have, and forbidden ones."""
    order = draw(st.permutations(range(n)))
    required, forbidden = [], []
    for place, child in enumerate(order):
        if place and draw(st.integers(0, 3)) == 0:
            required.append((draw(st.sampled_from(order[:place])), child))
    for a in range(n):
        for b in range(n):
            if a != b and (a, b) not in required and draw(st.integers(0, 3)) == 0:
                forbidden.append((a, b))
    return required, forbidden


class TestBestBranching:
    @each_score
    @given(problem=problems(min_arity=2, max_features=4))
    def test_equals_brute_force(self, score, problem):
        score = score()
        local = local_of(problem, score)
        for search, tree in ((learn_tan, True), (learn_fan, False)):
            structure = search(problem.table, score, n_jobs=1)
            best, _ = oracles.best_branching(problem.n, local, tree)
            check(structure, problem, score, best, sum(problem.weights))
            assert all(len(of_child) <= 1 for of_child in feature_parents(structure))
            assert not tree or len(structure.feature_edges) == problem.n - 1

    @each_score
    @pytest.mark.parametrize("weights", WEIGHTS)
    def test_equals_brute_force_on_five_features(self, score, weights):
        problem = random_problem(7, 5, n_rows=70, weights=weights)
        score = score()
        local = local_of(problem, score)
        tan, fan = learn_tan(problem.table, score), learn_fan(problem.table, score)
        best, first = oracles.best_branching(5, local, tree=True)
        check(tan, problem, score, best)
        assert as_parents(tan) == first
        best, first = oracles.best_branching(5, local)
        check(fan, problem, score, best)
        assert as_parents(fan) == first
        assert fan.score >= learn_naive_bayes(problem.table, score).score - 1e-9
        assert fan.score >= tan.score - 1e-9

    @each_score
    @given(problem=problems(min_arity=2, min_features=2, max_features=4), data=st.data())
    def test_equals_brute_force_under_constraints(self, score, problem, data):
        required, forbidden = data.draw(branching_constraints(problem.n))
        score = score()
        local = local_of(problem, score)
        limits = {"required": numbered(required), "forbidden": numbered(forbidden)}
        for search, tree in ((learn_tan, True), (learn_fan, False)):
            best, _ = oracles.best_branching(problem.n, local, tree, required, forbidden)
            if best == -np.inf:
                with pytest.raises(ValueError, match="no spanning tree over the features satisfies the constraints"):
                    search(problem.table, score, **limits)
                continue
            structure = search(problem.table, score, **limits)
            check(structure, problem, score, best, sum(problem.weights))
            assert set(limits["required"]) <= set(structure.feature_edges)
            assert not set(limits["forbidden"]) & set(structure.feature_edges)

    @given(ess=ess_values, problem=problems(min_arity=2, min_features=3, max_features=4, max_rows=30))
    def test_any_equivalent_sample_size(self, ess, problem):
        score = BDeu(ess)
        best, _ = oracles.best_branching(problem.n, local_of(problem, score), tree=True)
        check(learn_tan(problem.table, score), problem, score, best, sum(problem.weights))

    def test_a_forest_of_no_arc_is_naive_bayes(self):
        rng = np.random.default_rng(0)
        table = table_of(rng.integers(0, 3, (400, 6)), None, [3] * 6)
        fan, naive = learn_fan(table), learn_naive_bayes(table)
        assert dict(fan.parents) == dict(naive.parents)
        assert fan.score == pytest.approx(naive.score, rel=1e-13)
        assert learn_tan(table).score < naive.score

    def test_the_certificate_says_among_what(self):
        table = random_problem(0, 4).table
        assert learn_tan(table).certificate.method == "maximum spanning tree, among tree augmented naive Bayes"
        fan = learn_fan(table, required=[("f0", "f1")], forbidden=[("f1", "f2"), ("f2", "f1")])
        assert fan.certificate.method == (
            "maximum branching, among forest augmented naive Bayes with 1 required edge, 2 forbidden edges"
        )
        assert learn_ckg(table, k=3).certificate.method == "best consistent 3-graph of the optimal branching"


class TestConsistentKGraph:
    @each_score
    @pytest.mark.parametrize("k", [1, 2, 3])
    @pytest.mark.parametrize("weights", ["ones", "real"])
    def test_equals_brute_force_and_the_branching_is_one(self, score, k, weights):
        problem = random_problem(11, 6, n_rows=150, max_arity=3, weights=weights)
        score = score()
        tan = learn_tan(problem.table, score)
        structure = learn_ckg(problem.table, score, k=k)
        best, chosen = oracles.best_consistent_graph(as_parents(tan), local_of(problem, score), k)
        check(structure, problem, score, best)
        assert list(feature_parents(structure)) == chosen
        assert structure.score >= tan.score - 1e-9

    @each_score
    @pytest.mark.parametrize("k", [1, 2, 3])
    @pytest.mark.parametrize("seed", [11, 12])
    def test_in_breadth_first_order_equals_brute_force(self, score, k, seed):
        problem = random_problem(seed, 6, n_rows=150, max_arity=3, weights="real")
        score = score()
        tan = learn_tan(problem.table, score)
        structure = learn_ckg(problem.table, score, k=k, order="breadth_first")
        local = local_of(problem, score)
        best, chosen = oracles.best_consistent_graph(as_parents(tan), local, k, before=oracles.visited_before)
        check(structure, problem, score, best)
        assert list(feature_parents(structure)) == chosen
        assert structure.score >= learn_ckg(problem.table, score, k=k).score - 1e-9
        assert "breadth-first" in structure.certificate.method

    def test_breadth_first_order(self):
        """Those of the first feature visited come first, wherever they are in the table."""
        branching = [3, 5, 3, -1, 2, 3, 0, 5]
        visited = [3, 0, 2, 5, 6, 4, 1, 7]
        parents = [None if parent < 0 else parent for parent in branching]
        for v, before in enumerate(k_graph.BEFORE["breadth_first"](branching)):
            assert before == visited[: visited.index(v)]
            assert sorted(before) == oracles.visited_before(parents, v)
        forest = [-1, 0, -1, 2]
        assert k_graph.BEFORE["breadth_first"](forest) == [[], [0, 2], [0], [0, 2, 1]]

    def test_unknown_orders_are_refused(self):
        message = "order must be one of 'ancestors', 'breadth_first', not 'random'"
        with pytest.raises(ValueError, match=message):
            learn_ckg(random_problem(0, 3).table, order="random")
        with pytest.raises(ValueError, match=message):
            CkGClassifier(order="random").fit(*random_problem(0, 3).frame())

    @pytest.mark.parametrize("order", ["ancestors", "breadth_first"])
    @each_score
    @given(problem=problems(min_arity=2, min_features=2, max_features=4), data=st.data())
    def test_equals_brute_force_under_constraints(self, score, order, problem, data):
        required, forbidden = data.draw(branching_constraints(problem.n))
        score = score()
        local = local_of(problem, score)
        limits = {"required": numbered(required), "forbidden": numbered(forbidden)}
        structure = learn_ckg(problem.table, score, order=order, **limits)
        try:
            tan = learn_tan(problem.table, score, **limits)
        except ValueError:
            parents = self.fewest_trees(problem.n, local, required, forbidden)
        else:
            parents = as_parents(tan)
        before = {"ancestors": oracles.ancestors, "breadth_first": oracles.visited_before}[order]
        best, _ = oracles.best_consistent_graph(parents, local, 2, required, forbidden, before=before)
        check(structure, problem, score, best, sum(problem.weights))

    def fewest_trees(self, n, local, required, forbidden):
        """The best of the branchings of most arcs, the first of equals."""
        totals = {}
        for parents in oracles.branchings(n):
            arcs = {(parents[i], i) for i in range(n)}
            if arcs >= set(required) and not arcs & set(forbidden):
                total = sum(local(i, () if parents[i] is None else (parents[i],)) for i in range(n))
                totals[parents] = (-parents.count(None), total)
        most = max(arcs for arcs, _ in totals.values())
        best = max(total for arcs, total in totals.values() if arcs == most)
        return next(p for p, (arcs, total) in totals.items() if arcs == most and total >= best - 1e-9)

    @pytest.mark.parametrize("seed", range(8))
    def test_lies_between_the_forest_and_the_optimum(self, seed):
        table = random_problem(seed, 7, n_rows=300, max_arity=3, weights=WEIGHTS[seed % 4]).table
        searches = (learn_anb, lambda t: learn_ckg(t, k=3), learn_ckg, learn_fan, learn_naive_bayes)
        scores = [search(table).score for search in searches]
        assert all(a >= b - 1e-9 for a, b in pairwise(scores))
        assert learn_ckg(table, k=1).score >= learn_tan(table).score - 1e-9
        assert learn_ckg(table, k=1).score == pytest.approx(learn_fan(table).score, rel=1e-12)

    def test_is_not_the_best_graph_of_two_parents(self):
        """Nor does it say so: of three exclusive ors no pair shows anything, and the tree orders them at random."""
        a, b, c, y = np.random.default_rng(0).integers(0, 2, (4, 400))
        table = table_of(np.stack([a, b, c, a ^ b, b ^ c, a ^ b ^ c, y], axis=1), None, [2] * 7)
        structure = learn_ckg(table)
        assert learn_anb(table, max_parents=2).score > structure.score + 100
        assert "consistent" in structure.certificate.method

    def test_blocks_do_not_matter(self, monkeypatch):
        problem = random_problem(12, 7, n_rows=200, max_arity=2)
        expected = learn_ckg(problem.table, k=4)
        monkeypatch.setattr(k_graph, "PARENT_SETS_PER_BATCH", 3)
        blocked = learn_ckg(problem.table, k=4)
        assert dict(blocked.parents) == dict(expected.parents)
        assert blocked.score == expected.score

    @pytest.mark.parametrize("k", [0, -1, 1.5, True, "2", None])
    def test_senseless_k(self, k):
        with pytest.raises((TypeError, ValueError), match="k must be a whole number, 1 or more"):
            learn_ckg(random_problem(0, 3).table, k=k)

    def test_a_score_that_is_no_number(self):
        gains = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
        with pytest.raises(ValueError, match="the score 'given' of a feature given 2 others is not a number"):
            learn_ckg(random_problem(0, 3).table, Given(gains, {(2, (0, 1)): np.nan}))


class TestPairScores:
    @each_score
    @pytest.mark.parametrize("weights", WEIGHTS)
    def test_equal_the_local_scores(self, score, weights):
        problem = random_problem(5, 5, n_rows=90, weights=weights)
        score = score()
        local = local_of(problem, score)
        scorer = FamilyScorer(problem.table, score, 2, Deadline())
        scores = pair_scores(scorer, None)
        scale = max(map(abs, scores.alone))
        for i in range(5):
            assert scores.alone[i] == pytest.approx(local(i, ()), rel=1e-11)
            for j in range(5):
                gain = local(i, (j,)) - local(i, ()) if i != j else 0.0
                assert scores.gains[j, i] == pytest.approx(gain, rel=1e-10, abs=1e-12 * scale)
        if score.score_equivalent:
            np.testing.assert_array_equal(scores.gains, scores.gains.T)
        assert scores.class_score == pytest.approx(score.local_score(problem.table, "c", []), rel=1e-12)

    @each_score
    def test_equivalent_scores_are_symmetric_pair_by_pair(self, score):
        problem = random_problem(5, 4, n_rows=90, weights="real")
        score = score()
        local = local_of(problem, score)
        gains = np.array([[local(i, (j,)) - local(i, ()) if i != j else 0.0 for i in range(4)] for j in range(4)])
        assert np.allclose(gains, gains.T, rtol=1e-9, atol=1e-9) or not score.score_equivalent

    @each_score
    @pytest.mark.parametrize("limit", ["LARGEST_TABLE", "BATCH_CELLS", "TASK_STEPS", "TABULATED_WEIGHTS"])
    def test_do_not_depend_on_how_they_are_parted(self, score, limit, monkeypatch):
        problem = random_problem(6, 5, n_rows=60, max_arity=3, weights="whole")
        expected = pair_scores(FamilyScorer(problem.table, score(), 1, Deadline()), None)
        monkeypatch.setattr(pairs, limit, 16)
        parted = pair_scores(FamilyScorer(problem.table, score(), 2, Deadline()), None)
        np.testing.assert_allclose(parted.gains, expected.gains, rtol=1e-10, atol=1e-9)
        np.testing.assert_allclose(parted.alone, expected.alone, rtol=1e-11)

    def test_many_joint_states_and_few_rows(self):
        problem = random_problem(3, 3, n_rows=25, max_arity=40, n_classes=9, weights="mixed")
        score = BDeu(0.3)
        best, _ = oracles.best_branching(3, local_of(problem, score), tree=True)
        check(learn_tan(problem.table, score), problem, score, best)

    def test_families_of_many_variables(self):
        """The numbers of variables do not fit into one whole number as digits."""
        problem = random_problem(3, 9, n_rows=40, max_arity=2)
        score = BDeu()
        scorer = FamilyScorer(problem.table, score, 1, Deadline())
        children = np.array([8, 0, 3])
        parents = np.array([[0, 1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 4, 5, 6, 8]])
        expected = [local_of(problem, score)(int(i), of.tolist()) for i, of in zip(children, parents, strict=True)]
        np.testing.assert_allclose(scorer.local_scores(children, parents, "", None), expected, rtol=1e-11)
        sets, place = pairs._distinct(np.array([[0, 1], [1, 2], [0, 1]]), 2**40)
        assert sets.tolist() == [[0, 1], [1, 2]]
        assert place.tolist() == [0, 1, 0]

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_a_score_that_is_no_number(self, bad):
        with pytest.raises(ValueError, match="the score 'given' of 'f1' given the class and 'f0' is not a number"):
            learn_tan(random_problem(0, 2).table, Given([[0, bad], [0, 0]]))

    def test_a_score_of_nothing_that_is_no_number(self):
        class Bad(OnlyLocal):
            def local_score(self, table, child, parents):
                return np.nan if child == "f1" else 0.0

        with pytest.raises(ValueError, match="the score 'own' of 'f1' given the class alone is not a finite number"):
            learn_fan(random_problem(0, 3).table, Bad())

    def test_minus_infinity_is_no_arc(self):
        gains = [[0, -np.inf, -np.inf], [-1, 0, 2], [-np.inf, 3, 0]]
        tree = learn_tan(random_problem(0, 3).table, Given(gains))
        assert as_parents(tree) == (1, 2, None)
        assert tree.score == 2
        with pytest.raises(ValueError, match="no spanning tree"):
            learn_tan(random_problem(0, 2).table, Given([[0, -np.inf], [-np.inf, 0]]))


@st.composite
def small_gains(draw, n):
    """Whole gains, few of them distinct, so that there are ties; some arcs missing."""
    value = st.sampled_from([-1.0, 0.0, 1.0, 1.0, 2.0, 2.0])
    gains = np.array(draw(st.lists(value, min_size=n * n, max_size=n * n))).reshape(n, n)
    missing = draw(st.lists(st.integers(0, 5), min_size=n * n, max_size=n * n))
    gains[np.array(missing).reshape(n, n) == 0] = -np.inf
    if draw(st.booleans()):
        gains = np.maximum(gains, gains.T)
    np.fill_diagonal(gains, 0)
    return gains


class TestTies:
    @given(data=st.data(), n=st.integers(1, 5))
    def test_the_first_optimum(self, data, n):
        gains = data.draw(small_gains(n))
        table = table_of([[0] * (n + 1)], None, [1] * (n + 1))

        def local(child, parents):
            return gains[parents[0], child] if parents else 0.0

        best, first = oracles.best_branching(n, local)
        fan = learn_fan(table, Given(gains))
        assert fan.score == best
        assert as_parents(fan) == first
        best, first = oracles.best_branching(n, local, tree=True)
        if best > -np.inf:
            tan = learn_tan(table, Given(gains))
            assert tan.score == best
            assert as_parents(tan) == first

    @pytest.mark.parametrize("n", [9, 14])
    def test_all_features_alike(self, n):
        column = np.random.default_rng(0).integers(0, 2, 200)
        table = table_of(np.stack([column] * (n + 1), axis=1), None, [2] * (n + 1))
        for search in (learn_tan, learn_fan):
            assert as_parents(search(table)) == (None, *[0] * (n - 1))
        assert as_parents(learn_ckg(table, k=2)) == (None, *[0] * (n - 1))

    def test_settled_a_few_features_at_a_time(self):
        """A graph with more nodes than fit into one whole number as digits, all arcs alike."""
        n = 60
        weights = np.ones((n, n + 1), dtype=np.int64)
        weights[:, n] = -10_000
        admitted = ~np.eye(n, n + 1, dtype=bool)
        assert branching._first_optimum(weights, admitted, 0).tolist() == [n, *[0] * (n - 1)]

    @pytest.mark.parametrize("weights", ["ones", "real"])
    @each_score
    def test_rows_and_threads_do_not_matter(self, score, weights):
        problem = random_problem(21, 6, n_rows=40, max_arity=2, weights=weights)
        order = np.random.default_rng(0).permutation(len(problem.rows))
        turned = table_of([problem.rows[t] for t in order], [problem.weights[t] for t in order], problem.arities)
        for search in (learn_tan, learn_fan, learn_ckg):
            one = search(problem.table, score(), n_jobs=1)
            for other in (search(problem.table, score(), n_jobs=2), search(turned, score())):
                assert dict(other.parents) == dict(one.parents)
                assert other.score == pytest.approx(one.score, rel=1e-13)
            assert search(problem.table, score(), n_jobs=3).score == one.score

    @pytest.mark.parametrize("weights", ["ones", "mixed"])
    @each_score
    def test_the_order_of_features_and_states_does_not_change_the_score(self, score, weights):
        problem = random_problem(22, 6, n_rows=80, weights=weights)
        rng = np.random.default_rng(0)
        expected = [search(problem.table, score()).score for search in (learn_tan, learn_fan)]
        for _ in range(3):
            order = [*rng.permutation(problem.n).tolist(), problem.n]
            relabel = [rng.permutation(arity).tolist() for arity in problem.arities]
            other = Problem(
                [tuple(relabel[v][row[v]] for v in order) for row in problem.rows],
                problem.weights,
                [problem.arities[v] for v in order],
            )
            scores = [search(other.table, score()).score for search in (learn_tan, learn_fan)]
            assert scores == pytest.approx(expected, rel=1e-11)

    def test_an_arc_that_gains_nothing_but_rounding_is_left_out(self):
        """With the log likelihood of a feature that is a function of the class, no arc gains anything."""
        rows = [(c, x, c) for c in (0, 1) for x in (0, 1)] * 7
        table = table_of(rows, [0.1 + 0.1 * (t % 2) for t in range(len(rows))], [2, 2, 2])
        assert learn_fan(table, SCORES["LL"]() if "LL" in SCORES else BDeu()).feature_edges == ()

    @pytest.mark.parametrize("search", [learn_tan, learn_fan])
    def test_gains_that_are_all_rounding(self, search):
        """Noise of both signs, as aCLL leaves it: the rule decides, not the noise."""
        table = random_problem(3, 6, n_rows=40).table
        for seed in range(20):
            rng = np.random.default_rng(seed)
            gains = rng.uniform(-1, 1, (6, 6)) * 10.0 ** -rng.integers(14, 300)
            structure = search(table, Given(gains))
            expected = [] if search is learn_fan else [("f0", f"f{k}") for k in range(1, 6)]
            assert list(structure.feature_edges) == expected


class TestEdgeCases:
    @each_score
    @pytest.mark.parametrize("search", [learn_tan, learn_fan, learn_ckg])
    def test_no_feature_one_feature_one_class(self, search, score):
        alone = DiscreteTable.from_frame(pd.DataFrame({"y": ["a", "b", "a"]}), class_name="y")
        structure = search(alone, score())
        assert dict(structure.parents) == {"y": ()}
        assert structure.certificate.optimal
        one = search(table_of([(0, 0), (1, 1)], None, [2, 2]), score())
        assert dict(one.parents) == {"f0": ("c",), "c": ()}
        assert one.certificate.optimal
        problem = random_problem(0, 3, n_classes=1, unseen=False)
        assert len(search(problem.table, score()).parents) == 4

    @pytest.mark.parametrize("search", [learn_tan, learn_fan, learn_ckg])
    def test_the_class_may_stand_anywhere(self, search):
        """A table's columns need not end with the class."""
        X, y = random_problem(8, 4, n_rows=80).frame()
        last = search(DiscreteTable.from_frame(X, y))
        assert last.class_name == "c"
        first = search(DiscreteTable.from_frame(pd.concat([y, X], axis=1), class_name="c"))
        assert dict(first.parents) == dict(last.parents)


class TestConstraintsThatMakeNoSense:
    @pytest.mark.parametrize("search", [learn_tan, learn_fan, learn_ckg])
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"required": [("f0", "nobody")]}, "names 'nobody', but edges can be required between"),
            ({"forbidden": [("c", "f0")]}, "names 'c', but edges can be forbidden between"),
            ({"required": [("f0", "f1"), ("f1", "f0")]}, "the required edges form a cycle"),
            ({"required": [("f0", "f1")], "forbidden": [("f0", "f1")]}, "is both required and forbidden"),
            (
                {"required": [("f2", "f1"), ("f0", "f1")]},
                r"the required edges give 'f1' 2 feature parents \('f0', 'f2'\); in a tree, a feature has only one",
            ),
            ({"n_jobs": 0}, "n_jobs must be"),
            ({"time_limit": 0}, "time_limit must be None or a number above 0"),
        ],
    )
    def test_are_refused(self, search, arguments, message):
        with pytest.raises(ValueError, match=message):
            search(random_problem(0, 3).table, **arguments)

    def test_no_spanning_tree(self):
        table = random_problem(0, 4).table
        forbidden = [(a, b) for v in range(3) for a, b in [(f"f{v}", "f3"), ("f3", f"f{v}")]]
        with pytest.raises(ValueError, match=r"at least 2 features would be without .* learn_fan, FANClassifier"):
            learn_tan(table, forbidden=forbidden)
        assert learn_fan(table, forbidden=forbidden).certificate.optimal
        assert learn_ckg(table, forbidden=forbidden).parents["f3"] == ("c",)


class TestLimits:
    @pytest.mark.parametrize("search", [learn_tan, learn_fan, learn_ckg])
    def test_naive_bayes_when_the_time_is_out(self, search):
        problem = random_problem(1, 5, n_rows=60)
        structure = search(problem.table, required=[("f3", "f1")], time_limit=1e-9)
        assert structure.feature_edges == (("f3", "f1"),)
        assert not structure.certificate.optimal
        assert structure.certificate.method == "naive Bayes, stopped by time_limit with 1 required edge"
        optimum = learn_anb(problem.table, required=[("f3", "f1")]).score
        assert optimum <= structure.certificate.upper_bound < np.inf
        assert structure.certificate.gap == pytest.approx(structure.certificate.upper_bound - structure.score)

    def test_nothing_is_proved_of_a_score_without_bounds(self):
        structure = learn_tan(random_problem(1, 5).table, OnlyLocal(), time_limit=1e-9)
        assert structure.certificate.gap == np.inf
        assert str(structure.certificate).startswith("nothing proved")

    def test_a_k_graph_keeps_what_it_found_in_time(self, monkeypatch):
        problem = random_problem(11, 8, n_rows=300, max_arity=3)
        monkeypatch.setattr(k_graph, "PARENT_SETS_PER_BATCH", 1)
        scored = []

        def stop(self, children, *arguments):
            scored.append(children)
            return None if len(scored) > 3 else original(self, children, *arguments)

        original = FamilyScorer.local_scores
        monkeypatch.setattr(FamilyScorer, "local_scores", stop)
        structure = learn_ckg(problem.table, time_limit=60)
        assert not structure.certificate.optimal
        assert structure.certificate.method.endswith("stopped by time_limit")
        assert structure.score >= learn_fan(problem.table).score - 1e-9
        assert structure.certificate.upper_bound >= learn_anb(problem.table).score

    @pytest.mark.parametrize("search", [learn_tan, learn_fan, learn_ckg])
    @pytest.mark.parametrize("score", [BDeu, OwnFamilies, OnlyLocal])
    def test_progress_ends_at_one(self, search, score):
        calls = []
        search(random_problem(0, 6).table, score(), progress=lambda *call: calls.append(call))
        assert calls[0][0] == "pair scores"
        for phase in dict.fromkeys(phase for phase, _ in calls):
            fractions = [fraction for other, fraction in calls if other == phase]
            assert fractions == sorted(fractions)
            assert fractions[-1] == pytest.approx(1)

    def test_memory(self, monkeypatch):
        monkeypatch.setattr(pairs, "available_memory", lambda: 1000)
        with pytest.raises(SearchTooLargeError, match=r"all pairs of 9 features need 8.1 kB; 1 kB is available"):
            learn_tan(random_problem(0, 9).table)

    def test_a_hundred_features(self):
        rng = np.random.default_rng(0)
        table = table_of(rng.integers(0, 2, (2000, 101)), None, [2] * 101)
        structure = learn_tan(table)
        assert len(structure.feature_edges) == 99
        assert structure.certificate.sets_scored == 2 + 100 + 100 * 99 // 2, "∅, and the class with up to 2 features"


class TestClassifiers:
    @pytest.mark.parametrize(
        ("estimator", "search"),
        [(TANClassifier, learn_tan), (FANClassifier, learn_fan), (CkGClassifier, learn_ckg)],
    )
    def test_compose_the_search(self, estimator, search):
        problem = random_problem(9, 5, n_rows=120)
        X, y = problem.frame()
        limits = {"required": [("f1", "f2")], "forbidden": [("f0", "f1"), ("f1", "f0")]}
        classifier = estimator(required_edges=limits["required"], forbidden_edges=limits["forbidden"], ess=2.0)
        classifier.fit(X, y)
        expected = search(DiscreteTable.from_frame(X, y), BDeu(2.0), **limits)
        assert dict(classifier.structure_.parents) == dict(expected.parents)
        assert classifier.structure_.score == expected.score
        assert classifier.predict_proba(X).shape == (120, 3)
        limited = estimator(ess=1.0, time_limit=1e-9).fit(X, y)
        assert limited.structure_.feature_edges == ()
        assert not limited.structure_.certificate.optimal

    @pytest.mark.parametrize("estimator", [TANClassifier(), FANClassifier(), CkGClassifier(k=3)])
    def test_are_saved_and_loaded(self, estimator, tmp_path):
        import anbexact

        X, y = random_problem(9, 4, n_rows=80).frame()
        estimator.fit(X, y).save(tmp_path / "model.json")
        loaded = anbexact.load(tmp_path / "model.json")
        assert type(loaded) is type(estimator)
        assert loaded.get_params() == estimator.get_params()
        np.testing.assert_array_equal(loaded.predict_proba(X), estimator.predict_proba(X))

    def test_k(self):
        X, y = random_problem(11, 6, n_rows=400, max_arity=3).frame()
        scores = [CkGClassifier(k=k).fit(X, y).structure_.score for k in (1, 2, 3)]
        assert scores == sorted(scores)
        with pytest.raises(ValueError, match="k must be a whole number, 1 or more, not 0"):
            CkGClassifier(k=0).fit(X, y)

    @pytest.mark.parametrize("estimator", [TANClassifier, FANClassifier, CkGClassifier])
    def test_ess_auto(self, estimator):
        X, y = random_problem(9, 5, n_rows=120).frame()
        automatic = estimator(ess="auto").fit(X, y)
        assert automatic.structure_.score >= estimator(ess=1.0).fit(X, y).structure_.score
