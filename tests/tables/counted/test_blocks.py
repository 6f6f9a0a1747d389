"""Blocks of variables that are counted together."""

import math

from hypothesis import given
from hypothesis import strategies as st

from anbexact.tables.counted import counted_table
from anbexact.tables.counted.counted_table import blocks_of

ARITIES = [2, 3, 4, 2, 9, 3, 2, 50]


@given(
    st.sets(st.frozensets(st.integers(0, 7), min_size=1, max_size=4), max_size=30),
    st.booleans(),
    st.integers(1, 3_000),
    st.sampled_from([0, 10_000]),
)
def test_every_set_is_in_a_block_that_is_no_larger_than_it_must_be(sets, with_class, most, merged):
    def states(names):
        return math.prod(ARITIES[name] for name in names)

    wanted = [names | {0} if with_class else names for names in sets]
    wanted = list(dict.fromkeys(wanted))
    before, counted_table.MOST_MERGED = counted_table.MOST_MERGED, merged
    try:
        found = blocks_of(wanted, ARITIES.__getitem__, most)
    finally:
        counted_table.MOST_MERGED = before
    assert len(found) <= len(wanted)
    for names in wanted:
        assert any(names <= block for block in found)
    for block in found:
        assert states(block) <= max(most, *map(states, wanted))


def test_all_triples_of_twelve_variables_take_few_blocks():
    sets = [frozenset({"class", a, b, c}) for a in range(12) for b in range(a) for c in range(b)]
    found = blocks_of(sets, lambda _: 2, 2**7)
    assert len(found) <= 40  # of 220; a block has six variables, so there are no fewer than eleven
