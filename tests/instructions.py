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
NAMED = re.compile(rf"anbexact[\"'`\s]+(?:{COMMANDS})\b")
LINE = re.compile(rf"^\s*((?:[^`\n|]*\| )?anbexact (?:{COMMANDS})\b[^\n]*)$", re.MULTILINE)


@cache
def files():
    """Return the pages and the examples, by where they are."""
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in (*PAGES, *EXAMPLES)}


def texts(modules=SOURCES):
    """Return the texts that may contain instructions, by where they are: files, and the strings of modules."""
    found = dict(files())
    for module in modules:
        for line, text, _ in strings(module):
            found[f"{module}, line {line}"] = text
    return found


def texts_with_commands():
    """Return the texts without those of modules that name no command, which need not be parsed then."""
    return texts([module for module, path in SOURCES.items() if NAMED.search(path.read_text(encoding="utf-8"))])


def command_lines(text):
    """Return the lines of a text that are commands, also with a pipe, in their order."""
    if "anbexact " not in text:  # as in most texts, in which the pattern would be searched from every line
        return []
    lines = [re.split(r"\s{2,}|\s#\s", line)[0] for line in LINE.findall(text)]
    return [line for line in lines if "{}" not in line and not line.endswith((".", ",", "`"))]


def command_spans(text):
    """Return the commands, whole or in part, that a text has in backticks."""
    if "anbexact" not in text:
        return []
    found = (" ".join(span.split()) for span in (*SPAN.findall(text), *DOUBLE.findall(text)))
    return [span for span in found if re.match(rf"anbexact (?:{COMMANDS}) .*-", span)]
