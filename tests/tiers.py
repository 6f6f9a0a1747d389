"""Three tiers of tests: the quick one after every edit, one before a merge, and the full one."""

import re
from collections import Counter, defaultdict
from math import ceil
from zlib import crc32

from hypothesis import HealthCheck, settings

EXAMPLES = {"quick": 4, "merge": 30, "full": 60, "fuzz": 3000}
"""Examples that Hypothesis draws for a property, by tier; the last one is for ``tests/fuzz`` alone."""
MOST_CASES = {"quick": 3, "merge": 20}
"""Cases of a test function that a tier keeps at most."""


def register_profiles():
    """Register a Hypothesis profile for each tier, without a clock; only ``fuzz`` draws other examples every time."""
    for tier, max_examples in EXAMPLES.items():
        settings.register_profile(
            tier,
            derandomize=tier != "fuzz",
            print_blob=tier == "fuzz",
            deadline=None,
            max_examples=max_examples,
            database=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        )


def scaled(count):
    """Return a number of examples of the full tier, or the share of them that another tier draws."""
    return ceil(count * settings.default.max_examples / EXAMPLES["full"])


def repeats(count):
    """Return the numbers of the random tables that a test enumerates: all in the full tier, else a third at least."""
    return range(max(scaled(count), (count + 2) // 3))


def examples(count, *, quick=0, **others):
    """Decorate a property that takes ``count`` examples in the full tier, and at least ``quick`` in the others.

    ``others`` are settings of Hypothesis.
    """
    return settings(max_examples=max(scaled(count), quick), **others)


def thinned(node_ids, most):
    """Return the node ids that a tier keeps which runs at most ``most`` cases of a test function, a set.

    Of every test function it keeps the first case, and of the others those that bring a value of an argument that no
    case before has: a word of the id that is not a number, as seeds and sizes are. Cases come in the order of a
    checksum of the node id, so that neither their number nor the order in the file decides which are kept.
    """
    kept = set()
    n_cases, seen = Counter(), defaultdict(set)
    for node_id in sorted(node_ids, key=lambda node_id: crc32(node_id.encode())):
        function, _, arguments = node_id.partition("[")
        words = {word for word in arguments.removesuffix("]").split("-") if re.search("[^0-9.e]", word)}
        if n_cases[function] == 0 or (n_cases[function] < most and not words <= seen[function]):
            kept.add(node_id)
            n_cases[function] += 1
            seen[function] |= words
    return kept
