"""Displays in notebooks: they are well formed, say what they should, and escape what is not theirs."""

import pickle

import numpy as np
import pandas as pd
import pytest
from pages import Page
from sklearn import config_context

from anbexact import ANBClassifier, NaiveBayesClassifier, RefittedClassifier
from anbexact.classifiers import AODEClassifier
from anbexact.compare import compare
from anbexact.datasets import load_iris, load_monks
from anbexact.drawing.network import MOST_FEATURES
from anbexact.report import feature_report

SCRIPT, CLASS = "<script>alert(1)</script>", "<img src=x onerror=alert(2)>"


def display(shown):
    """Return the part of a display that is ours: scikit-learn's table of parameters comes before it."""
    html = shown._repr_html_()
    return Page(html[html.index('<div class="anbexact">') :])


@pytest.fixture(scope="module", name="awkward")
def _awkward():
    X = pd.DataFrame({SCRIPT: ["<b>", "&", '"q"', "ü∀漢字\u202e"] * 10, "n" * 300: ["x" * 400, "<i>"] * 20})
    y = pd.Series(["<i>", "b", "</div>", "d"] * 10, name=CLASS)
    return ANBClassifier(ess=1.0).fit(X, y), X, y


def shown_of(kind, classifier, X, y):
    return {
        "estimator": lambda: classifier,
        "structure": lambda: classifier.structure_,
        "certificate": lambda: classifier.structure_.certificate,
        "network": lambda: classifier.model_,
        "explanation": lambda: classifier.explain(X[:1])[0],
        "explanations": lambda: classifier.explain(X[:7]),
        "refit": lambda: RefittedClassifier(NaiveBayesClassifier(), l2=1.0).fit(X, y),
        "logit": lambda: classifier.to_logit(),
        "features": lambda: feature_report(classifier, X, y),
        "comparison": lambda: compare(X, y, folds=2, models={SCRIPT: NaiveBayesClassifier(n_jobs=1)}, refit=False),
    }[kind]()


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("estimator", [SCRIPT, CLASS]),
        ("structure", [SCRIPT, CLASS]),
        ("certificate", []),
        ("network", [SCRIPT, CLASS]),
        ("explanation", [SCRIPT, "<i>"]),
        ("explanations", [SCRIPT, "<i>"]),
        ("refit", [SCRIPT, CLASS]),
        ("logit", [SCRIPT, CLASS]),
        ("features", [SCRIPT]),
        ("comparison", [SCRIPT]),
    ],
)
def test_names_are_text(kind, names, awkward):
    page = display(shown_of(kind, *awkward))
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "img", "i", "b"}
    assert all("onerror" not in attributes for _, attributes in page.elements)
    text = " ".join(page.text)
    assert all(name in text for name in names)
    assert "\u202e" not in text


def test_an_estimator_shows_parameters_and_network():
    X, y = load_monks(1)
    classifier = ANBClassifier(ess=1.0)
    assert "anbexact-network" not in classifier._repr_html_()
    html = classifier.fit(X, y)._repr_html_()
    assert "sk-container-id" in html
    text = " ".join(display(classifier).text)
    assert "is_monk is a parent of every feature" in text
    assert "proved optimal" in text
    assert classifier._repr_mimebundle_()["text/html"].count("anbexact-network") == 1
    with config_context(display="text"):
        assert not hasattr(classifier, "_repr_html_")
    assert "2 classes, 6 features" in " ".join(display(AODEClassifier().fit(X, y)).text)


def test_an_explanation_shows_all_terms():
    X, y = load_iris()
    explanation = ANBClassifier(ess=1.0).fit(X, y).explain(X[77:78])[0]
    text = " ".join(display(explanation).text)
    for feature in explanation.terms.loc[explanation.terms["nats"] != 0, "feature"]:
        assert f"{feature} = " in text
    assert f"{explanation.label} with probability {explanation.probability:.4f}" in text
    assert "odds of" in text


def test_large_networks_are_described():
    parents = {"c": (), **{f"x{k}": ("c",) for k in range(MOST_FEATURES + 1)}}
    structure = NaiveBayesClassifier().fit(*load_monks(1)).structure_
    large = type(structure).given("c", parents)
    page = display(large)
    assert "too many to be drawn" in " ".join(page.text)
    assert "svg" not in {tag for tag, _ in page.elements}


def test_frames_of_results_are_frames():
    X, y = load_monks(1)
    frame = compare(X, y, folds=2, models=["NB", "class frequencies"], refit=False)
    assert type(frame[["accuracy"]]) is type(frame.round(2)) is pd.DataFrame
    copy = pickle.loads(pickle.dumps(frame))
    assert copy.attrs == frame.attrs
    assert "2-fold cross-validation of 432 rows" in " ".join(display(copy).text)
    report = feature_report(NaiveBayesClassifier(n_jobs=1).fit(X, y), X, y)
    assert "jacket_color" in " ".join(display(report).text)


def test_exact_explanations_show_themselves():
    rng = np.random.default_rng(0)
    y = pd.Series(rng.integers(0, 2, 60), name="c")
    X = pd.DataFrame({"<b>x</b>": np.where(y == 1, "<i>", "&"), "z": rng.integers(0, 2, 60)})
    classifier = NaiveBayesClassifier(ess=1.0, n_jobs=1).fit(X, y)
    local, reasons = classifier.explain_local(X), classifier.sufficient_reasons(X[:3])
    for found in (local, reasons):
        page = Page(found._repr_html_())
        assert not {"b", "i"} & {tag for tag, _ in page.elements}
        assert "<b>x</b>" in " ".join(page.text)
    assert "55 more rows" in " ".join(Page(local._repr_html_()).text)
    text = " ".join(Page(classifier.explain_local(X[:1])._repr_html_()).text)
    assert f"{local.values[0, 0]:.3f}".replace("-", "−") in text
    assert " ".join(Page(reasons._repr_html_()).text).count("<b>x</b> = ") == 3
