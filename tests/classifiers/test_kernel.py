"""The estimator of kernel logistic regression: parameters, rows, warnings, files, and what it learns."""

import itertools
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from edited import write_edited
from mixed_rows import holes, mixed_columns, thirds
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss

import anbexact
import anbexact.classifiers.kernel as kernel_module
import anbexact.models.kernel.fit as fit_module
from anbexact import NaiveBayesClassifier
from anbexact.adapters import to_logit
from anbexact.classifiers import KernelClassifier
from anbexact.classifiers.discrete import FitRows
from anbexact.classifiers.pooling.shared_fits import SharedFits
from anbexact.datasets import load_anes96, load_iris
from anbexact.models.kernel.fit import POWERS, PRECISIONS, RATES, RELEVANCES, learn_kernel


def rows(seed=0, n=60):
    """Rows of columns of every kind, and three classes."""
    X, rng = mixed_columns(seed, n)
    return X, thirds(X["x"] * (X["name"] == "u") + X["count"] + rng.normal(size=n) * 0.5)


def fixed(**parameters):
    """A classifier that chooses nothing."""
    return KernelClassifier(**{"rate": 0.5, "l2": 0.1, "relevance": 0.5, "power": 1.0, **parameters})


class TestParameters:
    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"rate": 0}, "rate must be 'auto' or a finite number above 0, not 0"),
            ({"rate": "much"}, "rate must be .*, not 'much'"),
            ({"rate": True}, "rate must be .*, not True"),
            ({"rate": float("inf")}, "rate must be .*, not inf"),
            ({"rate": None}, "rate must be .*, not None"),
            ({"l2": -1.0}, "l2 must be 'auto' or a finite number above 0, not -1.0"),
            ({"l2": float("nan")}, "l2 must be .*, not nan"),
            ({"relevance": -0.5}, "relevance must be 'auto', 'learned' or a finite number, 0 or more, not -0.5"),
            ({"relevance": "much"}, "relevance must be .*, not 'much'"),
            ({"relevance": float("inf")}, "relevance must be .*, not inf"),
            ({"power": 0}, "power must be 'auto' or a number above 0 and at most 1.3, not 0"),
            ({"power": 1.31}, "power must be .*, not 1.31"),
            ({"power": "much"}, "power must be .*, not 'much'"),
            ({"power": True}, "power must be .*, not True"),
            ({"power": float("nan")}, "power must be .*, not nan"),
            ({"points": 0}, "points must be a whole number, 1 or more, not 0"),
            ({"points": 10.0}, "points must be .*, not 10.0"),
            ({"points": True}, "points must be .*, not True"),
            ({"time_limit": 0}, "time_limit must be None or a number above 0, not 0"),
            ({"handle_missing": "em"}, "handle_missing must be one of 'auto', 'marginalize', 'own_state', 'error'"),
            ({"discretizer": "chop"}, "discretizer must be one of .*, not 'chop'"),
        ],
    )
    def test_senseless_ones_are_refused(self, parameters, message):
        model = KernelClassifier(**parameters)
        with pytest.raises((ValueError, TypeError), match=message):
            model.fit(*rows())
        with pytest.raises(NotFittedError):
            model.predict(rows()[0])

    def test_given_ones_are_used(self):
        model = KernelClassifier(rate=np.float64(0.75), l2=2, relevance=0, power=1).fit(*rows())
        assert (model.rate_, model.l2_, model.relevance_, model.power_) == (0.75, 2.0, 0.0, 1.0)
        assert model.model_.facts()["points"] == 60
        assert fixed(power=1.3).fit(*rows()).power_ == 1.3
        assert fixed(points=np.int64(7)).fit(*rows()).model_.facts()["points"] == 7

    def test_automatic_ones_are_among_those_to_choose_from(self):
        X, y = rows()
        X = X.assign(same="one")
        model = KernelClassifier().fit(X, y)
        assert model.rate_ in {rate / 4 for rate in RATES}  # the column of one state is none of them
        assert model.l2_ in PRECISIONS
        assert model.relevance_ in RELEVANCES
        assert model.power_ in POWERS
        found = {"rate": model.rate_, "l2": model.l2_, "relevance": model.relevance_, "power": model.power_}
        again = KernelClassifier(**found).fit(X, y)
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        for name, others in (
            ("rate", {"l2": 0.1}),
            ("l2", {"relevance": 0.0}),
            ("relevance", {"rate": 0.5}),
            ("power", {"l2": 0.1}),
        ):
            assert getattr(KernelClassifier(**{name: 0.3}, **others).fit(X, y), f"{name}_") == 0.3

    def test_fits_to_other_rows_take_over_what_was_chosen(self):
        X, y = rows(n=90)
        chosen = set()
        for seed in range(12):
            places = np.random.default_rng(seed).permutation(90)[:60]
            model = KernelClassifier(rate=2.0, relevance=0.0).fit(X.iloc[places], y.iloc[places])
            again = model._unfitted_again(FitRows(X, y, np.ones(90)))
            found = model.rate_, model.l2_, model.relevance_, model.power_
            assert (again.rate, again.l2, again.relevance, again.power) == found
            chosen.add(model.power_)
        assert chosen == set(POWERS)

    def test_learned_relevances_are_learned_from_the_rows_of_every_fit(self):
        X, y = rows(n=300)
        model = fixed(relevance="learned").fit(X, y)
        assert model.relevance_ == model.model_.facts()["relevance"] == "learned"
        found = [own.relevance for own in model.model_.distances]
        assert np.mean(found) == pytest.approx(1)
        assert np.ptp(found) > 0.1
        again = model._unfitted_again(FitRows(X[:150], y[:150], np.ones(150))).fit(X[:150], y[:150])
        assert again.relevance == "learned"
        assert [own.relevance for own in again.model_.distances] != found

    @pytest.mark.parametrize(
        ("shared", "n_rows", "parameters"),
        [
            (True, 300, {"relevance": 0.0}),
            (False, 300, {"relevance": 0.5}),
            (True, 1_500, {"relevance": 0.5}),
            (False, 1_500, {"relevance": "learned"}),
            (True, 6_000, {"relevance": "learned"}),
            (False, 1_500, {"relevance": 0.5, "points": 2_000, "columns": 21}),
            (True, 1_600, {"relevance": 0.5, "points": 2_000, "columns": 21}),
            (False, 300, {"relevance": 0.0, "class_weight": "balanced"}),
            (True, 300, {"relevance": 0.0, "class_weight": {"low": 2.0}}),
            (False, 300, {"relevance": 0.0, "discretizer": "modl"}),
            (False, 300, {"relevance": 0.0, "group_categories": 2}),
        ],
    )
    def test_fits_in_folds_share_what_does_not_depend_on_the_classes(self, shared, n_rows, parameters):
        X, y = rows(n=n_rows)
        parameters = dict(parameters)
        for k in range(X.shape[1], parameters.pop("columns", 0)):
            X[f"more {k}"] = np.random.default_rng(k).normal(size=n_rows)
        weights = np.random.default_rng(0).uniform(0.5, 2, n_rows)
        model = SharedFits(X, y, weights).fitted(fixed(**parameters))
        left = np.arange(n_rows) % 4 > 0
        again = SharedFits(X[left], y[left], weights[left]).fitted_again(model)
        direct = fixed(**parameters).fit(X[left], y[left], sample_weight=weights[left])
        own, others = again.predict_proba(X[~left]), direct.predict_proba(X[~left])
        if shared:
            np.testing.assert_array_equal(again.model_.points, model.model_.points)
            seen = np.abs(model.predict_proba(X[~left]) - others).mean()
            assert np.abs(own - others).mean() < min(0.03, seen / 2)  # intervals and relevances differ a little
        else:
            np.testing.assert_array_equal(own, others)
        assert again._fit is None
        model._forget_rows()
        assert model._fit is None
        assert fixed(**parameters).fit(X, y)._fit is None

    def test_relevances_of_a_single_feature_are_not_learned(self):
        X, y = rows()
        assert KernelClassifier().fit(X[["x"]], y).relevance_ == 0.0

    @pytest.mark.parametrize("limit", ["MOST_STATES_TIMES_ROWS", "MOST_CLASSES"])
    def test_relevances_of_large_tables_are_learned_only_on_request(self, limit, monkeypatch):
        tried = []

        def noted(table, cut_points, values, *others):
            tried.append(list(values[2]))
            return learn_kernel(table, cut_points, values, *others)

        monkeypatch.setattr(kernel_module, "learn_kernel", noted)
        X, y = rows(n=40)
        KernelClassifier().fit(X, y)
        monkeypatch.setattr(kernel_module, limit, 2)  # there are three classes, and many more states times rows
        KernelClassifier().fit(X, y)
        KernelClassifier(relevance="learned").fit(X, y)
        assert tried == [list(RELEVANCES), [0.0, 0.5, 1.0], ["learned"]]

    @pytest.mark.parametrize(("cut", "most", "tried"), [(True, 1, True), (False, 1, False), (False, 10**6, True)])
    def test_relevances_of_columns_that_are_not_cut_are_learned_from_all_rows_or_on_request(
        self, cut, most, tried, monkeypatch
    ):
        values = []

        def noted(table, cut_points, given, *others):
            values.append(list(given[2]))
            return learn_kernel(table, cut_points, given, *others)

        monkeypatch.setattr(kernel_module, "learn_kernel", noted)
        monkeypatch.setattr(kernel_module, "ROWS_TO_LEARN", most)
        X, y = rows(n=200)
        X = X if cut else X[["name", "count"]]
        fixed(relevance="auto").fit(X, y)
        fixed(relevance="learned").fit(X, y)
        assert values == [[0.0, 0.5, 1.0, *["learned"] * tried], ["learned"]]

    @pytest.mark.parametrize(
        ("columns", "parameters", "tried"),
        [
            (["x", "name"], {}, list(POWERS)),
            (["name", "count"], {}, [1.0]),
            (["x", "name"], {"discretizer": "median"}, [1.0]),
            (["x", "name"], {"power": 1.2}, [1.2]),
        ],
    )
    def test_powers_are_tried_where_a_column_has_three_intervals(self, columns, parameters, tried, monkeypatch):
        values = []

        def noted(table, cut_points, given, *others):
            values.append(list(given[3]))
            return learn_kernel(table, cut_points, given, *others)

        monkeypatch.setattr(kernel_module, "learn_kernel", noted)
        X, y = rows()
        model = fixed(**{"power": "auto", **parameters}).fit(X[columns], y)
        assert values == [tried]
        assert model.power_ in tried

    def test_sixty_four_intervals_unless_others_are_asked_for(self):
        X, y = rows(n=300)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = fixed().fit(X, y)
        cuts = model.cut_points_
        assert {name: len(own) for name, own in cuts.items()} == {"x": 63, "y": 63}
        sizes = np.bincount(np.searchsorted(cuts["x"], X["x"], side="left"), minlength=64)
        assert sizes.min() >= 3
        assert sizes.max() <= 7
        few = fixed(discretizer="equal_frequency").fit(X, y).cut_points_
        assert {name: len(own) for name, own in few.items()} == {"x": 4, "y": 4}
        with pytest.raises(ValueError, match="discretizer is None"):
            fixed(discretizer=None).fit(X, y)


