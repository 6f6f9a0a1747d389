"""Designs for other programs, coefficients from them, and Firth's penalised likelihood."""

import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax
from scipy.stats import chi2
from statsmodels.discrete.discrete_model import MNLogit
from strategies import problems, random_problem
from test_logit import fit, general
from tiers import examples

from anbexact import NaiveBayesClassifier, TANClassifier
from anbexact.adapters import to_logit
from anbexact.classifiers import FixedStructureClassifier
from anbexact.datasets import load_anes96, load_iris, load_tic_tac_toe
from anbexact.models.logit import identification
from anbexact.models.logit.firth import FirthProblem
from anbexact.models.logit.firth_profile import FirthProfile

ENDOMETRIAL = """
0 13 1.64 0  0 16 2.26 0  0 8 3.14 0   0 34 2.68 0  0 20 1.28 0  0 5 2.31 0   0 17 1.8 0   0 10 1.68 0  0 26 1.56 0
0 17 2.31 0  0 8 2.01 0   0 7 1.89 0   0 20 3.15 0  0 10 1.23 0  0 18 1.27 0  0 16 1.76 0  0 18 2 0     0 8 2.64 1
0 29 .88 1   0 12 1.27 1  0 20 1.37 1  1 38 .97 1   1 22 1.14 1  1 7 .88 1    1 25 .91 1   1 15 .58 1   0 7 .97 1
0 28 1.5 0   0 11 1.33 0  0 19 2.37 0  0 10 1.82 0  0 10 3.13 0  0 18 1.31 0  0 14 1.92 0  0 21 1.64 0  0 11 2.01 0
0 17 1.88 0  0 25 1.93 0  0 16 2.11 0  0 19 1.29 0  0 15 1.72 0  0 33 .75 0   0 24 1.92 0  0 48 1.84 1  0 12 1.11 1
0 19 1.61 1  0 2 1.18 1   1 22 1.44 1  1 40 1.18 1  1 5 .93 1    1 0 1.17 1   0 21 1.19 1  0 15 1.06 1  0 29 2.02 0
0 15 2.29 0  0 12 2.33 0  0 3 2.9 0    0 20 1.7 0   0 23 1.41 0  0 12 2.25 0  0 22 1.54 0  0 42 1.97 0  0 15 1.75 0
0 13 2.16 0  0 14 2.57 0  0 19 1.37 0  0 12 3.61 0  0 13 2.04 0  0 10 2.17 0  0 12 1.69 1  1 49 .27 1   0 6 1.84 1
0 5 1.3 1    0 17 .96 1   1 11 1.01 1  1 21 .98 1   0 5 .35 1    1 19 1.02 1  0 33 .85 1
"""
"""Neovascularisation, pulsatility index, endometrium height, histology: Heinze and Schemper (2002), section 4."""


def dense(problem, model):
    """The indicators of all terms in the rows of a problem, from the definition."""
    names = list(model.vocabulary.names)
    return np.array(
        [
            [
                float(all(row[names.index(v)] == k for v, k in zip(variables, states, strict=True)))
                for variables, states in zip(model.terms["variables"], model.terms["states"], strict=True)
            ]
            for row in problem.rows
        ]
    ).reshape(len(problem.rows), len(model.terms))


def probabilities(design, beta):
    """The softmax of log odds against the first class."""
    return np.exp(log_softmax(np.column_stack([np.zeros(len(design)), design @ beta]), axis=1))


class TestDesign:
    @given(problem=problems(), redundant=st.booleans())
    @examples(40)
    def test_is_that_of_the_terms(self, problem, redundant):
        model = to_logit(fit(problem, TANClassifier()))
        X, _ = problem.frame()
        found = model.design(X, redundant=redundant)
        whole = pd.DataFrame(dense(problem, model), X.index, model.terms.index.rename(None))
        assert set(found.columns) <= set(whole.columns)
        pd.testing.assert_frame_equal(found, whole[found.columns])
        if redundant:
            assert list(found.columns) == list(whole.columns)
        else:  # no column is lost that a row of positive weight shows
            seen = whole.columns[whole[np.array(problem.weights) > 0].any()]
            assert set(seen) <= set(found.columns)

    def test_of_a_refit_has_the_columns_of_its_result(self):
        X, y = load_anes96()
        model = to_logit(NaiveBayesClassifier(ess=1.0).fit(X, y)).refit(X, y, l2=0)
        assert list(model.design(X.head(3)).columns) == list(model.result().params.index)
        np.testing.assert_array_equal(model.design(X).to_numpy(), model.result().model.exog)

    def test_new_rows_labels_and_hidden_cells(self):
        X, y = load_tic_tac_toe()
        model = to_logit(TANClassifier(ess=1.0).fit(X, y))
        rows = X.iloc[[3, 700, 5]].astype(object)
        rows.index = pd.Index(["p", "q", "r"], name="patient")
        rows.loc["q", "top_left"] = None
        design = model.design(rows)
        assert design.index.equals(rows.index)
        assert design.columns[0] == "(intercept)"
        of_cell = [name for name in design.columns if "top_left=" in name]
        assert any(":" in name for name in of_cell)
        assert design.loc["q", of_cell].isna().all()
        assert design.drop(columns=of_cell).notna().all(axis=None)
        assert design.loc[["p", "r"]].notna().all(axis=None)


