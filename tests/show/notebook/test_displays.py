"""Displays in notebooks: they are well formed, say what they should, and escape what is not theirs."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from pages import Page
from sklearn import config_context

from anbexact import (
    AdditiveClassifier,
    ANBClassifier,
    DiscreteTable,
    NaiveBayesClassifier,
    PooledClassifier,
    RefittedClassifier,
    fit_network,
    learn_fan,
    learn_gbn,
    near_optimal,
    relearned_leave_one_out,
    structure_posterior,
)
from anbexact.classifiers import AODEClassifier, AveragedTANClassifier, TANClassifier
from anbexact.compare import compare
from anbexact.conformal import SplitConformalClassifier
from anbexact.datasets import load_iris, load_monks
from anbexact.report import feature_report
from anbexact.show.svg.network import MOST_FEATURES

SCRIPT, CLASS = "<script>alert(1)</script>", "<img src=x onerror=alert(2)>"
IMAGE = '"><img src=x onerror=alert(3)>'


def display(shown):
    """Return the part of a display that is ours: scikit-learn's table of parameters comes before it."""
    html = shown._repr_html_()
    return Page(html[html.index('<div class="anbexact">') :])


@pytest.fixture(scope="module", name="awkward")
def _awkward():
    X = pd.DataFrame({SCRIPT: ["<b>", "&", IMAGE, "ü∀漢字\u202e"] * 10, "n" * 300: ["x" * 400, "<i>"] * 20})
    X[IMAGE] = [SCRIPT, IMAGE, SCRIPT, "d", "e"] * 8
    y = pd.Series(["<i>", "b", "</div>", IMAGE] * 10, name=CLASS)
    return ANBClassifier(ess=1.0, n_jobs=1).fit(X, y), X, y


def smooth(X, y):
    column = pd.Series(np.arange(len(X), dtype=float), name=SCRIPT)
    return AdditiveClassifier(NaiveBayesClassifier(n_jobs=1), intervals=3, smooth=1.0).fit(column.to_frame(), y)


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
        "local": lambda: classifier.explain_local(X[:7]),
        "reasons": lambda: classifier.sufficient_reasons(X[:7]),
        "pool": lambda: PooledClassifier([(SCRIPT, NaiveBayesClassifier(n_jobs=1))], ridge=np.inf).fit(X, y),
        "average": lambda: AveragedTANClassifier(ess=1.0, n_jobs=1).fit(X, y),
        "posterior": lambda: structure_posterior(classifier.reader_.table(X, y)),
        "near": lambda: near_optimal(classifier.reader_.table(X, y), bayes_factor=1e9),
        "left out": lambda: relearned_leave_one_out(classifier.reader_.table(X, y)),
        "sets": lambda: (
            SplitConformalClassifier(NaiveBayesClassifier(n_jobs=1)).fit(X, y).predict_set(X, confidence=0.99)
        ),
        "shapes": lambda: smooth(X, y).logit_.shapes(),
        "drift": lambda: classifier.drift(X.assign(**{SCRIPT: [IMAGE, "<s>"] * 20}), y),
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
        ("local", [SCRIPT, IMAGE, "<i>"]),
        ("reasons", [SCRIPT, "<i>"]),
        ("pool", [SCRIPT]),
        ("average", [SCRIPT, IMAGE, CLASS]),
        ("posterior", [SCRIPT, IMAGE, CLASS]),
        ("near", [SCRIPT, IMAGE]),
        ("left out", [SCRIPT]),
        ("sets", ["<i>", IMAGE]),
        ("shapes", [SCRIPT, "<i>", IMAGE]),
        ("drift", [SCRIPT, IMAGE, CLASS, "<s>"]),
    ],
)
def test_names_are_text(kind, names, awkward):
    page = display(shown_of(kind, *awkward))
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "img", "i", "b", "s"}
    assert all("onerror" not in attributes for _, attributes in page.elements)
    text = " ".join(page.text)
    assert all(name in text for name in names)
    assert "\u202e" not in text


def test_an_estimator_shows_parameters_and_network():
    X, y = load_monks(1)
    classifier = ANBClassifier(ess=1.0)
    assert "anbexact-network" not in classifier._repr_html_()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of attributes under former names, which must not be listed
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


