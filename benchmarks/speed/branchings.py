"""Time of a whole fit of trees and k-graphs, beside naive Bayes on the same frame.

Target: the seconds of ``CASES``. Takes a quarter of a minute.
"""

from anbexact import CkGClassifier, NaiveBayesClassifier, TANClassifier
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.timing import seconds

CASES = {
    "letter": (TANClassifier(ess=1.0), 0.025),
    "mushroom": (TANClassifier(ess=1.0), 0.015),
    "100 x 10,000": (TANClassifier(ess=1.0), 1.0),
    "1,000 x 1,000": (TANClassifier(ess=1.0), 60.0),
    "60 x 3,000": (CkGClassifier(k=2, ess=1.0), 10.0),
}
"""Model and target in seconds; what is no table of UCI is generated: features x rows, three states."""


def main(run: Run) -> None:
    """Time every case."""
    rows = []
    for name, (model, target) in CASES.items():
        if name in ("letter", "mushroom"):
            X, y, source = run.load(name)
        else:
            features, n_rows = (int(number.replace(",", "")) for number in name.split(" x "))
            X, y = run.generated(features, n_rows, 3, 2)
            X, source = X.astype("category"), "generated"
        y = y.astype("category")
        naive = NaiveBayesClassifier(ess=1.0)
        model.fit(X, y)
        naive.fit(X, y)
        repeats = 15 if run.full or target < 1 else 3
        rows.append(
            {
                "table": name,
                "source": source,
                "model": type(model).__name__,
                "fit s": seconds(model.fit, X, y, repeats=repeats),
                "target s": target,
                "NB fit s": seconds(naive.fit, X, y, repeats=repeats),
            }
        )
    show(rows)
