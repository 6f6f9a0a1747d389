"""``anbexact scorecard``: from a table or a model to every form of a card."""

import csv
import runpy

import pandas as pd
import pytest

import anbexact
from anbexact.adapters import to_scorecard
from anbexact.cli import main
from anbexact.datasets import load_monks


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A folder with a table and a model."""
    X, y = load_monks(1)
    monkeypatch.chdir(tmp_path)
    X.assign(is_monk=y).to_csv("rows.csv", index=False)
    anbexact.NaiveBayesClassifier(ess=1.0).fit(X, y).save("model.json")
    return X


def test_all_forms_have_the_points_of_the_model(workplace):
    card = to_scorecard(anbexact.load("model.json"), points_to_double_odds=40.0, reference="yes")
    for name in ("card.html", "card.py", "card.sql", "card.csv"):
        assert main(["scorecard", "model.json", "--double", "40", "--reference", "yes", "-o", name]) == 0
    assert pd.read_csv("card.csv", keep_default_na=False)["points"].tolist() == card.to_frame()["points"].tolist()
    scorer = runpy.run_path("card.py")
    rows = workplace[:10].astype(object).to_dict("records")
    rows = [{name: row[name] for name in card.features} for row in rows]
    assert [scorer["score"](row) for row in rows] == card.score(workplace[:10]).tolist()
    assert scorer["main"](["rows.csv"]) == 0


def test_a_python_file_writes_scores(workplace, capsys):
    assert main(["scorecard", "model.json", "-o", "card.py"]) == 0
    capsys.readouterr()
    assert runpy.run_path("card.py")["main"](["rows.csv"]) == 0
    written = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    card = to_scorecard(anbexact.load("model.json"))
    assert [int(row["score"]) for row in written] == card.score(workplace).tolist()


@pytest.mark.usefixtures("workplace")
def test_a_table_is_learned_from(capsys):
    line = "scorecard rows.csv --class is_monk --max-points 3 --features 2 --gap 0.01"
    assert main(line.split()) == 0
    out = capsys.readouterr().out
    assert "rows.csv: scorecard of is_monk" in out
    assert "jacket_color" in out
    assert "for at most 2 features" in out


@pytest.mark.usefixtures("workplace")
def test_a_card_in_a_file_scores_rows(workplace, capsys):
    assert main(["scorecard", "model.json", "-o", "card.json"]) == 0
    card = anbexact.load_scorecard("card.json")
    assert main(["scorecard", "card.json", "-o", "card.csv"]) == 0
    assert pd.read_csv("card.csv", keep_default_na=False)["points"].tolist() == card.to_frame()["points"].tolist()
    capsys.readouterr()
    assert main(["predict", "card.json", "rows.csv", "--id", "is_monk", "--proba", "-o", "scores.csv"]) == 0
    found = pd.read_csv("scores.csv")
    assert found["score"].tolist() == card.score(workplace).tolist()
    assert found["predicted"].tolist() == card.predict(workplace).tolist()
    assert found["P(yes)"].tolist() == pytest.approx(card.predict_proba(workplace)[:, 1].tolist())
    assert main(["predict", "card.json", "rows.csv", "--explain", "-o", "why.csv"]) == 0
    reasons = pd.read_csv("why.csv")
    assert reasons["cost"].tolist() == card.reasons(workplace)["cost"].tolist()
    rows = [t for t, _ in card.reasons(workplace).index]
    assert reasons["score"].tolist() == card.score(workplace)[rows].tolist()
    for line, message in (
        ("scorecard card.json --features 2", "--features does not apply to card.json"),
        ("predict card.json rows.csv --cost yes=5", "--cost does not apply to card.json"),
    ):
        assert main(line.split()) == 2
        assert message in capsys.readouterr().err


def test_a_model_without_rows_takes_those_of_a_table(workplace):
    line = "scorecard model.json --rows rows.csv --max-points 3 --features 2 --gap 0.01 -o card.csv"
    assert main(line.split()) == 0
    card = to_scorecard(anbexact.load("model.json"), workplace, max_points=3, n_features=2, gap=0.01)
    assert pd.read_csv("card.csv", keep_default_na=False)["points"].tolist() == card.to_frame()["points"].tolist()


REFUSED = [
    ("scorecard rows.csv", "pass --class to learn one from it"),
    ("scorecard model.json -o card.docx", "cannot infer the format"),
    ("scorecard model.json --reference maybe", "--reference maybe: the classes are no, yes"),
    ("scorecard model.json --max-points 3", "points of least loss need rows: pass the training table with --rows"),
    ("scorecard rows.csv --class is_monk --rows rows.csv", "--rows applies to a classifier, and rows.csv is a table"),
    ("scorecard model.json --rows none.csv", "none.csv"),
]


@pytest.mark.usefixtures("workplace")
@pytest.mark.parametrize(("line", "message"), REFUSED)
def test_refused(line, message, capsys):
    assert main(line.split()) == 2
    assert message in capsys.readouterr().err
