"""Draws from the posterior of conditional tables, and the intervals of class probabilities that follow."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from math import prod
from numbers import Integral, Real
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from anbexact._runtime.arrays import Floats
from anbexact.models.network.explanation import Explanations
from anbexact.models.network.intervals import CREDIBLE_MASS
from anbexact.models.network.posterior import Posterior
from anbexact.models.parameters.counts import Counts, FamilyCounts
from anbexact.models.parameters.tables import ConditionalTable, Tables
from anbexact.models.structure import Structure
from anbexact.tables.vocabulary import Vocabulary

SmoothingOf = Callable[[Hashable], float]
"""Takes a variable, and returns the equivalent sample size of its table."""


def same_smoothing(ess: float) -> SmoothingOf:
    """Return a function that returns the same equivalent sample size for the tables of all variables."""
    return lambda name: ess  # noqa: ARG005  # whatever the variable


if TYPE_CHECKING:
    from anbexact.models.network.network import Network

VALUES_PER_BATCH = 1 << 24
"""Maximum number of probabilities in memory: draws times rows times classes (128 MB)."""
DRAWS = 1000
"""Number of draws for the intervals of explained probabilities."""
LEAST_PROBABILITY = 1e-300
"""Smaller draws are replaced by this number, so that their logarithms are finite."""


class Wanted(NamedTuple):
    """The parameters of intervals: their posterior probability, and the number of draws."""

    mass: float
    draws: int


class Draw(NamedTuple):
    """A draw: the structure, the tables, and the equivalent sample size of these."""

    structure: Structure
    tables: Tables
    ess: float


def check_draws(mass: object, draws: object) -> Wanted:
    """Return the parameters; refuse a mass that is not between 0 and 1, or a number of draws that is not positive."""
    if isinstance(mass, bool) or not isinstance(mass, Real) or not 0 < float(mass) < 1:
        raise ValueError(f"mass must be a number between 0 and 1, not {mass!r}")
    if isinstance(draws, bool) or not isinstance(draws, Integral) or draws < 2:
        raise ValueError(f"draws must be a whole number of at least 2, not {draws!r}")
    return Wanted(float(mass), int(draws))


def probability_intervals(
    network: Network,
    codes: npt.NDArray[np.int16],
    wanted: Wanted,
    random_state: int | np.random.Generator | None,
    n_jobs: int | None,
) -> Floats:
    """Return intervals of P(class | row), shape (rows, classes, 2), by draws of all tables from their posterior.

    The rows of a table have independent Dirichlet posteriors with the parameters n + α / (q r). The draws are
    independent and exact; each is a network, by which all rows are predicted.

    Parameters
    ----------
    network : Network
        A network whose tables are means of Dirichlet posteriors.
    codes : (features, rows) int16
        Rows as for ``posterior``; negative codes are summed out.
    wanted : Wanted
        The probability between the ends, with equal tails on both sides, and the number of draws.
    random_state, n_jobs
        The seed; threads.

    Raises
    ------
    ValueError
        If the tables are not means of Dirichlet posteriors.
    """
    grounds = network.grounds
    if grounds.smoothing is None or grounds.counts is None:
        raise ValueError(grounds.note)
    drawn_from = [(grounds.counts, grounds.smoothing_of)] * wanted.draws
    return intervals_of_draws(network.vocabulary, drawn_from, codes, wanted.mass, random_state, n_jobs)


def intervals_of_draws(
    vocabulary: Vocabulary,
    drawn_from: Sequence[tuple[Counts, SmoothingOf]],
    codes: npt.NDArray[np.int16],
    mass: float,
    random_state: int | np.random.Generator | None,
    n_jobs: int | None,
) -> Floats:
    """Return intervals of P(class | row), shape (rows, classes, 2), by one draw of tables for each of some networks.

    Parameters
    ----------
    vocabulary : Vocabulary
        The variables.
    drawn_from : sequence of (Counts, callable)
        For every draw, the counts of the families of its network, and a function that returns the equivalent sample
        size of the table of a variable.
    codes, mass, random_state, n_jobs
        As for :func:`probability_intervals`.
    """
    seed = np.random.default_rng(random_state).integers(2**63)
    n_classes = vocabulary.arity(vocabulary.class_name)
    n_rows = codes.shape[1]
    step = max(1, VALUES_PER_BATCH // (len(drawn_from) * n_classes))
    intervals = np.empty((n_rows, n_classes, 2))
    for first in range(0, max(n_rows, 1), step):
        part = codes[:, first : first + step]
        rng = np.random.default_rng(seed)  # the same tables for all rows
        drawn = np.empty((len(drawn_from), part.shape[1], n_classes))
        counted, posterior = None, None
        for k, (counts, smoothing) in enumerate(drawn_from):
            tables = drawn_tables(counts, smoothing, rng)
            if posterior is None or counts is not counted:
                counted, posterior = counts, Posterior(tables, vocabulary.class_name, vocabulary.features)
            else:
                posterior = posterior.with_tables(tables)
            drawn[k] = posterior.posterior(part, n_jobs)
        tails = (1 - mass) / 2
        intervals[first : first + step] = np.moveaxis(np.quantile(drawn, [tails, 1 - tails], axis=0), 0, -1)
    return intervals


def explained_intervals(
    network: Network, codes: npt.NDArray[np.int16], found: Explanations, n_jobs: int | None
) -> Explanations:
    """Return explanations with the 95 % intervals of their probabilities, by 1,000 draws."""
    ends = probability_intervals(network, codes, Wanted(CREDIBLE_MASS, DRAWS), 0, n_jobs)
    classes = list(network.vocabulary.states[network.structure.class_name])
    return found.with_intervals([own[classes.index(of.label)] for own, of in zip(ends, found, strict=True)])


def draws_of_network(network: Network, n: int, rng: np.random.Generator) -> Iterator[Draw]:
    """Return an iterator over draws of the tables of a network.

    Raises
    ------
    ValueError
        If the tables are not means of Dirichlet posteriors.
    """
    grounds = network.grounds
    if (smoothing := grounds.smoothing) is None or (counts := grounds.counts) is None:
        raise ValueError(grounds.note)
    return (Draw(network.structure, drawn_tables(counts, grounds.smoothing_of, rng), smoothing) for _ in range(n))


def drawn_tables(counts: Counts, smoothing_of: SmoothingOf, rng: np.random.Generator) -> Tables:
    """Return conditional tables drawn from their posterior, given counts and the equivalent sample size of each."""
    return {name: _drawn_table(own, smoothing_of(name), rng) for name, own in counts.items()}


def _drawn_table(counts: FamilyCounts, smoothing: float, rng: np.random.Generator) -> ConditionalTable:
    """Return a table drawn from its posterior.

    A Gamma(a) variable is a Gamma(a + 1) variable times the a-th root of a uniform one. Computed in this way, its
    logarithm is finite even for the smallest a.
    """
    a = counts.dense() + smoothing / prod(counts.shape)
    logs = np.log(rng.standard_gamma(a + 1)) + np.log1p(-rng.random(a.shape)) / a
    logs -= logs.max(axis=0)
    shares = np.exp(logs)
    values = np.maximum(shares / shares.sum(axis=0), LEAST_PROBABILITY)
    parents: tuple[Hashable, ...] = counts.parents
    return ConditionalTable(counts.name, parents, values)