class TestRows:
    def test_weights_are_repeated_rows(self):
        X, y = rows()
        repeats = np.random.default_rng(1).integers(0, 3, len(y))
        copied = np.repeat(np.arange(len(y)), repeats)
        model = KernelClassifier(points=30, l2=0.1, discretizer="equal_width")
        one = clone(model).fit(X, y, repeats)
        other = model.fit(X.iloc[copied], y.iloc[copied])
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))

    def test_neither_their_order_nor_threads_matter(self):
        X, y = rows()
        order = np.random.default_rng(0).permutation(len(y))
        one, other = (
            KernelClassifier(l2=0.1, n_jobs=1).fit(X, y),
            KernelClassifier(l2=0.1, n_jobs=2).fit(X.iloc[order], y.iloc[order]),
        )
        np.testing.assert_array_equal(one.predict_proba(holes(X)), other.predict_proba(holes(X)))

    def test_of_lazy_frames_are_counted_where_they_are(self):
        polars = pytest.importorskip("polars")
        X, y = rows()
        X = X[["name", "count"]]
        frame = polars.DataFrame({**X.to_dict("list"), "k": y.tolist()}).lazy()
        lazy, eager = fixed().fit(frame, "k"), fixed().fit(X, y)
        np.testing.assert_allclose(lazy.predict_proba(X), eager.predict_proba(X), atol=1e-6)

    @pytest.mark.parametrize("how", ["own_state", "marginalize", "auto"])
    @pytest.mark.filterwarnings("ignore:.*are left out of training")
    def test_with_missing_cells(self, how):
        X, y = rows()
        hidden = holes(X)
        hidden.loc[:9] = X.loc[:9]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = fixed(handle_missing=how).fit(hidden, y)
        left_out = [text for text in caught if "left out of training" in str(text.message)]
        complete = hidden.notna().all(axis=1)
        if how == "marginalize":
            assert len(left_out) == 1
            assert model.model_.facts()["points"] == complete.sum() < len(y)
            uncut = ["name", "count"]  # cut points are those of all rows
            one, other = (
                fixed(handle_missing="marginalize").fit(of, labels).predict_proba(X[uncut])
                for of, labels in ((hidden[uncut], y), (hidden[uncut].dropna(), y[hidden[uncut].notna().all(axis=1)]))
            )
            np.testing.assert_array_equal(one, other)
        else:
            assert not left_out
            assert model.vocabulary_.states["name"][-1] == "(missing)"
            assert model.model_.facts()["points"] == len(y)
        everywhere = model.predict_proba(hidden)
        np.testing.assert_allclose(everywhere.sum(axis=1), 1)
        assert log_loss(y, everywhere, labels=model.classes_) < log_loss(y, [model.class_prior_] * len(y))
        asked = model.query({"name": "u"}) if how == "marginalize" else model.query({**X.loc[0]})
        row = pd.DataFrame([{**dict.fromkeys(X), "name": "u"}]) if how == "marginalize" else X[:1]
        np.testing.assert_allclose(asked, model.predict_proba(row)[0], atol=1e-12)

    def test_unknown_values_count_as_hidden(self):
        X, y = rows()
        model = fixed().fit(X, y)
        unknown, hidden = (model.predict_proba(X.assign(name=value)) for value in ("q", None))
        np.testing.assert_array_equal(unknown, hidden)

    def test_groups_are_held_out_as_a_whole(self):
        """The person tells everything, except about persons whose rows are all held out."""
        rng = np.random.default_rng(0)
        persons = np.repeat(np.arange(20), 4)
        X = pd.DataFrame({"person": [f"person {k}" for k in persons], "noise": rng.integers(0, 3, 80)})
        y = pd.Series(rng.choice(["ill", "well"], 20)[persons], name="k")
        model = KernelClassifier(l2=0.01, relevance=0.0, group_categories=None)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.fit(X, y)
        with pytest.warns(UserWarning, match="held-out rows are predicted worse than by the class frequencies"):
            model.fit(X, y, groups=persons)


