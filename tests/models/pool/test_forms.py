"""A pool as one model: its logistic regression, its closed network, its explanations, its files."""

import numpy as np
import pandas as pd
import pytest

import anbexact
from anbexact import (
    AdditiveClassifier,
    ANBClassifier,
    GBNClassifier,
    NaiveBayesClassifier,
    PooledClassifier,
    RefittedClassifier,
    TANClassifier,
)
from anbexact.adapters import to_logit
from anbexact.classifiers import AODEClassifier, KDBClassifier
from anbexact.classifiers.pooling.members import automatic_members
from anbexact.datasets import load_iris, load_tic_tac_toe
from anbexact.files.describe import describe
from anbexact.files.restore import restore
from anbexact.models.coding import Coding, DifferentCodingsError, common_refinement
from anbexact.models.logit.potentials import Potential
from anbexact.models.pool import union
from anbexact.models.pool.union import MemberTerms, closed_structure, spread_over, union_of_terms
from anbexact.report import panel, report
from anbexact.tables.vocabulary import Vocabulary


def mixed_frames(seed, n=80, classes=3):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "x": rng.normal(size=n).round(2),
            "y": rng.exponential(size=n).round(2),
            "a": rng.choice(list("uvw"), n),
            "b": rng.integers(2, size=n),
        }
    )
    score = X["x"] + (X["a"] == "u") * X["b"] + rng.normal(size=n) * 0.5
    return X, pd.Series(pd.qcut(score, classes, labels=False), name="k")


MEMBERS = [
    ("TAN", TANClassifier(ess=1.0)),
    ("kDB", KDBClassifier(k=3, ess=1.0, discretizer="equal_frequency")),
    ("GBN", GBNClassifier(ess=1.0, discretizer="median", max_parents=2)),
    ("NB refitted", RefittedClassifier(NaiveBayesClassifier(ess=2.0), l2=1.0)),
    ("ANB smooth", AdditiveClassifier(ANBClassifier(ess=1.0, max_parents=2), smooth=1.0, intervals=6)),
]


def holes(X, seed=0):
    return X.astype(object).mask(np.random.default_rng(seed).random(X.shape) < 0.25)


@pytest.fixture(scope="module", params=[0, pytest.param(1, marks=pytest.mark.slow)])
def pooled(request):
    X, y = mixed_frames(request.param)
    weights = np.random.default_rng(request.param).exponential(size=len(y))
    return PooledClassifier(MEMBERS, ridge=50.0).fit(X, y, weights), X, mixed_frames(request.param + 100)[0]


