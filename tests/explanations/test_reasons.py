"""Sufficient reasons: every one is verified by enumeration of the features that it leaves free."""

import itertools

import explanation_oracles as oracles
import numpy as np
import pandas as pd
import pytest
from explained import MODELS, Case

from anbexact import NaiveBayesClassifier
from anbexact.classifiers import FixedStructureClassifier

ROWS = range(0, 60, 6)


def suffices(case, row, fixed, decided):
    return oracles.is_sufficient(case.tables, "c", row, fixed, case.arities, decided, case.n_classes)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("size", ["minimal", "smallest"])
@pytest.mark.parametrize("seed", [1, 8])
def test_reasons_suffice_and_cannot_be_smaller(model, size, seed):
    case = Case(model, seed=seed)
    found = case.classifier.sufficient_reasons(case.X, size=size)
    predicted = case.classifier.predict(case.X)
    assert found.exists.all()
    for t in ROWS:
        row, reason = case.row(t), found.features(t)
        assert suffices(case, row, reason, predicted[t])
        for left_out in reason:
            assert not suffices(case, row, [name for name in reason if name != left_out], predicted[t])
        if size == "smallest":
            assert found.proved[t]
            for fewer in itertools.combinations(case.arities, max(len(reason) - 1, 0)):
                assert len(reason) == 0 or not suffices(case, row, fewer, predicted[t])
        partial = {name: row[name] if name in reason else None for name in row}
        leads = [oracles.decision(case.tables, "c", full, case.n_classes)[1]
                 for full in oracles.completions(partial, case.arities)]  # fmt: skip
        assert found.margins[t] == pytest.approx(min(leads), abs=1e-9)


@pytest.mark.parametrize("model", ["naive", "dense", "refitted"])
def test_missing_cells_are_free(model):
    case = Case(model, seed=2)
    X = case.holed(share=0.4)
    found = case.classifier.sufficient_reasons(X)
    predicted = case.classifier.predict(X)
    assert 0 < found.exists.sum() < len(X)
    for t in ROWS:
        row = case.row(t, X)
        observed = [name for name in row if row[name] is not None]
        full = {name: 0 if cell is None else cell for name, cell in row.items()}
        assert found.exists[t] == suffices(case, full, observed, predicted[t])
        if found.exists[t]:
            assert set(found.features(t)) <= set(observed)
            assert suffices(case, full, found.features(t), predicted[t])
        else:
            assert "missing cells can change the decision" in found.text(t)


def test_a_search_that_is_given_up_keeps_the_minimal_reason(monkeypatch):
    from anbexact.explanations import reasons

    case = Case("dense", seed=1)
    X = case.holed(share=0.1)
    whole = case.classifier.sufficient_reasons(X, size="smallest")
    monkeypatch.setattr(reasons, "MOST_NODES", 0)
    given_up = case.classifier.sufficient_reasons(X, size="smallest")
    minimal = case.classifier.sufficient_reasons(X)
    np.testing.assert_array_equal(given_up.fixed, minimal.fixed)
    np.testing.assert_array_equal(given_up.exists, whole.exists)
    assert 0 < whole.exists.sum() < len(X)
    assert whole.frame["smallest"].tolist() == whole.exists.tolist()
    assert not given_up.frame["smallest"].any()
    assert (whole.fixed.sum(axis=1) <= minimal.fixed.sum(axis=1)).all()


def test_frame_and_text():
    X = pd.DataFrame({"size": ["s", "l"] * 30, "noise": ["a", "a", "b", "b"] * 15, "one": ["k"] * 60})
    fruit = pd.Series(["plum", "melon"] * 30, name="fruit")
    found = NaiveBayesClassifier(ess=1.0).fit(X, fruit).sufficient_reasons(X.head(3).set_index([["i", "j", "k"]]))
    frame = found.frame
    assert frame["row"].tolist() == ["i", "j", "k"]
    assert frame["decision"].tolist() == ["plum", "melon", "plum"]
    assert frame["reason"].tolist() == [("size",)] * 3
    assert frame["text"].tolist() == ["size = s", "size = l", "size = s"]
    assert (frame["size"] == 1).all()
    assert frame["exists"].all()
    assert (frame["margin"] > 1).all()
    assert str(found).splitlines()[0] == "plum whatever the other features are, because size = s."


def test_a_decision_that_nothing_changes_has_the_empty_reason():
    X = pd.DataFrame({"a": [0, 1] * 50})
    found = NaiveBayesClassifier(ess=1.0).fit(X, ["x"] * 96 + ["y"] * 4).sufficient_reasons(X.head(1))
    assert found.frame["reason"].tolist() == [()]
    assert found.exists.all()
    assert found.text(0) == "x, whatever the features are."


def test_a_tie_has_no_reason():
    X = pd.DataFrame({"a": [0, 1] * 4, "b": [0, 0, 1, 1] * 2})
    y = pd.Series([0, 1] * 2 + [1, 0] * 2, name="c")
    found = NaiveBayesClassifier(ess=1.0).fit(X, y).sufficient_reasons(X)
    assert not found.exists.any()
    assert "a tie can change the decision" in found.text(0)
    assert np.isnan(found.margins).all()


def test_too_many_arcs_are_refused_with_numbers():
    rng = np.random.default_rng(0)
    names = [f"f{j}" for j in range(9)]
    X = pd.DataFrame(rng.integers(0, 8, (60, 9)), columns=names)
    y = pd.Series(rng.integers(0, 2, 60), name="c")
    parents = {"c": (), **dict.fromkeys(names, ("c",))}
    for a, b in itertools.combinations(range(9), 2):
        if a in (0, 1, b - 1):
            parents[names[b]] += (names[a],)
    ring = {"c": (), **dict.fromkeys(names, ("c",))}
    for j in range(8):
        ring[names[j + 1]] = ("c", names[j])
    assert FixedStructureClassifier(ring).fit(X, y).sufficient_reasons(X.head(2)).exists.shape == (2,)
    from anbexact.explanations import max_sum

    limit, max_sum.MOST_CELLS = max_sum.MOST_CELLS, 10_000
    try:
        with pytest.raises(ValueError, match=r"needs tables of [\d,]+ numbers, the largest over \d features"):
            FixedStructureClassifier(parents).fit(X, y).sufficient_reasons(X.head(2))
    finally:
        max_sum.MOST_CELLS = limit
    with pytest.raises(ValueError, match="size must be one of"):
        FixedStructureClassifier(ring).fit(X, y).sufficient_reasons(X.head(2), size="small")
