"""Evidence panels in headless Chromium: their probabilities are those of the classifiers, names stay text."""

import html
import json
import re
import subprocess

import numpy as np
import pandas as pd
import pytest
from real_parts import chromium

from anbexact import ANBClassifier, GBNClassifier, NaiveBayesClassifier, PooledClassifier, RefittedClassifier
from anbexact.classifiers import A2DEClassifier, AODEClassifier, KDBClassifier, TANClassifier
from anbexact.datasets import load_anes96, load_iris
from anbexact.report import panel, report

SCRIPT, IMAGE = "<script>alert(1)</script>", '"><img src=x onerror=alert(2)>'
PROBE = """
const root = document.querySelector(".evidence-panel"), panel = root.panel, found = [];
for (const evidence of EVIDENCE) {
  evidence.forEach((state, v) => panel.set(v, state));
  const said = (of) => root.querySelector(of).textContent;
  const { classes } = panel.engine.posteriors(panel.net, panel.evidence);
  found.push({ classes, decision: said(".panel-decision"), status: said(".panel-status") });
}
const tags = [...new Set([...document.body.querySelectorAll("*")].map((node) => node.tagName))];
const answer = JSON.stringify({ found, tags, alerts: window.alerts });
document.body.replaceChildren(Object.assign(document.createElement("pre"), { textContent: answer }));
"""

SEEN = """
const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
const rgba = (text) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255]; };
const luminance = (rgb) => rgb.map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
const over = (top, under) => [0, 1, 2].map((k) => top[k] * top[3] + under[k] * (1 - top[3]));
const above = (node) => node ? [node, ...above(node.parentElement)] : [];
const ground = (node) => above(node).map((of) => rgba(getComputedStyle(of).backgroundColor)).reverse()
  .reduce((under, layer) => over(layer, under), [0, 0, 0]);
const faint = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode.parentElement, text = walker.currentNode.textContent.trim();
  if (!text || node.closest("script, style") || !node.checkVisibility({ visibilityProperty: true })) continue;
  const style = getComputedStyle(node), inSvg = node.closest("svg"), ink = rgba(inSvg ? style.fill : style.color);
  ink[3] *= above(node).reduce((all, of) => all * getComputedStyle(of).opacity, inSvg ? style.fillOpacity : 1);
  const behind = ground(node), both = [luminance(over(ink, behind)), luminance(behind)];
  const [low, high] = both.sort((a, b) => a - b);
  if ((high + 0.05) / (low + 0.05) < 4.5) faint.push(text);
}
const dark = matchMedia("(prefers-color-scheme: dark)").matches, page = document.documentElement;
const seen = { dark, faint, width: innerWidth, wide: page.scrollWidth - page.clientWidth };
parent.document.body.replaceChildren(Object.assign(parent.document.createElement("pre"),
  { textContent: JSON.stringify(seen) }));
"""


