"""The effects of a sum of terms: against alternation, and by what they must satisfy."""

import warnings
from itertools import combinations, product

import numpy as np
import oracles
import pytest

from anbexact import AdditiveClassifier
from anbexact.classifiers import FixedStructureClassifier
from anbexact.datasets import load_anes96, load_iris
from anbexact.models.smooth.functional_anova import effects
from anbexact.models.smooth.shapes import shape_effects
from anbexact.models.smooth.terms import Axis, SmoothTerm

ARITIES = {"a": 4, "b": 3, "d": 5, "e": 2}
FINE = {name: tuple(range(k)) for name, k in ARITIES.items()}
COARSE = {"a": (0, 0, 1, 2), "b": (0, 1, 1), "d": (0, 0, 1, 1, 2), "e": (0, 1)}
OTHER = {"a": (0, 1, 1, 1), "b": (0, 0, 1), "d": (0, 1, 1, 1, 1), "e": (0, 0)}
MAINS = [((name, FINE),) for name in ARITIES]


def of(features, groups):
    return tuple((name, groups) for name in features)


SUMS = {
    "pairs": [*MAINS, of("ab", FINE), of("bd", COARSE), of("de", COARSE)],
    "a family without its pairs": [*MAINS, of("abd", COARSE)],
    "a family with a finer pair": [*MAINS, of("ab", FINE), of("abd", COARSE)],
    "a family with a pair on other intervals": [*MAINS, of("ab", OTHER), of("abd", COARSE), of("de", OTHER)],
    "families with a pair in common": [*MAINS, of("abd", COARSE), of("dbe", OTHER)],
    "four features": [*MAINS, of("abde", COARSE), of("ae", FINE)],
}


def made(axes):
    """The intercept, and terms of these features and groups."""
    terms = [SmoothTerm((), 0)]
    for of_term in axes:
        own = tuple(
            Axis(name, np.array(groups[name]), max(groups[name]) + 1, max(groups[name]) + 1)
            for name, groups in of_term
        )
        terms.append(SmoothTerm(own, terms[-1].cells.stop))
    return terms


def all_rows():
    """Every row once: states by feature."""
    grid = np.array(list(product(*map(range, ARITIES.values()))))
    return dict(zip(ARITIES, grid.T, strict=True))


def total(found, states, shift, terms):
    """The sum of effects for rows."""
    value = 0.0
    for effect in found:
        own = sum(matrix @ shift[terms[place].cells] for place, matrix in effect.parts.items())
        cells = tuple(groups[states[name]] for name, groups in zip(effect.features, effect.groups, strict=True))
        value = value + own.reshape(effect.shape)[cells]
    return value


def values_of(effect, shift, terms):
    return sum(matrix @ shift[terms[place].cells] for place, matrix in effect.parts.items()).reshape(effect.shape)


def sum_of_terms(states, shift, terms):
    value = 0.0
    for term in terms[1:]:
        cells = tuple(axis.groups[states[axis.feature]] for axis in term.axes)
        value = value + shift[term.cells].reshape(term.shape)[cells]
    return value


def check(found, states, weights, shift, terms):
    """Means along every axis are 0 where there are rows, the sum stays, and effects are of all subsets."""
    sets = {frozenset(effect.features) for effect in found}
    assert len(sets) == len(found)
    subsets = [less for of_set in sets for k in range(1, len(of_set)) for less in combinations(of_set, k)]
    assert set(map(frozenset, subsets)) <= sets
    for effect in found:
        cells = [groups[states[name]] for name, groups in zip(effect.features, effect.groups, strict=True)]
        expected = np.zeros(effect.shape)
        np.add.at(expected, tuple(cells), weights)
        np.testing.assert_allclose(effect.weight, expected, atol=1e-12)
        values = values_of(effect, shift, terms)
        for axis in range(values.ndim):
            along = effect.weight.sum(axis=axis)
            means = (effect.weight * values).sum(axis=axis)[along > 0] / along[along > 0]
            assert np.abs(means).max() < 1e-8, (effect.features, axis)
    difference = total(found, states, shift, terms) - sum_of_terms(states, shift, terms)
    assert np.ptp(difference) < 1e-9


