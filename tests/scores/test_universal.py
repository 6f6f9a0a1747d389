"""The universal measure: against its formula, what follows from it, and the searches that use it."""

import itertools
from dataclasses import replace
from functools import partial
from math import exp, factorial, floor, inf, log, prod

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mixed import STATES, Mixed, mixed_columns
from strategies import problems, table_of
from tiers import examples

import anbexact.search.exact.lattice as lattice
import anbexact.search.scoring.universal_sets as mixtures
from anbexact import (
    DiscreteTable,
    SearchTooLargeError,
    UniversalMeasure,
    learn_anb,
    learn_ckg,
    learn_gbn,
    learn_naive_bayes,
    learn_tan,
    verify,
)
from anbexact._runtime.deadline import Deadline
from anbexact.discretize import CountPartition, EqualWidthPartition, FixedCutsPartition, QuantilePartition
from anbexact.scores import KT, Score, SetScore, Universal, universal_information
from anbexact.search import learn_greedy_gbn
from anbexact.search.exact import plan
from anbexact.search.exact.lattice import at_all_levels, set_scorer
from anbexact.search.scoring.pair_scores import FamilyScorer
from anbexact.search.scoring.set_scores import prepare
from anbexact.search.scoring.universal_sets import Mixture
from anbexact.selection import UniversalTest
from anbexact.tables.partitions import NestedPartition


def random_mixed(seed, kinds, n_rows=60, levels=None, epsilon=None, weights=None):
    """Columns that depend on those before them."""
    rng = np.random.default_rng(seed)
    columns = {}
    last = rng.normal(size=n_rows)
    for j, kind in enumerate(kinds):
        last = 0.8 * last + 0.6 * rng.normal(size=n_rows)
        columns[f"{kind}{j}"] = {
            "q": lambda x: np.round(x, 1),
            "i": lambda x: np.clip(2 * x + 4, -4, 12),
            "n": lambda x: np.rint(np.abs(2 * x)),
            "o": lambda x: np.clip(3 * x + 3, -4, 12),
            "d": lambda x: np.array(STATES)[np.clip(np.rint(x) + 1, 0, 2).astype(int)],
        }[kind](last).tolist()
    weights = [1.0] * n_rows if weights is None else rng.choice(weights, n_rows).tolist()
    return Mixed(columns, weights, levels, epsilon)


class TestFormula:
    @given(mixed_columns(weights=("ones",), epsilons=(None,)))
    def test_is_a_mixture_of_sequential_products(self, mixed):
        """Symbol after symbol, (times seen + ½) / (i + q/2), at all tuples of levels."""
        table, score = mixed.read()
        for names in oracles.subsets(mixed.columns):
            expected = oracles.universal_measure(mixed.all_views(names), mixed.weights, oracles.kt_by_steps)
            assert score.set_score(table, names) == pytest.approx(expected, rel=1e-9, abs=1e-9)

    @given(mixed_columns())
    def test_of_weights_and_by_hannan_and_quinn(self, mixed):
        table, score = mixed.read()
        for names in oracles.subsets(mixed.columns):
            assert score.set_score(table, names) == pytest.approx(mixed.log_measure(names), rel=1e-9, abs=1e-9)

    @given(mixed_columns())
    def test_local_scores_are_differences(self, mixed):
        table, score = mixed.read()
        child, *parents = mixed.columns
        expected = mixed.log_measure([child, *parents]) - mixed.log_measure(parents)
        assert score.local_score(table, child, parents) == pytest.approx(expected, rel=1e-9, abs=1e-8)
        assert score.local_score(table, child, parents[::-1]) == pytest.approx(expected, rel=1e-9, abs=1e-8)

    @given(mixed_columns(weights=("whole",)).filter(lambda mixed: not any(name[0] == "q" for name in mixed.columns)))
    def test_weights_are_copies(self, mixed):
        repeats = [int(weight) for weight in mixed.weights]
        columns = {
            name: [value for value, k in zip(column, repeats, strict=True) for _ in range(k)]
            for name, column in mixed.columns.items()
        }
        copied = Mixed(columns, [1.0] * sum(repeats), mixed.levels, mixed.epsilon)
        ours, theirs = (case.read() for case in (mixed, copied))
        for names in oracles.subsets(mixed.columns):
            first, second = (score.set_score(table, names) for table, score in (ours, theirs))
            assert first == pytest.approx(second, rel=1e-9, abs=1e-9)

    def test_by_hand(self):
        """Two rows in the same half of [0, 4]: ½ [½ ¾ / 2² at level 1, and ¼ (½/3) / 1² at level 2]."""
        table, score = UniversalMeasure({"x": EqualWidthPartition(0, 4)}, levels=2).read(
            pd.DataFrame({"x": [0.5, 1.5]})
        )
        expected = log((1 / 2 * 3 / 4 / 4 + 1 / 4 * (1 / 2) / 3 / 1) / 2)
        assert score.set_score(table, ["x"]) == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize("n_rows", [1, 2, 3, 7, 8, 20, 21, 54, 55, 148, 149, 2980, 2981, 3000])
    def test_number_of_levels(self, n_rows):
        """max(1, ⌊ln N / m⌋) for m continuous variables, less where a variable has fewer."""
        deep = EqualWidthPartition(0, 1).fit("x", np.array([0.5]), np.array([1.0]), 9)
        shallow, uncut = NestedPartition((0.5,), (1,), (0.5, 0.5)), NestedPartition((), (), (1.0,))
        score = Universal({"x": deep, "y": shallow, "z": uncut, "w": deep})
        assert score.levels_of(["d", "e"], float(n_rows)) == (1, 1)
        for size in range(1, 5):
            names = ["d", *["x", "y", "z", "w"][:size], "e"]
            most = max(1, floor(log(n_rows) / size))
            assert score.levels_of(names, float(n_rows)) == (1, *(most, 1, 1, most)[:size], 1)
        assert replace(score, levels=3).levels_of(["x", "y", "d"], float(n_rows)) == (3, 1, 1)
        assert score.levels_of(["x"], 0.3) == (1,)
        assert score.most_variables(float(n_rows)) == max(2, floor(log(n_rows)))

    def test_partitions_have_as_many_levels_as_sets_of_one_variable(self):
        x = np.linspace(0, 1, 148)
        _, score = UniversalMeasure({"x": EqualWidthPartition(0, 1)}).read(pd.DataFrame({"x": x}))
        assert score.n_levels("x") == 4
        _, score = UniversalMeasure({"x": EqualWidthPartition(0, 1)}).read(
            pd.DataFrame({"x": x}), sample_weight=[1.01] * 148
        )
        assert score.n_levels("x") == 5
        _, score = UniversalMeasure({"x": EqualWidthPartition(0, 1)}, levels=2).read(pd.DataFrame({"x": x}))
        assert score.n_levels("x") == 2


