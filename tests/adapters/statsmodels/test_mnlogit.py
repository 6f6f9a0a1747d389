"""Results of statsmodels at the maximum of a refit, and what there is to know of statsmodels itself."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.frozen import FrozenEstimator
from statsmodels.discrete.discrete_model import MNLogit
from strategies import Problem, random_problem

import anbexact
import anbexact.adapters.statsmodels.results as adapter
import anbexact.models.logit.identification as columns
from anbexact import ANBClassifier, NaiveBayesClassifier, RefittedClassifier, TANClassifier
from anbexact.adapters import skops_types, to_logit
from anbexact.classifiers import FixedStructureClassifier
from anbexact.datasets import load_anes96

CLASS_BELOW = {"f0": [], "f1": ["f0", "c"], "f2": ["c"], "c": ["f0"]}
separated_or_not = pytest.mark.filterwarnings("ignore:the refit:UserWarning")


def fit(problem, estimator):
    X, y = problem.frame()
    return estimator.set_params(categories=problem.categories, discretizer=None).fit(X, y, problem.weights)


def refitted(problem, estimator, l2=0.0):
    X, y = problem.frame()
    return fit(problem, estimator).to_logit().refit(X, y, problem.weights, l2=l2)


def whole(seed, n_rows=250, **arguments):
    """A random problem with whole weights, and no states that do not occur."""
    problem = random_problem(seed, 3, n_rows=n_rows, max_arity=3, unseen=False, **arguments)
    problem.weights = np.random.default_rng(seed).integers(1, 4, n_rows).astype(float).tolist()
    return problem


def exog_of(problem, model):
    """The indicators of the terms, one row for every unit of weight, and the classes."""
    names = list(model.vocabulary.names)
    rows = [row for row, weight in zip(problem.rows, problem.weights, strict=True) for _ in range(int(weight))]
    columns = [
        [float(all(row[names.index(v)] == k for v, k in zip(variables, states, strict=True))) for row in rows]
        for variables, states in zip(model.terms["variables"], model.terms["states"], strict=True)
    ]
    return pd.DataFrame(np.array(columns).T, columns=model.terms.index), np.array([row[-1] for row in rows])


def newton(exog, classes):
    found = MNLogit(classes, exog).fit(method="newton", maxiter=100, disp=False, tol=1e-12)
    assert found.mle_retvals["converged"]
    return found


def one_ess():
    """An exact network with few arcs, so that the classes are not separated."""
    return ANBClassifier(ess=1.0)


class TestResult:
    @pytest.mark.parametrize("n_classes", [2, 3, 4])
    @pytest.mark.parametrize(
        "model",
        [NaiveBayesClassifier, TANClassifier, one_ess, lambda: FixedStructureClassifier(CLASS_BELOW)],
        ids=["naive Bayes", "tree", "exact", "class with a parent"],
    )
    def test_is_that_of_newtons_method(self, model, n_classes):
        problem = whole(n_classes, 400, n_classes=n_classes)
        found = refitted(problem, model())
        exog, classes = exog_of(problem, found)
        ours, theirs = found.result(), newton(exog, classes)
        assert ours.llf == pytest.approx(theirs.llf, rel=1e-10)
        assert ours.llf == pytest.approx(found.refitted.fit.log_likelihood, rel=1e-10)
        np.testing.assert_allclose(ours.params, theirs.params, rtol=0, atol=1e-3)
        np.testing.assert_allclose(ours.bse, theirs.bse, rtol=1e-3)
        np.testing.assert_allclose(ours.params, found.coefficients, rtol=0, atol=1e-7)
        assert ours.nobs == sum(problem.weights)
        assert ours.mle_retvals["converged"]
        assert found.unidentified.empty

    def test_has_the_names_of_terms_and_classes(self):
        problem = whole(1)
        X, y = problem.frame()
        X = X.rename(columns={"f0": "size", "f1": 7}).replace({"size": {0: "S", 1: "M", 2: "L"}})
        y = y.map({0: "no", 1: "perhaps", 2: "yes"}).rename("answer")
        model = TANClassifier(discretizer=None).fit(X, y).to_logit().refit(X, y, l2=0)
        result = model.result()
        assert result.params.index.tolist() == model.terms.index.tolist()
        shown = str(result.summary())
        for name in model.terms.index:
            assert name in shown
        assert "answer=perhaps" in shown
        assert "answer=yes" in shown
        assert "answer=no" not in shown
        assert result.model.endog_names == "answer"
        assert result.conf_int().index.get_level_values(0).unique().tolist() == ["perhaps", "yes"]
        wald = result.wald_test(np.eye(result.params.size)[:1], scalar=True)
        assert np.isfinite(wald.pvalue)

    @pytest.mark.parametrize(
        ("labels", "shown"),
        [(["100%", "10% %s", "x & y"], ["100%", "x & y"]), ([1.5, True, "b"], None), ([1, "1", 2], None)],
    )
    def test_tells_any_classes_apart(self, labels, shown):
        problem = whole(1)
        X, y = problem.frame()
        y = pd.Series([labels[k] for k in y], dtype=object)
        model = TANClassifier(discretizer=None).fit(X, y).to_logit().refit(X, y, l2=0)
        result = model.result()
        found = result.conf_int().index.get_level_values(0).unique().tolist()
        if shown is None:
            kinds = repr if len(set(map(str, labels))) < 3 else str
            shown = [kinds(label) for label in model.classes_[1:]]
        assert found == shown
        assert all(f"class={label} " in str(result.summary()) for label in shown)

    def test_repeats_rows_by_their_weight(self):
        problem = whole(5)
        weighted = refitted(problem, TANClassifier())
        rows = [row for row, w in zip(problem.rows, problem.weights, strict=True) for _ in range(int(w))]
        single = refitted(Problem(rows, [1.0] * len(rows), problem.arities), TANClassifier())
        ours, theirs = weighted.result(), single.result()
        assert ours.nobs == theirs.nobs == len(rows)
        assert ours.llf == pytest.approx(theirs.llf, rel=1e-9)
        np.testing.assert_allclose(ours.bse, theirs.bse, rtol=1e-4)


def untidy(seed=0, n_rows=900):
    """Rows in no order, with text labels, of weights 0 to 2, some with a missing cell."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({name: rng.choice(list("abc"), n_rows) for name in "uvw"})
    y = (
        X["u"]
        .map({"a": "n", "b": "y", "c": "z"})
        .where(rng.random(n_rows) < 0.4, rng.choice(list("nyz"), n_rows))
        .rename("answer")
    )
    X.loc[rng.choice(n_rows, 12, replace=False), "v"] = None
    X.index = y.index = [f"patient {k}" for k in rng.permutation(n_rows)]
    return X, y, rng.integers(0, 3, n_rows)