@pytest.mark.parametrize("name", SUMS)
def test_are_those_of_alternation(name):
    rng = np.random.default_rng(0)
    terms, states = made(SUMS[name]), all_rows()
    weights = rng.exponential(size=len(states["a"])) + 0.05
    shift = rng.normal(size=terms[-1].cells.stop)
    found = effects(terms, states, weights)
    check(found, states, weights, shift, terms)
    start, groups = {}, {}
    for effect in found:
        start[effect.features] = dict.fromkeys(np.ndindex(effect.shape), 0.0)
        groups[effect.features] = [of_axis.tolist() for of_axis in effect.groups]
    for term in terms[1:]:
        for cell in start[term.features]:
            # any states with the groups of the cell: the effect's groups are within those of the term
            own = [
                axis.groups[of_axis.index(k)]
                for axis, of_axis, k in zip(term.axes, groups[term.features], cell, strict=True)
            ]
            start[term.features][cell] = shift[term.cells].reshape(term.shape)[tuple(own)]
    rows = [dict(zip(states, row, strict=True)) for row in zip(*(of.tolist() for of in states.values()), strict=True)]
    expected = oracles.functional_anova(start, groups, rows, weights.tolist())
    for effect in found:
        values = values_of(effect, shift, terms)
        for cell, value in expected[effect.features].items():
            assert values[cell] == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("empty", ["some", "most", "between two halves"])
def test_with_cells_without_rows_satisfy_the_same_in_any_order(name, empty):
    rng = np.random.default_rng(1)
    states = all_rows()
    weights = rng.exponential(size=len(states["a"]))
    weights[rng.random(len(weights)) < {"some": 0.3, "most": 0.9}.get(empty, 0.0)] = 0.0
    if empty == "between two halves":
        weights[(states["a"] < 3) != (states["b"] < 1)] = 0.0
    terms = made(SUMS[name])
    shift = rng.normal(size=terms[-1].cells.stop)
    found = effects(terms, states, weights)
    check(found, states, weights, shift, terms)
    turned = made([of_term[::-1] for of_term in SUMS[name][::-1]])
    other = np.zeros_like(shift)
    for term, same in zip(terms[1:], turned[:0:-1], strict=True):
        other[same.cells] = shift[term.cells].reshape(term.shape).transpose().ravel()
    again = {frozenset(effect.features): effect for effect in effects(turned, states, weights)}
    assert len(again) == len(found)
    for effect in found:
        twin = again[frozenset(effect.features)]
        axes = [twin.features.index(name) for name in effect.features]
        np.testing.assert_allclose(
            values_of(twin, other, turned).transpose(axes), values_of(effect, shift, terms), atol=1e-6
        )


def test_effects_beyond_the_limit_are_those_with_a_term(monkeypatch):
    monkeypatch.setattr("anbexact.models.smooth.functional_anova.MOST_CELLS", 10)
    rng = np.random.default_rng(2)
    terms, states = made(SUMS["a family with a finer pair"]), all_rows()
    weights = rng.exponential(size=len(states["a"]))
    shift = rng.normal(size=terms[-1].cells.stop)
    found = effects(terms, states, weights)
    assert [effect.features for effect in found] == [term.features for term in terms[1:]]
    assert np.ptp(total(found, states, shift, terms) - sum_of_terms(states, shift, terms)) < 1e-9
    family = next(effect for effect in found if len(effect.features) == 3)
    weighted = family.weight * values_of(family, shift, terms)
    assert np.abs(weighted.sum(axis=2)).max() < 1e-8  # of the pair
    assert np.abs(weighted.sum(axis=(0, 1))).max() < 1e-8  # of a feature
    assert np.abs(weighted.sum(axis=0)).max() > 1e-3  # of a pair without a term


