"""Arcs that a structure must or must not have, as the command line names them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from anbexact.cli.messages import InputError
from anbexact.cli.tables import no_column

ARROW = "->"
EDGE_HELP = "an arc from one feature to another, as A->B in quotation marks, or a file with one such arc per line"


def read_edges(given: Iterable[str], features: Collection[str], option: str, label: str) -> list[tuple[str, str]]:
    """Return the arcs that an option names, each as ``A->B`` or the path of a file with one arc a line.

    Raises
    ------
    InputError
        For text without an arrow that is not a file, or an end that is not a feature.
    """
    edges = []
    for text in given:
        for place, line in _lines(text, option):
            ends = [end.strip() for end in line.split(ARROW)]
            if len(ends) != 2 or not all(ends):
                raise InputError(f"{place}: {line!r} is not an arc A->B from one feature to another")
            for end in ends:
                if end not in features:
                    raise InputError(f"{place}: {line!r}: {no_column(end, features, label)}")
            edges.append((ends[0], ends[1]))
    return list(dict.fromkeys(edges))


def _lines(text: str, option: str) -> list[tuple[str, str]]:
    """Return arcs with the places where they stand: the option, or lines of a file (# begins a comment)."""
    if ARROW in text:
        return [(option, text)]
    try:
        lines = Path(text).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{option} {text}: this is neither an arc A->B nor a text file of arcs") from None
    return [
        (f"{text}, line {number}", line.strip())
        for number, line in enumerate(lines, start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
