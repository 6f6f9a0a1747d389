"""How sure arcs and probabilities are: the table, the section of the report, the pictures, and explanations."""

import numpy as np
import pytest

from anbexact import (
    ANBClassifier,
    BDeu,
    FANClassifier,
    GBNClassifier,
    NaiveBayesClassifier,
    RefittedClassifier,
    TANClassifier,
    near_optimal,
    relearned_leave_one_out,
    structure_posterior,
)
from anbexact.classifiers import AODEClassifier, AveragedANBClassifier
from anbexact.datasets import load_monks
from anbexact.report import report, stability_report
from anbexact.show.svg.probable_arcs import probability_diagram


@pytest.fixture(scope="module")
def rows():
    X, y = load_monks(1)
    return X[::3], y[::3]


def test_the_table(rows):
    X, y = rows
    network = ANBClassifier(ess=1.0, max_parents=1).fit(X, y)
    found = stability_report(network, X, y)
    table = network.reader_.table(X, y)
    arcs = structure_posterior(table, BDeu(1.0)).arcs.set_index(["parent", "child"])
    left_out = relearned_leave_one_out(table, ess=1.0).arcs
    edges = network.structure_.feature_edges
    assert {(row.first, row.second) for row in found.itertuples() if row.in_network} == set(edges)
    for row in found.itertuples():
        of = arcs.loc[(row.first, row.second)]
        assert row.joined == pytest.approx(of["adjacent"])
        assert row.direction == pytest.approx(of["probability"] / of["adjacent"])
        own = left_out[
            [{a, b} == {row.first, row.second} for a, b in zip(left_out.parent, left_out.child, strict=True)]
        ]
        assert row.support == pytest.approx(own["rows"].sum() / len(X))
    listed = {frozenset((row.first, row.second)) for row in found.itertuples()}
    likely = {frozenset(pair) for pair in arcs.index[arcs["adjacent"] >= 0.05]}
    assert listed == likely | {frozenset(edge) for edge in edges}
    assert found["joined"].is_monotonic_decreasing


@pytest.mark.parametrize("model", [TANClassifier, FANClassifier, GBNClassifier, NaiveBayesClassifier])
def test_other_kinds(model, rows):
    found = stability_report(model(ess=1.0).fit(*rows), *rows)
    assert found["joined"].between(0, 1).all()
    assert found["support"].isna().all() == (model is not NaiveBayesClassifier)


def test_what_has_no_network(rows):
    with pytest.raises(TypeError, match="has no network"):
        stability_report(AODEClassifier().fit(*rows), *rows)


def test_the_section(rows):
    X, y = rows
    network = ANBClassifier(ess=1.0).fit(X, y)
    plain, more = (report(network, X, y, folds=None, stability=asked) for asked in (False, True))
    assert "stability" not in plain.to_dict()
    keys = [[section.key for section in made.document.sections] for made in (plain, more)]
    assert [key for key in keys[1] if key != "stability"] == keys[0]
    section = more.to_dict()["stability"]
    near = near_optimal(network.reader_.table(X, y), BDeu(1.0))
    assert len(near.structures) == 1
    assert "there is 1 structure that" in section["rivals"]
    assert [row["joined"] for row in section["pairs"]] == stability_report(network, X, y)["joined"].tolist()
    for row in section["intervals"]:
        assert row["low"] <= row["probability"] <= row["high"]
        expected = network.predict_proba_interval(X.iloc[[row["row"]]])[0]
        assert [row["low"], row["high"]] in expected.tolist()
    assert "stability=True" in more.to_markdown()
    refitted = RefittedClassifier(NaiveBayesClassifier(ess=1.0), l2=1.0).fit(X, y)
    assert "intervals" not in report(refitted, X, y, folds=None, stability=True).to_dict()["stability"]
    averaged = report(AveragedANBClassifier(ess=1.0).fit(X, y), X, y, folds=None, stability=True)
    assert "stability" not in averaged.to_dict()


def test_explained_probabilities_have_intervals(rows):
    X, y = rows
    network = ANBClassifier(ess=1.0).fit(X, y)
    bare, found = network.explain(X[:4]), network.explain(X[:4], intervals=True)
    assert [str(own) for own in bare] != [str(own) for own in found]
    ends = network.predict_proba_interval(X[:4])
    for k, own in enumerate(found):
        low, high = ends[k, list(network.classes_).index(own.label)]
        assert (own.low, own.high) == (low, high)
        assert f"(95 % interval {low:.4f} to {high:.4f})" in " ".join(str(own).split())
        assert np.isnan(bare[k].low)
    frame = found.to_frame()
    assert list(frame.columns[:6]) == [
        "row",
        "label",
        "against",
        "probability",
        "probability_low",
        "probability_high",
    ]
    assert frame.drop(columns=list(frame.columns[3:6])).equals(bare.to_frame())


def test_a_picture_has_every_pair_once_and_no_cycle():
    arcs = {("a", "b"): 0.5, ("b", "a"): 0.4, ("b", "c"): 0.8, ("c", "a"): 0.7, ("a", "c"): 0.1, ("a", "d"): 0.05}
    drawn = probability_diagram(["a", "b", "c", "d"], "k", arcs)
    named = {(drawn.names[p], drawn.names[c]): width for (p, c), width in drawn.arcs.items()}
    assert {frozenset(pair) for pair in named} == {frozenset("ab"), frozenset("bc"), frozenset("ac")}
    widths = {"".join(sorted(pair)): width for pair, width in named.items()}
    assert widths["ab"] / widths["bc"] == pytest.approx(0.9 / 0.8)
    assert named.keys() == {("a", "b"), ("b", "c"), ("a", "c")}  # c -> a would close a cycle


def test_displays(rows):
    pytest.importorskip("matplotlib")
    from anbexact.plots import ArcProbabilityDisplay

    X, y = rows
    averaged = AveragedANBClassifier(ess=1.0).fit(X, y)
    display = ArcProbabilityDisplay.from_estimator(averaged)
    texts = {text.get_text() for text in display.ax_.texts}
    assert "100%" in texts
    assert set(X.columns) <= texts
    posterior = structure_posterior(averaged.reader_.table(X, y), networks="gbn")
    assert ArcProbabilityDisplay.from_posterior(posterior, least=0.5).figure_ is not None
    with pytest.raises(TypeError, match="not an average of networks"):
        ArcProbabilityDisplay.from_estimator(ANBClassifier(ess=1.0).fit(X, y))
