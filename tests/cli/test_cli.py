"""The command line: what it prints, where, and with which exit code."""

import io
import json
import math
import re
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import anbexact
from anbexact import (
    AdditiveClassifier,
    ANBClassifier,
    AutoClassifier,
    NaiveBayesClassifier,
    RefittedClassifier,
    TANClassifier,
)
from anbexact._runtime import spread
from anbexact.classifiers import AODEClassifier
from anbexact.cli import main
from anbexact.compare import COLUMNS
from anbexact.compare.folds import prepare
from anbexact.datasets import load_anes96, load_dataset, load_monks
from anbexact.search.exact import plan
from anbexact.show.report.text import read_comparison

MONKS_ARCS = [["head_shape", "body_shape"], ["jacket_color", "body_shape"]]


@cache
def files():
    """Two tables, as text by file name."""
    anes, vote = load_anes96()
    monks, monk = load_monks(1)
    return {
        "anes.csv": anes.assign(vote=vote).to_csv(index=False),
        "monks.csv": monks.assign(monk=monk.to_numpy()).to_csv(index=False),
    }


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """Run every test in a folder of its own, with two tables in it."""
    monkeypatch.chdir(tmp_path)
    for name, text in files().items():
        Path(name).write_text(text, encoding="utf-8")


def run(capsys, *args):
    """Return exit code, standard output and standard error."""
    code = main([str(arg) for arg in args])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def error_of(capsys, *args, code=2):
    """Return the one line of an error."""
    got, _, err = run(capsys, *args)
    assert got == code
    *notes, line = err.splitlines()
    assert all(note.startswith("anbexact: note: ") for note in notes)
    assert line.startswith("anbexact: error: ")
    return line.removeprefix("anbexact: error: ")


@pytest.mark.slow
def test_workers_change_nothing(capsys, monkeypatch):
    """The models of a comparison are measured in other processes."""
    arguments = [
        "compare",
        "monks.csv",
        "--class",
        "monk",
        "--models",
        "NB,TAN",
        "--folds",
        "2",
        "--no-refit",
        "--json",
    ]
    _, alone, _ = run(capsys, *arguments)
    asked = []
    usual = spread.worker_count
    monkeypatch.setattr(spread, "worker_count", lambda: asked.append(usual()) or asked[-1])
    code, shared, err = run(capsys, *arguments, "--workers", "2")
    assert (code, err) == (0, "")
    assert 2 in asked
    expected, found = ([without_times(model) for model in json.loads(text)["models"]] for text in (alone, shared))
    assert found == expected


def without_times(model):
    return {name: value for name, value in model.items() if not name.endswith("_seconds")}


def test_fit_prints_what_was_learned(capsys):
    arguments = ["--class", "vote", "-o", "m.json", "--discretizer", "median", "--ess", "1"]
    code, out, err = run(capsys, "fit", "--model", "anb", "anes.csv", *arguments)
    assert (code, err) == (0, "")
    assert "anes.csv: 944 rows, 9 features" in out
    assert "class vote: Clinton (551), Dole (393)" in out
    assert "cut points (median): popul at 22; age at 44" in out
    assert "TVnews -> age" in out
    assert "score (BDeu) -11204.839 nats in total" in out
    assert "certificate: proved optimal (lattice dynamic programme" in out
    assert "accuracy on the rows it was learned from: 0.9163" in out
    assert out.endswith("saved to m.json\n")
    X, y = load_anes96()
    X[["educ", "income"]] = X[["educ", "income"]].astype(str)  # a file does not declare categories
    assert anbexact.load("m.json").score(X, y) == ANBClassifier(discretizer="median", ess=1.0).fit(X, y).score(X, y)


def test_a_model_of_a_newer_version_is_refused_in_one_sentence(capsys):
    run(capsys, "fit", "monks.csv", "--class", "monk", "--model", "nb", "-o", "m.json")
    document = json.loads(Path("m.json").read_text())
    document.update(format_version=99, package_version="9.0")
    Path("m.json").write_text(json.dumps(document))
    for command in ("predict m.json monks.csv", "report m.json monks.csv", "sample m.json -n 2"):
        message = error_of(capsys, *command.split())
        assert message.startswith("m.json was written by anbexact 9.0 in format 99, but anbexact ")
        assert message.endswith(": upgrade anbexact")
        assert ". " not in message


def test_fit_json(capsys):
    arguments = ["--class", "vote", "--json", "--ess", "2", "--threads", "1", "--discretizer", "median"]
    code, out, _ = run(capsys, "fit", "--model", "anb", "anes.csv", *arguments)
    document = json.loads(out)
    assert code == 0
    assert document["rows"] == document["rows_trained"] == 944
    assert document["ess"] == 2.0
    assert document["classes"] == ["Clinton", "Dole"]
    assert document["cut_points"] == {"popul": [22.0], "age": [44.0]}
    assert document["certificate"]["optimal"] is True
    assert document["certificate"]["gap"] == 0.0
    assert document["saved_to"] is None


def test_fit_options_reach_the_search(capsys):
    _, out, _ = run(capsys, "fit", "--model", "anb", "monks.csv", "--class", "monk", "--json")
    assert json.loads(out)["feature_edges"] == MONKS_ARCS
    assert json.loads(out)["training_accuracy"] == 1.0
    _, out, _ = run(capsys, "fit", "--model", "anb", "monks.csv", "--class", "monk", "--json", "--max-parents", "0")
    assert json.loads(out)["feature_edges"] == []
    code, out, _ = run(capsys, "fit", "monks.csv", "--class", "monk", "--model", "nb")
    assert code == 0
    assert "naive Bayes (NB)" in out
    assert "no arcs between features" in out
    wide = pd.DataFrame(np.random.default_rng(0).integers(2, size=(300, 19)))  # seconds, without limit
    wide.rename(columns=lambda k: f"x{k}").assign(y=np.arange(300) % 2).to_csv("wide.csv", index=False)
    code, out, _ = run(capsys, "fit", "--model", "anb", "wide.csv", "--class", "y", "--time-limit", "1e-9")
    assert code == 0
    assert "not proved optimal: gap at most" in out


def test_fit_with_weights(capsys):
    table = pd.read_csv("monks.csv")
    weights = np.arange(len(table)) % 3 / 2
    table.assign(w=weights).to_csv("weighted.csv", index=False)
    code, out, _ = run(
        capsys, "fit", "--model", "anb", "weighted.csv", "--class", "monk", "--weights", "w", "-o", "m.json"
    )
    assert code == 0
    assert "432 rows, weighted by w, 6 features" in out
    assert "\n288 rows to learn from; the others have missing cells or no weight" in out
    X = table.drop(columns="monk")
    expected = ANBClassifier().fit(X, table["monk"], sample_weight=weights)
    assert np.array_equal(anbexact.load("m.json").predict_proba(X), expected.predict_proba(X))
    assert "no column 'v'" in error_of(
        capsys, "fit", "--model", "anb", "weighted.csv", "--class", "monk", "--weights", "v"
    )
    line = error_of(capsys, "fit", "--model", "anb", "weighted.csv", "--class", "monk", "--weights", "is_smiling")
    assert "--weights: column 'is_smiling' contains cells that are not numbers" in line
    table.assign(w=-1.0).to_csv("negative.csv", index=False)
    line = error_of(capsys, "fit", "--model", "anb", "negative.csv", "--class", "monk", "--weights", "w")
    assert "--weights, row 0 (counted from 0), is -1.0: every weight must be a finite number, zero or more" in line


