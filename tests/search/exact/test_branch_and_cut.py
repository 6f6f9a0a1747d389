"""Branch and cut over lists of parent sets, against all acyclic choices, its proofs against the formulas."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog
from tiers import examples

import anbexact.search.exact.branch_and_cut as branch_and_cut
import anbexact.search.exact.branch_tree as branch_tree
from anbexact._runtime.deadline import Deadline
from anbexact.models.proof import Duals, Exhaustion, Split
from anbexact.search.exact import cutting_planes, parent_sets
from anbexact.search.exact import relaxation as linear_relaxation
from anbexact.search.exact.branch_and_cut import solve_lists
from anbexact.search.exact.parent_sets import ParentSets, members, n_words, pack
from anbexact.search.exact.simple_components import best_branching

TOLERANCE = 1e-6


def lists_of(families):
    """Return the lists of {parents: score} for every feature, those that do not beat all their subsets left out."""
    found = []
    for own in families:
        kept = [s for s in own if all(own[s] > own[t] for t in own if t < s)]
        kept.sort(key=lambda s: (-own[s], len(s), sorted(s)))
        masks = np.zeros((len(kept), n_words(len(families))), np.uint64)
        for k, parents in enumerate(kept):
            for p in parents:
                masks[k, p // 64] |= np.uint64(1 << p % 64)
        found.append(ParentSets(masks, np.array([own[s] for s in kept]), len(own), "", float("-inf")))
    return found


def random_lists(seed, n, *, sets=8, size=3, ties=False, required=(), near=None):
    """Return random lists: every set of feature i holds the parents p with (p, i) in ``required``."""
    rng = np.random.default_rng(seed)
    families = []
    for i in range(n):
        base = frozenset(p for p, child in required if child == i)
        others = [p for p in range(n) if p != i and p not in base and (near is None or abs(p - i) <= near)]
        own = {base: -10.0}
        for _ in range(sets):
            drawn = rng.choice(others, min(len(others), int(rng.integers(1, size + 1))), replace=False)
            score = float(rng.integers(-10, 0)) if ties else float(rng.uniform(-10, 0))
            own[base | frozenset(drawn.tolist())] = score
        families.append(own)
    return lists_of(families)


@st.composite
def list_problems(draw):
    n = draw(st.integers(2, 7))
    required = [(p, i) for p, i in combinations(draw(st.permutations(range(n))), 2) if draw(st.integers(0, 9)) == 0]
    return random_lists(
        draw(st.integers(0, 2**32)), n, sets=draw(st.integers(0, 12)), ties=draw(st.booleans()), required=required
    )


def best_total(lists):
    """Return the highest total over acyclic choices, by dynamic programming over the sets of first features."""
    n = len(lists)
    parents = [[sum(1 << p for p in members(mask)) for mask in own.masks] for own in lists]
    totals = {0: 0.0}
    for placed in range(1, 1 << n):
        options = [float("-inf")]
        for i in range(n):
            if placed >> i & 1:
                rest = placed & ~(1 << i)
                options += [
                    totals[rest] + s
                    for m, s in zip(parents[i], lists[i].scores.tolist(), strict=True)
                    if m & ~rest == 0
                ]
        totals[placed] = max(options)
    return totals[(1 << n) - 1]


def is_acyclic(lists, chosen):
    parents = [set(members(own.masks[k])) for own, k in zip(lists, chosen, strict=True)]
    left = set(range(len(lists)))
    while free := {i for i in left if not parents[i] & left}:
        left -= free
    return not left


def proved_bound(case, features, admitted):
    """Return what a case proves; ``admitted[i]`` holds (parents, score) of the feature named i."""
    if isinstance(case, Split):
        absent = {**admitted, case.child: [s for s in admitted[case.child] if case.parent not in s[0]]}
        present = {
            **admitted,
            case.child: [s for s in admitted[case.child] if case.parent in s[0]],
            case.parent: [s for s in admitted[case.parent] if case.child not in s[0]],
        }
        return max(proved_bound(case.absent, features, absent), proved_bound(case.present, features, present))
    if isinstance(case, Exhaustion):
        place = {name: k for k, name in enumerate(features)}
        inside = [
            {frozenset(place[p] for p in parents if p in place): -np.inf for parents, _ in admitted[name]}
            for name in features
        ]
        for own, name in zip(inside, features, strict=True):
            for parents, score in admitted[name]:
                key = frozenset(place[p] for p in parents if p in place)
                own[key] = max(own[key], score)
        return best_total(lists_of(inside))
    assert isinstance(case, Duals)
    for cluster, least, z in case.clusters:
        assert z >= 0
        assert len(set(cluster)) == len(cluster) > least >= 1
        assert set(cluster) <= set(features)
    total = -sum(least * z for _, least, z in case.clusters)
    for name in features:
        credited = [
            score + sum(z for cluster, k, z in case.clusters if name in cluster and len(parents & set(cluster)) < k)
            for parents, score in admitted[name]
        ]
        total += max(credited, default=float("-inf"))
    return total


def check(lists, choice, names, optimum=None):
    """Check a choice, and its proof, by the formulas; that it is optimal if the optimum is given."""
    assert is_acyclic(lists, choice.chosen)
    assert choice.total == pytest.approx(sum(o.scores[k] for o, k in zip(lists, choice.chosen, strict=True)))
    assert sorted(name for part in choice.components for name in part.features) == sorted(names)
    admitted = {
        name: [
            (frozenset(names[p] for p in members(m)), float(s)) for m, s in zip(own.masks, own.scores, strict=True)
        ]
        for name, own in zip(names, lists, strict=True)
    }
    for part in choice.components:
        proved = proved_bound(part.case, part.features, admitted)
        assert proved <= part.bound + 1e-9 * max(1.0, abs(part.bound))
    assert choice.bound == pytest.approx(sum(part.bound for part in choice.components), rel=1e-12, abs=1e-12)
    assert choice.bound >= choice.total
    if optimum is not None:
        assert choice.total == pytest.approx(optimum, abs=2 * TOLERANCE)
        assert choice.bound <= choice.total + TOLERANCE + 1e-12


def names_of(lists):
    return [f"f{i:02}" for i in range(len(lists))]


@pytest.fixture(params=["cuts", "exhaustion"])
def _path(request, monkeypatch):
    if request.param == "cuts":
        monkeypatch.setattr(branch_and_cut, "MOST_FEATURES_EXHAUSTED", 1)


def solved(lists, seconds=None, progress=None, **keywords):
    return solve_lists(lists, names_of(lists), TOLERANCE, Deadline(seconds), progress, **keywords)


def test_the_oracle_agrees_with_all_choices():
    for seed in range(5):
        lists = random_lists(seed, 4, sets=4)
        choices = product(*(range(len(own.scores)) for own in lists))
        totals = [
            sum(own.scores[k] for own, k in zip(lists, c, strict=True)) for c in choices if is_acyclic(lists, c)
        ]
        assert best_total(lists) == pytest.approx(max(totals))


@pytest.mark.usefixtures("_path")
class TestSmall:
    @examples(60, quick=12)
    @given(lists=list_problems())
    def test_optimum_and_proof(self, lists):
        check(lists, solved(lists), names_of(lists), best_total(lists))

    @pytest.mark.parametrize("seed", range(4))
    def test_nine_features(self, seed):
        lists = random_lists(seed, 9, sets=25, ties=seed % 2 == 1)
        check(lists, solved(lists), names_of(lists), best_total(lists))

    @pytest.mark.parametrize("seed", range(3))
    def test_deadline_passed(self, seed):
        lists = random_lists(seed, 8, sets=15, required=[(0, 1), (1, 2)])
        check(lists, solved(lists, seconds=0), names_of(lists))

    def test_deterministic(self):
        lists = random_lists(11, 9, sets=25)
        assert solved(lists) == solved(lists)

    def test_one_feature(self):
        lists = lists_of([{frozenset(): -3.0}])
        choice = solved(lists)
        check(lists, choice, names_of(lists), -3.0)
        assert choice.chosen == (0,)

    def test_components_share_out_the_features(self):
        empty = frozenset()
        families = [
            {empty: -5.0, frozenset({1}): -1.0},
            {empty: -5.0, frozenset({0}): -2.0},
            {empty: -4.0, frozenset({0, 3}): -1.0, frozenset({1}): -2.0},
            {empty: -4.0, frozenset({2, 1}): -1.5},
        ]
        lists = lists_of(families)
        choice = solved(lists)
        check(lists, choice, names_of(lists), best_total(lists))
        assert {part.features for part in choice.components} == {("f00", "f01"), ("f02", "f03")}


class TestSingleParents:
    """Lists without a set of two parents: a maximum branching, and clusters that leave no gap."""

    @examples(100, quick=15)
    @given(
        seed=st.integers(0, 2**32), n=st.integers(2, 7), sets=st.integers(1, 10), ties=st.booleans(),
        roots=st.integers(0, 2),
    )  # fmt: skip
    def test_optimum_proof_and_kept_sets(self, seed, n, sets, ties, roots):
        """Some features have no empty set, so that an arc into them is required."""
        lists = random_lists(seed, n, sets=sets, size=1, ties=ties)
        if roots:
            lists = [own if i < roots or len(own.scores) == 1 else without_empty(own) for i, own in enumerate(lists)]
        optimum = best_total(lists)
        assume(np.isfinite(optimum))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(branch_and_cut, "MOST_FEATURES_EXHAUSTED", 1)
            patch.setattr(branch_and_cut, "ComponentSearch", None)  # no branch and cut is needed
            choice = solved(lists)
        check(lists, choice, names_of(lists), optimum)
        for i, own in enumerate(choice.kept()):
            for k, score in enumerate(lists[i].scores):
                only = [*lists]
                only[i] = ParentSets(lists[i].masks[k : k + 1], np.array([score]), 1, "", float("-inf"))
                if best_total(only) > optimum - TOLERANCE:
                    assert k in own

    def test_no_gap_and_nested_clusters(self):
        lists = random_lists(3, 100, sets=20, size=1)
        choice = solved(lists)
        check(lists, choice, names_of(lists))
        assert choice.bound - choice.total < 1e-9
        clusters = [set(members) for part in choice.components for members, _, _ in part.case.clusters]
        assert clusters
        assert all(a <= b or b <= a or not a & b for a, b in combinations(clusters, 2))

    def test_every_choice_has_a_cycle(self):
        lists = lists_of([{frozenset({1}): -1.0}, {frozenset({0}): -1.0}])
        part = parent_sets.Lists(np.concatenate([o.masks for o in lists]), np.array([-1.0, -1.0]), np.arange(3))
        with pytest.raises(ValueError, match="has a cycle"):
            best_branching(part)


def without_empty(own):
    """Return a list without the empty set."""
    rest = own.masks.any(axis=1)
    return ParentSets(own.masks[rest], own.scores[rest], int(rest.sum()), "", float("-inf"))


def clusters_of(case):
    if isinstance(case, Split):
        return clusters_of(case.absent) + clusters_of(case.present)
    return list(case.clusters)


@pytest.mark.parametrize(("most_least", "one_node"), [(1, False), (2, True)])
def test_half_integral_relaxation(monkeypatch, most_least, one_node):
    """Three features, each of which wants both others: at least two have fewer than two of them."""
    monkeypatch.setattr(branch_and_cut, "MOST_FEATURES_EXHAUSTED", 1)
    monkeypatch.setattr(cutting_planes, "MOST_LEAST", most_least)
    lists = lists_of([{frozenset(): -1.0, frozenset({0, 1, 2} - {i}): 0.0} for i in range(3)])
    choice = solved(lists)
    check(lists, choice, names_of(lists), -2.0)
    assert (choice.nodes == 1) == one_node
    case = choice.components[0].case
    assert isinstance(case, Split) != one_node
    assert any(least == 2 for _, least, _ in clusters_of(case)) == one_node


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0, 60])
def test_two_words(seconds):
    lists = random_lists(5, 70, sets=6, size=2, near=5)
    choice = solved(lists, seconds=seconds)
    check(lists, choice, names_of(lists))
    if seconds:
        assert choice.bound <= choice.total + TOLERANCE


@pytest.mark.slow
def test_deadline_in_the_middle():
    lists = random_lists(1, 30, sets=60)
    choice = solved(lists, seconds=1.0)
    check(lists, choice, names_of(lists))
    assert choice.nodes >= 1


def test_progress_never_falls():
    lists = random_lists(3, 20, sets=30)
    told = []
    solved(lists, seconds=4, progress=lambda phase, fraction: told.append((phase, fraction)))
    fractions = [fraction for _, fraction in told]
    assert {phase for phase, _ in told} == {"proof"}
    assert fractions == sorted(fractions)
    assert 0 <= fractions[0] <= fractions[-1] == 1


def dense_lists(n):
    """Return lists of sets of five parents, all much better than none: their relaxation leaves a wide gap."""
    rng = np.random.default_rng(1)
    families = []
    for i in range(n):
        others = [p for p in range(n) if p != i]
        drawn = [frozenset(rng.choice(others, 5, replace=False).tolist()) for _ in range(20)]
        families.append({frozenset(): -2.0} | {s: float(rng.uniform(-1, 0)) for s in drawn})
    return lists_of(families)


@pytest.mark.slow
def test_most_nodes(monkeypatch):
    monkeypatch.setattr(branch_and_cut, "MOST_FEATURES_EXHAUSTED", 1)
    lists = dense_lists(10)
    limited = [solved(lists, most_nodes=most) for most in (0, 1, 4, 5)]
    for choice in limited:
        check(lists, choice, names_of(lists))
    assert [choice.nodes for choice in limited] == [1, 1, 3, 5]
    assert [choice.bound for choice in limited] == sorted((choice.bound for choice in limited), reverse=True)
    assert limited[3] == solved(lists, most_nodes=5)


@pytest.mark.slow
def test_result_does_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(branch_and_cut, "MOST_FEATURES_EXHAUSTED", 1)
    lists = dense_lists(8)
    one, *others = [solved(lists, threads=threads, most_nodes=15) for threads in (1, 2, 3)]
    check(lists, one, names_of(lists))
    assert one.nodes > 2 * branch_tree.BRANCHES_DIVIDED
    assert all(other == one for other in others)


@st.composite
def relaxations(draw):
    """Lists, clusters k of their features, multipliers of some of them, and which sets have a column."""
    n = draw(st.integers(3, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    lists = random_lists(draw(st.integers(0, 2**32)), n, required=[(0, 1)] if draw(st.booleans()) else [])
    sizes = [len(own.scores) for own in lists]
    part = parent_sets.Lists(
        np.concatenate([own.masks for own in lists]),
        np.concatenate([own.scores for own in lists]),
        np.cumsum([0, *sizes]),
    )
    clusters = [(c, k) for size in range(2, n + 1) for c in combinations(range(n), size) for k in range(1, size)]
    drawn = [clusters[i] for i in rng.permutation(len(clusters))[: draw(st.integers(0, 8))]]
    rows = np.array([[v in c for v in range(n)] for c, _ in drawn], bool).reshape(-1, n)
    least = np.array([k for _, k in drawn], np.int64)
    multipliers = rng.uniform(0, 3, len(drawn)) * rng.integers(0, 2, len(drawn))
    active = rng.random(part.starts[-1]) < draw(st.sampled_from([0.5, 1.0]))
    active[part.starts[1:] - 1] = True
    return part, cutting_planes.Clusters(pack(rows), least), multipliers, np.flatnonzero(active)


def relaxed_optimum(part, clusters, columns, penalty):
    """Return the optimum of the relaxation, stated plainly: the most of x · scores - penalty · violation."""
    count, n = len(columns), part.n
    own = part.children[columns]
    counted = np.array(
        [
            [
                i in members(mask) and len({*members(part.masks[s])} & {*members(mask)}) < k
                for s, i in zip(columns, own, strict=True)
            ]
            for mask, k in zip(clusters.masks, clusters.least, strict=True)
        ],
        float,
    ).reshape(-1, count)
    one = (own == np.arange(n)[:, None]).astype(float)
    found = linprog(
        np.concatenate([-part.scores[columns], np.full(len(clusters), penalty)]),
        A_ub=-np.column_stack([counted, np.eye(len(clusters))]),
        b_ub=-clusters.least,
        A_eq=np.column_stack([one, np.zeros((n, len(clusters)))]),
        b_eq=np.ones(n),
    )
    return -found.fun


@examples(80, quick=12)
@given(drawn=relaxations())
def test_relaxation_from_any_multipliers(drawn):
    part, clusters, multipliers, columns = drawn
    relaxation = linear_relaxation.Relaxation(part, part.starts[1:] - 1)
    branch = parent_sets.Branch(*np.zeros((2, part.n, 1), np.uint64))
    _, values = linear_relaxation.proved(part, branch, clusters, multipliers)
    shares, priced, found, optimum = relaxation._solve(columns, values, clusters, multipliers, Deadline())
    assert optimum == pytest.approx(relaxed_optimum(part, clusters, columns, relaxation.penalty), abs=1e-6)
    assert np.all(found >= 0)
    assert np.bincount(part.children[columns], shares) == pytest.approx(np.ones(part.n))
    _, values = linear_relaxation.proved(part, branch, clusters, found)
    highest = np.full(part.n, -np.inf)
    np.maximum.at(highest, part.children[columns], values[columns])
    assert priced == pytest.approx(highest, abs=1e-6)
    assert highest.sum() - found @ clusters.least == pytest.approx(optimum, abs=1e-6)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("call", [1, 2, 7, 60])
def test_interrupt(monkeypatch, call, threads):
    monkeypatch.setattr(branch_and_cut, "MOST_FEATURES_EXHAUSTED", 1)
    calls = []

    def interrupted(*args, **keywords):
        calls.append(args)
        if len(calls) == call:
            raise KeyboardInterrupt
        return linprog(*args, **keywords)

    monkeypatch.setattr(linear_relaxation, "linprog", interrupted)
    lists = dense_lists(12)
    deadline = Deadline()
    choice = solve_lists(lists, names_of(lists), TOLERANCE, deadline, None, threads=threads)
    assert len(calls) >= call
    assert threads > 1 or len(calls) == call
    assert deadline.interrupted
    check(lists, choice, names_of(lists))


@pytest.mark.parametrize("work", ["exhausted", "ComponentSearch"])
def test_interrupt_before_there_is_a_bound(monkeypatch, work):
    whole = getattr(branch_and_cut, work)
    calls = []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return whole(*arguments)

    monkeypatch.setattr(branch_and_cut, work, interrupted)
    monkeypatch.setattr(branch_and_cut, "MOST_FEATURES_EXHAUSTED", 1 if work == "ComponentSearch" else 14)
    lists = random_lists(7, 8, sets=20)
    deadline = Deadline()
    choice = solve_lists(lists, names_of(lists), TOLERANCE, deadline, None)
    assert deadline.interrupted
    check(lists, choice, names_of(lists))


def arcs_of(case, path=()):
    """The paths of arcs that lead to the cases."""
    if not isinstance(case, Split):
        return [path]
    arc = case.parent, case.child
    return arcs_of(case.absent, (*path, arc)) + arcs_of(case.present, (*path, arc))


@pytest.mark.parametrize("seed", range(30))
def test_no_arc_is_divided_twice(seed, monkeypatch):
    """Where scores tie at 0, arcs weigh nothing: only those that are still open may be chosen."""
    monkeypatch.setattr(branch_and_cut, "MOST_FEATURES_EXHAUSTED", 1)
    rng = np.random.default_rng(seed)
    n = 7
    families = []
    for child in range(n):
        others = [v for v in range(n) if v != child]
        sets = {frozenset(rng.choice(others, int(rng.integers(1, 4)), replace=False).tolist()) for _ in range(6)}
        families.append({frozenset(): -1.0, **dict.fromkeys(sets, 0.0)})
    lists = lists_of(families)
    choice = solved(lists)
    check(lists, choice, names_of(lists), best_total(lists))
    for component in choice.components:
        for path in arcs_of(component.case):
            assert len(set(path)) == len(path)
            assert all(parent != child for parent, child in path)
