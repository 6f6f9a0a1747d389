"""Explanations of rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from anbexact.explanations.local import LocalExplanations
from anbexact.explanations.reasons import Reasons
from anbexact.models.network.explanation import Explanation, Explanations
from anbexact.models.network.explanation_text import REMARK, cell_text, odds_end, weight_text
from anbexact.show.notebook.by_type import html
from anbexact.show.notebook.fragments import folded, fragment, note, paragraph
from anbexact.show.svg.markup import Markup, element, joined, shortened_apart
from anbexact.show.svg.tables import Cell, html_table, name_cell, number, odds_text, signed_bar

if TYPE_CHECKING:
    import pandas as pd


MOST_TERMS = 15
"""Most terms that have a line of their own; the weaker ones share a line."""
MOST_ROWS = 5
"""Most explanations of a list that are shown."""
MOST_REASONS = 20
"""Most sufficient reasons that are shown."""
MOST_IN_HEADING = 24
"""Most characters of a class in the heading of a column."""
MOST_NATS = 700.0
"""Log odds from which on the odds are infinite for a reader."""


@html.register
def explanation_html(explanation: Explanation) -> Markup:
    """Return an explanation: its classes and probability, and a bar for every term."""
    return fragment(explanation_table(explanation))


@html.register
def explanations_html(explanations: Explanations) -> Markup:
    """Return the first explanations of a list; if there are several, all are folded."""
    parts: list[Markup] = []
    for place, (row, explanation) in enumerate(zip(explanations.rows, explanations, strict=True)):
        if place == MOST_ROWS:
            parts.append(note(f"… and {len(explanations) - MOST_ROWS:,} more rows; to_frame() has all of them."))
            break
        table = explanation_table(explanation)
        parts.append(table if len(explanations) == 1 else folded(f"row {row}: {headline(explanation)}", table))
    return fragment(*parts)


@html.register
def local_html(local: LocalExplanations) -> Markup:
    """Return the Shapley values of the first rows; if there are several, all are folded."""
    n_rows = len(local.values)
    parts: list[Markup] = []
    for t in range(min(n_rows, MOST_ROWS)):
        table = shapley_table(local, t)
        parts.append(
            table if n_rows == 1 else folded(f"row {local.rows.index[t]}: {shapley_headline(local, t)}", table)
        )
    if n_rows > MOST_ROWS:
        parts.append(note(f"… and {n_rows - MOST_ROWS:,} more rows; frame has all of them."))
    return fragment(*parts)


def shapley_headline(local: LocalExplanations, t: int) -> str:
    """Return which log odds of the row at position t are explained, as text."""
    label, against = local.classes[local.labels[t]], local.classes[local.against[t]]
    return f"{label} against {against}, log odds {float(local.log_odds[t]):+.3f} nats"


def shapley_table(local: LocalExplanations, t: int) -> Markup:
    """Return the Shapley values of the row at position t as a table, the largest first."""
    names = local.vocabulary.features
    shown = [int(j) for j in np.argsort(-np.abs(local.values[t]), kind="stable") if local.values[t, j] != 0]
    terms = [("before any feature is known", float(local.base[t]))]
    for j in shown[:MOST_TERMS]:
        cell = cell_text(local.rows.values[names[j]][t], local.states(j)[t])
        terms.append((f"{names[j]} = {cell}", float(local.values[t, j])))
    if rest := shown[MOST_TERMS:]:
        weaker = f"{len(rest)} weaker feature{'s together' * (len(rest) > 1)}"
        terms.append((weaker, float(local.values[t, rest].sum())))
    if local.hidden[t]:
        terms.append(("because cells are missing", float(local.hidden[t])))
    most = max((abs(nats) for _, nats in terms), default=1.0) or 1.0
    rows: list[list[object]] = [
        [name_cell(text, 90), number(nats), Cell(signed_bar(nats, most)), f"× {_odds(nats)}"] for text, nats in terms
    ]
    last: list[object] = ["sum", number(float(local.log_odds[t])), "", f"= {_odds(float(local.log_odds[t]))}"]
    table = html_table(["feature", "Shapley value", "", "odds"], rows, last=last)
    return joined([paragraph(element("strong", shapley_headline(local, t))), table])


@html.register
def reasons_html(reasons: Reasons) -> Markup:
    """Return the sufficient reasons of the first rows as a table."""
    n_rows = len(reasons.fixed)
    rows: list[list[object]] = []
    for t, of in enumerate(reasons.frame[:MOST_REASONS].to_dict(orient="records")):
        text = of["text"] if of["exists"] else reasons.text(t)
        rows.append([name_cell(of["row"]), name_cell(of["decision"]), of["size"], name_cell(text, 200)])
    parts = [html_table(["row", "decision", "features", "because"], rows)]
    if n_rows > MOST_REASONS:
        parts.append(note(f"… and {n_rows - MOST_REASONS:,} more rows; frame has all of them."))
    return fragment(*parts, note("Whatever the other features are, the decision is the same."))


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
    apart = shortened_apart([explanation.label, explanation.against], MOST_IN_HEADING)
    names = zip(apart, (explanation.label, explanation.against), strict=True)
    headings += [element("span", f"rows of {short}", title=str(name)) for short, name in names] * counted
    rows = [_line(term, most, counted, credible) for _, term in shown.iterrows()]
    blank = [""] * (len(headings) - 3)
    rest = terms["nats"][MOST_TERMS:]
    if len(rest):
        total = float(rest.sum())
        rows.append(
            [
                f"{len(rest)} weaker term{'s' * (len(rest) > 1)}",
                Cell(signed_bar(total, most)),
                f"× {_odds(total)}",
                *blank,
            ]
        )
    last = [
        f"odds of {explanation.label} against {explanation.against}",
        "",
        f"= {_odds(explanation.log_odds)}",
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
        f"× {_odds(term['nats'])}",
    ]
    if credible:
        known = not math.isnan(term["low"])
        cells.append(f"{odds_end(term['low'])} to {odds_end(term['high'])}" if known else "")
    if counted:
        for count, of in (("rows", "of"), ("rows_against", "of_against")):
            cells.append("" if math.isnan(term[of]) else f"{weight_text(term[count])} of {weight_text(term[of])}")
    return cells


def _odds(nats: float) -> str:
    """Return exp(nats) as text; "∞" if it is too large for a number."""
    return odds_text(math.exp(nats) if nats < MOST_NATS else math.inf)
