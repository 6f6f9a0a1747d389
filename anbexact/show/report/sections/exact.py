"""What decides single cases, exactly: Shapley values, sufficient reasons and nearest changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from anbexact._runtime.arrays import Integers
from anbexact.classifiers.explaining import Explaining
from anbexact.explanations.local import BASE, HIDDEN
from anbexact.models.network.explanation_text import cell_text
from anbexact.show.report.document import Block, Column, Paragraph, Records
from anbexact.show.report.subject import Subject

MOST_VALUES = 12
"""Most Shapley values of a case that have a line of their own."""
SPOKEN = {BASE: "(before any feature is known)", HIDDEN: "(because cells are missing)"}
"""What the terms are called that belong to no feature."""


@dataclass
class ExactCase:
    """What the exact explanations say about one row.

    Attributes
    ----------
    blocks : list of Block
        What a page shows.
    values : dict
        The same for JSON: ``shapley``, ``sufficient_reason``, ``nearest_change``.
    """

    blocks: list[Block] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)

    def refused(self, key: str, what: str, error: Exception) -> None:
        """Add a note that says why an explanation is not available."""
        self.values[key] = None
        self.blocks.append(Paragraph(f"{what}: not available. {_sentence(error)}", "note"))


def exact_cases(subject: Subject, rows: Integers) -> list[ExactCase]:
    """Return the exact explanations of some rows; these are empty unless the classifier is one log-linear model."""
    cases = [ExactCase() for _ in rows]
    classifier = subject.classifier
    if not hasattr(classifier, "explain_local") or len(subject.classes) < 2:
        return cases
    for case, row in zip(cases, rows.tolist(), strict=True):
        frame = subject.X.iloc[[row]]
        for add, key, what in PARTS:
            try:
                add(classifier, frame, case)
            except (MemoryError, TypeError, ValueError) as error:
                case.refused(key, what, error)
                if key == "shapley":  # tables with zeros, or densities: the others would fail for the same reason
                    break
    return cases


def _sentence(error: Exception) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."


def _add_shapley(classifier: Explaining, frame: Any, case: ExactCase) -> None:
    local = classifier.explain_local(frame)
    records = [
        {
            "term": SPOKEN.get(of["feature"]) or f"{of['feature']} = {cell_text(of['value'], of['state'])}",
            "feature": of["feature"],
            "nats": of["nats"],
            "odds": of["odds"],
        }
        for of in local.frame.to_dict(orient="records")
    ]
    case.values["shapley"] = [{key: of[key] for key in ("feature", "nats", "odds")} for of in records]
    records = [of for of in records if of["nats"] != 0]
    if len(rest := records[MOST_VALUES:]) > 1:
        nats = sum(of["nats"] for of in rest)
        together = {"term": f"{len(rest)} weaker terms together", "nats": nats, "odds": float(np.exp(nats))}
        records = [*records[:MOST_VALUES], together]
    label, against = local.classes[local.labels[0]], local.classes[local.against[0]]
    columns = [
        Column("term", "feature", most=90),
        Column("nats", "Shapley value", 3, "signed"),
        Column("odds", "odds ×", 3, significant=True),
    ]
    caption = (
        f"Compared with the average training row: {label} against {against}, "
        f"log odds {float(local.log_odds[0]):+.3f} nats in all"
    )
    case.blocks.append(Records("", columns, records, caption))


def _add_reason(classifier: Explaining, frame: Any, case: ExactCase) -> None:
    found = classifier.sufficient_reasons(frame, size="smallest")
    exists = bool(found.exists[0])
    case.values["sufficient_reason"] = {
        "exists": exists,
        "features": [str(name) for name in found.features(0)] if exists else [],
        "smallest": bool(found.proved[0]) and exists,
    }
    text = " ".join(found.text(0).split())
    of = len(classifier.model_.vocabulary.used)
    if exists:
        size = int(found.fixed[0].sum())
        kind = "No smaller set of features" if found.proved[0] else "No part of this set"
        text += f" ({size:,} of {of:,} features. {kind} settles the prediction.)" if size else ""
    case.blocks.append(Paragraph(f"Sufficient reason: {text}"))


def _add_change(classifier: Explaining, frame: Any, case: ExactCase) -> None:
    change = classifier.nearest_change(frame).iloc[0]
    exists = bool(change["exists"])
    values = {"exists": exists, "changes": {str(name): str(state) for name, state in change["changes"].items()}}
    if exists:
        values |= {"becomes": change["becomes"], "probability": float(change["probability"])}
        text = f"{change['text']}; then {change['becomes']} with probability {change['probability']:.4f}."
    else:
        text = "no change of the features leads to another class."
    case.values["nearest_change"] = values
    case.blocks.append(Paragraph(f"Nearest change: {text}"))


PARTS: tuple[tuple[Callable[[Any, Any, ExactCase], None], str, str], ...] = (
    (_add_shapley, "shapley", "Shapley values, sufficient reasons and nearest changes"),
    (_add_reason, "sufficient_reason", "Sufficient reason"),
    (_add_change, "nearest_change", "Nearest change"),
)
"""The explanations of a case in their order: what adds each, its key in JSON, and what it is called if it fails."""
