"""The check of certificates: true ones pass, forged ones do not, and duals count for what the formula says."""

import math
from dataclasses import replace

import numpy as np
import oracles
import pytest
from forced import force
from strategies import random_problem, table_of
from test_candidates import BOUNDED
from test_pruned import few_sets
from tiers import repeats

import anbexact.search.exact.branch_and_cut as branch_and_cut
from anbexact import BDeu, learn_anb, learn_naive_bayes, verify
from anbexact._runtime.deadline import Deadline
from anbexact.models.proof import Component, Duals, Exhaustion, Split
from anbexact.models.structure import Certificate
from anbexact.scores import BIC, FNML, K2
from anbexact.search.constraints import make_constraints
from anbexact.search.exact.candidates import candidate_lists
from anbexact.search.exact.parent_sets import ListMeans, members
from anbexact.search.exact.solution import rounding_error


@pytest.fixture(scope="module", name="cut")
def _proved_by_cuts():
    """A table, and the structure that is proved optimal by duals alone."""
    table = random_problem(1, 8, n_rows=80).table
    with pytest.MonkeyPatch.context() as patch:
        force(patch)
        structure = learn_anb(table)
    assert structure.certificate.optimal
    return table, structure


@pytest.fixture(scope="module", name="divided")
def _proved_by_branches():
    """A table, and the structure whose proof needs branches."""
    for seed in range(29, 60):  # no table before needs any
        table = random_problem(seed, 8, n_rows=60, max_arity=3, n_classes=2).table
        with pytest.MonkeyPatch.context() as patch:
            force(patch)
            structure = learn_anb(table, BDeu(10.0))
        if any(isinstance(part.case, Split) for part in structure.certificate.proof.components):
            return table, structure
    raise AssertionError("no table needs branches")


@pytest.fixture(scope="module", name="exhausted")
def _proved_by_exhaustion():
    """A table, and the structure proved by the dynamic programme."""
    table = random_problem(2, 6, n_rows=80).table
    return table, learn_anb(table)


@pytest.fixture(name="proved", params=["cut", "divided", "exhausted"])
def _proved(request):
    return request.getfixturevalue(request.param)


def main_part(structure):
    """The component of most features."""
    return max(structure.certificate.proof.components, key=lambda part: len(part.features))


def with_certificate(structure, **changes):
    """The structure with another certificate."""
    return replace(structure, certificate=replace(structure.certificate, **changes))


def with_proof(structure, **changes):
    """The structure with another proof."""
    return with_certificate(structure, proof=replace(structure.certificate.proof, **changes))


def with_part(structure, part, **changes):
    """The structure with another component in its proof."""
    parts = structure.certificate.proof.components
    return with_proof(structure, components=tuple(replace(p, **changes) if p is part else p for p in parts))


def with_parents(structure, table, parents):
    """Another graph, its score right."""
    score = structure.certificate.proof.score
    total = sum(score.local_score(table, child, list(of_child)) for child, of_child in parents.items())
    return replace(structure, parents=parents, score=total)


def duals_in(case):
    """All duals of a case."""
    if isinstance(case, Split):
        return duals_in(case.absent) + duals_in(case.present)
    return [case] if isinstance(case, Duals) else []


def mapped(case, change):
    """The case with its duals changed."""
    if isinstance(case, Split):
        return replace(case, absent=mapped(case.absent, change), present=mapped(case.present, change))
    return change(case) if isinstance(case, Duals) else case


def lists_by_name(structure, table):
    """The candidate lists, by names."""
    proof, features = structure.certificate.proof, table.vocabulary.features
    found = candidate_lists(
        table, proof.score, make_constraints(features, proof.max_parents, proof.required, proof.forbidden),
        ListMeans(1, Deadline(), memory=math.inf), largest=proof.largest,
    )  # fmt: skip
    return {
        name: [
            ({features[v] for v in members(mask)}, score)
            for mask, score in zip(own.masks, own.scores.tolist(), strict=True)
        ]
        for name, own in zip(features, found.lists, strict=True)
    }


