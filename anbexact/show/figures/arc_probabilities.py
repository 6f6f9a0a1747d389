"""The picture of a posterior over structures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from anbexact.search.posterior import StructurePosterior
from anbexact.show.figures.networks import NetworkDisplay
from anbexact.show.svg.network import Diagram, route
from anbexact.show.svg.probable_arcs import LEAST_DRAWN, Probabilities, probability_diagram

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ArcProbabilityDisplay(NetworkDisplay):
    """Which features are joined, and with what probability: the width of a line shows its probability.

    Lines have no direction, because rows cannot determine the direction of most arcs.

    Parameters
    ----------
    diagram : Diagram
        The pairs and their places; :meth:`from_posterior` and :meth:`from_estimator` make it.
    probabilities : mapping of (parent, child) to float
        The probability of every arc.

    Examples
    --------
    >>> import tempfile
    >>> from anbexact import DiscreteTable, structure_posterior
    >>> from anbexact.datasets import load_monks
    >>> from anbexact.plots import ArcProbabilityDisplay
    >>> posterior = structure_posterior(DiscreteTable.from_frame(*load_monks(1)))
    >>> path = tempfile.mkdtemp() + "/arcs.svg"
    >>> ArcProbabilityDisplay.from_posterior(posterior).figure_.savefig(path)
    """

    def __init__(self, diagram: Diagram, probabilities: Probabilities) -> None:
        super().__init__(diagram)
        self.probabilities = probabilities

    @classmethod
    def from_posterior(
        cls,
        posterior: StructurePosterior,
        *,
        least: float = LEAST_DRAWN,
        ax: Axes | None = None,
    ) -> Self:
        """Draw a posterior over structures.

        Parameters
        ----------
        posterior : StructurePosterior
            From :func:`~anbexact.structure_posterior`.
        least : float, default 0.1
            Minimum probability that a pair is joined for the pair to be drawn.
        ax : matplotlib ``Axes``, optional
            Where to draw.
        """
        found = _by_arc(posterior.arcs)
        augmented = posterior.class_name is not None and posterior.networks != "gbn"
        names = posterior.features, posterior.class_name
        drawn = probability_diagram(*names, found, least=least, augmented=augmented)
        return cls(drawn, found).plot(ax)

    @classmethod
    def from_estimator(cls, classifier: Any, *, least: float = LEAST_DRAWN, ax: Axes | None = None) -> Self:
        """Draw the posterior over the networks of an averaged classifier; arguments as for :meth:`from_posterior`.

        Raises
        ------
        TypeError
            If the classifier is not an average.
        """
        if not hasattr(type(classifier), "arcs_"):
            raise TypeError(
                f"{type(classifier).__name__} is not an average of networks: pass an AveragedANBClassifier, or draw "
                "the structure_posterior of its table by from_posterior"
            )
        found, vocabulary = _by_arc(classifier.arcs_), classifier.vocabulary_
        drawn = probability_diagram(vocabulary.used, vocabulary.class_name, found, least=least)
        return cls(drawn, found).plot(ax)

    def _draw(self, ax: Axes) -> None:
        drawn = self.diagram
        for arc, width in drawn.arcs.items():
            points = route(drawn, arc)
            xs, ys = zip(*points, strict=True)
            ax.plot(xs, ys, color="0.35", lw=width, solid_capstyle="butt", zorder=1)
            parent, child = (drawn.names[k] for k in arc)
            both = [self.probabilities.get(pair, 0.0) for pair in ((parent, child), (child, parent))]
            (x, y), (to_x, to_y) = points[(len(points) - 1) // 2], points[(len(points) + 1) // 2]
            label: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7.5, "color": "0.1", "zorder": 1.5}
            box: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}
            ax.text((x + to_x) / 2, (y + to_y) / 2, f"{sum(both):.0%}", bbox=box, **label)
        NetworkDisplay(replace(drawn, arcs={}))._draw(ax)


def _by_arc(arcs: Any) -> dict[Any, float]:
    return {(row.parent, row.child): float(row.probability) for row in arcs.itertuples()}
