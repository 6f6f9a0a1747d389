"""Functions that the Python file of a scorecard has in addition to those of ``scorer_source.py``."""

from __future__ import annotations

from typing import Any

from anbexact.adapters.deploy.scorer_source import card_scores, scorer


# ---- functions
def score(row: Any) -> Any:
    """Return the score of a row, a mapping of features to values; of several scores, a dictionary by class."""
    scores = card_scores(row)
    labels = [scorer().classes[place] for place in scorer().card["places"]]
    return scores[0] if len(scores) == 1 else dict(zip(labels, scores))  # noqa: B905  # for older Pythons


def reasons(row: Any, most: int = 4, label: Any = None) -> list[dict[str, Any]]:
    """Return what costs a row most points against the best state: features, states, points and costs.

    ``label`` is the class whose score is meant; it is needed if there are several scores.
    """
    labels = [scorer().classes[place] for place in scorer().card["places"]]
    if label is None and len(labels) == 1:
        label = labels[0]
    if label not in labels:
        raise ValueError(f"label must be one of {labels}, not {label!r}")
    k = labels.index(label)
    codes, found = scorer().codes(row), []
    for term, table in zip(scorer().complete, scorer().card["tables"]):  # noqa: B905  # for older Pythons
        points = term.at(codes)[scorer().card["places"][k]]
        states = [names[codes[feature]] for names, feature in zip(table["states"], term.features)]  # noqa: B905
        cost = table["best"][k] - points
        if cost > 0:
            found.append({"feature": table["name"], "state": " & ".join(states), "points": points, "cost": cost})
    return sorted(found, key=lambda reason: -reason["cost"])[:most]
