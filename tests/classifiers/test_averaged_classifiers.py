"""Classifiers that average over networks, as users meet them; the sums have tests of their own."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import anbexact
from anbexact import ANBClassifier, compare, structure_posterior
from anbexact.classifiers import AveragedANBClassifier, AveragedFANClassifier, AveragedTANClassifier
from anbexact.cli import main
from anbexact.datasets import load_lenses, load_monks, load_wine
from anbexact.search.posterior import predictive

ALL = [AveragedANBClassifier, AveragedFANClassifier, AveragedTANClassifier]


@pytest.mark.filterwarnings("ignore:.*rows have a missing feature")
@pytest.mark.parametrize("model", ALL)
def test_files_lose_nothing(model, tmp_path):
    X, y = load_wine()
    X = X.iloc[:, :4].mask(np.random.default_rng(0).random((len(X), 4)) < 0.02)
    averaged = model(handle_missing="marginalize").fit(X.iloc[::2], y[::2])
    averaged.save(tmp_path / "m.json")
    read = anbexact.load(tmp_path / "m.json")
    np.testing.assert_array_equal(read.predict_proba(X), averaged.predict_proba(X))
    assert np.isfinite(averaged.predict_proba(X)).all()
    assert read.get_params() == averaged.get_params()
    pd.testing.assert_frame_equal(read.arcs_, averaged.arcs_)


def test_files_of_draws_lose_nothing(tmp_path, monkeypatch):
    X, y = load_monks(3)
    monkeypatch.setitem(predictive.MOST_EXACT, "orders", 2)
    averaged = AveragedANBClassifier(ess=2.0, draws=20).fit(X[::3], y[::3])
    assert not averaged.exact_
    averaged.save(tmp_path / "m.json")
    monkeypatch.undo()
    read = anbexact.load(tmp_path / "m.json")
    assert not read.exact_
    np.testing.assert_array_equal(read.predict_proba(X), averaged.predict_proba(X))
    monkeypatch.setitem(predictive.MOST_EXACT, "orders", 2)
    again = clone(averaged).fit(X[::3], y[::3])
    np.testing.assert_array_equal(again.predict_proba(X), averaged.predict_proba(X))


def test_attributes_are_those_of_the_posterior():
    X, y = load_monks(1)
    averaged = AveragedANBClassifier(ess=1.0, max_parents=2, prior="graphs").fit(X, y)
    expected = structure_posterior(averaged.reader_.table(X, y), max_parents=2, prior="graphs")
    pd.testing.assert_frame_equal(averaged.arcs_, expected.arcs)
    assert averaged.ess_ == 1.0
    assert averaged.ess_shares_.to_dict() == {1.0: 1.0}
    drawn = averaged.draw_structures(4, random_state=1)
    assert len(drawn) == 4
    assert all(len(structure.parents) == 7 for structure in drawn)
    shares = AveragedTANClassifier().fit(X, y).ess_shares_
    assert shares.sum() == pytest.approx(1.0)


def test_intervals():
    X, y = load_lenses()
    averaged = AveragedTANClassifier().fit(X, y)
    X = X.astype(object)
    X.iloc[3, 1] = None
    found = averaged.predict_proba_interval(X, draws=60)
    assert found.shape == (len(X), 3, 2)
    assert (found[..., 0] < found[..., 1]).all()
    np.testing.assert_array_equal(averaged.predict_proba_interval(X, draws=60), found)
    assert not np.array_equal(averaged.predict_proba_interval(X, draws=60, random_state=1), found)
    assert np.diff(averaged.predict_proba_interval(X, mass=0.5, draws=60)).mean() < np.diff(found).mean()
    with pytest.raises(ValueError, match="mass must be a number between 0 and 1"):
        averaged.predict_proba_interval(X, mass=2)


def test_weights_count_as_repeated_rows():
    X, y = load_lenses()
    weights = np.arange(len(X)) % 3
    weighted = AveragedFANClassifier(ess=1.0).fit(X, y, sample_weight=weights)
    repeated = AveragedFANClassifier(ess=1.0).fit(X.loc[X.index.repeat(weights)], y.repeat(weights))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ess": "all"}, "ess"),
        ({"ess": 0}, "ess"),
        ({"draws": 0}, "draws must be a whole number of at least 1"),
        ({"random_state": None}, "random_state must be a whole number"),
        ({"prior": "trees"}, "prior must be one of 'orders', 'graphs'"),
        ({"required_edges": [("head_shape", "nobody")]}, "nobody"),
    ],
)
def test_refusals(parameters, message):
    X, y = load_monks(1)
    with pytest.raises((TypeError, ValueError), match=message):
        AveragedANBClassifier(**parameters).fit(X, y)


def test_compared_and_on_the_command_line(tmp_path, capsys):
    X, y = load_monks(1)
    frame = compare(X, y, folds=2, models=["ANB averaged", "TAN averaged"], refit=False)
    assert set(frame.index) == {
        "ANB averaged",
        "TAN averaged",
    }
    pd.concat([X, y], axis=1).to_csv(tmp_path / "monks.csv", index=False)
    arguments = ["fit", str(tmp_path / "monks.csv"), "--class", "is_monk", "--model", "averaged-anb"]
    assert main([*arguments, "-o", str(tmp_path / "m.json")]) == 0
    out = capsys.readouterr().out
    assert "is_monk -> every feature; predictions are sums over all networks" in out
    assert "100.0%  head_shape - body_shape" in out
    assert main([*arguments, "--ess", "1", "--draws", "5", "--prior", "graphs", "--json"]) == 0
    assert '"exact": true' in capsys.readouterr().out
    for option in (["--draws", "5"], ["--prior", "graphs"]):
        assert main([*arguments[:4], "--model", "anb", *option]) != 0
        assert f"{option[0]} does not apply to --model anb" in capsys.readouterr().err
    assert main(["predict", str(tmp_path / "m.json"), str(tmp_path / "monks.csv")]) == 0


def test_agrees_with_the_optimum_where_that_is_certain():
    X, y = load_monks(1)
    X, y = pd.concat([X] * 20, ignore_index=True), pd.concat([y] * 20, ignore_index=True)
    averaged, single = AveragedANBClassifier(ess=1.0).fit(X, y), ANBClassifier(ess=1.0).fit(X, y)
    np.testing.assert_allclose(averaged.predict_proba(X), single.predict_proba(X), atol=0.01)
