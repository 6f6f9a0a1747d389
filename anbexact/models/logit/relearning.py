"""Tables learned again from a part of the rows, for cross-validation within a refit."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from anbexact.models.logit.refit import blanket_counts, same_counts
from anbexact.models.network.network import TableNetwork
from anbexact.models.parameters.tables import Tables, eap_tables
from anbexact.tables.table import DiscreteTable


def relearner(network: TableNetwork, table: DiscreteTable) -> Callable[[DiscreteTable], Tables] | None:
    """Return a function that learns the network's tables again from a table of rows.

    None if the network's tables were not learned from the rows of this table. Where the rule of the network would
    give zeros, which have no logarithm, the tables are posterior means.
    """
    structure, estimation = network.structure, network.estimation
    if (
        network.counts is None
        or estimation is None
        or not same_counts(blanket_counts(table, structure), network.counts)
    ):
        return None

    def relearn(rows: DiscreteTable) -> Tables:
        counts = blanket_counts(rows, structure)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            tables = estimation.tables(counts, structure.class_name)
        positive = all((of_name.values > 0).all() for of_name in tables.values())
        return tables if positive else eap_tables(counts, estimation.smoothing)

    return relearn
