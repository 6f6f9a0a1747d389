"""What averages over networks are, for JSON and as text."""

from __future__ import annotations

from typing import Any

from anbexact.classifiers import AveragedClassifier

LEAST_SHOWN = 0.5
"""Pairs of features that are joined with this probability or more are printed."""


def describe_averaged(classifier: AveragedClassifier) -> dict[str, Any]:
    """Return what was learned, for JSON: equivalent sample sizes, and arcs with their probabilities."""
    return {
        "ess": classifier.ess_,
        "ess_shares": {f"{ess:g}": float(share) for ess, share in classifier.ess_shares_.items()},
        "exact": classifier.exact_,
        "arcs": [
            {"parent": str(row.parent), "child": str(row.child), "probability": row.probability}
            for row in classifier.arcs_.itertuples()
        ],
    }


def print_averaged(classifier: AveragedClassifier) -> None:
    """Print how predictions are averaged, and the pairs of features that are joined rather than not."""
    how = "sums over all networks" if classifier.exact_ else f"{len(classifier.model_.members):,} drawn networks"
    print(f"{classifier.vocabulary_.class_name} -> every feature; predictions are {how}")
    arcs = classifier.arcs_
    joined = arcs[arcs["adjacent"] >= LEAST_SHOWN].sort_values("adjacent", ascending=False, kind="stable")
    pairs: dict[frozenset[Any], str] = {}
    for row in joined.itertuples():
        pairs.setdefault(
            frozenset((row.parent, row.child)),
            f"{row.adjacent:7.1%}  {row.parent} - {row.child}  ({row.parent} -> {row.child} {row.probability:.1%})",
        )
    print(f"{'features' if pairs else 'no features are'} joined with a probability of one half or more")
    for line in pairs.values():
        print(line)
