"""How errors name what an adapter cannot take."""

from __future__ import annotations

from anbexact._runtime.units import with_article
from anbexact.classifiers import PooledClassifier


def named(model: object) -> str:
    """Return the kind of a model with its article; of a pool, also what to pass instead."""
    text = with_article(type(model).__name__)
    if isinstance(model, PooledClassifier):
        text += ": pass its to_logit().to_classifier(), one network with the same posterior"
    return text
