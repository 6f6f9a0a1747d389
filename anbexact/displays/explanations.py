"""Explanations of rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from anbexact.displays.fragments import folded, fragment, note, paragraph
from anbexact.drawing.markup import Markup, element, joined
from anbexact.drawing.tables import Cell, html_table, name_cell, signed_bar
from anbexact.networks.explanation_text import REMARK, cell_text, factor_text, odds_end, weight_text

if TYPE_CHECKING:
    import pandas as pd

    from anbexact.networks.explanation import Explanation, Explanations

MOST_TERMS = 15
"""Terms that have a line of their own."""
MOST_ROWS = 5
"""Explanations of a list that are shown."""


def explanation_html(explanation: Explanation) -> Markup:
    """Return an explanation: its classes and probability, and a bar for every term."""
    return fragment(explanation_table(explanation))


def explanations_html(explanations: Explanations) -> Markup:
    """Return the first explanations of a list, all but one folded."""
    parts: list[Markup] = []
    for place, (row, explanation) in enumerate(zip(explanations.rows, explanations, strict=True)):
        if place == MOST_ROWS:
            parts.append(note(f"… and {len(explanations) - MOST_ROWS:,} more rows; to_frame() has all of them."))
            break
        table = explanation_table(explanation)
        parts.append(table if len(explanations) == 1 else folded(f"row {row}: {headline(explanation)}", table))
    return fragment(*parts)


def headline(explanation: Explanation) -> str:
    """Return what is explained, as text."""
    return (
        f"{explanation.label} with probability {explanation.probability:.4f}; "
        f"log odds {explanation.log_odds:+.3f} nats against {explanation.against}"
    )


def explanation_table(explanation: Explanation) -> Markup:
    """Return the terms of an explanation as a table."""
    terms = explanation.terms[explanation.terms["nats"] != 0]
    shown = terms[:MOST_TERMS]
    ends = [abs(x) for x in shown[["nats", "low", "high"]].to_numpy().ravel() if math.isfinite(x)]
    most = min(max(ends, default=1.0), max(2 * shown["nats"].abs().max(), 1e-9) if len(shown) else 1.0)
    counted, credible = bool(shown["of"].notna().any()), bool(shown["low"].notna().any())
    headings: list[object] = ["term", "", "odds"]
    headings += ["95 % interval"] * credible
    headings += [f"rows of {explanation.label}", f"rows of {explanation.against}"] * counted
    rows = [_line(term, most, counted, credible) for _, term in shown.iterrows()]
    blank = [""] * (len(headings) - 3)
    rest = terms["nats"][MOST_TERMS:]
    if len(rest):
        total = float(rest.sum())
        rows.append(
            [
                f"{len(rest)} weaker term{'s' * (len(rest) > 1)}",
                Cell(signed_bar(total, most)),
                f"× {factor_text(total)}",
                *blank,
            ]
        )
    last = [
        f"odds of {explanation.label} against {explanation.against}",
        "",
        f"= {factor_text(explanation.log_odds)}",
    ]
    parts = [
        paragraph(element("strong", headline(explanation))),
        html_table(headings, rows, last=[*last, *blank]),
        note(" ".join(filter(None, [explanation.note, REMARK]))),
    ]
    return joined(parts)


def _line(term: pd.Series, most: float, counted: bool, credible: bool) -> list[object]:
    text = str(term["feature"])
    if term["state"] != "" or term["value"] is not None:
        text += f" = {cell_text(term['value'], term['state'])}"
    if term["given"]:
        text += f", given {term['given']}"
    cells: list[object] = [
        name_cell(text, 90),
        Cell(signed_bar(term["nats"], most, term["low"], term["high"])),
        f"× {factor_text(term['nats'])}",
    ]
    if credible:
        known = not math.isnan(term["low"])
        cells.append(f"{odds_end(term['low'])} to {odds_end(term['high'])}" if known else "")
    if counted:
        for count, of in (("rows", "of"), ("rows_against", "of_against")):
            cells.append("" if math.isnan(term[of]) else f"{weight_text(term[count])} of {weight_text(term[of])}")
    return cells
