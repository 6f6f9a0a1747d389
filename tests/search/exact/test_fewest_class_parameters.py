"""The fewest class parameters among I-maps: against brute force over orders and graphs, constraints, certificates."""

from dataclasses import replace
from functools import cache
from itertools import combinations, permutations, product

import numpy as np
import oracles
import pytest
from deadlines import watch
from hypothesis import given
from strategies import ess_values, problems, random_problem, table_of
from tiers import examples, repeats

import anbexact.search.exact.class_parameters as module
from anbexact import BDeu, SearchTooLargeError, learn_gbn, verify
from anbexact.models.proof import FewestClassParameters
from anbexact.scores import K2, LL
from anbexact.search import learn_mcp
from anbexact.search.exact.class_parameters_by_lists import OrderProgramme

WEIGHTS = ["ones", "whole", "real", "mixed"]


def local_of(problem, ess):
    @cache
    def local(v, parents):
        return oracles.bdeu_local(problem.rows, problem.weights, problem.arities, v, parents, ess)

    return local


def numbered(structure, problem):
    number = {name: v for v, name in enumerate(problem.names)}
    return {number[child]: tuple(sorted(number[p] for p in of)) for child, of in structure.parents.items()}


def stated(structure):
    return structure.certificate.proof.components[0].case.count


def check(problem, ess, fewest, **limits):
    structure, local = learn_mcp(problem.table, BDeu(ess), n_jobs=1, **limits), local_of(problem, ess)
    count, score = fewest(problem.n, local, problem.arities)
    graph = numbered(structure, problem)
    assert graph[problem.n] == ()
    assert stated(structure) == count == oracles.class_parameters(problem.arities, problem.n, graph)
    assert structure.score == pytest.approx(score, rel=1e-10, abs=1e-8)
    assert oracles.is_map_of_an_order(problem.n, local, problem.arities, graph)
    assert verify(structure, problem.table)


class TestBruteForce:
    @pytest.mark.parametrize("weights", WEIGHTS)
    def test_over_orders(self, weights):
        for seed in repeats(4):
            check(random_problem(seed, 4, n_rows=50, weights=weights), 1.0, oracles.fewest_over_orders)

    @pytest.mark.parametrize("n", [1, 2, 3])
    def test_over_graphs(self, n):
        for seed in repeats(4):
            check(random_problem(seed, n, n_rows=40, weights="real"), 2.0, oracles.fewest_over_graphs)

    @given(problem=problems(max_features=3), ess=ess_values)
    def test_over_orders_of_any_table(self, problem, ess):
        check(problem, ess, oracles.fewest_over_orders)

    @examples(20)
    @given(problem=problems(max_features=2))
    def test_over_graphs_of_any_table(self, problem):
        check(problem, 1.0, oracles.fewest_over_graphs)

    @pytest.mark.parametrize("seed", range(3))
    def test_scores_without_set_scores(self, seed):
        problem = random_problem(seed, 3)

        def local(v, parents):
            return oracles.k2_local(problem.rows, problem.weights, problem.arities, v, parents)

        structure = learn_mcp(problem.table, K2(), n_jobs=1)
        count, score = oracles.fewest_over_orders(3, local, problem.arities)
        assert (stated(structure), structure.score) == (count, pytest.approx(score))
        assert verify(structure, problem.table)


SCARCE = 50e6
"""Bytes in which no table of all sets fits, so that families are listed."""