CHAIN, FAMILY, FOUR = (
    {0: [], 1: [0], 2: [1], 3: [2]},
    {0: [], 1: [0], 2: [0, 1], 3: [2]},
    {3: [0, 1, 2], 1: [0], 2: [], 0: []},
)


@pytest.mark.parametrize(
    ("load", "parents"),
    [
        (load_iris, CHAIN),
        pytest.param(load_iris, FAMILY, marks=pytest.mark.slow),
        pytest.param(load_anes96, FAMILY, marks=pytest.mark.slow),
        pytest.param(load_iris, FOUR, marks=pytest.mark.slow),
    ],
)
def test_shapes_of_models_satisfy_it_and_do_not_depend_on_the_order_of_columns(load, parents):
    X, y = load()
    X = X[X.columns[:4]].mask(np.random.default_rng(0).random((len(X), 4)) < 0.02)
    names = list(X.columns)
    graph = {names[k]: [y.name, *(names[j] for j in of)] for k, of in parents.items()} | {y.name: []}
    smooth = {"slope": 0.3, "level": 0.2, "interaction": 0.1}
    weights = np.random.default_rng(1).integers(1, 4, len(X))
    found = []
    for columns in (names, names[::-1]):
        network = FixedStructureClassifier(
            {name: graph[name] for name in (*columns, y.name)}, handle_missing="own_state"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = AdditiveClassifier(network, smooth=smooth, intervals=8).fit(X[columns], y, weights)
        found.append({frozenset(shape.features): shape for shape in model.logit_.shapes(*sorted(set(y))[:2])})
    refitted = model.logit_.refitted
    contrast = np.eye(len(model.classes_))[0] - np.eye(len(model.classes_))[1]
    states = {name: refitted.design.states(name) for name in names}
    made = [effect for effect, _, _ in shape_effects(refitted)]
    check(made, states, refitted.design.totals, refitted.shift @ contrast, refitted.problem.terms)
    for features, shape in found[0].items():
        twin = found[1][features]
        axes = [twin.features.index(name) for name in shape.features]
        np.testing.assert_allclose(twin.log_odds.transpose(axes), shape.log_odds, atol=1e-5)
        np.testing.assert_allclose(twin.standard_error.transpose(axes), shape.standard_error, atol=1e-5)
        np.testing.assert_allclose(twin.weight.transpose(axes), shape.weight)
        for axis in range(shape.log_odds.ndim):
            assert np.abs((shape.weight * shape.log_odds).sum(axis=axis)).max() < 1e-6
    shapes = model.logit_.shapes()
    for name, spread in model.logit_.result().terms["range"].items():
        assert spread == pytest.approx(max(np.ptp(shape.log_odds) for shape in shapes if shape.name == name))


def test_what_a_pair_says_of_its_features_is_in_their_shapes():
    """If a pair is a sum of functions of its features, these are all that is left, however rows are correlated."""
    rng = np.random.default_rng(3)
    terms, states = made([*MAINS, of("ab", FINE)]), all_rows()
    weights = rng.exponential(size=len(states["a"])) * np.where(states["a"] == states["b"], 20.0, 1.0)
    shift = np.zeros(terms[-1].cells.stop)
    of_a, of_b = rng.normal(size=4), rng.normal(size=3)
    shift[terms[-1].cells] = (of_a[:, None] + of_b).ravel()
    found = {effect.features: values_of(effect, shift, terms) for effect in effects(terms, states, weights)}
    np.testing.assert_allclose(found["a", "b"], 0, atol=1e-12)
    for name, expected in (("a", of_a), ("b", of_b)):
        own = found[name,]
        np.testing.assert_allclose(own - own.mean(), expected - expected.mean(), atol=1e-12)
