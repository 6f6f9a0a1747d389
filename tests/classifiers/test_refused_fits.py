"""A fit that is refused, fails or is interrupted leaves its object as it was: fitted as before, or unfitted."""

import copy
import inspect
import os
import sys
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sources import SOURCES
from tiers import repeats

import anbexact
from anbexact import (
    ANBClassifier,
    AutoClassifier,
    GBNClassifier,
    NaiveBayesClassifier,
    PooledClassifier,
    RefittedClassifier,
)
from anbexact._runtime.warn import warn
from anbexact.classifiers import AdditiveClassifier, FixedStructureClassifier, TANClassifier
from anbexact.classifiers.registry import CLASSIFIERS
from anbexact.compare.kde import KernelNaiveBayes
from anbexact.conformal import FullConformalClassifier, SplitConformalClassifier
from anbexact.discretize import MDLPDiscretizer, MedianDiscretizer, MODLDiscretizer, MODLGrouper
from anbexact.models.model import Model
from anbexact.selection import BayesFactorSelector
from anbexact.tables.cuts.quantiles import QuantileDiscretizer

NAMES = ["fever", "cough", "pulse"]
PACKAGE = f"{Path(anbexact.__file__).parent}{os.sep}"
"""Where the functions of the package are; those of others may be called once only, to fill their caches."""


def rows(seed, n=60):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({name: rng.integers(0, 3, n).astype(float) for name in NAMES})
    return X, pd.Series(np.where(X["fever"] + rng.normal(size=n) > 1, "ill", "well"), name="c")


def unfitted(name):
    """Return an unfitted estimator."""
    if name == "FixedStructureClassifier":
        return FixedStructureClassifier({"c": [], "fever": ["c"], "cough": ["c"], "pulse": ["c", "fever"]}, l2=1.0)
    if name == "PooledClassifier":
        return PooledClassifier([NaiveBayesClassifier(), TANClassifier()], ridge=1.0, folds=2)
    if name == "AutoClassifier":
        return AutoClassifier(1e-9)  # learns one model
    if name in OTHERS:
        return OTHERS[name]()
    return CLASSIFIERS[name].estimator()


OTHERS = {
    of.__name__: of
    for of in (
        RefittedClassifier,
        AdditiveClassifier,
        KernelNaiveBayes,
        FullConformalClassifier,
        SplitConformalClassifier,
        MDLPDiscretizer,
        MODLDiscretizer,
        MedianDiscretizer,
        MODLGrouper,
        QuantileDiscretizer,
        BayesFactorSelector,
    )
}
ALL = [*CLASSIFIERS, *OTHERS]


def test_every_estimator_is_among_them():
    found = {
        value.__name__
        for module in SOURCES
        if not module.endswith("__main__") and "adapters" not in module
        for value in vars(import_module(module)).values()
        if isinstance(value, type) and issubclass(value, BaseEstimator) and value.__module__.startswith("anbexact")
        if "anbexact" in getattr(value, "fit", print).__module__ and not inspect.isabstract(value)
    }
    assert found == set(ALL)


def unchanged(estimator, action, refused=Exception):
    """Do what must fail, and assert that every attribute is the same object as before."""
    before = dict(vars(estimator))
    with pytest.raises(refused):
        action()
    after = vars(estimator)
    assert list(after) == list(before)
    assert all(after[name] is value for name, value in before.items())


def reversed_rows(seed):
    """Return rows whose columns have another order and other values."""
    X, y = rows(seed)
    return X[NAMES[::-1]] + 1.0, y


def calls_until(action, last=np.inf, error=None):
    """Count the calls of functions of the package while something is done; raise an error in one of them.

    Generators are left out: closing one counts as a call too, and Python drops what is raised then.
    """
    n_calls = 0

    def count(frame, event, _):
        nonlocal n_calls
        code = frame.f_code
        is_function = not (code.co_name.startswith("__") or code.co_flags & inspect.CO_GENERATOR)
        if event == "call" and is_function and code.co_filename.startswith(PACKAGE):
            n_calls += 1
            if n_calls == last:
                raise error

    usual = sys.getprofile()
    sys.setprofile(count)
    try:
        action()
    except SystemError:  # what numba makes of an error while it loads a kernel
        if n_calls < last:
            raise
        raise error from None
    finally:
        sys.setprofile(usual)
    return n_calls


