"""The comparison: numbers as a slow computation by hand has them, folds, and tables that are hard to split."""

import inspect
import itertools
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import StackingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

import anbexact
from anbexact import (
    ANBClassifier,
    CkGClassifier,
    FSANBClassifier,
    GBNClassifier,
    NaiveBayesClassifier,
    RefittedClassifier,
    SearchTooLargeError,
    TANClassifier,
)
from anbexact.adapters import LogitModel, to_logit
from anbexact.classifiers import (
    AODEClassifier,
    BNC2PClassifier,
    FixedStructureClassifier,
    GreedyGBNClassifier,
    LogitFANClassifier,
    MCDAGClassifier,
    PrunedNaiveBayesClassifier,
)
from anbexact.compare import (
    COLUMNS,
    MODELS,
    ORDERED_COLUMNS,
    InterruptedComparisonError,
    calibration_error,
    compare,
    ranked_probability_score,
)
from anbexact.compare.budget import Budget
from anbexact.compare.folds import prepare
from anbexact.compare.kde import KernelNaiveBayes
from anbexact.compare.models import known_names, model_parameters, refits, rivals, smooths
from anbexact.datasets import load_anes96, load_iris, load_lenses, load_monks, load_wine
from anbexact.scores import ACLL
from anbexact.search.exact import plan

WEDGE = {
    "is_monk": (),
    **dict.fromkeys(("head_shape", "is_smiling", "holding", "jacket_color", "has_tie"), ("is_monk",)),
    "body_shape": ("head_shape", "jacket_color", "is_monk"),
}
"""A network for the table of the first monk's problem; two parents of body_shape are not adjacent."""
KEPT = ["accuracy", "accuracy_se", "log_loss", "cll", "brier", "calibration_error", "parameters"]


def slow_calibration(confidences, hits):
    """Expected calibration error, bin by bin, row by row."""
    error = 0.0
    for b in range(1, 11):
        inside = [k for k, p in enumerate(confidences) if (b - 1) / 10 < p <= b / 10]
        if inside:
            share = sum(hits[k] for k in inside) / len(inside)
            mean = sum(confidences[k] for k in inside) / len(inside)
            error += len(inside) / len(hits) * abs(share - mean)
    return error


def slow_probabilities(model):
    """Free probabilities of a network: every column of every table, but for the last entry."""
    tables = model.conditional_tables_.values()
    return sum(len(column) - 1 for table in tables for column in table.values.reshape(len(table.values), -1).T)


def slow_coefficients(logit):
    """Coefficients of a regression: joint states of features, none of them its first, that share a family."""
    c = logit.structure.class_name
    terms = set()
    for child, parents in logit.structure.parents.items():
        family = [name for name in (child, *parents) if name != c]
        if c in (child, *parents):
            states = [range(logit.vocabulary.arity(name)) for name in family]
            for cell in itertools.product(*states):
                terms.add(frozenset((name, k) for name, k in zip(family, cell, strict=True) if k > 0))
    return len(terms) * (len(logit.classes_) - 1)


def slow(X, y, learn, count, folds, seed):
    """The measures, row by row; ``learn`` takes rows to learn from, ``count`` counts the parameters of a model."""
    classes = sorted(set(y))
    confidences, right, losses, briers, by_fold, sizes = [], [], [], [], [], []
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=seed).split(X, y):
        model = learn(X.iloc[train], y.iloc[train])
        sizes.append(count(model))
        in_fold = []
        for row in test:
            of_row = dict(zip(model.classes_, model.predict_proba(X.iloc[[row]])[0], strict=True))
            predicted = max(classes, key=lambda c: (of_row[c], -classes.index(c)))
            confidences.append(of_row[predicted])
            in_fold.append(predicted == y.iloc[row])
            losses.append(-math.log(of_row[y.iloc[row]]))
            briers.append(sum((of_row[c] - (c == y.iloc[row])) ** 2 for c in classes))
        right += in_fold
        by_fold.append(sum(in_fold) / len(in_fold))
    mean = sum(by_fold) / folds
    error = math.sqrt(sum((a - mean) ** 2 for a in by_fold) / (folds - 1) / folds)
    n = len(right)
    calibration = slow_calibration(confidences, right)
    return [sum(right) / n, error, sum(losses) / n, -sum(losses), sum(briers) / n, calibration, sum(sizes) / folds]


@pytest.mark.parametrize(
    "load", [pytest.param(load_iris, marks=pytest.mark.slow), load_lenses], ids=["iris", "lenses"]
)
def test_numbers_by_hand(load):
    X, y = load()
    frame = compare(X, y, folds=4, seed=3, models=["NB", "ANB"])
    assert list(frame.index) == ["NB", "NB refitted", "ANB", "ANB refitted"]
    for name, classifier in (("NB", NaiveBayesClassifier()), ("ANB", ANBClassifier())):
        expected = slow(X, y, classifier.fit, slow_probabilities, 4, 3)
        np.testing.assert_allclose(frame.loc[name, KEPT].to_numpy(dtype=float), expected, rtol=1e-12)

        def refitted(X, y, classifier=classifier):
            return to_logit(classifier.fit(X, y)).refit(X, y)

        expected = slow(X, y, refitted, slow_coefficients, 4, 3)
        got = frame.loc[f"{name} refitted", KEPT].to_numpy(dtype=float)
        np.testing.assert_allclose(got, expected, rtol=1e-9)


def test_class_frequencies():
    """Every left-out row is predicted by the shares of the classes in the weighted training rows."""
    X, y = load_anes96()
    weights = np.random.default_rng(0).integers(0, 4, len(y)) / 2.0
    line = compare(X, y, sample_weight=weights, folds=4, models=["class frequencies"]).loc["class frequencies"]
    kept, labels, w = weights > 0, y.to_numpy(), weights
    expected = 0.0
    for train, test in StratifiedKFold(4, shuffle=True, random_state=0).split(X[kept], labels[kept]):
        for t in np.flatnonzero(kept)[test]:
            same = w[kept][train][labels[kept][train] == labels[t]].sum()
            expected -= w[t] * np.log(same / w[kept][train].sum())
    assert line["log_loss"] == pytest.approx(expected / w.sum(), rel=1e-12)
    assert line["parameters"] == len(set(labels)) - 1