class TestLists:
    """Beyond what fits into memory: an integer programme over orders."""

    @pytest.mark.parametrize("weights", WEIGHTS)
    def test_over_orders(self, weights):
        for seed in repeats(4):
            check(
                random_problem(seed, 4, n_rows=50, weights=weights),
                1.0,
                oracles.fewest_over_orders,
                memory_limit=SCARCE,
            )

    @examples(20)
    @given(problem=problems(max_features=3), ess=ess_values)
    def test_over_orders_of_any_table(self, problem, ess):
        check(problem, ess, oracles.fewest_over_orders, memory_limit=SCARCE)

    @pytest.mark.parametrize(
        "constraints",
        [
            {"max_parents": 2},
            {"max_parents": 3, "required": [("f0", "f2"), ("c", "f1")]},
            {"max_parents": 2, "forbidden": [("c", "f0"), ("f3", "f1")]},
        ],
    )
    @pytest.mark.parametrize("seed", repeats(3))
    def test_what_all_sets_give(self, seed, constraints, monkeypatch):
        problem = random_problem(seed, 5, n_rows=80, weights="mixed")
        lattice = learn_mcp(problem.table, n_jobs=1, **constraints)
        lists = learn_mcp(problem.table, n_jobs=1, memory_limit=SCARCE, **constraints)
        assert "integer programme over orders" in lists.certificate.method
        assert "lattice" in lattice.certificate.method
        assert stated(lists) == stated(lattice)
        assert lists.score == pytest.approx(lattice.score, abs=1e-6)
        monkeypatch.setattr("anbexact.search.exact.plan.available_memory", lambda: SCARCE)
        proof = lists.certificate.proof
        fewer = replace(proof.components[0], case=FewestClassParameters(stated(lists) - 1))
        forged = replace(lists, certificate=replace(lists.certificate, proof=replace(proof, components=(fewer,))))
        assert verify(lists, problem.table)
        assert not verify(forged, problem.table)
        assert not verify(replace(lists, score=lists.score + 0.5), problem.table)
        for gap in (-0.5, float("nan")):
            narrow = replace(lists.certificate, proof=replace(proof, gap=gap))
            assert not verify(replace(lists, certificate=narrow), problem.table)

    def test_worse_i_maps_and_other_graphs_are_refused_without_all_sets(self, monkeypatch):
        monkeypatch.setattr("anbexact.search.exact.plan.available_memory", lambda: SCARCE)
        for seed in repeats(4):
            problem = random_problem(seed, 3, n_rows=120)
            best = learn_mcp(problem.table, n_jobs=1)
            for graph in ({}, {"f0": ("c",)}, {"f1": ("f0",), "f2": ("c", "f1")}):
                parents = {name: graph.get(name, ()) for name in problem.names}
                other = restated(parents, best, problem.table)
                assert verify(other, problem.table) == (parents == dict(best.parents))

    @pytest.mark.slow
    def test_more_features_than_fit(self):
        table = random_problem(4, 30, n_rows=40, max_arity=2).table
        structure = learn_mcp(table, max_parents=2, memory_limit=4e9, n_jobs=1)
        assert structure.certificate.optimal
        assert max(map(len, structure.parents.values())) <= 2

    def test_time_limit(self):
        problem = random_problem(6, 8, n_rows=200)
        structure = learn_mcp(problem.table, time_limit=1e-9, memory_limit=SCARCE, n_jobs=1)
        assert structure.parents["c"] == ()
        assert not structure.certificate.optimal
        assert "class parameters were not minimised" in structure.certificate.method

    def test_class_parameters_are_proved_before_the_score(self, monkeypatch):
        monkeypatch.setattr(OrderProgramme.best_map, "__defaults__", (0.0,))
        problem = random_problem(3, 5, n_rows=80)
        structure = learn_mcp(problem.table, memory_limit=SCARCE, n_jobs=1)
        assert not structure.certificate.optimal
        assert "of which none has fewer" in structure.certificate.method
        best = learn_mcp(problem.table, n_jobs=1)
        fewest = stated(best)
        assert structure.certificate.upper_bound >= best.score
        assert structure.certificate.gap == pytest.approx(structure.certificate.upper_bound - structure.score)
        assert oracles.class_parameters(problem.arities, problem.n, numbered(structure, problem)) == fewest

    def test_constraints_that_no_order_meets(self):
        table = random_problem(6, 4).table
        required = [("f0", "f1"), ("f1", "f2"), ("f2", "f0")]
        with pytest.raises(ValueError, match=r"cycle|no structure satisfies the constraints"):
            learn_mcp(table, required=required, memory_limit=SCARCE, n_jobs=1)


def joint_rows(graph, arities, seed):
    """All joint states of a network of random tables, with their probabilities times 10⁶."""
    rng = np.random.default_rng(seed)
    tables = {v: rng.dirichlet([0.6] * arities[v], [arities[u] for u in of]) for v, of in graph.items()}
    rows = list(product(*map(range, arities)))
    weights = [1e6 * np.prod([tables[v][(*(row[u] for u in of), row[v])] for v, of in graph.items()]) for row in rows]
    return rows, weights


