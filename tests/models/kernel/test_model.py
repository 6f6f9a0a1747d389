"""Kernel logistic regression as a value: its posterior against a loop over points, its dictionary, its refusals."""

import copy
import itertools
import json

import numpy as np
import oracles
import pandas as pd
import pytest
from similarities import ARITIES, N_CLASSES, Sample, codes_of, with_holes

import anbexact.models.kernel.model as model_module
from anbexact.classifiers import KernelClassifier
from anbexact.models.kernel.distances import distances_of, with_relevance
from anbexact.models.kernel.model import KernelModel


def random_model(seed, weights="ones"):
    """A model with random coefficients, and the sample whose rows are its points."""
    sample, rng = Sample.drawn(seed, 20, weights), np.random.default_rng(seed)
    points, _ = sample.distinct
    model = KernelModel(
        vocabulary=sample.table.vocabulary,
        cut_points={},
        distances=with_relevance(distances_of(sample.table, {}), np.array(sample.informations), 0.5),
        points=codes_of(points),
        coefficients=rng.normal(size=(len(points), N_CLASSES)),
        biases=rng.normal(size=N_CLASSES),
        rate=float(rng.choice([0.2, 1.0, 4.0])),
        l2=0.1,
        relevance=0.5,
        power=1.0,
    )
    return model, sample


class TestPosterior:
    @pytest.mark.parametrize("weights", ["ones", "mixed"])
    @pytest.mark.parametrize("seed", range(5))
    def test_is_that_of_the_formula(self, seed, weights):
        model, sample = random_model(seed, weights)
        rows = [*sample.rows, *with_holes(sample.rows, seed), (None,) * 3]
        points, _ = sample.distinct
        expected = [
            oracles.kernel_posterior(own, model.coefficients, model.biases)
            for own in sample.correlations(rows, points, model.rate, 0.5)
        ]
        found = model.log_posterior(codes_of(rows))
        np.testing.assert_allclose(found, expected, atol=1e-12)
        np.testing.assert_allclose(model.posterior(codes_of(rows)), np.exp(expected), atol=1e-12)

    def test_log_odds_with_a_hidden_cell_are_expected_ones(self):
        """Of the rows that have any other state there, each as often as in the training rows."""
        model, sample = random_model(3)
        row = sample.rows[0]
        for feature, weights in enumerate(sample.state_weights):
            completed = [(*row[:feature], state, *row[feature + 1 :]) for state in range(ARITIES[feature])]
            logs = model.log_posterior(codes_of(completed))
            expected = np.average(logs[:, 1:] - logs[:, :1], axis=0, weights=weights)
            hidden = model.log_posterior(codes_of([(*row[:feature], None, *row[feature + 1 :])]))
            np.testing.assert_allclose(hidden[0, 1:] - hidden[0, 0], expected, atol=1e-12)

    def test_neither_threads_nor_parts_matter(self, monkeypatch):
        model, sample = random_model(0)
        codes = codes_of(with_holes(sample.rows * 5))
        whole = model.log_posterior(codes, n_jobs=1)
        monkeypatch.setattr(model_module, "CELLS_AT_ONCE", 7 * len(model.coefficients))
        in_parts = model.log_posterior(codes, n_jobs=1)
        np.testing.assert_allclose(in_parts, whole, atol=1e-12)
        np.testing.assert_array_equal(model.log_posterior(codes, n_jobs=3), in_parts)

    def test_more_points_than_are_computed_at_once(self, monkeypatch):
        model, sample = random_model(0)
        whole = model.log_posterior(codes_of(sample.rows))
        monkeypatch.setattr(model_module, "CELLS_AT_ONCE", 1)
        np.testing.assert_allclose(model.log_posterior(codes_of(sample.rows)), whole, atol=1e-12)

    def test_is_a_potential_of_all_features(self, monkeypatch):
        model, _ = random_model(1)
        states = list(itertools.product(*map(range, ARITIES)))
        (potential,) = model.to_potentials()
        assert potential.features == model.vocabulary.features
        logs = np.array([potential.logs[state] for state in states])
        np.testing.assert_allclose(logs, model.log_posterior(codes_of(states)), atol=1e-12)
        monkeypatch.setattr(model_module, "CELLS_AT_ONCE", 7)
        np.testing.assert_allclose(model.to_potentials()[0].logs, potential.logs, atol=1e-12)
        monkeypatch.setattr(model_module, "available_memory", lambda: 100)
        with pytest.raises(MemoryError, match=r"one function of all features: its table for their 90 joint states"):
            model.to_potentials()

    def test_features_of_a_single_state_are_no_axes_of_the_potential(self):
        rng = np.random.default_rng(0)
        X = pd.DataFrame({f"s{k}": ["only"] * 9 for k in range(80)}).assign(a=list("uvw") * 3)  # no array has 80 axes
        model = KernelClassifier(rate=1.0, l2=0.1, relevance=0.0).fit(X, rng.permutation(list("xxxxyyyyy"))).model_
        (potential,) = model.to_potentials()
        assert potential.features == ("a",)
        codes = np.zeros((81, 3), dtype=np.int16)
        codes[-1] = range(3)
        np.testing.assert_allclose(potential.logs, model.log_posterior(codes), atol=1e-12)
        constant = KernelClassifier(rate=1.0, l2=0.1, relevance=0.0).fit(X[["s0"]], list("xxxyyyyyy")).model_
        (potential,) = constant.to_potentials()
        assert (potential.features, potential.logs.shape) == ((), (2,))

    def test_facts(self):
        model, sample = random_model(0)
        n_points = len(sample.distinct[0])
        assert model.facts() == {
            "free_parameters": (n_points + 1) * (N_CLASSES - 1),
            "rate": model.rate,
            "l2": 0.1,
            "relevance": 0.5,
            "power": 1.0,
            "points": n_points,
        }

    def test_what_only_networks_have_is_refused(self):
        model, sample = random_model(0)
        for ask, message in (
            (lambda: model.sample(1), "rows cannot be drawn from a KernelModel"),
            (lambda: model.log_joint(codes_of(sample.rows)), "has no distribution of the features"),
            (model.to_network, "is not a network of conditional tables"),
            (model.family_sum, "are not a sum over families of features"),
        ):
            with pytest.raises(TypeError, match=message):
                ask()
        with pytest.raises(ValueError, match="fit again with all rows"):
            model.add(sample.table)


