"""The shape of one term of a smooth refit; ``shapes().plot()`` draws all of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Self

from anbexact.show.figures.display import Display
from anbexact.show.figures.logit_shapes import draw_shape

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from anbexact.models.smooth.shapes import Shape


class ShapeDisplay(Display):
    """What one feature adds to the log odds, as step curves with 95 % bands; or a pair of features, as a heat map.

    Parameters
    ----------
    shapes : sequence of Shape
        The shapes of one term: one for every class if it is a feature, a single one if it is a pair.

    Examples
    --------
    >>> from anbexact import AdditiveClassifier, NaiveBayesClassifier
    >>> from anbexact.datasets import load_anes96
    >>> from anbexact.plots import ShapeDisplay
    >>> model = AdditiveClassifier(NaiveBayesClassifier(), intervals=8, smooth=1.0).fit(*load_anes96())
    >>> ShapeDisplay.from_estimator(model, "age").ax_.get_xlabel()
    'age'
    """

    def __init__(self, shapes: Sequence[Shape]) -> None:
        if not shapes or len({shape.name for shape in shapes}) > 1 or len(shapes[0].features) > 2:
            raise ValueError("shapes must be those of one feature, or one of a pair of features")
        self.shapes = list(shapes)

    @classmethod
    def from_estimator(
        cls, classifier: Any, *features: Hashable, label: Any = None, against: Any = None, ax: Axes | None = None
    ) -> Self:
        """Draw the shape of a feature, or of a pair of features, of a fitted :class:`~anbexact.AdditiveClassifier`.

        Parameters
        ----------
        classifier : AdditiveClassifier or LogitModel
            Fitted smoothly.
        *features : Hashable
            One feature, or two.
        label, against : class labels, optional
            As for :meth:`anbexact.adapters.LogitModel.shapes`; a pair takes the first class if several are left.
        ax : matplotlib ``Axes``, optional
            Where to draw.

        Raises
        ------
        ValueError
            If there is no such shape; the message lists the existing ones.
        """
        model = getattr(classifier, "logit_", classifier)
        shapes = model.shapes(label, against)
        own = [shape for shape in shapes if set(shape.features) == set(features)]
        if not own:
            known = ", ".join(dict.fromkeys(shape.name for shape in shapes))
            raise ValueError(f"there is no shape of {' & '.join(map(str, features))!r}; the shapes are {known}")
        return cls(own[:1] if len(features) > 1 else own).plot(ax)

    def _draw(self, ax: Axes) -> None:
        draw_shape(ax, self.shapes)
