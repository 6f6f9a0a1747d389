"""Points of nomograms: their sums are the log odds of the classifier, whatever its terms depend on."""

import numpy as np
import pandas as pd
import pytest
from tiers import repeats

from anbexact import (
    AdditiveClassifier,
    ANBClassifier,
    GBNClassifier,
    NaiveBayesClassifier,
    RefittedClassifier,
    TANClassifier,
)
from anbexact.classifiers import KDBClassifier
from anbexact.explanations.nomogram import NEGLIGIBLE, left_out_points, point_system

MODELS = {
    "nb": NaiveBayesClassifier(ess=1.0, n_jobs=1),
    "tan": TANClassifier(ess=1.0, n_jobs=1),
    "anb": ANBClassifier(ess=1.0, n_jobs=1),
    "gbn": GBNClassifier(ess=1.0, n_jobs=1),
    "kdb": KDBClassifier(k=2, ess=1.0, n_jobs=1),
    "refit": RefittedClassifier(KDBClassifier(k=2, ess=1.0, n_jobs=1), l2=1.0),
    "smooth": AdditiveClassifier(TANClassifier(ess=1.0, n_jobs=1), smooth=1.0, intervals=6),
}


def rows(seed, n=150, n_classes=3):
    """Return a table with a measured column, and columns of two to seven states that depend on each other."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    a = (y + rng.integers(0, 2, n)) % 7
    X = pd.DataFrame(
        {
            "a": pd.Categorical(a, categories=range(7)),  # some of them unseen
            "b": (a + y + rng.integers(0, 3, n)) % 6,
            "c": np.where(rng.random(n) < 0.3 + 0.2 * (a > 1), "yes", "no"),
            "dose": rng.normal(y + (a > 2), 1.0).round(2),
        }
    )
    return X, pd.Series(np.array(["x", "y", "z"])[y], name="class")


@pytest.mark.parametrize("model", MODELS)
def test_sums_of_points_are_the_log_odds(model):
    for seed in repeats(2):
        X, y = rows(seed, n_classes=2 + seed % 2)
        classifier = MODELS[model].fit(X, y)
        for against in (None, sorted(set(y))[-1]):
            system = point_system(classifier.model_.family_sum(), against)
            codes = classifier.reader_.codes(X)
            found = system.probabilities(system.points(codes).sum(axis=1))
            # two-way tables that change no probability by more than this are left away
            bound = NEGLIGIBLE if model == "smooth" else 1e-10
            assert np.abs(found - classifier.predict_proba(X)).max() < bound
            for ruler in system.rulers:
                assert ruler.points.reshape(-1, ruler.points.shape[-1]).min(axis=0) == pytest.approx(0, abs=1e-9)
                assert len(ruler.lines(1e-6)) <= 4
            assert max(ruler.span for ruler in system.rulers) == pytest.approx(100)


def test_rulers_of_naive_bayes_are_log_ratios():
    """Points are differences of ln P(state | class), from the least of them, on a scale from 0 to 100."""
    X, y = rows(3, n_classes=2)
    classifier = MODELS["nb"].fit(X, y)
    system = point_system(classifier.model_.family_sum())
    ratios = {}
    for name in X:
        table = classifier.conditional_tables_[name].values
        ratios[name] = np.log(table[:, 1]) - np.log(table[:, 0])
    widest = max(np.ptp(of) for of in ratios.values())
    assert system.points_per_nat == pytest.approx(100 / widest)
    for ruler in system.rulers:
        own = ratios[ruler.feature]
        assert ruler.points[:, 0] == pytest.approx((own - own.min()) * 100 / widest)
        assert ruler.unknown[0] == pytest.approx(-own.min() * 100 / widest)
    deviations = [ruler.importance for ruler in system.rulers]
    assert deviations == sorted(deviations, reverse=True)
    shares = np.bincount(classifier.reader_.codes(X)[1], minlength=6) / len(X)
    of_b = next(ruler for ruler in system.rulers if ruler.feature == "b")
    mean = shares @ of_b.points[:, 0]
    assert of_b.importance == pytest.approx(np.sqrt(shares @ (of_b.points[:, 0] - mean) ** 2))


@pytest.mark.parametrize("model", ["nb", "tan", "anb", "smooth"])
def test_unknown_values_are_summed_out(model):
    X, y = rows(5)
    classifier = MODELS[model].fit(X, y)
    system = point_system(classifier.model_.family_sum())
    codes = classifier.reader_.codes(X)
    place = {name: j for j, name in enumerate(X)}
    known = [ruler for ruler in system.rulers if ruler.unknown is not None]
    if model != "smooth":
        assert known
    for ruler in known:
        points = system.points(codes).sum(axis=1)
        own = tuple(codes[place[name]] for name in ruler.features)
        points += ruler.unknown[own[1:]] - ruler.points[own]
        hidden = X.assign(**{ruler.feature: None})
        assert np.abs(system.probabilities(points) - classifier.predict_proba(hidden)).max() < 1e-9


def test_what_is_left_out_counts_with_its_mean():
    X, y = rows(7, n=400, n_classes=2)
    classifier = MODELS["tan"].fit(X, y)
    system = point_system(classifier.model_.family_sum())
    codes = classifier.reader_.codes(X)
    whole = system.points(codes).sum(axis=1) / system.points_per_nat + system.constant
    gone = system.rulers[-1]
    fewer = system.without([(gone.feature,)])
    assert gone.feature not in {ruler.feature for ruler in fewer.rulers}
    assert all(gone.feature not in part.features for part in fewer.parts)
    rest = fewer.points(codes).sum(axis=1) / fewer.points_per_nat + fewer.constant
    assert rest.mean() == pytest.approx(whole.mean(), abs=0.02)
    assert 0 < left_out_points(system, [(gone.feature,)]) == pytest.approx(gone.importance)


def test_refusals():
    X, y = rows(1)
    source = MODELS["nb"].fit(X, y).model_.family_sum()
    with pytest.raises(ValueError, match=r"against must be one of the classes \['x', 'y', 'z'\], not 'w'"):
        point_system(source, "w")
    with pytest.raises(ValueError, match="only one class"):
        point_system(MODELS["nb"].fit(X, ["x"] * len(X)).model_.family_sum())
