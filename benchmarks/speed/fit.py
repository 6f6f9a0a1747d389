"""Time of a whole fit of the exact ANB against the plain exact search, and by the number of features.

Target: the seconds of ``TARGETS`` and ``LARGE``. Takes a minute; with ``--full`` (the plain search on every table,
and 27 features, which need 8 GB) ten minutes.
"""

import numpy as np
import pandas as pd

from anbexact import ANBClassifier, DiscreteTable
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.timing import seconds
from benchmarks.speed.plain_search import plain_optimum, plain_set_scores

TARGETS = {"vehicle-like": 0.5, "spect": 2.5, "letter": None, "mushroom": 11.0, "waveform21": 20.0}
"""Seconds that a fit may take on the machine the project is tested on."""
LARGE = {24: 20.0, 27: 300.0}
"""The same for so many generated features and 500 rows."""


def plain_search(X: pd.DataFrame, y: pd.Series) -> float:
    """Return the optimum of the feature part by the plain search."""
    table = DiscreteTable.from_frame(X, y)
    rows = np.repeat(table.codes, table.weights.astype(int), axis=0).T.astype(np.int64)
    arities = np.array(table.shape(table.vocabulary.features))
    scores = np.empty(1 << len(arities))
    plain_set_scores(np.ascontiguousarray(rows[:-1]), rows[-1], arities, table.vocabulary.arity(y.name), 1.0, scores)
    return float(plain_optimum(scores, len(arities)))


def main(run: Run) -> None:
    """Time every case; the plain search, and large cases, only where they are short or ``--full`` asks for them."""
    warm_X, warm_y = run.generated(3, 50, 2, 2)
    model = ANBClassifier(ess=1.0).fit(warm_X, warm_y)
    plain_search(warm_X, warm_y)
    rows = []
    for name, target in TARGETS.items():
        X, y, source = run.load(name, cut=True)
        ours = seconds(model.fit, X, y, repeats=3)
        plain = None
        if run.full or name in ("vehicle-like", "letter", "spect"):
            plain = seconds(plain_search, X, y, repeats=1)
        rows.append(
            {
                "table": name,
                "source": source,
                "features": X.shape[1],
                "rows": len(X),
                "fit s": ours,
                "target s": target,
                "plain s": plain,
                "ratio": ours / plain if plain else None,
            }
        )
    for n in LARGE if run.full else (20, 22):
        X, y = run.generated(n, 500, 2, 2)
        rows.append(
            {
                "table": f"{n} x 500",
                "source": "generated",
                "features": X.shape[1],
                "rows": len(X),
                "fit s": seconds(model.fit, X, y, repeats=1),
                "target s": LARGE.get(n),
            }
        )
    show(rows)
