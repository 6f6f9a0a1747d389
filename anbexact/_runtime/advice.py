"""Advice to the caller of the package; each kind is given once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from anbexact._runtime.warn import warn

_heard: ContextVar[set[str] | None] = ContextVar("heard", default=None)


@contextmanager
def heard_once() -> Iterator[None]:
    """Give every kind of advice (see :func:`advise`) only once within the block, however often it applies."""
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
