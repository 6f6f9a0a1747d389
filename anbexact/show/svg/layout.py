"""Where the nodes of a graph stand: layers with few crossings, isolated nodes in rows below."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

Point = tuple[float, float]
Arc = tuple[int, int]

GAP = 18.0
"""Least distance between two nodes of a layer, in pixels."""
LAYER_GAP = 46.0
"""Distance between two layers, in pixels."""
SWEEPS = 12
"""Passes over all layers, downwards and upwards in turn, that order the nodes, and as many that place them."""
WIDE = 900.0
"""Width of a page that a picture should fit, in pixels; rows of isolated nodes may have three quarters of it."""


@dataclass(frozen=True)
class Layout:
    """The places of nodes and arcs.

    Attributes
    ----------
    centres : tuple of (x, y)
        The middle of every node.
    routes : mapping of arc to points
        The points that an arc leads through, including the middles of its nodes.
    width, height : float
        The size of the whole.
    """

    centres: tuple[Point, ...]
    routes: Mapping[Arc, tuple[Point, ...]]
    width: float
    height: float

    def scale(self, width: float = WIDE) -> float:
        """Return the factor, 1 at most, that shrinks the picture to a width, and to two thirds of it in height."""
        return min(1.0, width / max(self.width, 1.0), width / 1.5 / max(self.height, 1.0))


def layered(sizes: Sequence[Point], arcs: Sequence[Arc]) -> Layout:
    """Return a layered layout of an acyclic graph, downwards or to the right, whichever shrinks less on a page.

    Layers are the longest paths from nodes without parents (Sugiyama, Tagawa and Toda, IEEE Transactions on Systems,
    Man, and Cybernetics 11, 1981); crossings are reduced by barycentres, and nodes stand as near to their neighbours
    as the order of the layer allows, in the sense of least squares.

    Parameters
    ----------
    sizes : sequence of (width, height)
        The size of every node.
    arcs : sequence of (parent, child)
        Positions in ``sizes``.
    """
    down = _layered(sizes, arcs)
    turned = _layered([(height, width) for width, height in sizes], arcs)
    right = Layout(
        tuple((y, x) for x, y in turned.centres),
        {arc: tuple((y, x) for x, y in points) for arc, points in turned.routes.items()},
        turned.height,
        turned.width,
    )
    best = down if down.scale() >= right.scale() or not arcs else right
    return _with_rows(best, sizes, _isolated(len(sizes), arcs))


def _isolated(n_nodes: int, arcs: Sequence[Arc]) -> list[int]:
    """Return the nodes without arcs."""
    joined = {node for arc in arcs for node in arc}
    return [node for node in range(n_nodes) if node not in joined]


def _layered(sizes: Sequence[Point], arcs: Sequence[Arc]) -> Layout:
    """Return the layers of the nodes that have arcs, components side by side; all other nodes stay at the origin."""
    centres: dict[int, Point] = {}
    routes: dict[Arc, tuple[Point, ...]] = {}
    left = height = 0.0
    for own in _components(arcs):
        part = _component(sizes, own)
        moved = {arc: tuple((x + left, y) for x, y in points) for arc, points in part.routes.items()}
        routes |= moved
        for (parent, child), points in moved.items():
            centres[parent], centres[child] = points[0], points[-1]
        left += part.width + 2 * GAP
        height = max(height, part.height)
    width = max(left - 2 * GAP, 0.0)
    return Layout(tuple(centres.get(node, (0.0, 0.0)) for node in range(len(sizes))), routes, width, height)


def _components(arcs: Sequence[Arc]) -> list[list[Arc]]:
    """Return the arcs of every connected component, the components by their first nodes."""
    group: dict[int, set[int]] = {}
    for arc in arcs:
        joined = set(arc).union(*(group[node] for node in arc if node in group))
        group.update(dict.fromkeys(joined, joined))
    found: dict[int, list[Arc]] = {}
    for arc in arcs:
        found.setdefault(min(group[arc[0]]), []).append(arc)
    return [found[first] for first in sorted(found)]


def _component(sizes: Sequence[Point], arcs: Sequence[Arc]) -> Layout:
    """Return the layers of a connected graph; nodes that are not part of it stay at the origin."""
    layer = _layers(len(sizes), arcs)
    joined = sorted({node for arc in arcs for node in arc}, key=lambda node: (layer[node], node))
    widths = [width for width, _ in sizes]
    chains: dict[Arc, list[int]] = {}
    rows: list[list[int]] = [[] for _ in range(1 + max(layer[node] for node in joined))]
    for node in joined:
        rows[layer[node]].append(node)
    for parent, child in arcs:
        chain = [parent]
        for depth in range(layer[parent] + 1, layer[child]):
            widths.append(2.0)  # a bend of a long arc
            chain.append(len(widths) - 1)
            rows[depth].append(chain[-1])
        chains[parent, child] = [*chain, child]
    links = [pair for chain in chains.values() for pair in itertools.pairwise(chain)]
    rows = _ordered(rows, links)
    across = _coordinates(rows, widths, links)
    heights = [max((sizes[node][1] for node in row if node < len(sizes)), default=0.0) for row in rows]
    depth_of: dict[int, float] = {}
    tall: dict[int, float] = {}
    top = 0.0
    for row, height in zip(rows, heights, strict=True):
        depth_of.update(dict.fromkeys(row, top + height / 2))
        tall.update(dict.fromkeys(row, height))
        top += height + LAYER_GAP
    places = {node: (across[node], depth_of[node]) for row in rows for node in row}
    right = max(across[node] + widths[node] / 2 for node in places)
    centres = tuple(places.get(node, (0.0, 0.0)) for node in range(len(sizes)))

    def points(node: int) -> list[Point]:
        """Return the points of a route at a node; at a bend, it leads past the nodes of the whole layer."""
        (x, y), half = places[node], tall[node] / 2
        return [(x, y)] if node < len(sizes) else [(x, y - half), (x, y + half)]

    routes = {arc: tuple(itertools.chain(*map(points, chain))) for arc, chain in chains.items()}
    return Layout(centres, routes, right, top - LAYER_GAP)


def _layers(n_nodes: int, arcs: Sequence[Arc]) -> list[int]:
    """Return the layer of every node: the longest path to it; a node without parents is just above its children."""
    layer = [0] * n_nodes
    for _ in range(n_nodes):
        changed = False
        for parent, child in arcs:
            if layer[child] <= layer[parent]:
                layer[child] = layer[parent] + 1
                changed = True
        if not changed:
            break
    children: dict[int, list[int]] = {}
    with_parents = {child for _, child in arcs}
    for parent, child in arcs:
        children.setdefault(parent, []).append(child)
    for node, below in children.items():
        if node not in with_parents:
            layer[node] = min(layer[child] for child in below) - 1
    return layer


def _ordered(rows: list[list[int]], links: Sequence[Arc]) -> list[list[int]]:
    """Return the nodes of every layer in an order with few crossings, by barycentres, in sweeps down and up."""
    above: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {}
    for upper, lower in links:
        above.setdefault(lower, []).append(upper)
        below.setdefault(upper, []).append(lower)
    best, fewest = [list(row) for row in rows], _crossings(rows, below)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        order = range(1, len(rows)) if down else range(len(rows) - 2, -1, -1)
        for depth in order:
            place = {node: k for k, node in enumerate(rows[depth - 1 if down else depth + 1])}
            near = above if down else below
            own = {node: k for k, node in enumerate(rows[depth])}
            rows[depth] = sorted(
                rows[depth],
                key=lambda node: (
                    fmean(place[other] for other in near[node]) if node in near else own[node],
                    own[node],
                ),
            )
        crossings = _crossings(rows, below)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return best


def _crossings(rows: Sequence[Sequence[int]], below: Mapping[int, Sequence[int]]) -> int:
    """Return how many pairs of links between neighbouring layers cross."""
    total = 0
    for upper, lower in itertools.pairwise(rows):
        place = {node: k for k, node in enumerate(lower)}
        seen: list[int] = []
        for node in upper:
            ends = sorted(place[child] for child in below.get(node, ()))
            total += sum(1 for end in ends for other in seen if other > end)
            seen += ends
    return total


def _coordinates(rows: Sequence[Sequence[int]], widths: Sequence[float], links: Sequence[Arc]) -> dict[int, float]:
    """Return the places of nodes within their layers, near their neighbours and without overlap, from 0 on."""
    neighbours: dict[int, list[int]] = {}
    for upper, lower in links:
        neighbours.setdefault(upper, []).append(lower)
        neighbours.setdefault(lower, []).append(upper)
    place: dict[int, float] = {}
    for row in rows:
        total = sum(widths[node] for node in row) + GAP * (len(row) - 1)
        left = -total / 2
        for node in row:
            place[node] = left + widths[node] / 2
            left += widths[node] + GAP
    for sweep in range(SWEEPS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            wanted = [
                fmean(place[other] for other in neighbours[node]) if node in neighbours else place[node]
                for node in row
            ]
            place.update(zip(row, _apart(wanted, [widths[node] for node in row]), strict=True))
    left = min(place[node] - widths[node] / 2 for node in place)
    return {node: x - left for node, x in place.items()}


def _apart(wanted: Sequence[float], widths: Sequence[float]) -> list[float]:
    """Return the places nearest to the wanted ones, in this order and without overlap (pooled adjacent violators)."""
    offsets = [0.0]
    for left, right in itertools.pairwise(widths):
        offsets.append(offsets[-1] + (left + right) / 2 + GAP)
    blocks: list[tuple[float, int]] = []  # mean, size
    for value in (place - offset for place, offset in zip(wanted, offsets, strict=True)):
        blocks.append((value, 1))
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            (mean, size), (other, more) = blocks[-2:]
            blocks[-2:] = [((mean * size + other * more) / (size + more), size + more)]
    places = [mean for mean, size in blocks for _ in range(size)]
    return [place + offset for place, offset in zip(places, offsets, strict=True)]


def _with_rows(layout: Layout, sizes: Sequence[Point], alone: Sequence[int]) -> Layout:
    """Return a layout with the nodes that have no arc in rows below it."""
    if not alone:
        return layout
    centres = list(layout.centres)
    room = max(layout.width, WIDE * 0.75)
    rows: list[list[int]] = [[]]
    used = 0.0
    for node in alone:
        if rows[-1] and used + sizes[node][0] > room:
            rows.append([])
            used = 0.0
        rows[-1].append(node)
        used += sizes[node][0] + GAP
    lengths = [sum(sizes[node][0] for node in row) + GAP * (len(row) - 1) for row in rows]
    width = max(layout.width, *lengths)
    top = layout.height + (LAYER_GAP if layout.height else 0.0)
    for row, length in zip(rows, lengths, strict=True):
        left, height = (width - length) / 2, max(sizes[node][1] for node in row)
        for node in row:
            centres[node] = (left + sizes[node][0] / 2, top + height / 2)
            left += sizes[node][0] + GAP
        top += height + GAP
    shift = (width - layout.width) / 2
    joined = set(range(len(sizes))) - set(alone)
    moved = tuple((x + shift, y) if node in joined else (x, y) for node, (x, y) in enumerate(centres))
    routes = {arc: tuple((x + shift, y) for x, y in points) for arc, points in layout.routes.items()}
    return Layout(moved, routes, width, top - GAP)
