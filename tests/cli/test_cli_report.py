"""``anbexact report`` and ``anbexact panel``."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pages import Page

import anbexact
from anbexact import NaiveBayesClassifier
from anbexact.classifiers import AveragedTANClassifier
from anbexact.cli import main, panel
from anbexact.datasets import load_anes96


@pytest.fixture(scope="module", name="learned")
def _learned(tmp_path_factory):
    """Return a folder with a table and a classifier of it."""
    folder = tmp_path_factory.mktemp("learned")
    X, y = load_anes96()
    table = X.assign(vote=y, weight=[1.0 + k % 3 for k in range(len(y))], room=1)
    table.to_csv(folder / "anes.csv", index=False)
    NaiveBayesClassifier(ess=1.0, n_jobs=1).fit(X.astype({"educ": str, "income": str}), y).save(folder / "m.json")
    return folder


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch, learned):
    """Run every test in a folder of its own, with the table and the classifier in it."""
    monkeypatch.chdir(tmp_path)
    for name in ("anes.csv", "m.json"):
        shutil.copy(learned / name, name)


def run(capsys, *args):
    code = main([str(arg) for arg in args])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_page(capsys):
    code, out, err = run(capsys, "report", "m.json", "anes.csv", "--folds", "2", "--models", "TAN", "-o", "r.html")
    assert (code, out) == (0, "")
    assert "r.html: " in err
    page = Page(Path("r.html").read_text(encoding="utf-8").removeprefix("<!doctype html>\n"))
    text = " ".join(page.text)
    for said in ("NB (this model)", "NB refitted", "TAN", "class frequencies", "2-fold cross-validation"):
        assert said in text
    assert "anbexact report m.json anes.csv --folds 2 --seed 0 --models TAN" in text
    assert "ignoring the columns 'weight', 'room'" in err


def test_json_and_markdown(capsys):
    how = ["report", "m.json", "anes.csv", "--no-validation", "--weights", "weight"]
    code, out, _ = run(capsys, *how, "--json")
    document = json.loads(out)
    assert code == 0
    assert sum(of["rows"] for of in document["data"]["classes"]) == sum(1 + k % 3 for k in range(944))
    assert len(document["influence"]["features"]) == 9
    assert document["reproduce"]["command"].endswith("--no-validation --weights weight")
    code, out, _ = run(capsys, *how, "--markdown")
    assert code == 0
    assert out.startswith("# vote: naive Bayes")
    assert "| Clinton |" in out
    assert not list(Path().glob("*.html"))


def test_costs_by_class_or_from_a_file(capsys):
    how = ["report", "m.json", "anes.csv", "--no-validation", "--json"]
    Path("costs.csv").write_text("true,Dole,Clinton\nClinton,1,0\nDole,0,3\n", encoding="utf-8")
    made = []
    for given in (["--cost", "Dole=3"], ["--costs", "costs.csv"]):
        code, out, _ = run(capsys, *how, *given, "--reject", "0.4")
        assert code == 0
        document = json.loads(out)
        by_class = {of["true_class"]: of["by_decision"] for of in document["decisions"]["costs"]}
        assert by_class["Dole"] == {"Clinton": 3.0, "Dole": 0.0, "(reject)": 0.4}
        made.append({of["rule"]: of["cost"] for of in document["decisions"]["rules"]})
        assert document["reproduce"]["command"].endswith(f"{' '.join(given)} --reject 0.4")
    assert made[0] == pytest.approx(made[1])
    for given, message in (
        (["--costs", "none.csv"], "--costs none.csv"),
        (["--costs", "anes.csv"], "--costs anes.csv"),
        (["--costs", "costs.csv", "--cost", "Dole=3"], "exclude each other"),
    ):
        code, _, err = run(capsys, *how, *given)
        assert code != 0
        assert message in err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["report", "m.json", "anes.csv", "-o", "r.pdf"], "cannot infer the format"),
        (["report", "m.json", "anes.csv", "-o", "no/r.html"], "does not exist"),
        (["report", "m.json", "anes.csv", "--json", "-o", "r.html"], "not both"),
        (["report", "m.json", "anes.csv", "--models", "forest"], "--models must be names of models, not ['forest']"),
        (["report", "m.json", "anes.csv", "--folds", "1"], "--folds must be a whole number"),
        (["report", "m.json", "anes.csv", "--weights", "height"], "no column 'height'"),
        (["report", "m.json", "short.csv"], "needs the true classes"),
        (["report", "m.json", "empty.csv"], "empty.csv has column names, but no rows"),
        (["panel", "m.json", "--no-open", "-o", "p.txt"], "use the extension .html"),
        (["panel", "tan.json", "--no-open"], "AveragedTANClassifier averages over more networks"),
        (["panel", "m.json", "--no-open", "--cost", "Perot=3"], "--cost 'Perot=3'"),
    ],
)
def test_refusals(args, message, capsys):
    X, y = load_anes96()
    X.to_csv("short.csv", index=False)
    X[:0].to_csv("empty.csv", index=False)
    AveragedTANClassifier(n_jobs=1, ess=1.0).fit(X[["PID", "educ"]], y).save("tan.json")
    code, _, err = run(capsys, *args)
    assert code == 2
    assert message in err


def test_the_panel_opens_in_a_browser_unless_told_not_to(capsys, monkeypatch):
    opened = []
    monkeypatch.setattr(panel.webbrowser, "open", lambda uri: opened.append(uri) or len(opened) < 2)
    assert run(capsys, "panel", "m.json", "--no-open")[0] == 0
    assert opened == []
    text = Path("m.panel.html").read_text(encoding="utf-8")
    assert "evidence-panel" in text
    assert run(capsys, "panel", "m.json", "-o", "p.html")[0] == 0
    assert opened == [Path("p.html").resolve().as_uri()]
    assert "no browser was found: open p.html yourself" in run(capsys, "panel", "m.json", "-o", "p.html")[2]
    assert anbexact.load("m.json").classes_.tolist() == ["Clinton", "Dole"]


def test_a_panel_starts_with_the_costs_that_are_given(capsys):
    Path("costs.csv").write_text("true,Dole,wait,Clinton\nClinton,1,0.4,0\nDole,0,0.4,3\n", encoding="utf-8")
    found = []
    for given in (["--costs", "costs.csv"], ["--cost", "Dole=3", "--reject", "0.4"], []):
        assert run(capsys, "panel", "m.json", "--no-open", "-o", "p.html", *given)[0] == 0
        page = Page(Path("p.html").read_text(encoding="utf-8").removeprefix("<!doctype html>\n"))
        data = json.loads(next(text for text in page.text if text.startswith("{")))
        found.append((data.get("decisions"), data.get("costs")))
    assert found == [
        (["Dole", "wait", "Clinton"], [[1.0, 0.4, 0.0], [0.0, 0.4, 3.0]]),
        (["Clinton", "Dole", "(reject)"], [[0.0, 1.0, 0.4], [3.0, 0.0, 0.4]]),
        (None, None),
    ]


def test_groups_and_a_card(tmp_path, monkeypatch, capsys):
    """``--by`` takes a column that is no feature; ``--card`` writes Markdown, and the command is part of it."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 3, 80), "sex": rng.choice(["f", "m"], 80)})
    frame["outcome"] = np.where(frame["a"] + rng.integers(0, 2, 80) > 1, "ill", "well")
    frame.to_csv("data.csv", index=False)
    frame.drop(columns="sex").to_csv("used.csv", index=False)
    assert main(["fit", "used.csv", "--class", "outcome", "--model", "nb", "-o", "model.json"]) == 0
    options = ["--by", "sex", "--by", "a", "--card", "--use", "Teaching.", "--no-validation"]
    assert main(["report", "model.json", "data.csv", *options]) == 0
    text = (tmp_path / "card.md").read_text(encoding="utf-8")
    assert "Predictions of well by sex" in text
    assert "Predictions of well by a" in text
    assert "Teaching." in text
    assert "--by sex --by a --card --use Teaching." in text
    capsys.readouterr()
    assert main(["report", "model.json", "data.csv", "--use", "Teaching."]) == 2
    assert "pass --card, too" in capsys.readouterr().err
    assert main(["report", "model.json", "data.csv", "--by", "age"]) == 2
    assert "age" in capsys.readouterr().err