@pytest.mark.slow
def test_parameters_of_scikit_learn():
    """Naive Bayes: one table per class and feature; logistic regression: the rank of its design, for each but one."""
    X, y = load_anes96()
    X = X[["selfLR", "TVnews", "PID", "educ"]].astype({"PID": str, "TVnews": str, "educ": str})
    y = y.where(np.arange(len(y)) % 5 > 0, "neither")
    frame = compare(X, y, folds=3, models=["NB", "CategoricalNB", "logistic regression"], refit=False)
    arities, ranks = [], []
    for train, _ in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        of_nb = NaiveBayesClassifier().fit(X.iloc[train], y.iloc[train])
        arities.append(2 + sum(3 * (of_nb.vocabulary_.arity(name) - 1) for name in X))
        design = np.column_stack([np.ones(len(train)), pd.get_dummies(X.iloc[train]).to_numpy(dtype=float)])
        ranks.append(2 * np.linalg.matrix_rank(design))
    assert frame.loc["CategoricalNB", "parameters"] == np.mean(arities) == frame.loc["NB", "parameters"]
    assert frame.loc["logistic regression", "parameters"] == np.mean(ranks)


def test_parameters_of_aode():
    """Those of every pair given the class, less what the pairs have in common."""
    X, y = load_anes96()
    X = X[["selfLR", "TVnews", "PID"]]
    frame = compare(X, y, folds=3, models=["AODE"])
    assert list(frame.index) == ["AODE"]
    sizes = []
    for train, _ in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        free = [AODEClassifier().fit(X.iloc[train], y.iloc[train]).vocabulary_.arity(name) - 1 for name in X]
        sizes.append(1 + 2 * (sum(free) + sum(a * b for a, b in itertools.combinations(free, 2))))
    assert frame.loc["AODE", "parameters"] == np.mean(sizes)
    named = compare(X, y, folds=3, models={"mine": AODEClassifier()})
    np.testing.assert_array_equal(named[KEPT].to_numpy(), frame[KEPT].to_numpy())


def slow_kernel_posterior(X, y, weights, row):
    """P(class | row): priors, and per feature the mean of normal densities around the values of the class."""
    joint = {}
    for c in sorted(set(y)):
        rows_of_c = [k for k in range(len(y)) if y[k] == c]
        total = sum(weights[k] for k in rows_of_c)
        joint[c] = total / sum(weights)
        for j, value in enumerate(row):
            deviations = []
            for rows in (rows_of_c, range(len(y))):
                mean = sum(weights[k] * X[k][j] for k in rows) / sum(weights[k] for k in rows)
                square = sum(weights[k] * (X[k][j] - mean) ** 2 for k in rows) / sum(weights[k] for k in rows)
                deviations.append(math.sqrt(square))
            width = next(d for d in (*deviations, 1.0) if d > 0) * total**-0.2
            heights = [
                math.exp(-(((value - X[k][j]) / width) ** 2) / 2) / (width * math.sqrt(2 * math.pi))
                for k in rows_of_c
            ]
            joint[c] *= sum(weights[k] * height for k, height in zip(rows_of_c, heights, strict=True)) / total
    return [value / sum(joint.values()) for value in joint.values()]


@pytest.mark.parametrize("weighted", [False, True])
def test_kernel_naive_bayes(weighted):
    """Column 1 is constant in a class, column 2 everywhere; the last class has a single row."""
    rng = np.random.default_rng(0)
    y = np.array(["a"] * 12 + ["b"] * 9 + ["c"])
    X = np.column_stack([rng.normal(size=22), np.where(y == "a", 4.0, rng.normal(size=22)), np.full(22, 0.5)])
    weights = rng.uniform(0.5, 2.0, 22) if weighted else np.ones(22)
    model = KernelNaiveBayes().fit(X, y, weights if weighted else None)
    rows = np.column_stack([rng.normal(size=(8, 2)), np.full(8, 0.5)])
    expected = [slow_kernel_posterior(X.tolist(), y.tolist(), weights.tolist(), row) for row in rows.tolist()]
    np.testing.assert_allclose(model.predict_proba(rows), expected, rtol=1e-3)
    assert model.predict(X)[0] == "a"


def test_kernel_naive_bayes_far_away():
    """Where all densities underflow, their logs still tell the classes apart."""
    X = np.array([[0.0], [0.1], [1.0], [1.1]])
    model = KernelNaiveBayes().fit(X, ["p", "p", "q", "q"])
    logs = model.predict_log_proba([[1e5], [-1e5]])
    assert np.isfinite(logs).all()
    assert model.predict([[1e5], [-1e5]]).tolist() == ["q", "p"]


def test_kernel_naive_bayes_without_overflow():
    """In the end the class of greatest deviation is the likelier one, and of equal classes each."""
    X = np.array([[0.0], [0.1], [1.0], [1.2]])
    model = KernelNaiveBayes().fit(X, ["p", "p", "q", "q"])
    ends = [1e150, 1e155, 1e200, np.finfo(float).max]
    rows = np.array([*ends, *(-x for x in ends)])[:, None]
    assert np.isfinite(model.predict_log_proba(rows)).all()
    np.testing.assert_array_equal(model.predict_proba(rows), [[0.0, 1.0]] * 8)
    model = KernelNaiveBayes().fit([[0.0], [1.0], [2.0], [3.0]], ["p", "p", "q", "q"])
    assert model.predict([[1e5], [-1e5]]).tolist() == ["q", "p"]
    np.testing.assert_array_equal(model.predict_proba(rows), [[0.5, 0.5]] * 8)


