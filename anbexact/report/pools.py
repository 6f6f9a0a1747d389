"""What a pool has learned, as lines of text or as values for JSON."""

from __future__ import annotations

from typing import Any

from anbexact.classifiers import PooledClassifier


def describe_pool(classifier: PooledClassifier) -> dict[str, Any]:
    """Return members, weights and biases, for JSON; log losses in nats per row."""
    return {
        "members": classifier.members_.reset_index().to_dict(orient="records"),
        "biases": dict(zip(map(str, classifier.classes_.tolist()), classifier.biases_.tolist(), strict=True)),
        "ridge": float(classifier.ridge_),
    }


def pool_lines(classifier: PooledClassifier) -> list[list[str]]:
    """Return the cells of a table of all members that were considered, its heading first."""
    lines = [["member", "weight", "log loss", "seconds", ""]]
    for name, row in classifier.members_.iterrows():
        pooled = row["outcome"] == "pooled"
        loss = "-" if row["log_loss"] != row["log_loss"] else f"{row['log_loss']:.4f}"
        weight = f"{row['weight']:.3f}" if pooled else "-"
        outcome = "" if pooled or row["outcome"] == "weight 0" else str(row["outcome"])
        lines.append([str(name), weight, loss, f"{row['seconds']:.2f}", outcome])
    return lines
