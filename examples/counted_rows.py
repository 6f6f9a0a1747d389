"""Rows that stay in Parquet files: a classifier is learned from counts that the engine makes.

The rows are drawn, a million at a time, and written as a Parquet data set to a folder that is removed at the end.
DuckDB counts them; no row is loaded into Python. The posterior of the rows is then written as SQL and computed by
DuckDB.

    pip install 'anbexact[duckdb]'
    python examples/counted_rows.py                # 100,000 rows, some seconds
    python examples/counted_rows.py 100000000      # 100 million rows
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from time import perf_counter

import duckdb
import numpy as np
import pandas as pd

from anbexact import TANClassifier
from anbexact.adapters import to_sql

PART_ROWS = 1_000_000
DEVICES, HOURS = ("phone", "laptop", "tablet"), ("day", "evening", "night")
REGIONS = ("north", "south", "east", "west")


def visits(rows: int, seed: int) -> pd.DataFrame:
    """Return visits to a shop: whether one ends in a purchase depends on the device, the hour and earlier visits."""
    rng = np.random.default_rng(seed)
    bought = rng.random(rows) < 0.2
    device = np.where(rng.random(rows) < 0.3 + 0.3 * bought, 1, rng.integers(0, len(DEVICES), rows))
    hour = np.where(rng.random(rows) < 0.5, device, rng.integers(0, len(HOURS), rows))
    known = rng.random(rows) < np.where(bought, 0.7, 0.3)
    region = rng.integers(0, len(REGIONS), rows)
    named = {"device": (DEVICES, device), "hour": (HOURS, hour), "region": (REGIONS, region)}
    columns = {name: np.array(states)[codes] for name, (states, codes) in named.items()}
    return pd.DataFrame(columns | {"seen before": known, "bought": np.where(bought, "yes", "no")})


def main() -> None:
    """Write the rows, learn from them, and sum up their posterior."""
    parser = argparse.ArgumentParser(description="Learn from rows that stay in Parquet files.")
    parser.add_argument("rows", nargs="?", type=int, default=100_000, help="number of rows (default: 100,000)")
    n_rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        for k, start in enumerate(range(0, n_rows, PART_ROWS)):
            visits(min(PART_ROWS, n_rows - start), seed=k).to_parquet(Path(folder, f"part{k:04}.parquet"))
        files = str(Path(folder, "*.parquet"))
        began = perf_counter()
        classifier = TANClassifier(ess=1.0).fit(duckdb.read_parquet(files), y="bought")
        print(f"learned from {n_rows:,} rows in {perf_counter() - began:.1f} s")
        for name, parents in classifier.structure_.parents.items():
            print(f"  {name}: {', '.join(map(str, parents)) or 'no parents'}")
        duckdb.read_parquet(files).create_view("visits")
        began = perf_counter()
        query = to_sql(classifier, "duckdb", table="visits", keep=["device"])
        print(duckdb.sql(f'SELECT device, avg("P(yes)") AS purchases FROM ({query}) GROUP BY device ORDER BY device'))
        print(f"posterior of {n_rows:,} rows in {perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
