"""Intervals in the words of a reader: "≤ 8.5", "8.5 to 12" and "> 12" instead of the names of states."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from anbexact.show.report.document import markdown_text
from anbexact.tables.cuts import Cuts, cut_texts, interval_names
from anbexact.tables.frames.quantities import Quantity

_INTERVAL = re.compile(r"(?P<within> in )?(?P<name>\([^()\[\]<>\n]{1,90}?, [^()\[\]<>\n]{1,90}?(?:\\?\]|\)))")
"""What may be the name of an interval, also in Markdown, where the bracket has a backslash."""


def spoken_intervals(models: Iterable[Any]) -> dict[str, str]:
    """Return what the intervals of the cut columns of models are called in a report, by their names as states."""
    spoken: dict[str, str] = {}
    for model in models:
        for feature, cuts in model.cut_points.items():
            quantity = model.vocabulary.quantities.get(feature)
            if len(cuts):
                spoken |= dict(zip(interval_names(cuts, quantity), in_words(cuts, quantity), strict=True))
    return spoken


def in_words(cuts: Cuts, quantity: Quantity | None) -> list[str]:
    """Return what the intervals between cut points, of which there is one or more, are called in a report."""
    texts = cut_texts(cuts, quantity)
    return [f"≤ {texts[0]}", *(f"{low} to {high}" for low, high in pairwise(texts)), f"> {texts[-1]}"]


def with_spoken_intervals(text: str, spoken: Mapping[str, str], *, markdown: bool = False) -> str:
    """Return HTML or Markdown in which the names of intervals are replaced; a value in one has it in brackets."""
    if markdown:
        known = {markdown_text(name): markdown_text(words) for name, words in spoken.items()}
    else:  # also within the values that scripts read, where nothing is escaped
        known = {html.escape(name): words for name, words in spoken.items()} | dict(spoken)

    def words(found: re.Match[str]) -> str:
        place = known.get(found["name"])
        if place is None:
            return found[0]
        return f" ({place})" if found["within"] else place

    return _INTERVAL.sub(words, text) if known else text
