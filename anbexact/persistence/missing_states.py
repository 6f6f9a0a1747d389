"""Which states are those of missing cells, in files that do not say so."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any


def own_missing_of_earlier(
    states: Mapping[Hashable, tuple[Any, ...]], class_name: Hashable, handle_missing: object
) -> frozenset[Hashable]:
    """Return the features whose last state is that of missing cells, in a file of an earlier version.

    Then a missing cell was read as a state ``"(missing)"``, wherever that came from, if ``handle_missing`` said so.
    """
    if handle_missing not in ("auto", "own_state"):
        return frozenset()
    return frozenset(name for name, own in states.items() if own[-1:] == ("(missing)",) and name != class_name)
