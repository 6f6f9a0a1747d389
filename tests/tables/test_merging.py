"""Tables and classifiers that were counted apart, against all rows at once."""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems
from tiers import examples

from anbexact import ANBClassifier, DiscreteTable, NaiveBayesClassifier, TANClassifier, load
from anbexact.classifiers import BNC2PClassifier
from anbexact.datasets import load_iris, load_monks
from anbexact.models.network.estimation import ESTIMATES
from anbexact.scores import ACLL, HQ, BDeu
from anbexact.scores.registry import SCORE_TYPES, SCORES


def same_tables(first, second):
    assert first.vocabulary == second.vocabulary
    np.testing.assert_array_equal(first.codes, second.codes)
    np.testing.assert_array_equal(first.weights, second.weights)
    assert first.n_rows == second.n_rows


class TestTables:
    @given(problem=problems(max_features=3, max_rows=20), cut=st.integers(1, 19))
    @examples(60)
    def test_of_all_rows(self, problem, cut):
        X, y = problem.frame()
        weights = np.ceil(problem.weights)
        cut = min(cut, len(X) - 1)
        if cut < 1:
            return
        parts = [
            DiscreteTable.from_frame(X.iloc[part], y.iloc[part], sample_weight=weights[part])
            for part in (slice(cut), slice(cut, None))
        ]
        same_tables(parts[0] + parts[1], DiscreteTable.from_frame(X, y, sample_weight=weights))

    def test_text_and_missing_cells(self):
        X = pd.DataFrame({"a": ["x", "z", None, "y"], "b": [True, False, True, True]})
        y = pd.Series(["no", "yes", "no", "maybe"], name="c")
        whole = DiscreteTable.from_frame(X, y, handle_missing="own_state")
        for cut in (1, 2, 3):
            parts = [
                DiscreteTable.from_frame(X.iloc[part], y.iloc[part], handle_missing="own_state")
                for part in (slice(cut), slice(cut, None))
            ]
            same_tables(parts[0] + parts[1], whole)

    def test_declared_states(self):
        X, y = pd.DataFrame({"a": ["low", "high"]}), [0, 1]
        states = {"a": ["low", "middle", "high"]}
        table = DiscreteTable.from_frame(X, y, categories=states)
        same_tables(table + table, DiscreteTable.from_frame(pd.concat([X, X]), [0, 1, 0, 1], categories=states))

    @pytest.mark.parametrize(
        ("other", "words"),
        [
            (({"b": ["x", "y"]}, "c", None), "'a' is in one of them only"),
            (({"a": ["x", "y"]}, "d", None), "'c' is in one of them only"),
            (({"a": ["low", "high"]}, "c", {"a": ["low", "high"]}), "not in ascending order"),
            (({"a": pd.to_datetime(["2020-01-01", "2020-01-02"])}, "c", None), "same unit"),
        ],
    )
    def test_refusals(self, other, words):
        table = DiscreteTable.from_frame(pd.DataFrame({"a": ["x", "y"]}), pd.Series([0, 1], name="c"))
        frame, name, categories = other
        second = DiscreteTable.from_frame(pd.DataFrame(frame), pd.Series([0, 1], name=name), categories=categories)
        with pytest.raises(ValueError, match=words):
            table + second
        with pytest.raises(TypeError):
            table + 1

    def test_other_classes(self):
        frame = pd.DataFrame({"a": ["x", "y"], "b": ["x", "y"]})
        with pytest.raises(ValueError, match="different classes: 'a' and 'b'"):
            DiscreteTable.from_frame(frame, class_name="a") + DiscreteTable.from_frame(frame, class_name="b")


class OwnScore:
    """A score of somebody else, without an ``==`` of its own."""

    name, score_equivalent, has_set_score = "own", True, False

    def __init__(self, price=1.0):
        self.price = np.array([price])

    def local_score(self, table, child, parents):
        return BDeu(1.0).local_score(table, child, parents) - float(self.price[0]) * len(parents)


def from_file(model, folder):
    model.save(folder / "model.json")
    return load(folder / "model.json")


SENT = {
    "copied": lambda model, _: copy.copy(model),
    "copied deeply": lambda model, _: copy.deepcopy(model),
    "pickled": lambda model, _: pickle.loads(pickle.dumps(model)),
    "saved": from_file,
}
"""The ways of a classifier from one place to another."""


