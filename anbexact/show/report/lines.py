"""Lines of text for a terminal: wrapped text, lines of a table, the sizes of classes."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

WIDTH = 118
"""Characters in a line."""


def print_wrapped(text: str, indent: str = "", width: int = WIDTH) -> None:
    """Print a text in lines of a width, all but the first indented by two more characters."""
    print(textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent + "  "))


def print_cells(first: str, others: Sequence[str], widths: Sequence[int]) -> None:
    """Print a line of a table, the first cell aligned to the left, the others to the right."""
    cells = [text.rjust(width) for text, width in zip(others, widths[1:], strict=True)]
    print("  ".join([first.ljust(widths[0]), *cells]).rstrip())


def class_sizes(y: pd.Series[Any], most: int = 8) -> str:
    """Return the classes and how many rows each of them has, the most frequent first."""
    sizes = list(y.value_counts().items())
    sizes = [(label, n) for label, n in sizes if n]
    most += len(sizes) == most + 1  # the name of a single class is no longer than the words that there is one more
    shown = ", ".join(f"{label} ({n:,})" for label, n in sizes[:most])
    return f"class {y.name}: {shown}" + (f" and {len(sizes) - most} more classes" if len(sizes) > most else "")
