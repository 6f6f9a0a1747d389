"""Exact explanations of classifiers whose columns are cut, also of refits on finer intervals than the network's."""

import numpy as np
import pandas as pd
import pytest

from anbexact import AdditiveClassifier, NaiveBayesClassifier, RefittedClassifier, TANClassifier, load
from anbexact.datasets import load_iris

MODELS = {
    "network": lambda: TANClassifier(ess=1.0, n_jobs=1),
    "refitted": lambda: RefittedClassifier(TANClassifier(ess=1.0, n_jobs=1), l2=1.0),
    "smooth": lambda: AdditiveClassifier(TANClassifier(ess=1.0, n_jobs=1), intervals=6, smooth=1.0),
    "smooth naive Bayes": lambda: AdditiveClassifier(NaiveBayesClassifier(n_jobs=1), intervals=9, smooth=1.0),
}
ROWS = [0, 57, 70, 106, 129]


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    X, y = load_iris()
    return MODELS[request.param]().fit(X, y), X


def log_odds(proba, found):
    """Return the log odds that an explanation is about, from probabilities."""
    rows = np.arange(len(proba))
    return np.log(proba[rows, found.labels]) - np.log(proba[rows, found.against])


def test_codes_are_those_of_the_vocabulary(fitted):
    model, X = fitted
    codes = model.reader_.codes(X)
    for name, of_column in zip(model.vocabulary_.features, codes, strict=True):
        expected = np.searchsorted(model.cut_points_[name], X[name].to_numpy(), side="left")
        np.testing.assert_array_equal(of_column, expected)
        assert of_column.max() < model.vocabulary_.arity(name)


def test_shapley_values_add_up_to_the_log_odds_of_predict_proba(fitted):
    model, X = fitted
    found = model.explain_local(X.iloc[ROWS])
    expected = log_odds(model.predict_proba(X.iloc[ROWS]), found)
    np.testing.assert_allclose(found.log_odds, expected, atol=1e-9)
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), expected, atol=1e-9)
    by_class = model.shapley_values(X.iloc[ROWS])
    assert by_class.shape == (len(ROWS), X.shape[1], 3)


def test_missing_cells_are_summed_out_as_by_predict_proba(fitted):
    model, X = fitted
    holed = X.mask(np.random.default_rng(0).random(X.shape) < 0.3).iloc[:40]
    found = model.explain_local(holed)
    expected = log_odds(model.predict_proba(holed), found)
    np.testing.assert_allclose(found.log_odds, expected, atol=1e-9)
    np.testing.assert_allclose(found.base + found.values.sum(axis=1) + found.hidden, expected, atol=1e-9)


def test_a_single_cut_column():
    X, y = load_iris()
    model = AdditiveClassifier(NaiveBayesClassifier(n_jobs=1), intervals=9, smooth=1.0).fit(X[["petal_length"]], y)
    found = model.explain_local(X[["petal_length"]].iloc[ROWS])
    expected = log_odds(model.predict_proba(X[["petal_length"]].iloc[ROWS]), found)
    np.testing.assert_allclose(found.base + found.values[:, 0], expected, atol=1e-9)


def test_a_sufficient_reason_suffices(fitted):
    model, X = fitted
    reasons = model.sufficient_reasons(X.iloc[ROWS])
    rng = np.random.default_rng(0)
    for t, row in enumerate(ROWS):
        fixed = [name for name, kept in zip(X.columns, reasons.fixed[t], strict=True) if kept]
        others = pd.DataFrame({name: rng.choice(X[name], 500) for name in X.columns}).assign(
            **{name: X[name].iloc[row] for name in fixed}
        )
        assert (model.predict(others) == model.predict(X.iloc[[row]])[0]).all(), t


def test_a_nearest_change_changes_the_class(fitted):
    model, X = fitted
    found = model.nearest_change(X.iloc[ROWS])
    assert len(found)
    for change in found.itertuples():
        changed = X.loc[[change.row]].assign(**{name: inside(*ends(to)) for name, to in change.changes.items()})
        proba = model.predict_proba(changed)[0, list(model.classes_).index(change.becomes)]
        assert model.predict(changed)[0] == change.becomes
        assert proba == pytest.approx(change.probability, abs=1e-9)


def ends(interval):
    """Return the ends of an interval, as text or as a number pair."""
    low, high = str(interval).strip("(]) ").split(",")
    return float(low), float(high)


def inside(low, high):
    """Return a number within an interval that is open below."""
    if np.isinf(low):
        return high
    return low + 1.0 if np.isinf(high) else high


def test_what_if_is_what_predict_proba_says_of_the_changed_row(fitted):
    model, X = fitted
    name = X.columns[2]
    found = model.what_if(X.iloc[ROWS], {name: 5.0})
    before, after = model.predict_proba(X.iloc[ROWS]), model.predict_proba(X.iloc[ROWS].assign(**{name: 5.0}))
    place = {label: k for k, label in enumerate(model.classes_)}
    for row in found.itertuples():
        t = ROWS.index(row.row)
        assert row.before == pytest.approx(before[t, place[row[3]]], abs=1e-9)
        assert row.probability == pytest.approx(after[t, place[row[3]]], abs=1e-9)


def test_explanations_survive_saving(fitted, tmp_path):
    model, X = fitted
    path = tmp_path / "model.json"
    model.save(path)
    again, found = load(path).explain_local(X.iloc[ROWS]), model.explain_local(X.iloc[ROWS])
    np.testing.assert_allclose(again.log_odds, found.log_odds, atol=1e-9)
