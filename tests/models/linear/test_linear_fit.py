"""Fits of linear logistic regression: the penalised maximum, discriminant analysis, the choice, and the network."""

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax
from similarities import N_CLASSES, Sample
from sklearn.base import BaseEstimator
from sklearn.covariance import ledoit_wolf
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from tiers import examples

import anbexact.models.kernel.mode as mode_module
from anbexact import DiscreteTable
from anbexact.models.linear import fit as fit_module
from anbexact.models.linear.fit import (
    CENTRES,
    FOLDS,
    PRECISIONS,
    LinearFit,
    LinearSetting,
    choose_linear,
    learn_linear,
)
from anbexact.tables.folds import split_table


@pytest.fixture(autouse=True)
def to_the_end(monkeypatch):
    """Let fits go on until rounding ends them; usually, they end where little is left to gain."""
    monkeypatch.setattr(mode_module, "STATIONARY", {8: 1e-16, 4: 1e-16})


MEASURED = [True, False, False, True, False]
"""Which values of the samples are places: those of sizes and of parts, not those of kinds and of missing cells."""


def points_of(fit, rows):
    """The values of rows of state numbers."""
    return [np.concatenate([own[state] for own, state in zip(fit.values, row, strict=True)]) for row in rows]


def counted(sample):
    """Rows, classes and weights of the rows of positive weight."""
    kept = [of for of in zip(sample.rows, sample.classes, sample.weights, strict=True) if of[2] > 0]
    return [list(of) for of in zip(*kept, strict=True)]


