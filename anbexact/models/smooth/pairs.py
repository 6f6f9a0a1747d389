"""Pairs of features that a network does not join, but for which the residuals of a smooth refit ask."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import prod

import numpy as np
from scipy.special import softmax

from anbexact._runtime.deadline import Deadline
from anbexact._runtime.units import counted
from anbexact.models.logit.closure import Arc, closing_arcs, with_arcs
from anbexact.models.logit.potentials import Floats, class_families
from anbexact.models.network.network import TableNetwork
from anbexact.models.parameters.tables import ConditionalTable
from anbexact.models.smooth.fit import SmoothProblem
from anbexact.models.smooth.smoothness import SmoothFolds, Smoothness
from anbexact.models.smooth.terms import MOST_GRID, Axis, Codes, SmoothTerm, grouped_axis
from anbexact.models.structure import Certificate, Structure

LEAST_EVIDENCE = 1.0
"""Log evidence, in nats per class but one, from which a pair is added."""
MOST_PAIRS = 10
"""Maximum number of pairs that are added."""
MOST_ENTRIES = 4_000_000
"""Maximum number of entries of a table of the network with further arcs, also once it is closed."""
STRENGTHS = tuple(float(10.0**power) for power in np.arange(-2, 4.5, 0.5))
"""Strengths among which that of a pair is chosen."""


def score_evidence(term: SmoothTerm, gradient: Floats, curvature: Floats, ridge: float) -> Floats:
    """Return the log evidence that residuals give for a term that is not in a model, for each of `STRENGTHS`.

    The log likelihood is replaced by its expansion to second order at the fit, with the other terms held fixed. Let g
    and W be the gradient and minus the second derivatives by the cells of the term, and S its prior precision. The
    integral over the term is then ``½ gᵀ (W + S)⁻¹ g - ½ ln |I + S^{-½} W S^{-½}|``. It is taken over the
    interaction alone: modes that do not vary along one of the axes belong to main effects, which have been fitted.

    Parameters
    ----------
    term : SmoothTerm
        A term of two features.
    gradient, curvature : (cells, contrasts) float64
        Gradients and second derivatives by orthonormal contrasts of the classes; the contrasts count as independent.
    ridge : float
    """
    (first, one), (second, other) = (axis.modes for axis in term.axes)
    varies = np.multiply.outer(first > 1e-9 * first[-1], second > 1e-9 * second[-1]).ravel()
    columns = np.kron(one, other)[:, varies]
    rough = term.interaction_roughness((1.0, 1.0))[varies]
    total = np.zeros(len(STRENGTHS))
    for g, w in zip(gradient.T, curvature.T, strict=True):
        information, towards = columns.T @ (w[:, None] * columns), columns.T @ g
        for k, strength in enumerate(STRENGTHS):
            scale = (strength * rough + ridge) ** -0.5
            lower = np.linalg.cholesky(np.eye(len(scale)) + scale[:, None] * information * scale)
            half = np.linalg.solve(lower, scale * towards)
            total[k] += half @ half / 2 - np.log(np.diagonal(lower)).sum()
    return total


def pair_evidence(
    problem: SmoothProblem, smoothness: Smoothness, shift: Floats, deadline: Deadline | None = None
) -> dict[tuple[Hashable, Hashable], float]:
    """Return the highest log evidence of every pair of features that has no term, by :func:`score_evidence`.

    Residuals are those of left-out rows, which a fit has not followed. Axes have at most `MOST_GRID` groups in an
    order. Each of n classes counts as a contrast with the share ``1 - 1 / n``, as in :meth:`.Factor.gained`.

    Parameters
    ----------
    problem : SmoothProblem
        The problem whose base has no part of naive Bayes.
    smoothness : Smoothness
    shift : (cells, classes) array
        Where fits start.
    deadline : Deadline, optional
    """
    folds = SmoothFolds(problem, shift)
    s = problem.n_classes
    if not len(folds) or s < 2:
        return {}
    folds.logs(smoothness.strengths, deadline, smoothness.centre)
    mains = {term.features[0]: place for place, term in enumerate(problem.terms) if len(term.axes) == 1}
    joined = {frozenset(two) for term in problem.terms for two in combinations(term.features, 2)}
    cells, gradient, curvature = folds.residuals()
    gradient, curvature = _by_contrast(gradient, curvature)
    axes = {name: _coarse_axis(problem, place) for name, place in mains.items()}
    groups = {name: axes[name].groups[cells[:, place] - problem.terms[place].first] for name, place in mains.items()}
    found = {}
    for a, b in combinations(mains, 2):
        if frozenset((a, b)) in joined or min(axes[a].size, axes[b].size) < 2:
            continue
        term = SmoothTerm((axes[a], axes[b]), 0)
        of_row = groups[a] * axes[b].size + groups[b]
        first, second = _by_cell(of_row, gradient, term.size), _by_cell(of_row, curvature, term.size)
        found[a, b] = float(score_evidence(term, first, second, problem.ridge).max())
        if deadline is not None and deadline.passed:
            break
    return found


def pair_term(problem: SmoothProblem, pair: Sequence[Hashable], fine: Collection[Hashable] = ()) -> SmoothTerm:
    """Return a term of two features with a term each, to follow those of a problem.

    Its axes have at most `MOST_GRID` groups in an order; those of features that are ``fine`` are not merged.
    """
    places = {term.features[0]: place for place, term in enumerate(problem.terms) if len(term.axes) == 1}
    axes = []
    for name in pair:
        (full,) = problem.terms[places[name]].axes
        merged = _coarse_axis(problem, places[name])
        axes.append(full if name in fine else replace(merged, groups=merged.groups[full.groups]))
    return SmoothTerm(tuple(axes), problem.n_cells)


def pair_strength(problem: SmoothProblem, shift: Floats, term: SmoothTerm) -> float:
    """Return the one of `STRENGTHS` for which the residuals of a fit give most evidence for a term of two features.

    Parameters
    ----------
    problem : SmoothProblem
        The problem with the term, which is the last one.
    shift : (cells, classes) array
        The shifts of the fit, which are 0 in the cells of the term.
    """
    p, totals = softmax(problem.predictors(shift), axis=1), problem.weights.sum(axis=1, keepdims=True)
    of_row = problem.cells[:, -1] - term.first
    gradient, curvature = _by_contrast(problem.weights - totals * p, totals * p * (1 - p))
    of_cells = _by_cell(of_row, gradient, term.size), _by_cell(of_row, curvature, term.size)
    return STRENGTHS[int(score_evidence(term, *of_cells, problem.ridge).argmax())]


def _coarse_axis(problem: SmoothProblem, place: int) -> Axis:
    """Return the axis of a main effect for pairs, as groups of the groups of its own."""
    main = problem.terms[place]
    weights = np.bincount(problem.cells[:, place] - main.first, problem.weights.sum(axis=1), main.size)
    own = replace(main.axes[0], groups=np.arange(main.size))
    return grouped_axis(own, weights.astype(np.float64), MOST_GRID)


def _by_contrast(gradient: Floats, curvature: Floats) -> tuple[Floats, Floats]:
    """Return derivatives by the classes, (rows, classes), as those by contrasts; see :func:`pair_evidence`."""
    s = gradient.shape[1]
    kept = slice(1, 2) if s == 2 else slice(None)
    times = np.sqrt(s / (s - 1) * (1.0 if s == 2 else 1 - 1 / s))
    return times * gradient[:, kept], times**2 * curvature[:, kept]


def _by_cell(of_row: Codes, values: Floats, size: int) -> Floats:
    """Return the sums of values, (rows, columns), over the rows of every cell, (size, columns)."""
    return np.stack([np.bincount(of_row, column, size).astype(np.float64) for column in values.T], axis=1)


def asked_arcs(evidence: Mapping[tuple[Hashable, Hashable], float], network: TableNetwork) -> tuple[Arc, ...]:
    """Return arcs for the pairs with most evidence, as (parent, child), that the tables of the network can bear.

    A pair needs `LEAST_EVIDENCE`. The arc points to the later feature in a topological order; this feature must be a
    child of the class. Arcs that would lead to tables of more than `MOST_ENTRIES` entries are left out, also those of
    the closed network, over which missing cells are summed out.
    """
    structure, shape = network.structure, {name: network.vocabulary.arity(name) for name in network.vocabulary.names}
    c = structure.class_name
    least = LEAST_EVIDENCE * (shape[c] - 1)
    rank = {name: place for place, name in enumerate(structure.topological_order())}
    found: list[Arc] = []
    for pair, of_pair in sorted(evidence.items(), key=lambda item: -item[1]):
        if of_pair < least or len(found) == MOST_PAIRS:
            break
        parent, child = sorted(pair, key=rank.__getitem__)
        if c not in structure.parents[child]:
            continue
        tried = with_arcs(structure, ((parent, child),))
        closed = with_arcs(tried, closing_arcs(tried, shape))
        if max(shape[c] * prod(shape[v] for v in own) for own in class_families(closed).values()) <= MOST_ENTRIES:
            structure = tried
            found.append((parent, child))
    return tuple(found)


def joined_network(
    network: TableNetwork, arcs: tuple[Arc, ...], why: str = "for which residuals of the refit asked"
) -> TableNetwork:
    """Return the network with further arcs, on which its tables do not depend; its posterior stays the same."""
    joined = with_arcs(network.structure, arcs)
    certificate = Certificate.unknown(f"{counted(len(arcs), 'arc')} added, {why}")
    structure = Structure(joined.class_name, joined.parents, network.structure.score, certificate)
    tables = {}
    for name, table in network.tables.items():
        parents = structure.parents[name]
        present = [place for place, parent in enumerate(parents) if parent in table.parents]
        order = [1 + table.parents.index(parents[place]) for place in present]
        values = table.values.transpose([0, *order])
        lengths = [network.vocabulary.arity(parent) if parent in table.parents else 1 for parent in parents]
        whole = [network.vocabulary.arity(parent) for parent in parents]
        values = np.broadcast_to(values.reshape(-1, *lengths), (len(values), *whole))
        tables[name] = ConditionalTable(name, parents, np.ascontiguousarray(values))
    return replace(network, structure=structure, tables=tables, counts=None, estimation=None)
