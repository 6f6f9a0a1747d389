"""The class posterior: against enumeration of all completions of the missing cells."""

import itertools

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import Problem, problems, random_problem
from tiers import examples

import anbexact.models.network.elimination
import anbexact.models.network.posterior
from anbexact import ANBClassifier, NaiveBayesClassifier
from anbexact.classifiers import FixedStructureClassifier
from anbexact.tables.vocabulary import MISSING, UNKNOWN

UNSEEN = 99
"""A value that is no state."""


def fit(problem, model, ess=1.0, **parameters):
    X, y = problem.frame()
    return model(ess=ess, categories=problem.categories, discretizer=None, **parameters).fit(
        X, y, sample_weight=problem.weights
    )


def oracle_tables(problem, structure, ess=1.0):
    number = {name: v for v, name in enumerate(problem.names)}
    tables = {}
    for name, of_name in structure.parents.items():
        parents = [number[parent] for parent in of_name]
        args = problem.rows, problem.weights, problem.arities, number[name], parents, ess
        tables[number[name]] = parents, oracles.eap(*args)
    return tables


def check_rows(problem, classifier, rows, ess=1.0):
    """Compare the posterior of rows (None and UNSEEN allowed) with the enumeration."""
    tables = oracle_tables(problem, classifier.structure_, ess)
    X = pd.DataFrame(rows, columns=problem.names[:-1], dtype=object)
    proba, log_proba, evidence = (
        getattr(classifier, name)(X) for name in ("predict_proba", "predict_log_proba", "log_evidence")
    )
    for t, row in enumerate(rows):
        observed = {v: state for v, state in enumerate(row) if state not in (None, UNSEEN)}
        joint = oracles.log_joint(tables, problem.arities, problem.n, observed)
        expected = oracles.log_posterior(tables, problem.arities, problem.n, observed)
        np.testing.assert_allclose(log_proba[t], expected, rtol=0, atol=1e-10)
        np.testing.assert_allclose(proba[t], np.exp(expected), rtol=0, atol=1e-10)
        assert evidence[t] == pytest.approx(oracles.log_sum(joint), abs=1e-10)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(log_proba, np.log(proba), rtol=1e-9, atol=1e-12)
    classes = classifier.predict(X)
    assert all(
        proba[t, classifier.classes_.tolist().index(c)] >= proba[t].max() - 1e-12 for t, c in enumerate(classes)
    )


def by_elimination(monkeypatch, classifier, X):
    """Return the posterior, from now on by elimination in every row, however few joint states are to be summed."""
    monkeypatch.setattr(anbexact.models.network.posterior, "MOST_STATES", 0)
    return classifier.predict_proba(X)


def cells_of(problem, data, n_rows=6):
    cell = [st.sampled_from([*range(arity), None, UNSEEN]) for arity in problem.arities[:-1]]
    return data.draw(st.lists(st.tuples(*cell), min_size=1, max_size=n_rows))


