"""Advice to the caller of the package: warnings that are given only once for one call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from anbexact._runtime.warn import warn

_heard: ContextVar[set[str] | None] = ContextVar("heard", default=None)
"""The kinds of advice given so far; None outside of :func:`heard_once`."""


@contextmanager
def heard_once() -> Iterator[None]:
    """Give every kind of advice (see :func:`advise`) only once within the block, however often it applies."""
    # A block within another one leaves the record of the outer one in place.
    token = None if _heard.get() is not None else _heard.set(set())
    try:
        yield
    finally:
        if token is not None:
            _heard.reset(token)


def advise(kind: str, message: str) -> None:
    """Warn the caller of the package, unless advice of this kind was heard within :func:`heard_once`."""
    heard = _heard.get()
    if heard is not None:
        if kind in heard:
            return
        heard.add(kind)
    warn(message)
