"""The nearest change against the enumeration of all rows."""

import explanation_oracles as oracles
import numpy as np
import pandas as pd
import pytest
from explained import MODELS, Case

from anbexact import NaiveBayesClassifier


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("keep", [(), ("f1",), ("f0", "f2")])
@pytest.mark.parametrize("seed", [3, 9])
def test_fewest_changes(model, keep, seed):
    case = Case(model, seed=seed)
    frame = case.classifier.nearest_change(case.X, keep=keep)
    predicted = case.classifier.predict(case.X)
    changeable = set(case.arities) - set(keep)
    for t in range(0, 60, 7):
        row = case.row(t)
        fewest, lead = oracles.fewest_changes(case.tables, "c", row, case.arities, case.n_classes, changeable)
        assert frame["exists"][t] == (fewest is not None)
        assert frame["decision"][t] == predicted[t]
        if fewest is None:
            assert frame["changes"][t] == {}
            assert np.isnan(frame["probability"][t])
            continue
        changes = frame["changes"][t]
        assert frame["size"][t] == fewest == len(changes)
        assert set(changes) <= changeable
        assert all(row[name] != state for name, state in changes.items())
        changed = {**row, **changes}
        logs = [oracles.log_joint(case.tables, "c", changed, c) for c in range(case.n_classes)]
        after = int(np.argmax(logs))
        assert max(logs) - logs[predicted[t]] == pytest.approx(lead, abs=1e-9)
        assert frame["becomes"][t] == after != predicted[t]
        expected = oracles.posterior(case.tables, "c", changed, case.arities, case.n_classes)[after]
        assert frame["probability"][t] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("keep", [(), ("f1", "f3")])
@pytest.mark.parametrize("seed", [2, 5])
def test_fewest_changes_to_a_class(model, keep, seed):
    case = Case(model, seed=seed)
    changeable = set(case.arities) - set(keep)
    for target in range(case.n_classes):
        frame = case.classifier.nearest_change(case.X.iloc[::12], keep=keep, target=target)
        assert frame["smallest"].all()
        for place, t in enumerate(range(0, 60, 12)):
            row = case.row(t)
            fewest = oracles.fewest_changes_to(case.tables, row, case.arities, case.n_classes, changeable, target)
            assert frame["exists"][place] == (fewest is not None)
            if fewest is None:
                assert frame["changes"][place] == {}
                continue
            changes = frame["changes"][place]
            assert frame["size"][place] == fewest == len(changes)
            assert set(changes) <= changeable
            best, lead = oracles.decision(case.tables, "c", {**row, **changes}, case.n_classes)
            assert best == frame["becomes"][place] == target
            assert lead > 1e-9


def test_a_search_that_is_given_up(monkeypatch):
    from anbexact.explanations import nearest

    case = Case("dense", seed=2)
    whole = case.classifier.nearest_change(case.X, target=1)
    monkeypatch.setattr(nearest, "MOST_NODES", 0)
    given_up = case.classifier.nearest_change(case.X, target=1)
    assert not given_up["smallest"].all()
    assert not given_up["exists"][~given_up["smallest"]].any()
    assert whole["smallest"].all()


def test_many_changes():
    """All features are copies of the class, so that most of them must change."""
    X = pd.DataFrame({f"f{j}": ["low", "high"] * 20 for j in range(11)}, index=[f"r{t}" for t in range(40)])
    classifier = NaiveBayesClassifier(ess=1.0).fit(X, ["a", "b"] * 20)
    frame = classifier.nearest_change(X.head(2))
    assert frame["row"].tolist() == ["r0", "r1"]
    assert frame["size"].tolist() == [6, 6]
    assert frame["becomes"].tolist() == ["b", "a"]
    assert frame["text"][0].startswith("f0: low → high, ") or "low → high" in frame["text"][0]
    none = classifier.nearest_change(X.head(2), keep=X.columns[:6])
    assert not none["exists"].any()
    assert none["becomes"].isna().all()
    assert (none["size"] == 0).all()


def test_refusals():
    case = Case("naive")
    with pytest.raises(ValueError, match=r"the cell of 'f\d' in row \d+ is missing or unknown"):
        case.classifier.nearest_change(case.holed())
    with pytest.raises(ValueError, match="keep names 'f9'"):
        case.classifier.nearest_change(case.X, keep=["f9"])
    with pytest.raises(ValueError, match="target='no' is not a class"):
        case.classifier.nearest_change(case.X, target="no")


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_predicted_class_among_tied_ones_needs_no_change(n_classes):
    """There was a change of its own to a class that is predicted already, because others are as probable."""
    X, y = pd.DataFrame({"a": [0, 1] * n_classes}), np.repeat(np.arange(n_classes), 2)
    model = NaiveBayesClassifier(ess=1.0).fit(X, y)
    found = model.nearest_change(X, target=0)
    assert model.predict(X).tolist() == found["decision"].tolist() == [0] * len(X)
    assert found["exists"].all()
    assert found["smallest"].all()
    assert found["size"].tolist() == [0] * len(X)
    assert found["becomes"].tolist() == [0] * len(X)
    np.testing.assert_allclose(found["probability"], 1 / n_classes)
    assert not model.nearest_change(X, target=1)["exists"].any()


def test_no_change_leads_from_a_class_to_itself():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (40, 3)), columns=list("abc"))
    X = pd.concat([X, X], ignore_index=True)
    y = np.repeat([0, 1], 40)
    y = np.where(X["c"] == 1, 2, y)
    model = NaiveBayesClassifier(ess=1.0).fit(X, y)
    logs = np.sort(model.predict_proba(X), axis=1)
    assert (logs[:, -1] == logs[:, -2]).any()
    for target in range(3):
        found = model.nearest_change(X, target=target)
        same = found["decision"] == target
        assert same.any() or target == 1
        assert (found["size"][same] == 0).all()
        assert (found["size"][~same & found["exists"]] > 0).all()
        assert (found["becomes"][found["exists"]] == target).all()