class TestWarnings:
    def test_of_rows_predicted_worse_than_by_the_frequencies(self):
        X, y = rows()
        shuffled = pd.Series(np.random.default_rng(0).permutation(y), name="k")
        with pytest.warns(UserWarning, match=r"predicted worse .*: 60 distinct rows may be too few for 4 features"):
            KernelClassifier(l2=1e-4, relevance=0.0).fit(X, shuffled)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            KernelClassifier(l2=0.1).fit(X, y)  # that the features tell the classes apart
            KernelClassifier(l2=1e-4, relevance=0.0).fit(X[:25], shuffled[:25])  # too few rows for a comparison
            fixed(l2=1e-4).fit(X, shuffled)  # nothing is held out

    def test_of_a_time_limit_that_ended_the_fit(self):
        X, y = rows()
        with pytest.warns(UserWarning, match="time_limit=1e-09 ended the fit: the best coefficients found so far"):
            model = KernelClassifier(time_limit=1e-9).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
        assert model.score(X, y) > y.value_counts(normalize=True).max()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            KernelClassifier(time_limit=600).fit(X, y)


class TestFits:
    def test_that_are_interrupted_leave_it_as_it_was(self, monkeypatch):
        X, y = rows()
        fitted, unfitted = fixed().fit(X, y), fixed()
        before, proba = dict(vars(fitted)), fitted.predict_proba(X)

        def interrupted(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(fit_module, "fit_kernel", interrupted)
        for model in (fitted, unfitted):
            with pytest.raises(KeyboardInterrupt):
                model.fit(X[["x", "y"]], y)
        assert vars(fitted) == before
        np.testing.assert_array_equal(fitted.predict_proba(X), proba)
        assert vars(unfitted) == vars(fixed())

    def test_cannot_be_continued(self):
        X, y = rows()
        model = fixed().partial_fit(X, y)
        with pytest.raises(ValueError, match="rows cannot be added to a KernelModel: fit again with all rows"):
            model.partial_fit(X, y)
        np.testing.assert_array_equal(model.predict_proba(X), fixed().fit(X, y).predict_proba(X))

    def test_are_refused_what_only_networks_have(self):
        model = fixed().fit(*rows())
        for ask, message in (
            (lambda: model.sample(2), "rows cannot be drawn from a KernelModel"),
            (lambda: model.log_evidence(rows()[0]), "has no distribution of the features, only of the class"),
            (lambda: to_logit(model), "to_logit takes"),
        ):
            with pytest.raises(TypeError, match=message):
                ask()
        assert not hasattr(model, "explain")
        assert not hasattr(model, "to_logit")

    def test_of_one_class_or_of_features_of_one_state(self):
        X, y = rows()
        with pytest.warns(UserWarning, match="single class"):
            single = KernelClassifier().fit(X, ["low"] * len(y))
        np.testing.assert_array_equal(single.predict_proba(X), np.ones((len(y), 1)))
        alike = KernelClassifier().fit(pd.DataFrame({"same": ["one"] * len(y)}), y)
        np.testing.assert_allclose(alike.predict_proba(pd.DataFrame({"same": ["one"]})), [[1 / 3] * 3], atol=1e-3)

    def test_other_shares_of_the_classes(self):
        X, y = rows()
        model = fixed().fit(X, y)
        shares = np.array([0.2, 0.7, 0.1])
        expected = model.predict_proba(X) * shares / model.class_prior_
        expected /= expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(model.predict_proba(X, class_prior=shares), expected, atol=1e-12)


class TestFiles:
    @pytest.mark.parametrize("relevance", ["learned", 0.5])
    @pytest.mark.parametrize("how", ["own_state", "marginalize"])
    def test_lose_nothing(self, how, relevance, tmp_path):
        X, y = rows()
        weights = np.random.default_rng(0).exponential(size=len(y))
        model = KernelClassifier(handle_missing=how, points=20, relevance=relevance)
        model.fit(holes(X) if how == "own_state" else X, y, weights)
        model.save(tmp_path / "m.json")
        read = anbexact.load(tmp_path / "m.json")
        assert isinstance(read, KernelClassifier)
        assert read.get_params() == model.get_params()
        assert (read.rate_, read.l2_, read.relevance_) == (model.rate_, model.l2_, model.relevance_)
        for new in (X, holes(X, 1)):
            assert read.predict_log_proba(new).tobytes() == model.predict_log_proba(new).tobytes()
        read.save(tmp_path / "again.json")
        assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()

    @pytest.mark.parametrize(
        ("place", "value", "message"),
        [
            (("states", 0, "places"), [], "states: a list of length"),
            (("points", 0, 0), 10**6, "points: a whole number from 0 to"),
            (("coefficients", 0), [], "coefficients: a list of length 3 was expected, not 0"),
            (("biases",), [], "biases: a list of length 3 was expected, not 0"),
            (("rate",), "much", "rate, l2 and relevance: a number was expected, not 'much'"),
            (("l2",), 0, "rate, l2 and relevance: a finite number above 0 was expected, not 0"),
            (("relevance",), "much", "rate, l2 and relevance: a number was expected, not 'much'"),
        ],
    )
    def test_that_were_edited_are_refused(self, place, value, message, tmp_path):
        path = tmp_path / "m.json"
        fixed(points=5).fit(*load_iris()).save(path)
        write_edited(path, place, value)
        with pytest.raises(ValueError, match=rf"m\.json is damaged or was edited: {message}"):
            anbexact.load(path)

    def test_pickles_and_clones(self):
        X, y = rows()
        model = KernelClassifier(points=20, rate=0.5).fit(X, y)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))
        copy = clone(model)
        assert copy.get_params() == model.get_params()
        assert not hasattr(copy, "model_")
        np.testing.assert_array_equal(copy.fit(X, y).predict_proba(X), model.predict_proba(X))