def said(estimator, way, X):
    """Return what an estimator says, as bytes, and the names that it expects."""
    found = getattr(estimator, way)(*([] if way == "get_support" else [X]))
    names = getattr(estimator, "feature_names_in_", np.array([]))
    return np.asarray(found).astype(str).tobytes(), names.tolist()


class Interrupted:
    """Interrupts from the keyboard when an estimator of a class has just stored one of its attributes."""

    def __init__(self, monkeypatch, of):
        self.n_stored, self.last = 0, np.inf
        set_attribute = of.__setattr__

        def store(instance, name, value):
            set_attribute(instance, name, value)
            if name != "__dict__":
                self.n_stored += 1
                if self.n_stored == self.last:
                    raise KeyboardInterrupt

        monkeypatch.setattr(of, "__setattr__", store)

    def after(self, last):
        self.n_stored, self.last = 0, last


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ALL)
class TestEveryEstimator:
    def test_refused_rows(self, name):
        X, y = reversed_rows(1)
        holed = y.astype(object).copy()
        holed[3] = None
        for estimator in (unfitted(name), unfitted(name).fit(*rows(0))):
            if name not in ("MedianDiscretizer", "QuantileDiscretizer"):  # which do not look at the classes
                unchanged(estimator, lambda model=estimator: model.fit(X, y[:-1]))
                unchanged(estimator, lambda model=estimator: model.fit(X, holed))
            if "sample_weight" in inspect.signature(estimator.fit).parameters:
                for weights in (np.full(len(y), -1.0), np.ones(3)):
                    unchanged(estimator, lambda model=estimator, w=weights: model.fit(X, y, sample_weight=w))
            unchanged(estimator, lambda model=estimator: model.fit(X.iloc[:0], y[:0]))

    def test_refused_parameters(self, name):
        fitted = unfitted(name).fit(*rows(0))
        wrong = {
            "n_jobs": "many",
            "method": "none",
            "max_bins": -1,
            "l2": -1.0,
            "folds": 1,
            "smooth": "?",
            "calibration": 2.0,
        }
        for parameter in wrong.keys() & fitted.get_params(deep=False).keys():
            right = getattr(fitted, parameter)
            fitted.set_params(**{parameter: wrong[parameter]})
            unchanged(fitted, lambda: fitted.fit(*reversed_rows(1)))
            fitted.set_params(**{parameter: right})

    def test_interrupts(self, name, monkeypatch):
        before, after = rows(0), reversed_rows(1)
        estimator = unfitted(name).fit(*before)
        fresh = unfitted(name)
        interrupted = Interrupted(monkeypatch, type(estimator))
        copied = clone(estimator)
        interrupted.after(np.inf)
        copied.fit(*after)
        n_stored = interrupted.n_stored
        assert n_stored > 0
        for k in {n_stored, (n_stored + 1) // 2}:
            for model in (estimator, fresh):
                interrupted.after(k)
                unchanged(model, lambda of=model: of.fit(*after), KeyboardInterrupt)

    def test_errors_and_interrupts_at_any_moment(self, name, monkeypatch):
        """Memory runs out, or Ctrl-C is pressed, when some function of the package begins."""
        fitted, fresh, (X, _) = unfitted(name).fit(*rows(0)), unfitted(name), rows(2)
        ways = [way for way in ("predict_proba", "transform", "get_support") if hasattr(fitted, way)]
        before = [said(fitted, way, X) for way in ways]
        clone(fitted).fit(*reversed_rows(1))  # which may load kernels: calls that no later fit makes
        n_calls = calls_until(lambda: clone(fitted).fit(*reversed_rows(1)))
        assert n_calls > 5
        rng = np.random.default_rng(len(name))
        leaves_out = name in ("PooledClassifier", "AutoClassifier")  # a model without memory
        for k in rng.integers(1, 9 * n_calls // 10, len(repeats(3))).tolist():
            for error in (KeyboardInterrupt,) if leaves_out else (MemoryError, KeyboardInterrupt):
                for model in (fitted, fresh):
                    unchanged(
                        model,
                        lambda of=model, e=error, k=k: calls_until(lambda: of.fit(*reversed_rows(1)), k, e),
                        error,
                    )
        assert [said(fitted, way, X) for way in ways] == before

    def test_unknown_parameters(self, name):
        """The known ones among them are not set either."""
        for model in (unfitted(name), unfitted(name).fit(*rows(0))):
            known = dict.fromkeys(model.get_params(deep=False), "another value")
            unchanged(model, lambda of=model, known=known: of.set_params(**known, unknown=1), ValueError)

    def test_added_rows(self, name):
        estimator = unfitted(name)
        if not hasattr(estimator, "partial_fit"):
            return
        X, y = rows(0)
        unchanged(estimator, lambda: estimator.partial_fit(X, y[:-1]))
        estimator.fit(X, y)
        unchanged(estimator, lambda: estimator.partial_fit(X, y[:-1]))
        unchanged(estimator, lambda: estimator.partial_fit(X + 5.0, y))
        unchanged(estimator, lambda: estimator.partial_fit(X, y, sample_weight=np.full(len(y), -1.0)))
        if getattr(estimator.model_, "counts", {}) is None or type(estimator.model_).add is Model.add:
            # to which no rows can be added
            unchanged(estimator, lambda: estimator.partial_fit(X, y))
            return
        before = said(estimator, "predict_proba", X)
        n_calls = calls_until(lambda: copy.deepcopy(estimator).partial_fit(X, y))
        for k in np.random.default_rng(len(name)).integers(1, 9 * n_calls // 10, len(repeats(3))).tolist():
            for error in (MemoryError, KeyboardInterrupt):
                unchanged(
                    estimator, lambda k=k, e=error: calls_until(lambda: estimator.partial_fit(X, y), k, e), error
                )
        assert said(estimator, "predict_proba", X) == before

    def test_a_model_that_is_none(self, name):
        estimator = unfitted(name)
        if not hasattr(estimator, "set_model"):
            return
        unchanged(estimator, lambda: estimator.set_model("a network"))
        estimator.fit(*rows(0))
        unchanged(estimator, lambda: estimator.set_model("a network"))


def test_a_refused_class_after_columns_in_another_order():
    """The network of the first fit must not stand under the names of the second: .042 instead of .970."""
    rng = np.random.default_rng(0)
    sick = rng.random(400) < 0.5
    X = pd.DataFrame({"fever": sick ^ (rng.random(400) < 0.05), "cough": rng.random(400) < 0.2})
    model = NaiveBayesClassifier(ess=1.0).fit(X, sick)
    case = pd.DataFrame({"fever": [True], "cough": [False]})
    right = model.predict_proba(case)
    assert right[0, 1] > 0.9
    unlabelled = pd.Series(sick).astype(object).where(np.arange(400) > 0, None)
    with pytest.raises(ValueError, match="missing"):
        model.fit(X[["cough", "fever"]], unlabelled)
    np.testing.assert_array_equal(model.predict_proba(case), right)
    assert model.feature_names_in_.tolist() == ["fever", "cough"]


@pytest.mark.parametrize("model", [ANBClassifier(), GBNClassifier()])
def test_a_search_that_is_too_large(model):
    model = clone(model).fit(*rows(0))
    model.set_params(memory_limit=10.0)
    unchanged(model, lambda: model.fit(*reversed_rows(1)), MemoryError)


@pytest.mark.parametrize("model", [RefittedClassifier, AdditiveClassifier])
def test_a_refit_that_fails(model, monkeypatch):
    fitted = model(NaiveBayesClassifier()).fit(*rows(0))
    monkeypatch.setattr(model, "_refit", lambda *_, **__: 1 / 0)
    unchanged(fitted, lambda: fitted.fit(*reversed_rows(1)), ZeroDivisionError)


def test_a_refit_that_no_network_of_the_structure_has():
    model = FixedStructureClassifier({"c": [], "fever": ["c"], "cough": ["c"], "pulse": ["c", "fever", "cough"]})
    model.fit(*rows(0)).set_params(l2=1.0)
    unchanged(model, lambda: model.fit(*reversed_rows(1)), ValueError)


def test_a_warning_that_is_an_error(monkeypatch):
    """The last thing that a pool does is to warn of members that are missing."""
    model = PooledClassifier([NaiveBayesClassifier(), TANClassifier()], folds=2).fit(*rows(0))
    monkeypatch.setattr(PooledClassifier, "_tell", lambda *_: warn("a member is missing"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        unchanged(model, lambda: model.fit(*reversed_rows(1)), UserWarning)


def test_merging_with_others_of_which_one_is_refused():
    X, y = rows(0)
    model = NaiveBayesClassifier().fit(X, y)
    unchanged(model, lambda: model.merge(model.without_rows(), TANClassifier().fit(X, y)), ValueError)


def test_unknown_parameters_of_the_network():
    model = RefittedClassifier()
    unchanged(model, lambda: model.set_params(estimator__unknown=1), ValueError)
