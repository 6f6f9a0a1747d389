"""Intervals of class probabilities by draws of sample sizes, structures and tables."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from anbexact._runtime.arrays import Floats
from anbexact.models.network.table_draws import Wanted, intervals_of_draws
from anbexact.models.parameters.counts import FamilyCounts
from anbexact.search.posterior.averaged_model import AveragedModel
from anbexact.tables.vocabulary import CodeArray


def averaged_intervals(
    model: AveragedModel,
    codes: CodeArray,
    wanted: Wanted,
    random_state: int | np.random.Generator | None,
    n_jobs: int | None,
) -> Floats:
    """Return intervals of P(class | row), shape (rows, classes, 2), by draws of whole networks from their posterior.

    Each draw is an equivalent sample size, a structure given it, and all tables given both. The draws are independent
    and exact.

    Parameters
    ----------
    model : AveragedModel
        The model that is averaged.
    codes : (features, rows) int16
        Rows as for ``posterior``; negative codes are summed out.
    wanted : Wanted
        The probability between the ends, with equal tails on both sides, and the number of draws.
    random_state, n_jobs
        The seed; threads.
    """
    rng = np.random.default_rng(random_state)
    table = model.table
    known: dict[tuple[Hashable, ...], FamilyCounts] = {}

    def counts(name: Hashable, parents: tuple[Hashable, ...]) -> FamilyCounts:
        family = (name, *parents)
        if family not in known:
            known[family] = FamilyCounts(name, parents, table.shape(family), *table.observed_cells(family))
        return known[family]

    drawn_from = [
        ({name: counts(name, tuple(parents)) for name, parents in structure.parents.items()}, ess)
        for ess, structure in model.draw(wanted.draws, rng)
    ]
    return intervals_of_draws(model.vocabulary, drawn_from, codes, wanted.mass, rng, n_jobs)
