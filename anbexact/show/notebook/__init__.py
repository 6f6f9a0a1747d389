"""What fitted objects show in a notebook: fragments of HTML, in the colours of the page around them.

When a module is imported, it registers the types that it shows.
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
