"""Names as labels of figures, where space is limited."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from anbexact.show.svg.markup import shortened_apart

CHARACTER = 0.58
"""Mean width of a character of a label, as a share of the size of its font."""
SHORT_NAME = 3
"""Most characters of names that are written level below any number of columns."""


def plain(text: object) -> str:
    r"""Return a text that matplotlib does not read as a formula.

    Examples
    --------
    >>> print(plain("in $"))
    in \$
    """
    return str(text).replace("$", r"\$")


def label_lines(names: Sequence[object], width: int, lines: int = 2) -> list[str]:
    r"""Return names broken into lines; the middle of long names is left out, and different names stay different.

    Parameters
    ----------
    names : sequence
        What is named.
    width : int
        Most characters in a line.
    lines : int, default 2
        Most lines of a name.

    Examples
    --------
    >>> label_lines(["Iris setosa (Virginia blue flag)", "none"], 22)
    ['Iris setosa (Virginia\nblue flag)', 'none']
    >>> label_lines(["a name that needs more than two lines", "none"], 12)
    ['a name that\n…n two lines', 'none']
    """
    for most in range(width * lines, width, -1):
        found = [textwrap.wrap(name, width) for name in shortened_apart(names, most)]
        if all(len(parts) <= lines for parts in found):
            return ["\n".join(parts) for parts in found]
    return shortened_apart(names, width)


def filled(parts: Sequence[str], width: int) -> str:
    r"""Return parts of a sentence in one line if they fit, else each part in its own lines of about equal length.

    Examples
    --------
    >>> filled(["log odds of a", "against b"], 30)
    'log odds of a against b'
    >>> filled(["log odds of a", "against b"], 20)
    'log odds of a\nagainst b'
    """
    whole = " ".join(parts)
    return whole if len(whole) <= width else "\n".join(_even(part, width) for part in parts)


def _even(text: str, width: int) -> str:
    """Return a text in as few lines as a width in characters allows, and in the narrowest of so few lines."""
    fewest = len(textwrap.wrap(text, width))
    widths = range(-(-len(text) // max(fewest, 1)), width + 1)
    return next("\n".join(lines) for of in widths if len(lines := textwrap.wrap(text, of)) <= fewest)


def longest_line(labels: Sequence[str]) -> int:
    """Return the number of characters of the longest line of some labels."""
    return max((len(line) for label in labels for line in label.split("\n")), default=0)


def inches(characters: int, points: float) -> float:
    """Return the approximate width of a line of text, in inches, for the size of its font in points."""
    return characters * CHARACTER * points / 72


def characters(width: float, points: float) -> int:
    """Return about how many characters of a size in points fit into a width in inches; at least 12."""
    return max(int(width / inches(1, points)), 12)


def axes_size(axes: Any) -> tuple[float, float]:
    """Return the width and height of matplotlib axes, in inches; a layout that follows can still change them."""
    box = axes.get_window_extent()
    return box.width / axes.figure.dpi, box.height / axes.figure.dpi


def aslant(axis: Any) -> None:
    """Turn the labels of a matplotlib axis so that each ends at its tick; lines of one label stay side by side."""
    lines = 1
    for text in axis.get_ticklabels():
        text.set(rotation=45, ha="right", va="center", rotation_mode="anchor")
        lines = max(lines, text.get_text().count("\n") + 1)
    axis.set_tick_params(pad=2.0 + 2.5 * lines)
