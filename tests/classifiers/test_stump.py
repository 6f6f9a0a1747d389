"""A stranger's classifier whose model is no network: it works wherever its model has an answer."""

import io
import json
import sys
from dataclasses import dataclass
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

from anbexact import NaiveBayesClassifier, PooledClassifier, RefittedClassifier
from anbexact._runtime.json_values import OBJECTS
from anbexact.adapters import (
    class_posterior,
    most_probable_explanations,
    to_arviz,
    to_file,
    to_logit,
    to_onnx,
    to_pgmpy,
    to_pmml,
    to_python,
    to_sql,
)
from anbexact.adapters.ppl.bayesian import logit_sites, network_sites
from anbexact.classifiers.registry import CLASSIFIERS, Compared, register_classifier
from anbexact.classifiers.table_classifier import TableClassifier
from anbexact.cli import main
from anbexact.cli.messages import InputError
from anbexact.cli.models import write_model
from anbexact.compare import compare
from anbexact.conformal import SplitConformalClassifier
from anbexact.datasets import load_tic_tac_toe
from anbexact.models.model import Model


@dataclass(frozen=True, eq=False)
class StumpModel(Model):
    """P(class | the state of one feature); the shares of the classes where it is missing."""

    vocabulary: object
    cut_points: dict
    feature: int
    shares: np.ndarray  # (states and missing, classes)

    @property
    def n_parameters(self):
        return self.shares[:-1, 1:].size

    def log_posterior(self, codes, n_jobs=None):
        return np.log(self.shares[codes[self.feature]])


class StumpClassifier(TableClassifier):
    """A decision stump."""

    def _learn_model(self, read):
        table, cut_points = read.discretised(self.discretizer)
        vocabulary = table.vocabulary
        classes = table.column(vocabulary.class_name)
        tried = []
        for j, name in enumerate(vocabulary.features):
            counts = np.full((vocabulary.arity(name) + 1, vocabulary.arity(vocabulary.class_name)), 0.5)
            np.add.at(counts, (table.column(name), classes), table.weights)
            counts[-1] += counts[:-1].sum(axis=0)
            shares = counts / counts.sum(axis=1, keepdims=True)
            tried.append((float((counts[:-1] * np.log(shares[:-1])).sum()), j, shares))
        _, feature, shares = max(tried, key=lambda one: one[0])
        return StumpModel(vocabulary, cut_points, feature, shares)


@pytest.fixture(autouse=True)
def registered():
    with patch.dict(CLASSIFIERS), patch.dict(OBJECTS):
        register_classifier("stump", "decision stump", compared=[Compared("Stump", 300)])(StumpClassifier)
        yield


@pytest.fixture(scope="module")
def rows():
    X, y = load_tic_tac_toe()
    return X[::3].reset_index(drop=True), y[::3].reset_index(drop=True)


@pytest.fixture
def stump(rows):
    return StumpClassifier().fit(*rows)


def test_it_predicts_and_answers(stump, rows):
    X, _ = rows
    proba = stump.predict_proba(X)
    assert proba.sum(axis=1) == pytest.approx(1)
    split = stump.vocabulary_.features[stump.model_.feature]
    states = X[split].map({state: k for k, state in enumerate(stump.vocabulary_.states[split])}).to_numpy()
    assert proba == pytest.approx(stump.model_.shares[states])
    assert (stump.classes_[proba.argmax(axis=1)] == stump.predict(X)).all()
    assert stump.query({split: X[split][0]}).to_numpy() == pytest.approx(proba[0])
    assert stump.query().to_numpy() == pytest.approx(stump.model_.shares[-1])
    assert stump.class_prior_ == pytest.approx(stump.model_.shares[-1])
    even = proba / stump.class_prior_ / (proba / stump.class_prior_).sum(axis=1, keepdims=True)
    assert stump.predict_proba(X, class_prior=[0.5, 0.5]) == pytest.approx(even)
    assert (stump.decide(X, costs=1 - np.eye(2))["decision"].to_numpy() == stump.predict(X)).all()
    assert class_posterior(stump, evidence={split: X[split][0]}).to_numpy() == pytest.approx(proba[0])


def test_it_is_compared_by_name_and_as_an_object(rows):
    X, y = rows
    named = compare(X, y, folds=2, models=["NB", "Stump"])
    assert list(named.index) == ["NB", "NB refitted", "Stump"]
    own = compare(X, y, folds=2, models={"mine": StumpClassifier()})
    assert list(own.index) == ["mine"]
    measures = ["accuracy", "log_loss", "parameters"]
    assert own.loc["mine", measures].tolist() == named.loc["Stump", measures].tolist()
    assert own.loc["mine", "parameters"] == 3


def test_it_keeps_its_rule_where_others_complete_cells(rows):
    X, y = rows
    X = X.mask(np.arange(X.size).reshape(X.shape) % 17 == 0)
    found = compare(X, y, folds=2, models=["NB", "Stump"], refit=False, handle_missing="em")
    assert "Stump cannot learn by expectation maximisation and keep 'auto'" in found.attrs["notes"]