def test_results_on_structures_show_their_numbers():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.integers(0, 2, (80, 3)), columns=list("abc"))
    X["d"] = np.where(rng.random(80) < 0.8, X["a"], 1 - X["a"])
    y = pd.Series(rng.integers(0, 2, 80), name="k")
    table = NaiveBayesClassifier(n_jobs=1).fit(X, y).reader_.table(X, y)
    posterior, near, out = structure_posterior(table), near_optimal(table), relearned_leave_one_out(table)
    text = " ".join(Page(posterior._repr_html_()).text)
    first = posterior.arcs.sort_values("adjacent").iloc[-1]
    assert f"log evidence {posterior.log_evidence:,.3f}".replace("-", "−") in text
    assert f"{first['adjacent']:.3f}" in text
    text = " ".join(Page(near._repr_html_()).text)
    assert str(near)[1:] in text
    assert all(f"{score:,.3f}".replace("-", "−") in text for score in near.frame["score"][:15])
    page = Page(out._repr_html_())
    assert str(out)[1:] in " ".join(page.text)
    assert [tag for tag, _ in page.elements].count("tr") == len(out.arcs) + 1


def test_expectation_maximisation_shows_its_starts_and_rounds():
    X, y = load_monks(1)
    holes = X[:150].astype(object).where(np.random.default_rng(0).random((150, X.shape[1])) < 0.9, None)
    record = TANClassifier(ess=1.0, handle_missing="em", n_jobs=1).fit(holes, y[:150]).em_
    page = Page(record._repr_html_())
    text = " ".join(page.text)
    assert str(record) in text
    assert [tag for tag, _ in page.elements].count("tr") == len(record.starts) + len(record.rounds) + 2
    assert f"{record.log_likelihoods[-1]:,.3f}".replace("-", "−") in text


def test_sets_show_their_classes():
    X, y = load_iris()
    sets = SplitConformalClassifier(NaiveBayesClassifier(n_jobs=1)).fit(X[::2], y[::2]).predict_set(X[1::2])
    page = Page(sets._repr_html_())
    assert [tag for tag, _ in page.elements].count("tr") == 16
    assert "60 more rows" in " ".join(page.text)
    assert f"{sets.p_values.iloc[0].max():.3f}" in " ".join(page.text)


def test_drift_shows_what_changed():
    X, y = load_monks(1)
    classifier = NaiveBayesClassifier(ess=1.0, n_jobs=1).fit(X[::2], y[::2])
    found = classifier.drift(X[1::2].assign(jacket_color=X["jacket_color"].iloc[0]), y[1::2])
    page = Page(found._repr_html_())
    text = " ".join(page.text)
    assert f"{len(found.changed)} of 7 variables changed" in text
    assert "jacket_color" in found.changed
    assert f"{found.variables['log_bayes_factor'].iloc[0]:,.1f}".replace("-", "−") in text
    assert [tag for tag, _ in page.elements].count("tr") == 7 + 1 + len(found.arcs) + 1


def test_a_recommendation_is_a_sentence():
    X, y = load_monks(1)
    found = compare(X, y, folds=2, models=["NB", "class frequencies"], refit=False).recommendation
    assert " ".join(Page(found._repr_html_()).text).endswith(str(found))


def without_a_class(kind):
    X, _ = load_iris()
    table = DiscreteTable.from_frame(X.round(0))
    return {
        "structure": lambda: learn_gbn(table),
        "network": lambda: fit_network(table, learn_gbn(table)),
        "posterior": lambda: structure_posterior(table),
        "forests": lambda: structure_posterior(table, networks="fan"),
        "near": lambda: near_optimal(table),
    }[kind]()


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("structure", "4 variables, "),
        ("network", "4 variables, "),
        ("posterior", "Posterior over all networks of 4 variables"),
        ("forests", "Posterior over all forests of 4 variables"),
        ("near", "structures within a Bayes factor of 20"),
    ],
)
def test_networks_without_a_class(kind, said):
    text = "".join(display(without_a_class(kind)).text[1:])  # without the style sheet
    assert said in text
    assert "feature" not in text.lower()
    assert "None" not in text


def test_a_network_without_a_class_that_is_too_large_to_be_drawn():
    names = [f"v{k}" for k in range(MOST_FEATURES + 1)]
    table = DiscreteTable.from_frame(pd.DataFrame({name: [0, 1, 0, 1] for name in names}))
    text = "".join(display(learn_fan(table)).text)
    assert f"The network has {len(names)} variables and {len(names) - 1} arcs between them" in text
