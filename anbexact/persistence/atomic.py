"""Files that appear under their names only when they are complete."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


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
