"""Refits whose targets are class probabilities: the optimum, the folds, and what one-hot probabilities give."""

import numpy as np
import oracles
import pandas as pd
import pytest
from scipy.optimize import minimize
from strategies import random_problem

from anbexact import TANClassifier
from anbexact.classifiers import FixedStructureClassifier
from anbexact.models.logit.design import RowTargets, make_design
from anbexact.models.logit.potentials import class_families
from anbexact.tables.folds import split_weights

PARENTS = {"f0": ["c"], "f1": ["c"], "f2": ["c", "f0", "f1"], "c": []}


def network_of(problem):
    X, y = problem.frame()
    how = {"categories": problem.categories, "discretizer": None}
    return FixedStructureClassifier(PARENTS, **how).fit(X, y, problem.weights)


def probabilities(problem, seed=0):
    soft = np.random.default_rng(seed).gamma(0.3, size=(len(problem.rows), problem.arities[-1])) + 1e-12
    return soft / soft.sum(axis=1, keepdims=True)


def mixture(problem, soft, share):
    labels = np.eye(problem.arities[-1])[[row[-1] for row in problem.rows]]
    return (1 - share) * labels + share * soft


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("weights", ["ones", "real"])
def test_optimum_is_that_of_scipy(weights, share):
    problem = random_problem(3, 3, n_rows=30, n_classes=3, weights=weights)
    X, y = problem.frame()
    soft, model = probabilities(problem), network_of(problem).to_logit()
    refitted = model.refit(X, y, problem.weights, l2=0.4, soft=soft, soft_weight=share)

    number = {name: v for v, name in enumerate(model.vocabulary.names)}
    families = [tuple(number[name] for name in potential.features) for potential in model.potentials]
    design, _ = oracles.cell_indicators(problem.rows, families, problem.arities)
    base = network_of(problem).predict_log_proba(X)
    slow = oracles.Conditional(design, base, [0] * len(y), problem.weights, 0.4)
    slow.observed = mixture(problem, soft, share)
    shape = design.shape[1], base.shape[1]
    found = minimize(
        lambda x: -slow.value(x.reshape(shape)),
        np.zeros(shape).ravel(),
        jac=lambda x: -slow.gradient(x.reshape(shape)).ravel(),
        method="BFGS",
        options={"gtol": 1e-8, "maxiter": 2000},
    )
    np.testing.assert_allclose(refitted.predict_log_proba(X), slow.logs(found.x.reshape(shape)), atol=1e-5)
    assert refitted.refitted.fit.penalised == pytest.approx(-found.fun, abs=1e-8)


@pytest.mark.parametrize("how", [{"l2": 0.5}, {"smooth": {"slope": 1.0, "level": 2.0, "interaction": 3.0}}])
def test_a_row_counts_like_one_row_per_class(how):
    problem = random_problem(5, 3, n_rows=40, n_classes=3, weights="real", unseen=False)
    X, y = problem.frame()
    soft, model, s = probabilities(problem), network_of(problem).to_logit(), 3
    ours = model.refit(X, y, problem.weights, soft=soft, soft_weight=0.6, **how)
    labels = pd.Series(np.tile(model.classes_, len(y)), name=y.name)
    weights = np.repeat(problem.weights, s) * mixture(problem, soft, 0.6).ravel()
    theirs = model.refit(X.loc[X.index.repeat(s)].reset_index(drop=True), labels, weights, **how)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), atol=1e-7)


@pytest.mark.parametrize("smooth", [None, "auto", "cv"])
@pytest.mark.parametrize("weights", ["ones", "real"])
def test_labels_as_probabilities_change_nothing(weights, smooth):
    problem = random_problem(1, 3, n_rows=60, n_classes=3, weights=weights)
    X, y = problem.frame()
    model = network_of(problem).to_logit()
    one_hot = mixture(problem, 0, 0.0)
    how = {"smooth": smooth}
    plain = model.refit(X, y, problem.weights, **how)
    taught = model.refit(X, y, problem.weights, soft=one_hot, soft_weight=0.7, **how)
    rtol = 0 if weights == "ones" else 1e-9  # sums of real weights round
    np.testing.assert_allclose(taught.predict_proba(X), plain.predict_proba(X), rtol=rtol)
    assert taught.refitted.l2 == pytest.approx(plain.refitted.l2, rel=rtol)
    p = np.einsum("tc,tc->t", one_hot, plain.predict_proba(X))
    fidelity = taught.refitted.fidelity  # from labels, the divergence is the log loss
    assert fidelity.divergence == pytest.approx(np.average(-np.log(p), weights=problem.weights))
    right = plain.predict(X) == y
    assert fidelity.agreement == pytest.approx(np.average(right, weights=problem.weights))
    assert plain.refitted.fidelity is None


class TestFolds:
    def design(self, problem, targets=None, groups=None):
        X, y = problem.frame()
        classifier = TANClassifier(categories=problem.categories, ess=1.0).fit(X, y, problem.weights)
        rows = classifier.reader_.coded_rows(X, y, problem.weights)
        plain = make_design(classifier.reader_.table(X, y, problem.weights), class_families(classifier.structure_))
        return plain, plain.taught(RowTargets(rows, targets, groups))

    @pytest.mark.parametrize("weights", ["ones", "real"])
    def test_targets_are_held_out_with_their_rows(self, weights):
        problem = random_problem(2, 2, n_rows=50, n_classes=3, weights=weights)
        soft = probabilities(problem)
        plain, taught = self.design(problem, soft)
        assert taught.weights.sum() == pytest.approx(plain.weights.sum())
        total = np.zeros(plain.weights.shape)
        for part, labels in zip(taught.parts(5), split_weights(plain.weights, 5), strict=True):
            np.testing.assert_allclose(part.left + part.held, taught.weights, atol=1e-12)
            np.testing.assert_allclose(part.labels, plain.weights - labels, atol=1e-12)
            np.testing.assert_allclose(part.held.sum(axis=1), labels.sum(axis=1), atol=1e-12)
            total += part.held
        np.testing.assert_allclose(total, taught.weights, atol=1e-12)
