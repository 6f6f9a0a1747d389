"""Size of a report and seconds to make it, and milliseconds until an evidence panel has answered, in Chromium.

Target: a report on 20 features and 5,000 rows of at most 1.5 MB, made in at most 10 seconds without its
cross-validation; answers of the panel within 50 milliseconds with 20 features and 10 classes. An answer is the work
after a click, with the new layout of the page: all posteriors, what the findings do and what settles the class, the
next question and the decision. Intervals are drawn afterwards and are timed by themselves. Takes a minute.
"""

import json
import re
import shutil
import subprocess
import tempfile
from html import unescape
from pathlib import Path
from statistics import median

import numpy as np

from anbexact import ANBClassifier, GBNClassifier, NaiveBayesClassifier, RefittedClassifier, TANClassifier
from anbexact.classifiers import AODEClassifier, DiscreteClassifier, KDBClassifier
from anbexact.report import panel, report
from benchmarks.harness import tables
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.timing import timed

FEATURES, ROWS, STATES, CLASSES = 20, 5_000, 5, 10
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
PROBE = """
const root = document.querySelector(".evidence-panel"), panel = root.panel;
const timed = (work) => { const began = performance.now(); work(); return performance.now() - began; };
const answers = [], intervals = [];
for (const [variable, state] of CHOICES) {
  answers.push(timed(() => { panel.set(variable, state); return root.offsetHeight; }));
  if (!panel.net.average) intervals.push(timed(() => anbexactDraws.intervals(panel.net, panel.evidence)));
}
document.body.replaceChildren(Object.assign(document.createElement("pre"),
  { textContent: JSON.stringify({ answers, intervals }) }));
"""


def in_browser(page: Path, choices: list[tuple[int, int]], folder: Path) -> dict[str, list[float]] | None:
    """Return milliseconds of the answers to choices of states, one after the other; None without a browser."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        return None
    text = re.sub(r"<meta[^>]*Content-Security-Policy[^>]*>", "", page.read_text(encoding="utf-8"))
    probe = f"<script>{PROBE.replace('CHOICES', json.dumps(choices))}</script></body>"
    (folder / "probed.html").write_text(probe.join(text.rsplit("</body>", 1)), encoding="utf-8")
    how = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}", "--dump-dom"]
    done = subprocess.run(
        [browser, *how, (folder / "probed.html").as_uri()], capture_output=True, text=True, check=True, timeout=600
    )
    found = re.search(r"<pre>(.*)</pre>", done.stdout, re.DOTALL)
    assert found is not None
    times: dict[str, list[float]] = json.loads(unescape(found.group(1)))
    return times


def choices_of(classifier: DiscreteClassifier, rounds: int) -> list[tuple[int, int]]:
    """Return random states of the features in random orders, each round from nothing known to everything known."""
    rng = np.random.default_rng(0)
    arities = [classifier.vocabulary_.arity(name) for name in classifier.vocabulary_.features]
    found = []
    for _ in range(rounds):
        order = rng.permutation(len(arities)).tolist()
        found += [(v, int(rng.integers(arities[v]))) for v in order] + [(v, -1) for v in order]
    return found


def main(run: Run) -> None:
    """Measure the pages of several classifiers of one table."""
    shape = (4, 200, 3, 3) if run.smoke else (FEATURES, ROWS, STATES, CLASSES)
    X, y = tables.generated(*shape)
    models = {
        "NB": NaiveBayesClassifier(),
        "TAN": TANClassifier(),
        "ANB": ANBClassifier(),
        "GBN": GBNClassifier(max_parents=3),
        "kDB, k = 2": KDBClassifier(k=2),
        "TAN refitted": RefittedClassifier(TANClassifier(), l2=1.0),
        "AODE": AODEClassifier(),
    }
    rows = []
    for name, model in list(models.items())[: 1 if run.smoke else None]:
        classifier = model.fit(X, y)
        report(classifier, X[:500], y[:500], folds=None).to_html()  # kernels compiled
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            seconds = timed(lambda of=classifier, to=folder: report(of, X, y, folds=None).save(to / "r.html")).seconds
            panel(classifier, folder / "p.html")
            times = in_browser(folder / "p.html", choices_of(classifier, 1 if run.smoke else 3), folder)
            row = {
                "model": name,
                "report s": seconds,
                "report MB": (folder / "r.html").stat().st_size / 1e6,
                "panel MB": (folder / "p.html").stat().st_size / 1e6,
            }
        if times is not None:
            row |= {"answer ms": median(times["answers"])}
            row |= {"answer ms, 95 %": float(np.quantile(times["answers"], 0.95))}
            row |= {"intervals ms": median(times["intervals"]) if times["intervals"] else float("nan")}
        rows.append(row)
    show(rows)