@pytest.mark.parametrize("scale", [2.0**-900, 2.0**-40, 2.0**600, 2.0**1020])
def test_kernel_naive_bayes_at_other_scales(scale):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 40)
    X = np.column_stack([rng.normal(y), rng.normal(size=40), np.where(y == 1, 0.25, rng.uniform(-4, 4, 40))])
    rows = rng.normal(size=(20, 3))
    expected = KernelNaiveBayes().fit(X, y).predict_log_proba(rows)
    actual = KernelNaiveBayes().fit(X * scale, y).predict_log_proba(rows * scale)
    np.testing.assert_allclose(actual, expected, rtol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_kernel_naive_bayes_of_any_finite_numbers(seed):
    rng = np.random.default_rng(seed)
    X, rows = (rng.choice([-1.0, 1.0], (n, 3)) * 10.0 ** rng.uniform(-320, 308, (n, 3)) for n in (12, 30))
    weights = 10.0 ** rng.uniform(-90, 90, 12) if seed % 2 else None
    model = KernelNaiveBayes().fit(X, np.arange(12) % 3, weights)
    for at in (X, rows):
        assert np.isfinite(model.predict_log_proba(at)).all()
        np.testing.assert_allclose(model.predict_proba(at).sum(axis=1), 1.0)


@pytest.mark.slow
def test_kernel_naive_bayes_is_an_estimator():
    check_estimator(KernelNaiveBayes())


@pytest.mark.slow
def test_rivals_of_numbers():
    """Gaussian and kernel naive Bayes, with medians of the training rows in missing cells; networks that measure."""
    X, y = load_iris()
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.03)
    names = ["GaussianNB", "KDE-NB", "TAN universal", "ANB universal"]
    frame = compare(X, y, folds=4, seed=3, models=names)
    assert list(frame.index) == names
    assert frame.attrs["refits"] == {}
    (note,) = frame.attrs["notes"]
    assert note.endswith("For the other models, missing cells are imputed")
    for name, classifier in (("GaussianNB", GaussianNB()), ("KDE-NB", KernelNaiveBayes())):
        imputed = make_pipeline(SimpleImputer(strategy="median"), classifier)
        expected = slow(X.reset_index(drop=True), y, imputed.fit, lambda _: math.nan, 4, 3)
        np.testing.assert_allclose(frame.loc[name, KEPT[:-1]].to_numpy(dtype=float), expected[:-1], rtol=1e-6)
    assert frame.loc["GaussianNB", "parameters"] == 2 + 2 * 3 * 4
    assert math.isnan(frame.loc["KDE-NB", "parameters"])
    mine = {
        "TAN universal": TANClassifier(continuous="universal"),
        "ANB universal": ANBClassifier(continuous="universal"),
    }
    pd.testing.assert_frame_equal(compare(X, y, folds=4, seed=3, models=mine)[KEPT], frame.loc[list(mine), KEPT])


