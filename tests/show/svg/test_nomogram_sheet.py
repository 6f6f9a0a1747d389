"""Sheets of nomograms: probabilities read off what is drawn, and labels that can be read on one sheet of A4."""

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sheets import of_sheet, read_off

from anbexact import AdditiveClassifier, ANBClassifier, NaiveBayesClassifier, TANClassifier
from anbexact.datasets import load_anes96, load_breast_cancer, load_iris, load_wine
from anbexact.report import nomogram
from anbexact.show.svg.nomogram import PAPER, ordered_by_importance

TABLES = {"anes96": load_anes96, "iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer}
MODELS = {
    "nb": lambda: NaiveBayesClassifier(ess=1.0, n_jobs=1),
    "tan": lambda: TANClassifier(ess=1.0, n_jobs=1),
    "anb": lambda: ANBClassifier(ess=1.0, max_parents=1, n_jobs=1),
    "smooth": lambda: AdditiveClassifier(NaiveBayesClassifier(ess=1.0, n_jobs=1), smooth=1.0, intervals=12),
}


def awkward(seed=0, n=300):
    """Return rows with long names, many states, dates, missing cells and a name that is markup."""
    rng = np.random.default_rng(seed)
    dates = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 400, n), unit="D")
    X = pd.DataFrame(
        {
            "ward of the first admission within the year": rng.choice(["Geriatrics $ & co", "a" * 90, "<b>x</b>"], n),
            "date": dates,
            "n": rng.integers(0, 6, n),
            "bmi": rng.normal(27, 4, n).round(1),
            "town": rng.choice([f"town number {k} of the county" for k in range(9)], n),
        }
    )
    X.loc[rng.random(n) < 0.2, "bmi"] = np.nan
    risk = 1 / (1 + np.exp(-(X["n"] - 3) - (X["bmi"].fillna(30) - 27) / 3))
    return X, pd.Series(np.where(rng.random(n) < risk, "readmitted within 30 days", "not"), name="outcome")


def made_of(model, table):
    X, y = awkward() if table == "awkward" else TABLES[table]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier = MODELS[model]().fit(X, y)
    return classifier, nomogram(classifier), X


@pytest.mark.parametrize(
    ("model", "table"), [("tan", "anes96"), ("smooth", "iris"), ("nb", "iris"), ("anb", "awkward")]
)
def test_read_off_by_position(model, table):
    """Points, totals and probabilities by their places alone are within 0.01 of those of the classifier."""
    classifier, made, X = made_of(model, table)
    codes = classifier.reader_.codes(X)
    if made.left_out:
        expected = made.sheet.system.probabilities(made.sheet.system.points(codes).sum(axis=1))
    else:
        expected = classifier.predict_proba(X)
    some = np.random.default_rng(0).choice(len(X), 40, replace=False)
    found = read_off(made, of_sheet(made.sheet), codes[:, some])
    assert np.abs(found - expected[some]).max() < 0.01


CASES = [(model, table) for model in MODELS for table in [*TABLES, "awkward"]]


@pytest.mark.parametrize(("model", "table"), CASES)
def test_fits_on_one_sheet(model, table):
    """Everything is on the paper, and the labels of a row do not overlap."""
    _, made, _ = made_of(model, table)
    sheet = made.sheet
    assert sheet.height <= PAPER[1] - 12
    texts = [mark for mark in sheet.marks if hasattr(mark, "text")]
    labels = {}
    for mark in texts:
        width = len(mark.text) * mark.size * 25.4 / 72 * 0.5
        start = mark.x - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[mark.anchor]
        assert start > 0
        assert start + width < PAPER[0]
        assert 0 < mark.y < PAPER[1]
        labels.setdefault(round(mark.y, 3), []).append((start, start + width, mark.text))
    for row in labels.values():
        row.sort()
        for (_, end, one), (start, _, other) in pairwise(row):
            assert end <= start + 0.3, (one, other)


def test_the_most_important_features_and_a_word_on_the_others():
    X, y = load_breast_cancer()
    classifier = MODELS["nb"]().fit(X, y)
    whole = nomogram(classifier)
    made = nomogram(classifier, most=5, title="Risk")
    kept = [ruler.feature for ruler in made.sheet.system.rulers]
    assert kept == [ruler.feature for ruler in whole.system.rulers[:5]]
    assert {name for (name,) in made.left_out} == set(X) - set(kept)
    said = " ".join(mark.text for mark in made.sheet.marks if hasattr(mark, "text"))
    assert "Risk" in said
    assert "Left out, and counted with their mean points" in said
    assert "13 more features" in said


def test_smaller_features_stay_where_a_larger_one_is_left_out():
    """The two-way table of p and q is too large for the room that is left; a less important feature fits."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4000)
    strong = {f"strong {k}": np.where(rng.random(4000) < 0.8, y, 1 - y) for k in range(15)}
    p, q = rng.integers(0, 8, (2, 4000))
    q = np.where((rng.random(4000) < 0.62) & ((p + q) % 2 != y), (q + 1) % 8, q)
    weak = {f"weak {k}": np.where(rng.random(4000) < 0.54, y, 1 - y) for k in range(6)}
    X = pd.DataFrame({**strong, "p": p, "q": q, **weak})
    classifier = ANBClassifier(ess=1.0, max_parents=1, required_edges=[("p", "q")], n_jobs=1)
    made = nomogram(classifier.fit(X, pd.Series(y, name="c")))
    order = [features for features in ordered_by_importance(made.sheet.system) if len(features) == 1]
    assert order[0][0].startswith("weak")
    assert made.left_out == [("q",)]
    assert made.sheet.height <= PAPER[1] - 12


def test_states_at_the_same_points_share_a_label():
    """Neighbouring intervals become one; a ruler names its states once each."""
    X, y = load_iris()
    made = nomogram(MODELS["smooth"]().fit(X[["petal_width"]], y))
    assert {at.ruler for at in made.sheet.places} == {0}
    n = len(made.system.rulers[0].points)
    assert len(made.sheet.places) == 2 * n