GRAPHS = {
    "the class in the middle": {0: (), 1: (0,), 4: (1,), 2: (4,), 3: (2,)},
    "the class a collider": {0: (), 1: (), 4: (0, 1), 2: (4,), 3: ()},
    "a spouse": {4: (), 0: (), 1: (4, 0), 2: (0,), 3: (2,)},
}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_is_an_i_map_with_as_few_parameters_as_any_of_the_distribution(graph):
    """Every separation in the network holds in the true one; no order of separations has fewer class parameters."""
    arities = [2, 3, 2, 2, 3]
    rows, weights = joint_rows(graph, arities, 1)
    structure = learn_mcp(table_of(rows, weights, arities), BDeu(1.0), n_jobs=1)
    found = {v: tuple(4 if p == "c" else int(p[1]) for p in structure.parents[f"f{v}"]) for v in range(4)} | {4: ()}
    for x, y in combinations(range(5), 2):
        for given_ in oracles.subsets(v for v in range(5) if v not in (x, y)):
            if oracles.d_separated(found, x, y, given_):
                assert oracles.d_separated(graph, x, y, given_)

    def boundary(v, before):
        """The smallest set among the class and the features before that separates v from the rest of them."""
        return next(
            own
            for own in oracles.subsets([*before, 4])
            if all(oracles.d_separated(graph, v, u, own) for u in [*before, 4] if u not in own)
        )

    maps = [{4: ()} | {v: boundary(v, order[:k]) for k, v in enumerate(order)} for order in permutations(range(4))]
    fewest = min(oracles.class_parameters(arities, 4, other) for other in maps)
    assert oracles.class_parameters(arities, 4, found) == stated(structure) == fewest


class TestTies:
    def test_a_copy_of_the_class_is_its_only_child(self):
        """The class and its copy tell as much of the others: a family without the class has no class parameters."""
        rows = [(c, (c + noise) % 2, c) for c in (0, 1) for noise in (0, 0, 0, 1)] * 10
        structure = learn_mcp(table_of(rows, [1.0] * len(rows), [2, 2, 2]), n_jobs=1)
        assert structure.children("c") == ("f0",)
        assert structure.parents["f1"] == ("f0",)

    def test_of_copies_the_first_in_table_order_is_the_parent(self):
        problem = random_problem(5, 2, unseen=False, n_rows=80)
        rows = [(row[0], row[0], *row[1:]) for row in problem.rows]
        table = table_of(rows, problem.weights, [problem.arities[0], *problem.arities])
        structures = [learn_mcp(table, n_jobs=n_jobs) for n_jobs in (1, 2)]
        assert structures[0].parents == structures[1].parents
        assert verify(structures[0], table)
        assert "f1" not in structures[0].parents["f2"]

    def test_without_a_penalty_equal_scores_are_decided_by_class_parameters(self):
        rows = [(0, 0, 0), (1, 1, 1), (0, 0, 0), (1, 1, 1)]
        structure = learn_mcp(table_of(rows, [1.0] * 4, [3, 2, 2]), LL(), n_jobs=1)
        assert stated(structure) == 1 + 2 * 1, "one feature below the class, the other below that feature"


class TestConstraints:
    @pytest.mark.parametrize("limit", [1, 2])
    def test_max_parents_counts_the_class(self, limit):
        problem = random_problem(3, 4)
        structure = learn_mcp(problem.table, max_parents=limit, n_jobs=1)
        assert max(map(len, structure.parents.values())) <= limit
        assert verify(structure, problem.table)

        def local(v, parents):
            if len(parents) > limit:
                return -np.inf
            return oracles.bdeu_local(problem.rows, problem.weights, problem.arities, v, parents, 1.0)

        count, score = oracles.fewest_over_orders(4, local, problem.arities)
        assert (stated(structure), structure.score) == (count, pytest.approx(score))

    def test_required_and_forbidden_arcs(self):
        problem = random_problem(7, 4)
        required, forbidden = [("c", "f3"), ("f2", "f0")], [("c", "f0"), ("f0", "f1")]
        structure = learn_mcp(problem.table, required=required, forbidden=forbidden, n_jobs=1)
        assert set(required) <= set(structure.edges)
        assert not set(forbidden) & set(structure.edges)
        assert verify(structure, problem.table)

        def local(v, parents):
            barred = (v == 0 and 4 in parents) or (v == 1 and 0 in parents)
            lacking = (v == 3 and 4 not in parents) or (v == 0 and 2 not in parents)
            value = oracles.bdeu_local(problem.rows, problem.weights, problem.arities, v, parents, 1.0)
            return -1e9 + value if barred or lacking else value

        fewest_admitted = [
            (oracles.class_parameters(problem.arities, 4, graph), -sum(local(v, of) for v, of in graph.items()))
            for graph in admitted_maps(local, problem)
        ]
        assert (stated(structure), -structure.score) == pytest.approx(min(fewest_admitted))

    def test_arcs_to_the_class_cannot_be_required(self):
        with pytest.raises(ValueError, match="the class 'c' has no parents here"):
            learn_mcp(random_problem(1, 2).table, required=[("f0", "c")])

    def test_what_admits_no_structure(self):
        forbidden = [("c", "f0"), ("f1", "f0")]
        with pytest.raises(ValueError, match=r"the edge .* is both required and forbidden"):
            learn_mcp(random_problem(1, 2).table, required=[("c", "f0")], forbidden=forbidden)


