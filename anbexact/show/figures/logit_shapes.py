"""Figures of the shapes of smooth refits, by matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from anbexact._runtime.units import counted
from anbexact.discretize import cut_texts
from anbexact.models.smooth.shapes import Shape, shape_range
from anbexact.show.svg.labels import aslant, axes_size, characters, filled, inches, label_lines, longest_line, plain
from anbexact.show.svg.markup import shortened, shortened_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


BAND = 1.96
"""Half the width of a band, in standard errors: 95 % where the estimate is normal."""
LEAST_RANGE = 0.01
"""Range of log odds, in nats, below which an interaction counts as smoothed away."""
MOST_COLUMNS = 4
"""Most panels side by side."""
PANEL = 3.4, 2.7
"""Width and height of a panel, in inches, if names on its axes are short."""
MOST_CUTS, MOST_STATES = 4, 12
"""Most cut points, and most states, that are named on an axis."""
SLANTED = 0.17
"""Width that a slanted name takes on an axis, in inches."""
ROOM = 0.75
"""Share of the width of axes that usually remains once the layout has made room for labels."""
MOST_CHARACTERS = 16
"""Most characters of a state on an axis."""
NAME_CHARACTERS = 40
"""Most characters of a feature or a class in a label."""
TINY, SMALL, MEDIUM = 6.94, 8.33, 10.0
"""Sizes of fonts, in points."""


def plot_shapes(shapes: Sequence[Shape], *, most: int | None = None) -> Figure:
    """Return a figure of shapes: step curves with 95 % bands for main effects, heat maps for pairs.

    A main effect has one panel with a curve for every class; a pair has a panel for every class, below those of the
    main effects. All heat maps have the same scale of colours.

    Shapes of three or more features are not drawn; ``to_frame()`` has them. Pairs whose log odds range over less than
    0.01 nats for every class have been smoothed away, and are not drawn next to main effects either; a note below the
    figure says how many there are. To see them, pass the shapes of pairs alone, or draw a pair by
    :class:`anbexact.plots.ShapeDisplay`.

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
        from matplotlib.lines import Line2D
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install 'anbexact[figures]'") from error
    flat = _smoothed_away(shapes)
    curves, maps = _panels([shape for shape in shapes if shape.name not in flat], most)
    labels = list(dict.fromkeys(str(shape.label) for shape in shapes))
    # three columns for three classes, so that the heat maps of a pair are in one row
    n_columns = min(3 if maps and len(labels) == 3 else MOST_COLUMNS, max(len(curves), len(maps), 1))
    n_above = ceil(len(curves) / n_columns)
    n_rows = max(n_above + ceil(len(maps) / n_columns), 1)
    panel_width, panel_height = _panel_size(curves, maps)
    width = panel_width * n_columns
    title = _odds(shapes[0], characters(width, MEDIUM)) if len(labels) == 1 else ""
    names = shortened_apart(labels, NAME_CHARACTERS) if len(labels) > 1 and curves else []
    per_row = _per_row(names, width)
    height = panel_height * n_rows + 0.22 * (ceil(len(names) / per_row) + len(title.split("\n")) + bool(flat))
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False)
    places = [*axes[:n_above].flat][: len(curves)], [*axes[n_above:].flat][: len(maps)]
    for ax in axes.flat:
        ax.set_axis_off()
    for panel, ax in zip(curves, places[0], strict=True):
        ax.set_axis_on()
        _curves(ax, panel, [labels.index(str(shape.label)) for shape in panel])
    top = max((_top(shape) for shape in maps), default=0.0)
    for shape, ax in zip(maps, places[1], strict=True):
        ax.set_axis_on()
        image = _map(ax, shape, top)
        if not title:
            name = label_lines([shape.label], characters(panel_width - 0.8, SMALL))[0]
            ax.set_title(plain(name), fontsize="small")
    if maps:
        figure.colorbar(image, ax=places[1], label="log odds", aspect=20 * (n_rows - n_above))
    if names:
        lines = [Line2D([], [], color=f"C{k}", lw=1.6) for k in range(len(names))]
        how: dict[str, Any] = {"loc": "outside upper center", "ncols": per_row, "fontsize": "small"}
        figure.legend(lines, list(map(plain, names)), frameon=False, **how)
    if title:
        figure.suptitle(title, fontsize="medium")
    if flat:
        figure.supxlabel(filled([_note(len(flat))], characters(width, SMALL)), fontsize="small")
    figure.draw_without_rendering()  # for the widths of the axes
    for ax in (*places[0], *places[1]):
        _slant_if_crowded(ax)
    return figure


