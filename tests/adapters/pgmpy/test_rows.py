"""Raw rows as states of a pgmpy network."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from pgmpy.inference import VariableElimination
from strategies import problems
from tiers import examples

from anbexact import ANBClassifier, NaiveBayesClassifier, TANClassifier
from anbexact.adapters import class_posterior, from_pgmpy, states_of
from anbexact.datasets import load_iris, load_monks


def mixed(n=80, seed=0):
    """Numbers to cut, dates, many categories to group, few categories with missing cells, whole numbers."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(["no", "yes"], n // 2))
    yes = y == "yes"
    X = pd.DataFrame(
        {
            "dose": rng.normal(yes * 2.0, 1.0),
            "seen": pd.Timestamp("2020-03-01") + pd.to_timedelta(rng.integers(0, 300, n) + 200 * yes, "D"),
            "town": [f"t{k}" for k in rng.integers(0, 14, n) + 6 * yes],
            "colour": pd.Series(rng.choice(["red", "blue"], n), dtype=object).where(rng.random(n) > 0.4, None),
            "grade": rng.integers(1, 4, n),
        },
        index=pd.Index([f"row {k}" for k in range(n)], name="patient"),
    )
    return X, pd.Series(y, X.index, name="ill")


@pytest.fixture(scope="module")
def learned():
    X, y = mixed()
    classifier = TANClassifier(ess=2.0, handle_missing="own_state").fit(X, y)
    assert set(classifier.cut_points_) == {"dose", "seen"}
    assert set(classifier.groups_) == {"town"}
    return classifier, X


def test_columns_of_all_types_become_the_states_that_the_classifier_reads(learned):
    classifier, X = learned
    new, _ = mixed(200, seed=5)
    new = new[new["town"].isin(X["town"])]
    found = states_of(classifier.network_, new)
    assert found.index.equals(new.index)
    codes = classifier.reader_.codes(new)
    for j, name in enumerate(classifier.vocabulary_.features):
        states = classifier.vocabulary_.states[name]
        assert found[name].tolist() == [states[code] for code in codes[j]]
    shuffled = states_of(classifier.network_, new[["town", "dose"]])
    pd.testing.assert_frame_equal(shuffled, found[["town", "dose"]])
    from_polars = states_of(
        classifier.network_, pl.from_pandas(new[["dose", "grade", "colour"]].reset_index(drop=True))
    )
    pd.testing.assert_frame_equal(from_polars, found[["dose", "grade", "colour"]].reset_index(drop=True))


def test_pgmpy_answers_as_the_classifier_does(learned):
    classifier, X = learned
    network = classifier.network_
    inference = VariableElimination(network)
    states = states_of(network, X)
    proba = classifier.predict_proba(X)
    for k in range(0, len(X), 7):
        factor = inference.query(["ill"], evidence=dict(states.iloc[k]), show_progress=False)
        np.testing.assert_allclose(factor.values, proba[k], atol=1e-10)
        raw = class_posterior(network, "ill", X.iloc[k].dropna())
        np.testing.assert_allclose(raw, classifier.query(X.iloc[k].dropna()), atol=1e-10)
    predicted = network.predict(states.reset_index(drop=True))["ill"]  # it sorts rows by their labels
    assert predicted.tolist() == classifier.predict(X).tolist()


@given(problem=problems())
@examples(30)
def test_states_of_random_tables_stay_as_they_are(problem):
    X, y = problem.frame()
    classifier = NaiveBayesClassifier(categories=problem.categories, discretizer=None).fit(X, y, problem.weights)
    found = states_of(classifier.network_, X)
    assert found.to_numpy().tolist() == X.to_numpy().tolist()


def test_what_is_a_state_already_stays_and_the_class_may_be_a_column():
    X, y = load_iris()
    classifier = ANBClassifier(ess=1.0).fit(X, y)
    states = states_of(classifier.network_, X.assign(species=y))
    pd.testing.assert_frame_equal(states_of(classifier.network_, states), states)
    assert states["species"].tolist() == y.tolist()
    again = from_pgmpy(classifier.network_, "petal_width").predict_proba(
        X.drop(columns="petal_width").assign(species=y)
    )
    expected = class_posterior(classifier.network_, "petal_width", dict(states.drop(columns="petal_width").iloc[60]))
    np.testing.assert_allclose(again[60], expected, atol=1e-12)


def test_missing_cells_are_no_evidence_unless_they_are_a_state(learned):
    X, y = load_iris()
    network = ANBClassifier(ess=1.0).fit(X, y).network_
    holes = X.head(3).mask(np.eye(3, 4) == 1)
    found = states_of(network, holes)
    assert found.isna().to_numpy().tolist() == holes.isna().to_numpy().tolist()
    with pytest.raises(ValueError, match="the value of 'sepal_length' is missing"):
        class_posterior(network, "species", {"sepal_length": None})
    classifier, rows = learned
    own = states_of(classifier.network_, rows[["colour"]])["colour"]
    assert set(own[rows["colour"].isna()]) == {"(missing)"}


def test_the_state_of_missing_cells_stays_and_is_evidence():
    X, y = mixed()
    X = X.mask(np.random.default_rng(2).random((80, 5)) < 0.2)
    classifier = TANClassifier(ess=2.0, handle_missing="own_state").fit(X, y)
    network, states = classifier.network_, states_of(classifier.network_, X)
    assert states.eq("(missing)").to_numpy().tolist() == X.isna().to_numpy().tolist()
    pd.testing.assert_frame_equal(states_of(network, states), states)
    for name in X:
        expected = classifier.query({name: None})
        for value in (None, np.nan, "(missing)"):
            np.testing.assert_allclose(class_posterior(network, "ill", {name: value}), expected, atol=1e-12)
    np.testing.assert_allclose(class_posterior(network, "ill", X.iloc[3]), classifier.query(X.iloc[3]), atol=1e-12)


def test_refusals():
    X, y = load_monks(1)
    network = NaiveBayesClassifier(ess=1.0).fit(X, y).network_
    with pytest.raises(ValueError, match="column 'height' is not a node of the network: drop it"):
        states_of(network, X.assign(height=1))
    with pytest.raises(ValueError, match="'purple' is not a state of node 'jacket_color'; its states are"):
        states_of(network, X.head(2).assign(jacket_color=["red", "purple"]))
    with pytest.raises(ValueError, match="'purple' is not a state of node 'jacket_color'"):
        class_posterior(network, "is_monk", {"jacket_color": "purple"})
    with pytest.raises(TypeError, match="pgmpy DiscreteBayesianNetwork"):
        states_of(NaiveBayesClassifier(), X)
