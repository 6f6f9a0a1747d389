"""The grids of interactions: finer ones where they predict better, and coarser ones to choose strengths quickly."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
import numpy.typing as npt

from anbexact._runtime.deadline import Deadline
from anbexact.models.logit.potentials import Floats
from anbexact.models.smooth.fit import SmoothProblem, smooth_fit
from anbexact.models.smooth.smoothness import (
    PRECISION,
    SmoothFolds,
    Smoothness,
    Tried,
    by_evidence_again,
    is_slow,
)
from anbexact.models.smooth.terms import Axis, Grid, SmoothTerm, grouped_axis

FEW_UNKNOWNS = 1_000
"""Maximum number of unknowns for which a rule chooses strengths on the grids of the refit itself.

With more, it uses coarser grids of interactions, on which fits are quicker.
"""
PAIR, LARGER = 5, 3
"""Maximum numbers of groups on an axis of a coarser grid, for interactions of two features and of three or more."""
LEAST_DEGREES = 2.5
"""Effective degrees of freedom of a pair, per class but one, from which finer grids are tried for it."""
MOST_UNKNOWNS = 5_000
"""Maximum number of unknowns of the pairs on finer grids; pairs with more degrees of freedom come first."""
TRIED = ((2, 1), (4, 2))
"""The finer grids that are tried: parts of an interval, and the order of differences."""
ROUNDS = 10
"""Maximum number of rounds of the climb to the strength of second differences."""


def finer_axis(axis: Axis, full: Axis, weights: Floats, parts: int) -> Axis:
    """Return an axis with every ordered group cut into at most ``parts`` groups of about equal weight.

    Parameters
    ----------
    axis, full : Axis
        The axis, and the finest one of the same feature.
    weights : (full groups,) float64
        The weight of the rows in every group of ``full``.
    parts : int
    """
    coarse = np.empty(full.size, dtype=np.int64)
    coarse[full.groups] = axis.groups
    of_group = coarse[: full.ordered]
    own = weights[: full.ordered] + 1e-9 * max(float(weights.sum()), 1.0)
    total = np.bincount(of_group, own)
    before = np.cumsum(total) - total
    middle = (np.cumsum(own) - own / 2 - before[of_group]) / total[of_group]
    part = np.minimum((middle * parts).astype(np.int64), parts - 1)
    _, merged = np.unique(of_group * parts + part, return_inverse=True)
    kept = int(merged[-1]) + 1
    unordered = np.arange(full.size - full.ordered) + kept
    groups = np.concatenate([merged, unordered])[full.groups]
    return replace(axis, groups=groups, size=full.size - full.ordered + kept, ordered=kept)


def on_grids(problem: SmoothProblem, grids: Sequence[Grid]) -> tuple[SmoothProblem, npt.NDArray[np.int64]]:
    """Return the problem with pairs on finer grids, and for every new cell the old one in which it lies."""
    wanted = {frozenset((grid.first, grid.second)): grid for grid in grids}
    totals = problem.weights.sum(axis=1)
    mains = {term.features[0]: place for place, term in enumerate(problem.terms) if len(term.axes) == 1}
    terms: list[SmoothTerm] = []
    cells, old = np.empty_like(problem.cells), []
    for place, term in enumerate(problem.terms):
        first = terms[-1].cells.stop if terms else 0
        grid = wanted.get(frozenset(term.features)) if len(term.axes) == 2 else None
        if grid is None:
            terms.append(replace(term, first=first))
            cells[:, place] = problem.cells[:, place] - term.first + first
            old.append(np.arange(term.first, term.cells.stop))
            continue
        axes, of_row, of_old = [], np.zeros(len(cells), dtype=np.int64), np.zeros((), dtype=np.int64)
        for axis in term.axes:
            main = problem.terms[mains[axis.feature]]
            group = problem.cells[:, mains[axis.feature]] - main.first
            weights = np.bincount(group, totals, main.size).astype(np.float64)
            axes.append(finer := finer_axis(axis, main.axes[0], weights, grid.parts))
            to_finer, to_coarse = np.empty(main.size, dtype=np.int64), np.empty(finer.size, dtype=np.int64)
            to_finer[main.axes[0].groups] = finer.groups
            to_coarse[finer.groups] = axis.groups
            of_row = of_row * finer.size + to_finer[group]
            of_old = of_old[..., None] * axis.size + to_coarse
        terms.append(SmoothTerm(tuple(axes), first, grid.order))
        cells[:, place] = of_row + first
        old.append(of_old.ravel() + term.first)
    return replace(problem, terms=tuple(terms), cells=cells), np.concatenate(old)


def degrees_of_pairs(
    problem: SmoothProblem, chosen: Smoothness, shift: Floats, deadline: Deadline | None = None
) -> dict[int, float]:
    """Return the effective degrees of freedom of every pair of ordered features, by the position of its term.

    They are ``τ [tr(S⁻¹ S_k) - tr((H + S)⁻¹ S_k)]`` of :func:`.by_evidence` for the penalty S_k of a pair by itself,
    under the strengths that the evidence chose, and on the grids on which it chose them; see :func:`quick`.
    """
    if chosen.by_evidence is None:
        return {}
    pairs = [k for k, term in enumerate(problem.terms) if _is_ordered_pair(term)]
    if not pairs:
        return {}
    small, of_small = quick(problem)
    start = np.empty((small.n_cells, small.n_classes))
    start[of_small] = shift
    _, factor = smooth_fit(
        small, chosen.by_evidence, start=start, variances=True, precision=PRECISION, deadline=deadline
    )
    gained = factor.gained(*small.reduced)
    # Scaled modes have a precision of 1: what is not due to the ridge is due to the penalty.
    ridges = small.ridge * factor.modes.scale**2
    return {k: float(gained[k] @ (1 - ridges[small.terms[k].cells])) for k in pairs}


def _is_ordered_pair(term: SmoothTerm) -> bool:
    """Return whether a term has two features, both with three or more groups in an order."""
    return len(term.axes) == 2 and all(axis.ordered > 2 for axis in term.axes)


def with_finer_grids(
    problem: SmoothProblem,
    chosen: Smoothness,
    shift: Floats,
    of_folds: Floats,
    *,
    kept: Collection[Hashable] = (),
    deadline: Deadline | None = None,
) -> tuple[SmoothProblem, Smoothness, Floats]:
    """Return the problem on the grids that predict left-out rows best, with strengths for them, and a start of a fit.

    Finer grids are tried for pairs of ordered features that have at least `LEAST_DEGREES` effective degrees of
    freedom per class but one under the strengths that the evidence chose: each group of both axes is cut in two, or
    in four with second instead of first differences (see `TRIED`). The strengths of first differences stay as they
    are. The strength of second differences is chosen by the evidence on the grids that there were, on which it has
    the same meaning. Among the finer grids that predict left-out rows better than those that there were, by more than
    a standard error of the difference, the best are taken.

    Parameters
    ----------
    problem : SmoothProblem
    chosen : Smoothness
        The strengths of the rule ``"auto"`` for the problem.
    shift, of_folds : (cells, classes) array
        Where fits start: those to all rows, and those in folds.
    kept : collection of features
        Features whose pairs keep their grids.
    deadline : Deadline, optional
    """
    if not chosen.complete or chosen.by_evidence is None or chosen.tuning is None or is_slow(problem):
        return problem, chosen, shift
    degrees = degrees_of_pairs(problem, chosen, shift, deadline)
    pairs = [
        k
        for k, own in sorted(degrees.items(), key=lambda pair: -pair[1])
        if own >= LEAST_DEGREES * (problem.n_classes - 1) and not {*problem.terms[k].features} & {*kept}
    ]
    wanted = [own for parts, order in TRIED if (own := _affordable(problem, pairs, parts, order))]
    if not wanted or not len(SmoothFolds(problem)):
        return problem, chosen, shift
    now = best = _OnGrids.of(problem, chosen, of_folds, (), deadline)
    for grids in wanted:
        bends = grids[0].order == 2
        strengths = _with_bending(problem, chosen, grids, deadline) if bends else chosen
        finer = _OnGrids.of(problem, strengths, now.shift, grids, deadline)
        if deadline is not None and deadline.passed:
            return problem, replace(chosen, complete=False), shift
        if finer.tried.surpasses(now.tried) and finer.tried.value > best.tried.value:
            best = finer
    problem, old = on_grids(problem, best.grids)
    return problem, replace(best.smoothness, grids=best.grids), shift[old]


@dataclass(frozen=True, eq=False)
class _OnGrids:
    """A problem on some grids, and how it predicts left-out rows.

    Fits to the others start from some shifts, and ``shift`` is where they end, on average.
    """

    problem: SmoothProblem
    smoothness: Smoothness
    shift: Floats
    grids: tuple[Grid, ...]
    tried: Tried

    @classmethod
    def of(
        cls,
        problem: SmoothProblem,
        smoothness: Smoothness,
        shift: Floats,
        grids: tuple[Grid, ...],
        deadline: Deadline | None,
    ) -> _OnGrids:
        """Return a problem with some pairs on finer grids."""
        problem, old = on_grids(problem, grids)
        folds = SmoothFolds(problem, shift[old], few=True)
        assert smoothness.by_evidence is not None
        assert smoothness.tuning is not None
        tried = Tried(folds, smoothness.by_evidence, smoothness.tuning, deadline)
        return cls(problem, smoothness, folds.mean_shift, grids, tried)


def _affordable(problem: SmoothProblem, pairs: Sequence[int], parts: int, order: int) -> tuple[Grid, ...]:
    """Return the grids of the first pairs that have at most `MOST_UNKNOWNS` unknowns together."""
    found: list[Grid] = []
    unknowns = 0
    for k in pairs:
        term = problem.terms[k]
        full = [problem.terms[j].axes[0].size for j in _mains(problem, term)]
        cells = prod(min(size, parts * axis.size) for size, axis in zip(full, term.axes, strict=True))
        unknowns += (problem.n_classes - 1) * cells
        if unknowns > MOST_UNKNOWNS:
            break
        if cells > term.size:
            first, second = term.features
            found.append(Grid(first, second, parts, order))
    return tuple(found)


def _mains(problem: SmoothProblem, term: SmoothTerm) -> list[int]:
    """Return the positions of the main effects of a term's features."""
    places = {other.features: place for place, other in enumerate(problem.terms)}
    return [places[(name,)] for name in term.features]