class TestCoefficients:
    @examples(25)
    @given(
        seed=st.integers(0, 10**6),
        weights=st.sampled_from(["ones", "mixed"]),
        l2=st.sampled_from([0.1, 1.0, 10.0]),
        centre=st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    )
    def test_maximise_the_penalised_likelihood(self, seed, weights, l2, centre):
        sample = Sample.drawn(seed, weights=weights)
        fit = LinearFit(sample.table, {})
        coefficients, constants = fit.coefficients(LinearSetting(l2, centre))
        rows, *others = counted(sample)
        points = points_of(fit, rows)
        wanted, of_constants = oracles.linear_posterior(points, *others, N_CLASSES, l2, centre, MEASURED)
        found = log_softmax(np.array(points) @ coefficients + constants, axis=1)
        np.testing.assert_allclose(found, log_softmax(np.array(points) @ wanted + of_constants, axis=1), atol=2e-5)

    @examples(15)
    @given(
        seed=st.integers(0, 10**6), name=st.sampled_from(["size", "kind", "part"]), centre=st.sampled_from(CENTRES)
    )
    def test_one_feature_and_two_classes(self, seed, name, centre):
        sample = Sample.drawn(seed, weights="mixed")
        sample.classes = [min(label, 1) for label in sample.classes]
        X, y = sample.frame()
        categories = {key: sample.categories[key] for key in (name,)}
        table = DiscreteTable.from_frame(
            X[[name]], y, sample_weight=sample.weights, categories=categories, handle_missing="own_state"
        )
        fit, rows = LinearFit(table, {}), table.codes.tolist()
        coefficients, constants = fit.coefficients(LinearSetting(1.0, centre))
        points = points_of(fit, [row[:1] for row in rows])
        measured = [name != "kind", *[False] * (len(points[0]) - 1)]
        known = [row[1] for row in rows], table.weights.tolist()
        wanted, of_constants = oracles.linear_posterior(points, *known, 2, 1.0, centre, measured)
        found = log_softmax(np.array(points) @ coefficients + constants, axis=1)
        np.testing.assert_allclose(found, log_softmax(np.array(points) @ wanted + of_constants, axis=1), atol=2e-5)

    @examples(25)
    @given(seed=st.integers(0, 10**6))
    def test_discriminant_analysis(self, seed):
        """Of sizes and of parts without missing cells, which are places in an order."""
        sample = Sample.drawn(seed)
        sample.rows = [(size, 0, min(part, 3)) for size, _, part in sample.rows]
        rows, classes, weights = counted(sample)
        X, y = sample.frame()
        table = DiscreteTable.from_frame(X[["size", "part"]], y)
        fit = LinearFit(table, {})
        coefficients, constants = fit.coefficients(LinearSetting(1e7, 1.0))
        states = [table.vocabulary.states[name] for name in ("size", "part")]
        points = np.array(points_of(fit, [(states[0].index(size), states[1].index(part)) for size, _, part in rows]))
        within = oracles.covariance_within(points, classes, weights, N_CLASSES)

        class Known(BaseEstimator):
            def fit(self, X):
                self.covariance_ = within
                return self

        logs = np.array([np.log((classes.count(c) + 1 / N_CLASSES) / (len(classes) + 1)) for c in range(N_CLASSES)])
        model = LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=Known(), priors=np.exp(logs))
        wanted = model.fit(points, classes).predict_log_proba(points)
        np.testing.assert_allclose(log_softmax(points @ coefficients + constants, axis=1), wanted, atol=1e-4)

    def test_a_state_that_tells_the_classes_apart(self):
        """Log odds grow with the logarithm of the number of rows, not with the number."""
        found = []
        for n in (40, 400, 4_000):
            rng = np.random.default_rng(0)
            c = rng.integers(0, 2, n)
            X = pd.DataFrame({"x": np.where(c, "u", "v"), "noise": rng.normal(size=n).round(1)})
            model, _ = learn_linear(DiscreteTable.from_frame(X, pd.Series(c, name="c")), {}, PRECISIONS, CENTRES)
            found.append(np.abs(np.diff(model.effects[0], axis=1)).max())
        assert found[0] < 12
        assert found[2] < 2.5 * found[0]

    def test_a_class_without_rows(self):
        rng = np.random.default_rng(0)
        x, c = rng.normal(size=60).round(1), rng.integers(0, 2, 60)
        X, y = pd.DataFrame({"x": np.round(x + c)}), pd.Series(c, name="c")
        table = DiscreteTable.from_frame(X, y, categories={"c": [0, 1, 2], "x": list(range(-4, 6))})
        for setting in (LinearSetting(1.0, 0.0), LinearSetting(1.0, 1.0)):
            model, _ = learn_linear(table, {}, [setting.l2], [setting.centre])
            logs = model.log_posterior(np.arange(10, dtype=np.int16)[None])
            share = np.exp(LinearFit(table, {}).biases[2])
            assert (np.exp(logs[:, 2]) < 1.5 * share).all()
            assert np.exp(logs[:, 2]).max() > share / 5
            assert np.ptp(logs[:, 0] - logs[:, 1]) > 1

    def test_one_class(self):
        table = DiscreteTable.from_frame(pd.DataFrame({"x": [1, 2, 3]}), pd.Series(["a"] * 3, name="c"))
        model, chosen = learn_linear(table, {}, PRECISIONS, CENTRES)
        assert chosen.log_loss == 0
        np.testing.assert_array_equal(model.log_posterior(np.zeros((1, 1), np.int16)), [[0.0]])

    def test_no_values(self):
        table = DiscreteTable.from_frame(pd.DataFrame({"x": ["a"] * 6}), pd.Series(list("uuuuvv"), name="c"))
        model, _ = learn_linear(table, {}, [1.0], [0.5])
        found = np.exp(model.log_posterior(np.zeros((1, 1), np.int16)))[0]
        np.testing.assert_allclose(found, [4 / 6, 2 / 6], atol=1e-3)


class TestCovariance:
    @examples(40)
    @given(
        seed=st.integers(0, 10**6),
        weights=st.sampled_from(["ones", "mixed"]),
        n_rows=st.sampled_from([6, 12, 40]),
    )
    def test_formula(self, seed, weights, n_rows):
        sample = Sample.drawn(seed, n_rows, weights)
        rows, *others = counted(sample)
        fit = LinearFit(sample.table, {})
        wanted = oracles.covariance_within(points_of(fit, rows), *others, N_CLASSES)
        np.testing.assert_allclose(fit.covariance, wanted, atol=1e-10)

    @examples(20)
    @given(seed=st.integers(0, 10**6), n_rows=st.sampled_from([6, 12, 40]))
    def test_shrinkage_of_another_package(self, seed, n_rows):
        sample = Sample.drawn(seed, n_rows)
        rows, classes, weights = counted(sample)
        fit = LinearFit(sample.table, {})
        points = np.array(points_of(fit, rows))
        means = np.array(oracles.class_means(points, classes, weights, N_CLASSES))
        shrunk = ledoit_wolf(points - means[classes], assume_centered=True)[0]
        variance = (points**2).mean() * np.eye(len(shrunk))
        np.testing.assert_allclose(fit.covariance, (n_rows * shrunk + variance) / (n_rows + 1), atol=1e-10)


