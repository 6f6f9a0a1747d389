"""Figures by matplotlib (``pip install 'anbexact[figures]'``), as scikit-learn's displays: axes in, axes out.

Every display has the class methods ``from_...`` that compute and draw, the method ``plot(ax=None)`` that draws again,
and the attributes ``ax_`` and ``figure_``. matplotlib is imported by the first figure that is drawn.
"""

from anbexact.plots.arc_probabilities import ArcProbabilityDisplay
from anbexact.plots.comparisons import ComparisonDisplay
from anbexact.plots.explanations import WaterfallDisplay
from anbexact.plots.information import InformationDisplay
from anbexact.plots.learning import LearningCurveDisplay
from anbexact.plots.networks import NetworkDisplay
from anbexact.plots.pool import PoolDisplay
from anbexact.plots.predictions import (
    ConfusionDisplay,
    GainsDisplay,
    LiftDisplay,
    PrecisionRecallDisplay,
    ReliabilityDisplay,
    RocDisplay,
)
from anbexact.plots.sample_size import SampleSizeDisplay
from anbexact.plots.shapes import ShapeDisplay

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