class TestTrue:
    @pytest.mark.parametrize("exhausted", [1, 14])
    @pytest.mark.parametrize("name", BOUNDED)
    def test_pruned(self, name, exhausted, monkeypatch):
        force(monkeypatch, exhausted)
        for seed in repeats(2):
            table = random_problem(
                500 + seed, 5, n_rows=90, max_arity=3, weights=("ones", "real", "whole")[seed]
            ).table
            assert verify(learn_anb(table, BOUNDED[name]()), table)
            limited = learn_anb(
                table, BOUNDED[name](), max_parents=2, required=[("f0", "f1")], forbidden=[("f2", "f3"), ("f3", "f2")]
            )
            assert verify(limited, table)

    @pytest.mark.parametrize("score", [BDeu(1.0), BIC(), K2(), FNML()], ids=str)
    def test_everything_gone_through(self, score):
        table = random_problem(510, 5, n_rows=70, weights="mixed").table
        assert verify(learn_anb(table, score), table)
        limits = {"max_parents": 1, "required": [("f0", "f1")], "forbidden": [("f1", "f4")]}
        structure = learn_anb(table, score, **limits)
        assert "dynamic programme" in structure.certificate.method
        assert verify(structure, table)

    def test_cuts_and_branches(self, proved):
        table, structure = proved
        assert verify(structure, table)

    def test_cases(self, cut, divided, exhausted):
        assert [z for duals in duals_in(main_part(cut[1]).case) for *_, z in duals.clusters if z > 0]
        assert any(isinstance(part.case, Split) for part in divided[1].certificate.proof.components)
        assert isinstance(main_part(exhausted[1]).case, Exhaustion)

    @pytest.mark.parametrize("most_sets", [0, 60, 200])
    def test_lists_that_are_not_complete(self, most_sets, monkeypatch):
        force(monkeypatch)
        few_sets(monkeypatch, most_sets)
        for score in (BDeu(1.0), BIC()):
            table = random_problem(520, 8, n_rows=150, max_arity=3).table
            structure = learn_anb(table, score)
            assert structure.certificate.proof.largest is not None
            assert verify(structure, table)
            if structure.certificate.gap > 1e-6:
                lower = structure.certificate.upper_bound - 1e-3
                gap = structure.certificate.gap - 1e-3
                assert not verify(with_certificate(structure, upper_bound=lower, gap=gap), table)

    def test_time_ran_out(self):
        table = random_problem(530, 32, n_rows=250, max_arity=3).table
        structure = learn_anb(table, BIC(), max_parents=2, time_limit=1e-9)
        assert structure.certificate.gap > 0
        assert verify(structure, table)

    def test_time_ran_out_in_the_branches(self, monkeypatch):
        force(monkeypatch)
        monkeypatch.setattr(branch_and_cut.Deadline, "passed", property(lambda self: self.outer is None))
        table = random_problem(531, 9, n_rows=100, max_arity=3).table
        structure = learn_anb(table, BDeu(10.0))
        monkeypatch.undo()
        assert structure.certificate.gap >= 0
        assert verify(structure, table)

    def test_a_lower_statement_is_as_true(self, proved):
        """What claims less holds, too."""
        table, structure = proved
        certificate = structure.certificate
        assert verify(with_certificate(structure, optimal=False), table)
        more = {"optimal": False, "upper_bound": certificate.upper_bound + 1, "gap": certificate.gap + 1}
        assert verify(with_certificate(structure, **more), table)
        part = main_part(structure)
        assert verify(with_certificate(with_part(structure, part, bound=part.bound + 1), **more), table)


