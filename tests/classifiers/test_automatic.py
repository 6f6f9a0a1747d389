"""The classifier to begin with: which models it learns, what it leaves out, and how long it may take."""

import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import anbexact
from anbexact import AutoClassifier, NaiveBayesClassifier, PooledClassifier, TANClassifier
from anbexact.classifiers import automatic, pooled
from anbexact.classifiers.pooling import members
from anbexact.classifiers.pooling.learning import Record, fewest_members, pool_weights
from anbexact.classifiers.pooling.members import (
    FEW_VALUES,
    MANY_FEATURES,
    Member,
    automatic_members,
    members_in_time,
    most_promising_first,
)
from anbexact.datasets import load_iris


def names_of(n_features, n_classes=2, n_rows=500, **how):
    return [member.name for member in members_in_time(n_features, n_classes, n_rows, {}, **how)]


def xor(n=240, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.integers(2, size=n), "b": rng.integers(2, size=n), "c": rng.normal(size=n)})
    y = pd.Series(np.where((X["a"] == X["b"]) ^ (rng.random(n) < 0.1), "yes", "no"), name="k")
    return X, y


@pytest.fixture(scope="module")
def fitted():
    return AutoClassifier(n_jobs=1).fit(*xor())


def test_quick_models_come_first():
    found = names_of(10)
    assert found[:4] == ["NB smooth, cross-validated", "NB smooth", "TAN smooth", "kDB smooth, cross-validated"]
    assert "ANB smooth" in found
    assert len(set(found)) == len(found)


def test_terms_of_cut_columns_are_never_too_large_for_a_regression():
    assert AutoClassifier().readable
    assert "readable" not in AutoClassifier().get_params()
    assert not any("hierarchical" in name for name in names_of(10, n_rows=5_000, cut=True))


@pytest.mark.parametrize("cut", [True, False])
def test_a_smooth_tree_is_tried_whatever_its_size_and_three_features_only_of_few(cut):
    wide = names_of(MANY_FEATURES + 1, n_classes=200, cut=cut)
    assert "TAN smooth" in wide
    assert "kDB smooth, cross-validated" not in wide


@pytest.mark.parametrize("cut", [True, False])
@pytest.mark.parametrize("members", [members_in_time, automatic_members])
def test_members_that_extend_others_come_after_them(members, cut):
    for n_features, n_rows in ((5, 30), (5, 150), (10, 5_000), (MANY_FEATURES + 1, 500)):
        found = members(n_features, 2, n_rows, {}, cut=cut, readable=False)
        names, extended = [member.name for member in found], [set(member.extends) for member in found]
        n_others = sum(not some for some in extended)
        assert all(extended[n_others:])
        for place, some in enumerate(extended):
            assert some <= set(names[:place])
        both = {"TAN smooth", "ANB smooth"} <= set(names)
        assert any({"TAN smooth"} == some for some in extended) == (cut and both)
        tree = extended[names.index("TAN smooth")] if "TAN smooth" in names else set()
        assert bool(tree) == (cut and members is automatic_members and "TAN smooth" in names)


def test_trees_extend_naive_bayes_where_no_column_is_cut():
    def extended(n_rows):
        found = automatic_members(5, 2, n_rows, {}, cut=False)
        return {member.name: member.extends for member in found if member.extends}

    assert extended(5_000) == extended(100) == {"kDB trees, 5 parents": ("NB smooth",)}
    assert extended(99) == extended(49) == {}