@pytest.mark.parametrize("name", ["a.csv.gz", "a.parquet"])
def test_other_files(capsys, name):
    table = pd.read_csv("monks.csv")
    table.to_csv(name, index=False) if name.endswith("gz") else table.to_parquet(name)
    code, out, _ = run(capsys, "fit", "--model", "anb", name, "--class", "monk", "-o", "m.json")
    assert code == 0
    assert "head_shape, jacket_color -> body_shape" in out
    code, out, err = run(capsys, "predict", "m.json", name)
    assert code == 0
    assert out.splitlines()[1:] == table["monk"].tolist()
    assert err == "anbexact: note: accuracy 1.0000 on the 432 rows whose monk is given\n"


def test_missing_cells(capsys):
    text = "a,b,y\nx,1,p\n?,2,q\nNone,,q\nx,2,\nNone,1,p\nNone,2,q\n"
    Path("t.csv").write_text(text)
    code, out, err = run(capsys, "fit", "--model", "anb", "t.csv", "--class", "y", "-o", "m.json")
    assert code == 0
    assert err == "anbexact: note: 1 of 6 rows has a missing y and is left out\n"
    assert "t.csv: 5 rows, 2 features" in out
    assert "to learn from" not in out
    assert "a missing cell is a state of its own in: a, b" in out
    assert anbexact.load("m.json").vocabulary_.states["a"] == ("None", "x", "(missing)")
    code, out, err = run(
        capsys, "fit", "--model", "anb", "t.csv", "--class", "y", "--missing", "marginalize", "-o", "m.json"
    )
    assert code == 0
    assert "2 of 5 rows have a missing feature" in err
    assert "3 rows to learn from" in out
    assert anbexact.load("m.json").vocabulary_.states["a"] == ("None", "x")


@pytest.mark.parametrize("labels", ["pq", "10"], ids=["texts", "numbers"])
def test_rows_without_a_class(capsys, labels):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 80)
    features = {name: np.where(rng.random(80) < 0.8, truth, 1 - truth) for name in "abd"}
    table = pd.DataFrame(features).assign(y=[labels[k] if t % 4 == 0 else None for t, k in enumerate(truth)], w=1.5)
    table.to_csv("t.csv", index=False)
    options = ("fit", "t.csv", "--class", "y", "--weights", "w", "--model", "nb", "--ess", "1", "--smoothing", "1")
    code, out, err = run(capsys, *options, "--missing", "em", "--missing-class", "em", "-o", "m.json")
    assert code == 0
    assert err == "anbexact: note: 60 of 80 rows have a missing y; the network is learned from them, too\n"
    assert "t.csv: 80 rows, weighted by w, 3 features" in out
    assert "to learn from" not in out
    learned = anbexact.load("m.json")
    y = table["y"] if labels == "pq" else table["y"].astype("Int64")
    X = table[["a", "b", "d"]]
    model = NaiveBayesClassifier(ess=1.0, smoothing=1.0, handle_missing="em", missing_class="em", n_jobs=1)
    model.fit(X, y, sample_weight=table["w"])
    assert learned.classes_.tolist() == model.classes_.tolist() == (["p", "q"] if labels == "pq" else [0, 1])
    assert np.allclose(learned.predict_proba(X), model.predict_proba(X), atol=1e-12)
    refused = error_of(capsys, *options, "--missing-class", "em")
    assert "--missing-class em needs --missing em or --missing own_state" in refused


def test_missing_cells_refused(capsys):
    Path("t.csv").write_text("a,b,y\nx,1,p\n,2,q\nx,,q\n")
    assert "2 of 3 rows have a missing feature" in error_of(
        capsys, "fit", "--model", "anb", "t.csv", "--class", "y", "--missing", "error"
    )
    Path("t.csv").write_text("a,b,y\nx,1,p\n,2,q\n,1,q\ny,1,p\n")
    refused = error_of(capsys, "fit", "--model", "anb", "t.csv", "--class", "y", "--missing", "marginalize")
    assert (
        "the class 'q' of 'y' would be lost: all of its 2 rows have a missing feature, most often 'a', in 2 rows"
        in refused
    )
    assert refused.rstrip().endswith("or use --missing auto or --missing own_state")


def test_identifiers(capsys):
    rows = "".join(f"{i},n{i},{'uv'[i % 2]},{'pq'[i % 3 == 0]}\n" for i in range(60))
    Path("t.csv").write_text("id,name,a,y\n" + rows)
    code, out, err = run(capsys, "fit", "--model", "anb", "t.csv", "--class", "y", "-o", "m.json")
    assert code == 0
    assert "each column that looks like an identifier is left out: 'id' (" in err
    assert err.count("pass --keep-identifiers to use them") == 1
    assert "left out because they look like identifiers: id (a different whole number in each of 60 rows" in out
    Path("new.csv").write_text("a\nu\n")
    assert run(capsys, "predict", "m.json", "new.csv")[0] == 0
    code, out, err = run(capsys, "fit", "--model", "anb", "t.csv", "--class", "y", "--keep-identifiers", "--json")
    assert (code, json.loads(out)["dropped"]) == (0, {})
    assert "identifier" not in err


@pytest.mark.slow
def test_weights_in_compare(capsys):
    table = pd.read_csv("anes.csv").iloc[:200]
    table.assign(w=np.where(np.arange(200) % 4 == 0, 0.0, 1.5)).to_csv("w.csv", index=False)
    arguments = ("--class", "vote", "--models", "NB", "--folds", "2", "--no-refit", "--json")
    code, out, _ = run(capsys, "compare", "w.csv", "--weights", "w", *arguments)
    document = json.loads(out)
    assert (code, document["weights"], document["rows"]) == (0, "w", 150)
    assert "w" not in document["learned"]["features"]
    table[np.arange(200) % 4 != 0].to_csv("rows.csv", index=False)
    plain = json.loads(run(capsys, "compare", "rows.csv", *arguments)[1])
    assert document["models"][0]["accuracy"] == pytest.approx(plain["models"][0]["accuracy"], abs=0.05)
    assert "--weights: w.csv has no column 'nobody'" in error_of(
        capsys, "compare", "w.csv", "--weights", "nobody", *arguments
    )