def test_it_is_a_member_of_a_pool(rows):
    X, y = rows
    pool = PooledClassifier([("stump", StumpClassifier()), ("NB", NaiveBayesClassifier(ess=1.0))], ridge=np.inf)
    pool.fit(X, y)
    assert pool.members_["outcome"].tolist() == ["pooled", "pooled"]
    members = [np.log(own.predict_proba(X)) for _, own in pool.estimators_]
    means = np.exp(np.mean(members, axis=0))
    assert pool.predict_proba(X) == pytest.approx(means / means.sum(axis=1, keepdims=True))
    assert pool.model_.degrees_of_freedom == 3 + pool.estimators_[1][1].model_.n_parameters + 2 + 1
    with pytest.raises(TypeError, match="the member 'stump', StumpClassifier, is not a network"):
        pool.to_logit()


def test_sets_of_classes(rows):
    X, y = rows
    split = SplitConformalClassifier(StumpClassifier(), random_state=0).fit(X, y)
    assert split.predict_set(X, confidence=0.9).coverage(y) >= 0.9


def test_the_command_fits_and_compares_it(rows, tmp_path, capsys):
    X, y = rows
    path = tmp_path / "rows.csv"
    X.assign(won=y).to_csv(path, index=False)
    main(["fit", str(path), "--class", "won", "--model", "stump"])
    assert "decision stump" in capsys.readouterr().out
    main(["fit", str(path), "--class", "won", "--model", "stump", "--json"])
    assert json.loads(capsys.readouterr().out)["model"] == "stump"
    main(["compare", str(path), "--class", "won", "--models", "Stump,NB", "--folds", "2", "--json"])
    assert [line["model"] for line in json.loads(capsys.readouterr().out)["models"]] == ["Stump", "NB", "NB refitted"]
    assert main(["fit", str(path), "--class", "won", "--model", "stump", "--refit"]) == 2
    assert "--refit does not apply to --model stump" in capsys.readouterr().err


def test_the_command_predicts_by_it(stump, rows, tmp_path, capsys, monkeypatch):
    X, _ = rows
    path = tmp_path / "rows.csv"
    X.to_csv(path, index=False)
    monkeypatch.setattr("anbexact.cli.predict.read_model", lambda *_: stump)
    assert main(["predict", "stump.json", str(path), "--proba"]) == 0
    found = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert found["predicted"].tolist() == stump.predict(X).tolist()
    assert found.iloc[:, 1:].to_numpy() == pytest.approx(stump.predict_proba(X))
    assert main(["predict", "stump.json", str(path), "--explain"]) == 2
    assert "--explain does not apply to stump.json: StumpClassifier is not a network" in capsys.readouterr().err


def written(stump, path):
    write_model(stump, str(path / "stump.bif"))


@pytest.mark.parametrize(
    ("export", "words"),
    [
        (lambda it, _: to_pgmpy(it), "to_pgmpy takes a classifier of anbexact, not a StumpClassifier"),
        (lambda it, at: to_file(it, at / "x.bif"), "to_file takes a classifier of anbexact, not a StumpClassifier"),
        (lambda it, _: to_sql(it), "to_sql takes a fitted network, .* not a StumpClassifier"),
        (lambda it, at: to_python(it, at / "x.py"), "to_python takes a fitted network, .* not a StumpClassifier"),
        (lambda it, at: to_pmml(it, at / "x.pmml"), "to_pmml takes a fitted network, .* not a StumpClassifier"),
        (lambda it, at: to_onnx(it, at / "x.onnx"), "to_onnx takes a fitted network, .* not a StumpClassifier"),
        (lambda it, _: to_logit(it), "to_logit takes a fitted classifier of anbexact"),
        (lambda it, _: to_arviz(it), "StumpClassifier has no posterior of tables"),
        (
            lambda it, _: network_sites(it, None, None, None, "prior", None),
            "a fitted network of anbexact is needed, not a StumpClassifier",
        ),
        (lambda it, _: logit_sites(it), "a LogitModel is needed, .*, not a StumpClassifier"),
        (lambda it, _: class_posterior(it, "top_left"), "StumpClassifier provides the posterior of its class only"),
        (lambda it, _: most_probable_explanations(it, {}), "not a StumpClassifier"),
        (lambda it, _: it.partial_fit(*load_tic_tac_toe()), "rows cannot be added to a StumpModel"),
        (written, "StumpClassifier is not a network: use the extension .json"),
    ],
)
def test_what_it_does_not_have_is_refused_in_one_sentence(export, words, stump, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", SimpleNamespace(from_dict=dict))
    with pytest.raises((TypeError, ValueError, InputError), match=words) as refused:
        export(stump, tmp_path)
    assert ". " not in str(refused.value)
    assert not list(tmp_path.iterdir())


def test_its_refit_is_refused(rows):
    with pytest.raises(TypeError, match="estimator must be a classifier of anbexact with a network"):
        RefittedClassifier(StumpClassifier()).fit(*rows)


def test_a_frame_in_batches(stump, rows):
    X, _ = rows
    parts = pd.concat(stump.predict_frame(X, proba=True, batch_rows=100), ignore_index=True)
    assert parts["predicted"].tolist() == stump.predict(X).tolist()
