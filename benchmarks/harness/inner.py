"""Parts of searches that benchmarks measure by themselves, from public names of the package's inner modules."""

from __future__ import annotations

import numpy as np

from anbexact import DiscreteTable
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.memory import available_memory
from anbexact._runtime.tasks import thread_count
from anbexact.scores import BoundedScore, SetScore, Universal
from anbexact.search.constraints import make_constraints
from anbexact.search.exact.candidates import Candidates, candidate_lists
from anbexact.search.exact.lattice import at_all_levels, set_scorer
from anbexact.search.exact.parent_sets import ListMeans
from anbexact.search.scoring.set_scores import prepare


def set_scores(
    table: DiscreteTable, score: SetScore | Universal, max_size: int
) -> tuple[tuple[object, ...], np.ndarray]:
    """Return the features in the order of bits, and F(S) for every mask of at most so many of them; total in nats."""
    problem = prepare(table, score, max_size)
    threads, deadline = thread_count(None), Deadline()
    scores = set_scorer(problem)(problem, threads, deadline, None)
    scores = at_all_levels(problem, scores, table, score, threads, deadline, None)
    assert scores is not None  # there is no deadline
    return problem.features, scores


def parent_set_lists(
    table: DiscreteTable,
    score: BoundedScore,
    max_parents: int | None,
    *,
    limit: float | None = None,
    largest: int | None = None,
) -> Candidates:
    """Return the candidate lists of all features, at most up to ``largest`` feature parents, ended after a limit."""
    constraints = make_constraints(table.vocabulary.features, max_parents, (), ())
    means = ListMeans(thread_count(None), Deadline(limit), available_memory())
    return candidate_lists(table, score, constraints, means, largest=largest)