class TestDiscrete:
    @given(problems())
    def test_is_the_measure_of_krichevsky_and_trofimov(self, problem):
        args = problem.rows, problem.weights, problem.arities
        for variables in oracles.subsets(range(problem.n + 1)):
            cells = [tuple(row[v] for v in variables) for row in problem.rows]
            expected = oracles.kt_by_gamma(cells, problem.weights, oracles.n_cells(problem.arities, variables))
            names = [problem.names[v] for v in variables]
            for score in (KT(), Universal()):
                assert score.set_score(problem.table, names) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        for variables in oracles.subsets(range(problem.n + 1)):
            q = oracles.n_cells(problem.arities, variables)
            by_bdeu = oracles.bdeu_set_score(*args, variables, q / 2)
            shift = oracles.bdeu_set_score(*args, [], q / 2)
            ours = KT().set_score(problem.table, [problem.names[v] for v in variables])
            assert ours == pytest.approx(by_bdeu - shift, rel=1e-8, abs=1e-8)

    def test_sums_to_one_over_all_sequences(self):
        arities = [2, 3]
        for variables in ([0], [1], [0, 1]):
            states = list(itertools.product(*(range(arities[v]) for v in variables)))
            total = 0.0
            for sequence in itertools.product(states, repeat=4):
                table = table_of(sequence, None, [arities[v] for v in variables])
                total += exp(KT().set_score(table, table.vocabulary.names))
            assert total == pytest.approx(1.0, rel=1e-12)

    def test_keeps_the_protocol_of_set_scores(self):
        assert isinstance(KT(), SetScore)
        assert KT().cell_parameter(np.array([1, 6, 10**30], dtype=object)).tolist() == [0.5] * 3
        expected = [-sum(log(q / 2 + i) for i in range(7)) for q in (1, 6)]
        assert KT().set_constant(np.array([1.0, 6.0]), 7.0) == pytest.approx(expected)
        assert isinstance(Universal(), Score)


THREE = NestedPartition((0.5, 1.25), (1, 2), (0.5, 0.75, 3.0))
FOUR = NestedPartition((0.25, 0.5, 0.75), (2, 1, 2), (0.25,) * 4)


