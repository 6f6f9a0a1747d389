"""Starting points of expectation maximisation: values for missing cells before there is a network."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from anbexact._runtime.arrays import Floats
from anbexact.models.network.posterior import Posterior
from anbexact.models.parameters.tables import ConditionalTable, Tables
from anbexact.tables.incomplete import IncompleteTable
from anbexact.tables.vocabulary import CodeArray

AVAILABLE, MODE, HOT_DECK = "available cases", "mode", "hot deck"
"""The names of :func:`available_tables`, :func:`most_probable` and :func:`dealt_in_order` as starts."""
STARTS = (AVAILABLE, MODE, HOT_DECK)
"""The starts, by name, in the order in which they are tried."""


def available_tables(table: IncompleteTable) -> Tables:
    """Return naive Bayes, in which every table is estimated from the rows in which its own cells are observed.

    The tables are posterior means with an equivalent sample size of 1; see
    :func:`~anbexact.models.parameters.tables.eap_tables`.
    """
    class_name, labels = table.vocabulary.class_name, table.class_codes()
    assert class_name is not None
    n_classes = table.vocabulary.arity(class_name)

    def of(name: Hashable, values: Floats, parents: tuple[Hashable, ...]) -> ConditionalTable:
        values = values + 1.0 / values.size
        return ConditionalTable(name, parents, values / values.sum(axis=0))

    known = labels >= 0
    tables = {}
    for name in table.vocabulary.features:
        codes, arity = table.column(name), table.vocabulary.arity(name)
        rows = known & (codes >= 0)
        cells = codes[rows].astype(np.int64) * n_classes + labels[rows]
        counts = np.bincount(cells, table.weights[rows], arity * n_classes).astype(np.float64)
        tables[name] = of(name, counts.reshape(arity, n_classes), (class_name,))
    sizes = np.bincount(labels[known], table.weights[known], n_classes).astype(np.float64)
    tables[class_name] = of(class_name, sizes, ())
    return tables


def most_probable(table: IncompleteTable, tables: Tables) -> CodeArray:
    """Return the rows completed by the most probable states under naive Bayes: the class first, then the others.

    If a feature is never observed in a class, its missing cells in the rows of this class get all its states in turn:
    if they all got the same state, it would count as observed.
    """
    vocabulary = table.vocabulary
    codes, labels = table.codes.copy(), _labels(table, tables)
    for j, name in enumerate(vocabulary.names):
        if name == vocabulary.class_name:
            codes[:, j] = labels
            continue
        missing = codes[:, j] < 0
        best = tables[name].values.argmax(axis=0)[labels].astype(np.int16)
        observed = np.bincount(labels[~missing], minlength=vocabulary.arity(vocabulary.class_name)) > 0
        for label in np.flatnonzero(~observed):
            rows = np.flatnonzero(labels == label)
            best[rows] = np.arange(len(rows)) % vocabulary.arity(name)
        codes[:, j] = np.where(missing, best, codes[:, j])
    return codes


def dealt_in_order(table: IncompleteTable, tables: Tables) -> CodeArray:
    """Return the rows completed by a hot deck: a missing cell gets the last value observed in its class.

    The rows are in lexicographic order, and the last row counts as previous to the first. Where no row of the class
    has a value in the column, the most probable state is used.
    """
    filled = most_probable(table, tables)
    labels = _labels(table, tables)
    for j, name in enumerate(table.vocabulary.names):
        if name == table.vocabulary.class_name:
            continue
        codes = table.codes[:, j]
        for label in np.unique(labels):
            rows = np.flatnonzero(labels == label)
            donors = np.flatnonzero(codes[rows] >= 0)
            if len(donors):
                before = np.searchsorted(donors, np.arange(len(rows)), side="right") - 1
                filled[rows, j] = codes[rows[donors[before]]]
    return filled


def _labels(table: IncompleteTable, tables: Tables) -> CodeArray:
    """Return the class of every row; a missing class is replaced by the most probable one."""
    labels = table.class_codes().copy()
    unknown = labels < 0
    if unknown.any():
        posterior = Posterior(tables, table.vocabulary.class_name, table.vocabulary.features)
        codes = np.ascontiguousarray(table.feature_codes()[:, unknown])
        labels[unknown] = posterior.log_joint(codes).argmax(axis=1)
    return labels
