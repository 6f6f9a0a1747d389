"""The model: complete rows, missing cells, the network, explanations, and files."""

import json
import pickle
from dataclasses import replace

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax
from similarities import Sample
from tiers import examples

import anbexact.models.kernel.mode as mode_module
from anbexact import DiscreteTable
from anbexact.models.linear.fit import CENTRES, LinearFit, LinearSetting, learn_linear
from anbexact.models.linear.model import LinearModel

SETTINGS = {"l2": st.sampled_from([0.1, 1.0, 100.0]), "centre": st.sampled_from(CENTRES)}


def every_row(model):
    """The codes of all joint states."""
    shapes = [range(len(own)) for own in model.values]
    return np.stack(np.meshgrid(*shapes, indexing="ij")).reshape(len(shapes), -1).astype(np.int16)


def points_of(model, codes):
    """The values of complete rows."""
    return np.hstack([own[states] for own, states in zip(model.values, codes, strict=True)])


def learned(seed, l2=1.0, centre=0.5):
    return learn_linear(Sample.drawn(seed, weights="mixed").table, {}, [l2], [centre])[0]


@examples(25)
@given(seed=st.integers(0, 10**6), **SETTINGS)
def test_complete_rows(seed, l2, centre):
    table = Sample.drawn(seed, weights="mixed").table
    model, fit = learn_linear(table, {}, [l2], [centre])[0], LinearFit(table, {})
    coefficients, constants = fit.coefficients(LinearSetting(l2, centre))
    codes = every_row(model)
    wanted = log_softmax(points_of(model, codes) @ coefficients + constants, axis=1)
    np.testing.assert_allclose(model.log_posterior(codes), wanted, atol=1e-10)


@examples(25)
@given(seed=st.integers(0, 10**6), **SETTINGS)
def test_fits_end_close_to_the_maximum(seed, l2, centre):
    sample = Sample.drawn(seed, 60)
    codes = np.array(sample.rows, np.int16).T
    found = learn_linear(sample.table, {}, [l2], [centre])[0].log_posterior(codes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mode_module, "STATIONARY", {8: 1e-16, 4: 1e-16})
        exact = learn_linear(sample.table, {}, [l2], [centre])[0].log_posterior(codes)
    own = np.arange(60), sample.classes
    assert abs(found[own].mean() - exact[own].mean()) < 2e-4
    assert np.abs(np.exp(found) - np.exp(exact)).max() < 0.02


@examples(25)
@given(seed=st.integers(0, 10**6), **SETTINGS)
def test_missing_cells(seed, l2, centre):
    model, rng = learned(seed, l2, centre), np.random.default_rng(seed)
    codes = every_row(model)[:, rng.permutation(90)[:12]]
    hidden = rng.random(codes.shape) < 0.4
    found = model.log_posterior(np.where(hidden, -1, codes).astype(np.int16))
    widths = [own.shape[1] for own in model.values]
    for point, of_row, logs in zip(points_of(model, codes), hidden.T, found, strict=True):
        observed = np.repeat(~of_row, widths)
        wanted = oracles.linear_marginal(
            point, observed, model.coefficients, model.constants, model.covariance, model.shares
        )
        np.testing.assert_allclose(logs, wanted, atol=1e-7)


def test_nothing_is_known_without_cells():
    model = learned(0)
    nothing = np.full((3, 1), -1, np.int16)
    np.testing.assert_allclose(model.posterior(nothing)[0], model.shares)


def test_discriminant_analysis_needs_no_other_shares():
    """Up to the row that all classes share."""
    X, y = Sample.drawn(3, 300).frame()
    model = learn_linear(DiscreteTable.from_frame(X[["size"]], y), {}, [1e7], [1.0])[0]
    _, beyond = model._of_all
    np.testing.assert_allclose(beyond, beyond[0], atol=0.01)
    of_class = model.to_potentials()[0].logs
    np.testing.assert_allclose(log_softmax(of_class), np.log(model.shares), atol=0.01)


def test_a_column_tells_what_to_expect_in_another():
    rng = np.random.default_rng(0)
    level = np.repeat(np.arange(6), 20)
    X = pd.DataFrame({"a": level, "b": np.clip(level + rng.integers(-1, 2, 120) * (rng.random(120) < 0.1), 0, 5)})
    y = pd.Series(level + rng.normal(size=120) > 2.5, name="c")
    model = learn_linear(DiscreteTable.from_frame(X, y), {}, [0.1], [0.0])[0]
    complete = model.posterior(np.stack([np.arange(6), np.arange(6)]).astype(np.int16))
    hidden = model.posterior(np.stack([np.arange(6), np.full(6, -1)]).astype(np.int16))
    network = model.to_network().posterior(np.stack([np.arange(6), np.full(6, -1)]).astype(np.int16))
    assert np.abs(hidden - complete).max() < 0.05
    assert np.abs(network - complete).max() > 0.1


