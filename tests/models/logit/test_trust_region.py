"""Conjugate gradients and trust regions: against dense linear algebra, the exact solution of the model, and scipy."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize as scipy_minimize
from scipy.optimize import rosen, rosen_der, rosen_hess
from scipy.special import softmax

from anbexact import NaiveBayesClassifier
from anbexact._kernels.softmax import AT_RADIUS, UNFINISHED, WITHIN, conjugate_gradients
from anbexact.models.logit import fit as fitting
from anbexact.models.logit.design import make_design
from anbexact.models.logit.potentials import class_families, network_potentials
from anbexact.models.logit.trust_region import minimise


class Model:
    """A small softmax regression on cells at a random point, with its dense Hessian by z."""

    def __init__(self, seed, n_classes=4):
        rng = np.random.default_rng(seed)
        n_rows, self.n_classes = 30, n_classes
        self.cells = np.column_stack([rng.integers(0, 3, n_rows), rng.integers(3, 7, n_rows)]).astype(np.int32)
        self.totals = rng.choice([0.0, 0.5, 1.0, 3.0], n_rows)
        self.probability = softmax(rng.normal(size=(n_rows, n_classes)), axis=1)
        self.shift_per_unit = rng.uniform(0.3, 3, (7, n_classes))
        self.l2, self.weight = 0.7, self.totals.sum()
        self.gradient = rng.normal(size=(7, n_classes))
        indicators = np.zeros((n_rows, 7))
        for column in self.cells.T:
            indicators[np.arange(n_rows), column] = 1
        hessian = self.l2 * np.eye(7 * n_classes)
        for x, total, p in zip(indicators, self.totals, self.probability, strict=True):
            hessian += total * np.kron(np.outer(x, x), np.diag(p) - np.outer(p, p))
        scale = self.shift_per_unit.ravel()
        self.hessian = hessian * np.outer(scale, scale) / self.weight

    def decrease(self, step):
        """By how much a step decreases the quadratic model."""
        return -self.gradient.ravel() @ step - step @ self.hessian @ step / 2

    def step(self, radius, tolerance, most=10_000):
        """Run the kernel to its end; return step, slope, status, and how often it was called."""
        step, slope, direction = np.zeros_like(self.gradient), self.gradient.copy(), -self.gradient
        of_model = (self.cells, self.totals, self.probability, self.shift_per_unit, self.l2, self.weight)
        calls, status = 0, UNFINISHED
        while status == UNFINISHED:
            status = conjugate_gradients(*of_model, radius, tolerance, most, step, slope, direction)
            calls += 1
        np.testing.assert_allclose(slope.ravel(), self.gradient.ravel() + self.hessian @ step.ravel(), atol=1e-10)
        return step.ravel(), slope, status, calls

    def best_within(self, radius):
        """The exact solution of the model within the radius, by bisection over the multiplier."""
        eigenvalues, vectors = np.linalg.eigh(self.hessian)
        along = vectors.T @ self.gradient.ravel()
        low, high = 0.0, 1e6
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (low, middle) if np.linalg.norm(along / (eigenvalues + middle)) < radius else (middle, high)
        return -vectors @ (along / (eigenvalues + high))


@pytest.mark.parametrize("seed", range(8))
def test_a_wide_radius_gives_the_newton_step(seed):
    model = Model(seed)
    step, slope, status, products = model.step(1e9, 1e-11, most=1)
    assert status == WITHIN
    assert products < 2 * model.gradient.size  # conjugate directions: one per unknown, but for rounding
    assert np.linalg.norm(slope) < 1e-11
    np.testing.assert_allclose(step, -np.linalg.solve(model.hessian, model.gradient.ravel()), atol=1e-8)


@pytest.mark.parametrize("tolerance", [0.3, 0.1])
def test_the_step_ends_once_the_slope_is_below_the_tolerance(tolerance):
    model = Model(0)
    norm = np.linalg.norm(model.gradient)
    _, slope, status, _ = model.step(1e9, tolerance * norm)
    assert status == WITHIN
    assert 1e-6 * norm < np.linalg.norm(slope) < tolerance * norm


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("radius", [0.01, 0.5, 3.0])
def test_a_narrow_radius_ends_the_step(seed, radius):
    """Steihaug's step decreases the model by at least half of what is possible in a ball (Yuan 2000)."""
    model = Model(seed)
    step, _, status, _ = model.step(radius, 1e-11)
    assert status == AT_RADIUS
    assert np.linalg.norm(step) == pytest.approx(radius)
    best = model.decrease(model.best_within(radius))
    assert best / 2 <= model.decrease(step) <= best * (1 + 1e-9)


@pytest.mark.parametrize("share", [0.9, 2.0])
def test_the_number_of_products_at_once_does_not_matter(share):
    model = Model(3)
    radius = share * np.linalg.norm(np.linalg.solve(model.hessian, model.gradient.ravel()))
    at_once, _, status, once = model.step(radius, 1e-11)
    in_parts, _, same, calls = model.step(radius, 1e-11, most=1)
    assert status == same
    assert once == 1 < calls
    np.testing.assert_allclose(in_parts, at_once, atol=1e-12)


