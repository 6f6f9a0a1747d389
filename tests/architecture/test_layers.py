"""The order of imports, and that no package reaches into the private parts of another."""

import ast

from sources import SOURCES, nodes, package_of

LAYERS = (
    ("_kernels",),
    ("_runtime",),
    ("tables",),
    ("discretize",),
    ("scores",),
    ("models",),
    ("search",),
    ("averaging",),
    ("explanations",),
    ("scorecards",),
    ("datasets",),
    ("classifiers",),
    ("rivals",),
    ("selection",),
    ("conformal",),
    ("files",),
    ("adapters",),
    ("compare",),
    ("show",),
    ("plots", "report"),
    ("cli",),
)
"""A package imports from those above it; packages of one line do not know each other."""
DEFERRED = {
    ("_runtime", "show"),  # a value shows itself in a notebook, or as a figure
    ("models", "adapters"),  # result() of statsmodels
    ("classifiers", "adapters"),  # to_pgmpy
    ("classifiers", "files"),  # save
    ("scorecards", "adapters"),  # to_sql, to_python, to_excel
    ("scorecards", "show"),  # to_html
}
"""The only imports that go downwards, within methods that hand a value over to what is built on it."""


PUBLIC = {("classifiers", "rivals"), ("search", "rivals")}
"""Packages whose ``__init__`` offers what another one has, under the names that users know."""


def imports(module):
    """Yield the names of the modules that a module imports, with their lines, and whether a function imports them."""
    typed, deferred = set(), set()
    for node in nodes(module):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            typed.update(id(inner) for inner in ast.walk(node))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            deferred.update(id(inner) for inner in ast.walk(node))
    for node in nodes(module):
        if id(node) in typed:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno, id(node) in deferred) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module, node.lineno, id(node) in deferred


def test_every_package_has_its_place():
    named = [name for layer in LAYERS for name in layer]
    assert len(named) == len(set(named))
    assert {package_of(module) for module in SOURCES} - {"", "__main__"} == set(named)


def test_imports_go_upwards():
    """Also those within functions, but for the few in ``DEFERRED``, each of which is there."""
    place = {name: k for k, layer in enumerate(LAYERS) for name in layer}
    downwards, found = [], set()
    for module in SOURCES:
        own = package_of(module)
        if module.count(".") == 0 or own not in place:  # the package itself, and __main__
            continue
        for imported, line, deferred in imports(module):
            other = package_of(imported)
            ours = imported.split(".")[0] == "anbexact" and other in place and other != own
            if ours and place[other] >= place[own]:
                if deferred and (own, other) in DEFERRED:
                    found.add((own, other))
                elif SOURCES[module].name != "__init__.py" or (own, other) not in PUBLIC:
                    downwards.append(f"{SOURCES[module]}:{line} imports {imported}")
    assert not downwards, "\n".join(downwards)
    assert found == DEFERRED


def defined(package):
    """Return the private names that the modules of a package define or set."""
    names = set()
    for module in SOURCES:
        if package_of(module) != package:
            continue
        for node in nodes(module):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                names.add(node.attr)
            elif isinstance(node, ast.arg):
                names.add(node.arg)
    return names


OTHERS = {"_fields", "_asdict", "_replace", "_getframe", "_ArgumentGroup", "_ActionsContainer", "_SubParsersAction"}
"""Names with an underscore that others document: those of named tuples, sys and argparse."""


def test_no_package_reaches_into_another():
    reached = []
    for package in {package_of(module) for module in SOURCES}:
        reached += reaches(package)
    assert reached == []


def reaches(package):
    """Where a package uses a private name of another."""
    own = defined(package)
    reached = []
    for module in SOURCES:
        if package_of(module) != package:
            continue
        for node in nodes(module):
            if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
                if node.attr not in own | OTHERS:
                    reached.append(f"{SOURCES[module]}:{node.lineno} {ast.unparse(node)}")
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("anbexact"):
                private = [alias.name for alias in node.names if alias.name.startswith("_")]
                if package_of(node.module) != package and private and node.module != "anbexact":
                    reached.append(f"{SOURCES[module]}:{node.lineno} imports {private}")
    return reached