class TestForgedStructure:
    def test_arcs(self, proved):
        """No other graph passes, be its score right or that of the optimum, unless it scores as high."""
        table, structure = proved
        slack = rounding_error(table, structure.score)
        class_name, features = structure.class_name, structure.features
        number = {name: k for k, name in enumerate(features)}
        tried = dict.fromkeys(("added", "removed", "reversed"), 0)
        for a in features:
            for b in features:
                if a == b:
                    continue
                sets = {child: set(of_child) - {class_name} for child, of_child in structure.parents.items()}
                if a in sets[b]:
                    kinds = [("removed", {b: sets[b] - {a}}), ("reversed", {b: sets[b] - {a}, a: sets[a] | {b}})]
                else:
                    kinds = [("added", {b: sets[b] | {a}})]
                for kind, changes in kinds:
                    other = {**sets, **changes}
                    if not oracles.is_acyclic({v: other[v] for v in features}):
                        continue
                    parents = {v: (class_name, *sorted(other[v], key=number.__getitem__)) for v in features}
                    parents = {v: parents.get(v, ()) for v in structure.parents}
                    forged = with_parents(structure, table, parents)
                    if abs(forged.score - structure.score) <= 2 * slack:
                        continue
                    tried[kind] += 1
                    assert not verify(forged, table)
                    assert not verify(replace(forged, score=structure.score), table)
        assert all(tried.values())

    def test_class_arc_removed(self, proved):
        table, structure = proved
        child = structure.features[0]
        parents = {**structure.parents, child: structure.parents[child][1:]}
        forged = with_parents(structure, table, parents)
        assert not verify(forged, table)
        worth = forged.score - structure.score
        bound = max(forged.score, structure.certificate.upper_bound)
        assert worth != 0
        changes = {"upper_bound": bound, "gap": bound - forged.score, "optimal": False}
        assert not verify(with_certificate(forged, **changes), table)

    def test_class_with_a_parent(self, proved):
        table, structure = proved
        free = structure.features[0]
        parents = {v: tuple(p for p in of_v if v != free) for v, of_v in structure.parents.items()}
        parents[structure.class_name] = (free,)
        forged = with_parents(structure, table, parents)
        changes = {"upper_bound": forged.score + 1e6, "gap": 1e6, "optimal": False}
        assert not verify(with_certificate(forged, **changes), table)

    @pytest.mark.parametrize("by", [1e-3, -1e-3, 0.5, -7.0, math.nan, math.inf])
    def test_score(self, proved, by):
        table, structure = proved
        score = structure.score + by
        assert not verify(replace(structure, score=score), table)
        assert not verify(with_certificate(replace(structure, score=score), upper_bound=score), table)
        assert not verify(
            with_certificate(replace(structure, score=score), gap=structure.certificate.upper_bound - score), table
        )

    def test_another_table(self, proved):
        table, structure = proved
        columns = [table.column(name).tolist() for name in table.vocabulary.names]
        rows = [list(row) for row in zip(*columns, strict=True)]
        arities = [table.vocabulary.arity(name) for name in table.vocabulary.names]
        weights = table.weights.tolist()
        assert table.vocabulary.names[-1] == "c"
        assert verify(structure, table_of(rows, weights, arities))
        rows[0][0] = (rows[0][0] + 1) % arities[0]
        assert not verify(structure, table_of(rows, weights, arities))


