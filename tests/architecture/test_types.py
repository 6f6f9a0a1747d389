"""Whoever wants to know something of a model asks it, or the registry of classifiers, and not its type.

Only displays in notebooks are chosen by type (``html.register``), as those of any other value are.
"""

import ast
from importlib import import_module

from sources import SOURCES, nodes

from anbexact.classifiers.discrete import DiscreteClassifier
from anbexact.models.model import Model

ALLOWED = {
    "anbexact.adapters.deploy.mlflow": "an argument that a user passes",
    "anbexact.adapters.pgmpy.queries": "an argument that is a network of pgmpy, or a classifier",
    "anbexact.classifiers.pooling.members": "members that a user passes",
    "anbexact.classifiers.refitted": "an estimator that a user passes",
    "anbexact.conformal.full": "an estimator that a user passes",
}
"""Modules that ask whether something is a classifier of a kind, and of what they ask it."""


def below(kind):
    """Return the names of a class and of all in the package that derive from it, not of those that tests define."""
    heirs = [of for of in kind.__subclasses__() if of.__module__.startswith("anbexact.")]
    return {kind.__name__}.union(*map(below, heirs))


def types_in(node):
    """Return the parts of a syntax tree's node that name types which it tells apart."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
        return [node.args[1]]
    if isinstance(node, ast.Compare) and isinstance(node.left, ast.Call) and ast.unparse(node.left.func) == "type":
        return node.comparators
    if isinstance(node, ast.MatchClass):
        return [node.cls]
    if isinstance(node, ast.FunctionDef):  # of singledispatch
        marks = [mark for mark in node.decorator_list if ".register" in ast.unparse(mark)]
        if marks and not any(ast.unparse(mark).startswith("html.") for mark in marks):
            return [*marks, *(argument.annotation for argument in node.args.args[:1] if argument.annotation)]
    return []


def switches(kind, outside=""):
    """Return, by module, where types below a class are told apart; not in the package called ``outside``."""
    for module in SOURCES:
        if not module.endswith("__main__"):
            import_module(module)
    names, found = below(kind), {}
    for module in SOURCES:
        if outside and f"{module}.".startswith(f"{outside}."):
            continue
        for node in nodes(module):
            parts = [part for of_type in types_in(node) for part in ast.walk(of_type)]
            used = {part.id for part in parts if isinstance(part, ast.Name)}
            used |= {part.attr for part in parts if isinstance(part, ast.Attribute)}
            if used & names:
                found.setdefault(module, []).append((node.lineno, sorted(used & names)))
    return found


def test_no_module_asks_for_the_type_of_a_model():
    assert switches(Model, outside="anbexact.models") == {}


def test_who_asks_for_the_type_of_a_classifier():
    assert switches(DiscreteClassifier).keys() == ALLOWED.keys()
