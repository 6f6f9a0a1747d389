"""Classifiers that measure continuous columns: densities and posteriors against their formulas, and what follows."""

import copy
import pickle
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import floor, log, prod
from unittest import mock

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from tiers import examples

import anbexact.classifiers.choosing.limits as memory
from anbexact import (
    ANBClassifier,
    CkGClassifier,
    FANClassifier,
    GBNClassifier,
    NaiveBayesClassifier,
    TANClassifier,
    UniversalMeasure,
    verify,
)
from anbexact.adapters import from_pgmpy
from anbexact.classifiers import FixedStructureClassifier
from anbexact.discretize import CountPartition, FixedCutsPartition, QuantilePartition
from anbexact.models.network import density_counts, density_posterior, probable_levels
from anbexact.models.structure import Structure
from anbexact.scores import KT
from anbexact.search.exact.plan import affordable_parents

MODELS = (NaiveBayesClassifier, TANClassifier, FANClassifier, CkGClassifier, ANBClassifier, GBNClassifier)
OWN_CUTS = ([2.5], [0.5, 7.25], [5.0])
STATES = ["u", "v", "w"]
RULES = {"q": QuantilePartition(), "n": CountPartition(), "o": FixedCutsPartition(OWN_CUTS, -4, 12)}
CLASSES = [0, 1, 2]


class Given(NaiveBayesClassifier):
    """A measured network whose graph is given beforehand."""

    def _learn(self, table, score, time_limit):
        return Structure.given("class", {name: self.graph[name] for name in table.vocabulary.names}, 0.0)


@dataclass
class Case:
    """Columns, named after their kind (see ``RULES``; d: discrete) and the class; a graph, and how to measure."""

    columns: dict
    weights: list
    graph: dict
    levels: int | None = None
    epsilon: float | None = None

    @cached_property
    def features(self):
        """The features."""
        return pd.DataFrame({name: column for name, column in self.columns.items() if name != "class"})

    @cached_property
    def fitted(self):
        """The classifier."""
        rules = {name: RULES[name[0]] for name in self.features if name[0] in RULES}
        declared = {name: STATES for name in self.features if name[0] == "d"}
        classifier = Given(
            continuous=UniversalMeasure(rules, self.levels, self.epsilon), categories={**declared, "class": CLASSES}
        )
        classifier.graph = self.graph
        return classifier.fit(self.features, self.columns["class"], sample_weight=self.weights)

    def family(self, name):
        """A variable and its parents."""
        return [name, *self.graph[name]]

    def levels_of(self, family):
        """The variables of a family at their levels, for the oracle."""
        within = self.most_levels(max(1, sum(name[0] in RULES for name in family)))
        return [self.variable(name, self.most_levels(1))[:within] for name in family]

    def most_levels(self, n_continuous):
        """Most levels in sets of so many continuous variables."""
        return self.levels or max(1, floor(log(max(sum(self.weights), 1)) / n_continuous))

    def finest_of(self, name):
        """The cells of a variable at the finest level that it has in a family."""
        families = [self.family(v) for v in self.graph if name in self.family(v)]
        return max((self.levels_of(family)[family.index(name)][-1] for family in families), key=len)

    def variable(self, name, most):
        """A variable at its levels."""
        values = self.columns[name]
        if name == "class" or name[0] == "d":
            return oracles.states_as_level(CLASSES if name == "class" else STATES)
        if name[0] == "q":
            return oracles.numbers_at_levels(oracles.quantile_cuts(values, self.weights, most), self.share(values))
        if name[0] == "n":
            return oracles.numbers_at_levels([[k + 0.5] for k in range(most)], mass_of_counts)
        return oracles.numbers_at_levels(OWN_CUTS[:most], lambda a, b: min(b, 12) - max(a, -4))

    def share(self, values):
        """The measure of the quantiles."""
        return lambda a, b: (
            sum(w for v, w in zip(values, self.weights, strict=True) if a < v <= b) / sum(self.weights)
        )

    def of_levels(self, cells, weights, q):
        """The log of the measure of a tuple of levels."""
        if self.epsilon is None:
            return oracles.kt_by_gamma(cells, weights, q)
        return oracles.hannan_quinn(cells, weights, q, self.epsilon)

    @cached_property
    def expected(self):
        """The density of every variable by the oracle, with the levels of its axes."""
        found = {}
        for name in self.graph:
            variables = self.levels_of(self.family(name))
            columns = [self.columns[v] for v in self.family(name)]
            density = oracles.conditional_density(columns, self.weights, variables, self.of_levels)
            found[name] = density, [levels[-1] for levels in variables]
        return found

    def joint(self, row):
        """The density of a complete row, by the oracle."""
        total = 1.0
        for name, (density, levels) in self.expected.items():
            total *= density[tuple(map(oracles.cell_of, levels, (row[v] for v in self.family(name))))]
        return total

    def joint_densities(self, row):
        """The density of a row with every class; cells that are None are integrated out one by one."""
        hidden = [name for name, value in row.items() if value is None]
        finest = [
            [(oracles.value_in(level, k), mass) for k, (_, _, mass) in enumerate(level)]
            for level in map(self.finest_of, hidden)
        ]
        totals = []
        for label in CLASSES:
            total = 0.0
            for cells in product(*finest):
                filled = {name: value for name, (value, _) in zip(hidden, cells, strict=True)}
                total += prod(mass for _, mass in cells) * self.joint({**row, **filled, "class": label})
            totals.append(total)
        return np.array(totals)