class TestStatsmodels:
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_is_the_model_that_statsmodels_users_would_write(self, n_classes):
        problem = random_problem(n_classes, 3, n_rows=300, max_arity=3, n_classes=n_classes, unseen=False)
        problem.weights = np.random.default_rng(1).integers(0, 4, 300).astype(float).tolist()
        X, y = problem.frame()
        model = to_logit(fit(problem, NaiveBayesClassifier()))
        ours = model.to_mnlogit(X, y, problem.weights).fit(method="newton", disp=False, maxiter=100, tol=1e-13)
        repeat = np.repeat(np.arange(300), np.array(problem.weights, dtype=int))
        exog = pd.DataFrame(dense(problem, model)[repeat], columns=model.terms.index)[ours.params.index]
        theirs = MNLogit(np.array([row[-1] for row in problem.rows])[repeat], exog)
        theirs = theirs.fit(method="newton", disp=False, maxiter=100, tol=1e-13)
        np.testing.assert_allclose(ours.params.to_numpy(), theirs.params.to_numpy(), atol=1e-7)
        np.testing.assert_allclose(ours.bse.to_numpy(), theirs.bse.to_numpy(), rtol=1e-7)
        assert ours.llf == pytest.approx(theirs.llf, abs=1e-7)
        assert list(ours.model.data.row_labels) == X.index[repeat].tolist()
        back = model.with_coefficients(ours)
        np.testing.assert_allclose(back.predict_proba(X), probabilities(exog_of(problem, model, ours), ours.params),
                                   atol=1e-12)  # fmt: skip
        refitted = model.refit(X, y, problem.weights, l2=0)
        np.testing.assert_allclose(back.predict_proba(X), refitted.predict_proba(X), atol=1e-6)

    def test_refusals(self):
        X, y = load_iris()
        model = to_logit(NaiveBayesClassifier(ess=1.0).fit(X, y))
        with pytest.raises(ValueError, match="not whole numbers"):
            model.to_mnlogit(X, y, np.full(150, 0.5))
        with pytest.raises(ValueError, match="no row has the class 'virginica'"):
            model.to_mnlogit(X[:100], y[:100])
        with pytest.raises(ValueError, match="no row has the class 'virginica'"):
            model.firth(X[:100], y[:100])
        with pytest.warns(UserWarning, match="classes are separated"):
            refitted = model.refit(X, y, l2=0)
        with pytest.raises(ValueError, match=r"firth\(X, y\).*l2='auto'.*fit_regularized"):
            refitted.result()


def exog_of(problem, model, result):
    return pd.DataFrame(dense(problem, model), columns=model.terms.index)[result.params.index].to_numpy()


