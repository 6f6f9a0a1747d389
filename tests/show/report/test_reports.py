"""Reports: their sections, figures and warnings; the page escapes what is not its own and needs nothing else."""

import base64
import hashlib
import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from pages import Page

from anbexact import (
    AdditiveClassifier,
    ANBClassifier,
    NaiveBayesClassifier,
    PooledClassifier,
    RefittedClassifier,
    TANClassifier,
)
from anbexact.classifiers import AODEClassifier
from anbexact.compare import compare
from anbexact.compare.curves import NORMAL_95
from anbexact.datasets import load_anes96, load_iris, load_monks
from anbexact.plots import NetworkDisplay
from anbexact.report import arc_report, report
from anbexact.show.report.document import Column, Records
from anbexact.show.report.sections.features import MOST_EXPLAINED, features_section
from anbexact.show.report.sections.limits import warnings_of
from anbexact.show.report.sections.reproduce import fingerprint
from anbexact.show.report.subject import Subject
from anbexact.show.report.validation import HeldOut, validate

SCRIPT, CLASS = "<script>alert(1)</script>", "<img src=x onerror=alert(2)>"


@pytest.fixture(scope="module", name="awkward")
def _awkward():
    """A classifier of 26 classes with names that are markup, or long, or right to left."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 26, 400)
    states = np.array(["</script><b>", "&", '"q"|`x`', "ü∀漢字\u202e"])
    X = pd.DataFrame({SCRIPT: states[y % 4], "n" * 300: np.array(["x" * 400, "<i>", None])[y // 9], "عربي": y % 3})
    labels = pd.Series([f"{chr(65 + k)}<i>" for k in y], name=CLASS)
    return ANBClassifier(ess=1.0, n_jobs=1).fit(X, labels), X, labels


@pytest.fixture(scope="module", name="made")
def _made(awkward):
    classifier, X, y = awkward
    return report(classifier, X, y, folds=2, models=["NB"])


def test_names_are_text_in_the_page(made):
    page = Page(made.to_html().removeprefix("<!doctype html>\n"))
    tags = [tag for tag, _ in page.elements]
    assert tags.count("script") == 6  # the tables, the engine, averages, the draws, the panel, the enlarged network
    assert not {"img", "iframe", "object", "b", "i"} & set(tags)
    assert not [attributes for _, attributes in page.elements if any(key.startswith("on") for key in attributes)]
    text = " ".join(page.text)
    assert SCRIPT in text
    assert CLASS in text
    assert "\u202e" not in text


def test_the_page_needs_nothing_else_and_allows_only_its_own_scripts(made):
    html = made.to_html()
    page = Page(html.removeprefix("<!doctype html>\n"))
    links = [value for _, attributes in page.elements for key, value in attributes.items() if key in ("src", "href")]
    anchors = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    assert links
    assert {link.removeprefix("#") for link in links} <= anchors
    assert set(re.findall(r"https?://[^\s\"'<]+", html)) <= {"http://www.w3.org/2000/svg"}
    policy = next(of["content"] for tag, of in page.elements if of.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert len(scripts) == 5
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_markdown_has_no_markup_of_names(made):
    text = made.to_markdown()
    assert not [line for line in text.splitlines() if "<" in line and not line.startswith("    ")]  # but in code
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    for section in made.document.sections:
        assert f"## {section.title}" in text
    tables = [line for line in text.splitlines() if line.startswith("|")]
    cells = [len(re.findall(r"(?<!\\)\|", line)) for line in tables]
    assert all(count >= 3 for count in cells)


def test_json_has_all_sections(made):
    document = json.loads(json.dumps(made.to_dict(), allow_nan=False))
    assert document["class"] == CLASS
    assert len(document["classes"]) == 26
    expected = {"summary", "data", "network", "performance", "refit", "influence", "cases", "arcs", "limits"}
    assert expected <= set(document)
    assert [of["feature"] for of in document["data"]["features"]] == [SCRIPT, "n" * 300, "عربي"]
    assert sum(of["rows"] for of in document["data"]["classes"]) == 400


def test_files_by_their_extensions(made, tmp_path):
    for name, start in (("a.html", "<!doctype html>"), ("a.md", "# "), ("a.json", "{")):
        made.save(tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)
    with pytest.raises(ValueError, match=r"\.html, \.md, \.json"):
        made.save(tmp_path / "a.pdf")
    frame = Page(made._repr_html_())
    assert frame.elements[0][0] == "iframe"
    assert frame.elements[0][1]["srcdoc"] == made.to_html()


@pytest.mark.slow
def test_the_measures_are_those_of_the_comparison():
    X, y = load_monks(1)
    weights = np.linspace(0.5, 2.0, len(y))
    classifier = TANClassifier(ess=1.0, n_jobs=1).fit(X, y, weights)
    made = report(classifier, X, y, sample_weight=weights, models=["NB"], folds=3, seed=4)
    frame = compare(
        X, y, sample_weight=weights, folds=3, seed=4, models={"TAN": classifier, "NB": NaiveBayesClassifier(n_jobs=1)}
    )
    measures = {of["model"]: of for of in made.to_dict()["performance"]["measures"]}
    for mine, theirs in (("TAN (this model)", "TAN"), ("TAN refitted", "TAN refitted"), ("NB", "NB")):
        for name in ("accuracy", "log_loss", "brier", "calibration_error"):
            assert measures[mine][name] == pytest.approx(frame.loc[theirs, name], rel=1e-4), (mine, name)
    assert "class frequencies" in measures
    rows = made.to_dict()["performance"]["confusion"]["rows_by_true_class"]
    assert sum(map(sum, rows)) == pytest.approx(weights.sum())
    right = rows[0][0] + rows[1][1]
    assert right / weights.sum() == pytest.approx(measures["TAN (this model)"]["accuracy"])


@pytest.mark.parametrize("refit", [False, True])
def test_the_pool_of_network_and_refit_is_their_geometric_mean(refit):
    X, y = load_monks(1)
    network = NaiveBayesClassifier(ess=1.0, n_jobs=1)
    classifier = (RefittedClassifier(network, l2=1.0) if refit else network).fit(X, y)
    found = validate(Subject.of(classifier, X, y), 2, 0, ["TAN"])
    names = ["NB generative", "NB refitted (this model)"] if refit else ["NB (this model)", "NB refitted"]
    assert found.refit == (*names, "NB pooled")
    assert list(found.lines)[-2:] == ["TAN", "class frequencies"]
    product = found.lines[names[0]].proba * found.lines[names[1]].proba
    expected = np.sqrt(product) / np.sqrt(product).sum(axis=1, keepdims=True)
    pooled = found.lines["NB pooled"]
    np.testing.assert_allclose(pooled.proba, expected, atol=1e-12)
    truth = pooled.truth
    assert pooled.values["log_loss"] == pytest.approx(-np.log(expected[np.arange(len(truth)), truth]).mean())
    assert pooled.values["accuracy"] == pytest.approx((expected.argmax(axis=1) == truth).mean())


@pytest.mark.parametrize("averaged", [True, False])
def test_features_are_listed_with_members_that_have_a_single_term(averaged):
    X, y = load_monks(1)
    second = AODEClassifier() if averaged else TANClassifier(ess=1.0, n_jobs=1)
    members = [("NB", NaiveBayesClassifier(ess=1.0, n_jobs=1)), ("second", second)]
    pool = PooledClassifier(members, ridge=np.inf).fit(X, y)
    section = features_section(Subject.of(pool, X, y))
    (table,) = section.blocks
    names = [record["feature"] for record in table.records]
    assert sorted(names) == sorted([*X, "(second)"] if averaged else X)
    assert ("A name in brackets is a member of the pool" in table.note) is averaged
    if averaged:
        rows = np.unique(np.linspace(0, len(X) - 1, MOST_EXPLAINED).round().astype(int))
        terms = pool.explain(X.iloc[rows]).to_frame()
        own = terms.loc[terms["feature"] == "(second)", "nats"].abs().mean()
        assert table.records[names.index("(second)")]["mean_term"] == pytest.approx(own)


def test_bars_of_values_that_are_shown_as_zero_have_no_length():
    def widths(*values):
        records = [{"name": str(k), "value": value} for k, value in enumerate(values)]
        html = str(Records("values", [Column("name", "name"), Column("value", "value", 4, "signed")], records).html())
        return [float(width) for width in re.findall(r'<rect[^>]*?width="([\d.]+)"', html)]

    tiny, usual = widths(1e-17, -2e-17), widths(0.5, -1.0)
    assert len(usual) == 2
    assert max(tiny, default=0.0) < 0.01
    assert max(usual) == 2 * min(usual) > 1


def test_intervals_of_losses():
    rng = np.random.default_rng(1)
    lines = []
    for _ in range(2):
        proba = rng.dirichlet(np.ones(3), 50)
        truth = np.arange(50) % 3
        lines.append(HeldOut(truth, proba, np.ones(50), {"accuracy": 0.5}))
    one, other = lines
    each = [-math.log(one.proba[t, t % 3]) + math.log(other.proba[t, t % 3]) for t in range(50)]
    mean = sum(each) / 50
    half = NORMAL_95 * math.sqrt(sum((x - mean) ** 2 for x in each)) / 50
    assert one.loss_interval(other) == pytest.approx((mean, mean - half, mean + half))
    assert one.loss_interval(one) == pytest.approx((0, 0, 0), abs=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda: RefittedClassifier(NaiveBayesClassifier(ess=1.0, n_jobs=1), l2=1.0),
        lambda: AODEClassifier(n_jobs=1),
        lambda: ANBClassifier(continuous="universal", n_jobs=1),
        lambda: AdditiveClassifier(NaiveBayesClassifier(n_jobs=1), intervals=6, smooth=1.0),
    ],
    ids=["refitted", "aode", "measured", "smooth"],
)
def test_other_classifiers(make):
    X, y = load_iris()
    classifier = make().fit(X, y)
    made = report(classifier, X, y, folds=2)
    keys = {section.key for section in made.document.sections}
    Page(made.to_html().removeprefix("<!doctype html>\n"))
    if isinstance(classifier, AODEClassifier):
        assert not {"network", "arcs", "cases", "influence"} & keys
        assert not any("arc" in text.split() for text in made.to_dict()["limits"]["limits"])
        assert "evidence-panel" in made.to_html()
    else:
        assert {"network", "arcs", "cases", "influence"} <= keys
        assert "evidence-panel" in made.to_html()
    assert ("refit" in keys) == isinstance(classifier, RefittedClassifier)
    if "refit" in keys:
        measures = made.to_dict()["performance"]["measures"]
        assert [of["model"] for of in measures][:2] == [
            f"NB {'smooth' if isinstance(classifier, AdditiveClassifier) else 'refitted'} (this model)",
            "NB generative",
        ]


def test_columns_are_named_by_what_they_hold():
    days = pd.date_range("2024-01-01", periods=60, freq="D")
    X = pd.DataFrame({"day": days, "x": np.arange(60.0), "عربي": ["نعم", "لا"] * 30})
    y = pd.Series((days >= "2024-02-01").astype(int), name="c")
    made = report(NaiveBayesClassifier(ess=1.0, n_jobs=1).fit(X, y), X, y, folds=None)
    day, number, words = made.to_dict()["data"]["features"]
    assert day["kind"].startswith("date, cut at 2024-01-")
    assert number["kind"].startswith("number, cut at ")
    assert words["shown"] == "لا\N{LEFT-TO-RIGHT MARK}: 50%; نعم\N{LEFT-TO-RIGHT MARK}: 50%"


def test_the_cases_are_what_they_are_called():
    X, y = load_anes96()
    classifier = NaiveBayesClassifier(ess=1.0, n_jobs=1).fit(X, y)
    document = report(classifier, X, y, folds=None).document
    cases = next(section for section in document.sections if section.key == "cases").data()
    proba = classifier.predict_proba(X)
    margin = np.abs(proba[:, 0] - proba[:, 1])
    predicted = classifier.predict(X)
    assert cases["doubtful"]["row"] == int(margin.argmin())
    wrong = cases["wrong"]
    assert wrong["label"] != wrong["true_class"]
    assert wrong["probability"] == pytest.approx(proba.max(axis=1)[predicted != y].max())
    assert cases["typical"]["label"] == cases["typical"]["true_class"]
    for case in cases.values():
        assert sum(term["nats"] for term in case["terms"]) == pytest.approx(case["log_odds"])


def test_warnings_say_what_is_unusual():
    X, y = load_monks(1)
    classifier = NaiveBayesClassifier(ess=1.0, n_jobs=1).fit(X, y)
    subject = Subject.of(classifier, X, y)
    assert warnings_of(subject, validate(subject, 3, 0, ())) == []
    few = Subject.of(classifier, X[:40], y[:40])
    assert any("fewer than 30 rows" in text for text in warnings_of(few, None))
    assert any("without a cross-validation" in text for text in warnings_of(few, None))
    hidden = X.assign(head_shape=None)
    assert any("head_shape (100%)" in text for text in warnings_of(Subject.of(classifier, hidden, y), None))
    noise = pd.Series(np.random.default_rng(0).permutation(y.to_numpy()), name="noise")
    overfitted = TANClassifier(ess=1.0, n_jobs=1).fit(X, noise)
    subject = Subject.of(overfitted, X, noise)
    texts = warnings_of(subject, validate(subject, 3, 0, ()))
    assert any("does not predict clearly better than the class frequencies" in text for text in texts)
    assert any("expect the second figure" in text for text in texts)


def test_rows_without_a_class_are_left_out_and_unknown_classes_refused():
    X, y = load_iris()
    classifier = NaiveBayesClassifier(n_jobs=1).fit(X, y)
    missing = y.astype(object).where(np.arange(len(y)) >= 10, None)
    made = report(classifier, X, missing, folds=None)
    assert "10 rows without a class or of weight 0 are left out" in made.to_markdown()
    assert made.to_dict()["rows"] == 140
    with pytest.raises(ValueError, match="'rose', which did not occur in fit"):
        report(classifier, X, ["rose"] * len(y))
    with pytest.raises(ValueError, match="no row has both a class and a positive weight"):
        report(classifier, X, [None] * len(y))
    with pytest.raises(ValueError, match="did you mean 'random forest'"):
        report(classifier, X, y, folds=2, models=["forest"])


def test_arcs_of_a_report_are_those_of_the_frame():
    X, y = load_monks(1)
    classifier = TANClassifier(ess=1.0, n_jobs=1).fit(X, y)
    frame = arc_report(RefittedClassifier(classifier, l2=1.0).fit(X, y))
    assert list(zip(frame["parent"], frame["child"], strict=True)) == list(classifier.structure_.edges)
    listed = pd.DataFrame(report(classifier, X, y, folds=None).to_dict()["arcs"]["arcs"])
    expected = frame.sort_values("information", ascending=False, kind="stable").reset_index(drop=True)
    pd.testing.assert_frame_equal(listed, expected)
    with pytest.raises(TypeError, match="AODEClassifier has no network"):
        arc_report(AODEClassifier(n_jobs=1).fit(X, y))


@pytest.mark.slow
def test_a_page_of_twenty_features_and_five_thousand_rows_is_small():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 5, (5000, 20)), columns=[f"x{k}" for k in range(20)])
    for k in range(1, 20):
        kept = rng.random(5000) < 0.5
        X.loc[kept, f"x{k}"] = X.loc[kept, f"x{k - 1}"]
    y = pd.Series((X["x0"] + X["x5"] + rng.integers(0, 3, 5000)) % 10, name="c")
    classifier = TANClassifier(ess=1.0, n_jobs=1).fit(X, y)
    assert len(classifier.structure_.feature_edges) == 19
    html = report(classifier, X, y, folds=None).to_html()
    assert "evidence-panel" in html
    assert len(html.encode()) < 1_500_000


@pytest.mark.slow
def test_shapes_of_a_smooth_refit_are_drawn():
    X, y = load_anes96()
    smooth = AdditiveClassifier(TANClassifier(ess=1.0, n_jobs=1), intervals=6, smooth=1.0).fit(X, y)
    document = report(smooth, X, y, folds=None).to_dict()["shapes"]
    shapes = {shape.name: shape for shape in smooth.logit_.shapes()}
    assert [of["title"] for of in document["shapes"]] == sorted(X, key=lambda name: -np.ptp(shapes[name].log_odds))
    for chart in document["shapes"]:
        shape, (line,) = shapes[chart["title"]], chart["lines"]
        steps = [(k + side, value) for k, value in enumerate(shape.log_odds.tolist()) for side in (0, 1)]
        np.testing.assert_allclose(line["points"], steps)
        low, high = np.array(line["band"])[::2, 1:].T
        np.testing.assert_allclose(high - low, 2 * NORMAL_95 * shape.standard_error)
    for of in document["interactions"]:
        assert of["range"] == pytest.approx(np.ptp(shapes[of["term"]].log_odds))
    assert "shapes" not in report(smooth.estimator_, X, y, folds=None).to_dict()


def test_impossible_rows_are_counted():
    X, y = load_iris()
    made = report(NaiveBayesClassifier(parameters="ml", n_jobs=1).fit(X, y), X, y, folds=2)
    Page(made.to_html().removeprefix("<!doctype html>\n"))
    warned = [text for text in made.to_dict()["limits"]["warnings"] if "whatever the class" in text]
    count = int(warned[0].split(" ")[0])
    assert f"Curves leave out {count} rows" in made.to_markdown()
    assert made.to_dict()["performance"]["measures"][0]["log_loss"] is None


def test_rows_that_cannot_be_divided_are_reported_without_folds():
    X, y = load_iris()
    classifier = NaiveBayesClassifier(n_jobs=1).fit(X, y)
    for rows, reason in ((51, "the class versicolor has a single row"), (20, "only one class among the rows")):
        made = report(classifier, X[:rows], y[:rows])
        assert reason in made.to_markdown()
        assert "measures" not in made.to_dict()["performance"]
    with pytest.raises(ValueError, match="folds must be a whole number"):
        report(classifier, X, y, folds=1)


def test_equal_rows_have_equal_fingerprints():
    X, y = load_monks(1)
    classifier = NaiveBayesClassifier(ess=1.0, n_jobs=1).fit(X, y)

    def print_of(X, y):
        return fingerprint(Subject.of(classifier, X, y))

    assert print_of(X, y) == print_of(X.copy(), y.copy())
    assert print_of(X, y) != print_of(X, y[::-1].reset_index(drop=True))


LONG = ["no chronic respiratory disease found at all", "moderately severe obstructive disease (stage III)"]


@pytest.fixture(scope="module", name="messy")
def _messy():
    """Numbers like identifiers, an identifier, cells that are mostly missing, and long names of classes."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 120)
    X = pd.DataFrame(
        {
            "PID": 528_102_000 + 9 * rng.integers(0, 40, 120) + 400 * y,
            "ticket": [f"T{k}" for k in range(120)],
            "pool": np.where(np.arange(120) % 20 < 17, None, np.where(y, "good", "fair")),
        }
    )
    labels = pd.Series(np.array(LONG)[y], name="diagnosis")
    with pytest.warns(UserWarning, match="identifier"):
        model = TANClassifier(ess=1.0, discretizer="mdlp", n_jobs=1).fit(X, labels)
    return model, X, labels, report(model, X, labels, folds=None)


