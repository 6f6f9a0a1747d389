"""Violated cluster inequalities: what the search for them says of those that it finds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from anbexact._kernels.clusters import violated_clusters

SLACK = 0.01


@st.composite
def fractional_choices(draw):
    """Parent sets of every feature, and shares of them that sum to 1."""
    n = draw(st.integers(3, 7))
    columns = []
    for child in range(n):
        others = [v for v in range(n) if v != child]
        sets = draw(
            st.lists(st.sets(st.sampled_from(others), max_size=3), min_size=1, max_size=3, unique_by=frozenset)
        )
        weights = np.array(draw(st.lists(st.integers(1, 5), min_size=len(sets), max_size=len(sets))), float)
        columns += [(child, sorted(s), w) for s, w in zip(sets, weights / weights.sum(), strict=True)]
    return n, columns


@given(fractional_choices(), st.integers(1, 2))
@examples(200, quick=20)
def test_sums_of_the_clusters_found(choices, least):
    n, columns = choices
    starts = ~np.eye(n, dtype=bool)
    pointers = np.cumsum([0] + [len(parents) for _, parents, _ in columns])
    found, sums = violated_clusters(
        n,
        np.array([child for child, _, _ in columns]),
        np.array([share for _, _, share in columns]),
        pointers,
        np.array([p for _, parents, _ in columns for p in parents], dtype=np.int64),
        least,
        starts,
        SLACK,
        20,
        50,
    )
    for cluster, total in zip(found, sums, strict=True):
        members = set(np.flatnonzero(cluster))
        expected = sum(w for child, s, w in columns if child in members and len(members & set(s)) < least)
        assert abs(total - expected) < 1e-9
        assert expected < least - SLACK
        assert len(members) > least
