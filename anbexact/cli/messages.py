"""What the command tells the user beside its results: refusals, notes and progress."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anbexact.limits import Progress


class InputError(Exception):
    """What the user passed cannot be worked with."""

    def __init__(self, text: str) -> None:
        super().__init__(with_options(text))


class ProgressLine:
    """A progress line on standard error if that is a terminal; wiped away at the end."""

    def __init__(self) -> None:
        self.show: Progress | None = None
        if sys.stderr.isatty():
            from anbexact.limits import progress_line

            self.show = progress_line()

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        if self.show is not None:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def note(text: str) -> None:
    print(f"anbexact: note: {' '.join(with_options(text).split())}", file=sys.stderr)


def with_options(text: str) -> str:
    """Return a message with options of ``fit`` in the place of the parameters that it recommends."""
    text = re.sub(r"handle_missing='(\w+)'(?: or '(\w+)')?", _missing_option, text)
    return text.replace("pass drop_identifiers=False", "pass --keep-identifiers")


def _missing_option(found: re.Match[str]) -> str:
    return " or ".join(f"--missing {choice}" for choice in found.groups() if choice)


def listed(names: Iterable[str], noun: str, most: int = 10) -> str:
    """Return names as text, such as ``the columns 'a', 'b'``."""
    names = list(names)
    shown = ", ".join(map(repr, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")
    return f"the {noun}{'s' if len(names) > 1 else ''} {shown}" if noun else shown