def _with_bending(
    problem: SmoothProblem,
    chosen: Smoothness,
    grids: Sequence[Grid],
    deadline: Deadline | None,
) -> Smoothness:
    """Return strengths with one for the second differences of some pairs, chosen by the evidence on their grids."""
    bent, _ = on_grids(problem, [grid._replace(parts=1) for grid in grids])
    small, _ = quick(bent)
    strengths = by_evidence_again(small, chosen, rounds=ROUNDS, deadline=deadline)
    return replace(strengths, rule=chosen.rule, rounds=chosen.rounds + strengths.rounds)


def quick(problem: SmoothProblem) -> tuple[SmoothProblem, npt.NDArray[np.int64]]:
    """Return the problem on which a rule chooses strengths, and for every cell the one there in which it lies.

    It is the problem itself if that has at most `FEW_UNKNOWNS` unknowns, or no interactions.
    """
    few = problem.n_cells * (problem.n_classes - 1) <= FEW_UNKNOWNS
    if few or all(len(term.axes) < 2 for term in problem.terms):
        return problem, np.arange(problem.n_cells)
    return coarser(problem)


def coarser(problem: SmoothProblem) -> tuple[SmoothProblem, npt.NDArray[np.int64]]:
    """Return the problem with neighbouring groups of interactions merged, and for every old cell its new one.

    A strength means the same on both grids, because penalties are integrals over intervals of length 1.
    """
    rows = problem.weights.sum(axis=1)
    terms: list[SmoothTerm] = []
    new_cells = np.empty(problem.n_cells, dtype=np.int64)
    for place, term in enumerate(problem.terms):
        merged = _merged(term, np.bincount(problem.cells[:, place] - term.first, rows, term.size).astype(np.float64))
        merged = replace(merged, first=terms[-1].cells.stop if terms else 0)
        numbers = np.arange(merged.first, merged.cells.stop).reshape(merged.shape)
        new_cells[term.cells] = np.ravel(numbers[np.ix_(*(axis.groups for axis in merged.axes))])
        terms.append(merged)
    return replace(problem, terms=tuple(terms), cells=new_cells[problem.cells].astype(np.int32)), new_cells


def _merged(term: SmoothTerm, weights: Floats) -> SmoothTerm:
    """Return the term on a coarser grid, whose axes map the groups of the old grid, not states, to new groups."""
    grid = weights.reshape(term.shape)
    size = {0: 0, 1: term.size, 2: PAIR}.get(len(term.axes), LARGER)
    axes = []
    for place, axis in enumerate(term.axes):
        others = tuple(k for k in range(len(term.axes)) if k != place)
        own = replace(axis, groups=np.arange(axis.size))
        axes.append(grouped_axis(own, grid.sum(axis=others), size))
    return replace(term, axes=tuple(axes))