class TestEnumeration:
    @examples(40)
    @given(problem=problems(max_features=4), data=st.data())
    @pytest.mark.parametrize("model", [ANBClassifier, NaiveBayesClassifier])
    def test_random_networks_and_random_holes(self, model, problem, data):
        check_rows(problem, fit(problem, model), cells_of(problem, data))

    @pytest.mark.parametrize("seed", range(4))
    def test_every_pattern_of_missing_cells(self, seed):
        problem = random_problem(seed, 5, n_rows=150, max_arity=3)
        classifier = fit(problem, ANBClassifier, 0.5)
        assert len(classifier.structure_.feature_edges) >= 2
        rng = np.random.default_rng(seed)
        rows = [
            tuple(
                None if hole else int(rng.integers(0, arity))
                for hole, arity in zip(holes, problem.arities, strict=False)
            )
            for holes in itertools.product([False, True], repeat=5)
        ]
        check_rows(problem, classifier, rows, 0.5)

    @pytest.mark.parametrize(
        "parents",
        [
            {"c": ("f0", "f1"), "f0": (), "f1": ("f0",), "f2": ("c", "f1"), "f3": ("f2",)},
            {"c": (), "f0": (), "f1": ("f0",), "f2": ("f1",), "f3": ("c", "f0")},
            {"c": ("f3",), "f3": ("f2",), "f2": ("f1",), "f1": (), "f0": ("c", "f1", "f2", "f3")},
            {"c": (), "f0": (), "f1": (), "f2": (), "f3": ()},
        ],
        ids=["class with parents", "features beside the class", "chain into the class", "no arcs"],
    )
    def test_networks_in_which_the_class_is_anywhere(self, parents):
        problem = random_problem(7, 4, n_rows=60, max_arity=3)
        classifier = fit(problem, lambda **parameters: FixedStructureClassifier(parents, **parameters))
        rows = [
            tuple(
                None if hole else (t + v) % arity
                for v, (hole, arity) in enumerate(zip(holes, problem.arities, strict=False))
            )
            for t, holes in enumerate(itertools.product([False, True], repeat=4))
        ]
        check_rows(problem, classifier, rows)

    def test_all_cells_missing_give_the_prior(self):
        problem = random_problem(3, 4)
        classifier = fit(problem, ANBClassifier)
        proba = classifier.predict_proba(pd.DataFrame([[None] * 4], columns=problem.names[:-1], dtype=object))
        np.testing.assert_allclose(proba[0], classifier.conditional_tables_["c"].values, rtol=1e-13)

    def test_evidence_sums_to_one_over_all_rows(self):
        problem = random_problem(5, 4, max_arity=3)
        classifier = fit(problem, ANBClassifier)
        rows = list(itertools.product(*map(range, problem.arities[:-1])))
        evidence = classifier.log_evidence(pd.DataFrame(rows, columns=problem.names[:-1]))
        assert np.exp(evidence).sum() == pytest.approx(1, abs=1e-12)

    def test_missing_cells_worked_in_chunks(self, monkeypatch):
        problem = random_problem(6, 5, n_rows=100)
        classifier = fit(problem, ANBClassifier)
        rows = [(t % 2, None if t % 7 else 0, t % 3 % 2, None, 0) for t in range(40)]
        X = pd.DataFrame(rows, columns=problem.names[:-1], dtype=object)
        one_by_one = classifier.predict_proba(X)
        expected = by_elimination(monkeypatch, classifier, X)
        np.testing.assert_allclose(expected, one_by_one, rtol=1e-12)
        monkeypatch.setattr(anbexact.models.network.elimination, "ROWS_PER_CHUNK", 7)
        monkeypatch.setattr(anbexact.models.network.elimination, "CELLS_PER_CALL", 50.0)
        np.testing.assert_array_equal(classifier.predict_proba(X), expected)

    def test_cliques_too_large_are_refused_with_numbers(self, monkeypatch):
        parents = {"c": (), "f0": ("c",), "f1": ("c",), "f2": ("c", "f0", "f1"), "f3": ("f2",)}
        problem = Problem([(0, 1, 0, 1, 0), (1, 0, 2, 0, 1)], [1.0, 1.0], [2, 2, 3, 2, 2])
        classifier = fit(problem, lambda **parameters: FixedStructureClassifier(parents, **parameters))
        X = pd.DataFrame([[0, 1, 2, 0], [None, None, None, 0]], columns=problem.names[:-1], dtype=object)
        expected = by_elimination(monkeypatch, classifier, X)
        cells = (24 + 12) + (12 + 6) + (6 + 2) + (2 + 2)
        monkeypatch.setattr(anbexact.models.network.elimination, "BYTES_PER_CELL", 1)
        monkeypatch.setattr(anbexact.models.network.elimination, "USUAL_CELLS", 1)
        monkeypatch.setattr(anbexact.models.network.elimination, "MOST_BYTES", cells)
        np.testing.assert_array_equal(classifier.predict_proba(X), expected)
        monkeypatch.setattr(anbexact.models.network.elimination, "MOST_BYTES", cells - 1)
        message = (
            r"the 3 missing or .* needs 66 bytes, but only 65 bytes may .* 24 joint states of 4 variables: .f0.,"
        )
        with pytest.raises(ValueError, match=message):
            classifier.predict_proba(X)


