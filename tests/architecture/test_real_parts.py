"""Tests are skipped for lack of a real part alone, which they name, so that ``make test-real`` runs all of them."""

import ast
import re
import tomllib
from types import SimpleNamespace

import pytest
from instructions import ROOT
from real_parts import PARTS, Part, part_of, summary

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def required(extra):
    """Return the packages of an extra, those of the extras that it includes among them."""
    found = set()
    for requirement in EXTRAS[extra]:
        name, _, others = re.match(r"([\w.-]+)(\[([\w,-]+)\])?", requirement).group(1, 2, 3)
        found |= set().union(*map(required, others.split(","))) if name == "anbexact" else {name}
    return found


def test_nothing_else_is_skipped_for_what_is_not_installed():
    """What the tools of developers bring may be missing where somebody runs the tests without them."""
    known = {name.replace("-", "_") for name in required("dev")}
    strays = []
    for path in TESTS:
        text = path.read_text("utf-8")
        if "importorskip" not in text and "shutil" not in text:
            continue
        for call in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)):
            called = ast.unparse(call.func)
            if called == "pytest.importorskip" and isinstance(call.args[0], ast.Constant):
                stray = call.args[0].value.partition(".")[0] not in known
            else:
                stray = called == "shutil.which" and path.name != "real_parts.py"
            if stray:
                strays.append(f"{path.relative_to(ROOT)}:{call.lineno}: {ast.unparse(call)}")
    assert strays == []


def test_all_parts_are_installed_by_make():
    """By the extra ``real``, or by ``tools/test-real.sh`` from the distribution of Linux."""
    packages = {"ibis_framework": "ibis", "mlflow_skinny": "mlflow"}
    by_index = {packages.get(name.replace("-", "_"), name.replace("-", "_")) for name in required("real")}
    assert {package for part in PARTS.values() for package in part.packages} <= by_index
    by_system = (ROOT / "tools" / "test-real.sh").read_text(encoding="utf-8")
    assert all(part.program[0] in by_system for part in PARTS.values() if part.program)


def test_what_is_missing_is_named(monkeypatch):
    assert Part(("pytest", "no_such_package")).missing() == "the package no_such_package is not installed"
    assert Part(("pytest",), ("no-such-one", "nor-this")).missing() == "the program no-such-one is not installed"
    monkeypatch.delenv("NO_SUCH_SERVER", raising=False)
    assert Part(variable="NO_SUCH_SERVER").missing() == "the variable NO_SUCH_SERVER does not name a server"
    monkeypatch.setenv("NO_SUCH_SERVER", "host=localhost")
    assert Part(("pytest",), ("python3", "python"), "NO_SUCH_SERVER").missing() == ""


def test_the_table_counts_tests_and_failures(monkeypatch):
    monkeypatch.setitem(PARTS, "spark", Part(("pytest",)))
    monkeypatch.setitem(PARTS, "dask", Part(("numpy", "pandas")))
    run = [("spark", "a", "call", True), ("spark", "a", "teardown", False), ("spark", "b", "call", True)]
    run += [("spark", "b", "setup", True), ("dask", "c", "setup", False), (None, "d", "call", True)]
    reports = [
        SimpleNamespace(
            user_properties=[("real", part)], nodeid=test, when=when, passed=good, failed=not good, duration=1
        )
        for part, test, when, good in run
    ]
    head, dask, spark = summary(["dask", "spark"], reports)
    assert head == "part,versions,tests,failed,seconds"
    assert re.fullmatch(r'dask,"numpy [\d.]+, pandas [\d.]+",1,1,1.0', dask)
    assert re.fullmatch(r'spark,"pytest [\d.]+",2,1,3.0', spark)


def test_unknown_parts_are_refused():
    item = SimpleNamespace(nodeid="test", get_closest_marker=lambda _: SimpleNamespace(args=("sprak",)))
    with pytest.raises(KeyError, match="test needs 'sprak', which is none of arviz, "):
        part_of(item)
    assert part_of(SimpleNamespace(get_closest_marker=lambda _: None)) is None