def draw_shape(axes: Axes, shapes: Sequence[Shape], alone: bool = False) -> None:
    """Draw the shapes of one term: the curves of a feature, one for every class, or the heat map of a pair.

    ``alone`` means that the figure names the class, so the scale of a heat map does not need to. The colours of a
    heat map range up to 0.01 nats at least, so that a pair that was smoothed away looks flat.
    """
    most = _level(axes, shapes[0].labels[-1])
    if len(shapes[0].features) == 1:
        _curves(axes, shapes, range(len(shapes)), most)
        _slant_if_crowded(axes, ROOM)
        if len(shapes) > 1:
            _legend(axes, shapes)
        return
    image = _map(axes, shapes[0], max(_top(shapes[0]), LEAST_RANGE), most)
    _slant_if_crowded(axes, ROOM)
    label = "log odds" if alone else _odds(shapes[0], characters(axes_size(axes)[1], MEDIUM), against=False)
    axes.figure.colorbar(image, ax=axes, label=label)


def _note(n_left_out: int) -> str:
    return f"{counted(n_left_out, 'interaction')} with a range of less than {LEAST_RANGE} nats left out"


def _smoothed_away(shapes: Sequence[Shape]) -> set[str]:
    """Return the names of the pairs that were smoothed away for every class; none if there are no main effects."""
    widest: dict[str, float] = {}
    for shape in _of(shapes, 2):
        widest[shape.name] = max(widest.get(shape.name, 0.0), shape_range(shape))
    return {name for name, of in widest.items() if of < LEAST_RANGE} if _of(shapes, 1) else set()


def _panels(shapes: Sequence[Shape], most: int | None) -> tuple[list[list[Shape]], list[Shape]]:
    """Return the panels of main effects and of pairs, the widest range first; those of one pair stay together."""
    panels = [list(of_name) for _, of_name in groupby(sorted(_of(shapes, 1), key=_name), key=_name)]
    panels += [[shape] for shape in _of(shapes, 2)]
    chosen = sorted(panels, key=lambda panel: -max(map(shape_range, panel)))[:most]
    pairs = [panel[0] for panel in chosen if len(panel[0].features) == 2]
    names = list(dict.fromkeys(map(_name, pairs)))
    in_order = [shape for shape in shapes if any(shape is pair for pair in pairs)]
    in_order.sort(key=lambda shape: names.index(shape.name))
    return [panel for panel in chosen if len(panel[0].features) == 1], in_order


def _of(shapes: Sequence[Shape], n_features: int) -> list[Shape]:
    return [shape for shape in shapes if len(shape.features) == n_features]


def _name(shape: Shape) -> str:
    return shape.name


def _top(shape: Shape) -> float:
    return max(float(np.abs(shape.log_odds).max()), 1e-12)


def _odds(shape: Shape, width: int, against: bool = True) -> str:
    """Return the label for the log odds, broken over lines of a width in characters."""
    pair = [shape.label, shape.against] if against and shape.against is not None else [shape.label]
    names = shortened_apart(pair, NAME_CHARACTERS)
    parts = [f"{word} {name}" for word, name in zip(("log odds of", "against"), names, strict=False)]
    return plain(filled(parts, width))


def _curves(axes: Axes, shapes: Sequence[Shape], colours: Sequence[int], most: int = MOST_CHARACTERS) -> None:
    """Draw the main effect of a feature, a step curve for every class, above bars of the weights of the rows."""
    edges = np.arange(len(shapes[0].log_odds) + 1)
    for shape, k in zip(shapes, colours, strict=True):
        middle = np.append(shape.log_odds, shape.log_odds[-1])
        half = BAND * np.append(shape.standard_error, shape.standard_error[-1])
        axes.fill_between(edges, middle - half, middle + half, step="post", alpha=0.2, color=f"C{k}", lw=0)
        axes.stairs(shape.log_odds, edges, baseline=None, color=f"C{k}", lw=1.6, label=plain(shape.label))
    axes.axhline(0.0, color="0.6", lw=0.6, zorder=0)
    share = shapes[0].weight / max(float(shapes[0].weight.max()), 1e-300)
    axes.bar(edges[:-1] + 0.5, 0.06 * share, 0.9, transform=axes.get_xaxis_transform(), color="0.75", zorder=0)
    _name_cells(axes, "x", shapes[0].labels[0], most)
    axes.set_xlim(edges[0], edges[-1])
    axes.set_xlabel(plain(shortened(shapes[0].name, NAME_CHARACTERS)))
    axes.set_ylabel("log odds")


def _per_row(names: Sequence[str], width: float) -> int:
    """Return how many entries of a legend are side by side in a width, in inches."""
    return max(min(int(width / (0.6 + inches(longest_line(names), SMALL))), len(names)), 1)


def _legend(axes: Axes, shapes: Sequence[Shape]) -> None:
    """Add a legend to axes, above all that they contain."""
    width, height = axes_size(axes)
    names = shortened_apart([shape.label for shape in shapes], min(characters(width - 0.7, SMALL), NAME_CHARACTERS))
    per_row = _per_row(names, width)
    share = min((0.2 * ceil(len(names) / per_row) + 0.1) / height, 0.6)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + (high - low) * share / (1 - share))
    handles = axes.get_legend_handles_labels()[0]
    axes.legend(handles, list(map(plain, names)), loc="upper left", ncols=per_row, fontsize="small", frameon=False)


