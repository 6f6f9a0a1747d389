"""Pictures of networks: which nodes and arcs are drawn, where, and how strongly."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anbexact._runtime.cached import cached_property
from anbexact._runtime.units import counted
from anbexact.models.structure import Structure
from anbexact.show.svg.layout import LAYER_GAP, Arc, Layout, Point, layered
from anbexact.show.svg.markup import Markup, element, shortened_apart

MOST_FEATURES = 80
"""Maximum number of features of a network that is drawn automatically."""
MOST_CHARACTERS = 22
"""Most characters of a name in a picture; the whole name is in its tooltip."""
CHARACTER = 7.3
"""Width of a character, in pixels."""
NODE_HEIGHT = 28.0
"""Height of a node, in pixels."""
CLASS_PADDING = 22.0
"""Additional width of the class, whose name is bold and whose ends are round, in pixels."""
THINNEST, THICKEST = 1.0, 5.0
"""Widths of an arc of strength 0 and of the strongest arc, in pixels."""
MARGIN = 6.0
"""Space around a picture, in pixels."""

Strengths = Mapping[tuple[Hashable, Hashable], float]
"""Strengths of (parent, child) arcs, in nats per row; NaN where unknown."""


@dataclass(frozen=True, eq=False)
class Diagram:
    """A network, ready to be drawn.

    Attributes
    ----------
    names : tuple
        All variables: the features that are drawn, then the class, if there is one.
    class_name : Hashable or None
        The class; None if there is none.
    layout : Layout
        Positions of ``names``, and of ``arcs`` by indices into ``names``.
    sizes : tuple of (width, height)
        The sizes of the nodes.
    arcs : mapping of arc to float
        The arcs that are drawn, by positions in ``names``, each with its width.
    strengths : mapping of (parent, child) to float
        The strengths of arcs.
    implied : bool
        Whether the class is a parent of all features that have arcs, by arcs that are not drawn.
    unused : frozenset
        Features without any arc.
    """

    names: tuple[Hashable, ...]
    class_name: Hashable | None
    layout: Layout
    sizes: tuple[Point, ...]
    arcs: Mapping[Arc, float]
    strengths: Strengths
    implied: bool
    unused: frozenset[Hashable]

    def label(self, name: Hashable) -> str:
        """Return the text in a node."""
        return self._labels[name]

    @cached_property
    def _labels(self) -> Mapping[Hashable, str]:
        return _labels(self.names)

    @property
    def legend(self) -> str:
        """A description of the picture, in sentences."""
        sentences = []
        if self.implied:
            which = "every feature that is drawn with a solid line" if self.unused else "every feature"
            sentences.append(f"{self.class_name} is a parent of {which}; those arcs are not drawn.")
        if self.unused:
            what = "Variables" if self.class_name is None else "Features"
            sentences.append(f"{what} with a dashed line have no arc.")
        if any(math.isfinite(value) for value in self.strengths.values()) and self.arcs:
            sentences.append(
                "The width of an arc shows the conditional mutual information of its ends given the other parents."
            )
        sentences.append("Arcs show which variables are modelled as dependent; they are not causes.")
        return " ".join(sentences)


def diagram(structure: Structure, strengths: Strengths | None = None) -> Diagram:
    """Return a network ready to be drawn.

    If the class is a parent of every feature that has any arc, as in an augmented naive Bayes, its arcs are left out
    and it is placed at the top.

    Parameters
    ----------
    structure : Structure
        The network.
    strengths : mapping, optional
        The strengths of its arcs; by default, all arcs are equally wide.
    """
    class_name = structure.class_name
    touched = {name for edge in structure.edges for name in edge}
    unused = frozenset(name for name in structure.features if name not in touched)
    implied = False
    if class_name is not None:
        children = set(structure.children(class_name))
        implied = (
            not structure.parents[class_name] and bool(children) and children | unused == set(structure.features)
        )
    edges = structure.feature_edges if implied else structure.edges
    names = structure.features if class_name is None else (*structure.features, class_name)
    place = {name: k for k, name in enumerate(names)}
    labels = _labels(names)
    sizes = tuple(
        (_node_width(labels[name]) + (CLASS_PADDING if name == class_name else 0.0), NODE_HEIGHT) for name in names
    )
    arcs = [(place[parent], place[child]) for parent, child in edges]
    layout = _with_class_on_top(layered(sizes[:-1], arcs), sizes[-1]) if implied else layered(sizes, arcs)
    known = dict(strengths or {})
    return Diagram(names, class_name, layout, sizes, _widths(arcs, names, known), known, implied, unused)


def _labels(names: Sequence[Hashable]) -> dict[Hashable, str]:
    return dict(zip(names, shortened_apart(names, MOST_CHARACTERS), strict=True))


def _node_width(label: str) -> float:
    return max(44.0, CHARACTER * len(label) + 18.0)


def _with_class_on_top(layout: Layout, size: Point) -> Layout:
    """Return a layout of the features with the class in a row of its own above them."""
    below, width = size[1] + LAYER_GAP * 0.7, max(layout.width, size[0])
    right = (width - layout.width) / 2
    centres = (*((x + right, y + below) for x, y in layout.centres), (width / 2, size[1] / 2))
    routes = {arc: tuple((x + right, y + below) for x, y in points) for arc, points in layout.routes.items()}
    return Layout(centres, routes, width, layout.height + below)


def _widths(arcs: list[Arc], names: tuple[Hashable, ...], strengths: Strengths) -> dict[Arc, float]:
    """Return the widths of arcs, which grow with the square root of their strength."""
    found = {(p, c): strengths.get((names[p], names[c]), math.nan) for p, c in arcs}
    finite = [value for value in found.values() if math.isfinite(value)]
    most = max(finite, default=0.0)
    if most <= 0:
        return dict.fromkeys(arcs, 1.5)
    return {
        arc: THINNEST + (THICKEST - THINNEST) * math.sqrt(max(value, 0.0) / most) if math.isfinite(value) else 1.5
        for arc, value in found.items()
    }


def arc_end(start: Point, centre: Point, size: Point, gap: float = 1.0) -> Point:
    """Return where a line from a point to the middle of a node meets the node's border."""
    dx, dy = start[0] - centre[0], start[1] - centre[1]
    if dx == 0 and dy == 0:
        return centre
    reach = min(
        (size[0] / 2 + gap) / abs(dx) if dx else math.inf,
        (size[1] / 2 + gap) / abs(dy) if dy else math.inf,
        1.0,
    )
    return centre[0] + dx * reach, centre[1] + dy * reach


