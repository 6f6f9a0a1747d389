"""Classifiers as pgmpy networks, and pgmpy networks as classifiers."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from anbexact._runtime.memory import available_memory
from anbexact._runtime.units import human_bytes
from anbexact.adapters.deploy.scoring_form import named
from anbexact.classifiers.fixed import FixedStructureClassifier
from anbexact.models.network.network import TableNetwork
from anbexact.models.parameters.tables import ConditionalTable
from anbexact.models.structure import Structure
from anbexact.tables.cuts import interval_names
from anbexact.tables.frames.native_values import sorted_positions
from anbexact.tables.vocabulary import Vocabulary

if TYPE_CHECKING:
    from anbexact.classifiers import NetworkClassifier, RefittedClassifier

with warnings.catch_warnings():  # pgmpy warns on import about names that are not used here
    warnings.simplefilter("ignore", FutureWarning)
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

__all__ = ["from_pgmpy", "to_pgmpy"]

EXACT = 1e-12
"""Columns whose sum is this close to 1 are left as they are."""
TOLERANCE = 1e-6
"""Columns whose sum is farther from 1 than this are refused."""
CUT_POINTS = "anbexact_cut_points"
"""Where ``network.graph`` keeps the cut points of discretised columns, by node."""
GROUPS = "anbexact_groups"
"""Where ``network.graph`` keeps the groups of values of grouped columns, by node."""
QUANTITIES = "anbexact_quantities"
"""Where ``network.graph`` keeps what the numbers of dates, durations, decimals and similar columns mean, by node."""
OWN_MISSING = "anbexact_own_missing"
"""Where ``network.graph`` keeps the names of the nodes whose last state is that of missing cells."""

Tables = dict[Hashable, ConditionalTable]
"""The conditional tables of the nodes."""
States = dict[Hashable, tuple[Any, ...]]
"""The states of the nodes."""


def to_pgmpy(classifier: NetworkClassifier | RefittedClassifier) -> DiscreteBayesianNetwork:
    """Return a fitted classifier's network as a pgmpy ``DiscreteBayesianNetwork``.

    Nodes are the features in table order, then the class (with the name of ``y`` in ``fit``, else ``"class"``). A
    name that is not a string becomes ``str(name)``, as pgmpy requires. Every CPD carries all states of its variables,
    as native Python objects in the order of ``vocabulary_``, and equals ``conditional_tables_``; its columns sum to 1
    within 1e-12. In the network, the states of a discretised column are named intervals; its cut points are kept in
    ``network.graph["anbexact_cut_points"]``, where :func:`from_pgmpy` finds them. So are the groups of values of
    grouped columns, in ``network.graph["anbexact_groups"]``, and the nodes with a state for missing cells, which is
    their last one, in ``network.graph["anbexact_own_missing"]``.

    Parameters
    ----------
    classifier : NetworkClassifier or RefittedClassifier
        A fitted classifier, such as :class:`~anbexact.ANBClassifier`.

    Returns
    -------
    DiscreteBayesianNetwork
        A new network, checked with ``check_model``; it shares no array with the classifier.

    Raises
    ------
    NotFittedError
        If the classifier was not fitted.
    TypeError
        If it is not a classifier of this package.
    ValueError
        If two names are the same as strings, or a column of a table does not sum to 1.
    MemoryError
        If the copies that pgmpy makes of the tables would not fit into memory.

    Examples
    --------
    >>> from anbexact import ANBClassifier
    >>> from anbexact.adapters import to_pgmpy
    >>> from anbexact.datasets import load_monks
    >>> network = to_pgmpy(ANBClassifier().fit(*load_monks(1)))
    >>> sorted(network.get_parents("body_shape"))
    ['head_shape', 'is_monk', 'jacket_color']
    >>> network.states["jacket_color"]
    ['red', 'yellow', 'green', 'blue']
    """
    source = discrete_form(classifier, "to_pgmpy").model_.to_network()
    vocabulary, tables = source.vocabulary, source.tables
    nodes = _node_names(vocabulary.names)
    _check_memory(tables)
    states = {nodes[name]: list(of_name) for name, of_name in vocabulary.states.items()}
    network = DiscreteBayesianNetwork()
    if source.cut_points:
        network.graph[CUT_POINTS] = {nodes[name]: cuts.copy() for name, cuts in source.cut_points.items()}
    if vocabulary.quantities:
        network.graph[QUANTITIES] = {nodes[name]: quantity for name, quantity in vocabulary.quantities.items()}
    if vocabulary.groups:
        network.graph[GROUPS] = {nodes[name]: groups for name, groups in vocabulary.groups.items()}
    if vocabulary.own_missing:
        network.graph[OWN_MISSING] = [nodes[name] for name in vocabulary.names if name in vocabulary.own_missing]
    network.add_nodes_from(nodes.values())
    network.add_edges_from((nodes[parent], nodes[child]) for parent, child in source.structure.edges)
    for name in vocabulary.names:
        table = tables[name]
        node, *parents = (nodes[variable] for variable in table.variables)
        own_states: dict[Hashable, list[Any]] = {variable: list(states[variable]) for variable in (node, *parents)}
        values = _normalised(table.values, (node, *parents), own_states)
        cpd = TabularCPD(
            node,
            len(states[node]),
            values.reshape(len(states[node]), -1),
            evidence=parents or None,
            evidence_card=[len(states[parent]) for parent in parents] or None,
            state_names=own_states,
        )
        off = np.abs(np.asarray(cpd.values, dtype=np.float64).sum(axis=0) - 1).max()
        if not off <= EXACT:
            raise ValueError(
                f"pgmpy stored the table of {node!r} with columns whose sums differ from 1 by {off:.2g}: it does "
                "not compute in float64. Set pgmpy.config.set_dtype('float64')."
            )
        network.add_cpds(cpd)
    network.check_model()
    return network


def discrete_form(classifier: Any, what: str) -> NetworkClassifier:
    """Return a fitted classifier in the form of one with conditional tables; messages name the function ``what``.

    Raises
    ------
    NotFittedError, TypeError, ValueError
        For a classifier that is not fitted, or whose posterior is not that of a network.
    """
    if not hasattr(classifier, "discrete_form"):
        raise TypeError(f"{what} takes a classifier of anbexact, not {named(classifier)}")
    found: NetworkClassifier = classifier.discrete_form()
    return found


def from_pgmpy(network: DiscreteBayesianNetwork, class_name: Hashable) -> FixedStructureClassifier:
    """Return a fitted classifier with the class posterior of a pgmpy network.

    The network may be any discrete one: the class may have parents. The features are the other nodes, in the order of
    ``network.nodes``, which is the order of columns that ``predict`` expects. Classes are sorted, as scikit-learn
    expects, regardless of their order in the network; the states of features keep their order.

    pgmpy itself accepts columns whose sum differs from 1 by 0.01. Here, columns whose sum differs by at most 1e-12
    are used as they are, and those whose sum differs by at most 1e-6 (a file with few digits) are normalised. Columns
    with a larger difference are refused, because such a table does not define a posterior. Call ``cpd.normalize()``
    to correct them.

    There are no training rows, so ``structure_.score`` is NaN. A value that is not a known state is summed out by
    default; ``set_params(handle_unknown="error")`` refuses it. A missing cell is summed out, too, unless a network
    from :func:`to_pgmpy` has a state for it. Such a network also discretises numbers like the classifier. A network
    that was read from a file has neither information: pass the names of intervals as values.

    Parameters
    ----------
    network : DiscreteBayesianNetwork
        A network with a ``TabularCPD`` for every node; it is not changed.
    class_name : Hashable
        The node to classify.

    Returns
    -------
    FixedStructureClassifier
        Fitted: ready for ``predict_proba``, ``explain`` and ``to_pgmpy``. ``fit`` would estimate new
        tables for the same graph.

    Raises
    ------
    TypeError
        If the network, or one of its CPDs, is not discrete.
    ValueError
        If ``class_name`` is not a node or is the only one, or a CPD is missing, does not fit the graph or is not a
        probability distribution; the message names the node.

    Examples
    --------
    >>> from anbexact import ANBClassifier
    >>> from anbexact.adapters import from_pgmpy
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> network = ANBClassifier().fit(X, y).network_
    >>> from_pgmpy(network, "is_monk").score(X, y)
    1.0
    >>> from_pgmpy(network, "holding").classes_.tolist()
    ['balloon', 'flag', 'sword']
    """
    tables, states = read_network(network)
    check_node(network, class_name, "class_name")
    features = [name for name in network.nodes if name != class_name]
    if not features:
        raise ValueError(
            f"the network has no node except the class {class_name!r}: a classifier needs at least one feature"
        )
    order = sorted_positions(states[class_name])
    states[class_name] = tuple(states[class_name][i] for i in order)
    for name, table in tables.items():
        if class_name in table.variables:
            values = np.ascontiguousarray(table.values.take(order, axis=table.variables.index(class_name)))
            tables[name] = ConditionalTable(name, table.parents, values)
    quantities = network.graph.get(QUANTITIES, {})
    groups = {name: of_name for name, of_name in network.graph.get(GROUPS, {}).items() if name in features}
    own_missing = {name for name in network.graph.get(OWN_MISSING, ()) if name in features}
    of_names = {name: states[name] for name in (*features, class_name)}
    vocabulary = Vocabulary(of_names, class_name, quantities=quantities, groups=groups, own_missing=own_missing)
    tables = {name: tables[name] for name in (class_name, *features)}
    parents = {name: table.parents for name, table in tables.items()}
    cut_points = {
        name: np.array(cuts) for name, cuts in network.graph.get(CUT_POINTS, {}).items() if name in features
    }
    for name, cuts in cut_points.items():
        intervals = interval_names(cuts, quantities.get(name))
        if vocabulary.observed_states(name) != intervals:
            raise ValueError(
                f"the states of node {name!r}, {list(states[name])}, are not the intervals of its cut points in "
                f"network.graph[{CUT_POINTS!r}], {cuts.tolist()}: delete these"
            )
    read = TableNetwork(
        vocabulary=vocabulary,
        cut_points=cut_points,
        structure=Structure.given(class_name, parents),
        tables=tables,
    )
    named = all(isinstance(name, str) for name in features)
    return FixedStructureClassifier.from_network(read, feature_names=features if named else None)


def _node_names(names: Iterable[Hashable]) -> dict[Hashable, str]:
    """Return the names of the nodes: the names of the variables as strings."""
    taken: dict[str, Hashable] = {}
    for name in names:
        node = str(name)
        if node in taken:
            raise ValueError(
                f"the variables {taken[node]!r} and {name!r} would both become the node {node!r} "
                "(pgmpy needs strings as names): rename one of them"
            )
        taken[node] = name
    return {name: node for node, name in taken.items()}


def _check_memory(tables: Mapping[Hashable, ConditionalTable]) -> None:
    """Refuse tables that are too large for pgmpy: it keeps a copy of each, and makes three more of one at a time."""
    largest = max(tables.values(), key=lambda table: table.values.size)
    needed = sum(table.values.nbytes for table in tables.values()) + 3 * largest.values.nbytes
    available = available_memory()
    if needed > available:
        raise MemoryError(
            f"pgmpy would need {human_bytes(needed)} for its copies of the tables, but {human_bytes(available)} are "
            f"available; the largest is that of {largest.name!r} given its {len(largest.parents)} parents "
            f"{list(largest.parents)} ({human_bytes(largest.values.nbytes)}): limit the feature parents with "
            "max_parents="
        )


def _normalised(
    values: npt.NDArray[np.float64], variables: Sequence[Hashable], states: Mapping[Hashable, Sequence[Any]]
) -> npt.NDArray[np.float64]:
    """Return a table whose columns sum to 1 within ``EXACT``; the same one if they do.

    Raises
    ------
    ValueError
        If a value is not a probability, or the sum of a column differs from 1 by more than ``TOLERANCE``.
    """

    def shown(column: Sequence[int]) -> str:
        given = ", ".join(f"{v} = {states[v][i]!r}" for v, i in zip(variables[1:], column, strict=True))
        return f"P({variables[0]} | {given})" if given else f"P({variables[0]})"

    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        where = [int(i) for i in np.argwhere(bad)[0]]
        state = states[variables[0]][where[0]]
        raise ValueError(
            f"the table of node {variables[0]!r} contains {values[tuple(where)]}, in {shown(where[1:])} at "
            f"{state!r}: every value must be a probability"
        )
    sums = values.sum(axis=0)
    off = np.abs(sums - 1)
    if off.max() <= EXACT:
        return values
    if off.max() > TOLERANCE:
        worst = [int(i) for i in np.unravel_index(off.argmax(), off.shape)]
        raise ValueError(
            f"the table of node {variables[0]!r} does not sum to 1: {shown(worst)} sums to {sums[tuple(worst)]:.9g}; "
            "normalise it, in pgmpy with cpd.normalize()"
        )
    return np.asarray(values / sums)


def as_table_network(network: Any) -> TableNetwork:
    """Return a network in any form as one of conditional tables.

    Parameters
    ----------
    network : DiscreteBayesianNetwork, classifier or TableNetwork
        A pgmpy network with a ``TabularCPD`` for every node, a fitted classifier that is a network, or a model that
        has conditional tables. Its distribution does not depend on which variable is the class, so the class of a
        pgmpy network is its last node.

    Raises
    ------
    NotFittedError, TypeError, ValueError
        If there is no such network, or a CPD is invalid (as in :func:`from_pgmpy`).
    """
    if hasattr(network, "discrete_form"):
        network = network.discrete_form().model_
    if hasattr(network, "to_network"):
        found: TableNetwork = network.to_network()
        return found
    tables, states = read_network(network)
    if not states:
        raise ValueError("the network has no nodes")
    class_name = next(reversed(states))
    return TableNetwork(
        vocabulary=Vocabulary(states, class_name),
        cut_points={},
        structure=Structure.given(class_name, {name: table.parents for name, table in tables.items()}),
        tables=tables,
    )


def check_node(network: nx.DiGraph[Any], name: Hashable, label: str) -> None:
    """Refuse a name that is not a node; messages begin with the label of the parameter that has it."""
    if name not in network:
        raise ValueError(f"{label}: {name!r} is not a node of the network; its nodes are {list(network.nodes)}")


def read_network(network: DiscreteBayesianNetwork) -> tuple[Tables, States]:
    """Return the tables and the native states of all nodes, in the network's order, after checking them."""
    if not isinstance(network, DiscreteBayesianNetwork):
        raise TypeError(f"network must be a pgmpy DiscreteBayesianNetwork, not a {type(network).__name__}")
    cpds = {name: _checked_cpd(network, name) for name in network.nodes}
    states: dict[Hashable, Any] = {name: cpd.state_names[name] for name, cpd in cpds.items()}
    tables: Tables = {}
    for name, cpd in cpds.items():
        for parent in cpd.variables[1:]:
            if list(cpd.state_names[parent]) != list(states[parent]):
                raise ValueError(
                    f"the CPD of node {name!r} gives its parent {parent!r} the states {cpd.state_names[parent]}, "
                    f"but the parent's own CPD {states[parent]}: they must be the same, in the same order"
                )
        values = np.array(cpd.values, dtype=np.float64)
        tables[name] = ConditionalTable(
            name, tuple(cpd.variables[1:]), _normalised(values, tuple(cpd.variables), cpd.state_names)
        )
    native = {
        name: tuple(state.item() if isinstance(state, np.generic) else state for state in of_name)
        for name, of_name in states.items()
    }
    return tables, native


def _checked_cpd(network: DiscreteBayesianNetwork, name: Hashable) -> TabularCPD:
    """Return a node's CPD if it is discrete and its variables and states are those of the graph."""
    cpd = network.get_cpds(name)
    if cpd is None:
        raise ValueError(f"node {name!r} has no CPD: add one with network.add_cpds()")
    if not isinstance(cpd, TabularCPD):
        raise TypeError(f"the CPD of node {name!r} is a {type(cpd).__name__}: only a TabularCPD is discrete")
    parents = list(network.predecessors(name))
    if set(cpd.variables[1:]) != set(parents):
        raise ValueError(
            f"the CPD of node {name!r} is given {cpd.variables[1:]}, but its parents in the graph are {parents}"
        )
    for variable, arity in zip(cpd.variables, cpd.values.shape, strict=True):
        of_variable = cpd.state_names.get(variable)
        if of_variable is None or len(of_variable) != arity:
            raise ValueError(
                f"the CPD of node {name!r} has {arity} states of {variable!r}, but names these: {of_variable}"
            )
    return cpd
