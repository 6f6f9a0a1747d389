"""The sheet of a scorecard: what it says, and its calculator in Chromium."""

import html
import json
import re
import subprocess

import numpy as np
import pandas as pd
import pytest
from pages import Page
from real_parts import chromium

from anbexact import AdditiveClassifier, NaiveBayesClassifier, TANClassifier
from anbexact.adapters import to_scorecard
from anbexact.datasets import load_anes96, load_iris
from anbexact.show.notebook import html as shown
from anbexact.show.scorecard.sheet import levels

SCRIPT = "<script>alert(1)</script>"
PROBE = """
const inputs = [...document.querySelectorAll(".card-form select, .card-form input")], found = [];
for (const row of ROWS) {
  row.forEach((text, j) => { inputs[j].value = text; inputs[j].dispatchEvent(new Event("input")); });
  found.push([...document.querySelectorAll(".card-result p")].map((line) => line.textContent));
}
document.body.replaceChildren(Object.assign(document.createElement("pre"), { textContent: JSON.stringify(found) }));
"""


def awkward():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    X = pd.DataFrame(
        {SCRIPT: np.array(["</script><b>", "&"])[(y + (rng.random(80) < 0.2)) % 2], "size": y + rng.random(80)}
    )
    return X, pd.Series(np.array(["<i>no</i>", "yes"])[y], name="<b>class</b>")


def test_names_stay_text():
    X, y = awkward()
    card = to_scorecard(NaiveBayesClassifier().fit(X, y))
    page = card.to_html(title="<u>Card</u>")
    parsed = Page(page)
    assert not {"b", "i", "u"} & {tag for tag, _ in parsed.elements}
    assert sum(tag == "script" for tag, _ in parsed.elements) == 2  # the data and the calculator
    assert SCRIPT in parsed.text
    assert "</script><b>" in "".join(parsed.text)
    Page(shown(card))
    edited = card.change_points(SCRIPT, {"&": 1}, reason="<s>reason</s>")
    parsed = Page(edited.to_html())
    assert "s" not in {tag for tag, _ in parsed.elements}
    assert "<s>reason</s>" in parsed.text


def test_changes_by_hand_are_on_the_sheet():
    X, y = load_iris()
    card = to_scorecard(NaiveBayesClassifier(ess=1.0).fit(X, y), X, y, max_points=3, n_features=1, gap=0.1)
    assert "Changes by hand" not in card.to_html()
    (name,) = card.features
    edited = card.change_points(name, {None: 2}, label="virginica", reason="a probe", X=X, y=y)
    edited = edited.change_points(name, {None: 1}, label="virginica")
    for page in (edited.to_html(), shown(edited)):
        text = " ".join(" ".join(Page(page).text).split())
        for edit in edited.edits:
            assert edit.text in text
        assert f"a probe {edited.edits[0].cost.before:.4f}" in text
        assert "not measured" in text
        assert "changed by hand after they had been found, so nothing is proved about them" in text
        assert "none have a loss" not in text


def test_points_and_probabilities_are_on_the_sheet():
    X, y = load_anes96()
    card = to_scorecard(TANClassifier(ess=1.0).fit(X, y), X, y, max_points=3, n_features=2, gap=0.01)
    text = " ".join(" ".join(Page(card.to_html()).text).split())
    for name in card.features:
        assert str(name) in text
    scores = levels(card)
    low, high = (int(bound[0]) for bound in card.range)
    assert low <= scores[0] < scores[-1] <= high
    chance = card.probabilities(np.array([[scores[0]]]))[0, 1]
    assert (f"{100 * chance:.1f} %" if chance >= 0.001 else "< 0.1 %") in text
    assert "none have a loss that is lower by more than" in text


@pytest.mark.slow
@pytest.mark.real("chromium")
@pytest.mark.parametrize("load", [load_anes96, load_iris])
def test_the_calculator_in_a_browser(load, tmp_path):
    """Entered cell by cell, rows get the scores of the package."""
    X, y = load()
    card = to_scorecard(AdditiveClassifier(TANClassifier(ess=1.0), smooth=1.0).fit(X, y))
    rows = X.astype(object).where(np.random.default_rng(0).random(X.shape) < 0.8, None)[:40]
    texts = []
    for _, row in rows.iterrows():
        codes = (card.reader.vocabulary.code(name, row[name]) for name in card.features)
        cut = card.reader.cut_points
        texts.append(
            [
                "" if pd.isna(row[name]) else repr(float(row[name])) if name in cut else str(code)
                for name, code in zip(card.features, codes, strict=True)
            ]
        )
    page = re.sub(r"<meta[^>]*Content-Security-Policy[^>]*>", "", card.to_html())
    probe = f"<script>{PROBE.replace('ROWS', json.dumps(texts))}</script></body>"
    (tmp_path / "card.html").write_text(probe.join(page.rsplit("</body>", 1)), encoding="utf-8")
    how = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    done = subprocess.run(
        [chromium(), *how, (tmp_path / "card.html").as_uri()], capture_output=True, text=True, check=True, timeout=120
    )
    found = json.loads(html.unescape(re.search(r"<pre>(.*)</pre>", done.stdout, re.DOTALL).group(1)))
    scores = card.score(rows).reshape(len(rows), -1)
    assert [[int(line.rsplit(": ", 1)[1]) for line in lines[:-1]] for lines in found] == scores.tolist()
    for lines, chances in zip(found, card.predict_proba(rows), strict=True):
        assert lines[-1] == ", ".join(
            f"P({label}) = {chance:.4f}" for label, chance in zip(card.classes_, chances, strict=True)
        )