class TestSumsToOne:
    """g is a density: over all sequences of finest cells, g times the measures of the cells adds up to 1."""

    def total(self, partitions, arities, n_rows, levels=None):
        """The sum, sequences with the same counts taken together."""
        states = list(itertools.product(*map(range, arities)))
        names = ["f0", "c"][-len(arities) :]
        score = Universal(dict(zip(names, partitions, strict=True)), levels)
        score = replace(score, partitions={name: own for name, own in score.partitions.items() if own is not None})
        total = 0.0
        for drawn in itertools.combinations_with_replacement(range(len(states)), n_rows):
            times = np.bincount(drawn, minlength=len(states))
            table = table_of(states, times.astype(float), arities)
            ways = factorial(n_rows) / prod(factorial(k) for k in times.tolist())
            widths = sum(
                k * log(own.masses[state[v]])
                for k, state in zip(times, states, strict=True)
                for v, own in enumerate(partitions)
                if own is not None
            )
            total += ways * exp(score.set_score(table, names) + widths)
        return total

    @pytest.mark.parametrize("n_rows", [1, 3, 8])
    @pytest.mark.parametrize("partition", [THREE, FOUR])
    def test_one_variable(self, partition, n_rows):
        assert self.total([partition], [len(partition.masses)], n_rows) == pytest.approx(1.0, rel=1e-11)

    @pytest.mark.parametrize("other", [None, FOUR])
    def test_two_variables(self, other):
        assert self.total([THREE, other], [3, 4], 3, levels=2) == pytest.approx(1.0, rel=1e-11)


class TestChangesOfScale:
    """They add a constant to every structure's score, so that the best structures stay the best."""

    @pytest.mark.parametrize("factor", [1e-6, 0.37, 250.0])
    @pytest.mark.parametrize("epsilon", [None, 0.05])
    def test_of_an_interval(self, factor, epsilon):
        mixed = random_mixed(1, "iqid", n_rows=80, epsilon=epsilon, weights=[1.0, 2.0, 0.3])
        scaled = dict(mixed.columns)
        scaled["i2"] = [factor * value + 5 for value in mixed.columns["i2"]]
        rules = {**mixed.rules, "i2": EqualWidthPartition(factor * -4 + 5, factor * 12 + 5)}
        table, score = UniversalMeasure(rules, None, epsilon).read(
            pd.DataFrame(scaled).drop(columns="d3"),
            pd.Series(mixed.columns["d3"], name="d3"),
            sample_weight=mixed.weights,
            categories={"d3": STATES},
        )
        assert self.shifts(mixed, table, score) == pytest.approx(-sum(mixed.weights) * log(factor), abs=1e-7)
        assert learn_gbn(table, score).parents == learn_gbn(*mixed.read("d3")).parents

    @pytest.mark.parametrize("change", [lambda x: 1e5 * x - 3, np.exp, lambda x: x**3], ids=["affine", "exp", "cube"])
    def test_of_quantiles(self, change):
        mixed = random_mixed(2, "qinq", n_rows=80)
        changed = replace(mixed, columns={**mixed.columns, "q0": change(np.array(mixed.columns["q0"])).tolist()})
        assert self.shifts(mixed, *changed.read()) == pytest.approx(0.0, abs=1e-9)

    def shifts(self, mixed, table, score):
        """What the scores of all graphs change by; it must be the same for all."""
        ours, ours_score = mixed.read()
        names = ours.vocabulary.names
        sets = list(oracles.subsets(names))
        before, after = (
            {frozenset(s): g.set_score(t, s) for s in sets} for t, g in ((ours, ours_score), (table, score))
        )

        def total(values, graph):
            return sum(
                values[frozenset({names[v], *(names[u] for u in of_v)})] - values[frozenset(names[u] for u in of_v)]
                for v, of_v in graph.items()
            )

        found = [total(after, graph) - total(before, graph) for graph in oracles.graphs(len(names))]
        assert len(found) == 543
        assert max(found) - min(found) < 1e-7
        return found[0]


