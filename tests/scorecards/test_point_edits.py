"""Points changed by hand: what changes, what it costs by the formula, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from anbexact import AdditiveClassifier, NaiveBayesClassifier, TANClassifier
from anbexact.adapters import to_scorecard


def table(seed, n_classes=2, n=120):
    """Return rows with a state that no row has, a number that is cut, and pairs that matter."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    b = rng.integers(0, 2, n)
    states = pd.Categorical.from_codes((y * b + rng.integers(0, 2, n)) % 3, ["x", "y", "z", "unseen"])
    X = pd.DataFrame({"a": states, "b": b, "size": (rng.normal(size=n) + 2 * y).round(2)})
    return X, pd.Series(np.array(["bad", "good", "so so"])[y], name="outcome")


def made(classifier=NaiveBayesClassifier, n_classes=2):
    X, y = table(1, n_classes)
    return to_scorecard(classifier(ess=1.0).fit(X, y)), X, y


@pytest.mark.parametrize("n_classes", [2, 3])
def test_points_change_as_said_and_the_cost_follows_the_formula(n_classes):
    card, _, _ = made(n_classes=n_classes)
    X, y = table(7, n_classes, 60)
    X["a"] = X["a"].astype(object).mask(np.random.default_rng(0).random(60) < 0.2)
    weights = np.random.default_rng(1).random(60)
    frame = card.to_frame().set_index(["feature", "state"])
    column = "points" if n_classes == 2 else "points(good)"
    old = {state: int(frame.loc[("a", state), column]) for state in ("x", "missing or unknown")}
    how = {"label": "good", "reason": "agreed", "X": X, "y": y, "sample_weight": weights}
    edited = card.change_points("a", {"x": old["x"] + 40, None: -5}, **how)
    change = np.select([X["a"] == "x", X["a"].isna()], [40, -5 - old["missing or unknown"]], 0)
    apart = (edited.score(X) - card.score(X)).reshape(60, -1)
    assert apart[:, 0].tolist() == change.tolist()
    assert not apart[:, 1:].any()
    (edit,) = edited.edits
    end = "" if n_classes == 2 else " for good"
    assert edit.text == (
        f"a = x: {old['x'] + 40} points instead of {old['x']}; "
        f"a missing or unknown: -5 points instead of {old['missing or unknown']}{end}"
    )
    assert edit.reason == "agreed"
    # the log losses, from the scores
    losses = []
    scores_before = card.score(X).reshape(60, -1)
    for scores in (scores_before, scores_before + np.outer(change, np.eye(n_classes - 1)[0])):
        logs = np.hstack([np.zeros((60, 1)), card.scale * scores + card.offset])  # bad is the reference, the first
        place = np.searchsorted(["bad", "good", "so so"], y)
        losses.append(np.log(np.exp(logs).sum(axis=1)) - logs[np.arange(60), place])
    before, after = losses
    total, difference = weights.sum(), weights @ (after - before) / weights.sum()
    assert edit.cost.before == pytest.approx(weights @ before / total)
    assert edit.cost.after == pytest.approx(weights @ after / total)
    assert edit.cost.difference == pytest.approx(difference)
    error = np.sqrt(weights**2 @ (after - before - difference) ** 2) / total
    assert edit.cost.difference_error == pytest.approx(error)
    assert not edit.cost.training
    assert card.edits == ()
    assert "1 change by hand" in repr(edited)


def test_a_number_and_a_name_stand_for_a_row_and_a_state_leaves_it():
    X, y = table(3, n=400)
    model = AdditiveClassifier(NaiveBayesClassifier(ess=1.0), intervals=8, smooth=10.0).fit(X, y)
    card = to_scorecard(model, points_to_double_odds=1)  # neighbouring intervals have the same points
    own = next(table for table in card.tables if table.features == ("size",))
    row = max(card.rows(own), key=lambda row: len(row.cells[0]))
    (label,), (states,), (old,) = row.labels, row.cells, row.points
    assert len(states) > 1
    cuts = card.reader.cut_points["size"]
    within = float(cuts[states[0]])  # the last number of the first interval of the row
    for key in (label, within):
        edited = card.change_points("size", {key: 99}, reason="row")
        (changed,) = (t for t in edited.tables if t.features == ("size",))
        moved = np.flatnonzero((changed.points != own.points).any(axis=1))
        assert moved.tolist() == list(states)
        assert edited.edits[0].text == f"size {label}: 99 points instead of {old}"
        assert edited.edits[0].cost is None
    edited = card.change_points("size", {card.reader.vocabulary.states["size"][states[0]]: 99})
    (changed,) = (t for t in edited.tables if t.features == ("size",))
    assert np.flatnonzero((changed.points != own.points).any(axis=1)).tolist() == [states[0]]
    assert len(edited.rows(changed)) == len(card.rows(own)) + 1


