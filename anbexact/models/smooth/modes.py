"""Coordinates of the shifts in which the prior is standard normal, and the posterior precision in them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotri

from anbexact._kernels.smooth import across, add_gains, score_variance, turn
from anbexact._runtime.tasks import in_threads
from anbexact.models.logit.potentials import Floats
from anbexact.models.smooth.terms import SmoothTerm, Strengths

Numbers = npt.NDArray[np.int64]
Layout = tuple[Numbers, Numbers, Numbers, Numbers]
"""The ``layout`` of :mod:`anbexact._kernels.smooth`."""
Arrays = tuple[Floats, Numbers, Numbers, Floats, Floats, float]
"""A factor as :mod:`anbexact._kernels.smooth` describes it."""
NONE = np.zeros(0, dtype=np.int64)
"""An array without entries."""
ONE_THREAD = 1_000_000
"""Number of entries of a factor up to which one thread suffices."""
NO_FACTOR: Arrays = (np.zeros((0, 0)), NONE, NONE, np.zeros(0), np.zeros((0, 0)), 0.0)
"""The factor of a fit that is given no other one: without entries, so that the fit computes its own."""


def strength_of(strengths: Strengths, kind: str, feature: Hashable) -> float:
    """Return the strength of a kind of penalty along the axis of a feature; 0 if it is not named."""
    strength = strengths.get(kind, 0.0)
    return strength.get(feature, 0.0) if isinstance(strength, Mapping) else strength


@dataclass(frozen=True, eq=False)
class Modes:
    """The eigenvectors Q of the prior precision of every term, and their scale, for shifts ``δ = Q (scale · u)``.

    Attributes
    ----------
    terms : sequence of SmoothTerm
    layout, bases, turned, scale
        See :mod:`anbexact._kernels.smooth`.
    """

    terms: Sequence[SmoothTerm]
    layout: Layout
    bases: Floats
    turned: Floats
    scale: Floats

    @classmethod
    def of(cls, terms: Sequence[SmoothTerm], strengths: Strengths, ridge: float) -> Modes:
        """Return the modes of terms for some strengths."""
        bases: list[Floats] = []
        precisions = []
        known: dict[Any, tuple[Floats, Floats]] = {}  # most terms have the same penalties
        for term in terms:
            if len(term.axes) == 1:
                (axis,) = term.axes
                own = {kind: strength_of(strengths, kind, axis.feature) for kind in term.penalties}
                key = (axis.size, axis.ordered, axis.cyclic, *own.values())
                if key not in known:
                    known[key] = np.linalg.eigh(sum(tau * term.penalties[kind] for kind, tau in own.items()))
                values, vectors = known[key]
                bases.append(vectors)
            else:
                along = [strength_of(strengths, term.kind, axis.feature) for axis in term.axes]
                values = term.interaction_roughness(along)
                bases += [axis.modes[1] for axis in term.axes]
            precisions.append(np.maximum(values, 0.0) + ridge)
        sizes = np.array([len(basis) for basis in bases], dtype=np.int64)
        at = np.cumsum(sizes**2) - sizes**2
        first = np.array([*(term.first for term in terms), terms[-1].cells.stop], dtype=np.int64)
        axes = np.cumsum([0, *(len(term.axes) for term in terms)], dtype=np.int64)
        flat, turned = (
            np.concatenate([np.zeros(0), *map(np.ravel, matrices)]) for matrices in (bases, [b.T for b in bases])
        )
        return cls(terms, (first, axes, sizes, at), flat, turned, np.concatenate(precisions) ** -0.5)

    @property
    def prior(self) -> tuple[Layout, Floats, Floats, Floats]:
        """Layout, bases, turned and scale, as the kernels take them."""
        return self.layout, self.bases, self.turned, self.scale

    def of_shifts(self, shift: Floats) -> Floats:
        """Return the values u of the modes, (modes, classes), given shifts of the cells, (cells, classes)."""
        return self._turned(self.turned, shift) / self.scale[:, None]

    def shifts(self, modes: Floats) -> Floats:
        """Return the shifts of the cells, (cells, classes), given the values of the modes, (modes, classes)."""
        return self._turned(self.bases, self.scale[:, None] * modes)

    def by_shifts(self, gradient: Floats) -> Floats:
        """Return the gradient of a function by the shifts, (cells, classes), given its gradient by the modes."""
        return self._turned(self.bases, gradient / self.scale[:, None])

    def by_modes(self, gradient: Floats) -> Floats:
        """Return the gradient of a function by the modes, (modes, columns), given its gradient by the shifts."""
        return self.scale[:, None] * self._turned(self.turned, gradient)

    def _turned(self, bases: Floats, values: Floats) -> Floats:
        """Return the product of the terms' matrices, given by those of their axes, and values, (cells, columns)."""
        found = np.array(values, order="C")
        turn(self.layout, bases, found, np.empty(found.size))
        return found

    def roughness(self, term: SmoothTerm, place: int) -> dict[str, Floats]:
        """Return, by kind, the quadratic form of a term's roughness as a function of its modes.

        Its shape is (size, size) for a term of one feature. Forms of interactions are diagonal, so that only their
        diagonal, (size,), is returned.
        """
        scale = self.scale[term.cells]
        if len(term.axes) == 1:
            start = self.layout[3][self.layout[1][place]]
            basis = self.bases[start : start + term.size**2].reshape(term.size, term.size) * scale
            return {kind: basis.T @ form @ basis for kind, form in term.penalties.items()}
        return {term.kind: term.interaction_roughness((1.0,) * len(term.axes)) * scale**2} if term.axes else {}


