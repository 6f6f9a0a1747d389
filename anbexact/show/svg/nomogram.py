"""The sheet of a nomogram: rulers, tables and outcome axes, laid out in millimetres on A4, and as SVG."""

from __future__ import annotations

import math
import textwrap
from bisect import bisect_left
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from anbexact._runtime.arrays import Floats
from anbexact._runtime.units import counted
from anbexact.discretize import cut_texts
from anbexact.explanations.nomogram import (
    MOST_POINTS,
    Correction,
    PointSystem,
    Ruler,
    left_out_points,
    ordered_by_importance,
)
from anbexact.show.svg.charts import COLOURS, ticks
from anbexact.show.svg.labels import inches, label_lines
from anbexact.show.svg.markup import Markup, element, shortened, shortened_apart
from anbexact.tables.cuts import Cuts
from anbexact.tables.vocabulary import Vocabulary

PAPER = 210.0, 297.0
"""Width and height of A4, in millimetres."""
TRIED_AGAIN = 12
"""Maximum number of features and tables that are tried in the room that a more important, larger one leaves."""
MARGIN = 12.0
LEFT, RIGHT = 60.0, 196.0
"""Ends of the scale of points."""
EDGE = PAPER[0] - 5.0
"""The right end of what may be printed."""
SMALL, NORMAL, LARGE = 6.5, 8.0, 12.0
"""Sizes of fonts, in points."""
LANE = 6.2
"""Height of a run of a ruler that shows cut points."""
STEP = 2.9
"""Height of a row of labels."""
LEADER = 3.1
"""Distance between a line and its first row of labels if these cannot all be at their ticks."""
MOST_CHARACTERS = 24
"""Most characters of a state."""
MOST_ROWS_OF_LABELS = 4
"""Most rows of the labels of a ruler before labels become shorter."""
FEWEST_DENSE = 9
"""Fewest intervals of a ruler that shows cut points instead of the names of intervals, if these do not fit."""
MOST_RUNS = 4
"""Most rising and falling runs of a ruler that shows cut points."""
SMALL_TURN = 1.0
"""Points by which neighbouring intervals may go the wrong way within a run."""
TABLE_ROWS, TABLE_COLUMNS = 30, 13
"""Most rows and columns of a two-way table on the sheet."""
ROW_HEIGHT, COLUMN_WIDTH, ROW_LABEL = 3.3, 9.0, 27.0
"""Height of a row, width of a column, and most room for the names of the rows of a table."""
MOST_LINES_OF_HEADING = 3
TINY = 5.8
"""Size of the names of columns."""
FARTHEST = math.log(999.0)
"""Most log odds, in nats, on an outcome axis: those of a probability of 0.999."""
PROBABILITIES = (0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999)
ODDS = tuple(digit * 10.0**power for power in range(-3, 30) for digit in (1, 2, 5))
"""Marks of the outcome axes; those that fit are labelled."""
SUPERSCRIPTS = str.maketrans("0123456789", "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")
GREY, PALE = "#777777", "#d9d9d9"


@dataclass(frozen=True)
class Stroke:
    """A straight line, in millimetres."""

    x1: float
    y1: float
    x2: float
    y2: float
    width: float = 0.2
    colour: str = "#000000"


@dataclass(frozen=True)
class Dot:
    """A circle."""

    x: float
    y: float
    radius: float
    colour: str = "#000000"
    filled: bool = True


@dataclass(frozen=True)
class Text:
    """A text at its base line; its size is in points."""

    x: float
    y: float
    text: str
    size: float = SMALL
    anchor: Literal["start", "middle", "end"] = "start"
    bold: bool = False
    colour: str = "#000000"


@dataclass(frozen=True)
class Place:
    """Where a state is on the sheet.

    Attributes
    ----------
    ruler, contrast : int
        The ruler on the sheet, and the position of the class among those other than the reference.
    given : tuple of int
        The states of the other features; the first of several with the same line.
    state : int
    x, y : float
        In millimetres.
    """

    ruler: int
    contrast: int
    given: tuple[int, ...]
    state: int
    x: float
    y: float


