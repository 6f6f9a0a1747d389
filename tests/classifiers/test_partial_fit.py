"""Adding rows to a fitted classifier."""

import copy

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from strategies import problems
from tiers import examples

from anbexact import ANBClassifier, MDLPDiscretizer, NaiveBayesClassifier
from anbexact.adapters import from_pgmpy
from anbexact.classifiers import FixedStructureClassifier
from anbexact.datasets import load_dataset
from anbexact.models.parameters.counts import count_families
from anbexact.search import learn_anb

X, Y = load_dataset("tic_tac_toe")
CATEGORIES = {name: ["b", "o", "x"] for name in X}


def same(one, other, *, exactly=True):
    """Whether two classifiers have the same tables and the same score."""
    for name, table in one.conditional_tables_.items():
        if exactly:
            np.testing.assert_array_equal(table.values, other.conditional_tables_[name].values)
        else:
            np.testing.assert_allclose(table.values, other.conditional_tables_[name].values, rtol=1e-12)
    assert one.structure_.score == pytest.approx(other.structure_.score, rel=1e-12)


class TestEqualsFittingAllRows:
    @given(problems(min_features=1, max_features=3, max_rows=12), st.integers(0, 12), st.booleans())
    @examples(40)
    def test_of_a_fixed_structure(self, problem, first, whole):
        frame, y = problem.frame()
        weights = np.ceil(problem.weights) if whole else np.array(problem.weights)
        first = min(first, len(y) - 1) + 1
        parents = learn_anb(problem.table).parents
        model = FixedStructureClassifier(dict(parents), categories=problem.categories, ess=1.0)
        together = clone(model).fit(frame, y, sample_weight=weights)
        stepwise = clone(model).fit(frame[:first], y[:first], sample_weight=weights[:first])
        if first < len(y):
            stepwise.partial_fit(frame[first:], y[first:], sample_weight=weights[first:])
        same(together, stepwise, exactly=whole)

    @pytest.mark.parametrize(
        "model", [NaiveBayesClassifier(ess=1.0), ANBClassifier(ess=1.0), ANBClassifier(ess=1.0, smoothing=5.0)]
    )
    def test_of_a_learned_structure(self, model):
        model = clone(model).set_params(categories=CATEGORIES)
        stepwise = clone(model).fit(X[::2], Y[::2])
        for _ in range(2):
            stepwise.partial_fit(X[1::2], Y[1::2])
        parents = dict(stepwise.structure_.parents)
        fixed = FixedStructureClassifier(parents, categories=CATEGORIES, ess=1.0, smoothing=model.smoothing)
        rows = pd.concat([X[::2], X[1::2], X[1::2]]), pd.concat([Y[::2], Y[1::2], Y[1::2]])
        same(fixed.fit(*rows), stepwise)
        assert "learned from earlier rows" in str(stepwise.structure_.certificate)
        assert not stepwise.structure_.certificate.optimal

    def test_with_cut_points_that_stay(self):
        X, y = load_dataset("wine")
        model = ANBClassifier(discretizer=MDLPDiscretizer(), ess="auto").fit(X[::2], y[::2])
        before = copy.deepcopy(model.cut_points_), model.ess_, model.smoothing_
        model.partial_fit(X[1::2], y[1::2])
        for name, cuts in before[0].items():
            np.testing.assert_array_equal(model.cut_points_[name], cuts)
        assert before[1:] == (model.ess_, model.smoothing_)
        assert model.score(X, y) > 0.9

    def test_the_network_follows(self):
        model = NaiveBayesClassifier().fit(X[::2], Y[::2])
        old = model.network_.get_cpds("top_left").values
        model.partial_fit(X[1::2], Y[1::2])
        assert not np.array_equal(old, model.network_.get_cpds("top_left").values)

    def test_the_first_call_is_fit(self):
        fitted = ANBClassifier().fit(X, Y)
        started = ANBClassifier().partial_fit(X, Y)
        same(fitted, started)
        assert started.structure_.certificate.optimal

    def test_classes_may_be_announced(self):
        only = Y == "positive"
        model = NaiveBayesClassifier(ess=1.0).partial_fit(X[only], Y[only], classes=Y.unique())
        assert model.classes_.tolist() == ["negative", "positive"]
        model.partial_fit(X[~only], Y[~only], classes=["positive", "negative"])
        same(model, NaiveBayesClassifier(ess=1.0).fit(X, Y))
        with pytest.raises(ValueError, match=r"classes are \['positive'\], but were \['negative', 'positive'\]"):
            model.partial_fit(X, Y, classes=["positive"])
        weights = np.linspace(0.5, 2.0, len(X))
        with pytest.raises(
            ValueError, match=r"classes are \[0\.5, [\d., ]+, \.\.\.\], .* are the argument sample_weight"
        ):
            model.partial_fit(X, Y, weights)