class TestManySets:
    """The scores of many sets at once, against one set after the other."""

    def check(self, mixed, class_name=None, max_size=None):
        table, score = mixed.read(class_name)
        names, features = table.vocabulary.names, table.vocabulary.features
        expected = {s: score.set_score(table, [names[v] for v in s]) for s in oracles.subsets(range(len(names)))}
        for threads in (1, 2):
            scorer = FamilyScorer(table, score, threads, Deadline())
            sets = np.full((len(expected), len(names)), -1)
            for row, s in zip(sets, expected, strict=True):
                row[len(names) - len(s) :] = s
            found = scorer.set_scores(sets, "", None)
            assert found == pytest.approx(list(expected.values()), rel=1e-10, abs=1e-9)
        most = len(features) if max_size is None else max_size
        problem = prepare(table, score, most)
        coarse = set_scorer(problem)(problem, 1, Deadline(), None)
        found = at_all_levels(problem, coarse, table, score, 1, Deadline(), None)
        for mask, value in enumerate(found):
            if mask.bit_count() <= most:
                members = [name for b, name in enumerate(problem.features) if mask >> b & 1]
                members = sorted(names.index(name) for name in [*members, *table.vocabulary.common_parents])
                assert value == pytest.approx(expected[tuple(members)], rel=1e-10, abs=1e-9)

    @given(mixed_columns(), st.none() | st.integers(1, 3))
    def test_small_tables(self, mixed, max_size):
        self.check(mixed, max_size=max_size)
        discrete = [name for name in mixed.columns if name[0] == "d"]
        if discrete and len(mixed.columns) > 1:
            self.check(mixed, discrete[-1], max_size)

    @pytest.mark.parametrize("class_name", [None, "d5"])
    @pytest.mark.parametrize("levels", [None, 1, 2])
    @pytest.mark.parametrize("weights", [[1.0], [1.0, 33.0, 400.0], [0.01, 2.5]])
    def test_larger_tables(self, class_name, levels, weights):
        mixed = random_mixed(3, "qidnod", n_rows=70, levels=levels, weights=weights)
        self.check(mixed, class_name)
        self.check(mixed, class_name, max_size=2)

    def test_batches_are_cut_where_they_get_long(self, monkeypatch):
        monkeypatch.setattr(mixtures, "TERMS_PER_BATCH", 10)
        self.check(random_mixed(4, "iqin", n_rows=50, levels=3))

    def test_hannan_and_quinn(self):
        self.check(random_mixed(5, "iqdn", n_rows=90, epsilon=0.05), "d2")

    @given(
        st.lists(st.integers(1, 4), min_size=1, max_size=6),
        st.floats(1, 5000),
        st.none() | st.integers(1, 3),
        st.booleans(),
        st.integers(0, 6),
    )
    def test_number_of_terms(self, n_levels, weight, levels, with_class, max_size):
        """What the forecast of the time goes by, and which sets are scored at all levels, one by one."""
        table = table_of([(0,) * len(n_levels)], [weight], [max(most, 2) for most in n_levels])
        names = table.vocabulary.names
        table = table if with_class else table.without_class()
        partitions = {
            name: NestedPartition(tuple(range(most)), tuple(range(1, most + 1)), (1.0,) * (most + 1))
            for name, most in zip(names, n_levels, strict=True)
            if most > 1 and name in table.vocabulary.features
        }
        features = table.vocabulary.features

        def most(m):
            return levels or max(1, floor(log(weight) / m))

        mixed = [
            m
            for m in range(1, len(partitions) + 1)
            if any(min(most(m), n_levels[names.index(v)]) > 1 for v in partitions)
        ]
        expected, masks = 0, set()
        for chosen in oracles.subsets(features, max_size):
            m = sum(name in partitions for name in chosen)
            if m in mixed:
                expected += prod(min(most(m), n_levels[names.index(name)]) for name in chosen)
                masks.add(sum(1 << features.index(name) for name in chosen))
        mixture = Mixture(table, Universal(partitions, levels))
        assert mixture.n_terms(max_size) == expected
        found = np.concatenate(list(mixture.mixed_sets(features, max_size))).tolist()
        assert len(found) == len(masks)
        assert set(found) == masks


def brute_force(mixed, class_name, **constraints):
    """Highest score of the structures with the class as common parent, or of all graphs without a class."""
    features = [name for name in mixed.columns if name != class_name]
    common = [] if class_name is None else [class_name]
    best = oracles.best_over_orders(features, lambda i, s: mixed.local(i, [*common, *s]), **constraints)
    return best + sum(mixed.local(name, []) for name in common)


class OutOfTime(FamilyScorer):
    """Finds that time ran out."""

    def set_scores(self, members, *_):
        return None if len(members) else np.empty(0)


