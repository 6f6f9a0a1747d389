"""List the benchmarks, or run all of them on tiny tables: ``python -m benchmarks [--smoke]``."""

from __future__ import annotations

import argparse
import ast
import faulthandler
import os
import sys
import tempfile
import traceback
import warnings
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from importlib.metadata import version
from io import StringIO
from pathlib import Path

import psutil

from anbexact._runtime.memory import available_memory
from anbexact._runtime.units import human_bytes
from benchmarks import quality, robustness, speed
from benchmarks.harness.run import Run
from benchmarks.harness.tables import NeedsData
from benchmarks.harness.timing import timed

HERE = Path(__file__).parent
MOST_SHOWN = 4_000
"""Characters of a written file that the report of a failure shows."""


def first_line(path: Path) -> str:
    """Return what a module measures."""
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def show_list() -> None:
    """Print every benchmark with what it measures."""
    for package in (speed, quality, robustness):
        print(f"\npython -m {package.__name__} NAME\n")
        for name in package.NAMES:
            print(f"  {name:22} {first_line(HERE / package.__name__.rpartition('.')[2] / f'{name}.py')}")
    print(f"\npython -m benchmarks.papers PART\n\n  {first_line(HERE / 'papers' / '__main__.py')}")


def attempt(module: str, folder: Path) -> str:
    """Run a benchmark on tiny tables; return how it went, or the trace of an error."""
    printed = StringIO()
    try:
        with redirect_stdout(printed), redirect_stderr(printed), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            took = timed(import_module(module).main, Run(smoke=True, results=folder / "results", summaries=folder))
    except NeedsData as reason:
        return f"left out: {reason}"
    except Exception:
        return f"{printed.getvalue()}\n{traceback.format_exc()}\n{circumstances(folder)}"
    return f"{took.seconds:.1f} s"


def circumstances(folder: Path) -> str:
    """Return what a failure may depend on: load, memory, hash seed, versions, and what the benchmark has written."""
    libraries = ("numpy", "scipy", "numba", "pandas", "scikit-learn", "joblib", "pgmpy")
    lines = [
        f"load {psutil.getloadavg()}, available memory {human_bytes(available_memory())}",
        f"hash seed {os.environ.get('PYTHONHASHSEED', 'random')}, {len(sys.modules)} modules, Python {sys.version}",
        ", ".join(f"{name} {version(name)}" for name in libraries),
    ]
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        lines.append(f"--- {path.relative_to(folder)}, {path.stat().st_size:,} bytes")
        lines.append(path.read_text(encoding="utf-8", errors="replace")[:MOST_SHOWN])
    return "\n".join(lines)


def smoke() -> bool:
    """Run every benchmark but the papers' on tiny made tables; return whether all went well.

    One that fails is run again, which tells a failure by chance from one that stays. It counts as failed all the
    same.
    """
    faulthandler.enable()
    failed = []
    for package in (speed, quality, robustness):
        for name in package.NAMES:
            module = f"{package.__name__}.{name}"
            with tempfile.TemporaryDirectory() as folder:
                answer = attempt(module, Path(folder))
            print(f"{module.partition('.')[2]:30} {answer}", flush=True)
            if "\n" in answer:
                failed.append(module)
                with tempfile.TemporaryDirectory() as folder:
                    again = attempt(module, Path(folder))
                print(f"{module.partition('.')[2]:30} again: {again}", flush=True)
    print(f"failed: {', '.join(failed)}" if failed else "all went well")
    return not failed


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="List the benchmarks.")
    parser.add_argument("--smoke", action="store_true", help="run all on tiny tables, but for the papers (a minute)")
    if parser.parse_args().smoke:
        sys.exit(0 if smoke() else 1)
    show_list()


if __name__ == "__main__":
    main()