class TestRefusals:
    @pytest.fixture
    def model(self):
        return NaiveBayesClassifier().fit(X[:500], Y[:500])

    def unchanged(self, model, rows, classes, message, **more):
        before = {name: table.values.copy() for name, table in model.conditional_tables_.items()}
        with pytest.raises(ValueError, match=message):
            model.partial_fit(rows, classes, **more)
        for name, values in before.items():
            np.testing.assert_array_equal(model.conditional_tables_[name].values, values)

    def test_a_new_state(self, model):
        new = X[500:].astype(object).reset_index(drop=True)
        new.loc[[3, 7], "top_left"] = "z"
        self.unchanged(
            model, new, Y[500:], r"column 'top_left', row 3: the value 'z' is not a state \(2 such rows; states: 'x'"
        )

    def test_rows_are_numbered_as_they_were_passed(self, model):
        new = X[500:].astype(object).reset_index(drop=True)
        new.iloc[0, 0], new.iloc[5, 1] = None, "z"
        with pytest.warns(UserWarning, match="1 of 458 rows has a missing feature"):
            self.unchanged(model, new, Y[500:], r"column 'top_middle', row 5: the value 'z' is not a state")

    def test_a_new_class(self, model):
        self.unchanged(model, X[:2], ["positive", "draw"], r"column 'x_wins', row 1: the value 'draw' is not a state")

    def test_a_missing_cell_that_is_no_state(self):
        model = NaiveBayesClassifier(handle_missing="own_state").fit(X, Y)
        new = X[:3].astype(object)
        new.iloc[2, 0] = None
        self.unchanged(
            model,
            new,
            Y[:3],
            "column 'top_left', row 2: the cell is missing, and missing cells are not a state of this",
        )

    def test_other_columns(self, model):
        self.unchanged(model, X.iloc[:, :-1], Y, "bottom_right")
        self.unchanged(model, X[:3], Y[:2], "inconsistent numbers of samples")

    def test_a_network_without_counts(self, model):
        given = from_pgmpy(model.network_, "x_wins")
        self.unchanged(given, X, Y, "the tables of this network were given, not estimated from counts")


def test_counts_add_up_and_hold_the_observed_cells_only():
    model = ANBClassifier(categories=CATEGORIES).fit(X, Y)
    for name, family in model.counts_.items():
        assert (family.weights > 0).all()
        assert family.weights.sum() == len(X)
        assert family.dense().shape == model.conditional_tables_[name].values.shape
        table = family.table(model.vocabulary_)
        np.testing.assert_array_equal(table.counts(family.variables), family.dense())


@given(problems(max_features=3))
@examples(30)
def test_observed_cells_are_those_of_the_contingency_table(problem):
    table = problem.table
    for family in count_families(table, learn_anb(table)).values():
        np.testing.assert_array_equal(family.dense(), table.counts(family.variables))


def test_a_batch_without_a_complete_row_adds_nothing():
    model = NaiveBayesClassifier().fit(X, Y)
    before = model.predict_proba(X)
    holed = X[:2].astype(object)
    holed.iloc[:, 0] = None
    with pytest.warns(UserWarning, match=r"2 of 2 rows have a missing feature .* fit again with handle_missing='own"):
        model.partial_fit(holed, Y[:2])
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_infinite_measurements_are_refused_as_in_fit():
    numbers, classes = np.arange(40.0)[:, None], np.arange(40) > 20
    model = NaiveBayesClassifier().fit(numbers, classes)
    with pytest.raises(ValueError, match=r"column 'x0', row 1: inf cannot be discretised"):
        model.partial_fit([[1.0], [np.inf]], [False, True])


def test_a_refused_fit_leaves_what_was_fitted(monkeypatch):
    import anbexact.models.parameters.counts

    model = NaiveBayesClassifier().fit(X, Y)
    expected = copy.deepcopy(model).partial_fit(X[:5], Y[:5]).predict_proba(X)
    model.set_params(ess=50.0)
    with monkeypatch.context() as patch:
        patch.setattr(anbexact.models.parameters.counts, "available_memory", lambda: 1)
        with pytest.raises(ValueError, match="the conditional tables would take"):
            model.fit(X, Y)
    np.testing.assert_array_equal(model.partial_fit(X[:5], Y[:5]).predict_proba(X), expected)


def test_what_was_fitted_counts_and_not_what_was_set_since(tmp_path):
    import anbexact

    model = NaiveBayesClassifier().fit(X, Y)
    before = model.predict_proba(X)
    model.set_params(parameters="ml")
    model.save(tmp_path / "m.json")
    np.testing.assert_array_equal(anbexact.load(tmp_path / "m.json").predict_proba(X), before)


def test_announced_classes_that_make_no_sense():
    with pytest.raises(TypeError, match="classes must be a sequence of class labels, not 3"):
        NaiveBayesClassifier().partial_fit(X, Y, classes=3)
    with pytest.raises(ValueError, match=r"declared twice, by classes= and for 'x_wins' in categories="):
        NaiveBayesClassifier(categories={"x_wins": ["positive"]}).partial_fit(X, Y, classes=Y.unique())