def changed(described, place, value):
    """A copy with another value in a place; `KeyError` as the value removes it."""
    found = part = copy.deepcopy(described)
    for key in place[:-1]:
        part = part[key]
    if value is KeyError:
        del part[place[-1]]
    else:
        part[place[-1]] = value
    return found


class TestDictionary:
    def restored(self, described, model):
        return KernelModel.from_dict(described, model.vocabulary, {}, None)

    @pytest.mark.parametrize("seed", range(3))
    def test_loses_nothing(self, seed):
        model, sample = random_model(seed, "mixed")
        described = json.loads(json.dumps(model.to_dict(), allow_nan=False))
        again = self.restored(described, model)
        for rows in (sample.rows, with_holes(sample.rows)):
            np.testing.assert_array_equal(
                again.log_posterior(codes_of(rows)), model.log_posterior(codes_of(rows)), strict=True
            )
        assert again.to_dict() == described
        assert again.facts() == model.facts()

    def test_keeps_the_power_of_distances_which_earlier_files_do_not_have(self):
        rng = np.random.default_rng(0)
        X = pd.DataFrame({"a": rng.normal(size=40), "b": rng.integers(0, 3, 40)})
        model = KernelClassifier(rate=1.0, l2=0.1, relevance=0.0, power=1.2).fit(X, (X["a"] > 0).rename("c")).model_
        described = json.loads(json.dumps(model.to_dict()))

        def again():
            return KernelModel.from_dict(described, model.vocabulary, model.cut_points, None)

        assert again().power == described["power"] == 1.2
        assert [own.power for own in again().distances] == [1.2, 1.0]
        codes = codes_of([(0, 0), (5, 1), (39, 2), (None, 1)])
        np.testing.assert_array_equal(again().log_posterior(codes), model.log_posterior(codes))
        del described["power"]
        assert again().power == 1.0
        places = model.distances[0].places
        np.testing.assert_array_equal(again().distances[0].table, 2 * np.abs(places[:, None] - places))

    def test_without_points_it_is_that_of_the_biases(self):
        model, sample = random_model(0)
        again = self.restored({**model.to_dict(), "points": [], "coefficients": []}, model)
        expected = model.biases - np.logaddexp.reduce(model.biases)
        np.testing.assert_allclose(again.log_posterior(codes_of(sample.rows)), np.tile(expected, (20, 1)))

    @pytest.mark.parametrize(
        ("place", "value", "message"),
        [
            (("states",), KeyError, "states: 'states' is missing"),
            (("states",), [], "states: a list of length 3 was expected, not 0"),
            (("states", 0), [1.0], "states: an object was expected"),
            (("states", 0, "places"), KeyError, "states: 'places' is missing"),
            (("states", 0, "places"), [0.5], "states: a list of length 6 was expected, not 1"),
            (("states", 0, "places", 1), "low", "states: a number was expected, not 'low'"),
            (("states", 0, "places", 1), -0.5, "states: a finite number of 0 or more was expected, not -0.5"),
            (("states", 1, "shares"), [1.0], "states: a list of length 3 was expected, not 1"),
            (("states", 1, "shares"), [0.5, 0.5, 0.5], "states: the shares of the states must be .* add up to 1"),
            (("states", 1, "shares"), [1.5, -0.5, 0.0], "states: the shares of the states must be 0 or more"),
            (("states", 2, "relevance"), -1.0, "states: a finite number of 0 or more was expected, not -1"),
            (("states", 2, "relevance"), KeyError, "states: 'relevance' is missing"),
            (("power",), 0.0, "power: a finite number above 0 was expected, not 0"),
            (("power",), 2.5, "power: a number of at most 1.3 was expected, not 2.5"),
            (("points",), 3, "points: a list was expected, not 3"),
            (("points", 0), [0, 0], "points: a list of length 3 was expected, not 2"),
            (("points", 0, 1), 3, "points: a whole number from 0 to 2 was expected, not 3"),
            (("points", 0, 1), -1, "points: a whole number from 0 to 2 was expected, not -1"),
            (("coefficients",), [[0.0] * 3], "coefficients: a list of length .* was expected, not 1"),
            (("coefficients", 0), [0.0], "coefficients: a list of length 3 was expected, not 1"),
            (("coefficients", 0, 0), float("nan"), "coefficients: a list of finite numbers was expected"),
            (("biases",), [0.0, 0.0], "biases: a list of length 3 was expected, not 2"),
            (("biases", 0), None, "biases: a list of numbers was expected"),
            (("rate",), 0, "rate, l2 and relevance: a finite number above 0 was expected, not 0"),
            (("l2",), KeyError, "rate, l2 and relevance: 'l2' is missing"),
            (("relevance",), -0.5, "rate, l2 and relevance: a finite number of 0 or more was expected, not -0.5"),
            (("relevance",), None, "rate, l2 and relevance: a number was expected, not None"),
            (("l2",), float("inf"), "rate, l2 and relevance: a finite number above 0 was expected, not inf"),
        ],
    )
    def test_nonsense_is_refused_with_its_field(self, place, value, message):
        model, _ = random_model(0)
        described = model.to_dict()
        self.restored(described, model)
        with pytest.raises(ValueError, match=f"^{message}"):
            self.restored(changed(described, place, value), model)