class TestGivenCoefficients:
    @given(seed=st.integers(0, 10_000), size=st.sampled_from([0.1, 1.0, 4.0]))
    @examples(60)
    def test_the_posterior_is_that_of_the_formula(self, seed, size):
        problem, classifier = general(seed)
        model = to_logit(classifier)
        rng = np.random.default_rng(seed)
        beta = pd.DataFrame(rng.normal(0, size, model.coefficients.shape), model.terms.index, model.classes_[1:])
        given = model.with_coefficients(beta.sample(frac=1.0, random_state=seed))
        np.testing.assert_allclose(given.coefficients, beta, atol=1e-10)
        X, _ = problem.frame()
        expected = probabilities(dense(problem, model), beta.to_numpy())
        np.testing.assert_allclose(given.predict_proba(X), expected, atol=1e-10)
        closed = given if given.equivalent else given.close()
        np.testing.assert_allclose(closed.to_classifier().predict_proba(X), expected, atol=1e-10)
        np.testing.assert_allclose(closed.with_coefficients(closed.to_frame()).predict_proba(X), expected, atol=1e-10)

    def test_missing_cells_are_summed_out_under_the_network_of_the_coefficients(self):
        problem, classifier = general(5)
        model = to_logit(classifier)
        beta = model.to_frame() * -1.5
        given = model.with_coefficients(beta)
        X, _ = problem.frame()
        holes = X.astype(object).mask(np.random.default_rng(0).random(X.shape) < 0.3)
        network = (given if given.equivalent else given.close()).to_classifier()
        np.testing.assert_allclose(given.predict_proba(holes), network.predict_proba(holes), atol=1e-12)
        assert abs(given.predict_proba(holes) - model.predict_proba(holes)).max() > 0.01
        copied = pickle.loads(pickle.dumps(given))
        np.testing.assert_array_equal(copied.predict_proba(holes), given.predict_proba(holes))

    def test_the_own_coefficients_change_nothing(self):
        X, y = load_tic_tac_toe()
        model = to_logit(TANClassifier(ess=1.0).fit(X, y))
        same = model.with_coefficients(model.to_frame())
        np.testing.assert_allclose(same.predict_proba(X), model.predict_proba(X), atol=1e-12)
        for name, table in same.to_classifier().conditional_tables_.items():
            np.testing.assert_allclose(table.values, model.network.tables[name].values, atol=1e-9)

    @pytest.mark.parametrize("labels", [[False, True], [0, 1], [-1.0, 2.0], ["no", "yes"]])
    def test_classes_of_any_type(self, labels):
        X, y = load_tic_tac_toe()
        y = np.array(labels)[(y == y.iloc[0]).astype(int)]
        model = to_logit(TANClassifier(ess=1.0).fit(X, y))
        lasso = model.to_mnlogit(X, y).fit_regularized(alpha=50.0, disp=False)
        for found in (model.to_frame(), model.to_frame().rename(columns=str), lasso):
            own = model.with_coefficients(found)
            expected = lasso.predict() if found is lasso else model.predict_proba(X)
            np.testing.assert_allclose(own.predict_proba(X), expected, rtol=0, atol=1e-9)

    def test_terms_that_are_not_named_have_none(self):
        X, y = load_iris()
        model = to_logit(NaiveBayesClassifier(ess=1.0).fit(X, y))
        only = model.with_coefficients(pd.DataFrame([[1.0, 2.0]], ["(intercept)"], ["versicolor", "virginica"]))
        expected = np.exp([0.0, 1.0, 2.0]) / np.exp([0.0, 1.0, 2.0]).sum()
        np.testing.assert_allclose(only.predict_proba(X), np.tile(expected, (150, 1)), atol=1e-12)

    def test_refusals(self):
        X, y = load_iris()
        model = to_logit(NaiveBayesClassifier(ess=1.0).fit(X, y))
        beta = model.to_frame()
        with pytest.raises(TypeError, match="a frame with terms as index and classes as columns"):
            model.with_coefficients(beta.to_numpy())
        with pytest.raises(ValueError, match="log odds against 'setosa'"):
            model.with_coefficients(beta.rename(columns={"virginica": "setosa"}))
        term = beta.index[1]
        with pytest.raises(ValueError, match="is not a term of the model: did you mean"):
            model.with_coefficients(beta.rename(index={term: term + "x"}))
        with pytest.raises(ValueError, match="not a finite number"):
            model.with_coefficients(beta.drop(index=term).reindex(beta.index))
        with pytest.raises(ValueError, match="two rows of coefficients"):
            model.with_coefficients(pd.concat([beta, beta.head(1)]))
        other = MNLogit(pd.Series(pd.Categorical(np.where(y == "setosa", "z", "a"))), np.ones((150, 1)))
        with pytest.raises(ValueError, match="must be the same in the same order"):
            model.with_coefficients(other.fit(disp=False))


def penalised(design, weights):
    """The penalised log likelihood as a function of β, class by class, from its definition."""
    n_columns, n_contrasts = design.shape[1], weights.shape[1] - 1

    def value(beta):
        proba = probabilities(design, beta.reshape(n_contrasts, n_columns).T)
        information = np.zeros((beta.size, beta.size))
        for x, p, weight in zip(design, proba, weights.sum(axis=1), strict=True):
            spread = np.diag(p[1:]) - np.outer(p[1:], p[1:])
            information += weight * np.kron(spread, np.outer(x, x))
        return float((weights * np.log(proba)).sum() + 0.5 * np.linalg.slogdet(information)[1])

    return value


