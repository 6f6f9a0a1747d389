"""Files that appear under their names only when they are complete."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a path of the same name in a folder beside a file, which is moved to its place if nothing fails.

    What is not a regular file, such as a device or a pipe, is written in place.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    place = path.resolve()  # a link stays one
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=f".{place.name}.") as folder:
        draft = Path(folder) / place.name
        yield draft
        if place.exists():
            draft.chmod(place.stat().st_mode)
        os.replace(draft, place)


def write_atomically(path: Path, text: str, encoding: str = "ascii") -> None:
    """Write a file beside its place, then move it there in one step."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        with draft.open("x", encoding=encoding, newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
