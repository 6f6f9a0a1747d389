"""Evidence panels of all classifiers: what they compute in node is what the classifiers predict and explain."""

import json

import numpy as np
import pandas as pd
import pytest
from pages import Page
from panels import in_node, needs_node

from anbexact import ANBClassifier, GBNClassifier, NaiveBayesClassifier, PooledClassifier, RefittedClassifier
from anbexact.classifiers import A2DEClassifier, AODEClassifier, TANClassifier
from anbexact.classifiers.registry import CLASSIFIERS
from anbexact.show.report.evidence_panel import MOST_BYTES, panel_or_reason
from anbexact.show.svg.markup import Markup

WITHOUT = {"AveragedTANClassifier", "AveragedFANClassifier", "AveragedANBClassifier"}
"""Averages over all networks of a kind, which are too many for a page."""
NO_NETWORKS = {"KernelClassifier": "KernelModel", "LinearClassifier": "LinearModel"}
"""Classifiers whose models are not networks of conditional tables, and their models."""


def table(seed=0, n=60, arities=(3, 2, 3, 2)):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({f"x{j}": rng.integers(0, r, n) for j, r in enumerate(arities)})
    return X, (X["x0"] + X["x1"] * X["x2"] + (rng.random(n) < 0.3)).clip(upper=2).rename("c")


def holed(X, seed=1, n=15):
    """Return rows with more and more missing cells; nothing is known of the last."""
    rng = np.random.default_rng(seed)
    return X[:n].astype(object).where(rng.random((n, X.shape[1])) < np.linspace(1, 0, n)[:, None], None)


def fitted(name, X, y):
    if name == "FixedStructureClassifier":
        parents = {"c": ["x3"], "x0": ["c"], "x1": ["c", "x0"], "x2": ["c"], "x3": []}
        return CLASSIFIERS[name].estimator(parents, n_jobs=1).fit(X, y)
    if name == "PooledClassifier":
        return PooledClassifier([NaiveBayesClassifier(n_jobs=1), TANClassifier(n_jobs=1)], ridge=np.inf).fit(X, y)
    return CLASSIFIERS[name].estimator(n_jobs=1).fit(X, y)


def job(classifier, X, most_bytes=MOST_BYTES):
    """Return what the page has of a classifier, and rows as evidence."""
    page = Page(panel_or_reason(classifier, most_bytes))
    data = json.loads(next(text for text in page.text if text.startswith("{")))
    return data, [[*row, -1] for row in classifier.reader_.codes(X).T.tolist()]


def worst(classifier, X, answers):
    return np.abs(classifier.predict_proba(X) - [answer["classes"] for answer in answers]).max()


@needs_node
def test_every_classifier_has_a_panel_with_its_probabilities_or_says_why():
    X, y = table()
    models = {name: fitted(name, X, y) for name in CLASSIFIERS}
    found = {name: panel_or_reason(model, MOST_BYTES) for name, model in models.items()}
    assert {name for name, of in found.items() if not isinstance(of, Markup)} == WITHOUT | NO_NETWORKS.keys()
    for name, model in NO_NETWORKS.items():
        assert found[name].startswith(f"An evidence panel is not available: a {model} is not a network")
        del models[name]
    for name in WITHOUT:
        assert found[name].startswith(f"An evidence panel is not available: {name} averages over more networks")
    del models["AveragedTANClassifier"], models["AveragedFANClassifier"], models["AveragedANBClassifier"]
    holes = holed(X)
    answers = in_node(*(job(model, holes) for model in models.values()))
    for (name, model), of in zip(models.items(), answers, strict=True):
        if name in (
            "PooledClassifier",
            "AutoClassifier",
        ):  # its members sum out missing cells, each by itself; the panel says so
            assert worst(model, holes[:1], of[:1]) < 1e-9
            assert "every member of the pool sums them out by itself" in found[name]
        else:
            assert worst(model, holes, of) < 1e-9, name


