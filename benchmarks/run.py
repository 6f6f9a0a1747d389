"""Run the benchmarks: ``python benchmarks/run.py [fit predict ...] [--full]``.

Each figure is the median of several runs; each comparison is a ratio within this one process or run.
"""

import argparse
import os
import platform

import branchings
import choices
import files
import fit
import greedy
import logit_fan
import long_tables
import pandas as pd
import parents_children
import predict
import pruned
import refit
import rivals
import set_scores
import start
import universal_speed

BENCHMARKS = {
    "fit": fit.run,
    "predict": predict.run,
    "start": start.run,
    "branchings": branchings.run,
    "choices": choices.run,
    "pruned": pruned.run,
    "files": files.run,
    "logit_fan": logit_fan.run,
    "long_tables": long_tables.run,
    "greedy": greedy.run,
    "parents_children": parents_children.run,
    "refit": refit.run,
    "rivals": rivals.run,
    "universal": universal_speed.run,
    "set_scores": set_scores.run,
}


def main() -> None:
    """Run what was named and print one table for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(BENCHMARKS)} (default: all)")
    parser.add_argument("--full", action="store_true", help="the slow cases too (many minutes, 9 GB)")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]!r}: choose from {', '.join(BENCHMARKS)}")
    print(f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}")
    for name in options.names or BENCHMARKS:
        print(f"\n## {name}\n")
        rows = BENCHMARKS[name](full=options.full)
        print(pd.DataFrame(rows).to_string(index=False, float_format=lambda x: f"{x:,.3g}"), flush=True)


if __name__ == "__main__":
    main()
