"""The common base of all displays, which draw into given axes or make their own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = 6.0, 4.5
"""Width and height of a new figure, in inches."""
BLUE, ORANGE, GREY = "#2f7fd6", "#d0741c", "0.55"
"""Colours of what speaks for a class, of what speaks against it, and of what does neither."""


class Display(ABC):
    """A figure that knows its data.

    Attributes
    ----------
    ax_ : matplotlib ``Axes``
        The axes of the last drawing.
    figure_ : matplotlib ``Figure``
        The figure of these axes.
    """

    ax_: Axes
    figure_: Figure
    size = SIZE

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into axes, by default those of a new figure.

        Parameters
        ----------
        ax : matplotlib ``Axes``, optional
            Where to draw.

        Returns
        -------
        self

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        self.ax_ = new_axes(self.size) if ax is None else ax
        self.figure_ = self.ax_.figure  # type: ignore[assignment]  # for a subfigure, the subfigure
        self._draw(self.ax_)
        return self

    @abstractmethod
    def _draw(self, ax: Axes) -> None:
        """Draw the data into axes."""


def new_axes(size: tuple[float, float] = SIZE) -> Any:
    """Return axes in a new figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install 'anbexact[figures]'") from error
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def legend(ax: Axes) -> None:
    """Add a legend if anything that is drawn has a label."""
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, fontsize="small")
