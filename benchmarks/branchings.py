"""Time of a whole fit of trees and k-graphs."""

from tables import generated, load, seconds

from anbexact import CkGClassifier, NaiveBayesClassifier, TANClassifier

CASES = {
    "letter": (TANClassifier(ess=1.0), 0.025),
    "mushroom": (TANClassifier(ess=1.0), 0.015),
    "100 x 10,000": (TANClassifier(ess=1.0), 1.0),
    "1,000 x 1,000": (TANClassifier(ess=1.0), 60.0),
    "60 x 3,000": (CkGClassifier(k=2, ess=1.0), 10.0),
}
"""Model and target in seconds; what is no table of UCI is generated: features x rows, three states."""


def run(*, full: bool) -> list[dict[str, object]]:
    """Time every case beside naive Bayes on the same frame."""
    rows: list[dict[str, object]] = []
    for name, (model, target) in CASES.items():
        if name in ("letter", "mushroom"):
            X, y, source = load(name)
        else:
            features, n_rows = (int(number.replace(",", "")) for number in name.split(" x "))
            X, y = generated(features, n_rows, 3, 2)
            X, source = X.astype("category"), "generated"
        y = y.astype("category")
        model.fit(X, y)
        NaiveBayesClassifier(ess=1.0).fit(X, y)
        repeats = 15 if full or target < 1 else 3
        rows.append(
            {
                "table": name,
                "source": source,
                "model": type(model).__name__,
                "fit s": seconds(lambda X=X, y=y, model=model: model.fit(X, y), repeats),
                "target s": target,
                "NB fit s": seconds(lambda X=X, y=y: NaiveBayesClassifier(ess=1.0).fit(X, y), repeats),
            }
        )
    return rows
