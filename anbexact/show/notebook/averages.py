"""All structures of a kind: their posterior, those near the optimum, and what depends on single rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from anbexact.search.posterior.leave_one_out import RelearnedLeaveOneOut
from anbexact.search.posterior.near_optimal import NearOptimal
from anbexact.search.posterior.structure_posterior import StructurePosterior
from anbexact.show.notebook.by_type import html
from anbexact.show.notebook.fragments import fragment, note, paragraph
from anbexact.show.svg.markup import Markup, joined
from anbexact.show.svg.network import MOST_FEATURES, figure, network_svg
from anbexact.show.svg.probable_arcs import probability_diagram
from anbexact.show.svg.tables import Cell, html_table, name_cell, number, share_bar

if TYPE_CHECKING:
    import pandas as pd


LEGEND = (
    "Lines join features that are joined with a probability of 10 % or more; the width of a line is proportional to "
    "this probability. The arrow shows the more probable direction; rows can rarely tell the two directions apart."
)
MOST_PAIRS = 15
"""Most pairs of variables, and most structures, that are listed."""
LEAST_LISTED = 0.005
"""Pairs that are joined with a lower probability are not listed."""
KINDS = {"anb": "augmented naive Bayes networks", "gbn": "networks", "tan": "trees", "fan": "forests"}
"""What the structures of a posterior are called, by the kind of networks."""


@html.register
def posterior_html(posterior: StructurePosterior) -> Markup:
    """Return a posterior over structures: the pairs that are most probably joined, as a picture and as a table."""
    first = paragraph(
        f"Posterior over all {KINDS[posterior.networks]} of {len(posterior.features):,} features; prior: "
        f"{posterior.prior}; log evidence {number(posterior.log_evidence)} nats in total."
    )
    augmented = posterior.networks != "gbn"
    return fragment(
        first, averaged_arcs(posterior.arcs, posterior.features, posterior.class_name, augmented=augmented)
    )


def arcs_svg(arcs: pd.DataFrame, features: Sequence[Hashable], class_name: Hashable, *, augmented: bool) -> Markup:
    """Return the picture of arcs with probabilities."""
    columns = arcs[["parent", "child", "probability"]]
    probabilities = {(parent, child): p for parent, child, p in columns.itertuples(index=False, name=None)}
    return network_svg(probability_diagram(features, class_name, probabilities, augmented=augmented))


def averaged_arcs(
    arcs: pd.DataFrame, features: Sequence[Hashable], class_name: Hashable, *, augmented: bool
) -> Markup:
    """Return arcs with probabilities as a table, below a picture unless there are too many features."""
    picture = Markup("")
    if len(features) <= MOST_FEATURES:
        picture = figure(arcs_svg(arcs, features, class_name, augmented=augmented), LEGEND)
    return joined([picture, pairs_table(arcs)])


def pairs_table(arcs: pd.DataFrame) -> Markup:
    """Return the pairs of variables that are most probably joined, each in its more probable direction."""
    ordered = arcs.sort_values(["adjacent", "probability"], ascending=False, kind="stable")
    seen: set[frozenset[Hashable]] = set()
    rows: list[list[object]] = []
    for parent, child, probability, adjacent in ordered[["parent", "child", "probability", "adjacent"]].itertuples(
        index=False, name=None
    ):
        pair = frozenset((parent, child))
        if pair in seen or adjacent < LEAST_LISTED or len(rows) == MOST_PAIRS:
            continue
        seen.add(pair)
        bar = Cell(share_bar(adjacent, 1.0, 70.0))
        rows.append([name_cell(parent), name_cell(child), number(adjacent), bar, number(probability)])
    return (
        html_table(["from", "to", "joined", "", "in this direction"], rows, "Probabilities of arcs")
        if rows
        else Markup("")
    )


@html.register
def near_optimal_html(found: NearOptimal) -> Markup:
    """Return the structures near the optimum, with the pairs that only they join or that only the best one joins."""
    head = str(found)
    rows: list[list[object]] = []
    for k, of in enumerate(found.frame[:MOST_PAIRS].to_dict(orient="records"), 1):
        differences = [_pairs(of["added"]), _pairs(of["removed"])]
        rows.append([k, number(of["score"]), number(of["bayes_factor"], 2), of["members"], *differences])
    headings = ["", "score", "Bayes factor", "members", "joined here only", "joined in the first only"]
    parts = [paragraph(f"{head[:1].upper()}{head[1:]}."), html_table(headings, rows)]
    if len(found.structures) > MOST_PAIRS:
        parts.append(note(f"… and {len(found.structures) - MOST_PAIRS:,} more; frame has all of them."))
    explained = (
        "Score: total in nats. Bayes factor: of the first structure against this one. Members: the number of "
        "structures that rows cannot tell apart from this one, including this one."
    )
    return fragment(*parts, note(explained))


def _pairs(pairs: Sequence[tuple[Hashable, Hashable]]) -> Cell:
    return Cell(name_cell(", ".join(f"{a} – {b}" for a, b in pairs), 120).content if pairs else "–", text=True)


@html.register
def leave_one_out_html(found: RelearnedLeaveOneOut) -> Markup:
    """Return what happens when single rows are left out: the losses, and the arcs that depend on single rows."""
    total = float(found.rows["weight"].sum())
    head = str(found)
    rows = [
        [
            name_cell(parent),
            name_cell(child),
            Cell("yes" if inside else "no", text=True),
            number(count, 0),
            Cell(share_bar(count, total, 70.0)),
        ]
        for parent, child, inside, count in found.arcs[["parent", "child", "in_optimum", "rows"]].itertuples(
            index=False, name=None
        )
    ]
    table = (
        html_table(["from", "to", "in the optimum", "rows that can be left out", ""], rows) if rows else Markup("")
    )
    explained = (
        "Rows that can be left out: if any one of these rows is left out, the optimal structure of the others has "
        "the arc."
    )
    return fragment(paragraph(f"{head[:1].upper()}{head[1:]}."), table, note(explained) if rows else Markup(""))
