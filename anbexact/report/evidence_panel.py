"""The evidence panel: a network whose posteriors a page computes from embedded tables."""

from __future__ import annotations

import base64
import json
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from anbexact._runtime.arrays import Floats
from anbexact.classifiers import DiscreteClassifier, MeasuredClassifier, NetworkClassifier, RefittedClassifier
from anbexact.drawing.markup import UNPRINTABLE, Markup, element, joined
from anbexact.explanations.decisions import Costs
from anbexact.networks.network import TableNetwork
from anbexact.parameters.counts import FamilyCounts
from anbexact.persistence.atomic import write_atomically
from anbexact.report.page.page import page

MOST_BYTES = 60_000_000
"""Most bytes that the tables of a panel may take in a page of its own."""


def panel(classifier: DiscreteClassifier, path: str | Path) -> None:
    """Write an evidence panel to an HTML file that needs no other file and no network.

    The page lists all variables with their probabilities. Choosing states changes all of them: they are posteriors,
    computed in the page exactly from the network's tables, whatever is observed. If the tables are means of Dirichlet
    posteriors, the page also draws tables from these and shows 95 % intervals of the probabilities of the classes, as
    ``predict_proba_interval`` of the classifier does.

    Parameters
    ----------
    classifier : NetworkClassifier or RefittedClassifier
        Fitted. Of measured columns, the panel has the network at their most probable levels.
    path : str or Path
        The file.

    Raises
    ------
    TypeError
        If the classifier has no network.
    ValueError
        If its tables are too large for a page.
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
    found = panel_or_reason(classifier, MOST_BYTES)
    if not isinstance(found, Markup):
        has_network = isinstance(classifier, NetworkClassifier | RefittedClassifier)
        raise (ValueError if has_network else TypeError)(found)
    title = f"{classifier.vocabulary_.class_name}: evidence and probabilities"
    text = page(title, [("panel", "Choose what is known", found)], with_panel=True, contents=False)
    write_atomically(Path(path), text, "utf-8")


def panel_or_reason(classifier: DiscreteClassifier, most_bytes: int, costs: Costs | None = None) -> Markup | str:
    """Return the panel of a classifier as part of a page, or a sentence that says why there is none.

    The panel starts with ``costs``, if they are given; else every wrong decision costs 1.
    """
    try:
        network = panel_network(classifier)
    except (MemoryError, ValueError) as error:
        return f"An evidence panel is not available: {error}."
    if network is None:
        return (
            f"An evidence panel is not available: {type(classifier).__name__} is not a single network with tables. "
            "The panel sums out what is not known within one network; this classifier combines several."
        )
    size = sum(_encoded(8 * table.values.size) for table in network.tables.values())
    if size > most_bytes:
        return (
            f"The evidence panel is left out here, because its tables would take {size / 1e6:,.1f} MB of the "
            f"{most_bytes / 1e6:,.1f} MB that are set aside for them. The command 'anbexact panel' writes a page of "
            f"its own for up to {MOST_BYTES / 1e6:,.0f} MB."
        )
    size += sum(_encoded(4 * table.values[0].size) for table in network.tables.values())
    drawable = isinstance(classifier, NetworkClassifier) and classifier.model_.grounds.smoothing is not None
    remarks = _remarks(classifier)
    if drawable and size > most_bytes:
        remarks.append("Intervals are left out here: what they need would take too much of the page.")
    markup = panel_markup(network, costs, intervals=drawable and size <= most_bytes)
    return joined([markup, *(element("p", text, class_="note") for text in remarks)])


def _encoded(size: int) -> int:
    """Return the number of characters of so many bytes in base64."""
    return 4 * ((size + 2) // 3)


def _remarks(classifier: DiscreteClassifier) -> list[str]:
    """Return what must be known to read the panel of a classifier."""
    if isinstance(classifier, RefittedClassifier):
        return [
            "This model is a refit: its data determine the probabilities of the class given the features. The "
            "probabilities of features are those of a network with this class posterior, as near as possible to the "
            "network that was learned first."
        ]
    if isinstance(classifier, MeasuredClassifier) and classifier.universal_score_ is not None:
        return [
            "Columns of this model are measured, not cut. The panel takes each at its most probable level, so its "
            "probabilities can differ from those of the classifier."
        ]
    note = classifier.model_.grounds.note if isinstance(classifier, NetworkClassifier) else ""
    return [note] if note else []


def panel_network(classifier: DiscreteClassifier) -> TableNetwork | None:
    """Return the network whose posteriors a panel shows; None if the classifier is not one.

    Of a refit, that with the refitted posterior, under which missing cells are summed out in prediction, too.

    Raises
    ------
    MemoryError, ValueError
        If the tables do not fit into memory.
    """
    if isinstance(classifier, NetworkClassifier):
        return classifier.model_.discrete()
    if isinstance(classifier, RefittedClassifier):
        model = classifier.logit_
        return (model if model.equivalent else model.close()).to_network()
    return None


def panel_markup(network: TableNetwork, costs: Costs | None = None, *, intervals: bool = True) -> Markup:
    """Return the panel of a network: its tables, and where the page puts what it computes."""
    description = described(network, intervals=intervals)
    if costs is not None:
        description["decisions"] = [_text(decision) for decision in costs.decisions]
        description["costs"] = costs.matrix.tolist()
    text = json.dumps(description, ensure_ascii=False, separators=(",", ":"))
    data = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return element(
        "div",
        element("p", "This panel needs JavaScript, which is switched off here.", class_="without-script"),
        element("script", Markup(data), type="application/json", class_="panel-data"),
        class_="evidence-panel",
    )


def described(network: TableNetwork, *, intervals: bool = True) -> dict[str, Any]:
    """Return variables and tables as the page reads them: numbers in little-endian bytes, base64.

    A table is its logarithms, in doubles. With ``intervals``, and if it is the mean of a Dirichlet posterior, it has
    ``totals``, in singles, too: the sum of the parameters n + α / (q r) over the states, for every joint state of the
    parents. A total times the mean is the parameter again, so that the page can draw tables.
    """
    names = network.vocabulary.names
    place = {name: k for k, name in enumerate(names)}
    left_out = set(network.vocabulary.left_out)
    variables = [
        {"name": _text(name), "states": [_text(state) for state in network.vocabulary.states[name]]} for name in names
    ]
    hidden = [place[name] for name in names if name in left_out]
    grounds = network.grounds
    counts = grounds.counts if intervals and grounds.smoothing else None
    tables = []
    for name in names:
        table = network.tables[name]
        with np.errstate(divide="ignore"):
            logs = np.log(table.values)
        own = {"scope": [place[variable] for variable in table.variables], "logs": _base64(logs, "<f8")}
        if counts is not None and grounds.smoothing:
            own["totals"] = _base64(_totals(counts[name], grounds.smoothing), "<f4")
        tables.append(own)
    return {
        "target": place[network.structure.class_name],
        "variables": variables,
        "hidden": hidden,
        "tables": tables,
    }


def _totals(counts: FamilyCounts, smoothing: float) -> Floats:
    """Return the weight of every joint state of the parents, their share of the equivalent sample size added."""
    joint_states = prod(counts.shape[1:])
    weights = np.bincount(counts.cells % joint_states, counts.weights, joint_states)
    return np.asarray(weights + smoothing / joint_states)


def _base64(values: Floats, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values).astype(kind).tobytes()).decode()


def _text(value: object) -> str:
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", str(value)) or "''"