def test_predict_by_name(capsys):
    """Columns in another order, extra ones, the class among them or not."""
    table = pd.read_csv("anes.csv")
    X, y = table.drop(columns="vote"), table["vote"]
    classifier = ANBClassifier().fit(X, y)
    classifier.save("m.json")
    expected = classifier.predict_proba(X)
    X.iloc[:, ::-1].assign(extra=1).to_csv("new.csv", index=False)
    code, out, err = run(capsys, "predict", "m.json", "new.csv", "--proba")
    assert code == 0
    assert err == "anbexact: note: ignoring the column 'extra', not used by m.json\n"
    got = pd.read_csv(io.StringIO(out), dtype=str).astype({"P(Clinton)": float, "P(Dole)": float})
    assert got.columns.tolist() == ["predicted", "P(Clinton)", "P(Dole)"]
    assert np.array_equal(got[["P(Clinton)", "P(Dole)"]].to_numpy(), expected)
    assert got["predicted"].tolist() == classifier.predict(X).tolist()
    code, out, err = run(capsys, "predict", "m.json", "anes.csv", "-o", "out.csv")
    assert (code, out) == (0, "")
    assert err == f"anbexact: note: accuracy {classifier.score(X, y):.4f} on the 944 rows whose vote is given\n"
    assert pd.read_csv("out.csv").columns.tolist() == ["predicted"]


def test_predict_missing_columns(capsys):
    NaiveBayesClassifier().fit(*load_anes96()).save("m.json")
    load_anes96()[0].drop(columns=["PID", "age"]).to_csv("new.csv", index=False)
    line = error_of(capsys, "predict", "m.json", "new.csv")
    assert line == "new.csv lacks the columns 'PID', 'age', required by m.json"


def test_predict_keeps_text_as_text(capsys):
    """States that were text stay text in a file where all of them look like numbers."""
    Path("t.csv").write_text("code,y\n1,p\n2,q\nx,p\n2,q\n1,p\nx,p\n")
    Path("new.csv").write_text("code,y\n1,p\n2,\n,q\n")
    run(capsys, "fit", "--model", "anb", "t.csv", "--class", "y", "-o", "m.json")
    code, out, err = run(capsys, "predict", "m.json", "new.csv")
    assert (code, out.split()) == (0, ["predicted", "p", "q", "p"])
    assert err == "anbexact: note: accuracy 0.5000 on the 2 rows whose y is given\n"


def test_predict_says_what_it_does_not_know(capsys):
    run(capsys, "fit", "--model", "anb", "monks.csv", "--class", "monk", "-o", "m.json")
    pd.read_csv("monks.csv").replace({"jacket_color": {"red": "pink"}}).to_csv("new.csv", index=False)
    code, _, err = run(capsys, "predict", "m.json", "new.csv")
    assert code == 0
    assert "column 'jacket_color': 108 cells contain an unknown state (first: 'pink') and are summed out" in err


def test_predict_numbered_columns(capsys):
    """Names that are no text are matched by their text."""
    X, y = load_monks(1)
    NaiveBayesClassifier().fit(X.set_axis(range(6), axis=1), y.to_numpy()).save("m.json")
    X.set_axis(range(6), axis=1).iloc[:, ::-1].to_csv("new.csv", index=False)
    code, out, _ = run(capsys, "predict", "m.json", "new.csv")
    assert code == 0
    assert out.split()[1:] == NaiveBayesClassifier().fit(X, y).predict(X).tolist()


@pytest.mark.parametrize("options", [(), ("--json",), ("-o", "old.csv")])
def test_compare_says_if_no_model_ended_in_time(capsys, options):
    Path("old.csv").write_text("old")
    command = ("compare", "monks.csv", "--class", "monk", "--models", "NB", "--folds", "2", "--time-limit", "1e-9")
    code, out, err = run(capsys, *command, *options)
    assert (code, "± standard error" in out) == (2, False)
    limit = "no model ended within the time limit of 1e-09 s: pass a longer --time-limit, or none"
    assert err == f"anbexact: error: {limit}\n"
    assert Path("old.csv").read_text() == "old"


@pytest.mark.slow
@pytest.mark.usefixtures("few_members")
def test_compare_on_the_embedded_table(capsys):
    code, out, err = run(capsys, "compare", "--time-limit", "none")
    assert (code, err) == (0, "")
    assert out.startswith("tic_tac_toe, a built-in table. The 958 distinct boards")
    for text in ("NB  ", "ANB  ", "smooth shapes"):
        assert text in out
    assert "5-fold cross-validation, structure and cut points relearned in every fold" in out
    assert "top_middle = " in out
    detail = r"row \d+, one of 192 rows that are held out while the model is learned again from the other 766"
    assert re.search(detail, " ".join(out.split()))
    assert "They describe association, not cause and effect" in out
    assert not re.search("rightly|wrongly", out)
    lines = out.splitlines()
    assert any(line.startswith("Recommended: auto, which has the lowest log loss") for line in lines)
    assert "auto, learned from all rows" in out
    assert max(map(len, lines)) <= 120
    first = next(k for k, line in enumerate(lines) if line.startswith("class frequencies"))
    table = lines[first - 1 : first + 12]
    assert max(map(len, table)) <= 110
    names = [line.split("  ")[0] for line in table[1:]]
    others = ["logistic regression", "random forest", "gradient boosting", "class frequencies"]
    networks = ("NB", "TAN", "ANB")
    assert set(names) == {*networks, *(f"{name} refitted" for name in networks), "TAN smooth", "auto", *others}
    losses = dict(zip(names, [float(line.split()[-6]) for line in table[1:]], strict=True))
    assert losses["NB"] > losses["TAN"] > losses["ANB"] > losses["TAN smooth"] > losses["auto"]
    assert losses["TAN smooth"] < losses["NB refitted"]
    assert losses["TAN smooth"] < min(losses[name] for name in others)
    assert "parameters" in table[0]
    assert "Lowest log loss: auto" in out


@pytest.mark.slow
def test_compare_without_refits(capsys):
    code, out, _ = run(capsys, "compare", "--dataset", "lenses", "--folds", "2", "--no-refit")
    assert code == 0
    assert not re.search(r"^\S.* refitted  ", out, re.MULTILINE)
    assert "Lowest log loss: " in out


@pytest.mark.slow
def test_compare_own_table(capsys):
    options = (
        "--class",
        "monk",
        "--folds",
        "3",
        "--models",
        "NB,TAN,ANB,logistic regression",
        "--no-refit",
        "--json",
        "-o",
        "measured.csv",
    )
    code, out, _ = run(capsys, "compare", "monks.csv", *options)
    document = json.loads(out)
    assert code == 0
    assert document["folds"] == 3
    names = [row["model"] for row in document["models"]]
    assert names == ["NB", "TAN", "ANB", "logistic regression"]
    assert document["recommendation"]["model"] == document["learned"]["model"] == "ANB"
    assert set(document["models"][0]) == {"model", "refit_of", *COLUMNS}
    assert document["models"][2]["accuracy"] == 1.0
    measured = pd.read_csv("measured.csv", index_col="model")
    assert measured.index.tolist() == names
    for row in document["models"]:
        expected = [row[name] for name in COLUMNS]
        assert measured.loc[row["model"], list(COLUMNS)].tolist() == pytest.approx(expected)
    assert document["models"][2]["cll"] == pytest.approx(-432 * document["models"][2]["log_loss"])
    assert document["learned"]["feature_edges"] == MONKS_ARCS
    query = document["query"]
    last = query["posteriors"][-1]["posterior"]
    X, y = load_monks(1)
    kept = np.concatenate([train for train, test in prepare(X, y, None, 3, 0).splits if query["row"] in test])
    assert query["rows_learned"] == len(kept) == 288
    assert query["rows_left_out"] == 144
    classifier = ANBClassifier().fit(X.iloc[kept], y.iloc[kept])
    assert list(last.values()) == pytest.approx(classifier.predict_proba(X)[query["row"]], abs=1e-10)
    assert max(term["of"] for term in query["explanation"]["terms"]) <= 288
    nats = [term["nats"] for term in query["explanation"]["terms"]]
    assert sum(nats) == pytest.approx(query["explanation"]["log_odds"])


