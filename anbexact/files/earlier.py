"""How files of earlier versions are read."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from anbexact.tables.frames.native_values import native

States = Mapping[Hashable, tuple[Any, ...]]
"""The states of variables, by name."""


def own_missing_of_earlier(states: States, class_name: Hashable, handle_missing: object) -> frozenset[Hashable]:
    """Return the features with a state for missing cells, for a file of a version that did not store them.

    These versions read missing cells as a state ``"(missing)"``, whether it came from missing cells or from text, if
    ``handle_missing`` allowed it.
    """
    if handle_missing not in ("auto", "own_state"):
        return frozenset()
    return frozenset(name for name, own in states.items() if own[-1:] == ("(missing)",) and name != class_name)


def states_of_earlier(states: States, class_name: Hashable) -> dict[Hashable, tuple[Any, ...]]:
    """Return states in which every float that came from single precision is the shortest decimal that rounds to it.

    Earlier versions stored the float32 0.1 as the same number in double precision, 0.10000000149011612.
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
