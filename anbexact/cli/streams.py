r"""Standard output and standard error that exist and accept every character.

If the encoding of an output lacks some characters, as that of a pipe on Windows may, they are escaped (``\u0142``) in
messages and JSON, and tables and Markdown are written in UTF-8, as to files.
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
    """Escape characters that an output lacks within the block, and discard what is written to a missing output."""
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
    """Write standard output in UTF-8 within the block if its encoding lacks characters and it is not a terminal."""
    encoding, errors = sys.stdout.encoding, sys.stdout.errors
    if takes_every_character(sys.stdout) or sys.stdout.isatty() or not isinstance(sys.stdout, io.TextIOWrapper):
        yield
        return
    sys.stdout.reconfigure(encoding="utf-8")
    try:
        yield
    finally:
        sys.stdout.reconfigure(encoding=encoding, errors=errors)
