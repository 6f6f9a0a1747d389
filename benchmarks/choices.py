"""Time of what is chosen from the data: cut points, and equivalent sample sizes against one fit."""

import numpy as np
import pandas as pd
from tables import DATA, load, seconds

from anbexact import ANBClassifier, MDLPDiscretizer

TABLES = ("segment", "letter", "mushroom", "waveform21")


def measurements() -> tuple[pd.DataFrame, pd.Series, str]:
    """Return a table of ten continuous columns and 19,020 rows: magic, else one drawn alike."""
    path = DATA / "magic.csv.gz"
    if path.exists():
        X = pd.read_csv(path)
        return X, X.pop("class"), "shared/data"
    rng = np.random.default_rng(0)
    y = pd.Series(rng.integers(0, 2, 19_020))
    return pd.DataFrame(rng.gamma(2 + y.to_numpy()[:, None], 10, (len(y), 10))), y, "generated"


def run(*, full: bool) -> list[dict[str, object]]:
    """Time MDLP, then ``ess="auto"`` as a ratio to a fit with ``ess=1.0``."""
    X, y, source = measurements()
    MDLPDiscretizer().fit(X[:50], y[:50])
    cut = seconds(lambda: MDLPDiscretizer().fit(X, y))
    rows: list[dict[str, object]] = [{"what": "MDLP, magic", "source": source, "seconds": cut, "target s": 0.3}]
    for name in TABLES if full else TABLES[:2]:
        X, y, source = load(name, cut=True)
        one = seconds(lambda X=X, y=y: ANBClassifier(ess=1.0).fit(X, y), 3)
        auto = seconds(lambda X=X, y=y: ANBClassifier(ess="auto").fit(X, y), 3)
        rows.append(
            {
                "what": f"ess auto, {name}",
                "source": source,
                "seconds": auto,
                "one fit s": one,
                "ratio": auto / one,
                "target ratio": 6.0,
            }
        )
    return rows
