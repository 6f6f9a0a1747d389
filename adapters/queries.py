"""Questions put to a pgmpy network: class posteriors and d-separation."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
import pandas as pd

from anbexact.adapters.pgmpy import States, Tables, check_node, read_network
from anbexact.posterior import Posterior
from anbexact.vocabulary import MISSING

with warnings.catch_warnings():  # pgmpy, when imported, warns of names that are not used here
    warnings.simplefilter("ignore", FutureWarning)
    from pgmpy.inference import VariableElimination
    from pgmpy.models import DiscreteBayesianNetwork

__all__ = ["class_posterior", "d_separated"]

LOG_SMALLEST = -700.0
"""ln of a number that is still a normal float64; pgmpy multiplies probabilities, not their logarithms."""


def class_posterior(
    network: DiscreteBayesianNetwork, class_name: Hashable, evidence: Mapping[Hashable, Any] | None = None
) -> pd.Series[float]:
    """Return P(class | evidence), for evidence on any of the other nodes.

    It is computed by pgmpy's ``VariableElimination``. That works with products of probabilities, which
    many observed nodes can make too small for a float, and takes no notice of impossible evidence that is
    independent of the class. Where the CPDs admit either, this package's elimination takes its place, which
    works with logarithms. Nodes that are neither evidence nor class nor ancestors of these play no part.

    Parameters
    ----------
    network : DiscreteBayesianNetwork
        A network with a ``TabularCPD`` for every node; it is not changed.
    class_name : Hashable
        The node whose posterior is asked for.
    evidence : mapping of node to state, optional
        What was observed; a row of a frame (a pandas Series) will do. A missing value is not evidence: leave
        its node out.

    Returns
    -------
    (classes,) Series
        Probabilities, named ``class_name``, indexed by the class's states in the network's order.

    Raises
    ------
    TypeError
        If the network is not discrete, or the evidence is no mapping.
    ValueError
        If a node or state is unknown, the class is among the evidence, a CPD is invalid (as in
        :func:`from_pgmpy`), the evidence has probability 0, or the elimination by logarithms would need a
        factor that is too large.

    Examples
    --------
    >>> from anbexact import ANBClassifier
    >>> from anbexact.adapters import class_posterior
    >>> from anbexact.datasets import load_monks
    >>> network = ANBClassifier().fit(*load_monks(1)).network_
    >>> class_posterior(network, "is_monk", {"jacket_color": "red"}).round(3)
    no     0.001
    yes    0.999
    Name: is_monk, dtype: float64
    """
    tables, states = read_network(network)
    check_node(network, class_name, "class_name")
    codes = _evidence_codes(network, class_name, evidence, states)
    relevant = {class_name, *codes}.union(*(nx.ancestors(network, name) for name in (class_name, *codes)))
    tables = {name: table for name, table in tables.items() if name in relevant}
    if _smallest_log_product(tables, codes) > LOG_SMALLEST:
        observed = {name: states[name][code] for name, code in codes.items()}
        factor = VariableElimination(network).query([class_name], evidence=observed, show_progress=False)
        probabilities = np.asarray(factor.values, dtype=np.float64)
    else:
        probabilities = _posterior_by_logs(tables, class_name, codes)
        if np.isnan(probabilities).any():
            shown = ", ".join(f"{name} = {states[name][code]!r}" for name, code in codes.items())
            raise ValueError(f"the evidence {shown} has probability 0 in this network: no class can be given it")
    index = pd.Index(states[class_name], dtype=object)
    return pd.Series(probabilities, index=index, name=class_name)


def d_separated(
    network: nx.DiGraph[Any],
    x: Hashable | Iterable[Hashable],
    y: Hashable | Iterable[Hashable],
    given: Hashable | Iterable[Hashable] = (),
) -> bool:
    """Return whether the graph separates x from y given other nodes.

    If so, x and y are independent given these nodes in every distribution of the network's form.

    Parameters
    ----------
    network : DiscreteBayesianNetwork or other networkx ``DiGraph``
        An acyclic graph, such as ``classifier.network_`` or ``classifier.structure_.to_networkx()``.
    x, y : node or collection of nodes
        Two sets that have no node in common.
    given : node or collection of nodes, default ()
        The nodes conditioned on, none of them in x or y.

    Returns
    -------
    bool

    Raises
    ------
    TypeError
        If the network is no directed graph.
    ValueError
        If a node is unknown, x or y is empty, a node is in two of the sets, or the graph has a cycle.

    Examples
    --------
    >>> from anbexact import NaiveBayesClassifier
    >>> from anbexact.adapters import d_separated
    >>> from anbexact.datasets import load_monks
    >>> network = NaiveBayesClassifier().fit(*load_monks(1)).network_
    >>> d_separated(network, "holding", ["has_tie", "is_smiling"], given="is_monk")
    True
    >>> d_separated(network, "holding", "has_tie")
    False
    """
    if not isinstance(network, nx.DiGraph):
        raise TypeError(f"network must be a directed graph, such as a pgmpy network, not a {type(network).__name__}")
    graph: nx.DiGraph[Any] = nx.DiGraph(network.edges)
    graph.add_nodes_from(network.nodes)
    sets = {label: _node_set(graph, label, nodes) for label, nodes in (("x", x), ("y", y), ("given", given))}
    for label in ("x", "y"):
        if not sets[label]:
            raise ValueError(f"{label} holds no node")
    for a, b in (("x", "y"), ("x", "given"), ("y", "given")):
        common = sorted(map(repr, sets[a] & sets[b]))
        if common:
            raise ValueError(f"{a} and {b} both hold {', '.join(common)}: they must have no node in common")
    if not nx.is_directed_acyclic_graph(graph):
        raise ValueError("the graph has a directed cycle: d-separation is defined for acyclic graphs")
    return bool(nx.is_d_separator(graph, sets["x"], sets["y"], sets["given"]))


def _node_set(graph: nx.DiGraph[Any], label: str, nodes: Any) -> set[Hashable]:
    """Return a node, or a collection of nodes, as a set of known nodes."""
    single = nodes in graph or isinstance(nodes, str) or not isinstance(nodes, Iterable)
    members = [nodes] if single else list(nodes)
    for name in members:
        check_node(graph, name, label)
    return set(members)


def _evidence_codes(
    network: DiscreteBayesianNetwork, class_name: Hashable, evidence: object, states: States
) -> dict[Hashable, int]:
    """Return the observed nodes and the positions of their states."""
    if evidence is None:
        return {}
    if not isinstance(evidence, Mapping | pd.Series):
        raise TypeError(f"evidence must map nodes to states, not be a {type(evidence).__name__}")
    codes = {}
    for name, state in evidence.items():
        check_node(network, name, "evidence")
        if name == class_name:
            raise ValueError(f"the class {name!r} is among the evidence: leave it out, its posterior is asked for")
        places = {known: code for code, known in enumerate(states[name])}
        try:
            codes[name] = places[state]
        except (KeyError, TypeError):  # unknown, or not hashable
            raise ValueError(f"{state!r} is no state of node {name!r}; its states are {list(states[name])}") from None
    return codes


def _smallest_log_product(tables: Tables, codes: Mapping[Hashable, int]) -> float:
    """Return a lower bound on ln of every product of the tables' values, given what is observed."""
    total = 0.0
    for table in tables.values():
        index = tuple(codes.get(variable, slice(None)) for variable in table.variables)
        smallest = float(np.min(table.values[index]))
        if smallest == 0:
            return float("-inf")
        total += float(np.log(smallest))
    return total


def _posterior_by_logs(
    tables: Tables, class_name: Hashable, codes: Mapping[Hashable, int]
) -> npt.NDArray[np.float64]:
    """Return the class posterior by elimination in logarithms, shape (classes,); NaN for impossible evidence."""
    features = [name for name in tables if name != class_name]
    row = np.array([[codes.get(name, MISSING)] for name in features], dtype=np.int16).reshape(-1, 1)
    log_joint = Posterior(tables, class_name, features).log_joint(row, n_jobs=1)[0]
    if log_joint.max() == -np.inf:
        return np.full(log_joint.shape, np.nan)
    joint = np.exp(log_joint - log_joint.max())
    return np.asarray(joint / joint.sum())
