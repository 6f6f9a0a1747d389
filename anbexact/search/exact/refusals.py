"""Why a search over all sets of features, or over all families, is refused."""

from __future__ import annotations

from anbexact._runtime.memory import SearchTooLargeError
from anbexact._runtime.units import human_bytes
from anbexact.search.exact.by_family import MOST_FEATURES_UNLIMITED, family_memory
from anbexact.search.exact.lattice import MOST_FEATURES, lattice_cost
from anbexact.search.exact.plan import Plan
from anbexact.tables.counted.counted_table import CountedTable, TooManyRowsError


def check_fits(plan: Plan) -> None:
    """Refuse a search over all sets of features, or over all families, that is too large; say what would help."""
    if plan.fits:
        return
    n = plan.n
    if isinstance(plan.table, CountedTable):
        raise TooManyRowsError(plan.table.refusal)
    if not plan.few_levels:
        raise SearchTooLargeError(
            f"sets of up to {plan.largest_set} features have too many tuples of levels: give the universal "
            "measure fewer levels= (or None, for a number that falls with the size of sets), or give max_parents="
        )
    limit = f"{human_bytes(plan.memory)} is {'available' if plan.memory_limit is None else 'the memory_limit'}"
    if not plan.has_lattice and n > MOST_FEATURES_UNLIMITED and plan.constraints.max_parents >= n - 1:
        raise SearchTooLargeError(
            f"{plan.score.name} has no set scores (local(i | S) = F(S ∪ i) - F(S)), so each of the {n} 2^{n - 1} "
            f"families would be scored separately: with more than {MOST_FEATURES_UNLIMITED} features, give "
            "max_parents=, or use a score such as BDeu or BIC."
        )
    if not plan.has_lattice:
        needed = family_memory(plan.table, plan.constraints.max_parents, plan.threads)
        raise SearchTooLargeError(
            f"the exact search over {n} features by a score without set scores needs {human_bytes(needed)}; "
            f"{limit}. Select features first, or use a score such as BDeu or BIC."
        )
    if n > MOST_FEATURES:
        raise SearchTooLargeError(
            f"the exact search by {plan.score.name} enumerates all sets of features, and {n} features have "
            f"2^{n} of them; about 27 features fit into 16 GB. Give max_parents= (with 2 or 3, there are few "
            "parent sets), select features first, or use BDeu or BIC."
        )
    fitting = n
    while fitting > 1 and lattice_cost(fitting, 0).memory > plan.memory:
        fitting -= 1
    enough = f"enough for about {fitting} features"
    if lattice_cost(fitting, 0).memory > plan.memory:
        enough = "too little for any"
    raise SearchTooLargeError(
        f"the exact search over {n} features needs {plan.cost}; {limit}, {enough}. Give max_parents= (with 2 or "
        "3, there are few parent sets), select features first, raise memory_limit on a larger machine, or use a "
        "NaiveBayesClassifier."
    )
