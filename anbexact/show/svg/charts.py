"""Line charts and shaded matrices as SVG and HTML, in the colours of the page around them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from anbexact._runtime.units import number_text
from anbexact.show.svg.markup import Markup, element, joined, shortened, shortened_apart

COLOURS = ("#2f7fd6", "#d0741c", "#2a9d68", "#b05bc4", "#c94a5a", "#7d8a2e", "#1f9aa8", "#8a6d5b")
"""Colours of lines; each has enough contrast on light and on dark pages."""
DASHES = (None, "7 3", "2 3", "9 3 2 3")
"""Dashes of lines: they distinguish lines of the same colour, and all lines for readers who do not see colours."""
MOST_NAMED, MOST_TICK_CHARACTERS, CHARACTER = 4, 18, 7.2
"""Most intervals of an axis that are named, most characters of such a name, and the width of one in pixels."""
MOST_HOVERED = 40
"""About the most points of a line whose values appear under the pointer."""
MOST_LEVEL = 8
"""Most columns of a matrix whose names are written level."""
SHORT_NAME = 3
"""Most characters of names that are written level above any number of columns."""
WIDTH, HEIGHT = 420.0, 300.0
"""Size of a chart, in pixels."""
LEFT, RIGHT, TOP, BOTTOM = 52.0, 12.0, 10.0, 44.0
"""Margins of the axes of a chart, in pixels."""


@dataclass(frozen=True)
class Line:
    """A line of a chart.

    Attributes
    ----------
    name : str
        Its name in the legend; empty for none.
    points : sequence of (x, y)
        The points that it joins.
    band : sequence of (x, low, high)
        A band around it.
    marks : bool
        Whether its points are marked.
    """

    name: str
    points: Sequence[tuple[float, float]]
    band: Sequence[tuple[float, float, float]] = ()
    marks: bool = False


@dataclass(frozen=True)
class Chart:
    """Axes, and what is drawn into them.

    Attributes
    ----------
    title : str
        What the chart shows; screen readers read it out.
    x_label, y_label : str
        The labels of the axes.
    lines : sequence of Line
        What is drawn.
    x_range, y_range : (low, high)
        Ends of the axes.
    reference : ((x, y), (x, y)) or None
        The ends of a dashed line for comparison.
    x_names : sequence of str
        Names of the intervals from 0 to 1, from 1 to 2 and so on, which the x axis shows instead of numbers.
    """

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    x_range: tuple[float, float] = (0.0, 1.0)
    y_range: tuple[float, float] = (0.0, 1.0)
    reference: tuple[tuple[float, float], tuple[float, float]] | None = field(default=None)
    x_names: Sequence[str] = ()

    def svg(self) -> Markup:
        """Return the chart as SVG, its legend as HTML below it."""
        marks = [*self._axes()]
        if self.reference is not None:
            (x1, y1), (x2, y2) = (self._place(*point) for point in self.reference)
            marks.append(_stroke("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke_opacity="0.5", stroke_dasharray="4 4"))
        for k, line in enumerate(self.lines):
            marks += self._line(line, COLOURS[k % len(COLOURS)], DASHES[k // len(COLOURS) % len(DASHES)])
        marks += self._hover()
        picture = element(
            "svg",
            element("title", self.title),
            *marks,
            viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}",
            width=f"{WIDTH:g}",
            role="img",
            aria_label=self.title,
            class_="chart",
            font_size="12",
            font_family="system-ui, sans-serif",
            fill="currentColor",
        )
        return joined([picture, self._legend()])

    def _place(self, x: float, y: float) -> tuple[float, float]:
        (x0, x1), (y0, y1) = self.x_range, self.y_range
        across, up = (x - x0) / ((x1 - x0) or 1.0), (y - y0) / ((y1 - y0) or 1.0)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    def _axes(self) -> list[Markup]:
        marks = []
        for value, name in self._x_ticks():
            x, y = self._place(value, self.y_range[0])
            marks.append(_stroke("line", x1=x, x2=x, y1=y, y2=TOP, stroke_opacity="0.12"))
            text = shortened(name, MOST_TICK_CHARACTERS)
            half = _half(text)
            middle = min(max(x, half), WIDTH - half)
            label = element("text", text, x=middle, y=y + 16, text_anchor="middle")
            marks.append(element("g", element("title", name), label))
        for value in ticks(*self.y_range):
            x, y = self._place(self.x_range[0], value)
            marks.append(_stroke("line", x1=x, x2=WIDTH - RIGHT, y1=y, y2=y, stroke_opacity="0.12"))
            marks.append(element("text", f"{value:g}", x=x - 7, y=y + 4, text_anchor="end"))
        middle = (LEFT + WIDTH - RIGHT) / 2
        marks.append(element("text", self.x_label, x=middle, y=HEIGHT - 8, text_anchor="middle"))
        up = (TOP + HEIGHT - BOTTOM) / 2
        turned = f"rotate(-90 14 {up:g})"
        marks.append(element("text", self.y_label, x=14.0, y=up, text_anchor="middle", transform=turned))
        return marks

    def _x_ticks(self) -> list[tuple[float, str]]:
        if not self.x_names:
            return [(value, f"{value:g}") for value in ticks(*self.x_range)]
        n = len(self.x_names)
        for most in range(min(n, MOST_NAMED), 2, -1):
            shown = sorted({round(k * (n - 1) / (most - 1)) for k in range(most)})
            if not self._overlap(shown):
                break
        else:
            shown = sorted({0, n - 1})
        return [(k + 0.5, self.x_names[k]) for k in shown]

    def _overlap(self, shown: Sequence[int]) -> bool:
        """Whether the names of two intervals would touch each other below the axis."""
        ends = []
        for k in shown:
            half = _half(shortened(self.x_names[k], MOST_TICK_CHARACTERS))
            middle = min(max(self._place(k + 0.5, 0.0)[0], half), WIDTH - half)
            ends.append((middle - half, middle + half))
        return any(before > after for (_, before), (after, _) in pairwise(ends))

    def _line(self, line: Line, colour: str, dash: str | None) -> list[Markup]:
        marks = []
        if line.band:
            upper = [self._place(x, high) for x, _, high in line.band]
            lower = [self._place(x, low) for x, low, _ in line.band]
            corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in [*upper, *lower[::-1]])
            marks.append(element("polygon", points=corners, fill=colour, fill_opacity="0.16"))
        places = [self._place(x, y) for x, y in line.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        marks.append(
            element("polyline", points=path, fill="none", stroke=colour, stroke_width="1.8", stroke_dasharray=dash)
        )
        if line.marks:
            marks += [element("circle", cx=x, cy=y, r="3", fill=colour) for x, y in places]
        return marks

    def _hover(self) -> list[Markup]:
        """Return what shows values under the pointer: strips over named intervals, else circles around points."""
        if self.x_names:
            return [self._strip(k, name) for k, name in enumerate(self.x_names)]
        marks = []
        for k, line in enumerate(self.lines):
            for x, y in line.points[:: max(len(line.points) // MOST_HOVERED, 1)]:
                across, up = self._place(x, y)
                what = [line.name] * bool(line.name) + [f"{self.x_label}: {x:.3g}", f"{self.y_label}: {y:.3g}"]
                fill = COLOURS[k % len(COLOURS)]
                marks.append(_hovered("circle", what, cx=across, cy=up, r="7", fill=fill))
        return marks

    def _strip(self, k: int, name: str) -> Markup:
        """Return the strip over an interval, with the values of the lines in its middle."""
        left, right = (self._place(x, self.y_range[0])[0] for x in (k, k + 1))
        what = [name]
        for line in self.lines:
            of_line = [y for (x, y), (after, _) in pairwise(line.points) if x <= k + 0.5 <= after]
            what += [f"{line.name}: {y:.3g}" if line.name else f"{self.y_label}: {y:.3g}" for y in of_line]
        return _hovered("rect", what, x=left, y=TOP, width=right - left, height=HEIGHT - TOP - BOTTOM)

    def _legend(self) -> Markup:
        entries = []
        for k, line in enumerate(self.lines):
            if line.name:
                colour, dash = COLOURS[k % len(COLOURS)], DASHES[k // len(COLOURS) % len(DASHES)]
                sample = element(
                    "line", x1="0", x2="22", y1="5", y2="5", stroke=colour, stroke_width="2.5", stroke_dasharray=dash
                )
                key = element("svg", sample, width="22", height="10", aria_hidden="true")
                title = line.name if len(line.name) > 40 else None
                entries.append(element("li", key, " ", shortened(line.name, 40), title=title))
        return element("ul", *entries, class_="legend") if entries else Markup("")


def _half(text: str) -> float:
    """Return half the width of a label, with some space around it."""
    return CHARACTER * (len(text) + 1) / 2


def _hovered(shape: str, what: Sequence[str], **attributes: object) -> Markup:
    """Return a shape that is visible only under the pointer, where it says something."""
    return element(shape, element("title", "\n".join(what)), class_="hover", fill_opacity="0", **attributes)


def _stroke(name: str, **attributes: object) -> Markup:
    return element(name, stroke="currentColor", **attributes)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers within a range, at most ``most`` of them.

    Examples
    --------
    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if not high > low:
        return [low]
    rough = (high - low) / (most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) for k in range(first, math.floor(high / step + 1e-9) + 1)]


def matrix_table(names: Sequence[object], values: Sequence[Sequence[float]], caption: str) -> Markup:
    """Return a confusion matrix as a table: rows are true classes, each shaded by the shares of its rows."""
    head = [element("th", "true \\ predicted", scope="col")]
    above, left = shortened_apart(names, 14), shortened_apart(names, 24)
    head += [element("th", of, scope="col", title=str(name)) for of, name in zip(above, names, strict=True)]
    many, longest = len(names) > MOST_LEVEL, max((len(str(name)) for name in names), default=0)
    body = []
    for name, label, row in zip(names, left, values, strict=True):
        total = sum(row) or 1.0
        cells = [element("th", label, scope="row", title=str(name))]
        for value in row:
            share = value / total
            style = f"background:color-mix(in srgb,#2f7fd6 {65 * share:.0f}%,transparent)"
            cells.append(element("td", number_text(value, 4) if value else "·", style=style, title=f"{share:.1%}"))
        body.append(element("tr", *cells))
    table = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", *head)),
        element("tbody", *body),
        class_=" ".join(["matrix", *["many"] * many, *["upright"] * (many and longest > SHORT_NAME)]),
    )
    return element("div", table, class_="anbexact-scroll", tabindex="0", role="group", aria_label=caption)