@dataclass(eq=False)
class Sheet:
    """A nomogram on one sheet.

    Attributes
    ----------
    system : PointSystem
        The points, without what is left out.
    marks : list of Stroke, Dot and Text
        What is drawn.
    places : list of Place
        Where the states are.
    totals : (low, high)
        The total points at the ends of the axis of totals.
    outcomes : list of list of (value, x)
        For every outcome axis, its marks: probabilities, or odds against the reference, and where they are.
    total_y, outcome_y : float and list of float
        Heights of the axes.
    cut_off : bool
        Whether some totals are beyond the ends of the axis.
    dotted : bool
        Whether a ruler shows cut points instead of the names of intervals.
    height : float
        Height of what is drawn, in millimetres.
    """

    system: PointSystem
    marks: list[Stroke | Dot | Text] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    totals: tuple[float, float] = (0.0, 1.0)
    total_y: float = 0.0
    outcome_y: list[float] = field(default_factory=list)
    outcomes: list[list[tuple[float, float]]] = field(default_factory=list)
    cut_off: bool = False
    dotted: bool = False
    height: float = 0.0

    def at_points(self, points: float) -> float:
        """Return where a number of points is on the scale above, in millimetres."""
        return LEFT + points * (RIGHT - LEFT) / MOST_POINTS

    def at_total(self, total: float) -> float:
        """Return where a total is on its axis."""
        low, high = self.totals
        return LEFT + (total - low) * (RIGHT - LEFT) / (high - low)

    def svg(self) -> Markup:
        """Return the sheet as SVG of the size of the paper; places have the attribute ``data-place``."""
        parts = [element("rect", width=f"{PAPER[0]:g}", height=f"{PAPER[1]:g}", fill="#ffffff")]
        parts += [_svg_of(mark) for mark in self.marks]
        parts += [
            element("circle", cx=at.x, cy=at.y, r="0.05", fill="none", data_place=_name_of(at)) for at in self.places
        ]
        title = "Nomogram: points of every feature, their total, and the probability"
        return element(
            "svg",
            element("title", title),
            *parts,
            viewBox=f"0 0 {PAPER[0]:g} {PAPER[1]:g}",
            role="img",
            aria_label=title,
            class_="nomogram",
            font_family="Helvetica, Arial, 'DejaVu Sans', sans-serif",
        )


def _name_of(at: Place) -> str:
    return ",".join(map(str, (at.ruler, at.contrast, at.state, *at.given)))


def _svg_of(mark: Stroke | Dot | Text) -> Markup:
    if isinstance(mark, Stroke):
        where = {"x1": mark.x1, "y1": mark.y1, "x2": mark.x2, "y2": mark.y2}
        return element("line", **where, stroke=mark.colour, stroke_width=f"{mark.width:g}")
    if isinstance(mark, Dot):
        how = {"fill": mark.colour if mark.filled else "#ffffff", "stroke": mark.colour, "stroke_width": "0.2"}
        return element("circle", cx=mark.x, cy=mark.y, r=mark.radius, **how)
    return element(
        "text",
        mark.text,
        x=mark.x,
        y=mark.y,
        font_size=_millimetres(mark.size),
        text_anchor=None if mark.anchor == "start" else mark.anchor,
        font_weight="bold" if mark.bold else None,
        fill=mark.colour,
        paint_order="stroke",
        stroke="#ffffff",
        stroke_width="0.6",
        stroke_linejoin="round",
    )


def _millimetres(points: float) -> float:
    return points * 25.4 / 72


def _width(text: str, size: float = SMALL) -> float:
    return inches(len(text), size) * 25.4


def state_texts(vocabulary: Vocabulary, cut_points: Mapping[Hashable, Cuts], name: Hashable) -> list[str]:
    """Return the states of a feature as a reader needs them: intervals as ``≤ 3``, ``3–5`` and ``> 5``."""
    states = vocabulary.states[name]
    if name not in cut_points or not len(cut_points[name]):
        return [str(state) for state in states]
    ends = cut_texts(cut_points[name], vocabulary.quantities.get(name), least=4)
    return [_interval(ends, k, k) for k in range(len(ends) + 1)] + [str(state) for state in states[len(ends) + 1 :]]


def _interval(ends: Sequence[str], first: int, last: int) -> str:
    """Return the text of the union of neighbouring intervals."""
    if first == 0 and last == len(ends):
        return "any"
    if first == 0:
        return f"≤ {ends[last]}"
    if last == len(ends):
        return f"> {ends[first - 1]}"
    low, high = ends[first - 1], ends[last]
    return f"{low} to {high}" if low.startswith("-") or high.startswith("-") else f"{low}–{high}"


@dataclass(frozen=True, eq=False)
class _Group:
    """States at the same points."""

    states: list[int]
    points: float
    text: str