class TestSent:
    """What was sent elsewhere and comes back is merged: values are compared, not objects."""

    def merged(self, model, way, tmp_path):
        X, y = load_monks(1)
        first = model.fit(X[::2], y[::2])
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "\\d+ joint states of parents do not occur")
            sent = SENT[way](SENT[way](first.without_rows(), tmp_path).partial_fit(X[1::2], y[1::2]), tmp_path)
        together = copy.deepcopy(first).partial_fit(X[1::2], y[1::2])
        np.testing.assert_array_equal(first.merge(sent).predict_proba(X), together.predict_proba(X))

    @pytest.mark.parametrize("way", SENT)
    @pytest.mark.parametrize("rule", ESTIMATES)
    def test_by_every_rule_of_tables(self, rule, way, tmp_path):
        self.merged(TANClassifier(parameters=rule), way, tmp_path)

    @pytest.mark.parametrize("score", [*SCORES, ACLL(pseudo_count=2.0), HQ(0.2)])
    def test_by_every_score(self, score, tmp_path):
        for way in SENT:
            self.merged(TANClassifier(structure_score=score), way, tmp_path)

    @pytest.mark.parametrize("way", ["copied deeply", "pickled"])
    def test_by_a_score_of_somebody_else(self, way, tmp_path):
        self.merged(ANBClassifier(structure_score=OwnScore()), way, tmp_path)

    def test_a_score_of_somebody_else_with_another_value(self):
        X, y = load_monks(1)
        one, other = (NaiveBayesClassifier(structure_score=OwnScore(price)).fit(X, y) for price in (1.0, 2.0))
        with pytest.raises(ValueError, match="same score"):
            one.merge(other)

    @pytest.mark.parametrize("score", SCORE_TYPES.values())
    def test_scores_are_values(self, score):
        assert score() == score() == copy.deepcopy(score()) == pickle.loads(pickle.dumps(score()))

    def test_a_conditional_likelihood_does_not_follow_from_counts(self):
        X, y = load_monks(1)
        model = BNC2PClassifier().fit(X, y)
        with pytest.raises(ValueError, match="the CLL score of all rows does not follow from counts: fit again"):
            model.merge(copy.deepcopy(model))


@pytest.mark.parametrize("rule", ESTIMATES)
def test_tables_without_rows_are_uniform_and_kept_in_files(rule, tmp_path):
    """NaN, with ``friedman``, which no file could be read with."""
    X, y = load_monks(1)
    model = TANClassifier(parameters=rule).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", r"\d+ joint states of parents do not occur", UserWarning)
        empty = model.without_rows()
        back = from_file(empty, tmp_path)
        for found in (empty, back):
            for table in found.conditional_tables_.values():
                np.testing.assert_allclose(table.values, 1 / len(table.values), rtol=1e-12)
            np.testing.assert_allclose(found.predict_proba(X[:3]), 0.5)
            np.testing.assert_allclose(found.to_logit().predict_proba(X[:3]), 0.5)
            np.testing.assert_allclose(
                found.explain_local(X[:3]).values, 0, atol=1e-12
            )  # were NaN: shares of no rows


class TestClassifiers:
    @pytest.mark.parametrize("model", [NaiveBayesClassifier, TANClassifier, ANBClassifier])
    def test_hospitals(self, model):
        """One learns, the others count: the network of all rows, with the arcs and cut points of one."""
        X, y = load_iris()
        order = np.random.default_rng(0).permutation(len(y))
        parts = np.array_split(order, 3)
        first = model(ess=1.0).fit(X.iloc[parts[0]], y.iloc[parts[0]])
        together = model(ess=1.0).fit(X.iloc[parts[0]], y.iloc[parts[0]])
        for part in parts[1:]:
            together.partial_fit(X.iloc[part], y.iloc[part])
        others = [first.without_rows().partial_fit(X.iloc[part], y.iloc[part]) for part in parts[1:]]
        merged = first.merge(*others)
        np.testing.assert_array_equal(merged.predict_proba(X), together.predict_proba(X))
        assert merged.structure_.score == pytest.approx(together.structure_.score)
        assert merged.dropped_ == together.dropped_

    def test_without_rows_has_the_prior(self):
        X, y = load_monks(1)
        empty = NaiveBayesClassifier(ess=1.0).fit(X, y).without_rows()
        np.testing.assert_allclose(empty.predict_proba(X.iloc[:3]), 0.5)
        assert sum(counts.weights.sum() for counts in empty.counts_.values()) == 0

    def test_refusals(self):
        X, y = load_monks(1)
        naive = NaiveBayesClassifier(ess=1.0).fit(X, y)
        before = naive.predict_proba(X)
        for other, words in (
            (TANClassifier(ess=1.0).fit(X, y), "same arcs"),
            (NaiveBayesClassifier(ess=2.0).fit(X, y), "same score, equivalent sample size"),
            (NaiveBayesClassifier(ess=1.0).fit(X.iloc[:, :3], y), "same variables"),
            (NaiveBayesClassifier(ess=1.0).fit(X.astype(str).replace({"square": "cube"}), y), "same states"),
        ):
            with pytest.raises(ValueError, match=words):
                naive.merge(naive.without_rows(), other)
        np.testing.assert_array_equal(naive.predict_proba(X), before)
        iris = load_iris()
        universal = NaiveBayesClassifier(continuous="universal").fit(*iris)
        with pytest.raises(ValueError, match="cannot be counted separately"):
            universal.without_rows()
        first, second = (NaiveBayesClassifier(ess=1.0, discretizer=rule).fit(*iris) for rule in ("modl", "mdlp"))
        with pytest.raises(ValueError, match="the networks do not have the same"):
            first.merge(second)
