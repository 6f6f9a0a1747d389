"""What has one value for every row has it in the order of the rows, and under their labels."""

import inspect
import warnings
from itertools import cycle

import numpy as np
import pandas as pd
import polars as pl
import pytest

from anbexact import (
    AdditiveClassifier,
    ANBClassifier,
    NaiveBayesClassifier,
    PooledClassifier,
    RefittedClassifier,
    TANClassifier,
)
from anbexact.adapters import most_probable_explanations, posterior
from anbexact.classifiers import AODEClassifier, AveragedANBClassifier
from anbexact.conformal import FullConformalClassifier, SplitConformalClassifier
from anbexact.datasets import load_anes96
from anbexact.explanations.local import ByRow

COLUMNS = ["PID", "ClinLR", "DoleLR", "age"]
COSTS = [[0.0, 1.0], [2.0, 0.0]]


def explained(model, X):
    return model.explain(X).to_frame()


CALLS = {
    "predict": lambda model, X: model.predict(X),
    "predict_proba": lambda model, X: model.predict_proba(X),
    "predict_log_proba": lambda model, X: model.predict_log_proba(X),
    "predict_proba_interval": lambda model, X: model.predict_proba_interval(X, draws=50),
    "decide": lambda model, X: model.decide(X, costs=COSTS),
    "explain": explained,
    "explain_local": lambda model, X: model.explain_local(X),
    "shapley_values": lambda model, X: model.shapley_values(X),
    "sufficient_reasons": lambda model, X: model.sufficient_reasons(X),
    "nearest_change": lambda model, X: model.nearest_change(X),
    "next_question": lambda model, X: model.next_question(X),
    "tornado": lambda model, X: model.tornado(X),
    "tornado_of_entries": lambda model, X: model.tornado_of_entries(X, odds=2.0),
    "what_if": lambda model, X: model.what_if(X, {"PID": "independent"}),
    "log_evidence": lambda model, X: model.log_evidence(X),
    "predict_set": lambda model, X: model.predict_set(X).sets,
    "p_values": lambda model, X: model.p_values(X),
    "posterior": lambda model, X: posterior(model, ["vote"], X),
    "most_probable_explanations": lambda model, X: most_probable_explanations(model, X).log_joint,
}
NOT_BY_ROW = {"fit", "partial_fit", "score", "fidelity", "drift", "explain_global", "adjust_class_prior", "to_logit"}
"""Methods that take rows, and return nothing for each of them."""
HIDDEN = {"next_question", "posterior", "most_probable_explanations"}
"""Those that ask about cells that are missing."""
MODELS = {
    "tree": TANClassifier(),
    "exact": ANBClassifier(),
    "refit": RefittedClassifier(NaiveBayesClassifier(), l2=1.0),
    "smooth": AdditiveClassifier(TANClassifier(), smooth=1.0, intervals=6, ordered=["PID"]),
    "pool": PooledClassifier([("nb", NaiveBayesClassifier()), ("tan", TANClassifier())]),
    "aode": AODEClassifier(),
    "average": AveragedANBClassifier(),
    "full conformal": FullConformalClassifier(ANBClassifier(ess=1.0, discretizer="equal_frequency")),
    "split conformal": SplitConformalClassifier(NaiveBayesClassifier()),
}
INDEXES = {
    "text": lambda n: pd.Index([f"patient {k}" for k in range(n)]),
    "numbers": lambda n: pd.Index(range(100, 100 + n), name="id"),
    "times": lambda n: pd.date_range("2024-01-01", periods=n),
    "two levels": lambda n: pd.MultiIndex.from_tuples([(k % 2, f"p{k}") for k in range(n)]),
}


@pytest.fixture(scope="module")
def fitted():
    """The fitted models, and rows in no order."""
    X, y = load_anes96()
    rng = np.random.default_rng(0)
    X, y = X[COLUMNS], y
    chosen = rng.permutation(len(X))[:250]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        models = {name: model.fit(X.iloc[chosen], y.iloc[chosen]) for name, model in MODELS.items()}
    return models, X.iloc[rng.permutation(len(X))[:7]]


def methods_of(model):
    """Names of the public methods that take rows."""
    found = set()
    for name in dir(type(model)):
        method = getattr(type(model), name)
        if name.startswith("_") or not inspect.isfunction(method):
            continue
        if list(inspect.signature(method).parameters)[1:2] == ["X"] and hasattr(model, name):
            found.add(name)
    return found


def labels_and_rows(found, n_rows):
    """The labels, or None, and what there is of every row."""
    if isinstance(found, ByRow):
        found = found.frame
    if isinstance(found, np.ndarray):
        return None, [np.asarray(of_row) for of_row in found]
    if isinstance(found, pd.DataFrame) and "row" in found:
        labels = list(dict.fromkeys(found["row"]))
        place = {label: k for k, label in enumerate(labels)}
        places = found["row"].map(place)
        assert places.is_monotonic_increasing
        return labels, [of.drop(columns="row").reset_index(drop=True) for _, of in found.groupby(places)]
    assert len(found) == n_rows
    return found.index.tolist(), [found.iloc[k] for k in range(n_rows)]


def same(one, other):
    if isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other, check_dtype=False, rtol=1e-9)
    elif isinstance(one, pd.Series):
        pd.testing.assert_series_equal(one, other, check_names=False, rtol=1e-9)
    elif np.asarray(one).dtype.kind == "f":
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    else:
        assert np.array_equal(one, other)


@pytest.mark.parametrize("call", CALLS)
def test_of_any_method_are_in_the_order_of_the_rows(call, fitted):
    """Every model with another kind of index."""
    models, rows = fitted
    asked = 0
    for (name, model), index in zip(models.items(), cycle(INDEXES.values()), strict=False):
        if call not in methods_of(model) and not (name == "tree" and call in HIDDEN):
            continue
        asked += 1
        X = rows.set_axis(index(len(rows)), axis=0)
        if call in HIDDEN:
            X = X.astype(object).assign(PID=None)
        turned = X.iloc[np.random.default_rng(1).permutation(len(X))]
        labels, found = labels_and_rows(CALLS[call](model, X), len(X))
        again, other = labels_and_rows(CALLS[call](model, turned), len(X))
        assert len(found) == len(other) == len(X)
        if labels is not None:
            assert labels == X.index.tolist(), name
            assert again == turned.index.tolist(), name
        for k, label in enumerate(turned.index):
            same(found[X.index.get_loc(label)], other[k])
        plain, _ = labels_and_rows(CALLS[call](model, pl.from_pandas(X.reset_index(drop=True))), len(X))
        assert plain is None or plain == list(range(len(X)))
    assert asked


def test_every_method_that_takes_rows_is_asked(fitted):
    models, _ = fitted
    for model in models.values():
        assert methods_of(model) <= {*CALLS, *NOT_BY_ROW}


@pytest.mark.parametrize("call", ["explain", "explain_local", "nearest_change", "decide", "tornado", "what_if"])
def test_labels_may_occur_twice(call, fitted):
    models, rows = fitted
    X = rows.set_axis(["a", "b", "a", "c", "b", "a", "a"], axis=0)
    found = CALLS[call](models["tree"], X)
    found = found.frame if isinstance(found, ByRow) else found
    labels = found["row"] if "row" in found else pd.Series(found.index)
    changes = labels[labels != labels.shift()].tolist()
    assert changes == ["a", "b", "a", "c", "b", "a"]