def test_columns_that_are_no_numbers():
    X, y = load_anes96()
    X = X[["age", "PID", "popul"]].assign(sex=["f", "m"] * (len(X) // 2))
    with pytest.raises(ValueError, match="KDE-NB require numeric columns, but 'PID' "):
        compare(X, y, models=["NB", "KDE-NB"])
    with pytest.raises(
        ValueError, match=r"GaussianNB and KDE-NB require .*, but 'PID' \(and 1 more\) is not numeric: drop"
    ):
        compare(X, y, models=["GaussianNB", "KDE-NB"])
    assert np.isfinite(compare(X[["age", "popul"]], y, folds=3, models=["GaussianNB"])["log_loss"]).all()


@pytest.mark.parametrize("digits", [1, 2, 15])
def test_calibration_error(digits):
    rng = np.random.default_rng(digits)
    confidence = np.round(rng.uniform(0.05, 1.0, 300), digits)
    right = rng.random(300) < confidence**2
    assert calibration_error(confidence, right) == pytest.approx(slow_calibration(confidence, right), rel=1e-12)


def test_calibration_error_at_its_ends():
    assert calibration_error([1.0, 1.0], [True, True]) == 0.0
    assert calibration_error([1.0, 1.0], [False, False]) == 1.0
    assert calibration_error([0.5], [True]) == 0.5
    # 0.7 ends a bin, so that these three are in two bins, whose gaps do not cancel
    assert calibration_error([0.7, 0.71, 0.71], [True, False, False]) == pytest.approx((0.3 + 2 * 0.71) / 3)


@pytest.mark.slow
def test_one_row_per_model_and_plain_columns():
    X, y = load_monks(1)
    seen, networks = [], ["NB", "TAN", "FAN", "C2G", "kDB", "ANB"]
    models = [*networks, "AODE", "logistic regression", "class frequencies"]
    frame = compare(X, y, folds=3, models=models, progress=lambda phase, fraction: seen.append((phase, fraction)))
    refits = {name: f"{name} refitted" for name in networks}
    assert list(frame.index) == [line for name in models for line in (name, refits.get(name)) if line]
    assert tuple(frame.columns) == COLUMNS
    assert frame.index.name == "model"
    assert frame.attrs == {"folds": 3, "rows": 432, "notes": [], "refits": refits}
    assert frame.loc["ANB", "accuracy"] == 1.0
    np.testing.assert_allclose(frame["cll"], -432 * frame["log_loss"], rtol=1e-15)
    assert (frame[["fit_seconds", "predict_seconds"]] > 0).all(axis=None)
    for name, refitted in refits.items():
        assert frame.loc[refitted, "fit_seconds"] > frame.loc[name, "fit_seconds"]
    assert [fraction for _, fraction in seen] == sorted(fraction for _, fraction in seen)
    assert seen[0] == ("NB, fold 1 of 3", 0.0)
    assert seen[1][0] == "NB refitted, fold 1 of 3"
    assert seen[-1][1] == 1.0
    again = compare(X, y, folds=3, models=models, n_jobs=1)
    pd.testing.assert_frame_equal(frame[KEPT], again[KEPT], check_exact=True)
    plain = compare(X, y, folds=3, models=["NB", "ANB"], refit=False)
    assert list(plain.index) == ["NB", "ANB"]
    assert plain.attrs["refits"] == {}
    pd.testing.assert_frame_equal(frame.loc[["NB", "ANB"], KEPT], plain[KEPT], check_exact=True)


def test_each_model_is_told_as_soon_as_it_is_known():
    X, y = load_monks(1)
    seen = []
    frame = compare(X, y, folds=2, models=["class frequencies", "NB", "TAN"], each=seen.append)
    names = ["class frequencies", "NB", "NB refitted", "TAN", "TAN refitted"]
    assert [list(part.index) for part in seen] == [names[:1], names[:3], names]
    pd.testing.assert_frame_equal(seen[-1][KEPT], frame[KEPT], check_exact=True)


def test_the_default_models_begin_with_the_quick_ones():
    assert MODELS[:3] == ("class frequencies", "NB", "logistic regression")
    assert {"NB smooth", "TAN smooth", "gradient boosting", "random forest"} < set(MODELS)
    assert MODELS[-1] == "auto"


class TestBudget:
    """A model that would not end in time is left out; what follows is tried."""

    def test_with_a_clock_by_hand(self, monkeypatch):
        X, y = load_monks(1)
        spent = {"now": 0.0}
        monkeypatch.setattr(Budget, "left", property(lambda self: max(self.limit - spent["now"], 0.0)))
        real = NaiveBayesClassifier.predict_proba

        def slow(self, X):
            spent["now"] += 10.0
            return real(self, X)

        monkeypatch.setattr(NaiveBayesClassifier, "predict_proba", slow)
        models = ["class frequencies", "NB", "TAN"]
        done = compare(X, y, folds=2, models=models, refit=False, time_limit=100)
        assert list(done.index) == models
        spent["now"] = 0.0
        cut = compare(X, y, folds=4, models=models, refit=False, time_limit=25)
        assert list(cut.index) == ["class frequencies"]
        assert cut.attrs["notes"] == [
            "NB is left out: nothing was left of the time limit of 25 s",
            "TAN is left out: nothing was left of the time limit of 25 s",
        ]

    def test_a_fold_that_would_end_too_late_is_not_begun(self):
        budget = Budget(1e6)
        assert budget.refusal("a") == ""
        budget.took("a", 2e6)
        assert budget.refusal("a").startswith("a fold takes about 2e+06 s, and ")
        assert budget.refusal("b", expected=3e6).startswith("a fold takes about 3e+06 s, and ")
        assert Budget().refusal("a", expected=1e300) == ""

    @pytest.mark.parametrize("limit", [0, -1.0, float("nan")])
    def test_refuses(self, limit):
        with pytest.raises(ValueError, match="time_limit must be a number of seconds above 0, or None"):
            compare(*load_monks(1), models=["NB"], time_limit=limit)


def test_a_network_is_learned_once_per_fold(monkeypatch):
    X, y = load_monks(1)
    learned = []
    real = TANClassifier.fit

    def fit(self, X, y, **of_rows):
        learned.append(X.shape)
        return real(self, X, y, **of_rows)

    monkeypatch.setattr(TANClassifier, "fit", fit)
    named = ["TAN", "TAN refitted", "TAN smooth"]
    frame = compare(X, y, folds=2, models=named)
    assert learned.count((216, 6)) == 2  # others are of fewer columns, so that kernels are compiled
    alone = compare(X, y, folds=2, models=["TAN smooth"])
    pd.testing.assert_series_equal(frame.loc["TAN smooth", KEPT], alone.loc["TAN smooth", KEPT], check_exact=True)


def test_rows_to_read_by_hand():
    X, y = load_monks(1)
    frame = compare(X, y, folds=2, models=["NB", "NB refitted", "class frequencies", "logistic regression"])
    arities = [X[name].nunique() for name in X]
    assert frame.loc["NB", "rows_to_read"] == 1 + 2 * len(arities)
    for name in ("NB refitted", "logistic regression"):
        assert frame.loc[name, "rows_to_read"] == 1 + sum(arity - 1 for arity in arities)
    assert frame.loc["class frequencies", "rows_to_read"] == 1


@pytest.mark.slow
def test_refit_sums_missing_cells_out_whether_or_not_it_is_a_network():
    X, y = load_monks(1)
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.02)
    frame = compare(X, y, folds=3, models={"wedge": FixedStructureClassifier(WEDGE)})

    def refitted(X, y):
        logit = to_logit(FixedStructureClassifier(WEDGE).fit(X, y))
        assert not logit.equivalent
        return logit.refit(X, y).close()

    with pytest.warns(UserWarning, match="are left out of training"):
        expected = slow(X, y, refitted, slow_coefficients, 3, 0)
    np.testing.assert_allclose(frame.loc["wedge refitted", KEPT].to_numpy(dtype=float), expected, rtol=1e-9)
    (missing,) = frame.attrs["notes"]
    assert "rows have a missing feature" in missing
    assert frame.loc["wedge refitted", "accuracy"] > 0.9


def test_states_unknown_in_training_are_summed_out():
    """A state that only one row has is unknown to the fold that predicts that row, and to no other."""
    X, y = load_monks(1)
    X = X.astype(object)
    X.loc[0, "jacket_color"] = "pink"
    frame = compare(X, y, folds=3, models={"NB": NaiveBayesClassifier(), "wedge": FixedStructureClassifier(WEDGE)})
    assert not frame.attrs["notes"]
    assert np.isfinite(frame["log_loss"]).all()


def test_refit_of_zeros_cannot_be_had():
    X, y = load_lenses()
    frame = compare(X, y, folds=2, models={"ml": NaiveBayesClassifier(parameters="ml"), "NB": NaiveBayesClassifier()})
    assert frame.loc["ml refitted"].isna().all()
    assert frame.drop(index="ml refitted")["accuracy"].notna().all()
    assert frame.loc["NB refitted"].notna().all()
    (note,) = frame.attrs["notes"]
    assert note.startswith("ml refitted is left out: ")


def test_closure_beyond_memory_leaves_the_model_as_it_is(monkeypatch):
    def too_large(_):
        raise MemoryError("the tables would need 16 TB")

    X, y = load_monks(1)
    monkeypatch.setattr(LogitModel, "close", too_large)
    X.loc[5, "is_smiling"] = None
    frame = compare(X, y, folds=3, models={"wedge": FixedStructureClassifier(WEDGE), "NB": NaiveBayesClassifier()})
    assert frame.drop(index="wedge refitted").notna().all(axis=None)
    assert frame.loc["wedge refitted"].isna().all()
    assert frame.attrs["notes"][1:] == ["wedge refitted is left out: the tables would need 16 TB"]


def test_tables_without_counts_are_not_refitted():
    X, y = load_monks(1)
    frame = compare(X, y, folds=2, models={"forest": LogitFANClassifier()})
    assert frame.loc["forest"].notna().all()
    assert frame.loc["forest refitted"].isna().all()
    (note,) = frame.attrs["notes"]
    assert note.startswith("forest refitted is left out: l2='auto' is chosen by cross-validation")


def test_refits_that_do_not_converge_are_counted_once(monkeypatch):
    X, y = load_monks(1)
    real = LogitModel.refit
    monkeypatch.setattr(LogitModel, "refit", lambda self, X, y, w=None, **_: real(self, X, y, w, l2=1.0, max_iter=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = compare(X, y, folds=3, models=["NB"])
    assert frame.loc["NB refitted"].notna().all()
    (note,) = frame.attrs["notes"]
    assert note.startswith("NB refitted: in 3 of 3 folds the refit did not converge: ")


class TestRefittedLines:
    """The lines below the networks are those of RefittedClassifier, and can be named alone."""

    @pytest.mark.slow
    def test_are_those_of_the_estimator(self):
        X, y = load_monks(1)
        X.iloc[3, 2] = None
        base = compare(X, y, folds=3, models=["TAN"])
        named = compare(X, y, folds=3, models=["TAN refitted"])
        own = compare(X, y, folds=3, models={"mine": RefittedClassifier(TANClassifier())})
        assert list(named.index) == ["TAN refitted"]
        assert named.attrs["refits"] == own.attrs["refits"] == {}
        expected = base.loc["TAN refitted", KEPT].to_numpy(dtype=float)
        for frame, line in ((named, "TAN refitted"), (own, "mine")):
            np.testing.assert_allclose(frame.loc[line, KEPT].to_numpy(dtype=float), expected, rtol=1e-12)

    @pytest.mark.parametrize("refit", [True, False])
    def test_named_beside_their_network_are_there_once(self, refit):
        X, y = load_monks(1)
        frame = compare(X, y, folds=2, models=["NB refitted", "TAN refitted", "NB"], refit=refit)
        assert sorted(frame.index) == ["NB", "NB refitted", "TAN refitted"]
        assert frame.attrs["refits"] == {"NB": "NB refitted"}
        assert frame.notna().all(axis=None)

    def test_of_named_refits_that_do_not_converge_are_counted_once(self, monkeypatch):
        X, y = load_monks(1)
        real = LogitModel.refit
        monkeypatch.setattr(LogitModel, "refit", lambda self, X, y, *_, **__: real(self, X, y, l2=1.0, max_iter=1))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            frame = compare(X, y, folds=3, models=["NB refitted"])
        (note,) = frame.attrs["notes"]
        assert note.startswith("NB refitted: in 3 of 3 folds the refit did not converge: ")

    def test_beyond_memory_are_left_out(self, monkeypatch):
        def too_large(_):
            raise MemoryError("the tables would need 16 TB")

        X, y = load_monks(1)
        monkeypatch.setattr(LogitModel, "close", too_large)
        X.loc[5, "is_smiling"] = None
        models = {"wedge": RefittedClassifier(FixedStructureClassifier(WEDGE)), "NB": NaiveBayesClassifier()}
        frame = compare(X, y, folds=3, models=models)
        assert frame.loc["wedge"].isna().all()
        assert frame.loc[["NB", "NB refitted"]].notna().all(axis=None)
        assert "wedge could not be learned: the tables would need 16 TB" in frame.attrs["notes"]


def test_everyone_sees_the_same_states():
    """Median-cut iris: two naive Bayes that differ only in their smoothing predict nearly the same."""
    frame = compare(*load_wine(), folds=5, models=["NB", "CategoricalNB"], refit=False)
    assert abs(frame["accuracy"].diff().iloc[1]) < 0.03
    assert abs(frame["log_loss"].diff().iloc[1]) < 0.05


def test_compilation_is_not_charged():
    X, y = load_wine()
    calls = []

    class Counting(DummyClassifier):
        def fit(self, X, y, sample_weight=None):
            calls.append(len(X))
            return super().fit(X, y, sample_weight)

    compare(X, y, folds=3, models={"counting": Counting()})
    assert len(calls) == 4  # one more than there are folds


def test_own_models():
    X, y = load_iris()
    frame = compare(X, y, folds=5, models={"prior": DummyClassifier(), "K": NaiveBayesClassifier(ess=10)})
    assert list(frame.index) == ["prior", "K", "K refitted"]
    assert math.isnan(frame.loc["prior", "parameters"])
    assert frame.loc["prior", "calibration_error"] == pytest.approx(0.0)
    assert frame.loc["prior", "accuracy"] == pytest.approx(1 / 3)
    assert frame.loc["prior", "log_loss"] == pytest.approx(math.log(3))
    assert frame.loc["prior", "brier"] == pytest.approx(2 / 3)


def test_certain_and_wrong_is_infinitely_wrong():
    X, y = load_iris()
    frame = compare(X, y, folds=3, models={"always": DummyClassifier(strategy="constant", constant="setosa")})
    assert frame.loc["always", "log_loss"] == math.inf


@pytest.mark.slow
def test_any_container():
    X, y = load_iris()
    choice = {"folds": 3, "refit": False, "models": ["NB", "ANB", "logistic regression"]}
    expected = compare(X, y, **choice)["log_loss"]
    polars = pytest.importorskip("polars")
    inputs = [
        (X.to_numpy(), y.to_numpy()),
        (X.to_numpy().tolist(), y.tolist()),
        (polars.from_pandas(X), polars.from_pandas(y)),
        (X.set_axis(range(7, 157)), y.set_axis(range(150, 0, -1))),
        (X.set_axis([0, ("a", 1), "b", 2.5], axis=1), y.astype("category").cat.add_categories("unused")),
    ]
    for features, classes in inputs:
        assert compare(features, classes, **choice)["log_loss"].tolist() == pytest.approx(expected.tolist())


@pytest.mark.slow
@pytest.mark.usefixtures("few_members")
def test_mixed_table_with_missing_and_rare_cells():
    """Missing cells, states that only one fold has, booleans, dates: no model may fail."""
    X, y = load_anes96()
    X = X.copy()
    X.loc[::50, "PID"] = np.nan
    X.loc[::60, "age"] = np.nan
    X["rare"] = "common"
    X.loc[:2, "rare"] = ["once", "twice", None]
    X["flag"] = X["popul"] > 10
    X["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(len(X)) % 3, unit="D")
    X = X[["PID", "age", "rare", "flag", "day", "selfLR"]]
    X["few"] = np.arange(len(X)) % 4
    frame = compare(X, y, folds=4)
    assert (frame["accuracy"].drop("class frequencies") > 0.8).all()
    assert np.isfinite(frame["log_loss"]).all()
    (note,) = frame.attrs["notes"]
    assert note.startswith("32 rows have a missing feature")


def test_rare_class_is_held_out_in_few_folds():
    X, y = load_lenses()
    data = prepare(X, y, None, 10, 0)
    assert data.notes == ["the class 'hard' has only 4 rows, so it is held out in 4 of the 10 folds"]
    assert len(data.splits) == 10
    hard = data.classes.index("hard")
    assert sorted(int((data.codes[test] == hard).sum()) for _, test in data.splits) == [0] * 6 + [1] * 4
    assert all(set(data.codes[train]) == {0, 1, 2} for train, _ in data.splits)
    frame = compare(X, y, models=["NB"])
    assert (frame.attrs["folds"], frame.attrs["notes"]) == (10, data.notes)


def test_rows_that_are_their_whole_class_are_left_out():
    X, y = load_lenses()
    with pytest.warns(UserWarning, match="a single row, which is left out: 'odd', 'strange'"):
        data = prepare(X, ["odd", *y[1:-1], "strange"], np.arange(1.0, 25.0), 3, 0)
    assert set(data.classes) == set(y)
    assert data.weights.tolist() == list(range(2, 24))
    assert [data.classes[code] for code in data.codes] == y[1:-1].tolist()


def test_small_classes_make_fewer_folds():
    X, y = load_lenses()
    rows = np.r_[np.flatnonzero(y == "hard"), np.flatnonzero(y == "soft")[:3]]
    with pytest.warns(UserWarning, match="4 folds instead of 10, because no class has more rows"):
        data = prepare(X.iloc[rows], y.iloc[rows], None, 10, 0)
    assert len(data.splits) == 4
    assert "4 folds instead of 10" in data.notes[0]


@pytest.mark.slow
def test_rows_without_class_are_left_out():
    X, y = load_iris()
    with pytest.warns(UserWarning, match="3 of 153 rows have no class and are left out"):
        frame = compare(pd.concat([X, X.iloc[:3]]), pd.concat([y, pd.Series([None] * 3, name=y.name)]), models=["NB"])
    assert frame.attrs["rows"] == 150
    assert frame.loc["NB", "accuracy"] == compare(X, y, models=["NB"]).loc["NB", "accuracy"]


def test_class_whose_rows_all_have_a_missing_feature():
    """By default it is learned; a model that leaves the rows out is refused, and the others are measured."""
    X = pd.DataFrame({"a": ["x", "y"] * 10, "b": ["u", "u", "v", "v"] * 5})
    y = pd.Series(["p", "q"] * 8 + ["r"] * 4)
    X.loc[16:, "b"] = None
    assert compare(X, y, folds=2, models=["NB"]).loc["NB", "accuracy"] == 1.0
    own = {"loses": NaiveBayesClassifier(handle_missing="marginalize"), "keeps": NaiveBayesClassifier()}
    frame = compare(X, y, folds=2, models=own)
    assert frame.loc[["loses", "loses refitted"]].isna().all(axis=None)
    assert frame.loc["keeps", "accuracy"] == 1.0
    assert "loses could not be learned: the class 'r' of 'class' would be lost" in " ".join(frame.attrs["notes"])


def test_identifiers_are_noted():
    X = pd.DataFrame({"a": ["x", "y"] * 60, "name": [f"n{i}" for i in range(120)]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = compare(X, ["p", "q"] * 60, folds=2, models=["NB"])
    assert frame.attrs["notes"] == [
        "this package's classifiers leave out each column that looks like an identifier: "
        "'name' (120 different values in 120 rows)"
    ]


class TestWeights:
    X, y = load_monks(1)
    weights = np.where(np.arange(432) % 5 == 0, 0.0, np.arange(432) % 3 + 0.5)

    @pytest.mark.slow
    def test_measures_are_weighted(self):
        """Against sums over rows; weights reach a network, its refit, a pipeline and a classifier of one's own."""
        models = {
            "nb": NaiveBayesClassifier(),
            "pipe": make_pipeline(OneHotEncoder(), LogisticRegression()),
            "dummy": DummyClassifier(strategy="prior"),
        }
        frame = compare(self.X, self.y, sample_weight=self.weights, folds=3, models=models)
        assert frame.attrs["rows"] == (self.weights > 0).sum()
        kept = np.flatnonzero(self.weights)
        X, y, weights = self.X.iloc[kept], self.y.iloc[kept], self.weights[kept]
        labels = sorted(set(y))
        for name, model in models.items():
            right = total = loss = brier = 0.0
            bins = {}
            for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
                argument = "logisticregression__sample_weight" if name == "pipe" else "sample_weight"
                fitted = clone(model).fit(X.iloc[train], y.iloc[train], **{argument: weights[train]})
                for p, truth, w in zip(fitted.predict_proba(X.iloc[test]), y.iloc[test], weights[test], strict=True):
                    hit = labels[int(np.argmax(p))] == truth
                    right += w * hit
                    total += w
                    loss -= w * math.log(p[labels.index(truth)])
                    brier += w * sum((p[k] - (labels[k] == truth)) ** 2 for k in range(len(labels)))
                    place = math.ceil(max(p) * 10)
                    bins[place] = bins.get(place, 0.0) + w * (hit - max(p))
            expected = [right / total, loss / total, -loss, brier / total, sum(map(abs, bins.values())) / total]
            measured = frame.loc[name, ["accuracy", "log_loss", "cll", "brier", "calibration_error"]]
            np.testing.assert_allclose(measured.to_numpy(dtype=float), expected, rtol=1e-9)

    def test_that_are_all_one_change_nothing(self):
        ones, plain = (
            compare(self.X, self.y, sample_weight=weights, folds=2, models=["TAN"])
            for weights in (np.ones(432), None)
        )
        pd.testing.assert_frame_equal(ones[KEPT], plain[KEPT])

    def test_who_takes_none_is_named(self):
        own = {"knn": make_pipeline(OneHotEncoder(), KNeighborsClassifier())}
        frame = compare(self.X, self.y, sample_weight=self.weights, folds=2, models=own)
        assert frame.attrs["notes"] == ["knn does not support sample weights and gives all rows the same weight"]

    def test_that_make_no_sense(self):
        with pytest.raises(ValueError, match=r"sample_weight has shape \(3,\), expected \(432,\)"):
            compare(self.X, self.y, sample_weight=[1, 2, 3])


def test_too_large_search_is_a_line_of_its_own(monkeypatch):
    X, y = load_iris()

    def refuse(*_, **__):
        raise SearchTooLargeError("the exact search over 40 features needs 16 TB")

    monkeypatch.setattr(ANBClassifier, "fit", refuse)
    frame = compare(X, y, folds=3, models=["ANB", "NB"])
    assert frame.loc[["ANB", "ANB refitted"]].isna().all(axis=None)
    assert frame.loc[["NB", "NB refitted"]].notna().all(axis=None)
    assert frame.attrs["notes"] == ["ANB could not be learned: the exact search over 40 features needs 16 TB"]


@pytest.mark.slow
def test_really_too_large(monkeypatch):
    monkeypatch.setattr(plan, "available_memory", lambda: 100_000)
    rng = np.random.default_rng(0)
    frame = compare(rng.integers(0, 2, (40, 60)), rng.integers(0, 2, 40), folds=2, models=["NB", "TAN", "ANB"])
    refused = ["ANB", "ANB refitted"]
    assert frame.loc[refused].isna().all(axis=None)
    assert frame.drop(index=refused).notna().all(axis=None)
    assert (
        "ANB could not be learned: scoring all families of 60 features with at most 1 parent needs"
        in frame.attrs["notes"][0]
    )


def test_names_of_models_may_be_in_lower_case():
    X, y = load_iris()
    frame = compare(X, y, folds=2, models=["nb", "Logistic Regression"], refit=False)
    assert list(frame.index) == ["NB", "logistic regression"]
    known = {*MODELS, *rivals(), *refits(), *smooths()}
    assert len({name.lower().replace("-", "").replace(" ", "") for name in known}) == len(known)


PAPERS = {
    "TAN-aCLL": TANClassifier(structure_score="acll", ess=1.0),
    "NaiveBayes": NaiveBayesClassifier(ess=1.0),
    "GBN-BDeu": GBNClassifier(ess=1.0),
    "gGBN-BDeu": GreedyGBNClassifier(ess=1.0),
    "ANB-BDeu": ANBClassifier(ess=1.0),
    "fsANB-BDeu": FSANBClassifier(ess=1.0),
    "MC-DAGGES": MCDAGClassifier(ess=1.0),
    "GBN-CMDL": GreedyGBNClassifier(structure_score="cmdl"),
    "BNC2P": BNC2PClassifier(),
    "TAN-LL": TANClassifier(structure_score="ll", parameters="friedman"),
    "TAN-aCLL uniform": TANClassifier(structure_score=ACLL("uniform"), parameters="acll"),
    "TAN-aCLL Dirichlet": TANClassifier(structure_score=ACLL("dirichlet"), parameters="acll"),
    "C2G": CkGClassifier(k=2),
    "prunedNB": PrunedNaiveBayesClassifier(),
}


PUBLISHED = {
    "anb_table1_accuracy": (
        *("NaiveBayes", "GBN-CMDL", "BNC2P", "TAN-aCLL", "gGBN-BDeu"),
        *("MC-DAG-GES", "GBN-BDeu", "ANB-BDeu", "fsANB-BDeu"),
    ),
    "acll_tables": ("TAN LL", "TAN aCLL uniform", "TAN aCLL Dirichlet"),
    "ckg_table1": ("NB", "TAN", "C2G", "CkG"),
    "lr_table2": ("NB", "prunedNB", "pruned NB", "pNB", "FAN"),
}
"""The classifiers in the tables of the papers, as their columns are headed."""


@pytest.mark.parametrize("table", PUBLISHED)
def test_names_of_the_papers_are_known(table):
    for name in PUBLISHED[table]:
        for spelled in (name, name.upper(), name.lower().replace("-", " ")):
            (known,) = known_names([spelled])
            assert known in {*MODELS, *rivals()}
            assert known_names([known]) == (known,)
    assert known_names(["ckg", "PNB", "TAN-aCLL"]) == ("C2G", "PrunedNB", "TAN-aCLL")


@pytest.mark.slow
def test_what_papers_name_is_compared_under_their_names():
    X, y = load_monks(1)
    given = compare(X, y, folds=2, models=PAPERS, refit=False)
    frame = compare(X, y, folds=2, models=list(PAPERS), refit=False)
    assert [name.replace("-", "").lower() for name in frame.index] == [
        name.replace("-", "").lower() for name in PAPERS
    ]
    np.testing.assert_array_equal(frame["log_loss"], given["log_loss"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"folds": 1}, "folds must be a whole number, 2 or more, not 1"),
        ({"folds": 2.5}, "folds must be a whole number"),
        (
            {"models": ["NB", "SVM"]},
            r"names of models, not \['SVM'\]; known are class frequencies, NB, .*'refitted' or 'smooth'",
        ),
        ({"models": ["NB", "TAN smoth"]}, r"names of models, not \['TAN smoth'\]; did you mean 'TAN smooth'"),
        ({"models": ["forest"]}, r"not \['forest'\]; did you mean 'random forest'\?"),
        ({"models": []}, r"models must be names of models, not \(\); known are class frequencies, NB"),
        ({"models": {}}, "models must name at least one classifier"),
        (
            {"models": {"a": NaiveBayesClassifier(), "a refitted": DummyClassifier()}},
            "two models would be called 'a refitted'",
        ),
        ({"y": ["a"] * 150}, r"two classes or more, but y contains \['a'\]"),
        ({"y": ["a"] * 149 + ["b"]}, "the class 'b' has a single row"),
        ({"y": ["a"] * 75 + ["b"] * 74}, "X has 150 rows, but y has 149"),
    ],
)
def test_refused(change, message):
    X, y = load_iris()
    arguments = {"y": y, "folds": 3} | change
    with pytest.raises(ValueError, match=message):
        compare(X, **arguments)


@pytest.mark.parametrize(
    ("models", "message"),
    [
        (5, "models must be names, or a mapping of names to classifiers, not 5"),
        ({"a": DummyClassifier}, r"models\['a'\] is a class: pass a classifier, such as DummyClassifier\(\)"),
        ({"a": "NB"}, r"models\['a'\] must be a scikit-learn classifier, not 'NB'"),
        ({"a": LinearSVC()}, r"models must be classifiers with predict_proba\(\), but LinearSVC\(\) has none"),
    ],
)
def test_no_models(models, message):
    X, y = load_iris()
    with pytest.raises(TypeError, match=message):
        compare(X, y, folds=3, models=models)


def test_own_models_may_have_probabilities_only_once_they_are_fitted():
    X, y = load_iris()
    stacked = StackingClassifier([("a", GaussianNB())])
    assert not hasattr(stacked, "predict_proba")
    assert compare(X, y, folds=3, models={"stacked": stacked}).loc["stacked", "accuracy"] > 0.8


@pytest.mark.parametrize("model", [NaiveBayesClassifier, TANClassifier])
def test_parameters_of_a_universal_measure_are_those_at_the_most_probable_levels(model):
    X, y = load_iris()
    classifier = model(continuous="universal").fit(X, y)
    expected = 0
    for density in classifier.densities_.values():
        cells = [
            len(classifier.universal_score_.partitions[v].cuts_at(level)) + 1 if v in X else 3
            for v, level in zip(density.variables, density.most_probable, strict=True)
        ]
        expected += (cells[0] - 1) * math.prod(cells[1:])
    assert model_parameters(classifier) == expected > 0


@pytest.mark.parametrize("where", ["fit", "search"])
def test_interrupted(monkeypatch, where):
    """What is finished is kept; a search that ends early at Ctrl-C ends the comparison, too."""

    def fit(*_, **__):
        if where == "fit":
            raise KeyboardInterrupt
        warnings.warn("interrupted: this is the best structure found so far", stacklevel=2)

    monkeypatch.setattr(TANClassifier, "fit", fit)
    X, y = load_monks(1)
    with pytest.raises(InterruptedComparisonError, match="interrupted; not evaluated: TAN, AODE") as stopped:
        compare(X, y, folds=3, models=["NB", "TAN", "AODE"])
    assert isinstance(stopped.value, KeyboardInterrupt)
    assert stopped.value.unfinished == ["TAN", "AODE"]
    expected = compare(X, y, folds=3, models=["NB"])
    frame = stopped.value.frame
    assert frame.attrs == expected.attrs
    pd.testing.assert_frame_equal(frame[KEPT], expected[KEPT])
    with pytest.raises(InterruptedComparisonError) as stopped:
        compare(X, y, folds=3, models=["TAN", "NB"])
    assert stopped.value.frame.empty


def test_handle_missing_goes_with_names():
    X, y = load_monks(1)
    with pytest.raises(TypeError, match="handle_missing= applies only to models given by name"):
        compare(X, y, models={"own": NaiveBayesClassifier()}, handle_missing="own_state")


def test_warnings_that_users_make_errors_stay_such():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="folds instead of"):
            compare(*load_lenses(), folds=16, models=["NB"])


def test_the_module_can_be_called():
    X, y = load_monks(1)
    frame = anbexact.compare(X, y, folds=2, models=["NB"], refit=False)
    pd.testing.assert_frame_equal(
        frame[["accuracy", "log_loss"]],
        anbexact.compare.compare(X, y, folds=2, models=["NB"], refit=False)[["accuracy", "log_loss"]],
    )
    assert inspect.signature(anbexact.compare) == inspect.signature(compare)
    assert not hasattr(anbexact, "Path")
    with pytest.raises(AttributeError, match="no attribute 'comparison'"):
        anbexact.comparison  # noqa: B018  # the access is what is tested


def test_messages_show_classes_as_they_are():
    with pytest.raises(ValueError, match=r"but y contains \[7\]"):
        compare(np.zeros((4, 1)), np.array([7, 7, 7, 7]))
    with pytest.raises(ValueError, match="the class 7 has a single row"):
        compare(np.zeros((4, 1)), np.array([3, 7, 3, 3]))


def test_ranked_probability_score():
    rng = np.random.default_rng(0)
    proba, truth, weights = rng.dirichlet(np.ones(4), 30), rng.integers(0, 4, 30), rng.uniform(0.5, 2.0, 30)
    total = 0.0
    for p, c, w in zip(proba, truth, weights, strict=True):
        total += w * sum((sum(p[: k + 1]) - (c <= k)) ** 2 for k in range(3)) / 3
    assert ranked_probability_score(proba, truth, sample_weight=weights) == pytest.approx(total / weights.sum())


class TestClassesInAnOrder:
    @pytest.fixture(scope="class")
    def table(self):
        rng = np.random.default_rng(1)
        X = pd.DataFrame({"a": rng.integers(0, 4, 90)})
        y = np.array(["mid", "top", "low"])[np.clip(X["a"] // 2 + rng.integers(0, 2, 90), 0, 2)]
        return X, y

    def test_have_two_more_measures(self, table):
        X, y = table
        order = ["low", "mid", "top"]
        how = {"models": ["class frequencies"], "folds": 3}
        found = compare(X, y, ordered_classes=order, **how)
        assert list(found.columns) == [*COLUMNS, *ORDERED_COLUMNS]
        shares = pd.Series(y).value_counts(normalize=True)[order].cumsum().to_numpy()[:-1]
        scores = [((shares - (order.index(c) <= np.arange(2))) ** 2).mean() for c in y]
        assert found["ranked_probability_score"].iloc[0] == pytest.approx(np.mean(scores), abs=2e-3)
        assert found["weighted_kappa"].iloc[0] == pytest.approx(0.0, abs=1e-12)
        as_declared = compare(X, pd.Categorical(y, order, ordered=True), **how)
        assert as_declared["ranked_probability_score"].iloc[0] == found["ranked_probability_score"].iloc[0]
        as_asked = compare(X, pd.Categorical(y, order, ordered=True), ordered_classes=True, **how)
        assert as_asked["ranked_probability_score"].iloc[0] == found["ranked_probability_score"].iloc[0]
        assert list(compare(X, pd.Categorical(y, order), **how).columns) == list(COLUMNS)

    def test_must_all_be_named(self, table):
        with pytest.raises(ValueError, match="lacks 'top'"):
            compare(*table, ordered_classes=["low", "mid"], folds=2, models=["NB"])