class TestChoice:
    @examples(8)
    @given(seed=st.integers(0, 10**6))
    def test_losses(self, seed):
        table = Sample.drawn(seed, 40).table
        totals = {LinearSetting(l2, centre): 0.0 for l2 in (0.1, 10.0) for centre in (0.0, 1.0)}
        of_frequencies = 0.0
        for left, held in split_table(table, FOLDS):
            fit, others = LinearFit(left, {}), Sample.of(held)
            rows, classes, weights = counted(Sample.of(left))
            assert len(set(classes)) == N_CLASSES
            for setting in totals:
                learned = points_of(fit, rows), classes, weights
                w, b = oracles.linear_posterior(*learned, N_CLASSES, *setting, MEASURED)
                logs = log_softmax(np.array(points_of(fit, others.rows)) @ w + b, axis=1)
                own = logs[np.arange(len(others.rows)), others.classes]
                totals[setting] -= float(np.dot(others.weights, own))
            of_classes = np.bincount(classes, weights, N_CLASSES)
            shares = (of_classes + 1 / N_CLASSES) / (of_classes.sum() + 1)
            of_frequencies -= float(np.dot(others.weights, np.log(shares[others.classes])))
        found = choose_linear(table, {}, (0.1, 10.0), (0.0, 1.0))
        assert found.setting == min(totals, key=totals.get)
        np.testing.assert_allclose(found.log_loss, totals[found.setting] / table.weight_sum, atol=1e-4)
        np.testing.assert_allclose(found.of_frequencies, of_frequencies / table.weight_sum)

    def test_ties_are_for_the_smaller_centre_and_the_larger_precision(self, monkeypatch):
        monkeypatch.setattr(LinearFit, "loss", lambda *_: 1.0)
        assert choose_linear(Sample.drawn(0).table, {}, PRECISIONS, CENTRES).setting == (100.0, 0.0)

    def test_progress_is_told(self):
        told = []
        choose_linear(Sample.drawn(0).table, {}, (0.1, 1.0), (0.0, 1.0), lambda *of: told.append(of))
        assert told == [("precision and centre", k / 4) for k in (1, 2, 3, 4)]

    def test_nothing_is_held_out_for_one_setting(self, monkeypatch):
        monkeypatch.setattr(fit_module, "split_table", None)
        choice = choose_linear(Sample.drawn(0).table, {}, [1.0], [0.5])
        assert choice.setting == (1.0, 0.5)
        assert np.isnan(choice.log_loss)

    def test_enough_rows_are_held_out(self, monkeypatch):
        table, left = Sample.drawn(0, 60).table, []
        monkeypatch.setattr(fit_module, "ROWS_TO_PREDICT", 20)
        monkeypatch.setattr(fit_module, "LinearFit", lambda table, cuts: left.append(table) or LinearFit(table, cuts))
        choose_linear(table, {}, PRECISIONS, CENTRES)
        assert len(left) == 2  # 12 rows in each fold

    def test_lines_are_found(self):
        rng = np.random.default_rng(1)
        X = rng.normal(size=(80, 3))
        labels = X @ [1.0, 2.0, -1.0] > 0
        columns = pd.DataFrame({f"x{j}": np.round(column, 1) for j, column in enumerate(X.T)})
        table = DiscreteTable.from_frame(columns, pd.Series(labels, name="c"))
        best = choose_linear(table, {}, PRECISIONS, CENTRES)
        assert best.log_loss < 0.25 < best.of_frequencies
