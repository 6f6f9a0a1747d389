"""Candidate lists: against the scores of all parent sets; the bounds they rest on, against brute force."""

import threading
from functools import cache
from math import inf, log, log1p

import numpy as np
import oracles
import pytest
from deadlines import Watched
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import SCORES, Problem, problems, random_problem
from tiers import examples

import anbexact.search.exact.candidates as candidates
from anbexact import BDeu
from anbexact._kernels import child_bounds, child_scores, refinement
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.memory import SearchTooLargeError
from anbexact.scores import BIC, HQ, K2, LL, QNML, BoundedScore
from anbexact.search.constraints import make_constraints
from anbexact.search.exact import laid_out_rows, parent_set_identification, possible_parents
from anbexact.search.exact.candidates import candidate_lists, has_candidates
from anbexact.search.exact.parent_sets import ListMeans, members, pack, unpack

WEIGHTS = ["ones", "whole", "real", "mixed"]
BOUNDED = {name: of_name for name, of_name in SCORES.items() if isinstance(of_name(), BoundedScore)}
"""All scores with bounds, by name."""
PENALISED = [name for name, of_name in BOUNDED.items() if np.isinf(of_name().family_parameters(np.ones(1), 2)[0][0])]
"""Those of them that are penalised likelihoods."""
bounded_scores = st.one_of(
    st.sampled_from([of_name() for of_name in BOUNDED.values()]),
    st.sampled_from([0.01, 0.1, 1.0, 7.3, 50.0, 3000.0]).map(BDeu),
    st.sampled_from([0.001, 3.0]).map(HQ),
)


def listed(
    problem, score, *, required=(), forbidden=(), max_parents=None, threads=1, deadline=None, memory=inf,
    most_sets=inf, largest=None, progress=None,
):  # fmt: skip
    """Return the lists of a problem; edges are pairs of feature numbers."""
    table = problem.table
    named = [[(f"f{a}", f"f{b}") for a, b in edges] for edges in (required, forbidden)]
    constraints = make_constraints(table.vocabulary.features, max_parents, *named)
    means = ListMeans(threads, deadline or Deadline(), memory, most_sets, progress)
    return candidate_lists(table, score, constraints, means, largest=largest)


def rounding(problem):
    """How far equal scores may be apart."""
    total = sum(problem.weights)
    return 1e-10 * max(1.0, total * log1p(total))


def sets_of(own):
    """The listed sets and their scores."""
    return {tuple(members(mask)): score for mask, score in zip(own.masks, own.scores.tolist(), strict=True)}


def copies_before(problem, required=(), forbidden=()):
    """For every copy the one before it, in the order that the search chose."""
    table = problem.table
    features = table.vocabulary.features
    named = [[(f"f{a}", f"f{b}") for a, b in edges] for edges in (required, forbidden)]
    constraints = make_constraints(features, None, *named)
    found = candidates._copies(table, constraints, candidates.entropy_order(table, features[::-1]))
    return {features.index(copy): features.index(before) for copy, before in found.items()}


def all_scores(problem, score, child, *, max_parents=None, required=(), forbidden=()):
    """The local score of every admitted set of feature parents, smaller first; copies only after those before."""
    table = problem.table
    others = [v for v in range(problem.n) if v != child]
    before = copies_before(problem, required, forbidden)
    return {
        parents: score.local_score(table, f"f{child}", ["c", *(f"f{v}" for v in parents)])
        for parents in oracles.subsets(others)
        if oracles.admitted(child, parents, max_parents, required, forbidden)
        and all(before.get(v, parents[0]) in parents for v in parents)
    }


def best_of_proper_subsets(known):
    """For every set the best score of the known proper subsets, -inf if there is none."""
    return {
        own: max((score for other, score in known.items() if set(other) < set(own)), default=-inf) for own in known
    }


def check_list(own, known, largest, slack):
    """Check one list against the scores of all admitted sets."""
    found = sets_of(own)
    assert len(found) == len(own.masks) == len(own.scores) > 0
    assert found.keys() <= known.keys()
    below = best_of_proper_subsets(known)
    for parents, score in found.items():
        assert score == pytest.approx(known[parents], abs=slack)
        assert score > below[parents] - slack
    assert own.complete == (own.limit == "")
    assert own.beyond > -inf or own.complete
    assert own.beyond == -inf or not own.complete or own.scored == 1
    for parents, score in known.items():
        if own.complete or len(parents) <= largest:
            assert score <= below[parents] + slack or parents in found
        dominated = any(score <= other + slack for of_found, other in found.items() if {*of_found} <= {*parents})
        assert dominated or score <= own.beyond + slack
    order = [(-score, len(parents), parents) for parents, score in found.items()]
    assert order == sorted(order)
    assert own.scored <= len(known)