def mass_of_counts(a, b):
    """Σ 1/j - 1/(j + 1) over the numbers in (a, b], the j-th being j - 1."""
    first = 1 if a == -np.inf else floor(a) + 2
    return 1 / first - (0 if b == np.inf else 1 / (floor(b) + 2))


@st.composite
def cases(draw, max_features=5):
    """Small tables of all kinds of columns, with ties, constants, unseen states and weights, and any graph."""
    n_rows = draw(st.integers(1, 8))
    kinds = draw(st.lists(st.sampled_from("qnodq"), min_size=2, max_size=max_features))
    values = {
        "q": st.integers(-3, 4).map(float),
        "n": st.integers(0, 5).map(float),
        "o": st.one_of(st.sampled_from([0.5, 2.5, 5.0, 7.25]), st.floats(-4, 12)),
        "d": st.sampled_from(STATES),
    }
    columns = {
        f"{kind}{j}": draw(st.lists(values[kind], min_size=n_rows, max_size=n_rows)) for j, kind in enumerate(kinds)
    }
    columns["class"] = draw(st.lists(st.sampled_from(CLASSES), min_size=n_rows, max_size=n_rows))
    weight = draw(st.sampled_from([st.just(1.0), st.integers(1, 12).map(float), st.floats(0.01, 9)]))
    weights = draw(st.lists(weight, min_size=n_rows, max_size=n_rows))
    order = draw(st.permutations(list(columns)))
    graph = {
        name: tuple(draw(st.lists(st.sampled_from(order[:place]), max_size=2, unique=True))) if place else ()
        for place, name in enumerate(order)
    }
    return Case(columns, weights, graph, draw(st.sampled_from([None, None, 2])), draw(st.sampled_from([None, 0.05])))


