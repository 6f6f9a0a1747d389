"""Bayes factors, the selector, folds, and the classifier that selects features first."""

import math
import signal
import warnings
from dataclasses import replace

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from strategies import Problem, ess_values, problems, random_problem, table_of

import anbexact
import anbexact.search.fsanb as fsanb
from anbexact import ANBClassifier, BDeu, FSANBClassifier, learn_anb, verify
from anbexact._runtime.deadline import Deadline
from anbexact.classifiers import GreedyGBNClassifier
from anbexact.classifiers.choosing.frequencies import PredictedWorseWarning
from anbexact.search.bayes_factor import relevant
from anbexact.search.exact import plan
from anbexact.search.exact.shared_counts import SharedCounts
from anbexact.selection import BayesFactorSelector, log_bayes_factor, log_bayes_factors
from anbexact.tables.folds import split_table


class TestBayesFactor:
    @given(problem=problems(min_features=2, max_features=4), ess=ess_values, data=st.data())
    def test_equals_the_formula(self, problem, ess, data):
        x, y, *given_ = data.draw(st.permutations(range(problem.n + 1)))
        given_ = given_[: data.draw(st.integers(0, len(given_)))]
        rows, weights, arities = problem.rows, problem.weights, problem.arities
        with_y = oracles.bdeu_local(rows, weights, arities, x, [*given_, y], ess)
        expected = oracles.bdeu_local(rows, weights, arities, x, given_, ess) - with_y
        names = problem.names
        table = problem.table
        found = log_bayes_factor(table, names[x], names[y], [names[z] for z in given_], ess=ess)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
        turned = log_bayes_factor(table, names[y], names[x], [names[z] for z in given_], ess=ess)
        assert turned == pytest.approx(expected, rel=1e-9, abs=1e-8)

    @given(problem=problems(max_features=5), ess=ess_values)
    def test_of_all_features_at_once(self, problem, ess):
        table = problem.table
        expected = [log_bayes_factor(table, "c", name, ess=ess) for name in table.vocabulary.features]
        assert log_bayes_factors(table, ess=ess) == pytest.approx(expected, rel=1e-9, abs=1e-8)

    @pytest.mark.slow
    @pytest.mark.parametrize("weighted", [False, True])
    def test_decides_rightly_ever_more_often(self, weighted):
        """Independence and dependence given Z, in samples of a collider and of a chain: 20 each, N growing."""
        right = {}
        for n_rows in (50, 500, 5000):
            verdicts = []
            for seed in range(20):
                rng = np.random.default_rng([seed, n_rows])
                a, b = rng.integers(0, 2, (2, n_rows))
                collider = np.where(rng.random(n_rows) < 0.2, rng.integers(0, 2, n_rows), a ^ b)
                copied = np.where(rng.random(n_rows) < 0.3, rng.integers(0, 3, n_rows), collider)
                rows = list(map(tuple, np.stack([a, b, collider, copied], axis=1).tolist()))
                weights = None if not weighted else [2.0 if k % 2 else 1.0 for k in range(n_rows)]
                table = table_of(rows, weights, [2, 2, 2, 3])
                verdicts += [
                    log_bayes_factor(table, "f0", "f1") > 0,
                    log_bayes_factor(table, "f0", "f1", ["f2"]) < 0,
                    log_bayes_factor(table, "f2", "c") < 0,
                    log_bayes_factor(table, "f0", "c", ["f1", "f2"]) > 0,
                ]
            right[n_rows] = np.mean(verdicts)
        assert right[50] < right[500]
        assert min(right[500], right[5000]) >= 0.97

    def test_refuses_what_makes_no_sense(self):
        table = random_problem(0, 2).table
        with pytest.raises(
            ValueError, match=r"'f7' is not a variable of the table; the variables are \['f0', 'f1', 'c'\]"
        ):
            log_bayes_factor(table, "c", "f7")
        with pytest.raises(ValueError, match="are not distinct"):
            log_bayes_factor(table, "c", "f0", ["f0"])
        with pytest.raises(ValueError, match="ess must be"):
            log_bayes_factors(table, ess=-1.0)
        with pytest.raises(ValueError, match="the table has no class"):
            log_bayes_factors(table.without_class())


