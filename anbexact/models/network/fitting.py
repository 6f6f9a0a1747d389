"""Networks from a table and a structure, without a classifier."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from math import isclose
from numbers import Real
from typing import Any

from anbexact.models.network.density_counts import count_at_levels, family_levels
from anbexact.models.network.density_network import DensityNetwork
from anbexact.models.network.estimation import Estimation
from anbexact.models.network.network import Network, TableNetwork
from anbexact.models.parameters.counts import count_families
from anbexact.models.structure import Structure
from anbexact.scores import BDeu, Score
from anbexact.scores.capabilities import is_mixed, scores_structures
from anbexact.scores.universal import as_universal
from anbexact.tables.cuts import Cuts, interval_names
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import Vocabulary

SAME_SCORE = 1e-9
"""Relative difference up to which a score is the one that the search found, computed in another order."""


def fit_network(
    table: DiscreteTable,
    structure: Structure,
    score: Score | None = None,
    *,
    ess: float = 1.0,
    cut_points: Mapping[Hashable, Cuts] | None = None,
) -> Network:
    """Return the Bayesian network of a structure, with or without a class, estimated from a table.

    The tables are posterior means (EAP), ``θ_ijk = (N_ijk + α / (q_i r_i)) / (N_ij + α / q_i)``, with the
    weighted counts N, ``r_i`` states of variable i, ``q_i`` joint states of its parents, and α = ``ess``. With the
    score of a :class:`~anbexact.UniversalMeasure`, continuous columns have densities by this measure instead.

    Parameters
    ----------
    table : DiscreteTable
        The rows. They need not be those from which the structure was learned.
    structure : Structure
        The result of a search, such as :func:`~anbexact.learn_gbn`, or ``Structure.given(None, parents)``.
    score : Score, default BDeu()
        The score of the search. If the structure does not have this score in this table, the network states the
        score that it has, and that nothing is proved about it.
    ess : float, default 1.0
        Equivalent sample size of the tables; densities do not use it.
    cut_points : mapping of column name to cut points, optional
        The cut points of the columns of the table that are intervals, as
        :func:`~anbexact.discretize.cut_table` returns them. The network keeps them, so that numbers can be read
        later. With a universal measure, they are those of its partitions.

    Returns
    -------
    Network
        :func:`anbexact.adapters.to_pgmpy` makes a pgmpy network of it, and :func:`~anbexact.save_network` writes it
        to a file. ``tables`` are its conditional tables.

    Raises
    ------
    ValueError
        If table and structure have different variables or classes, ``ess`` is not a number above 0, cut points are
        not those of the table, or the tables do not fit into memory.

    References
    ----------
    Heckerman, Geiger and Chickering, Machine Learning 20 (1995), section 3; densities: Suzuki, Entropy 17 (2015).

    Examples
    --------
    >>> from anbexact import DiscreteTable, fit_network, learn_gbn
    >>> from anbexact.datasets import load_tic_tac_toe
    >>> X, _ = load_tic_tac_toe()
    >>> table = DiscreteTable.from_frame(X)
    >>> network = fit_network(table, learn_gbn(table))
    >>> network
    <TableNetwork: 9 variables, 10 arcs>
    >>> network.structure.certificate.optimal
    True
    """
    _check(table, structure, ess)
    chosen: Any = BDeu() if score is None else score
    structure = _with_score(table, structure, chosen)
    vocabulary, cut_points = table.vocabulary, dict(cut_points or {})
    if is_mixed(chosen):
        measure = as_universal(chosen)
        counts = count_at_levels(table, structure, measure)
        levels = family_levels(table, structure, measure)
        network = DensityNetwork.from_counts(vocabulary, structure, counts, levels, measure)
        if vocabulary.class_name is None:
            return network
        return replace(network, level_cost=network.cost_of_levels(table))
    _check_cut_points(cut_points, vocabulary)
    counts = count_families(table, structure)
    estimation = Estimation(chosen, float(getattr(chosen, "ess", ess)), float(ess))
    return TableNetwork.from_counts(vocabulary, structure, counts, cut_points, estimation)


def _check(table: DiscreteTable, structure: Structure, ess: object) -> None:
    """Refuse a structure of other variables, and an invalid equivalent sample size."""
    names = table.vocabulary.names
    if set(structure.parents) != set(names):
        raise ValueError(
            f"the structure has the variables {list(structure.parents)}, but the table has {list(names)}"
        )
    if structure.class_name != table.vocabulary.class_name:
        raise ValueError(
            f"the class of the structure is {structure.class_name!r}, but that of the table is "
            f"{table.vocabulary.class_name!r}: read the table with the same class_name=, or with none"
        )
    if isinstance(ess, bool) or not isinstance(ess, Real) or not 0 < float(ess) < float("inf"):
        raise ValueError(f"ess must be a number above 0, not {ess!r}")


def _check_cut_points(cut_points: Mapping[Hashable, Cuts], vocabulary: Vocabulary) -> None:
    """Refuse cut points of which the states of a variable are not the intervals."""
    for name, cuts in cut_points.items():
        known = name in vocabulary.states
        intervals = interval_names(cuts, vocabulary.quantities.get(name))
        if not known or vocabulary.observed_states(name) != intervals:
            what = f"has the states {vocabulary.states[name]!r}" if known else "is not a variable of the table"
            raise ValueError(f"cut_points: {name!r} {what}, but its cut points make {intervals!r}")


def _with_score(table: DiscreteTable, structure: Structure, score: Any) -> Structure:
    """Return the structure if it has this score in the table, otherwise one that states the score that it has."""
    parents: Mapping[Any, Any] = structure.parents
    if scores_structures(score):
        total = score.structure_score(table, parents)
    else:
        table.foresee([child, *of_child] for child, of_child in parents.items())
        total = float(sum(score.local_score(table, child, of_child) for child, of_child in parents.items()))
    if isclose(total, structure.score, rel_tol=SAME_SCORE, abs_tol=SAME_SCORE):
        return structure
    return Structure.given(structure.class_name, parents, total)