def example(seed=0, n_rows=120, kinds="qqod"):
    """Columns that depend on the class and on each other: a frame and the classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    last, columns = rng.normal(size=n_rows), {}
    for j, kind in enumerate(kinds):
        last = 0.6 * last + 0.6 * (y - 1) + 0.6 * rng.normal(size=n_rows)
        columns[f"{kind}{j}"] = {
            "q": np.round(last, 2),
            "o": np.clip(3 * last + 3, -4, 12),
            "n": np.rint(np.abs(3 * last)),
            "d": np.array(STATES)[np.clip(np.rint(last) + 1, 0, 2).astype(int)],
        }[kind]
    return pd.DataFrame(columns), pd.Series(y, name="class")


def holed(X, seed, share=0.3):
    """The frame with some of its cells missing."""
    hidden = np.random.default_rng(seed).random(X.shape) < share
    return X.astype(object).mask(hidden)


class TestDensities:
    @given(cases(max_features=4))
    def test_are_those_of_the_formula(self, case):
        found = case.fitted.densities_
        assert list(found) == list(case.fitted.structure_.parents)
        for name, (expected, levels) in case.expected.items():
            density = found[name]
            assert list(density.variables) == case.family(name)
            assert density.levels == tuple(len(levels) for levels in case.levels_of(case.family(name)))
            np.testing.assert_allclose(density.values, expected, rtol=1e-9)
            masses = np.array([mass for _, _, mass in levels[0]])
            np.testing.assert_allclose(np.tensordot(masses, density.values, 1), 1.0, rtol=1e-12)

    @given(cases(max_features=3))
    def test_most_probable_levels_are_those_of_the_largest_term(self, case):
        for name, density in case.fitted.densities_.items():
            columns, variables = [case.columns[v] for v in case.family(name)], case.levels_of(case.family(name))
            terms = oracles.level_terms(columns, case.weights, variables, case.of_levels)
            chosen = [levels[k - 1] for levels, k in zip(variables, density.most_probable, strict=True)]
            own = next(term for of_term, _, term in terms if list(of_term) == chosen)
            assert own == pytest.approx(max(term for _, _, term in terms), rel=1e-9)
            alone = [[level] for level in chosen]
            expected = oracles.conditional_density(columns, case.weights, alone, case.of_levels)
            np.testing.assert_allclose(density.most_probable_values, expected, rtol=1e-9)


@contextmanager
def at_most_cells(classifier, cells):
    """Let one posterior serve all patterns of missing cells only up to so many cells."""
    with mock.patch.object(density_posterior, "MOST_CELLS", cells):
        classifier.model_.class_posterior.__dict__.pop("_incomplete", None)
        yield
    classifier.model_.class_posterior.__dict__.pop("_incomplete", None)


class TestPosterior:
    @given(cases(max_features=4))
    def test_of_complete_rows_is_the_product_of_the_densities(self, case):
        joint = np.array([case.joint_densities(row) for row in case.features.to_dict(orient="records")])
        posterior = joint / joint.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(case.fitted.predict_proba(case.features), posterior, rtol=1e-8)
        logs = case.fitted.predict_log_proba(case.features)
        np.testing.assert_allclose(logs, np.log(posterior), rtol=1e-8, atol=1e-10)
        evidence = case.fitted.log_evidence(case.features)
        np.testing.assert_allclose(evidence, np.log(joint.sum(axis=1)), rtol=1e-8, atol=1e-8)
        top = np.sort(posterior, axis=1)
        clear = top[:, -1] > top[:, -2] + 1e-9
        assert (case.fitted.predict(case.features) == posterior.argmax(axis=1))[clear].all()

    @examples(120)
    @given(cases(), st.data())
    def test_of_missing_cells_is_integrated(self, case, data):
        names = list(case.features)
        rows = []
        for _ in range(3):
            values = data.draw(st.sampled_from(case.features.to_dict(orient="records")))
            hidden = data.draw(st.sets(st.sampled_from(names), max_size=min(len(names), 3)))
            rows.append({name: None if name in hidden else values[name] for name in names})
        if len(names) < 4:
            rows.append(dict.fromkeys(names))
        joint = np.array([case.joint_densities(row) for row in rows])
        asked = pd.DataFrame(rows, columns=names, dtype=object)
        for name in names:
            if name[0] == "d" and data.draw(st.booleans()):
                asked[name] = asked[name].fillna("a stranger")
        for most_cells in (0, density_posterior.MOST_CELLS):
            with at_most_cells(case.fitted, most_cells):
                proba, evidence = case.fitted.predict_proba(asked), case.fitted.log_evidence(asked)
            np.testing.assert_allclose(proba, joint / joint.sum(axis=1, keepdims=True), rtol=1e-8)
            np.testing.assert_allclose(evidence, np.log(joint.sum(axis=1)), rtol=1e-8, atol=1e-8)

    def test_a_hidden_parent_of_children_at_different_levels(self):
        """q0 has five levels with a discrete child, two with a continuous one, and one with two of them."""
        X, y = example(n_rows=200, kinds="qdqq")
        graph = {"class": (), "q0": ("class",), "d1": ("q0",), "q2": ("q0", "class"), "q3": ("q0", "q2")}
        case = Case({**X.to_dict("list"), "class": y.tolist()}, [1.0] * 200, graph)
        levels = [
            density.levels[density.variables.index("q0")] for density in list(case.fitted.densities_.values())[:4]
        ]
        assert sorted(levels) == [1, 2, 5, 5]
        row = X.iloc[7].to_dict()
        for hidden in (["q0"], ["q0", "q2"], ["q0", "d1"], ["q3"], list(X)):
            asked = {**row, **dict.fromkeys(hidden)}
            if hidden == list(X):  # nothing is known: the class alone
                expected = (np.bincount(y) + 0.5) / (200 + 1.5)
                assert case.fitted.log_evidence(pd.DataFrame([asked]))[0] == pytest.approx(0.0, abs=1e-12)
            else:
                joint = case.joint_densities(asked)
                expected = joint / joint.sum()
            for most_cells in (0, density_posterior.MOST_CELLS):
                with at_most_cells(case.fitted, most_cells):
                    found = case.fitted.predict_proba(pd.DataFrame([asked], dtype=object))[0]
                np.testing.assert_allclose(found, expected, rtol=1e-9)

    @pytest.mark.parametrize("most_cells", [0, density_posterior.MOST_CELLS])
    @pytest.mark.parametrize("model", [ANBClassifier, GBNClassifier])
    def test_neither_order_nor_threads_nor_neighbours_matter(self, model, most_cells, monkeypatch):
        X, y = example(n_rows=300, kinds="qqodqn")
        classifier = model(continuous="universal").fit(X, y)
        monkeypatch.setattr(density_posterior, "MOST_CELLS", most_cells)
        asked = holed(X, 1)
        assert len(set(map(tuple, asked.isna().to_numpy().tolist()))) > 40
        proba = classifier.set_params(n_jobs=1).predict_proba(asked)
        assert classifier.set_params(n_jobs=2).predict_proba(asked).tobytes() == proba.tobytes()
        order = np.random.default_rng(2).permutation(300)
        np.testing.assert_array_equal(classifier.predict_proba(asked.iloc[order]), proba[order])
        alone = [classifier.predict_proba(asked.iloc[[t]])[0] for t in range(40)]
        np.testing.assert_array_equal(alone, proba[:40])
        monkeypatch.setattr(density_posterior, "CELLS_PER_BATCH", 60)
        np.testing.assert_array_equal(classifier.predict_proba(asked), proba)

    def test_densities_too_large_for_the_memory_are_refused(self, monkeypatch):
        X, y = example()
        classifier = ANBClassifier(continuous="universal").fit(X, y)
        proba = classifier.predict_proba(X)
        monkeypatch.setattr(density_posterior, "available_memory", lambda: 1000)
        with (
            at_most_cells(classifier, 0),
            pytest.raises(ValueError, match=r"marginalising 2 missing or unknown cells needs densities of .* kB"),
        ):
            classifier.predict_proba(X.iloc[:3].assign(q0=np.nan, d3=None))
        np.testing.assert_array_equal(classifier.predict_proba(X), proba)


class TestFit:
    @pytest.mark.parametrize("model", MODELS)
    @pytest.mark.parametrize("measure", ["universal", UniversalMeasure({"o2": RULES["o"]}, epsilon=0.05)], ids=repr)
    def test_all_classifiers(self, model, measure):
        X, y = example()
        classifier = model(continuous=measure).fit(X, y)
        proba = classifier.predict_proba(X)
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
        assert classifier.score(X, y) > 0.7
        assert classifier.score_name_ == "universal"
        assert not hasattr(classifier, "conditional_tables_")
        assert list(classifier.universal_score_.partitions) == ["q0", "q1", "o2"]
        read = UniversalMeasure() if measure == "universal" else measure
        table, score = read.read(X, y)
        assert score == classifier.universal_score_
        structure = classifier.structure_
        assert structure.score == pytest.approx(
            sum(score.local_score(table, name, parents) for name, parents in structure.parents.items())
        )
        assert {name: cuts.tolist() for name, cuts in classifier.cut_points_.items()} == {
            name: list(partition.cuts) for name, partition in score.partitions.items()
        }
        if model in (ANBClassifier, GBNClassifier):
            assert structure.certificate.optimal
            assert verify(structure, table)

    @pytest.mark.parametrize("model", MODELS)
    def test_discrete_columns_alone_make_a_network_of_kt_tables(self, model):
        X, y = example(kinds="dddd", n_rows=60)
        measured = model(continuous="universal").fit(X, y)
        plain = model(structure_score=KT()).fit(X, y)
        assert dict(measured.structure_.parents) == dict(plain.structure_.parents)
        assert measured.structure_.score == pytest.approx(plain.structure_.score, rel=1e-12)
        whole = X.assign(**{"class": y})
        for density in measured.densities_.values():
            sizes = [measured.vocabulary_.arity(v) for v in density.variables]
            for cell in product(*map(range, sizes)):
                states = {v: measured.vocabulary_.states[v][k] for v, k in zip(density.variables, cell, strict=True)}
                n = int((whole[list(states)] == pd.Series(states)).all(axis=1).sum())
                rest = {v: states[v] for v in density.parents}
                n_given = int((whole[list(rest)] == pd.Series(rest, dtype=object)).all(axis=1).sum())
                assert density.values[cell] == pytest.approx((n + 0.5) / (n_given + sizes[0] / 2), rel=1e-12)
        assert measured.level_cost_ == pytest.approx(0.0, abs=1e-12)
        np.testing.assert_allclose(measured.to_discrete().predict_proba(X), measured.predict_proba(X), rtol=1e-12)

    @pytest.mark.parametrize("measure", ["universal", UniversalMeasure({"o2": RULES["o"]})], ids=repr)
    def test_weights_are_copies_of_rows(self, measure):
        X, y = example()
        times = np.random.default_rng(3).integers(0, 4, len(y))
        weighted = ANBClassifier(continuous=measure).fit(X, y, sample_weight=times)
        again = np.repeat(np.arange(len(y)), times)
        copied = ANBClassifier(continuous=measure).fit(X.iloc[again], y.iloc[again])
        assert weighted.universal_score_ == copied.universal_score_
        assert dict(weighted.structure_.parents) == dict(copied.structure_.parents)
        np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), rtol=1e-9)
        assert weighted.level_cost_ == pytest.approx(copied.level_cost_, rel=1e-9, abs=1e-12)
        plain = ANBClassifier(continuous=measure).fit(X, y)
        assert np.abs(plain.predict_proba(X) - weighted.predict_proba(X)).max() > 0.01

    def test_rows_with_missing_cells_are_left_out_of_training(self):
        X, y = example()
        asked = X.copy()
        asked.loc[::7, "q0"] = np.nan
        with pytest.warns(UserWarning, match=r"18 of 120 rows have a missing feature"):
            classifier = ANBClassifier(continuous="universal").fit(asked, y)
        kept = asked.notna().all(axis=1)
        complete = ANBClassifier(continuous="universal").fit(X[kept], y[kept])
        assert classifier.universal_score_ == complete.universal_score_
        np.testing.assert_array_equal(classifier.predict_proba(X), complete.predict_proba(X))

    def test_a_missing_state_of_a_discrete_column_may_be_its_own(self):
        X, y = example()
        X = X.assign(d3=X["d3"].where(X["q0"] < 0.5))
        classifier = ANBClassifier(continuous="universal", handle_missing="own_state").fit(X, y)
        named = ANBClassifier(continuous="universal").fit(X.fillna({"d3": "(missing)"}), y)
        assert sorted(classifier.vocabulary_.states["d3"]) == sorted(named.vocabulary_.states["d3"])
        expected = named.predict_proba(X.fillna({"d3": "(missing)"}))
        np.testing.assert_allclose(classifier.predict_proba(X), expected, rtol=1e-9)


class TestMostParents:
    def calls_of(self, **parameters):
        """A classifier of 60 rows, whose ln is 4.09, and the limits of its searches."""
        rng = np.random.default_rng(0)
        X = pd.DataFrame(rng.integers(0, 2, (60, 7)), columns=list("abcdefg"))
        classifier = ANBClassifier(continuous="universal", **parameters)
        calls = []
        search = classifier._search
        classifier._search = lambda table, score, **limits: calls.append(limits) or search(table, score, **limits)
        classifier.fit(X, X["a"] ^ X["b"])
        return classifier, calls

    def test_are_as_many_as_there_are_levels_for(self):
        _, calls = self.calls_of()
        assert [limits["max_parents"] for limits in calls] == [3]  # floor(ln 60) - 1

    def test_are_one_at_least(self):
        X, y = example(n_rows=5, kinds="ddd")
        classifier = ANBClassifier(continuous="universal").fit(X, y)
        assert "at most 1 feature parent" in str(classifier.structure_.certificate)

    def test_make_room_for_required_arcs(self):
        classifier, calls = self.calls_of(required_edges=[(name, "g") for name in "abcde"])
        assert [limits["max_parents"] for limits in calls] == [5]
        assert set("abcde") < set(classifier.structure_.parents["g"])

    @pytest.mark.parametrize("most", [0, 1, 5])
    def test_may_be_given(self, most):
        classifier, calls = self.calls_of(max_parents=most)
        assert [limits["max_parents"] for limits in calls] == [most]
        assert max(len(set(of) - {"class"}) for of in classifier.structure_.parents.values()) <= most

    def test_are_fewer_where_densities_are_too_large_for_the_memory(self, monkeypatch):
        X, y = example(n_rows=200, kinds="qqqq")
        free = ANBClassifier(continuous="universal").fit(X, y)
        assert free.structure_.feature_edges
        sizes = [density.values.nbytes for density in free.densities_.values()]
        monkeypatch.setattr(memory, "TABLE_MEMORY", 1)
        least = (2 * sum(sizes) + max(sizes)) / memory.SHARE_OF_MEMORY
        monkeypatch.setattr(memory, "available_memory", lambda: least)
        again = ANBClassifier(continuous="universal").fit(X, y)
        assert again.structure_.parents == free.structure_.parents
        monkeypatch.setattr(memory, "available_memory", lambda: least - 1)
        with pytest.warns(
            UserWarning, match=r"would take .* kB, so the structure was learned again with max_parents=0"
        ):
            few = ANBClassifier(continuous="universal").fit(X, y)
        assert not few.structure_.feature_edges
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ANBClassifier(continuous="universal", max_parents=2).fit(X, y)

    @pytest.mark.parametrize("model", [ANBClassifier, GBNClassifier, TANClassifier, CkGClassifier])
    def test_time_limit(self, model):
        X, y = example(n_rows=300, kinds="qqqqdddd")
        classifier = model(continuous="universal", time_limit=1e-9).fit(X, y)
        assert not classifier.structure_.certificate.optimal
        np.testing.assert_allclose(classifier.predict_proba(X).sum(axis=1), 1.0, rtol=1e-12)


class TestToDiscrete:
    @given(cases(max_features=4))
    def test_has_the_most_probable_levels(self, case):
        """Every cell of a family's level is shared out, in proportion to the measure, among those of the variable."""
        classifier = case.fitted
        discrete = classifier.to_discrete()
        own = {}
        for density in classifier.densities_.values():
            for v, level in zip(density.variables, density.most_probable, strict=True):
                own[v] = max(own.get(v, 1), level)
        most = case.most_levels(1)
        cells = {v: case.variable(v, most)[level - 1] for v, level in own.items()}
        for name, density in classifier.densities_.items():
            table = discrete.conditional_tables_[name]
            assert table.variables == density.variables
            assert table.values.shape == tuple(len(cells[v]) for v in table.variables)
            np.testing.assert_allclose(table.values.sum(axis=0), 1.0, rtol=1e-12)
            coarse = [
                case.variable(v, most)[k - 1] for v, k in zip(density.variables, density.most_probable, strict=True)
            ]
            for cell in np.ndindex(*table.values.shape):
                points = [oracles.value_in(cells[v], k) for v, k in zip(table.variables, cell, strict=True)]
                at = tuple(map(oracles.cell_of, coarse, points))
                expected = density.most_probable_values[at] * cells[name][cell[0]][2]
                assert table.values[cell] == pytest.approx(expected, rel=1e-9)
        assert {name: len(cuts) + 1 for name, cuts in discrete.cut_points_.items()} == {
            name: len(cells[name]) for name in classifier.cut_points_
        }

    @given(cases(max_features=4))
    def test_cost_is_the_difference_of_the_mean_log_losses(self, case):
        """Of densities and tables; cells of a table have the same measure under every class."""
        classifier, discrete = case.fitted, case.fitted.to_discrete()
        truth = np.array(case.columns["class"])
        losses = [
            -np.average(model.predict_log_proba(case.features)[np.arange(len(truth)), truth], weights=case.weights)
            for model in (classifier, discrete)
        ]
        assert classifier.level_cost_ == pytest.approx(losses[1] - losses[0], rel=1e-7, abs=1e-9)

    def test_is_the_mixture_where_there_is_one_tuple_of_levels(self):
        X, y = example()
        classifier = ANBClassifier(continuous=UniversalMeasure(levels=1)).fit(X, y)
        asked = holed(X, 0)
        np.testing.assert_allclose(
            classifier.to_discrete().predict_proba(asked), classifier.predict_proba(asked), rtol=1e-10
        )
        assert classifier.level_cost_ == pytest.approx(0.0, abs=1e-12)

    @pytest.mark.parametrize("model", MODELS)
    def test_is_what_other_programs_are_given(self, model):
        X, y = example()
        classifier = model(continuous="universal", handle_missing="error", handle_unknown="error", n_jobs=1).fit(X, y)
        discrete = classifier.to_discrete()
        assert isinstance(discrete, FixedStructureClassifier)
        assert (discrete.handle_missing, discrete.handle_unknown, discrete.n_jobs) == ("error", "error", 1)
        assert discrete.structure_ == classifier.structure_
        assert discrete.feature_names_in_.tolist() == list(X)
        sizes = ", ".join(f"{name} {len(cuts) + 1}" for name, cuts in discrete.cut_points_.items())
        with pytest.warns(UserWarning, match="most probable level") as caught:
            network = classifier.to_pgmpy()
        assert [str(warning.message) for warning in caught] == [
            f"every variable is exported at its most probable level (cells: {sizes}), which changes the mean log "
            "loss "
            f"on the training rows by {classifier.level_cost_:+.4g} nats"
        ]
        assert caught[0].filename == __file__
        back = from_pgmpy(network, "class")
        np.testing.assert_allclose(back.predict_proba(X), discrete.predict_proba(X), rtol=1e-9)
        with pytest.warns(UserWarning, match="most probable level"):
            first = classifier.network_
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert classifier.network_ is first
            assert clone(classifier).fit(X, y).to_discrete().predict(X).tolist() == discrete.predict(X).tolist()
        assert classifier.universal_score_ is not None  # it stays as it was

    def test_of_discretised_columns_is_refused(self):
        X, y = example()
        with pytest.raises(ValueError, match="this classifier discretised its continuous columns"):
            ANBClassifier().fit(X, y).to_discrete()

    def test_too_large_for_the_memory(self, monkeypatch):
        X, y = example()
        classifier = ANBClassifier(continuous="universal").fit(X, y)
        tables = [table.values.nbytes for table in classifier.to_discrete().conditional_tables_.values()]
        monkeypatch.setattr(probable_levels, "available_memory", lambda: sum(tables) + 2 * max(tables))
        classifier.to_discrete()
        monkeypatch.setattr(probable_levels, "available_memory", lambda: sum(tables) + 2 * max(tables) - 1)
        with pytest.raises(
            ValueError, match=r"tables of a network .* would take .*limit the parents by max_parents="
        ):
            classifier.to_discrete()
        again = ANBClassifier(continuous="universal").fit(X, y)
        assert np.isnan(again.level_cost_)
        np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))


