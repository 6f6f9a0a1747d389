"""Nomograms as values and files: what they say, what they refuse, and what their calculator computes."""

import json
import re
import shutil
import subprocess
from importlib.resources import files

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
from anbexact.classifiers import AODEClassifier, KDBClassifier
from anbexact.datasets import load_anes96, load_iris, load_lenses, load_monks
from anbexact.report import nomogram

STATIC = files("anbexact.show.report.page").joinpath("static")
RUN = """
global.anbexactEngine = require(process.argv[1]);
const calculator = require(process.argv[2]);
const { text, rows } = JSON.parse(require("fs").readFileSync(0));
const data = calculator.read(text);
console.log(JSON.stringify(rows.map((codes) => calculator.probabilities(data, codes))));
"""
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
MODELS = {
    "nb": NaiveBayesClassifier(ess=1.0, n_jobs=1),
    "tan": TANClassifier(ess=1.0, n_jobs=1),
    "refit": RefittedClassifier(KDBClassifier(k=2, ess=1.0, n_jobs=1), l2=1.0),
    "smooth": AdditiveClassifier(TANClassifier(ess=1.0, n_jobs=1), smooth=1.0, intervals=8),
}


def calculated(made, codes):
    """Return what the calculator of a page computes for rows of codes, by node."""
    text = re.search(r'class="nomogram-data">(.*?)</script>', made.to_html(), re.DOTALL).group(1)
    rows = codes.T.tolist()
    done = subprocess.run(
        ["node", "-e", RUN, str(STATIC.joinpath("engine.js")), str(STATIC.joinpath("nomogram.js"))],
        input=json.dumps({"text": text, "rows": rows}), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return np.array(json.loads(done.stdout))


@needs_node
@pytest.mark.parametrize("model", MODELS)
def test_the_calculator_computes_the_same_number(model):
    X, y = load_anes96()
    classifier = MODELS[model].fit(X, y)
    some = X.sample(60, random_state=0)
    hidden = some.mask(np.random.default_rng(0).random(some.shape) < 0.3)
    rows = pd.concat([some, hidden])
    found = calculated(nomogram(classifier), classifier.reader_.codes(rows))
    assert np.abs(found - classifier.predict_proba(rows)).max() < 1e-9


@needs_node
def test_the_calculator_of_a_pool():
    X, y = load_iris()
    pool = PooledClassifier([("a", MODELS["nb"]), ("b", MODELS["tan"])], folds=2).fit(X, y)
    made = nomogram(pool)
    found = calculated(made, made.reader.codes(X))
    assert np.abs(found - pool.predict_proba(X)).max() < 1e-9
    assert len({ruler.features for ruler in made.system.rulers}) == len(made.system.rulers)


def test_values_are_read_as_the_classifier_reads_them():
    """Numbers have cut points, other columns have choices; a missing cell is a state of its own where it is one."""
    rng = np.random.default_rng(1)
    n = 300
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(["u", "v"], n), "id": [f"x{k}" for k in range(n)]})
    X.loc[rng.random(n) < 0.3, "a"] = None
    y = np.where(X["a"].fillna(1) + rng.normal(size=n) > 0, "yes", "no")
    with pytest.warns(UserWarning, match="identifier"):
        classifier = NaiveBayesClassifier().fit(X, y)
    made = nomogram(classifier)
    text = re.search(r'class="nomogram-data">(.*?)</script>', made.to_html(), re.DOTALL).group(1)
    a, b, hidden = json.loads(text)["features"]
    assert a["cuts"] == classifier.cut_points_["a"].tolist()
    assert a["missing"] == len(classifier.vocabulary_.states["a"]) - 1
    assert b["choices"] == [["u", 0], ["v", 1]]
    assert b["missing"] == -1
    assert hidden["hidden"]


def test_page_and_files(tmp_path):
    X, y = load_monks(1)
    made = nomogram(MODELS["tan"].fit(X, y.map({"no": "</script>", "yes": "<i>b</i>"})))
    page = Page(made.to_html())
    assert not {"i", "b"} & {tag for tag, _ in page.elements}
    assert sum(tag == "circle" and "data-place" in of for tag, of in page.elements) == len(made.sheet.places)
    made.save(tmp_path / "n.html")
    assert (tmp_path / "n.html").read_text(encoding="utf-8") == made.to_html()
    with pytest.raises(ValueError, match=r"n\.doc: cannot infer the format"):
        made.save(tmp_path / "n.doc")
    width, height = made.plot().get_size_inches() * 25.4
    assert (width, height) == pytest.approx((210, 297))
    assert repr(made).startswith("<Nomogram of ")
    assert made._repr_html_().startswith("<iframe")


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")])
def test_pictures(kind, start, tmp_path):
    X, y = load_iris()
    nomogram(MODELS["nb"].fit(X, y)).save(tmp_path / f"n.{kind}")
    assert (tmp_path / f"n.{kind}").read_bytes().startswith(start)


def test_to_frame():
    X, y = load_iris()
    classifier = MODELS["nb"].fit(X, y)
    made = nomogram(classifier, against="virginica")
    frame = made.to_frame()
    assert set(frame["class"]) == {"setosa", "versicolor"}
    assert frame.groupby(["class", "feature"])["points"].min().abs().max() < 1e-9
    assert frame["points"].max() == pytest.approx(100)
    assert len(frame) == 2 * sum(map(len, (classifier.vocabulary_.states[name] for name in X)))


REFUSED = [
    (AODEClassifier(n_jobs=1), load_lenses, {}, TypeError, "learn one network, such as TANClassifier"),
    (NaiveBayesClassifier(parameters="ml"), load_lenses, {}, ValueError, "holds zeros.*parameters='eap'"),
    (NaiveBayesClassifier(), load_lenses, {"most": 0}, ValueError, "most must be a whole number above 0, not 0"),
    (NaiveBayesClassifier(), load_lenses, {"against": "w"}, ValueError, "against must be one of the classes"),
    (ANBClassifier(continuous="universal"), load_iris, {}, ValueError, "there is no nomogram of this"),
]


@pytest.mark.parametrize(("classifier", "table", "options", "error", "text"), REFUSED)
def test_refusals(classifier, table, options, error, text):
    with pytest.raises(error, match=text):
        nomogram(classifier.fit(*table()), **options)
