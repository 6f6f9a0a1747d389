"""A stranger's classifier whose model is not a network: its model says how it is written to a file, and read."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import anbexact
from anbexact import PooledClassifier, TANClassifier
from anbexact._runtime.json_values import OBJECTS
from anbexact.classifiers.registry import CLASSIFIERS, register_classifier
from anbexact.classifiers.table_classifier import TableClassifier
from anbexact.datasets import load_anes96, load_iris
from anbexact.files import classifiers as files
from anbexact.files.describe import describe
from anbexact.files.restore import restore
from anbexact.models.model import Model


@dataclass(frozen=True, eq=False, kw_only=True)
class Stump(Model):
    """The shares of the classes in every state of one feature, shape (states, classes)."""

    vocabulary: Any
    cut_points: Any
    feature: Hashable
    shares: np.ndarray

    @property
    def n_parameters(self):
        return self.shares.size - len(self.shares)

    def log_posterior(self, codes, n_jobs=None):
        own = codes[self.vocabulary.features.index(self.feature)]
        return np.log(np.where(own[:, None] < 0, self.shares.mean(axis=0), self.shares[own]))

    def to_dict(self):
        return {"feature": self.vocabulary.positions[self.feature], "shares": self.shares.tolist()}

    @classmethod
    def from_dict(cls, described, vocabulary, cut_points, estimator):
        assert not hasattr(estimator, "model_")
        feature, shares = vocabulary.names[described["feature"]], np.array(described["shares"], dtype=float)
        return cls(vocabulary=vocabulary, cut_points=cut_points, feature=feature, shares=shares)


class StumpClassifier(TableClassifier):
    """Classes by the feature that predicts the training rows best."""

    model_: Stump
    model_type = Stump

    def _learn_model(self, read):
        table, cut_points = read.discretised(self.discretizer)
        vocabulary = table.vocabulary
        found = []
        for name in vocabulary.features:
            counts = np.full(table.shape([name, vocabulary.class_name]), 0.5)
            np.add.at(counts, (table.column(name), table.column(vocabulary.class_name)), table.weights)
            found.append((counts.max(axis=1).sum(), name, counts / counts.sum(axis=1, keepdims=True)))
        _, feature, shares = max(found, key=lambda one: one[0])
        return Stump(vocabulary=vocabulary, cut_points=cut_points, feature=feature, shares=shares)


@pytest.fixture(autouse=True)
def _registered():
    with patch.dict(CLASSIFIERS), patch.dict(OBJECTS):
        register_classifier("stump", "decision stump")(StumpClassifier)
        yield


@pytest.mark.parametrize("load", [load_iris, load_anes96])
def test_its_predictions_survive(load, tmp_path):
    X, y = load()
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.2)
    stump = StumpClassifier(handle_missing="marginalize", verbose=-1).fit(X.ffill().bfill(), y)
    stump.save(tmp_path / "stump.json")
    loaded = anbexact.load(tmp_path / "stump.json")
    assert type(loaded) is StumpClassifier
    assert loaded.model_.feature == stump.model_.feature
    assert loaded.get_params() == stump.get_params()
    assert loaded.predict_proba(X).tobytes() == stump.predict_proba(X).tobytes()
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "stump.json").read_bytes()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_it_may_be_a_member_of_a_pool(tmp_path):
    X, y = load_iris()
    pool = PooledClassifier([TANClassifier(ess=1.0), StumpClassifier()], ridge=10.0).fit(X, y)
    pool.save(tmp_path / "pool.json")
    assert anbexact.load(tmp_path / "pool.json").predict_proba(X).tobytes() == pool.predict_proba(X).tobytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"feature": 99}, "tuple index out of range"),
        ({"feature": "petal_width"}, "tuple indices must be integers"),
        ({"shares": ["many"]}, "could not convert string to float"),
        ({"class": 99}, "class: a whole number from 0 to 4 was expected, not 99"),
    ],
)
def test_a_damaged_file_is_refused(change, message):
    document = describe(StumpClassifier().fit(*load_iris())) | change
    with pytest.raises(ValueError, match=message):
        restore(document)


def test_a_missing_field_is_named():
    document = describe(StumpClassifier().fit(*load_iris()))
    del document["shares"]
    with pytest.raises(ValueError, match=r"^'shares' is missing$"):
        restore(document)


def test_a_model_without_these_methods_is_refused(tmp_path):
    stump = StumpClassifier().fit(*load_iris())
    refused = pytest.raises(TypeError, match="cannot save a Stump: it has no method to_dict")
    with patch.object(Stump, "to_dict", Model.to_dict), refused:
        stump.save(tmp_path / "stump.json")
    with patch.object(Stump, "from_dict", Model.from_dict), pytest.raises(ValueError, match="no method from_dict"):
        restore(describe(stump))
    with patch.object(StumpClassifier, "model_type"):
        del StumpClassifier.model_type
        with pytest.raises(TypeError, match="Set this class attribute to the class of its model"):
            files.save(stump, tmp_path / "stump.json")
    assert not list(tmp_path.iterdir())
