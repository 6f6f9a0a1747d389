"""What the benchmarks share: the store of results, timing, the pages, and the rules that they all keep."""

import ast
import os
import re
import time
import warnings
from pathlib import Path

import pytest

import benchmarks
from benchmarks import quality, robustness, speed
from benchmarks.harness import output, store, timing
from benchmarks.harness.run import Run, command

HERE = Path(benchmarks.__file__).parent
SOURCES = {path.relative_to(HERE).as_posix(): path for path in sorted(HERE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in SOURCES.items()}
MEASURING = [
    f"{package.__name__.split('.')[1]}/{name}.py"
    for package in (speed, quality, robustness)
    for name in package.NAMES
]
PAGES = [path.relative_to(HERE).as_posix() for path in sorted(HERE.glob("*/templates/*.md"))]
INNER = {"_kernels", "_runtime"}
"""Inner packages whose public names can be imported."""


def defined(tree):
    """Return the private names that a module defines or sets."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.id if isinstance(node, ast.Name) else node.attr)
    return names


def is_private(name):
    return name.startswith("_") and not name.endswith("__")


def test_nothing_private_of_the_package_is_used():
    reached = []
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            found = set()
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("anbexact"):
                parts = {*node.module.split("."), *(alias.name for alias in node.names)}
                found = {part for part in parts if is_private(part) and part not in INNER}
            elif isinstance(node, ast.Import):
                parts = {part for alias in node.names for part in alias.name.split(".")}
                found = {part for part in parts if is_private(part)}
            elif isinstance(node, ast.Attribute) and is_private(node.attr):
                found = {node.attr} - defined(tree) - {"_replace", "_exit"}
            reached += [f"{name}:{node.lineno} {part}" for part in found]
    assert reached == []


def test_nothing_of_the_package_is_replaced():
    """Neither by a mock, nor by an assignment to an attribute of a module."""
    replaced = []
    for name, tree in TREES.items():
        modules = {"setattr", "mock"}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                modules |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                wrong = ast.unparse(node).partition(".")[0] in modules
            elif isinstance(node, ast.Call):
                wrong = ast.unparse(node.func) == "setattr"
            else:
                wrong = isinstance(node, ast.ImportFrom) and "mock" in (node.module or "")
            if wrong:
                replaced.append(f"{name}:{node.lineno} {ast.unparse(node)}")
    assert replaced == []


def test_files_are_short_and_functions_have_few_parameters():
    lines = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in SOURCES.items()}
    assert {name: count for name, count in lines.items() if count >= 400} == {}
    crowded = []
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                own = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                if len([a for a in own if a.arg != "self"]) > 8:
                    crowded.append(f"{name}:{node.lineno} {node.name}")
    assert crowded == []


def test_every_benchmark_says_its_target_and_how_long_it_takes():
    words = {name: " ".join(ast.get_docstring(TREES[name]).split()) for name in MEASURING}
    assert [name for name, text in words.items() if not re.search(r"Target: .*\. Takes ", text)] == []


@pytest.mark.parametrize("name", [name for name in PAGES if not name.endswith("not_run.md")])
def test_the_pages_are_what_the_templates_say(name):
    """Any values, and any breaks of lines."""

    def squeezed(path):
        return " ".join(path.read_text(encoding="utf-8").split())

    pieces = re.split(r"\$\w+", squeezed(HERE / name))
    pattern = re.compile(".*?".join(map(re.escape, pieces)))
    pages = (HERE.parent / "docs" / "measurements").glob("*.md")
    assert any(pattern.search(squeezed(page)) for page in pages)


def test_what_is_stored_is_not_measured_again(tmp_path):
    asked = []

    def work(table, method, fold):
        asked.append((table, method, fold))
        return [{"value": 10 * fold}, {"value": 10 * fold + 1}]

    path, keys = tmp_path / "results" / "measured.csv", ["table", "method", "fold"]
    store.measure(path, keys, [("t", "1", 0), ("t", "1", 1)], work, jobs=1)
    found = store.measure(path, keys, [("t", "1", 1), ("t", "1", 2), ("t", "", 0)], work, jobs=1)
    assert asked == [("t", "1", 0), ("t", "1", 1), ("t", "1", 2), ("t", "", 0)]
    assert found[["method", "fold", "value"]].fillna("none").to_numpy().tolist() == [
        *(["1", fold, 10 * fold + more] for fold in range(3) for more in (0, 1)),
        *(["none", 0, more] for more in (0, 1)),
    ]


def test_only_the_warning_of_replaced_processes_is_silenced(tmp_path):
    def work(table):
        warnings.warn(table, UserWarning, stacklevel=2)
        return [{"value": 1}]

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        tasks = [("A worker stopped while",), ("mind this",)]
        store.measure(tmp_path / "m.csv", ["table"], tasks, work, jobs=1)
    assert [str(warning.message) for warning in seen] == ["mind this"]


def test_no_further_call_once_the_time_was_enough():
    calls = []

    def work(seconds):
        calls.append(seconds)
        began = time.process_time()
        while time.process_time() - began < seconds:
            pass

    assert timing.processor_seconds(work, 0.02, repeats=5, enough=0.01) >= 0.02
    assert len(calls) == 1
    assert timing.seconds(work, 0.001, repeats=3) >= 0.001
    assert len(calls) == 4


def test_a_call_alone_is_one_of_another_process():
    assert timing.alone(os.getpid) != os.getpid()
    with pytest.raises(TimeoutError, match=r"ended after 0.2 s"):
        timing.alone(time.sleep, 60, limit=0.2)
    with pytest.raises(EOFError):
        timing.alone(int, "no number")


def test_templates_tell_of_values_that_are_absent(tmp_path):
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "page.md").write_text("$one, ${two}s: 2 $$\n")
    page = output.template(tmp_path, "page")
    assert page.substitute(one=1, two=2) == "1, 2s: 2 $"
    with pytest.raises(KeyError, match="two"):
        page.substitute(one=1)


def test_a_restricted_run_writes_no_summary(tmp_path, capsys):
    frame = store.stored(tmp_path / "absent.csv", ["table"])
    Run(only=("iris",), summaries=tmp_path).write("summary", frame)
    assert "summary.csv is not written" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
    Run(summaries=tmp_path).write("summary", frame)
    assert (tmp_path / "summary.csv").read_text() == "table\n"


def test_unknown_benchmarks_are_refused(capsys):
    with pytest.raises(SystemExit):
        command("benchmarks.speed", speed.NAMES, ["fits"])
    assert "unknown benchmark 'fits': choose from fit, predict" in capsys.readouterr().err
