"""The strength of each arc of a network, from the counts from which its tables are estimated."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from anbexact.models.network.network import Network, TableNetwork
from anbexact.scores import LL, Score
from anbexact.tables.table import DiscreteTable


class ArcStrength(NamedTuple):
    """The strength of an arc.

    Attributes
    ----------
    parent, child : Hashable
        Its ends.
    information : float
        Conditional mutual information of the ends given the other parents of the child, in nats per row; NaN if the
        tables were given.
    gain : float
        Score of the child's family with the arc minus its score without the arc, total in nats; NaN if unknown.
    """

    parent: Hashable
    child: Hashable
    information: float
    gain: float


def arc_strengths(network: Network) -> list[ArcStrength]:
    """Return the strength of every arc in the rows from which the network was learned, in the order of its edges.

    ``information = (LL(child | parents) - LL(child | parents without this one)) / N``, with LL the maximised log
    likelihood of the child given its parents and N the weight of the rows. Columns modelled by densities are
    represented by the cells of their most probable levels.

    Parameters
    ----------
    network : Network
        The network.

    Returns
    -------
    list of ArcStrength
        One for each arc. Large information between variables of many states is partly noise; ``gain`` is not, because
        the score penalises states.
    """
    counts = network.discrete_counts()
    score = network.estimation.score if isinstance(network, TableNetwork) and network.estimation else None
    found = []
    for child, parents in network.structure.parents.items():
        if counts is None:
            found += [ArcStrength(parent, child, np.nan, np.nan) for parent in parents]
            continue
        table = counts[child].table(network.discrete_vocabulary)
        weight = table.weight_sum
        for parent in parents:
            others = [other for other in parents if other != parent]
            lost = LL().local_score(table, child, list(parents)) - LL().local_score(table, child, others)
            information = max(lost, 0.0) / weight if weight else np.nan
            found.append(ArcStrength(parent, child, information, _gain(score, table, child, parents, others)))
    return found


def _gain(
    score: object,
    table: DiscreteTable,
    child: Hashable,
    parents: Sequence[Hashable],
    others: Sequence[Hashable],
) -> float:
    """Return the gain in score from an arc; NaN if the score does not apply to both families."""
    if not isinstance(score, Score):  # no score, or a score of whole structures
        return np.nan
    try:
        gain = score.local_score(table, child, list(parents)) - score.local_score(table, child, list(others))
    except (TypeError, ValueError):  # a score of the class posterior, or one that requires the class
        return np.nan
    return float(gain)


def strengths_by_arc(network: Network) -> dict[tuple[Hashable, Hashable], float]:
    """Return the conditional mutual information of every (parent, child) arc, in nats per row."""
    return {(arc.parent, arc.child): arc.information for arc in arc_strengths(network)}
