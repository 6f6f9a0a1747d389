"""Structural expectation maximisation: networks from rows with missing cells.

Every round has two steps. The E-step weights the completions of every incomplete row by their probability under the
present network; the M-step learns from these weighted rows as from any others: the structure by a search, the tables
by their usual estimate. While the structure stays the same, this objective never falls:

    L(θ) = Σ_t w_t ln P(observed cells of row t | θ) + Σ_v Σ_jk a_v ln θ_vjk,

with a_v = α/(q_v r_v) for posterior means of equivalent sample size α, and a_v = 0 for maximum likelihood (Dempster,
Laird and Rubin 1977). After such rounds, the structure is searched again (Friedman, *The Bayesian structural EM
algorithm*, UAI 1998).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import xlogy

from anbexact._runtime.deadline import Deadline, seconds_left
from anbexact._runtime.progress import Progress
from anbexact.models.em.expectation import CompletionExpectation, Expected
from anbexact.models.em.starts import AVAILABLE, MODE, available_tables, dealt_in_order, most_probable
from anbexact.models.parameters.counts import Counts, count_families
from anbexact.models.parameters.tables import Tables
from anbexact.models.structure import Structure
from anbexact.tables.table import DiscreteTable

Learn = Callable[[DiscreteTable, Any, float | None], Structure]
"""Takes rows, a score and a time limit in seconds, and returns a structure."""


@dataclass(frozen=True)
class Patience:
    """The limits at which a climb ends.

    Attributes
    ----------
    tolerance : float
        Nats per row by which the objective must rise for another round with the same structure.
    most_rounds : int
        Maximum number of rounds after each search.
    most_searches : int
        Maximum number of searches.
    """

    tolerance: float
    most_rounds: int
    most_searches: int


SHORT = Patience(1e-4, 20, 2)
"""The limits while starts are compared."""
LONG = Patience(1e-5, 50, 10)
"""The limits for the start that is chosen."""


@dataclass(frozen=True, eq=False)
class MStep:
    """The M-step: how a network is learned from weighted complete rows.

    Attributes
    ----------
    learn : callable
        ``learn(table, score, seconds)`` returns the structure.
    score : Score
        The score of structures.
    estimate : callable
        Returns the tables that follow from counts.
    pseudo_count : float
        α of the objective; 0 for maximum likelihood.
    """

    learn: Learn
    score: Any
    estimate: Callable[[Counts], Tables]
    pseudo_count: float

    def penalty(self, tables: Tables) -> float:
        """Return Σ_v Σ_jk a_v ln θ_vjk."""
        if not self.pseudo_count:
            return 0.0
        return sum(
            float(np.log(table.values).sum()) * self.pseudo_count / table.values.size for table in tables.values()
        )


@dataclass(frozen=True)
class Round:
    """One round of expectation maximisation.

    Attributes
    ----------
    searched : bool
        Whether the structure was searched before this round; otherwise, it is the structure of the round before.
    log_likelihood : float
        Σ_t w_t ln P(observed cells of row t) under the tables of the round; total in nats.
    objective : float
        The log likelihood plus the log prior of the tables, up to a constant of the structure; total in nats. It
        never falls while the structure stays.
    """

    searched: bool
    log_likelihood: float
    objective: float


@dataclass(frozen=True, eq=False)
class Climb:
    """The state of a climb from one start.

    Attributes
    ----------
    start : str
        The name of the start.
    structure : Structure
        The structure that the last search found for the expected counts.
    expected : Expected
        The E-step whose expected counts these are.
    counts : dict
        The expected counts of every family.
    rounds : tuple of Round
        All rounds.
    converged : bool
        Whether the last search found the same structure as before, and the objective no longer rose.
    score : float
        The score of the expected counts, less their log likelihood, plus the log likelihood of the observed cells,
        both under the same tables: the approximation of Cheeseman and Stutz to the score of the observed cells.
    """

    start: str
    structure: Structure
    expected: Expected
    counts: Counts
    rounds: tuple[Round, ...]
    converged: bool
    score: float


def first_expected(expectation: CompletionExpectation, start: str) -> Expected | DiscreteTable:
    """Return the first E-step of a start; see :mod:`anbexact.models.em.starts`."""
    tables = available_tables(expectation.table)
    if start == AVAILABLE:
        return expectation.under(tables)
    fill = most_probable if start == MODE else dealt_in_order
    return expectation.completed(fill(expectation.table, tables))


def climb(
    expectation: CompletionExpectation,
    start: str,
    first: Expected | DiscreteTable,
    m_step: MStep,
    patience: Patience,
    deadline: Deadline,
    progress: Progress | None = None,
) -> Climb:
    """Climb from the E-step of a start, or of an earlier climb, until neither structure nor tables change.

    A climb that returns to an earlier structure ends there. So does one that runs out of time; it then counts as not
    converged.
    """
    rounds: list[Round] = []
    seen: set[object] = set()
    structure: Structure | None = None
    expected: Expected | None = None if isinstance(first, DiscreteTable) else first
    rows = first if isinstance(first, DiscreteTable) else first.rows()
    same = settled = False
    for search in range(patience.most_searches):
        found = m_step.learn(rows, m_step.score, seconds_left(deadline))
        same = structure is not None and found.parents == structure.parents
        structure = found
        if (same and settled) or (expected is not None and search and deadline.passed):
            break
        arcs = frozenset(found.edges)
        again = arcs in seen and not same  # further searches would run through the same structures once more
        seen.add(arcs)
        expected, settled = _settle(
            expectation, rows if expected is None else expected, found, m_step, patience, rounds, deadline
        )
        rows = expected.rows()
        if progress is not None:
            progress(f"EM from {start}, {len(rounds)} rounds", min((search + 1) / 4, 0.99))
        if again:
            break
    assert structure is not None
    assert expected is not None
    counts = expected.counts(structure)
    converged = same and settled
    score = _observed_score(expectation, structure, counts, m_step)
    return Climb(start, structure, expected, counts, tuple(rounds), converged, score)


def _settle(
    expectation: CompletionExpectation,
    first: Expected | DiscreteTable,
    structure: Structure,
    m_step: MStep,
    patience: Patience,
    rounds: list[Round],
    deadline: Deadline,
) -> tuple[Expected, bool]:
    """Repeat both steps with the same structure; return the last E-step, and whether the objective no longer rose."""
    counts = count_families(first, structure) if isinstance(first, DiscreteTable) else first.counts(structure)
    families = expectation.of_families(structure)
    last = -np.inf
    settled = False
    for step in range(patience.most_rounds):
        tables = m_step.estimate(counts)
        log_likelihood, counts = families.under(tables, expectation.table.weights)
        objective = log_likelihood + m_step.penalty(tables)
        rounds.append(Round(step == 0, log_likelihood, objective))
        settled = objective - last <= patience.tolerance * expectation.table.weight_sum
        if settled or deadline.passed:
            break
        last = objective
    return expectation.under(tables), settled


def _observed_score(expectation: CompletionExpectation, structure: Structure, counts: Counts, m_step: MStep) -> float:
    """Return the approximation of Cheeseman and Stutz to the score of the observed cells."""
    table = expectation.table
    tables = m_step.estimate(counts)
    total = expectation.of_families(structure).under(tables, table.weights)[0]
    for name, family in counts.items():
        total += m_step.score.local_score(family.table(table.vocabulary), name, family.parents)
        total -= float(xlogy(family.weights, tables[name].values.ravel()[family.cells]).sum())
    return float(total)
