"""Sets of classes that contain the true class with a chosen probability."""

from anbexact.conformal.full import FullConformalClassifier
from anbexact.conformal.sets import ConformalSets
from anbexact.conformal.split import SplitConformalClassifier

__all__ = ["ConformalSets", "FullConformalClassifier", "SplitConformalClassifier"]
