"""Conformal sets against refits, the rule of quantiles, and what must be refused."""

import math
from dataclasses import replace

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB
from strategies import random_problem, table_of
from tiers import examples, repeats

from anbexact import ANBClassifier, BDeu, NaiveBayesClassifier, TANClassifier, learn_anb
from anbexact.conformal import FullConformalClassifier, SplitConformalClassifier
from anbexact.conformal.ranks import Others, aps_scores, lac_scores, rank
from anbexact.datasets import load_iris, load_lenses, load_monks


def posterior_of(rows, arities, parents, row, ess):
    """P(class | row) by the tables of a structure and the rows, by enumeration of the classes."""
    class_ = len(arities) - 1
    tables = {v: (of, oracles.eap(rows, [1.0] * len(rows), arities, v, of, ess)) for v, of in parents.items()}
    return np.exp(oracles.log_posterior(tables, arities, class_, dict(enumerate(row[:-1]))))


def nonconformity(posterior, class_, method):
    if method == "lac":
        return 1 - posterior[class_]
    return sum(p for p in posterior if p >= posterior[class_] - 1e-12)


def p_values_by_refits(problem, row, ess, method, *, by_class):
    """The p-value of every class: learn from all rows and the new one, and predict each from the others."""
    n, found = problem.n, []
    for class_ in range(problem.arities[n]):
        rows = [*problem.rows, (*row, class_)]
        structure = learn_anb(table_of(rows, [1.0] * len(rows), problem.arities), BDeu(ess))
        names = problem.names
        parents = {v: [names.index(p) for p in structure.parents[names[v]]] for v in range(n + 1)}
        scores = []
        for k, own in enumerate(rows):
            others = [other for j, other in enumerate(rows) if j != k]
            scores.append(nonconformity(posterior_of(others, problem.arities, parents, own, ess), own[n], method))
        ranked = [s for s, own in zip(scores, rows, strict=True) if not by_class or own[n] == class_]
        found.append(sum(s >= scores[-1] - 1e-9 for s in ranked) / len(ranked))
    return found


def fitted(problem, **parameters):
    X, y = problem.frame()
    categories = problem.categories
    estimator = ANBClassifier(ess=parameters.pop("ess"), categories=categories, drop_identifiers=False, n_jobs=1)
    return FullConformalClassifier(estimator, **parameters).fit(X, y)


@pytest.mark.parametrize("method", ["lac", "aps"])
@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("seed", repeats(4))
def test_full_against_refits(method, by_class, seed):
    problem = random_problem(seed, 3, n_rows=14, max_arity=3, n_classes=2 + seed % 2, unseen=False)
    rng = np.random.default_rng(seed)
    rows = [problem.rows[0][:-1], tuple(int(rng.integers(arity)) for arity in problem.arities[:-1])]
    conformal = fitted(problem, ess=0.5 + seed, method=method, by_class=by_class)
    found = conformal.p_values(pd.DataFrame(rows, columns=problem.names[:-1]))
    for r, row in enumerate(rows):
        expected = p_values_by_refits(problem, row, 0.5 + seed, method, by_class=by_class)
        np.testing.assert_allclose(found.iloc[r], expected[: len(found.columns)], atol=1e-12)


@pytest.mark.parametrize("seed", repeats(4))
def test_an_unknown_value_is_one_more_state_of_all_rows(seed):
    """The states are those of all rows together, in whichever of them a value occurs."""
    problem = random_problem(seed, 3, n_rows=14, max_arity=3, n_classes=2, unseen=False)
    conformal = fitted(problem, ess=1.5)
    arities = list(problem.arities)
    arities[seed % 3] += 1
    row = [*problem.rows[0][:-1]]
    row[seed % 3] = arities[seed % 3] - 1
    found = conformal.p_values(pd.DataFrame([row, problem.rows[0][:-1], row], columns=problem.names[:-1]))
    larger = replace(problem, arities=arities)
    expected = p_values_by_refits(larger, row, 1.5, "lac", by_class=False)
    np.testing.assert_allclose(found.iloc[0], expected, atol=1e-12)
    np.testing.assert_allclose(found.iloc[2], expected, atol=1e-12)
    plain = p_values_by_refits(problem, problem.rows[0][:-1], 1.5, "lac", by_class=False)
    np.testing.assert_allclose(found.iloc[1], plain, atol=1e-12)


def test_an_unknown_value_of_a_feature_with_one_state():
    X, y = load_lenses()
    constant, more = X.assign(clinic="a"), X.assign(clinic=["b", *["a"] * (len(X) - 1)])
    conformal = FullConformalClassifier(ANBClassifier(ess=1.0)).fit(constant[1:], y[1:])
    given = FullConformalClassifier(ANBClassifier(ess=1.0, categories={"clinic": ["a", "b"]})).fit(
        constant[1:], y[1:]
    )
    np.testing.assert_allclose(conformal.p_values(more[:1]), given.p_values(more[:1]), atol=1e-12)