class TestOneModel:
    def test_logit_has_the_posterior_of_the_pool(self, pooled):
        pool, _, new = pooled
        assert len(pool.estimators_) >= 3
        logit = pool.to_logit()
        np.testing.assert_allclose(logit.predict_log_proba(new), pool.predict_log_proba(new), atol=1e-9)
        assert logit.predict(new).tolist() == pool.predict(new).tolist()
        of_adapter = to_logit(pool)
        assert np.array_equal(of_adapter.predict_proba(new), logit.predict_proba(new))
        with pytest.raises(TypeError, match="a pool has those of its members"):
            to_logit(pool, new, intervals=8)

    def test_closed_network_has_the_posterior_of_the_pool(self, pooled):
        pool, _, new = pooled
        network = pool.to_logit().to_network()
        for name, table in network.tables.items():
            np.testing.assert_allclose(table.values.sum(axis=0), 1, atol=1e-9, err_msg=name)
        classifier = pool.to_logit().to_classifier()
        np.testing.assert_allclose(classifier.predict_proba(new), pool.predict_proba(new), atol=1e-9)

    def test_coefficients_add_up_to_the_log_odds(self, pooled):
        pool, _, new = pooled
        logit = pool.to_logit()
        codes = dict(zip(pool.vocabulary_.features, logit.origin.reader.codes(new), strict=True))
        states = pool.vocabulary_.states
        beta = logit.to_frame()
        expected = pool.predict_log_proba(new)
        for t in range(5):
            own = {name: states[name][code[t]] for name, code in codes.items()}
            present = [
                all(own[name] == state for name, state in zip(of_set, of_term, strict=True))
                for of_set, of_term in zip(logit.terms["variables"], logit.terms["states"], strict=True)
            ]
            np.testing.assert_allclose(beta[present].sum(), expected[t, 1:] - expected[t, 0], atol=1e-8)
        assert logit.n_parameters == logit.coefficients.size

    def test_hidden_cells_have_the_meaning_of_the_closed_network(self, pooled):
        pool, _, new = pooled
        hidden = holes(new)
        logit = pool.to_logit()
        classifier = logit.to_classifier()
        np.testing.assert_allclose(logit.predict_proba(hidden), classifier.predict_proba(hidden), atol=1e-9)
        logs = sum(
            w * model.predict_log_proba(hidden) for w, (_, model) in zip(pool.weights_, pool.estimators_, strict=True)
        )
        own = np.exp(logs + pool.biases_)
        np.testing.assert_allclose(pool.predict_proba(hidden), own / own.sum(axis=1, keepdims=True), atol=1e-9)

    def test_cut_points_are_those_of_all_members(self, pooled):
        pool, _, _ = pooled
        for _, model in pool.estimators_:
            for name, cuts in model.cut_points_.items():
                assert set(cuts) <= set(pool.cut_points_[name])
        assert set(pool.cut_points_) == {"x", "y"}

    def test_a_member_with_densities_is_in_its_discrete_form_as_a_warning_says(self):
        X, y = load_iris()
        members = [("universal", ANBClassifier(continuous="universal")), ("TAN", TANClassifier(ess=1.0))]
        pool = PooledClassifier(members, ridge=np.inf).fit(X, y)
        with pytest.warns(UserWarning, match="every variable is exported at its most probable level"):
            logit = pool.to_logit()
        discrete = pool.estimators_[0][1].to_discrete()
        logs = pool.weights_[0] * discrete.predict_log_proba(X)
        logs += pool.weights_[1] * pool.estimators_[1][1].predict_log_proba(X) + pool.biases_
        own = np.exp(logs)
        np.testing.assert_allclose(logit.predict_proba(X), own / own.sum(axis=1, keepdims=True), atol=1e-9)

    def test_of_one_member_of_weight_one_hidden_cells_mean_the_same(self):
        X, y = load_tic_tac_toe()
        pool = PooledClassifier([TANClassifier(ess=1.0)], ridge=np.inf).fit(X, y)
        alone = TANClassifier(ess=1.0).fit(X, y)
        hidden = holes(X)[:60]
        np.testing.assert_allclose(pool.to_logit().predict_proba(hidden), alone.predict_proba(hidden), atol=1e-9)


class TestRefusals:
    def test_of_mixtures(self, tmp_path):
        X, y = mixed_frames(0)
        pool = PooledClassifier([("mixture", AODEClassifier()), TANClassifier()], ridge=np.inf).fit(X, y)
        with pytest.raises(TypeError, match="'mixture', AODEClassifier, is not a network"):
            pool.to_logit()
        with pytest.raises(TypeError, match="not available: the member 'mixture', AODEClassifier, is not a network"):
            panel(pool, tmp_path / "panel.html")

    def test_name_the_pool(self):
        """Not the classifiers by which it reads frames."""
        X, y = mixed_frames(0)
        inner = PooledClassifier([NaiveBayesClassifier()], ridge=np.inf)
        pool = PooledClassifier([("inner", inner), TANClassifier()], ridge=np.inf).fit(X, y)
        with pytest.raises(TypeError, match="'inner', PooledClassifier, is not a network"):
            pool.to_logit()

    def test_of_what_does_not_fit(self, monkeypatch):
        X, y = mixed_frames(0)
        pool = PooledClassifier(MEMBERS[:2], ridge=np.inf).fit(X, y)
        logit = pool.to_logit()
        monkeypatch.setattr(union, "available_memory", lambda: 5000)
        with pytest.raises(MemoryError, match=r"the terms of the pool would need .* joint states of"):
            pool.to_logit()
        with pytest.raises(MemoryError, match="the closed network of the pool would need"):
            logit.to_network()

    def test_of_members_without_common_states(self):
        X, y = mixed_frames(0)
        declared = NaiveBayesClassifier(categories={"b": [0, 1, 2]})
        pool = PooledClassifier([declared, TANClassifier()], ridge=np.inf).fit(X, y)
        assert np.isfinite(pool.predict_log_proba(X)).all()
        assert pool.common_ is None
        assert pool.vocabulary_.states["b"] == (0, 1, 2)
        for ask in (pool.to_logit, lambda: pool.explain(X)):
            with pytest.raises(DifferentCodingsError, match="read the column 'b' differently"):
                ask()


