"""What the shapes of a smooth refit are drawn to if strengths are tuned: a share of the log odds of naive Bayes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from anbexact.models.logit.potentials import Floats
from anbexact.models.smooth.fit import SmoothProblem
from anbexact.models.smooth.terms import SmoothTerm, grouped_axis

GROUPS = 5
"""Groups of neighbouring states of which naive Bayes is learned, of every ordered feature."""
ESS = 1.0
"""Equivalent sample size of the tables of naive Bayes."""


def naive_bayes(problem: SmoothProblem) -> Floats:
    """Return the log odds of naive Bayes as shifts of the intercept and the main effects, shape (cells, classes).

    The states of an ordered feature are merged to `GROUPS` groups of much the same weight, whose log odds are those
    at the middle of the group, and linear in the weight of the rows between two of them. Shifts sum to 0 over the
    classes; those of interactions are 0.
    """
    found = np.zeros((problem.n_cells, problem.n_classes))
    for place, term in enumerate(problem.terms):
        if len(term.axes) > 1:
            continue
        counts = np.zeros((term.size, problem.n_classes))
        np.add.at(counts, problem.cells[:, place] - term.first, problem.weights)
        logs = _feature(term, counts) if term.axes else np.log(counts + ESS / problem.n_classes)
        found[term.cells] = logs - logs.mean(axis=1, keepdims=True)
    return found


def drawn(problem: SmoothProblem, centre: Floats) -> SmoothProblem:
    """Return the problem with shifts, (cells, classes), in its base: what is added to them is penalised."""
    return replace(problem, base=problem.predictors(centre)) if centre.any() else problem


def _feature(term: SmoothTerm, counts: Floats) -> Floats:
    """Return ``ln P(x | c)`` of a feature for the groups of its axis, up to the widths of these."""
    (axis,) = term.axes
    weights = counts.sum(axis=1)
    merged = grouped_axis(replace(axis, groups=np.arange(axis.size)), weights, GROUPS)
    of_group = np.zeros((merged.size, counts.shape[1]))
    np.add.at(of_group, merged.groups, counts)
    logs = np.log((of_group + ESS / of_group.size) / (of_group.sum(axis=0) + ESS / counts.shape[1]))
    found: Floats = logs[merged.groups]
    if axis.ordered:
        own = weights[: axis.ordered] + 1e-9 * max(float(weights.sum()), 1.0)
        groups = merged.groups[: axis.ordered]
        place = np.cumsum(own) - own / 2
        middle = np.bincount(groups, own * place) / np.bincount(groups, own)
        for k, of_class in enumerate(logs[: merged.ordered].T):
            found[: axis.ordered, k] = np.interp(place, middle, of_class)
    return found
