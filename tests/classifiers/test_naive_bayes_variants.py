"""Naive Bayes with weights of its features, and averaged over their selections, against the formulas."""

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import Problem, problems, random_problem
from tiers import examples, repeats

import anbexact
from anbexact import NaiveBayesClassifier, PooledClassifier
from anbexact.classifiers import AveragedNaiveBayesClassifier, WeightedNaiveBayesClassifier
from anbexact.compare import compare
from anbexact.datasets import load_anes96

MODELS = [WeightedNaiveBayesClassifier, AveragedNaiveBayesClassifier]


def fit(model, problem, ess=1.0, **parameters):
    X, y = problem.frame()
    classifier = model(ess=ess, discretizer=None, categories=problem.categories, **parameters)
    return classifier.fit(X, y, sample_weight=problem.weights)


class TestWeighted:
    def check(self, problem, ess=1.0):
        model = fit(WeightedNaiveBayesClassifier, problem, ess)
        exponents = model.feature_weights_
        assert ((exponents >= 0) & (exponents <= 1)).all()
        best, posteriors = oracles.weighted_naive_bayes_likelihood(
            problem.rows, problem.weights, problem.arities, exponents, ess
        )
        X, _ = problem.frame()
        np.testing.assert_allclose(model.predict_log_proba(X), posteriors, rtol=1e-8, atol=1e-9)
        others = [np.ones(problem.n), np.zeros(problem.n)]
        for i in range(problem.n):  # concave: where no single step leads upwards, nothing is higher
            for step in (-1e-3, 1e-3, -0.1, 0.1):
                moved = exponents.copy()
                moved[i] = np.clip(moved[i] + step, 0, 1)
                others.append(moved)
        for other in others:
            value, _ = oracles.weighted_naive_bayes_likelihood(
                problem.rows, problem.weights, problem.arities, other, ess
            )
            assert value <= best + 1e-6 * max(1.0, abs(best))

    @examples(25)
    @given(problem=problems())
    def test_weights_of_any_table_are_the_best(self, problem):
        self.check(problem)

    @pytest.mark.parametrize("weights", ["ones", "real"])
    def test_weights_are_the_best(self, weights):
        for seed in repeats(3):
            self.check(random_problem(seed, 5, weights=weights), 2.0)

    def test_copies_share_the_weight_of_one(self):
        """Three copies of a feature say what one says: naive Bayes counts them thrice."""
        rng = np.random.default_rng(0)
        y = rng.integers(0, 2, 2000)
        x = np.where(rng.random(2000) < 0.8, y, 1 - y)
        X = pd.DataFrame({"a": x, "b": x, "c": x}).astype(str)
        model = WeightedNaiveBayesClassifier(ess=1.0).fit(X, y)
        assert model.feature_weights_.sum() == pytest.approx(1.0, abs=0.01)
        one = NaiveBayesClassifier(ess=1.0).fit(X[["a"]], y)
        np.testing.assert_allclose(model.predict_proba(X), one.predict_proba(X[["a"]]), atol=2e-3)


