"""Nomograms in headless Chromium: typed values give the classifier's numbers, and the sheet is read by its pixels."""

import json

import numpy as np
import pandas as pd
import pytest
from sheets import Reading, read_off
from test_panel_in_browser import answer_of, without_policy

from anbexact import AdditiveClassifier, NaiveBayesClassifier, TANClassifier
from anbexact.datasets import load_anes96, load_iris
from anbexact.report import nomogram

PROBE = """
const root = document.querySelector(".nomogram-page"), svg = root.querySelector("svg.nomogram"), found = [];
for (const row of ROWS) {
  root.inputs.forEach((node, j) => {
    if (!node) return;
    if (node.tagName === "INPUT") { node.value = row[j]; }
    else { node.value = row[j] === "" ? "" : [...node.options].find((of) => of.textContent === row[j]).value; }
  });
  root.inputs.find((node) => node).dispatchEvent(new Event("input"));
  found.push({ shares: root.probabilities, said: root.querySelector(".nomogram-answer").textContent,
    markers: svg.querySelectorAll(".nomogram-marker").length });
}
const middle = (node) => { const of = node.getBoundingClientRect(); return of.left + of.width / 2; };
const texts = [...svg.querySelectorAll("text")].map((node) =>
  [node.textContent, middle(node), node.getBoundingClientRect().top]);
const places = [...svg.querySelectorAll("[data-place]")].map((node) => [node.dataset.place, middle(node)]);
const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
const answer = JSON.stringify({ found, texts, places, wide });
document.body.replaceChildren(Object.assign(document.createElement("pre"), { textContent: answer }));
"""


def typed(X):
    """Return the cells of a frame as a person types or chooses them; empty where missing."""
    return [["" if value is None or value != value else str(value) for value in row] for row in X.to_numpy(object)]


def probed(made, X, folder):
    made.save(folder / "sheet.html")
    script = f"<script>{PROBE.replace('ROWS', json.dumps(typed(X)))}</script></body>"
    (folder / "probed.html").write_text(
        script.join(without_policy(folder / "sheet.html").rsplit("</body>", 1)), encoding="utf-8"
    )
    return answer_of(folder / "probed.html", folder, "--window-size=1200,900")


CASES = {
    "tan": (TANClassifier(ess=1.0, n_jobs=1), load_anes96),
    "smooth": (AdditiveClassifier(NaiveBayesClassifier(ess=1.0, n_jobs=1), smooth=1.0, intervals=12), load_iris),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_calculator_and_pixels(case, tmp_path):
    classifier, load = CASES[case]
    X, y = load()
    classifier.fit(X, y)
    made = nomogram(classifier)
    some = X.sample(25, random_state=0)
    hidden = some.mask(np.random.default_rng(0).random(some.shape) < 0.3)
    rows = pd.concat([some, hidden])
    answer = probed(made, rows.astype(object), tmp_path)
    found = np.array([of["shares"] for of in answer["found"]])
    assert np.abs(found - classifier.predict_proba(rows)).max() < 1e-9
    assert all(of["markers"] >= 2 for of in answer["found"][: len(some)])
    assert answer["wide"] <= 0

    texts = [tuple(text) for text in answer["texts"]]
    places = {tuple(map(int, key.split(","))): x for key, x in answer["places"]}
    unit = made.sheet.at_points(100) - made.sheet.at_points(0)
    across = Reading(texts, places, made.sheet.outcomes)
    scale = (across.hundred - across.zero) / unit
    left = across.zero - scale * made.sheet.at_points(0)
    marks = [[(value, left + scale * x) for value, x in axis] for axis in made.sheet.outcomes]
    codes = classifier.reader_.codes(some)
    expected = made.sheet.system.probabilities(made.sheet.system.points(codes).sum(axis=1))
    assert np.abs(read_off(made, Reading(texts, places, marks), codes) - expected).max() < 0.01
