"""The sheet of a nomogram as a figure, by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anbexact.show.svg.labels import plain
from anbexact.show.svg.nomogram import PAPER, Dot, Sheet, Stroke

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ANCHORS = {"start": "left", "middle": "center", "end": "right"}
"""How matplotlib calls the anchors of texts."""


def draw_sheet(sheet: Sheet) -> Figure:
    """Return a sheet as a figure of the size of the paper; its data coordinates are millimetres from the top left.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    try:
        from matplotlib.collections import LineCollection
        from matplotlib.figure import Figure
        from matplotlib.patches import Circle
        from matplotlib.patheffects import withStroke
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install 'anbexact[figures]'") from error
    width, height = PAPER
    figure = Figure(figsize=(width / 25.4, height / 25.4))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    halo = [withStroke(linewidth=1.6, foreground="white")]
    strokes = [mark for mark in sheet.marks if isinstance(mark, Stroke)]
    axes.add_collection(
        LineCollection(
            [[(mark.x1, mark.y1), (mark.x2, mark.y2)] for mark in strokes],
            colors=[mark.colour for mark in strokes],
            linewidths=[mark.width * 72 / 25.4 for mark in strokes],
        )
    )
    for mark in sheet.marks:
        if isinstance(mark, Dot):
            face = mark.colour if mark.filled else "white"
            axes.add_patch(Circle((mark.x, mark.y), mark.radius, facecolor=face, edgecolor=mark.colour, lw=0.6))
        elif not isinstance(mark, Stroke):
            axes.text(
                mark.x,
                mark.y,
                plain(mark.text),
                size=mark.size,
                ha=ANCHORS[mark.anchor],
                va="baseline",
                weight="bold" if mark.bold else "normal",
                color=mark.colour,
                path_effects=halo,
            )
    return figure
