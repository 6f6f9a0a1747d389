"""How a generated table becomes pandas objects with all states declared."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import pandas as pd

State = str | int
Row = tuple[State, ...]
Table = tuple[pd.DataFrame, "pd.Series[str]"]


def complete(
    states: Mapping[str, Sequence[State]], rule: Callable[[Row], str], *, name: str, ordered: bool = False
) -> Table:
    """Return every combination of the states, the last column fastest, and the rule's class for each."""
    rows = list(product(*states.values()))
    return table(rows, [rule(row) for row in rows], states, name=name, ordered=ordered)


def table(
    rows: Sequence[Row],
    labels: Sequence[str],
    states: Mapping[str, Sequence[State]],
    *,
    name: str,
    ordered: bool = False,
) -> Table:
    """Return rows and labels as pandas objects, all states declared."""
    X = pd.DataFrame(rows, columns=list(states))
    declared = {column: pd.CategoricalDtype(pd.Index(values), ordered) for column, values in states.items()}
    return X.astype(declared), pd.Series(labels, name=name)
