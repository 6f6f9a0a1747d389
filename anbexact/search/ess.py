"""The equivalent sample size for which the data, with the best structure, are most probable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from anbexact._runtime.advice import heard_once
from anbexact._runtime.arrays import Floats
from anbexact._runtime.deadline import Deadline, abandonable, seconds_left
from anbexact._runtime.line_search import best_on_log_grid
from anbexact.models.structure import Structure
from anbexact.scores import BDeu
from anbexact.search.exact.solution import rounding_error
from anbexact.search.scoring.totals import total_score
from anbexact.tables.table import DiscreteTable

LEAST_ESS, MOST_ESS = 0.01, 1e5
"""The range that is searched."""
START_ESS = 10.0
"""The start of the climb; for most tables, it is closer to the final value than 1."""
CELLS_AT_ONCE = 1 << 20
"""Maximum number of distinct cell weights, times equivalent sample sizes, for which scores are computed together."""
MOST_SEARCHES = 5
"""Maximum number of structures learned."""

Learn = Callable[[DiscreteTable, BDeu, float | None], Structure]


def best_ess(table: DiscreteTable, structure: Structure) -> float:
    """Return the equivalent sample size with the highest BDeu for a structure.

    The score is computed as a sum over distinct cell weights, each multiplied by its frequency, so a value takes
    microseconds. The search covers 0.01 to 100,000 on a logarithmic scale, with 15 values and then 21 around the best
    of these; the result is the top of the parabola through the best one and its neighbours.
    """
    of_size: dict[float, list[tuple[npt.NDArray[Any], int]]] = {}
    for name, parents in structure.parents.items():
        for names, sign in (([*parents, name], 1), (list(parents), -1)):
            size = prod(map(float, table.shape(names)))
            of_size.setdefault(size, []).append((table.cell_weights(names), sign))
    sizes = np.array([*of_size])
    distinct = [_summed(cells) for cells in of_size.values()]
    weights, times = (np.concatenate(part) for part in zip(*distinct, strict=True))
    lengths = [len(of_weights) for of_weights, _ in distinct]
    times_of_sizes = np.array([of_times.sum() for _, of_times in distinct])

    def scores(ess: Floats) -> Floats:
        parameters = ess[:, None] / sizes
        of_cells = gammaln(np.repeat(parameters, lengths, axis=1) + weights)
        return np.asarray(of_cells @ times - gammaln(parameters) @ times_of_sizes)

    def scores_in_parts(ess: Floats) -> Floats:
        at_once = max(1, CELLS_AT_ONCE // max(1, len(weights)))
        return np.concatenate([scores(ess[start : start + at_once]) for start in range(0, len(ess), at_once)])

    return best_on_log_grid(scores_in_parts, LEAST_ESS, MOST_ESS, points=15, closer=21)[0]


def _summed(cells: Sequence[tuple[npt.NDArray[Any], int]]) -> tuple[Floats, Floats]:
    """Return the distinct weights among some arrays of weights, and how often they occur, times the arrays' signs."""
    weights, places = np.unique(np.concatenate([of_names for of_names, _ in cells]), return_inverse=True)
    signs = np.repeat([float(sign) for _, sign in cells], [len(of_names) for of_names, _ in cells])
    return weights, np.bincount(places.reshape(-1), signs, len(weights)).astype(np.float64, copy=False)


def climb_in_ess(
    table: DiscreteTable, learn: Learn, structure: Structure, deadline: Deadline
) -> tuple[Structure, BDeu]:
    """Maximise BDeu over structures and equivalent sample sizes in turn.

    Alternates between the best equivalent sample size for a structure (:func:`best_ess`) and the best structure for
    an equivalent sample size (``learn``). With an exact ``learn``, neither step lowers the score. The climb ends when
    the structure no longer changes, usually after two or three searches (the first, for the given structure, among
    them), and at the latest after five. In the resulting pair, each is best given the other; it is rarely worse than
    the best pair of all. If a greedy ``learn`` finds a lower score than before, the earlier structure is kept. If
    time has run out, the given structure is the result. Ctrl-C raises.

    Parameters
    ----------
    table : DiscreteTable
        A table with a class.
    learn : callable
        ``learn(table, score, seconds)`` returns the best structure it finds in the given time (None: no limit).
    structure : Structure
        The structure that ``learn`` returned for the equivalent sample size ``START_ESS``.
    deadline : Deadline
        When the climb ends.

    Returns
    -------
    structure : Structure
        The structure that ``learn`` returned last; its certificate refers to the score returned with it.
    score : BDeu
        The score under which it was learned.

    References
    ----------
    The marginal likelihood as a function of the equivalent sample size: Silander, Kontkanen and Myllymäki, *On
    sensitivity of the MAP Bayesian network structure to the equivalent sample size parameter*, UAI 2007.
    """
    score = BDeu(START_ESS)
    with abandonable(), heard_once():
        for _ in range(MOST_SEARCHES - 1):
            better = BDeu(best_ess(table, structure))
            if deadline.passed:
                break
            following = learn(table, better, seconds_left(deadline))
            if following.parents == structure.parents:
                return following, better
            of_structure = total_score(table, better, dict(structure.parents))
            if following.score < of_structure - rounding_error(table, of_structure):
                break
            structure, score = following, better
    return structure, score
