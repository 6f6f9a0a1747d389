"""How certain the arcs and the probabilities are."""

from __future__ import annotations

from typing import Any

import numpy as np

from anbexact._runtime.units import agreeing, counted
from anbexact.show.notebook.averages import KINDS, LEGEND, arcs_svg
from anbexact.show.report.document import Block, Column, Heading, Paragraph, Picture, Records, Section
from anbexact.show.report.sections.features import chosen_cases
from anbexact.show.report.stability import BAYES_FACTOR, Stability, stability
from anbexact.show.report.subject import Subject
from anbexact.show.svg.network import MOST_FEATURES


def stability_section(subject: Subject) -> Section | None:
    """Return arcs with their probabilities, and what depends on single rows; None for classifiers without tables."""
    if "structure" not in subject.facts or "measure" in subject.facts:
        return None
    network, weights = subject.estimator, subject.weights if subject.weighted else None
    found = stability(network, network.reader_.table(subject.X, subject.y, weights))
    blocks: list[Block] = []
    vocabulary = subject.vocabulary
    if len(vocabulary.used) <= MOST_FEATURES:
        augmented = found.posterior.networks != "gbn"
        picture = arcs_svg(found.posterior.arcs, vocabulary.used, vocabulary.class_name, augmented=augmented)
        blocks.append(Picture(picture, LEGEND))
    blocks.append(Paragraph(_rivals(found), key="rivals"))
    columns = (
        Column("first", "feature"),
        Column("second", "joined to"),
        Column("in_network", "in the network"),
        Column("joined", "probability that they are joined", 3, "share"),
        Column("direction", "of this direction, if joined", 3),
        Column("support", "rows that can be left out", 3),
    )
    named = found.pairs.assign(in_network=np.where(found.pairs["in_network"], "yes", "no"))
    records: list[dict[str, Any]] = [
        dict(zip(named.columns, row, strict=True)) for row in named.itertuples(index=False, name=None)
    ]
    if records:
        blocks.append(Records("pairs", columns, records))
    blocks.append(
        Paragraph(
            "Rows that can be left out: the share of the rows for which the best structure, learned again without "
            "this one row, still joins the two. States, cut points and the equivalent sample size stay the same.",
            "note",
        )
    )
    blocks += _intervals(subject)
    return Section("stability", "How certain arcs and probabilities are", blocks)


def _intervals(subject: Subject) -> list[Block]:
    """Return intervals of the probabilities of single cases; none for a refit, or for tables without a posterior."""
    classifier: Any = subject.classifier
    if not classifier.model_.has_table_posterior:
        return []
    cases = chosen_cases(subject)
    found = classifier.predict_proba_interval(subject.X.iloc[list(cases.values())])
    records = []
    for (what, row), intervals in zip(cases.items(), found, strict=True):
        best = int(subject.proba[row].argmax())
        low, high = intervals[best].tolist()
        label, probability = subject.classes[best], float(subject.proba[row, best])
        records.append(
            {"case": what, "row": row, "predicted": label, "probability": probability, "low": low, "high": high}
        )
    columns = (
        Column("case", "case"),
        Column("row", "row"),
        Column("predicted", "predicted"),
        Column("probability", "probability", 3),
        Column("low", "95 % interval from", 3),
        Column("high", "to", 3),
    )
    note = (
        "Intervals show what tables estimated from few rows leave open, with the structure taken as given: they are "
        "computed from 1,000 draws of all tables."
    )
    return [Heading("Intervals for the single cases"), Records("intervals", columns, records, note=note)]


def _rivals(found: Stability) -> str:
    """Return, in sentences, how many structures are as good as the best one, or nearly."""
    kinds = {**KINDS, "tan": "trees over the features", "fan": "forests over the features"}
    text = (
        f"The posterior over all {kinds[found.posterior.networks]} is as uncertain as one over "
        f"{found.n_effective:,.0f} equally probable ones."
    )
    if found.n_near is not None:
        more = "" if found.complete else "at least "
        text += (
            f" Within a Bayes factor of {BAYES_FACTOR:g} of the best, there {agreeing(found.n_near, 'is', 'are')} "
            f"{more}{counted(found.n_near, 'structure')} that rows can tell apart."
        )
    return text