def test_the_order_of_members_where_no_column_is_cut():
    def names(n_rows, n_features=5, **how):
        return [member.name for member in automatic_members(n_features, 2, n_rows, {}, cut=False, **how)]

    smooth, plain, trees = ["NB smooth", "TAN smooth"], ["TAN", "kDB", "ANB"], "kDB trees, 5 parents"
    refits, dense = ["kDB refitted", "ANB refitted"], ["kDB refitted", "kDB refitted, 4 parents"]
    without_kernel = [*smooth, "TAN refitted", *dense, *plain, trees]
    assert names(100_001) == names(2_000, readable=True) == without_kernel
    assert names(50, readable=True) == [*smooth, "TAN refitted", *refits, *plain]
    assert names(100_000) == names(2_000) == [*smooth, *dense, *plain, "kernel", trees]
    assert names(1_999) == names(1_000) == [*smooth, "kernel", refits[0], *plain, trees]
    assert names(999) == names(100) == [*smooth, "kernel", *refits, *plain, trees]
    assert names(100) == [of.name for of in most_promising_first(automatic_members(5, 2, 100, {}, cut=False))]
    assert names(99) == names(50) == [*smooth, "kernel", *refits, *plain]
    every = [*smooth, "kDB smooth", "ANB smooth"]
    assert names(49) == names(30) == [*every, "kernel", *plain]
    assert names(29) == names(20) == [*every, "kernel"]
    assert names(19) == names(1) == every
    many_features = members.MANY_UNKNOWNS // (2 * members.INTERVALS) + 1  # there are no smooth interactions
    without = ["TAN refitted", "kDB refitted", "TAN", "kDB"]  # tables and refits stand in for them
    assert names(19, many_features) == ["NB smooth", *without]
    assert names(999, many_features) == ["NB smooth", "kernel", *without, trees]


def test_the_members_where_columns_are_cut():
    def found(n_rows, n_features=5, **how):
        of_size = automatic_members(n_features, 2, n_rows, how.pop("settings", {}), cut=True, **how)
        assert len({member.name for member in of_size}) == len(of_size)
        return {member.name: member.extends for member in of_size}

    bayes, simple, tree = "NB smooth", ("NB smooth", "TAN, 8 intervals"), ("TAN smooth",)
    plain, equal_width = ["TAN, 8 intervals", "ANB, 5 intervals"], "kDB hierarchical, equal width"
    on_five, four_parents = "ANB smooth, 5 intervals", "kDB hierarchical, 4 parents"
    few, trees = found(499), "kDB trees, 8 intervals"
    assert list(few) == list(found(250)) == [bayes, "kernel", plain[0], equal_width, plain[1], on_five]
    fewer = found(249)
    assert list(fewer) == list(found(40)) == [bayes, "kernel", "linear", plain[0], equal_width]
    assert few[on_five] == simple
    assert list(found(500)) == list(found(1_999)) == [*list(few)[:-2], trees, *plain[1:], on_five]
    assert list(found(500, n_features=6)) == list(found(500))
    assert list(found(500, n_features=7)) == list(few)
    (of_trees,) = (member.estimator for member in automatic_members(6, 2, 500, {}) if member.name == trees)
    assert (of_trees.k, of_trees.parameters, of_trees.discretizer.n_bins) == (1, "tree", 8)
    assert trees in found(500, n_features=6, readable=True)
    assert trees not in found(500, settings={"discretizer": "mdlp"})
    assert list(found(39)) == list(found(20)) == [name for name in fewer if name != equal_width]
    assert "linear" not in found(249, n_features=220)
    many = [bayes, "kernel", "kDB", equal_width, four_parents, trees]
    assert list(found(2_000)) == list(found(14_999)) == many
    more = found(15_000)
    assert list(more) == list(found(100_000)) == [*many, "ANB smooth"]
    assert more["ANB smooth"] == (bayes,)
    alone = found(100_001)
    assert set(alone) == {*few, *many, "TAN smooth", "ANB smooth"} - {"kernel"}
    assert alone["TAN smooth"] == simple
    assert alone["ANB smooth"] == alone[on_five] == tree
    readable = [name for name in alone if name not in (equal_width, four_parents)]
    for n_rows in (500, 2_000, 100_000):
        assert list(found(n_rows, readable=True)) == readable
    readable.remove(trees)
    for n_rows in (19, 250, 499):
        assert list(found(n_rows, readable=True)) == readable
    for n_rows in (20, 249):
        assert list(found(n_rows, readable=True)) == [bayes, "linear", *readable[1:]]
    assert list(found(19)) == readable
    settings = {"discretizer": "mdlp"}
    one_rule = found(250, settings=settings)
    assert list(one_rule) == ["NB smooth", "kernel", "TAN", "kDB", "ANB", "TAN smooth", "ANB smooth"]
    assert list(found(2_000, settings=settings)) == list(one_rule)
    assert list(found(20, settings=settings)) == [*list(one_rule)[:2], "linear", *list(one_rule)[2:]]
    assert list(found(19, settings=settings)) == [name for name in one_rule if name != "kernel"]
    assert one_rule["ANB smooth"] == tree
    many_features = found(2_000, n_features=220, readable=True)
    assert not {"TAN smooth", "ANB smooth", "ANB, 5 intervals"} & set(many_features)


