"""The estimators as scikit-learn users use them."""

import copy
import pickle
import re
import warnings
from inspect import isabstract, signature

import numpy as np
import oracles
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OrdinalEncoder, StandardScaler
from strategies import SCORES, random_problem

import anbexact
import anbexact.classifiers.choosing.limits as memory
from anbexact import ANBClassifier, MDLPDiscretizer, MedianDiscretizer, NaiveBayesClassifier, classifiers
from anbexact.classifiers import BNC2PClassifier, FixedStructureClassifier, GreedyGBNClassifier, MCDAGClassifier
from anbexact.cli import main
from anbexact.compare import compare
from anbexact.datasets import load_iris, load_monks, load_tic_tac_toe
from anbexact.scores import CLL, CMDL

MODELS = [NaiveBayesClassifier, ANBClassifier]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = pd.Series(rng.choice(["no", "perhaps", "yes"], 120), name="answer")
    X = pd.DataFrame(
        {
            "count": rng.integers(0, 4, 120),
            "colour": rng.choice(["red", "green", "blue"], 120),
            "flag": rng.random(120) < 0.5,
            "length": rng.normal(size=120) + (y == "yes") * 2,
        }
    )
    return X, y


@pytest.mark.parametrize("model", MODELS)
class TestEstimator:
    def test_attributes(self, model, data):
        X, y = data
        classifier = model(discretizer="median").fit(X, y)
        assert classifier.classes_.tolist() == ["no", "perhaps", "yes"]
        assert classifier.n_features_in_ == 4
        assert classifier.feature_names_in_.tolist() == list(X.columns)
        assert classifier.vocabulary_.class_name == "answer"
        assert classifier.vocabulary_.features == tuple(X.columns)
        assert classifier.structure_.certificate.optimal
        assert list(classifier.cut_points_) == ["length"]
        np.testing.assert_allclose(classifier.cut_points_["length"], [X["length"].median()])
        assert set(classifier.conditional_tables_) == {*X.columns, "answer"}
        assert classifier.predict_proba(X).shape == (120, 3)

    def test_shows_its_parameters(self, model):
        assert repr(model(ess=2.0)) == f"{model.__name__}(ess=2.0)"

    @pytest.mark.parametrize("duplicate", [lambda c: pickle.loads(pickle.dumps(c)), copy.deepcopy, copy.copy])
    def test_copies_predict_alike(self, model, data, duplicate):
        X, y = data
        classifier = model(ess=2.0).fit(X, y)
        other = duplicate(classifier)
        np.testing.assert_array_equal(other.predict_proba(X), classifier.predict_proba(X))
        assert other.structure_ == classifier.structure_
        assert other.vocabulary_ == classifier.vocabulary_
        assert other.get_params() == classifier.get_params()

    def test_clone_and_set_params(self, model, data):
        X, y = data
        classifier = model(ess=2.0, n_jobs=1).fit(X, y)
        fresh = clone(classifier)
        assert fresh.get_params() == classifier.get_params()
        assert not hasattr(fresh, "classes_")
        first = classifier.predict_proba(X)
        again = classifier.set_params(ess=50.0).fit(X, y).predict_proba(X)
        assert not np.allclose(first, again)
        np.testing.assert_array_equal(model(ess=50.0).fit(X, y).predict_proba(X), again)
        with pytest.raises(ValueError, match="Invalid parameter 'alpha'"):
            classifier.set_params(alpha=1)

    def test_fit_changes_neither_input_nor_parameters(self, model, data):
        X, y = data
        categories = {"colour": ["red", "green", "blue", "black"]}
        weights = np.linspace(0, 2, 120)
        before = X.copy(deep=True), y.copy(), weights.copy()
        classifier = model(categories=categories)
        parameters = classifier.get_params()
        classifier.fit(X, y, sample_weight=weights).predict_proba(X)
        classifier.explain(X.iloc[:2])
        classifier.score(X, y)
        pd.testing.assert_frame_equal(X, before[0])
        pd.testing.assert_series_equal(y, before[1])
        np.testing.assert_array_equal(weights, before[2])
        assert classifier.get_params() == parameters
        assert categories == {"colour": ["red", "green", "blue", "black"]}
        assert classifier.vocabulary_.states["colour"] == ("red", "green", "blue", "black")

    def test_predicting_changes_no_state(self, model, data):
        X, y = data
        classifier = model().fit(X, y)
        before = pickle.dumps(classifier)
        for method in ("predict", "predict_proba", "predict_log_proba", "log_evidence", "explain"):
            getattr(classifier, method)(X.iloc[:5])
        assert pickle.dumps(classifier) == before

    @pytest.mark.slow
    def test_every_library_gives_the_same_classifier(self, model, data):
        X, y = data
        expected = model().fit(X, y)
        proba = expected.predict_proba(X)
        columns = {name: X[name].tolist() for name in X}
        forms = {
            "polars": (pl.DataFrame(columns), pl.Series("answer", y.tolist())),
            "pyarrow": (pa.table(columns), pa.chunked_array([y.tolist()])),
            "lists": (X.to_numpy(dtype=object).tolist(), y.tolist()),
            "array": (X.to_numpy(dtype=object), y.to_numpy()),
            "nullable": (X.convert_dtypes(), y.convert_dtypes()),
            "arrow": (X.convert_dtypes(dtype_backend="pyarrow"), y.astype("category")),
            "objects": (X.astype(object), y.astype(object)),
        }
        for name, (X_form, y_form) in forms.items():
            classifier = model().fit(X_form, y_form)
            np.testing.assert_allclose(classifier.predict_proba(X_form), proba, rtol=1e-12, err_msg=name)
            assert classifier.structure_.score == pytest.approx(expected.structure_.score, rel=1e-12), name
            if hasattr(classifier, "feature_names_in_"):
                np.testing.assert_allclose(classifier.predict_proba(X), proba, rtol=1e-12, err_msg=name)
                np.testing.assert_allclose(expected.predict_proba(X_form), proba, rtol=1e-12, err_msg=name)

    def test_weights_are_copies_and_zero_is_absent(self, model):
        problem = random_problem(1, 4, n_rows=60)
        X, y = problem.frame()
        repeats = np.arange(60) % 3
        copies = np.repeat(np.arange(60), repeats)
        weighted = model().fit(X, y, sample_weight=repeats)
        copied = model().fit(X.iloc[copies], y.iloc[copies])
        assert weighted.vocabulary_ == copied.vocabulary_
        np.testing.assert_array_equal(weighted.predict_proba(X), copied.predict_proba(X))
        assert dict(weighted.structure_.parents) == dict(copied.structure_.parents)

    @pytest.mark.parametrize(
        "labels",
        [
            [0, 1],
            [0.0, 1.0],
            [False, True],
            ["no", "yes"],
            [pd.Timestamp(2020, 1, 1), pd.Timestamp(2021, 1, 1)],
            [("a", 1), ("b", 2)],
            [1, "a"],
            [-1, 10**12],
        ],
        ids=str,
    )
    def test_labels_of_any_type(self, model, labels):
        X = pd.DataFrame({"a": [0, 1] * 10, "b": [0, 0, 1, 1] * 5})
        y = pd.Series(labels * 10, dtype=None if len({type(label) for label in labels}) == 1 else object)
        classifier = model().fit(X, y)
        assert set(classifier.classes_.tolist()) == set(labels) or classifier.classes_.dtype.kind == "O"
        predicted = classifier.predict(X)
        assert [label == expected for label, expected in zip(predicted.tolist(), y, strict=True)] == [True] * 20
        assert classifier.score(X, y) == 1.0

    def test_score_is_the_weighted_share_of_hits(self, model, data):
        X, y = data
        classifier = model().fit(X, y)
        hits = classifier.predict(X) == y.to_numpy()
        weights = np.arange(120.0)
        assert classifier.score(X, y) == pytest.approx(hits.mean())
        assert classifier.score(X, y.tolist(), sample_weight=weights) == pytest.approx(
            np.average(hits, weights=weights)
        )
        assert classifier.score(X, pl.Series(y.tolist())) == pytest.approx(hits.mean())

    def test_ties_go_to_the_first_class(self, model):
        classifier = model().fit([[0], [0]], ["b", "a"])
        assert classifier.predict([[0], [None]]).tolist() == ["a", "a"]

    @pytest.mark.slow
    def test_grid_search_and_cross_validation(self, model):
        X, y = load_tic_tac_toe()
        X, y = X.iloc[::4], y.iloc[::4]
        search = GridSearchCV(model(n_jobs=1), {"ess": [0.5, 1.0, 10.0]}, cv=3, scoring="neg_log_loss").fit(X, y)
        assert search.best_params_["ess"] in (0.5, 1.0, 10.0)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        scores = cross_val_score(model(), X, y, cv=3, error_score="raise")
        assert (scores > 0.5).all()

    def test_pipeline(self, model, data):
        X, y = data
        X = X.drop(columns="length")
        piped = make_pipeline(OrdinalEncoder(), model()).fit(X, y)
        alone = model(discretizer="mdlp").fit(X, y)
        np.testing.assert_allclose(piped.predict_proba(X), alone.predict_proba(X), rtol=1e-12)

    def test_pipeline_with_our_discretizer(self, model):
        X, y = load_iris()
        piped = make_pipeline(MDLPDiscretizer(), model()).fit(X, y)
        alone = model(discretizer="mdlp").fit(X, y)
        np.testing.assert_allclose(piped.predict_proba(X), alone.predict_proba(X), rtol=1e-12)

    @pytest.mark.slow
    def test_calibration(self, model, data):
        X, y = data
        X = X.drop(columns="length")
        calibrated = CalibratedClassifierCV(model(), cv=3).fit(X, y)
        np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1)

    def test_a_transformer_as_discretizer(self, model, data):
        class Thirds(MedianDiscretizer):
            def fit(self, X, y=None, sample_weight=None):
                self.given = y, sample_weight
                self.cut_points_ = [np.quantile(column, [1 / 3, 2 / 3]) for column in X.T]
                return self

        X, y = data
        transformer = Thirds()
        classifier = model(discretizer=transformer).fit(X, y, sample_weight=np.ones(120))
        assert not hasattr(transformer, "cut_points_")
        assert len(classifier.vocabulary_.states["length"]) == 3
        bins = KBinsDiscretizer(4, quantile_method="averaged_inverted_cdf")
        assert len(model(discretizer=bins).fit(X, y).vocabulary_.states["length"]) == 4
        with pytest.raises(TypeError, match="neither cut_points_ nor bin_edges_"):
            model(discretizer=StandardScaler()).fit(X, y)
        with pytest.raises(TypeError, match="discretizer must be one of 'auto', 'median', 'mdlp'"):
            model(discretizer="mdl").fit(X, y)

    def test_ten_distinct_numbers_are_states_and_eleven_are_cut(self, model):
        y = [0, 1] * 11
        assert model().fit(np.arange(22)[:, None] % 10, y).cut_points_ == {}
        assert list(model().fit(np.arange(22)[:, None] % 11, y).cut_points_) == ["x0"]
        declared = model(categories={"x0": range(11)}).fit(np.arange(22)[:, None] % 11, y)
        assert declared.vocabulary_.states["x0"] == tuple(range(11))
        weights = (np.arange(22) % 11 < 10).astype(float)
        assert model().fit(np.arange(22)[:, None] % 11, y, sample_weight=weights).cut_points_ == {}

    def test_declared_states_get_their_share(self, model):
        X = pd.DataFrame({"a": pd.Categorical(["x", "y"], ["x", "y", "z"])})
        y = pd.Series(pd.Categorical(["p", "q"], ["p", "q", "never"]))
        classifier = model().fit(X, y)
        assert classifier.classes_.tolist() == ["never", "p", "q"]
        proba = classifier.predict_proba(pd.DataFrame({"a": ["z"]}))[0]
        # P(c): (0 + 1/3)/3, (1 + 1/3)/3 twice. P(z | c): 1/3, and (1/9)/(1 + 1/3) = 1/12 twice.
        joint = np.array([1 / 9 / 3, 4 / 9 / 12, 4 / 9 / 12])
        np.testing.assert_allclose(proba, joint / joint.sum(), rtol=1e-12)

    def test_fit_forgets_the_fit_before(self, model, data):
        X, y = data
        classifier = model().fit(X, y)
        classifier.fit(X[["colour"]].to_numpy(), y)
        assert classifier.n_features_in_ == 1
        assert classifier.cut_points_ == {}
        assert not hasattr(classifier, "feature_names_in_")

    @pytest.mark.slow
    def test_a_score_object_instead_of_its_name(self, model, data):
        X, y = data
        for score in SCORES.values():
            try:
                classifier = model(structure_score=score()).fit(X, y)
            except TypeError as error:
                assert score().name in str(error)  # noqa: PT017  # some scores fit, the others say why not
                continue
            table_score = classifier.structure_.score
            assert np.isfinite(table_score)

    def test_results_do_not_depend_on_threads(self, model, data):
        X, y = data
        one, three = (model(n_jobs=k).fit(X, y) for k in (1, 3))
        np.testing.assert_array_equal(one.predict_proba(X), three.predict_proba(X))


