"""What fitted objects show in a notebook: fragments of HTML, in the colours of the page around them.

Every module registers what it shows when it is imported.
"""

from anbexact.show.notebook import (
    averages,
    drift,
    estimators,
    explanations,
    frames,
    learning,
    logit,
    networks,
    prediction_sets,
    shapes,
)
from anbexact.show.notebook.by_type import html

__all__ = [
    "averages",
    "drift",
    "estimators",
    "explanations",
    "frames",
    "html",
    "learning",
    "logit",
    "networks",
    "prediction_sets",
    "shapes",
]
