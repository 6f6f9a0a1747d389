"""Shapley values against their definition: the enumeration of all subsets of the features."""

import explanation_oracles as oracles
import numpy as np
import pandas as pd
import pytest
from explained import MODELS, Case

from anbexact import ANBClassifier, NaiveBayesClassifier
from anbexact.datasets import load_iris

ROWS = (0, 7)


def all_rows(case):
    """Return every row with its probability under the network."""
    empty = dict.fromkeys(case.arities)
    rows = list(oracles.completions(empty, case.arities))
    return [(row, sum(np.exp(oracles.log_joint(case.tables, "c", row, c)) for c in range(case.n_classes)))
            for row in rows]  # fmt: skip


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("background", ["training", "network", "rows"])
@pytest.mark.parametrize("holes", [False, True])
def test_interventional_values(model, background, holes):
    case = Case(model, seed=3, weights="real")
    X = case.holed() if holes else case.X
    given = case.X.iloc[20:31] if background == "rows" else background
    drawn = {
        "training": lambda: [(case.row(t), case.weights[t]) for t in range(len(case.X))],
        "rows": lambda: [(case.row(t), 1.0) for t in range(20, 31)],
        "network": lambda: all_rows(case),
    }[background]()
    found = case.classifier.explain_local(X, background=given)
    for t in ROWS:
        row, pair = case.row(t, X), (found.labels[t], found.against[t])
        observed = [name for name in row if row[name] is not None]

        def value(known, row=row, pair=pair):
            return oracles.expected_log_odds(case.tables, "c", row, known, drawn, pair)

        expected = oracles.shapley(observed, value)
        np.testing.assert_allclose(found.values[t], [expected.get(name, 0.0) for name in row], atol=1e-10)
        assert found.base[t] == pytest.approx(value(set()), abs=1e-10)
        log_odds = np.log(oracles.posterior(case.tables, "c", row, case.arities, case.n_classes))
        assert found.log_odds[t] == pytest.approx(log_odds[pair[0]] - log_odds[pair[1]], abs=1e-10)
        assert found.hidden[t] == pytest.approx(found.log_odds[t] - value(set(observed)), abs=1e-10)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("holes", [False, True])
def test_conditional_values(model, holes):
    case = Case(model, seed=5, n_rows=40)
    X = (case.holed() if holes else case.X).iloc[:8]
    found = case.classifier.explain_local(X, conditional=True)
    for t in ROWS:
        row, pair = case.row(t, X), (found.labels[t], found.against[t])
        observed = [name for name in row if row[name] is not None]

        def value(known, row=row, pair=pair):
            partial = {name: row[name] if name in known else None for name in row}
            first, second = (oracles.log_sum_joint(case.tables, "c", partial, c, case.arities) for c in pair)
            return first - second

        expected = oracles.shapley(observed, value)
        np.testing.assert_allclose(found.values[t], [expected.get(name, 0.0) for name in row], atol=1e-10)
        assert found.base[t] == pytest.approx(value(set()), abs=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["tan", "anb"])
def test_interventional_values_of_twelve_features(model):
    case = Case(model, seed=11, n=12, n_rows=80)
    found = case.classifier.explain_local(case.X, background=case.X.iloc[:2])
    row, pair = case.row(9), (found.labels[9], found.against[9])
    drawn = [(case.row(t), 1.0) for t in range(2)]
    expected = oracles.shapley(
        list(row), lambda known: oracles.expected_log_odds(case.tables, "c", row, known, drawn, pair)
    )
    np.testing.assert_allclose(found.values[9], list(expected.values()), atol=1e-10)


@pytest.mark.parametrize("conditional", [False, True])
def test_terms_add_up_in_values_and_in_the_frame(conditional):
    case = Case("tan", seed=1, n_classes=4)
    X = case.holed().iloc[:12].set_axis([f"row {t}" for t in range(12)])
    found = case.classifier.explain_local(X, conditional=conditional)
    np.testing.assert_allclose(found.base + found.values.sum(axis=1) + found.hidden, found.log_odds, atol=1e-10)
    frame = found.frame
    assert frame.columns.tolist() == ["row", "label", "against", "feature", "value", "state", "nats", "odds"]
    sums = frame.groupby("row", sort=False)["nats"].sum()
    assert sums.index.tolist() == X.index.tolist()
    np.testing.assert_allclose(sums, found.log_odds, atol=1e-10)
    for t, (_, terms) in enumerate(frame.groupby("row", sort=False)):
        assert terms["nats"].abs().is_monotonic_decreasing
        observed = X.columns[X.iloc[t].notna()].tolist()
        named = [name for name in terms["feature"] if not name.startswith("(")]
        assert sorted(named) == observed
        assert ("(missing cells)" in terms["feature"].tolist()) == (len(observed) < 5)
        cells = terms.set_index("feature").loc[observed, "state"]
        assert cells.tolist() == X.iloc[t][observed].tolist()