@needs_node
@pytest.mark.parametrize("arities", [(3, 2, 3, 2), (2, 4), (3,)])
@pytest.mark.parametrize(
    ("model", "settings"),
    [(AODEClassifier, {}), (AODEClassifier, {"min_weight": 21.0}), (A2DEClassifier, {"ess": 3.0})],
)
def test_averages_of_estimators(model, settings, arities):
    """All posteriors, with states that have no estimator, so that naive Bayes stands in for some rows."""
    X, y = table(3, arities=(*arities, *(1,) * (3 - len(arities))))
    X = X.iloc[:, : len(arities)]
    classifier = model(n_jobs=1, **settings).fit(X, y)
    holes = holed(X)
    weights = np.random.default_rng(0).integers(1, 4, len(X)) / 2 + 0.1
    weighted = model(n_jobs=1, **settings).fit(X, y, weights)
    answers, of_weights = in_node(job(classifier, holes), job(weighted, holes))
    assert worst(weighted, holes, of_weights) < 1e-9
    codes = classifier.reader_.codes(holes)
    evaluate = classifier.model_.class_posterior.log_joint
    total = np.exp(evaluate(codes)).sum(axis=1)
    for t, answer in enumerate(answers):
        for v, joint in enumerate(answer["joint"][:-1]):
            assert (joint is None) == (codes[v, t] >= 0)
            if joint is not None:
                completed = np.repeat(codes[:, [t]], arities[v], axis=1)
                completed[v] = np.arange(arities[v])
                expected = np.exp(evaluate(np.asfortranarray(completed))).ravel() / total[t]
                np.testing.assert_allclose(joint, expected, atol=1e-9)
        for change in answer["changes"]:
            fewer = codes[:, [t, t]].copy()
            fewer[change["variable"], 1] = -1
            logs = evaluate(np.asfortranarray(fewer))
            assert change["nats"] == pytest.approx((logs[:, 0] - logs[:, -1]) @ [1, -1], abs=1e-9)
        assert answer["reason"] == {"status": "average"}


@needs_node
@pytest.mark.parametrize("model", [ANBClassifier, GBNClassifier])
def test_measured_columns_have_the_cells_of_their_densities(model):
    rng = np.random.default_rng(2)
    X, y = table(2, 120)
    X["x0"] = y + rng.normal(size=len(X))
    X["x2"] = X["x0"] * X["x1"] + rng.normal(size=len(X))
    classifier = model(continuous="universal", n_jobs=1).fit(X, y)
    holes = holed(X, n=40).astype({"x0": float, "x2": float})
    data, _ = job(classifier, holes)
    cuts = classifier.model_.cell_cut_points
    assert [len(of["states"]) for of in data["variables"][:3]] == [len(cuts["x0"]) + 1, 2, len(cuts["x2"]) + 1]
    columns = [
        np.where(holes[name].isna(), -1, np.searchsorted(cuts[name], holes[name]))
        if name in cuts
        else holes[name].fillna(-1).astype(int)
        for name in X
    ]
    evidence = np.column_stack([*columns, np.full(len(holes), -1)]).tolist()
    assert worst(classifier, holes, in_node((data, evidence))[0]) < 1e-9


@needs_node
def test_shapley_values_are_those_of_explain_local():
    X, y = table(5, 200)
    weights = np.random.default_rng(1).gamma(1.0, size=len(X))
    arcs = [("x0", "x1"), ("x1", "x2"), ("x0", "x2")]
    collider = GBNClassifier(ess=1.0, required_edges=[*arcs, ("x3", "c"), ("x1", "c")], n_jobs=1)
    models = [
        ANBClassifier(ess=1.0, required_edges=arcs, n_jobs=1).fit(X, y, weights),
        GBNClassifier(ess=1.0, n_jobs=1).fit(X, y),
        RefittedClassifier(TANClassifier(n_jobs=1), l2=1.0).fit(X, y),
        RefittedClassifier(collider).fit(X, y),
        CLASSIFIERS["WeightedNaiveBayesClassifier"].estimator(n_jobs=1).fit(X, y),
    ]
    holes = holed(X)
    label, against = models[0].classes_[[0, -1]]
    for model, answers in zip(models, in_node(*(job(model, holes) for model in models)), strict=True):
        local = model.explain_local(holes, label=label, against=against)
        for t, answer in enumerate(answers):
            values = dict(answer["shapley"]["values"])
            assert answer["shapley"]["base"] == pytest.approx(local.base[t], abs=1e-9)
            assert answer["shapley"]["hidden"] == pytest.approx(local.hidden[t], abs=1e-9)
            assert [values.get(v, 0.0) for v in range(4)] == pytest.approx(local.values[t].tolist(), abs=1e-9)
    zeros = NaiveBayesClassifier(parameters="ml", n_jobs=1).fit(X, y)
    assert in_node(job(zeros, holes[:1]))[0][0]["shapley"] is None
