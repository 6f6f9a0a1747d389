"""Tables and small bars as HTML."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from anbexact.show.svg.markup import Markup, element, shortened

BAR_WIDTH, BAR_HEIGHT = 130.0, 12.0
"""Size of a bar in a table, in pixels."""
POSITIVE, NEGATIVE = "#2f7fd6", "#d0741c"
"""Colours of what speaks for and against; they differ on light and dark pages, and for the colour-blind."""
MOST_CHARACTERS = 60
"""Most characters of a cell of text; the whole text is in its tooltip."""


@dataclass(frozen=True)
class Cell:
    """A cell of a table: what it shows, and how."""

    content: object
    text: bool = False
    best: bool = False


def name_cell(value: Any, most: int = MOST_CHARACTERS) -> Cell:
    """Return a name or a state as a cell; a long one is shortened, with all of it in the tooltip."""
    whole = str(value)
    shown = shortened(whole, most) or "''"
    title = whole if shown != whole else None
    return Cell(element("span", shown, class_="name", title=title), text=True)


def html_table(
    headings: Sequence[object], rows: Sequence[Sequence[object]], caption: str = "", last: Sequence[object] = ()
) -> Markup:
    """Return a table; the first cell of every row is its heading.

    Parameters
    ----------
    headings : sequence
        The headings of the columns.
    rows : sequence of sequences
        Cells, plain values or :class:`Cell`.
    caption : str, optional
        What the table shows.
    last : sequence, optional
        A row that sums up the others.
    """
    columns = [[row[k] for row in rows] for k in range(len(headings))]
    texts = [any(isinstance(cell, Cell) and cell.text for cell in column) for column in columns]
    head = [
        element("th", heading, scope="col", class_="text" if is_text else None)
        for heading, is_text in zip(headings, texts, strict=True)
    ]
    parts = [element("caption", caption)] if caption else []
    parts.append(element("thead", element("tr", *head)))
    parts.append(element("tbody", *(_row(row) for row in rows)))
    if last:
        parts.append(element("tfoot", _row(last)))
    label = caption or "table"
    table = element("table", *parts)
    return element("div", table, class_="anbexact-scroll", tabindex="0", role="group", aria_label=label)


def _row(cells: Sequence[object]) -> Markup:
    first, *others = (cell if isinstance(cell, Cell) else Cell(cell) for cell in cells)
    return element("tr", element("th", first.content, scope="row"), *map(_cell, others))


def _cell(cell: Cell) -> Markup:
    names = [name for name, holds in (("text", cell.text), ("best", cell.best)) if holds]
    return element("td", cell.content, class_=" ".join(names) or None)


def number(value: float, digits: int = 3) -> str:
    """Return a number with this many decimals; a dash for None and NaN."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:z,.{digits}f}".replace("-", "−")


def odds_text(odds: float) -> str:
    """Return odds, or a factor of them, in three digits, or all digits before the decimal point.

    Examples
    --------
    >>> [odds_text(odds) for odds in (0.0000123, 0.1, 2.5, 31.25, 4321.0, 12345678.0)]
    ['1.23e−05', '0.100', '2.50', '31.2', '4,321', '1.23e+07']
    """
    if not math.isfinite(odds) or odds == 0:
        return number(odds, 0)
    if not 1e-4 <= odds < 1e6:
        return f"{odds:.2e}".replace("-", "−")
    places = max(2 - math.floor(math.log10(float(f"{odds:.2e}"))), 0)
    return f"{odds:,.{places}f}"


def share_bar(value: float, most: float = 1.0, width: float = BAR_WIDTH) -> Markup:
    """Return a bar from the left whose length is proportional to a value; screen readers skip it."""
    share = 0.0 if not (math.isfinite(value) and most > 0) else min(max(value / most, 0.0), 1.0)
    return _small_picture(
        width, element("rect", x=0.0, y=2.0, width=share * width, height=BAR_HEIGHT - 4, rx="2", fill=POSITIVE)
    )


def signed_bar(value: float, most: float, low: float = math.nan, high: float = math.nan) -> Markup:
    """Return a bar from the middle, to the right above 0 and to the left below, with the ends of an interval."""
    half = BAR_WIDTH / 2

    def place(number: float) -> float:
        return half + max(-1.0, min(number / most if most > 0 else 0.0, 1.0)) * (half - 1)

    marks = [
        element("line", x1=half, x2=half, y1=0.0, y2=BAR_HEIGHT, stroke="currentColor", stroke_opacity="0.5"),
    ]
    if not math.isnan(value):
        left, right = sorted((half, place(value)))
        colour = POSITIVE if value >= 0 else NEGATIVE
        marks.append(
            element(
                "rect", x=left, y=2.0, width=right - left, height=BAR_HEIGHT - 4, fill=colour, fill_opacity="0.85"
            )
        )
    if not (math.isnan(low) or math.isnan(high)):
        middle = BAR_HEIGHT / 2
        marks.append(element("line", x1=place(low), x2=place(high), y1=middle, y2=middle, stroke="currentColor"))
    return _small_picture(BAR_WIDTH, *marks)


def _small_picture(width: float, *marks: Markup) -> Markup:
    return element(
        "svg", *marks, width=f"{width:g}", height=f"{BAR_HEIGHT:g}", viewBox=f"0 0 {width:g} {BAR_HEIGHT:g}",
        aria_hidden="true",
    )  # fmt: skip
