"""Bayesian networks as lossless JSON files, in particular those without a class.

The format is that of fitted classifiers (:mod:`anbexact.files.classifiers`), without what only a classifier has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anbexact._runtime.json_checks import reading
from anbexact._runtime.json_values import decode, encode_as
from anbexact.files.describe import describe_cut_points, describe_quantities, describe_variables
from anbexact.files.document import NETWORK, read_document, write_document
from anbexact.files.restore import check_records, read_cut_points, read_vocabulary
from anbexact.models.network.density_network import DensityNetwork
from anbexact.models.network.network import Network
from anbexact.scores import Score


@dataclass(frozen=True)
class _OfScore:
    """Stands in for the estimator that a network asks for its score while it is read."""

    score: Any

    def score_of(self, ess: float) -> Any:  # the score has its own
        """Return the score."""
        return self.score


def save_network(network: Network, path: str | Path) -> None:
    """Write a Bayesian network to a JSON file that :func:`load_network` reads.

    The file has the variables with their states, the structure with its score and certificate (so that
    :func:`~anbexact.verify` can check it later), and the counts from which the tables follow. It is replaced only
    when the new one is complete.

    Parameters
    ----------
    network : Network
        The result of :func:`~anbexact.fit_network`, or ``model_`` of a fitted network classifier. The ``save`` method
        of a classifier writes the whole classifier.
    path : str or Path
        The file; its folder must exist.

    Raises
    ------
    TypeError
        If this is not a network, or a name, a state or the score is of a type that cannot be written; nothing is
        written.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from anbexact import DiscreteTable, fit_network, learn_gbn, load_network, save_network
    >>> from anbexact.datasets import load_monks
    >>> X, _ = load_monks(1)
    >>> table = DiscreteTable.from_frame(X)
    >>> path = tempfile.mkdtemp() + "/monks.json"
    >>> save_network(fit_network(table, learn_gbn(table)), path)
    >>> load_network(path)
    <TableNetwork: 6 variables, 0 arcs>
    """
    learned = getattr(network, "learned", None)
    if learned is None or learned is not network:
        raise TypeError(
            f"save_network writes networks, such as fit_network returns, not {type(network).__name__} objects"
            + "; its own save method writes a classifier" * hasattr(network, "save")
        )
    vocabulary, estimation = network.vocabulary, getattr(network, "estimation", None)
    score = {} if estimation is None else {"score": encode_as("the score", estimation.score)}
    contents = {
        **describe_variables(vocabulary),
        "cut_points": describe_cut_points(vocabulary, network.cut_points),
        **describe_quantities(vocabulary),
        **score,
        **network.to_dict(),
    }
    write_document(NETWORK, contents, path)


def load_network(path: str | Path) -> Network:
    """Read a network that :func:`save_network` wrote.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    Network
        With the same structure, certificate and tables, bit for bit.

    Raises
    ------
    ValueError
        If the file was not written by :func:`save_network`, is damaged, or was written by a newer version of the
        package; the message says which, and what to do.
    OSError
        If the file cannot be read.
    """
    return read_document(NETWORK, path, _restore)


def _restore(document: Mapping[str, Any]) -> Network:
    """Return the network that a document describes."""
    vocabulary = read_vocabulary(document, needs_class=False)
    cut_points = read_cut_points(document, vocabulary)
    with reading("records"):
        check_records(vocabulary, cut_points)
    score = None
    if "counts" in document and "measure" not in document:
        with reading("score"):
            score = decode(document["score"])
            if not isinstance(score, Score) and not getattr(score, "conditional", False):
                raise ValueError("a score was expected")
    with reading():  # the network names its fields
        return DensityNetwork.from_dict(document, vocabulary, cut_points, _OfScore(score))