def _map(axes: Axes, shape: Shape, top: float, most: int = MOST_CHARACTERS) -> Any:
    """Draw the interaction of two features as a heat map from -top to top nats; cells without rows are hatched."""
    edges = [np.arange(size + 1) for size in shape.log_odds.shape]
    image = axes.pcolormesh(edges[1], edges[0], shape.log_odds, cmap="RdBu_r", vmin=-top, vmax=top)
    empty = np.ma.masked_where(shape.weight > 0, np.zeros(shape.weight.shape))
    axes.pcolor(edges[1], edges[0], empty, hatch="///", alpha=0.0, edgecolor="0.4", lw=0)
    _name_cells(axes, "y", shape.labels[0])
    _name_cells(axes, "x", shape.labels[1], most)
    names = [plain(shortened(name, NAME_CHARACTERS)) for name in shape.features]
    axes.set_ylabel(names[0])
    axes.set_xlabel(names[1])
    return image


def _marks(labels: Sequence[str]) -> list[tuple[float, str]]:
    """Return the names on an axis with their places: about twelve states, or some of the cut points of intervals.

    A state among intervals that is no interval itself, such as the state of missing cells, is always named.
    """
    cells = [k for k, label in enumerate(labels) if label.startswith("(") and ", " in label]
    if len(cells) < max(len(labels) - 1, 2):
        return [(k + 0.5, labels[k]) for k in range(0, len(labels), ceil(len(labels) / MOST_STATES))]
    some = np.unique(np.linspace(0, len(cells) - 2, min(MOST_CUTS, len(cells) - 1)).round().astype(int)).tolist()
    ends = _short([labels[cells[j]].split(", ")[-1].rstrip("])") for j in some])
    others = [(k + 0.5, label) for k, label in enumerate(labels) if k not in cells]
    return sorted([*zip([cells[j] + 1.0 for j in some], ends, strict=True), *others])


def _names(marks: Sequence[tuple[float, str]], most: int = MOST_CHARACTERS) -> list[str]:
    """Return the names of marks on an axis, shortened."""
    return shortened_apart([name for _, name in marks], most)


def _width(names: Sequence[str]) -> float:
    """Return the width of the longest of some names on an axis, in inches."""
    return inches(longest_line(names), TINY)


def _panel_size(curves: Sequence[Sequence[Shape]], maps: Sequence[Shape]) -> tuple[float, float]:
    """Return the width and height of a panel, in inches: larger than `PANEL` if the names on its axes need it."""
    width, slanted = PANEL[0], 0.0
    for shape in [*(panel[0] for panel in curves), *maps]:
        names = _names(_marks(shape.labels[-1]))
        left = _width(_names(_marks(shape.labels[0]))) + 0.6 if len(shape.features) == 2 else 0.3
        if len(names) * (_width(names) + 0.1) > PANEL[0] - 0.8 - left:
            slanted = max(slanted, _width(names) / sqrt(2))
            width = max(width, 0.7 + max(left, slanted) + SLANTED * len(names))
    return width, PANEL[1] + slanted / 2


def _name_cells(axes: Axes, which: Literal["x", "y"], labels: Sequence[str], most: int = MOST_CHARACTERS) -> None:
    """Name the cells of an axis, "x" or "y"."""
    marks = _marks(labels)
    places, names = [place for place, _ in marks], list(map(plain, _names(marks, most)))
    (axes.xaxis if which == "x" else axes.yaxis).set_ticks(places, names)
    axes.tick_params(axis=which, labelsize="x-small")


def _level(axes: Axes, labels: Sequence[str]) -> int:
    """Return the most characters of a name on the x axis that leave room to write it level, 16 at least."""
    each = int(ROOM * axes_size(axes)[0] / len(_marks(labels)) / inches(1, TINY)) - 2
    return min(max(each, MOST_CHARACTERS), NAME_CHARACTERS)


def _slant_if_crowded(axes: Axes, share: float = 1.0) -> None:
    """Turn the names on the x axis if they do not fit into this share of the width of the axes."""
    names = axes.get_xticklabels()
    places = axes.transData.transform([(place, 0.0) for place in axes.get_xticks()])[:, 0] * share
    widths = [text.get_window_extent().width for text in names]
    least = [(one + other) / 2 + 4 for one, other in pairwise(widths)]
    if any(np.diff(places) < least):
        aslant(axes.xaxis)


def _short(ends: Sequence[str]) -> list[str]:
    """Return cut points with three digits, or as many as tell them apart; those that are not numbers as they are."""
    try:
        return cut_texts(np.array(ends, dtype=np.float64), least=3)
    except ValueError:
        return list(ends)