class TestBatches:
    @pytest.mark.parametrize("holes", [0.0, 0.4])
    def test_a_row_gets_the_same_posterior_alone_and_in_any_batch(self, holes):
        problem = random_problem(8, 6, n_rows=100, max_arity=3)
        classifier = fit(problem, ANBClassifier)
        rng = np.random.default_rng(0)
        X = pd.DataFrame(problem.rows, columns=problem.names).drop(columns="c").astype(float)
        X = X.mask(rng.random(X.shape) < holes)
        for method in ("predict_proba", "predict_log_proba", "log_evidence"):
            whole = getattr(classifier, method)(X)
            alone = np.concatenate([getattr(classifier, method)(X.iloc[t : t + 1]) for t in range(len(X))])
            np.testing.assert_array_equal(whole, alone)
            backwards = getattr(classifier, method)(X.iloc[::-1])
            np.testing.assert_array_equal(whole, backwards[::-1])

    def test_threads_change_nothing(self, monkeypatch):
        for module in (anbexact.models.network.posterior, anbexact.models.network.elimination):
            monkeypatch.setattr(module, "WORK_PER_THREAD", 1000)
        problem = random_problem(9, 5, n_rows=50)
        classifier = fit(problem, ANBClassifier)
        X, _ = problem.frame()
        X = pd.concat([X.astype(float)] * 400, ignore_index=True)
        X.iloc[10_000:] = X.iloc[10_000:].mask(np.random.default_rng(0).random((10_000, 5)) < 0.3)
        one, three = (classifier.set_params(n_jobs=k).predict_proba(X) for k in (1, 3))
        np.testing.assert_array_equal(one, three)
        np.testing.assert_array_equal(one[:50], classifier.predict_proba(X.iloc[:50]))


class TestEvidence:
    @given(st.integers(1, 40))
    def test_more_weight_on_a_state_makes_its_class_more_probable(self, extra):
        rows = [(0, 0), (1, 0), (0, 1), (1, 1)]

        def posterior(weight):
            problem = Problem(rows, [1.0, 1.0, 1.0, weight], [2, 2])
            return fit(problem, NaiveBayesClassifier).predict_proba(pd.DataFrame({"f0": [1]}))[0, 1]

        assert posterior(extra + 1) > posterior(extra)
        assert posterior(extra + 0.25) > posterior(extra)

    def test_scaling_all_weights_sharpens(self):
        problem = random_problem(2, 3, n_rows=30)
        X, _ = problem.frame()
        entropies = []
        for scale in (0.01, 0.1, 1, 10):
            scaled = Problem(problem.rows, [scale * w for w in problem.weights], problem.arities)
            log_proba = fit(scaled, NaiveBayesClassifier).predict_log_proba(X)
            entropies.append(-(np.exp(log_proba) * log_proba).sum(axis=1).mean())
        assert entropies == sorted(entropies, reverse=True)


class TestNoUnderflow:
    @pytest.mark.parametrize("holes", [0, 37])
    def test_four_hundred_features_with_twenty_states(self, holes):
        rng = np.random.default_rng(0)
        n, r, classes = 400, 20, 3
        X = rng.integers(0, r, (60, n))
        y = rng.integers(0, classes, 60)
        new = rng.integers(0, r, (5, n)).astype(float)
        new[:, :holes] = np.nan
        categories = {f"x{j}": list(range(r)) for j in range(n)}
        classifier = NaiveBayesClassifier(ess=1.0, categories=categories).fit(X, y)
        log_proba = classifier.predict_log_proba(new)
        assert np.isfinite(log_proba).all()
        assert np.isfinite(classifier.predict_proba(new)).all()
        for t in range(5):
            joint = []
            for c in range(classes):
                in_class = y == c
                total = np.log((in_class.sum() + 1 / classes) / (60 + 1))
                for j in range(holes, n):
                    cell = (in_class & (X[:, j] == new[t, j])).sum() + 1 / (classes * r)
                    total += np.log(cell / (in_class.sum() + 1 / classes))
                joint.append(total)
            expected = np.array(joint) - oracles.log_sum(joint)
            np.testing.assert_allclose(log_proba[t], expected, rtol=1e-10, atol=1e-9)
            assert classifier.log_evidence(new)[t] == pytest.approx(oracles.log_sum(joint), rel=1e-12)

    def test_extreme_weights(self):
        X = pd.DataFrame({"f0": [0, 1], "f1": [0, 1]})
        classifier = NaiveBayesClassifier(ess=1e-8).fit(X, [0, 1], sample_weight=[1e-8, 1e12])
        log_proba = classifier.predict_log_proba(X)
        assert np.isfinite(log_proba).all()
        np.testing.assert_allclose(np.exp(log_proba).sum(axis=1), 1)


