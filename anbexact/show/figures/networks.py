"""The picture of a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from anbexact.models.network.arc_strengths import strengths_by_arc
from anbexact.show.figures.display import BLUE, Display
from anbexact.show.report.facts import learned_network
from anbexact.show.svg.labels import plain
from anbexact.show.svg.network import Diagram, diagram, route

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from anbexact.models.structure import Structure

PIXELS_PER_INCH = 96.0
"""Pixels of a layout in an inch of a figure, as in CSS."""


class NetworkDisplay(Display):
    """The network of a classifier; the width of an arc shows its strength.

    Parameters
    ----------
    diagram : Diagram
        The network and its layout; :meth:`from_estimator` and :meth:`from_structure` make it.

    Examples
    --------
    >>> import tempfile
    >>> from anbexact import ANBClassifier
    >>> from anbexact.datasets import load_iris
    >>> from anbexact.plots import NetworkDisplay
    >>> display = NetworkDisplay.from_estimator(ANBClassifier().fit(*load_iris()))
    >>> display.figure_.savefig(tempfile.mkdtemp() + "/network.svg")
    """

    def __init__(self, diagram: Diagram) -> None:
        self.diagram = diagram
        layout = diagram.layout
        self.size = max(layout.width / PIXELS_PER_INCH, 3.0), max(layout.height / PIXELS_PER_INCH, 2.0)

    @classmethod
    def from_estimator(cls, classifier: Any, *, ax: Axes | None = None) -> Self:
        """Draw the network of a fitted classifier.

        Parameters
        ----------
        classifier : NetworkClassifier or RefittedClassifier
            Fitted.
        ax : matplotlib ``Axes``, optional
            Where to draw.

        Raises
        ------
        TypeError
            If the classifier has no network.
        """
        network = learned_network(classifier)
        if network is None:
            raise TypeError(f"{type(classifier).__name__} has no network to draw: pass a fitted network classifier")
        shown = classifier.structure_.without(classifier.vocabulary_.left_out)
        return cls(diagram(shown, strengths_by_arc(network))).plot(ax)

    @classmethod
    def from_structure(cls, structure: Structure, *, ax: Axes | None = None) -> Self:
        """Draw a structure, all arcs equally wide; arguments as for :meth:`from_estimator`."""
        return cls(diagram(structure)).plot(ax)

    def _draw(self, ax: Axes) -> None:
        from matplotlib.patches import FancyBboxPatch

        drawn = self.diagram
        for arc, width in drawn.arcs.items():
            points = route(drawn, arc)
            xs, ys = zip(*points, strict=True)
            ax.plot(xs[:-1], ys[:-1], color="0.35", lw=0.75 * width, solid_capstyle="butt", zorder=1)
            arrow = {"arrowstyle": "-|>", "lw": 0.75 * width, "color": "0.35", "shrinkA": 0, "shrinkB": 0}
            ax.annotate("", points[-1], points[-2], arrowprops=arrow, zorder=1)
        for k, name in enumerate(drawn.names):
            (x, y), (width, height) = drawn.layout.centres[k], drawn.sizes[k]
            is_class = name == drawn.class_name
            box = FancyBboxPatch(
                (x - width / 2, y - height / 2),
                width,
                height,
                boxstyle=f"round,pad=0,rounding_size={height / 2 if is_class else 5}",
                facecolor="#c9dff7" if is_class else "0.96",
                edgecolor=BLUE if is_class else "0.5",
                linestyle="--" if name in drawn.unused else "-",
                zorder=2,
            )
            ax.add_patch(box)
            weight = "bold" if is_class else "normal"
            ax.text(x, y, plain(drawn.label(name)), ha="center", va="center", fontsize=8.5, weight=weight, zorder=3)
        ax.set_xlim(-8, drawn.layout.width + 8)
        ax.set_ylim(drawn.layout.height + 8, -8)
        ax.set_aspect("equal")
        ax.set_axis_off()
