"""Time of a whole fit against the plain exact search, and where it goes."""

import numpy as np
import pandas as pd
from plain import plain_optimum, plain_set_scores
from tables import generated, load, seconds

from anbexact import ANBClassifier, DiscreteTable

TARGETS = {"vehicle-like": 0.5, "spect": 2.5, "letter": None, "mushroom": 11.0, "waveform21": 20.0}
"""Seconds that a fit may take on the machine the project is tested on."""


def plain_search(X: pd.DataFrame, y: pd.Series) -> float:
    """Return the optimum of the feature part by the plain search."""
    table = DiscreteTable.from_frame(X, y)
    rows = np.repeat(table.codes, table.weights.astype(int), axis=0).T.astype(np.int64)
    arities = np.array(table.shape(table.vocabulary.features))
    scores = np.empty(1 << len(arities))
    plain_set_scores(np.ascontiguousarray(rows[:-1]), rows[-1], arities, table.vocabulary.arity(y.name), 1.0, scores)
    return float(plain_optimum(scores, len(arities)))


def run(*, full: bool) -> list[dict[str, object]]:
    """Time every case; the plain search, and the large cases, only where they are short or ``full`` asks for them."""
    warm_X, warm_y = generated(3, 50, 2, 2)
    ANBClassifier(ess=1.0).fit(warm_X, warm_y)
    plain_search(warm_X, warm_y)
    rows: list[dict[str, object]] = []
    for name, target in TARGETS.items():
        X, y, source = load(name, cut=True)
        ours = seconds(lambda X=X, y=y: ANBClassifier(ess=1.0).fit(X, y), 3)
        plain = None
        if full or name in ("vehicle-like", "letter", "spect"):
            plain = seconds(lambda X=X, y=y: plain_search(X, y), 1)
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
    for n in (24, 27) if full else (20, 22):
        X, y = generated(n, 500, 2, 2)
        model = ANBClassifier(ess=1.0)
        ours = seconds(lambda X=X, y=y, model=model: model.fit(X, y), 1)
        target = {24: 20.0, 27: 300.0}.get(n)
        rows.append(
            {
                "table": f"{n} x 500",
                "source": "generated",
                "features": n,
                "rows": 500,
                "fit s": ours,
                "target s": target,
            }
        )
    return rows
