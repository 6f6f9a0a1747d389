"""Learning from rows that stay in a Parquet data set, counted by DuckDB and by Polars.

Rows of 20 categorical columns and a class are drawn from a random TAN and written as Parquet files, which are removed
afterwards. Target: a table in 1.3 times the engine's own GROUP BY over all columns, fits in 180 s and 3 GB, and in
DuckDB the posterior of 1,000,000 rows a second, equal to that of ``predict_proba`` to 1e-12. The command line
classifies 10,000,000 rows of CSV in 60 s and 500 MB. Takes two minutes for 1,000,000 rows; ``--full`` adds 10,000,000
and 100,000,000 rows.
"""

import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from anbexact import ANBClassifier, DiscreteTable, TANClassifier
from anbexact.adapters import save, to_sql
from anbexact.classifiers import KDBClassifier
from anbexact.cli import main as main_of_command_line
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.tables import NeedsData
from benchmarks.harness.timing import Timed, alone, peak_memory, timed

ENGINES = ("duckdb", "polars")
MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "TAN": (TANClassifier, {"ess": 1.0}),
    "kDB, 2 parents": (KDBClassifier, {"k": 2}),
    "ANB, 3 parents": (ANBClassifier, {"ess": 1.0, "max_parents": 3}),
}
N_FEATURES, CLASSES, MOST_STATES = 20, 3, 4
LIKELIEST = 0.93
"""Least probability of a column's most probable state given its parents: the distinct rows are then few."""
CLASS_CHILDREN = 5
"""The class is a parent of every column of this many, so that it remains uncertain."""
ROWS, ALL_ROWS = (1_000_000,), (1_000_000, 10_000_000, 100_000_000)
FILE_ROWS = 1_000_000
COMPARED_ROWS = 20_000
"""Rows whose posterior in SQL is compared with that of ``predict_proba``."""
CLASS = "class"
MOST_RATIO, MOST_SECONDS, MOST_GB = 1.3, 180.0, 3.0
MOST_SECONDS_CSV = 60.0
"""Of 10,000,000 rows."""


def write_rows(folder: Path, rows: int, seed: int = 0) -> None:
    """Draw rows from a random TAN and write them as Parquet files of a million rows each."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    arities = rng.integers(2, MOST_STATES + 1, N_FEATURES)
    parents = [int(rng.integers(0, j)) if j else 0 for j in range(N_FEATURES)]
    likeliest = [rng.integers(0, arity, (CLASSES, MOST_STATES)) for arity in arities]
    for start in range(0, rows, FILE_ROWS):
        n = min(FILE_ROWS, rows - start)
        y = rng.integers(0, CLASSES, n)
        codes: list[np.ndarray] = []
        for j, arity in enumerate(arities):
            parent = codes[parents[j]] if j else np.zeros(n, dtype=np.int64)
            other = rng.random(n) >= LIKELIEST
            class_codes = y if j % CLASS_CHILDREN == 0 else np.zeros_like(y)
            codes.append(np.where(other, rng.integers(0, arity, n), likeliest[j][class_codes, parent]))
        columns = {f"x{j}": _words(codes[j], int(arity)) for j, arity in enumerate(arities)}
        columns[CLASS] = _words(y, CLASSES)
        path = folder / f"part{start // FILE_ROWS:04}.parquet"
        pq.write_table(pa.table(columns), path, compression="zstd", store_schema=False)


def _words(codes: np.ndarray, arity: int) -> Any:
    """Return the codes as a column of words."""
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int8)), [f"s{k}" for k in range(arity)])


def scanned(engine: str, folder: Path) -> Any:
    """Return the rows of a folder as a lazy frame of the engine."""
    if engine == "polars":
        import polars as pl

        return pl.scan_parquet(folder / "*.parquet")
    import duckdb

    return duckdb.read_parquet(str(folder / "*.parquet"))


def took(work: Timed) -> dict[str, float]:
    """Return the times of work as the columns of a result."""
    return {"s": work.seconds, "processor s": work.processor_seconds}


def group_by(engine: str, folder: Path) -> dict[str, float]:
    """Return the times of the engine's own GROUP BY over all columns, and the number of groups."""
    frame = scanned(engine, folder)

    def work() -> int:
        if engine == "polars":
            import polars as pl

            return len(frame.group_by(pl.all()).len().collect(engine="streaming"))
        return len(frame.aggregate("*, count(*)").to_arrow_table())

    done = timed(work)
    return took(done) | {"distinct rows": done.result}


def counted(engine: str, folder: Path, small: Path) -> dict[str, float]:
    """Count the table; return the times, and the peak memory in GB."""
    DiscreteTable.from_frame(scanned(engine, small), CLASS)  # libraries are imported before
    done = timed(DiscreteTable.from_frame, scanned(engine, folder), CLASS)
    return took(done) | {"GB": peak_memory() / 1e9}