class TestStates:
    """What stays of an earlier fit, in copies and under other parameters."""

    MEASURED = ("densities_", "universal_score_", "level_cost_")
    PLAIN = ("conditional_tables_", "ess_", "smoothing_", "parameters_")

    def has(self, classifier, names):
        return [name for name in names if getattr(classifier, name, None) is not None]

    def test_nothing_is_left_of_another_kind_of_fit(self):
        X, y = example()
        classifier = ANBClassifier(continuous="universal").fit(X, y)
        assert self.has(classifier, self.MEASURED + self.PLAIN) == list(self.MEASURED)
        classifier.set_params(continuous="discretize").fit(X, y)
        assert self.has(classifier, self.MEASURED + self.PLAIN) == list(self.PLAIN)
        fresh = ANBClassifier().fit(X, y)
        np.testing.assert_array_equal(classifier.predict_proba(X), fresh.predict_proba(X))
        assert classifier.score_name_ == fresh.score_name_
        classifier.network_  # noqa: B018  # built, and kept
        classifier.set_params(continuous="universal").fit(X, y)
        assert self.has(classifier, self.MEASURED + self.PLAIN) == list(self.MEASURED)
        with pytest.warns(UserWarning, match="most probable level"):
            assert "q0" in classifier.network_

    @pytest.mark.parametrize("before", ["universal", "discretize"])
    @pytest.mark.parametrize("after", ["universal", "discretize"])
    def test_a_refused_fit_changes_nothing(self, before, after, monkeypatch):
        import anbexact.models.parameters.counts

        X, y = example()
        classifier = ANBClassifier(continuous=before).fit(X, y)
        kept = {name: value for name, value in vars(classifier).items() if name.endswith("_")}
        proba = classifier.predict_proba(X)
        classifier.set_params(continuous=after)
        monkeypatch.setattr(anbexact.models.parameters.counts, "available_memory", lambda: 1)
        advice = {"universal": "give the universal measure fewer levels=", "discretize": "group states"}[after]
        with pytest.raises(ValueError, match=f"the conditional tables would take .*: {advice}"):
            classifier.fit(X, y)
        now = {name: value for name, value in vars(classifier).items() if name.endswith("_")}
        assert now.keys() == kept.keys()
        assert all(now[name] is kept[name] for name in now if name not in ("feature_names_in_", "n_features_in_"))
        np.testing.assert_array_equal(classifier.predict_proba(X), proba)

    def test_rows_cannot_be_added(self):
        X, y = example()
        classifier = NaiveBayesClassifier(continuous="universal")
        classifier.partial_fit(X, y, classes=[0, 1, 2, 3])
        assert classifier.classes_.tolist() == [0, 1, 2, 3]
        assert classifier.densities_ is not None
        kept, proba = dict(vars(classifier)), classifier.predict_proba(X)
        with pytest.raises(ValueError, match="rows cannot be added to a universal measure"):
            classifier.partial_fit(X, y)
        assert all(vars(classifier)[name] is kept[name] for name in kept)
        np.testing.assert_array_equal(classifier.predict_proba(X), proba)

    @pytest.mark.parametrize("model", MODELS)
    def test_copies(self, model):
        X, y = example()
        measure = UniversalMeasure({"o2": RULES["o"]}, levels=2)
        classifier = model(continuous=measure).fit(X, y)
        assert classifier.get_params()["continuous"] is measure
        assert clone(classifier).get_params()["continuous"] == measure
        assert repr(clone(classifier)) == repr(classifier)
        for twin in (pickle.loads(pickle.dumps(classifier)), copy.deepcopy(classifier), clone(classifier).fit(X, y)):
            np.testing.assert_array_equal(twin.predict_proba(holed(X, 0)), classifier.predict_proba(holed(X, 0)))
            assert twin.level_cost_ == classifier.level_cost_
        other = classifier.set_params(continuous="universal").fit(X, y).universal_score_
        assert other.n_levels("q0") == 4 > measure.levels