class TestSearches:
    CASES = {  # noqa: RUF012
        "quantiles": random_mixed(11, "qqqd", n_rows=100),
        "intervals": random_mixed(12, "iiid", n_rows=60),
        "mixed": random_mixed(13, "qndid", n_rows=60),
        "one level": random_mixed(14, "qnid", n_rows=60, levels=1),
        "two levels": random_mixed(15, "oqnd", n_rows=40, levels=2, weights=[0.4, 3.0]),
        "Hannan, Quinn": random_mixed(16, "qidd", n_rows=120, epsilon=0.05),
    }

    @pytest.fixture(params=CASES)
    def mixed(self, request):
        return self.CASES[request.param]

    @pytest.fixture
    def class_name(self, mixed):
        return list(mixed.columns)[-1]

    @pytest.mark.parametrize("most", [None, 1])
    def test_augmented_naive_bayes(self, mixed, class_name, most):
        table, score = mixed.read(class_name)
        structure = learn_anb(table, score, max_parents=most)
        self.check_proved(structure, table, mixed, brute_force(mixed, class_name, max_parents=most))

    @pytest.mark.parametrize("most", [None, 2])
    def test_general_networks(self, mixed, class_name, most):
        table, score = mixed.read(class_name)
        structure = learn_gbn(table, score, max_parents=most)
        self.check_proved(structure, table, mixed, brute_force(mixed, None, max_parents=most))

    def check_proved(self, structure, table, mixed, best):
        assert oracles.is_acyclic(dict(structure.parents))
        own = sum(mixed.local(name, of_name) for name, of_name in structure.parents.items())
        assert structure.score == pytest.approx(own, rel=1e-9)
        assert structure.score == pytest.approx(best, rel=1e-9)
        assert structure.certificate.optimal
        assert structure.certificate.upper_bound == pytest.approx(best, rel=1e-9)
        assert verify(structure, table)
        assert not verify(replace(structure, score=structure.score + 0.5), table)

    def test_constraints(self, mixed, class_name):
        table, score = mixed.read(class_name)
        a, b, *_ = table.vocabulary.features
        limits = {"required": [(b, a)], "forbidden": [(class_name, a)]}
        structure = learn_gbn(table, score, **limits)
        self.check_proved(structure, table, mixed, brute_force(mixed, None, **limits))

    def test_a_lesser_structure_with_its_own_score_as_bound_does_not_pass(self, mixed, class_name):
        table, score = mixed.read(class_name)
        best, naive = learn_gbn(table, score), learn_naive_bayes(table, score)
        (part,) = best.certificate.proof.components
        proof = replace(best.certificate.proof, components=(replace(part, bound=naive.score),))
        certificate = replace(best.certificate, upper_bound=naive.score, proof=proof)
        assert best.score > naive.score + 1e-6
        assert not verify(replace(naive, certificate=certificate), table)
        gap = best.score - naive.score
        proof = replace(proof, components=(part,), gap=proof.gap + gap + 1e-9)
        certificate = replace(certificate, upper_bound=best.score, gap=gap, optimal=False, proof=proof)
        assert verify(replace(naive, certificate=certificate), table)

    def test_trees(self, mixed, class_name):
        table, score = mixed.read(class_name)
        features = table.vocabulary.features
        best, _ = oracles.best_branching(
            len(features), lambda i, s: mixed.local(features[i], [class_name, *(features[v] for v in s)]), tree=True
        )
        structure = learn_tan(table, score)
        assert structure.score == pytest.approx(best + mixed.local(class_name, []), rel=1e-9)
        assert structure.certificate.optimal

    def test_consistent_k_graphs(self, mixed, class_name):
        table, score = mixed.read(class_name)
        features = table.vocabulary.features

        def local(i, s):
            return mixed.local(features[i], [class_name, *(features[v] for v in s)])

        _, tree = oracles.best_branching(len(features), local, tree=True)
        best, _ = oracles.best_consistent_graph(tree, local, 2)
        structure = learn_ckg(table, score, k=2)
        assert structure.score == pytest.approx(best + mixed.local(class_name, []), rel=1e-9)
        assert structure.certificate.optimal

    def test_hill_climbing_and_naive_bayes(self, mixed, class_name):
        table, score = mixed.read(class_name)
        greedy, naive = learn_greedy_gbn(table, score), learn_naive_bayes(table, score)
        for structure in (greedy, naive):
            own = sum(mixed.local(name, of_name) for name, of_name in structure.parents.items())
            assert structure.score == pytest.approx(own, rel=1e-9)
            assert structure.certificate.upper_bound >= structure.score
        assert sum(mixed.local(name, []) for name in mixed.columns) < greedy.score
        assert greedy.score <= brute_force(mixed, None) + 1e-6
        assert not greedy.certificate.optimal

    @pytest.mark.parametrize("stage", ["coarsest level", "all levels", "dynamic programme"])
    def test_a_time_limit_leaves_a_bound(self, mixed, class_name, stage, monkeypatch):
        table, score = mixed.read(class_name)
        best = {search: search(table, score).score for search in (learn_anb, learn_gbn)}
        if stage == "coarsest level":
            monkeypatch.setattr(lattice, "score_all_sets", lambda *_: None)
        elif stage == "all levels":
            monkeypatch.setattr(lattice, "FamilyScorer", OutOfTime)
        else:
            monkeypatch.setattr(lattice, "solve_sets", lambda *_: None)
        for search, of_best in best.items():
            structure = search(table, score, time_limit=60)
            certificate = structure.certificate
            assert ("stopped by time_limit" in certificate.method) != (stage == "all levels" and score.levels == 1)
            assert structure.score <= of_best + 1e-6
            assert certificate.gap == pytest.approx(certificate.upper_bound - structure.score)
            assert of_best <= certificate.upper_bound + 1e-6 < inf


