"""Edits by hand: terms change as said, everything else follows, costs follow the formula, files keep the log."""

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import anbexact
from anbexact import AdditiveClassifier, NaiveBayesClassifier, RefittedClassifier, TANClassifier
from anbexact.adapters import to_logit, to_python
from anbexact.classifiers import FixedStructureClassifier, KDBClassifier
from anbexact.models.logit.edits import cost_of, without_interaction
from anbexact.models.logit.model import LogitModel
from anbexact.models.smooth.pairs import joined_network
from anbexact.report import report

NETWORK = NaiveBayesClassifier(ess=1.0, n_jobs=1)
WITHOUT_ARCS = {
    "network": NETWORK,
    "refit": RefittedClassifier(NETWORK, l2=1.0),
    "smooth": AdditiveClassifier(NETWORK, intervals=5, smooth=1.0),
}
MODELS = {
    "smooth": AdditiveClassifier(TANClassifier(ess=1.0, n_jobs=1), intervals=5, smooth=1.0),
    "refit": RefittedClassifier(TANClassifier(ess=1.0, n_jobs=1), l2=1.0),
}


def rows(seed=0, n=240, n_classes=2):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    a = (y + rng.integers(0, 3, n)) % 4
    X = pd.DataFrame({"a": a, "b": (a * (y + 1) + rng.integers(0, 2, n)) % 3, "dose": rng.normal(y, 1.0).round(2)})
    return X, pd.Series(np.array(["no", "yes", "maybe"])[y], name="class")


def fitted(name, **options):
    X, y = rows(**options)
    return MODELS[name].fit(X, y), X, y


def log_odds(model, X):
    logs = model.predict_log_proba(X)
    return logs[:, 1] - logs[:, 0]


@pytest.mark.parametrize("name", MODELS)
def test_a_state_moves_by_what_is_said(name):
    classifier, X, y = fitted(name)
    edited = classifier.logit_.change_shape("a", {2: -0.7, 0: 0.25}, reason="few rows")
    moved = log_odds(edited, X) - log_odds(classifier.logit_, X)
    assert moved == pytest.approx(np.select([X["a"] == 2, X["a"] == 0], [-0.7, 0.25], 0.0), abs=1e-9)
    (edit,) = edited.edits
    assert edit.text == "a = 2: -0.7 nats; a = 0: +0.25 nats for yes"
    assert classifier.logit_.edits == ()
    # the costs, from the formula
    before, after = (
        -m.predict_log_proba(X)[np.arange(len(X)), (y == "yes").astype(int)] for m in (classifier, edited)
    )
    apart = after - before
    assert edit.cost.before == pytest.approx(before.mean())
    assert edit.cost.after_error == pytest.approx(after.std() / np.sqrt(len(X)))
    assert edit.cost.difference == pytest.approx(apart.mean())
    assert edit.cost.difference_error == pytest.approx(apart.std() / np.sqrt(len(X)))
    assert edit.cost.training
    assert edit.cost.weight == len(X)


def test_a_number_stands_for_its_interval_and_other_rows_measure_the_cost():
    classifier, X, _ = fitted("smooth")
    others, labels = rows(seed=9, n=50)
    weights = np.random.default_rng(1).random(50)
    cuts = classifier.cut_points_["dose"]
    edited = classifier.logit_.change_shape("dose", {99.0: 0.5}, X=others, y=labels, sample_weight=weights)
    moved = log_odds(edited, X) - log_odds(classifier.logit_, X)
    assert moved == pytest.approx(np.where(X["dose"] > cuts[-1], 0.5, 0.0), abs=1e-9)
    chosen = np.arange(50), (labels == "yes").astype(int)
    apart = (classifier.predict_log_proba(others) - edited.predict_log_proba(others))[chosen]
    cost = edited.edits[0].cost
    mean = np.average(apart, weights=weights)
    assert cost.difference == pytest.approx(mean)
    error = np.sqrt(np.sum(weights**2 * (apart - mean) ** 2)) / weights.sum()
    assert cost.difference_error == pytest.approx(error)
    assert not cost.training