class TestRefusals:
    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            (
                {"continuous": "x"},
                "continuous must be one of 'discretize', 'universal', or a UniversalMeasure, not 'x'",
            ),
            ({"continuous": None}, "continuous must be one of .* not None"),
            ({"continuous": UniversalMeasure}, "continuous must be one of .* not <class"),
            ({"continuous": np.array([1, 2])}, r"continuous must be one of .* not array\(\[1, 2\]\)"),
            ({"structure_score": "bic"}, "structure_score='bic' applies only with continuous='discretize'"),
            ({"structure_score": KT()}, r"structure_score=KT\(\) applies only with continuous='discretize'"),
            ({"ess": 2.0}, "ess=2.0 applies only with continuous='discretize'"),
            ({"ess": 1.0}, "ess=1.0 applies only with continuous='discretize'"),
            ({"parameters": "ml"}, "parameters='ml' applies only with continuous='discretize'"),
            ({"smoothing": 1.0}, "smoothing=1.0 applies only with continuous='discretize'"),
            ({"discretizer": "mdlp"}, "discretizer='mdlp' applies only with continuous='discretize'"),
            ({"discretizer": None}, "discretizer=None applies only with continuous='discretize'"),
            (
                {"continuous": UniversalMeasure({"q9": QuantilePartition()})},
                "partitions names 'q9', but the columns are",
            ),
            (
                {"categories": {"q0": [1.0]}, "continuous": UniversalMeasure({"q0": QuantilePartition()})},
                "'q0' has declared",
            ),
        ],
    )
    @pytest.mark.parametrize("model", MODELS)
    def test_parameters(self, model, parameters, message):
        X, y = example()
        with pytest.raises(ValueError, match=message):
            model(**{"continuous": "universal", **parameters}).fit(X, y)

    def test_defaults_may_be_said(self):
        X, y = example()
        ANBClassifier(continuous="universal", ess="auto", structure_score="bdeu", parameters="eap").fit(X, y)

    def test_missing_numbers_are_no_state(self):
        X, y = example()
        X.loc[3, "q1"] = np.nan
        with pytest.raises(
            ValueError, match=r"column 'q1' is continuous and has missing cells.*handle_missing='auto"
        ):
            ANBClassifier(continuous="universal", handle_missing="own_state").fit(X, y)
        kept = np.arange(len(y)) != 3
        weighted = ANBClassifier(continuous="universal", handle_missing="own_state")
        weighted.fit(X, y, sample_weight=kept.astype(float))
        expected = ANBClassifier(continuous="universal").fit(X[kept], y[kept]).predict_proba(X[kept])
        np.testing.assert_array_equal(weighted.predict_proba(X[kept]), expected)

    def test_infinite_numbers(self):
        X, y = example()
        classifier = ANBClassifier(continuous="universal").fit(X, y)
        with pytest.raises(ValueError, match=r"column 'q1', row 5: inf cannot be discretised"):
            clone(classifier).fit(X.assign(q1=X["q1"].where(np.arange(120) != 5, np.inf)), y)
        largest = X.assign(q1=X["q1"].max())
        np.testing.assert_array_equal(
            classifier.predict_proba(X.assign(q1=np.inf)), classifier.predict_proba(largest)
        )  # it lies in the last cell

    def test_text_where_there_were_numbers(self):
        X, y = example()
        classifier = ANBClassifier(continuous="universal").fit(X, y)
        with pytest.raises(ValueError, match=r"column 'q1' was numeric in fit.* now contains 'high'"):
            classifier.predict(X.assign(q1="high"))
        text = X.assign(q1=X["q1"].astype(str))
        np.testing.assert_array_equal(classifier.predict_proba(text), classifier.predict_proba(X))

    def test_class_called_like_a_feature(self):
        X, y = example()
        with pytest.raises(ValueError, match="the class and a feature are both called 'q1'"):
            ANBClassifier(continuous="universal").fit(X, y.rename("q1"))


