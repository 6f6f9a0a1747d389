"""Progress of long work, and how it is shown."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TextIO, TypeGuard

Progress = Callable[[str, float], None]
"""Called with the name of a phase and the fraction of it that is finished, 0 to 1."""


_several: ContextVar[_Several | None] = ContextVar("several", default=None)
"""The searches of the block of :func:`several_searches`; None outside of one."""

LONG_WAIT = 5.0
"""Seconds after which progress is shown without being asked for."""


def progress_line(stream: TextIO | None = None, *, after: float = 0.0) -> Progress:
    """Return a progress callback that writes to a stream (standard error by default).

    On a terminal or in a notebook, one line is kept up to date, and cleared when its phase ends. Elsewhere, a line is
    written at the end of every phase.

    Parameters
    ----------
    stream : text stream, optional
        Where to write. If there is no such stream, nothing is written.
    after : float, default 0.0
        Seconds, from now, before which nothing is written.
    """
    out = sys.stderr if stream is None else stream
    began = time.monotonic()
    shown, width = began + after - 0.2, 0

    def show(phase: str, fraction: float) -> None:
        nonlocal shown, width
        now = time.monotonic()
        if now < began + after or not _is_open(out):
            return
        if not is_watched(out):
            if fraction >= 1:
                print(f"{phase}: done", file=out, flush=hasattr(out, "flush"))
        elif fraction >= 1 or now - shown > 0.2:
            shown = now
            text = f"{phase}: {fraction:4.0%}" if fraction < 1 else ""
            rest = "\033[K" if out.isatty() else " " * (width - len(text))
            if text or width:
                print(f"\r{text}{rest}", end="", file=out, flush=True)
            width = len(text)

    return show


def default_progress() -> Progress | None:
    """Return the callback that shows the progress of long work without being asked; None if nobody watches.

    On a terminal or in a notebook it is a :func:`progress_line` that appears after five seconds.
    """
    return progress_line(after=LONG_WAIT) if is_watched(sys.stderr) else None


@dataclass
class _Several:
    """Several searches for one result: their maximum number, when the first began, and how many have begun."""

    at_most: int
    since: float
    begun: int = 0


@contextmanager
def several_searches(at_most: int) -> Iterator[None]:
    """Number the searches within the block in their progress, which is shown once they have taken long in total."""
    token = _several.set(_Several(at_most, time.monotonic()))
    try:
        yield
    finally:
        _several.reset(token)


def progress_of(verbose: int) -> Progress | None:
    """Return the callback for the progress of long work, or None.

    It always shows progress if ``verbose`` is above 0, only on a terminal or in a notebook if it is 0, and never if
    it is below 0. Within :func:`several_searches`, every call begins another search.
    """
    several = _several.get()
    if several is not None:
        several.begun += 1
    if verbose < 0:
        return None
    if several is None:
        return progress_line() if verbose > 0 else default_progress()
    if verbose == 0 and not is_watched(sys.stderr):
        return None
    line = progress_line(after=0.0 if verbose > 0 else several.since + LONG_WAIT - time.monotonic())
    name = f"search {several.begun} of at most {several.at_most}"
    return lambda phase, fraction: line(f"{name}, {phase}", fraction)


def is_watched(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal, or the output of a notebook's cell."""
    if not _is_open(stream):
        return False
    is_terminal = hasattr(stream, "isatty") and stream.isatty()
    return is_terminal or type(stream).__module__.startswith("ipykernel")


def _is_open(stream: TextIO | None) -> TypeGuard[TextIO]:
    """Whether a stream exists and is open; in programs without a console, standard streams may be None."""
    return stream is not None and not getattr(stream, "closed", False)


def takes_every_character(stream: TextIO | None) -> bool:
    """Whether a stream can express every character: its encoding is one of Unicode, or it has none."""
    return (getattr(stream, "encoding", None) or "utf-8").lower().startswith("utf")
