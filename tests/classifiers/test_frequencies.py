"""A classifier that predicts worse than the frequencies of the classes says so, whatever its model is."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

from anbexact import RefittedClassifier
from anbexact.classifiers import (
    A2DEClassifier,
    AODEClassifier,
    AveragedANBClassifier,
    AveragedNaiveBayesClassifier,
    AveragedTANClassifier,
    FixedStructureClassifier,
    NaiveBayesClassifier,
)
from anbexact.classifiers.choosing import frequencies
from anbexact.classifiers.choosing.frequencies import (
    FOLDS,
    PredictedWorseWarning,
    compare_folds,
    later_corrected,
    smoothing_compared,
)
from anbexact.classifiers.registry import CLASSIFIERS
from anbexact.datasets import load_dataset
from anbexact.models import Structure, aode
from anbexact.models.parameters.smoothing import LeaveOneOut
from anbexact.tables.folds import split_table
from anbexact.tables.table import DiscreteTable

NOT_WORSE = {
    "AveragedNaiveBayesClassifier": "takes over the smoothing by which naive Bayes predicts the frequencies",
    "KernelClassifier": "chooses the precision of its prior by the same rows",
    "LinearClassifier": "chooses the precision of its prior by the same rows",
    "FSANBClassifier": "selects hardly any feature",
    "FSSJClassifier": "selects hardly any feature",
    "SelectiveKDBClassifier": "selects hardly any feature",
    "AutoClassifier": "gives its models little weight",
    "PooledClassifier": "gives its members little weight",
    "WeightedNaiveBayesClassifier": "takes over the smoothing by which naive Bayes predicts the frequencies",
}
"""Predict no worse than the frequencies, by a cross-validation of the whole fit."""
JUDGED_BY_ITS_ROWS = {
    "BSEJClassifier": "a greedy search, which learning again in folds would make five times as long",
    "TANHCClassifier": "likewise",
    "GreedyGBNClassifier": "likewise",
    "MinimalClassParametersClassifier": "the folds predict better than new rows",
}
"""Predict worse, which is not seen: the rows that are predicted have chosen the structure."""


def noise():
    """Return 80 rows of a rare class, and of features that say nothing about it."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(80) < 0.15, "yes", "no")
    X = pd.DataFrame({f"x{j}": [f"s{code}" for code in rng.integers(0, 6, 80)] for j in range(8)})
    return X, pd.Series(y, name="c")


def copies(n_rows, n_features=14):
    """Return rows of a rare class, and of features that all repeat the same weak hint of it."""
    rng = np.random.default_rng(0)
    rare = rng.random(n_rows) < 0.1
    hint = np.where(rng.random(n_rows) < 0.3, 2 * rare, rng.integers(0, 3, n_rows))
    features = {}
    for j in range(n_features):
        features[f"x{j}"] = np.where(rng.random(n_rows) < 0.1, rng.integers(0, 3, n_rows), hint)
    return pd.DataFrame(features).astype(str), pd.Series(np.where(rare, "yes", "no"), name="c")


def unfitted(name, X):
    if name == "FixedStructureClassifier":
        return FixedStructureClassifier({"c": [], **{feature: ["c"] for feature in X}})
    return CLASSIFIERS[name].estimator()


def losses(found):
    """Return the log loss that a warning states, and that of the frequencies."""
    return tuple(map(float, re.search(r"log loss ([\d.]+) against ([\d.]+)", str(found.message)).groups()))


def warned(model, X, y, **weights):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, **weights)
    return [warning for warning in caught if issubclass(warning.category, PredictedWorseWarning)]


@pytest.mark.parametrize("name", sorted(set(CLASSIFIERS) - set(NOT_WORSE) - set(JUDGED_BY_ITS_ROWS)))
def test_every_classifier_says_so(name):
    X, y = noise()
    (found,) = warned(unfitted(name, X), X, y)
    ours, theirs = losses(found)
    assert ours > theirs + 0.01


@pytest.mark.parametrize("name", ["AODEClassifier", "A2DEClassifier", "AveragedTANClassifier", "FSANBClassifier"])
@pytest.mark.parametrize("n_rows", [600, 1500])
def test_features_that_repeat_each_other(name, n_rows):
    X, y = copies(n_rows)
    (found,) = warned(unfitted(name, X), X, y)
    assert losses(found)[0] > losses(found)[1] + 0.01


@pytest.mark.parametrize(
    "name", ["AODEClassifier", "A2DEClassifier", "AveragedFANClassifier", "AveragedANBClassifier"]
)
def test_nothing_is_said_where_features_predict(name):
    assert warned(CLASSIFIERS[name].estimator(), *load_dataset("iris")) == []