class TestUpperBound:
    @given(mixed_columns(), st.booleans())
    @examples(150)
    def test_holds_for_every_parent_set(self, mixed, with_class):
        discrete = [name for name in mixed.columns if name[0] == "d"]
        table, score = mixed.read(discrete[-1] if discrete and with_class and len(mixed.columns) > 1 else None)
        common = table.vocabulary.common_parents
        for child in table.vocabulary.features:
            bound = score.local_upper_bound(table, child)
            for others in oracles.subsets(name for name in table.vocabulary.features if name != child):
                assert score.local_score(table, child, [*common, *others]) <= bound + 1e-8

    @pytest.mark.parametrize("seed", range(6))
    @pytest.mark.parametrize("epsilon", [None, 0.05])
    def test_on_larger_tables(self, seed, epsilon):
        mixed = random_mixed(seed, "qinod", n_rows=150, levels=(None, 3)[seed % 2], epsilon=epsilon)
        table, score = mixed.read()
        for child in mixed.columns:
            bound = score.local_upper_bound(table, child)
            for parents in oracles.subsets(name for name in mixed.columns if name != child):
                assert score.local_score(table, child, parents) <= bound + 1e-8

    @pytest.mark.parametrize("n_others", [1, 2, 3])
    def test_reckons_with_levels_that_a_child_takes_from_its_parents(self, n_others):
        """A variable in one cell has local scores above 0: beside it, g of even parents is a mean of fewer levels."""
        points = list(itertools.product(np.arange(4) / 4 + 0.1, repeat=n_others))
        weights = np.full(len(points), exp(2 * n_others + 0.5) / len(points))
        frame = pd.DataFrame(points, columns=[f"x{j}" for j in range(n_others)]).assign(w=1.0, z=1.0)
        parents = {name: EqualWidthPartition(0, 1) for name in frame if name not in "wz"}
        rules = {**parents, "w": QuantilePartition(), "z": QuantilePartition()}
        table, score = UniversalMeasure(rules).read(frame, sample_weight=weights)
        local = score.local_score(table, "z", list(parents))
        assert 0 < local <= score.local_upper_bound(table, "z")

    def test_is_no_higher_than_it_need_be(self):
        table, score = random_mixed(7, "dd").read()
        assert score.local_upper_bound(table, "d0") == 0.0
        mixed = random_mixed(8, "iqd", levels=2)
        table, score = mixed.read()
        for name in mixed.columns:
            widest = max(-sum(log_eta) for _, _, log_eta in mixed.views(name, 1))
            assert score.local_upper_bound(table, name) == pytest.approx(widest)
        mixed = random_mixed(
            9, "iqnd", n_rows=150
        )  # of one variable 5 levels (the quantiles 5, too), of two 2, of three 1
        table, score = mixed.read()
        assert score.local_upper_bound(table, "d3") == 0.0
        widest = max(-sum(log_eta) for _, _, log_eta in mixed.views("i0", 1))
        assert score.local_upper_bound(table, "i0") == pytest.approx(widest + 2 * log(2))


class TestHashes:
    """Equal measures have equal ones, whatever the order of columns, and whatever becomes of the caller's mapping."""

    @pytest.mark.parametrize(
        ("make", "one", "other"),
        [
            (Universal, NestedPartition((0.5,), (1,), (0.5, 0.5)), NestedPartition((), (), (1.0,))),
            (UniversalMeasure, EqualWidthPartition(0, 1), FixedCutsPartition([[1], [0.5]], -4, 4)),
        ],
    )
    def test_of(self, make, one, other):
        mapping = {"a": one, 1: other}
        measure = make(mapping, 3, 0.5)
        expected = hash(measure)
        assert hash(make({1.0: other, "a": one}, np.int64(3), np.float64(0.5))) == expected
        assert make({1.0: other, "a": one}, 3, 0.5) == measure
        del mapping["a"]
        assert (hash(measure), set(measure.partitions)) == (expected, {"a", 1})
        assert len({measure, make(mapping, 3, 0.5), make({"a": one, 1: other}), make(), make()}) == 4
        assert replace(measure, levels=2) != measure


