"""The rows: classes, states, missing cells, cut points."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any
from unicodedata import bidirectional

import numpy as np
import numpy.typing as npt

from anbexact._runtime.units import agreeing, counted, number_text
from anbexact.show.report.document import FEATURES_SHOWN, Block, Column, Paragraph, Records, Section
from anbexact.show.report.plain_intervals import spoken_intervals
from anbexact.show.report.subject import Subject
from anbexact.show.svg.markup import shortened
from anbexact.tables.cuts import cut_texts
from anbexact.tables.frames.reading import read_columns
from anbexact.tables.vocabulary import UNKNOWN

NAMES_OF_KINDS = {"datetime": "date", "decimal": "number"}
"""What a column of quantities is called, if not by the name of its kind."""
MOST_STATES = 6
"""Most states of a feature that are listed."""
MOST_CUTS = 8
"""Most cut points of a feature that are listed."""
MOST_FEATURES = 300
"""Most features that are listed."""


def rows_section(subject: Subject) -> Section:
    """Return what the rows look like to the classifier."""
    sizes = f"{counted(len(subject.X), 'row')}, {counted(len(subject.vocabulary.used), 'feature')}"
    text = f"{sizes}, {len(subject.classes)} classes of {subject.class_name}."
    if subject.weighted:
        text += f" The weights of the rows add up to {number_text(subject.weights.sum(), 6)}."
    if subject.n_left_out:
        left_out = counted(subject.n_left_out, "row")
        text += f" {left_out} without a class or of weight 0 {agreeing(subject.n_left_out, 'is', 'are')} left out."
    blocks: list[Block] = [Paragraph(text), _classes(subject), _features(subject)]
    if dropped := subject.facts.get("dropped"):
        listed = "; ".join(f"{name} ({reason})" for name, reason in dropped.items())
        blocks.append(Paragraph(f"Left out because they look like identifiers: {listed}."))
    return Section("data", "The data", blocks)


def _classes(subject: Subject) -> Records:
    weights = np.bincount(subject.truth, subject.weights, len(subject.classes))
    shares = weights / weights.sum()
    records = [
        {"class": label, "rows": float(weight), "share": float(share)}
        for label, weight, share in zip(subject.classes, weights, shares, strict=True)
    ]
    records.sort(key=lambda record: -record["rows"])
    columns = [
        Column("class", str(subject.class_name)),
        Column("rows", "rows", 0),
        Column("share", "share", 3, "share"),
    ]
    return Records("classes", columns, records, "Classes")


def _features(subject: Subject) -> Records:
    names = subject.vocabulary.features
    missing = {column.name: column.missing for column in read_columns(subject.X)}
    records = [_feature(subject, j, name, missing[name]) for j, name in enumerate(names[:MOST_FEATURES])]
    columns = [
        Column("feature", "feature"),
        Column("kind", "read as", most=120),
        Column("n_states", "states", 0),
        Column("missing", "missing", 3),
        Column("unknown", "unknown", 3),
        Column("shown", "share of the states", most=220),
    ]
    more = f" The first {MOST_FEATURES} of {len(names):,} features." if len(names) > MOST_FEATURES else ""
    note = (
        "Missing: the share of rows whose cell is missing. Such a cell is summed out, unless missing cells are a "
        "state of the feature. Unknown: the share of rows with a value that is not a state; it is summed out, too."
        f"{more}"
    )
    return Records("features", columns, records, "Features", note, FEATURES_SHOWN)


def _feature(subject: Subject, j: int, name: Hashable, missing: npt.NDArray[np.bool_]) -> dict[str, Any]:
    vocabulary, codes = subject.vocabulary, subject.codes[j]
    states, total = vocabulary.states[name], subject.weights.sum()
    seen = codes >= 0
    weights = np.bincount(codes[seen].astype(np.intp), subject.weights[seen], len(states))
    shares = weights / (weights.sum() or 1.0)
    order = np.argsort(-shares, kind="stable") if len(states) > MOST_STATES else np.arange(len(states))
    spoken = spoken_intervals([subject.classifier.model_])
    texts = [spoken.get(state, state) for state in states]
    shown = [f"{_one_way(shortened(texts[k], 40))}: {_percent(shares[k])}" for k in order[:MOST_STATES].tolist()]
    rest = f"; {len(states) - MOST_STATES} more" if len(states) > MOST_STATES else ""
    record: dict[str, Any] = {
        "feature": name,
        "kind": _kind(subject, name),
        "n_states": len(states),
        "missing": float(subject.weights[missing].sum() / total),
        "unknown": float(subject.weights[codes == UNKNOWN].sum() / total),
        "shown": "; ".join(shown) + rest,
        "states": {str(state): float(share) for state, share in zip(states, shares, strict=True)},
    }
    if name in subject.classifier.cut_points_:
        record["cut_points"] = _cuts(subject, name)
    return record


def _percent(share: float) -> str:
    """Return a share in whole percent, in which what occurs is not 0 % and what is not all is not 100 %."""
    return "<1%" if 0 < share < 0.005 else ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def _one_way(text: str) -> str:
    """Return a text that does not turn around what follows it on the page, even if it is written right to left."""
    return f"{text}\N{LEFT-TO-RIGHT MARK}" if any(bidirectional(letter) in ("R", "AL") for letter in text) else text


def _cuts(subject: Subject, name: Hashable) -> list[Any]:
    cuts, quantity = subject.classifier.cut_points_[name], subject.vocabulary.quantities.get(name)
    return list(cuts.tolist() if quantity is None else cut_texts(cuts, quantity))


def _kind(subject: Subject, name: Hashable) -> str:
    if name in subject.vocabulary.left_out:
        return "left out"
    if name in subject.classifier.cut_points_:
        cuts, quantity = _cuts(subject, name), subject.vocabulary.quantities.get(name)
        kind = NAMES_OF_KINDS.get(quantity.kind, quantity.kind) if quantity is not None else "number"
        if not cuts:
            return f"{kind}, not cut"
        texts = cut_texts(subject.classifier.cut_points_[name], quantity)
        return f"{kind}, cut at {', '.join(texts[:MOST_CUTS])}" + (" …" if len(cuts) > MOST_CUTS else "")
    groups = subject.vocabulary.groups.get(name)
    if groups:
        return f"{sum(map(len, groups)):,} values in {len(groups)} group{'s' * (len(groups) > 1)}"
    return "categories"
