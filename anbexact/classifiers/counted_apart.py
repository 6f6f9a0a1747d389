"""Counts of the same network that were made apart, such as in several hospitals, put together."""

from __future__ import annotations

from copy import copy
from typing import Self

from sklearn.utils.validation import check_is_fitted

from anbexact.classifiers.table_classifier import TableClassifier
from anbexact.networks.network import Network, TableNetwork

NOT_MERGED = "densities of a universal measure depend on the number of rows and cannot be counted apart"


class CountedApart(TableClassifier):
    """A network classifier whose counts can be made apart and added up."""

    model_: Network

    def without_rows(self) -> Self:
        """Return a copy with the same states, cut points, arcs and sample sizes that has counted no row yet.

        Its ``partial_fit`` counts rows somewhere else; see :meth:`merge`.

        Raises
        ------
        ValueError
            If the network has no counts.
        """
        check_is_fitted(self)
        if not isinstance(self.model_, TableNetwork):
            raise ValueError(NOT_MERGED)
        empty = copy(self)
        return empty._keep_network(self.model_.without_rows())

    def merge(self, *others: CountedApart) -> Self:
        """Add what other classifiers of the same structure counted from other rows; the rows need not be pooled.

        For example, one hospital learns a classifier and sends its :meth:`without_rows` to the others, each of which
        counts its own rows with ``partial_fit`` and sends it back. Counts add up: the tables are those of all rows.

        Parameters
        ----------
        *others : NetworkClassifier
            Fitted, with the same variables, states, cut points, arcs and equivalent sample sizes. Rows that two of
            them have counted count twice.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If they differ in one of these, or have no counts; the message says in which. Nothing is added then.
        """
        check_is_fitted(self)
        network = self.model_
        for other in others:
            check_is_fitted(other)
            if not isinstance(network, TableNetwork) or not isinstance(other.model_, TableNetwork):
                raise ValueError(NOT_MERGED)
            network = network.merge(other.model_)
        return self._keep_network(network)

    def _keep_network(self, network: Network) -> Self:
        """Store a network, and keep which columns were left out."""
        dropped = self.dropped_
        self.set_model(network)
        self.dropped_ = dropped
        return self