class TestSelector:
    def test_keeps_what_the_class_depends_on(self):
        problem = random_problem(1, 4, n_rows=400)
        X, y = problem.frame()
        X["noise"] = np.random.default_rng(1).integers(0, 3, len(X))
        selector = BayesFactorSelector(threshold=3.0).fit(X, y)
        table = anbexact.DiscreteTable.from_frame(X, y)
        factors = [log_bayes_factor(table, "c", name) for name in X]
        assert selector.log_bayes_factors_ == pytest.approx(factors)
        kept = [name for name, factor in zip(X, factors, strict=True) if factor <= math.log(3.0)]
        assert "noise" not in kept
        assert list(selector.get_feature_names_out()) == kept
        frame = selector.set_output(transform="pandas").transform(X)
        pd.testing.assert_frame_equal(frame, X[kept])

    def test_a_single_state_tells_nothing(self):
        X, y = random_problem(1, 4, n_rows=400).frame()
        selector = BayesFactorSelector().fit(X, y)
        alike = BayesFactorSelector().fit(X.assign(same="a"), y)
        assert alike.log_bayes_factors_[-1] == pytest.approx(0.0, abs=1e-9)
        assert list(alike.get_feature_names_out()) == list(selector.get_feature_names_out())

    def test_frames_of_polars_keep_their_types(self):
        pl = pytest.importorskip("polars")
        y = np.array([0, 1] * 40)
        X = pl.DataFrame({"a": y, "noise": [0, 0, 1, 1] * 20, "b": np.where(y, "x", "y")})
        selector = BayesFactorSelector().fit(X, y)
        assert selector.set_output(transform="polars").transform(X).equals(X[["a", "b"]])
        assert selector.transform(X.to_pandas(use_pyarrow_extension_array=False)).equals(X[["a", "b"]])
        assert isinstance(selector.set_output(transform="default").transform(X), np.ndarray)
        with pytest.raises(ValueError, match="feature names"):
            selector.set_output(transform="polars").transform(X[["b", "a", "noise"]])
        with config_context(transform_output="polars"):
            assert BayesFactorSelector().fit(X, y).transform(X).schema == X[["a", "b"]].schema
        nothing = BayesFactorSelector(threshold=1e-99).fit(X[["noise"]], y).set_output(transform="polars")
        with pytest.warns(UserWarning, match="No features were selected"):
            assert nothing.transform(X[["noise"]]).width == 0

    def test_the_threshold_is_a_factor(self):
        problem = random_problem(2, 6, n_rows=60)
        X, y = problem.frame()
        factors = BayesFactorSelector().fit(X, y).log_bayes_factors_
        between = sorted(factors)[2:4]
        threshold = math.exp(sum(between) / 2)
        assert BayesFactorSelector(threshold=threshold).fit(X, y).get_support().sum() == 3

    def test_in_a_pipeline_with_words_and_numbers(self):
        rng = np.random.default_rng(3)
        y = rng.choice(["no", "yes"], 300)
        X = pd.DataFrame(
            {
                "word": np.where(rng.random(300) < 0.7, y, "yes"),
                "number": rng.normal(size=300) + 2 * (y == "yes"),
                "noise": rng.choice(list("abc"), 300),
            }
        )
        selector = BayesFactorSelector().set_output(transform="pandas")
        model = make_pipeline(selector, OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
        model.fit(X, y)
        assert list(selector.get_feature_names_out()) == ["word", "number"]
        assert len(selector.cut_points_["number"])

    def test_weights_are_rows(self):
        problem = random_problem(4, 3, weights="whole")
        X, y = problem.frame()
        weights = np.array(problem.weights)
        repeated = np.repeat(np.arange(len(X)), weights.astype(int))
        once = BayesFactorSelector().fit(X, y, sample_weight=weights).log_bayes_factors_
        assert BayesFactorSelector().fit(X.iloc[repeated], y.iloc[repeated]).log_bayes_factors_ == pytest.approx(once)

    @pytest.mark.parametrize("threshold", [0, -1.0, math.nan, math.inf, "3", True])
    def test_refuses_thresholds_that_are_none(self, threshold):
        X, y = random_problem(5, 2).frame()
        with pytest.raises(ValueError, match="threshold must be a finite number above 0"):
            BayesFactorSelector(threshold=threshold).fit(X, y)


class TestFolds:
    @given(problem=problems(), folds=st.integers(2, 4))
    def test_are_a_partition(self, problem, folds):
        table = problem.table
        found = split_table(table, folds)
        for rest, own in found:
            both = {}
            for part in (rest, own):
                assert (part.weights > 0).all()
                for codes, weight in zip(part.codes.tolist(), part.weights.tolist(), strict=True):
                    both[tuple(codes)] = both.get(tuple(codes), 0.0) + weight
            whole = dict(zip(map(tuple, table.codes.tolist()), table.weights.tolist(), strict=True))
            assert both == pytest.approx(whole)
        if len(found) == folds:
            assert sum(own.weight_sum for _, own in found) == pytest.approx(table.weight_sum)


@given(problem=problems(max_features=4), data=st.data())
def test_a_restricted_table_has_the_counts_of_the_whole(problem, data):
    table = problem.table
    names = data.draw(st.lists(st.sampled_from(problem.names), min_size=1, unique=True))
    part = table.restricted(names)
    assert part.vocabulary.names == tuple(name for name in problem.names if name in names)
    assert part.vocabulary.class_name == ("c" if "c" in names else None)
    assert part.counts(names) == pytest.approx(table.counts(names))
    assert len(np.unique(part.codes, axis=0)) == len(part.codes)
    assert part.weight_sum == pytest.approx(table.weight_sum)


def with_noise(seed, n_noise=3):
    """Three features that depend on the class, and some that do not."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, (80, 4 + n_noise))
    told = rng.random((80, 3)) < 0.7
    codes[:, :3] = np.where(told, codes[:, -1:], codes[:, :3])
    return Problem(list(map(tuple, codes.tolist())), [1.0] * 80, [3, 4, *[3] * (n_noise + 2)])


def validated(problem, pairs, network_ess=None):
    """Accuracy, and conditional log likelihood, of every pair of ESS and threshold over two folds, step by step."""
    table = problem.table
    results = []
    for ess, threshold in pairs:
        right = likelihood = 0.0
        for rest, own in split_table(table, 2):
            rows = list(map(tuple, rest.codes.tolist()))
            weights, arities, class_ = rest.weights.tolist(), problem.arities, problem.n
            alone = oracles.bdeu_local(rows, weights, arities, class_, [], ess)
            kept = [
                v
                for v in range(problem.n)
                if alone - oracles.bdeu_local(rows, weights, arities, class_, [v], ess) <= math.log(threshold)
            ]
            of_network = ess if network_ess is None else network_ess
            part = rest.restricted([*(f"f{v}" for v in kept), "c"])
            number = {name: v for v, name in enumerate(problem.names)}
            parents = {
                number[child]: [number[p] for p in of_child]
                for child, of_child in learn_anb(part, BDeu(of_network)).parents.items()
            }
            tables = {
                v: (of_v, oracles.eap(rows, weights, arities, v, of_v, of_network)) for v, of_v in parents.items()
            }
            for codes, weight in zip(own.codes.tolist(), own.weights.tolist(), strict=True):
                logs = oracles.log_posterior(tables, arities, class_, {v: codes[v] for v in kept})
                best = [c for c in range(arities[-1]) if logs[c] >= max(logs) - 1e-9]
                right += weight * (codes[-1] in best) / len(best)
                likelihood += weight * logs[codes[-1]]
        results.append((right, likelihood))
    return results


class TestClassifier:
    @pytest.mark.parametrize("network_ess", [None, 2.0])
    @pytest.mark.parametrize("seed", range(8))
    def test_chooses_as_step_by_step(self, seed, network_ess):
        problem = random_problem(seed, 4, n_rows=60, weights=["ones", "whole", "real", "mixed"][seed % 4])
        pairs = [(ess, threshold) for ess in (1.0, 5.0) for threshold in (0.5, 3.0, 150.0)]
        results = validated(problem, pairs, network_ess)
        X, y = problem.frame()
        classifier = FSANBClassifier(
            ess=(1.0, 5.0), threshold=(0.5, 3.0, 150.0), network_ess=network_ess, categories=problem.categories
        )
        classifier.fit(X, y, sample_weight=problem.weights)
        chosen = results[pairs.index((classifier.selection_ess_, classifier.threshold_))]
        assert chosen == pytest.approx(max(results), rel=1e-9)
        assert classifier.ess_ == classifier.smoothing_ == (network_ess or classifier.selection_ess_)
        kept = [name for name in X if name not in classifier.removed_]
        inner = learn_anb(problem.table.restricted([*kept, "c"]), BDeu(classifier.ess_))
        assert {name: classifier.structure_.parents[name] for name in (*kept, "c")} == dict(inner.parents)

    def test_drops_what_the_formula_drops_and_learns_the_rest_exactly(self):
        problem = with_noise(20, 3)
        X, y = problem.frame()
        classifier = FSANBClassifier(ess=1.0, threshold=1.5, categories=problem.categories).fit(X, y)
        table = problem.table
        factors = {name: log_bayes_factor(table, "c", name) for name in X}
        dropped = {name: factor for name, factor in factors.items() if factor > math.log(1.5)}
        assert 0 < len(dropped) < 6
        assert classifier.removed_ == pytest.approx(dropped)
        kept = [name for name in X if name not in dropped]
        inner = learn_anb(table.restricted([*kept, "c"]))
        structure = classifier.structure_
        assert {name: structure.parents[name] for name in (*kept, "c")} == dict(inner.parents)
        alone = sum(BDeu().local_score(table, name, []) for name in dropped)
        assert structure.score == pytest.approx(inner.score + alone)
        assert structure.certificate.optimal
        assert verify(structure, table)
        assert structure.certificate.method.endswith(f", over {len(kept)} of 6 features")

    def test_dropped_features_say_nothing(self):
        problem = with_noise(21, 3)
        X, y = problem.frame()
        classifier = FSANBClassifier(ess=1.0, threshold=1.5).fit(X, y)
        kept = [name for name in X if name not in classifier.removed_]
        changed = X.assign(**dict.fromkeys(classifier.removed_, np.nan))
        assert classifier.predict_proba(changed) == pytest.approx(classifier.predict_proba(X))
        plain = ANBClassifier(ess=1.0).fit(X[kept], y)
        assert plain.predict_proba(X[kept]) == pytest.approx(classifier.predict_proba(X))
        assert list(classifier.vocabulary_.features) == list(X)

    def test_forged_certificates_do_not_pass(self):
        problem = with_noise(22, 2)
        structure = (
            FSANBClassifier(ess=1.0, threshold=1.5, categories=problem.categories).fit(*problem.frame()).structure_
        )
        proof = structure.certificate.proof
        assert proof.apart
        table = problem.table
        assert verify(structure, table)

        def forged(**changes):
            return replace(structure, certificate=replace(structure.certificate, proof=replace(proof, **changes)))

        assert not verify(forged(apart=()), table)
        assert not verify(forged(apart=("c",)), table)
        assert not verify(forged(apart=tuple(table.vocabulary.features)), table)
        lower = replace(structure.certificate, upper_bound=structure.certificate.upper_bound - 1.0)
        assert not verify(replace(structure, certificate=lower), table)

    def test_nothing_may_be_left(self):
        rng = np.random.default_rng(23)
        X = pd.DataFrame(rng.integers(0, 2, (500, 3)), columns=list("abc"))
        y = pd.Series(rng.integers(0, 2, 500), name="y")
        classifier = FSANBClassifier(ess=1.0, threshold=1e-6).fit(X, y)
        assert list(classifier.removed_) == ["a", "b", "c"]
        share = (y.sum() + 0.5) / 501
        assert classifier.predict_proba(X)[:, 1] == pytest.approx(share)
        assert verify(classifier.structure_, anbexact.DiscreteTable.from_frame(X, y))

    def test_identifiers_and_constant_columns_are_dropped(self):
        X, y = random_problem(24, 3, n_rows=100).frame()
        numbered = X.assign(same="a", number=np.arange(1, len(X) + 1))
        with pytest.warns(UserWarning, match="looks like an identifier"):
            classifier = FSANBClassifier(ess=1.0, threshold=3.0).fit(numbered, y)
        assert {"same", "number"} <= set(classifier.removed_)
        plain = FSANBClassifier(ess=1.0, threshold=3.0).fit(X, y)
        assert plain.structure_.feature_edges == classifier.structure_.feature_edges
        assert classifier.predict_proba(numbered) == pytest.approx(plain.predict_proba(X), abs=1e-12)
        alone = FSANBClassifier(ess=1.0, threshold=3.0).fit(X[["f0"]].assign(f0="a"), y)
        assert list(alone.removed_) == ["f0"]

    def test_required_arcs_keep_their_features(self):
        problem = random_problem(24, 4, n_rows=100, dependent=False)
        X, y = problem.frame()
        classifier = FSANBClassifier(threshold=1e-9, required_edges=[("f0", "f2")], forbidden_edges=[("f1", "f3")])
        classifier.fit(X, y)
        assert set(classifier.removed_) == {"f1", "f3"}
        assert classifier.structure_.feature_edges == (("f0", "f2"),)

    def test_a_file_keeps_why_features_went(self, tmp_path):
        problem = with_noise(25, 2)
        X, y = problem.frame()
        classifier = FSANBClassifier(threshold=1.5, categories=problem.categories).fit(X, y)
        classifier.save(tmp_path / "model.json")
        again = anbexact.load(tmp_path / "model.json")
        assert again.removed_ == classifier.removed_
        assert (again.threshold_, again.ess_) == (classifier.threshold_, classifier.ess_)
        assert np.array_equal(again.predict_proba(X), classifier.predict_proba(X))
        assert verify(again.structure_, problem.table)

    def test_a_time_limit_that_passes_at_once(self):
        problem = random_problem(26, 7, n_rows=100)
        X, y = problem.frame()
        classifier = FSANBClassifier(time_limit=1e-9).fit(X, y)
        assert (classifier.ess_, classifier.threshold_) == (1.0, 3.0)
        assert classifier.structure_.certificate.gap >= 0

    def test_equal_searches_are_made_once(self, monkeypatch):
        problem = random_problem(27, 4, n_rows=200)
        X, y = problem.frame()
        searched = []
        usual = FSANBClassifier._learn

        def learn(self, table, score, limit):
            searched.append((score.ess, table.vocabulary.features, table.weight_sum))
            return usual(self, table, score, limit)

        monkeypatch.setattr(FSANBClassifier, "_learn", learn)
        FSANBClassifier().fit(X, y)
        assert len(searched[:-1]) <= 2 * 3 * len({kept for _, kept, _ in searched})
        assert len(searched) < 2 * 9 + 1

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"ess": 0}, "ess must be"),
            (
                {"ess": (1.0, "auto")},
                "ess must be a finite number above 0, or a sequence of such numbers, not 'auto'",
            ),
            ({"ess": ()}, "ess must be a number above 0, or a sequence"),
            ({"network_ess": -1}, "network_ess must be a finite number above 0, not -1"),
            ({"threshold": -3}, "threshold must be a finite number above 0, or a sequence of such numbers, not -3"),
            (
                {"threshold": "high"},
                "threshold must be a finite number above 0, or a sequence of such numbers, not 'high'",
            ),
        ],
    )
    def test_refuses_parameters_that_make_no_sense(self, arguments, message):
        X, y = random_problem(28, 2).frame()
        with pytest.raises(ValueError, match=message):
            FSANBClassifier(**arguments).fit(X, y)

    def test_no_warning_on_the_way(self):
        X, y = random_problem(29, 4, n_rows=100).frame()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", PredictedWorseWarning)  # the rows are noise
            FSANBClassifier().fit(X, y)


class TestLimits:
    def test_edges_are_checked_before_features_are_selected(self):
        X, y = random_problem(40, 3).frame()
        with pytest.raises(
            ValueError, match=r"names 'typo', but edges can be forbidden between \['f0', 'f1', 'f2'\]"
        ):
            FSANBClassifier(forbidden_edges=[("typo", "f0")]).fit(X, y)
        with pytest.raises(ValueError, match="names 'c', but edges can be forbidden"):
            FSANBClassifier(forbidden_edges=[("c", "f0")]).fit(X, y)

    @pytest.mark.parametrize("limit", [0, -1.0, "5"])
    def test_time_limits_that_are_none(self, limit):
        X, y = random_problem(41, 3).frame()
        with pytest.raises(ValueError, match="time_limit must be None or a number above 0"):
            FSANBClassifier(time_limit=limit).fit(X, y)

    def test_only_pairs_that_were_tried_out_in_time_are_chosen(self):
        """The time of the choice runs out in its second search of the third pair."""
        problem = random_problem(42, 4, n_rows=80)
        deadline = Deadline()
        searches = []

        def learn(table, score, seconds):
            searches.append((score.ess, seconds))
            if len(searches) == 6:
                deadline.interrupt()
            return learn_anb(table, score)

        validation = fsanb._Validation(problem.table, learn, None, (), 1, deadline)
        pairs = [(ess, 1e9) for ess in (1.0, 2.0, 5.0, 7.0)]
        assert validation.best(pairs, None) in pairs[:2]
        assert len(searches) == 6

    def test_a_feature_on_the_threshold_stays(self):
        table = random_problem(43, 2, n_rows=60).table
        assert relevant(table, np.zeros(2), 1.0).all()
        assert not relevant(table, np.full(2, 1e-9), 1.0).any()

    @pytest.mark.parametrize("model", ["fsanb", "ess", "shared"])
    def test_an_interrupt_ends_all_searches_and_is_raised(self, model, monkeypatch):
        """Also where a search by candidate lists ends with a result of its own, and where searches share counts."""
        X, y = random_problem(44, 6, n_rows=80).frame()
        searches = []
        usual = ANBClassifier._learn

        def learn(self, table, score, limit):
            searches.append(score.ess)
            if len(searches) == 2:
                signal.raise_signal(signal.SIGINT)
            return usual(self, table, score, limit)

        if model == "shared":
            usual = SharedCounts.learn
            monkeypatch.setattr(SharedCounts, "learn", learn)
        else:
            monkeypatch.setattr(plan.Plan, "fits", property(lambda _self: False))
            monkeypatch.setattr(ANBClassifier, "_sharing", lambda *_: None)
            for cls in (ANBClassifier, FSANBClassifier):
                monkeypatch.setattr(cls, "_learn", learn)
        classifier = FSANBClassifier() if model == "fsanb" else ANBClassifier(ess="auto")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(KeyboardInterrupt):
                classifier.fit(X, y)
        assert len(searches) <= 3
        assert not hasattr(classifier, "structure_")
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_greedy_search_with_the_best_ess_does_not_depend_on_an_ample_time_limit():
    X, y = random_problem(45, 5, n_rows=120).frame()
    free, limited = (GreedyGBNClassifier(ess="auto", time_limit=limit).fit(X, y) for limit in (None, 3600.0))
    assert limited.ess_ == free.ess_
    assert limited.structure_.parents == free.structure_.parents
