"""Names that are imported on first use: those of the package, and what the command line needs."""

import ast
import gc
import subprocess
import sys
from importlib import import_module

import pytest
from sources import nodes

import anbexact
from anbexact._runtime.lazy import no_garbage

HEAVY = {"numba", "numpy", "pandas", "scipy", "sklearn"}


def imported(code):
    """Return what a program imports of the large libraries."""
    program = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return HEAVY & {name.partition(".")[0] for name in done.stdout.split()}


def test_importing_the_package_imports_no_library():
    assert imported("import anbexact, anbexact.cli\nanbexact.cli._parser().format_help()") == set()


def test_a_table_is_read_before_what_learns_is_imported():
    assert imported("import anbexact.cli.fit, anbexact.cli.compare") == {"numpy", "pandas"}


def test_names():
    assert set(anbexact.__all__) <= set(dir(anbexact))
    space = {}
    exec("from anbexact import *", space)
    assert all(space[name] is getattr(anbexact, name) for name in anbexact.__all__)
    assert anbexact.datasets is import_module("anbexact.datasets")
    with pytest.raises(AttributeError, match="module 'anbexact' has no attribute 'ANBClassifer'"):
        _ = anbexact.ANBClassifer


@pytest.mark.parametrize("module", ["anbexact", "anbexact.report", "anbexact.adapters"])
def test_type_checkers_see_the_names(module):
    """What is imported under ``TYPE_CHECKING`` are the public names."""
    typed = next(node for node in nodes(module) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node))
    imports = [found for found in typed.body if isinstance(found, ast.ImportFrom)]
    package, seen = import_module(module), set()
    for home, name in ((found.module, alias.name) for found in imports for alias in found.names):
        assert getattr(import_module(home), name) is getattr(package, name)
        seen.add(name)
    assert seen >= set(package.__all__)


def test_no_garbage_is_sought():
    collects = gc.isenabled()
    try:
        gc.enable()
        with no_garbage():
            assert not gc.isenabled()
        assert gc.isenabled()
        gc.disable()
        with no_garbage():
            pass
        assert not gc.isenabled()
    finally:
        (gc.enable if collects else gc.disable)()