def check(problem, score, found, children=None, known=None, **constraints):
    """Check the lists of some or all children, against known scores if these are given."""
    largest = inf if found.largest is None else found.largest
    assert (found.largest is None) == all(own.complete for own in found.lists)
    assert len(found.lists) == problem.n
    for child in range(problem.n) if children is None else children:
        of_child = all_scores(problem, score, child, **constraints) if known is None else known[child]
        check_list(found.lists[child], of_child, largest, rounding(problem))


def same(one, other):
    """Whether two results are the same, to the last digit."""
    return one.largest == other.largest and all(
        np.array_equal(a.masks, b.masks)
        and np.array_equal(a.scores, b.scores)
        and (a.limit == "", a.beyond) == (b.limit == "", b.beyond)
        for a, b in zip(one.lists, other.lists, strict=True)
    )


def with_copies(problem, seed):
    """The problem, some of its features replaced by copies or functions of others."""
    rng = np.random.default_rng(seed)
    rows = [list(row) for row in problem.rows]
    arities = list(problem.arities)
    for _ in range(max(1, problem.n // 3)):
        source, copy = rng.integers(0, problem.n, 2).tolist()
        fate = rng.integers(0, 3)
        if fate == 0:
            arities[copy] = arities[source]
        for row in rows:
            if fate == 0:
                row[copy] = row[source]
            elif fate == 1:
                row[copy] = row[source] % arities[copy]
            else:
                row[copy] = (row[source] + row[-1]) % arities[copy]
    return Problem([tuple(row) for row in rows], problem.weights, arities)


@st.composite
def candidate_problems(draw, max_features=5):
    """A problem, and the limits of a search on it."""
    problem = draw(problems(max_features=max_features, max_rows=24))
    if draw(st.booleans()):
        problem = with_copies(problem, draw(st.integers(0, 2**32)))
    for v in range(problem.n):
        problem.arities[v] += draw(st.sampled_from([0, 0, 0, 1, 3]))
    fates = st.sampled_from(["free"] * 6 + ["required", "forbidden"])
    order = draw(st.permutations(range(problem.n)))
    required, forbidden = [], []
    for a in range(problem.n):
        for b in range(problem.n):
            fate = "free" if a == b else draw(fates)
            if fate == "required" and order.index(a) < order.index(b):
                required.append((a, b))
            elif fate == "forbidden":
                forbidden.append((a, b))
    crowd = max([0, *(sum(child == b for _, b in required) for child in range(problem.n))])
    max_parents = draw(st.none() | st.integers(crowd, 4))
    return problem, {"max_parents": max_parents, "required": required, "forbidden": forbidden}


def test_scores_with_bounds():
    assert set(BOUNDED) >= {"AIC", "BDeu", "BIC", "HQ", "K2", "LL", "QNML"}
    assert "FNML" not in BOUNDED
    assert set(BOUNDED) - set(PENALISED) >= {"BDeu", "K2"}


class TestLists:
    @examples(150, quick=20)
    @given(case=candidate_problems(), score=bounded_scores)
    def test_equal_the_definition(self, case, score):
        problem, constraints = case
        assume(score.bounded_at(sum(problem.weights)))
        found = listed(problem, score, **constraints)
        assert found.largest is None
        check(problem, score, found, **constraints)

    @pytest.mark.parametrize("score", [K2(), BDeu(10.0), BDeu(100.0)], ids=str)
    def test_equal_the_definition_on_few_rows(self, score):
        """Where bounds are tight, and sets gain little."""
        for seed in range(30):
            problem = random_problem(seed, 3, n_rows=4 + seed % 2, max_arity=4, n_classes=2)
            check(problem, score, listed(problem, score))

    @pytest.mark.parametrize("weights", WEIGHTS)
    @pytest.mark.parametrize("name", BOUNDED)
    def test_equal_the_definition_on_more_rows(self, name, weights):
        score = BOUNDED[name]()
        for seed in range(3):
            problem = random_problem(seed, 6, n_rows=(30, 90, 400)[seed], weights=weights, n_classes=seed + 1)
            problem = with_copies(problem, seed) if seed else problem
            check(problem, score, listed(problem, score))

    @pytest.mark.parametrize("weights", WEIGHTS)
    @pytest.mark.parametrize("ess", [0.01, 0.3, 10.0, 3000.0])
    def test_equal_the_definition_for_every_sample_size(self, ess, weights):
        for seed in range(2):
            problem = with_copies(random_problem(seed + 50, 7, n_rows=70, max_arity=3, weights=weights), seed)
            check(problem, BDeu(ess), listed(problem, BDeu(ess)), children=range(3))

    @pytest.mark.parametrize("name", [name for name in BOUNDED if name != "LL"])
    def test_bounds_bite(self, name):
        """Far fewer than all sets are scored, and the lists are right nevertheless."""
        rng = np.random.default_rng(3)
        codes = rng.integers(0, 3, (120, 8))
        for v in (1, 4, 6):
            codes[:, v] = codes[:, v - 1]
        codes[:, 2] = (codes[:, 0] + codes[:, 3]) % 3
        classes = rng.integers(0, 2, (120, 1))
        rows = [tuple(row) for row in np.hstack([codes, classes]).tolist()]
        problem = Problem(rows, [1.0] * 120, [3] * 8 + [2])
        score = BOUNDED[name]()
        found = listed(problem, score)
        assert found.largest is None
        assert sum(own.scored for own in found.lists) < 0.75 * 8 * 2**7
        check(problem, score, found)

    @pytest.mark.parametrize("weight", [15.0, 16.0, 17.0, 1000.0, 1e5, 0.5, 16.5, 1e-3])
    @pytest.mark.parametrize("score", [BDeu(1.0), BDeu(0.01), K2(), BIC()], ids=str)
    def test_heavy_and_light_rows(self, weight, score):
        problem = random_problem(11, 5, n_rows=25, max_arity=3)
        problem.weights = [weight if t % 3 else 1.0 for t in range(25)]
        check(problem, score, listed(problem, score))

    @pytest.mark.parametrize("weights", ["ones", "mixed"])
    @pytest.mark.parametrize("name", BOUNDED)
    def test_more_states_than_are_counted_together(self, name, weights):
        problem = random_problem(12, 7, n_rows=60, max_arity=3, weights=weights)
        problem.rows = [(*(10 * v for v in row[:-1]), row[-1]) for row in problem.rows]
        problem.arities[:7] = [30, 31, 32, 33, 34, 35, 70]
        assert sum(problem.arities[1:7]) * problem.arities[0] > child_scores.COUNTS
        check(problem, BOUNDED[name](), listed(problem, BOUNDED[name]()), children=[0, 3])

    @pytest.mark.parametrize("name", BOUNDED)
    def test_one_feature(self, name):
        problem = random_problem(1, 1)
        found = listed(problem, BOUNDED[name]())
        assert found.largest is None
        check(problem, BOUNDED[name](), found)
        assert found.lists[0].scored == 1

    @pytest.mark.slow
    @pytest.mark.parametrize("max_parents", [1, 2])
    @pytest.mark.parametrize("name", BOUNDED)
    def test_more_features_than_bits_of_a_word(self, name, max_parents):
        problem = random_problem(5, 70, n_rows=60, max_arity=2, n_classes=2, unseen=False)
        score = BOUNDED[name]()
        found = listed(problem, score, max_parents=max_parents, required=[(69, 3)], forbidden=[(2, 65)])
        table = problem.table
        assert found.largest is None
        seen = set()
        for child in (3, 63, 64, 65):
            own = found.lists[child]
            limits = {"max_parents": max_parents, "required": [(69, 3)], "forbidden": [(2, 65)]}
            known = {
                parents: score.local_score(table, f"f{child}", ["c", *(f"f{v}" for v in parents)])
                for parents in oracles.subsets([v for v in range(70) if v != child], max_parents)
                if oracles.admitted(child, parents, **limits)
            }
            slack = rounding(problem)
            below = {
                parents: max(
                    (known[rest] for rest in oracles.subsets(parents, len(parents) - 1) if rest in known),
                    default=-inf,
                )
                for parents in known
            }
            lists = sets_of(own)
            assert all(score == pytest.approx(known[parents], abs=slack) for parents, score in lists.items())
            assert {parents for parents in known if known[parents] > below[parents] + slack} <= set(lists)
            assert all(known[parents] > below[parents] - slack for parents in lists)
            seen |= {v for parents in lists for v in parents}
        assert min(seen) < 64 <= max(seen)

    def test_ties_go_to_the_smaller_set_then_to_table_order(self):
        problem = random_problem(2, 5, n_rows=40, max_arity=2, unseen=False)
        problem.rows = [(row[0], row[3], row[3], row[3], row[0], row[-1]) for row in problem.rows]
        problem.arities = [2, 2, 2, 2, 2, problem.arities[-1]]
        apart = [(1, 2), (2, 3), (3, 4), (4, 1), (0, 1)]
        own = listed(problem, LL(), forbidden=apart).lists[0]
        scores = own.scores.tolist()
        assert len(scores) > len(set(scores))
        assert list(sets_of(own)) == [(4,), (1,), (2,), (3,), ()]
        assert own.masks[1:4, 0].tolist() == [2, 4, 8]


class TestSameLists:
    """What must not change the lists."""

    @pytest.mark.parametrize("weights", ["whole", "real"])
    @pytest.mark.parametrize("name", BOUNDED)
    def test_threads(self, name, weights):
        problem = random_problem(21, 8, n_rows=80, weights=weights)
        one, two = (listed(problem, BOUNDED[name](), threads=threads) for threads in (1, 2))
        assert same(one, two)
        assert [own.scored for own in one.lists] == [own.scored for own in two.lists]

    @pytest.mark.parametrize("quota", [1, 2, 3, 7])
    @pytest.mark.parametrize("weights", ["mixed", "ones"])
    @pytest.mark.parametrize("name", BOUNDED)
    def test_quota(self, name, weights, quota, monkeypatch):
        problem = random_problem(22, 6, n_rows=60, weights=weights)
        expected = listed(problem, BOUNDED[name](), required=[(1, 0)])
        monkeypatch.setattr(parent_set_identification, "SETS_PER_CALL", quota)
        assert same(listed(problem, BOUNDED[name](), required=[(1, 0)]), expected)

    @pytest.mark.parametrize(("tables", "tabulated"), [(1, 1024), (512, 1), (512, 17), (1, 2), (2, 0)])
    @pytest.mark.parametrize("weights", ["whole", "mixed"])
    @pytest.mark.parametrize("name", BOUNDED)
    def test_tables(self, name, weights, tables, tabulated, monkeypatch):
        problem = random_problem(23, 5, n_rows=60, weights=weights)
        monkeypatch.setattr(laid_out_rows, "MOST_TABLES", tables)
        monkeypatch.setattr(laid_out_rows, "TABULATED_WEIGHTS", tabulated)
        check(problem, BOUNDED[name](), listed(problem, BOUNDED[name]()))

    @pytest.mark.parametrize("name", BOUNDED)
    def test_rows_repeated_and_weighted(self, name):
        problem = random_problem(24, 6, n_rows=40)
        repeats = [1 + t % 4 for t in range(40)]
        copies = [row for row, k in zip(problem.rows, repeats, strict=True) for _ in range(k)]
        weighted = listed(Problem(problem.rows, [float(k) for k in repeats], problem.arities), BOUNDED[name]())
        assert same(weighted, listed(Problem(copies, [1.0] * len(copies), problem.arities), BOUNDED[name]()))

    @pytest.mark.parametrize("name", BOUNDED)
    def test_unseen_rows_of_no_weight(self, name):
        """A feature that is constant in the data, yet has several declared states, is never listed for Dirichlet."""
        problem = random_problem(25, 5, n_rows=50, unseen=False)
        problem.rows = [(*row[:2], 0, *row[3:]) for row in problem.rows]
        found = listed(problem, BOUNDED[name]())
        check(problem, BOUNDED[name](), found)
        if name != "BDeu":
            assert not any(2 in parents for own in found.lists for parents in sets_of(own))


LIMITS = {
    "few sets": {"most_sets": 40},
    "fewer sets": {"most_sets": 8},
    "no set": {"most_sets": 0},
    "one parent": {"largest": 1},
    "two parents": {"largest": 2},
    "none": {"largest": 0},
}


@cache
def larger_problem(name, seed, weights):
    """A problem, and the scores of all sets by the score of this name."""
    problem = random_problem(seed, 6, n_rows=100, max_arity=3, weights=weights)
    return problem, {child: all_scores(problem, BOUNDED[name](), child) for child in range(problem.n)}


class TestIncomplete:
    @pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS)
    @pytest.mark.parametrize("name", BOUNDED)
    def test_says_what_is_missing(self, name, limits):
        score = BOUNDED[name]()
        for seed, weights in enumerate(WEIGHTS[::2]):
            problem, known = larger_problem(name, seed + 30, weights)
            found = listed(problem, score, **limits)
            check(problem, score, found, known=known)
            if found.largest is None:
                assert limits.get("largest", limits.get("most_sets", 0)) >= 2
                continue
            assert any(own.limit for own in found.lists)
            assert found.largest == limits.get("largest", found.largest)
            again = listed(problem, score, largest=found.largest)
            assert same(again, found)
            narrow = listed(problem, score, max_parents=found.largest)
            for own, of_narrow in zip(found.lists, narrow.lists, strict=True):
                assert sets_of(own) == sets_of(of_narrow)
            assert narrow.largest is None

    @examples(50)
    @given(case=candidate_problems(), score=bounded_scores, largest=st.integers(0, 3), most=st.integers(0, 60))
    def test_constraints(self, case, score, largest, most):
        problem, constraints = case
        assume(score.bounded_at(sum(problem.weights)))
        for limits in ({"largest": largest}, {"most_sets": most}):
            found = listed(problem, score, **limits, **constraints)
            check(problem, score, found, **constraints)
            if found.largest is not None:
                assert same(listed(problem, score, largest=found.largest, **constraints), found)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", BOUNDED)
    def test_memory(self, name):
        score = BOUNDED[name]()
        problem = random_problem(40, 7, n_rows=100)
        known = {child: all_scores(problem, score, child) for child in (0, 6)}
        seen = set()
        with pytest.raises(SearchTooLargeError, match="memory_limit"):
            listed(problem, score, memory=1000)
        for memory in np.geomspace(3e4, 3e7, 10).tolist():
            try:
                found = listed(problem, score, memory=memory)
            except SearchTooLargeError:
                assert not seen
                continue
            seen.add(found.largest)
            check(problem, score, found, known, known)
            if found.largest is not None:
                assert {own.limit for own in found.lists} <= {"", "memory_limit"}
                assert same(listed(problem, score, largest=found.largest), found)
        assert 0 in seen
        assert None in seen

    def test_limits_are_named(self):
        problem = random_problem(41, 6, n_rows=100)
        assert "time_limit" in {own.limit for own in listed(problem, BDeu(), deadline=Deadline(0)).lists}
        assert "there are more than 10 to score" in {own.limit for own in listed(problem, BDeu(), most_sets=10).lists}
        assert "not requested" in {own.limit for own in listed(problem, BDeu(), largest=1).lists}

    def test_time(self):
        """Unlimited lists of 40 binary features for BDeu do not complete."""
        problem = random_problem(42, 40, n_rows=200, max_arity=2)
        deadline = Watched(0.7)
        found = listed(problem, BDeu(1.0), threads=2, deadline=deadline)
        assert deadline.late < 20
        assert found.largest is not None
        assert {own.limit for own in found.lists} == {"time_limit"}
        assert all(own.scores[0] > -inf for own in found.lists)

    @pytest.mark.parametrize("after", [0, 1, 3, 9])
    def test_interrupt_in_a_callback(self, after):
        problem = random_problem(43, 12, n_rows=100)
        told = []

        def interrupt(phase, _fraction):
            if phase == "rows of candidate parent sets":
                return
            told.append(phase)
            if len(told) > after:
                raise KeyboardInterrupt

        found = listed(problem, BDeu(1.0), threads=2, progress=interrupt)
        assert len(told) == after + 1
        assert {own.limit for own in found.lists} == {"interrupt"}
        assert same(listed(problem, BDeu(1.0), largest=found.largest), found)

    @pytest.mark.parametrize("threads", [1, 2])
    def test_interrupt_in_a_task(self, threads, monkeypatch):
        problem = random_problem(44, 6, n_rows=100)
        extend_sets, calls, lock = parent_set_identification.extend_sets, [], threading.Lock()

        def interrupted(*arguments):
            with lock:
                calls.append(None)
                if len(calls) == 9:
                    raise KeyboardInterrupt
            return extend_sets(*arguments)

        monkeypatch.setattr(parent_set_identification, "extend_sets", interrupted)
        found = listed(problem, BDeu(1.0), threads=threads)
        assert {own.limit for own in found.lists} <= {"interrupt", ""}
        assert found.largest == 1
        monkeypatch.undo()
        check(problem, BDeu(1.0), found)
        assert same(listed(problem, BDeu(1.0), largest=1), found)


class Looks(Deadline):
    """A deadline that passes once it was looked at some times."""

    def __init__(self, looks):
        super().__init__()
        self.looks = looks

    @property
    def left(self):
        self.looks -= 1
        return inf if self.looks >= 0 and not self.interrupted else 0.0


def laid_out(found):
    """For how many features the rows were laid out."""
    return sum(search.laid_out for search in found._searches)


class TestNotLaidOut:
    """Features whose rows were not laid out in time have the required parents as their list."""

    @pytest.mark.parametrize("weights", WEIGHTS)
    @pytest.mark.parametrize("name", BOUNDED)
    def test_lists_and_bounds_hold(self, name, weights):
        score = BOUNDED[name]()
        problem = with_copies(random_problem(60, 5, n_rows=60, weights=weights), 0)
        constraints = {"required": [(0, 3), (3, 4)], "forbidden": [(1, 0)]}
        known = {child: all_scores(problem, score, child, **constraints) for child in range(problem.n)}
        full = listed(problem, score, largest=0, **constraints)
        seen = set()
        for looks in range(20):
            found = listed(problem, score, deadline=Looks(looks), **constraints)
            check(problem, score, found, known=known, **constraints)
            seen.add(laid_out(found))
            for child, own in enumerate(found.lists):
                parents = {a for a, b in constraints["required"] if b == child}
                if not found._searches[child].laid_out:
                    assert list(sets_of(own)) == [tuple(parents)]
                    assert own.limit in ("time_limit", "")
                    bound = max(full.lists[child].beyond, full.lists[child].scores[0])
                    assert max(own.beyond, own.scores[0]) >= bound - rounding(problem)
        assert {0, 1, 4} < seen

    @pytest.mark.parametrize("name", BOUNDED)
    def test_taken_up_again(self, name):
        score = BOUNDED[name]()
        problem = random_problem(61, 5, n_rows=60)
        for looks in (0, 4, 6):
            found = listed(problem, score, deadline=Looks(looks))
            assert laid_out(found) < 5
            assert found.extend(Deadline(), most_sets=inf, progress=None)
            assert laid_out(found) == 5
            assert same(found, listed(problem, score))

    @pytest.mark.parametrize("max_parents", [0, 1])
    def test_nothing_to_add(self, max_parents):
        problem = random_problem(62, 3)
        limits = {"max_parents": max_parents, "required": [(1, 0)] * max_parents}
        found = listed(problem, BDeu(1.0), deadline=Deadline(0), **limits)
        assert laid_out(found) == 0
        check(problem, BDeu(1.0), found, **limits)
        assert [own.complete for own in found.lists] == [True, max_parents == 0, max_parents == 0]

    @pytest.mark.parametrize("threads", [1, 2])
    @pytest.mark.parametrize("name", ["BDeu", "BIC"])
    def test_interrupt(self, name, threads, monkeypatch):
        score = BOUNDED[name]()
        problem = random_problem(63, 6, n_rows=60)
        sort_rows, calls, lock = laid_out_rows.sort_rows, [], threading.Lock()

        def interrupted(*arguments):
            with lock:
                calls.append(None)
                if len(calls) == 5:
                    raise KeyboardInterrupt
            return sort_rows(*arguments)

        monkeypatch.setattr(laid_out_rows, "sort_rows", interrupted)
        found = listed(problem, score, threads=threads)
        assert 1 <= laid_out(found) < 6
        assert {own.limit for own in found.lists} == {"interrupt"}
        check(problem, score, found)

    @pytest.mark.parametrize("threads", [1, 2])
    def test_too_little_memory_is_no_interrupt(self, threads):
        deadline = Deadline()
        with pytest.raises(SearchTooLargeError, match="memory_limit"):
            listed(random_problem(64, 6), BDeu(), threads=threads, memory=50_000, deadline=deadline)
        assert not deadline.interrupted


class TestConfigurations:
    @given(
        counted=st.dictionaries(st.integers(2, 9), st.integers(1, 3), max_size=5).map(
            lambda states: tuple(sorted(states.items()))
        ),
        last_size=st.integers(0, 6),
        most=st.sampled_from([1, 7, 30, 10**6]),
    )
    def test_every_count_has_one_number(self, counted, last_size, most):
        """Sets of features, one added at a time, come to one place for each count of features by number of states."""
        last_size = min(last_size, sum(times for _, times in counted))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(possible_parents, "MOST_CONFIGURATION_COUNTS", most)
            largest, q, following = possible_parents.configurations(counted, 3.0, last_size)
        counts = [tuple(c) for c in np.ndindex(*(times + 1 for _, times in counted))]
        of_size = [sum(sum(count) <= size for count in counts) for size in range(last_size + 1)]
        assert largest == max(size for size, n in enumerate(of_size) if size == 0 or n <= most)
        place = {tuple(0 for _ in counted): 0}
        for count in sorted(counts, key=sum):
            for k in range(len(counted)):
                more = tuple(c + (j == k) for j, c in enumerate(count))
                if more in counts and sum(more) <= largest:
                    assert place.setdefault(more, following[place[count], k]) == following[place[count], k]
                elif sum(count) <= largest:
                    assert following[place[count], k] == -1
        assert sorted(place.values()) == list(range(len(q))) == list(range(of_size[largest]))
        for count, at in place.items():
            assert q[at] == 3.0 * np.prod([float(states) ** c for (states, _), c in zip(counted, count, strict=True)])

    @pytest.mark.parametrize("name", BOUNDED)
    def test_too_many_to_tell_apart(self, name, monkeypatch):
        problem = random_problem(1, 7, n_rows=80, max_arity=5)
        score = BOUNDED[name]()
        assert listed(problem, score).largest is None
        monkeypatch.setattr(possible_parents, "MOST_CONFIGURATION_COUNTS", 8)
        found = listed(problem, score)
        assert found.largest == 1
        assert {own.limit for own in found.lists} <= {"", "they have too many distinct numbers of joint states"}
        check(problem, score, found)
        assert same(listed(problem, score, largest=1), found)

    def test_thirty_different_numbers_of_states(self):
        problem = random_problem(2, 30, n_rows=40)
        problem.arities[:30] = range(6, 36)
        found = listed(problem, BIC(), max_parents=3)
        assert found.largest is None
        assert all(own.complete for own in found.lists)


class TestRefused:
    def test_scores_without_bounds(self):
        table = random_problem(1, 3).table
        assert not has_candidates(table, SCORES["FNML"]())
        assert all(has_candidates(table, of_name()) for of_name in BOUNDED.values())

    def test_qnml_below_a_total_weight_of_one(self):
        problem = random_problem(1, 3, n_rows=9)
        problem.weights = [0.1] * 9
        assert not has_candidates(problem.table, QNML())
        assert has_candidates(problem.table, BDeu())


@st.composite
def cells(draw):
    """Counts of the child in the joint states within one cell: at least one positive number in each."""
    states = draw(st.integers(2, 4))
    number = st.one_of(st.just(0.0), st.integers(1, 40).map(float), st.floats(1e-3, 3.0))
    row = st.lists(number, min_size=states, max_size=states).filter(lambda n_k: sum(n_k) > 0)
    return draw(st.lists(row, min_size=1, max_size=6))


def shared_out(atoms, labels):
    """Sum the atoms of every label."""
    parts = {}
    for n_k, label in zip(atoms, labels, strict=False):
        parts[label] = [a + b for a, b in zip(parts.get(label, [0.0] * len(n_k)), n_k, strict=True)]
    return list(parts.values())


class TestDirichletBounds:
    @examples(120)
    @given(
        atoms=cells(),
        labels=st.lists(st.integers(0, 3), min_size=6, max_size=6),
        largest=st.sampled_from([1e-4, 0.05, 0.5, 2.0, 3.0, 40.0, 1500.0]),
        share=st.sampled_from([1.0, 1.0, 0.5, 0.1, 1e-3]),
    )
    def test_hold_however_a_cell_is_split(self, atoms, labels, largest, share):
        parts = shared_out(atoms, labels)
        score = sum(oracles.evenly_spread(part, share * largest) for part in parts)
        for bound in oracles.dirichlet_bounds(atoms, largest):
            assert score <= bound + 1e-8 * (1 + abs(bound))

    @examples(40)
    @given(
        problem=problems(min_features=2, max_features=3, max_rows=12),
        score=st.sampled_from([K2(), BDeu(0.01), BDeu(0.5), BDeu(3.0), BDeu(60.0), BDeu(3000.0)]),
    )
    def test_hold_for_every_superset(self, problem, score):
        class_node = problem.n
        for child in range(problem.n):
            known = all_scores(problem, score, child)
            others = [v for v in range(problem.n + 1) if v != child]
            for parents in known:
                q = np.prod([float(problem.arities[v]) for v in (class_node, *parents)])
                most = float(score.family_parameters(np.array([q]), problem.arities[child])[1][0])
                split = oracles.atoms_of_cells(
                    problem.rows, problem.weights, problem.arities, child, [class_node, *parents], others
                )
                bound = sum(min(oracles.dirichlet_bounds(atoms, most)) for atoms in split)
                above = [known[more] for more in known if set(more) > set(parents)]
                assert max(above, default=-inf) <= bound + rounding(problem)

    @examples(100)
    @given(
        atoms=cells(), second=cells(), largest=st.sampled_from([1e-4, 0.05, 0.5, 2.0, 40.0, 1500.0]),
        scale=st.sampled_from([1.0, 3.0, 1000.0]), seed=st.integers(0, 2**32),
    )  # fmt: skip
    def test_kernel_equals_the_formula(self, atoms, second, largest, scale, seed):
        states = len(atoms[0])
        split = [atoms, [n_k for n_k in second if len(n_k) == states] or [[1.0] * states]]
        rng = np.random.default_rng(seed)
        kids, weights, starts, cell, mixed, likelihoods = [], [], [0], [], [], []
        for c, of_cell in enumerate(split):
            entries = [(k, n) for n_k in of_cell for k, n in enumerate(n_k) if n > 0]
            for j in rng.permutation(len(entries)):
                k, n = entries[j]
                if rng.random() < 0.2:
                    entries[j] = (k, n / 2)
                    entries.append((k, n / 2))
            entries.sort(key=lambda entry: entry[0])
            kids += [k for k, _ in entries]
            weights += [n for _, n in entries]
            starts.append(len(kids))
            for n_k in of_cell:
                if sum(n > 0 for n in n_k) > 1:
                    cell.append(c)
                    mixed.append(n_k)
                    likelihoods.append(oracles.highest_likelihood(n_k))
        counts = np.array(mixed, dtype=float).reshape(len(mixed), states)
        modes = laid_out_rows._modes(counts, scale * largest) if len(mixed) else np.empty(0)
        cells = refinement.Cells(
            np.arange(len(kids), dtype=np.uint32), np.array(kids, np.uint16), np.array(weights),
            np.array(starts, np.uint32), 2,
        )  # fmt: skip
        known = child_bounds.Atoms(
            counts, np.empty((0, len(mixed)), np.uint16), np.array(likelihoods, dtype=float), modes,
            np.array([cell], np.int32), np.ones((2, 5)),
        )  # fmt: skip
        bound = child_bounds.upper_bound(cells, known, 0, log(states), largest)
        expected = sum(min(oracles.dirichlet_bounds(of_cell, largest)) for of_cell in split)
        assert bound == pytest.approx(expected, rel=1e-7, abs=1e-7)

    @examples(100)
    @given(atoms=cells(), most=st.sampled_from([1e-3, 0.3, 1.0, 7.0, 200.0, 1e5]))
    def test_best_parameter(self, atoms, most):
        mixed = [n_k for n_k in atoms if sum(n > 0 for n in n_k) > 1]
        assume(mixed)
        modes = laid_out_rows._modes(np.array(mixed), most)
        for n_k, mode in zip(mixed, modes.tolist(), strict=True):
            assert 0 < mode <= most * (1 + 1e-12)
            reached = oracles.evenly_spread(n_k, mode)
            assert reached == pytest.approx(oracles.highest_evenly_spread(n_k, most), rel=1e-7, abs=1e-7)
            assert child_bounds.dirichlet_likelihood(np.array(n_k), mode) == pytest.approx(
                reached, rel=1e-7, abs=1e-7
            )


class TestPenalisedBounds:
    @examples(60)
    @given(problem=problems(min_features=2, max_features=4, max_rows=20), name=st.sampled_from(PENALISED))
    def test_ceiling(self, problem, name):
        """No superset scores above the log-likelihood with all features less the penalty with one parent more."""
        score = BOUNDED[name]()
        total = sum(problem.weights)
        assume(score.bounded_at(total))
        data = problem.rows, problem.weights, problem.arities
        for child in range(problem.n):
            known = all_scores(problem, score, child)
            states = problem.arities[child]
            ceiling = oracles.log_likelihood(*data, child, [v for v in range(problem.n + 1) if v != child])
            for parents in known:
                q = np.prod([float(problem.arities[v]) for v in (problem.n, *parents)])
                now, after = score.family_penalty(np.array([q, 2 * q]), states, total)
                likelihood = oracles.log_likelihood(*data, child, [problem.n, *parents])
                assert known[parents] == pytest.approx(likelihood - now, abs=rounding(problem))
                assert now <= after + 1e-9
                free = {v for v in range(problem.n) if problem.arities[v] == 1}
                above = [known[more] for more in known if set(more) - free > set(parents)]
                assert max(above, default=-inf) <= ceiling - after + rounding(problem)
                if score.proportional_penalty:
                    assert after == pytest.approx(2 * now)

    @examples(100)
    @given(problem=problems(min_features=2, max_features=4, max_rows=20))
    def test_what_a_parent_can_add(self, problem):
        """The gain of v in any set with u is at most N·H(v | class, u), and what is left to the ceiling."""
        data = problem.rows, problem.weights
        class_node = problem.n
        names = [f"f{v}" for v in range(problem.n)]
        dispersion = candidates._dispersion(problem.table, BIC(), names, 1, Deadline())
        slack = rounding(problem)
        for v in range(problem.n):
            for u in range(problem.n):
                expected = oracles.conditional_entropy(*data, v, [class_node] if u == v else [class_node, u])
                assert dispersion[v, u] == pytest.approx(expected, abs=slack)
        for child in range(problem.n):
            others = [v for v in range(problem.n) if v != child]
            value = {
                parents: -oracles.conditional_entropy(*data, child, [class_node, *parents])
                for parents in oracles.subsets(others)
            }
            ceiling = value[tuple(others)]
            for v in others:
                for parents in oracles.subsets([w for w in others if w != v]):
                    gain = value[tuple(sorted((v, *parents)))] - value[parents]
                    assert gain <= min(dispersion[v, u] for u in (v, *parents)) + slack
                    for below in oracles.subsets(parents):
                        assert gain <= ceiling - value[below] + slack


class TestMasks:
    @given(seed=st.integers(0, 2**32), n=st.integers(1, 200), sets=st.integers(0, 5))
    def test_pack_and_unpack(self, seed, n, sets):
        inside = np.random.default_rng(seed).random((sets, n)) < 0.3
        masks = pack(inside)
        assert masks.shape == (sets, max(1, -(-n // 64)))
        assert np.array_equal(unpack(masks, n), inside)
        assert [members(mask) for mask in masks] == [np.flatnonzero(row).tolist() for row in inside]
