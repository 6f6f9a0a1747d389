"""The estimator of linear logistic regression: parameters, rows, what it is handed over as, files, and the pool."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from mixed_rows import holes, mixed_columns, thirds
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss

import anbexact
from anbexact import AdditiveClassifier, NaiveBayesClassifier, PooledClassifier
from anbexact.adapters import to_logit
from anbexact.classifiers import KernelClassifier, LinearClassifier
from anbexact.classifiers.discrete import FitRows
from anbexact.classifiers.pooling import members as members_module
from anbexact.classifiers.pooling.members import automatic_members
from anbexact.models.linear.fit import CENTRES, PRECISIONS, LinearFit
from anbexact.report import nomogram


def rows(seed=0, n=60):
    """Rows of columns of every kind, and three classes."""
    X, rng = mixed_columns(seed, n)
    return X, thirds(2 * X["x"] + (X["name"] == "u") + X["count"] + rng.normal(size=n) * 0.3)


def fixed(**parameters):
    """A classifier that chooses nothing."""
    return LinearClassifier(**{"l2": 1.0, "centre": 0.5, **parameters})


class TestParameters:
    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"l2": 0}, "l2 must be 'auto' or a number above 0 and at most 1e\\+09, not 0"),
            ({"l2": 1e10}, "l2 must be .*, not 10000000000.0"),
            ({"l2": "much"}, "l2 must be .*, not 'much'"),
            ({"l2": True}, "l2 must be .*, not True"),
            ({"l2": float("inf")}, "l2 must be .*, not inf"),
            ({"l2": float("nan")}, "l2 must be .*, not nan"),
            ({"centre": -0.1}, "centre must be 'auto' or a number from 0 to 1, not -0.1"),
            ({"centre": 1.1}, "centre must be .*, not 1.1"),
            ({"centre": "lda"}, "centre must be .*, not 'lda'"),
            ({"centre": float("nan")}, "centre must be .*, not nan"),
            ({"handle_missing": "em"}, "handle_missing must be one of 'auto', 'marginalize', 'own_state', 'error'"),
            ({"discretizer": "chop"}, "discretizer must be one of .*, not 'chop'"),
        ],
    )
    def test_senseless_ones_are_refused(self, parameters, message):
        model = LinearClassifier(**parameters)
        with pytest.raises((ValueError, TypeError), match=message):
            model.fit(*rows())
        with pytest.raises(NotFittedError):
            model.predict(rows()[0])

    def test_given_ones_are_used(self):
        model = LinearClassifier(l2=np.float64(0.5), centre=1).fit(*rows())
        assert (model.l2_, model.centre_) == (0.5, 1.0)

    def test_automatic_ones_are_among_those_to_choose_from(self):
        X, y = rows()
        model = LinearClassifier().fit(X, y)
        assert model.l2_ in PRECISIONS
        assert model.centre_ in CENTRES
        again = LinearClassifier(l2=model.l2_, centre=model.centre_).fit(X, y)
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert LinearClassifier(l2=3.0).fit(X, y).l2_ == 3.0
        assert LinearClassifier(centre=0.7).fit(X, y).centre_ == 0.7

    def test_fits_to_other_rows_take_over_what_was_chosen(self):
        X, y = rows()
        model = LinearClassifier().fit(X, y)
        again = model._unfitted_again(FitRows(X, y, np.ones(60)))
        assert (again.l2, again.centre) == (model.l2_, model.centre_)

    def test_sixty_four_intervals_unless_others_are_asked_for(self):
        X, y = rows(n=300)
        assert {name: len(own) for name, own in fixed().fit(X, y).cut_points_.items()} == {"x": 63, "y": 63}
        few = fixed(discretizer="equal_frequency").fit(X, y).cut_points_
        assert {name: len(own) for name, own in few.items()} == {"x": 4, "y": 4}


class TestRows:
    def test_weights_are_repeated_rows(self):
        X, y = rows()
        repeats = np.random.default_rng(1).integers(0, 3, len(y))
        copied = np.repeat(np.arange(len(y)), repeats)
        model = fixed(discretizer="equal_width")
        one = clone(model).fit(X, y, repeats)
        other = model.fit(X.iloc[copied], y.iloc[copied])
        np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-9)

    def test_neither_their_order_nor_threads_matter(self):
        X, y = rows()
        order = np.random.default_rng(0).permutation(len(y))
        one, other = (
            LinearClassifier(n_jobs=1).fit(X, y),
            LinearClassifier(n_jobs=2).fit(X.iloc[order], y.iloc[order]),
        )
        np.testing.assert_array_equal(one.predict_proba(holes(X)), other.predict_proba(holes(X)))

    def test_neither_do_units(self):
        X, y = rows()
        one, other = fixed().fit(X, y), fixed().fit(X.assign(x=1024 * X["x"] + 512), y)
        np.testing.assert_allclose(
            one.predict_proba(X), other.predict_proba(X.assign(x=1024 * X["x"] + 512)), atol=1e-6
        )

    def test_log_odds_are_lines(self):
        X, y = rows(n=200)
        model = fixed(discretizer="equal_width").fit(X[["x", "y"]], y)
        edges = model.cut_points_["x"]
        middles = np.concatenate([edges[:1] - 0.1, (edges[1:] + edges[:-1]) / 2, edges[-1:] + 0.1])
        logs = model.predict_log_proba(pd.DataFrame({"x": middles, "y": 1.0}))
        table = model.reader_.table(X[["x", "y"]], y)
        values = LinearFit(table, model.cut_points_).values[0][:, 0]
        steps = np.diff(logs[:, 0] - logs[:, 1]) / np.diff(values)
        np.testing.assert_allclose(steps, steps[0], rtol=1e-6)

    @pytest.mark.parametrize("how", ["own_state", "marginalize", "auto"])
    @pytest.mark.filterwarnings("ignore:.*are left out of training")
    def test_with_missing_cells(self, how):
        X, y = rows()
        hidden = holes(X)
        hidden.loc[:9] = X.loc[:9]
        model = fixed(handle_missing=how).fit(hidden, y)
        everywhere = model.predict_proba(hidden)
        np.testing.assert_allclose(everywhere.sum(axis=1), 1)
        assert log_loss(y, everywhere, labels=model.classes_) < log_loss(y, [model.class_prior_] * len(y))

    def test_groups_are_held_out_as_a_whole(self):
        """The person tells everything, except about persons whose rows are all held out."""
        rng = np.random.default_rng(0)
        persons = np.repeat(np.arange(20), 4)
        X = pd.DataFrame({"person": [f"person {k}" for k in persons], "noise": rng.integers(0, 3, 80)})
        y = pd.Series(rng.choice(["ill", "well"], 20)[persons], name="k")
        model = LinearClassifier(group_categories=None)
        assert model.fit(X, y).l2_ == min(PRECISIONS)
        assert model.fit(X, y, groups=persons).l2_ >= 10

    def test_weights_of_classes(self):
        X, y = rows()
        weighted = fixed(class_weight={"low": 3.0}).fit(X, y)
        rowwise = fixed().fit(X, y, np.where(y == "low", 3.0, 1.0))
        np.testing.assert_array_equal(weighted.predict_proba(X), rowwise.predict_proba(X))

    def test_unknown_values_count_as_hidden(self):
        X, y = rows()
        model = fixed().fit(X, y)
        unknown, hidden = (model.predict_proba(X.assign(name=value)) for value in ("q", None))
        np.testing.assert_array_equal(unknown, hidden)

    def test_other_shares_of_the_classes(self):
        X, y = rows()
        model = fixed().fit(X, y, np.where(y == "low", 3.0, 1.0))
        np.testing.assert_allclose(model.class_prior_, [(20 + 1 / 3) / 101, (60 + 1 / 3) / 101, (20 + 1 / 3) / 101])
        shares = dict(zip(model.classes_, [0.2, 0.5, 0.3], strict=True))
        wanted = log_softmax(
            model.predict_log_proba(X) + np.log([0.2, 0.5, 0.3]) - np.log(model.class_prior_), axis=1
        )
        np.testing.assert_allclose(model.predict_log_proba(X, class_prior=shares), wanted)


class TestWarnings:
    def test_of_rows_predicted_worse_than_by_the_frequencies(self, monkeypatch):
        X, y = rows()
        shuffled = pd.Series(np.random.default_rng(0).permutation(y), name="k")
        with pytest.warns(UserWarning, match=r"predicted worse .*: 60 distinct rows may be too few for 4 features"):
            LinearClassifier(l2=0.001).fit(X, shuffled)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            LinearClassifier().fit(X, y)


class TestHandingOver:
    def test_as_a_logistic_regression_and_networks(self):
        X, y = rows()
        model = LinearClassifier().fit(X, y)
        wanted = model.predict_proba(X)
        logit = to_logit(model)
        np.testing.assert_allclose(logit.predict_proba(X), wanted, atol=1e-9)
        network = logit.to_classifier()
        np.testing.assert_allclose(network.predict_proba(X), wanted, atol=1e-9)
        assert {tuple(edge) for edge in network.network_.edges()} == {("k", name) for name in X}
        assert nomogram(model).system is not None

    def test_explanations_add_up(self):
        X, y = rows()
        model = LinearClassifier().fit(X, y)
        hidden = holes(X)
        for of in (X[:5], hidden[:5]):
            logs = model.predict_log_proba(of)
            for explanation, own in zip(model.explain(of, label="low", against="high"), logs, strict=True):
                assert explanation.terms["nats"].sum() == pytest.approx(explanation.log_odds)
                assert explanation.log_odds == pytest.approx(own[1] - own[0])
        of_class, of_x, *_ = model.model_.to_potentials()
        terms = model.explain(X[:1], label="low", against="high")[0].terms.set_index("feature")["nats"]
        state = model.reader_.codes(X[:1])[0, 0]
        assert terms["(prior of k)"] == pytest.approx(of_class.logs[1] - of_class.logs[0])
        assert terms["x"] == pytest.approx(of_x.logs[state, 1] - of_x.logs[state, 0])
        assert "from a logistic regression" in str(model.explain(X[:1])[0])

    def test_queries(self):
        X, y = rows()
        model = LinearClassifier().fit(X, y)
        np.testing.assert_allclose(model.query(), model.class_prior_)
        row = X[:1].assign(x=np.nan, y=np.nan)
        np.testing.assert_allclose(
            model.query({"name": row["name"][0], "count": row["count"][0]}), model.predict_proba(row)[0]
        )

    def test_files_and_copies(self, tmp_path):
        X, y = rows()
        model = LinearClassifier(decimal=".").fit(X, y)
        model.save(tmp_path / "model.json")
        for other in (anbexact.load(tmp_path / "model.json"), pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(other.predict_proba(holes(X)), model.predict_proba(holes(X)))
            assert (other.l2_, other.centre_) == (model.l2_, model.centre_)
            np.testing.assert_array_equal(other.class_prior_, model.class_prior_)
            assert other.get_params() == model.get_params()
            assert repr(other.model_) == "<LinearModel of 'k': 4 features>"

    def test_rows_cannot_be_added(self):
        X, y = rows()
        with pytest.raises(ValueError, match="rows cannot be added"):
            fixed().fit(X, y).partial_fit(X, y)


class TestPool:
    @pytest.mark.parametrize("readable", [False, True])
    def test_it_is_a_member_with_few_rows(self, readable):
        few, many = (
            [member.name for member in automatic_members(4, 3, n, {}, readable=readable)]
            for n in (members_module.ROWS_WITHOUT_LINEAR - 1, members_module.ROWS_WITHOUT_LINEAR)
        )
        assert "linear" in few
        assert "linear" not in many
        assert ("ANB, 5 intervals" in few) == readable
        assert "ANB, 5 intervals" in many
        assert "linear" not in [member.name for member in automatic_members(4, 3, 50, {}, cut=False)]

    def test_a_class_that_follows_a_line(self):
        """Others hardly see the sign of a small difference of two columns."""
        rng = np.random.default_rng(0)
        X = pd.DataFrame(rng.normal(size=(160, 1)) + 0.1 * rng.normal(size=(160, 2)), columns=["a", "b"])
        y = pd.Series(X["a"] > X["b"], name="more")
        pool = PooledClassifier(n_jobs=1).fit(X[:80], y[:80])
        assert pool.members_.weight.idxmax() == "linear"
        assert log_loss(y[80:], pool.predict_proba(X[80:])) < 0.27
        for other in (AdditiveClassifier(NaiveBayesClassifier()), KernelClassifier()):
            assert log_loss(y[80:], other.fit(X[:80], y[:80]).predict_proba(X[80:])) > 0.38

    def test_of_networks_it_becomes_one_regression(self):
        X, y = rows()
        members = [("linear", fixed()), ("NB", NaiveBayesClassifier())]
        pool = PooledClassifier(members, folds=3, n_jobs=1).fit(X, y)
        np.testing.assert_allclose(pool.to_logit().predict_proba(X), pool.predict_proba(X), atol=1e-9)