class TestHierarchicalMembers:
    """Of an automatic pool for a table with columns to be cut: kDB with hierarchical tables."""

    @pytest.fixture(scope="class")
    def fitted(self):
        X, y = mixed_frames(3, n=120)
        X = X.assign(z=X["x"] * X["y"])
        of_size = automatic_members(5, 3, 120, {"n_jobs": 1})
        members = [(of.name, of.estimator) for of in of_size if "hierarchical" in of.name]
        assert [model.k for _, model in members] == [3, 2]
        new = mixed_frames(103)[0]
        pool = PooledClassifier([*members, ("NB", NaiveBayesClassifier(ess=1.0))], ridge=50.0, n_jobs=1).fit(X, y)
        assert len(pool.estimators_) == 3
        return pool, new.assign(z=new["x"] * new["y"])

    @pytest.mark.parametrize("hide", [False, True])
    def test_are_explained_and_saved_as_others(self, fitted, tmp_path, hide):
        pool, new = fitted
        rows = holes(new) if hide else new
        logs = pool.predict_log_proba(rows)
        for explanation, of_row in zip(pool.explain(rows[:8], label=0, against=2), logs, strict=False):
            assert explanation.terms["nats"].sum() == pytest.approx(of_row[0] - of_row[2], abs=1e-9)
        pool.save(tmp_path / "pool.json")
        np.testing.assert_array_equal(anbexact.load(tmp_path / "pool.json").predict_log_proba(rows), logs)
        if not hide:
            np.testing.assert_allclose(pool.to_logit().predict_log_proba(rows), logs, atol=1e-9)

    def test_whose_terms_are_too_large_are_refused_with_their_size(self, fitted, monkeypatch):
        pool, _ = fitted
        arities = {name: pool.vocabulary_.arity(name) for name in pool.vocabulary_.features}
        parents = pool.estimators_[0][1].structure_.parents
        families = [[name, *(v for v in parents[name] if v != "k")] for name in arities]
        largest = max(int(np.prod([arities[v] for v in family])) for family in families)
        monkeypatch.setattr(union, "available_memory", lambda: 8 * 3 * largest)
        with pytest.raises(MemoryError, match=rf"need .*{largest:,} joint states of .*, readable=True\)"):
            pool.to_logit()


class TestExplanations:
    @pytest.mark.parametrize("hide", [False, True])
    def test_terms_add_up_to_the_log_odds(self, pooled, hide):
        pool, _, new = pooled
        rows = holes(new)[:8] if hide else new[:8]
        logs = pool.predict_log_proba(rows)
        for explanation, of_row in zip(pool.explain(rows), logs, strict=True):
            ranked = np.argsort(-of_row)
            assert explanation.label == pool.classes_[ranked[0]]
            assert explanation.log_odds == pytest.approx(of_row[ranked[0]] - of_row[ranked[1]], abs=1e-9)
            assert explanation.terms["nats"].sum() == pytest.approx(explanation.log_odds, abs=1e-9)
            assert explanation.probability == pytest.approx(np.exp(of_row[ranked[0]]))

    def test_terms_are_the_weighted_terms_of_the_members(self):
        X, y = load_tic_tac_toe()
        one, other = ("TAN", TANClassifier(ess=1.0)), ("NB", NaiveBayesClassifier(ess=1.0))
        pool = PooledClassifier([one, other], ridge=np.inf).fit(X, y)
        found = pool.explain(X[:3], label="positive", against="negative")
        members = [model.explain(X[:3], label="positive", against="negative") for _, model in pool.estimators_]
        for t, explanation in enumerate(found):
            expected = {}
            for of_member in members:
                for term in of_member[t].terms.itertuples():
                    key = (term.feature, term.given)
                    expected[key] = expected.get(key, 0.0) + term.nats / 2
            ours = {(term.feature, term.given): term.nats for term in explanation.terms.itertuples()}
            assert ours == pytest.approx(expected, abs=1e-9)

    def test_a_mixture_is_one_term(self):
        X, y = mixed_frames(0)
        pool = PooledClassifier([("mixture", AODEClassifier()), TANClassifier()], ridge=np.inf).fit(X, y)
        terms = pool.explain(X[:1])[0].terms
        assert (terms["feature"] == "(mixture)").sum() == 1
        assert terms["nats"].sum() == pytest.approx(pool.explain(X[:1])[0].log_odds)

    def test_a_member_with_zeros_is_one_term_where_these_matter(self):
        X, y = load_tic_tac_toe()
        members = [("ml", KDBClassifier(k=3, parameters="ml")), ("TAN", TANClassifier(ess=1.0))]
        pool = PooledClassifier(members, ridge=np.inf).fit(X[::3], y[::3])
        new = X[1::3]
        explained = pool.explain(new, label=pool.classes_[0], against=pool.classes_[1])
        log_odds = -np.diff(pool.predict_log_proba(new))[:, 0]
        as_one = [(of_row.terms["feature"] == "(ml)").sum() for of_row in explained]
        assert set(as_one) == {0, 1}
        for of_row, expected in zip(explained, log_odds, strict=True):
            assert np.isfinite(of_row.terms["nats"]).all()
            assert of_row.terms["nats"].sum() == pytest.approx(expected, abs=1e-9)
            assert of_row.log_odds == pytest.approx(expected, abs=1e-9)

    def test_of_the_logit_are_those_of_the_pool(self, pooled):
        pool, _, new = pooled
        theirs = pool.to_logit().explain(new[:4], label=0, against=2)
        for one, other in zip(pool.explain(new[:4], label=0, against=2), theirs, strict=True):
            shared = [sorted(of.terms["nats"][of.terms["nats"].abs() > 1e-9]) for of in (one, other)]
            np.testing.assert_allclose(*shared, atol=1e-9)