class TestRefusals:
    FRAME = pd.DataFrame({"x": np.linspace(0, 1, 20), "y": np.arange(20.0)})

    @pytest.mark.parametrize(
        ("measure", "message"),
        [
            (UniversalMeasure({"x": EqualWidthPartition(0, 0.5)}), "'x' contains .*between 0 and 0.5"),
            (UniversalMeasure({"x": CountPartition()}), "'x' is declared to contain counts"),
            (UniversalMeasure({"y": CountPartition(1)}), "'y' contains .*between 1 and inf"),
            (UniversalMeasure({"z": QuantilePartition()}), r"partitions names 'z', but the columns are \['x', 'y'\]"),
        ],
    )
    def test_columns_that_do_not_suit_the_rules(self, measure, message):
        with pytest.raises(ValueError, match=message):
            measure.read(self.FRAME)

    def test_columns_declared_twice(self):
        with pytest.raises(ValueError, match="'y' has declared states and a partition"):
            UniversalMeasure({"y": QuantilePartition()}).read(self.FRAME, categories={"y": list(range(20))})

    @pytest.mark.parametrize("value", [inf, -inf])
    @pytest.mark.parametrize("rules", [{}, {"x": EqualWidthPartition(0, 1)}])
    def test_infinite_values(self, value, rules):
        with pytest.raises(ValueError, match=r"'x', row 3: -?inf cannot be discretised"):
            UniversalMeasure(rules).read(self.FRAME.assign(x=self.FRAME["x"].replace(self.FRAME["x"][3], value)))

    def test_rows_that_do_not_count_may_hold_anything(self):
        frame = pd.concat([self.FRAME, pd.DataFrame({"x": [inf, 7.0], "y": [1.0, 1.0]})], ignore_index=True)
        weights = [1.0] * 20 + [0.0] * 2
        ours = UniversalMeasure({"x": EqualWidthPartition(0, 1)}).read(frame, sample_weight=weights)
        theirs = UniversalMeasure({"x": EqualWidthPartition(0, 1)}).read(self.FRAME)
        assert ours[1] == theirs[1]
        assert ours[1].set_score(ours[0], ["x", "y"]) == theirs[1].set_score(theirs[0], ["x", "y"])

    @pytest.mark.parametrize("levels", [0, -1, 1.5, True, "2", np.int64(0)])
    def test_levels(self, levels):
        for make in (Universal, UniversalMeasure):
            with pytest.raises(ValueError, match="levels must be None or a whole number above 0"):
                make({}, levels)

    @pytest.mark.parametrize("epsilon", [0, -0.1, inf, "1"])
    def test_epsilon(self, epsilon):
        for make in (Universal, UniversalMeasure):
            with pytest.raises(ValueError, match="epsilon must be a"):
                make({}, None, epsilon)

    def test_partitions_that_are_no_rules(self):
        with pytest.raises(TypeError, match="partition of 'x' must be a rule such as"):
            UniversalMeasure({"x": "quantiles"})
        with pytest.raises(TypeError, match="must map column names to rules, not be a list"):
            UniversalMeasure([QuantilePartition()])

    def test_a_table_of_other_states_than_the_cells(self):
        table = DiscreteTable.from_frame(pd.DataFrame({"x": ["a", "b", "c"]}))
        with pytest.raises(ValueError, match="the partition of 'x' has 2 cells, but the variable has 3 states"):
            Universal({"x": NestedPartition((0.5,), (1,), (0.5, 0.5))}).set_score(table, ["x"])

    def test_too_many_tuples_of_levels(self, monkeypatch):
        """Of one set, 3^14, or of all of them; few parents keep the sets small."""
        X = np.random.default_rng(0).normal(size=(30, 14))
        table, score = UniversalMeasure(levels=3).read(X, X[:, 0] > 0)
        with pytest.raises(SearchTooLargeError, match="up to 14 features have too many tuples of levels: give the"):
            learn_anb(table, score)
        assert learn_anb(table, score, max_parents=1).certificate.optimal
        monkeypatch.setattr(plan, "MOST_TERMS", 14 * 3 + 14 * 13 // 2 * 9 - 1)
        with pytest.raises(SearchTooLargeError, match="up to 2 features have too many tuples of levels"):
            learn_anb(table, score, max_parents=1)
        monkeypatch.setattr(plan, "MOST_TERMS", 14 * 3 + 14 * 13 // 2 * 9)
        assert learn_anb(table, score, max_parents=1).certificate.optimal

    def test_a_class_with_a_partition(self):
        table = DiscreteTable.from_frame(pd.DataFrame({"x": [1, 2, 3], "c": [0, 1, 1]}), class_name="c")
        with pytest.raises(ValueError, match="the class 'c' has a partition, but must be discrete"):
            learn_anb(table, Universal({"c": NestedPartition((0.5,), (1,), (0.5, 0.5))}))

    def test_text_with_a_partition(self):
        with pytest.raises(ValueError, match="column 'x' is given a partition, but contains 'a': pass numbers"):
            UniversalMeasure({"x": QuantilePartition()}).read(pd.DataFrame({"x": ["a", "b"]}))

    def test_a_class_that_is_none(self):
        with pytest.raises(ValueError, match="class_name='x' names y, which is not given"):
            UniversalMeasure().read(self.FRAME, class_name="x")


class TestRead:
    def test_columns_of_many_numbers_are_continuous(self):
        """Others only if they are named; a class stays discrete."""
        frame = pd.DataFrame({"many": np.arange(11.0), "few": np.arange(11.0) % 10, "named": [0.0, 1.0] * 5 + [0.0]})
        table, score = UniversalMeasure({"named": CountPartition()}).read(frame, pd.Series(range(11), name="c"))
        assert list(score.partitions) == ["many", "named"]
        assert table.vocabulary.class_name == "c"
        assert table.vocabulary.arity("c") == 11

    def test_incomplete_rows_count_for_nothing(self):
        frame = pd.DataFrame({"x": [*np.arange(100.0), 500.0], "d": ["a", "b"] * 50 + [None]})
        with pytest.warns(UserWarning, match="1 of 101 rows"):
            table, score = UniversalMeasure().read(frame)
        complete, its_score = UniversalMeasure().read(frame[:100])
        assert score == its_score
        assert score.set_score(table, ["x", "d"]) == its_score.set_score(complete, ["x", "d"])


class TestInformation:
    @given(mixed_columns(), st.data())
    def test_is_the_logarithm_of_four_measures_per_row(self, mixed, data):
        table, score = mixed.read()
        sides = data.draw(st.lists(st.integers(0, 2), min_size=len(mixed.columns), max_size=len(mixed.columns)))
        x, y, z = ([name for name, side in zip(mixed.columns, sides, strict=True) if side == s] for s in range(3))
        if not x or not y:
            with pytest.raises(ValueError, match="x and y must each name a variable, or several"):
                universal_information(table, x, y, z, score=score)
            return
        both, apart = (x + y + z, z), (x + z, y + z)
        expected = sum(map(mixed.log_measure, both)) - sum(map(mixed.log_measure, apart))
        found = universal_information(table, x, y, z, score=score)
        assert found == pytest.approx(expected / sum(mixed.weights), rel=1e-9, abs=1e-8)
        assert universal_information(table, y, x, z[::-1], score=score) == pytest.approx(found, rel=1e-9, abs=1e-9)

    @given(problems(min_features=2))
    def test_of_discrete_variables_is_by_krichevsky_and_trofimov(self, problem):
        def measure(*variables):
            cells = [tuple(row[v] for v in variables) for row in problem.rows]
            return oracles.kt_by_gamma(cells, problem.weights, prod(problem.arities[v] for v in variables))

        n = problem.n
        expected = measure(0, 1, n) + measure(n) - measure(0, n) - measure(1, n)
        found = universal_information(problem.table, "f0", ["f1"], "c")
        assert found == pytest.approx(expected / sum(problem.weights), rel=1e-9, abs=1e-9)

    def test_nears_the_information_of_the_distribution(self):
        """X and Y normal with correlation ρ: -½ ln(1 - ρ²); a state that a number moves, by enumeration."""
        errors = []
        for n_rows in (500, 50_000):
            rng = np.random.default_rng(n_rows)
            x, noise = rng.normal(size=(2, n_rows))
            y = 0.8 * x + 0.6 * noise
            up = rng.random(n_rows) < np.where(x > 0, 0.9, 0.1)
            table, score = UniversalMeasure().read(pd.DataFrame({"x": x, "y": y, "s": np.where(up, "up", "down")}))
            of_state = log(2) + 0.9 * log(0.9) + 0.1 * log(0.1)
            errors.append(
                [
                    abs(universal_information(table, "x", "y", score=score) + log(0.6)),
                    abs(universal_information(table, "x", "s", score=score) - of_state),
                    abs(universal_information(table, "y", "s", "x", score=score)),
                ]
            )
        assert (np.array(errors[1]) < np.array(errors[0])).all()
        assert max(errors[1]) < 0.05

    def test_names(self):
        table, score = UniversalMeasure().read(pd.DataFrame({("a", 1): [0, 1, 1], "bc": [0, 1, 0]}))
        expected = universal_information(table, [("a", 1)], ["bc"], score=score)
        assert universal_information(table, ("a", 1), "bc", score=score) == expected
        with pytest.raises(ValueError, match="'b' is not a variable of the table"):
            universal_information(table, ("a", 1), "b", score=score)
        with pytest.raises(ValueError, match="are not distinct"):
            universal_information(table, ("a", 1), "bc", "bc", score=score)
        with pytest.raises(ValueError, match="the score must be a Universal"):
            universal_information(table, ("a", 1), "bc", score=KT())


class TestConsistency:
    @pytest.mark.slow
    def test_decides_rightly_ever_more_often(self):
        """Numbers in a chain X, Z, Y, a state that moves a number, and a collider: 12 samples each, N growing."""
        right = {}
        for n_rows in (200, 3000):
            verdicts = []
            for seed in range(12):
                rng = np.random.default_rng([seed, n_rows])
                x, y = rng.normal(size=(2, n_rows))
                of_both = (x + y + np.sqrt(2) * rng.normal(size=n_rows)) / 2
                z = 0.5 * x + np.sqrt(0.75) * rng.normal(size=n_rows)
                last = 0.5 * z + np.sqrt(0.75) * rng.normal(size=n_rows)
                state = np.where(rng.random(n_rows) < 1 / (1 + np.exp(-2 * z)), "up", "down")
                frame = pd.DataFrame({"x": x, "y": y, "z": z, "both": of_both, "last": last, "state": state})
                table, score = UniversalMeasure().read(frame)
                log_odds = partial(UniversalTest(score).log_odds, table)
                verdicts += [
                    log_odds("x", "last") < 0,
                    log_odds("x", "last", ["z"]) > 0,
                    log_odds("x", "y") > 0,
                    log_odds("x", "y", ["both"]) < 0,
                    log_odds("x", "state") < 0,
                    log_odds("x", "state", ["z"]) > 0,
                ]
            right[n_rows] = np.mean(verdicts)
        assert right[200] < right[3000]
        assert right[3000] >= 0.9