def test_with_a_time_limit_the_smooth_tree_comes_second():
    found = automatic_members(5, 2, 5_000, {}, cut=True, readable=True)
    sooner = most_promising_first(found)
    assert [member.name for member in sooner][:2] == ["NB smooth", "TAN smooth"]
    assert sooner[1].extends == ()
    assert sorted(member.name for member in sooner) == sorted(member.name for member in found)
    without = [member for member in found if member.name != "TAN smooth"]
    assert most_promising_first(without) == without


def test_more_columns_than_rows_leave_one_model():
    assert names_of(301, n_rows=300) == ["NB smooth, cross-validated"]
    assert len(names_of(300, n_rows=300)) > 1


def test_few_rows_leave_few_models_with_strengths_by_cross_validation_if_columns_are_many():
    one, finer = "NB smooth, cross-validated", "NB smooth, cross-validated, 16 intervals"
    assert names_of(20, n_rows=99) == [one, finer, "linear"]
    assert names_of(4, n_rows=19) == [one, finer]
    assert names_of(20, n_rows=100) == [one, finer, "linear", "NB smooth", "TAN smooth"]
    assert names_of(20, n_rows=199) == [one, finer, "linear", "NB smooth", "TAN smooth"]
    assert finer not in names_of(20, n_rows=200)
    assert names_of(20, n_rows=200)[:4] == [one, "NB smooth", "TAN smooth", "kDB smooth, cross-validated"]
    assert "linear" in names_of(20, n_rows=200)
    intervals = [member.estimator.intervals for member in members_in_time(20, 2, 99, {})[:2]]
    assert intervals == [8, 16]
    wide = members_in_time(100, 2, 99, {})
    assert [member.name for member in wide] == [one, "NB smooth, cross-validated, 8 intervals", "linear"]
    assert [member.estimator.intervals for member in wide[:2]] == [4, 8]


@pytest.mark.parametrize(("given", "used"), [("auto", FEW_VALUES), (12, 12), (None, None)])
def test_the_first_model_groups_only_many_values_unless_that_is_set(given, used):
    first = members_in_time(3, 2, 50, {"group_categories": given})[0]
    assert first.estimator.estimator.group_categories == used


@pytest.mark.parametrize(("given", "used"), [("auto", "own_state"), ("marginalize", "marginalize")])
def test_missing_cells_are_states_in_all_models_unless_that_is_set(given, used):
    found = members_in_time(3, 2, 50, {"handle_missing": given})
    networks = [getattr(member.estimator, "estimator", member.estimator) for member in found]
    assert {network.handle_missing for network in networks} == {used}


def test_models_with_groups_and_without_have_common_states():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"town": rng.choice([f"t{k}" for k in range(14)], 150), "b": rng.choice(list("xyz"), 150)})
    X.loc[rng.random(150) < 0.1, "b"] = None
    y = np.where((X["town"] > "t3") ^ (rng.random(150) < 0.2), "yes", "no")
    first = members_in_time(2, 2, 250, {"group_categories": "auto"})[:3]
    pool = PooledClassifier([member.estimator for member in first], ridge=np.inf).fit(X, y)
    assert [len(model.vocabulary_.groups) for _, model in pool.estimators_] == [0, 1, 1]
    assert set(pool.vocabulary_.states["town"]) == set(X["town"])
    np.testing.assert_allclose(pool.to_logit().predict_proba(X), pool.predict_proba(X), rtol=1e-9, atol=1e-12)