class TestFiles:
    def test_lose_nothing(self, pooled, tmp_path):
        pool, _, new = pooled
        pool.save(tmp_path / "pool.json")
        read = anbexact.load(tmp_path / "pool.json")
        assert isinstance(read, PooledClassifier)
        for rows in (new, holes(new)):
            np.testing.assert_array_equal(read.predict_proba(rows), pool.predict_proba(rows))
        pd.testing.assert_frame_equal(read.members_, pool.members_)
        assert read.explain(new[:2])[1].terms.equals(pool.explain(new[:2])[1].terms)
        np.testing.assert_array_equal(read.to_logit().predict_proba(new), pool.to_logit().predict_proba(new))
        read.save(tmp_path / "again.json")
        assert (tmp_path / "again.json").read_bytes() == (tmp_path / "pool.json").read_bytes()
        assert read.feature_names_in_.tolist() == list(new.columns)

    def test_of_equal_weights(self, tmp_path):
        X, y = load_iris()
        pool = PooledClassifier([NaiveBayesClassifier(), AODEClassifier()], ridge=np.inf).fit(X, y)
        pool.save(tmp_path / "pool.json")
        np.testing.assert_array_equal(anbexact.load(tmp_path / "pool.json").predict_proba(X), pool.predict_proba(X))

    @pytest.mark.parametrize(
        ("field", "value", "message"),
        [
            ("weights", [-1.0], "weights: a weight is below 0"),
            ("weights", [1.0, 2.0], "weights: a list of length 1 was expected"),
            ("biases", [0.0], "biases: a list of length 3 was expected"),
            ("members", [], "members: a pool has at least one member"),
            ("considered", [["NB", 1.0]], "considered: a list of length 5 was expected"),
            ("considered", [[np.nan, 1.0, 0.5, 0.1, "pooled"]], "considered: text was expected, not nan"),
            ("considered", [["NB", 1.0, 0.5, "0.1", "pooled"]], "considered: a number was expected, not '0.1'"),
            ("ridge", "much", "ridge: could not convert"),
        ],
    )
    def test_that_are_inconsistent_are_refused(self, field, value, message):
        X, y = load_iris()
        document = describe(PooledClassifier([NaiveBayesClassifier(ess=1.0)], ridge=np.inf).fit(X, y))
        assert isinstance(restore(document), PooledClassifier)
        with pytest.raises(ValueError, match=message):
            restore({**document, field: value})

    @pytest.mark.parametrize(
        ("parameter", "value"),
        [("handle_unknown", "no"), ("handle_missing", 1), ("fold_dummies", None), ("drop_identifiers", "no")],
    )
    def test_with_invalid_parameters_are_refused(self, parameter, value):
        X, y = load_iris()
        document = describe(PooledClassifier([NaiveBayesClassifier(ess=1.0)], ridge=np.inf).fit(X, y))
        document["parameters"][parameter] = value
        with pytest.raises(ValueError, match=f"parameters: {parameter} must be"):
            restore(document)