class TestMessyTables:
    def features(self, messy):
        return {record["feature"]: record for record in messy[3].to_dict()["data"]["features"]}

    def test_missing_cells_are_counted_whatever_becomes_of_them(self, messy):
        assert {name: of["missing"] for name, of in self.features(messy).items()} == {
            "PID": 0.0,
            "ticket": 0.0,
            "pool": pytest.approx(0.85),
        }

    def test_cut_points_have_all_their_digits(self, messy):
        (cut,) = messy[0].cut_points_["PID"]
        assert self.features(messy)["PID"]["kind"] == f"number, cut at {cut:.0f}"
        assert "e+08" not in messy[3].to_html()
        assert "e+08" not in messy[3].to_markdown()
        rows = messy[1].astype({"PID": float}).assign(PID=528_102_100.5)
        assert "PID = 528102100 in" in str(messy[0].explain(rows)[0])

    @pytest.mark.parametrize("shown", ["report", "estimator", "network", "logit"])
    def test_columns_that_are_left_out_are_no_nodes(self, shown, messy):
        model = messy[0]
        html = {
            "report": messy[3].to_html,
            "estimator": model._repr_html_,
            "network": model.model_._repr_html_,
            "logit": model.to_logit()._repr_html_,
        }[shown]()
        assert "<title>PID</title>" in html
        assert "<title>ticket</title>" not in html

    def test_the_figure_has_no_node_of_them_either(self, messy):
        assert NetworkDisplay.from_estimator(messy[0]).diagram.names == ("PID", "pool", "diagnosis")

    def test_features_are_those_that_are_used(self, messy):
        text = " ".join(Page(messy[3].to_html().removeprefix("<!doctype html>\n")).text)
        assert "given 2 features" in text
        assert "120 rows, 2 features" in text
        assert "of 3 features" not in text

    def test_headings_of_single_cases_leave_room_for_the_columns(self, messy):
        page = Page(messy[3].to_html().removeprefix("<!doctype html>\n"))
        headings = [text for text in page.text if text.startswith("rows of ")]
        assert len(headings) >= 4
        assert max(map(len, headings)) <= len("rows of ") + 24
        titles = {attributes.get("title") for tag, attributes in page.elements if tag == "span"}
        assert set(LONG) <= titles
