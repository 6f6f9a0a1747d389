"""A scorecard as one page: its tables, the probabilities of its scores, and a calculator."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from anbexact._runtime.units import counted
from anbexact.scorecards.scorecard import Scorecard
from anbexact.scorecards.tables import OTHER, PointRow, PointTable, axis_groups
from anbexact.show.notebook.by_type import html
from anbexact.show.notebook.fragments import fragment, note, paragraph
from anbexact.show.report.embedded import text_of
from anbexact.show.report.page.page import page
from anbexact.show.report.sections.edits import edits_table
from anbexact.show.svg.markup import Markup, element, joined

MOST_LISTED = 8
"""Maximum number of joint states with points that are listed; more of a pair are shown as a grid."""
MOST_BESIDE = 40
"""Maximum number of characters in the headings of a grid that stands in a column."""
MOST_LEVELS = 15
"""Maximum number of scores whose probabilities are listed."""


def sheet(card: Scorecard, title: str | None = None) -> Markup:
    """Return the page of a scorecard."""
    heading = title or f"Scorecard for {card.class_name}"
    sections = [
        ("points", "Points", joined([_instructions(card), point_tables(card)])),
        ("probabilities", "From the score to the probability", _levels(card)),
        ("calculator", "Calculator", _calculator(card)),
        *([("edits", "Changes by hand", _edits(card))] if card.edits else []),
        ("notes", "How the points were found", _notes(card)),
    ]
    return page(heading, sections, scripts=("scorecard.js",), styles=("scorecard.css",), contents=False)


@html.register
def scorecard_html(card: Scorecard) -> Markup:
    """Return a scorecard for a notebook: its tables and what is proved about them."""
    return fragment(_instructions(card), point_tables(card), *([_edits(card)] if card.edits else []), _notes(card))


def _instructions(card: Scorecard) -> Markup:
    start = ", ".join(f"{value:,}" for value in card.intercept.tolist())
    begin = "" if not card.intercept.any() else f"Begin with {start}. "
    if card.n_scores == 1:
        text = f"{begin}For every table, find the row that applies and add its points. The sum is the score."
    else:
        text = (
            f"{begin}For every table, find the row that applies and add its points, column by column. The sums are "
            f"the scores of {_listed(card.scored)} against {card.reference}."
        )
    return paragraph(text)


def _listed(labels: tuple[Any, ...]) -> str:
    texts = list(map(str, labels))
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


# ---- tables


def point_tables(card: Scorecard) -> Markup:
    """Return the tables of a card, each with its features as caption."""
    return element("div", *(_table(card, table) for table in card.tables), class_="card-tables")


def _table(card: Scorecard, table: PointTable) -> Markup:
    joint, rows = len(table.features) > 1, card.rows(table)
    if joint:
        counting = [row for row in rows if row.points.any()]
        if len(table.features) == 2 and card.n_scores == 1 and len(counting) > MOST_LISTED:
            return _grid(card, table)
        rows = counting
    heads = ["points"] if card.n_scores == 1 else [str(label) for label in card.scored]
    caption = " and ".join(map(str, table.features)) + (", in addition" if joint else "")
    first = " / ".join(map(str, table.features)) if joint else "state"
    head = element("thead", element("tr", *(element("th", text, scope="col") for text in (first, *heads))))
    zeros = [element("td", "0", class_="points")] * card.n_scores
    others = [element("tr", element("th", "all others", scope="row"), *zeros, class_="other")] if joint else []
    body = element("tbody", *(_row(row) for row in rows), *others)
    wide = " card-wide" if card.n_scores > 2 else ""
    return element("div", element("table", element("caption", caption), head, body), class_="card-table" + wide)


def _row(row: PointRow) -> Markup:
    other = "other" if OTHER in row.labels else None
    cells = (element("td", signed(points), class_="points") for points in row.points.tolist())
    return element("tr", element("th", " / ".join(row.labels), scope="row"), *cells, class_=other)


def _grid(card: Scorecard, table: PointTable) -> Markup:
    """Return the table of a pair as a grid."""
    down, across = (axis_groups(table, axis, card.reader.vocabulary, card.reader.cut_points) for axis in range(2))
    first, second = map(str, table.features)
    corner = f"{first} \N{DOWNWARDS ARROW}  {second} \N{RIGHTWARDS ARROW}"
    head = element("tr", element("th", corner), *(element("th", label, scope="col") for label, _ in across))
    rows = []
    for label, states in down:
        cells = (element("td", signed(int(table.points[states[0], own[0], 0])), class_="points") for _, own in across)
        other = "other" if label == OTHER else None
        rows.append(element("tr", element("th", label, scope="row"), *cells, class_=other))
    caption = element("caption", f"{first} and {second}, in addition")
    wide = " card-wide" if sum(min(len(label), 14) for label, _ in across) > MOST_BESIDE else ""
    made = element("table", caption, element("thead", head), element("tbody", *rows))
    return element("div", element("div", made, class_="anbexact-scroll"), class_="card-table" + wide)


def signed(points: int) -> str:
    """Return points with their sign; 0 has none."""
    return f"+{points}" if points > 0 else f"\N{MINUS SIGN}{-points}" if points < 0 else "0"


# ---- probabilities


def levels(card: Scorecard) -> list[int]:
    """Return scores from the lowest to the highest that are possible, in even steps."""
    low, high = (int(bound[0]) for bound in card.range)
    for step in (1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000):
        first, last = -(-low // step) * step, high // step * step
        if (last - first) // step < MOST_LEVELS:
            return list(range(first, last + 1, step))
    return [int(score) for score in np.linspace(low, high, MOST_LEVELS)]


def meaning(card: Scorecard) -> list[str]:
    """Return sentences that lead from the scores to the probabilities."""
    if card.n_scores == 1:
        label, offset = card.scored[0], float(card.offset[0])
        sign = "+" if offset >= 0 else "\N{MINUS SIGN}"
        return [
            f"Every {np.log(2) / card.scale:.3g} points double the odds of {label} against {card.reference}, which "
            f"are exp({card.scale:.6g} \N{MULTIPLICATION SIGN} score {sign} {abs(offset):.6g})."
        ]
    constants = ", ".join(
        f"c = {offset:.6g} for {label}".replace("-", "\N{MINUS SIGN}", 1)
        for label, offset in zip(card.scored, card.offset.tolist(), strict=True)
    )
    return [
        f"The odds of a class against {card.reference} are exp({card.scale:.6g} \N{MULTIPLICATION SIGN} score + c), "
        f"with {constants}. Its probability is these odds, divided by 1 plus the odds of {_listed(card.scored)}."
    ]


def _levels(card: Scorecard) -> Markup:
    sentences = [paragraph(sentence) for sentence in meaning(card)]
    if card.n_scores > 1:
        return joined(sentences)
    scores = levels(card)
    label = card.scored[0]
    chances = card.probabilities(np.array(scores, dtype=np.int64)[:, None])[:, card.classes_.tolist().index(label)]
    texts = (f"{score:,}".replace("-", "\N{MINUS SIGN}") for score in scores)
    head = element("tr", element("th", "score", scope="row"), *(element("td", text) for text in texts))
    body = element("tr", element("th", f"P({label})", scope="row"), *(element("td", _percent(p)) for p in chances))
    table = element("div", element("table", element("tbody", head, body)), class_="anbexact-scroll")
    return joined([table, *sentences])


def _percent(chance: float) -> str:
    if chance < 0.001:
        return "< 0.1 %"
    return "> 99.9 %" if chance > 0.999 else f"{100 * chance:.1f} %"


# ---- the calculator


def described(card: Scorecard) -> dict[str, Any]:
    """Return a card as JSON values, for the calculator."""
    vocabulary, cut_points = card.reader.vocabulary, card.reader.cut_points
    features = []
    for name in card.features:
        arity = vocabulary.arity(name)
        missing = vocabulary.missing_code(name)
        cuts = cut_points.get(name)
        features.append(
            {
                "arity": arity + 1,
                "missing": arity if missing < 0 else missing,
                "cuts": None if cuts is None else cuts.tolist(),
            }
        )
    classes = card.classes_.tolist()
    return {
        "features": features,
        "tables": [
            {
                "features": [card.features.index(name) for name in table.features],
                "points": table.points.reshape(-1, card.n_scores).tolist(),
            }
            for table in card.tables
        ],
        "intercept": card.intercept.tolist(),
        "scale": card.scale,
        "offset": card.offset.tolist(),
        "classes": [text_of(label) for label in classes],
        "places": [classes.index(label) for label in card.scored],
        "names": ["Score" if card.n_scores == 1 else f"Score of {text_of(label)}" for label in card.scored],
    }


def _calculator(card: Scorecard) -> Markup:
    vocabulary = card.reader.vocabulary
    fields = []
    for name in card.features:
        if name in card.reader.cut_points:
            field = element("input", type="number", step="any", placeholder=OTHER)
        else:
            states = vocabulary.observed_states(name)
            chosen = [element("option", text_of(state), value=code) for code, state in enumerate(states)]
            field = element("select", element("option", OTHER, value=""), *chosen)
        fields.append(element("label", text_of(name), field))
    data = json.dumps(described(card), separators=(",", ":")).replace("<", "\\u003c")
    return joined(
        [
            element("div", *fields, class_="card-form"),
            element("div", class_="card-result", role="status", aria_live="polite"),
            element("script", Markup(data), type="application/json", class_="card-data"),
        ]
    )


# ---- changes by hand, and notes


def _edits(card: Scorecard) -> Markup:
    text = (
        "Log losses are in nats per row, each before and after one edit. The standard error is that of their "
        "difference over rows."
    )
    return edits_table([edit.record() for edit in card.edits], text).html()


def claims(card: Scorecard) -> list[str]:
    """Return sentences on how the points were found, and what is proved about them."""
    means = (
        f"Before the changes by hand, a row “{OTHER}” had the mean points of these rows, rounded; changes of other "
        "rows do not adjust it."
        if card.edits
        else f"A row “{OTHER}” has the mean points of these rows, rounded: such a cell counts neither for nor "
        "against any class."
    )
    found = [f"The points rest on training rows with a total weight of {card.total_weight:,.6g}. {means}"]
    proved = card.certificate
    if proved is None and card.edits:
        found.append("Points were changed by hand after they had been found, so nothing is proved about them.")
    elif proved is None:
        found.append("The points are the log odds of the model, rounded to whole points.")
    else:
        loss = "observed classes" if proved.observed else "classes as the model expects them"
        size = "" if proved.n_features is None else f" for at most {counted(proved.n_features, 'feature')}"
        points = f"points from \N{MINUS SIGN}{proved.most} to {proved.most}{size}"
        claim = (
            f"No other {points} have a lower loss"
            if proved.optimal
            else f"Among {points}, none have a loss that is lower by more than {proved.gap:.2g} nats per row"
        )
        end = "" if proved.in_time else " (the search ended at its time limit)"
        found.append(
            f"{claim}{end}. Their mean log loss over the training rows, for {loss}, is {proved.loss:.4f} nats."
        )
    return found


def _notes(card: Scorecard) -> Markup:
    return joined(note(text) for text in claims(card))
