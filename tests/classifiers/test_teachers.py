"""Classifiers that learn from a teacher's class probabilities."""

import io
from contextlib import redirect_stdout

import numpy as np
import oracles
import pandas as pd
import pytest
from scipy.optimize import approx_fprime
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict

import anbexact
from anbexact import AdditiveClassifier, NaiveBayesClassifier, PooledClassifier, RefittedClassifier, TANClassifier
from anbexact.classifiers.discrete import FitRows
from anbexact.classifiers.pooling.learning import Rows
from anbexact.datasets import load_iris
from anbexact.models.pool.weights import HeldOutLogs, fit_weights
from anbexact.show.report.facts import facts, print_learned
from anbexact.show.report.sections.card import model_section
from anbexact.show.report.subject import Subject

REFIT = RefittedClassifier(NaiveBayesClassifier(ess=1))
MEMBERS = [("NB", NaiveBayesClassifier(ess=1)), ("NB refitted", REFIT)]

SLOW_POOL = pytest.param(PooledClassifier(MEMBERS), marks=pytest.mark.slow)


@pytest.fixture(scope="module")
def taught():
    """Rows, of which two are equal but differ in their targets, and a teacher's probabilities of them."""
    X, y = (part.iloc[::3].reset_index(drop=True) for part in load_iris())
    X.iloc[1] = X.iloc[0]
    return X, y, cross_val_predict(LogisticRegression(C=0.1, max_iter=500), X, y, method="predict_proba")


@pytest.mark.parametrize("student", [REFIT, AdditiveClassifier(NaiveBayesClassifier(ess=1)), SLOW_POOL])
def test_labels_as_probabilities_change_nothing(taught, student):
    X, y, _ = taught
    weights = np.arange(len(y)) % 3.0
    one_hot = pd.get_dummies(y).astype(float)
    one_hot.iloc[0] = np.nan  # whose weight is 0
    plain = student.fit(X, y, weights).predict_proba(X)
    np.testing.assert_array_equal(student.fit(X, y, weights, soft=one_hot).predict_proba(X), plain)
    assert student.fidelity_.agreement > 0.9
    assert student.fit(X, y, weights).fidelity_ is None


@pytest.mark.parametrize("student", [REFIT, SLOW_POOL])
def test_follows_the_teacher_and_says_how_closely(taught, student, tmp_path):
    X, y, soft = taught
    plain = student.fit(X, y).fidelity(X, soft)
    frame = pd.DataFrame(soft, columns=student.classes_)[student.classes_[::-1]]
    student.fit(X, y, soft=frame)
    fidelity = student.fidelity_
    assert fidelity.divergence < plain.divergence / 3
    found = student.fidelity(X, soft)
    assert (found.divergence, found.agreement) == pytest.approx((fidelity.divergence, fidelity.agreement))
    student.save(tmp_path / "model.json")
    again = anbexact.load(tmp_path / "model.json")
    assert again.fidelity_ == fidelity
    assert facts(again)["fidelity"] == fidelity.to_dict()
    with redirect_stdout(io.StringIO()) as printed:
        print_learned(again)
    assert f"fidelity: {fidelity}" in " ".join(printed.getvalue().split())
    section = model_section(Subject(again, X, y, np.ones(len(y)), False, 0, np.arange(len(y))))
    card = {row["what"]: row["value"] for row in section.blocks[0].records}
    assert card["fidelity"] == str(fidelity)


def test_members_of_a_pool_learn_the_mixture(taught):
    X, y, soft = taught
    pool = PooledClassifier(MEMBERS, soft_weight=0.4).fit(X, y, soft=soft)
    alone = RefittedClassifier(NaiveBayesClassifier(ess=1), soft_weight=0.4).fit(X, y, soft=soft)
    member = dict(pool.estimators_)["NB refitted"]
    np.testing.assert_allclose(member.predict_proba(X), alone.predict_proba(X), atol=1e-6)


def test_weights_of_a_pool_maximise_the_expected_likelihood():
    rng = np.random.default_rng(0)
    logs, targets = np.log(rng.dirichlet([1, 1, 1], size=(30, 2))), rng.dirichlet([0.3, 0.3, 0.3], size=30)
    weights = rng.uniform(0.5, 2, 30)
    targets[:4] = [0, 1, 0]
    held_out = Rows(FitRows(None, None, weights), targets.argmax(axis=1), targets).with_logs(logs)
    assert held_out.weights.sum() == pytest.approx(weights.sum())
    found = fit_weights(held_out, 3.0)

    def value(point):
        w, b = point[:2], point[2:]
        posteriors = np.array([oracles.pooled_posterior(of_row, w, b) for of_row in logs])
        return float(weights @ (targets * np.log(posteriors)).sum(axis=1))

    losses = -np.einsum("t,tc,tmc->m", weights, targets, logs) / weights.sum()
    centre = np.exp(-1.5 * weights.sum() ** 0.5 * (losses - losses.min()))
    centre = np.concatenate([centre / centre.sum(), np.zeros(3)])
    best = np.concatenate([found.weights, found.biases])

    def penalised(point):
        return value(point) - 1.5 * ((point - centre) ** 2).sum()

    for step in rng.normal(scale=0.01, size=(20, 5)):
        other = np.concatenate([np.maximum(best[:2] + step[:2], 0), best[2:] + step[2:]])
        assert penalised(other) < penalised(best)
    assert (found.weights > 0).all()
    np.testing.assert_allclose(approx_fprime(best, penalised, 1e-6), np.zeros(5), atol=1e-3)


def test_hard_targets_count_once():
    logs, targets = np.zeros((2, 1, 2)), np.array([[0.0, 1.0], [1.0, 0.0]])
    ours = Rows(FitRows(None, None, np.array([2.0, 3.0])), np.array([1, 0]), targets).with_logs(logs)
    assert ours.codes.tolist() == [1, 0]
    assert ours.weights.tolist() == [2.0, 3.0]
    assert isinstance(ours, HeldOutLogs)


@pytest.mark.parametrize("student", [REFIT, PooledClassifier(MEMBERS)])
@pytest.mark.parametrize(
    ("change", "message"), [(lambda q: q[:, :2], "soft has shape"), (lambda q: q / 2, "add up to 0.5")]
)
def test_refuses_what_are_no_probabilities(taught, student, change, message):
    X, y, soft = taught
    with pytest.raises(ValueError, match=message):
        student.fit(X, y, soft=change(soft))


@pytest.mark.parametrize("student", [RefittedClassifier, AdditiveClassifier, PooledClassifier])
def test_refuses_other_shares(taught, student):
    X, y, soft = taught
    with pytest.raises(ValueError, match="soft_weight must be a number from 0 to 1, not 2"):
        student(soft_weight=2).fit(X, y, soft=soft)


def test_soft_is_routed_through_a_search(taught):
    X, y, soft = taught
    with config_context(enable_metadata_routing=True):
        student = RefittedClassifier(TANClassifier(ess=1), l2=1.0).set_fit_request(soft=True)
        search = GridSearchCV(student, {"soft_weight": [0.0, 1.0]}, cv=2).fit(X, y, soft=soft)
    assert search.best_estimator_.fidelity_ is not None
