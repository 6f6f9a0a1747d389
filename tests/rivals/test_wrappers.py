"""FSSJ, BSEJ and TAN-HC: against climbs by leave-one-out row by row, over groups and arcs written out."""

import numpy as np
import oracles
import pytest
from deadlines import watch
from strategies import Problem, random_problem, table_of
from tiers import repeats

import anbexact
import anbexact.rivals.wrappers_search as module
from anbexact import PooledClassifier
from anbexact.classifiers import BSEJClassifier, FSSJClassifier, NaiveBayesClassifier, TANHCClassifier
from anbexact.compare import compare
from anbexact.datasets import load_monks
from anbexact.rivals.wrappers_search import add_tree_arcs, join_backwards, join_forwards, learn_greedily

MODELS = {"FSSJ": FSSJClassifier, "BSEJ": BSEJClassifier, "TAN-HC": TANHCClassifier}


def distinct(seed, n, weights="real"):
    """A problem whose rows all differ and weigh 1 or more."""
    problem = random_problem(seed, n, n_rows=40, max_arity=3, n_classes=2, weights=weights)
    together = {}
    for row, weight in zip(problem.rows, problem.weights, strict=True):
        together[row] = together.get(row, 0.0) + 1 + min(weight, 20.0)
    return Problem(list(together), list(together.values()), problem.arities)


def of_groups(groups, n):
    """Joined features as a graph: each has those of its group before it as parents."""
    graph = dict.fromkeys(range(n + 1), ())
    for group in groups:
        for place, v in enumerate(sorted(group)):
            graph[v] = (n, *sorted(group)[:place])
    return graph


def forwards(groups, n):
    for v in set(range(n)).difference(*groups):
        yield groups | {frozenset([v])}
        yield from (groups - {group} | {group | {v}} for group in groups)


def backwards(groups):
    for group in groups:
        for v in group:
            yield groups - {group} | ({group - {v}} if len(group) > 1 else set())
        yield from (groups - {group, other} | {group | other} for other in groups if other != group)


def arcs(graph, n):
    for v in range(n):
        for p in range(n):
            if graph[v] == (n,) and p != v and oracles.is_acyclic({**graph, v: (n, p)}):
                yield {**graph, v: (n, p)}


def climbed(state, steps, value):
    while True:
        best = max(steps(state), key=value, default=state)
        if value(best) <= value(state) + 1e-9 * abs(value(state)):
            return value(state)
        state = best


def expected(name, problem, ess):
    n = problem.n

    def value(graph):
        return oracles.leave_one_out(problem.rows, problem.weights, problem.arities, graph, ess)

    if name == "TAN-HC":
        start = dict.fromkeys(range(n), (n,)) | {n: ()}
        return climbed(start, lambda graph: arcs(graph, n), value)
    start = frozenset() if name == "FSSJ" else frozenset(frozenset([v]) for v in range(n))
    if name == "BSEJ":
        return climbed(
            start, lambda groups: map(frozenset, backwards(groups)), lambda groups: value(of_groups(groups, n))
        )
    return climbed(
        start, lambda groups: map(frozenset, forwards(groups, n)), lambda groups: value(of_groups(groups, n))
    )


STEPS = {"FSSJ": join_forwards, "BSEJ": join_backwards, "TAN-HC": add_tree_arcs}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("weights", [pytest.param("ones", marks=pytest.mark.slow), "real"])
def test_climbs_as_high_as_the_formula(name, weights):
    for seed in repeats(3):
        problem = distinct(seed, 4, weights)
        table = table_of(problem.rows, problem.weights, problem.arities)
        features = table.vocabulary.features
        start = {} if name == "FSSJ" else dict.fromkeys(features, ())
        families, value = learn_greedily(table, start, STEPS[name], ess=2.0)
        assert value == pytest.approx(expected(name, problem, 2.0), rel=1e-8)
        place = {f"f{v}": v for v in range(4)}
        graph = dict.fromkeys(range(5), ()) | {place[f]: (4, *(place[p] for p in of)) for f, of in families.items()}
        found = oracles.leave_one_out(problem.rows, problem.weights, problem.arities, graph, 2.0)
        assert value == pytest.approx(found, rel=1e-8)


@pytest.mark.parametrize("name", MODELS)
def test_time_limit(name, monkeypatch):
    deadlines = watch(monkeypatch, module)
    X, y = load_monks(1)
    model = MODELS[name](ess=1.0, time_limit=1e-9).fit(X, y)
    naive = () if name == "FSSJ" else tuple(X.columns)
    assert model.structure_.children("is_monk") == naive
    assert deadlines
    assert max(deadline.late for deadline in deadlines) < 10


@pytest.mark.parametrize("name", MODELS)
def test_classifier(name, tmp_path):
    X, y = load_monks(1)
    model = MODELS[name](ess=1.0, n_jobs=1).fit(X, y)
    model.save(tmp_path / "m.json")
    loaded = anbexact.load(tmp_path / "m.json")
    assert loaded.structure_ == model.structure_
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    pool = PooledClassifier([NaiveBayesClassifier(ess=1.0), MODELS[name](ess=1.0)], n_jobs=1).fit(X, y)
    assert pool.score(X, y) >= NaiveBayesClassifier(ess=1.0).fit(X, y).score(X, y)
    assert list(compare(X, y, folds=2, models=[name], refit=False).index) == [name]


@pytest.mark.parametrize("model", [FSSJClassifier, BSEJClassifier])
def test_groups_stay_within_limits(model, monkeypatch):
    X, y = load_monks(3)
    joined = model(ess=1.0).fit(X, y)
    assert max(map(len, joined.groups_of_features_)) > 1
    monkeypatch.setattr(module, "MOST_CELLS", 8)
    alone = model(ess=1.0).fit(X, y)
    assert max(map(len, alone.groups_of_features_)) == 1


@pytest.mark.parametrize("model", [FSSJClassifier, BSEJClassifier])
def test_joined_features_are_one_variable(model):
    """The network of a group is its joint table given the class, unseen states included."""
    X, y = load_monks(1)
    classifier = model(ess=1.0, n_jobs=1).fit(X, y)
    joint = np.zeros((len(X), 2))
    for k, label in enumerate(classifier.classes_):
        own = (y == label).to_numpy()
        joint[:, k] = np.log((own.sum() + 0.5) / (len(X) + 1))
        for group in classifier.groups_of_features_:
            size = 2 * np.prod([X[name].nunique() for name in group])
            alike = (
                (X[list(group)].to_numpy()[:, None] == X[list(group)].to_numpy()[None, own]).all(axis=2).sum(axis=1)
            )
            joint[:, k] += np.log((alike + 1 / size) / (own.sum() + 0.5))
    np.testing.assert_allclose(
        classifier.predict_log_proba(X), joint - np.logaddexp.reduce(joint, axis=1, keepdims=True), rtol=1e-9
    )
    assert {name for group in classifier.groups_of_features_ for name in group}.isdisjoint(classifier.removed_)