def test_reading_a_comparison():
    """Only what the printed digits say; a line without numbers is none of the networks."""
    frame = pd.DataFrame(
        {
            "log_loss": [0.5, 0.4, 0.3, 0.30001, 0.2, 0.25, np.nan, np.nan, 0.2],
            "accuracy": [0.8, 0.8, 0.8, 0.8, 0.9, 0.8, np.nan, np.nan, 0.8],
        },
        index=["NB", "NB refitted", "TAN", "TAN refitted", "FAN", "FAN refitted", "ANB", "ANB refitted", "other"],
    )
    frame.attrs.update(rows=1000, refits={name: f"{name} refitted" for name in ("NB", "TAN", "FAN", "ANB")})
    assert read_comparison(frame) == [
        "Lowest log loss: FAN and other, 0.2000: on average, the true class gets a probability of 0.819 (geometric "
        "mean). Highest accuracy: FAN, 0.9000.",
        "Refitting lowered the log loss for 1 of 3 networks (NB by 0.1000), and raised it for 1 (FAN by 0.0500).",
    ]
    frame["log_loss"] = math.inf
    assert read_comparison(frame) == ["Refitting lowered the log loss for 0 of 4 networks."]
    frame["log_loss"] = math.nan
    assert read_comparison(frame) == []


@pytest.mark.slow
def test_compare_beyond_memory_falls_back(capsys, monkeypatch):
    monkeypatch.setattr(plan, "available_memory", lambda: 100_000)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 2, (60, 60))).add_prefix("v")
    table.assign(y=rng.integers(0, 3, 60)).to_csv("wide.csv", index=False)
    code, out, _ = run(capsys, "compare", "wide.csv", "--class", "y", "--folds", "2", "--models", "NB,ANB")
    assert code == 0
    assert "note: ANB could not be learned: scoring all families of 60 features with at most 1 parent needs" in out
    assert "NB refitted, learned from all rows" in out
    assert re.search(r"\d\d weaker terms together", out)
    line = error_of(capsys, "fit", "--model", "anb", "wide.csv", "--class", "y", code=1)
    assert "scoring all families of 60 features" in line
    assert "select features first" in line


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "the following arguments are required: COMMAND (see anbexact --help)"),
        (["learn"], "invalid choice: 'learn'"),
        (["fit", "monks.csv"], "the following arguments are required: --class (see anbexact fit --help)"),
        (["convert", "a.json", "-o", "b.xdsl"], "unrecognized arguments: -o (see anbexact convert --help)"),
        (["--brief"], "the following arguments are required: COMMAND (see anbexact --help)"),
        (["fit", "--model", "anb", "no.csv", "--class", "y"], "cannot read no.csv: No such file or directory"),
        (["fit", "--model", "anb", "no.parquet", "--class", "y"], "cannot read no.parquet: "),
        (["fit", "--model", "anb", ".", "--class", "y"], "cannot read .: Is a directory"),
        (
            ["fit", "--model", "anb", "monks.csv", "--class", "Monk"],
            "monks.csv has no column 'Monk'; did you mean 'monk'?",
        ),
        (
            ["fit", "--model", "anb", "monks.csv", "--class", "monk", "--ess", "0"],
            "--ess must be a finite number above 0, or 'auto', not 0.0",
        ),
        (
            ["fit", "--model", "anb", "monks.csv", "--class", "monk", "--ess", "x"],
            "argument --ess: 'x' is neither a number nor auto",
        ),
        (
            ["fit", "--model", "anb", "monks.csv", "--class", "monk", "--threads", "0"],
            "'0' is not a number of threads (1 or more)",
        ),
        (
            ["fit", "--model", "anb", "monks.csv", "--class", "monk", "--workers", "no"],
            "'no' is not a number of workers (1 or more)",
        ),
        (
            ["fit", "--model", "anb", "monks.csv", "--class", "monk", "--time-limit", "-1"],
            "--time-limit must be a number above 0",
        ),
        (["fit", "--model", "anb", "monks.csv", "--class", "monk", "-o", "no/m.json"], "no/m.json: the folder "),
        (
            ["fit", "monks.csv", "--class", "monk", "--model", "nb", "--max-parents", "1"],
            "does not apply to --model nb",
        ),
        (["predict", "no.json", "monks.csv"], "cannot read no.json: No such file or directory"),
        (["predict", "monks.csv", "monks.csv"], "monks.csv is not a classifier saved by anbexact"),
        (["compare", "monks.csv"], "DATA requires --class NAME, and --class NAME requires DATA"),
        (["compare", "--class", "y"], "DATA requires --class NAME, and --class NAME requires DATA"),
        (["compare", "monks.csv", "--class", "monk", "--dataset", "iris"], "pass DATA or --dataset, not both"),
        (["compare", "--dataset", "mnist"], "unknown dataset 'mnist'; known are anes96, "),
        (["compare", "--folds", "1"], "folds must be a whole number, 2 or more, not 1"),
    ],
)
def test_wrong_usage(capsys, args, message):
    assert message in error_of(capsys, *args)


@pytest.mark.parametrize(
    "args",
    [
        ["fit", "own.json", "--class", "y"],
        ["scorecard", "own.csv", "--class", "y"],
        ["compare", "own.json", "--class", "y"],
        ["predict", "m.json", "own.json"],
        ["predict", "own.json", "monks.csv"],
        ["report", "m.json", "own.json"],
        ["report", "own.json", "monks.csv"],
        ["sample", "own.json", "-n", "3"],
        ["panel", "own.html"],
        ["nomogram", "own.html"],
    ],
)
def test_what_is_read_is_not_written_over(capsys, args):
    """Even under another name."""
    own = Path(next(name for name in args if name.startswith("own")))
    own.write_text("precious")
    other = Path(f"other{own.suffix}")
    other.hardlink_to(own)
    for output in (own, other):
        line = error_of(capsys, *args, "-o", output)
        assert line == f"{output} is read by this command, and would be lost: write to another file"
        assert own.read_text() == "precious"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"a,y\n", "t.csv has column names, but no rows"),
        (b"a,a,y\n1,2,p\n", "two columns are called 'a'"),
        (b"a,,y\n0,1,p\n", "column 2 has no name; name it, or remove it"),
        (b"a,y\n1,p,9\n", "line 2 has 3 cells, but there are 2 column names"),
        (b"a,y\n1,p\n1,q,9\n", "cannot read t.csv: line 3 has 3 cells, but there are 2 column names"),
        (b"a~y\n1~p\n", "no column 'y'; its columns: 'a~y' (is another character the separator? --sep)"),
        (b"a,y\nu,\nv,\n", "every cell of the column y is missing"),
        (
            b"a,y\nu,1.5\nv,2.5\nv,0.1\n",
            "The class 'y' contains 3 different numbers, not all of them whole: these are measurements. Cut them "
            "into a few classes, or name the class in --text to predict each of them.",
        ),
        (b"y\np\nq\n", "no feature is left: there must be a column besides the class"),
    ],
)
def test_wrong_tables(capsys, content, message):
    Path("t.csv").write_bytes(content)
    assert message in error_of(capsys, "fit", "--model", "anb", "t.csv", "--class", "y")


