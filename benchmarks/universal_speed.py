"""Fits by the universal measure, and rows per second of ``predict_proba``, beside the ANB with cut points."""

import numpy as np
import pandas as pd
from crossval import read
from tables import DATA, seconds

from anbexact import ANBClassifier
from anbexact.datasets import load_wine

TARGET = 0.05
"""Million rows per second."""
MAGIC_ROWS, MAGIC_FEATURES = 19_020, 10


def tables() -> dict[str, tuple[pd.DataFrame, pd.Series]]:
    """Return a small and a large table of numbers; the large one is generated where ``../shared/data`` is absent."""
    if (DATA / "magic.csv.gz").exists():
        return {"wine": load_wine(), "magic": read("magic")}
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, MAGIC_ROWS)
    X = np.cumsum(rng.normal(size=(MAGIC_ROWS, MAGIC_FEATURES)), axis=1) + y[:, None]
    return {"wine": load_wine(), "magic-like": (pd.DataFrame(X).add_prefix("x"), pd.Series(y.astype(str)))}


def run(*, full: bool) -> list[dict[str, object]]:  # noqa: ARG001  # the same for all benchmarks
    """Time both classifiers: fits, and predictions of about 20,000 rows."""
    rows: list[dict[str, object]] = []
    for name, (X, y) in tables().items():
        many = pd.concat([X] * max(1, 20_000 // len(X)), ignore_index=True)
        for continuous in ("universal", "discretize"):
            model = ANBClassifier(continuous=continuous).fit(X, y)
            rows.append(
                {
                    "table": name,
                    "rows": len(X),
                    "features": X.shape[1],
                    "continuous": continuous,
                    "fit s": seconds(lambda model=model, X=X, y=y: model.fit(X, y), 3),
                    "predict Mrows/s": len(many) / seconds(lambda model=model, Z=many: model.predict_proba(Z)) / 1e6,
                    "target": TARGET if continuous == "universal" else None,
                }
            )
    return rows
