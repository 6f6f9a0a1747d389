"""Nothing outside scores/ asks which score it has: searches ask for capabilities (anbexact.scores.capabilities)."""

import ast
import inspect

from sources import SOURCES, nodes, package_of

import anbexact.scores

CONCRETE = {
    name
    for name, value in vars(anbexact.scores).items()
    if inspect.isclass(value) and not inspect.isabstract(value) and not getattr(value, "_is_protocol", False)
}
"""The scores themselves, as against what they have in common."""


def test_the_scores_are_known():
    assert {"BDeu", "KT", "CLL", "Universal"} <= CONCRETE
    assert not {"Score", "SetScore", "BoundedScore", "FamilyScore", "MixedSetScore"} & CONCRETE


def switches(module):
    """Yield the lines that ask whether something is of the class of one score."""
    for node in nodes(module):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"isinstance", "issubclass"}:
            named = {inner.id for inner in ast.walk(node.args[1]) if isinstance(inner, ast.Name)}
            named |= {inner.attr for inner in ast.walk(node.args[1]) if isinstance(inner, ast.Attribute)}
            if named & CONCRETE:
                yield node.lineno, ast.unparse(node)


def test_no_score_is_a_special_case():
    found = {name: list(switches(name)) for name in SOURCES if package_of(name) != "scores"}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_no_search_imports_a_universal_measure():
    imported = {
        (module, alias.name)
        for module in SOURCES
        if package_of(module) == "search"
        for node in nodes(module)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert [module for module, name in imported if name == "Universal"] == []