def test_failures_during_work(capsys, monkeypatch):
    run(capsys, "fit", "--model", "anb", "monks.csv", "--class", "monk", "-o", "m.json")
    assert "no/out.csv: the folder " in error_of(capsys, "predict", "m.json", "monks.csv", "-o", "no/out.csv")
    wrapped = RuntimeError("Error calling __set_name__")
    wrapped.__cause__ = KeyboardInterrupt()  # as Python 3.11 does, where a class is made
    for error, code, message in (
        (KeyboardInterrupt(), 130, "interrupted"),
        (wrapped, 130, "interrupted"),
        (MemoryError(), 1, "memory ran out: pass fewer rows or columns, or allow the process more memory"),
        (RuntimeError("two\nlines"), 1, "RuntimeError: two lines"),
    ):

        def fail(*_, error=error, **__):
            raise error

        monkeypatch.setattr(ANBClassifier, "fit", fail)
        assert error_of(capsys, "fit", "--model", "anb", "monks.csv", "--class", "monk", code=code) == message


def test_interrupts_raise_only_during_the_work(capsys, monkeypatch):
    """Where Ctrl-C ends the process, as in the command before and after the work."""
    seen = []

    def fail(*_, **__):
        seen.append(signal.getsignal(signal.SIGINT))
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(ANBClassifier, "fit", fail)
    usual = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        assert error_of(capsys, "fit", "--model", "anb", "monks.csv", "--class", "monk", code=130) == "interrupted"
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
        assert main(["--help"]) == 0
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGINT, usual)
    assert seen == [signal.default_int_handler]