class _Names:
    """How the states of features are written."""

    def __init__(self, vocabulary: Vocabulary, cut_points: Mapping[Hashable, Cuts]) -> None:
        self.vocabulary, self.cut_points = vocabulary, cut_points

    def n_intervals(self, name: Hashable) -> int:
        return len(self.cut_points[name]) + 1 if name in self.cut_points else 0

    def ends(self, name: Hashable, least: int = 4) -> list[str]:
        return cut_texts(self.cut_points[name], self.vocabulary.quantities.get(name), least)

    def joined(self, name: Hashable, states: Sequence[int]) -> str:
        """Return the text of several states together."""
        n, parts = self.n_intervals(name), []
        texts = state_texts(self.vocabulary, self.cut_points, name)
        runs: list[list[int]] = []
        for state in states:
            if runs and state < n and state == runs[-1][-1] + 1:
                runs[-1].append(state)
            else:
                runs.append([state])
        for run in runs:
            parts.append(_interval(self.ends(name), run[0], run[-1]) if run[0] < n else texts[run[0]])
        return ", ".join(parts)

    def groups(self, name: Hashable, values: Floats, tolerance: float) -> list[list[int]]:
        """Return the states whose values, (states, ...), are the same: neighbours, or any without intervals."""
        n, found = self.n_intervals(name), list[list[int]]()
        for state in range(len(values)):
            candidates = found[-1:] if 0 < state < n else [] if state < max(n, 1) else found
            same = [of for of in candidates if np.abs(values[of[0]] - values[state]).max() <= tolerance]
            same = [of for of in same if (of[0] < n) == (state < n)]
            if same:
                same[0].append(state)
            else:
                found.append([state])
        return found

    def given(self, ruler: Ruler, cells: Sequence[tuple[int, ...]]) -> str:
        """Return the text of a line: the states of the other features for which it holds."""
        parts = []
        for axis, name in enumerate(ruler.given):
            states = sorted({cell[axis] for cell in cells})
            if len(states) < ruler.points.shape[1 + axis]:
                parts.append(f"{name}: {self.joined(name, states)}")
        return "; ".join(parts)


def sheet_of(
    system: PointSystem,
    cut_points: Mapping[Hashable, Cuts],
    *,
    most: int | None = None,
    title: str = "",
) -> Sheet:
    """Return a nomogram on one sheet of A4.

    If it would not fit, what is least important is left out, and a note says what: features, and two-way tables. What
    is less important but smaller may then stay.

    Parameters
    ----------
    system : PointSystem
    cut_points : mapping
        Cut points of the features that were cut.
    most : int, optional
        Maximum number of features.
    title : str
        What is written above; by default, the class.
    """
    names = _Names(system.source.vocabulary, cut_points)
    order = ordered_by_importance(system)
    too_large = [of.features for of in system.corrections if not _fits(of, names, len(system.constant))]
    singles = [features for features in order if len(features) == 1]
    if most is not None and most < len(singles):
        too_large += singles[: len(singles) - most]
    order = [features for features in order if features not in too_large]

    def made(left_out: Sequence[tuple[Hashable, ...]]) -> Sheet:
        return _laid_out(system.without([*too_large, *left_out]), names, title, system)

    def fits(sheet: Sheet) -> bool:
        return sheet.height <= PAPER[1] - MARGIN

    fewest = bisect_left(range(len(order)), True, key=lambda n: fits(made(order[:n])))
    gone = order[:fewest]
    found = made(gone)
    for features in gone[::-1][1 : 1 + TRIED_AGAIN]:  # smaller ones may fit where a more important one does not
        others = [of for of in gone if of != features]
        if not any((name,) in others for name in features) and fits(tried := made(others)):
            gone, found = others, tried
    return found


def _laid_out(system: PointSystem, names: _Names, title: str, whole: PointSystem) -> Sheet:
    """Return a sheet, which may be too high."""
    sheet = Sheet(system)
    vocabulary = system.source.vocabulary
    several = len(system.constant) > 1
    others = [str(system.classes[k]) for k in system.compared]
    reference = str(system.classes[system.reference])
    y = MARGIN + 2
    what = f"odds of every class against {reference}" if several else f"probability of {others[0]}"
    title = title or f"{vocabulary.class_name}: {what}"
    sheet.marks.append(Text(MARGIN, y, shortened(title, 70), LARGE, bold=True))
    for line in _instructions(several, shortened(reference, 30), bool(system.corrections)):
        y += 3.6
        sheet.marks.append(Text(MARGIN, y, line, 7.0, colour="#333333"))
    y = _points_axis(sheet, y + 9)
    top = y
    for place, ruler in enumerate(system.rulers):
        y = _ruler(sheet, names, place, ruler, y, others if several else [""])
    bottom = y
    sheet.marks[:0] = [
        Stroke(x, top - 1, x, bottom, 0.1, PALE) for x in (sheet.at_points(10.0 * k) for k in range(11))
    ]
    if system.corrections:
        y = _tables(sheet, names, y + 2, others if several else [""])
    y = _outcome_axes(sheet, y + 7, others, reference)
    y += 2
    for line in _notes(sheet, whole):
        y += 3.3
        sheet.marks.append(Text(MARGIN, y, line, SMALL, colour="#333333"))
    sheet.height = y
    return sheet