def named(seed=0, n_classes=26, n=500):
    """Return rows whose names are markup, long, or of other scripts, with many classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    states = np.array(["</script><b>", SCRIPT, IMAGE, "ü∀漢字\u202e"])
    X = pd.DataFrame({SCRIPT: states[y % 4], IMAGE: (y // 4) % 3, "عربي " * 9: np.array(["x" * 200, "&amp;"])[y % 2]})
    noise = rng.random(X.shape) < 0.2
    X = X.where(~noise, X.sample(frac=1, random_state=seed).reset_index(drop=True))
    return X, pd.Series([f"{chr(65 + k)}{IMAGE}" for k in y], name="<i>class</i>")


def without_policy(page):
    """Return a page without the policy that would keep the scripts of a test from running."""
    return re.sub(r"<meta[^>]*Content-Security-Policy[^>]*>", "", page.read_text(encoding="utf-8"))


def answer_of(page, folder, *options):
    """Return what a page has written into its only ``pre`` in Chromium."""
    how = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}", "--dump-dom"]
    done = subprocess.run(
        [chromium(), *how, *options, page.as_uri()], capture_output=True, text=True, check=True, timeout=120
    )
    return json.loads(html.unescape(re.search(r"<pre>(.*)</pre>", done.stdout, re.DOTALL).group(1)))


def probed(page, evidence, folder):
    """Return what Chromium computes of a panel given evidence."""
    first = "<script>window.alerts = 0; window.alert = () => { window.alerts += 1; };</script></head>"
    script = f"<script>{PROBE.replace('EVIDENCE', json.dumps(evidence))}</script></body>"
    text = without_policy(page).replace("</head>", first, 1)
    (folder / "probed.html").write_text(script.join(text.rsplit("</body>", 1)), encoding="utf-8")
    return answer_of(folder / "probed.html", folder)


def seen(page, folder, width, *, dark):
    """Return what is seen of a page in a window: texts that hardly stand out, and by how much it is too wide."""
    script = f"<script>onload = () => {{ {SEEN} }};</script></body>"
    text = html.escape(script.join(without_policy(page).rsplit("</body>", 1)))
    frame = f'<!doctype html><body><iframe width="{width}" height="800" srcdoc="{text}"></iframe></body>'
    (folder / "frame.html").write_text(frame, encoding="utf-8")
    return answer_of(folder / "frame.html", folder, f"--blink-settings=preferredColorScheme={0 if dark else 1}")


MODELS = {
    "anb": lambda: ANBClassifier(ess=1.0, n_jobs=1),
    "refitted": lambda: RefittedClassifier(TANClassifier(ess=1.0, n_jobs=1), l2=1.0),
    "gbn": lambda: GBNClassifier(ess=1.0, n_jobs=1),
    "kdb": lambda: KDBClassifier(k=3, ess=1.0, n_jobs=1),
    "aode": lambda: AODEClassifier(n_jobs=1),
    "a2de": lambda: A2DEClassifier(n_jobs=1),
}


@pytest.mark.slow
@pytest.mark.real("chromium")
@pytest.mark.parametrize("model", MODELS)
def test_probabilities_with_missing_cells(model, tmp_path):
    X, y = load_anes96()
    classifier = MODELS[model]().fit(X, y)
    panel(classifier, tmp_path / "p.html")
    holes = X.astype(object).where(np.random.default_rng(2).random(X.shape) < np.linspace(0, 1, 9), None)[:40]
    evidence = [[*row, -1] for row in classifier.reader_.codes(holes).T.tolist()]
    answer = probed(tmp_path / "p.html", evidence, tmp_path)
    assert np.abs(classifier.predict_proba(holes) - [of["classes"] for of in answer["found"]]).max() < 1e-9


@pytest.mark.slow
@pytest.mark.real("chromium")
def test_a_report_with_costs(tmp_path):
    X, y = load_anes96()
    classifier = ANBClassifier(ess=1.0, n_jobs=1).fit(X, y)
    costs = {"Clinton": 1.0, "Dole": 4.0}
    report(classifier, X, y, folds=None, costs=costs).save(tmp_path / "r.html")
    holes = X.astype(object).where(np.random.default_rng(2).random(X.shape) < 0.5, None)[:20]
    evidence = [[*row, -1] for row in classifier.reader_.codes(holes).T.tolist()]
    found = probed(tmp_path / "r.html", evidence, tmp_path)["found"]
    assert np.abs(classifier.predict_proba(holes) - [of["classes"] for of in found]).max() < 1e-9
    for decision, of in zip(classifier.decide(holes, costs=costs)["decision"], found, strict=True):
        assert of["decision"].startswith(f"Decide {decision}: expected cost ")


@pytest.mark.slow
@pytest.mark.real("chromium")
def test_a_pool(tmp_path):
    X, y = load_iris()
    members = [("NB", NaiveBayesClassifier(n_jobs=1)), ("TAN", RefittedClassifier(TANClassifier(n_jobs=1), l2=1.0))]
    pool = PooledClassifier(members, ridge=np.inf).fit(X, y)
    panel(pool, tmp_path / "p.html")
    evidence = [[*row, -1] for row in pool.reader_.codes(X[::10]).T.tolist()]
    answer = probed(tmp_path / "p.html", evidence, tmp_path)
    assert np.abs(pool.predict_proba(X[::10]) - [of["classes"] for of in answer["found"]]).max() < 1e-9


@pytest.mark.slow
@pytest.mark.real("chromium")
def test_26_classes_with_names_that_are_markup(tmp_path):
    X, y = named()
    classifier = TANClassifier(ess=1.0, n_jobs=1).fit(X, y)
    assert len(classifier.classes_) == 26
    report(classifier, X, y, folds=2).save(tmp_path / "r.html")
    holes = X.astype(object).where(np.random.default_rng(2).random(X.shape) < 0.6, None)[:20]
    evidence = [[*row, -1] for row in classifier.reader_.codes(holes).T.tolist()]
    answer = probed(tmp_path / "r.html", evidence, tmp_path)
    assert np.abs(classifier.predict_proba(holes) - [of["classes"] for of in answer["found"]]).max() < 1e-9
    assert answer["alerts"] == 0
    assert not {"IMG", "B", "I"} & set(answer["tags"])
    best = classifier.predict(holes)
    assert all(
        of["status"].startswith(f"<i>class</i>: {label}") for of, label in zip(answer["found"], best, strict=True)
    )


@pytest.mark.slow
@pytest.mark.real("chromium")
@pytest.mark.parametrize(("width", "dark"), [(390, False), (390, True), (1600, False), (1600, True)])
def test_texts_stand_out_and_the_page_fits_its_window(width, dark, tmp_path):
    """WCAG AA, a contrast of 4.5, of a report with a panel, costs, 26 classes and long names."""
    X, y = named()
    classifier = TANClassifier(ess=1.0, n_jobs=1).fit(X, y)
    report(classifier, X, y, folds=None, reject=0.5).save(tmp_path / "r.html")
    assert seen(tmp_path / "r.html", tmp_path, width, dark=dark) == {
        "dark": dark, "faint": [], "width": width, "wide": 0,
    }  # fmt: skip
    faint = (tmp_path / "r.html").read_text(encoding="utf-8").replace("--text:#1c2126", "--text:#888")
    (tmp_path / "f.html").write_text(faint.replace("--text:#e4e8ec", "--text:#666"), encoding="utf-8")
    assert seen(tmp_path / "f.html", tmp_path, width, dark=dark)["faint"]


@pytest.mark.slow
@pytest.mark.real("playwright")
def test_in_a_browser(tmp_path):
    from playwright import sync_api as playwright

    X, y = load_iris()
    X = X.rename(columns={"petal_width": "<b>petal</b>"})
    classifier = ANBClassifier(ess=1.0, n_jobs=1).fit(X, y)
    panel(classifier, tmp_path / "p.html")
    read = "() => document.querySelector('.evidence-panel').panel"
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 800})
        complaints = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto((tmp_path / "p.html").as_uri())
        names = page.locator("fieldset legend").all_text_contents()
        assert names == ["species (class)", *X.columns]
        chosen = {}
        for k in (3, 1, 2):
            group = page.get_by_role("group", name=X.columns[k])
            group.get_by_role("radio").nth(2).focus()
            page.keyboard.press("Space")
            chosen[k] = 1
            evidence = page.evaluate(f"({read})().evidence")
            assert evidence == [chosen.get(j, -1) for j in range(5)]
            codes = np.array([evidence[:-1]], dtype=np.int16).T
            expected = classifier.model_.posterior(np.asfortranarray(codes))[0]
            shown = page.evaluate(f"anbexactEngine.posteriors(({read})().net, ({read})().evidence).classes")
            assert np.abs(expected - shown).max() < 1e-9
            best = classifier.classes_[expected.argmax()]
            status = page.get_by_role("status").first.text_content()
            assert f"species: {best}" in status
            assert f"given {len(chosen)} finding" in status
        page.get_by_role("button", name="Clear all findings").click()
        assert page.evaluate(f"({read})().evidence") == [-1] * 5
        report(classifier, X, y, folds=2).save(tmp_path / "r.html")
        for name in ("p.html", "r.html"):
            page.goto((tmp_path / name).as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
            assert page.evaluate(f"({read})().evidence") == [-1] * 5
        assert complaints == []
        browser.close()
