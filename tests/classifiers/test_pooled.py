"""The pool as an estimator: what its weights are made of, time limits, weights of rows, hidden cells and frames."""

import gc
import pickle
import warnings
import weakref
from dataclasses import replace
from math import inf

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from anbexact import (
    AdditiveClassifier,
    ANBClassifier,
    NaiveBayesClassifier,
    PooledClassifier,
    RefittedClassifier,
    TANClassifier,
)
from anbexact._runtime.deadline import Deadline
from anbexact.classifiers import AODEClassifier, KDBClassifier, KernelClassifier, pooled
from anbexact.classifiers.choosing.frequencies import PREDICTED_WORSE, PredictedWorseWarning
from anbexact.classifiers.discrete import FitRows
from anbexact.classifiers.pooling import learning
from anbexact.classifiers.pooling import members as members_of_pools
from anbexact.classifiers.pooling.learning import OUT_OF_TIME, Record, Rows, Spared, learn_members, make_folds
from anbexact.classifiers.pooling.members import Member, automatic_members, named_members
from anbexact.classifiers.pooling.shared_fits import SharedFits
from anbexact.datasets import load_iris, load_monks, load_tic_tac_toe
from anbexact.models.pool.weights import HeldOutLogs, PoolWeights, fit_weights
from anbexact.models.smooth import refit as smooth_refits
from anbexact.models.smooth.smoothness import Tuning
from anbexact.tables.folds import frame_folds
from anbexact.tables.frames import reading
from anbexact.tables.frames.reading import read_columns
from anbexact.tables.labels import read_target

TWO = [("NB", NaiveBayesClassifier(ess=1.0)), ("TAN", TANClassifier(ess=1.0))]


def frames(n=90, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.integers(3, size=n), "b": rng.integers(2, size=n), "c": rng.normal(size=n).round(1)})
    y = pd.Series(np.where((X["a"] == X["b"]) ^ (rng.random(n) < 0.2), "yes", "no"), name="k")
    return X, y


class TestFolds:
    def folds(self, X, y, weights, k=3):
        columns = read_columns(X)
        return frame_folds(columns, read_target(y, columns, weights), weights, k)

    def test_every_row_is_held_out_once(self):
        X, y = frames()
        parts = self.folds(X, y, np.ones(len(y)))
        np.testing.assert_allclose(sum(held for _, held in parts).sum(), len(y))
        for learned, held in parts:
            np.testing.assert_allclose((learned + held).sum(), len(y))

    def test_weights_are_rows(self):
        X, y = frames()
        whole = np.random.default_rng(1).integers(0, 3, len(y))
        rows = np.repeat(np.arange(len(y)), whole)
        by_weight = self.folds(X, y, whole.astype(float))
        repeated = self.folds(
            X.iloc[rows].reset_index(drop=True), y.iloc[rows].reset_index(drop=True), np.ones(len(rows))
        )
        for one, other in zip(by_weight, repeated, strict=True):
            for own, theirs in zip(one, other, strict=True):
                own_rows = X.assign(k=y)[own > 0].assign(w=own[own > 0])
                their_rows = X.assign(k=y).iloc[rows].reset_index(drop=True)[theirs > 0].assign(w=theirs[theirs > 0])
                pd.testing.assert_frame_equal(
                    own_rows.sort_values(list(own_rows)).reset_index(drop=True),
                    their_rows.sort_values(list(their_rows)).reset_index(drop=True),
                )

    def test_a_class_with_a_single_row_is_never_held_out(self):
        X, y = frames()
        y = y.where(y.index != 5, "rare")
        for learned, held in self.folds(X, y, np.ones(len(y))):
            assert learned[5] == 1
            assert held[5] == 0

    def test_order_of_rows_does_not_matter(self):
        X, y = frames()
        order = np.random.default_rng(2).permutation(len(y))
        one = self.folds(X, y, np.ones(len(y)))
        other = self.folds(X.iloc[order], y.iloc[order], np.ones(len(y)))
        for (_, held), (_, theirs) in zip(one, other, strict=True):
            ours = X.assign(k=y)[held > 0].sort_values([*X, "k"]).to_numpy().tolist()
            assert ours == X.assign(k=y).iloc[order][theirs > 0].sort_values([*X, "k"]).to_numpy().tolist()


class TestWeights:
    def test_rest_on_members_learned_again_without_the_held_out_rows(self):
        X, y = load_tic_tac_toe()
        pool = PooledClassifier(TWO, ridge=2.0).fit(X, y)
        columns, ones = read_columns(X), np.ones(len(y))
        classes = sorted(y.unique())
        parts = []
        for learned, held in frame_folds(columns, read_target(y, columns, ones), ones, 5):
            models = [clone(model).fit(X[learned > 0], y[learned > 0]) for _, model in TWO]
            logs = np.stack([model.predict_log_proba(X[held > 0]) for model in models], axis=1)
            codes = np.array([classes.index(label) for label in y[held > 0]])
            parts.append(HeldOutLogs(logs, codes, held[held > 0]))
        expected = fit_weights(HeldOutLogs.together(parts), 2.0)
        np.testing.assert_allclose(pool.weights_, expected.weights, atol=1e-9)
        np.testing.assert_allclose(pool.biases_, expected.biases, atol=1e-9)

    def test_a_member_that_memorises_rows_gets_none(self):
        rng = np.random.default_rng(0)
        X = pd.DataFrame(rng.integers(4, size=(300, 6)), columns=list("abcdef"))
        y = pd.Series(np.where(rng.random(300) < 0.4, "yes", "no"), name="k")
        memory = KDBClassifier(k=5, ess=1e-3)
        members = [("memory", memory), ("NB", NaiveBayesClassifier(ess=1.0))]
        logs = np.stack([clone(model).fit(X, y).predict_log_proba(X) for _, model in members], axis=1)
        learned = HeldOutLogs(logs, (y == "yes").to_numpy().astype(np.intp), np.ones(len(y)))
        assert fit_weights(learned, 1.0).weights[0] > 0.5  # of rows that it has learned from
        pool = PooledClassifier(members, ridge=1.0).fit(X, y)
        assert pool.members_.loc["memory", "weight"] < 0.1
        assert pool.members_.loc["memory", "log_loss"] > pool.members_.loc["NB", "log_loss"]

    def test_a_pool_of_one_member_of_weight_one_is_that_member(self):
        X, y = load_iris()
        holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.2)
        for member in (TANClassifier(), RefittedClassifier(NaiveBayesClassifier(), l2=1.0)):
            pool = PooledClassifier([member], ridge=np.inf).fit(X, y)
            alone = clone(member).fit(X, y)
            np.testing.assert_array_equal(pool.weights_, [1.0])
            for rows in (X, holes):
                np.testing.assert_allclose(pool.predict_proba(rows), alone.predict_proba(rows), atol=1e-12)

    def test_order_of_members_does_not_matter(self):
        X, y = frames()
        members = [*TWO, ("kDB", KDBClassifier(ess=1.0))]
        one, other = (PooledClassifier(of, ridge=1.0).fit(X, y) for of in (members, members[::-1]))
        np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-7)
        assert other.members_["weight"].to_dict() == pytest.approx(one.members_["weight"].to_dict(), abs=1e-6)

    def test_posterior_is_the_weighted_sum_of_logs(self):
        X, y = frames()
        pool = PooledClassifier(TWO, ridge=1.0).fit(X, y)
        total = pool.biases_ + sum(
            w * model.predict_log_proba(X) for w, (_, model) in zip(pool.weights_, pool.estimators_, strict=True)
        )
        expected = np.exp(total) / np.exp(total).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(pool.predict_proba(X), expected, atol=1e-12)
        np.testing.assert_allclose(np.exp(pool.predict_log_proba(X)), expected, atol=1e-12)
        assert pool.predict(X).tolist() == pool.classes_[expected.argmax(axis=1)].tolist()

    def test_class_weights_multiply_those_of_rows(self):
        X, y = frames()
        weights = np.where(y == "yes", 2.0, 1.0)
        one = PooledClassifier(TWO, ridge=1.0, class_weight={"yes": 2.0}).fit(X, y)
        other = PooledClassifier(TWO, ridge=1.0).fit(X, y, weights)
        np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-12)


