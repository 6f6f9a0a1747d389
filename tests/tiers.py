"""Two tiers of tests: the quick one after every edit, the full one before a merge."""

from collections import defaultdict
from math import ceil
from zlib import crc32

from hypothesis import HealthCheck, settings

EXAMPLES = {"quick": 10, "full": 60}
"""Examples that Hypothesis draws for a property, by tier."""
MOST_CASES = 12
"""The quick tier thins the cases of a test function that has more than this many."""


def register_profiles():
    """Register a Hypothesis profile for each tier: the same examples every time, and no clock."""
    for tier, max_examples in EXAMPLES.items():
        settings.register_profile(
            tier,
            derandomize=True,
            deadline=None,
            max_examples=max_examples,
            database=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        )


def examples(count, **others):
    """Decorate a property: ``count`` examples in the full tier, the same share as of others in the quick one."""
    return settings(max_examples=ceil(count * settings.default.max_examples / EXAMPLES["full"]), **others)


def thinned(node_ids):
    """Return the node ids that the quick tier keeps, a set.

    Every test function is kept, and of a function with more than ``MOST_CASES`` cases every value of every
    argument: a case is dropped if all words of its id also occur in cases kept before it. Cases come in the order
    of a checksum of the node id, so that neither their number nor the order of the files decides which are kept.
    """
    cases = defaultdict(list)
    for node_id in node_ids:
        cases[node_id.partition("[")[0]].append(node_id)
    kept = set()
    for of_function in cases.values():
        if len(of_function) <= MOST_CASES:
            kept.update(of_function)
            continue
        seen = set()
        for node_id in sorted(of_function, key=lambda name: crc32(name.encode())):
            words = set(node_id.partition("[")[2].removesuffix("]").split("-"))
            if not words <= seen:
                kept.add(node_id)
                seen |= words
    return kept
