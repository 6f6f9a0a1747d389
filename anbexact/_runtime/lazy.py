"""Names of a package that are imported on first use."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any


def import_on_first_use(package: str, modules: Mapping[str, str]) -> None:
    """Give the package that calls this the names in ``modules``, each imported from its module when it is first used.

    A name whose module is ``package.name`` is that module itself. For type checkers, the package must also import the
    names under ``TYPE_CHECKING``.
    """
    contents = vars(sys.modules[package])

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with no_garbage():
            module = import_module(modules[name])
        contents[name] = value = module if modules[name] == f"{package}.{name}" else getattr(module, name)
        return value

    contents["__getattr__"] = find
    contents["__dir__"] = lambda: sorted({*contents, *modules})


@contextmanager
def no_garbage() -> Iterator[None]:
    """Do not search for garbage during imports: they create many objects, none of it, and the search takes a tenth.

    Afterwards, the objects count as old, so that the next collection does not search them either. Where every module
    was there already, there are none; a program that froze its objects would only have them counted, one by one.
    """
    if not gc.isenabled():
        yield
        return
    n_modules = len(sys.modules)
    gc.disable()
    try:
        yield
    finally:
        if len(sys.modules) > n_modules and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        gc.enable()
