"""Logistic regressions that were made from networks."""

from __future__ import annotations

import numpy as np

from anbexact.models.logit.model import LogitModel
from anbexact.show.notebook.by_type import html
from anbexact.show.notebook.fragments import folded, fragment, note, paragraph
from anbexact.show.notebook.networks import network_picture, strengths_of
from anbexact.show.svg.markup import Markup, joined
from anbexact.show.svg.tables import html_table, name_cell, number

MOST_SHOWN = 20
"""Most coefficients that are shown."""
MOST_LISTED = 10_000
"""Most coefficients of a model whose largest ones are shown: a notebook shows models unasked, so it must be quick."""


@html.register
def logit_html(model: LogitModel) -> Markup:
    """Return a logistic regression: its summary, its network, and its largest coefficients."""
    first, *others = repr(model).split("\n")
    shown = model.structure.without(model.vocabulary.left_out)
    network = folded("The network that the terms come from", network_picture(shown, _strengths(model)))
    parts = [paragraph(first), *(note(line) for line in others), network]
    if 0 < model.n_parameters <= MOST_LISTED:
        parts.append(folded("The largest coefficients", _coefficients(model)))
    return fragment(*parts)


def _strengths(model: LogitModel) -> dict[tuple[object, object], float]:
    return dict(strengths_of(model.network)) if model.network.counts is not None else {}


def _coefficients(model: LogitModel) -> Markup:
    """Return the largest coefficients as a table."""
    values, names = model.coefficients, model.terms.index
    order = np.argsort(-np.abs(values).max(axis=1), kind="stable")[:MOST_SHOWN].tolist()
    classes = model.classes_.tolist()
    headings = ["term", *(f"{label} against {classes[0]}" for label in classes[1:])]
    rows = [[name_cell(names[k] or "(intercept)"), *(number(float(x)) for x in values[k])] for k in order]
    rest = f"{len(values) - len(order):,} more; to_frame() has all." if len(values) > len(order) else ""
    return joined([html_table(headings, rows, "Coefficients in nats, the largest first."), note(rest)])