def test_the_pool_is_that_of_the_weighted_models(fitted):
    X, y = xor()
    kept = fitted.members_.query("outcome == 'pooled'")
    assert [name for name, _ in fitted.estimators_] == kept.index.tolist()
    logs = sum(
        weight * model.predict_log_proba(X)
        for weight, (_, model) in zip(fitted.weights_, fitted.estimators_, strict=True)
    )
    expected = np.exp(logs + fitted.biases_)
    np.testing.assert_allclose(
        fitted.predict_proba(X), expected / expected.sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-12
    )
    assert fitted.score(X, y) > 0.8


def test_models_that_are_not_needed_are_left_out_and_said_to_be(fitted):
    outcomes = fitted.members_["outcome"]
    assert {outcome.partition(" as ")[0] for outcome in outcomes} == {"pooled", "not needed", "same"}
    assert fitted.members_.loc[outcomes != "pooled", "weight"].eq(0).all()
    for name in outcomes[outcomes.str.startswith("same as ")].str.removeprefix("same as "):
        assert not outcomes[name].startswith("same as ")
    assert isinstance(fitted, PooledClassifier)


def test_no_smaller_pool_of_the_kept_models_is_within_the_tolerance(monkeypatch):
    seen = {}

    def watched(records, folds, n_classes, ridge, tolerance):
        seen.update(records=list(records), folds=folds, n_classes=n_classes)
        seen["kept"] = fewest_members(records, folds, n_classes, ridge, tolerance)
        return seen["kept"]

    monkeypatch.setattr(automatic, "fewest_members", watched)
    AutoClassifier(n_jobs=1).fit(*xor())

    def loss(records):
        """The mean of -ln Σ_c P(c) [c is the class] over held-out rows, row by row."""
        found = pool_weights(records, seen["folds"], seen["n_classes"], "auto")
        total, rows = 0.0, 0
        for k, fold in enumerate(seen["folds"]):
            for t, code in enumerate(fold.held_out.codes):
                logs = found.biases + sum(
                    w * record.logs[k][t] for w, record in zip(found.weights, records, strict=True)
                )
                total += np.log(np.exp(logs).sum()) - logs[code]
                rows += 1
        return total / rows

    most = loss(seen["records"]) + automatic.TOLERANCE
    assert loss(seen["kept"]) <= most + 1e-9
    smaller = list(combinations(seen["kept"], len(seen["kept"]) - 1))
    assert all(loss(list(rest)) > most for rest in smaller if rest)


def test_without_time_the_first_model_is_learned_and_the_others_are_not_warned_of():
    X, y = xor()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = AutoClassifier(1e-9, n_jobs=1).fit(X, y)
    assert not [str(warning.message) for warning in caught if "Left out" in str(warning.message)]
    outcomes = model.members_["outcome"].tolist()
    assert outcomes == ["pooled"] + ["out of time"] * (len(outcomes) - 1)
    assert model.weights_.tolist() == [1.0]


def test_a_model_is_not_begun_if_a_quicker_one_took_longer_than_is_left(monkeypatch):
    learn = Record.learn

    def slow(record, *given, **how):
        learn(record, *given, **how)
        record.seconds += 1000.0 * (record.member.name == "a")

    monkeypatch.setattr(Record, "learn", slow)
    model = AutoClassifier(900.0, n_jobs=1)
    model._automatic = lambda *_, **__: [
        Member("a", NaiveBayesClassifier()),
        Member("slower than a", TANClassifier(), slower_than="a"),
        Member("another", TANClassifier()),
    ]
    outcomes = model.fit(*xor()).members_["outcome"]
    assert outcomes["slower than a"] == "out of time"
    assert set(outcomes.drop("slower than a")) <= {"pooled", "not needed", "weight 0"}