class TestForgedCertificate:
    @pytest.mark.parametrize("by", [1e-3, 1.0, 100.0])
    def test_upper_bound(self, proved, by):
        table, structure = proved
        upper, gap = structure.certificate.upper_bound, structure.certificate.gap
        assert not verify(with_certificate(structure, upper_bound=upper - by), table)
        assert not verify(with_certificate(structure, upper_bound=upper - by, gap=gap - by), table)
        assert not verify(with_certificate(structure, upper_bound=upper + by), table)

    @pytest.mark.parametrize("by", [1e-3, -1e-3, 5.0, math.nan, math.inf])
    def test_gap(self, proved, by):
        table, structure = proved
        assert not verify(with_certificate(structure, gap=structure.certificate.gap + by), table)

    def test_gap_of_the_proof(self, proved):
        """It was checked only where larger parent sets were not enumerated."""
        table, structure = proved
        for gap in (-1e-3, -math.inf, math.nan):
            assert not verify(with_proof(structure, gap=gap), table)
        assert verify(with_proof(structure, gap=5.0), table)
        poor = learn_naive_bayes(table, structure.certificate.proof.score)
        lacking = structure.score - poor.score
        assert lacking > 1e-3
        stated = replace(structure.certificate, optimal=False, gap=structure.certificate.upper_bound - poor.score)
        forged = replace(poor, certificate=stated)
        assert not verify(forged, table)
        gap = structure.certificate.proof.gap + lacking + 1e-9
        assert verify(with_proof(forged, gap=gap), table)

    def test_optimal(self, proved):
        table, structure = proved
        naive = learn_naive_bayes(table, structure.certificate.proof.score)
        upper = structure.certificate.upper_bound
        gap = upper - naive.score
        proof = replace(structure.certificate.proof, gap=structure.certificate.proof.gap + gap + 1e-9)
        own = Certificate(False, upper, gap, 0, 0.0, "forged", proof)
        assert gap > 0.1
        assert verify(replace(naive, certificate=own), table)
        assert not verify(replace(naive, certificate=replace(own, optimal=True)), table)
        assert not verify(replace(naive, certificate=replace(own, optimal=True, gap=0.0)), table)
        assert not verify(
            replace(naive, certificate=replace(own, optimal=True, gap=0.0, upper_bound=naive.score)), table
        )

    def test_no_proof(self, proved):
        table, structure = proved
        with pytest.raises(ValueError, match="carries no proof"):
            verify(with_certificate(structure, proof=None), table)
        with pytest.raises(ValueError, match="carries no proof"):
            verify(replace(structure, certificate=Certificate.unknown("a guess")), table)

    def test_other_variables(self, proved):
        _, structure = proved
        with pytest.raises(ValueError, match="the table has the class"):
            verify(structure, random_problem(1, len(structure.features) + 1).table)
        with pytest.raises(ValueError, match="the table has the class"):
            verify(structure, random_problem(1, len(structure.features) - 1).table)


