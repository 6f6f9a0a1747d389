"""What files of earlier versions meant."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from anbexact.tables.frames.native_values import native

States = Mapping[Hashable, tuple[Any, ...]]


def own_missing_of_earlier(states: States, class_name: Hashable, handle_missing: object) -> frozenset[Hashable]:
    """Return the features whose last state is that of missing cells, in a file that does not say so.

    Then a missing cell was read as a state ``"(missing)"``, wherever that came from, if ``handle_missing`` said so.
    """
    if handle_missing not in ("auto", "own_state"):
        return frozenset()
    return frozenset(name for name, own in states.items() if own[-1:] == ("(missing)",) and name != class_name)


def states_of_earlier(states: States, class_name: Hashable) -> dict[Hashable, tuple[Any, ...]]:
    """Return states in which a float is the shortest decimal of the single precision that it came from.

    Then the state of a float32 was that number in double precision, such as 0.10000000149011612.
    """
    return {
        name: own if name == class_name else tuple(map(_in_single_precision, own)) for name, own in states.items()
    }


def _in_single_precision(state: Any) -> Any:
    if not isinstance(state, float) or state.is_integer():
        return state
    with np.errstate(over="ignore"):
        narrow = np.float32(state)
    return native(narrow) if float(narrow) == state else state