@pytest.mark.parametrize(("more", "number"), [(0, 1), (1, 5)])
def test_from_many_rows_on_rows_are_held_out_once(monkeypatch, more, number):
    X, y = xor()
    held_out = []
    monkeypatch.setattr(automatic, "ROWS_FOR_ONE_FOLD", len(X) + more)
    monkeypatch.setattr(
        automatic, "fewest_members", lambda records, folds, *_: held_out.extend(folds) or list(records)
    )
    monkeypatch.setattr(pooled, "FEW_ROWS", len(X) + 1)
    model = AutoClassifier(n_jobs=1)
    model._automatic = lambda *args, **how: members_in_time(*args, **how)[:1]
    model.fit(X, y)
    assert len(held_out) == number


def few_rows(n=60, *, noise=False, seed=0):
    """Rows with a third class that is rare, and weights; the features depend on the class unless they are noise."""
    rng = np.random.default_rng(seed)
    y = pd.Series(rng.choice(["a", "b", "c"], n, p=[0.55, 0.35, 0.1]), name="k")
    X = pd.DataFrame(rng.normal(size=(n, 20)), columns=[f"x{j}" for j in range(20)])
    if not noise:
        X["x0"] += 1.5 * (y == "a")
    return X, y, rng.choice([0.5, 1.0, 2.0], n)


def test_class_frequencies_are_weighted_with_the_models_and_become_biases(monkeypatch):
    X, y, weights = few_rows()
    seen = {}

    def watched(records, folds, *others):
        found = pool_weights(records, folds, *others)
        seen.update(records=list(records), folds=folds, found=found)
        return found

    monkeypatch.setattr(pooled, "pool_weights", watched)
    model = AutoClassifier(n_jobs=1)
    model._automatic = lambda *_, **__: [Member("NB", NaiveBayesClassifier())]
    model.fit(X, y, weights)
    *_, frequencies = seen["records"]
    assert model.members_.index.tolist()[-1] == frequencies.member.name == "class frequencies"
    assert "class frequencies" not in dict(model.estimators_)
    total = 0.0
    for fold, logs in zip(seen["folds"], frequencies.logs, strict=True):
        held, row = fold.held_out.given, 0
        for index, label, weight in zip(held.X.index, held.y, held.weights, strict=True):
            assert weights[index] == weight
            of_class = weights[[t for t in y.index if y[t] == label and t not in held.X.index]].sum()
            of_all = weights[[t for t in y.index if t not in held.X.index]].sum()
            expected = np.log((of_class + 1 / 3) / (of_all + 1))
            assert logs[row][fold.held_out.codes[row]] == pytest.approx(expected)
            total, row = total - weight * expected, row + 1
    assert model.members_.loc["class frequencies", "log_loss"] == pytest.approx(total / weights.sum())
    of_frequencies = model.members_.loc["class frequencies", "weight"]
    assert 0 < of_frequencies < 1
    shares = np.array([(weights[y == label].sum() + 1 / 3) / (weights.sum() + 1) for label in model.classes_])
    biases = of_frequencies * np.log(shares)
    others = model.biases_ - (biases - biases.mean())
    np.testing.assert_allclose(np.sort(others), np.sort(seen["found"].biases), atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 4])  # where the models alone lose over 0.01 nats
def test_noise_gives_about_the_class_frequencies(seed):
    X, y, _ = few_rows(50, noise=True, seed=seed)
    logs = AutoClassifier(n_jobs=1).fit(X, y).predict_log_proba(few_rows(400, noise=True, seed=99)[0])
    shares = (y.value_counts().sort_index() + 1 / 3) / 51
    truth = np.array([0.55, 0.35, 0.1])
    assert -(logs @ truth).mean() < -(np.log(shares) @ truth) + 0.008


def test_with_few_rows_no_model_is_left_out_for_chance(monkeypatch):
    monkeypatch.setattr(automatic, "fewest_members", lambda *_: pytest.fail("models are left out"))
    model = AutoClassifier(n_jobs=1)
    model._automatic = lambda *_, **__: [Member("NB", NaiveBayesClassifier()), Member("TAN", TANClassifier())]
    assert set(model.fit(*xor(100)).members_["outcome"]) <= {"pooled", "weight 0"}


