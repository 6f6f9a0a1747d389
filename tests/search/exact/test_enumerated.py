"""Lists of all parent sets, for scores without bounds: against every family, the lattice, and brute force."""

from itertools import combinations
from math import inf

import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import SCORES, problems, random_problem
from test_pruned import check, named
from tiers import examples

from anbexact import SearchTooLargeError, UniversalMeasure, learn_anb, learn_gbn, verify
from anbexact._runtime.deadline import Deadline
from anbexact.scores import ACLL, FNML, KT, MIT, BDeu, BoundedScore
from anbexact.search.constraints import make_constraints
from anbexact.search.exact import plan
from anbexact.search.exact.enumerated import EnumeratedLists, enumerated_families, enumerated_lists, ranks, subsets
from anbexact.search.exact.parent_sets import ListMeans, members
from anbexact.search.scoring.pair_scores import FamilyScorer

BOUNDLESS = [of_name() for of_name in SCORES.values() if not isinstance(of_name(), BoundedScore)]


@pytest.fixture(name="_beyond")
def _forced(monkeypatch):
    """Let nothing fit into memory that goes through all sets of features."""
    monkeypatch.setattr(plan.Plan, "fits", property(lambda _self: False))


@pytest.mark.parametrize("n", range(8))
def test_ranks_are_the_places_of_subsets(n):
    for size in range(n + 1):
        listed = subsets(n, size)
        assert listed.tolist() == [list(one) for one in combinations(range(n), size)]
        assert ranks(listed, n).tolist() == list(range(len(listed)))


def listed(problem, score, *, seconds=None, most_sets=inf, largest=None, memory=inf, threads=1, **constraints):
    limits = make_constraints(problem.table.vocabulary.features, **named(constraints))
    means = ListMeans(threads, Deadline(seconds), memory, most_sets)
    return enumerated_lists(problem.table, score, limits, means, largest=largest)


CONSTRAINTS = st.fixed_dictionaries(
    {
        "max_parents": st.integers(1, 3),
        "required": st.sampled_from([(), ((0, 1),), ((0, 2), (1, 2))]),
        "forbidden": st.sampled_from([(), ((1, 0),), ((2, 1), (0, 3))]),
    }
)


@examples(60)
@given(problem=problems(min_features=4, max_features=5), score=st.sampled_from(BOUNDLESS), constraints=CONSTRAINTS)
def test_a_list_holds_what_scores_higher_than_all_its_subsets(problem, score, constraints):
    constraints["max_parents"] = max(2, constraints["max_parents"])
    made = listed(problem, score, **constraints)
    assert made.limit == ""
    assert made.largest is None
    scored = 0
    for child, own in enumerate(made.lists):
        others = [v for v in range(problem.n) if v != child]
        scores = {
            parents: score.local_score(problem.table, f"f{child}", ["c", *(f"f{v}" for v in parents)])
            for parents in oracles.subsets(others)
            if oracles.admitted(child, parents, **constraints)
        }
        scored += len(scores)
        found = {tuple(members(mask)): value for mask, value in zip(own.masks, own.scores.tolist(), strict=True)}
        assert found == pytest.approx({parents: scores[parents] for parents in found}, rel=1e-9, abs=1e-9)
        assert list(own.scores) == sorted(own.scores, reverse=True)
        for parents, value in scores.items():
            below = [scores[rest] for rest in oracles.subsets(parents) if rest in scores and rest != parents]
            if value > max(below, default=-inf) + 1e-7:
                assert parents in found
            if value < max(below, default=-inf) - 1e-7:
                assert parents not in found
        assert own.complete
        assert own.beyond == -inf
    assert made.scored == scored


@pytest.mark.usefixtures("_beyond")
@pytest.mark.parametrize("score", BOUNDLESS, ids=lambda score: score.name)
@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_is_that_of_all_graphs(seed, score):
    problem = random_problem(seed, 5, n_rows=60, weights=["ones", "whole", "real", "mixed"][seed])
    constraints = [{}, {"required": ((0, 1),)}, {"forbidden": ((0, 1), (3, 2))}, {"required": ((4, 0), (1, 0))}][seed]
    constraints |= {"max_parents": 2}
    structure = learn_anb(problem.table, score, **named(constraints))

    def local(child, parents):
        return score.local_score(problem.table, f"f{child}", ["c", *(f"f{v}" for v in parents)])

    best = oracles.sink_optimum(range(5), local, **constraints)
    assert structure.score == pytest.approx(best + score.local_score(problem.table, "c", []), rel=1e-9)
    check(problem, score, structure, **constraints)
    assert structure.certificate.optimal
    assert structure.certificate.method.startswith("pruned search among structures with at most 2 feature parents")
    assert verify(structure, problem.table)


@pytest.mark.parametrize("learn", [learn_anb, learn_gbn])
def test_a_universal_measure_finds_the_optimum_of_the_lattice(learn, monkeypatch):
    problem = random_problem(7, 4, n_rows=80)
    X, y = problem.frame()
    X["a"] = X["f0"] + 0.01 * (X.index.to_numpy() * 7 % 80)
    X["b"] = X["a"] ** 2 + 0.1 * (X.index.to_numpy() * 13 % 80)
    table, score = UniversalMeasure().read(X, y)
    by_lattice = learn(table, score, max_parents=2)
    monkeypatch.setattr(plan.Plan, "fits", property(lambda _self: False))
    structure = learn(table, score, max_parents=2)
    assert by_lattice.certificate.method.startswith("lattice")
    assert structure.certificate.method.startswith("pruned")
    assert structure.certificate.optimal
    assert structure.score == pytest.approx(by_lattice.score, rel=1e-12)
    assert structure.parents == by_lattice.parents
    assert verify(structure, table)


