"""Tables that were counted apart, put together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from anbexact.tables.native_values import sorted_positions
from anbexact.tables.vocabulary import MISSING_STATE, CodeArray, Vocabulary

if TYPE_CHECKING:
    from anbexact.tables.table import DiscreteTable, Weights


def united(first: Vocabulary, second: Vocabulary) -> Vocabulary:
    """Return the vocabulary of two tables of the same variables, in the order of the first.

    States that were only observed, and so are sorted, are united. Other states were declared and must be the same.

    Raises
    ------
    ValueError
        For other variables, another class, or states that do not go together; the message names the variable.
    """
    if set(first.names) != set(second.names):
        alone = next(
            name for name in (*first.names, *second.names) if (name in first.states) != (name in second.states)
        )
        raise ValueError(f"the tables do not have the same variables: {alone!r} is in one of them only")
    if first.class_name != second.class_name:
        raise ValueError(f"the tables have different classes: {first.class_name!r} and {second.class_name!r}")
    for name in first.names:
        for what, own, other in (
            ("unit", first.quantities.get(name), second.quantities.get(name)),
            ("groups of values", first.groups.get(name), second.groups.get(name)),
        ):
            if own != other:
                raise ValueError(
                    f"column {name!r} does not have the same {what} in both tables: read both with the same "
                    "classifier, or declare the same categories= for both tables"
                )
    states = {name: _united_states(name, first.states[name], second.states[name]) for name in first.names}
    return Vocabulary(states, first.class_name, quantities=first.quantities, groups=first.groups)


def _united_states(name: Hashable, first: Sequence[Any], second: Sequence[Any]) -> tuple[Any, ...]:
    if tuple(first) == tuple(second):
        return tuple(first)
    plain = [[state for state in states if state != MISSING_STATE] for states in (first, second)]
    if plain[0] != plain[1] and any(sorted_positions(states) != list(range(len(states))) for states in plain):
        raise ValueError(
            f"column {name!r} has the states {tuple(first)!r} in one table and {tuple(second)!r} in the other, "
            "and not in ascending order: declare the same categories= for both tables"
        )
    together = plain[0] if plain[0] == plain[1] else list(dict.fromkeys([*plain[0], *plain[1]]))
    if plain[0] != plain[1]:
        together = [together[k] for k in sorted_positions(together)]
    missing = (MISSING_STATE,) if MISSING_STATE in (*first, *second) else ()
    return (*together, *missing)


def rows_together(first: DiscreteTable, second: DiscreteTable) -> tuple[Vocabulary, CodeArray, Weights]:
    """Return the vocabulary of both tables, and the codes and weights of their rows; equal rows stay apart.

    Codes have the shape (rows, variables). Errors as in :func:`united`.
    """
    vocabulary = united(first.vocabulary, second.vocabulary)
    codes = np.concatenate([_recoded(first, vocabulary), _recoded(second, vocabulary)])
    return vocabulary, codes, np.concatenate([first.weights, second.weights])


def _recoded(table: DiscreteTable, vocabulary: Vocabulary) -> CodeArray:
    """Return the codes of a table's rows by another vocabulary."""
    columns = []
    for name in vocabulary.names:
        place = {state: code for code, state in enumerate(vocabulary.states[name])}
        of_own = np.array([place[state] for state in table.vocabulary.states[name]], dtype=np.int16)
        columns.append(of_own[table.column(name)])
    return np.stack(columns, axis=1)
