"""``anbexact nomogram``: files by their extensions, and what it says about them."""

import pytest

from anbexact import TANClassifier
from anbexact.classifiers import AODEClassifier
from anbexact.cli import main
from anbexact.datasets import load_anes96, load_lenses


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    TANClassifier(ess=1.0, n_jobs=1).fit(*load_anes96()).save(folder / "tan.json")
    AODEClassifier(n_jobs=1).fit(*load_lenses()).save(folder / "aode.json")
    return folder


def test_writes_a_page_next_to_nothing_else(models, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["nomogram", str(models / "tan.json"), "--most", "3", "--against", "Dole", "--title", "Poll"]) == 0
    text = (tmp_path / "tan.nomogram.html").read_text(encoding="utf-8")
    assert ">Poll</text>" in text
    assert "Probability of Clinton" in text
    said = capsys.readouterr().err
    assert "tan.nomogram.html: " in said
    assert "left out, because the sheet has no room for it: " in said


WRONG = [
    (["tan.json", "-o", "sheet.doc"], "cannot infer the format"),
    (["tan.json", "--against", "Perot"], "--against 'Perot': the classes are Clinton, Dole"),
    (["tan.json", "--most", "0"], "is not a number of features"),
    (["aode.json"], "a nomogram needs log odds that are a sum of terms"),
]


@pytest.mark.parametrize(("arguments", "text"), WRONG)
def test_errors(arguments, text, models, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["nomogram", str(models / arguments[0]), *arguments[1:]]) == 2
    assert text in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