def fitted(engine: str, folder: Path, name: str, small: Path) -> dict[str, float]:
    """Fit a model; return the times, and the peak memory in GB."""
    model, parameters = MODELS[name]
    model(**parameters).fit(scanned(engine, small), y=CLASS)  # kernels are compiled, or loaded, before
    done = timed(model(**parameters).fit, scanned(engine, folder), y=CLASS)
    return took(done) | {"GB": peak_memory() / 1e9}


def posterior(folder: Path) -> dict[str, float]:
    """Return the times of the posterior of all rows as SQL, and its largest difference from ``predict_proba``."""
    import duckdb

    classifier = TANClassifier(ess=1.0).fit(scanned("duckdb", folder), y=CLASS)
    features = [f"x{j}" for j in range(N_FEATURES)]
    connection = duckdb.connect()
    connection.execute(f"CREATE VIEW new_rows AS SELECT * FROM read_parquet('{folder}/*.parquet')")
    connection.execute(f"CREATE VIEW some_rows AS SELECT * FROM new_rows LIMIT {COMPARED_ROWS}")
    found: pd.DataFrame = connection.sql(to_sql(classifier, "duckdb", table="some_rows", keep=features)).df()
    own = classifier.predict_proba(found[features])
    answered = found[[f"P({label})" for label in classifier.classes_]].to_numpy()
    sums = ", ".join(f'sum("P({label})")' for label in classifier.classes_)
    query = f"SELECT {sums} FROM ({to_sql(classifier, 'duckdb', table='new_rows', keep=[])})"
    done = timed(lambda: connection.execute(query).fetchall())
    return took(done) | {"difference": float(np.abs(answered - own).max())}


def write_text(folder: Path) -> None:
    """Write all rows as CSV beside their folder, and a model of them."""
    import duckdb

    save(TANClassifier(ess=1.0).fit(scanned("duckdb", folder), y=CLASS), folder.with_suffix(".json"))
    duckdb.execute(f"COPY (FROM read_parquet('{folder}/*.parquet')) TO '{folder.with_suffix('.csv')}' (HEADER)")


def predicted(folder: Path) -> dict[str, float]:
    """Return the times in which the command line classifies a CSV file, and the peak memory in GB."""
    model, rows, answers = (str(folder.with_suffix(suffix)) for suffix in (".json", ".csv", ".answers.csv"))
    done = timed(main_of_command_line, ["predict", model, rows, "-o", answers])
    if done.result:
        raise RuntimeError("anbexact predict failed")
    return took(done) | {"GB": peak_memory() / 1e9}


def here(work: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a call returns in this process."""
    return work(*arguments)


def measured(rows: int, folder: Path, small: Path, smoke: bool) -> list[dict[str, Any]]:
    """Measure everything over a folder of so many rows, each in a process of its own unless it is a smoke run."""
    call: Callable[..., Any] = here if smoke else alone
    found: list[dict[str, Any]] = []
    for engine in ENGINES:
        of_all = {"rows": rows, "engine": engine}
        own = call(group_by, engine, folder)
        found.append(of_all | {"what": "GROUP BY of the engine"} | own)
        found.append(
            of_all | {"what": "table", "target s": MOST_RATIO * own["s"]} | call(counted, engine, folder, small)
        )
        for name in list(MODELS)[: 1 if smoke else None]:
            found.append(
                of_all | {"what": name, "target s": MOST_SECONDS} | call(fitted, engine, folder, name, small)
            )
    of_rows = {"rows": rows, "engine": "duckdb", "what": "posterior as SQL", "target s": rows / 1e6}
    found.append(of_rows | call(posterior, folder))
    call(write_text, folder)
    of_rows |= {"engine": "command line", "what": "predict, CSV to CSV", "target s": MOST_SECONDS_CSV * rows / 1e7}
    return [*found, of_rows | call(predicted, folder)]


def main(run: Run) -> None:
    """Generate the rows, measure, and remove them."""
    absent = [name for name in (*ENGINES, "pyarrow") if find_spec(name) is None]
    if absent:
        raise NeedsData(f"{', '.join(absent)} not installed")
    found: list[dict[str, Any]] = []
    for rows in (1_000,) if run.smoke else ALL_ROWS if run.full else ROWS:
        with tempfile.TemporaryDirectory() as place:
            folder, small = Path(place, "rows"), Path(place, "few")
            for path, count in ((folder, rows), (small, min(rows, 1_000))):
                path.mkdir()
                write_rows(path, count)
            size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
            print(f"{rows:,} rows: {size:,.1f} MB of Parquet", flush=True)
            found += measured(rows, folder, small, run.smoke)
        show(found)
        run.write("counted_rows", pd.DataFrame(found), {"s": 2, "processor s": 2, "target s": 2, "GB": 2})