@pytest.fixture(scope="module")
def untidy_rows():
    return untidy()


def by_frozen(X, y, weights, _):
    network = TANClassifier(handle_missing="marginalize").fit(X, y, weights)
    return RefittedClassifier(FrozenEstimator(network), l2=0).fit(X, y, weights).logit_


def by_file(X, y, weights, folder):
    model = RefittedClassifier(TANClassifier(handle_missing="marginalize"), l2=0).fit(X, y, weights)
    model.save(folder / "model.json")
    return anbexact.load(folder / "model.json").logit_


def by_skops(X, y, weights, _):
    skops = pytest.importorskip("skops.io")
    model = RefittedClassifier(TANClassifier(handle_missing="marginalize"), l2=0).fit(X, y, weights)
    return skops.loads(skops.dumps(model), trusted=skops_types()).logit_


WAYS = {
    "refit": lambda X, y, weights, _: network_of(X, y, weights).refit(X, y, weights, l2=0),
    "refit of a refit": lambda X, y, weights, _: (
        network_of(X, y, weights).refit(X[::-1], y[::-1], weights[::-1], l2=2.0).refit(X, y, weights, l2=0.0)
    ),
    "network of a refit": lambda X, y, weights, _: to_logit(
        network_of(X, y, weights).refit(X, y, weights).to_classifier()
    ).refit(X, y, weights, l2=0),
    "closed": lambda X, y, weights, _: network_of(X, y, weights).refit(X, y, weights, l2=0).close(),
    "classifier": lambda X, y, weights, _: (
        RefittedClassifier(NaiveBayesClassifier(handle_missing="marginalize"), l2=0).fit(X, y, weights).logit_
    ),
    "frozen network": by_frozen,
    "pickle": lambda X, y, weights, _: pickle.loads(
        pickle.dumps(network_of(X, y, weights).refit(X, y, weights, l2=0))
    ),
    "file": by_file,
    "skops": by_skops,
}


def network_of(X, y, weights):
    return to_logit(TANClassifier(handle_missing="marginalize").fit(X, y, weights))


