"""Layouts by Graphviz, where its program ``dot`` is installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from math import dist

from anbexact.drawing.layout import Arc, Layout, Point, isolated, with_rows

INCH = 72.0
SECONDS = 5.0
"""Time limit of the program."""
STRAIGHT = 1.5
"""Points by which the middle of a line may stray from the straight one."""


def graphviz_layout(sizes: Sequence[Point], arcs: Sequence[Arc]) -> Layout | None:
    """Return a layout by ``dot``, downwards or to the right; None if it is not installed, fails or takes too long.

    Arguments are those of :func:`~anbexact.drawing.layout.layered`. The program sees numbers alone, no names.
    """
    program = shutil.which("dot")
    if program is None or not arcs:
        return None
    alone = isolated(len(sizes), arcs)
    layouts = [_run(program, sizes, arcs, direction) for direction in ("TB", "LR")]
    found = [layout for layout in layouts if layout is not None]
    best = max(found, key=Layout.scale, default=None)
    return None if best is None else with_rows(best, sizes, alone)


def _run(program: str, sizes: Sequence[Point], arcs: Sequence[Arc], direction: str) -> Layout | None:
    joined = {node for arc in arcs for node in arc}
    nodes = "".join(
        f'{k} [shape=box,fixedsize=true,label="",width={width / INCH:.4f},height={height / INCH:.4f}];'
        for k, (width, height) in enumerate(sizes)
        if k in joined
    )
    links = "".join(f"{parent}->{child};" for parent, child in arcs)
    source = f"digraph{{rankdir={direction};nodesep=0.2;ranksep=0.4;{nodes}{links}}}"
    try:
        done = subprocess.run(
            [program, "-Tplain"], input=source, capture_output=True, text=True, timeout=SECONDS, check=True
        )
        return _parsed(done.stdout, len(sizes))
    except (OSError, ValueError, IndexError, KeyError, subprocess.SubprocessError):
        return None


def _parsed(text: str, n_nodes: int) -> Layout:
    """Return the layout in the program's plain output: inches, upwards."""
    lines = [line.split() for line in text.splitlines()]
    width, height = (INCH * float(cell) for cell in lines[0][2:4])

    def point(x: str, y: str) -> Point:
        return INCH * float(x), height - INCH * float(y)

    centres = {int(line[1]): point(*line[2:4]) for line in lines if line[0] == "node"}
    routes = {}
    for line in lines:
        if line[0] == "edge":
            parent, child, n_points = (int(cell) for cell in line[1:4])
            points = [point(*line[4 + 2 * k : 6 + 2 * k]) for k in range(n_points)]
            routes[parent, child] = (centres[parent], *_through(points), centres[child])
    return Layout(tuple(centres.get(k, (0.0, 0.0)) for k in range(n_nodes)), routes, width, height)


def _through(points: Sequence[Point]) -> list[Point]:
    """Return points on a cubic spline, without its ends: its joints, and the middles of what bends."""
    found: list[Point] = []
    for start in range(0, len(points) - 3, 3):
        a, b, c, d = points[start : start + 4]
        middle = ((a[0] + 3 * (b[0] + c[0]) + d[0]) / 8, (a[1] + 3 * (b[1] + c[1]) + d[1]) / 8)
        if dist(middle, ((a[0] + d[0]) / 2, (a[1] + d[1]) / 2)) > STRAIGHT:
            found.append(middle)
        found.append(d)
    return found[:-1]
