"""Code that pages and docstrings show is run by doctest, and the scripts in examples/ run."""

import ast
import sys
import warnings

import pytest
from instructions import BLOCK, PAGES, ROOT
from joblib import parallel_config
from real_parts import marked
from sources import SOURCES

NOT_RUN = {
    "docs/guides/probabilistic-programming.md": "numpyro, which needs jax, is not among the tools of developers"
}
"""Pages some of whose code is skipped or has no prompts, with the reason."""
SCRIPTS = {
    "acll_tan.py": {"TABLES": ("iris", "monks1"), "HALVES": 2},
    "anes96.py": {},
    "counted_rows.py": {},
    "features.py": {},
    "hospitals.py": {},
    "refit.py": {"TABLES": {"tic_tac_toe": "tic-tac-toe"}, "SIZES": (20, 40), "REPETITIONS": 2},
    "universal.py": {"TABLES": ("iris",), "MODELS": ("ANB universal", "ANB")},
}
"""The scripts, with smaller values of their constants."""
ARGUMENTS = {"counted_rows.py": ["3000"]}
NEEDS = {"counted_rows.py": "duckdb"}
OF_A_TEST = {"rest_scorer.py"}
"""Scripts that a test of their own imports."""


def test_nothing_is_skipped():
    files = {path.relative_to(ROOT).as_posix(): path for path in [*PAGES, *SOURCES.values()]}
    assert {name for name, path in files.items() if "doctest: +SKIP" in path.read_text("utf-8")} == set(NOT_RUN)


def test_code_has_prompts():
    """What has none is not run."""
    without = {
        page.relative_to(ROOT).as_posix()
        for page in PAGES
        for block in BLOCK.findall(page.read_text(encoding="utf-8"))
        if not block.startswith(">>> ")
    }
    assert without == set(NOT_RUN)


def test_all_scripts_are_run():
    scripts = {path.name for path in (ROOT / "examples").glob("*.py")}
    assert scripts == set(SCRIPTS) | OF_A_TEST


@pytest.mark.slow
@pytest.mark.parametrize("name", marked(SCRIPTS, **{"hospitals.py": "numpyro"}))
def test_scripts(name, tmp_path, monkeypatch, capsys):
    """Each is run as a program in an empty folder, on less than it is meant for, and writes nothing there."""
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"{NEEDS[name]} is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name, *ARGUMENTS.get(name, [])])
    tree = ast.parse((ROOT / "examples" / name).read_text(encoding="utf-8"))
    smaller = dict(SCRIPTS[name])
    for node in tree.body:
        if isinstance(node, ast.Assign) and (constant := ast.unparse(node.targets[0])) in smaller:
            node.value = ast.parse(repr(smaller.pop(constant)), mode="eval").body
    assert smaller == {}
    module = type(sys)("__main__")
    monkeypatch.setitem(sys.modules, "__main__", module)
    with warnings.catch_warnings(), parallel_config("sequential"):
        exec(compile(ast.fix_missing_locations(tree), name, "exec"), module.__dict__)
    assert capsys.readouterr().out.strip()
    assert list(tmp_path.iterdir()) == []