@pytest.mark.parametrize(
    "model", [AODEClassifier, A2DEClassifier, AveragedTANClassifier, AveragedNaiveBayesClassifier]
)
def test_the_loss_is_that_of_models_without_the_predicted_rows(model):
    """Each fold is predicted by a classifier that was fitted to the other rows alone."""
    X, y = noise()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    given = {"ess": 2.0} | ({"smoothing": 3.0} if "smoothing" in model().get_params() else {})
    states = {name: sorted(column.unique()) for name, column in X.items()}
    fitted = model(**given, categories=states)
    (found,) = warned(fitted, X, y, sample_weight=weights)
    table = fitted.reader_.table(X, y, sample_weight=weights)
    total = by_frequencies = 0.0
    for rows, others in split_table(table, FOLDS):
        parts = []
        for part in (rows, others):
            columns = {name: np.array(table.vocabulary.states[name])[part.column(name)] for name in (*X, "c")}
            frame = pd.DataFrame(columns)
            parts.append((frame[list(X)], frame["c"], part.weights))
        with later_corrected():
            other = model(**given, categories=states).fit(*parts[0])
        frame, labels, weight = parts[1]
        own = np.searchsorted(other.classes_, labels)
        total -= weight @ np.log(other.predict_proba(frame)[np.arange(len(own)), own])
        counts = np.bincount(np.searchsorted(other.classes_, parts[0][1]), parts[0][2], 2) + 1
        by_frequencies -= weight @ np.log(counts / counts.sum())[own]
    assert losses(found) == pytest.approx((total / weights.sum(), by_frequencies / weights.sum()), abs=6e-4)


def test_nothing_is_learned_again_where_the_warning_is_ignored(monkeypatch):
    X, y = noise()
    counted = []
    monkeypatch.setattr(
        "anbexact.classifiers.aode.count_pairs", lambda table, *_: counted.append(1) or aode.count_pairs(table)
    )
    with later_corrected():
        AODEClassifier().fit(X, y)
    assert len(counted) == 1
    assert len(warned(AODEClassifier(), X, y)) == 1
    assert len(counted) == 1 + FOLDS + 1


def test_averages_over_many_features_are_not_compared():
    """Their sums over all orders would take long for many rows."""
    X, y = copies(60, 12)
    assert warned(AveragedANBClassifier(ess=1.0), X, y) == []
    assert warned(AveragedANBClassifier(ess=1.0), *noise()) != []


@pytest.mark.parametrize("l2", ["auto", 1.0])
def test_a_refit_is_compared_if_its_prior_was_chosen_by_cross_validation(l2):
    X, y = noise()
    network = NaiveBayesClassifier(ess=0.1)
    classifier = RefittedClassifier(network, l2=l2)
    found = warned(classifier, X, y)
    if l2 == "auto":
        value = max(value for _, value in classifier.logit_.refitted.strength.tried)
        assert losses(found[0])[0] == pytest.approx(-value / len(y), abs=6e-4)
    assert len(found) == (l2 == "auto")


@pytest.mark.parametrize("given", [None, 0.1])
def test_more_smoothing_is_taken_only_if_it_predicts_better_and_nothing_was_requested(given, monkeypatch):
    X, y = noise()
    table = DiscreteTable.from_frame(X, y)
    structure = Structure.given("c", {"c": (), **dict.fromkeys(X, ("c",))})
    left_out = LeaveOneOut(table, structure)
    value = left_out.log_likelihood(0.1)
    for second, better in ((1e5, True), (1e-3, False)):
        assert (left_out.log_likelihood(second) > value) == better
        tried = second, 1.0, left_out.with_class_ess(1.0).log_likelihood(second)
        monkeypatch.setattr(frequencies, "best_left_out_smoothing", lambda *_: (0.1, value - 5.0))
        monkeypatch.setattr(frequencies, "second_smoothing", lambda *_, own=tried: own)
        with pytest.warns(PredictedWorseWarning) as found:
            chosen, class_smoothing = smoothing_compared(table, structure, given)
        taken = better and given is None
        assert (chosen, class_smoothing) == ((second, 1.0) if taken else (0.1, None))
        usual = -(value if given else value - 5.0) / left_out.weight
        assert losses(found[0])[0] == pytest.approx(usual, abs=6e-4)
        assert ("is used, with" in str(found[0].message)) == (chosen == second)


@pytest.mark.parametrize(("gain", "taken"), [(1.0, True), (0.0, False), (-1.0, False)])
def test_the_folds_take_more_smoothing_only_if_it_predicts_better(gain, taken):
    X, y = noise()
    table = DiscreteTable.from_frame(X, y)
    value = -2.0 * len(y)
    with pytest.warns(PredictedWorseWarning) as found:
        second = compare_folds(table, split_table(table, FOLDS), value, lambda: (500.0, None, value + gain))
    assert second == ((500.0, None) if taken else None)
    assert ("smoothing=500 is used" in str(found[0].message)) == taken