def admitted_maps(local, problem):
    """The I-maps of the orders all of whose families are admitted."""
    for order in permutations(range(4)):
        graph = {4: ()}
        for k, v in enumerate(order):
            graph[v] = max(
                oracles.best_families(4, local, problem.arities, order[:k], v, 1e-9), key=lambda own: local(v, own)
            )
        if sum(local(v, of) for v, of in graph.items()) > -1e8:
            yield graph


class TestCertificate:
    def test_features_of_one_state_stand_alone(self):
        problem = random_problem(2, 3, unseen=False)
        rows = [(0, *row) for row in problem.rows]
        table = table_of(rows, problem.weights, [1, *problem.arities])
        structure = learn_mcp(table, n_jobs=1)
        assert structure.parents["f0"] == ()
        assert structure.score == pytest.approx(learn_mcp(problem.table, n_jobs=1).score)
        assert verify(structure, table)

    def test_forged_certificates_are_refused(self):
        problem = random_problem(11, 4, n_rows=200)
        table, structure = problem.table, learn_mcp(problem.table, n_jobs=1)
        assert verify(structure, table)
        certificate, proof = structure.certificate, structure.certificate.proof

        def with_part(**changed):
            parts = (replace(proof.components[0], **changed),)
            return replace(structure, certificate=replace(certificate, proof=replace(proof, components=parts)))

        dense = {name: ("c",) if name != "c" else () for name in table.vocabulary.names}
        forged = [
            with_part(case=FewestClassParameters(stated(structure) - 1)),
            with_part(bound=structure.score - 1.0),
            with_part(features=proof.components[0].features[1:]),
            replace(structure, score=structure.score + 0.5),
            replace(structure, certificate=replace(certificate, upper_bound=structure.score - 1.0, gap=-1.0)),
            replace(structure, parents=dense),
            restated(learn_gbn_without_parents(table), structure, table),
            replace(
                structure, certificate=replace(certificate, proof=replace(proof, components=proof.components * 2))
            ),
        ]
        for k, one in enumerate(forged):
            assert not verify(one, table), k

    def test_a_truthful_account_of_a_worse_i_map_is_refused(self):
        """Score and count are right, and the structure is the I-map of an order, but not the best of these."""
        for seed in repeats(8):
            problem = random_problem(seed, 3, n_rows=120)
            best, local = learn_mcp(problem.table, n_jobs=1), local_of(problem, 1.0)
            for order in permutations(range(3)):
                graph = {3: ()}
                for k, v in enumerate(order):
                    own = oracles.best_families(3, local, problem.arities, order[:k], v, 1e-9)
                    graph[v] = max(own, key=lambda own: local(v, own))
                names = problem.names
                parents = {names[v]: tuple(names[u] for u in graph[v]) for v in range(4)}
                other = restated(parents, best, problem.table)
                as_good = stated(other) == stated(best) and other.score >= best.score - 1e-8
                assert verify(other, problem.table) == as_good

    def test_too_large_a_search_is_refused_with_numbers(self):
        table = random_problem(4, 30, n_rows=20).table
        with pytest.raises(SearchTooLargeError, match=r"over 30 features enumerates 2\^31 sets .*enough for about"):
            learn_mcp(table, memory_limit=4e9)

    def test_time_limit(self, monkeypatch):
        problem = random_problem(6, 8, n_rows=200)
        deadlines = watch(monkeypatch, module)
        structure = learn_mcp(problem.table, time_limit=1e-9, n_jobs=1)
        assert structure.parents["c"] == ()
        assert not structure.certificate.optimal
        assert "class parameters were not minimised" in structure.certificate.method
        assert deadlines[0].late < 100


def learn_gbn_without_parents(table):
    """The parents in the best network whose class has none."""
    forbidden = [(name, "c") for name in table.vocabulary.features]
    return dict(learn_gbn(table, forbidden=forbidden).parents)


def restated(parents, structure, table):
    """A structure with other parents, its score and its class parameters told as they are."""
    score = sum(BDeu().local_score(table, name, of) for name, of in parents.items())
    count = module.class_parameters(parents, "c", table.vocabulary.arity)
    proof = structure.certificate.proof
    part = replace(proof.components[0], bound=score, case=FewestClassParameters(count))
    certificate = replace(structure.certificate, upper_bound=score, proof=replace(proof, components=(part,)))
    return replace(structure, parents=parents, score=score, certificate=certificate)
