"""Raw rows as states of the nodes of a pgmpy network."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from anbexact.adapters.pgmpy.networks import CUT_POINTS, GROUPS, OWN_MISSING, QUANTITIES, read_network
from anbexact.tables.frames.columns import Column
from anbexact.tables.frames.reading import read_columns
from anbexact.tables.prediction import in_vocabulary
from anbexact.tables.vocabulary import UNKNOWN, Vocabulary

if TYPE_CHECKING:
    from pgmpy.models import DiscreteBayesianNetwork

__all__ = ["states_of"]


def states_of(network: DiscreteBayesianNetwork, X: Any) -> pd.DataFrame:
    """Return raw rows as states of a network's nodes, for the methods of pgmpy.

    For a network from :func:`to_pgmpy`, numbers, dates and the like become the intervals between its cut points,
    values of grouped columns become their groups, and missing cells become the state of missing cells if the node has
    one. Values that are states already stay as they are. The rows can then be passed to ``network.predict`` or, one
    at a time, to ``VariableElimination(network).query(..., evidence=dict(states.iloc[0]))``.

    Parameters
    ----------
    network : DiscreteBayesianNetwork
        A network with a ``TabularCPD`` for every node; it is not changed.
    X : eager dataframe (pandas, polars, pyarrow, ...)
        Some or all nodes as columns, in any order; the class may be one of them.

    Returns
    -------
    DataFrame
        The columns of X, with its index if X is a pandas frame. Cells are states of ``network.states``. A missing
        cell of a node that has no state for it is None, which is not evidence: leave the node out of a query.

    Raises
    ------
    TypeError
        If the network is not discrete.
    ValueError
        If a column is not a node, or a value is neither a state of its node nor one that its cut points or groups
        cover; the message names it.

    Examples
    --------
    >>> from anbexact import ANBClassifier
    >>> from anbexact.adapters import states_of
    >>> from anbexact.datasets import load_iris
    >>> X, y = load_iris()
    >>> network = ANBClassifier(discretizer="mdlp").fit(X, y).network_
    >>> states = states_of(network, X[["petal_width", "petal_length"]].iloc[[0, 100]])
    >>> states
         petal_width  petal_length
    0    (-inf, 0.8]  (-inf, 2.45]
    100  (1.75, inf)   (4.75, inf)
    >>> from pgmpy.inference import VariableElimination
    >>> evidence = dict(states.loc[100])
    >>> VariableElimination(network).map_query(["species"], evidence=evidence, show_progress=False)
    {'species': 'virginica'}
    """
    _, states = read_network(network)
    columns = read_columns(X)
    unknown = [column.name for column in columns if str(column.name) not in states]
    if unknown:
        raise ValueError(
            f"column {unknown[0]!r} is not a node of the network: drop it; the nodes are {list(map(str, states))}"
        )
    index = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(len(columns[0].missing))
    found = {column.name: _states_of_column(network, column, states[str(column.name)]) for column in columns}
    return pd.DataFrame(found, index)


def _states_of_column(
    network: DiscreteBayesianNetwork, column: Column, states: tuple[Any, ...]
) -> npt.NDArray[np.object_]:
    """Return the states of the cells of a column; None for missing cells of a node that has no state for them."""
    node: Hashable = str(column.name)
    own_missing = {node} & set(network.graph.get(OWN_MISSING, ()))
    missing = len(states) - 1 if own_missing else -1
    codes = _codes_of_states(column, states)
    if codes is None:
        cuts = {name: np.asarray(own) for name, own in _of_node(network, CUT_POINTS, node).items()}
        vocabulary = Vocabulary(
            {node: states},
            quantities=_of_node(network, QUANTITIES, node),
            groups=_of_node(network, GROUPS, node),
            own_missing=own_missing,
        )
        (read,) = in_vocabulary([column], vocabulary, cuts)
        codes = vocabulary.encode(read)
        strange = np.flatnonzero(codes == UNKNOWN)
        if len(strange):
            value = column.values()[int(strange[0])]
            raise ValueError(f"{value!r} is not a state of node {node!r}; its states are {list(states)}")
    named = np.empty(len(states) + 1, dtype=object)
    named[:-1] = states
    named[-1] = None
    return np.asarray(named[np.where(codes < 0, missing, codes)])


def _codes_of_states(column: Column, states: tuple[Any, ...]) -> npt.NDArray[Any] | None:
    """Return the codes of a column of states, such as names of intervals and groups; None if it has other values."""
    codes, values = column.coded
    places = {(type(state), state): code for code, state in enumerate(states)}
    lookup = [places.get((type(value), value)) for value in values]
    observed = np.unique(codes[codes >= 0]).tolist()
    if not observed or any(lookup[code] is None for code in observed):
        return None
    return np.array([*(-1 if code is None else code for code in lookup), -1])[codes]


def _of_node(network: DiscreteBayesianNetwork, kept: str, node: Hashable) -> dict[Hashable, Any]:
    """Return what the network keeps about a node under a key, as a mapping of the node alone, or an empty one."""
    found = network.graph.get(kept, {})
    return {node: found[node]} if node in found else {}
