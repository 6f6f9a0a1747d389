"""Reports by group, and model cards."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from pages import Page

from anbexact import AdditiveClassifier, NaiveBayesClassifier, RefittedClassifier, TANClassifier
from anbexact.compare import group_metrics
from anbexact.report import model_card, report


def rows(seed=0, n=200):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    y = np.where(rng.random(n) < np.where(sex == "f", 0.3, 0.6), "ill", "well")
    X = pd.DataFrame({"a": (y == "ill") + rng.integers(0, 2, n), "b": rng.integers(0, 3, n), "sex": sex})
    return X, pd.Series(y, name="outcome")


def test_groups_of_a_feature_and_of_another_column():
    X, y = rows()
    classifier = NaiveBayesClassifier(ess=1.0, n_jobs=1).fit(X[["a", "b"]], y)
    made = report(classifier, X[["a", "b"]], y, folds=None, by={"sex": X["sex"]}).to_dict()
    proba = classifier.predict_proba(X[["a", "b"]])[:, 1]
    expected = group_metrics(y, proba, X["sex"], label="well")
    found = pd.DataFrame(made["groups"]["sex: well"]).set_index("group")
    assert found["selected"].to_dict() == pytest.approx(expected["selected"].to_dict())
    assert found["calibration_low"].to_dict() == pytest.approx(expected["calibration_low"].to_dict())
    of_b = report(classifier, X[["a", "b"]], y, folds=None, by="b").to_dict()["groups"]["b: well"]
    assert [of["group"] for of in of_b] == ["0", "1", "2", "(all rows)"]
    with pytest.raises(ValueError, match="by names 'sex', which is not a feature; pass the values"):
        report(classifier, X[["a", "b"]], y, folds=None, by="sex")
    with pytest.raises(ValueError, match="by has 3 values of 'sex' for 200 rows"):
        report(classifier, X[["a", "b"]], y, folds=None, by={"sex": [1, 2, 3]})


@pytest.mark.parametrize("weights", [None, np.arange(200) % 3 + 0.5])
def test_many_intervals_are_joined_into_quarters_in_their_order(weights):
    X, y = rows()
    X = X.assign(age=np.random.default_rng(1).normal(100, 30, 200).round(1))
    X.loc[:19, "age"] = np.nan
    classifier = AdditiveClassifier(NaiveBayesClassifier(ess=1.0, handle_missing="own_state"), smooth=1.0).fit(X, y)
    assert len(classifier.cut_points_["age"]) > 10
    found = report(classifier, X, y, sample_weight=weights, folds=None, by="age").to_dict()["groups"]["age: well"]
    lowest, *between, highest, missing, every = (of["group"] for of in found)
    assert (missing, every) == ("(missing)", "(all rows)")
    ends = [float(text.split()[-1]) for text in (lowest, *between)]
    assert lowest.startswith("≤ ")
    assert between == [f"{low:g} to {high:g}" for low, high in pairwise(ends)]
    assert highest == f"> {ends[-1]:g}"
    weight = np.ones(200) if weights is None else weights
    group = np.searchsorted(ends, X["age"].dropna())
    expected = np.bincount(group, weight[X["age"].notna()])
    assert [of["weight"] for of in found[:4]] == pytest.approx(expected)
    assert np.abs(expected / expected.sum() - 0.25).max() < 0.05


def test_held_out_predictions_meet_their_groups():
    """In a cross-validation, rows come fold by fold; every group still has its own rows."""
    X, y = rows()
    y = y.mask(np.arange(len(y)) % 17 == 0)  # rows without a class are left out
    classifier = NaiveBayesClassifier(ess=1.0, n_jobs=1).fit(X[y.notna()], y.dropna())
    made = report(classifier, X, y, folds=3, by=["sex"]).to_dict()["groups"]["sex: well"]
    known = y.notna()
    for of in made[:2]:
        own = (X["sex"] == of["group"]) & known
        assert of["rows"] == own.sum()
        assert of["share"] == pytest.approx((y[own] == "well").mean())


def test_a_model_card(tmp_path):
    X, y = rows()
    classifier = RefittedClassifier(TANClassifier(ess=1.0, n_jobs=1), l2=1.0).fit(X, y)
    edited = classifier.with_logit(classifier.logit_.change_shape("b", {1: 0.2}, reason="agreed on by the board"))
    card = model_card(edited, X, y, use="Triage in one clinic; not for children.", by="sex", folds=3)
    keys = [section.key for section in card.document.sections]
    assert keys == ["model", "use", "data", "performance", "groups", "edits", "limits", "reproduce"]
    text = card.to_markdown()
    for part in (
        "# Model card: outcome",
        "certificate",
        "Triage in one clinic; not for children.",
        "agreed on by the board",
        "Calibration",
        "Predictions of well by sex",
        "## Warnings and limits",
    ):
        assert part in text
    assert "gains" not in card.to_dict()["performance"]
    Page(card.to_html())
    card.save(tmp_path / "card.md")
    assert (tmp_path / "card.md").read_text(encoding="utf-8") == text
    unstated = model_card(edited, X, y, folds=None).to_markdown()
    assert "The use of this model was not stated" in unstated