def test_weights_are_rows():
    X, y = load_lenses()
    weights = 1 + np.arange(len(X)) % 3
    model = FullConformalClassifier(ANBClassifier(ess=1.0))
    weighted = clone(model).fit(X, y, sample_weight=weights).p_values(X)
    repeated = clone(model).fit(X.loc[X.index.repeat(weights)], y.repeat(weights)).p_values(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-12)


@given(data=st.data())
@examples(60)
def test_p_values(data):
    scores = data.draw(st.lists(st.sampled_from([0.1, 0.2, 0.5, 0.9]), min_size=1, max_size=9))
    classes = data.draw(st.lists(st.integers(0, 1), min_size=len(scores), max_size=len(scores)))
    score = data.draw(st.sampled_from([0.1, 0.2, 0.3, 0.9]))
    others = Others(np.array(scores), np.array(classes), np.ones(len(scores)))
    for by_class in (False, True):
        kept = [s for s, c in zip(scores, classes, strict=True) if not by_class or c == 1]
        found = rank(score, 1, others, by_class=by_class)
        plain = found.p_value()
        assert plain == (sum(s >= score for s in kept) + 1) / (len(kept) + 1)
        shares = [found.p_value(u) for u in (0.0, 0.5, 1.0)]
        assert shares[0] == sum(s > score for s in kept) / (len(kept) + 1)
        assert shares[1] == pytest.approx((shares[0] + shares[2]) / 2)
        assert shares[2] == plain


def test_scores_of_classes():
    posterior = np.array([[0.5, 0.2, 0.3], [0.4, 0.2, 0.4]])
    np.testing.assert_allclose(lac_scores(posterior), [[0.5, 0.8, 0.7], [0.6, 0.8, 0.6]])
    np.testing.assert_allclose(aps_scores(posterior), [[0.5, 1.0, 0.8], [0.8, 1.0, 0.8]])


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95])
@pytest.mark.parametrize("method", ["lac", "aps"])
def test_split_is_the_rule_of_quantiles(confidence, method):
    X, y = load_iris()
    rng = np.random.default_rng(0)
    y = np.where(rng.random(len(y)) < 0.3, rng.permutation(y), y)
    model = GaussianNB().fit(X[::3], y[::3])
    calibration, new = X.drop(X.index[::3])[:60], X.drop(X.index[::3])[60:]
    labels = np.delete(y, np.arange(0, len(y), 3))[:60]
    conformal = SplitConformalClassifier(FrozenEstimator(model), calibration=1.0, method=method)
    found = conformal.fit(calibration, labels).predict_set(new, confidence=confidence)

    def scores(frame):
        rows = model.predict_proba(frame)
        return np.array([[nonconformity(row, c, method) for c in range(3)] for row in rows])

    own = np.sort(scores(calibration)[np.arange(60), np.searchsorted(model.classes_, labels)])
    threshold = own[math.ceil(61 * confidence) - 1]
    np.testing.assert_array_equal(found.sets, scores(new) <= threshold + 1e-12)
    assert conformal.n_calibration_ == 60


def test_split_learns_from_the_other_rows_only():
    X, y = load_monks(2)
    conformal = SplitConformalClassifier(NaiveBayesClassifier(ess=1.0), calibration=0.3, random_state=3).fit(X, y)
    assert conformal.n_calibration_ == round(0.3 * len(X))
    assert conformal.estimator_.model_.counts["is_monk"].weights.sum() == len(X) - conformal.n_calibration_
    np.testing.assert_array_equal(conformal.predict(X), conformal.estimator_.predict(X))
    again = clone(conformal).fit(X.to_numpy(dtype=object).tolist(), y.tolist())
    np.testing.assert_array_equal(again.p_values(X.to_numpy(dtype=object)), conformal.p_values(X))


def test_a_class_that_only_calibration_rows_have():
    X, y = load_monks(1)
    model = NaiveBayesClassifier().fit(X, y)
    labels = y.astype(object)
    labels[:5] = "other"
    found = SplitConformalClassifier(FrozenEstimator(model), calibration=1.0).fit(X, labels).p_values(X)
    assert found.shape == (len(X), 2)
    assert (found >= 6 / (len(X) + 1)).all().all()


def test_sets():
    X, y = load_iris()
    conformal = FullConformalClassifier().fit(X[::2], y[::2])
    found = conformal.predict_set(X[1::2], confidence=0.8)
    assert list(found.sets.columns) == list(conformal.classes_)
    assert found.sets.index.equals(X[1::2].index)
    pd.testing.assert_frame_equal(found.sets, found.p_values > 0.2)
    assert found.sizes.tolist() == [len(labels) for labels in found.labels]
    truth = y[1::2].to_numpy()
    inside = np.mean([label in labels for label, labels in zip(truth, found.labels, strict=True)])
    assert found.coverage(truth) == inside
    assert inside > 0.7
    assert "75 sets at a confidence of 80%" in str(found)
    wider = conformal.predict_set(X[1::2], confidence=0.95)
    assert (wider.sets | found.sets).equals(wider.sets)
    pd.testing.assert_frame_equal(found.at(0.95).sets, wider.sets)
    with pytest.raises(ValueError, match="y has 2 classes"):
        found.coverage(truth[:2])


