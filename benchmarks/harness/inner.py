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
from anbexact.search.exact.lattice import all_set_scores
from anbexact.search.scoring.set_scores import prepare


def set_scores(
    table: DiscreteTable, score: SetScore | Universal, max_size: int
) -> tuple[tuple[object, ...], np.ndarray]:
    """Return the features in the order of bits, and F(S) for every mask of at most so many of them; total in nats."""
    problem = prepare(table, score, max_size)
    scores = all_set_scores(problem, table, score, thread_count(None), Deadline(), None)
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
    return candidate_lists(
        table, score, constraints, threads=thread_count(None), deadline=Deadline(limit), memory=available_memory(),
        most_sets=np.inf, largest=largest, progress=None,
    )  # fmt: skip
