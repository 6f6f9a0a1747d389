"""The weighted functional ANOVA of a sum of terms: effects that contain no part which depends on fewer features."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np
from scipy.linalg import solve_triangular

from anbexact._runtime.arrays import Floats, Positions
from anbexact.models.smooth.terms import SmoothTerm

MOST_CELLS = 10_000
"""Maximum number of cells of all effects of a term's features for which every subset of these has an effect.

Of larger terms, only subsets that have a term of their own have effects.
"""
ZERO_EIGENVALUE = 1e-10
"""Share of the largest eigenvalue up to which an eigenvalue counts as 0."""


@dataclass(frozen=True, eq=False)
class Effect:
    """A function of a few features, as a linear function of the shifts of the cells of terms.

    Attributes
    ----------
    features : tuple
    groups : tuple of (states,) int64
        For every feature, the group of every state.
    weight : (*groups) float64
        Weight of the rows in every cell.
    parts : mapping of int to (cells, cells of the term) float64
        For positions of terms, the matrix that maps the shifts of the term to what they contribute to the effect.
    """

    features: tuple[Hashable, ...]
    groups: tuple[Positions, ...]
    weight: Floats
    parts: dict[int, Floats]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of groups of every feature."""
        return self.weight.shape


def effects(terms: Sequence[SmoothTerm], states: Mapping[Hashable, Positions], weights: Floats) -> tuple[Effect, ...]:
    """Return effects that have the same sum as the terms, up to a constant, each without parts of fewer features.

    The effects f_u, u a set of features, are the functional ANOVA weighted by the rows: for every u, every feature i
    in u and all groups of the others, ``Σ_{x_i} w_u(x_u) f_u(x_u) = 0``, where w_u is the weight of the rows with the
    groups x_u. Equivalently, ``Σ_x w_u f_u g = 0`` for every function g of fewer of the features. If all cells have
    rows, this decomposition is unique, and does not depend on the order of the features. Otherwise, it is the limit
    in which all cells without rows have the same weight, which goes to 0.

    Every term has an effect, and so has every subset of its features unless their cells would be more than
    `MOST_CELLS` in all. The groups of an effect are those of its term, or the common refinement of several terms.

    Parameters
    ----------
    terms : sequence of SmoothTerm
        The terms, including the intercept, which has no effect; every feature has a term of its own.
    states : mapping of feature to (rows,) int64
        The state of every feature in every row.
    weights : (rows,) float64

    References
    ----------
    Hooker, *Generalized functional ANOVA diagnostics for high-dimensional functions of dependent variables*, Journal
    of Computational and Graphical Statistics 16 (2007); Lengerich, Tan, Chang, Hooker and Caruana, *Purifying
    interaction effects with the functional ANOVA*, AISTATS (2020).
    """
    made = {frozenset(features): _made(features, terms, states, weights) for features in _sets(terms)}
    for of_set in sorted(made, key=len, reverse=True):
        smaller = [frozenset(), *(other for other in made if other < of_set)]
        for other, parts in _parted(made[of_set], smaller):
            for place, matrix in parts.items():
                made[other].parts[place] = made[other].parts.get(place, 0.0) + _spread(
                    matrix, made[of_set], made[other]
                )
    return tuple(made.values())


def _sets(terms: Sequence[SmoothTerm]) -> Iterator[tuple[Hashable, ...]]:
    """Yield the features of every effect: first those of the terms, then their other subsets, small ones first."""
    own = [term.features for term in terms if term.axes]
    yield from own
    known = set(map(frozenset, own))
    closed = [term for term in terms if prod(size + 1 for size in term.shape) <= MOST_CELLS]
    for n_features in range(2, max((len(term.axes) for term in closed), default=0)):
        for term in closed:
            for features in combinations(term.features, n_features):
                if frozenset(features) not in known:
                    known.add(frozenset(features))
                    yield features


