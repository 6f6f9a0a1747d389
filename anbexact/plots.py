"""Figures by matplotlib (``pip install 'anbexact[figures]'``), as scikit-learn's displays: axes in, axes out.

Every display has the class methods ``from_...`` that compute and draw, the method ``plot(ax=None)`` that draws again,
and the attributes ``ax_`` and ``figure_``. matplotlib is imported by the first figure that is drawn.
"""

from anbexact.show.figures.arc_probabilities import ArcProbabilityDisplay
from anbexact.show.figures.comparisons import ComparisonDisplay
from anbexact.show.figures.explanations import WaterfallDisplay
from anbexact.show.figures.information import InformationDisplay
from anbexact.show.figures.learning import LearningCurveDisplay
from anbexact.show.figures.networks import NetworkDisplay
from anbexact.show.figures.pool import PoolDisplay
from anbexact.show.figures.predictions import (
    ConfusionDisplay,
    GainsDisplay,
    LiftDisplay,
    PrecisionRecallDisplay,
    ReliabilityDisplay,
    RocDisplay,
)
from anbexact.show.figures.sample_size import SampleSizeDisplay
from anbexact.show.figures.shapes import ShapeDisplay

__all__ = [
    "ArcProbabilityDisplay",
    "ComparisonDisplay",
    "ConfusionDisplay",
    "GainsDisplay",
    "InformationDisplay",
    "LearningCurveDisplay",
    "LiftDisplay",
    "NetworkDisplay",
    "PoolDisplay",
    "PrecisionRecallDisplay",
    "ReliabilityDisplay",
    "RocDisplay",
    "SampleSizeDisplay",
    "ShapeDisplay",
    "WaterfallDisplay",
]
