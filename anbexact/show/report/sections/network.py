"""The network: its picture, what is proved about it, and what every arc is worth."""

from __future__ import annotations

from typing import Any

from anbexact._runtime.units import counted
from anbexact.models.network.arc_strengths import arc_strengths
from anbexact.show.report.document import Block, Column, Listing, Paragraph, Picture, Records, Section
from anbexact.show.report.facts import Facts, other_facts, sizes_text
from anbexact.show.report.subject import Subject
from anbexact.show.svg.network import MOST_FEATURES, diagram, network_svg

MOST_ARCS = 200
"""Most arcs that are listed."""


def network_section(subject: Subject) -> Section | None:
    """Return picture and certificate of a network; for another model, the facts that no other section shows."""
    network, structure = subject.network, subject.structure
    if network is None or structure is None:
        others = other_facts(subject.facts)
        return Section("model", "The model", [Listing(others, key="facts")]) if others else None
    shown = structure.without(subject.vocabulary.left_out)
    strengths = {(arc.parent, arc.child): arc.information for arc in arc_strengths(network)}
    facts = f"{subject.title[:1].upper()}{subject.title[1:]}, {sizes_text(subject.facts)}: "
    facts += f"{counted(len(structure.feature_edges), 'arc')} between features"
    facts += f", {network.n_parameters:,} free probabilities."
    blocks: list[Block] = []
    if len(shown.features) <= MOST_FEATURES:
        drawn = diagram(shown, strengths)
        blocks.append(Picture(network_svg(drawn), drawn.legend))
    else:
        blocks.append(Paragraph(f"A network of {len(shown.features):,} features is too large to be drawn here."))
    blocks.append(Paragraph(facts, key="facts"))
    blocks.append(Paragraph(f"Certificate: {structure.certificate}.", key="certificate"))
    if "refit" in subject.facts:
        blocks.append(Paragraph(_refit(subject.facts["refit"]), key="refit"))
    return Section("network", "The network", blocks)


def _refit(refit: Facts) -> str:
    state = "converged" if refit["converged"] else "did not converge"
    return (
        f"The class posterior of the network is refitted by conditional likelihood as a logistic regression with "
        f"{refit['coefficients']:,} coefficients; the fit {state}. The score and the certificate "
        "refer to the network as it was learned."
    )


def arcs_section(subject: Subject) -> Section | None:
    """Return what every arc is worth; None for a classifier without a network or without arcs."""
    network = subject.network
    if network is None:
        return None
    arcs = arc_strengths(network)
    if not arcs:
        return None
    between = [arc for arc in arcs if subject.class_name not in (arc.parent, arc.child)]
    listed = sorted(arcs, key=lambda arc: -(arc.information if arc.information == arc.information else 0.0))
    records: list[dict[str, Any]] = [arc._asdict() for arc in listed]
    columns = [
        Column("parent", "from"),
        Column("child", "to"),
        Column("information", "information", 4, "share"),
        Column("gain", "gain in score", 1, "signed"),
    ]
    shown = Records(
        "arcs",
        columns,
        records[:MOST_ARCS],
        "Arcs, the most informative first",
        "Information: conditional mutual information of the two ends given the other parents, in nats per training "
        "row. Gain: by how many nats, in total, the arc raises the score of the structure. The score penalises "
        "parameters, so an arc that every network of this kind must have can have a negative gain."
        + (f" The first {MOST_ARCS} of {len(records):,} arcs." if len(records) > MOST_ARCS else ""),
    )
    text = f"Arcs between features: {len(between):,}. Arcs to or from the class: {len(arcs) - len(between):,}."
    return Section("arcs", "What each arc is worth", [Paragraph(text), shown])