@dataclass(frozen=True, eq=False)
class Factor:
    """The posterior precision of the modes near a point; modes about which the rows say little are independent in it.

    Attributes
    ----------
    modes : Modes
    arrays : tuple
        See :mod:`anbexact._kernels.smooth`.
    """

    modes: Modes
    arrays: Arrays

    def gained(
        self, columns: npt.NDArray[np.int32], totals: Floats, scores: Floats, threads: int = 1
    ) -> list[Floats]:
        """Return, for every term, by how much the rows reduce the variances of its modes.

        This is the prior covariance of the modes minus the posterior covariance, summed over orthonormal contrasts of
        the classes: (size, size) for a term of one feature, and the diagonal, (size,), for other terms. It is an
        approximation: modes that are not kept count as dependent on the kept ones, but not on each other, and each of
        three or more classes is taken by itself. Classes in an order have one contrast, their scores.

        Parameters
        ----------
        columns : (terms, rows) int32
            The cells of the rows for which the factor was computed, numbered within their terms.
        totals : (rows,) float64
            The weights of these rows.
        scores : (classes,) float64
            As :mod:`anbexact._kernels.smooth` describes them.
        threads : int, default 1
            Number of threads, among which the classes are divided if this may pay.
        """
        modes, (information, kept, ends, lower, p, _) = self.modes, self.arrays
        shapes = [(term.size,) * (2 if len(term.axes) == 1 else 1) for term in modes.terms]
        at = np.cumsum([0, *map(prod, shapes)])
        s, starts = len(ends) - 1, np.cumsum([0, *np.diff(ends) ** 2])
        alike = s == 2 or len(scores) > 0

        def of_class(c: int) -> Floats:
            own = kept[ends[c] : ends[c + 1]]
            upper = lower[starts[c] : starts[c + 1]].reshape(len(own), len(own))
            if len(scores):
                curvature = score_variance(totals, p, scores)
            else:
                curvature = s / (s - 1) * totals * p[:, c] * (1 - p[:, c])
            added = information[:, c].copy()
            if 0 < len(own) < len(added):
                others = np.delete(np.arange(len(added)), own)
                between = across(columns, curvature, *modes.prior, own)[others]
                explained = solve_triangular(upper, between.T, trans=1, check_finite=False)
                # What the rows add to the precision of a mode, less what the kept modes explain of it.
                added[others] = np.maximum(added[others] - np.einsum("ij,ij->j", explained, explained), 0.0)
            covariance = dpotri(upper, lower=0)[0] if len(own) else upper
            found = np.zeros(at[-1])
            add_gains(modes.layout, own, added / (1 + added), covariance, 1.0 if alike else 1 - 1 / s, at, found)
            return found

        with in_threads(threads if len(lower) > ONE_THREAD else 1) as run:
            found = sum(run(of_class, range(1 if alike else s)), start=np.zeros(at[-1]))
        return [part.reshape(shape) for part, shape in zip(np.split(found, at[1:-1]), shapes, strict=True)]
