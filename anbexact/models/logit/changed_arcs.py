"""Arcs that are added or removed by hand, and what is learned again with or without them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from math import prod

from anbexact.models.logit.closure import Arc, ancestors
from anbexact.models.logit.fit import Effort
from anbexact.models.logit.refit import Refit, blanket_counts, refit, same_counts
from anbexact.models.network.network import TableNetwork
from anbexact.models.parameters.counts import check_memory, count_families
from anbexact.models.parameters.tables import ConditionalTable
from anbexact.models.smooth.pairs import joined_network
from anbexact.models.smooth.refit import SmoothRefit, with_pair
from anbexact.models.structure import Certificate, Structure
from anbexact.tables.table import DiscreteTable

BY_HAND = "by hand"
"""Why the arc is in the network, for its certificate."""


def refuse_arc(arc: Arc, structure: Structure, learned: Structure) -> None:
    """Refuse an arc that a model cannot have in addition to those of its structure.

    Parameters
    ----------
    arc : (parent, child)
    structure : Structure
        The structure of the model, after its edits.
    learned : Structure
        The structure of its network, before them.

    Raises
    ------
    ValueError
    """
    parent, child = arc
    c, known = structure.class_name, list(structure.features)
    for name in arc:
        if name not in known:
            raise ValueError(f"an arc is added between two features, which {name!r} is not; the features are {known}")
    if parent == child:
        raise ValueError(f"an arc joins two features, not {child!r} with itself")
    if c not in structure.parents[child]:
        children = list(structure.children(c))
        raise ValueError(f"{child!r} is not a child of the class; its children among the features are {children}")
    for one, other in (arc, (child, parent)):
        if one in structure.parents[other]:
            raise ValueError(f"there is an arc from {one!r} to {other!r} already")
        if one in learned.parents[other]:
            raise ValueError(
                f"the arc from {one!r} to {other!r} was removed by hand: take the model before that edit instead"
            )
    if child in ancestors(learned, parent):
        other_way = f"; the arc from {child!r} to {parent!r} would not" if c in structure.parents[parent] else ""
        raise ValueError(f"an arc from {parent!r} to {child!r} would close a directed cycle{other_way}")


def network_with_arc(network: TableNetwork, arc: Arc, table: DiscreteTable) -> TableNetwork:
    """Return a network with another arc, in which the table of the child follows from counts by the same rule.

    Parameters
    ----------
    network : TableNetwork
    arc : (parent, child)
    table : DiscreteTable
        The rows from which the network was learned.

    Raises
    ------
    ValueError
        If the tables do not follow from counts, or not from these rows.
    """
    parent, child = arc
    structure, estimation = network.structure, network.estimation
    if network.counts is None or estimation is None:
        raise ValueError(
            f"the tables of this network do not follow from counts, so that the table of {child!r} cannot be learned "
            "with another parent: refit the network, or learn it with the arc, by required_edges="
        )
    if not same_counts(blanket_counts(table, structure), network.counts):
        raise ValueError(
            "X and y are not the rows from which the network was learned, or not all of them: their counts differ"
        )
    parents = {**structure.parents, child: (*structure.parents[child], parent)}
    certificate = Certificate.unknown(f"1 arc added, {BY_HAND}")
    joined = Structure(structure.class_name, parents, float("nan"), certificate)
    counts = {**network.counts, child: count_families(table, _family(joined, child))[child]}
    return TableNetwork.from_counts(network.vocabulary, joined, counts, network.cut_points, estimation)


def refit_with_arc(refitted: Refit, network: TableNetwork, arc: Arc, effort: Effort) -> tuple[TableNetwork, Refit]:
    """Return a network with another arc, and its refit to the same rows, as strongly regularised as before.

    Raises
    ------
    ValueError
        If the rows do not have the parent, or the table of the child does not fit into memory.
    """
    parent, child = arc
    if parent not in refitted.design.features:
        raise ValueError(
            f"the class does not depend on {parent!r}, so that the rows of the refit do not have it: learn the "
            f"network with the arc from {parent!r} to {child!r} instead, by required_edges="
        )
    check_memory(prod(map(network.vocabulary.arity, (child, parent, *network.structure.parents[child]))))
    joined = joined_network(network, (arc,), BY_HAND)
    if isinstance(refitted, SmoothRefit):
        return joined, with_pair(refitted, joined, arc, effort._replace(max_iter=100))
    table = refitted.design.table(refitted.design.weights, network.vocabulary)
    found = refit(table, joined.structure, joined.tables, l2=refitted.l2, effort=effort)
    return joined, replace(found, strength=refitted.strength)


def network_without(network: TableNetwork, structure: Structure) -> TableNetwork:
    """Return a network without the arcs between features that a structure lacks; the network itself if it has all.

    Tables without a parent follow from the counts by the same rule. If they do not follow from counts, they are means
    over the states of the parent.
    """
    parents = {
        name: tuple(of for of in own if of in structure.parents[name])
        for name, own in network.structure.parents.items()
    }
    fewer = [name for name, own in parents.items() if len(own) < len(network.structure.parents[name])]
    if not fewer:
        return network
    left = Structure(structure.class_name, parents, float("nan"), Certificate.unknown(f"arcs removed, {BY_HAND}"))
    if network.counts is not None and network.estimation is not None:
        table = {name: network.counts[name].table(network.vocabulary) for name in fewer}
        counts = {
            **network.counts,
            **{name: count_families(table[name], _family(left, name))[name] for name in fewer},
        }
        return TableNetwork.from_counts(network.vocabulary, left, counts, network.cut_points, network.estimation)
    tables = dict(network.tables)
    for name in fewer:
        gone = tuple(axis for axis, of in enumerate(tables[name].variables) if axis and of not in parents[name])
        kept = tuple(of for of in tables[name].parents if of in parents[name])
        tables[name] = ConditionalTable(name, kept, tables[name].values.mean(axis=gone))
    return replace(network, structure=left, tables=tables, counts=None, estimation=None)


def _family(structure: Structure, child: Hashable) -> Structure:
    """Return the structure of a variable and its parents alone, which are roots."""
    names = (*structure.parents[child], child)
    parents = {name: structure.parents[name] if name == child else () for name in names}
    return Structure.given(structure.class_name, parents)