class TestUnusualTables:
    @pytest.mark.parametrize("model", MODELS)
    def test_little_to_learn_from(self, model):
        X, y = example()
        one_row = model(continuous=UniversalMeasure({"q0": QuantilePartition()})).fit(X[:1], y[:1])
        np.testing.assert_array_equal(one_row.predict_proba(X), 1.0)
        one_class = model(continuous="universal").fit(X, y * 0)
        np.testing.assert_array_equal(one_class.predict_proba(holed(X, 0)), 1.0)
        assert one_class.level_cost_ == pytest.approx(0.0, abs=1e-12)

    def test_a_constant_column_tells_nothing(self):
        X, y = example()
        measure = UniversalMeasure({"q9": QuantilePartition(), "o8": RULES["o"]})
        naive = NaiveBayesClassifier(continuous=measure).fit(X.assign(q9=3.0, o8=1.0), y)
        assert naive.cut_points_["q9"].tolist() == []
        assert naive.densities_["q9"].values.tolist() == [[1.0] * 3]
        without = NaiveBayesClassifier(continuous=UniversalMeasure({"o8": RULES["o"]})).fit(X.assign(o8=1.0), y)
        np.testing.assert_allclose(
            naive.predict_proba(X.assign(q9=3.0, o8=1.0)), without.predict_proba(X.assign(o8=1.0)), rtol=1e-9
        )

    @pytest.mark.parametrize("model", [ANBClassifier, GBNClassifier, CkGClassifier])
    @pytest.mark.parametrize(
        "names",
        [[0, 1, 2, 3], [("q0", 1), ("q0", 2), ("class", 1), 7], ["q0", ("q0", 1), ("q0", 2), "class 1"]],
        ids=repr,
    )
    def test_names_of_columns(self, model, names):
        """Tuples of a name and a number look like the views of a variable."""
        X, y = example()
        plain = model(continuous="universal").fit(X, y)
        named = X.set_axis(pd.Index(names, dtype=object, tupleize_cols=False), axis=1)
        classifier = model(continuous="universal").fit(named, y.rename(("q0", 3)))
        assert classifier.vocabulary_.names == (*names, ("q0", 3))
        asked = holed(X, 4).set_axis(named.columns, axis=1)
        np.testing.assert_array_equal(classifier.predict_proba(asked), plain.predict_proba(holed(X, 4)))
        assert classifier.level_cost_ == plain.level_cost_
        for one, other in zip(classifier.explain(asked[:5]), plain.explain(holed(X, 4)[:5]), strict=True):
            np.testing.assert_array_equal(one.terms["nats"], other.terms["nats"])

    def test_arrays(self):
        X, y = example(kinds="qqq")
        by_array = ANBClassifier(continuous=UniversalMeasure({"x1": RULES["q"]})).fit(X.to_numpy(), y.to_numpy())
        by_frame = ANBClassifier(continuous="universal").fit(X, y)
        np.testing.assert_array_equal(by_array.predict_proba(X.to_numpy()), by_frame.predict_proba(X))

    def test_small_weights(self):
        X, y = example()
        classifier = ANBClassifier(continuous="universal").fit(X, y, sample_weight=np.full(len(y), 1e-5))
        assert all(density.levels == (1,) * len(density.levels) for density in classifier.densities_.values())
        np.testing.assert_allclose(classifier.predict_proba(X), 1 / 3, atol=0.01)