def _made(
    features: tuple[Hashable, ...],
    terms: Sequence[SmoothTerm],
    states: Mapping[Hashable, Positions],
    weights: Floats,
) -> Effect:
    """Return an effect of these features to which only the term of just these features has contributed so far."""
    above = [term for term in terms if set(features) <= set(term.features)]
    groups = []
    for name in features:
        of_terms = [axis.groups for term in above for axis in term.axes if axis.feature == name]
        groups.append(np.unique(np.stack(of_terms), axis=1, return_inverse=True)[1].reshape(-1))
    shape = tuple(int(of.max()) + 1 for of in groups)
    cells = np.ravel_multi_index([of[states[name]] for name, of in zip(features, groups, strict=True)], shape)
    grid = np.bincount(cells, weights, prod(shape)).astype(np.float64).reshape(shape)
    effect = Effect(features, tuple(groups), grid, {})
    for place, term in enumerate(terms):
        if term.features == features:
            own = Effect(features, tuple(axis.groups for axis in term.axes), np.empty(term.shape), {})
            effect.parts[place] = _spread(np.eye(term.size), own, effect)
    return effect


def _parted(
    effect: Effect, smaller: Sequence[frozenset[Hashable]]
) -> Iterator[tuple[frozenset[Hashable], dict[int, Floats]]]:
    """Remove the part of an effect that depends on fewer features, and return it, split by these features.

    This part is the projection, weighted by the rows, on sums of functions of the ``smaller`` sets. Each of these
    functions is a sum of products of contrasts between groups, with one contrast for every feature of the set.
    """
    bases = [_product(effect, of_set) for of_set in smaller]
    ends = np.cumsum([basis.shape[1] for basis in bases])
    project = _projection(np.hstack(bases), effect.weight.ravel())
    found: list[dict[int, Floats]] = [{} for _ in smaller]
    for place, matrix in effect.parts.items():
        for parts, basis, own in zip(found, bases, np.split(project @ matrix, ends[:-1]), strict=True):
            parts[place] = basis @ own
        effect.parts[place] = matrix - sum(parts[place] for parts in found)
    return zip(smaller[1:], found[1:], strict=True)


def _projection(basis: Floats, weight: Floats) -> Floats:
    """Return the matrix that maps functions to coefficients of their weighted projection, shape (columns, cells).

    The columns of the basis are linearly independent. Cells of positive weight determine the coefficients as far as
    they can; whatever they leave open is determined by the cells of weight 0.
    """
    seen = weight > 0
    root = np.sqrt(weight[seen])[:, None]
    eigenvalues, directions = np.linalg.eigh(basis[seen].T @ basis[seen])
    told = eigenvalues > ZERO_EIGENVALUE * eigenvalues[-1]
    shown, open_ones = directions[:, told], directions[:, ~told]
    found = np.zeros(basis.shape[::-1])
    found[:, seen] = shown @ _left_inverse(root * (basis[seen] @ shown)) * root.T
    if not told.all():
        rest = np.eye(len(basis))[~seen] - basis[~seen] @ found
        found += open_ones @ _left_inverse(basis[~seen] @ open_ones) @ rest
    return found


def _left_inverse(matrix: Floats) -> Floats:
    """Return the pseudo-inverse of a matrix whose columns are linearly independent."""
    orthogonal, triangle = np.linalg.qr(matrix)
    return np.asarray(solve_triangular(triangle, orthogonal.T))


def _product(effect: Effect, of_set: frozenset[Hashable]) -> Floats:
    """Return the products of contrasts of some features as functions of all features, shape (cells, products)."""
    found: Floats = np.ones((1, 1))
    for name, size in zip(effect.features, effect.shape, strict=True):
        factor = np.eye(size)[:, 1:] - 1 / size if name in of_set else np.ones((size, 1))
        found = np.asarray(np.kron(found, factor), dtype=np.float64)
    return found


def _spread(matrix: Floats, source: Effect, target: Effect) -> Floats:
    """Return a matrix with a row for every cell of the target, given one with a row for every cell of the source.

    The target has finer groups. If it lacks a feature, rows must be the same for all groups of that feature.
    """
    positions = []
    for name, groups in zip(source.features, source.groups, strict=True):
        if name not in target.features:
            positions.append(np.zeros(target.shape, dtype=np.int64))
            continue
        axis = target.features.index(name)
        of_fine = np.empty(target.shape[axis], dtype=np.int64)
        of_fine[target.groups[axis]] = groups
        lengths = [1] * len(target.shape)
        lengths[axis] = -1
        positions.append(np.broadcast_to(of_fine.reshape(lengths), target.shape))
    return matrix[np.ravel_multi_index(positions, source.shape).ravel()]
