"""The estimator that learns a network and refits it; the network of a refit as an estimator; copies and panels."""

import copy
import inspect
import pickle
import tracemalloc
import warnings

import numpy as np
import oracles
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from strategies import random_problem

import anbexact
import anbexact.adapters.pgmpy.networks as pgmpy_adapter
from anbexact import (
    AdditiveClassifier,
    ANBClassifier,
    FANClassifier,
    FSANBClassifier,
    NaiveBayesClassifier,
    RefittedClassifier,
    TANClassifier,
)
from anbexact.adapters import from_file, from_pgmpy, to_file, to_logit, to_pgmpy
from anbexact.classifiers import AODEClassifier, FixedStructureClassifier, KDBClassifier, LogitFANClassifier
from anbexact.datasets import load_anes96, load_iris, load_monks, load_tic_tac_toe

COMMON_CHILD = {"f0": ["c"], "f1": ["c"], "f2": ["c", "f0", "f1"], "c": []}
CLASS_BELOW = {"f0": [], "f1": ["f0", "c"], "f2": ["c"], "c": ["f0"]}
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


def declared(problem, parents, **parameters):
    """The estimator of a given graph, all states declared."""
    return FixedStructureClassifier(parents, categories=problem.categories, discretizer=None, **parameters)


def slow_posterior(problem, parents, l2, ess=1.0):
    """Log of P(c | row) for every row: tables by their formula, shifts of their entries by a general optimiser."""
    number = {name: v for v, name in enumerate(problem.names)}
    graph = {number[child]: [number[parent] for parent in of_child] for child, of_child in parents.items()}
    c = problem.n
    tables = {
        child: (of_child, oracles.eap(problem.rows, problem.weights, problem.arities, child, of_child, ess))
        for child, of_child in graph.items()
    }
    base = np.array(
        [oracles.log_posterior(tables, problem.arities, c, dict(enumerate(row[:-1]))) for row in problem.rows]
    )
    families = [
        tuple(v for v in (child, *of_child) if v != c) for child, of_child in graph.items() if c in (child, *of_child)
    ]
    design, _ = oracles.cell_indicators(problem.rows, families, problem.arities)
    slow = oracles.Conditional(design, base, [row[-1] for row in problem.rows], problem.weights, l2)
    shape = design.shape[1], problem.arities[-1]
    found = minimize(
        lambda x: -slow.value(x.reshape(shape)),
        np.zeros(shape).ravel(),
        jac=lambda x: -slow.gradient(x.reshape(shape)).ravel(),
        method="BFGS",
        options={"gtol": 1e-7, "maxiter": 3000},
    )
    return slow.logs(found.x.reshape(shape))


