"""Time of a smooth ANB, next to the networks that it starts from and to boosted trees.

On every table, processor seconds of a fit of the exact ANB with ``ess=1``, of the exact ANB with its defaults, of the
smooth ANB, which learns the latter first, and of scikit-learn's histogram gradient boosting; each is the median of
three fits, by turns, after one that is not counted.

Target: the seconds of ``TABLES`` for a smooth ANB. Takes a minute; with ``--full`` (letter) ten minutes.
"""

from statistics import median
from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline

from anbexact import AdditiveClassifier, ANBClassifier
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.tables import read
from benchmarks.harness.timing import timed
from benchmarks.quality.smooth_shapes import prepared

TABLES = {"hepatitis": None, "pima": 0.3, "glass": None, "segment": 10.0}
"""Tables, and seconds that a smooth ANB may take, where there is a target."""
LARGE = {"letter": 30.0}
"""The same, with ``--full``."""
REPEATS = 3


def models() -> dict[str, Any]:
    """Return what is timed."""
    return {
        "ANB, ess=1": ANBClassifier(ess=1.0, n_jobs=1),
        "ANB": ANBClassifier(n_jobs=1),
        "smooth ANB": AdditiveClassifier(ANBClassifier(n_jobs=1)),
        "boosting": make_pipeline(prepared().set_params(sparse_threshold=0), HistGradientBoostingClassifier()),
    }


def main(run: Run) -> None:
    """Time every model on every table."""
    targets = TABLES | (LARGE if run.full else {})
    rows = []
    for name in run.names(targets, continuous=True):
        X, y = read(name)
        times: dict[str, list[float]] = {model: [] for model in models()}
        for _ in range(REPEATS + 1):
            for model, classifier in models().items():
                times[model].append(timed(classifier.fit, X, y).processor_seconds)
        seconds = {model: median(own[1:]) for model, own in times.items()}
        rows.append({"table": name, "rows": len(X), "features": X.shape[1], **seconds, "target": targets.get(name)})
    show(rows, "processor seconds")