class TestHandling:
    X = pd.DataFrame({"a": ["x", "y", "x", "y"], "b": ["u", "u", "v", "v"]})
    holed = pd.DataFrame({"a": ["x", None, "x", "y"], "b": ["u", "u", "v", "v"]})
    y = ("p", "q", "q", "p")

    def test_unknown_is_marginalised_or_refused(self):
        new = pd.DataFrame({"a": ["z"], "b": ["u"]})
        holed = pd.DataFrame({"a": [None], "b": ["u"]})
        classifier = ANBClassifier().fit(self.X, self.y)
        np.testing.assert_array_equal(classifier.predict_proba(new), classifier.predict_proba(holed))
        assert classifier.reader_.codes(new)[:, 0].tolist() == [UNKNOWN, 0]
        assert classifier.reader_.codes(holed)[:, 0].tolist() == [MISSING, 0]
        strict = ANBClassifier(handle_unknown="error").fit(self.X, self.y)
        strict.predict_proba(holed)
        with pytest.raises(ValueError, match=r"column 'a', row 0: the value 'z' is not a state .* states: 'x', 'y'"):
            strict.predict(new)

    def test_missing_is_refused(self):
        strict = ANBClassifier(handle_missing="error").fit(self.X, self.y)
        with pytest.raises(ValueError, match="column 'a', row 1: the cell is missing"):
            strict.predict(pd.DataFrame({"a": ["x", None], "b": ["u", "u"]}))
        with pytest.raises(ValueError, match=r"1 of 4 rows has a missing feature, most often 'a', in 1 row"):
            ANBClassifier(handle_missing="error").fit(self.holed, self.y)

    def test_missing_as_a_state_of_its_own(self):
        X = pd.DataFrame({"a": ["x", None, "x", None, None], "b": ["u", "u", "v", "v", "v"]})
        y = ["p", "q", "p", "q", "q"]
        own = ANBClassifier(handle_missing="own_state").fit(X, y)
        assert own.vocabulary_.states["a"] == ("x", "(missing)")
        assert own.vocabulary_.states["b"] == ("u", "v")
        named = ANBClassifier().fit(X.fillna("(missing)"), y)
        np.testing.assert_allclose(own.predict_proba(X), named.predict_proba(X.fillna("(missing)")), rtol=1e-12)
        # A column without missing cells in fit has no such state: its missing cells are marginalised.
        holed = pd.DataFrame({"a": ["x"], "b": [None]})
        np.testing.assert_array_equal(own.predict_proba(holed), own.predict_proba(holed.fillna("w")))

    def test_missing_as_a_state_of_a_continuous_column(self):
        X = np.arange(30.0)[:, None]
        X[::3] = np.nan
        own = NaiveBayesClassifier(handle_missing="own_state", discretizer="median").fit(X, np.isnan(X[:, 0]))
        assert len(own.vocabulary_.states["x0"]) == 3
        assert own.score(X, np.isnan(X[:, 0])) == 1

    def test_missing_in_training_is_left_out_with_a_warning(self):
        with pytest.warns(UserWarning, match=r"1 of 4 rows has a missing feature \(most often 'a', in 1 row\)"):
            holed = ANBClassifier(handle_missing="marginalize").fit(self.holed, self.y)
        kept = self.X.index != 1
        whole = ANBClassifier().fit(self.X[kept], np.array(self.y)[kept])
        np.testing.assert_array_equal(holed.predict_proba(self.X), whole.predict_proba(self.X))
