"""A report as a value: sections of blocks, each of which is HTML, Markdown and data for JSON."""

from __future__ import annotations

import html
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anbexact._runtime.units import number_text
from anbexact.show.svg.charts import Chart, matrix_table
from anbexact.show.svg.markup import UNPRINTABLE, Markup, element, joined
from anbexact.show.svg.network import figure
from anbexact.show.svg.tables import Cell, html_table, name_cell, number, odds_text, share_bar, signed_bar


def markdown_text(value: object) -> str:
    """Return a text that Markdown shows as it is: no markup, no cell boundary, one line."""
    text = html.escape(" ".join(UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", str(value)).split()), quote=False)
    return "".join("\\" + letter if letter in "\\`*_[]|#" else letter for letter in text)


class Block(ABC):
    """A part of a section."""

    key: str
    """What the block is called in JSON; empty for one that is not part of it."""

    @abstractmethod
    def html(self) -> Markup:
        """Return the block as HTML."""

    @abstractmethod
    def markdown(self) -> str:
        """Return the block as Markdown."""

    def data(self) -> Any:
        """Return the block for JSON."""
        return None


@dataclass(frozen=True)
class Paragraph(Block):
    """Sentences; ``kind`` is empty, ``"note"`` for small print or ``"lead"``."""

    text: str
    kind: str = ""
    key: str = ""

    def html(self) -> Markup:
        return element("p", self.text, class_=self.kind or None)

    def markdown(self) -> str:
        return markdown_text(self.text)

    def data(self) -> str:
        return self.text


@dataclass(frozen=True)
class Listing(Block):
    """Sentences as the items of a list."""

    items: Sequence[str]
    key: str = ""

    def html(self) -> Markup:
        return element("ul", *(element("li", item) for item in self.items))

    def markdown(self) -> str:
        return "\n".join(f"- {markdown_text(item)}" for item in self.items)

    def data(self) -> list[str]:
        return list(self.items)


@dataclass(frozen=True)
class Code(Block):
    """Commands or settings as they are typed."""

    text: str
    key: str = ""

    def html(self) -> Markup:
        return element("pre", element("code", self.text), tabindex="0")

    def markdown(self) -> str:
        return "\n".join(f"    {line}" for line in self.text.splitlines())

    def data(self) -> str:
        return self.text


@dataclass(frozen=True)
class Heading(Block):
    """A heading within a section."""

    text: str
    key: str = ""

    def html(self) -> Markup:
        return element("h3", self.text)

    def markdown(self) -> str:
        return f"### {markdown_text(self.text)}"


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    key : str
        Its name in the records.
    heading : str
        Its heading.
    digits : int or None
        Decimals; None for text.
    bar : str
        ``"share"`` for a bar from the left, ``"signed"`` for one from the middle, empty for none.
    most : int
        Most characters of a text that a page shows.
    significant : bool
        Whether ``digits`` are significant digits.
    """

    key: str
    heading: str
    digits: int | None = None
    bar: str = ""
    most: int = 60
    significant: bool = False

    def text(self, value: Any) -> str:
        """Return a value as text."""
        if self.digits is None:
            return "" if value is None else str(value)
        if self.significant and value is not None:
            return odds_text(float(value))
        return number(math.nan if value is None else float(value), self.digits)


FEATURES_SHOWN = 25
"""Number of features that tables of the page show; one has to open the others."""


@dataclass(frozen=True)
class Records(Block):
    """A table of records.

    Attributes
    ----------
    key : str
        What it is called in JSON.
    columns : sequence of Column
        What is shown; the first is the heading of a row.
    records : sequence of mappings
        The rows; JSON has all their entries.
    caption, note : str
        What stands above and below the table.
    most : int, optional
        How many rows the page shows; one has to open the others there. Paper, Markdown and JSON have all.
    """

    key: str
    columns: Sequence[Column]
    records: Sequence[Mapping[str, Any]]
    caption: str = ""
    note: str = ""
    most: int | None = None

    def html(self) -> Markup:
        headings: list[object] = []
        for column in self.columns:
            headings += [column.heading, ""] if column.bar else [column.heading]
        most = {column.key: self._most(column) for column in self.columns if column.bar}
        rows = [[cell for column in self.columns for cell in _cells(column, of, most)] for of in self.records]
        parts: list[object] = [html_table(headings, rows[: self.most], self.caption)]
        if rest := rows[self.most :] if self.most else []:
            summary = element("summary", f"the other {len(rest):,} rows")
            parts.append(element("details", summary, html_table(headings, rest)))
        return joined([*parts, element("p", self.note, class_="note")] if self.note else parts)

    def _most(self, column: Column) -> float:
        """Return the value of the longest bar: the largest one, or the least that is not shown as 0."""
        values = [abs(float(of[column.key])) for of in self.records if of.get(column.key) is not None]
        most = max((value for value in values if math.isfinite(value)), default=1.0)
        return most if column.digits is None or column.significant else max(most, 10.0**-column.digits)

    def markdown(self) -> str:
        lines = [f"**{markdown_text(self.caption)}**", ""] if self.caption else []
        lines.append("| " + " | ".join(markdown_text(column.heading) for column in self.columns) + " |")
        lines.append("|" + "|".join(" --- " if column.digits is None else " ---: " for column in self.columns) + "|")
        for of in self.records:
            texts = (markdown_text(column.text(of.get(column.key))) for column in self.columns)
            lines.append("| " + " | ".join(texts) + " |")
        return "\n".join([*lines, *(["", markdown_text(self.note)] if self.note else [])])

    def data(self) -> list[dict[str, Any]]:
        return [dict(of) for of in self.records]


def _cells(column: Column, of: Mapping[str, Any], most: Mapping[str, float]) -> list[object]:
    value = of.get(column.key)
    if column.digits is None:
        return [Cell("", text=True) if value in (None, "") else name_cell(value, column.most)]
    if not column.bar:
        return [column.text(value)]
    size = math.nan if value is None else float(value)
    bar = share_bar(size, most[column.key], 80.0) if column.bar == "share" else signed_bar(size, most[column.key])
    return [column.text(value), Cell(bar)]


@dataclass(frozen=True)
class Picture(Block):
    """A picture with its caption; Markdown has the caption alone."""

    svg: Markup
    caption: str
    key: str = ""

    def html(self) -> Markup:
        return figure(self.svg, self.caption)

    def markdown(self) -> str:
        return markdown_text(self.caption)


@dataclass(frozen=True)
class Charts(Block):
    """Charts side by side; their points are in JSON."""

    key: str
    charts: Sequence[Chart]
    note: str = ""

    def html(self) -> Markup:
        parts = [
            element("figure", element("figcaption", chart.title), chart.svg(), class_="panel")
            for chart in self.charts
        ]
        row = element("div", *parts, class_="charts")
        return joined([row, element("p", self.note, class_="note")]) if self.note else row

    def markdown(self) -> str:
        titles = "; ".join(chart.title for chart in self.charts)
        return markdown_text(f"Charts (in the HTML report): {titles}. {self.note}".strip())

    def data(self) -> list[dict[str, Any]]:
        return [
            {
                "title": chart.title,
                "x": chart.x_label,
                "y": chart.y_label,
                "lines": [
                    {"name": line.name, "points": list(map(list, line.points)), "band": list(map(list, line.band))}
                    for line in chart.lines
                ],
            }
            for chart in self.charts
        ]


@dataclass(frozen=True)
class Matrix(Block):
    """A confusion matrix."""

    key: str
    names: Sequence[object]
    values: Sequence[Sequence[float]]
    caption: str

    def html(self) -> Markup:
        return matrix_table(self.names, self.values, self.caption)

    def markdown(self) -> str:
        lines = [f"**{markdown_text(self.caption)}**", ""]
        lines.append("| true \\\\ predicted | " + " | ".join(map(markdown_text, self.names)) + " |")
        lines.append("| --- |" + " ---: |" * len(self.names))
        for name, row in zip(self.names, self.values, strict=True):
            cells = " | ".join(number_text(value, 4) for value in row)
            lines.append(f"| {markdown_text(name)} | {cells} |")
        return "\n".join(lines)

    def data(self) -> dict[str, Any]:
        return {"classes": list(self.names), "rows_by_true_class": [list(row) for row in self.values]}


@dataclass(frozen=True)
class Fragment(Block):
    """A piece of HTML, with what Markdown and JSON have in its place."""

    markup: Markup
    text: str = ""
    key: str = ""
    values: Any = None

    def html(self) -> Markup:
        return self.markup

    def markdown(self) -> str:
        return self.text

    def data(self) -> Any:
        return self.values


@dataclass(frozen=True)
class Section:
    """A titled part of a report.

    Attributes
    ----------
    key : str
        Its name in JSON, and the anchor in the page.
    title : str
        Its heading.
    blocks : sequence of Block
        What it consists of.
    """

    key: str
    title: str
    blocks: Sequence[Block]

    def markdown(self) -> str:
        """Return the section as Markdown."""
        parts = [f"## {markdown_text(self.title)}", *(block.markdown() for block in self.blocks)]
        return "\n\n".join(part for part in parts if part)

    def data(self) -> dict[str, Any]:
        """Return the blocks that have a name, by name."""
        return {block.key: block.data() for block in self.blocks if block.key}


@dataclass(frozen=True)
class Document:
    """A titled sequence of sections."""

    title: str
    sections: Sequence[Section]
    about: Mapping[str, Any] = field(default_factory=dict)

    def markdown(self) -> str:
        """Return the report as Markdown."""
        parts = [f"# {markdown_text(self.title)}", *(section.markdown() for section in self.sections)]
        return "\n\n".join(parts) + "\n"

    def data(self) -> dict[str, Any]:
        """Return the report for JSON."""
        return {"title": self.title, **self.about, **{section.key: section.data() for section in self.sections}}