class TestNaiveBayes:
    def test_by_hand(self):
        X = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 1, 1]})
        classifier = NaiveBayesClassifier(ess=2.0).fit(X, ["u", "u", "u", "v"])
        p_u = 4 / 6 * (2.5 / 4) * (1.5 / 4)  # P(u) P(a=0 | u) P(b=0 | u)
        p_v = 2 / 6 * (0.5 / 2) * (0.5 / 2)
        row = pd.DataFrame({"a": [0], "b": [0]})
        np.testing.assert_allclose(classifier.predict_proba(row)[0], [p_u / (p_u + p_v), p_v / (p_u + p_v)])
        assert classifier.log_evidence(row)[0] == pytest.approx(np.log(p_u + p_v))

    def test_is_the_anb_without_feature_parents(self, data):
        X, y = data
        np.testing.assert_array_equal(
            NaiveBayesClassifier().fit(X, y).predict_proba(X), ANBClassifier(max_parents=0).fit(X, y).predict_proba(X)
        )


class TestANB:
    def test_solves_what_naive_bayes_cannot(self):
        X, y = load_monks(1)
        assert ANBClassifier().fit(X, y).score(X, y) == 1.0
        assert NaiveBayesClassifier().fit(X, y).score(X, y) < 0.8

    def test_edges_are_respected(self):
        X, y = load_monks(1)
        names = list(X.columns)
        classifier = ANBClassifier(
            required_edges=[(names[5], names[4])],
            forbidden_edges=[(names[0], names[1]), (names[1], names[0])],
            max_parents=1,
        ).fit(X, y)
        edges = classifier.structure_.feature_edges
        assert (names[5], names[4]) in edges
        assert not {(names[0], names[1]), (names[1], names[0])} & set(edges)
        array = ANBClassifier(required_edges=[("x1", "x0")]).fit(X.to_numpy(dtype=object), y)
        assert ("x1", "x0") in array.structure_.feature_edges

    def test_time_limit(self):
        X, y = load_iris()
        classifier = ANBClassifier(time_limit=60).fit(X, y)
        assert classifier.structure_.certificate.optimal

    def test_too_many_features_are_refused_with_advice(self):
        X = np.random.default_rng(0).integers(0, 2, (50, 40))
        with pytest.raises(anbexact.SearchTooLargeError, match=r"fNML has no set scores .* each of the 40 2\^39 fam"):
            ANBClassifier(structure_score="fnml", ess=1.0).fit(X, X[:, 0])

    def test_tables_too_large_for_the_memory_are_learned_again_with_fewer_parents(self, monkeypatch):
        X, y = load_tic_tac_toe()
        free = ANBClassifier(ess=1.0).fit(X, y)
        tables = [table.values.nbytes for table in free.conditional_tables_.values()]
        least = (2 * sum(tables) + max(tables)) / memory.SHARE_OF_MEMORY
        monkeypatch.setattr(memory, "available_memory", lambda: least)
        assert ANBClassifier(ess=1.0).fit(X, y).structure_.parents == free.structure_.parents
        monkeypatch.setattr(memory, "available_memory", lambda: least - 1)
        monkeypatch.setattr(memory, "TABLE_MEMORY", 8 * 9 * 2 * 3**3)  # two parents, as it has already
        with pytest.warns(
            UserWarning,
            match=r"structure found would take .* kB, so the structure was learned again with max_parents=1",
        ):
            few = ANBClassifier(ess=1.0).fit(X, y)
        assert max(map(len, free.structure_.parents.values())) == 3
        assert dict(few.structure_.parents) == dict(
            ANBClassifier(ess=1.0, max_parents=1).fit(X, y).structure_.parents
        )
        assert few.structure_.certificate.method.endswith("at most 1 feature parent")

    def test_verbose_shows_progress_on_standard_error(self, capsys):
        X, y = load_monks(1)
        ANBClassifier(verbose=1).fit(X, y)
        captured = capsys.readouterr()
        assert captured.out == ""
        assert "set scores: done" in captured.err
        ANBClassifier().fit(X, y)
        assert capsys.readouterr().err == ""

    def test_quiet_without_a_reason_to_warn(self, data):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            X, y = data
            ANBClassifier().fit(X, y).predict_proba(X)


