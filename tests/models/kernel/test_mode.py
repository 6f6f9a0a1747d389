"""The penalised fit in a basis: its objective, derivatives and coordinates against the formula, row by row."""

from itertools import pairwise
from math import exp, log

import numpy as np
import pytest
from scipy.optimize import check_grad

import anbexact.models.kernel.mode as mode_module
from anbexact._runtime.deadline import Deadline
from anbexact.models.kernel.mode import Objective, mode

N_ROWS, N_BASIS, N_CLASSES = 30, 6, 3


def drawn(seed, dtype=np.float64, n_classes=N_CLASSES):
    """A basis, weights, biases and a precision."""
    rng = np.random.default_rng(seed)
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], size=(N_ROWS, n_classes))
    weights[:, 0] += 0.25
    return rng.normal(size=(N_ROWS, N_BASIS)).astype(dtype), weights, rng.normal(size=n_classes), 0.3


def root_after(monkeypatch, passes):
    """Let the first preconditioner come after some passes over the basis."""
    monkeypatch.setattr(mode_module, "FEWEST_PASSES", passes * (N_BASIS + 1))
    monkeypatch.setattr(mode_module, "PASSES", {8: 0.0, 4: 0.0})


def posteriors(own, basis, biases):
    """P(class | row) of every row, a list of lists."""
    found = []
    for row in basis:
        odds = [bias + own[-1, c] + sum(row[i] * own[i, c] for i in range(N_BASIS)) for c, bias in enumerate(biases)]
        total = sum(map(exp, odds))
        found.append([exp(value) / total for value in odds])
    return found


def value(own, basis, weights, biases, l2):
    """The objective, by the formula."""
    logs = posteriors(own, basis, biases)
    fit = -sum(weights[t, c] * log(logs[t][c]) for t in range(len(basis)) for c in range(len(biases)))
    return (fit + l2 / 2 * sum(each**2 for each in own.ravel())) / weights.sum()