class TestPosterior:
    @pytest.mark.parametrize(("seed", "l2"), [(0, 0.05), (1, 1), (2, 30)])
    @pytest.mark.parametrize("parents", [COMMON_CHILD, CLASS_BELOW])
    def test_is_that_of_a_slow_optimiser(self, parents, seed, l2):
        problem = random_problem(seed, 3, n_rows=40, max_arity=3, weights=["ones", "mixed", "real"][seed])
        X, y = problem.frame()
        model = RefittedClassifier(declared(problem, parents, ess=2.0), l2=l2).fit(X, y, problem.weights)
        expected = slow_posterior(problem, parents, l2, ess=2.0)
        np.testing.assert_allclose(model.predict_log_proba(X), expected, rtol=0, atol=2e-3)
        np.testing.assert_allclose(model.predict_proba(X), np.exp(expected), rtol=0, atol=1e-3)

    @pytest.mark.parametrize("estimator", [NaiveBayesClassifier(), TANClassifier(ess="auto"), ANBClassifier(), None])
    def test_is_that_of_the_two_steps(self, estimator):
        X, y = load_monks(1)
        weights = np.random.default_rng(0).exponential(size=len(y))
        model = RefittedClassifier(estimator).fit(X, y, weights)
        network = clone(FANClassifier(ess="auto") if estimator is None else estimator).fit(X, y, weights)
        logit = network.to_logit().refit(X, y, weights)
        assert model.logit_.refitted.l2 == logit.refitted.l2
        assert model.structure_.parents == network.structure_.parents
        assert model.structure_.score == network.structure_.score
        assert model.n_iter_ == logit.refitted.fit.iterations
        for method in ("predict_proba", "predict_log_proba", "predict"):
            np.testing.assert_array_equal(getattr(model, method)(X), getattr(logit, method)(X))
        np.testing.assert_array_equal(model.estimator_.predict_proba(X), network.predict_proba(X))
        assert model.score(X, y, weights) == pytest.approx(np.average(model.predict(X) == y, weights=weights))
        assert model.to_logit() is to_logit(model) is model.logit_

    def test_of_a_network_that_is_fitted_already(self):
        X, y = load_monks(1)
        tan = TANClassifier().fit(X, y)
        model = RefittedClassifier(FrozenEstimator(tan)).fit(X, y)
        assert model.estimator_ is tan
        np.testing.assert_array_equal(model.predict_proba(X), tan.to_logit().refit(X, y).predict_proba(X))
        with pytest.raises(NotFittedError):
            RefittedClassifier(FrozenEstimator(TANClassifier())).fit(X, y)

    @pytest.mark.parametrize("estimator", [TANClassifier(), ANBClassifier()])
    @pytest.mark.parametrize("hole", [None, "strange"])
    def test_of_hidden_cells_is_summed_out(self, estimator, hole):
        X, y = load_tic_tac_toe()
        model = RefittedClassifier(estimator, l2=1).fit(X, y)
        cells = X[:40].astype(object)
        hidden = np.random.default_rng(0).random(cells.shape) < 0.2
        holes = cells.mask(hidden, hole)
        network = (model.logit_ if model.logit_.equivalent else model.logit_.close()).to_classifier()
        np.testing.assert_allclose(model.predict_proba(holes), network.predict_proba(holes), rtol=0, atol=1e-9)
        tables = {name: (of_name.parents, of_name.values) for name, of_name in network.conditional_tables_.items()}
        row = int(hidden.sum(axis=1).argmax())
        total = np.zeros(2)
        names = list(X)
        free = [name for name, gone in zip(names, hidden[row], strict=True) if gone]
        for states in np.ndindex(*(len(model.vocabulary_.states[name]) for name in free)):
            code = {name: model.vocabulary_.code(name, cells.iloc[row][name]) for name in names}
            code |= dict(zip(free, states, strict=True))
            for k in range(2):
                code["x_wins"] = k
                total[k] += np.prod(
                    [values[tuple(code[v] for v in (name, *parents))] for name, (parents, values) in tables.items()]
                )
        np.testing.assert_allclose(model.predict_proba(holes)[row], total / total.sum(), rtol=1e-8)


