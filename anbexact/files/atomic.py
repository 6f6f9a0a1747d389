"""Files that appear under their names only when they are complete."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def check_place(path: Path) -> None:
    """Refuse a path that is a folder, or whose folder does not exist.

    Raises
    ------
    IsADirectoryError, FileNotFoundError
        They name the path that was given, not that of a draft.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder, not a file", str(path))
    folder = path.resolve().parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"the folder {folder} does not exist", str(path))


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield the path of a draft with the name of the file, which is moved to its place if nothing fails.

    The draft is in a folder of its own next to the file, and on the disk before it is moved, so that after a power
    failure, too, the file is the old one or the new one. If the path exists and is not a regular file, such as a
    device or a pipe, it is written directly.

    Raises
    ------
    OSError
        If the folder does not exist, or the file cannot be written.
    """
    check_place(path)
    if path.exists() and not path.is_file():
        yield path
        return
    place = path.resolve()  # of a link, the file that it leads to is replaced, and the link stays
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=f".{place.name}.") as folder:
        draft = Path(folder) / place.name
        yield draft
        if place.exists():
            draft.chmod(place.stat().st_mode)
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(draft, place)


def write_atomically(path: Path, text: str, encoding: str = "ascii") -> None:
    """Write a text to a file, which is replaced in one step; see :func:`atomic_path`.

    Raises
    ------
    OSError
        If the folder does not exist, or the file cannot be written.
    """
    with atomic_path(path) as draft:
        draft.write_text(text, encoding=encoding, newline="\n")
