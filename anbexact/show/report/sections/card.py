"""The first sections of a model card: what a model is, and what it is for."""

from __future__ import annotations

from typing import Any

import anbexact
from anbexact._runtime.units import counted
from anbexact.show.report.document import Column, Paragraph, Records, Section
from anbexact.show.report.facts import sizes_text
from anbexact.show.report.subject import Subject

UNSTATED = (
    "The use of this model was not stated when the card was made. Whoever passes the model on should say who may "
    "decide what with it, and for whom it was not made."
)


def model_section(subject: Subject) -> Section:
    """Return the kind of a model, its network with certificate, and how its tables were estimated or refitted."""
    facts, structure = subject.facts, subject.structure
    records: list[dict[str, Any]] = [
        {"what": "class", "value": f"{subject.class_name}: {', '.join(map(str, subject.classes))}"},
        {"what": "model", "value": subject.title},
        {"what": "features", "value": counted(len(subject.vocabulary.used), "feature")},
    ]
    if sizes := sizes_text(facts):
        records.append({"what": "tables", "value": sizes})
    if structure is not None:
        arcs = "; ".join(f"{parent} → {child}" for parent, child in structure.feature_edges[:30])
        more = len(structure.feature_edges) - 30
        records.append({"what": "arcs between features", "value": (arcs or "none") + (f"; {more} more" * (more > 0))})
        records.append({"what": "certificate", "value": str(structure.certificate)})
    if "refit" in facts:
        records.append({"what": "refit", "value": _refit(facts["refit"])})
    if "fidelity" in facts:
        records.append({"what": "fidelity", "value": str(facts["fidelity"])})
    edits = facts.get("edits", [])
    records.append({"what": "changes by hand", "value": counted(len(edits), "change") if edits else "none"})
    records.append({"what": "software", "value": f"anbexact {anbexact.__version__}"})
    columns = [Column("what", "property"), Column("value", "value", most=2000)]
    return Section("model", "The model", [Records("properties", columns, records)])


def _refit(refit: dict[str, Any]) -> str:
    how = "with smooth shapes" if "smoothing" in refit else f"with l2 {refit['l2']:.4g}"
    state = "converged" if refit["converged"] else "not converged"
    return f"by conditional likelihood, {how}; {counted(refit['coefficients'], 'coefficient')}; {state}"


def use_section(use: str) -> Section:
    """Return what a model is for, as far as it was said."""
    return Section("use", "Intended use", [Paragraph(use or UNSTATED, key="use")])