@pytest.mark.usefixtures("_beyond")
def test_a_forged_bound_is_found_out():
    from dataclasses import replace

    problem = random_problem(3, 5, n_rows=60)
    structure = learn_anb(problem.table, KT(), max_parents=2)
    first, *others = structure.certificate.proof.components
    lower = (replace(first, bound=first.bound - 1.0), *others)
    forged = replace(structure.certificate, proof=replace(structure.certificate.proof, components=lower))
    assert verify(structure, problem.table)
    assert not verify(replace(structure, certificate=forged), problem.table)


class TestLimits:
    def test_without_time_the_required_parents_stand_in(self):
        problem = random_problem(5, 4, n_rows=50)
        made = listed(problem, KT(), seconds=1e-9, max_parents=2, required=((0, 1),))
        assert made.limit == "time_limit"
        assert made.largest == -1
        for child, own in enumerate(made.lists):
            (mask,) = own.masks
            assert members(mask) == ([0] if child == 1 else [])
            assert own.beyond == 0.0  # KT's bound

    @pytest.mark.parametrize("score", [KT(), MIT(), ACLL(), FNML()], ids=lambda score: score.name)
    def test_fewer_sets_bound_all_structures(self, score):
        problem = random_problem(6, 4, n_rows=50)
        made = listed(problem, score, most_sets=4 * 4, max_parents=3)
        assert made.largest == 1
        assert made.scored == 4 * 4
        assert "more than 16" in made.limit
        for child, own in enumerate(made.lists):
            others = [v for v in range(problem.n) if v != child]
            best = max(
                score.local_score(problem.table, f"f{child}", ["c", *(f"f{v}" for v in parents)])
                for parents in oracles.subsets(others)
            )
            assert max(own.scores[0], own.beyond) >= best - 1e-9

    def test_sizes_can_be_asked_for(self):
        made = listed(random_problem(6, 4, n_rows=50), KT(), largest=2, max_parents=3)
        assert made.largest == 2
        assert made.limit == "not requested"

    @pytest.mark.usefixtures("_beyond")
    def test_a_time_limit_gives_a_bound_that_holds(self, monkeypatch):
        problem = random_problem(8, 5, n_rows=60)
        best = learn_anb(problem.table, KT(), max_parents=2)
        monkeypatch.setattr(plan, "MOST_ENUMERATED", enumerated_families(5, 2))
        structure = learn_anb(problem.table, KT(), max_parents=2, time_limit=1e-9)
        check(problem, KT(), structure, max_parents=2)
        assert not structure.certificate.optimal
        assert structure.certificate.upper_bound >= best.score

    @pytest.mark.parametrize("stop", range(8))
    def test_a_size_that_was_broken_off_is_gone_through_anew(self, stop, monkeypatch):
        """Children with other numbers of required parents are scored apart: the time may end between them."""
        problem = random_problem(10, 6, n_rows=60)
        limits = make_constraints(
            problem.table.vocabulary.features, 3, [("f0", "f1"), ("f2", "f1"), ("f0", "f3")], []
        )
        whole = EnumeratedLists(problem.table, KT(), limits, 1)
        whole.extend(Deadline(), most_sets=inf, progress=None)
        scored = FamilyScorer.local_scores
        calls = []

        def broken_off(self, *arguments):
            calls.append(None)
            return None if len(calls) == stop + 1 else scored(self, *arguments)

        monkeypatch.setattr(FamilyScorer, "local_scores", broken_off)
        made = EnumeratedLists(problem.table, KT(), limits, 1)
        assert not made.extend(Deadline(), most_sets=inf, progress=None) or stop > 2
        assert made.limit == "time_limit"
        assert all(own.limit == "time_limit" for own in made.lists)  # looked at in between, as a search does
        made.extend(Deadline(), most_sets=inf, progress=None)
        assert made.limit == ""
        assert made.scored == whole.scored
        for ours, theirs in zip(made.lists, whole.lists, strict=True):
            assert ours.masks.tolist() == theirs.masks.tolist()
            assert ours.scores.tolist() == theirs.scores.tolist()

    def test_what_does_not_fit_is_refused_with_advice(self):
        problem = random_problem(9, 5, n_rows=40)
        with pytest.raises(SearchTooLargeError, match=r"needs .* is available: lower max_parents"):
            listed(problem, KT(), memory=100, max_parents=2)
        with pytest.raises(SearchTooLargeError, match=r"Give max_parents= \(with 2 or 3"):
            learn_anb(problem.table, KT(), memory_limit=1e6)

    @pytest.mark.usefixtures("_beyond")
    def test_scores_with_bounds_go_by_candidate_lists(self, monkeypatch):
        def refuse(*_args, **_kwargs):
            raise AssertionError

        monkeypatch.setattr("anbexact.search.exact.pruned.enumerated_lists", refuse)
        assert learn_anb(random_problem(9, 5, n_rows=40).table, BDeu(), max_parents=2).certificate.optimal

    def test_a_score_that_is_no_number_is_refused(self, monkeypatch):
        monkeypatch.setattr(KT, "set_constant", lambda _self, q, _weight: float("nan") * q)
        with pytest.raises(ValueError, match="given its parents is not a finite number"):
            listed(random_problem(9, 3, n_rows=40), KT(), max_parents=1)
