"""Queries of a classifier or a pgmpy network: class posteriors and d-separation."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from anbexact.adapters.pgmpy.networks import States, Tables, check_node, read_network
from anbexact.adapters.pgmpy.rows import states_of
from anbexact.classifiers import DiscreteClassifier, NetworkClassifier, RefittedClassifier
from anbexact.models.network.evidence import code_evidence, posterior_of_logs, read_evidence
from anbexact.models.network.explain import class_code
from anbexact.models.network.posterior import Posterior
from anbexact.models.structure import Structure
from anbexact.tables.vocabulary import MISSING, is_missing

with warnings.catch_warnings():  # pgmpy warns on import about names that are not used here
    warnings.simplefilter("ignore", FutureWarning)
    from pgmpy.inference import VariableElimination
    from pgmpy.models import DiscreteBayesianNetwork

__all__ = ["class_posterior", "d_separated"]

LOG_SMALLEST = -700.0
"""The logarithm of a number that is still a normal float64: pgmpy multiplies probabilities, not their logarithms."""


def class_posterior(
    network: DiscreteBayesianNetwork | DiscreteClassifier,
    class_name: Hashable | None = None,
    evidence: Mapping[Hashable, Any] | None = None,
) -> pd.Series[float]:
    """Return P(class | evidence), for evidence on any of the other nodes.

    For a pgmpy network, pgmpy's ``VariableElimination`` computes it. It multiplies probabilities, and with many
    observed nodes the products can be too small for a float; nor does it notice impossible evidence that is
    independent of the class. If the CPDs allow either problem, this package's own elimination is used instead, which
    works with logarithms; it is also used for classifiers. Nodes that are neither evidence nor class nor ancestors of
    these do not matter.

    Parameters
    ----------
    network : DiscreteBayesianNetwork or classifier
        A network with a ``TabularCPD`` for every node, or a fitted classifier of this package; it is not changed.
    class_name : Hashable, optional
        The node whose posterior is computed; for a classifier, the default is its class.
    evidence : mapping of node to state, optional
        The observed values; you can pass a row of a frame (a pandas Series). A missing value is the state of missing
        cells if the node has one; otherwise it is not evidence: leave its node out. For a pgmpy network, the values
        are states, or raw values that are covered by the cut points and groups of a network from :func:`to_pgmpy`
        (see :func:`states_of`). A classifier expects raw values, and cuts and encodes them as in ``predict``; for its
        own class, its ``query`` does the same.

    Returns
    -------
    (classes,) Series
        Probabilities, named ``class_name``, indexed by the class's states in the network's order.

    Raises
    ------
    TypeError
        If the network is not discrete, or the evidence is not a mapping.
    ValueError
        If a node or state is unknown, the class is among the evidence, a CPD is invalid (as in
        :func:`from_pgmpy`), the evidence has probability 0, or the elimination by logarithms would need a
        factor that is too large.

    Examples
    --------
    >>> from anbexact import ANBClassifier
    >>> from anbexact.adapters import class_posterior
    >>> from anbexact.datasets import load_iris, load_monks
    >>> network = ANBClassifier(ess=1).fit(*load_monks(1)).network_
    >>> class_posterior(network, "is_monk", {"jacket_color": "red"}).round(3)
    no     0.001
    yes    0.999
    Name: is_monk, dtype: float64
    >>> iris = ANBClassifier(ess=1, discretizer="mdlp").fit(*load_iris())
    >>> class_posterior(iris, "petal_length", {"petal_width": 1.7}).round(3)
    (-inf, 2.45]    0.002
    (2.45, 4.75]    0.830
    (4.75, inf)     0.168
    Name: petal_length, dtype: float64
    """
    if isinstance(network, DiscreteClassifier):
        return _posterior_of_classifier(network, class_name, evidence)
    if class_name is None:
        raise TypeError("class_posterior needs class_name=: only a classifier knows which node is its class")
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
        observed = {name: states[name][code] for name, code in codes.items()}
        return posterior_of_logs(_log_joint(tables, class_name, codes), states[class_name], class_name, observed)
    index = pd.Index(states[class_name], dtype=object)
    return pd.Series(probabilities, index=index, name=class_name)


def _posterior_of_classifier(
    classifier: DiscreteClassifier, class_name: Hashable | None, evidence: Mapping[Hashable, Any] | None
) -> pd.Series[float]:
    """Return the posterior of one of a classifier's variables given values of others."""
    check_is_fitted(classifier)
    own_class = classifier.vocabulary_.class_name
    if class_name is None or class_name == own_class:
        return classifier.query(evidence)
    if not hasattr(classifier, "discrete_form"):
        raise TypeError(
            f"{type(classifier).__name__} provides the posterior of its class only, not of {class_name!r}"
        )
    network = classifier.discrete_form()
    vocabulary = network.vocabulary_
    if class_name not in vocabulary.states:
        raise ValueError(f"class_name: {class_name!r} is not a variable; the variables are {list(vocabulary.names)}")
    known = read_evidence(evidence)
    if class_name in known:
        raise ValueError(f"{class_name!r} is among the evidence: leave it out, because its posterior is computed")
    features = {name: value for name, value in known.items() if name != own_class}
    of_features = code_evidence(network.reader_, features)
    codes = {name: int(code) for name, code in zip(vocabulary.features, of_features, strict=True) if code >= 0}
    if own_class in known:
        codes[own_class] = class_code(vocabulary, "evidence", known[own_class])
    logs = _log_joint(network.conditional_tables_, class_name, codes)
    return posterior_of_logs(logs, vocabulary.states[class_name], class_name, known)


