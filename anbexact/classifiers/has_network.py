"""Methods of classifiers that have a network, for pgmpy and other programs."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from pgmpy.models import DiscreteBayesianNetwork

    from anbexact.classifiers.base import NetworkClassifier
    from anbexact.models.structure import Structure


class HasNetwork:
    """A fitted classifier for whose class posterior there is a network with conditional tables."""

    _network: DiscreteBayesianNetwork | None

    @property
    @abstractmethod
    def structure_(self) -> Structure:
        """The graph, with its score and certificate."""

    @abstractmethod
    def discrete_form(self) -> NetworkClassifier:
        """Return a classifier that has conditional tables, for other programs; its ``model_`` is the network."""

    @property
    def network_(self) -> DiscreteBayesianNetwork:
        """The network as a pgmpy ``DiscreteBayesianNetwork``, built and checked on first use."""
        check_is_fitted(self)
        if self._network is None:
            self._network = self.to_pgmpy()
        return self._network

    def to_pgmpy(self) -> DiscreteBayesianNetwork:
        """Return a new pgmpy network; see :func:`anbexact.adapters.to_pgmpy`."""
        from anbexact.adapters.pgmpy.networks import to_pgmpy

        return to_pgmpy(self)  # type: ignore[arg-type]  # subclasses are such classifiers

    def __dir__(self) -> list[str]:
        """List the attributes, with ``network_`` only once it has been built.

        scikit-learn's panel in a notebook, debuggers and ``inspect.getmembers`` read every attribute that is listed
        here, and so does scikit-learn's own ``__dir__``. Building the network of large tables can take a minute and
        gigabytes of memory.
        """
        listed = set(object.__dir__(self))
        if vars(self).get("_network") is None:
            listed.discard("network_")
        return sorted(name for name in listed if hasattr(self, name))