class TestEstimator:
    def test_weight_is_copies_and_nought_is_absence(self):
        problem = random_problem(3, 3, n_rows=50, max_arity=3, unseen=False)
        X, y = problem.frame()
        weights = np.random.default_rng(1).integers(0, 4, 50)
        X.loc[weights == 0, "f1"] = 77
        one = RefittedClassifier(TANClassifier()).fit(X, y, weights)
        order = np.random.default_rng(2).permutation(np.repeat(np.arange(50), weights))
        other = RefittedClassifier(TANClassifier()).fit(X.iloc[order], y.iloc[order])
        assert one.vocabulary_ == other.vocabulary_
        np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=0, atol=1e-7)

    def test_classes_are_sorted_and_named(self):
        X, y = load_monks(1)
        labels = y.map({value: f"class {k}" for k, value in enumerate(sorted(set(y), reverse=True))}).rename("kind")
        model = RefittedClassifier(TANClassifier()).fit(X[::-1], labels[::-1])
        plain = RefittedClassifier(TANClassifier()).fit(X, y)
        assert model.classes_.tolist() == ["class 0", "class 1"]
        np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X)[:, ::-1], rtol=0, atol=1e-7)
        assert model.vocabulary_.class_name == "kind"

    @pytest.mark.parametrize("l2", ["auto", 0, 1])
    def test_one_class(self, l2):
        X, _ = load_monks(1)
        model = RefittedClassifier(l2=l2).fit(X[:20], np.zeros(20, dtype=int))
        assert model.predict_proba(X).tolist() == [[1.0]] * len(X)
        assert model.score(X[:20], np.zeros(20, dtype=int)) == 1

    @pytest.mark.slow
    def test_pipeline_search_and_clone(self):
        X, y = load_monks(1)
        pipeline = make_pipeline(FunctionTransformer(), RefittedClassifier(ANBClassifier()))
        grid = {
            "refittedclassifier__estimator__max_parents": [0, 2],
            "refittedclassifier__l2": [1.0, "auto"],
        }
        found = GridSearchCV(pipeline, grid, cv=FOLDS, scoring="neg_log_loss").fit(X, y)
        assert found.best_params_["refittedclassifier__estimator__max_parents"] == 2
        best = found.best_estimator_[-1]
        assert best.estimator_.max_parents == 2
        assert best.estimator is not best.estimator_
        again = clone(best)
        assert not hasattr(again, "logit_")
        assert again.get_params()["estimator__max_parents"] == 2
        assert repr(again) == repr(best)

    def test_parameters_of_the_default_network_can_be_set(self):
        for model, default in ((RefittedClassifier(), FANClassifier), (AdditiveClassifier(), TANClassifier)):
            assert isinstance(model.set_params(estimator__ess=3.0).estimator, default)
            assert model.get_params()["estimator__ess"] == 3.0
        X, y = load_monks(1)
        found = GridSearchCV(RefittedClassifier(l2=1.0), {"estimator__ess": [1.0, 10.0]}, cv=2).fit(X, y)
        assert found.best_estimator_.estimator_.ess == found.best_params_["estimator__ess"]
        with pytest.raises(ValueError, match="Invalid parameter 'essential'"):
            RefittedClassifier().set_params(estimator__essential=3.0)

    def test_names_and_width(self):
        X, y = load_monks(1)
        model = RefittedClassifier(TANClassifier()).fit(X, y)
        assert model.n_features_in_ == 6
        assert model.feature_names_in_.tolist() == list(X)
        assert set(model.structure_.features) == set(X)
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(X.iloc[:, ::-1])
        assert not hasattr(model.fit(X.to_numpy(), y), "feature_names_in_")
        assert RefittedClassifier(discretised := TANClassifier(discretizer="median")).fit(*load_iris()).cut_points_
        assert not hasattr(discretised, "structure_")

    def test_rows_with_missing_cells_are_spoken_of_once(self):
        X, y = load_monks(1)
        X = X.astype(object)
        X.iloc[:5, 0] = None
        with pytest.warns(UserWarning, match="left out") as caught:
            RefittedClassifier(TANClassifier(handle_missing="marginalize"), l2=1).fit(X, y)
        assert sum("left out of training" in str(warning.message) for warning in caught) == 1

    def test_separation_is_warned_of(self):
        X, y = load_monks(1)
        with pytest.warns(UserWarning, match="no finite maximum: the classes are separated") as caught:
            RefittedClassifier(ANBClassifier(), l2=0).fit(X, y)
        assert caught[0].filename == __file__
        with pytest.warns(UserWarning, match="did not converge"):
            RefittedClassifier(l2=1e-3, max_iter=1).fit(X, y)
        with pytest.warns(UserWarning, match="the time limit passed"):
            RefittedClassifier(l2=1e-3, time_limit=1e-9).fit(X, y)

    @pytest.mark.parametrize(
        ("parameters", "error", "message"),
        [
            ({"estimator": AODEClassifier()}, TypeError, r"such as TANClassifier\(\), not AODEClassifier\(\)"),
            ({"estimator": TANClassifier}, TypeError, r"such as TANClassifier\(\), not <class"),
            ({"estimator": "tan"}, TypeError, "estimator must be a classifier of anbexact with a network"),
            ({"estimator": FrozenEstimator(AODEClassifier())}, TypeError, "not AODEClassifier"),
            ({"l2": -1}, ValueError, "l2 must be 'auto' or a finite number, 0 or more, not -1"),
            ({"max_iter": 0}, ValueError, "max_iter must be a whole number above 0, not 0"),
            ({"time_limit": 0}, ValueError, "time_limit must be None or a number above 0, not 0"),
            ({"estimator": LogitFANClassifier()}, ValueError, "LogitFANClassifier are not estimated from counts"),
            (
                {"estimator": NaiveBayesClassifier(continuous="universal")},
                ValueError,
                "use continuous='discretize', or set l2 to a number",
            ),
            ({"estimator": TANClassifier(parameters="ml"), "l2": 1}, ValueError, "holds .* zeros out of"),
        ],
    )
    def test_what_cannot_be_refitted_is_refused(self, parameters, error, message):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(error, match=message):
                RefittedClassifier(**parameters).fit(*load_iris())

    def test_misspelt_parameters_are_named(self):
        with pytest.raises(
            TypeError, match="RefittedClassifier has no parameter 'max_iters': did you mean 'max_iter'"
        ):
            RefittedClassifier(max_iters=1)

    def test_measured_columns_are_refitted_at_their_most_probable_levels(self):
        X, y = load_iris()
        with pytest.warns(UserWarning, match="every variable is exported at its most probable level"):
            model = RefittedClassifier(NaiveBayesClassifier(continuous="universal"), l2=1).fit(X, y)
        discrete = model.estimator_.to_discrete()
        assert model.vocabulary_ == discrete.vocabulary_
        assert model.cut_points_.keys() == set(X)
        expected = discrete.to_logit().refit(X, y, l2=1).predict_proba(X)
        np.testing.assert_array_equal(model.predict_proba(X), expected)