def test_classes_are_compared_as_asked():
    case = Case("anb", seed=2)
    found = case.classifier.explain_local(case.X, label=2, against=0)
    other = case.classifier.explain_local(case.X, label=0, against=2)
    assert set(found.labels) == {2}
    np.testing.assert_allclose(found.values, -other.values, atol=1e-12)
    logs = case.classifier.predict_log_proba(case.X)
    np.testing.assert_allclose(found.log_odds, logs[:, 2] - logs[:, 0], atol=1e-12)


def test_values_of_all_classes_add_up_to_nothing():
    case = Case("tan", seed=4)
    values = case.classifier.shapley_values(case.X)
    assert values.shape == (len(case.X), 5, case.n_classes)
    np.testing.assert_allclose(values.sum(axis=2), 0, atol=1e-10)
    found = case.classifier.explain_local(case.X, label=1, against=0)
    np.testing.assert_allclose(values[:, :, 1] - values[:, :, 0], found.values, atol=1e-10)


def test_of_a_frame_of_values():
    """Values of naive Bayes are the terms less their mean over the training rows."""
    X, y = load_iris()
    classifier = NaiveBayesClassifier(ess=1, discretizer="mdlp").fit(X, y)
    found = classifier.explain_local(X, label="virginica", against="setosa")
    terms = classifier.explain(X, label="virginica", against="setosa").to_frame()
    terms = terms[terms["feature"] != "(prior of species)"].set_index(["row", "feature"])["nats"].unstack()[X.columns]
    np.testing.assert_allclose(found.values, terms - terms.mean(), atol=1e-10)
    text = found.text(0)
    assert text.startswith("log odds -")
    assert "petal_length = 1.4 in (-inf, 2.45]" in text
    assert text.endswith("odds of virginica against setosa")


def test_global_values():
    case = Case("tan", seed=6)
    frame = case.classifier.explain_global(case.X).set_index("feature")
    values = case.classifier.shapley_values(case.X)
    expected = dict(zip(case.X.columns, np.abs(values).mean(axis=(0, 2)), strict=True))
    for name in case.X.columns:
        assert frame.loc[name, "mean_abs_nats"] == pytest.approx(expected[name])
        information = 0.0
        alone = dict.fromkeys(case.arities)
        prior = oracles.posterior(case.tables, "c", alone, case.arities, case.n_classes)
        for state in range(case.arities[name]):
            logs = [oracles.log_sum_joint(case.tables, "c", {**alone, name: state}, c, case.arities)
                    for c in range(case.n_classes)]  # fmt: skip
            joint = np.exp(logs)
            information += sum(p * np.log(p / (joint.sum() * q)) for p, q in zip(joint, prior, strict=True))
        assert frame.loc[name, "information"] == pytest.approx(information, abs=1e-10)
        entropy = -sum(p * np.log(p) for p in prior)
        assert frame.loc[name, "share"] == pytest.approx(information / entropy, abs=1e-10)
    assert frame["mean_abs_nats"].is_monotonic_decreasing
    without = case.classifier.explain_global()
    assert without["information"].is_monotonic_decreasing
    assert "mean_abs_nats" not in without


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ({}, {"background": "nothing"}, "background must be 'training', 'network' or rows"),
        ({}, {"background": "network", "conditional": True}, "background applies only with conditional=False"),
        ({}, {"label": "rose"}, "label='rose' is not a class"),
        ({"parameters": "ml"}, {}, "holds zeros"),
        ({"continuous": "universal", "discretizer": "auto"}, {}, "to_discrete"),
    ],
)
def test_refusals(change, arguments, message):
    X, y = load_iris()
    classifier = ANBClassifier(**{"discretizer": "mdlp", **change}).fit(X, y)
    with pytest.raises(ValueError, match=message):
        classifier.explain_local(X, **arguments)


def test_refusals_of_sizes_and_of_backgrounds():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (80, 14)), columns=[f"f{j}" for j in range(14)])
    parents = {"c": (), "f0": ("c",), **{f"f{j}": ("c", f"f{j - 1}") for j in range(1, 14)}}
    from anbexact.classifiers import FixedStructureClassifier

    classifier = FixedStructureClassifier(parents).fit(X, pd.Series(rng.integers(0, 2, 80), name="c"))
    with pytest.raises(ValueError, match=r"for 12 features, but a row has 14 that are observed, with 2\*\*14 "):
        classifier.explain_local(X, conditional=True)
    with pytest.raises(ValueError, match="no row of the background is complete"):
        classifier.explain_local(X, background=X.astype(float).mask(X == X))
    case = Case("refitted")
    given = case.classifier.discrete_form()
    assert given.counts_ is None
    with pytest.raises(ValueError, match="background='training' needs counts"):
        given.explain_local(case.X, background="training")
    np.testing.assert_allclose(
        given.explain_local(case.X).values, case.classifier.explain_local(case.X, background="network").values,
        atol=1e-9,
    )  # fmt: skip
    one = NaiveBayesClassifier().fit(X, ["a"] * 80)
    with pytest.raises(ValueError, match="there is only one class"):
        one.explain_local(X)
