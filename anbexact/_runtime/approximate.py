"""Fits of which only predictions are needed: they may end as soon as these would hardly change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_predictions_only: ContextVar[bool] = ContextVar("predictions_only", default=False)
"""Whether fits may end early."""


@contextmanager
def predictions_only(wanted: bool = True) -> Iterator[None]:
    """Let fits within the block end as soon as their predictions would hardly change, if this is wanted.

    Within another such block, they may do so in any case. Networks that are learned within the block prepare for
    predictions when they are first asked for one.
    """
    token = _predictions_only.set(wanted or _predictions_only.get())
    try:
        yield
    finally:
        _predictions_only.reset(token)


def only_predictions_needed() -> bool:
    """Whether this is within :func:`predictions_only`."""
    return _predictions_only.get()


def sufficient(precision: float, to_predict: float) -> float:
    """Return the precision of a fit: the given one or, within :func:`predictions_only`, a coarser one."""
    return max(precision, to_predict) if _predictions_only.get() else precision