@pytest.mark.parametrize("n_classes", [1, 2, 3, 5])
def test_coordinates_are_those_of_coefficients_whose_mean_is_0(n_classes):
    objective = Objective(*drawn(0, n_classes=n_classes))
    own = np.random.default_rng(1).normal(size=objective.shape)
    coefficients = objective.coefficients(own)
    assert coefficients.shape == (N_BASIS + 1, n_classes)
    np.testing.assert_allclose(coefficients.sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(objective.coordinates(coefficients), own, rtol=1e-12)
    assert (coefficients**2).sum() == pytest.approx((own**2).sum())


@pytest.mark.parametrize(("most", "cached"), [(10, 1), (0, 1), (0, 10**6)])
@pytest.mark.parametrize("n_classes", [1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("n_rows", [1, 3, 4, 5, 30])
def test_the_value_and_its_derivatives_are_those_of_the_formula(n_rows, n_classes, most, cached, monkeypatch):
    seed = n_classes
    monkeypatch.setattr(mode_module, "CACHED", cached)
    monkeypatch.setattr(mode_module, "MOST_CLASSES", {8: most})
    basis, weights, biases, l2 = drawn(seed, n_classes=n_classes)
    basis, weights = basis[:n_rows], weights[:n_rows]
    objective = Objective(basis, weights, biases, l2)
    own, change = np.random.default_rng(seed + 10).normal(size=(2, *objective.shape))

    def of(flat):
        coefficients = objective.coefficients(flat.reshape(objective.shape))
        return value(coefficients, basis, weights, biases, l2)

    def gradient(flat):
        return objective.at(flat.reshape(objective.shape)).gradient.ravel()

    point = objective.at(own)
    assert point.value == pytest.approx(of(own), rel=1e-12)
    np.testing.assert_allclose(point.probability, posteriors(objective.coefficients(own), basis, biases), rtol=1e-12)
    assert n_classes == 1 or check_grad(of, gradient, own.ravel()) < 1e-6
    differences = (objective.at(own + 1e-5 * change).gradient - objective.at(own - 1e-5 * change).gradient) / 2e-5
    np.testing.assert_allclose(objective.product(point.probability, change), differences, atol=1e-8)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_what_is_beyond_the_length_of_a_row_is_not_read(n_classes, dtype, tolerance):
    """Nothing is read beyond the length of the last of four rows."""
    rng = np.random.default_rng(1)
    lengths = np.array([0, 1, 3, 4, 4, 4, 5, 8, 8, 9, 11])
    lower = np.where(np.arange(11) < lengths[:, None], rng.normal(size=(11, 11)), 0).astype(dtype)
    beyond = np.arange(11) >= lengths[[3, 3, 3, 3, 7, 7, 7, 7, 10, 10, 10]][:, None]
    assert beyond.sum() == 4 * 7 + 4 * 3
    own = rng.normal(size=(12, n_classes - 1))
    weights, biases, l2 = rng.choice([0.5, 1.0], (11, n_classes)), rng.normal(size=n_classes), 0.3
    part = Objective(np.where(beyond, np.nan, lower), weights, biases, l2, lengths)
    whole = Objective(lower, weights, biases, l2)
    found, expected = part.at(own), whole.at(own)
    products = part.product(found.probability, own), whole.product(expected.probability, own)
    assert part.quick
    steps = part.step(found, 0.0, 5)[0], whole.step(expected, 0.0, 5)[0]
    for one, other in (*zip(found, expected, strict=True), products, steps):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def test_many_rows_in_single_precision_add_up(monkeypatch):
    """As many as are added in single precision at a time, and one more than a multiple of four."""
    basis, weights, biases, l2 = drawn(3)
    repeated = [np.tile(of, (19, 1))[:513] for of in (basis, weights)]
    own = np.random.default_rng(4).normal(size=(N_BASIS + 1, N_CLASSES - 1))
    single = Objective(repeated[0].astype(np.float32), repeated[1], biases, l2)
    monkeypatch.setattr(mode_module, "MOST_CLASSES", {8: 0})
    double = Objective(*repeated, biases, l2)
    found, expected = single.at(own), double.at(own)
    products = single.product(found.probability, own), double.product(expected.probability, own)
    assert found.value == pytest.approx(expected.value, rel=1e-6)
    np.testing.assert_allclose(found.gradient, expected.gradient, atol=1e-6)
    np.testing.assert_allclose(*products, atol=1e-6)


@pytest.mark.parametrize("at_once", [1, 300, 10**6])
@pytest.mark.parametrize("seed", range(3))
def test_the_mean_curvature_is_the_mean_of_the_second_derivatives(seed, at_once, monkeypatch):
    """By the coefficients of class c: Σ_t v_t p_c (1 - p_c) B_ti B_tk + λ [i = k], where B has a column of 1, too."""
    monkeypatch.setattr(mode_module, "AT_ONCE", at_once)
    basis, weights, biases, l2 = drawn(seed)
    objective = Objective(basis, weights, biases, l2)
    own = np.random.default_rng(seed + 10).normal(size=objective.shape)
    chances = posteriors(objective.coefficients(own), basis, biases)
    expected = np.zeros((N_BASIS + 1, N_BASIS + 1))
    for t, row in enumerate(np.column_stack([basis, np.ones(N_ROWS)])):
        for p in chances[t]:
            expected += weights[t].sum() * p * (1 - p) * np.outer(row, row) / N_CLASSES
    expected = (expected + l2 * np.eye(N_BASIS + 1)) / weights.sum()
    np.testing.assert_allclose(objective.mean_curvature(np.array(chances)), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-6), (np.float32, 1e-4)])
@pytest.mark.parametrize("fewest", [2, 1000])
@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_vanishes_at_the_mode(seed, fewest, dtype, tolerance, monkeypatch):
    monkeypatch.setattr(mode_module, "STATIONARY", {8: 1e-15, 4: 1e-15})
    root_after(monkeypatch, fewest)
    given = drawn(seed, dtype)
    found, root = mode(Objective(*given), Deadline())
    exact = Objective(given[0].astype(np.float64), *given[1:])
    np.testing.assert_allclose(exact.at(exact.coordinates(found)).gradient, 0, atol=tolerance)
    np.testing.assert_allclose(found.sum(axis=1), 0, atol=1e-12)
    assert (root is None) == (fewest == 1000)
    from_there = mode(Objective(*given), Deadline(), found)
    np.testing.assert_allclose(from_there.coefficients, found, atol=100 * tolerance)


@pytest.mark.parametrize("seed", range(3))
def test_the_root_of_a_similar_objective_changes_the_way_and_not_the_end(seed, monkeypatch):
    monkeypatch.setattr(mode_module, "STATIONARY", {8: 1e-15, 4: 1e-15})
    root_after(monkeypatch, 2)
    basis, weights, biases, l2 = drawn(seed)
    of_all = mode(Objective(basis, weights, biases, l2), Deadline())
    some = Objective(basis[::2], weights[::2], biases, l2)
    roots = []
    usual = mode_module._newton_step
    monkeypatch.setattr(mode_module, "_newton_step", lambda *given: roots.append(given[2]) or usual(*given))
    begun = []
    at = some.at
    some.at = lambda own: begun.append(own) or at(own)
    found = mode(some, Deadline(), of_all.coefficients, root=of_all.root)
    assert roots[0] is of_all.root
    np.testing.assert_allclose(begun[0], some.coordinates(of_all.coefficients))
    np.testing.assert_allclose(found.coefficients, mode(some, Deadline()).coefficients, atol=1e-4)
    assert np.abs(found.coefficients - of_all.coefficients).max() > 0.01


def test_a_preconditioner_that_is_the_curvature_needs_a_single_product():
    """With two classes and without a prior, twice the mean curvature is the Hessian."""
    objective = Objective(*drawn(0, n_classes=2)[:3], 0.0)
    own = np.random.default_rng(1).normal(size=objective.shape)
    point = objective.at(own)
    root = np.linalg.cholesky(2 * objective.mean_curvature(point.probability))
    step, products = mode_module._newton_step(objective, point, root, 0.0, 100, Deadline())
    assert products == 1
    half = mode_module._newton_step(objective, point, root / np.sqrt(2), 0.0, 100, Deadline())
    np.testing.assert_allclose(half[0], step, rtol=1e-9)  # the scale does not matter
    np.testing.assert_allclose(objective.product(point.probability, step), -point.gradient, atol=1e-9)


def test_a_step_that_goes_too_far_is_halved():
    """Where all rows are predicted with certainty but one, the curvature is small and the step long."""
    objective = Objective(np.ones((2, 1)), np.array([[1.0, 0.0], [0.0, 1.0]]), np.zeros(2), 1e-6)
    start = objective.coefficients(np.array([[20.0], [0.0]]))
    values = []
    usual = objective.at
    objective.at = lambda own: values.append(usual(own)) or values[-1]
    found = mode(objective, Deadline(), start)
    assert any(later.value > earlier.value for earlier, later in pairwise(values))
    end = usual(objective.coordinates(found.coefficients))
    np.testing.assert_allclose(end.probability, 0.5, atol=1e-4)


def test_a_deadline_ends_the_fit_where_it_is():
    objective = Objective(*drawn(0))
    start = objective.coefficients(np.ones(objective.shape))
    founds = [start, *(mode(objective, deadline, start).coefficients for deadline in (Deadline(1e-9), Deadline()))]
    before, begun, ended = (objective.at(objective.coordinates(found)).value for found in founds)
    assert before > begun > ended


def test_rounding_errors_of_single_precision_do_not_end_the_fit(monkeypatch):
    """Nearly equal functions and a weak prior: the curvature has eigenvalues below its rounding errors."""
    root_after(monkeypatch, 3)
    rng = np.random.default_rng(0)
    basis = rng.normal(size=(4_000, 1)) + 1e-6 * rng.normal(size=(4_000, 60))
    weights = 100.0 * np.eye(2)[(basis[:, 0] + rng.normal(size=4_000) > 0).astype(int)]
    given = weights, np.zeros(2), 1e-4
    single = Objective(basis.astype(np.float32), *given)
    start = np.zeros(single.shape)
    assert np.linalg.eigvalsh(single.mean_curvature(single.at(start).probability))[0] < 0
    (found, root), (expected, _) = mode(single, Deadline()), mode(Objective(basis, *given), Deadline())
    assert root is not None
    values = [Objective(basis, *given).at(single.coordinates(own)).value for own in (found, expected)]
    assert values[0] == pytest.approx(values[1], abs=1e-5)


def test_a_single_class_is_certain():
    basis, weights, _, l2 = drawn(0)
    objective = Objective(basis, weights.sum(axis=1, keepdims=True), np.zeros(1), l2)
    np.testing.assert_array_equal(mode(objective, Deadline()).coefficients, 0)


@pytest.mark.parametrize(("seconds", "computed"), [(1_000, True), (15, False)])
def test_there_is_a_preconditioner_only_if_there_is_time(seconds, computed, monkeypatch):
    """Every reading of the clock takes ten seconds, and so do the passes before it."""

    class Clock:
        passed = False

        def __init__(self):
            self.next = seconds + 10

        @property
        def left(self):
            self.next -= 10
            return self.next

    calls = []
    usual = Objective.mean_curvature
    monkeypatch.setattr(Objective, "mean_curvature", lambda self, own: calls.append(1) or usual(self, own))
    root_after(monkeypatch, 2)
    objective = Objective(*drawn(0))
    found, root = mode(objective, Clock())
    assert bool(calls) == computed == (root is not None)
    np.testing.assert_allclose(objective.at(objective.coordinates(found)).gradient, 0, atol=1e-2)


@pytest.mark.parametrize("share", [0.1, 0.01, 1e-3])
def test_a_fit_ends_where_a_step_lowers_the_value_by_no_more_than_a_share(share, monkeypatch):
    """The values after every step, of one fit to the end and of others that end earlier."""
    monkeypatch.setattr(mode_module, "NEGLIGIBLE", 0.0)  # or steps would differ, too

    def values_of(**limits):
        found = []
        objective = Objective(*drawn(0))
        usual = objective.at
        objective.at = lambda own: found.append(usual(own)) or found[-1]
        mode(objective, Deadline(), **limits)
        return [point.value for point in found]

    told, all_of_them = values_of(share=share), values_of()
    small = [earlier - later <= share * earlier for earlier, later in pairwise(all_of_them)]
    assert told == all_of_them[: small.index(True) + 2]
    assert len(told) < len(all_of_them)


def test_preconditioners_are_computed_anew_after_twice_as_many_passes(monkeypatch):
    """Where steps are found by a single product and are much too short, so that many are needed."""
    monkeypatch.setattr(mode_module, "STATIONARY", {8: 1e-15, 4: 1e-15})
    monkeypatch.setattr(mode_module, "QUICK", 0)  # products are counted one by one
    root_after(monkeypatch, 4)
    passes, computed = [0], []
    at, product, curvature = Objective.at, Objective.product, Objective.mean_curvature
    usual = mode_module._newton_step
    monkeypatch.setattr(mode_module, "_newton_step", lambda *of: (0.1 * usual(*of[:4], 1, of[5])[0], 1))
    for name, of in (("at", at), ("product", product)):

        def counted(self, *given, of=of):
            passes[0] += 1
            return of(self, *given)

        monkeypatch.setattr(Objective, name, counted)
    monkeypatch.setattr(
        Objective, "mean_curvature", lambda self, own: computed.append(passes[0]) or curvature(self, own)
    )
    mode(Objective(*drawn(0)), Deadline())
    assert len(computed) > 2
    assert [later - earlier for earlier, later in pairwise([0, *computed])][:3] == [5, 8, 16]
    passes[0] = 0
    computed.clear()
    mode(Objective(*drawn(0)), Deadline(), root=np.eye(N_BASIS + 1))
    assert computed[0] == 4 * mode_module.LONGER_WITH_ROOT + 1


@pytest.mark.parametrize(("dtype", "precision"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("n_classes", [1, 2, 3, 5])
@pytest.mark.parametrize("negligible", [0.0, 1e-4, 1e-2])
def test_steps_by_one_call_are_those_by_single_products(negligible, n_classes, dtype, precision):
    for seed in range(5):
        given = drawn(seed, dtype, n_classes)
        given[1][:5] = 0.0
        objective = Objective(*given)
        point = objective.at(np.random.default_rng(seed).normal(size=objective.shape))
        assert objective.quick
        for most in (1, 2, 50):
            found, products = mode_module._newton_step(objective, point, None, negligible, most, Deadline())
            objective.quick = False
            expected, needed = mode_module._newton_step(objective, point, None, negligible, most, Deadline())
            objective.quick = True
            assert products == needed
            np.testing.assert_allclose(found, expected, rtol=precision, atol=precision)


@pytest.mark.parametrize("quick", [False, True])
def test_a_step_ends_where_the_objective_is_not_curved(quick):
    """Where every row is certain of a class and there is no prior, as rounding makes it seem."""
    basis, weights, biases, _ = drawn(0)
    objective = Objective(basis, weights, biases, 0.0)
    objective.quick = quick
    certain = np.eye(N_CLASSES)[np.arange(N_ROWS) % N_CLASSES]
    point = mode_module.Point(1.0, np.ones(objective.shape), certain)
    step, products = mode_module._newton_step(objective, point, None, 0.0, 50, Deadline())
    assert products == 1
    np.testing.assert_array_equal(step, 0)


@pytest.mark.parametrize("quick", [False, True])
def test_a_first_product_that_promises_little_does_not_end_a_step(quick, monkeypatch):
    """The objective is steep along one coordinate and flat along another, which the gradient hardly shows."""
    monkeypatch.setattr(mode_module, "LOOSE", 0.0)
    basis = np.diag([100.0, 0.5])
    weights = np.array([[0.52, 0.48], [0.9, 0.1]])
    objective = Objective(basis, weights, np.zeros(2), 1e-4)
    objective.quick = quick
    point = objective.at(np.zeros(objective.shape))
    step, products = mode_module._newton_step(objective, point, None, 1.0, 100, Deadline())
    assert products > 1
    exact, _ = mode_module._newton_step(objective, point, None, 0.0, 100, Deadline())
    np.testing.assert_allclose(step, exact, rtol=0.5)


@pytest.mark.parametrize("most", [1, 2, 7, 20])
def test_there_is_no_step_after_the_most_work(most, monkeypatch):
    """Steps before the last are those of a fit without a limit; none lets the objective rise."""

    def fitted(most_passes):
        passes, values = [0], []
        objective = Objective(*drawn(0))
        of_a_pass = N_ROWS * objective.shape[0] * objective.shape[1]
        monkeypatch.setattr(mode_module, "MOST_WORK", most_passes * of_a_pass)
        at, step = objective.at, objective.step

        def counted_at(own):
            passes[0] += 1
            values.append(at(own).value)
            return at(own)

        def counted_step(*given):
            found, products = step(*given)
            passes[0] += products
            return found, products

        objective.at, objective.step = counted_at, counted_step
        found = mode(objective, Deadline())
        return passes[0], values, at(objective.coordinates(found.coefficients)).value

    monkeypatch.setattr(mode_module, "STATIONARY", {8: 1e-12})
    (passes, values, value), (needed, all_values, least) = fitted(most), fitted(1_000)
    # The value at the start does not count. One step is always taken: a product, and the value at its end.
    assert passes - 1 <= max(most, 2) < needed - 1
    assert values[:-1] == all_values[: len(values) - 1]
    assert least < value < values[0]
