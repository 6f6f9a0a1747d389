"""Time of all structures: their posterior, draws, those near the optimum, and relearned leave-one-out.

Target: the seconds of ``CASES``, 1,000 draws a second with 16 features, and 2 GB for the posterior of 20 features.
Takes a minute.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd

from anbexact import DiscreteTable, near_optimal, relearned_leave_one_out, structure_posterior
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.timing import alone, peak_memory, timed

CASES: list[tuple[str, int, int, float | None, dict[str, str]]] = [
    ("posterior", 13, 5_000, 0.3, {}),
    ("posterior", 16, 5_000, None, {}),
    ("posterior", 20, 5_000, 30.0, {}),
    ("posterior", 12, 1_000, None, {"prior": "graphs"}),
    ("posterior", 16, 5_000, None, {"networks": "tan"}),
    ("posterior", 200, 10_000, 10.0, {"networks": "tan"}),
    ("near_optimal", 16, 1_000, None, {}),
    ("leave_one_out", 16, 1_000, 30.0, {}),
]
"""What is done, features, rows, target in seconds, and options."""
DRAWS = 500
DRAWS_TARGET = {16: 1_000.0}
"""Draws a second, by the number of features."""
MEMORY_FEATURES, MEMORY_TARGET = 20, 2.0
"""The posterior whose peak memory is measured in a process of its own, and the target in GB."""


def main(run: Run) -> None:
    """Time every case once, kernels being compiled."""
    show(rows(run))


def rows(run: Run) -> list[Row]:
    """Return what every case took: columns ``what``, ``case``, ``measured``, ``unit``, ``target``, ``processor``.

    ``processor`` is the same figure by processor seconds, of all threads. Where other work shares the machine, it
    says more than the clock's.
    """
    found: list[Row] = []
    for what, features, n_rows, target, options in CASES:
        X, y = run.generated(features, n_rows, 3, 2)
        work = partial(WORKS[what], DiscreteTable.from_frame(X, y), **options)
        if features < 20:
            work()
        spent = timed(work)
        chosen = ", ".join(f"{name}={value}" for name, value in options.items())
        case = f"{features} features × {n_rows:,} rows" + (f", {chosen}" if chosen else "")
        found.append(_row(what, case, (spent.seconds, spent.processor_seconds), "s", target))
        if what == "posterior" and features <= 20:
            drawn = timed(spent.result.draw, DRAWS, random_state=0)
            rates = (DRAWS / drawn.seconds, DRAWS / max(drawn.processor_seconds, 1e-9))
            found.append(_row("draws", case, rates, "draws/s", DRAWS_TARGET.get(features)))
        if what == "posterior" and features == MEMORY_FEATURES and not run.smoke:
            memory = alone(memory_of_posterior, X, y)
            found.append(_row("memory", case, (memory, None), "GB", MEMORY_TARGET))
    return found


def _row(what: str, case: str, figures: tuple[float, float | None], unit: str, target: float | None) -> Row:
    measured, processor = figures
    return {
        "what": what, "case": case, "measured": measured, "unit": unit, "target": target, "processor": processor
    }  # fmt: skip


def memory_of_posterior(X: pd.DataFrame, y: pd.Series) -> float:
    """Return the peak memory of a process that sums over all structures, GB."""
    posterior(DiscreteTable.from_frame(X, y))
    return peak_memory() / 1e9


def posterior(table: DiscreteTable, **options: Any) -> Any:
    """Return the posterior, its arcs summed."""
    found = structure_posterior(table, **options)
    assert found.arcs is not None
    return found


WORKS: dict[str, Callable[..., Any]] = {
    "posterior": posterior,
    "near_optimal": near_optimal,
    "leave_one_out": relearned_leave_one_out,
}
