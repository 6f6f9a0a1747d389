"""What the features tell, over all rows and in single cases."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from anbexact._runtime.arrays import Integers
from anbexact.models.network.explanation_text import explanation_text
from anbexact.show.notebook.explanations import explanation_table
from anbexact.show.report.document import (
    FEATURES_SHOWN,
    Block,
    Column,
    Fragment,
    Heading,
    Paragraph,
    Records,
    Section,
)
from anbexact.show.report.features import feature_report
from anbexact.show.report.sections.exact import exact_cases
from anbexact.show.report.subject import Subject

MOST_EXPLAINED = 300
"""Most rows over which mean terms are taken; of a larger table, this many rows at equal distances."""
MOST_FEATURES = 100
"""Most features that are listed."""
OF_NETWORK = (
    " ln BF: log Bayes factor for independence of the feature and the class, negative for dependence. Information: "
    "conditional mutual information with the class in this network, nats per row; a dash for a feature without an "
    "arc to or from the class."
)
EXACT = (
    "The terms of a row and its Shapley values answer different questions, so their numbers differ. A term is the "
    "factor by which the model itself multiplies the odds, given the other cells of the row. A Shapley value "
    "compares the row with the average training row: it is what a feature adds to the log odds, averaged over all "
    "orders in which the features become known. A sufficient reason decides the prediction whatever the other "
    "features are. The nearest change alters the fewest features so that another class is predicted. The latter "
    "three are exact for the model; none says what would happen if somebody changed a feature."
)


def features_section(subject: Subject) -> Section | None:
    """Return how much every feature tells about the class; None for a classifier without explanations."""
    if not subject.is_explained:
        return None
    records = _by_feature(subject)
    columns = [
        Column("feature", "feature"),
        Column("mean_term", "mean |term|", 3, "share"),
    ]
    note = (
        "Mean |term|: the mean absolute value of what the feature adds to the log odds of the two most probable "
        "classes, in nats, over rows in which it is observed."
    )
    if subject.network is None:
        note += " A term of several features counts for the one that it is shown with."
        if any(record["feature"] not in subject.vocabulary.names for record in records):
            note += (
                " A name in brackets is a member of the pool that has a single term, of all features together; a "
                "pool with readable=True has no such members."
            )
    else:
        columns += [Column("log_bayes_factor", "ln BF", 1), Column("information", "information", 4)]
        note += OF_NETWORK
    more = f" The first {MOST_FEATURES} of {len(records):,}." if len(records) > MOST_FEATURES else ""
    table = Records(
        "features",
        columns,
        records[:MOST_FEATURES],
        "Features, the most influential first",
        note + more,
        FEATURES_SHOWN,
    )
    return Section("influence", "What the features tell", [table])


def _by_feature(subject: Subject) -> list[dict[str, Any]]:
    n_rows = len(subject.X)
    rows = np.unique(np.linspace(0, n_rows - 1, min(n_rows, MOST_EXPLAINED)).round().astype(np.intp))
    explanations = subject.explain(rows, grounds=False)
    assert explanations is not None
    terms = explanations.to_frame()
    finite = terms[np.isfinite(terms["nats"])]
    means = {name: float(of["nats"].abs().mean()) for name, of in finite.groupby("feature", sort=False)}
    report: dict[Any, Any] = {}
    weights = subject.weights if subject.weighted else None
    if subject.network is not None:
        with suppress(ValueError):  # no complete row
            report = feature_report(subject.classifier, subject.X, subject.y, weights).to_dict(orient="index")
    names = [name for name in subject.vocabulary.features if name not in subject.vocabulary.left_out]
    prior = f"(prior of {subject.vocabulary.class_name})"
    names += [name for name in means if name not in subject.vocabulary.names and name != prior]
    records = [
        {
            "feature": name,
            "mean_term": means.get(name, 0.0),
            "log_bayes_factor": report.get(name, {}).get("log_bayes_factor"),
            "information": report.get(name, {}).get("information"),
        }
        for name in names
    ]
    return sorted(records, key=lambda record: -record["mean_term"])


def cases_section(subject: Subject) -> Section | None:
    """Return a typical, a doubtful and a wrong case, if there are any, explained; None without explanations."""
    chosen = chosen_cases(subject)
    rows = np.array(list(chosen.values()), dtype=np.intp)
    explanations = subject.explain(rows)
    if explanations is None:
        return None
    exact = exact_cases(subject, rows)
    blocks: list[Block] = [
        Paragraph(
            "Some rows, explained. A bar shows what a feature adds to the log odds of the two most probable "
            "classes; a line through it, if there is one, is its 95 % credible interval."
            if subject.network is not None
            else "Some rows, explained. Each line has the factor by which one or several features multiply the odds "
            "of the two most probable classes."
            + " The factors combine all members of the pool."
            * hasattr(subject.classifier, "members_"),
            "note",
        )
    ]
    if any("sufficient_reason" in case.values for case in exact):
        blocks.append(Paragraph(EXACT, "note"))
    for (what, row), explanation, case in zip(chosen.items(), explanations, exact, strict=True):
        title = f"{what}: row {row}, true class {subject.y.iloc[row]}"
        values = {
            "row": row,
            "true_class": subject.y.iloc[row],
            "label": explanation.label,
            "against": explanation.against,
            "probability": explanation.probability,
            "log_odds": explanation.log_odds,
            "terms": explanation.terms.to_dict(orient="records"),
            **case.values,
        }
        text = "\n".join(f"    {line}" for line in explanation_text(explanation).splitlines())
        key = what.split(" ")[1]
        blocks += [Heading(title), Fragment(explanation_table(explanation), text, key, values), *case.blocks]
    return Section("cases", "Single cases", blocks)


def chosen_cases(subject: Subject) -> dict[str, int]:
    """Return three rows: one that is right with a median probability, the most doubtful one, and the worst error."""
    proba = np.nan_to_num(subject.proba)
    predicted, best = proba.argmax(axis=1), proba.max(axis=1)
    right = predicted == subject.truth
    chosen: dict[str, int] = {}
    if right.any():
        median = float(np.median(best[right]))
        chosen["A typical case"] = _first(np.where(right, -np.abs(best - median), -np.inf))
    if proba.shape[1] > 1:
        ordered = np.sort(proba, axis=1)
        chosen["A doubtful case"] = _first(ordered[:, -2] - ordered[:, -1])
    if not right.all():
        chosen["A wrong case"] = _first(np.where(right, -np.inf, best))
    return chosen


def _first(values: Any) -> int:
    places: Integers = np.flatnonzero(values == values.max())
    return int(places[0])