def test_three_classes_need_a_label():
    classifier, X, _ = fitted("refit", n_classes=3)
    with pytest.raises(ValueError, match=r"label must be one of the classes \['maybe', 'no', 'yes'\], not None"):
        classifier.logit_.change_shape("a", {0: 1.0})
    edited = classifier.logit_.change_shape("a", {0: 1.0}, label="no")
    moved = edited.predict_log_proba(X) - classifier.predict_log_proba(X)
    assert moved[:, 1] - moved[:, 0] == pytest.approx(np.where(X["a"] == 0, 1.0, 0.0), abs=1e-9)
    assert moved[:, 2] - moved[:, 0] == pytest.approx(np.zeros(len(X)), abs=1e-9)


def test_shapes_follow():
    model = fitted("smooth")[0].logit_
    old = {shape.name: shape for shape in model.shapes()}
    new = {shape.name: shape for shape in model.change_shape("a", {3: 0.6}).shapes()}
    weight = old["a"].weight / old["a"].weight.sum()
    change = np.where(np.arange(4) == 3, 0.6, 0.0)
    assert new["a"].log_odds - old["a"].log_odds == pytest.approx(change - weight @ change)
    assert new["dose"].log_odds == pytest.approx(old["dose"].log_odds)
    assert new["a"].standard_error == pytest.approx(old["a"].standard_error)
    parent, child = model.structure.feature_edges[0]
    gone = {frozenset(shape.features): shape for shape in model.remove_arc(parent, child).shapes()}
    assert np.abs(gone[frozenset((parent, child))].log_odds).max() < 1e-6


@pytest.mark.parametrize("name", MODELS)
def test_an_arc_is_removed(name):
    """The log odds become a sum over the two features, the nearest one by weighted least squares."""
    classifier, X, _ = fitted(name)
    model = classifier.logit_
    parent, child = model.structure.feature_edges[0]
    edited = model.remove_arc(parent, child, reason="not plausible")
    assert (parent, child) not in edited.structure.feature_edges
    assert len(edited.structure.feature_edges) == len(model.structure.feature_edges) - 1
    held = next(of for of in edited.potentials if of.child == child)
    assert parent not in held.features
    assert edited.edits[0].text == f"arc from {parent} to {child} removed"
    network = edited.to_classifier()
    assert np.abs(network.predict_proba(X) - edited.predict_proba(X)).max() < 1e-9
    with pytest.raises(ValueError, match="there is no arc from"):
        edited.remove_arc(parent, child)


