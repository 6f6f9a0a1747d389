"""Failing well: what a user sees when the input cannot be learned from or classified."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError

from anbexact import AdditiveClassifier, ANBClassifier, DiscreteTable, NaiveBayesClassifier, RefittedClassifier

MODELS = [NaiveBayesClassifier, ANBClassifier]
pytestmark = pytest.mark.parametrize("model", MODELS)


def frame(n=40):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.normal(50, 10, n).round(1),
            "colour": rng.choice(["red", "green", "blue"], n),
            "count": rng.integers(0, 3, n),
        }
    )


X = frame()
Y = pd.Series(["no", "yes"] * 20, name="answer")


class TestDegenerateTables:
    def test_empty_frame(self, model):
        with pytest.raises(ValueError, match=r"0 feature\(s\) \(shape=\(0, 0\)\) while a minimum of 1 is required"):
            model().fit(pd.DataFrame(), [])

    @pytest.mark.parametrize("convert", [lambda x: x, pl.from_pandas, pa.Table.from_pandas])
    def test_no_rows(self, model, convert):
        with pytest.raises(ValueError, match=r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required"):
            model().fit(convert(X.iloc[:0]), [])

    def test_no_rows_to_predict(self, model):
        with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
            model().fit(X, Y).predict(X.iloc[:0])

    def test_one_row_and_one_class_work(self, model):
        one = model().fit(X.iloc[:1], Y.iloc[:1])
        assert one.predict(X).tolist() == ["no"] * 40
        np.testing.assert_array_equal(one.predict_proba(X), np.ones((40, 1)))
        same = model().fit(X, ["k"] * 40)
        np.testing.assert_array_equal(same.predict_proba(X), np.ones((40, 1)))
        assert same.explain(X.iloc[:1])[0].log_odds == 0

    def test_a_constant_column_is_harmless(self, model):
        plain = model().fit(X, Y).predict_proba(X)
        constant = model().fit(X.assign(k=7), Y)
        assert constant.vocabulary_.states["k"] == (7,)
        np.testing.assert_allclose(constant.predict_proba(X.assign(k=7)), plain, rtol=1e-9)

    @pytest.mark.parametrize("nothing", [None, np.nan, pd.NA, pd.NaT])
    def test_a_column_without_a_value(self, model, nothing):
        plain, empty = model().fit(X, Y), model().fit(X.assign(k=nothing), Y)
        assert empty.vocabulary_.states["k"] == ("(missing)",)
        np.testing.assert_allclose(empty.predict_proba(X.assign(k=nothing)), plain.predict_proba(X), rtol=1e-9)
        with pytest.raises(
            ValueError,
            match=r"column 'k' has no observed value \(all 40 cells are missing\): drop it, or use "
            r"handle_missing='own_state'",
        ):
            model(handle_missing="marginalize").fit(X.assign(k=nothing), Y)

    def test_every_row_has_a_hole(self, model):
        holed = X.assign(colour=[None, "red", None, "blue"] * 10, count=[1, None, 2, None] * 10)
        with pytest.raises(ValueError, match=r"every row has a missing feature, most often 'colour', in 20 rows"):
            model(handle_missing="marginalize").fit(holed, Y)
        states = model().fit(holed, Y).vocabulary_.states
        assert (states["colour"], states["count"]) == (("blue", "red", "(missing)"), (1, 2, "(missing)"))

    def test_rows_with_holes_are_counted(self, model):
        with pytest.warns(UserWarning, match=r"10 of 40 rows have a missing feature \(most often 'colour'"):
            model(handle_missing="marginalize").fit(X.assign(colour=[None] * 10 + ["red", "blue", "blue"] * 10), Y)

    def test_a_class_without_rows_is_kept_at_its_prior(self, model):
        classifier = model().fit(X, pd.Categorical(Y, ["yes", "no", "never"]))
        assert classifier.classes_.tolist() == ["never", "no", "yes"]
        proba = classifier.predict_proba(X)
        assert ((proba[:, 0] > 0) & (proba[:, 0] < 0.2)).all()

    def test_an_identifier(self, model, monkeypatch):
        monkeypatch.setattr(DiscreteTable, "__init__", None)
        ids = pd.DataFrame({"id": [f"u{i}" for i in range(10**5)]})
        with pytest.raises(
            ValueError,
            match=r"every column looks like an identifier: 'id' \(100,000 different values in 100,000 rows\)",
        ):
            model().fit(ids, np.arange(10**5) % 2)
        with pytest.raises(
            ValueError,
            match=r"column 'id' has 100,000 states, more than the 32,767 that a variable may have: it looks like "
            r"an identifier or a free text\. Drop it",
        ):
            model(drop_identifiers=False, group_categories=None).fit(ids, np.arange(10**5) % 2)

    def test_an_identifier_as_class(self, model):
        with (
            pytest.raises(ValueError, match=r"the class 'class' has 40,000 different labels in 40,000 rows"),
            pytest.warns(UserWarning, match="number of unique classes"),
        ):
            model().fit(np.arange(40_000)[:, None] % 2, np.arange(40_000))


class TestWeights:
    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (
                float("nan"),
                r"sample_weight\[3\] is nan: every weight must be a finite number, zero or more \(1 of 40",
            ),
            (float("inf"), r"sample_weight\[3\] is inf: every weight must be a finite number, zero or more"),
            (-2, r"sample_weight\[3\] is -2.0: every weight must be a finite number, zero or more"),
        ],
    )
    def test_a_senseless_weight(self, model, value, message):
        weights = np.ones(40)
        weights[3] = value
        with pytest.raises(ValueError, match=message):
            model().fit(X, Y, sample_weight=weights)

    def test_no_weight_at_all(self, model):
        with pytest.raises(ValueError, match="every sample_weight is zero: there is no row to learn from"):
            model().fit(X, Y, sample_weight=np.zeros(40))

    def test_too_few(self, model):
        with pytest.raises(ValueError, match=r"sample_weight has shape \(3,\), expected \(40,\): one weight per row"):
            model().fit(X, Y, sample_weight=[1, 1, 1])


class TestColumnsAtPrediction:
    @pytest.fixture
    def fitted(self, model):
        return model().fit(X, Y)

    @pytest.mark.parametrize("convert", [lambda x: x, pl.from_pandas, pa.Table.from_pandas])
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda x: x[["age", "colour"]], r"(?s)feature names should match.*now missing:\n- count"),
            (lambda x: x.assign(extra=1), r"(?s)feature names should match.*unseen at fit time:\n- extra"),
            (lambda x: x[["count", "age", "colour"]], r"(?s)feature names should match.*must be in the same order"),
            (lambda x: x.rename(columns={"age": "Age"}), r"(?s)unseen at fit time:\n- Age.*now missing:\n- age"),
        ],
        ids=["missing", "extra", "order", "renamed"],
    )
    def test_other_columns(self, fitted, convert, change, message):
        for method in ("predict", "predict_proba", "predict_log_proba", "log_evidence", "explain"):
            with pytest.raises(ValueError, match=message):
                getattr(fitted, method)(convert(change(X)))

    @pytest.mark.parametrize("names", [[0, 1, 2], [("a", 1), ("a", 2), ("b", 1)]])
    def test_other_columns_when_the_names_are_no_strings(self, model, names):
        named = X.copy()
        named.columns = pd.Index(names, tupleize_cols=False)
        classifier = model().fit(named, Y)
        classifier.predict(named)
        with pytest.raises(ValueError, match=r"feature names should match .* in the same order"):
            classifier.predict(named[[names[1], names[0], names[2]]])
        with pytest.raises(ValueError, match="feature names should match"):
            classifier.predict(named[names[:2]])

    def test_arrays_of_another_width(self, fitted):
        for rows in ([[50.0, "red"]], np.array([[50.0, "red"]], dtype=object), [[50.0, "red", 1, 1]]):
            with pytest.raises(ValueError, match=r"X has \d features, but .* expect"):
                fitted.predict(rows)

    def test_a_single_row_without_its_table(self, model):
        classifier = model().fit(np.array([[0, 1], [1, 0]]), [0, 1])
        with pytest.raises(ValueError, match="Reshape your data"):
            classifier.predict(np.array([0, 1]))
        with pytest.raises(ValueError, match="Reshape your data"):
            classifier.predict([0, 1])

    def test_duplicate_names(self, fitted):
        with pytest.raises(ValueError, match="column name 'age' occurs more than once: give every column a unique"):
            fitted.predict(X.set_axis(["age", "age", "count"], axis=1))

    def test_text_where_numbers_were(self, fitted):
        with pytest.raises(
            ValueError, match="column 'age' was numeric in fit and discretised, but now contains 'old': pass numbers"
        ):
            fitted.predict(X.assign(age="old"))

    def test_not_fitted(self, model):
        for method in ("predict", "predict_proba", "predict_log_proba", "log_evidence", "explain"):
            with pytest.raises(NotFittedError, match=f"This {model.__name__} instance is not fitted yet"):
                getattr(model(), method)(X)
        with pytest.raises(NotFittedError):
            model().score(X, Y)

    def test_an_array_frame_with_default_names_after_an_array(self, model):
        array = X.to_numpy(dtype=object)
        classifier = model().fit(array, Y)
        np.testing.assert_array_equal(classifier.predict(pd.DataFrame(array)), classifier.predict(array))


class TestUnknownClassesAtScore:
    @pytest.mark.parametrize("stranger", ["maybe", 1, 2.5, None, pd.Timestamp(2020, 1, 1), True])
    def test_count_as_errors_with_a_warning(self, model, stranger):
        classifier = model().fit(X, Y)
        labels = pd.Series([stranger, *Y[1:]], dtype=object)
        hits = classifier.predict(X) == Y
        with pytest.warns(UserWarning, match=r"y contains the class .*, which did not occur in fit \(classes: "):
            accuracy = classifier.score(X, labels)
        assert accuracy == pytest.approx(hits[1:].sum() / 40)

    @pytest.mark.parametrize("strangers", [[7] * 40, [0.5] * 40, ["0"] * 40])
    def test_no_known_class_at_all(self, model, strangers):
        classifier = model().fit(X, [0, 1] * 20)
        with pytest.warns(UserWarning, match=r"did not occur in fit \(classes: \[0, 1\]\); its rows count as errors"):
            assert classifier.score(X, strangers) == 0


class TestInputsThatAreNoTables:
    def test_lazy(self, model):
        lazy = pl.from_pandas(X).lazy()
        with pytest.raises(TypeError, match="y must be the name of a column of the lazy frame, not a"):
            model().fit(lazy, Y)
        with pytest.raises(TypeError, match="a LazyFrame is lazy: collect it into an eager dataframe first"):
            model().fit(X, Y).predict(lazy)

    def test_ragged(self, model):
        with pytest.raises(ValueError, match=r"the rows of X have different lengths: \[1, 2\]"):
            model().fit([[1, 2], [3]], [0, 1])

    def test_unhashable_cells(self, model):
        with pytest.raises(TypeError, match=r"column 'a' contains \[1\], a list: a cell must be hashable"):
            model().fit(pd.DataFrame({"a": [[1], [2]]}), [0, 1])

    def test_infinity_in_a_continuous_column(self, model):
        with pytest.raises(
            ValueError, match="column 'age', row 4: inf cannot be discretised; replace infinite values by finite ones"
        ):
            model().fit(X.assign(age=[*X.age[:4], np.inf, *X.age[5:]]), Y)

    def test_a_continuous_column_without_a_discretizer(self, model):
        with pytest.raises(
            ValueError,
            match=r"column 'age' is numeric with more than 10 distinct values \(1 such column\), and discretizer is "
            r"None: use discretizer='auto', cut it yourself, or declare its states in categories=",
        ):
            model(discretizer=None).fit(X, Y)

    def test_duplicate_names(self, model):
        with pytest.raises(ValueError, match="column name 'age' occurs more than once: give every column a unique"):
            model().fit(X.set_axis(["age", "age", "count"], axis=1), Y)

    def test_the_class_among_the_features(self, model):
        with pytest.raises(ValueError, match="the class and a feature are both called 'age': rename one of them"):
            model().fit(X, Y.rename("age"))


@pytest.mark.parametrize("classifier", [AdditiveClassifier, RefittedClassifier])
def test_what_is_within_a_classifier_is_not_named(model, classifier):
    """Messages that named it spoke of an estimator that the user did not pass."""
    chosen, cells = classifier(model()), X.to_numpy(dtype=object)
    with pytest.raises(ValueError, match=r"^learning requires y to be passed, but the target y is None"):
        chosen.fit(X, None)
    chosen.fit(X, Y)
    for answer in (chosen.predict, chosen.predict_proba, chosen.explain, chosen.explain_local):
        with pytest.raises(ValueError, match=r"^X has 2 features, but anbexact is expecting 3 features as input"):
            answer(cells[:, :2])


class TestClasses:
    @pytest.mark.parametrize("nothing", [None, np.nan, pd.NA])
    def test_missing(self, model, nothing):
        labels = pd.Series([*Y[:-2], nothing, nothing], name="answer", dtype=object)
        with pytest.raises(
            ValueError,
            match=r"Input y contains NaN: the class 'answer' is missing in 2 rows \(first: row 38\)\. Drop these",
        ):
            model().fit(X, labels)

    def test_missing_numbers(self, model):
        with pytest.raises(ValueError, match=r"Input y contains NaN: the class 'class' is missing in 1 row "):
            model().fit(X, [np.nan, *[0.0, 1.0] * 19, 0.0])

    def test_continuous(self, model):
        with pytest.raises(ValueError, match="Unknown label type: continuous"):
            model().fit(X, np.linspace(0, 1, 40))

    @pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
    def test_infinite(self, model):
        with pytest.raises(ValueError, match="y contains infinity"):
            model().fit(X, [np.inf, *[0.0, 1.0] * 19, 0.0])

    def test_other_shapes(self, model):
        with pytest.raises(ValueError, match="y should be a 1d array"):
            model().fit(X, np.zeros((40, 2)))
        with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[40, 5\]"):
            model().fit(X, Y[:5])
        with pytest.raises(ValueError, match="requires y to be passed"):
            model().fit(X, None)


class TestParameters:
    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"structure_score": "mml"}, "structure_score must be one of 'bdeu', .* or a Score, not 'mml'$"),
            ({"structure_score": "mdl"}, "or a Score, not 'mdl', which is called 'bic' here"),
            ({"structure_score": "BDe"}, "or a Score, not 'BDe', which is called 'bdeu' here"),
            ({"structure_score": "cmdl"}, "or a Score, not 'cmdl'$"),
            ({"structure_score": 3}, "structure_score must be one of 'bdeu', .* or a Score, not 3"),
            ({"ess": 0}, "ess must be a finite number above 0, or 'auto', not 0"),
            ({"ess": -1.0}, "ess must be a finite number above 0"),
            ({"ess": float("nan")}, "ess must be a finite number above 0"),
            ({"ess": "1"}, "ess must be a finite number above 0, or 'auto', not '1'"),
            ({"ess": None}, "ess must be a finite number above 0, or 'auto', not None"),
            ({"smoothing": 0}, "smoothing must be a finite number above 0, or 'auto', not 0"),
            ({"smoothing": "best"}, "smoothing must be a finite number above 0, or 'auto', not 'best'"),
            (
                {"parameters": "map"},
                "parameters must be one of 'eap', 'ml', 'friedman', 'acll', 'hierarchical', 'tree', not 'map'",
            ),
            ({"handle_unknown": "ignore"}, "handle_unknown must be one of 'marginalize', 'error', not 'ignore'"),
            (
                {"handle_missing": "drop"},
                "handle_missing must be one of 'auto', 'marginalize', 'own_state', 'error', 'em', not",
            ),
            (
                {"discretizer": 5},
                "discretizer must be one of 'auto', .* or a transformer with cut_points_ or bin_edges_, not 5",
            ),
            ({"categories": [1]}, "categories must map column names to lists of states, not be a list"),
            ({"categories": {"size": [1]}}, r"categories names 'size', but the columns are \['age', 'colour'"),
            ({"categories": {"colour": ["red"]}}, r"column 'colour', row \d: the value '\w+' is not a state .*'red'"),
            ({"categories": {"colour": ["red", "red"]}}, "the states of column 'colour' are not distinct"),
            ({"categories": {"colour": ["red", "green", "blue", None]}}, "column 'colour'"),
            ({"categories": {"colour": ["red", "green", "blue", np.nan]}}, "column 'colour'"),
            ({"categories": {"colour": "red"}}, "colour"),
            ({"n_jobs": 0}, "n_jobs must be None, -1 .* or at least 1, not 0"),
            ({"n_jobs": 1.5}, "n_jobs must be"),
            ({"n_jobs": "2"}, "n_jobs must be"),
        ],
    )
    def test_are_refused_in_fit(self, model, parameters, message):
        classifier = model(**parameters)
        with pytest.raises((TypeError, ValueError), match=message):
            classifier.fit(X, Y)

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"max_parents": -1}, "max_parents must be None or a whole number, 0 or more, not -1"),
            ({"time_limit": 0}, "time_limit must be None or a number above 0, not 0"),
            ({"time_limit": "5"}, "time_limit must be None or a number above 0, not '5'"),
            ({"memory_limit": -1}, "memory_limit must be None or a number above 0, not -1"),
            (
                {"required_edges": [("age", "size")]},
                r"required edge \('age', 'size'\) names 'size', but edges",
            ),
            ({"required_edges": [("answer", "age")]}, "the class is a parent of every feature"),
            ({"required_edges": [("age", "count"), ("count", "age")]}, "the required edges form a cycle"),
            (
                {"required_edges": [("age", "count")], "forbidden_edges": [("age", "count")]},
                r"the edge \('age', 'count'\) is both required and forbidden",
            ),
            (
                {"required_edges": [("age", "count")], "max_parents": 0},
                "give 'count' 1 parents, but max_parents",
            ),
            (
                {"forbidden_edges": ["age"]},
                r"forbidden edges must be \(parent, child\) pairs of feature names, not 'age'",
            ),
            (
                {"required_edges": ["age->count"]},  # as the command line takes it
                r"required edges must be .* pairs of feature names, not 'age->count': .* \[\('age', 'count'\)\]",
            ),
            ({"required_edges": [("age", "count", "level")]}, r"pairs of .* not \('age', 'count', 'level'\)"),
        ],
    )
    def test_of_the_search(self, model, parameters, message):
        if model is NaiveBayesClassifier:
            with pytest.raises(
                TypeError, match=f"NaiveBayesClassifier has no parameter '{next(iter(parameters))}': it"
            ):
                model(**parameters)
            return
        with pytest.raises((TypeError, ValueError), match=message):
            model(**parameters).fit(X, Y)

    def test_edges_that_can_be_read_only_once(self, model):
        """The parameter must not change, so a second fit would silently forget such edges."""
        if model is NaiveBayesClassifier:
            return
        with pytest.raises((TypeError, ValueError), match="required"):
            model(required_edges=iter([("age", "count")])).fit(X, Y)


class TestOtherTypes:
    @pytest.mark.parametrize(("learned", "asked"), [("int", "str"), ("str", "int")])
    def test_values_that_read_like_states_of_another_type(self, model, learned, asked):
        X = pd.DataFrame({"size": [1, 2, 3, 1]})
        classifier = model().fit(X.astype(learned), ["a", "b", "b", "a"])
        with pytest.warns(
            UserWarning,
            match=rf"'size' contains .* \({asked}\), which is not a known state; did you mean .* \({learned}\)\?",
        ):
            proba = classifier.predict_proba(X.astype(asked))
        np.testing.assert_allclose(proba, 0.5)

    def test_equal_numbers_of_another_type_are_the_same_state(self, model, recwarn):
        X = pd.DataFrame({"size": [1, 2, 3, 1]})
        classifier = model().fit(X, ["a", "b", "b", "a"])
        np.testing.assert_array_equal(classifier.predict_proba(X.astype(float)), classifier.predict_proba(X))
        assert not recwarn.list


def test_rows_that_no_class_allows_for(model):
    """Tables with zeros do not come from fit, but from networks made elsewhere."""
    classifier = model().fit(pd.DataFrame({"f": [0, 1], "g": [0, 1]}), [0, 1])
    for name in ("f", "g"):
        values = classifier.conditional_tables_[name].values
        values[:] = np.eye(2).reshape(2, 2, *([1] * (values.ndim - 2)))
    classifier.set_model(replace(classifier.model_))  # which works out its posterior anew
    X = pd.DataFrame({"f": [0, 0], "g": [0, 1]})
    with pytest.warns(UserWarning, match=r"row 1 is impossible under the network for every class"):
        proba = classifier.predict_proba(X)
    np.testing.assert_array_equal(proba, [[1, 0], [np.nan, np.nan]])
    np.testing.assert_array_equal(classifier.log_evidence(X), [np.log(0.5), -np.inf])


def test_cut_points_come_from_the_rows_in_which_a_column_is_observed(model):
    numbers = [*np.arange(100.0), *np.arange(1000.0, 1100.0)]
    X = pd.DataFrame({"n": numbers, "m": [*numbers[:150], *[None] * 50], "hole": [None] * 100 + ["a", "b"] * 50})
    with pytest.warns(UserWarning, match="150 of 200 rows have a missing feature"):
        classifier = model(discretizer="median", handle_missing="marginalize").fit(X, [0, 1] * 100)
    assert {name: cuts.tolist() for name, cuts in classifier.cut_points_.items()} == {"n": [549.5], "m": [74.5]}


@pytest.mark.slow
def test_more_features_than_sets_can_be_numbered(model):
    X = np.tile([[0], [1], [0], [1]], 1100)
    if model is NaiveBayesClassifier:
        assert model().fit(X, [0, 1, 0, 1]).predict(X).shape == (4,)
        return
    assert model(max_parents=0, ess=1.0).fit(X, [0, 1, 0, 1]).predict(X).shape == (4,)
    with pytest.raises(MemoryError, match=r"fNML has no set scores .* each of the 1100 2\^1099 families"):
        model(structure_score="fnml", ess=1.0).fit(X, [0, 1, 0, 1])
