"""What later rows say about a network."""

from __future__ import annotations

from anbexact.models.network.drift import Drift
from anbexact.show.notebook.by_type import html
from anbexact.show.notebook.fragments import folded, fragment, note, paragraph
from anbexact.show.svg.markup import Markup, element
from anbexact.show.svg.tables import Cell, html_table, name_cell, number, signed_bar

MOST_ROWS = 20
"""Most rows of each table: variables, arcs and unseen values."""


@html.register
def drift_html(drift: Drift) -> Markup:
    """Return what later rows say about a network: which variables changed, what arcs are worth, and unseen values."""
    n_changed, means = len(drift.changed), drift.variables[["earlier", "later"]].sum()
    verdict = f"{n_changed} of {len(drift.variables)} variables changed"
    badge = element("span", verdict, class_=f"badge {'no' if n_changed else 'yes'}")
    text = (
        f" {drift.weight:,.6g} later rows against {drift.earlier_weight:,.6g} earlier ones; mean log probability of "
        f"a row: {number(float(means['earlier']))} nats earlier, {number(float(means['later']))} nats later."
    )
    parts = [paragraph(badge, text), *_variables(drift)]
    if len(drift.arcs):
        parts.append(folded("What the arcs are worth", _arcs(drift)))
    if len(drift.unseen):
        parts.append(folded("Values that are not states", _unseen(drift)))
    return fragment(*parts)


def _variables(drift: Drift) -> list[Markup]:
    """Return the variables, the strongest evidence of a change first."""
    shown = drift.variables[:MOST_ROWS]
    most = max((abs(value) for value in shown["log_bayes_factor"].tolist()), default=1.0)
    rows = [
        [
            name_cell(name),
            number(float(of["log_bayes_factor"]), 1),
            Cell(signed_bar(-float(of["log_bayes_factor"]), most)),
            *(number(float(of[key])) for key in ("earlier", "later", "new_configurations")),
        ]
        for name, of in zip(shown.index, shown.to_dict(orient="records"), strict=True)
    ]
    headings = ["variable", "ln BF", "", "earlier rows", "later rows", "new configurations"]
    explained = (
        "ln BF: log Bayes factor, below 0 if the later rows are evidence for a table of their own (bar to the "
        "right). Earlier and later rows: mean log probability of the variable given its parents, nats per row. New "
        "configurations: share of the later rows whose parents are in a joint state without earlier rows."
    )
    return [html_table(headings, rows), note(explained)]


def _arcs(drift: Drift) -> Markup:
    """Return the arcs, the greatest loss first."""
    shown = drift.arcs[:MOST_ROWS]
    rows = [
        [name_cell(parent), name_cell(child), *(number(float(of[key]), 1) for key in ("before", "after", "alone"))]
        for (parent, child), of in zip(shown.index, shown.to_dict(orient="records"), strict=True)
    ]
    headings = ["from", "to", "earlier rows", "all rows", "later rows alone"]
    return html_table(headings, rows, "What an arc adds to the score (ln BDeu; nats, total)")


def _unseen(drift: Drift) -> Markup:
    """Return values that the network does not know."""
    rows = [
        [name_cell(of["column"]), name_cell(of["value"]), number(float(of["weight"]), 0)]
        for of in drift.unseen[:MOST_ROWS].to_dict(orient="records")
    ]
    return html_table(["column", "value", "rows"], rows)
