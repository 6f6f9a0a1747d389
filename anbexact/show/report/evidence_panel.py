"""The evidence panel: a network whose posteriors a page computes from embedded tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

from anbexact.classifiers import DiscreteClassifier
from anbexact.explanations.decisions import Costs, costs_given
from anbexact.files.atomic import write_atomically
from anbexact.models.network.network import TableNetwork
from anbexact.show.report.embedded import (
    average_bytes,
    data_script,
    described,
    described_average,
    in_base64,
    table_bytes,
    text_of,
)
from anbexact.show.report.page.page import PANEL_SCRIPTS, page
from anbexact.show.report.panel_networks import (
    MOST_BYTES,
    TooLargeForPageError,
    check_size,
    panel_network,
    panel_terms,
    remarks_on,
)
from anbexact.show.svg.markup import Markup, element, joined


def panel(
    classifier: DiscreteClassifier,
    path: str | Path,
    *,
    costs: Any = None,
    utilities: Any = None,
    reject: float | None = None,
) -> None:
    """Write an evidence panel to an HTML file that needs no other file and no network.

    The page lists all variables with their probabilities. Choosing states changes all of them: they are posteriors,
    computed in the page exactly from the model's tables, whatever is observed. If the tables are means of Dirichlet
    posteriors, the page also draws tables from these and shows 95 % intervals of the probabilities of the classes, as
    ``predict_proba_interval`` of the classifier does.

    Parameters
    ----------
    classifier : DiscreteClassifier
        Fitted. For measured columns, the panel has the cells on which all densities are constant; for a pool, the one
        network that has its posterior.
    path : str or Path
        The file.
    costs, utilities, reject : optional
        What the panel starts from, as in :meth:`~anbexact.NetworkClassifier.decide`; by default every wrong decision
        costs 1.

    Raises
    ------
    TypeError
        If the classifier averages over more networks than a page can hold, or if it or a member of a pool is not a
        network.
    ValueError
        If its tables are too large for a page, or for invalid costs.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from anbexact import ANBClassifier
    >>> from anbexact.datasets import load_iris
    >>> from anbexact.report import panel
    >>> panel(ANBClassifier().fit(*load_iris()), tempfile.mkdtemp() + "/iris.html")
    """
    write_panel(classifier, path, costs_given(classifier.classes_.tolist(), costs, utilities, reject))


def write_panel(classifier: DiscreteClassifier, path: str | Path, costs: Costs | None = None) -> None:
    """Write a panel that starts with costs, as they were read; see :func:`panel`."""
    try:
        found = _panel(classifier, MOST_BYTES, costs)
    except (MemoryError, TypeError, ValueError) as error:
        raise (TypeError if isinstance(error, TypeError) else ValueError)(_reason(error)) from error
    title = f"{classifier.vocabulary_.class_name}: evidence and probabilities"
    text = page(title, [("panel", "Choose what is known", found)], scripts=PANEL_SCRIPTS, contents=False)
    write_atomically(Path(path), text, "utf-8")


def panel_or_reason(classifier: DiscreteClassifier, most_bytes: int, costs: Costs | None = None) -> Markup | str:
    """Return the panel of a classifier as part of a page, or a sentence that says why there is none.

    The panel starts with ``costs``, if they are given; else every wrong decision costs 1.
    """
    try:
        return _panel(classifier, most_bytes, costs)
    except (MemoryError, TypeError, ValueError) as error:
        if not isinstance(error, TooLargeForPageError) or most_bytes >= MOST_BYTES:
            return _reason(error)
        return (
            f"The evidence panel is left out here, because {error}. The command 'anbexact panel' writes a page of "
            f"its own for up to {MOST_BYTES / 1e6:,.0f} MB."
        )


def _reason(error: Exception) -> str:
    return f"An evidence panel is not available: {error}."


def _panel(classifier: DiscreteClassifier, most_bytes: int, costs: Costs | None) -> Markup:
    """Return the panel of a classifier; raise an error that says why there is none."""
    if (estimators := classifier.model_.estimators) is not None:
        check_size(average_bytes(estimators), most_bytes)
        return _markup(described_average(estimators), costs)
    return _of_network(classifier, panel_network(classifier, most_bytes), most_bytes, costs)


def _of_network(
    classifier: DiscreteClassifier, network: TableNetwork, most_bytes: int, costs: Costs | None
) -> Markup:
    """Return the panel of a network, with as much of what explains it as the page has room for."""
    room = most_bytes - table_bytes(network)
    remarks = remarks_on(classifier, network)
    totals = sum(in_base64(4 * prod(table.shape[1:])) for table in network.tables.values())
    drawable = classifier.model_.has_table_posterior
    intervals = drawable and totals <= room
    if drawable and not intervals:
        remarks.append("Intervals are left out here, because what they need would take too much of the page.")
    room -= totals if intervals else 0
    markup = panel_markup(network, costs, intervals=intervals, terms=panel_terms(classifier, network, room))
    return joined([markup, *(element("p", text, class_="note") for text in remarks)])


def panel_markup(
    network: TableNetwork,
    costs: Costs | None = None,
    *,
    intervals: bool = True,
    terms: Sequence[Mapping[str, Any]] = (),
) -> Markup:
    """Return the panel of a network: its tables, and where the page puts what it computes."""
    description = described(network, intervals=intervals)
    if terms:
        description["terms"] = list(terms)
    return _markup(description, costs)


def _markup(description: dict[str, Any], costs: Costs | None) -> Markup:
    """Return a panel as the page reads it."""
    if costs is not None:
        description["decisions"] = [text_of(decision) for decision in costs.decisions]
        description["costs"] = costs.matrix.tolist()
    return element(
        "div",
        element("p", "This panel needs JavaScript, which is switched off here.", class_="without-script"),
        data_script(description, "panel-data"),
        class_="evidence-panel",
    )
