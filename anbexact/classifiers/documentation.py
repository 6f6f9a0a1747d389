"""Docstrings of estimators that document every parameter, including those shared with other estimators."""

from __future__ import annotations

import re
from functools import cache
from inspect import cleandoc, signature

HEADING = re.compile(r"^(\w[\w ]*)\n-+\n", re.MULTILINE)
"""A heading in numpy's style, underlined by hyphens."""
ENTRY = re.compile(r"^(\w+(?:, \w+)*)(?: :.*)?$")
"""The line of a section that names one parameter, or several with commas, and their type."""


def complete_docstring(estimator: type) -> None:
    """Add the parameters that an estimator's docstring does not describe, as its base classes describe them.

    The docstrings of the base classes are searched, the nearest first. A parameter that none of them describes stays
    undocumented; a test refuses that.
    """
    before, entries, after = _parts(estimator.__doc__ or "")
    known = {name for names in entries for name in names}
    names = list(signature(estimator.__init__).parameters)[1:]  # type: ignore[misc]  # of instances of the estimator
    inherited: dict[str, str] = {}
    for base in estimator.__mro__[1:]:
        for of_entry, text in _parts(base.__doc__ or "")[1].items():
            for name in of_entry:
                if name in names and name not in known:
                    inherited.setdefault(name, text)
    added = [inherited[name] for name in names if name in inherited]
    added = list(dict.fromkeys(added))  # several parameters can share an entry
    if not added:
        return
    parameters = "\n".join((*entries.values(), *added))
    estimator.__doc__ = f"{before}Parameters\n----------\n{parameters}\n\n{after}"


@cache
def _parts(docstring: str) -> tuple[str, dict[tuple[str, ...], str], str]:
    """Split a docstring into the text before its parameters, the entries by name, and the text after them."""
    docstring = cleandoc(docstring)
    headings = list(HEADING.finditer(docstring))
    place = next((k for k, heading in enumerate(headings) if heading[1] == "Parameters"), None)
    if place is None:
        start = headings[0].start() if headings else len(docstring)
        return docstring[:start].rstrip() + "\n\n", {}, docstring[start:]
    start, end = headings[place].start(), headings[place].end()
    stop = headings[place + 1].start() if place + 1 < len(headings) else len(docstring)
    entries: dict[tuple[str, ...], str] = {}
    current: list[str] = []
    lines = docstring[end:stop].rstrip().split("\n")
    for k, line in enumerate(lines):
        if line and not line.startswith(" ") and not ENTRY.match(line):  # a paragraph after the entries
            rest = "\n".join(lines[k:]).rstrip()
            return docstring[:start], entries, f"{rest}\n\n{docstring[stop:]}"
        if line and not line.startswith(" "):
            current = [name.strip() for name in line.split(" :")[0].split(",")]
            entries[tuple(current)] = line
        elif current:
            entries[tuple(current)] = (entries[tuple(current)] + "\n" + line).rstrip()
    return docstring[:start], entries, docstring[stop:]
