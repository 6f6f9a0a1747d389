"""How values are shown in notebooks and figures; the code that draws them is imported on first use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def shown(thing: object) -> str:
    """Return a value as HTML for a notebook, by its type; see :func:`anbexact.show.notebook.by_type.html`."""
    from anbexact.show.notebook import html

    return html(thing)


def drawn(shapes: Sequence[Any], most: int | None) -> Figure:
    """Return shapes of a smooth refit as a figure; see :func:`anbexact.show.figures.logit_shapes.plot_shapes`."""
    from anbexact.show.figures.logit_shapes import plot_shapes

    return plot_shapes(shapes, most=most)


class Displayed:
    """A value that notebooks show as HTML."""

    def _repr_html_(self) -> str:
        return shown(self)


class DisplayedFrame(Displayed, pd.DataFrame):
    """A frame with a display of its own; frames that pandas derives from it are plain frames."""

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame
