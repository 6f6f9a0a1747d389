"""Which of the exact searches runs: otherwise sizes and the clock decide."""

import anbexact.search.exact.branch_and_cut as branch_and_cut
from anbexact.search.exact import plan


def force(patch, exhausted=1):
    """Let the search go by candidate lists, and components of more features than this by cuts."""
    patch.setattr(plan, "LEAST_SECONDS_FOR_LISTS", -1.0)
    patch.setattr(plan.Plan, "fits", property(lambda _self: False))
    patch.setattr(branch_and_cut, "MOST_FEATURES_EXHAUSTED", exhausted)