class TestNetwork:
    def test_has_the_posterior(self, tmp_path):
        X, y = load_tic_tac_toe()
        model = RefittedClassifier(TANClassifier(ess="auto")).fit(X, y)
        network = from_pgmpy(model.network_, "x_wins")
        np.testing.assert_allclose(network.predict_proba(X), model.predict_proba(X), rtol=0, atol=1e-8)
        assert model.network_ is model.network_
        assert to_pgmpy(model) is not model.network_
        to_file(model, tmp_path / "m.xmlbif")
        read = from_file(tmp_path / "m.xmlbif")
        np.testing.assert_allclose(read.predict_proba(X), model.predict_proba(X), rtol=0, atol=1e-8)

    def test_where_there_may_be_none_is_refused(self, tmp_path):
        X, y = load_tic_tac_toe()
        model = RefittedClassifier(ANBClassifier(), l2=1).fit(X, y)
        for call in (model.to_pgmpy, lambda: model.network_, lambda: to_file(model, tmp_path / "m.bif")):
            with pytest.raises(ValueError, match=r"may be unable to represent .*not adjacent.*logit_\.close\(\)"):
                call()
        assert not list(tmp_path.iterdir())
        closed = model.logit_.close().to_classifier()
        np.testing.assert_allclose(closed.predict_proba(X), model.predict_proba(X), rtol=0, atol=1e-8)

    def test_is_made_anew_with_every_fit(self):
        X, y = load_monks(1)
        model = RefittedClassifier(TANClassifier(), l2=1).fit(X, y)
        before = model.network_
        assert model.fit(X, y).network_ is not before


