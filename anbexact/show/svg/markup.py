"""HTML and SVG as values: whatever is not markup already is escaped where it enters."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]")
"""Characters that a page cannot hold, and those that reverse the direction of the text that follows."""
MOST_OF_WORD = 8
"""Most characters by which a difference within a word is extended, to either side, to show the whole word."""
VOID = frozenset({"br", "col", "hr", "img", "input", "link", "meta"})
"""Elements of HTML that have no end tag."""


class Markup(str):
    """Text that is markup already, and is not escaped again."""

    __slots__ = ()


def escaped(value: object) -> Markup:
    """Return a value as markup: markup as it is, everything else as text.

    Examples
    --------
    >>> escaped("<b>")
    '&lt;b&gt;'
    """
    if isinstance(value, Markup):
        return value
    return Markup(html.escape(UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", str(value))))


def joined(parts: Iterable[object], separator: str = "") -> Markup:
    """Return several pieces as one, each escaped unless it is markup."""
    return Markup(separator.join(map(escaped, parts)))


def element(name: str, /, *children: object, **attributes: Any) -> Markup:
    """Return an element of HTML or SVG.

    Parameters
    ----------
    name : str
        Its name.
    *children : object
        What it contains, escaped unless it is :class:`Markup`.
    **attributes : Any
        Its attributes. An underscore stands for a hyphen, and underscores at the end are removed (``class_``). An
        attribute that is None or False is left out, and one that is True has no value. Floats are rounded to two
        decimals.

    Examples
    --------
    >>> element("td", "a < b", class_="name")
    '<td class="name">a &lt; b</td>'
    """
    parts = [f"<{name}"]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        parts.append(f" {key.rstrip('_').replace('_', '-')}")
        if value is not True:
            text = f"{round(value, 2):g}" if isinstance(value, float) else value
            parts.append(f'="{escaped(text)}"')
    parts.append(">")
    if name in VOID:
        return Markup("".join(parts))
    return Markup("".join([*parts, *map(escaped, children), f"</{name}>"]))


@cache
def static_text(package: str, name: str) -> Markup:
    """Return a file that is installed in the folder ``static`` of a package."""
    return Markup(files(package).joinpath("static", name).read_text(encoding="utf-8"))


def shortened(text: object, most: int) -> str:
    """Return a text with its middle left out if it is longer than ``most`` characters.

    Examples
    --------
    >>> shortened("a_very_long_name", 9)
    'a_ve…name'
    """
    whole = " ".join(str(text).split())
    if len(whole) <= most:
        return whole
    end = (most - 1) // 2
    return whole[: most - 1 - end] + "…" + (whole[-end:] if end else "")


def shortened_apart(texts: Sequence[object], most: int) -> list[str]:
    """Return texts as :func:`shortened` does; those that would look alike keep the part that tells them apart.

    Examples
    --------
    >>> shortened_apart(["score of part 1 of 20 parts", "score of part 2 of 20 parts", "age"], 15)
    ['score …1… parts', 'score …2… parts', 'age']
    """
    whole = [" ".join(str(text).split()) for text in texts]
    found = [shortened(text, most) for text in whole]
    alike: dict[str, set[str]] = {}
    for text, short in zip(whole, found, strict=True):
        alike.setdefault(short, set()).add(text)
    return [
        _telling(text, sorted(alike[short]), most) if len(alike[short]) > 1 else short
        for text, short in zip(whole, found, strict=True)
    ]


def _telling(text: str, others: list[str], most: int) -> str:
    """Return a text with its beginning, its end, and the words in which it differs from others."""
    before = _shared(others)
    after = _shared([other[before:][::-1] for other in others])
    first, last = before, len(text) - after
    while first > 0 and text[first - 1].isalnum() and before - first < MOST_OF_WORD:
        first -= 1
    while last < len(text) and text[last].isalnum() and last - len(text) + after < MOST_OF_WORD:
        last += 1
    middle = shortened(text[first:last], max(most // 2, 1))
    ends = most - len(middle) - 2
    if ends < 2 or not middle:
        return shortened(text, most)
    head = min(first, ends - ends // 2)
    tail = min(len(text) - last, ends - head)
    start = text[:head] + ("…" if head < first else "")
    return start + middle + ("…" if tail < len(text) - last else "") + text[len(text) - tail :]


def _shared(texts: Sequence[str]) -> int:
    """Return the number of characters with which all texts begin alike."""
    columns = enumerate(zip(*texts, strict=False))
    return next((k for k, letters in columns if len(set(letters)) > 1), min(map(len, texts)))
