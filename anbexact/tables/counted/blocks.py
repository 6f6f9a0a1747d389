"""Few blocks of variables that hold given sets of variables, to be counted together."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence

Block = frozenset[Hashable]
MOST_MERGED = 10_000
"""Sets up to which merging them one by one is tried, too."""


def blocks_of(sets: Sequence[Block], arity: Callable[[Hashable], int], most: int) -> list[Block]:
    """Return blocks, one of which holds each of the sets; the fewer of two easily found covers.

    A block has at most ``most`` joint states, unless one of the sets has more.

    Parameters
    ----------
    sets : sequence of frozenset
        Distinct sets of variables.
    arity : callable
        Returns the number of states of a variable.
    most : int
        Joint states.
    """

    def largest(of: Sequence[Block]) -> int:
        return max((math.prod(map(arity, names)) for names in of), default=0)

    grouped = _by_groups(sets, arity, most)
    fit = largest(grouped) <= max(most, largest(sets))
    if fit and len(sets) > MOST_MERGED:
        return grouped
    merged = _merged(sets, arity, most)
    return min(merged, grouped, key=len) if fit else merged


def _merged(sets: Sequence[Block], arity: Callable[[Hashable], int], most: int) -> list[Block]:
    """Join every set to the first block where it fits."""
    blocks: list[Block] = []
    for wanted in sets:
        if not any(wanted <= block for block in blocks):
            fitting = (k for k, block in enumerate(blocks) if math.prod(map(arity, block | wanted)) <= most)
            place = next(fitting, None)
            if place is None:
                blocks.append(wanted)
            else:
                blocks[place] |= wanted
    return blocks


def _by_groups(sets: Sequence[Block], arity: Callable[[Hashable], int], most: int) -> list[Block]:
    """Divide the variables into groups, and join the groups that each set meets.

    Variables of all sets are in every block. The groups are so small that as many as the largest set has other
    variables fit into one block.
    """
    common = frozenset.intersection(*sets) if sets else frozenset()
    width = max((len(wanted - common) for wanted in sets), default=0)
    limit = (most / math.prod(map(arity, common))) ** (1 / max(width, 1))
    groups: list[Block] = []
    others = dict.fromkeys(name for wanted in sets for name in sorted(wanted - common, key=str))
    for name in sorted(others, key=arity, reverse=True):
        fitting = (k for k, group in enumerate(groups) if arity(name) * math.prod(map(arity, group)) <= limit)
        place = next(fitting, None)
        if place is None:
            groups.append(frozenset({name}))
        else:
            groups[place] |= {name}
    place_of = {name: k for k, group in enumerate(groups) for name in group}
    met = {frozenset(place_of[name] for name in wanted - common) for wanted in sets}
    blocks: list[frozenset[int]] = []
    for joined in sorted(met, key=lambda of: (-len(of), sorted(of))):
        if len(joined) == width or not any(joined <= block for block in blocks):
            blocks.append(joined)
    return [common.union(*(groups[k] for k in block)) for block in blocks]