@pytest.mark.parametrize(("work", "number"), [(0, 3), (10**9, 10)])
def test_few_rows_are_held_out_in_more_folds_if_these_are_quick(monkeypatch, work, number):
    held_out = []
    monkeypatch.setattr(automatic, "LITTLE_WORK", work)
    model = AutoClassifier(n_jobs=1)
    model._automatic = lambda *_, **__: [Member("NB", NaiveBayesClassifier())]
    model._without_features = lambda _, folds, __: held_out.extend(folds) or []
    model.fit(*xor(120))
    assert len(held_out) == number


@pytest.mark.parametrize("budget", [0, -1.0, "long", float("nan")])
def test_refused_budgets(budget):
    with pytest.raises((TypeError, ValueError), match="time_budget"):
        AutoClassifier(budget).fit(*xor())


def test_what_is_fixed_is_no_parameter():
    assert set(AutoClassifier().get_params()) & {"members", "folds", "ridge", "time_limit"} == set()
    with pytest.raises(TypeError, match="AutoClassifier has no parameter 'members'"):
        AutoClassifier(members="auto")


def test_saved_and_loaded(fitted, tmp_path):
    X, _ = xor()
    fitted.save(tmp_path / "model.json")
    loaded = anbexact.load(tmp_path / "model.json")
    assert loaded.get_params() == fitted.get_params()
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    pd.testing.assert_frame_equal(loaded.members_, fitted.members_)


def test_explained_and_as_a_regression(fitted):
    X, _ = xor()
    regression = fitted.to_logit()
    np.testing.assert_allclose(regression.predict_proba(X), fitted.predict_proba(X), rtol=1e-9, atol=1e-12)
    terms = fitted.explain(X[:5], label="yes", against="no")
    logs = fitted.predict_log_proba(X[:5])
    np.testing.assert_allclose([own.log_odds for own in terms], logs[:, 1] - logs[:, 0], atol=1e-9)


@pytest.mark.slow
def test_more_columns_than_rows_and_many_classes_are_better_than_frequencies():
    rng = np.random.default_rng(3)
    labels = np.repeat(list("abcdefgh"), 60)
    signal = (labels[:, None] == np.array(list("abcdefgh"))) * 3.0
    X, y = pd.DataFrame(np.hstack([signal + rng.normal(size=signal.shape), rng.normal(size=(480, 52))])), labels
    train = np.arange(480) % 60 < 5
    model = AutoClassifier(n_jobs=1).fit(X[train], y[train])
    truth = model.classes_.searchsorted(y[~train])
    assert -model.predict_log_proba(X[~train])[np.arange(440), truth].mean() < np.log(8) - 0.05


@pytest.mark.slow
def test_iris_needs_few_models(monkeypatch):
    X, y = load_iris()
    for module in (automatic, members):  # so that its 150 rows are not few
        monkeypatch.setattr(module, "FEW_ROWS", 100)
    model = AutoClassifier(n_jobs=1).fit(X, y)
    assert len(model.weights_) <= 2
    assert model.score(X, y) > 0.95


@pytest.mark.parametrize(
    ("rows", "expected"), [(1_499, 300), (1_500, 300), (1_799, 360), (1_800, 600), (2_400, 600), (3_000, 600)]
)
def test_of_many_rows_no_more_are_held_out_than_the_weights_need(rows, expected, monkeypatch):
    """A fifth of the rows, since no column is cut; from three times `MOST_HELD_OUT` rows on, that number."""
    monkeypatch.setattr(automatic, "MOST_HELD_OUT", 600)
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.integers(0, 3, rows), "b": rng.integers(0, 2, rows)})
    made = []
    original = pooled.make_folds
    monkeypatch.setattr(pooled, "make_folds", lambda *given: made.append(original(*given)) or made[-1])
    model = AutoClassifier(n_jobs=1)
    model._automatic = lambda *args, **how: members_in_time(*args, **how)[:1]
    model.fit(X, pd.Series(rng.integers(0, 2, rows), name="k"))
    assert len(made[0]) == (1 if rows >= automatic.ROWS_FOR_ONE_FOLD else 5)
    learned, held_out = (part.given.weights.sum() for part in (made[0][0].learned, made[0][0].held_out))
    assert abs(held_out - expected) <= 2
    assert learned + held_out == rows