def test_a_feature_without_values_may_be_missing():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.integers(0, 3, 30), "same": ["a"] * 30})
    model = learn_linear(DiscreteTable.from_frame(X, pd.Series(X["x"] > 0, name="c")), {}, [1.0], [0.5])[0]
    codes = np.array([[0, 1, 2], [0, 0, 0]], np.int16)
    np.testing.assert_array_equal(model.posterior(np.where([[False], [True]], -1, codes)), model.posterior(codes))


class TestNetwork:
    @examples(25)
    @given(seed=st.integers(0, 10**6), **SETTINGS)
    def test_posterior(self, seed, l2, centre):
        model = learned(seed, l2, centre)
        network, codes = model.to_network(), every_row(model)
        np.testing.assert_allclose(network.log_posterior(codes), model.log_posterior(codes), atol=1e-8)
        assert network.structure.parents == {"c": (), **dict.fromkeys(model.vocabulary.features, ("c",))}
        for of_variable in network.tables.values():
            np.testing.assert_allclose(of_variable.values.sum(axis=0), 1.0)

    def test_of_a_model_that_is_too_sure(self):
        """Of classes far apart in an order, discriminant analysis is sure of more than floats can say."""
        X, y = pd.DataFrame({"x": [0, 1, 8, 9]}), pd.Series([0, 0, 1, 1], name="c")
        cuts = {"x": np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])}
        table = DiscreteTable.from_frame(X, y, sample_weight=[9e6] * 4, categories={"x": range(10)})
        model = learn_linear(table, cuts, [1.0], [1.0])[0]
        sharper = replace(model, coefficients=100 * model.coefficients)
        with pytest.raises(ValueError, match=r"too small for a float. Fit .* with the centre 0, or with a larger l2"):
            sharper.to_network()


class TestForms:
    def test_potentials_and_families_add_up(self):
        model = learned(1)
        codes = every_row(model)
        of_class, *others = model.to_potentials()
        assert model.n_parameters == 2 * (5 + 1)
        logs = of_class.logs + sum(own.logs[states] for own, states in zip(others, codes, strict=True))
        np.testing.assert_allclose(log_softmax(logs, axis=1), model.log_posterior(codes))
        assert [name for name, _ in model.summed_families] == ["c", *model.vocabulary.features]

    def test_files(self):
        model = learned(2)
        described = json.loads(json.dumps(model.to_dict()))
        read = LinearModel.from_dict(described, model.vocabulary, model.cut_points, None)
        codes = np.where(np.random.default_rng(0).random((3, 90)) < 0.3, -1, every_row(model)).astype(np.int16)
        for other in (read, pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(other.log_posterior(codes), model.log_posterior(codes))
            assert other.facts() == model.facts()
            assert other.to_dict() == model.to_dict()

    @pytest.mark.parametrize(
        ("field", "change", "message"),
        [
            ("values", lambda of: of[:-1], "values: a list of length 3"),
            ("values", lambda of: [of[0][:-1], *of[1:]], "values: a list of length 6"),
            ("values", lambda of: [[[*of[0][0], 1.0], *of[0][1:]], *of[1:]], "values: a list of length 2"),
            ("coefficients", lambda of: of[:-1], "coefficients: a list of length"),
            ("coefficients", lambda of: [["a", 0, 0], *of[1:]], "coefficients: a list of numbers"),
            ("constants", lambda of: of[:-1], "constants: a list of length 3"),
            ("covariance", lambda of: [[0.0] * len(of)] * len(of), "covariance must be symmetric and positive"),
            ("covariance", lambda of: [[9.0, *of[0][1:-1], 5.0], *of[1:]], "covariance must be symmetric"),
            ("shares", lambda _: [0.5, 0.5, 0.0], "shares of the classes must be above 0"),
            ("shares", lambda _: [0.5, 0.5, 0.5], "shares of the classes must be above 0"),
            ("common_logs", lambda of: of[1:], "common_logs: a list of length 3"),
            ("l2", lambda _: 0.0, "l2 and centre: a finite number above 0"),
            ("centre", lambda _: 1.5, "a centre of at most 1"),
        ],
    )
    def test_damaged_files_are_refused(self, field, change, message):
        model = learned(2)
        described = model.to_dict()
        described[field] = change(described[field])
        with pytest.raises(ValueError, match=message):
            LinearModel.from_dict(described, model.vocabulary, model.cut_points, None)

    def test_repr(self):
        assert repr(learned(0)) == "<LinearModel of 'c': 3 features>"
