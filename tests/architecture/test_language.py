"""Wording of messages, docstrings and guides: the words of the field, and no private ones."""

import re

from sources import PACKAGE, SOURCES, strings

ROOT = PACKAGE.parent
GUIDES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "benchmarks").rglob("templates/*.md")),
]
BETTER = {
    r"(?:gone|go|goes|going)\s+through": "enumerate, consider",
    r"(?<![_.`])\blikeliest\b(?! :|=|_)": "most probable",
    r"\bstrangers?\b": "unknown",
    r"\bturn(?:ed|s)?\s+round\b": "reverse",
    r"(?<!there\s)\b(?:is|are)\s+none\b": "is not a ...",
    r"\bat\s+odds\b": "does not match",
    r"\bhand(?:ed|s)?\s+over\b": "pass, export",
    r"\bhangs?\s+together\b": "connected",
    r"\bmakes?\s+no\s+sense\b": "invalid",
    r"\bgoes\s+with\b": "applies to",
    r"\bdeals?\b(?!\s+with)|\bdealt\b(?!\s+with)": "repeat, split",
    r"\bas\s+good\s+as\s+(?:no\s+row|two\s+rows)\b": "equivalent to",
}
"""What no text says, with better words."""
BETTER_IN_MESSAGES = {
    r"(?<!there\s)\b(?:is|are)\s+no\s+(?!longer|more|less|fewer|better|worse|larger|smaller)": "is not a ...",
    r"\bbelongs?\s+to\s+(?=--|\{)": "applies to",
}
"""What no message says in addition."""


def complaints(text, rules, place, first=1):
    """Return where a text breaks rules, as ``file:line: words``; words may be divided by the end of a line."""
    return [
        f"{place}:{first + text.count(chr(10), 0, found.start())}: {' '.join(found[0].split())!r}, better: {better}"
        for pattern, better in rules.items()
        for found in re.finditer(pattern, text)
    ]


def test_guides():
    found = []
    for path in GUIDES:
        found += complaints(path.read_text(encoding="utf-8"), BETTER, path.relative_to(ROOT))
    assert not found, "\n".join(found)


def test_messages_and_docstrings():
    found = []
    for module in SOURCES:
        for line, text, is_document in strings(module):
            rules = BETTER if is_document else BETTER | BETTER_IN_MESSAGES
            if " " in text and re.search("|".join(rules), text):
                found += complaints(text, rules, module, line)
    assert not found, "\n".join(found)


def test_words_are_found_across_lines():
    assert complaints("a\nset is gone\nthrough", BETTER, "f") == ["f:2: 'gone through', better: enumerate, consider"]
    assert not complaints("if there is none, the likeliest_levels deal with it", BETTER, "f")
    assert complaints("'x' is no state", BETTER_IN_MESSAGES, "f")
    assert not complaints("there is no row, and it is no longer open", BETTER_IN_MESSAGES, "f")
