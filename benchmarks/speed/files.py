"""Time of saving and loading a classifier: the exact ANB of letter, of binary features or of sixteen states each.

Target: half a second each. Takes some seconds, with ``--full`` (sixteen states) more.
"""

import tempfile
from pathlib import Path

import pandas as pd

import anbexact
from anbexact import ANBClassifier
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.timing import seconds


def main(run: Run) -> None:
    """Time both."""
    rows = []
    for states, cut in (("2", True), ("16", False))[: 2 if run.full else 1]:
        X, y, source = run.load("letter", cut=cut)
        model = ANBClassifier(max_parents=None if cut else 3, ess=1.0).fit(X.astype("str"), pd.Series(y))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "letter.json"
            saved = seconds(model.save, path)
            loaded = seconds(anbexact.load, path)
            size = path.stat().st_size
        rows.append(
            {
                "table": "letter",
                "source": source,
                "states": states,
                "save s": saved,
                "load s": loaded,
                "target s": 0.5,
                "MB": size / 1e6,
            }
        )
    show(rows)
