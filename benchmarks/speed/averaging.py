"""Time of all structures: their posterior, draws, those near the optimum, and relearned leave-one-out.

Target: the seconds of ``CASES``, and 1,000 draws a second with 16 features. Takes a minute.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from anbexact import DiscreteTable, near_optimal, relearned_leave_one_out, structure_posterior
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.timing import timed

CASES: list[tuple[str, int, int, float | None, dict[str, str]]] = [
    ("posterior", 13, 5_000, 0.3, {}),
    ("posterior", 16, 5_000, None, {}),
    ("posterior", 20, 5_000, 30.0, {}),
    ("posterior", 12, 1_000, None, {"prior": "graphs"}),
    ("posterior", 200, 10_000, 10.0, {"networks": "tan"}),
    ("near_optimal", 16, 1_000, None, {}),
    ("leave_one_out", 16, 1_000, 30.0, {}),
]
"""What is done, features, rows, target in seconds, and options."""
DRAWS = 500


def main(run: Run) -> None:
    """Time every case once, kernels being compiled."""
    rows = []
    for what, features, n_rows, target, options in CASES:
        table = DiscreteTable.from_frame(*run.generated(features, n_rows, 3, 2))
        work = partial(WORKS[what], table, **options)
        if features < 20:
            work()
        spent = timed(work)
        drawn = None
        if what == "posterior" and features <= 20:
            drawn = DRAWS / timed(spent.result.draw, DRAWS, random_state=0).seconds
        rows.append(
            {
                "what": what,
                "options": " ".join(f"{name}={value}" for name, value in options.items()),
                "features": features,
                "rows": n_rows,
                "seconds": spent.seconds,
                "target s": target,
                "draws/s": drawn,
            }
        )
    show(rows)


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