class TestFit:
    @pytest.mark.parametrize(
        ("n_rows", "measured", "folds", "learned"),
        [
            (1999, False, "auto", 5),
            (2000, False, "auto", 3),
            (1999, False, 4, 4),
            (99, True, "auto", 5),
            (100, True, "auto", 3),
            (1999, True, "auto", 3),
        ],
    )
    def test_few_rows_have_more_folds(self, n_rows, measured, folds, learned, monkeypatch):
        X, y = load_iris() if measured else load_monks(1)
        kept = np.arange(3000) % len(y)
        X, y = X.iloc[kept], y.iloc[kept]
        weights = (np.arange(3000) < n_rows) * 1.0  # rows beyond do not count
        asked = []
        original = pooled.frame_folds
        monkeypatch.setattr(pooled, "frame_folds", lambda *given: asked.append(given[3]) or original(*given))
        PooledClassifier([NaiveBayesClassifier(ess=1.0)], folds=folds).fit(X, y, weights)
        assert asked == [learned]

    @pytest.mark.parametrize(("rows", "folds", "learned"), [(599, "auto", 3), (600, "auto", 2), (600, 4, 4)])
    def test_enough_held_out_rows_need_no_further_fold(self, rows, folds, learned, monkeypatch):
        monkeypatch.setattr(pooled, "ENOUGH_HELD_OUT", 400)
        monkeypatch.setattr(pooled, "MANY_ROWS", 500)
        X, y = load_monks(1)
        kept = np.arange(rows) % len(y)
        made = []
        original = pooled.make_folds
        monkeypatch.setattr(pooled, "make_folds", lambda *given: made.append(original(*given)) or made[-1])
        pool = PooledClassifier([NaiveBayesClassifier(ess=1.0)], folds=folds).fit(X.iloc[kept], y.iloc[kept])
        assert len(made[0]) == learned
        assert np.isfinite(pool.members_["log_loss"]).all()

    @pytest.mark.slow
    def test_members_of_weight_zero_are_not_kept(self):
        X, y = load_monks(1)
        pool = PooledClassifier([("ANB", ANBClassifier()), ("NB", NaiveBayesClassifier())], ridge=1.0).fit(X, y)
        dropped = pool.members_.index[pool.members_["outcome"] == "weight 0"]
        assert {name for name, _ in pool.estimators_} == set(pool.members_.index) - set(dropped)
        assert (pool.weights_ > 0).all()

    @pytest.mark.slow
    def test_automatic_members_say_what_they_are(self):
        X, y = frames(60)
        pool = PooledClassifier(n_jobs=1).fit(X, y)
        assert list(pool.members_.index) == [member.name for member in automatic_members(3, 2, 60, {}, cut=True)]
        alike = {f"same as {name}" for name in pool.members_.index}
        assert set(pool.members_["outcome"]) <= {"pooled", "weight 0", *alike}
        assert pool.score(X, y) > 0.7

    def test_automatic_members_depend_on_the_size(self):
        def names(*size, **table):
            return [member.name for member in automatic_members(*size, {}, **table)]

        members = automatic_members(5, 2, 5_000, {}, cut=True, readable=True)
        assert max(getattr(member.estimator, "k", 0) for member in members) == 2  # or no to_logit() would fit
        of_all = names(5, 2, 5_000, cut=False)
        readable = set(names(5, 2, 5_000, cut=False, readable=True))
        assert readable == set(of_all) - {"kernel"} | {"TAN refitted"}
        of_states = names(5, 2, 500, cut=False)
        assert len(of_states) == len(set(of_states)) == 9
        assert set(of_states) - set(names(40, 2, 500, cut=False)) == {"ANB", "ANB refitted"}
        assert "kernel" in names(5, 10, 100_000)
        assert "kernel" not in names(5, 2, 100_001)  # it would have few points
        assert "kernel" in names(5, 20, 50_000)
        assert "kernel" not in names(5, 20, 50_001)  # it would take too long
        points = {1_999: 400, 2_000: 2_600, 3_999: 2_600, 4_000: 1_000, 14_999: 1_000, 15_000: 2_600}
        for n_rows, expected in points.items():
            for cut in (True, False):
                members = automatic_members(5, 3, n_rows, {}, cut=cut)
                usual = 1_000 if cut and n_rows == 1_999 else expected
                assert [of.estimator.points for of in members if of.name == "kernel"] == [usual]
        for cut in (True, False):
            for n_rows, searched in ((4_768, True), (4_769, False)):  # 5 billion divided by 2 to the power 20
                assert any("ANB" in name for name in names(20, 2, n_rows, cut=cut, readable=True)) == searched
        assert [name for name in names(35, 15, 5_000, cut=False) if "smooth" in name] == ["NB smooth"]
        for n_classes, smooth in ((26, ["NB smooth", "TAN smooth"]), (40, ["NB smooth"])):
            of_cuts = names(16, n_classes, 5_000, cut=True, readable=True)
            assert [name for name in of_cuts if "smooth" in name] == smooth

    @pytest.mark.slow
    @pytest.mark.parametrize("readable", [False, True])
    @pytest.mark.parametrize(
        ("for_four_parents", "kinds"), [(100, ["equal width", "4 parents"]), (101, ["equal width"])]
    )
    def test_a_readable_pool_has_no_hierarchical_tables(self, readable, for_four_parents, kinds, monkeypatch):
        monkeypatch.setattr(members_of_pools, "ROWS_FOR_FOUR_PARENTS", for_four_parents)
        rng = np.random.default_rng(0)
        X = pd.DataFrame({"a": rng.normal(size=100), "b": rng.normal(size=100)})
        pool = clone(PooledClassifier(n_jobs=1).set_params(readable=readable))
        pool.fit(X, pd.Series(np.where(X["a"] * X["b"] + rng.normal(size=100) > 0, "yes", "no"), name="k"))
        hierarchical = [name for name in pool.members_.index if "hierarchical" in name]
        assert hierarchical == ([] if readable else [f"kDB hierarchical, {kind}" for kind in kinds])
        assert ("kernel" in pool.members_.index) is not readable
        assert pool.get_params()["readable"] is readable

    def test_only_automatic_members_can_be_readable(self):
        X, y = frames(60)
        with pytest.raises(ValueError, match="readable must be True or False, not 'no'"):
            PooledClassifier(readable="no").fit(X, y)
        with pytest.raises(ValueError, match="readable=True applies to automatic members only"):
            PooledClassifier(TWO, readable=True).fit(X, y)

    @pytest.mark.parametrize("cut", [True, False])
    def test_automatic_members_read_the_table_as_the_pool(self, cut):
        settings = {"handle_missing": "own_state", "discretizer": "mdlp"}
        for member in automatic_members(5, 2, 5_000, settings, cut=cut):
            given = member.estimator.get_params()
            assert {name: given.get(name, given.get(f"estimator__{name}")) for name in settings} == settings

    def test_a_missing_class_is_refused_before_anything_is_learned(self, monkeypatch):
        X, y = frames(60)
        monkeypatch.setattr(SharedFits, "fitted", None)
        with pytest.raises(ValueError, match=r"the class 'y' is missing in 1 row \(first: row 7\)"):
            PooledClassifier(TWO).fit(X, y.rename("y").where(np.arange(60) != 7))

    @pytest.mark.slow
    def test_members_that_predict_badly_are_no_reason_to_warn(self):
        rng = np.random.default_rng(0)
        X = pd.DataFrame(rng.integers(0, 3, (60, 8)).astype(str)).rename(columns=str)
        y = pd.Series(rng.integers(0, 2, 60), name="y").astype(str)
        members = [model(smoothing=1.0) for model in (NaiveBayesClassifier, TANClassifier, ANBClassifier)]
        for member in members:
            with pytest.warns(PredictedWorseWarning, match=PREDICTED_WORSE):
                member.fit(X, y)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            PooledClassifier(members).fit(X, y)
        assert sum(PREDICTED_WORSE in str(warning.message) for warning in caught) <= 1
        with pytest.warns(UserWarning, match=f"{PREDICTED_WORSE} .log loss .* 60 rows may be too few"):
            PooledClassifier(members, ridge=1e6).fit(X, y)

    def test_the_log_loss_of_tables_with_zeros_is_finite(self):
        X, y = load_monks(1)
        pool = PooledClassifier([("ml", KDBClassifier(k=3, parameters="ml")), ("NB", NaiveBayesClassifier())])
        assert np.isfinite(pool.fit(X, y).members_["log_loss"]).all()

    def test_what_members_start_from_is_learned_once(self, monkeypatch):
        X, y = frames(60)
        fits = []
        fit = NaiveBayesClassifier.fit

        def counted(self, *args, **kwargs):
            fits.append(self)
            return fit(self, *args, **kwargs)

        monkeypatch.setattr(NaiveBayesClassifier, "fit", counted)
        bayes = NaiveBayesClassifier(ess=1.0)
        shared = SharedFits(X, y, None)
        members = [
            bayes,
            RefittedClassifier(NaiveBayesClassifier(ess=1.0), l2=1.0),
            AdditiveClassifier(bayes, smooth=1.0),
        ]
        fitted = [shared.fitted(member) for member in members]
        assert len(fits) == 1
        assert fitted[1].estimator.get_params() == bayes.get_params()
        shared.fitted(NaiveBayesClassifier(ess=2.0))
        assert len(fits) == 2

    def test_networks_of_folds_are_learned_once_and_forgotten_after_their_last_member(self, monkeypatch):
        X, y = frames(60)
        fits, alive, fit = [], [], NaiveBayesClassifier.fit

        def counted(self, *args, **kwargs):
            gc.collect()
            fits.append(weakref.ref(self))
            alive.append(sum(model() is not None for model in fits))
            return fit(self, *args, **kwargs)

        monkeypatch.setattr(NaiveBayesClassifier, "fit", counted)
        bayes = NaiveBayesClassifier(ess=1.0)
        refit = RefittedClassifier(bayes, l2=1.0)
        PooledClassifier([("NB", bayes), ("refit", refit), ("other", NaiveBayesClassifier(ess=2.0))], folds=3).fit(
            X, y
        )
        # two networks, each learned from all rows and in 3 folds
        assert len(fits) == 8
        # the networks of folds: first kept for the refit; at the end, only that of the fold that is learned
        assert alive == [1, 2, 3, 4, 2, 3, 3, 3]

    @pytest.mark.parametrize("factor", [0.0, inf])
    def test_networks_are_forgotten_although_their_last_member_is_left_out(self, factor, monkeypatch):
        """Some are not learned since another one is far behind, or not in the folds since they predict the same."""
        monkeypatch.setattr(learning, "FAR_BEHIND", factor)
        seen, keep = [], SharedFits.keep

        def kept(shared, keys):
            keep(shared, keys)
            seen.append((len(keys), len(shared._networks.keys() | shared._again.keys())))

        monkeypatch.setattr(SharedFits, "keep", kept)
        bayes, tan = NaiveBayesClassifier(), TANClassifier()
        refits = [
            Member(f"{name} refitted", RefittedClassifier(network), extends=(name,))
            for name, network in (("NB", bayes), ("TAN", tan))
        ]
        twins = [Member("twin", TANClassifier()), Member("pool", PooledClassifier(TWO)), Member("last", bayes)]
        pool = PooledClassifier(folds=3)
        pool._automatic = lambda *_, **__: [Member("NB", bayes), Member("TAN", tan), *refits, *twins]
        left_out = pool.fit(*frames(120)).members_["outcome"]
        assert left_out["twin"] == "same as TAN"
        assert left_out["last"] == "same as NB"
        assert left_out["TAN refitted"].endswith("far behind") == (factor == 0)
        for to_come in range(7):
            most = max(known for keys, known in seen if keys == to_come)
            assert most == (0, 1, 1, 2, 2, 2, 1)[to_come]

    def test_of_shared_fits_is_that_of_separate_ones(self):
        X, y = frames(80)
        shared = SharedFits(X, y, None)
        for member in (TANClassifier(), RefittedClassifier(TANClassifier(), l2=1.0)):
            np.testing.assert_array_equal(
                shared.fitted(member).predict_proba(X), clone(member).fit(X, y).predict_proba(X)
            )

    def test_without_time_the_first_member_is_pooled_alone(self):
        X, y = frames()
        with pytest.warns(UserWarning, match="time_limit=1e-09 was too short"):
            pool = PooledClassifier(TWO, time_limit=1e-9).fit(X, y)
        assert [name for name, _ in pool.estimators_] == ["NB"]
        np.testing.assert_array_equal(pool.weights_, [1.0])
        assert pool.members_["outcome"].to_dict() == {"NB": "pooled", "TAN": "out of time"}
        np.testing.assert_allclose(pool.predict_proba(X), TWO[0][1].fit(X, y).predict_proba(X), atol=1e-12)

    def test_a_first_member_that_is_late_in_a_fold_gives_way_to_one_that_is_not(self, monkeypatch):
        X, y = frames()
        again, members = Record.learn_again, []

        def late(self, fold, labels, seconds):
            members.append(self.member.name)
            return again(self, fold, labels, seconds) and members != ["NB", "NB"]

        monkeypatch.setattr(Record, "learn_again", late)
        with pytest.warns(UserWarning, match="only 1 of 2 members could be learned. Left out: 'NB'"):
            pool = PooledClassifier(TWO, time_limit=1e6).fit(X, y)
        assert pool.members_["outcome"].to_dict() == {"NB": OUT_OF_TIME, "TAN": "pooled"}

    def test_a_member_whose_refit_takes_too_long_in_a_fold_is_left_out(self, monkeypatch):
        """The second member's refits in folds are given next to no time, whatever is left."""
        monkeypatch.setattr("anbexact.classifiers.refitted.SHORTEST", 1e-9)  # a small refit can end in the usual 1e-3
        X, y = frames()
        again, members = SharedFits.fitted_again, []

        def hurried(self, member, limit=inf):
            members.append(member)
            return again(self, member, limit if member is members[0] else 1e-9)

        monkeypatch.setattr(SharedFits, "fitted_again", hurried)
        smooth = [AdditiveClassifier(model, smooth="evidence") for _, model in TWO]
        with pytest.warns(UserWarning, match="only 1 of 2 members could be learned. Left out: 'TAN'"):
            pool = PooledClassifier([("NB", smooth[0]), ("TAN", smooth[1])], time_limit=1e6).fit(X, y)
        assert pool.members_["outcome"].to_dict() == {"NB": "pooled", "TAN": "out of time"}

    @pytest.mark.parametrize(
        "member",
        [
            TANClassifier(),
            ANBClassifier(),
            ANBClassifier(ess=2.0, smoothing="auto"),
            KDBClassifier(k=3, parameters="hierarchical"),
        ],
        ids=lambda member: type(member).__name__,
    )
    def test_folds_keep_what_a_network_chose_from_all_rows(self, member):
        X, y = frames(150, seed=3)
        part = np.arange(len(y)) % 3 > 0
        weights = np.random.default_rng(4).choice([0.5, 1.0, 2.0], len(y))
        whole = clone(member).fit(X, y, weights)
        again = SharedFits(X[part], y[part], weights[part]).fitted_again(whole)
        rows = X[part], y[part], weights[part]
        alike = clone(member).set_params(ess=whole.ess_)
        if getattr(member, "max_parents", None) == "auto":
            alike.max_parents = whole._choices.max_parents
        if member.parameters == "eap":
            alike.smoothing = whole.smoothing_
            np.testing.assert_array_equal(again.predict_proba(X), alike.fit(*rows).predict_proba(X))
        else:
            strengths = whole.model_.estimation.strengths.of_parents(again.structure_.parents)
            assert again.model_.estimation.strengths == strengths
            assert again.structure_.parents == alike.fit(*rows).structure_.parents
        assert whole._given is None

    def test_searches_in_folds_keep_the_time_limit_of_the_member(self, monkeypatch):
        X, y = frames()
        search, limits = ANBClassifier._search, []

        def noted(table, score, **how):
            limits.append(how["time_limit"])
            return search(table, score, **how)

        whole = ANBClassifier(time_limit=60.0).fit(X, y)
        monkeypatch.setattr(ANBClassifier, "_search", staticmethod(noted))
        SharedFits(X, y, None).fitted_again(whole)
        assert limits == [pytest.approx(60.0, abs=1.0)]

    def test_folds_keep_the_strengths_of_a_smooth_refit_of_all_rows(self):
        X, y = load_iris()
        part = np.arange(len(y)) % 3 > 0
        member = AdditiveClassifier(NaiveBayesClassifier())
        whole = member.fit(X, y)
        again = SharedFits(X[part], y[part], None).fitted_again(whole)
        before, after = (model.logit_.refitted.smoothness for model in (whole, again))
        assert after.tuning == before.tuning
        assert after.strengths == after.tuning.strengths(after.by_evidence)
        assert set(before.by_evidence["curvature"]) == set(X)
        assert after.by_evidence == before.by_evidence
        assert after.rounds == 0
        assert again.get_params(deep=False)["smooth"] == "auto"
        exact = AdditiveClassifier(NaiveBayesClassifier(), smooth=after.settings).fit(X[part], y[part])
        assert exact.logit_.refitted.fit.converged
        np.testing.assert_allclose(again.predict_proba(X), exact.predict_proba(X), atol=1e-4)

    @pytest.mark.parametrize("workers", [1, 2])
    def test_smooth_members_take_over_the_tuning_of_the_first(self, workers, monkeypatch):
        monkeypatch.setattr(members_of_pools, "ROWS_WITHOUT_LINEAR", 0)  # there is only one below it
        X, y = load_iris()
        tuned = []
        usual = smooth_refits.tuned
        monkeypatch.setattr(smooth_refits, "tuned", lambda *given, **how: tuned.append(1) or usual(*given, **how))
        with parallel_config("threading", n_jobs=workers):
            pool = PooledClassifier(n_jobs=1).fit(X, y)
        first, later = (dict(pool.estimators_)[name] for name in ("NB smooth", "ANB smooth, 5 intervals"))
        before, after = (model.logit_.refitted.smoothness for model in (first, later))
        assert after.tuning == before.tuning
        assert after.rule == before.rule == "auto"
        assert after.strengths == after.tuning.strengths(after.by_evidence)
        assert later.get_params(deep=False)["smooth"] == "auto"
        assert len(tuned) == 1

    def test_members_are_learned_on_workers_in_their_order(self):
        """The class is the parity of four columns: after the kernel, no member is needed, and TAN is naive Bayes."""
        rng = np.random.default_rng(0)
        X = pd.DataFrame(rng.integers(0, 2, (600, 4)), columns=list("abcd")).astype(str)
        y = pd.Series((X.astype(int).sum(axis=1) % 2).astype(str), name="k")
        outcomes = []
        for workers in (1, 2):
            with parallel_config("threading", n_jobs=workers), warnings.catch_warnings():
                warnings.filterwarnings("error", message="time_limit")
                outcomes.append(PooledClassifier(n_jobs=1).fit(X, y).members_["outcome"])
        pd.testing.assert_series_equal(*outcomes)
        assert outcomes[0].iloc[0] in ("weight 0", "pooled")  # beside the kernel, chance decides
        assert outcomes[0].iloc[1:3].tolist() == ["same as NB smooth", "pooled"]
        assert set(outcomes[0].iloc[3:]) == {"not needed"}

    def test_a_tuning_is_taken_over_only_from_the_same_rule(self):
        X, y = load_iris()
        fits = SharedFits(X, y, np.ones(len(y)))
        network = NaiveBayesClassifier()
        by_rule = {rule: fits.fitted(AdditiveClassifier(network, smooth=rule)) for rule in ("auto", "evidence")}
        cut_off = fits.fitted(AdditiveClassifier(network))
        chosen = replace(cut_off.logit_.refitted.smoothness, complete=False, tuning=Tuning(3.0))
        object.__setattr__(cut_off.logit_.refitted, "smoothness", chosen)
        for like in (by_rule["evidence"], cut_off, fits.fitted(network), None):
            found = fits.fitted(AdditiveClassifier(network), like=like)
            np.testing.assert_array_equal(found.predict_proba(X), by_rule["auto"].predict_proba(X))
        other = fits.fitted(AdditiveClassifier(network, smooth="evidence"), like=by_rule["auto"])
        np.testing.assert_array_equal(other.predict_proba(X), by_rule["evidence"].predict_proba(X))

    def test_a_pool_forgets_what_fits_in_folds_shared(self):
        members = [KernelClassifier(relevance=0.0), RefittedClassifier(NaiveBayesClassifier())]
        (_, kernel), (_, refitted) = PooledClassifier(members, n_jobs=1).fit(*frames()).estimators_
        assert vars(kernel)["_fit"] is None
        assert not any("_to_be_fitted_again" in vars(model) for model in (kernel, refitted, refitted.estimator_))

    @pytest.mark.parametrize("missing", ["auto", "own_state"])
    def test_folds_know_states_that_their_rows_lack(self, missing):
        X, y = frames(120)
        X = X.assign(d=pd.Categorical(np.where(np.arange(120) % 3 > 0, "often", "rare")), a=X["a"].astype(float))
        X.loc[::7, "a"] = np.nan
        part = np.arange(len(y)) % 3 > 0
        for member in (
            TANClassifier(handle_missing=missing),
            AdditiveClassifier(TANClassifier(handle_missing=missing)),
        ):
            whole = clone(member).fit(X, y)
            again = SharedFits(X[part], y[part], None).fitted_again(whole)
            for name in ("a", "b", "d"):
                assert again.vocabulary_.states[name] == whole.vocabulary_.states[name]
            hidden = again.reader_.codes(X[~part & X["a"].notna()]) < 0
            assert not hidden.any()

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_folds_keep_the_pairs_that_a_smooth_refit_of_all_rows_added(self, n_classes):
        """Classes in an order share their shapes, but have no further pairs."""
        rng = np.random.default_rng(1)
        X = pd.DataFrame(rng.integers(0, 3, (300, 3)).astype(str), columns=["a", "b", "d"])
        y = pd.Series(np.where(rng.random(300) < 0.9, X["a"] == X["b"], X["d"] == "0").astype(int), name="c")
        y += (n_classes - 2) * (rng.random(300) < 0.3)
        order = sorted(set(y)) if n_classes > 2 else None
        member = AdditiveClassifier(NaiveBayesClassifier(), interactions="more", ordered_classes=order)
        whole, part = member.fit(X, y), np.arange(300) % 3 > 0
        again = SharedFits(X[part], y[part], None).fitted_again(whole)
        before, after = (model.logit_.refitted.smoothness for model in (whole, again))
        assert [set(pair) for pair in before.pairs] == ([{"a", "b"}] if n_classes == 2 else [])
        assert (after.pairs, after.strengths, after.centre) == (before.pairs, before.strengths, before.centre)
        assert again.logit_.refitted.in_time
        assert (again.logit_.refitted.problem.scores is None) == (order is None)

    def test_folds_keep_the_prior_of_a_refit_of_all_rows(self):
        X, y = frames()
        part = np.arange(len(y)) % 3 > 0
        member = RefittedClassifier(TANClassifier(ess=1.0))
        whole = clone(member).fit(X, y)
        again = SharedFits(X[part], y[part], None).fitted_again(whole)
        chosen = whole.logit_.refitted.l2
        alone = clone(member).set_params(l2=chosen).fit(X[part], y[part])
        assert again.l2 == "auto"
        assert again.logit_.refitted.l2 == chosen
        np.testing.assert_array_equal(again.predict_proba(X), alone.predict_proba(X))

    def test_a_limit_of_the_members_own_is_none_of_the_pool(self):
        X, y = frames()
        fits = SharedFits(X, y, np.ones(len(y)))
        for own, seconds, ended in ((None, 1e-9, True), (1e-9, 1.0, False), (None, inf, False)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = fits.fitted(AdditiveClassifier(TWO[0][1], time_limit=own, smooth="evidence"), seconds)
            assert model._ended_by(seconds) is ended
            assert model.time_limit == own
            assert model.logit_.refitted.in_time is (own is None and seconds == inf)

    def test_a_member_that_cannot_be_learned_is_left_out(self):
        X, y = frames()
        members = [*TWO, ("cut", NaiveBayesClassifier(discretizer=None))]
        with pytest.warns(UserWarning, match="'cut' is not in the pool: refused"):
            pool = PooledClassifier(members, ridge=1.0).fit(X, y)
        assert pool.members_.loc["cut", "outcome"].startswith("refused")
        with pytest.raises(ValueError, match="discretizer is None"):
            PooledClassifier([NaiveBayesClassifier(discretizer=None)]).fit(X, y)

    @pytest.mark.parametrize("workers", [1, 2])
    def test_warnings_of_members_come_once(self, workers, monkeypatch):
        """Also if the first member, which gave them, has no weight."""
        second = PoolWeights(np.array([0.0, 1.0]), np.zeros(2), 1.0)
        monkeypatch.setattr(pooled, "pool_weights", lambda *_: second)
        X, y = frames()
        X = X.assign(a=X["a"].astype(float).where(X.index > 2))
        members = [(name, clone(model).set_params(handle_missing="marginalize")) for name, model in TWO]
        with warnings.catch_warnings(record=True) as caught, parallel_config("threading", n_jobs=workers):
            warnings.simplefilter("always")
            PooledClassifier(members, ridge=np.inf).fit(X, y)
        assert len([text for text in caught if "left out of training" in str(text.message)]) == 1

    def test_hidden_cells_are_summed_out_by_every_member(self):
        X, y = frames()
        pool = PooledClassifier(TWO, ridge=np.inf).fit(X, y)
        holes = X.astype(object).mask(np.random.default_rng(0).random(X.shape) < 0.3)
        logs = np.mean([model.predict_log_proba(holes) for _, model in pool.estimators_], axis=0)
        expected = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(pool.predict_proba(holes), expected, atol=1e-12)
        row = {"a": 1}
        asked = [np.log(model.query(row).to_numpy()) for _, model in pool.estimators_]
        weight = np.exp(np.mean(asked, axis=0))
        np.testing.assert_allclose(pool.query(row), weight / weight.sum(), atol=1e-12)

    def test_few_rows_and_rare_classes(self):
        X, y = frames(12)
        y = y.where(y.index != 3, "rare")
        pool = PooledClassifier(TWO).fit(X, y)
        assert pool.classes_.tolist() == ["no", "rare", "yes"]
        assert np.isfinite(pool.predict_log_proba(X)).all()
        with pytest.warns(UserWarning, match="with a single class"):
            single = PooledClassifier(TWO).fit(X.iloc[:1], y.iloc[:1])
        assert single.predict(X).tolist() == [y[0]] * 12

    def cross_fitted(self, progress=None, *, members=TWO, sparing=False):
        return self.cross_fitted_with_folds(progress, members, sparing=sparing)[0]

    def cross_fitted_with_folds(self, progress=None, members=TWO, *, sparing=False):
        X, y = frames()
        columns, ones = read_columns(X), np.ones(len(y))
        target = read_target(y, columns, ones)
        rows = Rows(FitRows(X, y, ones), target.coded[0], None)
        folds = make_folds(rows, frame_folds(columns, target, ones, 3))
        records = [Record(Member(*of)) for of in members]
        labels = list(target.coded[1])
        spared = Spared(members=sparing, folds=sparing)
        folds = learn_members(records, rows.given, folds, labels, Deadline(), progress, spared)
        return records, folds

    @pytest.mark.parametrize("workers", [1, 2])
    @pytest.mark.parametrize(
        ("how", "early"),
        [
            ({}, True),
            ({"readable": True}, False),
            ({"members": [("refit", RefittedClassifier(TANClassifier()))]}, False),
        ],
    )
    def test_fits_to_all_rows_end_early_if_they_only_serve_to_predict(self, how, early, workers, monkeypatch):
        monkeypatch.setattr(members_of_pools, "ROWS_WITHOUT_LINEAR", 0)  # with smooth ANB
        X, y = frames()
        with parallel_config("threading", n_jobs=workers):
            pool = PooledClassifier(**how, ridge=1.0).fit(X, y)
        models = [model for _, model in pool.estimators_ if isinstance(model, RefittedClassifier)]
        fits = [model.logit_.refitted.fit for model in models]
        assert all(fit.converged for fit in fits)
        assert (max(fit.gradient for fit in fits) > 1e-6) == early

    @pytest.mark.parametrize(("share", "needed"), [(0.999, 2), (1.001, 1)])
    @pytest.mark.parametrize("per_row", [False, True])
    @pytest.mark.parametrize("workers", [1, 2])
    def test_no_member_is_needed_after_one_that_leaves_nothing_to_gain(
        self, workers, per_row, share, needed, monkeypatch
    ):
        n_rows = 1 if per_row else len(frames()[1])
        limit = "LITTLE_PER_ROW" if per_row else "LITTLE"
        monkeypatch.setattr(learning, limit, share * self.cross_fitted()[0].log_loss * n_rows)
        with parallel_config("threading", n_jobs=workers):
            records = self.cross_fitted(sparing=True)
        assert [record.outcome for record in records] == ["", ""][:needed] + ["not needed"] * (2 - needed)
        if workers == 1:
            assert [record.seconds > 0 for record in records] == [True] * needed + [False] * (2 - needed)

    @pytest.mark.parametrize(("share", "rows", "n_folds"), [(0.999, 1, 3), (1.001, 1, 1), (1.001, 1000, 3)])
    @pytest.mark.parametrize("workers", [1, 2])
    def test_one_fold_where_the_first_member_leaves_nothing_to_gain_on_many_rows(
        self, workers, share, rows, n_folds, monkeypatch
    ):
        records, folds = self.cross_fitted_with_folds()
        in_first = learning._log_loss(records[0].logs[:1], folds[:1])
        made: list[learning.Fold] = []
        usual = learning.Fold
        monkeypatch.setattr(learning, "Fold", lambda *of: made.append(usual(*of)) or made[-1])
        monkeypatch.setattr(learning, "LITTLE_PER_ROW", share * in_first)
        monkeypatch.setattr(learning, "ROWS_TO_SUFFICE", rows)
        with parallel_config("threading", n_jobs=workers):
            records, used = self.cross_fitted_with_folds(sparing=True)
        assert len(used) == len(records[0].logs) == n_folds
        if workers == 1:  # no rows are taken needlessly
            taken = [{"learned", "held_out", "fits"} <= vars(fold).keys() for fold in made]
            assert taken == [True] * n_folds + [False] * (3 - n_folds)
        if n_folds == 1:
            assert [record.outcome for record in records] == ["", "not needed"]
            assert records[0].log_loss == pytest.approx(in_first)

    @pytest.mark.parametrize("workers", [1, 2])
    def test_a_pool_of_one_fold(self, workers, monkeypatch):
        monkeypatch.setattr(learning, "LITTLE_PER_ROW", inf)
        monkeypatch.setattr(learning, "ROWS_TO_SUFFICE", 1)
        X, y = frames()
        with parallel_config("threading", n_jobs=workers):
            pool = PooledClassifier().fit(X, y)
        assert list(pool.members_["outcome"][1:].unique()) == ["not needed"]
        assert len(pool.estimators_) == 1
        assert np.isfinite(pool.members_["log_loss"].iloc[0])
        np.testing.assert_allclose(pool.predict_proba(X).sum(axis=1), 1.0)

    @pytest.mark.parametrize(("share", "behind"), [(0.999, True), (1.001, False)])
    @pytest.mark.parametrize("workers", [1, 2])
    def test_what_extends_a_member_far_behind_is_left_out(self, workers, share, behind, monkeypatch):
        bayes, tan = (record.log_loss for record in self.cross_fitted())
        assert bayes > tan
        monkeypatch.setattr(learning, "FAR_BEHIND", share * bayes / tan)
        dense = KDBClassifier(ess=1.0)
        members = [*TWO, ("more than NB", dense, None, ("NB",)), ("more than TAN", clone(dense), None, ("TAN",))]
        with parallel_config("threading", n_jobs=workers):
            records = self.cross_fitted(members=members, sparing=True)
        others = ["NB is far behind", ""] if behind else ["", "same as more than NB"]
        assert [record.outcome for record in records] == ["", "", *others]
        with parallel_config("threading", n_jobs=workers):
            all_of_them = self.cross_fitted(members=members)
        assert [record.outcome for record in all_of_them] == [""] * 4

    @pytest.mark.parametrize(("share", "behind"), [(0.999, True), (1.001, False)])
    @pytest.mark.parametrize("workers", [1, 2])
    def test_a_member_is_left_out_if_all_that_it_extends_are_far_behind(self, workers, share, behind, monkeypatch):
        bayes, tan = (record.log_loss for record in self.cross_fitted())
        monkeypatch.setattr(learning, "FAR_BEHIND", share * bayes / tan)
        more = [(f"more than {name}", KDBClassifier(ess=ess), None, extended) for name, ess, extended in (
            ("both", 1.0, ("NB", "TAN")), ("NB", 2.0, ("NB",)), ("that", 3.0, ("more than NB",)),
            ("that and TAN", 4.0, ("more than NB", "TAN")),
        )]  # fmt: skip
        with parallel_config("threading", n_jobs=workers):
            records = self.cross_fitted(members=[*TWO, *more], sparing=True)
        learned = [not record.outcome for record in records]
        assert learned[:3] == [True, True, True]
        if behind:
            assert [record.outcome for record in records[3:5]] == ["NB is far behind"] * 2
            assert learned[5]
        else:
            assert not any(record.outcome.endswith("far behind") for record in records)

    @pytest.mark.parametrize("factor", [0.999, 1.001])
    @pytest.mark.parametrize("workers", [1, 2])
    def test_members_are_left_out_along_with_those_that_they_extend(self, workers, factor, monkeypatch):
        bayes, tan = (record.log_loss for record in self.cross_fitted())
        monkeypatch.setattr(learning, "FAR_BEHIND", factor * bayes / tan)
        more = [
            ("more", KDBClassifier(ess=1.0), None, ("NB",)),
            ("still more", KDBClassifier(ess=5.0), None, ("more",)),
            ("more than both", KDBClassifier(ess=25.0), None, ("NB", "TAN")),
        ]
        with parallel_config("threading", n_jobs=workers):
            records = self.cross_fitted(members=[*TWO, *more], sparing=True)
        left_out = ["NB is far behind"] * 2 if factor < 1 else ["", ""]
        assert [record.outcome for record in records] == ["", "", *left_out, ""]
        assert [record.fitted is None for record in records[2:4]] == [factor < 1] * 2

    @pytest.mark.slow
    @pytest.mark.parametrize(("factor", "n_rows"), [(0.0, 120), (inf, 120), (0.0, 99)])
    def test_trees_are_left_out_where_naive_bayes_is_far_behind(self, factor, n_rows, monkeypatch):
        monkeypatch.setattr(learning, "FAR_BEHIND", factor)
        rng = np.random.default_rng(0)
        X = pd.DataFrame(rng.integers(0, 3, (n_rows, 4)), columns=list("abcd")).astype(str)
        y = np.where(rng.random(n_rows) < 0.25, "no", np.where(X["a"] == X["b"], "yes", "no"))
        outcomes = PooledClassifier(n_jobs=1).fit(X, y).members_["outcome"]
        left_out = {name: of for name, of in outcomes.items() if of.endswith("far behind")}
        of_trees = {"kDB trees, 5 parents": "NB smooth is far behind"}
        assert left_out == (of_trees if n_rows >= 100 and not factor else {})

    @pytest.mark.parametrize("time_limit", [None, 600])
    def test_with_a_time_limit_the_smooth_tree_is_learned_early(self, time_limit):
        X, y = frames()
        X = X.assign(z=np.linspace(0.0, 1.0, len(X)) + 1 / 3)
        names = PooledClassifier(time_limit=time_limit, readable=True).fit(X, y).members_.index.tolist()
        assert names[0] == "NB smooth"
        assert (names[1] == "TAN smooth") == (time_limit is not None)

    def test_which_members_are_behind(self):
        def record(name, log_loss, outcome="", extends=()):
            return Record(Member(name, TWO[0][1], extends=extends), outcome, log_loss)

        def outcome(*extends):
            own = record("own", nan, extends=extends)
            assert own.is_behind(others) == bool(own.outcome)
            return own.outcome

        nan = float("nan")
        others = [
            record("best", 1.0),
            record("near", 2 * 1.0),
            record("far", 2.1),
            record("further", 3.0),
            record("twin of far", nan, "same as far"),
            record("twin of near", nan, "same as near"),
            record("refused", nan, "refused: too large"),
            record("late", nan, "out of time"),
            record("dense", 0.1, extends=("best",)),
            record("denser", nan, "far and further are far behind", ("far", "further")),
        ]
        assert outcome() == outcome("unknown") == outcome("refused") == outcome("late") == outcome("best") == ""
        assert outcome("near") == outcome("far", "near") == outcome("twin of near") == outcome("far", "late") == ""
        assert outcome("far") == outcome("far", "refused") == "far is far behind"
        assert outcome("twin of far") == "twin of far is far behind"
        assert outcome("far", "further") == outcome("denser") == "far and further are far behind"
        assert outcome("far", "denser") == "far and further are far behind"

    def test_the_frame_is_read_once_for_all_members(self, monkeypatch):
        X, y = frames()
        reads, usual = [], reading.read_pandas
        monkeypatch.setattr(reading, "read_pandas", lambda *of: reads.append(len(of[0])) or usual(*of))
        PooledClassifier(TWO, ridge=inf).fit(X, y)
        assert reads.count(len(X)) == X.shape[1] + 1  # and the classes

    def test_members_are_compared_on_all_rows_that_are_held_out(self):
        _, folds = self.cross_fitted_with_folds(members=TWO)
        held_out = [fold.held_out.given.X for fold in folds]
        X = pd.concat(held_out)
        rows = FitRows(X, None, np.ones(len(X)))
        assert learning._to_compare(rows, folds)[0] is X
        compared = learning._to_compare(rows, folds[:-1])
        assert [id(frame) for frame in compared] == [id(frame) for frame in held_out[:-1]]

    @pytest.mark.parametrize("workers", [1, 2])
    def test_members_that_predict_alike_are_weighted_as_often_as_they_are(self, workers):
        (_, bayes), (_, tan) = TWO
        members = [("NB", bayes), ("TAN", tan), ("again", clone(bayes).set_params(ess=1.000001))]
        every, folds = self.cross_fitted_with_folds(members=members)
        with parallel_config("threading", n_jobs=workers):
            kept, _ = self.cross_fitted_with_folds(members=members, sparing=True)
        assert [record.outcome for record in kept] == ["", "", "same as NB"]
        assert kept[2].logs == []
        expected = learning.pool_weights(every, folds, 2, 3.0)
        found = learning.pool_weights(kept[:2], folds, 2, 3.0)
        first, second, again = expected.weights
        np.testing.assert_allclose(found.weights, [first + again, second], atol=1e-4)
        np.testing.assert_allclose(found.biases, expected.biases, atol=1e-4)

    @pytest.mark.parametrize("extending", [False, True])
    @pytest.mark.parametrize("workers", [1, 2])
    def test_an_automatic_member_that_cannot_predict_is_refused_while_the_others_stay(
        self, workers, extending, monkeypatch
    ):
        usual = learning.log_posteriors
        refused = KDBClassifier if extending else TANClassifier

        def refusing(model, X, labels):
            if isinstance(model, refused):
                raise MemoryError("its closed network is too large")
            return usual(model, X, labels)

        monkeypatch.setattr(learning, "log_posteriors", refusing)
        members = [*TWO, ("more than TAN", KDBClassifier(ess=1.0), None, ("TAN",))] if extending else TWO
        with parallel_config("threading", n_jobs=workers):
            records = self.cross_fitted(members=members, sparing=True)
        *others, last = (record.outcome for record in records)
        assert last == "refused: its closed network is too large"
        assert others == [""] * len(others)

    @pytest.mark.parametrize("workers", [1, 2])
    def test_members_after_a_sufficient_one_are_not_copies_of_others(self, workers, monkeypatch):
        bayes, tan = (record.log_loss for record in self.cross_fitted())
        monkeypatch.setattr(learning, "LITTLE", (bayes + tan) / 2 * len(frames()[1]))
        again = clone(TWO[0][1]).set_params(ess=1.000001)
        members = [*TWO, ("again", again), ("more than TAN", KDBClassifier(ess=1.0), None, ("TAN",))]
        with parallel_config("threading", n_jobs=workers):
            records = self.cross_fitted(members=members, sparing=True)
        assert [record.outcome for record in records] == ["", "", "not needed", "not needed"]
        assert [record.copies for record in records] == [1, 1, 1, 1]
        assert records[3].fitted is None

    def test_automatic_members_are_learned_until_nothing_is_left_to_gain(self):
        X = pd.DataFrame({"a": list("uvw") * 2000, "b": list("xy") * 3000})
        pool = PooledClassifier().fit(X, (X["a"] == "u").rename("k"))
        assert pool.members_["outcome"].tolist()[0] == "pooled"
        assert set(pool.members_["outcome"][1:]) == {"not needed"}

    @pytest.mark.slow
    def test_weights_that_are_shares_leave_members_needed(self):
        X, y = load_monks(1)
        members = PooledClassifier(n_jobs=1).fit(X, y, np.full(len(y), 1 / len(y))).members_
        assert (members["outcome"] != "not needed").sum() > 1

    def test_progress_covers_all_members(self):
        told = []
        self.cross_fitted(lambda *args: told.append(args))
        assert told[0] == ("NB, all rows", 0.0)
        assert told[5][0].startswith("TAN, fold 1 of 3, about ")
        assert told[5][0].endswith(" left")
        assert [fraction for _, fraction in told] == [k / 8 for k in range(8)]

    def test_pickles_and_clones(self):
        X, y = frames()
        pool = PooledClassifier(TWO, ridge=1.0).fit(X, y)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(pool)).predict_proba(X), pool.predict_proba(X))
        assert not hasattr(clone(pool), "weights_")

    @pytest.mark.parametrize("kind", ["numpy", "list", "polars", "pyarrow"])
    def test_frames_of_any_kind(self, kind):
        X, y = frames(60)
        expected = PooledClassifier(TWO, ridge=1.0).fit(X, y).predict_proba(X)
        if kind in ("numpy", "list"):
            rows = X.to_numpy() if kind == "numpy" else X.to_numpy().tolist()
            classes = y.to_numpy() if kind == "numpy" else y.tolist()
        else:
            library = pytest.importorskip(kind)
            rows = library.DataFrame(X.to_dict("list")) if kind == "polars" else library.Table.from_pandas(X)
            classes = library.Series("k", y.tolist()) if kind == "polars" else y.tolist()
        pool = PooledClassifier(TWO, ridge=1.0).fit(rows, classes)
        np.testing.assert_allclose(pool.predict_proba(rows), expected, atol=1e-9)

    @pytest.mark.parametrize(
        ("parameters", "error", "message"),
        [
            ({"members": "some"}, TypeError, "members must be"),
            ({"members": []}, ValueError, "at least one"),
            ({"members": [NaiveBayesClassifier]}, TypeError, r"such as NaiveBayesClassifier\(\)"),
            ({"members": [("a", TWO[0][1]), ("a", TWO[1][1])]}, ValueError, "two members are called 'a'"),
            ({"members": TWO, "discretizer": "mdlp"}, ValueError, "discretizer applies to automatic members only"),
            ({"folds": 1}, ValueError, "folds must be"),
            ({"ridge": 0.0}, ValueError, "ridge must be"),
            ({"ridge": "much"}, ValueError, "ridge must be"),
            ({"time_limit": -1}, ValueError, "time_limit must be"),
        ],
    )
    def test_senseless_parameters_are_refused(self, parameters, error, message):
        with pytest.raises(error, match=message):
            PooledClassifier(**parameters).fit(*frames(30))

    def test_fitted_networks_are_refused(self):
        X, y = frames()
        frozen = RefittedClassifier(FrozenEstimator(TANClassifier().fit(X, y)))
        with pytest.raises(TypeError, match="must not contain a FrozenEstimator"):
            PooledClassifier([frozen]).fit(X, y)

    def test_names_of_unnamed_members(self):
        members = named_members([NaiveBayesClassifier(), NaiveBayesClassifier(ess=2), AODEClassifier()])
        assert [member.name for member in members] == [
            "NaiveBayesClassifier 1",
            "NaiveBayesClassifier 2",
            "AODEClassifier",
        ]


def test_other_shares_of_the_classes_and_decisions():
    X, y = load_iris()
    pool = PooledClassifier([NaiveBayesClassifier(ess=1.0), TANClassifier(ess=1.0)]).fit(X, y)
    np.testing.assert_allclose(pool.class_prior_, 1 / 3, atol=1e-12)
    np.testing.assert_allclose(pool.predict_proba(X, class_prior=[1 / 3] * 3), pool.predict_proba(X), atol=1e-12)
    shares = np.array([0.2, 0.7, 0.1])
    expected = pool.predict_proba(X) * shares * 3
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(pool.predict_proba(X, class_prior=shares), expected, atol=1e-12)
    decided = pool.decide(X, class_prior=shares)["decision"]
    assert decided.tolist() == pool.classes_[expected.argmax(axis=1)].tolist()
