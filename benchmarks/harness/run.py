"""What a benchmark is told by the command line, and the command line itself."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pandas as pd

from benchmarks.harness import output, store, tables
from benchmarks.harness.places import RESULTS, SUMMARIES


@dataclass(frozen=True)
class Run:
    """How much a benchmark should measure, and where results are kept.

    Attributes
    ----------
    full : bool
        The slow cases, too.
    smoke : bool
        Tiny made tables, fewest folds: whether everything works, nothing to be read off. Writes to a folder that is
        removed.
    only : tuple of str
        Tables to which the run is restricted; empty for all. What is left is not summarised in ``docs/measurements``.
    limit : float, optional
        Seconds of a single search, where the benchmark sets a limit.
    results, summaries : Path
        See :mod:`benchmarks.harness.places`.
    """

    full: bool = False
    smoke: bool = False
    only: tuple[str, ...] = ()
    limit: float | None = None
    results: Path = RESULTS
    summaries: Path = SUMMARIES

    def manifest(self) -> pd.DataFrame:
        """Return the list of tables; see :func:`~benchmarks.harness.tables.manifest`."""
        listed = tables.made_manifest() if self.smoke else tables.manifest()
        return listed[listed["name"].isin(self.only)] if self.only else listed

    def names(self, names: Iterable[str], *, continuous: bool = False) -> list[str]:
        """Return which of these tables are measured; a smoke run has a made one instead."""
        if self.smoke:
            return [tables.MADE_NUMBERS if continuous else tables.MADE_STATES]
        return [name for name in names if not self.only or name in self.only]

    def load(self, name: str, *, cut: bool = False) -> tables.Loaded:
        """Return a table; see :func:`~benchmarks.harness.tables.load`."""
        return tables.tiny() if self.smoke else tables.load(name, cut=cut)

    def sampled(self, name: str, n_rows: int, n_features: int | None = None) -> tables.Loaded:
        """Return rows sampled from a network; see :func:`~benchmarks.harness.tables.sampled`."""
        return tables.tiny() if self.smoke else tables.sampled(name, n_rows, n_features)

    def measurements(self) -> tables.Loaded:
        """Return a table of continuous columns; see :func:`~benchmarks.harness.tables.measurements`."""
        return (*tables.read(tables.MADE_NUMBERS), "made") if self.smoke else tables.measurements()

    def generated(self, n: int, rows: int, states: int, classes: int) -> tables.Table:
        """Return a generated table; see :func:`~benchmarks.harness.tables.generated`."""
        return tables.generated(*((min(n, 5), min(rows, 60)) if self.smoke else (n, rows)), states, classes)

    def folds(self, count: int) -> range:
        """Return the folds that are measured, of so many."""
        return range(1 if self.smoke else count)

    def measure(
        self,
        name: str,
        keys: Sequence[str],
        tasks: Iterable[tuple[Hashable, ...]],
        work: Callable[..., Sequence[store.Row]],
        *,
        jobs: int = 2,
    ) -> pd.DataFrame:
        """Measure what is missing, and return all results; see :func:`~benchmarks.harness.store.measure`.

        A smoke run takes a single process, as starting more would take most of its time.
        """
        return store.measure(self.results / f"{name}.csv", keys, tasks, work, jobs=1 if self.smoke else jobs)

    def write(self, name: str, frame: pd.DataFrame, decimals: int | dict[str, int] | None = None) -> None:
        """Write a summary as CSV, unless the run was restricted to some tables."""
        if self.only:
            print(f"{name}.csv is not written, since only some tables were measured")
        else:
            output.write_csv(self.summaries, name, frame, decimals=decimals)


def command(package: str, names: Sequence[str], arguments: Sequence[str] | None = None, *, nargs: str = "*") -> None:
    """Run the benchmarks of a package that the command line names; ``nargs="+"`` if it must name some."""
    parser = argparse.ArgumentParser(prog=f"python -m {package}", description=import_module(package).__doc__)
    parser.add_argument("names", nargs=nargs, metavar="NAME", help=f"any of {', '.join(names)}")
    parser.add_argument("--full", action="store_true", help="the slow cases, too")
    parser.add_argument("--only", nargs="+", default=[], metavar="TABLE", help="these tables only")
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="of a single search, where there is a limit")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in names]
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]!r}: choose from {', '.join(names)}")
    pd.set_option("display.width", 250, "display.max_columns", 40)
    print(f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}")
    left_out = False
    run = Run(full=options.full, only=tuple(options.only), limit=options.limit)
    for name in options.names or names:
        print(f"\n## {name}\n", flush=True)
        try:
            import_module(f"{package}.{name}").main(run)
        except tables.NeedsData as reason:
            print(f"left out: {reason}")
            left_out = True
    if left_out and options.names:
        sys.exit(1)
