"""What pages, help texts, docstrings and examples tell readers to type."""

import re
from functools import cache

from sources import PACKAGE, SOURCES, strings

import anbexact.cli as cli

ROOT = PACKAGE.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "SECURITY.md",
    *(path for path in sorted((ROOT / "docs").rglob("*.md")) if "measurements" not in path.parts),
]
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
FENCE = re.compile(r"^ *```.*?^ *```|<!--.*?-->", re.DOTALL | re.MULTILINE)
BLOCK = re.compile(r"^ *```python\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"(?<!`)`([^`\n]+(?:\n[^`\n]+)?)`(?!`)")
DOUBLE = re.compile(r"``([^`]+)``")
COMMANDS = "|".join(cli.COMMANDS)
LINE = re.compile(rf"^\s*((?:[^`\n|]*\| )?anbexact (?:{COMMANDS})\b[^\n]*)$", re.MULTILINE)


@cache
def texts():
    """Return the texts that may contain instructions, by where they are."""
    found = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in (*PAGES, *EXAMPLES)}
    for module in SOURCES:
        for line, text, _ in strings(module):
            found[f"{module}, line {line}"] = text
    return found


def command_lines(text):
    """Return the lines of a text that are commands, also with a pipe, in their order."""
    lines = [re.split(r"\s{2,}|\s#\s", line)[0] for line in LINE.findall(text)]
    return [line for line in lines if "{}" not in line and not line.endswith((".", ",", "`"))]


def command_spans(text):
    """Return the commands, whole or in part, that a text has in backticks."""
    found = (" ".join(span.split()) for span in (*SPAN.findall(text), *DOUBLE.findall(text)))
    return [span for span in found if re.match(rf"anbexact (?:{COMMANDS}) .*-", span)]
