r"""Standard output and standard error as the command needs them: there, and able to take every character.

Where an output has a narrow encoding, such as that of a pipe on Windows, text for people has escapes (``\u0142``) for
the characters that the encoding lacks, JSON has its own escapes, and tables and Markdown are UTF-8, as in files.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout

from anbexact._runtime.progress import takes_every_character


@contextmanager
def usable_streams() -> Iterator[None]:
    """Let both outputs take every character within, and swallow what is written to one that does not exist."""
    with ExitStack() as stack:
        for stream, redirected in ((sys.stdout, redirect_stdout), (sys.stderr, redirect_stderr)):
            if stream is None:  # a program without a console, such as pythonw
                nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
                stack.enter_context(redirected(nowhere))
            elif isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
                stream.reconfigure(errors="backslashreplace")
                stack.callback(stream.reconfigure, errors="strict")
        yield


@contextmanager
def like_a_file() -> Iterator[None]:
    """Let a standard output of a narrow encoding be UTF-8 within; that of a terminal remains what it shows."""
    encoding, errors = sys.stdout.encoding, sys.stdout.errors
    if takes_every_character(sys.stdout) or sys.stdout.isatty() or not isinstance(sys.stdout, io.TextIOWrapper):
        yield
        return
    sys.stdout.reconfigure(encoding="utf-8")
    try:
        yield
    finally:
        sys.stdout.reconfigure(encoding=encoding, errors=errors)