class TestLearns:
    """What no network of low order learns."""

    def test_parity(self):
        rng = np.random.default_rng(0)
        X = pd.DataFrame(list(itertools.product("uv", repeat=4)) * 8, columns=list("abcd"))
        odd = (X == "u").sum(axis=1) % 2 == 1
        y = pd.Series(np.where(odd ^ (rng.random(len(X)) < 0.05), "odd", "even"), name="k")
        model = KernelClassifier().fit(X, y)
        found = model.predict_proba(X[:16])[:, model.classes_.tolist().index("odd")]
        assert found[odd[:16]].min() > 0.6
        assert found[~odd[:16]].max() < 0.4

    def test_the_product_of_two_measurements(self):
        samples = []
        for seed, n in ((0, 250), (1, 1000)):
            rng = np.random.default_rng(seed)
            X = pd.DataFrame(rng.uniform(-1, 1, (n, 2)), columns=["a", "b"])
            samples.append((X, (X["a"] * X["b"] > 0) ^ (rng.random(n) < 0.1)))
        (X, y), (X_new, y_new) = samples
        ours, naive = (
            log_loss(y_new, model.fit(X, y).predict_proba(X_new))
            for model in (KernelClassifier(relevance=0.0), NaiveBayesClassifier())
        )
        assert ours < 0.45  # of 0.325 nats that nothing predicts
        assert naive > 0.69

    @pytest.mark.slow
    def test_main_effects_nearly_as_well_as_naive_bayes(self):
        X, y = load_anes96()
        part = np.arange(len(y)) % 3 > 0
        ours, naive = (
            log_loss(y[~part], model.fit(X[part], y[part]).predict_proba(X[~part]))
            for model in (KernelClassifier(), NaiveBayesClassifier())
        )
        assert ours < naive + 0.05