def test_empty_sets_and_too_few_rows():
    X, y = load_iris()
    conformal = FullConformalClassifier().fit(X[::2], y[::2])
    found = conformal.predict_set(X[1::2], confidence=0.7)
    filled = conformal.predict_set(X[1::2], confidence=0.7, allow_empty=False)
    assert (found.sizes == 0).any()
    assert (filled.sizes >= 1).all()
    assert (filled.sizes[found.sizes == 0] == 1).all()
    pd.testing.assert_frame_equal(filled.sets[found.sizes > 0], found.sets[found.sizes > 0])
    empty = found.p_values[found.sizes == 0]
    assert (filled.sets[found.sizes == 0].idxmax(axis=1) == empty.idxmax(axis=1)).all()
    with pytest.warns(UserWarning, match="every set contains every class: rows are ranked among 75 others"):
        conformal.predict_set(X[:2], confidence=0.99)


@pytest.mark.parametrize("seed", range(2))
def test_smoothed_p_values_are_uniform(seed):
    rng = np.random.default_rng(seed)
    values = []
    for _ in range(40):
        X = pd.DataFrame(rng.integers(0, 2, (16, 2)), columns=["a", "b"])
        y = np.where(rng.random(16) < 0.7, X["a"], 1 - X["a"])
        y[:2] = 0, 1
        order = rng.permutation(16)
        train, new = order[:15], order[15:]
        conformal = FullConformalClassifier(
            ANBClassifier(ess=1.0, categories={"class": [0, 1]}, drop_identifiers=False),
            smoothed=True,
            random_state=int(rng.integers(1 << 30)),
        ).fit(X.iloc[train], y[train])
        values.append(float(conformal.p_values(X.iloc[new])[y[new[0]]].iloc[0]))
    assert abs(np.mean(values) - 0.5) < 4 / math.sqrt(12 * 40)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (ANBClassifier(), "ess of the estimator must be a number"),
        (TANClassifier(ess=1.0), "use SplitConformalClassifier"),
        (ANBClassifier(ess=1.0, structure_score="bic"), "structure_score"),
        (ANBClassifier(ess=1.0, smoothing="auto"), "smoothing"),
        (ANBClassifier(ess=1.0, parameters="ml"), "parameters"),
        (ANBClassifier(ess=1.0, continuous="universal"), "continuous"),
        (ANBClassifier(ess=1.0, class_weight="balanced"), "class_weight"),
        (ANBClassifier(ess=1.0), "cut with the help of the classes"),
        (ANBClassifier(ess=1.0, discretizer="mdlp"), "cut with the help of the classes"),
    ],
)
def test_what_full_refuses(estimator, message):
    X, y = load_iris()
    with pytest.raises((TypeError, ValueError), match=message):
        FullConformalClassifier(estimator).fit(X, y)


def test_what_else_is_refused():
    X, y = load_iris()
    with pytest.raises(ValueError, match="whole numbers of rows"):
        FullConformalClassifier().fit(X, y, sample_weight=np.full(len(X), 0.5))
    many = pd.DataFrame({"town": [f"t{k % 30}" for k in range(150)], "x": X.iloc[:, 0] > 5.5})
    with pytest.raises(ValueError, match="'town' were grouped with the help of the classes"):
        FullConformalClassifier(ANBClassifier(ess=1.0)).fit(many, y)
    conformal = FullConformalClassifier().fit(X, y)
    with pytest.raises(ValueError, match="row 1: the cell is missing"):
        conformal.predict_set(X[:3].mask(pd.DataFrame(np.eye(3, 4, 1) > 0).set_axis(X.columns, axis=1).shift(1) == 1))
    for confidence in (0, 1, "high", True):
        with pytest.raises(ValueError, match="confidence must be a number between 0 and 1"):
            conformal.predict_set(X, confidence=confidence)
    for parameters in ({"method": "raps"}, {"by_class": 1}, {"smoothed": "yes"}):
        with pytest.raises(ValueError, match=next(iter(parameters))):
            FullConformalClassifier(**parameters).fit(X, y)
    for share in (0, 1.5, "half", 1.0, 0.001):
        with pytest.raises(ValueError, match="calibration"):
            SplitConformalClassifier(NaiveBayesClassifier(), calibration=share).fit(X, y)


def test_missing_cells_that_are_a_state():
    X, y = load_iris()
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    model = ANBClassifier(ess=1.0, discretizer="median", handle_missing="own_state")
    found = FullConformalClassifier(model).fit(X, y).p_values(X[:4])
    assert found.notna().all().all()
