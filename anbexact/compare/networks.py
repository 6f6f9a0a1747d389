"""Distances between networks: of their graphs, and of their distributions."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from math import fsum, inf
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from sklearn.utils.validation import check_is_fitted

from anbexact._runtime.arrays import Floats
from anbexact.models.structure import parents_first
from anbexact.search.equivalence import class_of_graph
from anbexact.search.graphs import as_mask, elements

if TYPE_CHECKING:
    from anbexact.models.network.network import TableNetwork

Arcs = set[tuple[Hashable, Hashable]]
"""Arcs as (parent, child); an edge without direction is both arcs between its ends."""


def structural_hamming_distance(first: Any, second: Any, *, completed: bool = True) -> int:
    """Return the number of pairs of variables that two graphs join differently.

    A pair of variables counts as 1 if one graph has an edge between them and the other has none, or if the edges
    differ in their direction: arcs that point in opposite ways, or an arc against an edge without direction. This is
    the number of edges to be added, removed, reversed, directed or undirected until the graphs are the same.

    By default, as in the definition of Tsamardinos, Brown and Aliferis, acyclic graphs are completed first: an arc
    that some Markov equivalent graph reverses becomes an edge without direction (the result is called CPDAG, or
    essential graph). The distance of equivalent graphs is then 0. With ``completed=False``, the arcs are compared as
    they are.

    Parameters
    ----------
    first, second : Structure, classifier, networkx ``DiGraph`` or mapping of variable to parents
        Graphs of the same variables, such as a learned structure, a fitted classifier that is a network, or a pgmpy
        network. A ``DiGraph`` with arcs in both directions between two nodes, such as pgmpy's ``PDAG``, has an edge
        without direction there; it counts as completed and is compared as it is.
    completed : bool, default True
        Whether to compare the Markov equivalence classes of acyclic graphs.

    Returns
    -------
    int
        From 0 to the number of pairs of variables; symmetric in the two graphs.

    Raises
    ------
    NotFittedError
        If a classifier was not fitted.
    TypeError
        If an argument is not a graph.
    ValueError
        If the variables differ, a parent is not a variable, or a graph has a directed cycle.

    References
    ----------
    Tsamardinos, Brown and Aliferis, *The max-min hill-climbing Bayesian network structure learning algorithm*,
    Machine Learning 65 (2006); completion by Chickering, UAI 1995.

    Examples
    --------
    >>> from anbexact.compare import structural_hamming_distance
    >>> chain = {"a": (), "b": ("a",), "c": ("b",)}
    >>> fork = {"a": ("b",), "b": (), "c": ("b",)}
    >>> collider = {"a": (), "b": ("a", "c"), "c": ()}
    >>> structural_hamming_distance(chain, fork), structural_hamming_distance(chain, collider)
    (0, 2)
    >>> structural_hamming_distance(chain, fork, completed=False)
    1
    """
    one, other = _graph(first), _graph(second)
    _check_same("variables", one, other)
    different = _arcs(one, completed=completed) ^ _arcs(other, completed=completed)
    return len({frozenset(arc) for arc in different})


def _graph(graph: Any) -> dict[Hashable, tuple[Hashable, ...]]:
    """Return the parents of every variable of a graph in any form."""
    if hasattr(graph, "discrete_form"):
        check_is_fitted(graph)
        graph = graph.structure_
    if isinstance(graph, nx.DiGraph):
        return {name: tuple(graph.predecessors(name)) for name in graph.nodes}
    parents = getattr(graph, "parents", graph)
    if not isinstance(parents, Mapping):
        raise TypeError(
            "a graph must be a Structure, a classifier that is a network, a networkx DiGraph such as a pgmpy "
            f"network, or a mapping of every variable to its parents, not a {type(graph).__name__}"
        )
    for child, child_parents in parents.items():
        for parent in child_parents:
            if parent not in parents:
                raise ValueError(f"{parent!r}, a parent of {child!r}, is not a variable of the graph")
    return {child: tuple(child_parents) for child, child_parents in parents.items()}


def _check_same(what: str, one: Collection[Hashable], other: Collection[Hashable]) -> None:
    """Refuse collections that do not have the same members."""
    for members, others, place in ((one, other, "first"), (other, one, "second")):
        only = [member for member in members if member not in others]
        if only:
            raise ValueError(
                f"the two networks must have the same {what}, but only the {place} one has "
                f"{', '.join(map(repr, only))}"
            )


def _arcs(parents: Mapping[Hashable, tuple[Hashable, ...]], *, completed: bool) -> Arcs:
    """Return the arcs of a graph, or of its equivalence class if it is acyclic."""
    arcs = {(parent, child) for child, child_parents in parents.items() for parent in child_parents}
    undirected = {(a, b) for a, b in arcs if (b, a) in arcs}
    parents_first({child: [a for a in own if (a, child) not in undirected] for child, own in parents.items()})
    if undirected or not completed:
        return arcs
    names = list(parents)
    place = {name: k for k, name in enumerate(names)}
    found = class_of_graph(tuple(as_mask([place[a] for a in own]) for own in parents.values()))
    joined = [always | either for always, either in zip(found.parents, found.neighbours, strict=True)]
    return {(names[a], names[b]) for b, mask in enumerate(joined) for a in elements(mask)}


def kl_divergence(p: Any, q: Any) -> float:
    r"""Return the Kullback–Leibler divergence of the joint distribution of a network from that of another.

    ``KL(P || Q) = Σ_x P(x) ln(P(x) / Q(x))`` over all joint states x. As both are products of conditional
    probabilities,

        KL(P || Q) = Σ_v [Σ P(v, pa) ln P(v | pa) - Σ P(v, pa') ln Q(v | pa')],

    where pa are the parents of v in the first network, and pa' those in the second. The marginal distributions under
    P are computed exactly, by junction trees of the first network; joint states are not enumerated. The result is
    exact but for rounding.

    Parameters
    ----------
    p, q : pgmpy ``DiscreteBayesianNetwork``, classifier or TableNetwork
        Networks of the same variables with the same states, which may be in another order. A classifier stands for
        the network that :func:`~anbexact.adapters.to_pgmpy` makes of it.

    Returns
    -------
    float
        Nats, 0 or more; infinite if Q excludes a joint state that P does not. Not symmetric: P is the distribution
        that rows follow, such as the true one, and Q the one that approximates it.

    Raises
    ------
    NotFittedError
        If a classifier was not fitted.
    TypeError
        If an argument is not a discrete network.
    ValueError
        If the variables or their states differ, a CPD is invalid (as in :func:`~anbexact.adapters.from_pgmpy`), or
        the junction trees need more memory than is available; the message names the largest clique.

    References
    ----------
    Kullback and Leibler, Annals of Mathematical Statistics 22 (1951); Koller and Friedman, *Probabilistic Graphical
    Models* (2009), chapter 8.

    Examples
    --------
    >>> from anbexact import NaiveBayesClassifier, TANClassifier
    >>> from anbexact.compare import kl_divergence
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> tree, bayes = TANClassifier(ess=1).fit(X, y), NaiveBayesClassifier(ess=1).fit(X, y)
    >>> round(kl_divergence(tree, bayes), 3), kl_divergence(tree, tree.network_)
    (0.315, 0.0)
    """
    from anbexact.adapters.pgmpy.networks import as_table_network

    one, other = as_table_network(p), as_table_network(q)
    _check_same("variables", one.tables, other.tables)
    for name, states in one.vocabulary.states.items():
        _check_same(f"states of {name!r}", states, other.vocabulary.states[name])
    terms = [*_terms(one, one), *(-term for term in _terms(one, other))]
    return inf if inf in terms else max(0.0, fsum(terms))


def _terms(one: TableNetwork, other: TableNetwork) -> Iterator[float]:
    """Yield Σ P(v, parents) ln Q(v | parents) of every variable v, with its parents in the other network Q; nats."""
    places = {
        name: [other.vocabulary.states[name].index(state) for state in states]
        for name, states in one.vocabulary.states.items()
    }
    for table in other.tables.values():
        joint: Floats = one.marginal(table.variables)
        values = table.values[np.ix_(*(places[name] for name in table.variables))]
        with np.errstate(divide="ignore"):
            yield float(np.sum(joint[joint > 0] * np.log(values[joint > 0])))
