"""The estimator of smooth shapes: what it fits, its files, hidden cells, weights, shapes, figures and inference."""

import pickle

import numpy as np
import pandas as pd
import pytest
from edited import write_edited
from scipy.stats import norm
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss
from tiers import repeats

import anbexact
from anbexact import (
    AdditiveClassifier,
    ANBClassifier,
    FANClassifier,
    FSANBClassifier,
    NaiveBayesClassifier,
    RefittedClassifier,
    TANClassifier,
)
from anbexact.adapters import to_logit
from anbexact.classifiers import KDBClassifier
from anbexact.compare import compare
from anbexact.datasets import load_anes96, load_iris
from anbexact.models.smooth.shapes import shape_effects
from anbexact.show.figures.logit_shapes import plot_shapes

BASES = [NaiveBayesClassifier(), TANClassifier(), FANClassifier(), ANBClassifier(), FSANBClassifier()]


def wave(n, seed=0):
    """Rows whose log odds are a wave of one feature and a line of another; a third says nothing."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.uniform(-2, 2, (n, 3)), columns=["wave", "line", "noise"])
    odds = 1.5 * np.sin(2 * X["wave"]) + 0.7 * X["line"]
    y = pd.Series(np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "yes", "no"), name="k")
    return X, y


class TestFit:
    @pytest.mark.parametrize("estimator", BASES, ids=lambda one: type(one).__name__)
    def test_is_that_of_the_three_steps(self, estimator):
        X, y = load_iris()
        weights = np.random.default_rng(0).exponential(size=len(y))
        model = AdditiveClassifier(estimator, smooth=2.0, intervals=10).fit(X, y, weights)
        network = clone(estimator).fit(X, y, weights)
        logit = to_logit(network, X, weights, intervals=10).refit(X, y, weights, smooth=2.0)
        np.testing.assert_array_equal(model.predict_proba(X), logit.predict_proba(X))
        assert model.structure_.parents == network.structure_.parents
        assert model.n_iter_ == logit.refitted.fit.iterations
        assert isinstance(model, RefittedClassifier)

    @pytest.mark.parametrize("interactions", ["families", "pairs"])
    def test_of_a_single_class_is_certain(self, interactions):
        X, _ = wave(80)
        with pytest.warns(UserWarning, match="with a single class"):
            model = AdditiveClassifier(TANClassifier(), interactions=interactions).fit(X, ["yes"] * len(X))
        np.testing.assert_array_equal(model.predict_proba(X), 1.0)

    def test_of_nothing_is_a_tan(self):
        X, y = load_iris()
        assert isinstance(AdditiveClassifier(smooth=1.0).fit(X, y).estimator_, TANClassifier)

    def test_of_a_network_that_is_fitted_already(self):
        X, y = load_iris()
        bayes = NaiveBayesClassifier().fit(X, y)
        assert AdditiveClassifier(FrozenEstimator(bayes), smooth=1.0).fit(X, y).estimator_ is bayes

    def test_weights_are_rows(self):
        X, y = wave(200)
        weights = np.random.default_rng(1).integers(0, 3, len(y))
        repeated = np.repeat(np.arange(len(y)), weights)
        one = AdditiveClassifier(NaiveBayesClassifier(), smooth=3.0).fit(X, y, weights)
        other = AdditiveClassifier(NaiveBayesClassifier(), smooth=3.0).fit(X.iloc[repeated], y.iloc[repeated])
        np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-8)

    def test_the_order_of_features_does_not_matter(self):
        X, y = wave(300)
        one, other = (
            AdditiveClassifier(NaiveBayesClassifier(), smooth=3.0).fit(X[names], y).predict_proba(X[names])
            for names in (["wave", "line", "noise"], ["noise", "wave", "line"])
        )
        np.testing.assert_allclose(one, other, atol=1e-9)

    def test_predicts_better_than_the_refit_where_shapes_are_smooth(self):
        X, y = wave(600)
        X_test, y_test = wave(4000, seed=1)
        losses = [
            log_loss(y_test, model(NaiveBayesClassifier()).fit(X, y).predict_proba(X_test))
            for model in (RefittedClassifier, AdditiveClassifier)
        ]
        assert losses[1] < losses[0] - 0.02

    def test_interactions_that_are_there_are_found(self):
        rng = np.random.default_rng(0)
        X = pd.DataFrame(rng.uniform(-1, 1, (1500, 2)), columns=["a", "b"])
        y = pd.Series((rng.random(1500) < 1 / (1 + np.exp(-6 * X["a"] * X["b"]))).astype(int), name="k")
        frozen = FrozenEstimator(KDBClassifier(k=1).fit(X, y))
        alone, together = (
            AdditiveClassifier(frozen, interactions=kind).fit(X, y).logit_.log_likelihood(X, y)
            for kind in ("none", "families")
        )
        assert together > alone + 100

    def test_hidden_cells_are_summed_out(self):
        X, y = load_iris()
        holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.15)
        for estimator in (NaiveBayesClassifier(), TANClassifier(handle_missing="own_state")):
            model = AdditiveClassifier(estimator, smooth=1.0)
            with np.errstate(all="raise"):
                model.fit(X, y)
            assert np.isfinite(model.predict_proba(holes)).all()
        with pytest.warns(UserWarning, match="missing"):
            model = AdditiveClassifier(NaiveBayesClassifier(handle_missing="marginalize"), smooth=1.0).fit(holes, y)
        assert model.score(X, y) > 0.9

    def test_categories_have_levels(self):
        X, y = load_anes96()
        named = "group " + X.astype(str)
        model = AdditiveClassifier(NaiveBayesClassifier()).fit(named, y)
        assert set(model.logit_.refitted.smoothness.strengths) == {"level"}
        assert np.isfinite(model.predict_proba(named)).all()

    @pytest.mark.parametrize(
        ("parameter", "message"),
        [
            ({"smooth": None}, "smooth must not be None"),
            ({"smooth": "much"}, "smooth must be"),
            ({"intervals": 1}, "intervals must be"),
            ({"interactions": "some"}, "interactions must be"),
            ({"max_iter": 0}, "max_iter must be"),
        ],
    )
    def test_senseless_parameters_are_refused(self, parameter, message):
        with pytest.raises(ValueError, match=message):
            AdditiveClassifier(**parameter).fit(*load_iris())


class TestFiles:
    @pytest.mark.parametrize(
        "estimator", [NaiveBayesClassifier(), pytest.param(ANBClassifier(), marks=pytest.mark.slow)]
    )
    def test_lose_nothing(self, estimator, tmp_path):
        X, y = load_iris()
        model = AdditiveClassifier(estimator, intervals=8, smooth={"slope": 0.5, "interaction": 3.0}).fit(X, y)
        model.save(tmp_path / "model.json")
        read = anbexact.load(tmp_path / "model.json")
        assert isinstance(read, AdditiveClassifier)
        assert read.get_params(deep=False).keys() == model.get_params(deep=False).keys()
        np.testing.assert_array_equal(read.predict_proba(X), model.predict_proba(X))
        hidden = X.mask(np.random.default_rng(0).random(X.shape) < 0.2)
        np.testing.assert_array_equal(read.predict_proba(hidden), model.predict_proba(hidden))
        pd.testing.assert_frame_equal(read.logit_.shapes().to_frame(), model.logit_.shapes().to_frame())
        pd.testing.assert_frame_equal(read.logit_.result().terms, model.logit_.result().terms)
        read.save(tmp_path / "again.json")
        assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()

    @pytest.mark.parametrize(
        ("place", "value", "message"),
        [
            (("l2",), 0, "refit: a finite number above 0 was expected, not 0"),
            (("smooth", "rule"), "guess", "refit: the strengths of smoothing are not known"),
            (("smooth", "strengths"), {"slop": 1.0}, "refit: smooth must be"),
            (("smooth", "strengths", "slope"), -1, "refit: smooth must be"),
            (("smooth", "strengths", "slope"), [[9, 1.0]], "refit: a whole number from 0 to"),
            (("smooth", "terms"), [], "refit: there must be a term for every feature of other terms"),
            (("smooth", "terms", 1, 0, 0), -1, "refit: a whole number from 0 to"),
            (("smooth", "terms", 1), [], "refit: there must be a term for every feature of other terms"),
            (("smooth", "terms", 1, 0, 2, 0), 10**12, "refit: a whole number from 0 to"),
            (("smooth", "terms", 1, 0, 2, 0), 1, "refit: the groups of 'sepal_length' are not those of its states"),
            (("fit", "shift", 0), float("nan"), "refit: the shifts of the refit are not"),
        ],
    )
    def test_that_were_edited_are_refused(self, place, value, message, tmp_path):
        path = tmp_path / "m.json"
        AdditiveClassifier(NaiveBayesClassifier(), intervals=4, smooth=1.0).fit(*load_iris()).save(path)
        write_edited(path, ("refit", *place), value)
        with pytest.raises(ValueError, match=rf"m\.json is damaged or was edited: {message}"):
            anbexact.load(path)

    def test_pickles_predict_the_same(self):
        X, y = load_iris()
        model = AdditiveClassifier(smooth=1.0, intervals=8).fit(X, y)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))


class TestShapes:
    @pytest.mark.parametrize(
        "estimator",
        [
            NaiveBayesClassifier(),
            TANClassifier(),
            pytest.param(ANBClassifier(), marks=pytest.mark.slow),
        ],
    )
    def test_add_up_to_the_log_odds(self, estimator):
        X, y = load_iris()
        model = AdditiveClassifier(estimator, intervals=12, smooth=0.3).fit(X, y)
        logit = model.logit_
        shapes = logit.shapes("virginica", "setosa")
        problem, design = logit.refitted.problem, logit.refitted.design
        total = np.zeros(len(problem.cells))
        for shape, (effect, _, _) in zip(shapes, shape_effects(logit.refitted), strict=True):
            assert shape.features == effect.features
            states = [of[design.states(name)] for name, of in zip(effect.features, effect.groups, strict=True)]
            total += shape.log_odds[tuple(states)]
        odds = problem.predictors(logit.refitted.shift)
        odds = odds[:, 2] - odds[:, 0]
        assert np.ptp(odds - total) < 1e-6 * np.ptp(odds)
        for shape in shapes:
            for axis in range(shape.log_odds.ndim):
                means = (shape.weight * shape.log_odds).sum(axis=axis) / shape.weight.sum()
                np.testing.assert_allclose(means, 0, atol=1e-9)

    def test_of_two_classes_are_of_the_second_against_the_first(self):
        X, y = wave(300)
        logit = AdditiveClassifier(NaiveBayesClassifier()).fit(X, y).logit_
        shapes = logit.shapes()
        assert {(shape.label, shape.against) for shape in shapes} == {("yes", "no")}
        other = logit.shapes("no")
        np.testing.assert_allclose(other[0].log_odds, -shapes[0].log_odds)
        np.testing.assert_allclose(other[0].standard_error, shapes[0].standard_error)

    def test_of_unknown_classes_or_without_a_smooth_refit_are_refused(self):
        X, y = load_iris()
        logit = AdditiveClassifier(smooth=1.0, intervals=6).fit(X, y).logit_
        for labels in (("rose",), ("setosa", "setosa"), ("setosa", "rose")):
            with pytest.raises(ValueError, match="must be two of the classes"):
                logit.shapes(*labels)
        with pytest.raises(ValueError, match="there are no shapes"):
            RefittedClassifier().fit(X, y).logit_.shapes()

    def test_frames_have_a_row_for_every_cell(self):
        X, y = load_iris()
        shapes = AdditiveClassifier(smooth=1.0, intervals=6).fit(X, y).logit_.shapes()
        frame = shapes.to_frame()
        assert len(frame) == sum(shape.log_odds.size for shape in shapes)
        assert list(frame) == ["term", "states", "class", "log_odds", "standard_error", "weight"]
        assert frame["weight"].groupby([frame["term"], frame["class"]]).sum().eq(len(y)).all()

    @pytest.mark.slow
    def test_recover_what_is_there_and_bands_cover_it(self):
        """Over 60 samples of 2,000 rows, bands cover 96 %: straight shapes too often, curved ones 95 %."""
        truths = {"wave": lambda x: 1.5 * np.sin(2 * x), "line": lambda x: 0.7 * x, "noise": lambda x: 0 * x}
        covered = []
        for seed in range(8):
            X, y = wave(2000, seed)
            logit = AdditiveClassifier(NaiveBayesClassifier(n_jobs=1), smooth="evidence").fit(X, y).logit_
            for own in logit.shapes():
                states = np.searchsorted(logit.cut_points[own.name], X[own.name], side="left")
                truth = truths[own.name](X[own.name]).groupby(states).mean().to_numpy()
                truth = truth - np.average(truth, weights=own.weight)
                if own.name != "noise":
                    assert np.corrcoef(truth, own.log_odds)[0, 1] > 0.97
                inside = np.abs(own.log_odds - truth) <= norm.ppf(0.975) * own.standard_error
                covered.append(np.average(inside, weights=own.weight))
        assert 0.93 <= np.mean(covered) <= 0.98

    def test_figures_have_a_panel_for_every_shape(self):
        X, y = wave(400)
        shapes = AdditiveClassifier(ANBClassifier(), smooth=1.0).fit(X, y).logit_.shapes()
        figure = shapes.plot()
        named = [axes.get_xlabel() for axes in figure.axes if axes.get_xlabel()]
        assert len(named) == sum(len(shape.features) <= 2 for shape in shapes)
        assert len([axes for axes in plot_shapes(shapes, most=2).axes if axes.get_xlabel()]) == 2
        figure.canvas.draw()


class TestResult:
    def test_without_features_has_no_terms(self):
        X, y = pd.DataFrame({"a": ["k"] * 20}), pd.Series([0, 1] * 10, name="c")
        model = AdditiveClassifier(NaiveBayesClassifier(), smooth=1.0).fit(X, y)
        result = model.logit_.result()
        assert len(result.terms) == len(model.logit_.shapes()) == 0
        assert "p_value" in result.terms
        assert "log likelihood -13.863" in str(result)

    def test_tells_terms_that_matter_from_those_that_do_not(self):
        X, y = wave(1500)
        result = AdditiveClassifier(NaiveBayesClassifier()).fit(X, y).logit_.result()
        assert result.terms.loc["wave", "p_value"] < 1e-10
        assert result.terms.loc["line", "p_value"] < 1e-10
        assert result.terms.loc["noise", "p_value"] > 0.01
        assert result.edf > result.terms["edf"].sum() - 1e-9
        assert result.aic == pytest.approx(-2 * (result.log_likelihood - result.edf))
        assert "effective degrees of freedom" in str(result)

    @pytest.mark.slow
    def test_p_values_of_noise_are_not_too_small(self):
        p_values = []
        for seed in repeats(30):
            X, y = wave(400, seed)
            y = pd.Series(np.random.default_rng(seed).choice(["no", "yes"], len(y)), name="k")
            fitted = AdditiveClassifier(NaiveBayesClassifier(n_jobs=1), smooth="evidence").fit(X, y)
            p_values += fitted.logit_.result().terms["p_value"].tolist()
        assert np.mean(np.array(p_values) < 0.05) < 0.1
        assert np.mean(p_values) > 0.4


class TestComparison:
    @pytest.mark.slow
    def test_lines_are_those_of_the_estimator(self):
        X, y = load_iris()
        named = compare(X, y, folds=3, models=["NB", "NB smooth"], refit=False)
        own = compare(X, y, folds=3, models={"mine": AdditiveClassifier(NaiveBayesClassifier())})
        assert named.loc["NB smooth", "log_loss"] == own.loc["mine", "log_loss"]
        assert named.loc["NB smooth", "parameters"] == own.loc["mine", "parameters"] < 30
