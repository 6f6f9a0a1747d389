"""The modules of the package, their syntax trees parsed once for all tests that read them."""

import ast
from functools import cache
from pathlib import Path

import anbexact
import anbexact.adapters

PACKAGE, ADAPTERS = Path(anbexact.__file__).parent, Path(anbexact.adapters.__file__).parent


def _sources():
    """Return every source file by the name of its module."""
    files = {}
    for top, folder in (("anbexact", PACKAGE), ("anbexact.adapters", ADAPTERS)):
        for path in sorted(folder.rglob("*.py")):
            inner = path.relative_to(folder).with_suffix("").parts
            if top == "anbexact" and inner[0] == "adapters":
                continue
            files[".".join((top, *inner)).removesuffix(".__init__")] = path
    return files


SOURCES = _sources()


def package_of(module):
    """Return the package of a module: the second part of its name, the first for those at the top."""
    return [*module.split("."), ""][1]


@cache
def tree(module):
    """Return the syntax tree of a module."""
    return ast.parse(SOURCES[module].read_text(encoding="utf-8"))


@cache
def nodes(module):
    """Return all nodes of the syntax tree of a module."""
    return tuple(ast.walk(tree(module)))


@cache
def strings(module):
    """Return the strings of a module: line, text, and whether it is a docstring; formatted parts as ``{}``."""
    documents = {id(node.value) for node in nodes(module) if isinstance(node, ast.Expr)}
    formatted = [node for node in nodes(module) if isinstance(node, ast.JoinedStr)]
    parts = {id(part) for node in formatted for part in ast.walk(node)} - set(map(id, formatted))
    found = []
    for node in nodes(module):
        if isinstance(node, ast.JoinedStr):
            text = "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            text = node.value
        else:
            continue
        found.append((node.lineno, text, id(node) in documents))
    return found
