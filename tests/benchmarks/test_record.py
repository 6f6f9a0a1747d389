"""The record of speed: what counts as slower, and what is kept."""

import json

import pytest

from benchmarks.speed import record
from benchmarks.speed.record import Ratio

STORED = Ratio(2.0, 1.9, 2.1, 0.1)


@pytest.mark.parametrize(
    ("low", "ratio", "high", "expected"),
    [
        (1.8, 2.0, 2.2, "as before"),
        (2.3, 2.5, 2.7, "as before"),  # above the stored quartile, but within the margin
        (2.0, 3.0, 4.0, "as before"),  # a noisy run
        (2.5, 2.6, 2.7, "slower"),
        (1.0, 1.2, 1.6, "faster"),
        (1.0, 1.2, 1.8, "as before"),
    ],
)
def test_verdict(low, ratio, high, expected):
    assert record.verdict(Ratio(ratio, low, high, 0.1), STORED) == expected


def test_without_a_record_a_case_is_new():
    assert record.verdict(STORED, None) == "new"


def test_storing_some_cases_keeps_the_others(tmp_path):
    path = tmp_path / "record.json"
    record.store({"nb_fit": STORED, "anb_fit": STORED}, path)
    record.store({"anb_fit": Ratio(3.0, 2.9, 3.1, 0.2)}, path)
    assert record.stored(path) == {"nb_fit": STORED, "anb_fit": Ratio(3.0, 2.9, 3.1, 0.2)}


def test_the_record_has_all_cases():
    kept = json.loads(record.RECORD.read_text(encoding="utf-8"))["cases"]
    assert sorted(kept) == sorted(record.CASES)


def test_what_got_slower_is_named_and_fails(monkeypatch, capsys):
    monkeypatch.setattr(record, "stored", lambda: {"files": STORED, "refit": STORED})
    times = {"files": Ratio(4.0, 3.9, 4.1, 0.1), "refit": STORED}
    monkeypatch.setattr(record, "CASES", {name: lambda _run, name=name: name for name in times})
    monkeypatch.setattr(record, "measured", lambda name, _repeats: times[name])
    assert record.command(["files", "refit"]) == 1
    assert "slower than the stored run: files\n" in capsys.readouterr().out
    assert record.command(["refit"]) == 0
