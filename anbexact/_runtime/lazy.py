"""Names of a package that are imported on first use."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any


def import_on_first_use(package: str, modules: Mapping[str, str]) -> None:
    """Give the package that calls this the names in ``modules``, each imported from its module when it is first used.

    For type checkers, the package must also import them under ``TYPE_CHECKING``.
    """
    contents = vars(sys.modules[package])

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        contents[name] = value = getattr(import_module(modules[name]), name)
        return value

    contents["__getattr__"] = find
    contents["__dir__"] = lambda: sorted({*contents, *modules})
