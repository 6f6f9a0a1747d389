"""Decisions at given costs: what is decided, what it costs, and what deciding the most probable class would cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from anbexact._runtime.arrays import Floats, Integers
from anbexact.compare.curves import NORMAL_95
from anbexact.explanations.decisions import Costs
from anbexact.show.report.document import Block, Column, Paragraph, Records, Section
from anbexact.show.report.subject import Subject
from anbexact.show.report.validation import Validation
from anbexact.show.svg.markup import shortened

MOST_OF_NAME = 16
"""Most characters of a decision above its column; the rows have longer names of classes."""


@dataclass(frozen=True, eq=False)
class Judged:
    """Probabilities of rows whose classes are known, and what decisions about them cost.

    Attributes
    ----------
    truth : (rows,) int
        Places of the true classes.
    proba : (rows, classes) float64
        Probabilities.
    shares : (rows,) float64
        Weights of the rows, with the sum 1.
    cost : (classes, decisions) float64
        What a decision costs, given the true class.
    """

    truth: Integers
    proba: Floats
    shares: Floats
    cost: Floats

    def rule(self, chosen: Integers) -> tuple[Floats, float]:
        """Return the cost of every row under decisions, and the mean that the probabilities expect."""
        place = np.arange(len(self.truth))
        expected = (self.proba @ self.cost)[place, chosen]
        return self.cost[self.truth, chosen], float(self.shares @ expected)

    def interval(self, each: Floats) -> tuple[float, float, float]:
        """Return the weighted mean of numbers by row, with its 95 % interval over rows."""
        mean = float(self.shares @ each)
        half = NORMAL_95 * math.sqrt(float((self.shares**2 * (each - mean) ** 2).sum()))
        return mean, mean - half, mean + half


def decisions_section(subject: Subject, validation: Validation | None, costs: Costs | None) -> Section | None:
    """Return what is decided at given costs and what it costs; None without costs.

    For every row, the decision d with the least expected cost ``Σ_c P(c | row) cost(c, d)`` is taken. What decisions
    really cost is computed with the true classes, of held-out rows if there was a cross-validation.
    """
    if costs is None:
        return None
    decisions, matrix = costs.decisions, costs.matrix
    judged, where = _judged(subject, validation, matrix)
    chosen = np.asarray((judged.proba @ judged.cost).argmin(axis=1))
    blocks: list[Block] = [
        Paragraph(
            "For every row, the decision with the least expected cost is taken: the sum over the classes of their "
            f"probability times the cost of the decision. {where}"
            + (" Utilities are shown as costs with the opposite sign." if costs.sign < 0 else "")
        ),
        _matrix("costs", subject.classes, decisions, matrix, "What a decision costs, by true class", _digits(matrix)),
        _rules(judged, chosen, decisions, subject.classes),
    ]
    counts = np.zeros_like(matrix)
    np.add.at(counts, (judged.truth, chosen), judged.shares * subject.weights.sum())
    blocks.append(_matrix("decided", subject.classes, decisions, counts, "Rows by true class and decision", 0))
    return Section("decisions", "Decisions and their costs", blocks)


def _judged(subject: Subject, validation: Validation | None, matrix: Floats) -> tuple[Judged, str]:
    """Return held-out probabilities, or else those of the rows themselves, and a sentence that says which."""
    if validation is not None and validation.own in validation.lines:
        own = validation.lines[validation.own].possible()
        place = np.array([subject.classes.index(label) for label in validation.classes])
        truth, weights = place[own.truth], own.weights
        proba = np.zeros((len(truth), len(subject.classes)))  # a class that no row has was not learned in any fold
        proba[:, place] = own.proba
        where = "The rows are held-out rows, with their probabilities from the cross-validation."
    else:
        kept = ~np.isnan(subject.proba).any(axis=1)
        truth, proba, weights = subject.truth[kept], subject.proba[kept], subject.weights[kept]
        where = (
            "Without a cross-validation, these are the rows of the report themselves; if the classifier was learned "
            "from them, costs are too low."
        )
    return Judged(truth, proba, weights / weights.sum(), matrix), where


def _rules(judged: Judged, chosen: Integers, decisions: list[Any], classes: list[Any]) -> Records:
    """Return what three rules cost: least expected cost, the most probable class, and always the same decision."""
    rules = {"least expected cost": chosen}
    if all(label in decisions for label in classes):
        rules["most probable class"] = np.array([decisions.index(label) for label in classes])[
            judged.proba.argmax(axis=1)
        ]
    always = int((judged.shares @ judged.cost[judged.truth]).argmin())
    rules[f"always {decisions[always]}"] = np.full(len(chosen), always)
    own, _ = judged.rule(chosen)
    records = []
    for name, of in rules.items():
        each, expected = judged.rule(of)
        mean, low, high = judged.interval(each)
        more = judged.interval(each - own)
        differs = float(judged.shares @ (of != chosen))
        records.append(
            {
                "rule": name,
                "cost": mean,
                "low": low,
                "high": high,
                "expected": expected,
                "more": None if name == "least expected cost" else more[0],
                "more_low": None if name == "least expected cost" else more[1],
                "more_high": None if name == "least expected cost" else more[2],
                "decided_otherwise": differs,
            }
        )
    columns = [
        Column("rule", "rule"),
        Column("cost", "cost per row", 4, "share"),
        Column("low", "from", 4),
        Column("high", "to", 4),
        Column("expected", "expected by the model", 4),
        Column("more", "more than the first", 4),
        Column("more_low", "from", 4),
        Column("more_high", "to", 4),
        Column("decided_otherwise", "rows decided otherwise", 3),
    ]
    note = (
        "Cost per row: the mean over the rows, by their true classes. Expected by the model: the mean that its "
        "probabilities predict; if the two differ by much, the probabilities are not calibrated where it matters. "
        "Always: the one decision that costs least if it is taken for all rows. From, to: 95 % intervals over rows, "
        "paired for differences. Rows decided otherwise: the share of rows that the rule decides otherwise than the "
        "first rule."
    )
    return Records("rules", columns, records, "What it costs to decide", note)


def _digits(values: Floats) -> int:
    """Return with how many decimals costs are shown: as many as they have, four at most."""
    return next((digits for digits in range(4) if (values == values.round(digits)).all()), 4)


def _matrix(key: str, classes: list[Any], decisions: list[Any], values: Floats, caption: str, digits: int) -> Records:
    """Return numbers by true class and decision as a table."""
    columns = [Column("true_class", "true class \\ decision", most=40)]
    columns += [
        Column(f"d{d}", shortened(str(decision), MOST_OF_NAME), digits) for d, decision in enumerate(decisions)
    ]
    names = list(map(str, decisions))
    records = [
        {
            "true_class": label,
            **{f"d{d}": float(value) for d, value in enumerate(row)},
            "by_decision": dict(zip(names, row, strict=True)),
        }
        for label, row in zip(classes, values.tolist(), strict=True)
    ]
    return Records(key, columns, records, caption, "")