def route(drawn: Diagram, arc: Arc) -> tuple[Point, ...]:
    """Return the points of an arc, from border to border."""
    points = list(drawn.layout.routes[arc])
    points[0] = arc_end(points[1], points[0], drawn.sizes[arc[0]])
    points[-1] = arc_end(points[-2], points[-1], drawn.sizes[arc[1]], gap=2.0)
    return tuple(points)


def network_svg(drawn: Diagram) -> Markup:
    """Return a network as SVG in the colours of the text around it, so that it is legible on light and dark pages."""
    width, height = drawn.layout.width + 2 * MARGIN, drawn.layout.height + 2 * MARGIN
    body = [_arc(drawn, arc, line) for arc, line in drawn.arcs.items()]
    body += [_node(drawn, k, name) for k, name in enumerate(drawn.names)]
    n_arcs = len(drawn.arcs)
    what = f"Network of {drawn.class_name}: {counted(len(drawn.names) - 1, 'feature')}"
    if drawn.class_name is None:
        what = f"Network of {counted(len(drawn.names), 'variable')}"
    title = f"{what}, {counted(n_arcs, 'arc')} drawn"
    return element(
        "svg",
        element("title", title),
        element("g", *body, transform=f"translate({MARGIN:g} {MARGIN:g})"),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:.1f} {height:.1f}",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
        role="img",
        aria_label=title,
        class_="anbexact-network",
        style=f"max-width:100%;min-width:{min(width, max(0.7 * width, 280)):.0f}px;height:auto",
        font_family="system-ui, sans-serif",
        font_size="13",
        fill="currentColor",
    )


