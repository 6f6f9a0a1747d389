"""Rows per second of the exact ANB of the letter table where it is deployed, and whether the posterior is the same.

Target: 200,000 rows per second in onnxruntime, on one thread. Takes a minute. What is not installed is left out.
"""

from __future__ import annotations

import runpy
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from anbexact import ANBClassifier
from anbexact.adapters import to_onnx, to_pmml, to_python, to_sql
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.timing import seconds

TARGET = 200_000
"""Rows per second in onnxruntime."""
BATCHES = (1_000, 20_000)
"""Rows that onnxruntime is handed at a time."""
FEW = 500
"""Rows for what is slow."""
Scorer = Callable[[], Any]


def main(run: Run) -> None:
    """Time what is installed."""
    X, y, _ = run.load("letter")
    X = X.astype(int) if not run.smoke else X
    classifier = ANBClassifier(n_jobs=1).fit(X, y)
    expected = classifier.predict_proba(X)
    rows = []
    for name, n_rows, work in scorers(classifier, X):
        found = np.asarray(work(), dtype=float)
        rows.append(
            {
                "where": name,
                "rows at a time": n_rows,
                "rows/s": n_rows / seconds(work),
                "largest difference": float(np.abs(found - expected[:n_rows]).max()),
                "target": TARGET if name.startswith("onnxruntime") else None,
            }
        )
    run.write("deployment", pd.DataFrame(rows).drop(columns="target"), {"rows/s": 0})
    show(rows)


def scorers(classifier: Any, X: pd.DataFrame) -> Iterator[tuple[str, int, Scorer]]:
    """Yield where a model runs, the rows that it is handed at a time, and what scores them."""
    yield "this package", len(X), lambda: classifier.predict_proba(X)
    for double in (False, True):
        yield from in_onnxruntime(classifier, X, double)
    yield from in_duckdb(classifier, X)
    with tempfile.TemporaryDirectory() as folder:
        to_python(classifier, f"{folder}/scorer.py")
        score = runpy.run_path(f"{folder}/scorer.py")["predict_proba"]
        few = X[:FEW].to_dict("records")
        yield "pure Python", len(few), lambda: [list(score(row).values()) for row in few]
        yield from in_jpmml(classifier, X[:FEW], Path(folder) / "model.pmml")


def in_onnxruntime(classifier: Any, X: pd.DataFrame, double: bool) -> Iterator[tuple[str, int, Scorer]]:
    """Yield scorers of batches, on one thread."""
    try:
        import onnxruntime
        from onnx import ModelProto  # noqa: F401
    except ImportError:
        return
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    model = to_onnx(classifier, double=double)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    for batch in BATCHES:
        part, kind = X[:batch], np.float64 if double else np.float32
        if model.graph.input[0].name == "X":
            put = {"X": part.to_numpy(kind)}
        else:
            put = {own.name: part[[own.doc_string]].astype(object).to_numpy() for own in model.graph.input}
        name = f"onnxruntime, {np.dtype(kind)}"
        yield name, len(part), lambda put=put: session.run(["probabilities"], put)[0]  # type: ignore[misc]


def in_duckdb(classifier: Any, X: pd.DataFrame) -> Iterator[tuple[str, int, Scorer]]:
    """Yield a scorer of all rows by the query of ``to_sql``."""
    try:
        import duckdb
    except ImportError:
        return
    named = X.rename(columns=str)
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.register("rows", named)
    connection.execute("CREATE TABLE held AS SELECT * FROM rows")
    query = to_sql(classifier, "duckdb", table="held")
    names = [f"P({label})" for label in classifier.classes_]

    def posterior() -> Any:
        found = connection.sql(query).fetchnumpy()
        return np.column_stack([found[name] for name in names])

    yield "DuckDB", len(X), posterior


def in_jpmml(classifier: Any, X: pd.DataFrame, path: Path) -> Iterator[tuple[str, int, Scorer]]:
    """Yield a scorer of rows one by one, which it takes from Python."""
    try:
        import jpmml_evaluator

        to_pmml(classifier, path)
        evaluator = jpmml_evaluator.make_evaluator(str(path), backend="jpype").verify()
    except ImportError:
        return
    rows = X.to_dict("records")

    def work() -> list[list[float]]:
        found = [evaluator.evaluate(row) for row in rows]
        return [[value for name, value in one.items() if name.startswith("P(")] for one in found]

    yield "JPMML, from Python", len(rows), work