def d_separated(
    network: nx.DiGraph[Any] | NetworkClassifier | RefittedClassifier | Structure,
    x: Hashable | Iterable[Hashable],
    y: Hashable | Iterable[Hashable],
    given: Hashable | Iterable[Hashable] = (),
) -> bool:
    """Return whether the graph separates x from y given other nodes.

    If it does, x and y are independent given these nodes in every distribution with the network's structure. Arcs are
    not causes: separation says which dependences the network can express, not what happens if you intervene on a
    variable.

    Parameters
    ----------
    network : classifier, Structure, DiscreteBayesianNetwork or other networkx ``DiGraph``
        A fitted classifier that is a network, its structure, or any acyclic graph.
    x, y : node or collection of nodes
        Two sets without a common node.
    given : node or collection of nodes, default ()
        The nodes conditioned on, none of them in x or y.

    Returns
    -------
    bool

    Raises
    ------
    TypeError
        If the network is not a directed graph.
    ValueError
        If a node is unknown, x or y is empty, a node is in two of the sets, or the graph has a cycle.

    Examples
    --------
    >>> from anbexact import NaiveBayesClassifier
    >>> from anbexact.adapters import d_separated
    >>> from anbexact.datasets import load_monks
    >>> classifier = NaiveBayesClassifier().fit(*load_monks(1))
    >>> d_separated(classifier, "holding", ["has_tie", "is_smiling"], given="is_monk")
    True
    >>> d_separated(classifier.network_, "holding", "has_tie")
    False
    """
    if hasattr(network, "discrete_form"):
        check_is_fitted(network)
        network = network.structure_  # type: ignore[union-attr]  # a structure has no such method
    if isinstance(network, Structure):
        network = network.to_networkx()
    if not isinstance(network, nx.DiGraph):
        raise TypeError(
            "network must be a directed graph, such as a pgmpy network, or a classifier that is one, not a "
            f"{type(network).__name__}"
        )
    graph: nx.DiGraph[Any] = nx.DiGraph(network.edges)
    graph.add_nodes_from(network.nodes)
    sets = {label: _node_set(graph, label, nodes) for label, nodes in (("x", x), ("y", y), ("given", given))}
    for label in ("x", "y"):
        if not sets[label]:
            raise ValueError(f"{label} contains no node")
    for a, b in (("x", "y"), ("x", "given"), ("y", "given")):
        common = sorted(map(repr, sets[a] & sets[b]))
        if common:
            raise ValueError(f"{a} and {b} both contain {', '.join(common)}: they must have no node in common")
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
            raise ValueError(
                f"the class {name!r} is among the evidence: leave it out, because its posterior is computed"
            )
        places = {known: code for code, known in enumerate(states[name])}
        try:
            codes[name] = places[state]
        except TypeError:  # not hashable
            raise ValueError(
                f"{state!r} is not a state of node {name!r}; its states are {list(states[name])}"
            ) from None
        except KeyError:  # a missing cell, or a value that the network's cut points or groups cover
            read = states_of(network, pd.DataFrame({name: [state]}, dtype=object)).iloc[0, 0]
            if is_missing(read):
                raise ValueError(f"the value of {name!r} is missing ({state!r}): leave the node out") from None
            codes[name] = places[read]
    return codes


def _smallest_log_product(tables: Tables, codes: Mapping[Hashable, int]) -> float:
    """Return a lower bound on ln of every product of the tables' values, given the observed cells."""
    total = 0.0
    for table in tables.values():
        index = tuple(codes.get(variable, slice(None)) for variable in table.variables)
        smallest = float(np.min(table.values[index]))
        if smallest == 0:
            return float("-inf")
        total += float(np.log(smallest))
    return total


def _log_joint(tables: Tables, class_name: Hashable, codes: Mapping[Hashable, int]) -> npt.NDArray[np.float64]:
    """Return ln P(class, observed cells) by elimination in logarithms, shape (classes,)."""
    features = [name for name in tables if name != class_name]
    row = np.array([[codes.get(name, MISSING)] for name in features], dtype=np.int16).reshape(-1, 1)
    logs: npt.NDArray[np.float64] = Posterior(tables, class_name, features).log_joint(row, n_jobs=1)[0]
    return logs