def _node(drawn: Diagram, k: int, name: Hashable) -> Markup:
    (x, y), (width, height) = drawn.layout.centres[k], drawn.sizes[k]
    is_class = drawn.class_name is not None and name == drawn.class_name
    unused = name in drawn.unused
    box = element(
        "rect",
        x=x - width / 2,
        y=y - height / 2,
        width=width,
        height=height,
        rx="14" if is_class else "5",
        fill="#2f7fd6" if is_class else "currentColor",
        fill_opacity="0.28" if is_class else "0.05",
        stroke="#2f7fd6" if is_class else "currentColor",
        stroke_opacity=None if is_class else "0.55",
        stroke_width="2" if is_class else "1",
        stroke_dasharray="4 3" if unused else None,
    )
    text = element(
        "text",
        drawn.label(name),
        x=x,
        y=y + 4.5,
        text_anchor="middle",
        font_weight="600" if is_class else None,
        fill_opacity="0.65" if unused else None,
    )
    what = f"{name} (the class)" if is_class else str(name)
    return element("g", element("title", what), box, text)


def _arc(drawn: Diagram, arc: Arc, line: float) -> Markup:
    points = route(drawn, arc)
    parent, child = (drawn.names[k] for k in arc)
    strength = drawn.strengths.get((parent, child), math.nan)
    worth = f": {strength:.4f} nats per row" if math.isfinite(strength) else ""
    faint = drawn.class_name in (parent, child) and len(drawn.arcs) > 12
    colour: dict[str, Any] = {"stroke": "currentColor", "stroke_opacity": "0.3" if faint else "0.62"}
    path = element("path", d=_curve(points), fill="none", stroke_width=line, stroke_linecap="butt", **colour)
    return element("g", element("title", f"{parent} → {child}{worth}"), path, _head(points, line, faint))


def _curve(points: tuple[Point, ...]) -> str:
    """Return the path through points, its bends rounded."""
    text = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for before, bend, after in zip(points[:-2], points[1:-1], points[2:], strict=True):
        start, end = _towards(bend, before), _towards(bend, after)
        text += f"L{start[0]:.1f} {start[1]:.1f}Q{bend[0]:.1f} {bend[1]:.1f} {end[0]:.1f} {end[1]:.1f}"
    return text + f"L{points[-1][0]:.1f} {points[-1][1]:.1f}"


def _towards(start: Point, end: Point, most: float = 24.0) -> Point:
    length = math.dist(start, end) or 1.0
    share = min(0.5, most / length)
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share


def _head(points: tuple[Point, ...], line: float, faint: bool) -> Markup:
    """Return the head of an arc, at its last point."""
    (x, y), before = points[-1], points[-2]
    length = math.dist((x, y), before) or 1.0
    ux, uy = (x - before[0]) / length, (y - before[1]) / length
    size = 5.0 + 1.1 * line
    left = (x - size * ux - 0.5 * size * uy, y - size * uy + 0.5 * size * ux)
    right = (x - size * ux + 0.5 * size * uy, y - size * uy - 0.5 * size * ux)
    corners = " ".join(f"{a:.1f},{b:.1f}" for a, b in ((x, y), left, right))
    return element("polygon", points=corners, fill="currentColor", fill_opacity="0.4" if faint else "0.75")


def figure(svg: Markup, caption: str) -> Markup:
    """Return a picture with its caption; a wide one scrolls."""
    return element(
        "figure",
        element("div", svg, class_="anbexact-scroll", tabindex="0", role="group", aria_label="picture, scrolls"),
        element("figcaption", caption),
        class_="anbexact-figure",
    )
