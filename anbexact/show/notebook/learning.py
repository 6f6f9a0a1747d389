"""How networks were learned from rows with missing cells."""

from __future__ import annotations

from anbexact.models.em.record import EMRecord
from anbexact.show.notebook.by_type import html
from anbexact.show.notebook.fragments import folded, fragment, note, paragraph
from anbexact.show.svg.markup import Markup, element
from anbexact.show.svg.tables import Cell, html_table, number


@html.register
def em_html(record: EMRecord) -> Markup:
    """Return a record of expectation maximisation: whether it converged, its starts, and its rounds, folded."""
    verdict = "converged" if record.converged else "did not converge"
    badge = element("span", verdict, class_=f"badge {'yes' if record.converged else 'no'}")
    starts = [
        [
            Cell(start.name, text=True),
            number(start.score),
            number(start.log_likelihood),
            start.n_rounds,
            "chosen" if start.name == record.start else "",
        ]
        for start in record.starts
    ]
    rounds = [
        [k, "yes" if one.searched else "no", number(one.log_likelihood), number(one.objective)]
        for k, one in enumerate(record.rounds, 1)
    ]
    parts = [paragraph(badge, f" {record}.")]
    if starts:
        parts.append(html_table(["start", "score", "log likelihood", "rounds", ""], starts))
    table = html_table(["round", "structure searched", "log likelihood", "objective"], rounds)
    explained = "In nats, total; likelihoods are those of the observed cells."
    return fragment(*parts, folded("Rounds", table), note(explained))
