"""The strength of the prior of a refit, chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax

from anbexact._runtime.deadline import Deadline
from anbexact._runtime.progress import Progress
from anbexact._runtime.spread import spread, worker_count
from anbexact._runtime.tasks import in_threads
from anbexact.models.logit.design import Design
from anbexact.models.logit.fit import Stop, fit
from anbexact.models.logit.potentials import Floats, Potentials
from anbexact.tables.folds import Part

FOLDS = 5
"""Number of folds into which the rows are divided."""
ENOUGH = 500
"""Total weight of left-out rows from which on no further fold is left out."""
MANY_ROWS = 10_000
"""Total weight from which 3 folds are used instead of `FOLDS`."""
STRENGTHS = (1000.0, 100.0, 10.0, 1.0, 0.1, 0.01, 0.001)
"""Precisions to try, strongest first."""
ALWAYS = 4
"""How many of them are always tried; the search ends at a later one that is worse than the one before."""
FIRST_OF_PATH, FAR_BELOW = 10.0, 0.5
"""The first precision of the fits that lead to a weak prior; a precision is among them if the weak one is below this
share of it."""
LITTLE_WORK = 100_000
"""Number of distinct rows times families times classes up to which folds take turns: threads would mostly wait for
the interpreter lock."""
PRECISION = 1e-2
"""`Stop.precision` of the fits within the folds, of which only predictions are needed."""


@dataclass(frozen=True)
class Strength:
    """The chosen precision of the prior, and what was tried.

    Attributes
    ----------
    l2 : float
        The precision under which left-out rows are predicted best.
    tried : tuple of (float, float)
        Precisions, each with the conditional log likelihood of left-out rows, summed over the folds that were left
        out, and multiplied by the ratio of the weight of all folds to theirs; total in nats.
    generative : float
        The same log likelihood for the network before the refit.
    complete : bool
        Whether the search was completed; False if the time ran out before.
    """

    l2: float
    tried: tuple[tuple[float, float], ...]
    generative: float
    complete: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "l2": self.l2,
            "tried": [list(pair) for pair in self.tried],
            "generative": self.generative,
            "complete": self.complete,
        }

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> Strength:
        """Return the choice that :meth:`to_dict` described."""
        tried = tuple((float(l2), float(value)) for l2, value in described["tried"])
        return cls(float(described["l2"]), tried, float(described["generative"]), bool(described["complete"]))


def choose_strength(
    design: Design,
    centre: Callable[[Floats], Potentials],
    *,
    threads: int = 1,
    deadline: Deadline | None = None,
    progress: Progress | None = None,
) -> tuple[Strength, Floats]:
    """Return the precision of the prior under which left-out rows are predicted best.

    The rows are divided into 5 folds, or 3 from a total weight of 10,000 on. These are left out one after the
    other: all of them if the rows are in groups; otherwise, until rows of a total weight of `ENOUGH` or more have
    been left out. Precisions of 1000, 100, 10 and 1 are tried, then 0.1, 0.01 and 0.001 until one is worse than the
    one before; each fit starts where the last one ended. The choice is the top of the parabola, in ln l2, through
    the best precision and its neighbours.

    Parameters
    ----------
    design : Design
        The rows.
    centre : callable
        Takes the weights of the rows that are left in, (rows, classes), by their labels where targets are
        probabilities, and returns the centre of the prior. It depends on them because a network learned from the rows
        that it is to predict would make the prior look better than it is.
    deadline, progress
        See :class:`~anbexact.models.logit.fit.Stop`. After the deadline, the best precision so far is returned, or
        1000 if none was tried by then.
    threads : int
        Number of folds that are fitted at the same time, unless there is little work, or joblib is configured with
        more workers.

    Returns
    -------
    Strength, (cells, classes) array
        The choice, and shifts from which a fit to all rows can start: the mean of the folds' shifts under the best
        precision tried.
    """
    n_folds = FOLDS if design.weights.sum() < MANY_ROWS else 3
    parts = [part for part in design.parts(n_folds) if part.held.any() and part.left.any()]
    scale = 1.0
    held_out = np.cumsum([part.held.sum() for part in parts])
    enough = int(np.searchsorted(held_out, ENOUGH)) + 1
    grouped = design.folding is not None and design.folding.groups is not None
    if enough < len(parts) and not grouped:
        parts, scale = parts[:enough], float(design.weights.sum() / held_out[enough - 1])
    folds = [_Fold(design, part, centre) for part in parts]
    generative = scale * sum(fold.held_out() for fold in folds)
    tried: dict[float, float] = {}
    start = np.zeros((design.n_cells, design.n_classes))
    complete = True
    at_once = threads if design.cells.size * design.n_classes > LITTLE_WORK else 1
    for l2 in _downwards(tried):
        if progress is not None:
            progress("strength of the prior", len(tried) / len(STRENGTHS))
        value = scale * sum(_refit_all(folds, l2, deadline, threads, at_once))
        if deadline is not None and deadline.passed:
            complete = False
            break
        tried[l2] = value
        if value >= max(tried.values()):
            start = sum((fold.shift for fold in folds), np.zeros_like(start)) / max(len(folds), 1)
    if progress is not None:
        progress("strength of the prior", 1.0)
    in_order = tuple((l2, tried[l2]) for l2 in STRENGTHS if l2 in tried)
    return Strength(_top(in_order) if tried else STRENGTHS[0], in_order, generative, complete), start


def start_of(design: Design, centre: Potentials, l2: float, max_iter: int, deadline: Deadline) -> Floats | None:
    """Return shifts from which a fit with a weak prior can start; None if a fit can as well start without any.

    They are those of fits with stronger priors, each begun where the last one ended: far from the maximum, few
    directions matter then. Without a prior, there can be several maxima, and the start would decide which of them is
    found.
    """
    start, stop = None, Stop(PRECISION, max_iter, deadline)
    for precision in STRENGTHS:
        if precision <= FIRST_OF_PATH and 0 < l2 < FAR_BELOW * precision and not deadline.passed:
            start = fit(design, centre, precision, start=start, stop=stop).shift
    return start


def _downwards(tried: Mapping[float, float]) -> Iterator[float]:
    """Yield precisions, strongest first; ``tried`` has the log likelihood of those that were yielded before."""
    for place, l2 in enumerate(STRENGTHS):
        yield l2
        if place >= ALWAYS and tried[l2] < tried[STRENGTHS[place - 1]]:
            return


class _Fold:
    """A fold: the rows of the fit, and those that are predicted."""

    def __init__(self, design: Design, part: Part, centre: Callable[[Floats], Potentials]) -> None:
        self._design = design
        self._left_in, self._part, labels = part
        self._centre = centre(labels)
        self.shift = np.zeros((design.n_cells, design.n_classes))

    def refit(self, l2: float, deadline: Deadline | None) -> float:
        """Fit with this precision, from where the last fit ended, and return the log likelihood of left-out rows."""
        found = fit(
            self._design,
            self._centre,
            l2,
            weights=self._left_in,
            start=self.shift,
            stop=Stop(PRECISION, deadline=deadline),
        )
        self.shift = found.shift
        return self.held_out()

    def held_out(self) -> float:
        """Return the conditional log likelihood of left-out rows; total in nats."""
        rows = np.flatnonzero(self._part.any(axis=1))
        logs = (self._design.sums(self._centre) + self._design.by_row(self.shift))[rows]
        return float(np.vdot(self._part[rows], log_softmax(logs, axis=1)))


def _refit_all(
    folds: Sequence[_Fold], l2: float, deadline: Deadline | None, threads: int, at_once: int
) -> list[float]:
    """Return the result of :meth:`_Fold.refit` for all folds, ``at_once`` of which are fitted at the same time.

    They are fitted on joblib's workers if these outnumber the threads.
    """
    if worker_count() > threads:
        found = list(spread(_refitted, (l2, deadline), folds))
        for fold, (shift, _) in zip(folds, found, strict=True):
            fold.shift = shift
        return [value for _, value in found]
    with in_threads(at_once) as run:
        return run(lambda fold: fold.refit(l2, deadline), folds)


def _refitted(shared: tuple[float, Deadline | None], fold: _Fold) -> tuple[Floats, float]:
    """Return the shifts of a fold's fit, and the log likelihood of left-out rows."""
    value = fold.refit(*shared)
    return fold.shift, value


def _top(tried: Sequence[tuple[float, float]]) -> float:
    """Return the top of the parabola, in ln l2, through the best point and its neighbours.

    This is the best point itself if it has only one neighbour, or the three lie on a line.
    """
    best = max(range(len(tried)), key=lambda j: tried[j][1])
    if not 0 < best < len(tried) - 1:
        return tried[best][0]
    (_, before), (l2, value), (_, after) = tried[best - 1 : best + 2]
    bend = before - 2 * value + after
    return l2 * 10 ** ((after - before) / (2 * bend)) if bend < 0 else l2
