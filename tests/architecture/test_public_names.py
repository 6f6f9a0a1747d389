"""The public names and their parameters, as users rely on them.

A change shows here. Record it, with an entry in CHANGELOG.md, by

    python tests/architecture/test_public_names.py
"""

import inspect
import sys
from importlib import import_module
from pathlib import Path

RECORD = Path(__file__).with_name("public_names.txt")
PACKAGES = (
    "anbexact",
    "anbexact.adapters",
    "anbexact.averaging",
    "anbexact.classifiers",
    "anbexact.compare",
    "anbexact.conformal",
    "anbexact.datasets",
    "anbexact.discretize",
    "anbexact.plots",
    "anbexact.report",
    "anbexact.scores",
    "anbexact.search",
    "anbexact.selection",
)


def parameters(thing):
    """Return the names of a callable's parameters; those with a default end with =."""
    if not callable(thing):
        return ""
    try:
        found = inspect.signature(thing).parameters.values()
    except ValueError:
        return ""
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    names = [
        marks.get(own.kind, "") + own.name + ("=" if own.default is not own.empty else "")
        for own in found
        if own.name != "self"
    ]
    return f"({', '.join(names)})"


def public_names():
    """Return a line for every public name, and for every public method of what is defined in the package."""
    lines = []
    for package in PACKAGES:
        module = import_module(package)
        for name in sorted(module.__all__):
            thing = getattr(module, name)
            lines.append(f"{package}.{name}{parameters(thing)}")
            if not inspect.isclass(thing) or package != "anbexact":
                continue
            for method in sorted(dir(thing)):
                own = inspect.getattr_static(thing, method)
                function = getattr(thing, method, None)
                if method.startswith("_") or not str(getattr(function, "__module__", "")).startswith("anbexact"):
                    continue
                if inspect.isfunction(function) or isinstance(own, classmethod | staticmethod):
                    lines.append(f"{package}.{name}.{method}{parameters(function)}")
    return lines


def test_public_names_are_those_on_record():
    recorded = RECORD.read_text(encoding="utf-8").splitlines()
    found = public_names()
    changes = [f"- {line}" for line in recorded if line not in set(found)]
    changes += [f"+ {line}" for line in found if line not in set(recorded)]
    assert not changes, "\n".join(["public names changed; see the head of this file:", *changes])


if __name__ == "__main__":
    RECORD.write_text("\n".join(public_names()) + "\n", encoding="utf-8")
    sys.stdout.write(f"{RECORD}: {len(public_names())} names\n")
