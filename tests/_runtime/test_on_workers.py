"""What runs on joblib's workers gives the same results there."""

import warnings
from bisect import bisect_left

import joblib
import numpy as np
import pandas as pd
import pytest
from real_parts import marked
from strategies import random_problem

from anbexact import (
    ANBClassifier,
    BDeu,
    DiscreteTable,
    FSANBClassifier,
    NaiveBayesClassifier,
    PooledClassifier,
    RefittedClassifier,
    SearchTooLargeError,
    TANClassifier,
    compare,
    relearned_leave_one_out,
)
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.spread import spread, worker_count
from anbexact.classifiers.choosing import sample_size
from anbexact.datasets import load_lenses
from anbexact.models.logit import prior_precision
from anbexact.search import fsanb
from anbexact.search.constraints import make_constraints
from anbexact.search.exact import candidates
from anbexact.search.exact.candidates import Candidates, candidate_lists
from anbexact.search.exact.parent_sets import ListMeans
from anbexact.selection import MMPC, SLL
from anbexact.show.figures.learning import learning_curve

TIMES = ["fit_seconds", "predict_seconds"]


def comparison(**kwargs):
    X, y = load_lenses()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame = compare.compare(X, y, folds=3, models=["NB", "TAN", "logistic regression"], **kwargs)
    return frame, {str(warning.message) for warning in caught}


@pytest.mark.slow
@pytest.mark.parametrize("backend", marked(["loky", "threading", "dask"], dask="distributed"))
def test_comparisons_are_the_same(backend):
    expected, warned = comparison()
    seen = []
    settings = {"n_jobs": 2}
    client = None
    if backend == "dask":
        import distributed

        client = distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None)
        settings = {}
    try:
        with joblib.parallel_config(backend=backend, **settings):
            frame, given = comparison(progress=lambda phase, fraction: seen.append((phase, fraction)))
    finally:
        if client is not None:
            client.shutdown()
    pd.testing.assert_frame_equal(frame.drop(columns=TIMES), expected.drop(columns=TIMES), check_exact=True)
    assert frame.attrs == expected.attrs
    assert given == warned
    fractions = [fraction for _, fraction in seen]
    assert fractions == sorted(fractions)
    assert seen[0] == ("NB, fold 1 of 3", pytest.approx(1 / 9))
    assert fractions[-1] == 1.0


def pooled(X, y, members):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pool = PooledClassifier(members, folds=3).fit(X, y)
    return pool, {str(warning.message) for warning in caught}


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_pools_are_the_same(backend):
    """One of the members is refused, and two start from the same network."""
    X, y = load_lenses()
    members = [
        ("NB", NaiveBayesClassifier(ess=1.0)),
        ("refused", TANClassifier(categories={"no such column": ["a"]})),
        ("NB refitted", RefittedClassifier(NaiveBayesClassifier(ess=1.0))),
        ("ANB", ANBClassifier(ess=1.0)),
    ]
    expected, warned = pooled(X, y, members)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        found, given = pooled(X, y, members)
    pd.testing.assert_frame_equal(found.members_.drop(columns="seconds"), expected.members_.drop(columns="seconds"))
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
    assert given == warned
    assert (found.members_["seconds"] > 0).all()
    assert found.members_.loc["refused", "outcome"].startswith("refused")


@pytest.mark.slow
def test_a_pool_without_members_is_refused_on_workers():
    X, y = load_lenses()
    members = [("a", TANClassifier(categories={"x": ["a"]})), ("b", NaiveBayesClassifier(categories={"x": ["a"]}))]
    with joblib.parallel_config(backend="loky", n_jobs=2), pytest.raises(ValueError, match="'x'"):
        PooledClassifier(members).fit(X, y)


@pytest.mark.slow
def test_learning_curves_are_the_same():
    X, y = load_lenses()
    expected = learning_curve(TANClassifier(), X, y, (8, 12), 3, 0)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        found = learning_curve(TANClassifier(), X, y, (8, 12), 3, 0)
    pd.testing.assert_frame_equal(found, expected, check_exact=True)
    assert len(found) == 2 * 2 * 3


@pytest.mark.slow
def test_rows_left_out_are_the_same():
    table = DiscreteTable.from_frame(*load_lenses())
    expected = relearned_leave_one_out(table)
    told = []
    with joblib.parallel_config(backend="loky", n_jobs=2):
        found = relearned_leave_one_out(table, required=iter(()), progress=lambda *given: told.append(given))
    assert (found.log_loss, found.accuracy) == (expected.log_loss, expected.accuracy)
    pd.testing.assert_frame_equal(found.rows, expected.rows)
    pd.testing.assert_frame_equal(found.arcs, expected.arcs)
    assert [phase for phase, _ in told] == ["rows left out"] * 8
    assert told[-1][1] == 1.0


