"""Decisions by costs, thresholds and shares of the classes, against sums by hand and within scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from explained import MODELS, Case
from sklearn import clone, config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline

from anbexact import NaiveBayesClassifier, RefittedClassifier, TANClassifier
from anbexact.classifiers import AODEClassifier
from anbexact.datasets import load_iris
from anbexact.explanations import decisions

TABLE = pd.DataFrame({"a": [0, 1, 1, 0] * 25, "b": [0, 0, 1, 1, 1] * 20})
ILL = pd.Series((["well"] * 3 + ["ill", "well", "ill"]) * 16 + ["well"] * 4, name="state")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("holes", [False, True])
def test_other_shares_of_the_classes(model, holes):
    case = Case(model, seed=2, n_classes=3)
    X = case.holed() if holes else case.X
    shares = np.arange(1.0, case.n_classes + 1)
    shares /= shares.sum()
    proba, prior = case.classifier.predict_proba(X), case.classifier.class_prior_
    expected = proba * shares / prior
    expected /= expected.sum(axis=1, keepdims=True)
    found = case.classifier.predict_proba(X, class_prior=shares)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(np.log(found), case.classifier.predict_log_proba(X, class_prior=shares), atol=1e-12)
    by_class = dict(zip(case.classifier.classes_.tolist(), shares, strict=True))
    np.testing.assert_array_equal(found, case.classifier.predict_proba(X, class_prior=by_class))
    np.testing.assert_allclose(proba, case.classifier.predict_proba(X, class_prior=prior), atol=1e-12)


def test_other_shares_are_those_of_tables_with_another_prior():
    """Naive Bayes whose class has another table: P(c) is replaced, and nothing else."""
    case = Case("naive", seed=1)
    shares = np.full(case.n_classes, 1 / case.n_classes)
    _, prior = case.tables["c"]
    np.testing.assert_allclose(case.classifier.class_prior_, prior, atol=1e-12)
    for t, found in enumerate(case.classifier.predict_proba(case.X, class_prior=shares)[:10]):
        joint = shares.copy()
        for name, state in case.row(t).items():
            variables, values = case.tables[name]
            joint *= values[state] if "c" in variables else 1.0
        np.testing.assert_allclose(found, joint / joint.sum(), atol=1e-12)


@pytest.mark.parametrize("classifier", [AODEClassifier(), NaiveBayesClassifier(continuous="universal")])
def test_other_shares_of_models_of_other_kinds(classifier):
    X, y = load_iris()
    kept = np.r_[0:50, 50:90, 100:120]
    classifier.fit(X.iloc[kept], y.iloc[kept])
    prior = classifier.class_prior_
    assert prior.sum() == pytest.approx(1)
    assert (np.abs(prior - np.array([50, 40, 20]) / 110) < 0.02).all()
    shares = np.array([0.0, 0.5, 0.5])
    expected = classifier.predict_proba(X) * shares / prior
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(classifier.predict_proba(X, class_prior=shares), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ([0.5, 0.5], "must have 3 shares"),
        ([0.5, 0.2, 0.2], "whose sum is 1"),
        ([0.5, -0.5, 1.0], "0 or more"),
        ({"setosa": 0.5, "virginica": 0.5}, "give every class its share"),
    ],
)
def test_shares_that_do_not_fit(shares, message):
    X, y = load_iris()
    with pytest.raises(ValueError, match=message):
        NaiveBayesClassifier().fit(X, y).predict_proba(X, class_prior=shares)


@pytest.mark.parametrize("given", ["frame", "array", "mapping", "utilities"])
def test_costs(given):
    case = Case("tan", seed=3)
    classes, s = case.classifier.classes_.tolist(), case.n_classes
    rng = np.random.default_rng(1)
    costs = rng.random((s, s)) * (1 - np.eye(s))
    forms = {
        "frame": pd.DataFrame(costs, classes, classes).iloc[::-1],
        "array": costs,
        "mapping": {a: {b: costs[i, j] for j, b in enumerate(classes) if i != j} for i, a in enumerate(classes)},
        "utilities": -costs,
    }
    name = "utilities" if given == "utilities" else "costs"
    found = case.classifier.decide(case.X, **{name: forms[given]})
    proba = case.classifier.predict_proba(case.X)
    for t in range(len(case.X)):
        expected = [sum(proba[t, c] * costs[c, d] for c in range(s)) for d in range(s)]
        best = int(np.argmin(expected))
        assert found["decision"][t] == classes[best]
        assert found["probability"][t] == pytest.approx(proba[t, best])
        column = "expected_utility" if given == "utilities" else "expected_cost"
        assert abs(found[column][t]) == pytest.approx(expected[best])
        assert found["advantage"][t] == pytest.approx(sorted(expected)[1] - expected[best])


def test_without_costs_the_most_probable_class_is_decided_or_rejected():
    case = Case("naive", seed=4)
    proba = case.classifier.predict_proba(case.X)
    plain = case.classifier.decide(case.X)
    np.testing.assert_array_equal(plain["decision"], case.classifier.predict(case.X))
    np.testing.assert_allclose(plain["expected_cost"], 1 - proba.max(axis=1))
    distinct = np.unique(proba.max(axis=1).round(9))
    level = distinct[len(distinct) // 2 - 1 :][:2].mean()
    rejected = case.classifier.decide(case.X, reject=1 - level)
    np.testing.assert_array_equal(rejected["decision"] == "(reject)", proba.max(axis=1) < level)
    assert rejected["probability"][rejected["decision"] == "(reject)"].isna().all()
    worth = case.classifier.decide(case.X, utilities=np.eye(case.n_classes), reject=level)
    np.testing.assert_array_equal(worth["decision"] == "(reject)", proba.max(axis=1) < level)


def test_decisions_other_than_classes():
    classifier = NaiveBayesClassifier(ess=1.0).fit(TABLE, ILL)
    costs = pd.DataFrame({"treat": [0, 2], "wait": [9, 0], "test": [1, 1]}, index=["ill", "well"])
    rows = TABLE.head(6).set_axis(list("uvwxyz"))
    found = classifier.decide(rows, costs=costs)
    assert found.index.tolist() == list("uvwxyz")
    ill = classifier.predict_proba(rows)[:, 0]
    expected = np.column_stack([2 * (1 - ill), 9 * ill, np.ones(6)])
    assert found["decision"].tolist() == [costs.columns[d] for d in expected.argmin(axis=1)]
    assert found["probability"].isna().all()
    missed = classifier.decide(TABLE, costs={"ill": 9, "well": 1})
    np.testing.assert_array_equal(missed["decision"] == "ill", classifier.predict_proba(TABLE)[:, 0] > 0.1)
    prior = {"ill": 0.02, "well": 0.98}
    rare = classifier.decide(TABLE, costs={"ill": 9, "well": 1}, class_prior=prior)
    ill = classifier.predict_proba(TABLE, class_prior=prior)[:, 0]
    np.testing.assert_array_equal(rare["decision"] == "ill", ill > 0.1)


@pytest.mark.parametrize("threshold", [0.2, 0.6])
def test_thresholds(threshold):
    classifier = NaiveBayesClassifier(ess=1.0).fit(TABLE, ILL)
    found = classifier.decide(TABLE, thresholds={"ill": threshold})
    np.testing.assert_array_equal(found["decision"] == "ill", classifier.predict_proba(TABLE)[:, 0] > threshold)
    theirs = FixedThresholdClassifier(classifier, threshold=threshold, pos_label="ill").fit(TABLE, ILL)
    np.testing.assert_array_equal(found["decision"], theirs.predict(TABLE))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"costs": np.eye(3)}, "must have 2 rows"),
        ({"costs": {"ill": 1}}, "give every class its own"),
        ({"costs": pd.DataFrame({"a": [1, 2]}, index=["ill", "hale"])}, "the index of costs"),
        ({"costs": {"ill": {"treat": 1}, "well": {"wait": 1}}}, "a finite number for every class"),
        ({"costs": np.eye(2), "utilities": np.eye(2)}, "both given"),
        ({"thresholds": {"ill": 0.5}, "reject": 0.1}, "reject applies to costs"),
        ({"thresholds": {"hale": 0.5}}, "is not a class"),
        ({"thresholds": {"ill": 1.5}}, "between 0 and 1"),
    ],
)
def test_decisions_that_do_not_fit(arguments, message):
    with pytest.raises(ValueError, match=message):
        NaiveBayesClassifier().fit(TABLE, ILL).decide(TABLE, **arguments)


@pytest.mark.parametrize(
    "classifier",
    [
        TANClassifier(ess=1.0),
        pytest.param(RefittedClassifier(TANClassifier(ess=1.0), l2=1.0), marks=pytest.mark.slow),
    ],
)
def test_within_scikit_learn(classifier):
    y = ILL
    tuned = TunedThresholdClassifierCV(classifier, scoring="balanced_accuracy", cv=3).fit(TABLE, y)
    ours = tuned.estimator_.decide(TABLE, thresholds={tuned.classes_[1]: tuned.best_threshold_})
    np.testing.assert_array_equal(tuned.predict(TABLE), ours["decision"])
    calibrated = CalibratedClassifierCV(classifier, cv=3).fit(TABLE, y)
    np.testing.assert_allclose(calibrated.predict_proba(TABLE).sum(axis=1), 1)
    assert set(calibrated.classes_) == {"ill", "well"}


def held(kind, X, rng):
    """Return rows with missing cells, in one of the forms that tables come in."""
    holes = X.astype(object).where(rng.random(X.shape) < 0.85, None)
    if kind == "polars":
        pl = pytest.importorskip("polars")
        return pl.DataFrame({name: [None if v is None else str(v) for v in holes[name]] for name in holes})
    return {"objects": holes, "array": holes.to_numpy(), "numbers": X.astype(float).mask(holes.isna())}[kind]


@pytest.mark.parametrize(
    ("kind", "classifier"),
    [
        ("objects", NaiveBayesClassifier(n_jobs=1, ess=1.0)),
        ("array", RefittedClassifier(TANClassifier(n_jobs=1, ess=1.0), l2=1.0)),
        ("polars", AODEClassifier(n_jobs=1)),
        pytest.param("numbers", NaiveBayesClassifier(n_jobs=1, ess=1.0), marks=pytest.mark.slow),
        pytest.param("polars", NaiveBayesClassifier(n_jobs=1, ess=1.0), marks=pytest.mark.slow),
    ],
)
def test_within_scikit_learn_with_missing_cells(kind, classifier):
    X, y = held(kind, TABLE, np.random.default_rng(0)), ILL.to_numpy()
    fitted = clone(classifier).fit(X, y)
    tuned = TunedThresholdClassifierCV(classifier, scoring="balanced_accuracy", cv=3).fit(X, y)
    ours = fitted.decide(X, thresholds={"well": tuned.best_threshold_})
    np.testing.assert_array_equal(tuned.predict(X), ours["decision"])
    fixed = FixedThresholdClassifier(classifier, threshold=0.3, pos_label="ill").fit(X, y)
    np.testing.assert_array_equal(fixed.predict(X), fitted.decide(X, thresholds={"ill": 0.3})["decision"])
    calibrated = CalibratedClassifierCV(FrozenEstimator(fitted), method="isotonic").fit(X, y)
    share = calibrated.predict_proba(X)[:, 0].mean()
    assert share == pytest.approx((y == "ill").mean())  # isotonic calibration keeps the mean on its own rows


def test_class_shares_are_routed_within_scikit_learn():
    shares = [0.4, 0.6]
    expected = NaiveBayesClassifier(n_jobs=1, ess=1.0).fit(TABLE, ILL).predict_proba(TABLE, class_prior=shares)
    with config_context(enable_metadata_routing=True):
        classifier = NaiveBayesClassifier(n_jobs=1, ess=1.0).set_predict_proba_request(class_prior=True)
        found = make_pipeline(classifier).fit(TABLE, ILL).predict_proba(TABLE, class_prior=shares)
    np.testing.assert_allclose(found, expected, atol=1e-12)


class TestOrderedClasses:
    ORDER = ("low", "mid", "top")

    @pytest.mark.parametrize("kind", ["absolute", "squared"])
    def test_cost_by_how_many_classes_a_decision_is_off(self, kind):
        classes = ["mid", "top", "low"]  # codes need not follow the order
        costs = decisions.distance_costs(kind, classes, self.ORDER)
        for i, a in enumerate(classes):
            for j, b in enumerate(classes):
                off = abs(self.ORDER.index(a) - self.ORDER.index(b))
                assert costs[i, j] == (off if kind == "absolute" else off**2)

    def test_have_an_expected_class(self):
        np.testing.assert_array_equal(decisions.class_numbers(["mid", "top", "low"], self.ORDER), [1, 2, 0])
        np.testing.assert_array_equal(decisions.class_numbers([2, 5, 9], [2, 5, 9]), [2, 5, 9])

    def test_need_an_order_that_names_all(self):
        with pytest.raises(ValueError, match="lacks 'top'"):
            decisions.class_numbers(["mid", "top", "low"], ["low", "mid"])
        with pytest.raises(ValueError, match="needs ordered_classes"):
            decisions.distance_costs("absolute", ["a", "b"], None)
        with pytest.raises(ValueError, match="'absolute', 'squared'"):
            decisions.distance_costs("cubic", ["a", "b"], ["a", "b"])
