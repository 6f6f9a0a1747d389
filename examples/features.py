"""Which features belong? Bayes factors and what every feature tells, as a bar chart.

Learns fsANB from an embedded table (features of which the data say that they are independent of the class are
dropped) and draws, for every feature, the log Bayes factor for dependence and the conditional mutual information with
the class in the network.

    python examples/features.py [TABLE] [FIGURE.png]
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd

from anbexact import FSANBClassifier
from anbexact.datasets import load_dataset
from anbexact.report import feature_report


def draw(report: pd.DataFrame, classifier: FSANBClassifier, title: str, path: str) -> None:
    """Draw the bars, most telling features on top; dropped features are grey."""
    import matplotlib.pyplot as plt

    shown = report.sort_values(["rank", "information"], ascending=[False, True])
    places = np.arange(len(shown))
    colours = ["tab:gray" if name in classifier.removed_ else "tab:blue" for name in shown.index]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 0.3 * len(shown) + 1.4), sharey=True, layout="constrained")
    left.barh(places, -shown["log_bayes_factor"], color=colours)
    left.axvline(-np.log(classifier.threshold_), color="black", linewidth=0.8, linestyle="--")
    left.set_xscale("symlog", linthresh=10)
    left.set_xlabel("−ln BF (nats): evidence for dependence;\ndashed: limit below which features are dropped")
    left.set_yticks(places, [str(name) for name in shown.index])
    left.margins(y=0.01)
    right.barh(places, shown["information"].fillna(0.0), color=colours)
    right.set_xlabel("information on the class, given the network\n(nats per row)")
    figure.suptitle(title)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Learn, print, and draw if a file is named."""
    table = sys.argv[1] if len(sys.argv) > 1 else "anes96"
    X, y = load_dataset(table)
    classifier = FSANBClassifier().fit(X, y)
    report = feature_report(classifier, X, y)
    title = f"{table}: equivalent sample size {classifier.ess_:g}, threshold {classifier.threshold_:g}"
    print(title)
    print(report.sort_values("rank").round(4).to_string())
    for name, factor in classifier.removed_.items():
        print(f"dropped: {name}, {np.exp(factor):,.3g} times as probable to be independent of {y.name} as not")
    if len(sys.argv) > 2:
        draw(report, classifier, title, sys.argv[2])
        print(f"drawn: {sys.argv[2]}")


if __name__ == "__main__":
    main()