class TestForgedProof:
    @pytest.mark.parametrize("by", [1e-3, 1.0, math.nan, math.inf])
    def test_bound_of_a_component(self, proved, by):
        table, structure = proved
        for part in structure.certificate.proof.components:
            assert not verify(with_part(structure, part, bound=part.bound - by), table)

    def test_bound_moved_to_another_component(self, cut):
        table, structure = cut
        first, *_, last = structure.certificate.proof.components
        moved = with_part(structure, first, bound=first.bound - 1)
        assert not verify(with_part(moved, last, bound=last.bound + 1), table)

    def test_features_of_a_component(self, proved):
        table, structure = proved
        part = main_part(structure)
        parts = structure.certificate.proof.components
        assert not verify(with_part(structure, part, features=part.features[1:]), table)
        assert not verify(with_part(structure, part, features=(*part.features[1:], part.features[1])), table)
        assert not verify(with_part(structure, part, features=(*part.features, part.features[0])), table)
        assert not verify(with_proof(structure, components=(*parts, parts[0])), table)
        assert not verify(with_proof(structure, components=parts[1:]), table)
        assert not verify(with_proof(structure, components=()), table)
        assert not verify(with_proof(structure, components=(*parts, Component((), -1.0, Duals(())))), table)

    def test_a_component_of_nothing_proves_nothing(self, cut):
        table, structure = cut
        parts = (*structure.certificate.proof.components, Component((), -1.0, Duals(())))
        upper = structure.certificate.upper_bound - 1
        assert not verify(
            with_certificate(with_proof(structure, components=parts), upper_bound=upper, gap=-1.0), table
        )

    @pytest.mark.parametrize("z", [-1e-3, -5.0, math.nan, math.inf, -math.inf, 1e5])
    def test_multiplier(self, cut, divided, z):
        for table, structure in (cut, divided):
            part = next(
                p for p in structure.certificate.proof.components if any(d.clusters for d in duals_in(p.case))
            )

            def forged(duals, z=z):
                return replace(duals, clusters=tuple((cluster, k, z) for cluster, k, _ in duals.clusters))

            assert not verify(with_part(structure, part, case=mapped(part.case, forged)), table)

    def test_negative_multiplier_is_refused_for_what_it_is(self, cut):
        """Also where the formula, with it, would stay below the bound."""
        table, structure = cut
        part = main_part(structure)
        cluster = part.features[:2]
        case = Duals((*part.case.clusters, (cluster, 1, -1e-6)))
        more = structure.certificate.gap + 10
        upper = structure.certificate.upper_bound + 10
        loose = with_certificate(
            with_part(structure, part, bound=part.bound + 10, case=case), optimal=False, gap=more, upper_bound=upper
        )
        assert not verify(loose, table)
        assert verify(with_part(loose, main_part(loose), case=part.case), table)

    @pytest.mark.parametrize("z", [0.0, 1.0, 1e6])
    def test_clusters_that_say_nothing(self, cut, z):
        """An empty cluster, or one of too few features, would lower the bound for nothing."""
        table, structure = cut
        part = main_part(structure)
        one, two = part.features[:2]
        for cluster, least in (((), 1), ((), 0), ((one,), 1), ((one, one), 1), ((one, two), 2), ((one, two), 0)):
            case = Duals((*part.case.clusters, (cluster, least, z)))
            assert not verify(with_part(structure, part, case=case), table)

    def test_names_that_are_none(self, cut, divided):
        table, structure = cut
        part = main_part(structure)
        outside = next(name for name in structure.features if name not in part.features)
        for arc in ((outside, part.features[0]), (part.features[0], outside), ("nobody", part.features[0])):
            assert not verify(with_part(structure, part, case=Split(*arc, part.case, part.case)), table)
        assert not verify(with_part(structure, part, features=("nobody", *part.features[1:])), table)
        assert not verify(with_proof(structure, score=FNML()), table)

    def test_cluster_beyond_the_component(self, cut):
        table, structure = cut
        part = main_part(structure)
        outside = [name for name in structure.features if name not in part.features]
        assert outside
        for stranger in (outside[0], structure.class_name, "nobody"):
            for z in (0.0, 1e-3, 3.0):
                clusters = (*part.case.clusters, ((part.features[0], stranger), 1, z))
                assert not verify(with_part(structure, part, case=Duals(clusters)), table)

    @pytest.mark.slow
    def test_duals_count_for_what_the_formula_says(self, cut, divided):
        """With random changes, the check fails exactly where the slow oracle finds a higher bound."""
        rng = np.random.default_rng(0)
        verdicts = []
        for table, structure in (cut, divided):
            slack = rounding_error(table, structure.score)
            lists = lists_by_name(structure, table)
            part = next(
                p for p in structure.certificate.proof.components if any(d.clusters for d in duals_in(p.case))
            )
            shown = oracles.proved_bound(part.case, part.features, lists)
            assert shown <= part.bound + slack

            def forged(duals, features=part.features):
                clusters = []
                for cluster, least, z in duals.clusters:
                    fate = rng.integers(0, 24)
                    if fate == 0:
                        z *= float(rng.choice([0.0, 0.3, 0.99, 1.01, 2.0, 10.0]))
                    elif fate == 1:
                        cluster = tuple(rng.permutation(cluster).tolist())
                    elif fate == 2:
                        cluster = tuple(rng.choice(features, int(rng.integers(2, len(features) + 1)), replace=False))
                    elif fate == 4:
                        least = int(rng.integers(1, len(cluster)))
                    if fate != 3:
                        clusters.append((tuple(map(str, cluster)), min(least, len(cluster) - 1), z))
                return Duals(tuple(clusters))

            for k in range(60):
                room = float(rng.choice([0.0, 0.0, 0.1, 1.0, 5.0]))
                case = mapped(part.case, forged) if k else part.case
                shown = oracles.proved_bound(case, part.features, lists)
                stated = part.bound + room
                if slack / 2 < shown - stated < 2 * slack:
                    continue
                loose = with_certificate(
                    with_proof(with_part(structure, part, bound=stated, case=case), gap=math.inf), optimal=False,
                    upper_bound=structure.certificate.upper_bound + room, gap=structure.certificate.gap + room,
                )  # fmt: skip
                verdicts.append(verify(loose, table))
                assert verdicts[-1] == (shown <= stated + slack)
        assert 10 < sum(verdicts) < len(verdicts) - 10

    def test_no_duals(self, cut, divided):
        for table, structure in (cut, divided):
            for part in structure.certificate.proof.components:
                if any(duals.clusters for duals in duals_in(part.case)):
                    assert not verify(with_part(structure, part, case=Duals(())), table)

    def test_split_with_a_case_replaced(self, divided):
        table, structure = divided
        part = next(p for p in structure.certificate.proof.components if isinstance(p.case, Split))
        lists = lists_by_name(structure, table)
        slack = rounding_error(table, structure.score)
        case = part.case
        forged = [
            replace(case, absent=case.present),
            replace(case, present=case.absent),
            replace(case, absent=case.present, present=case.absent),
            replace(case, absent=Duals(())),
            replace(case, present=Duals(())),
            replace(case, parent=case.child, child=case.parent),
            case.absent,
            case.present,
        ]
        verdicts = []
        for other in forged:
            shown = oracles.proved_bound(other, part.features, lists)
            verdicts.append(verify(with_part(structure, part, case=other), table))
            assert verdicts[-1] == (shown <= part.bound + slack)
        assert verdicts.count(False) >= 5

    def test_split_within_duals_only(self, divided):
        table, structure = divided
        part = next(p for p in structure.certificate.proof.components if isinstance(p.case, Split))
        assert not verify(with_part(structure, part, case=replace(part.case, absent=Exhaustion())), table)
        assert not verify(with_part(structure, part, case=replace(part.case, absent=None)), table)

    def test_exhaustion_in_place_of_duals_is_as_true(self, cut):
        table, structure = cut
        part = main_part(structure)
        assert verify(with_part(structure, part, case=Exhaustion()), table)
        assert not verify(with_part(structure, part, case=Exhaustion(), bound=part.bound - 1e-3), table)

    def test_limits_that_the_structure_does_not_obey(self, proved):
        table, structure = proved
        most = max(len(of_child) - 1 for of_child in structure.parents.values())
        parent, child = structure.feature_edges[0]
        upper = structure.certificate.upper_bound + 1e6
        loose = with_certificate(structure, upper_bound=upper, gap=upper - structure.score, optimal=False)
        assert verify(loose, table)
        assert not verify(with_proof(loose, max_parents=most - 1), table)
        assert not verify(with_proof(loose, forbidden=((parent, child),)), table)
        assert not verify(with_proof(loose, required=((child, parent),)), table)

    def test_limits_that_were_not_searched_with(self):
        """A bound among fewer structures does not hold among more."""
        table = random_problem(2, 6, n_rows=80).table
        naive = learn_anb(table, max_parents=0)
        assert verify(naive, table)
        assert not verify(with_proof(naive, max_parents=5), table)
        edge = learn_anb(table).feature_edges[0]
        without = learn_anb(table, forbidden=[edge, edge[::-1]])
        assert verify(without, table)
        assert not verify(with_proof(without, forbidden=()), table)

    def test_another_score(self, proved):
        table, structure = proved
        assert not verify(with_proof(structure, score=BDeu(2.0)), table)
        assert not verify(with_proof(structure, score=BIC()), table)

    def test_narrow_statement(self, monkeypatch):
        """What is said of structures with few parents must hold of the structure that it is said of."""
        force(monkeypatch)
        few_sets(monkeypatch, 200)
        table = random_problem(520, 8, n_rows=150, max_arity=3).table
        structure = learn_anb(table)
        proof = structure.certificate.proof
        assert proof.gap < 1e-6
        poor = learn_naive_bayes(table)
        lacking = structure.score - poor.score
        assert lacking > 1
        gap = structure.certificate.gap + lacking
        forged = replace(poor, certificate=replace(structure.certificate, gap=gap))
        assert not verify(forged, table)
        assert verify(with_proof(forged, gap=lacking + 1e-9), table)

    def test_fewer_parents_claimed_to_be_all(self, monkeypatch):
        force(monkeypatch)
        few_sets(monkeypatch, 60)
        table = random_problem(520, 8, n_rows=150, max_arity=3).table
        structure = learn_anb(table)
        proof = structure.certificate.proof
        bound = proof.score.local_score(table, "c", []) + sum(part.bound for part in proof.components)
        forged = with_certificate(
            with_proof(structure, largest=None), upper_bound=bound, gap=bound - structure.score, optimal=True
        )
        monkeypatch.undo()
        assert learn_anb(table).score > structure.score + 1e-3
        assert not verify(forged, table)