@pytest.mark.filterwarnings("ignore:.*missing:UserWarning")
class TestRows:
    """Rows of a result are those of the refit, in their order."""

    @pytest.mark.parametrize("way", WAYS)
    def test_have_the_order_and_the_labels_of_the_frame(self, way, untidy_rows, tmp_path):
        X, y, weights = untidy_rows
        result = (model := WAYS[way](X, y, weights, tmp_path)).result()
        kept = X["v"].notna().to_numpy() & (weights > 0)
        places = np.repeat(np.flatnonzero(kept), weights[kept])
        np.testing.assert_allclose(result.predict(), model.predict_proba(X)[places], atol=1e-6)
        assert result.resid_misclassified.index.tolist() == X.index[places].tolist()
        assert result.model.endog.tolist() == y.map({label: k for k, label in enumerate("nyz")}).iloc[places].tolist()
        exog = pd.DataFrame(result.model.exog, columns=result.model.exog_names)
        assert (exog["u=b"] == (X["u"] == "b").to_numpy()[places]).all()
        assert result.model.data.orig_exog.index.equals(X.index[places])
        assert result.model.data.orig_endog.index.equals(X.index[places])

    def test_agree_with_the_votes_of_1996(self):
        X, y = load_anes96()
        model = NaiveBayesClassifier().fit(X, y).to_logit().refit(X, y, l2=0)
        chosen = model.classes_[model.result().predict().argmax(axis=1)]
        assert (chosen == y.to_numpy()).mean() == pytest.approx(0.9205508474576272)
        assert chosen.tolist() == model.predict(X).tolist()

    @pytest.mark.parametrize("frame", [pl.DataFrame, lambda X: X.to_numpy(), pa.Table.from_pandas])
    def test_without_an_index_have_positions(self, frame, untidy_rows):
        X, y, weights = untidy_rows
        X = frame(X.reset_index(drop=True)) if frame is not pl.DataFrame else pl.from_pandas(X)
        result = network_of(X, y.to_numpy(), weights).refit(X, y.to_numpy(), weights, l2=0).result()
        kept = untidy_rows[0]["v"].notna().to_numpy() & (weights > 0)
        assert result.resid_misclassified.index.tolist() == np.repeat(np.flatnonzero(kept), weights[kept]).tolist()

    @pytest.mark.parametrize(
        "index",
        [
            lambda n: pd.date_range("2024-01-01", periods=n, name="day")[::-1],
            lambda n: pd.MultiIndex.from_product([["a", "b"], range(n // 2)], names=["site", None]),
            lambda n: pd.Index([(k, "x") for k in range(n)], tupleize_cols=False, name="pair"),
            lambda n: pd.Index([0.5, float("nan")] * (n // 2)),
            lambda n: pd.period_range("2024-01", periods=n, freq="M"),
        ],
    )
    def test_keep_any_index_in_a_file(self, index, tmp_path):
        X, y, _ = untidy()
        X.index = index(len(X))
        found = by_file(X, y, np.ones(len(X)), tmp_path).refitted.design.order.index
        expected = X.index[X["v"].notna()]
        assert found.equals(expected)
        assert found.names == expected.names

    def test_of_an_earlier_version_are_sorted_with_a_warning(self, untidy_rows):
        X, y, weights = untidy_rows
        model = network_of(X, y, weights).refit(X, y, weights, l2=0)
        expected = model.result()
        model.refitted = replace(model.refitted, design=replace(model.refitted.design, order=None))
        with pytest.warns(UserWarning, match="file of an earlier version.*: the rows of this result are sorted"):
            found = model.result()
        np.testing.assert_allclose(found.bse, expected.bse, rtol=1e-6)
        assert found.nobs == expected.nobs


class TestRefusals:
    def test_without_a_refit(self):
        with pytest.raises(ValueError, match=r"those of the network, not a maximum .*: refit with l2=0 first"):
            fit(whole(1), TANClassifier()).to_logit().result()

    def test_with_a_prior(self):
        with pytest.raises(ValueError, match=r"fitted with a prior \(l2 = 0\.5\).*refit with l2=0"):
            refitted(whole(1), TANClassifier(), l2=0.5).result()

    @separated_or_not
    def test_under_separation(self):
        problem = Problem([(0, 0), (0, 1), (1, 0), (1, 0)], [1.0] * 4, [2, 2])
        with pytest.raises(ValueError, match=r"has no maximum.*: .*separated \(f0=1: c=1 -> 0\)"):
            refitted(problem, NaiveBayesClassifier()).result()

    @separated_or_not
    def test_before_convergence(self):
        problem = whole(1)
        model = fit(problem, TANClassifier()).to_logit().refit(*problem.frame(), l2=0, max_iter=1)
        with pytest.raises(ValueError, match=r"has no maximum.*: the refit did not converge"):
            model.result()

    def test_with_weights_that_are_not_whole(self):
        problem = whole(1)
        problem.weights[3] = 1.5
        with pytest.raises(ValueError, match=r"some weights are not whole numbers: .* ignores weights"):
            refitted(problem, TANClassifier()).result()

    @separated_or_not
    def test_without_rows_of_a_class(self):
        problem = whole(1)
        problem.arities[-1] += 1
        with pytest.raises(ValueError, match=r"separated .*c=3 -> 0"):
            refitted(problem, NaiveBayesClassifier()).result()

    def test_with_one_class(self):
        with pytest.raises(ValueError, match="there is only one class, 0, and so there are no coefficients"):
            refitted(whole(1, n_classes=1), NaiveBayesClassifier()).result()

    def test_with_too_large_a_design(self, monkeypatch):
        model = refitted(whole(1), TANClassifier())
        monkeypatch.setattr(columns, "MOST_DESIGN", 1000)
        with pytest.raises(MemoryError, match=rf"rows and {len(model.terms)} terms would take .* kB, more than"):
            model.result()
        with pytest.raises(MemoryError, match="distinct rows"):
            _ = model.unidentified

    def test_with_too_many_rows(self, monkeypatch):
        problem = whole(1)
        problem.weights = [50 * weight for weight in problem.weights]
        model = refitted(problem, TANClassifier())
        distinct, terms = len(model.refitted.design.weights), len(model.terms)
        monkeypatch.setattr(adapter, "MOST_DESIGN", 8 * distinct * terms)
        n_rows = int(sum(problem.weights))
        with pytest.raises(MemoryError, match=rf"design of {n_rows:,} rows and {terms} terms would take"):
            model.result()

    def test_with_too_large_a_hessian(self, monkeypatch):
        model = refitted(whole(1), TANClassifier())
        monkeypatch.setattr(adapter, "available_memory", lambda: 1)
        with pytest.raises(MemoryError, match=rf"the Hessian of {2 * len(model.terms)} coefficients"):
            model.result()


def rank(columns):
    return np.linalg.matrix_rank(np.array(columns)) if columns else 0


class TestUnidentified:
    def expected(self, problem, model):
        """Terms that raise the rank of those before are identified; the others are named, with the reason."""
        exog, _ = exog_of(problem, model)
        kept, reasons = [], {}
        for j, name in enumerate(exog.columns):
            column = exog.iloc[:, j].tolist()
            if rank([*kept, column]) > rank(kept):
                kept.append(column)
            else:
                reasons[name] = "redundant" if any(column) else "never seen"
        return np.array(kept).T, reasons

    def check(self, problem, estimator):
        model = refitted(problem, estimator)
        exog, reasons = self.expected(problem, model)
        assert model.unidentified["reason"].to_dict() == reasons
        assert reasons
        assert model.terms.loc[list(reasons)].equals(model.unidentified.drop(columns="reason"))
        ours, theirs = model.result(), newton(exog, exog_of(problem, model)[1])
        assert ours.llf == pytest.approx(theirs.llf, rel=1e-9)
        np.testing.assert_allclose(ours.params, theirs.params, rtol=0, atol=1e-3)
        np.testing.assert_allclose(ours.bse, theirs.bse, rtol=1e-3)
        assert ours.params.index.tolist() == [name for name in model.terms.index if name not in reasons]
        return set(reasons.values())

    @pytest.mark.parametrize("seed", range(3))
    def test_are_states_that_never_occur(self, seed):
        problem = whole(seed, 600)
        problem.arities[0] += 1
        problem.arities[1] += 1
        network = FixedStructureClassifier({"f0": ["c"], "f1": ["c"], "f2": ["c", "f1"], "c": []})
        assert self.check(problem, network) == {"never seen"}

    @pytest.mark.parametrize("seed", range(3))
    def test_is_the_second_of_two_identical_features(self, seed):
        problem = whole(seed)
        problem.rows = [(a, b, a, c) for a, b, _, c in problem.rows]
        problem.arities[2] = problem.arities[0]
        assert self.check(problem, NaiveBayesClassifier()) == {"redundant"}

    def test_is_a_first_state_that_never_occurs(self):
        problem = whole(1)
        problem.rows = [(a + 1, b, d, c) for a, b, d, c in problem.rows]
        problem.arities[0] += 1
        assert "redundant" in self.check(problem, NaiveBayesClassifier())

    def test_are_pairs_of_states_that_never_occur_together(self):
        problem = whole(2, 400)
        kept = [t for t, row in enumerate(problem.rows) if (row[0], row[1]) not in ((1, 1), (0, 0))]
        problem.rows, problem.weights = [problem.rows[t] for t in kept], [problem.weights[t] for t in kept]
        network = FixedStructureClassifier({"f0": ["c"], "f1": ["c", "f0"], "f2": ["c", "f1"], "c": []})
        assert "never seen" in self.check(problem, network)

    def test_are_none_without_a_refit(self):
        model = fit(whole(1), TANClassifier()).to_logit()
        assert model.unidentified.empty
        assert model.unidentified.columns.tolist() == ["variables", "states", "reason"]


class TestUpstream:
    @pytest.fixture
    def tables(self):
        problem = whole(3)
        model = refitted(problem, TANClassifier())
        return model, *exog_of(problem, model)

    def test_start_parameters_go_class_by_class(self, tables):
        # Fortran order: in C order the values of one term for all classes would be taken for one class's terms,
        # without complaint.
        model, exog, classes = tables
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fortran, c = (
                MNLogit(classes, exog).fit(model.coefficients.ravel(order=order), maxiter=0, disp=False).llf
                for order in "FC"
            )
        assert fortran == pytest.approx(model.refitted.fit.log_likelihood, rel=1e-9)
        assert abs(c - fortran) > 1

    def test_weights_are_ignored(self, tables):
        # freq_weights is accepted, so that nothing but repeated rows does: once it has an effect, rows need not be
        # repeated.
        _, exog, classes = tables
        weights = np.random.default_rng(0).integers(1, 9, len(exog))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            weighted = MNLogit(classes, exog, freq_weights=weights).fit(disp=False)
        assert weighted.llf == MNLogit(classes, exog).fit(disp=False).llf

    def test_predictors_of_800_overflow_there_but_not_here(self):
        # exp(710) is infinite: probabilities are predicted by our own posterior, not by statsmodels.
        problem = Problem([(0, 0), (0, 1), (1, 0), (1, 1)], [1.0] * 4, [2, 2])
        model = fit(problem, NaiveBayesClassifier()).to_logit()
        exog = np.array([[1.0, 0.0], [1.0, 1.0]])
        with np.errstate(all="ignore"):
            theirs = MNLogit([0, 1], exog).predict(np.array([[0.0], [800.0]]), exog)
        assert np.isnan(theirs[1]).any()
        logs = tuple(replace(p, logs=p.logs + np.array([[0.0, 0.0], [0.0, 800.0]])) for p in model.potentials[1:])
        steep = type(model)(model.network, model.origin, (model.potentials[0], *logs))
        assert steep.coefficients[1, 0] == pytest.approx(800)
        proba = steep.predict_proba(pd.DataFrame({"f0": [0, 1]}))
        np.testing.assert_allclose(proba, [[0.5, 0.5], [0, 1]], atol=1e-12)
        np.testing.assert_allclose(steep.predict_log_proba(pd.DataFrame({"f0": [1]})), [[-800, 0]], atol=1e-9)


def test_columns_that_differ_in_one_row_are_both_kept():
    rng = np.random.default_rng(0)
    rows = [
        (a, a, c) for a, c in zip(rng.integers(0, 2, 600).tolist(), rng.integers(0, 2, 600).tolist(), strict=True)
    ]
    rows[0], rows[1] = (0, 1, 0), (0, 1, 1)
    problem = Problem(rows, [1.0] * 600, [2, 2, 2])
    X, y = problem.frame()
    model = fit(problem, NaiveBayesClassifier()).to_logit().refit(X, y, l2=0)
    assert model.unidentified.empty
    assert len(model.result().params) == 3


@pytest.mark.parametrize("seed", range(6))
def test_terms_that_no_row_shows_are_named_and_counted(seed):
    problem = random_problem(seed, 3, n_rows=25, max_arity=3)
    X, y = problem.frame()
    model = fit(problem, FixedStructureClassifier({"f0": ["c"], "f1": ["c", "f0"], "f2": ["c", "f1", "f0"], "c": []}))
    model = model.to_logit().refit(X[:20], y[:20], l2=1.0)
    shown = columns.design_matrix(model).any(axis=0)
    never = model.unidentified[model.unidentified["reason"] == "never seen"]
    assert never.index.tolist() == model.terms.index[~shown].tolist()
    assert (f"{len(never)} of {len(shown)} terms are in none of the rows" in repr(model)) == bool(len(never))