class TestFirth:
    def test_published_example(self):
        """Table II of Heinze and Schemper (2002): one coefficient is infinite by maximum likelihood."""
        rows = np.array(ENDOMETRIAL.split(), dtype=float).reshape(-1, 4)
        assert rows.shape == (79, 4)
        high = rows[:, 3]
        problem = FirthProblem(np.column_stack([np.ones(79), rows[:, :3]]), np.column_stack([1 - high, high]))
        found = problem.fit()
        assert found.converged
        np.testing.assert_allclose(found.coefficients[:, 0], [3.77, 2.93, -0.03, -2.60], atol=5.1e-3)
        assert np.sqrt(found.covariance[1, 1]) == pytest.approx(1.55, abs=5e-3)
        profile = FirthProfile(problem, found, 1)
        lower, upper = profile.interval(0.95)
        assert (lower, upper) == (pytest.approx(0.61, abs=5e-3), pytest.approx(7.85, abs=5e-3))
        assert profile.p_value == pytest.approx(0.0091, abs=1e-4)
        lower, upper = FirthProfile(problem, found, 3).interval(0.95)
        assert (lower, upper) == (pytest.approx(-4.37, abs=5.1e-3), pytest.approx(-1.23, abs=5e-3))

    @given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 4), separated=st.booleans())
    @examples(40)
    def test_is_that_of_a_slow_optimiser(self, seed, n_classes, separated):
        rng = np.random.default_rng(seed)
        design = np.column_stack([np.ones(8), list(product([0.0, 1.0], repeat=3))])
        weights = rng.uniform(0.2, 3.0, (8, n_classes))
        if separated:
            weights[design[:, 1] == 1, 0] = 0.0
        problem, value = FirthProblem(design, weights), penalised(design, weights)
        found = problem.fit()
        beta = found.coefficients.T.ravel()
        assert found.converged
        assert found.penalised == pytest.approx(value(beta), abs=1e-9)
        slow = minimize(lambda beta: -value(beta), np.zeros(beta.size), method="BFGS", options={"gtol": 1e-7})
        assert found.penalised >= -slow.fun - 1e-8
        np.testing.assert_allclose(beta, slow.x, atol=2e-4)
        elsewhere = rng.normal(size=beta.size)
        steps = 1e-5 * np.eye(beta.size)
        numeric = [(value(elsewhere + step) - value(elsewhere - step)) / 2e-5 for step in steps]
        point = problem.at(elsewhere)
        assert point.value == pytest.approx(value(elsewhere), abs=1e-9)
        np.testing.assert_allclose(point.gradient, numeric, atol=1e-6)
        around = [(problem.at(elsewhere - step), problem.at(elsewhere + step)) for step in steps]
        curvature = [(before.gradient - after.gradient) / 2e-5 for before, after in around]
        np.testing.assert_allclose(point.curvature, curvature, atol=1e-6)

    @pytest.mark.parametrize("seed", [22, 44, 93])
    def test_a_step_does_not_lead_to_and_fro_beyond_the_maximum(self, seed):
        """The information is about half the curvature here."""
        rng = np.random.default_rng(seed)
        design = np.column_stack([np.ones(12), rng.random((12, 4)) < 0.3]).astype(float)
        classes = (design[:, 1] > 0) | (rng.random(12) < 0.15)
        weights = np.zeros((12, 2))
        weights[np.arange(12), classes.astype(int)] = rng.integers(1, 4, 12)
        problem, value = FirthProblem(design, weights), penalised(design, weights)
        found = problem.fit()
        assert found.converged
        assert found.iterations < 100
        slow = minimize(lambda beta: -value(beta), np.zeros(5), method="BFGS", options={"gtol": 1e-7})
        assert found.penalised == pytest.approx(-slow.fun, abs=1e-7)
        for place in range(5):
            lower, upper = FirthProfile(problem, found, place).interval(0.95)
            assert lower < found.coefficients[place, 0] < upper

    def test_terms_that_no_row_shows_cost_no_memory(self):
        """Ten rows show few of the terms of families with four parents."""
        rng = np.random.default_rng(0)
        X = pd.DataFrame({name: rng.integers(0, 8, 10).astype(str) for name in "abcde"})
        states = {name: list(map(str, range(8))) for name in "abcde"}
        arcs = {"class": (), "a": ("class",), "b": ("class", "a"), "c": ("class", "a", "b")}
        arcs |= {"d": ("class", "a", "b", "c"), "e": ("class", "a", "b", "c")}
        fitted = FixedStructureClassifier(arcs, categories=states).fit(X, [0, 1] * 5)
        model = to_logit(fitted)
        assert len(model.terms) > 7_000
        shown = (model.design(X, redundant=True) != 0).any()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(identification, "MOST_DESIGN", 8 * int(shown.sum()) ** 2)
            kept = model.to_mnlogit(X, [0, 1] * 5).exog_names
            assert len(kept) == np.linalg.matrix_rank(model.design(X, redundant=True))
            patch.setattr(identification, "MOST_DESIGN", 8 * int(shown.sum()) ** 2 - 1)
            with pytest.raises(MemoryError, match="terms occur in these rows, and the products of their columns"):
                model.firth(X, [0, 1] * 5)

    def test_intervals_are_those_of_the_profile(self):
        rng = np.random.default_rng(4)
        design = np.column_stack([np.ones(8), list(product([0.0, 1.0], repeat=3))])
        weights = rng.uniform(0.2, 3.0, (8, 3))
        problem, value = FirthProblem(design, weights), penalised(design, weights)
        found = problem.fit()
        for place, level in ((1, 0.95), (6, 0.5)):
            profile = FirthProfile(problem, found, place)
            lower, upper = profile.interval(level)
            for end, expected in ((lower, level), (upper, level), (0.0, 1 - profile.p_value)):
                others = [k for k in range(8) if k != place]

                def held(free, end=end, place=place, others=others):
                    beta = np.zeros(8)
                    beta[others], beta[place] = free, end
                    return -value(beta)

                start = found.coefficients.T.ravel()[others]
                slow = minimize(held, start, method="BFGS", options={"gtol": 1e-8})
                assert chi2.cdf(2 * (found.penalised + slow.fun), 1) == pytest.approx(expected, abs=1e-4)

    def test_of_separated_classes(self):
        X, y = load_iris()
        model = to_logit(NaiveBayesClassifier(ess=1.0).fit(X, y))
        found = model.firth(X, y)
        assert found.fit.converged
        assert abs(found.params).max(axis=None) < 15
        assert list(found.params.columns) == ["versicolor", "virginica"]
        assert found.bse.shape == found.params.shape
        assert (found.bse > 0).all(axis=None)
        small = to_logit(NaiveBayesClassifier(ess=1.0).fit(X[["petal_width"]], y)).firth(X[["petal_width"]], y)
        intervals = small.conf_int()
        params = small.params.T.stack()
        assert (intervals["lower"] < params).all()
        assert (intervals["upper"] > params).all()
        inner = small.conf_int(alpha=0.5)
        shown = small.summary(alpha=0.5)
        pd.testing.assert_frame_equal(shown[["lower", "upper"]], inner)
        for column, frame in (("coef", small.params), ("std err", small.bse), ("p", small.pvalues)):
            for (label, term), value in shown[column].items():
                assert value == frame.loc[term, label]
        assert (inner["lower"] > intervals["lower"]).all()
        assert small.pvalues.le(1).all(axis=None)
        with pytest.raises(ValueError, match="alpha must be between 0 and 1"):
            small.conf_int(alpha=5)
        back = model.with_coefficients(found)
        assert (back.predict(X) == y.to_numpy()).mean() > 0.94
        assert back.to_classifier().score(X, y) > 0.94

    def test_of_many_rows_but_small_cells(self):
        """Steps with the information alone are 68 for naive Bayes, and do not end within 200 for the tree."""
        X, y = load_tic_tac_toe()
        found = to_logit(TANClassifier(ess=1.0).fit(X, y)).firth(X, y).fit
        assert found.converged
        assert 50 < found.iterations < 100

    def test_weights_count_rows(self):
        problem = random_problem(3, 2, n_rows=40, max_arity=3, unseen=False)
        problem.weights = np.random.default_rng(0).integers(0, 3, 40).astype(float).tolist()
        X, y = problem.frame()
        model = to_logit(fit(problem, FixedStructureClassifier({"f0": ["c"], "f1": ["c"], "c": []})))
        repeat = np.repeat(np.arange(40), np.array(problem.weights, dtype=int))
        weighted, repeated = model.firth(X, y, problem.weights), model.firth(X.iloc[repeat], y.iloc[repeat])
        pd.testing.assert_frame_equal(weighted.params, repeated.params)
        assert weighted.fit.penalised == pytest.approx(repeated.fit.penalised, rel=1e-12)
        order = np.random.default_rng(1).permutation(40)
        shuffled = model.firth(X.iloc[order], y.iloc[order], np.array(problem.weights)[order])
        pd.testing.assert_frame_equal(weighted.params, shuffled.params)