class TestGreedy:
    """Networks learned greedily: by hill climbing, and over equivalence classes."""

    MODELS = (
        GreedyGBNClassifier(),
        GreedyGBNClassifier(structure_score="cmdl", max_parents=3),
        GreedyGBNClassifier(structure_score=CLL(), max_parents=2, tabu=3),
        BNC2PClassifier(),
        MCDAGClassifier(),
    )

    @pytest.mark.parametrize("model", MODELS, ids=repr)
    def test_tables_and_posterior_are_those_of_the_structure(self, model, data):
        X, y = data
        fitted = clone(model).set_params(ess=2.0).fit(X, y)
        frame = pd.concat([X, y], axis=1)
        frame["length"] = np.searchsorted(fitted.cut_points_["length"], X["length"], side="right")
        codes = frame.apply(lambda column: column.astype("category").cat.codes).to_numpy().tolist()
        arities = [len(states) for states in fitted.vocabulary_.states.values()]
        names = fitted.vocabulary_.names
        tables = {}
        for v, name in enumerate(names):
            parents = [names.index(parent) for parent in fitted.structure_.parents[name]]
            tables[v] = (parents, oracles.eap(codes, [1.0] * 120, arities, v, parents, 2.0))
        for t in (0, 50, 119):
            expected = oracles.log_posterior(tables, arities, 4, dict(enumerate(codes[t][:4])))
            np.testing.assert_allclose(fitted.predict_log_proba(X.iloc[[t]])[0], expected, rtol=1e-9)

    @pytest.mark.parametrize("model", MODELS, ids=repr)
    def test_other_forms(self, model, data, tmp_path):
        X, y = data
        fitted = clone(model).fit(X, y)
        proba = fitted.predict_proba(X)
        fitted.save(tmp_path / "model.json")
        np.testing.assert_array_equal(anbexact.load(tmp_path / "model.json").predict_proba(X), proba)
        np.testing.assert_allclose(fitted.to_logit().predict_proba(X), proba, rtol=1e-9)
        assert fitted.network_.check_model()
        own = fitted.explain(X.iloc[:3])
        assert [explanation.predicted for explanation in own] == fitted.predict(X.iloc[:3]).tolist()

    @pytest.mark.parametrize("model", MODELS, ids=repr)
    def test_rows_are_added_where_local_scores_tell_the_score(self, model, data):
        X, y = data
        fitted = clone(model).fit(X, y)
        if model.structure_score == "bdeu":
            twice = clone(model).fit(X, y).partial_fit(X, y)
            assert twice.structure_.parents == fitted.structure_.parents
            assert twice.counts_["flag"].weights.sum() == 240
        else:
            assert not hasattr(fitted, "partial_fit")
            assert fitted.score_name_ in ("CLL", "CMDL")

    def test_finds_what_depends_on_the_class(self):
        rng = np.random.default_rng(0)
        y = rng.integers(0, 2, 500)
        near = np.where(rng.random(500) < 0.9, y, 1 - y)
        X = pd.DataFrame({"near": near, "noise": rng.integers(0, 2, 500), "both": near ^ (rng.random(500) < 0.1)})
        for model in (GreedyGBNClassifier(), GreedyGBNClassifier(structure_score="cmdl")):
            edges = {frozenset(edge) for edge in model.fit(X, y).structure_.edges}
            assert frozenset({"near", "class"}) in edges
            assert not any("noise" in edge for edge in edges)
        for model in (BNC2PClassifier(), MCDAGClassifier()):
            assert max(map(len, model.fit(X, y).structure_.parents.values())) <= 2
            assert model.score(X, y) > 0.85

    def test_parameters(self, data):
        X, y = data
        required = GreedyGBNClassifier(required_edges=[("answer", "flag")], forbidden_edges=[("answer", "length")])
        edges = required.fit(X, y).structure_.edges
        assert ("answer", "flag") in edges
        assert ("answer", "length") not in edges
        seeds = [np.random.RandomState(3), 3]
        one, two = (GreedyGBNClassifier(restarts=2, random_state=seed).fit(X, y).structure_ for seed in seeds)
        assert one.parents == two.parents
        assert GreedyGBNClassifier(ess="auto").fit(X, y).ess_ > 0
        for model in (BNC2PClassifier(ess=1.0, time_limit=1e-9), MCDAGClassifier(ess=1.0, time_limit=1e-9)):
            assert model.fit(X, y).structure_.edges == ()
        with pytest.raises(ValueError, match=r"structure_score must be one of .*'bdeu'.* not 'cdml'"):
            GreedyGBNClassifier(structure_score="cdml").fit(X, y)
        with pytest.raises(TypeError, match="CMDL"):
            ANBClassifier(structure_score=CMDL()).fit(X, y)

    def test_tables_too_large_for_the_memory_are_learned_again_with_fewer_parents(self, monkeypatch):
        X, y = load_tic_tac_toe()
        monkeypatch.setattr(memory, "available_memory", lambda: 1000)
        monkeypatch.setattr(memory, "TABLE_MEMORY", 8 * 9 * 2 * 3**2)
        with pytest.warns(
            UserWarning,
            match=r"structure found would take .* kB, so the structure was learned again with max_parents=1",
        ):
            few = GreedyGBNClassifier().fit(X, y)
        assert few.structure_.parents == GreedyGBNClassifier(max_parents=1).fit(X, y).structure_.parents

    @pytest.mark.slow
    def test_compared_by_name_and_on_the_command_line(self, tmp_path, capsys):
        X, y = load_monks(1)
        names = ["gGBN", "GBN-CMDL", "BNC2P", "MC-DAG"]
        assert list(compare(X, y, folds=2, models=names, refit=False).index) == names
        pd.concat([X, y], axis=1).to_csv(tmp_path / "monks.csv", index=False)
        for model, title in (("ggbn", "gGBN"), ("bnc2p", "BNC2P"), ("mcdag", "MC-DAG")):
            assert main(["fit", str(tmp_path / "monks.csv"), "--class", "is_monk", "--model", model]) == 0
            assert f"({title})" in capsys.readouterr().out


