"""Time of saving and loading classifiers."""

import tempfile
from pathlib import Path

import pandas as pd
from tables import load, seconds

import anbexact
from anbexact import ANBClassifier


def run(*, full: bool) -> list[dict[str, object]]:
    """Time save and load of letter's ANB, of binary features and of sixteen states each."""
    rows = []
    for states, cut in (("2", True), ("16", False))[: 2 if full else 1]:
        X, y, source = load("letter", cut=cut)
        model = ANBClassifier(max_parents=None if cut else 3, ess=1.0).fit(X.astype("str"), pd.Series(y))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "letter.json"
            saved = seconds(lambda model=model, path=path: model.save(path))
            loaded = seconds(lambda path=path: anbexact.load(path))
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
    return rows
