"""Pairs of features for which residuals ask: their evidence, the arcs for them, and models that have them."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal

from anbexact import AdditiveClassifier, NaiveBayesClassifier, load
from anbexact.adapters import to_logit
from anbexact.models.smooth import pairs
from anbexact.models.smooth.pairs import asked_arcs, joined_network, score_evidence
from anbexact.models.smooth.terms import Axis, SmoothTerm
from anbexact.show.report.facts import facts, print_learned
from anbexact.show.report.plain import print_json


def exclusive_or(n_rows=600, seed=0):
    """The class is whether a and b are on the same side; c is noise."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.uniform(-1, 1, (n_rows, 3)), columns=["a", "b", "c"])
    same = np.where(rng.random(n_rows) < 0.1, X["a"] * X["b"] < 0, X["a"] * X["b"] > 0)
    return X, pd.Series(np.where(same, "same", "other"))


class TestEvidence:
    @pytest.mark.parametrize("seed", range(3))
    def test_is_the_gaussian_integral_over_functions_that_vary_along_both_axes(self, seed, monkeypatch):
        rng = np.random.default_rng(seed)
        sizes, strength, ridge = (3, 4), 0.7, 0.05
        monkeypatch.setattr(pairs, "STRENGTHS", (strength,))
        axes = tuple(Axis(name, np.arange(m), m, m) for name, m in zip("ab", sizes, strict=True))
        term = SmoothTerm(axes, 0)
        weight = rng.uniform(0.5, 3, 12)
        gradient = rng.normal(size=12)
        # Functions whose mean along every axis is 0; the prior precision among them, and their evidence against 0:
        # the density of the estimate z = W⁻ g, whose covariance is W⁻ + S⁻ with the term and W⁻ without it.
        contrasts = np.kron(*(np.linalg.svd(np.eye(m) - 1 / m)[0][:, : m - 1] for m in sizes))
        roughness = np.zeros((12, 12))
        for i, j in product(range(12), repeat=2):
            one, other = (np.eye(12)[k].reshape(sizes) for k in (i, j))
            for k, m in enumerate(sizes):
                steps = np.diff(one, axis=k) * np.diff(other, axis=k)
                roughness[i, j] += (m - 1) * steps.sum() / (12 / m)
        precision = contrasts.T @ (strength * roughness + ridge * np.eye(12)) @ contrasts
        information, towards = contrasts.T @ (weight[:, None] * contrasts), contrasts.T @ gradient
        estimate, spread = np.linalg.solve(information, towards), np.linalg.inv(information)
        expected = multivariate_normal(cov=spread + np.linalg.inv(precision)).logpdf(estimate)
        expected -= multivariate_normal(cov=spread).logpdf(estimate)
        found = score_evidence(term, gradient[:, None], weight[:, None], ridge)
        assert found == pytest.approx(expected, rel=1e-9)

    def test_of_noise_is_small_and_grows_with_the_signal(self):
        axes = tuple(Axis(name, np.arange(5), 5, 5) for name in "ab")
        wave = np.multiply.outer(np.arange(5) - 2, np.arange(5) - 2).ravel() / 4
        weight = np.full((25, 1), 5.0)
        found = [
            score_evidence(SmoothTerm(axes, 0), size * weight * wave[:, None], weight, 1e-3).max()
            for size in (0, 1, 2)
        ]
        assert found[0] < 0.1
        assert found[0] < found[1] < found[2]


class TestArcs:
    @pytest.fixture(scope="class")
    def network(self):
        X, y = exclusive_or()
        return to_logit(NaiveBayesClassifier().fit(X, y), X, intervals=4).network

    def test_join_pairs_with_enough_evidence_best_first(self, network):
        evidence = {("a", "b"): 2.0, ("a", "c"): 5.0, ("b", "c"): 0.5}
        assert [frozenset(arc) for arc in asked_arcs(evidence, network)] == [frozenset("ac"), frozenset("ab")]

    def test_join_no_more_than_tables_can_bear(self, network, monkeypatch):
        monkeypatch.setattr(pairs, "MOST_ENTRIES", 2 * 4 * 4)
        assert len(asked_arcs({("a", "b"): 2.0, ("a", "c"): 5.0, ("b", "c"): 4.0}, network)) == 2

    def test_do_not_change_the_posterior(self, network):
        joined = joined_network(network, (("a", "b"), ("c", "b")))
        assert joined.structure.parents["b"] == ("class", "a", "c")
        codes = np.stack([np.random.default_rng(0).integers(0, 4, 20) for _ in "abc"], axis=1)
        expected = np.log(network.tables["b"].values)[codes[:, 1]]
        found = np.log(joined.tables["b"].values)[codes[:, 1], :, codes[:, 0], codes[:, 2]]
        np.testing.assert_array_equal(found, expected)


class TestModels:
    @pytest.fixture(scope="class")
    def model(self):
        bayes = NaiveBayesClassifier()
        return AdditiveClassifier(bayes, intervals=8, interactions="more", time_limit=600).fit(*exclusive_or())

    def test_have_the_pair_that_was_asked_for(self, model):
        assert set(map(frozenset, model.logit_.refitted.smoothness.pairs)) == {frozenset("ab")}
        assert model.score(*exclusive_or(seed=1)) > 0.8
        assert "residuals" in str(model.structure_.certificate)
        assert "residuals" not in str(model.estimator_.structure_.certificate)

    def test_say_in_their_report_which_pair_it_is(self, model, capsys):
        print_learned(model)
        (pair,) = model.logit_.refitted.smoothness.pairs
        assert f"asked for them: {' & '.join(pair)};" in " ".join(capsys.readouterr().out.split())
        print_json(facts(model))
        assert "pairs_by_residuals" in capsys.readouterr().out

    def test_are_saved_explained_and_predict_with_missing_cells(self, model, tmp_path):
        X, _ = exclusive_or(40, seed=2)
        X.iloc[::4, 0] = np.nan
        model.save(tmp_path / "model.json")
        loaded = load(tmp_path / "model.json")
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
        assert loaded.logit_.refitted.smoothness.pairs == model.logit_.refitted.smoothness.pairs
        assert "given" in str(model.explain(X.iloc[1:2]))

    def test_stay_as_they_are_where_no_pair_is_asked_for(self):
        X, y = exclusive_or(200)
        y = pd.Series(np.where(X["c"] > 0, "same", "other"))
        found, expected = (
            AdditiveClassifier(NaiveBayesClassifier(), intervals=8, interactions=choice).fit(X, y)
            for choice in ("more", "families")
        )
        assert found.logit_.refitted.smoothness.pairs == ()
        np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))

    def test_need_strengths_by_left_out_rows(self):
        X, y = exclusive_or(60)
        with pytest.raises(ValueError, match=r"needs smooth='auto', not 'evidence'"):
            AdditiveClassifier(NaiveBayesClassifier(), smooth="evidence", interactions="more").fit(X, y)