class TestExplanations:
    @pytest.mark.parametrize("estimator", [NaiveBayesClassifier(), TANClassifier(), ANBClassifier()])
    def test_sum_to_the_log_odds(self, estimator):
        X, y = load_tic_tac_toe()
        model = RefittedClassifier(estimator, l2=0.1).fit(X, y)
        rows = X[::97].astype(object)
        rows.iloc[1, 3] = None
        logs = model.predict_log_proba(rows)
        families = {child: set(parents) for child, parents in model.structure_.parents.items()}
        for explained, of_row, (_, cells) in zip(model.explain(rows), logs, rows.iterrows(), strict=True):
            order = np.argsort(-of_row, kind="stable")
            assert explained.predicted == model.classes_[order[0]]
            assert explained.log_odds == pytest.approx(of_row[order[0]] - of_row[order[1]], rel=1e-8)
            assert explained.terms["nats"].sum() == pytest.approx(explained.log_odds, rel=1e-8)
            if cells.notna().all():
                assert (explained.terms["rows"] <= explained.terms["of"]).all()
                assert sorted(explained.terms["feature"]) == sorted([*X, "(prior of x_wins)"])
                for feature, given in explained.terms[["feature", "given"]].to_numpy():
                    parents = families.get(feature, {"x_wins"}) - {"x_wins"}
                    assert {part.split(" = ")[0] for part in given.split(", ") if part} == parents

    def test_are_the_shifted_tables(self):
        problem = random_problem(1, 3, n_rows=40, max_arity=3)
        X, y = problem.frame()
        model = RefittedClassifier(declared(problem, COMMON_CHILD), l2=1).fit(X, y)
        potentials = {potential.child: potential for potential in model.logit_.potentials}
        explained = model.explain(X[:1])[0]
        row = X.iloc[0]
        a, b = (model.classes_.tolist().index(label) for label in (explained.predicted, explained.runner_up))
        terms = explained.terms.set_index("feature")["nats"]
        for name in X:
            logs = potentials[name].logs[tuple(row[v] for v in potentials[name].features)]
            assert terms[name] == pytest.approx(logs[a] - logs[b])

    def test_without_refit_are_those_of_the_network(self):
        X, y = load_monks(1)
        tan = TANClassifier().fit(X, y)
        rows = X[::50].astype(object)
        rows.iloc[2, 0] = "strange"
        for ours, expected in zip(tan.to_logit().explain(rows), tan.explain(rows), strict=True):
            terms, of_network = (frame.set_index("feature").sort_index() for frame in (ours.terms, expected.terms))
            columns = ["value", "state", "given", "nats", "odds"]
            pd.testing.assert_frame_equal(terms[columns], of_network[columns])
            assert ours.log_odds == pytest.approx(expected.log_odds)

    def test_compare_any_two_classes_and_queries_take_raw_values(self):
        X, y = load_iris()
        model = RefittedClassifier(TANClassifier(discretizer="median")).fit(X, y)
        logs = model.predict_log_proba(X)
        for explained, of_row in zip(model.explain(X, label="virginica", against="setosa"), logs, strict=True):
            assert explained.log_odds == pytest.approx(of_row[2] - of_row[0])
        with pytest.raises(ValueError, match="against='rose' is not a class"):
            model.explain(X, against="rose")
        known = X.iloc[0][["petal_width"]]
        holes = X[:1].assign(**dict.fromkeys(set(X) - {"petal_width"}, np.nan))
        np.testing.assert_allclose(model.query(known), model.predict_proba(holes)[0], rtol=1e-9)