HANDLER = "import signal, sys; sys.argv = [{!r}]; import anbexact; print([signal.getsignal(signal.SIGINT)])"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "ends"),
    [
        (["-c", HANDLER.format("/usr/bin/anbexact")], True),
        (["-c", HANDLER.format("C:/Scripts/anbexact.exe")], True),
        (["-c", HANDLER.format("mine.py")], False),
        (["-m", "own_program"], False),
    ],
)
def test_an_interrupt_of_the_imports_ends_the_command_and_nothing_else(arguments, ends, tmp_path):
    (tmp_path / "own_program.py").write_text(HANDLER.partition(";")[0] + HANDLER[HANDLER.index("; import anb") :])
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)  # which the process inherits
    try:
        done = subprocess.run([sys.executable, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True)
    finally:
        signal.signal(signal.SIGINT, usual)
    assert ("SIG_DFL" in done.stdout, "default_int_handler" in done.stdout) == (ends, not ends)


@pytest.fixture
def repetitive():
    """Write a table of a rare class, and of features that say the same about it: networks count it many times."""
    rng = np.random.default_rng(0)
    ill = rng.random(400) < 0.12
    once = rng.random(400) < np.where(ill, 0.75, 0.45)
    copies = once[:, None] ^ (rng.random((400, 30)) < 0.03)
    frame = pd.DataFrame(np.where(copies, "yes", "no"), columns=[f"test{j}" for j in range(30)])
    frame.assign(ill=np.where(ill, "ill", "well")).to_csv("tests.csv", index=False)
    shares = np.array([ill.mean(), 1 - ill.mean()])
    return -float(shares @ np.log(shares))


@pytest.mark.slow
def test_the_default_predicts_no_worse_than_the_frequencies(capsys, repetitive):
    code, out, err = run(capsys, "fit", "tests.csv", "--class", "ill", "-o", "m.json", "--json")
    assert code == 0
    assert json.loads(out)["model"] == "auto"
    assert "worse than" not in err
    table = pd.read_csv("tests.csv")
    ill = table.pop("ill")
    model = anbexact.load("m.json")
    right = model.predict_proba(table)[np.arange(len(table)), np.searchsorted(model.classes_, ill)]
    assert -np.log(right).mean() < repetitive


@pytest.mark.usefixtures("repetitive")
@pytest.mark.parametrize("options", [("--model", "anb"), ("--max-parents", "1"), ("--model", "tan")])
def test_a_model_that_was_asked_for_is_kept_with_a_note(capsys, options):
    code, _, err = run(capsys, "fit", "tests.csv", "--class", "ill", *options, "-o", "m.json")
    assert code == 0
    assert "predicted worse than by the class frequencies" in err
    assert "Use --model nb --smooth instead" in err
    assert "learned instead" not in err
    assert not isinstance(anbexact.load("m.json"), AdditiveClassifier)


def few(n=40):
    """Write a table of two features, one of which decides the class."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(2, size=n), "b": rng.integers(2, size=n)})
    frame.assign(k=np.where(frame["a"] == 1, "yes", "no")).to_csv("few.csv", index=False)


def test_without_options_the_best_models_in_the_budget_are_learned(capsys):
    few()
    code, out, _ = run(capsys, "fit", "few.csv", "--class", "k", "-o", "m.json")
    assert code == 0
    assert "automatically chosen models" in out
    assert isinstance(anbexact.load("m.json"), AutoClassifier)
    assert "budget" not in out
    code, out, _ = run(capsys, "fit", "few.csv", "--class", "k", "--time-budget", "1e-9")
    assert code == 0
    assert "the budget of 1e-09 s was too short for" in out


@pytest.mark.parametrize(
    "options", [("--ess", "1"), ("--max-parents", "1"), ("--refit",), ("--missing", "em"), ("--time-limit", "9")]
)
def test_options_of_networks_choose_the_network(capsys, options):
    few()
    code, out, _ = run(capsys, "fit", "few.csv", "--class", "k", *options, "--json")
    assert code == 0
    assert json.loads(out)["model"] == "anb"


def test_a_budget_is_for_the_default_alone(capsys):
    few()
    assert "--time-budget does not apply to --model anb" in error_of(
        capsys, "fit", "few.csv", "--class", "k", "--model", "anb", "--time-budget", "9"
    )


def test_progress_on_a_terminal_only(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    code, _, err = run(capsys, "fit", "--model", "anb", "monks.csv", "--class", "monk", "-o", "m.json")
    assert code == 0
    assert "done" not in err
    assert err.endswith("\r\033[K")
    assert anbexact.load("m.json").verbose == 0


@pytest.mark.slow
def test_process():
    """The command itself: a byte-order mark, and an error."""
    command = [sys.executable, "-m", "anbexact"]
    Path("t.csv").write_bytes("\ufeffnaïve,y\nä,p\nö,q\nä,p\n".encode())
    fit = subprocess.run(
        [*command, "fit", "--model", "anb", "t.csv", "--class", "y", "--json"], capture_output=True, check=True
    )
    assert json.loads(fit.stdout)["features"] == ["naïve"]
    failed = subprocess.run(
        [*command, "fit", "--model", "anb", "t.csv", "--class", "z"], capture_output=True, text=True, check=False
    )
    assert failed.returncode == 2
    assert "Traceback" not in failed.stderr
    assert failed.stderr.count("\n") == 1


class TestConvert:
    @pytest.fixture(scope="class")
    def model(self, tmp_path_factory):
        folder = tmp_path_factory.mktemp("wine")
        X, y = load_dataset("wine")
        X.assign(kind=y).to_csv(folder / "wine.csv", index=False)
        arguments = [
            "fit",
            "--model",
            "anb",
            folder / "wine.csv",
            "--class",
            "kind",
            "-o",
            folder / "m.json",
            "--ess",
            "auto",
        ]
        assert main([str(argument) for argument in arguments]) == 0
        return folder / "m.json"

    @pytest.mark.parametrize("extension", [pytest.param("bif", marks=pytest.mark.slow), "xmlbif", "xdsl"])
    def test_there_and_back(self, model, tmp_path, capsys, extension):
        network, back = tmp_path / f"m.{extension}", tmp_path / "back.json"
        assert main(["convert", str(model), str(network)]) == 0
        out, err = capsys.readouterr()
        assert "classifies kind by 13 features" in out
        assert "names.json: keep the two together" in err
        assert "contains no counts" in err
        assert main(["convert", str(network), str(back)]) == 0
        for path in (network, back):
            predicted = tmp_path / "out.csv"
            arguments = ["predict", str(path), str(model.parent / "wine.csv"), "--proba", "-o", str(predicted)]
            assert main(arguments) == 0
            expected = anbexact.load(model).predict_proba(load_dataset("wine")[0])
            np.testing.assert_allclose(pd.read_csv(predicted).iloc[:, 1:], expected, rtol=1e-8)

    def test_refusals(self, model, tmp_path, capsys):
        for arguments, message in (
            ([model, tmp_path / "m.net"], "cannot infer the format"),
            ([model, tmp_path / "nowhere" / "m.bif"], "the folder "),
            ([tmp_path / "absent.bif", tmp_path / "m.json"], "cannot read"),
            ([model, tmp_path / "m.json", "--class", "ash"], "predicts 'kind' and nothing else: omit --class"),
        ):
            assert main(["convert", *map(str, arguments)]) == 2
            assert message in capsys.readouterr().err

    def test_a_network_without_its_names(self, model, tmp_path, capsys):
        network = tmp_path / "m.bif"
        assert main(["convert", str(model), str(network)]) == 0
        Path(f"{network}.names.json").unlink()
        capsys.readouterr()
        assert main(["convert", str(network), str(tmp_path / "n.json")]) == 2
        assert "pass --class, one of ['" in capsys.readouterr().err
        assert main(["convert", str(network), str(tmp_path / "n.json"), "--class", "kind"]) == 0
        assert anbexact.load(tmp_path / "n.json").vocabulary_.states["ash"][0].startswith("up_to")


def test_many_cut_points_of_a_column_are_counted(tmp_path, capsys):
    rows = np.arange(104)
    table = pd.DataFrame({"few": rows % 25, "many": rows % 26, "kind": np.where(rows < 50, "low", "high")})
    table.to_csv(tmp_path / "t.csv", index=False)
    assert main(["fit", "--model", "kernel", str(tmp_path / "t.csv"), "--class", "kind"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    each = ", ".join(f"{value + 0.5:g}" for value in range(24))
    assert f"cut points (quantiles): few at {each}; many at 25 points" in shown


def test_fit_with_everything_chosen(tmp_path, capsys):
    data = tmp_path / "wine.csv"
    X, y = load_dataset("wine")
    X.assign(kind=y).to_csv(data, index=False)
    arguments = ["fit", "--model", "anb", str(data), "--class", "kind", "--ess", "auto", "--discretizer", "mdlp"]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "cut points (mdlp): alcohol at" in out
    assert re.search(r"equivalent sample size [\d.]+ for the structure, [\d.]+ for the tables", out)
    assert main([*arguments, "--smoothing", "2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["smoothing"] == 2.0
    assert document["ess"] >= 1


@pytest.mark.parametrize("model", ["nb", "tan", "fan", "ckg", "kdb", "anb", "mcp"])
def test_every_model(capsys, model):
    code, out, _ = run(
        capsys, "fit", "monks.csv", "--class", "monk", "--model", model, "--score", "k2", "-o", "m.json"
    )
    assert code == 0
    assert "score (K2)" in out
    assert f"({ {'ckg': 'CkG', 'kdb': 'kDB'}.get(model, model.upper()) })" in out
    assert anbexact.load("m.json").score_name_ == "K2"
    code, out, _ = run(
        capsys, "fit", "monks.csv", "--class", "monk", "--model", model, "--parameters", "friedman", "--ess", "1"
    )
    assert "equivalent sample size 1, tables by friedman" in out


def test_k_belongs_to_ckg(capsys):
    _, out, _ = run(capsys, "fit", "monks.csv", "--class", "monk", "--model", "ckg", "--k", "1", "--json")
    assert json.loads(out)["feature_edges"] == [["head_shape", "body_shape"]]
    code, _, err = run(capsys, "fit", "monks.csv", "--class", "monk", "--model", "tan", "--k", "1")
    assert code == 2
    assert "--k does not apply to --model tan" in err


def test_aode_has_no_structure_to_print(capsys):
    arguments = ["fit", "monks.csv", "--class", "monk", "--model", "aode", "--ess", "2"]
    code, out, err = run(capsys, *arguments, "-o", "m.json")
    assert (code, err) == (0, "")
    assert "averaged one-dependence estimators (AODE), equivalent sample size 2" in out
    assert "monk and one feature -> every other feature, averaged over 6" in out
    assert "17 of 17 states of the one feature are used, those with training weight 1 or more" in out
    X, y = load_monks(1)
    expected = AODEClassifier(ess=2.0).fit(X, y)
    assert np.array_equal(anbexact.load("m.json").predict_proba(X), expected.predict_proba(X))
    code, out, _ = run(capsys, "predict", "m.json", "monks.csv")
    assert (code, out.splitlines()[1:]) == (0, expected.predict(X).tolist())
    code, out, _ = run(capsys, *arguments, "--json")
    document = json.loads(out)
    assert (document["ess"], document["min_weight"]) == (2.0, 1.0)
    assert "certificate" not in document
    assert "--score does not apply to --model aode" in error_of(capsys, *arguments, "--score", "k2")
    for refused in ([*arguments, "-o", "m.bif"], ["convert", "m.json", "m.bif"]):
        assert "m.bif: AODEClassifier is not a network" in error_of(capsys, *refused)


def test_fit_says_what_features_tell(capsys):
    code, out, _ = run(capsys, "fit", "monks.csv", "--class", "monk", "--model", "fsanb", "--ess", "1")
    assert code == 0
    lines = out.splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("what features tell about monk:"))
    assert lines[first + 1].split()[:2] == ["jacket_color", "-84.3"]
    assert "without arcs: head_shape, body_shape, is_smiling, holding, has_tie" in out
    _, out, _ = run(capsys, "fit", "--model", "anb", "monks.csv", "--class", "monk", "--ess", "1", "--json")
    report = json.loads(out)["feature_report"]
    assert [row["rank"] for row in report] == [4, 4, 2, 4, 1, 2]
    assert report[4]["log_bayes_factor"] == pytest.approx(-84.33038930219118)


def test_fit_shows_where_the_class_stands(capsys):
    _, out, _ = run(capsys, "fit", "monks.csv", "--class", "monk", "--model", "gbn")
    assert "head_shape, body_shape, jacket_color -> monk" in out
    assert "without arcs: is_smiling, holding, has_tie" in out
    assert "no arcs between features" in out


class TestUniversal:
    """Continuous columns that are measured, not cut."""

    @pytest.fixture(autouse=True)
    def _table(self):
        X, y = load_dataset("wine")
        X.assign(kind=y).to_csv("wine.csv", index=False)

    def test_fit_prints_cells_not_cut_points(self, capsys):
        arguments = ["fit", "--model", "anb", "wine.csv", "--class", "kind", "--continuous", "universal"]
        code, out, err = run(capsys, *arguments, "-o", "m.json")
        assert (code, err) == (0, "")
        assert re.search(r"measure; cells at the most probable level, of the finest level: alcohol \d+ of 32; ", out)
        assert "cut points" not in out
        assert "universal measure of up to 5 levels" in out
        assert "score (universal)" in out
        assert max(map(len, out.splitlines())) <= 118
        X, y = load_dataset("wine")
        expected = ANBClassifier(continuous="universal").fit(X, y)
        assert np.array_equal(anbexact.load("m.json").predict_proba(X), expected.predict_proba(X))
        code, out, _ = run(capsys, "predict", "m.json", "wine.csv", "--proba")
        got = pd.read_csv(io.StringIO(out))
        np.testing.assert_allclose(got.iloc[:, 1:], expected.predict_proba(X), rtol=1e-12)
        _, out, _ = run(capsys, *arguments, "--json", "--max-parents", "1")
        assert json.loads(out)["score_name"] == "universal"

    @pytest.mark.parametrize("model", ["anb", "gbn", "nb", "tan", "fan", "ckg"])
    def test_models_that_can(self, capsys, model):
        X, y = load_dataset("iris")
        X.assign(species=y).to_csv("iris.csv", index=False)
        arguments = ["--class", "species", "--continuous", "universal", "--model", model]
        code, out, err = run(capsys, "fit", "--model", "anb", "iris.csv", *arguments)
        assert (code, err) == (0, "")
        assert "universal measure of up to 5 levels" in out

    @pytest.mark.parametrize(
        "model", ["a2de", "aode", "wnb", "manb", "kdb", "skdb", "ggbn", "fsanb", "mcp", "bnc2p", "mcdag"]
    )
    def test_models_that_cannot(self, capsys, model):
        line = error_of(capsys, "fit", "wine.csv", "--class", "kind", "--continuous", "universal", "--model", model)
        assert line == f"--continuous does not apply to --model {model}"

    @pytest.mark.parametrize(
        ("option", "value"),
        [("--discretizer", "median"), ("--score", "bic"), ("--ess", "1"), ("--smoothing", "1")],
    )
    def test_options_of_cut_columns(self, capsys, option, value):
        line = error_of(
            capsys, "fit", "--model", "anb", "wine.csv", "--class", "kind", "--continuous", "universal", option, value
        )
        assert f"{option} " in line
        assert "applies only with --continuous discretize" in line
        assert line.endswith("leave it out")

    def test_network_files_hold_the_most_probable_levels(self, capsys):
        arguments = ["fit", "wine.csv", "--class", "kind", "--model", "tan", "--continuous", "universal"]
        code, _, err = run(capsys, *arguments, "-o", "m.bif")
        assert code == 0
        levels, names = err.splitlines()
        assert "note: every variable is exported at its most probable level (cells: alcohol " in levels
        assert "m.bif.names.json" in names
        code, out, _ = run(capsys, "predict", "m.bif", "wine.csv")
        discrete = anbexact.TANClassifier(continuous="universal").fit(*load_dataset("wine")).to_discrete()
        assert out.splitlines()[1:] == discrete.predict(load_dataset("wine")[0]).tolist()

    @pytest.mark.slow
    def test_compare(self, capsys):
        models = "NB, ANB universal,GaussianNB,KDE-NB"
        code, out, err = run(capsys, "compare", "wine.csv", "--class", "kind", "--folds", "3", "--models", models)
        assert (code, err) == (0, "")
        lines = out.splitlines()
        first = next(k for k, line in enumerate(lines) if line.startswith("NB  "))
        names = [line.split("  ")[0] for line in lines[first : first + 5]]
        assert names == ["NB", "NB refitted", "ANB universal", "GaussianNB", "KDE-NB"]
        assert (
            "ANB universal, GaussianNB, KDE-NB use numbers as they are; the other models cut them into interval"
            in out
        )
        assert re.search(r"(NB|NB refitted|ANB universal), learned from all rows", out)

    def test_compare_says_how_refits_are_named(self, capsys):
        code, out, _ = run(capsys, "compare", "--help")
        assert code == 0
        assert 'as in --models "TAN refitted,NB smooth"' in " ".join(out.split())

    def test_compare_refuses(self, capsys):
        for name, message in (("SVM", "known are class frequencies, NB, "), ("Tna", "did you mean 'TAN'")):
            code, out, err = run(capsys, "compare", "--dataset", "wine", "--models", f"NB,{name}")
            assert (code, out) == (2, "")
            assert message in err
            assert f"--models must be names of models, not ['{name}']; " in err
        for names in ("NB,,TAN", "NB,", ",", "", " "):
            line = error_of(capsys, "compare", "--dataset", "wine", "--models", names)
            assert f"argument --models: {names!r} contains an empty name: give names separated by commas" in line
        line = error_of(capsys, "compare", "monks.csv", "--class", "monk", "--models", "KDE-NB")
        assert "KDE-NB require numeric columns, but 'head_shape' (and 5 more) is not numeric: drop the column" in line


class TestRefit:
    """``anbexact fit --refit``."""

    def test_is_saved_and_predicts(self, capsys):
        code, out, err = run(
            capsys, "fit", "monks.csv", "--class", "monk", "--model", "tan", "--refit", "-o", "m.json"
        )
        assert (code, err) == (0, "")
        text = " ".join(out.split())
        assert "tree augmented naive Bayes (TAN), equivalent sample size" in text
        X, y = load_monks(1)
        expected = RefittedClassifier(TANClassifier()).fit(X, y)
        coefficients = expected.logit_.n_parameters
        assert f"refitted by conditional likelihood: {coefficients} coefficients, l2 " in text
        assert " (chosen by cross-validation), conditional log likelihood " in text
        assert f"accuracy on the rows it was learned from: {expected.score(X, y):.4f}" in text
        read = anbexact.load("m.json")
        assert isinstance(read, RefittedClassifier)
        assert read.get_params()["estimator__verbose"] == 0
        np.testing.assert_allclose(read.predict_proba(X), expected.predict_proba(X), rtol=0, atol=1e-6)
        code, out, err = run(capsys, "predict", "m.json", "monks.csv", "--proba")
        shares = pd.read_csv(io.StringIO(out)).filter(like="P(").to_numpy()
        np.testing.assert_allclose(shares, read.predict_proba(X), rtol=1e-9)

    def test_with_smooth_shapes(self, capsys):
        X, y = load_dataset("iris")
        X.assign(species=y).to_csv("iris.csv", index=False)
        code, out, err = run(
            capsys, "fit", "iris.csv", "--class", "species", "--model", "nb", "--smooth", "-o", "m.json"
        )
        assert (code, err) == (0, "")
        text = " ".join(out.split())
        expected = AdditiveClassifier(NaiveBayesClassifier()).fit(X, y)
        degrees = sum(expected.logit_.refitted.effective_degrees)
        assert (
            f"refitted with smooth shapes: {degrees:.1f} effective degrees of freedom, conditional log likelihood "
            in text
        )
        assert isinstance(anbexact.load("m.json"), AdditiveClassifier)
        _, out, _ = run(capsys, "fit", "iris.csv", "--class", "species", "--model", "nb", "--smooth", "--json")
        refit = json.loads(out)["refit"]
        assert refit["smoothing"].keys() == {"slope", "curvature", "centre"}
        assert refit["effective_degrees_of_freedom"] == pytest.approx(degrees, rel=1e-3)
        line = error_of(capsys, "fit", "iris.csv", "--class", "species", "--model", "aode", "--smooth")
        assert "--smooth does not apply to --model aode" in line

    def test_is_converted_where_it_has_a_network(self, capsys):
        run(capsys, "fit", "monks.csv", "--class", "monk", "--model", "nb", "--refit", "-o", "m.json")
        code, out, err = run(capsys, "convert", "m.json", "m.bif")
        assert (code, out) == (0, "m.bif: classifies monk by 6 features\n")
        assert "keep the two together" in err
        _, before, _ = run(capsys, "predict", "m.json", "monks.csv", "--proba")
        _, after, _ = run(capsys, "predict", "m.bif", "monks.csv", "--proba")
        before, after = (pd.read_csv(io.StringIO(text)).filter(like="P(").to_numpy() for text in (before, after))
        np.testing.assert_allclose(after, before, rtol=1e-9)

    def test_is_described_as_json(self, capsys):
        code, out, _ = run(capsys, "fit", "--model", "anb", "monks.csv", "--class", "monk", "--refit", "--json")
        document = json.loads(out)
        assert code == 0
        assert document["feature_edges"] == MONKS_ARCS
        assert document["refit"].keys() == {
            "l2",
            "coefficients",
            "conditional_log_likelihood",
            "converged",
            "equivalent_to_network",
        }
        assert document["refit"]["converged"]
        assert not document["refit"]["equivalent_to_network"]
        assert document["feature_report"]

    def test_what_it_cannot_do_is_said(self, capsys):
        message = error_of(capsys, "fit", "--model", "anb", "monks.csv", "--class", "monk", "--refit", "-o", "m.bif")
        assert message.startswith("m.bif: a network may be unable to represent this refit (not adjacent: ")
        assert not Path("m.bif").exists()
        message = error_of(capsys, "fit", "monks.csv", "--class", "monk", "--model", "aode", "--refit")
        assert message == "--refit does not apply to --model aode"
        message = error_of(
            capsys, "fit", "anes.csv", "--class", "vote", "--model", "nb", "--continuous", "universal", "--refit"
        )
        assert "use --continuous discretize" in message

    def test_is_compared_by_name(self, capsys):
        arguments = ["--class", "monk", "--folds", "2", "--models", "NB refitted,TAN"]
        code, out, _ = run(capsys, "compare", "monks.csv", *arguments, "--no-refit")
        assert code == 0
        assert "NB refitted" in out
        assert "refitted: the network as a logistic regression" in out


class TestPool:
    """``anbexact fit --model pool``."""

    @pytest.mark.slow
    def test_is_saved_and_predicts(self, capsys):
        code, out, err = run(capsys, "fit", "monks.csv", "--class", "monk", "--model", "pool", "-o", "m.json")
        assert (code, err) == (0, "")
        pool = anbexact.load("m.json")
        assert isinstance(pool, anbexact.PooledClassifier)
        lines = out.splitlines()
        heading = next(k for k, line in enumerate(lines) if line.startswith("member "))
        for line, (name, row) in zip(lines[heading + 1 :], pool.members_.iterrows(), strict=False):
            assert line.startswith(name)
            assert (f"{row['weight']:.3f}" in line) == (row["outcome"] == "pooled")
        X, y = load_monks(1)
        assert f"accuracy on the rows it was learned from: {pool.score(X, y):.4f}" in out
        code, out, _ = run(capsys, "predict", "m.json", "monks.csv", "--proba")
        shares = pd.read_csv(io.StringIO(out)).filter(like="P(").to_numpy()
        np.testing.assert_allclose(shares, pool.predict_proba(X), rtol=1e-9)
        code, out, _ = run(capsys, "predict", "m.json", "monks.csv", "--explain")
        terms = pd.read_csv(io.StringIO(out))
        assert terms.loc[terms["row"] == 0, "nats"].sum() == pytest.approx(pool.explain(X[:1])[0].log_odds)

    @pytest.mark.slow
    def test_is_written_as_one_network(self, capsys):
        run(capsys, "fit", "monks.csv", "--class", "monk", "--model", "pool", "-o", "m.json")
        run(capsys, "convert", "m.json", "m.bif")
        X, _ = load_monks(1)
        network = anbexact.adapters.from_file("m.bif", "monk")
        np.testing.assert_allclose(
            network.predict_proba(X), anbexact.load("m.json").predict_proba(X), rtol=0, atol=1e-9
        )

    @pytest.mark.slow
    def test_as_json_and_what_does_not_apply(self, capsys):
        _, out, _ = run(
            capsys, "fit", "monks.csv", "--class", "monk", "--model", "pool", "--discretizer", "mdlp", "--json"
        )
        document = json.loads(out)
        assert {member["outcome"] for member in document["members"]} <= {"pooled", "weight 0", "not needed"}
        assert set(document["biases"]) == {"no", "yes"}
        line = error_of(capsys, "fit", "monks.csv", "--class", "monk", "--model", "pool", "--ess", "1")
        assert line == "--ess does not apply to --model pool"
        line = error_of(capsys, "fit", "monks.csv", "--class", "monk", "--model", "tan", "--readable")
        assert line == "--readable does not apply to --model tan"