def _instructions(several: bool, reference: str, tables: bool) -> list[str]:
    also = ", and in the tables," if tables else ""
    if not several:
        return [
            f"For every feature, find the value on its ruler{also} and read off the points on the scale above. Add "
            "up all points,",
            "find the sum on the axis of total points, and read off the probability below it.",
        ]
    return [
        f"For every class, find the value of every feature on the ruler of that class{also} and read off the points "
        "on the scale above. Add them up,",
        f"find the sum on the axis of total points, and read off the odds of the class against {reference} "
        "below it. The probability of the class",
        f"is its odds divided by 1 + the sum of the odds of all these classes; for {reference}, it is 1 divided by "
        "that.",
    ]


def _points_axis(sheet: Sheet, y: float) -> float:
    sheet.marks.append(Text(MARGIN, y + 1, "Points", NORMAL, bold=True))
    sheet.marks.append(Stroke(LEFT, y, RIGHT, y, 0.3))
    for points in range(101):
        x = sheet.at_points(points)
        long = points % 10 == 0
        length = 2.2 if long else 1.5 if points % 5 == 0 else 0.8
        sheet.marks.append(Stroke(x, y, x, y - length, 0.25 if long else 0.12))
        if long:
            sheet.marks.append(Text(x, y - 2.8, f"{points}", 7.0, "middle"))
    return y + 3


def _ruler(sheet: Sheet, names: _Names, place: int, ruler: Ruler, y: float, contrasts: Sequence[str]) -> float:
    """Draw a ruler with all its lines, and return where the next one begins."""
    lines = ruler.lines(1e-6)
    several = len(lines) > 1 or len(contrasts) > 1
    wrapped = label_lines([ruler.feature], int((LEFT - MARGIN - 3) / _width("x", NORMAL)))[0].split("\n")
    if several:
        text = shortened(ruler.feature, 60)
        y += 4.2
        sheet.marks.append(Text(MARGIN, y, text, NORMAL, bold=True))
    for cells in lines:
        for contrast, label in enumerate(contrasts):
            colour = COLOURS[contrast % len(COLOURS)] if label else "#000000"
            values = ruler.line(cells[0])[:, contrast]
            unknown = None if ruler.unknown is None else float(ruler.unknown[*cells[0], contrast])
            line = _Line(sheet, names, ruler.feature, values, unknown, colour)
            base = y + line.above
            if not several:
                base = max(base, y + 3.4)
                start = base + 1 - 1.6 * (len(wrapped) - 1)
                for k, text in enumerate(wrapped):
                    sheet.marks.append(Text(MARGIN, start + 3.2 * k, text, NORMAL, bold=True))
            else:
                parts = [names.given(ruler, cells), label]
                for text, tint in zip(parts, ("#000000", colour), strict=True):
                    if text:
                        wide = shortened(text, 32 if not all(parts) else 16)
                        x = LEFT - 3 if text == parts[1] or not parts[1] else MARGIN + 2
                        anchor: Any = "end" if x > MARGIN + 2 else "start"
                        sheet.marks.append(Text(x, base + 0.8, wide, SMALL, anchor, colour=tint))
            line.draw(base, place, contrast, cells[0])
            y = base + line.below
    return y + 0.8


