"""The networks that evidence panels compute with."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from anbexact._runtime.units import counted
from anbexact.classifiers import DiscreteClassifier
from anbexact.models.network.network import TableNetwork
from anbexact.show.report.embedded import described_terms, in_base64
from anbexact.show.report.facts import facts_of

if TYPE_CHECKING:
    from anbexact.models.network.density_network import DensityNetwork

MOST_BYTES = 60_000_000
"""Most bytes that the tables of a panel may take in a page of its own."""


class TooLargeForPageError(ValueError):
    """The tables of a panel take more of a page than is set aside for them."""


def check_size(size: int, most_bytes: int) -> None:
    """Refuse tables of more characters than a page has room for.

    Raises
    ------
    TooLargeForPageError
        If they are too large.
    """
    if size > most_bytes:
        raise TooLargeForPageError(
            f"its tables would take {size / 1e6:,.1f} MB, and {most_bytes / 1e6:,.1f} MB are set aside for them"
        )


def panel_network(classifier: DiscreteClassifier, most_bytes: int = MOST_BYTES) -> TableNetwork:
    """Return the network whose posteriors a panel shows.

    For measured columns, it has the cells on which all densities are constant, or those of the most probable levels
    if the former are too many. For a refit, it is the network with the refitted posterior, which also sums out
    missing cells in predictions; for a pool, the network that has its posterior.

    Raises
    ------
    TooLargeForPageError
        If its tables would take more than ``most_bytes`` of the page.
    MemoryError, ValueError
        If they do not fit into memory, or if a pool has no such network.
    TypeError
        If the classifier is not a network and has none with the same posterior.
    """
    try:
        model = classifier.model_.on_one_graph(3 * (most_bytes // 4) // 8)
    except TypeError as error:
        if hasattr(classifier, "draw_structures"):
            raise TypeError(
                f"{type(classifier).__name__} averages over more networks than a page can hold. Its predict_proba "
                "sums out what is not known"
            ) from error
        raise
    arity, families = model.vocabulary.arity, model.structure.parents.items()
    check_size(sum(in_base64(8 * prod(map(arity, (name, *above)))) for name, above in families), most_bytes)
    return model.to_network()


def panel_terms(classifier: DiscreteClassifier, network: TableNetwork, room: int) -> list[dict[str, Any]]:
    """Return the terms of the log odds with the distribution of their features; none if they exceed the room."""
    source = classifier.model_ if "refit" in facts_of(classifier) else network
    terms = described_terms(source.family_sum(), network)
    size = sum(len(text) for term in terms for text in term.values() if isinstance(text, str))
    return terms if size <= room else []


def remarks_on(classifier: DiscreteClassifier, network: TableNetwork) -> list[str]:
    """Return what a reader must know about the panel of a classifier, in sentences."""
    facts = facts_of(classifier)
    if "refit" in facts:
        return [
            "This model is a refit: it was fitted to predict the class from the features. The probabilities of the "
            "features come from a network that predicts the class in the same way, and is otherwise as close as "
            "possible to the network that was learned first."
        ]
    if "members" in facts:
        return [
            f"This model is a pool of {counted(len(facts['weights']), 'classifier')}. The panel computes with one "
            "network that has the class posterior of the pool. If all features are known, it shows the probabilities "
            "of the pool. If some are not known, every member of the pool sums them out by itself, so the "
            "probabilities of the pool can differ from those of the panel."
        ]
    model: Any = classifier.model_.learned
    if "measure" in facts and facts["measure"].partitions:
        return [_on_measured_columns(model, network)]
    return [model.grounds.note] if model is not None and model.grounds.note else []


def _on_measured_columns(model: DensityNetwork, network: TableNetwork) -> str:
    """Return a sentence that says what the states of measured columns are in the panel of a network of densities."""
    if any(len(network.cut_points[name]) < len(cuts) for name, cuts in model.cell_cut_points.items()):
        return (
            "Columns of this model are measured, not cut. The panel takes each at its most probable level, because "
            "the tables of finer cells would be too large, so its probabilities can differ from those of the "
            "classifier."
        )
    return (
        "Columns of this model are measured, not cut. The panel lists the cells in which all densities are constant, "
        "so its probabilities are those of the classifier for any value in a cell."
    )
