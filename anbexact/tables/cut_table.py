"""Tables whose continuous columns are cut without a class."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from anbexact.tables.cuts import Cuts
from anbexact.tables.cuts.continuous import as_states, fit_cut_points
from anbexact.tables.frames.reading import read_columns
from anbexact.tables.table import DiscreteTable, check_weights, table_from_columns
from anbexact.tables.text_columns import as_meant


def cut_table(
    X: Any,
    discretizer: Any = "equal_frequency",
    *,
    sample_weight: Any = None,
    categories: Mapping[Hashable, Sequence[Any]] | None = None,
    handle_missing: str = "auto",
) -> tuple[DiscreteTable, dict[Hashable, Cuts]]:
    """Read a table without a class, with its continuous columns cut into intervals.

    Continuous columns are those of numbers (dates, durations, decimals) with more than 10 distinct values and without
    declared states. The alternative without intervals is :class:`~anbexact.UniversalMeasure`.

    Parameters
    ----------
    X, sample_weight, categories, handle_missing
        As in :meth:`~anbexact.DiscreteTable.from_frame`; lazy frames have to be collected first.
    discretizer : name of a rule or transformer, default "equal_frequency"
        A rule that does not look at a class: ``"equal_frequency"`` and ``"equal_width"`` (five intervals) or
        ``"median"`` (two), or a transformer such as scikit-learn's ``KBinsDiscretizer``.

    Returns
    -------
    table : DiscreteTable
        The table.
    cut_points : dict
        The cut points of the columns that were cut, for :func:`~anbexact.fit_network`.

    Raises
    ------
    TypeError, ValueError
        As in :meth:`~anbexact.DiscreteTable.from_frame`; if the rule needs a class; for infinite values.

    Examples
    --------
    >>> from anbexact import fit_network, learn_gbn
    >>> from anbexact.datasets import load_iris
    >>> from anbexact.discretize import cut_table
    >>> X, _ = load_iris()
    >>> table, cut_points = cut_table(X, "median")
    >>> table.vocabulary.states["petal_width"]
    ('(-inf, 1.3]', '(1.3, inf)')
    >>> fit_network(table, learn_gbn(table), cut_points=cut_points)
    <TableNetwork: 4 variables, 4 arcs>
    """
    columns = read_columns(X)
    weights = check_weights(sample_weight, len(columns[0]))
    columns = [column.exactly(weights > 0) for column in as_meant(columns, weights > 0, categories or {})]
    cut_points = fit_cut_points(columns, None, weights, discretizer, categories or {})
    own = as_states(columns, weights, cut_points)
    table = table_from_columns(own, None, weights, categories=categories, handle_missing=handle_missing)
    return table, cut_points