class _Line:
    """One line of a ruler: how much room its labels take, and how it is drawn."""

    def __init__(
        self, sheet: Sheet, names: _Names, feature: Hashable, values: Floats, unknown: float | None, colour: str
    ) -> None:
        self.sheet, self.names, self.feature, self.colour = sheet, names, feature, colour
        self.values, self.unknown = values, unknown
        of_points = names.groups(feature, values[:, None], 1e-6)
        self.groups = [_Group(of, float(values[of[0]]), names.joined(feature, of)) for of in of_points]
        self.n_intervals = names.n_intervals(feature)
        self.runs = self._runs() if self._dense() else []
        labelled = [of for of in self.groups if not self.runs or of.states[0] >= self.n_intervals]
        self.rows = self._rows(labelled)
        self.leaders = len(self.rows) > 1 or not self._level(self.rows[0] if self.rows else [])
        n_above, n_below = (len(self.rows) + 1) // 2, len(self.rows) // 2
        first = LEADER if self.leaders else 1.4
        self.above = first + STEP * n_above
        self.below = first + STEP * n_below if n_below else 1.2
        if self.runs:
            self.above = 1.4 + STEP
            self.below = LANE * (len(self.runs) - 1) + 1.2 + (LEADER + STEP) * bool(labelled)
        elif unknown is not None and not n_below:
            self.below = 3.4

    def _fitting(self, n_rows: int, labelled: Sequence[_Group], most: int) -> bool:
        room = EDGE - LEFT + 8
        texts = shortened_apart([of.text for of in labelled], most)
        return all(sum(_width(text) + 1.2 for text in texts[k::n_rows]) <= room for k in range(n_rows))

    def _dense(self) -> bool:
        """Whether the ruler shows cut points, because the names of its intervals do not fit above it."""
        intervals = [of for of in self.groups if of.states[0] < self.n_intervals]
        return len(intervals) >= FEWEST_DENSE and len(self._runs()) <= MOST_RUNS and not self._spread_well(intervals)

    def _spread_well(self, groups: Sequence[_Group]) -> bool:
        """Whether names of intervals are near their ticks, in one row."""
        if not self._fitting(1, groups, MOST_CHARACTERS):
            return False
        spots = self._spots(sorted(groups, key=lambda of: of.points), [of.text for of in groups])
        return max(abs(x - self.sheet.at_points(of.points)) for of, x, _ in spots) < 12

    def _runs(self) -> list[list[_Group]]:
        """Return the intervals in rising and falling runs; each but the first begins with the end of another."""
        intervals = [of for of in self.groups if of.states[0] < self.n_intervals]
        runs: list[list[_Group]] = [intervals[:1]]
        rising: bool | None = None
        for one, other in pairwise(intervals):
            change = other.points - one.points
            if rising is not None and abs(change) > SMALL_TURN and (change > 0) != rising:
                runs.append([one])
            if abs(change) > SMALL_TURN:
                rising = change > 0
            runs[-1].append(other)
        return runs

    def _rows(self, labelled: Sequence[_Group]) -> list[list[tuple[_Group, float, str]]]:
        """Return rows of labels, each with its group, its place and its text."""
        ordered = sorted(labelled, key=lambda of: of.points)
        if not ordered:
            return []
        for most in (MOST_CHARACTERS, 14, 9):
            n_rows = next((n for n in range(1, MOST_ROWS_OF_LABELS + 1) if self._fitting(n, ordered, most)), None)
            if n_rows is not None:
                break
        else:
            n_rows = next(n for n in range(1, len(ordered) + 1) if self._fitting(n, ordered, most))
        texts = dict(zip(map(id, ordered), shortened_apart([of.text for of in ordered], most), strict=True))
        return [self._spots(ordered[k::n_rows], [texts[id(of)] for of in ordered[k::n_rows]]) for k in range(n_rows)]

    def _spots(self, groups: Sequence[_Group], texts: Sequence[str]) -> list[tuple[_Group, float, str]]:
        """Return where labels stand so that none overlaps another, each as near to its tick as possible."""
        ticks_at = [self.sheet.at_points(of.points) for of in groups]
        widths = [_width(text) + 1.2 for text in texts]
        offsets = np.concatenate([[0.0], np.cumsum([(a + b) / 2 for a, b in pairwise(widths)])])
        low = LEFT - 8 + widths[0] / 2
        high = EDGE - widths[-1] / 2 - offsets[-1]
        starts = np.clip(_increasing(np.array(ticks_at) - offsets), low, max(low, high))
        return list(zip(groups, (starts + offsets).tolist(), texts, strict=True))

    def _level(self, row: Sequence[tuple[_Group, float, str]]) -> bool:
        return all(abs(x - self.sheet.at_points(of.points)) < 0.8 for of, x, _ in row)

    def draw(self, y: float, ruler: int, contrast: int, given: tuple[int, ...]) -> None:
        """Draw the line at a height, and note where its states are."""
        marks, at = self.sheet.marks, self.sheet.at_points
        heights = dict.fromkeys((state for of in self.groups for state in of.states), y)
        for lane, run in enumerate(self.runs):
            own = y + LANE * lane
            for of in run[1 if lane else 0 :]:
                heights |= dict.fromkeys(of.states, own)
            self._draw_run(run, own)
        shown = [of for of in self.groups if not self.runs or of.states[0] >= self.n_intervals]
        if shown and not self.runs:
            ends = [at(of.points) for of in shown]
            marks.append(Stroke(min(ends), y, max(ends), y, 0.3, self.colour))
        last = y + LANE * max(len(self.runs) - 1, 0)
        for k, row in enumerate(self.rows):
            up = k % 2 == 0 and not self.runs
            for of, x, text in row:
                tick, height = at(of.points), y if not self.runs else last
                away = (LEADER if self.leaders or self.runs else 1.4) + STEP * (k // 2)
                end = height - away if up else height + away
                marks.append(Stroke(tick, height - 1.0, tick, height + 1.0, 0.3, self.colour))
                if self.leaders or self.runs:
                    marks.append(Stroke(tick, height - 1.0 if up else height + 1.0, x, end, 0.1, GREY))
                marks.append(Text(x, end if up else end + 2.0, text, SMALL, "middle"))
                if self.runs:
                    heights |= dict.fromkeys(of.states, height)
        if self.unknown is not None:
            x, lane = at(self.unknown), max(range(len(self.runs)), key=self._span, default=0)
            marks.append(Dot(x, y + LANE * lane, 0.6, self.colour, filled=False))
            marks.append(Text(x, y + LANE * lane + 2.9, "?", SMALL, "middle", colour=GREY))
        for state, value in enumerate(self.values.tolist()):
            self.sheet.places.append(Place(ruler, contrast, given, state, at(value), heights[state]))

    def _span(self, lane: int) -> float:
        """Return the points between the ends of a run."""
        return float(np.ptp([of.points for of in self.runs[lane]]))

    def _draw_run(self, run: Sequence[_Group], y: float) -> None:
        """Draw intervals as dots, and the cut points between them as ticks, some of them with their numbers."""
        marks, at = self.sheet.marks, self.sheet.at_points
        spots = [at(of.points) for of in run]
        marks.append(Stroke(min(spots), y, max(spots), y, 0.3, self.colour))
        marks += [Dot(x, y, 0.35, self.colour) for x in spots]
        ends = self.names.ends(self.feature, least=3)
        self.sheet.dotted = True
        taken: list[tuple[float, float]] = []
        cuts = [
            ((a + b) / 2, ends[other.states[0] - 1]) for (a, b), other in zip(pairwise(spots), run[1:], strict=True)
        ]
        for x, _ in cuts:
            marks.append(Stroke(x, y - 0.9, x, y, 0.15, self.colour))
        for k in _halving(len(cuts)):
            x, text = cuts[k]
            half = (_width(text) + 1.0) / 2
            if all(x + half <= low or x - half >= high for low, high in taken):
                taken.append((x - half, x + half))
                marks.append(Stroke(x, y - 1.3, x, y, 0.25, self.colour))
                marks.append(Text(x, y - 1.6, text, SMALL, "middle"))


def _increasing(values: Floats) -> Floats:
    """Return the increasing sequence with the least sum of squared differences, by pooling adjacent violators."""
    pools: list[tuple[float, int]] = []
    for value in values.tolist():
        mean, size = value, 1
        while pools and pools[-1][0] >= mean:
            other, n = pools.pop()
            mean, size = (mean * size + other * n) / (size + n), size + n
        pools.append((mean, size))
    return np.repeat([mean for mean, _ in pools], [size for _, size in pools])


def _halving(n: int) -> list[int]:
    """Return the numbers below n: the ends first, then the middle, then the middles of both halves, and so on."""
    found = dict.fromkeys([0, n - 1][: max(n, 0)] if n else [])
    parts = 1
    while len(found) < n:
        parts *= 2
        found |= dict.fromkeys(round(k * (n - 1) / parts) for k in range(1, parts, 2))
    return [k for k in found if 0 <= k < n]


# ---- two-way tables


@dataclass(frozen=True, eq=False)
class _Table:
    """A two-way table of points: titles, names of rows and columns, and cells."""

    title: str
    row_names: list[str]
    column_names: list[str]
    cells: Floats


def _tables_of(correction: Correction, names: _Names, contrasts: Sequence[str]) -> list[_Table]:
    """Return the tables of a correction, one for every class; the longer side is in the rows."""
    first, *others = correction.features
    points = correction.points
    rows = names.groups(first, points.reshape(len(points), -1), 0.05)
    by_column = np.moveaxis(points, 0, -2).reshape(-1, points.shape[0] * points.shape[-1])
    shape = points.shape[1:-1]
    columns: list[list[tuple[int, ...]]]
    if len(others) == 1:
        columns = [[(k,) for k in of] for of in names.groups(others[0], by_column, 0.05)]
    else:
        columns = [[cell] for cell in np.ndindex(shape)]
    row_names = [names.joined(first, of) for of in rows]
    column_names = []
    for of in columns:
        parts = [names.joined(name, sorted({cell[axis] for cell in of})) for axis, name in enumerate(others)]
        column_names.append("; ".join(parts))
    found = []
    for contrast, label in enumerate(contrasts):
        cells = np.array([[points[of[0], *column[0], contrast] for column in columns] for of in rows])
        along, across = str(first), ", ".join(map(str, others))
        names_of = row_names, column_names
        if len(column_names) > len(row_names):
            cells, along, across, names_of = cells.T, across, along, names_of[::-1]
        title = f"{along} \N{MULTIPLICATION SIGN} {across}" + (f": {label}" if label else "")
        found.append(_Table(title, *names_of, cells))
    return found


def _fits(correction: Correction, names: _Names, n_contrasts: int) -> bool:
    """Whether the tables of a correction are small enough for a sheet."""
    table = _tables_of(correction, names, [""] * n_contrasts)[0]
    return len(table.row_names) <= TABLE_ROWS and len(table.column_names) <= TABLE_COLUMNS


def _tables(sheet: Sheet, names: _Names, y: float, contrasts: Sequence[str]) -> float:
    """Draw all two-way tables side by side, and return where they end."""
    y += 3.5
    sheet.marks.append(Text(MARGIN, y, "Points to add or subtract for two features together", NORMAL, bold=True))
    x, deepest = MARGIN, y
    start = y + 4.5
    for correction in sheet.system.corrections:
        for table in _tables_of(correction, names, contrasts):
            most = max((_width(name) for name in table.row_names), default=0.0) + 2
            left = min(most, ROW_LABEL)
            width = max(left + COLUMN_WIDTH * len(table.column_names), min(_width(table.title, 7.0) + 2, 80.0))
            if x > MARGIN and x + width > PAPER[0] - MARGIN:
                x, start = MARGIN, deepest + 5.5
            deepest = max(deepest, _draw_table(sheet, table, x, start, left))
            x += width + 6
    return deepest + 1


def _draw_table(sheet: Sheet, table: _Table, x: float, y: float, left: float) -> float:
    marks = sheet.marks
    marks.append(Text(x, y, shortened(table.title, 60), 7.0, bold=True))
    y += 3.4
    columns = _headings(table.column_names)
    deepest = max(map(len, columns))
    rows = shortened_apart(table.row_names, max(int(left / _width("x")), 4))
    right = x + left + COLUMN_WIDTH * len(columns)
    for k, lines in enumerate(columns):
        for row, text in enumerate(lines, deepest - len(lines)):
            at = x + left + COLUMN_WIDTH * (k + 1) - 1
            marks.append(Text(at, y + 2.3 * row, text, TINY, "end", colour="#333333"))
    y += 2.3 * (deepest - 1)
    marks.append(Stroke(x, y + 1, right, y + 1, 0.2))
    for text, cells in zip(rows, table.cells.tolist(), strict=True):
        y += ROW_HEIGHT
        marks.append(Text(x, y, text, SMALL))
        for k, value in enumerate(cells):
            shown = f"{value:+.1f}".replace("-", "\N{MINUS SIGN}") if abs(value) >= 0.05 else "0"
            marks.append(Text(x + left + COLUMN_WIDTH * (k + 1) - 1, y, shown, SMALL, "end"))
        marks.append(Stroke(x, y + 0.9, right, y + 0.9, 0.08, PALE))
    return y


def _headings(names: Sequence[str]) -> list[list[str]]:
    """Return the names of columns in lines; long words are cut, unless two names would then look alike."""
    most = int(COLUMN_WIDTH / _width("x", TINY))
    cut = [" ".join(word if len(word) <= most else f"{word[: most - 1]}." for word in name.split()) for name in names]
    lines = [textwrap.wrap(name, most) for name in cut]
    if len(set(cut)) == len(cut) and all(len(of) <= MOST_LINES_OF_HEADING for of in lines):
        return lines
    return [name.split("\n") for name in label_lines(names, most, MOST_LINES_OF_HEADING)]


# ---- totals, and what follows from them


def _outcome_axes(sheet: Sheet, y: float, others: Sequence[str], reference: str) -> float:
    system = sheet.system
    cells = [of.points.reshape(-1, len(others)) for of in system.parts]
    high = sum((of.max(axis=0) for of in cells), np.zeros(len(others)))
    low = sum((of.min(axis=0) for of in cells), np.zeros(len(others)))
    ends = (np.array([[-FARTHEST], [FARTHEST]]) - system.constant) * system.points_per_nat
    bottom, top = max(float(low.min()), float(ends[0].min())), float(high.max())
    if len(others) == 1:  # of several classes, the highest odds must still be compared with each other
        top = min(top, float(ends[1, 0]))
    sheet.totals = (bottom, top) if top > bottom else (bottom, bottom + 1)
    sheet.cut_off = bottom > low.min() or top < high.max()
    marks, at = sheet.marks, sheet.at_total
    marks.append(Text(MARGIN, y + 1, "Total points", NORMAL, bold=True))
    marks.append(Stroke(LEFT, y, RIGHT, y, 0.3))
    sheet.total_y = y
    labelled = ticks(*sheet.totals, 12)
    step = labelled[1] - labelled[0] if len(labelled) > 1 else 1.0
    for value in np.arange(math.ceil(bottom / step * 10), math.floor(top / step * 10) + 1) * step / 10:
        marks.append(Stroke(at(float(value)), y, at(float(value)), y - 1.0, 0.12))
    for value in labelled:
        marks.append(Stroke(at(value), y, at(value), y - 2.0, 0.25))
        marks.append(Text(at(value), y - 2.6, f"{value:g}".replace("-", "\N{MINUS SIGN}"), 7.0, "middle"))
    for contrast, label in enumerate(others):
        y += 8.5 if contrast == 0 else 7.5
        several = len(others) > 1
        colour = COLOURS[contrast % len(COLOURS)] if several else "#000000"
        text = f"Odds of {label} : {reference}" if several else f"Probability of {label}"
        for k, line in enumerate(label_lines([text], 27)[0].split("\n")):
            marks.append(Text(MARGIN, y + 0.4 + 3.0 * k, line, NORMAL, bold=True, colour=colour))
        marks.append(Stroke(LEFT, y, RIGHT, y, 0.3, colour))
        sheet.outcome_y.append(y)
        sheet.outcomes.append(_outcome_marks(sheet, contrast, y, several, colour))
        y += 1.5
    return y + 2


def _outcome_marks(sheet: Sheet, contrast: int, y: float, several: bool, colour: str) -> list[tuple[float, float]]:
    """Draw the marks of an outcome axis; those that are labelled are the most telling ones that fit."""
    system, found = sheet.system, []
    values = ODDS if several else _fine_probabilities()
    taken: list[tuple[float, float]] = []
    important = {value: rank for rank, value in enumerate((0.5, 0.1, 0.9, 0.01, 0.99, 0.2, 0.8, 0.3, 0.7, 0.4, 0.6))}
    order = sorted(values, key=lambda p: (important.get(p, 99), -(math.log10(p) % 1 < 1e-9), p))
    for value in order:
        nats = math.log(value) if several else math.log(value / (1 - value))
        total = (nats - system.constant[contrast]) * system.points_per_nat
        if not sheet.totals[0] <= total <= sheet.totals[1]:
            continue
        x = sheet.at_total(total)
        found.append((value, x))
        labelled = value in PROBABILITIES or several
        text = f"{value:g}" if value < 1e5 else _power_text(value)
        half = (_width(text, 7.0) + 1.0) / 2
        fits = labelled and all(x + half <= low or x - half >= high for low, high in taken)
        sheet.marks.append(Stroke(x, y, x, y + (1.8 if fits else 0.9), 0.25 if fits else 0.12, colour))
        if fits:
            taken.append((x - half, x + half))
            sheet.marks.append(Text(x, y + 4.4, text, 7.0, "middle"))
    return sorted(found)


def _power_text(value: float) -> str:
    """Return a large number with one digit, such as ``2·10⁶``."""
    digit, power = f"{value:.0e}".split("e+")
    raised = str(int(power)).translate(SUPERSCRIPTS)
    return f"10{raised}" if digit == "1" else f"{digit}\u00b710{raised}"


def _fine_probabilities() -> list[float]:
    """Return the probabilities that have a tick."""
    whole = [k / 100 for k in range(1, 100)]
    return sorted({*PROBABILITIES, *whole, *(k / 1000 for k in range(1, 10)), *(1 - k / 1000 for k in range(1, 10))})


def _notes(sheet: Sheet, whole: PointSystem) -> list[str]:
    """Return what a reader must know about the sheet."""
    system, notes = sheet.system, []
    if sheet.dotted:
        notes.append(
            "On rulers with dots, a dot is an interval, and the ticks next to it are its cut points, some of which "
            "are written above them. Where the order of values turns, the ruler goes on in the line below."
        )
    if sheet.cut_off:
        several = len(system.constant) > 1
        notes.append(
            "If the total is below all totals on the axis, the odds are below 0.001, and count as 0."
            if several
            else "If the total is beyond an end of its axis, the probability is below 0.001 or above 0.999."
        )
    if any(ruler.unknown is not None for ruler in system.rulers):
        notes.append("? is the place of a value that is not known; without it, the value is needed.")
    gone = [features[0] for features in system.left_out if len(features) == 1]
    if gone:
        spans = {ruler.feature: ruler.span for ruler in whole.rulers}
        shown = [f"{name} (up to {spans[name]:.0f} points)" for name in reversed(gone)]
        text = f"Left out, and counted with their mean points: {', '.join(shown[:12])}"
        notes.append(text + (f", and {counted(len(shown) - 12, 'more feature')}." if len(shown) > 12 else "."))
    pairs = [features for features in system.left_out if len(features) > 1]
    if pairs:
        sizes = {of.features: float(np.abs(of.points).max()) for of in whole.corrections}
        text = ", ".join(f"{_crossed(of)} (up to {sizes[of]:.1f} points)" for of in pairs[:6])
        more = f", and {len(pairs) - 6} more" if len(pairs) > 6 else ""
        notes.append(f"Interactions that are left out: {text}{more}.")
    if system.left_out:
        typical = left_out_points(whole, system.left_out)
        notes.append(f"What is left out typically changes the total by {typical:.1f} points (standard deviation).")
    return [line for note in notes for line in _wrapped(note)]


def _crossed(names: Sequence[Hashable]) -> str:
    return " \N{MULTIPLICATION SIGN} ".join(map(str, names))


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, int((PAPER[0] - 2 * MARGIN) / _width("x") * 1.1))
