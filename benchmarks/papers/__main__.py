"""The tables of the papers behind the library, measured again beside the published figures.

Results in ``benchmarks/results/papers_*.csv`` are not measured again: to repeat a measurement, delete its lines. The
quick run measures the small tables only, reads what other benchmarks left in ``docs/measurements``, and writes to
``build/papers``; the full one writes to ``docs/measurements``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.harness.output import write_page
from benchmarks.harness.places import ROOT, SUMMARIES
from benchmarks.harness.tables import published
from benchmarks.harness.timing import timed
from benchmarks.papers import others, sensitivity, table1, table2, table3, table4, table5, table6
from benchmarks.papers.common import listed, page

PARTS = {
    "table1": table1,
    "sensitivity": sensitivity,
    "table2": table2,
    "table3": table3,
    "table4": table4,
    "table5": table5,
    "table6": table6,
    "others": others,
}


def write(folder: Path) -> None:
    """Write all results, and the page that tells what they are."""
    sections = [
        part.report(folder) if part.STORE.exists() else page("not_run", title=part.TITLE) for part in PARTS.values()
    ]
    write_page(folder / "README.md", "\n\n".join([page("introduction"), *sections]))


def main() -> None:
    """Measure what is missing, and write."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers", description="Measure the papers' tables again."
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"any of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--write", action="store_true", help="measure nothing, write what is there")
    parser.add_argument("--quick", action="store_true", help="small tables only (minutes); to build/papers")
    options = parser.parse_args()
    unknown = [name for name in options.parts if name not in PARTS]
    if unknown:
        parser.error(f"unknown part {unknown[0]!r}: choose from {', '.join(PARTS)}")
    listed()  # stop at once where the data
    published("anb_table1_accuracy.csv")  # or the published figures are absent
    for name in [] if options.write else options.parts or PARTS:
        took = timed(PARTS[name].run, quick=options.quick)
        print(f"{name}: measured in {took.seconds:.0f} s", flush=True)
    folder = ROOT / "build" / "papers" if options.quick else SUMMARIES
    folder.mkdir(parents=True, exist_ok=True)
    write(folder)
    print((folder / "README.md").read_text(encoding="utf-8"))
    print(f"written to {folder}")


if __name__ == "__main__":
    main()