class TestNetworkAsEstimator:
    """What ``to_classifier`` returns does the same again in ``fit``."""

    @pytest.mark.parametrize("l2", ["auto", 1.0])
    @pytest.mark.parametrize(
        ("estimator", "load"),
        [
            (NaiveBayesClassifier(), load_tic_tac_toe),
            (TANClassifier(ess="auto"), load_tic_tac_toe),
            (TANClassifier(ess=3.0, discretizer="median", handle_missing="own_state"), load_iris),
            (FANClassifier(ess=1.0, parameters="friedman"), load_monks),
            (FSANBClassifier(ess=(1.0, 5.0), threshold=3.0, max_parents=1), load_anes96),
        ],
    )
    @pytest.mark.slow
    def test_is_cross_validated_as_the_refit(self, estimator, load, l2):
        X, y = load() if load is not load_monks else load_monks(1)
        logit = clone(estimator).fit(X, y).to_logit().refit(X, y, l2=l2)
        network = logit.to_classifier()
        assert network.l2 == l2
        source = logit.origin.classifier_of(logit.network)
        fixed = FixedStructureClassifier(
            dict(source.structure_.parents),
            ess=estimator.ess if estimator.ess == "auto" else source.ess_,
            **{name: getattr(estimator, name) for name in ("parameters", "discretizer", "handle_missing")},
        )
        expected = cross_val_score(RefittedClassifier(fixed, l2=l2), X, y, cv=FOLDS, scoring="neg_log_loss")
        generative = cross_val_score(fixed, X, y, cv=FOLDS, scoring="neg_log_loss")
        found = cross_val_score(network, X, y, cv=FOLDS, scoring="neg_log_loss")
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert abs(found - generative).max() > 1e-4
        refitted = clone(network).fit(X, y)
        if estimator.ess != "auto":  # which is chosen by other rules where the structure is given
            np.testing.assert_allclose(refitted.predict_proba(X), logit.predict_proba(X), rtol=0, atol=1e-7)
        assert refitted.counts_ is None
        assert not hasattr(refitted, "ess_")

    def test_of_no_refit_learns_as_the_source_did(self):
        X, y = load_iris()
        source = TANClassifier(ess=2.0, discretizer="median", smoothing=0.5).fit(X, y)
        network = source.to_logit().to_classifier()
        assert network.l2 is None
        fitted = clone(network).fit(X, y)
        np.testing.assert_array_equal(fitted.predict_proba(X), source.predict_proba(X))

    def test_that_may_have_no_network_is_refused_before_it_is_refitted(self, monkeypatch):
        X, y = load_tic_tac_toe()
        logit = ANBClassifier(max_parents=2).fit(X, y).to_logit()
        closed = logit.close().refit(X, y, l2=1).to_classifier()
        refitted = clone(closed).fit(X, y)
        np.testing.assert_allclose(refitted.score(X, y), closed.score(X, y), atol=0.02)
        monkeypatch.setattr(anbexact.adapters.LogitModel, "refit", None)
        with pytest.raises(
            ValueError, match=r"network .*may be unable .*not adjacent. Add an arc .*RefittedClassifier"
        ):
            FixedStructureClassifier(dict(logit.structure.parents), l2=1).fit(X, y)

    @pytest.mark.parametrize("l2", [-1, "strong", float("nan")])
    def test_senseless_precision_is_refused(self, l2):
        with pytest.raises(ValueError, match="l2 must be 'auto' or a finite number"):
            FixedStructureClassifier({}, l2=l2).fit(*load_iris())

    def test_rows_cannot_be_added(self):
        X, y = load_monks(1)
        network = RefittedClassifier(TANClassifier(), l2=1).fit(X, y).logit_.to_classifier()
        with pytest.raises(ValueError, match="not estimated from counts"):
            clone(network).fit(X, y).partial_fit(X, y)


def used(model, X, y):
    """Call everything that a model offers."""
    for name, _ in inspect.getmembers(type(model), lambda value: not inspect.isroutine(value)):
        if not name.startswith("__"):
            getattr(model, name)
    model.to_frame(), model.close(), model.separated_terms, model.convergence_message
    model.explain(X[:3]), repr(model)
    model.predict(X), model.predict_log_proba(X), model.log_likelihood(X, y), model.to_classifier(), model.to_pgmpy()
    model.predict_proba(X.mask(X.eq(X.iloc[0])))
    if model.refitted is not None and model.refitted.l2 == 0:
        model.result()
    return model


class TestCopies:
    @pytest.mark.parametrize("how", ["pickle", "copy", "deepcopy"])
    @pytest.mark.parametrize("l2", [None, 1, 0])
    def test_of_a_model_after_everything_was_used(self, l2, how):
        X, y = load_anes96()
        X = X[["PID", "selfLR"]]
        model = NaiveBayesClassifier().fit(X, y).to_logit()
        if l2 is not None:
            model = model.refit(X, y, l2=l2)
        used(model, X, y)
        again = {
            "pickle": lambda: pickle.loads(pickle.dumps(model)),
            "copy": lambda: copy.copy(model),
            "deepcopy": lambda: copy.deepcopy(model),
        }[how]()
        assert repr(again) == repr(model)
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(again.coefficients, model.coefficients)
        pd.testing.assert_frame_equal(again.unidentified, model.unidentified)
        used(again, X, y)
        assert again.structure == model.structure

    def test_of_closed_models(self):
        X, y = load_tic_tac_toe()
        model = RefittedClassifier(ANBClassifier(), l2=1).fit(X, y)
        again = pickle.loads(pickle.dumps(model.logit_.close()))
        assert again.closure == model.logit_.close().closure
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))

    @pytest.mark.parametrize("make", [lambda model: pickle.loads(pickle.dumps(model)), copy.copy, copy.deepcopy])
    def test_of_the_estimator(self, make):
        X, y = load_monks(1)
        model = RefittedClassifier(TANClassifier()).fit(X, y)
        holes = X.astype(object).mask(np.eye(len(X), X.shape[1], dtype=bool))
        expected = model.predict_proba(holes)
        model.network_, model.logit_.unidentified, model.explain(X[:2])
        again = make(model)
        np.testing.assert_array_equal(again.predict_proba(holes), expected)
        assert sorted(again.network_.edges) == sorted(model.network_.edges)


