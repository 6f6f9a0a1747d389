"""What makes a page readable: intervals in words, frequent classes first, long tables that one can open."""

import re

import numpy as np
import pandas as pd
import pytest

from anbexact import NaiveBayesClassifier
from anbexact.report import report
from anbexact.show.report.document import FEATURES_SHOWN
from anbexact.show.report.lines import class_sizes


@pytest.fixture(scope="module", name="made")
def _made():
    rng = np.random.default_rng(0)
    y = pd.Series(np.repeat(["rare", "usual", "frequent"], [10, 30, 60]), name="kind")
    X = pd.DataFrame({f"f{k}": rng.integers(2, size=100) for k in range(30)})
    X["length"] = np.where(y == "rare", 40.0, 10.0) + rng.normal(size=100).round(2)
    X["odd"] = np.arange(100) == 7
    model = NaiveBayesClassifier(ess=1.0, discretizer="mdlp").fit(X, y)
    return model, report(model, X, y, folds=None)


def test_intervals_are_in_words(made):
    model, page = made
    (cut,) = model.cut_points_["length"]
    for text in (page.to_html(), page.to_markdown()):
        assert f"≤ {cut:g}" in text
        assert f"(-inf, {cut:g}]" not in text
    assert model.vocabulary_.states["length"][0] == f"(-inf, {cut:g}]"


def test_frequent_classes_are_first(made):
    _, page = made
    table = page.to_html().split("Classes</caption>")[1].split("</table>")[0]
    assert re.findall(r'<th scope="row">(?:<[^>]*>)*(\w+)', table) == ["frequent", "usual", "rare"]


def test_long_tables_can_be_opened(made):
    _, page = made
    html = page.to_html()
    before, after = html.split("Features</caption>")[1].split("<details>")[:2]
    assert before.count("<tr>") == FEATURES_SHOWN + 1
    assert after.split("</details>")[0].count("<tr>") == 32 - FEATURES_SHOWN + 1
    assert "<summary>the other 7 rows</summary>" in after
    assert page.to_markdown().count("| categories |") == 31  # Markdown has all


def test_shares_of_rare_states_are_not_zero(made):
    model, _ = made
    rng = np.random.default_rng(1)
    X = pd.DataFrame({**{f"f{k}": rng.integers(2, size=400) for k in range(30)}, "length": 10.0})
    X["odd"] = np.arange(400) == 7
    html = report(model, X, pd.Series(["usual"] * 400, name="kind"), folds=None).to_html()
    assert "False: &gt;99%; True: &lt;1%" in html


def test_sizes_of_classes():
    y = pd.Series(list("aaabbcdefghij"), name="letter")
    assert class_sizes(y, most=3) == "class letter: a (3), b (2), c (1) and 7 more classes"
    assert class_sizes(y[:6], most=3) == "class letter: a (3), b (2), c (1)"
    assert class_sizes(y[:7], most=3) == "class letter: a (3), b (2), c (1), d (1)"