class TestUnion:
    def vocabulary(self, arities):
        states = {name: tuple(range(arity)) for name, arity in arities.items()}
        return Vocabulary({**states, "k": (0, 1)}, "k")

    def test_common_refinement_knows_the_states_of_all(self):
        codings = []
        for cuts in ([0.0, 2.0], [1.0], [0.0, 1.0]):
            states = {"x": (*(f"i{k}" for k in range(len(cuts) + 1)), "(missing)"), "k": (0, 1)}
            codings.append(Coding(Vocabulary(states, "k"), {"x": np.array(cuts)}))
        common = common_refinement(codings)
        assert common.cut_points["x"].tolist() == [0.0, 1.0, 2.0]
        assert common.vocabulary.arity("x") == 5
        assert [coding.places_of(common, "x").tolist() for coding in codings] == [
            [0, 1, 1, 2, 3],
            [0, 0, 1, 1, 2],
            [0, 1, 2, 2, 3],
        ]

    @pytest.mark.parametrize("seed", range(4))
    def test_closed_graph_holds_all_terms_and_marries_parents(self, seed):
        rng = np.random.default_rng(seed)
        arities = {name: int(rng.integers(1, 4)) for name in "abcde"}
        coding = Coding(self.vocabulary(arities), {})
        members = []
        for _ in range(3):
            potentials = []
            for _ in range(4):
                features = tuple(rng.permutation(list("abcde"))[: rng.integers(0, 4)].tolist())
                logs = rng.normal(size=[*(arities[v] for v in features), 2])
                potentials.append(Potential(features[0] if features else "k", features, logs))
            members.append(MemberTerms(float(rng.uniform(0.1, 2)), coding, tuple(potentials)))
        biases = np.array([0.3, -0.3])
        found = union_of_terms(members, biases, coding)
        structure = closed_structure(found, "k", arities)
        assert all(not structure.unmarried(child) for child in arities)
        spread = spread_over(found, structure, arities)
        for _ in range(5):
            row = {name: int(rng.integers(arity)) for name, arity in arities.items()}
            expected = biases + sum(
                member.weight * p.logs[tuple(row[v] for v in p.features)]
                for member in members
                for p in member.potentials
            )
            for potentials in (found, spread):
                total = sum(p.logs[tuple(row[v] for v in p.features)] for p in potentials)
                assert total[1] - total[0] == pytest.approx(expected[1] - expected[0], abs=1e-9)


def test_the_closed_regression_sums_out_missing_cells_under_its_own_network(pooled):
    """It summed them out under the naive Bayes of the common states."""
    pool, _, new = pooled
    model = pool.to_logit()
    np.testing.assert_allclose(model.close().predict_proba(holes(new)), model.predict_proba(holes(new)), rtol=1e-9)


class TestWeightsOfZero:
    """Members that all predict worse than the frequencies: the pool has one of them, of weight 0."""

    @pytest.fixture
    def rows(self):
        rng = np.random.default_rng(0)
        X = pd.DataFrame({name: rng.integers(0, 4, 30) for name in "abcde"}).astype(str)
        return X, pd.Series(rng.choice(["u", "v"], 30), name="k")

    @pytest.fixture
    def pool(self, rows):
        return PooledClassifier([("NB", NaiveBayesClassifier(ess=1.0)), ("TAN", TANClassifier(ess=1.0))]).fit(*rows)

    @pytest.mark.filterwarnings("error::RuntimeWarning")
    def test_all_its_forms_are_the_biases(self, rows, pool, tmp_path):
        X, _ = rows
        assert pool.weights_.tolist() == [0.0]
        expected = np.tile(np.exp(pool.biases_) / np.exp(pool.biases_).sum(), (len(X), 1))
        np.testing.assert_allclose(pool.predict_proba(X), expected, rtol=1e-12)
        for form in (pool.to_logit(), pool.to_logit().close(), pool.to_logit().to_classifier()):
            np.testing.assert_allclose(form.predict_proba(X), expected, rtol=1e-9)
            np.testing.assert_allclose(form.predict_proba(X.assign(a=None)), expected, rtol=1e-9)
        np.testing.assert_allclose(pool.class_prior_, pool.estimators_[0][1].class_prior_)
        shifted = pool.predict_proba(X, class_prior=pool.class_prior_)
        np.testing.assert_allclose(shifted, expected, rtol=1e-9)
        assert "log odds" in str(pool.explain(X[:1])[0])
        pool.save(tmp_path / "pool.json")
        np.testing.assert_array_equal(anbexact.load(tmp_path / "pool.json").predict_proba(X), pool.predict_proba(X))

    @pytest.mark.slow
    @pytest.mark.filterwarnings("error::RuntimeWarning")
    def test_it_is_shown(self, rows, pool):
        text = str(report(pool, *rows).to_html())
        assert "The pool" in text
        assert "evidence panel is not available" not in text
        assert "A pool of 1 member;" in pool._repr_html_()