def test_public_names_exist():
    for name in anbexact.__all__:
        assert hasattr(anbexact, name)
    assert re.fullmatch(r"\d+\.\d+\.\d+", anbexact.__version__)


ALL_CLASSIFIERS = [
    model
    for name in classifiers.__all__
    if not isabstract(model := getattr(classifiers, name)) and issubclass(model, classifiers.TableClassifier)
]


@pytest.mark.parametrize("model", ALL_CLASSIFIERS)
class TestConstructors:
    def test_an_unknown_parameter_is_refused_by_the_name_of_the_estimator(self, model):
        with pytest.raises(TypeError, match=f"{model.__name__} has no parameter 'n_job': did you mean 'n_jobs'"):
            model(n_job=2)
        with pytest.raises(TypeError, match=f"{model.__name__} has no parameter 'zzzzzz': it takes .*n_jobs"):
            model(zzzzzz=2)

    def test_parameters_go_by_name(self, model):
        with pytest.raises(TypeError, match=f"{model.__name__} takes its parameters by name"):
            model({}, 1.0)

    def test_signature_parameters_and_attributes_agree(self, model):
        given = {"parents": {"class": ()}} if model is FixedStructureClassifier else {}
        parameters = model(**given).get_params()
        assert set(signature(model).parameters) == set(parameters)
        assert "handle_missing" in parameters
        assert model.__init__.__qualname__ == f"{model.__name__}.__init__"


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        (lambda _: None, "parents must be a mapping of every variable to its parents, .*, not NoneType"),
        (lambda _: [("a", ["c"])], "parents must be a mapping .*, not list"),
        (lambda structure: structure, "the attribute parents of a structure, not Structure"),
    ],
)
def test_a_given_structure_must_be_a_mapping(parents, message):
    X, y = load_monks(1)
    structure = NaiveBayesClassifier().fit(X, y).structure_
    with pytest.raises(TypeError, match=message):
        FixedStructureClassifier(parents(structure)).fit(X, y)
    FixedStructureClassifier(structure.parents).fit(X, y)