def test_projection_is_least_squares():
    """Against the normal equations, one state of the third feature and one class at a time."""
    rng = np.random.default_rng(4)
    logs, weights = rng.normal(size=(3, 4, 2, 2)), rng.integers(1, 9, (3, 4, 2)).astype(float)
    found = without_interaction(logs, weights)
    for z in range(2):
        for c in range(2):
            f, w, rest = logs[:, :, z, c], weights[:, :, z], logs[:, :, z, c] - found[:, :, z, c]
            # no function of one feature is left in the residual, and what was found has no interaction
            assert (w * rest).sum(axis=0) == pytest.approx(np.zeros(4), abs=1e-6)
            assert (w * rest).sum(axis=1) == pytest.approx(np.zeros(3), abs=1e-6)
            own = found[:, :, z, c]
            assert own - own[:1] - own[:, :1] + own[0, 0] == pytest.approx(np.zeros_like(f), abs=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_everything_follows(name, tmp_path):
    """Predictions with missing cells, explanations, exports, files, copies and reports are those after the edits."""
    classifier, X, y = fitted(name)
    parent, child = classifier.logit_.structure.feature_edges[0]
    model = classifier.logit_.change_shape("a", {1: 0.4}, reason="because").remove_arc(parent, child)
    edited = classifier.with_logit(model)
    assert (edited.predict_proba(X) == model.predict_proba(X)).all()
    hidden = X.mask(np.random.default_rng(0).random(X.shape) < 0.3)
    assert np.abs(model.to_classifier().predict_proba(hidden) - edited.predict_proba(hidden)).max() < 1e-9
    values = edited.explain_local(X, label="yes", against="no", background=X)
    assert values.base + values.values.sum(axis=1) == pytest.approx(log_odds(model, X))
    to_python(edited, tmp_path / "scorer.py")
    scope = {"__name__": "scorer"}
    exec((tmp_path / "scorer.py").read_text(encoding="utf-8"), scope)
    edited.save(tmp_path / "edited.json")
    assert json.loads((tmp_path / "edited.json").read_text())["format_version"] == 2
    back = anbexact.load(tmp_path / "edited.json")
    assert (back.predict_proba(hidden) == edited.predict_proba(hidden)).all()
    assert list(map(str, back.logit_.edits)) == list(map(str, model.edits))
    assert back.structure_.feature_edges == edited.structure_.feature_edges
    document = report(back, X, y, folds=None).to_dict()
    assert [edit["reason"] for edit in document["edits"]["edits"]] == ["because", ""]
    assert document["edits"]["edits"][0]["difference"] == model.edits[0].cost.difference
    assert "edited by hand: a = 1: +0.4 nats for yes" in repr(model)


def test_a_network_that_was_not_refitted():
    """It has no rows, so the cost is unknown unless rows are passed."""
    X, y = rows()
    model = to_logit(TANClassifier(ess=1.0, n_jobs=1).fit(X, y))
    (edit,) = model.change_shape("a", {0: 1.0}).edits
    assert edit.cost is None
    assert str(edit).endswith("cost not measured")
    assert model.change_shape("a", {0: 1.0}, X=X, y=y).edits[0].cost.weight == len(X)
    X = X[["a", "b"]]
    pair = to_logit(TANClassifier(ess=1.0, n_jobs=1).fit(X, y))
    moved = log_odds(pair.change_shape(["a", "b"], {(0, 1): 0.5}), X) - log_odds(pair, X)
    assert moved == pytest.approx(np.where((X["a"] == 0) & (X["b"] == 1), 0.5, 0.0))
    with pytest.raises(ValueError, match=r"a state of \('a', 'b'\) has 2 parts, not \(0, 1, 2\)"):
        pair.change_shape(["a", "b"], {(0, 1, 2): 1.0})


def test_cost_counts_training_rows():
    """A training row of weight 3 is three rows."""
    before, after = np.log([0.5, 0.25]), np.log([0.4, 0.5])
    cost = cost_of(before, after, np.array([3.0, 1.0]), training=True)
    repeated = cost_of(np.repeat(before, [3, 1]), np.repeat(after, [3, 1]), np.ones(4), training=False)
    for name in ("before", "after_error", "difference", "difference_error"):
        assert getattr(cost, name) == pytest.approx(getattr(repeated, name))


REFUSED = [
    (lambda m: m.change_shape("a", {9: 1.0}), r"9 is not a state of 'a'; the states are \[0, 1, 2, 3\]"),
    (lambda m: m.change_shape("z", {0: 1.0}), "the class does not depend on 'z'"),
    (lambda m: m.change_shape("a", {0: np.inf}), "must be a finite number of nats"),
    (lambda m: m.remove_arc("b", "b"), "there is no arc from 'b' to 'b'"),
    (lambda m: m.change_shape(["a", "b", "dose"], {(0, 0, 0.0): 1.0}), "no term has 'a' and 'b' and 'dose' together"),
]


@pytest.mark.parametrize(("change", "text"), REFUSED)
def test_refusals(change, text):
    classifier, _, _ = fitted("refit")
    with pytest.raises(ValueError, match=text):
        change(classifier.logit_)


def test_arcs_whose_removal_needs_others():
    X, y = rows(n=400)
    X["d"] = (X["a"] + X["b"]) % 2
    model = RefittedClassifier(KDBClassifier(k=2, ess=1.0, n_jobs=1), l2=1.0).fit(X, y)
    child = next(name for name in X if len(model.structure_.parents[name]) == 3)
    parent = next(name for name in model.structure_.parents[child] if name != "class")
    edited = model.logit_.remove_arc(parent, child)
    assert parent not in edited.structure.parents[child]
    with pytest.raises(ValueError, match="the model must be an edited logit_ of this classifier"):
        model.with_logit(to_logit(NaiveBayesClassifier().fit(X, y)))


def learned_with(name, model, X, y, arc, smooth):
    """Return what the same rules, with given strengths of smoothing, learn from the network with an arc."""
    if name == "network":
        parents = {"class": (), **{child: ("class", *(a for a, b in [arc] if b == child)) for child in X}}
        return FixedStructureClassifier(parents, ess=1.0, n_jobs=1).fit(X, y)
    joined = LogitModel(joined_network(model.network, (arc,)), model.origin, model.potentials)
    return joined.refit(X, y, **({"l2": 1.0} if name == "refit" else {"smooth": smooth}))


@pytest.mark.parametrize("name", WITHOUT_ARCS)
def test_an_arc_is_added(name, tmp_path):
    """The model is what the rules learn with the arc, with the earlier changes; everything else follows."""
    X, y = rows(n_classes=3)
    classifier = WITHOUT_ARCS[name].fit(X, y)
    model = to_logit(classifier)
    own = {"X": X, "y": y} if name == "network" else {}
    shaped = model.change_shape("a", {1: 0.4}, label="no")
    edited = shaped.add_arc("a", "b", reason="because", **own)
    smooth = edited.refitted.smoothness.strengths if name == "smooth" else None
    expected = learned_with(name, model, X, y, ("a", "b"), smooth).predict_log_proba(X)
    moved = edited.predict_log_proba(X) - expected
    assert moved[:, 1] - moved[:, 0] == pytest.approx(np.where(X["a"] == 1, 0.4, 0.0), abs=1e-6)
    assert moved[:, 2] - moved[:, 0] == pytest.approx(np.zeros(len(X)), abs=1e-6)
    assert edited.structure.feature_edges == (("a", "b"),)
    (_, edit) = edited.edits
    assert edit.text == "arc from a to b added"
    chosen = np.arange(len(X)), np.searchsorted(model.classes_, y)
    apart = (shaped.predict_log_proba(X) - edited.predict_log_proba(X))[chosen]
    assert edit.cost.difference == pytest.approx(apart.mean())
    assert edit.cost.difference_error == pytest.approx(apart.std() / np.sqrt(len(X)))
    assert edit.cost.training
    changed = classifier.with_logit(edited)
    changed.save(tmp_path / "edited.json")
    back = anbexact.load(tmp_path / "edited.json")
    hidden = X.mask(np.random.default_rng(0).random(X.shape) < 0.3)
    assert (back.predict_proba(hidden) == changed.predict_proba(hidden)).all()
    assert np.abs(edited.to_classifier().predict_proba(hidden) - back.predict_proba(hidden)).max() < 1e-9
    assert list(map(str, back.logit_.edits)) == list(map(str, edited.edits))
    assert back.structure_.feature_edges == (("a", "b"),)
    values = back.explain_local(X, label="yes", against="no", background=X)
    logs = edited.predict_log_proba(X)
    assert values.base + values.values.sum(axis=1) == pytest.approx(logs[:, 2] - logs[:, 1])
    assert report(back, X, y, folds=None).to_dict()["edits"]["edits"][1]["reason"] == "because"
    # and removed again, by an edit that stays when one more arc is added
    own = {"X": X, "y": y} if name == "network" else {}
    twice = edited.remove_arc("a", "b").add_arc("a", "dose", **own)
    assert twice.structure.feature_edges == (("a", "dose"),)
    assert [of.kind for of in twice.edits] == ["shape", "added arc", "arc", "added arc"]
    if name == "smooth":
        assert {shape.name for shape in edited.shapes("yes")} == {"a", "b", "dose", "a & b"}


def test_the_first_interaction_of_a_smooth_model_is_as_smooth_as_residuals_ask():
    """With an exclusive or of two features, little; with nothing of the kind, as much as can be."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame({name: rng.normal(size=400) for name in "abc"})
    y = (X["a"] * X["b"] > 0) ^ (rng.random(400) < 0.1)
    smooth = {"slope": 1.0}
    model = AdditiveClassifier(NETWORK, intervals=4, smooth=smooth).fit(X, y.map({True: "yes", False: "no"})).logit_
    strong, weak = (model.add_arc(parent, "b").refitted.smoothness.strengths for parent in "ac")
    assert strong["slope"] == weak["slope"] == 1.0
    assert strong["interaction"] == pytest.approx({"a": strong["interaction"]["a"], "b": strong["interaction"]["a"]})
    assert 100 * strong["interaction"]["b"] <= weak["interaction"]["b"]
    again = model.add_arc("a", "b").add_arc("b", "c")
    assert again.refitted.smoothness.strengths["interaction"]["b"] == strong["interaction"]["b"]


def test_a_network_is_saved_with_its_edits(tmp_path):
    X, y = rows()
    classifier = TANClassifier(ess=1.0, n_jobs=1).fit(X, y)
    parent, child = classifier.structure_.feature_edges[0]
    model = classifier.to_logit().change_shape("a", {1: 0.4}, X=X, y=y).remove_arc(parent, child)
    changed = classifier.with_logit(model)
    changed.save(tmp_path / "edited.json")
    back = anbexact.load(tmp_path / "edited.json")
    hidden = X.mask(np.random.default_rng(0).random(X.shape) < 0.3)
    assert (back.predict_proba(hidden) == changed.predict_proba(hidden)).all()
    assert (back.predict_proba(X) == model.predict_proba(X)).all()
    assert list(map(str, back.logit_.edits)) == list(map(str, model.edits))
    again = back.fit(X, y)
    assert again.predict_proba(X) == pytest.approx(classifier.predict_proba(X))
    assert again.logit_.edits == ()
    with pytest.raises(ValueError, match="soft targets are for a refit"):
        back.fit(X, y, soft=classifier.predict_proba(X))
    with pytest.raises(ValueError, match="the model must be an edited to_logit"):
        classifier.with_logit(model.refit(X, y, l2=1.0))
    with pytest.raises(ValueError, match="the model must be an edited to_logit"):
        classifier.with_logit(NETWORK.fit(X, y).to_logit())


ARCS_REFUSED = [
    ("network", ("a", "b"), {}, "pass X and y, the rows from which the network was learned"),
    ("network", ("a", "b"), {"X": rows(n=50)[0], "y": rows(n=50)[1]}, "X and y are not the rows from which the net"),
    ("refit", ("a", "z"), {}, r"an arc is added between two features, which 'z' is not; the features are \['a', 'b'"),
    ("refit", ("a", "a"), {}, "an arc joins two features, not 'a' with itself"),
    ("chain", ("a", "b"), {}, "there is an arc from 'a' to 'b' already"),
    ("chain", ("b", "a"), {}, "there is an arc from 'a' to 'b' already"),
    ("chain", ("dose", "a"), {}, "would close a directed cycle; the arc from 'a' to 'dose' would not"),
    ("root", ("b", "a"), {}, r"'a' is not a child of the class; its children among the features are \['b', 'dose'\]"),
    ("root", ("a", "b"), {}, "the class does not depend on 'a', so that the rows of the refit do not have it"),
]


@pytest.mark.parametrize(("name", "arc", "own", "text"), ARCS_REFUSED)
def test_arcs_that_cannot_be_added(name, arc, own, text):
    others = {
        "chain": {"class": (), "a": ("class",), "b": ("class", "a"), "dose": ("class", "b")},
        "root": {"class": (), "a": (), "b": ("class",), "dose": ("class",)},
    }
    X, y = rows()
    model = WITHOUT_ARCS.get(name)
    if model is None:
        model = RefittedClassifier(FixedStructureClassifier(others[name], n_jobs=1), l2=1.0)
    with pytest.raises(ValueError, match=text):
        to_logit(model.fit(X, y)).add_arc(*arc, **own)


def test_arcs_are_added_before_other_changes_of_the_network():
    model, _, _ = fitted("refit")
    parent, child = model.structure_.feature_edges[0]
    with pytest.raises(ValueError, match="was removed by hand: take the model before that edit"):
        model.logit_.remove_arc(parent, child).add_arc(parent, child)
    joined = set(map(frozenset, model.structure_.feature_edges))
    free = next(pair for pair in combinations(("a", "b", "dose"), 2) if frozenset(pair) not in joined)
    with pytest.raises(ValueError, match=r"must be added before close\(\)"):
        model.logit_.close().add_arc(*free)
    given = model.logit_.with_coefficients(model.logit_.to_frame())
    with pytest.raises(ValueError, match=r"must be added before with_coefficients\(\)"):
        given.add_arc(*free)


@pytest.mark.parametrize("name", MODELS)
def test_a_refit_after_the_removal_of_an_arc_has_no_such_arc(name):
    classifier, X, y = fitted(name)
    parent, child = classifier.structure_.feature_edges[0]
    how = {"smooth": 1.0} if name == "smooth" else {"l2": 1.0}
    again = classifier.logit_.remove_arc(parent, child).refit(X, y, **how)
    parents = {"class": (), **{n: tuple(p for p in classifier.structure_.parents[n]) for n in X}}
    parents[child] = tuple(name for name in parents[child] if name != parent)
    fixed = FixedStructureClassifier(parents, ess=1.0, n_jobs=1)
    others = {
        "refit": RefittedClassifier(fixed, l2=1.0),
        "smooth": AdditiveClassifier(fixed, intervals=5, smooth=1.0),
    }
    expected = others[name]
    assert again.predict_proba(X) == pytest.approx(expected.fit(X, y).predict_proba(X), abs=1e-6)
    assert (parent, child) not in again.structure.feature_edges
    assert again.edits == ()