def numbers(seed, n_rows):
    """Four numeric features and a class of three labels that depends on them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=list("abcd"))
    labels = np.digitize(X["a"] + X["b"] * X["c"] + rng.normal(size=n_rows), [-0.5, 0.5])
    return X, pd.Series(labels, name="class")


FITS = {
    "equivalent sample sizes": lambda: ANBClassifier(),
    "selection of features": lambda: FSANBClassifier(),
    "strength of a prior": lambda: RefittedClassifier(TANClassifier(ess=1.0, n_jobs=1)),
}


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading"])
@pytest.mark.parametrize("model", FITS)
def test_choices_in_folds_are_the_same(backend, model, monkeypatch):
    X, y = numbers(1, 120)
    expected = FITS[model]().fit(X, y)
    asked = []
    for module in (sample_size, prior_precision, fsanb):
        monkeypatch.setattr(module, "spread", lambda *given: asked.append(worker_count()) or spread(*given))
    with joblib.parallel_config(backend=backend, n_jobs=2):
        found = FITS[model]().fit(X, y)
    assert set(asked) == {2}
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))


def lists_of(table, *, largest=None, **given):
    """Return candidate lists of up to two parents by one thread."""
    constraints = make_constraints(table.vocabulary.features, 2, (), ())
    means = ListMeans(**{"threads": 1, "deadline": Deadline(), "memory": 1e9, "most_sets": 1e6, **given})
    return candidate_lists(table, BDeu(), constraints, means, largest=largest)


def assert_same_lists(found, expected):
    assert (found.limit, found.largest) == (expected.limit, expected.largest) == ("", None)
    for own, other in zip(found.lists, expected.lists, strict=True):
        np.testing.assert_array_equal(own.masks, other.masks)
        np.testing.assert_array_equal(own.scores, other.scores)
        assert (own.scored, own.limit, own.beyond) == (other.scored, other.limit, other.beyond)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_candidate_lists_are_the_same(backend):
    table = random_problem(5, 6, n_rows=100).table
    expected = lists_of(table)
    told = []
    with joblib.parallel_config(backend=backend, n_jobs=2):
        found = lists_of(table, progress=lambda *given: told.append(given))
    assert_same_lists(found, expected)
    assert told == [("candidate parent sets", pytest.approx(k / 6)) for k in range(1, 7)]


def test_lists_that_no_worker_has_room_for_are_made_here(monkeypatch):
    table = random_problem(5, 6, n_rows=100).table
    expected = lists_of(table)
    sizes = np.geomspace(1e4, 1e8, 60)
    needed = sizes[bisect_left(sizes, True, key=lambda size: fits(table, size))]
    asked = candidates.lists_of_workers
    made = []
    monkeypatch.setattr(candidates, "lists_of_workers", lambda *given: made.extend(asked(*given)) or made)
    with joblib.parallel_config(backend="threading", n_jobs=8):
        assert_same_lists(lists_of(table, memory=needed), expected)
    assert made == [None] * 6


def fits(table, memory):
    try:
        return not lists_of(table, memory=memory).limit
    except SearchTooLargeError:
        return False


@pytest.mark.parametrize(
    "limits",
    [{"threads": 2}, {"deadline": Deadline(60)}, {"most_sets": 10}, {"largest": 1}],
    ids=lambda limits: next(iter(limits)),
)
def test_lists_that_a_limit_may_end_are_made_here(limits, monkeypatch):
    """So are lists for which as many threads are there as workers."""
    table = random_problem(5, 6, n_rows=100).table
    monkeypatch.setattr(Candidates, "_ask_workers", lambda *_: pytest.fail("workers were asked"))
    with joblib.parallel_config(backend="threading", n_jobs=2):
        lists_of(table, **limits)


@pytest.mark.slow
@pytest.mark.parametrize("search", [MMPC(), SLL()])
def test_searches_for_parents_and_children_are_the_same(search):
    table = random_problem(5, 5, n_rows=200).table
    names = table.vocabulary.names
    expected = [search.parents_children(table, name) for name in names]
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert [search.parents_children(table, name) for name in names] == expected
    assert any(expected)
