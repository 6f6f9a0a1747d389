"""Tables that were counted apart, put together."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anbexact.tables.frames.native_values import sorted_positions
from anbexact.tables.vocabulary import CodeArray, Vocabulary, missing_label

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
    states = {name: _united_states(name, first, second) for name in first.names}
    with_missing = first.own_missing | second.own_missing
    states |= {
        name: (*states[name], missing_label(states[name], first.groups.get(name, ()))) for name in with_missing
    }
    return replace(first, states=states, own_missing=with_missing)


def _united_states(name: Hashable, first: Vocabulary, second: Vocabulary) -> tuple[Any, ...]:
    """Return the states of a variable in two tables together, without the state of missing cells."""
    own, other = first.observed_states(name), second.observed_states(name)
    if own == other:
        return own
    if any(sorted_positions(states) != list(range(len(states))) for states in (own, other)):
        raise ValueError(
            f"column {name!r} has the states {own!r} in one table and {other!r} in the other, and not in ascending "
            "order: declare the same categories= for both tables"
        )
    together = list(dict.fromkeys([*own, *other]))
    return tuple(together[k] for k in sorted_positions(together))


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
        place = {state: code for code, state in enumerate(vocabulary.observed_states(name))}
        of_own = [place[state] for state in table.vocabulary.observed_states(name)]
        if name in table.vocabulary.own_missing:
            of_own.append(vocabulary.missing_code(name))
        columns.append(np.array(of_own, dtype=np.int16)[table.column(name)])
    return np.stack(columns, axis=1)