def test_tables_of_several_features_and_reasons():
    card, X, _ = made(TANClassifier)
    pair = next(own.features for own in card.tables if len(own.features) == 2 and "size" not in own.features)
    assert pair == ("b", "a")
    edited = card.change_points(["a", "b"], {("x", 1): -500, ("z", None): 3})
    chosen = (X["a"] == "x") & (X["b"] == 1)
    moved = edited.score(X) - card.score(X)
    assert (moved != 0).tolist() == chosen.tolist()
    assert edited.edits[0].text.startswith("a = x, b = 1: -500 points instead of ")
    assert "; a = z, b missing or unknown: 3 points instead of " in edited.edits[0].text
    assert edited.edits[0].features == pair
    reasons = edited.reasons(X[chosen], most=1)
    assert (reasons["feature"] == "b & a").all()
    assert (reasons["points"] == -500).all()


def test_missing_cells_that_are_a_state():
    X, y = table(1)
    X = X.astype({"a": object}).mask(np.random.default_rng(0).random(X.shape) < 0.2)
    card = to_scorecard(NaiveBayesClassifier(ess=1.0, handle_missing="own_state").fit(X, y))
    edited = card.change_points("a", {np.nan: 77}).change_points("a", {"missing or unknown": -77})
    odd = X.assign(a="odd")
    codes = {own.features: own for own in edited.tables}[("a",)].points[:, 0]
    assert codes[-2:].tolist() == [77, -77]
    missing = X["a"].isna()
    before = {own.features: own for own in card.tables}[("a",)].points[:, 0]
    assert (edited.score(X) - card.score(X)).tolist() == np.where(missing, 77 - before[-2], 0).tolist()
    assert (edited.score(odd) - card.score(odd) == -77 - before[-1]).all()


def test_proofs_do_not_outlive_points():
    X, y = table(1)
    card = to_scorecard(NaiveBayesClassifier(ess=1.0).fit(X, y), X, y, max_points=2, n_features=1, gap=0.1)
    assert card.certificate is not None
    (name,) = card.features
    old = int(card.tables[0].points[-1, 0])
    assert card.change_points(name, {None: old}).certificate == card.certificate
    edited = card.change_points(name, {None: old + 1}).change_points(name, {None: old}, X=X, y=y)
    assert edited.certificate is None
    assert [edit.cost is None for edit in edited.edits] == [True, False]
    assert (edited.score(X) == card.score(X)).all()


CARD, X2, Y2 = made(n_classes=3)
REFUSED = [
    ({"features": "none"}, r"no table of points of 'none'; its tables are those of 'a', "),
    ({"features": ["a", "b"]}, "no table of points of 'a' and 'b'"),
    ({"changes": {"w": 1}}, r"'w' is not a state of 'a'; the states are \['x', 'y', 'z'"),
    ({"changes": {"x": 1.5}}, "the points of 'x' must be a whole number from -9007199254740992 to .*, not 1.5"),
    ({"changes": {"x": True}}, "must be a whole number"),
    ({"changes": {"x": 2**60}}, "must be a whole number"),
    ({"changes": {}}, "changes is empty"),
    (
        {"changes": {None: 1, "missing or unknown": 2}},
        "'missing or unknown' and another state in changes have a cell",
    ),
    ({"label": None}, "label must be a class with a score, one of"),
    ({"label": "bad"}, "label must be a class with a score, one of"),
    ({"X": X2}, "pass y, too"),
    ({"y": Y2}, "pass X, too"),
    ({"X": X2, "y": Y2.replace("bad", "worse")}, "y contains 'worse', which is not a class"),
]


@pytest.mark.parametrize(("given", "message"), REFUSED)
def test_refusals(given, message):
    with pytest.raises(ValueError, match=message):
        CARD.change_points(**{"features": "a", "changes": {"x": 1}, "label": "good"} | given)


def test_tuples_have_a_part_for_every_feature():
    card, _, _ = made(TANClassifier)
    with pytest.raises(ValueError, match=r"a state of \('a', 'b'\) has 2 parts, not 'x'"):
        card.change_points(["a", "b"], {"x": 1})