@pytest.fixture(scope="module")
def fitted():
    X, y = load_monks(1)
    fixed = FixedStructureClassifier({**dict.fromkeys(X, ("is_monk",)), "is_monk": ()})
    models = [ANBClassifier(), KDBClassifier(), fixed, FSANBClassifier(), AODEClassifier(), LogitFANClassifier()]
    models = [*models, RefittedClassifier(), RefittedClassifier(ANBClassifier())]
    return [model.fit(X, y) for model in models] + [TANClassifier(continuous="universal").fit(*load_iris())]


class TestPanels:
    """What notebooks and debuggers read unasked builds no network."""

    @pytest.mark.slow
    def test_build_no_network(self, fitted, monkeypatch):
        built = []
        monkeypatch.setattr(pgmpy_adapter, "to_pgmpy", lambda classifier: built.append(classifier) or "a network")
        for model in fitted:
            model = copy.copy(model)  # which has built none
            shown = model._repr_html_()
            assert "structure_" in shown or isinstance(model, AODEClassifier)
            assert ">network_<" not in shown
            model._repr_mimebundle_()
            members = dict(inspect.getmembers(model))
            assert "network_" not in members
            repr(model), str(model), dir(model), vars(model), copy.copy(model)
            assert members["n_features_in_"] == model.n_features_in_
            assert built == []
        wrapped = make_pipeline(FunctionTransformer(), copy.copy(fitted[0]))
        wrapped._repr_html_()
        assert built == []
        one = copy.copy(fitted[0])
        assert one.network_ == "a network"
        assert built == [one]
        assert "network_" in dir(one)
        assert one.network_ == "a network"
        assert ">network_<" in one._repr_html_()
        assert len(built) == 1

    def test_list_what_is_there_alone(self):
        X, y = load_monks(1)
        model = LogitFANClassifier()
        assert "partial_fit" not in dir(model)
        assert "fit" in dir(model)
        assert "structure_" not in dir(model)
        assert "structure_" in dir(model.fit(X, y))
        with pytest.raises(NotFittedError):
            TANClassifier().network_  # noqa: B018  # the property is what is tested

    @pytest.mark.slow
    def test_of_large_tables_take_little_memory(self):
        rng = np.random.default_rng(0)
        X = pd.DataFrame(rng.integers(0, 8, (400, 9))).astype("category").rename(columns=str)
        model = KDBClassifier(k=4).fit(X, rng.integers(0, 2, 400))
        size = sum(table.values.nbytes for table in model.conditional_tables_.values())
        assert size > 2_000_000
        refitted = RefittedClassifier(FrozenEstimator(model), l2=1).fit(X, model.predict(X))
        for shown in (model, refitted):
            shown._repr_html_()
            tracemalloc.start()
            shown._repr_html_()
            repr(shown)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert peak < size / 2


def test_cross_validation_of_the_estimator_is_that_of_its_probabilities():
    X, y = load_iris()
    model = RefittedClassifier(TANClassifier())
    scores = cross_val_score(model, X, y, cv=FOLDS, scoring="neg_log_loss")
    proba = cross_val_predict(model, X, y, cv=FOLDS, method="predict_proba")
    parts = [log_loss(y.iloc[test], proba[test]) for _, test in FOLDS.split(X, y)]
    np.testing.assert_allclose(-scores, parts)
