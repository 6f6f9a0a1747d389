"""Measure all tables of the papers again, and write them: ``python -m papers``, from ``benchmarks``.

What ``benchmarks/raw/papers_*.csv`` holds is not measured again: to repeat a measurement, delete its lines. The quick
run measures the small tables only, reads what other benchmarks left in ``docs/results``, and writes to
``build/papers``; the full one writes to ``docs/results``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter

from crossval import RESULTS, ROOT

from papers import others, reasons, table1, table2, table3, table4, table5, table6
from papers.common import listed, published

PARTS = {
    "table1": table1,
    "reasons": reasons,
    "table2": table2,
    "table3": table3,
    "table4": table4,
    "table5": table5,
    "table6": table6,
    "others": others,
}
INTRODUCTION = """\
# The papers' tables, measured again

Written by `make papers`; do not edit. What agrees, what does not, and why, table by table. The accuracies are
those of ten-fold cross-validation on the tables of the UCI repository that are here, of complete rows, continuous
columns cut at the median of all rows, expected a posteriori (EAP) parameters with an equivalent sample size of 1;
the folds are stratified, and the same for all methods. Differences are called noise up to two
standard errors over the folds (2 SE)."""


def write_page(folder: Path) -> None:
    """Write all results, and the page that tells what they are."""
    sections = [
        part.report(folder) if part.STORE.exists() else f"## {part.TITLE}\n\nNot yet run." for part in PARTS.values()
    ]
    text = "\n\n".join([INTRODUCTION, *sections])
    (folder / "README.md").write_text(text.rstrip() + "\n", encoding="utf-8")


def main() -> None:
    """Measure what is missing, and write."""
    parser = argparse.ArgumentParser(description="Measure the papers' tables again.")
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
        began = perf_counter()
        PARTS[name].run(quick=options.quick)
        print(f"{name}: measured in {perf_counter() - began:.0f} s", flush=True)
    folder = ROOT / "build" / "papers" if options.quick else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    write_page(folder)
    print((folder / "README.md").read_text(encoding="utf-8"))
    print(f"written to {folder}")


if __name__ == "__main__":
    main()