class TestAveraged:
    @examples(25)
    @given(problem=problems(max_features=3), ess=st.sampled_from([0.5, 1.0, 7.0]), p=st.sampled_from([0.1, 0.5, 1.0]))
    def test_is_the_mean_over_all_selections(self, problem, ess, p):
        model = fit(AveragedNaiveBayesClassifier, problem, ess, arc_prior=p)
        joint = oracles.averaged_naive_bayes(problem.rows, problem.weights, problem.arities, ess, p)
        states = list(dict.fromkeys(state[:-1] for state in joint))
        X = pd.DataFrame(states, columns=problem.names[:-1])
        expected = np.array([[joint[(*state, c)] for c in range(problem.arities[-1])] for state in states])
        np.testing.assert_allclose(np.exp(model.log_evidence(X)), expected.sum(axis=1), rtol=1e-8)
        np.testing.assert_allclose(model.predict_proba(X), expected / expected.sum(axis=1)[:, None], rtol=1e-8)

    def test_with_probability_one_it_is_naive_bayes(self):
        problem = random_problem(2, 4)
        X, _ = problem.frame()
        sure, naive = fit(AveragedNaiveBayesClassifier, problem, arc_prior=1.0), fit(NaiveBayesClassifier, problem)
        np.testing.assert_allclose(sure.predict_proba(X), naive.predict_proba(X), rtol=1e-12)

    def test_a_feature_that_says_nothing_hardly_counts(self):
        rng = np.random.default_rng(1)
        rows = [(int(c ^ (rng.random() < 0.2)), int(rng.integers(0, 3)), int(c)) for c in rng.integers(0, 2, 1000)]
        model = fit(AveragedNaiveBayesClassifier, Problem(rows, [1.0] * 1000, [2, 3, 2]))
        assert model.arc_probabilities_[0] > 0.999
        assert model.arc_probabilities_[1] < 0.05

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"arc_prior": 0}, "arc_prior must be a number above 0, up to 1, not 0"),
            ({"arc_prior": "half"}, "arc_prior must be a number above 0, up to 1, not 'half'"),
            ({"parameters": "ml"}, "parameters must be 'eap'"),
        ],
    )
    def test_senseless_parameters(self, parameters, message):
        with pytest.raises(ValueError, match=message):
            AveragedNaiveBayesClassifier(**parameters).fit(*load_anes96())


@pytest.mark.parametrize("model", MODELS)
class TestForms:
    def test_comes_back_from_its_file(self, model, tmp_path):
        X, y = load_anes96()
        classifier = model(ess=2.0, smoothing=3.0).fit(X, y, sample_weight=np.linspace(0.1, 2, len(X)))
        classifier.save(tmp_path / "m.json")
        loaded = anbexact.load(tmp_path / "m.json")
        assert (loaded.ess_, loaded.smoothing_, loaded.parameters_) == (2.0, 3.0, "eap")
        assert loaded.predict_proba(X).tobytes() == classifier.predict_proba(X).tobytes()
        for name in ("feature_weights_", "arc_probabilities_"):
            assert hasattr(loaded, name) == hasattr(classifier, name)
        np.testing.assert_allclose(classifier.to_logit().predict_proba(X), classifier.predict_proba(X), rtol=1e-7)

    def test_weights_are_copies_of_rows(self, model):
        problem = random_problem(8, 4, n_rows=60)
        X, y = problem.frame()
        repeats_ = np.arange(60) % 3
        copies = np.repeat(np.arange(60), repeats_)
        weighted = model(ess=1.0).fit(X, y, sample_weight=repeats_)
        copied = model(ess=1.0).fit(X.iloc[copies], y.iloc[copies])
        np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), rtol=1e-4)

    def test_missing_cells_leave_their_factor_out(self, model):
        problem = random_problem(5, 3)
        X, _ = problem.frame()
        holes = X.astype(object)
        holes["f1"] = None
        classifier = fit(model, problem, handle_missing="marginalize")
        tables = classifier.conditional_tables_
        logs = np.log(tables["c"].values) + sum(np.log(tables[f].values)[X[f].to_numpy()] for f in ("f0", "f2"))
        expected = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
        np.testing.assert_allclose(classifier.predict_proba(holes), expected, rtol=1e-9)

    def test_rows_cannot_be_added(self, model):
        X, y = random_problem(3, 3).frame()
        classifier = model(ess=1.0).fit(X, y)
        with pytest.raises(ValueError, match="tables"):
            classifier.partial_fit(X, y)

    def test_is_compared_and_pooled(self, model):
        X, y = load_anes96()
        label = {WeightedNaiveBayesClassifier: "WNB", AveragedNaiveBayesClassifier: "MANB"}[model]
        assert list(compare(X, y, folds=2, models=["NB", label], refit=False).index) == ["NB", label]
        pool = PooledClassifier([NaiveBayesClassifier(ess=1.0), model(ess=1.0)], n_jobs=1).fit(X, y)
        np.testing.assert_allclose(pool.predict_proba(X).sum(axis=1), 1.0)
