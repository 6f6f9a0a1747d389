"""Newton's method for smooth fits to many rows: parts of the rows, and of the classes, are processed in threads."""

from __future__ import annotations

from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np

from anbexact._kernels import smooth as kernels
from anbexact._kernels.smooth import CONVERGED, STUCK, UNFINISHED, factor_classes, solve_classes, turn
from anbexact._kernels.softmax import add_curvature, value_and_gradient
from anbexact._runtime.tasks import Run
from anbexact.models.logit.potentials import Floats
from anbexact.models.smooth.modes import Arrays

PARTS = 4
"""Number of parts of the rows, and of the classes. It is fixed, so that sums, and thus results, do not depend on the
number of threads."""


class FitByParts:
    """A fit whose rows are in parts, and the operations of Newton's method on them.

    Parameters
    ----------
    run : callable
        See :func:`~anbexact._runtime.tasks.in_threads`.
    rows, prior, most_kept, precision
        As for :func:`anbexact._kernels.smooth.climb`.
    """

    def __init__(
        self, run: Run, rows: tuple[Any, ...], prior: tuple[Any, ...], most_kept: int, precision: float
    ) -> None:
        cells, _, self.totals, weights, base, self.classes, self.scores = self._rows = rows
        self.layout, self.bases, self.turned, self.scale = self._prior = prior
        self.weight = max(float(self.totals.sum()), 1e-300)
        self._run, self._most_kept, self._end = run, most_kept, precision * self.weight
        self._here: tuple[float, float, Floats, Floats] | None = None
        bounds = np.linspace(0, len(cells), PARTS + 1).astype(int)
        self._slices = [slice(start, stop) for start, stop in pairwise(bounds)]
        self._parts = [(cells[own], self.totals[own], weights[own], base[own]) for own in self._slices]
        n_different = 1 if self.classes == 2 or len(self.scores) else self.classes
        self._bounds = np.unique(np.linspace(0, n_different, PARTS + 1).astype(int)).tolist()

    def climb(
        self, modes: Floats, factor: Arrays, most: int, before: float, outdated: bool
    ) -> tuple[int, int, float, float, float, Floats, Arrays, bool]:
        """Do what the kernel does, up to rounding; parameters and results are the same.

        In later calls, the modes must be those at which the last call ended.
        """
        likelihood, value, probability, ascent = self._here or self.evaluate(modes)
        status, steps = UNFINISHED, 0
        while status == UNFINISHED and steps < most:
            if outdated or not len(factor[0]):
                factor = self.factor(probability, factor)
            step, products = self.step(probability, ascent, factor)
            decrement = float(np.vdot(ascent, step))
            done = kernels.is_last(decrement, before, value, self._end)
            before, hidden = decrement, 10 * kernels.NEGLIGIBLE * abs(value)
            status = STUCK
            for length in 0.5 ** np.arange(40):
                tried = self.evaluate(modes + length * step)
                if done or tried[1] >= value + 1e-4 * length * decrement - hidden:
                    status = CONVERGED if done else UNFINISHED
                    modes += length * step
                    likelihood, value, probability, ascent = tried
                    steps += 1
                    break
            outdated = kernels.may_be_outdated(self._rows, factor, products)
        self._here = likelihood, value, probability, ascent
        return status, steps, before, likelihood, value, ascent, factor, outdated

    def _shifts(self, modes: Floats) -> Floats:
        """Return the shifts of the cells."""
        shift: Floats = self.scale[:, None] * modes
        turn(self.layout, self.bases, shift, np.empty(shift.size))
        return shift

    def _by_modes(self, parts: list[Floats]) -> Floats:
        """Return the derivatives by the modes, given parts of those by the shifts, the first of which is changed."""
        total = parts[0]
        for part in parts[1:]:
            total += part
        turn(self.layout, self.turned, total, np.empty(total.size))
        total *= self.scale[:, None]
        return total

    def evaluate(self, modes: Floats) -> tuple[float, float, Floats, Floats]:
        """Return the log likelihood without and with the penalty, the class probabilities, and the gradient."""
        shift = self._shifts(modes)
        probability = np.zeros(self._rows[4].shape)

        def one(place: int) -> tuple[float, Floats]:
            gradient = np.zeros(shift.shape)
            found = probability[self._slices[place]]
            return value_and_gradient(*self._parts[place], shift, found, gradient), gradient

        values, gradients = zip(*self._run(one, range(PARTS)), strict=True)
        ascent = -self._by_modes(list(gradients)) - modes
        kernels.project(ascent, self.classes, self.scores)
        likelihood = float(sum(values))
        return likelihood, likelihood - float(np.vdot(modes, modes)) / 2, probability, ascent

    def factor(self, probability: Floats, last: Arrays) -> Arrays:
        """Return the factor for some class probabilities, or the last one if the rows say nearly the same."""
        information = kernels.information_of(self._rows, self._prior, probability)
        if len(last[0]) and not kernels.has_changed(information, last[0]):
            return last

        kept, ends = kernels.kept_modes(information, self.classes, len(self.scores) > 0, self._most_kept)
        lower = np.empty((np.diff(ends) ** 2).sum())

        def one(begin: int, end: int) -> float:
            return float(factor_classes(self._rows, self._prior, probability, kept, ends, lower, begin, end))

        cost = sum(self._run(one, self._bounds[:-1], self._bounds[1:]))
        return information, kept, ends, lower, probability, cost

    def step(self, probability: Floats, ascent: Floats, factor: Arrays) -> tuple[Floats, int]:
        """Return the Newton step, by preconditioned conjugate gradients, and the number of products it took."""
        step, residual = np.zeros(ascent.shape), ascent.copy()
        z = self._solve(factor, residual)
        direction, size, products = z, float(np.vdot(residual, z)), 0
        loose = max(min(kernels.LOOSE, sqrt(max(size, 0.0) / self.weight)), 1e-8)
        while products < kernels.MOST_PRODUCTS and size > 0:
            products += 1
            product = self._times_hessian(probability, direction)
            length = size / float(np.vdot(direction, product))
            step += length * direction
            residual -= length * product
            kernels.project(residual, self.classes, self.scores)
            z = self._solve(factor, residual)
            before, size = size, float(np.vdot(residual, z))
            if size <= max(loose**2 * float(np.vdot(ascent, step)), kernels.SURPLUS * self._end):
                break
            direction = z + size / before * direction
        return step, products

    def _times_hessian(self, probability: Floats, direction: Floats) -> Floats:
        """Return minus the Hessian of the penalised log likelihood times a direction."""
        shift = self._shifts(direction)

        def one(place: int) -> Floats:
            product = np.zeros(shift.shape)
            cells, totals, _, _ = self._parts[place]
            add_curvature(cells, totals, probability[self._slices[place]], shift, product)
            return product

        return self._by_modes(self._run(one, range(PARTS))) + direction

    def _solve(self, factor: Arrays, gradient: Floats) -> Floats:
        """Return the inverse of the factor's precision times a gradient."""
        found = np.zeros(gradient.shape)
        if self.classes > 2 and not len(self.scores):
            self._run(
                lambda begin, end: solve_classes(factor, gradient, found, begin, end),
                self._bounds[:-1],
                self._bounds[1:],
            )
            kernels.project(found, self.classes, self.scores)
        else:
            kernels.solve(factor, self.classes, self.scores, gradient, found)
        return found