@pytest.mark.parametrize("n_features", [1, 3])
@pytest.mark.parametrize("n_classes", [2, 3, 4, 5])
@pytest.mark.parametrize("l2", [0.0, 0.7])
@pytest.mark.parametrize("work", [1, 10**9])
def test_steps_of_a_refit_are_those_of_its_dense_hessian(n_features, n_classes, l2, work, monkeypatch):
    """Whatever the number of classes, which are padded, with weights, and rows that do not count."""
    monkeypatch.setattr(fitting, "WORK", work)
    rng = np.random.default_rng(n_classes)
    rows = rng.integers(0, 3, (60, n_features))
    X = pd.DataFrame({f"x{j}": rows[:, j].astype(str) for j in range(n_features)})
    y = pd.Series(rng.integers(0, n_classes, 60).astype(str), name="k")
    weights = rng.choice([0.0, 0.3, 2.0], 60)
    model = NaiveBayesClassifier(ess=1.0).fit(X, y, weights)
    design = make_design(model.reader_.table(X, y, weights), class_families(model.structure_))
    objective = fitting._Objective(
        design, design.weights, network_potentials(model.model_.tables, model.structure_), l2
    )
    z = objective.scaled_at(rng.normal(size=objective.shape))
    gradient = objective.value(z)[1]
    hessian = np.column_stack([objective.curvature(z, unit) for unit in np.eye(len(z))])
    step, decrease, bounded = objective.step(z, 1e9, 1e-12)
    assert not bounded
    np.testing.assert_allclose(hessian @ step, -gradient, atol=1e-10)
    assert decrease == pytest.approx(-gradient @ step - step @ hessian @ step / 2, rel=1e-9)
    radius = np.linalg.norm(step) / 2
    step, decrease, bounded = objective.step(z, radius, 1e-12)
    assert bounded
    assert np.linalg.norm(step) == pytest.approx(radius)
    assert decrease == pytest.approx(-gradient @ step - step @ hessian @ step / 2, rel=1e-9)


class Rosenbrock:
    """Not convex everywhere; steps by dense linear algebra."""

    def __init__(self):
        self.radii = []

    def value(self, z):
        return float(rosen(z)), rosen_der(z)

    def step(self, z, radius, tolerance):
        self.radii.append(radius)
        gradient, hessian = rosen_der(z), rosen_hess(z)
        eigenvalues, vectors = np.linalg.eigh(hessian)
        step = -vectors @ ((vectors.T @ gradient) / np.maximum(np.abs(eigenvalues), 1e-8))
        bounded = np.linalg.norm(step) > radius
        step *= radius / np.linalg.norm(step) if bounded else 1
        return step, float(-gradient @ step - step @ hessian @ step / 2), bool(bounded)


def test_the_minimum_is_that_of_scipy():
    start = np.array([-1.2, 1.0, 0.5, 2.0])
    watched = []
    found, message = minimise(Rosenbrock(), start, precision=1e-9, max_iter=200, watch=watched.append)
    assert message == ""
    expected = scipy_minimize(rosen, start, jac=rosen_der, hess=rosen_hess, method="trust-exact", tol=1e-10).x
    np.testing.assert_allclose(found, expected, atol=1e-7)
    values = [rosen(z) for z in watched]
    assert values == sorted(values, reverse=True)
    assert len(watched) < 100


def test_steps_that_do_not_keep_what_they_promise_are_not_taken():
    class Liar(Rosenbrock):
        def step(self, z, radius, tolerance):
            self.radii.append(radius)
            return rosen_der(z), 1.0, True

    liar, start = Liar(), np.array([-1.2, 1.0])
    found, message = minimise(liar, start, precision=1e-9, max_iter=5, watch=id)
    assert found is start
    assert message == "max_iter was reached"
    assert liar.radii == [10 / 4**k for k in range(5)]


def test_the_search_ends_where_nothing_is_promised():
    class Hopeless(Rosenbrock):
        def step(self, z, radius, tolerance):
            return np.zeros_like(z), 0.0, False

    start = np.array([-1.2, 1.0])
    found, message = minimise(Hopeless(), start, precision=1e-9, max_iter=5, watch=id)
    assert found is start
    assert message == "no step promised a decrease"


class Offset(Rosenbrock):
    """The same function plus a constant, next to which the last decreases are lost in rounding."""

    def value(self, z):
        return float(rosen(z)) + 1e9, rosen_der(z)


def test_rounding_does_not_lead_to_useless_steps():
    watched = []
    start = np.array([1.001, 1.001])
    found, message = minimise(Offset(), start, precision=1e-9, max_iter=500, watch=watched.append)
    assert message == ""
    assert len(watched) < 20
    np.testing.assert_allclose(found, 1, atol=1e-7)


def test_the_search_ends_where_rounding_hides_any_decrease():
    class Useless(Offset):
        def step(self, z, radius, tolerance):
            return np.zeros_like(z), 1e-9, False

    start = np.array([1.001, 1.001])
    found, message = minimise(Useless(), start, precision=1e-9, max_iter=500, watch=id)
    assert found is start
    assert message == "rounding hides any further decrease"


@pytest.mark.parametrize(("entry", "status"), [(0.0, WITHIN), (np.nan, AT_RADIUS), (np.inf, AT_RADIUS)])
def test_a_slope_that_gives_no_direction_ends_the_step(entry, status):
    model = Model(0)
    slope = np.full_like(model.gradient, entry)
    of_model = (model.cells, model.totals, model.probability, model.shift_per_unit, model.l2, model.weight)
    assert conjugate_gradients(*of_model, 1.0, 1e-9, 50, np.zeros_like(slope), slope, -slope) == status
