"""How files of earlier versions are read: they are brought to the newest format first."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any

import numpy as np

from anbexact._runtime.json_checks import listed, mapped, reading
from anbexact.tables.frames.native_values import native

States = Mapping[Hashable, tuple[Any, ...]]
"""The states of variables, by name."""


def migrated(document: dict[str, Any], version: int) -> dict[str, Any]:
    """Return a document of an earlier format in the newest one; the document itself is changed.

    Parameters
    ----------
    document : dict
        The contents of a file.
    version : int
        The format that the file is in.

    Raises
    ------
    ValueError
        If the document is not what this format prescribes.
    """
    for earlier in sorted(MIGRATIONS):
        if earlier >= version:
            MIGRATIONS[earlier](document)
    return document


def own_missing_of_earlier(states: States, class_name: Hashable, handle_missing: object) -> frozenset[Hashable]:
    """Return the features with a state for missing cells, for a file of a version that did not store them.

    These versions read missing cells as a state ``"(missing)"``, whether it came from missing cells or from text, if
    ``handle_missing`` allowed it.
    """
    if handle_missing not in ("auto", "own_state"):
        return frozenset()
    return frozenset(name for name, own in states.items() if own[-1:] == ("(missing)",) and name != class_name)


def _to_format_2(document: dict[str, Any]) -> None:
    """Change a document of format 1, which later versions also wrote with some of what format 2 prescribes.

    Where ``own_missing`` is not stored, states of single precision are written in double precision: the float32 0.1
    is 0.10000000149011612. They become the shortest decimals that round to them, as frames are read now.
    """
    for described in _with_variables(document):
        described.setdefault("dropped", [])
        described.setdefault("further", {})
        if "own_missing" in described:
            continue
        with reading("variables"):
            variables = [mapped(variable) for variable in listed(described["variables"])]
            states: dict[Hashable, tuple[Any, ...]] = {
                place: tuple(listed(variable["states"])) for place, variable in enumerate(variables)
            }
        with reading("own_missing"):
            rule = mapped(described["parameters"])["handle_missing"]
            described["own_missing"] = sorted(own_missing_of_earlier(states, described["class"], rule))
        described["variables"] = [
            variable
            if place == described["class"]
            else {**variable, "states": list(map(_in_single_precision, states[place]))}
            for place, variable in enumerate(variables)
        ]


def _with_variables(document: Any) -> Iterator[dict[str, Any]]:
    """Yield the parts of a document that describe a model with variables: those of a pool or a refit, or itself."""
    if not isinstance(document, dict):
        return  # the reader says what was expected
    if "variables" in document:
        yield document
    for field in ("network", "refined", "common"):
        yield from _with_variables(document.get(field))
    members = document.get("members")
    for member in members if isinstance(members, list) else ():
        yield from _with_variables(member[-1] if isinstance(member, list) and member else None)


def _in_single_precision(state: Any) -> Any:
    if not isinstance(state, float) or state.is_integer():
        return state
    with np.errstate(over="ignore"):
        narrow = np.float32(state)
    return native(narrow) if float(narrow) == state else state


MIGRATIONS: Mapping[int, Callable[[dict[str, Any]], None]] = {1: _to_format_2}
"""By format: what changes a document of it into one of the next format."""
