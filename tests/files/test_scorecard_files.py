"""Files of scorecards: every form of the card is the same after reading, and damaged files are refused."""

import json

import numpy as np
import pandas as pd
import pytest

from anbexact import AdditiveClassifier, NaiveBayesClassifier, TANClassifier, load, load_scorecard, save_scorecard
from anbexact.adapters import to_scorecard
from anbexact.files.document import digest


def table(seed, n_classes=2, n=120):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    states = pd.Categorical.from_codes((y + rng.integers(0, 2, n)) % 3, ["x", 'y"<b>', "z", "unseen"])
    X = pd.DataFrame({"a": states, "size": (rng.normal(size=n) + y).round(2), "k": rng.integers(0, 3, n)})
    return X, pd.Series(np.array(["bad", "good", "so so"])[y], name="outcome")


CARDS = {
    "rounded": lambda X, y: to_scorecard(TANClassifier(ess=1.0).fit(X, y)),
    "smooth": lambda X, y: to_scorecard(AdditiveClassifier(NaiveBayesClassifier(ess=1.0), smooth=1.0).fit(X, y)),
    "small": lambda X, y: to_scorecard(
        NaiveBayesClassifier(ess=1.0).fit(X, y), X, y, max_points=2, n_features=2, gap=0.05, reference="good"
    ),
    "missing": lambda X, y: to_scorecard(
        NaiveBayesClassifier(ess=1.0, handle_missing="own_state", class_weight="balanced").fit(X.mask(X == "x"), y)
    ),
}


CARDS["edited"] = lambda X, y: (
    CARDS["rounded"](X, y)
    .change_points("a", {"x": 7, None: -2}, label="good", reason="as <agreed>")
    .change_points("size", {0.0: -11}, label="good", X=X, y=y)
)


@pytest.mark.parametrize("kind", CARDS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_files_lose_nothing(kind, n_classes, tmp_path):
    X, y = table(1, n_classes)
    card = CARDS[kind](X, y)
    save_scorecard(card, tmp_path / "card.json")
    again = load_scorecard(tmp_path / "card.json")
    rows = X.astype({"a": object}).mask(np.random.default_rng(0).random(X.shape) < 0.2)
    np.testing.assert_array_equal(again.score(rows), card.score(rows))
    np.testing.assert_array_equal(again.predict_proba(rows), card.predict_proba(rows))
    assert again.certificate == card.certificate
    assert [edit.record() for edit in again.edits] == [edit.record() for edit in card.edits]
    assert len(card.edits) == (2 if kind == "edited" else 0)
    assert ("edits" in json.loads((tmp_path / "card.json").read_text())) == (kind == "edited")
    assert again.to_html() == card.to_html()
    assert again.to_sql() == card.to_sql()
    label = card.scored[0]
    pd.testing.assert_frame_equal(again.reasons(rows, label=label), card.reasons(rows, label=label))


CHANGES = {
    "intercept": (lambda found: found["intercept"].append(1), "intercept: a list of length 1"),
    "points": (lambda found: found["tables"][0]["points"].pop(), "tables: a list of length"),
    "features": (lambda found: found["tables"][0].update(features=[]), "tables: a table of points has one feature"),
    "weight": (lambda found: found["tables"][0].update(weight=[1.0]), "tables: there must be a weight"),
    "reference": (lambda found: found.update(reference=2), "reference: a whole number from 0 to 1"),
    "scale": (lambda found: found.update(scale=0), "scale: a finite number above 0"),
    "edits": (lambda found: found.update(edits={}), "edits: a list was expected"),
    "edited": (
        lambda found: found["edits"][0].update(features=[0, 1, 2]),
        "edits: no table of points has the features",
    ),
    "words": (lambda found: found["edits"][0].update(text=None), "edits: text was expected"),
    "cost": (lambda found: found["edits"][1]["cost"].pop("after"), "edits: 'after' is missing"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_damage_is_named(change, tmp_path):
    path = tmp_path / "card.json"
    save_scorecard(CARDS["edited"](*table(2)), path)
    found = json.loads(path.read_text())
    CHANGES[change][0](found)
    path.write_text(json.dumps({**found, "sha256": digest(found)}))
    with pytest.raises(ValueError, match=CHANGES[change][1]):
        load_scorecard(path)


def test_other_files_and_values_are_refused(tmp_path):
    X, y = table(2)
    model = NaiveBayesClassifier(ess=1.0).fit(X, y)
    model.save(tmp_path / "model.json")
    save_scorecard(to_scorecard(model), tmp_path / "card.json")
    with pytest.raises(ValueError, match="contains a classifier, not a scorecard: read it with"):
        load_scorecard(tmp_path / "model.json")
    with pytest.raises(ValueError, match="contains a scorecard, not a classifier: read it with"):
        load(tmp_path / "card.json")
    with pytest.raises(TypeError, match="save_scorecard writes scorecards"):
        save_scorecard(model, tmp_path / "other.json")
