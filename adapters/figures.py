"""Figures of the shapes of smooth refits, by matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from anbexact.logit.shapes import Shape

BAND = 1.96
"""Half the width of a band, in standard errors: 95 % where the estimate is normal."""
MOST_COLUMNS = 4
PANEL = 3.4, 2.7
"""Width and height of a panel, in inches."""
MOST_TICKS = 4


def plot_shapes(shapes: Sequence[Shape], *, most: int | None = None) -> Figure:
    """Return a figure of shapes: step curves with 95 % bands for main effects, heat maps for pairs.

    A main effect has one panel with a curve for every class; a pair has a panel for every class. Shapes of three or
    more features are left out: ``to_frame()`` has them.

    Parameters
    ----------
    shapes : sequence of Shape
        From :meth:`anbexact.adapters.LogitModel.shapes`.
    most : int, optional
        Maximum number of panels, those with the widest range of log odds first; by default, all.

    Returns
    -------
    matplotlib ``Figure``

    Raises
    ------
    ImportError
        If matplotlib is not installed: ``pip install anbexact[figures]``.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install 'anbexact[figures]'") from error
    curves = [list(of_name) for _, of_name in groupby(sorted(_of(shapes, 1), key=_name), key=_name)]
    panels = curves + [[shape] for shape in _of(shapes, 2)]
    panels.sort(key=lambda panel: -max(float(np.ptp(shape.log_odds)) for shape in panel))
    panels = panels[:most]
    n_columns = max(min(MOST_COLUMNS, len(panels)), 1)
    n_rows = max(ceil(len(panels) / n_columns), 1)
    figure = Figure(figsize=(PANEL[0] * n_columns, PANEL[1] * n_rows), layout="constrained")
    axes = np.ravel(figure.subplots(n_rows, n_columns, squeeze=False))
    alone = len({str(shape.label) for shape in shapes}) == 1
    if alone:
        figure.suptitle(_odds(shapes[0]), fontsize="medium")
    for panel, of_panel in zip(panels, axes, strict=False):
        draw_shape(of_panel, panel, alone)
    for unused in axes[len(panels) :]:
        unused.set_axis_off()
    return figure


def draw_shape(axes: Axes, shapes: Sequence[Shape], alone: bool = False) -> None:
    """Draw the shapes of one term: the curves of a feature, one for every class, or the heat map of a pair.

    ``alone`` means that the figure names the class, so the scale of a heat map does not need to.
    """
    if len(shapes[0].features) == 1:
        _curves(axes, shapes)
    else:
        _map(axes, shapes[0], alone)


def _of(shapes: Sequence[Shape], n_features: int) -> list[Shape]:
    return [shape for shape in shapes if len(shape.features) == n_features]


def _name(shape: Shape) -> str:
    return shape.name


def _odds(shape: Shape) -> str:
    """Return the axis label for the log odds."""
    return f"log odds of {shape.label}" + (f" against {shape.against}" if shape.against is not None else "")


def _curves(axes: Axes, shapes: Sequence[Shape]) -> None:
    """Draw the main effect of a feature, a step curve for every class, and where the rows are."""
    edges = np.arange(len(shapes[0].log_odds) + 1)
    for k, shape in enumerate(shapes):
        middle = np.append(shape.log_odds, shape.log_odds[-1])
        half = BAND * np.append(shape.standard_error, shape.standard_error[-1])
        axes.fill_between(edges, middle - half, middle + half, step="post", alpha=0.2, color=f"C{k}", lw=0)
        axes.stairs(shape.log_odds, edges, baseline=None, color=f"C{k}", lw=1.6, label=str(shape.label))
    axes.axhline(0.0, color="0.6", lw=0.6, zorder=0)
    share = shapes[0].weight / max(float(shapes[0].weight.max()), 1e-300)
    axes.bar(edges[:-1] + 0.5, 0.06 * share, 0.9, transform=axes.get_xaxis_transform(), color="0.75", zorder=0)
    _ticks(axes.xaxis, shapes[0].labels[0])
    axes.set_xlim(edges[0], edges[-1])
    axes.set_xlabel(shapes[0].name)
    axes.set_ylabel("log odds")
    if len(shapes) > 1:
        axes.legend(fontsize="x-small", frameon=False)


def _map(axes: Axes, shape: Shape, alone: bool) -> None:
    """Draw the interaction of two features as a heat map; cells without rows are hatched."""
    top = max(float(np.abs(shape.log_odds).max()), 1e-12)
    edges = [np.arange(size + 1) for size in shape.log_odds.shape]
    image = axes.pcolormesh(edges[1], edges[0], shape.log_odds, cmap="RdBu_r", vmin=-top, vmax=top)
    empty = np.ma.masked_where(shape.weight > 0, np.zeros(shape.weight.shape))
    axes.pcolor(edges[1], edges[0], empty, hatch="///", alpha=0.0, edgecolor="0.4", lw=0)
    axes.figure.colorbar(image, ax=axes, label="log odds" if alone else f"log odds of {shape.label}")
    _ticks(axes.yaxis, shape.labels[0])
    _ticks(axes.xaxis, shape.labels[1])
    axes.set_ylabel(str(shape.features[0]))
    axes.set_xlabel(str(shape.features[1]))


def _ticks(axis: Any, labels: Sequence[str]) -> None:
    """Label some edges with cut points if the labels are intervals, else some cells with their states."""
    cuts = [_short(label.split(", ")[-1].rstrip("])")) for label in labels if label.startswith("(") and ", " in label]
    if len(cuts) >= len(labels) - 1 and len(cuts) > 1:
        places = np.unique(np.linspace(1, len(cuts) - 1, min(MOST_TICKS, len(cuts) - 1)).round().astype(int))
        axis.set_ticks(places, [cuts[k - 1] for k in places])
    else:
        places = np.unique(np.linspace(0, len(labels) - 1, min(MOST_TICKS, len(labels))).round().astype(int))
        axis.set_ticks(places + 0.5, [labels[k] for k in places])
    axis.set_tick_params(labelsize="x-small")


def _short(cut: str) -> str:
    """Return a cut point in up to three digits if it is a number."""
    try:
        return f"{float(cut):.3g}"
    except ValueError:
        return cut