def test_the_discrete_form_can_be_copied():
    X, y = example()
    discrete = ANBClassifier(continuous="universal").fit(X, y).to_discrete()
    for twin in (copy.deepcopy(discrete), pickle.loads(pickle.dumps(discrete))):
        np.testing.assert_array_equal(twin.predict_proba(X), discrete.predict_proba(X))
    assert clone(discrete).parents == dict(discrete.structure_.parents)


def test_levels_may_be_a_number_of_numpy(tmp_path):
    X, y = example()
    classifier = ANBClassifier(continuous=UniversalMeasure(levels=np.int64(2))).fit(X, y)
    classifier.save(tmp_path / "model.json")
    assert classifier.continuous == UniversalMeasure(levels=2)
    plain = ANBClassifier(continuous=UniversalMeasure(levels=2)).fit(X, y)
    np.testing.assert_array_equal(classifier.predict_proba(X), plain.predict_proba(X))


def test_tables_that_do_not_fit_are_learned_again_with_fewer_parents(monkeypatch):
    rng = np.random.default_rng(0)
    last = rng.normal(size=600)
    X = pd.DataFrame({f"x{j}": (last := last + 0.3 * rng.normal(size=600)) for j in range(5)})
    y = (X["x0"] > 0).rename("y")
    measure = UniversalMeasure(levels=3)
    classifier = ANBClassifier(continuous=measure).fit(X, y)
    most = max(map(len, classifier.structure_.parents.values()))
    sizes = density_counts.density_bytes(measure.read(X, y)[0], classifier.structure_, classifier.universal_score_)
    monkeypatch.setattr(memory, "available_memory", lambda: sum(sizes.values()))
    with pytest.warns(UserWarning, match=r"learned again with max_parents=\d"):
        classifier.fit(X, y)
    assert max(map(len, classifier.structure_.parents.values())) < most


def test_tuples_that_take_too_long_are_refused(monkeypatch):
    X, y = example()
    monkeypatch.setattr(density_counts, "MOST_STEPS", 10)
    with pytest.raises(ValueError, match=r"have \d+ tuples of levels, each spread over .* fewer levels="):
        ANBClassifier(continuous="universal").fit(X, y)


@pytest.mark.slow
def test_by_default_wide_tables_have_as_many_parents_as_can_be_scored():
    X = np.random.default_rng(0).normal(size=(250, 40))
    most = affordable_parents(40, 4)
    assert most == 4
    assert affordable_parents(40, 5) == 4
    assert affordable_parents(60, 9) == 3
    assert affordable_parents(27, 9) == 9
    assert affordable_parents(10_000, 9) == 1
    classifier = ANBClassifier(continuous="universal", time_limit=0.5).fit(X, X[:, 0] > 0)
    assert "at most 4 feature parents" in classifier.structure_.certificate.method
