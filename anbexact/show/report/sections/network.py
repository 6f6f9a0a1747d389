"""The network: its picture, what is proved about it, and what every arc is worth."""

from __future__ import annotations

from typing import Any

from anbexact._runtime.units import counted
from anbexact.classifiers import RefittedClassifier
from anbexact.models.network.arc_strengths import arc_strengths
from anbexact.show.report.document import Block, Column, Paragraph, Picture, Records, Section
from anbexact.show.report.facts import sample_sizes
from anbexact.show.report.subject import Subject
from anbexact.show.svg.network import MOST_FEATURES, diagram, network_svg

MOST_ARCS = 200
"""Arcs that are listed."""


def network_section(subject: Subject) -> Section | None:
    """Return the picture and the certificate; None for a classifier without a network."""
    network, structure = subject.network, subject.structure
    if network is None or structure is None:
        return None
    shown = structure.without(subject.vocabulary.left_out)
    strengths = {(arc.parent, arc.child): arc.information for arc in arc_strengths(network)}
    facts = f"{subject.title[:1].upper()}{subject.title[1:]}, {_sizes(subject)}: "
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
    if isinstance(subject.classifier, RefittedClassifier):
        blocks.append(Paragraph(_refit(subject.classifier), key="refit"))
    return Section("network", "The network", blocks)


def _sizes(subject: Subject) -> str:
    learned = subject.generative
    if learned is None or (not hasattr(learned, "ess_") and not hasattr(learned, "universal_score_")):
        return "tables given"
    return sample_sizes(learned)


def _refit(classifier: RefittedClassifier) -> str:
    refitted = classifier.logit_.refitted
    if refitted is None:
        return "The class posterior is that of the network."
    state = "converged" if refitted.fit.converged else "did not converge"
    return (
        f"The class posterior of the network is refitted by conditional likelihood as a logistic regression with "
        f"{classifier.logit_.n_parameters:,} coefficients; the fit {state}. The score and the certificate are those "
        "of the network as it was learned."
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
        "Information: conditional mutual information of the two ends given the other parents, in nats per row of "
        "training. Gain: by how many nats, in total, the score of the structure rises with the arc; it charges for "
        "the number of states, so an arc from the class that the network prescribes can have a negative gain."
        + (f" The first {MOST_ARCS} of {len(records):,} arcs." if len(records) > MOST_ARCS else ""),
    )
    text = f"Arcs between features: {len(between):,}. Arcs to or from the class: {len(arcs) - len(between):,}."
    return Section("arcs", "What each arc is worth", [Paragraph(text), shown])
