"""What was changed by hand after the fit, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anbexact._runtime.units import agreeing, counted
from anbexact.show.report.document import Column, Paragraph, Records, Section
from anbexact.show.report.subject import Subject

COLUMNS = (
    Column("edit", "edit", most=400),
    Column("reason", "reason", most=400),
    Column("before", "log loss before", 4),
    Column("after", "after", 4),
    Column("difference", "difference", 4),
    Column("difference_error", "standard error", 4),
    Column("rows", "rows"),
)
"""The columns of the table of edits."""


def edits_section(subject: Subject) -> Section | None:
    """Return the log of edits; None for a model that was not edited."""
    edits = subject.facts.get("edits")
    if not edits:
        return None
    text = (
        f"{counted(len(edits), 'change')} by hand {agreeing(len(edits), 'was', 'were')} made after the fit. "
        "Predictions, explanations and shapes in this report are those of the changed model. A cross-validation "
        "learns the model again, without changes by hand."
    )
    if "constraints" in subject.facts.get("refit", {}):
        text += " The conditions on shapes hold for what was fitted; a change of a shape by hand may break them."
    note = (
        "Log losses are in nats per row, each before and after one edit. The standard error is that of their "
        "difference over rows. Training rows are those that the model was fitted to, so changes of shapes and "
        "removed arcs tend to look costlier on them than on new rows, and added arcs more useful."
    )
    return Section("edits", "Changes by hand", [Paragraph(text, key="text"), edits_table(edits, note)])


def edits_table(edits: Sequence[dict[str, Any]], note: str) -> Records:
    """Return the table of edits, given as records, with a note on it."""
    rows = [{**edit, "rows": _rows(edit["weight"], edit["training"])} for edit in edits]
    return Records("edits", COLUMNS, rows, "Edits in their order", note)


def _rows(weight: float | None, training: bool | None) -> str:
    if weight is None:
        return "not measured"
    return f"{weight:,.6g} {'training' if training else 'other'} rows"
