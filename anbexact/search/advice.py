"""Messages of the exact searches before they start, and when they end without a proof."""

from __future__ import annotations

from math import isinf

from anbexact._runtime.units import human_seconds
from anbexact.models.structure import Certificate
from anbexact.search.constraints import Constraints
from anbexact.search.exact.enumerated import enumerated_families
from anbexact.search.scoring.set_scores import n_sets
from anbexact.tables.counted.counted_table import CountedTable
from anbexact.tables.table import DiscreteTable

LONG_SEARCH = 30.0
"""Estimated seconds above which a search is announced."""
FEW_PARENTS = 2
"""The limit on parents that is recommended."""


def expected_to_be_long(table: DiscreteTable, constraints: Constraints, seconds: float, *, lattice: bool) -> str:
    """Return the announcement of a search: what it enumerates, how long it may take, and what would shorten it.

    Parameters
    ----------
    lattice : bool
        Whether all sets of features can be scored; otherwise parent sets are.
    """
    n = len(table.vocabulary.features)
    most = min(constraints.max_parents, n - 1)

    def sets(max_parents: int) -> str:
        if lattice:
            return f"{n_sets(n, max_parents + 1):,} sets of features"
        return f"{enumerated_families(n, max_parents):,} parent sets"

    over = f"{n} features"
    if not isinstance(table, CountedTable):
        over += f" and {len(table.weights):,} distinct rows"
    shorter = ["time_limit=, in seconds, stops the search and returns the best structure found so far"]
    if most > FEW_PARENTS:
        shorter.insert(0, f"max_parents={FEW_PARENTS} leaves {sets(FEW_PARENTS)}")
    return (
        f"the search over {over} ({sets(most)}) may take about {human_seconds(seconds)}. To shorten it: "
        f"{'; '.join(shorter)}; TANClassifier is quicker still."
    )


def long_choice(n_searches: int, seconds: float) -> str:
    """Return the announcement of searches that choose equivalent sample sizes, and what would shorten it."""
    return (
        f"choosing the equivalent sample sizes may take {n_searches} searches and about {human_seconds(seconds)}. To "
        "shorten it: ess=1 takes one search; time_limit=, in seconds, ends the choice after half of it; "
        "TANClassifier is quicker still."
    )


def not_proved(certificate: Certificate, constraints: Constraints) -> str:
    """Return the advice for a search that abandoned its proof."""
    gap = "nothing is proved" if isinf(certificate.gap) else f"the gap is at most {certificate.gap:.6g} nats"
    ways = ["time_limit=, in seconds, lets the search for a proof continue for more than 20 processor seconds"]
    if constraints.max_parents > FEW_PARENTS:
        ways.insert(0, f"max_parents={FEW_PARENTS} is usually proved optimal in seconds")
    return f"the structure is not proved optimal ({gap}; see its certificate): {'; '.join(ways)}."
