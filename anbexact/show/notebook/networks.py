"""Structures, certificates and networks."""

from __future__ import annotations

import math

from anbexact._runtime.units import counted
from anbexact.models.network.arc_strengths import strengths_by_arc
from anbexact.models.network.network import Network
from anbexact.models.structure import Certificate, Structure
from anbexact.show.notebook.by_type import html
from anbexact.show.notebook.fragments import fragment, paragraph
from anbexact.show.svg.markup import Markup, element, joined
from anbexact.show.svg.network import MOST_FEATURES, Strengths, diagram, figure, network_svg


@html.register
def structure_html(structure: Structure) -> Markup:
    """Return a structure: its picture, score and certificate."""
    return fragment(network_picture(structure), structure_facts(structure))


@html.register
def certificate_html(certificate: Certificate) -> Markup:
    """Return what a search proved."""
    return fragment(certificate_paragraph(certificate))


@html.register
def network_html(network: Network) -> Markup:
    """Return a network: its picture, in which the width of an arc shows its strength, score and certificate."""
    shown = network.structure.without(network.vocabulary.left_out)
    return fragment(network_picture(shown, strengths_of(network)), structure_facts(shown))


def strengths_of(network: Network) -> Strengths:
    """Return the strengths of the arcs of a network; none if it is too large to be drawn."""
    return strengths_by_arc(network) if len(network.structure.features) <= MOST_FEATURES else {}


def network_picture(structure: Structure, strengths: Strengths | None = None) -> Markup:
    """Return the picture of a network with its legend, or a sentence if it is too large to be read."""
    n_features, n_arcs = len(structure.features), len(structure.feature_edges)
    if n_features > MOST_FEATURES:
        return paragraph(
            f"The network has {n_features:,} features and {n_arcs:,} arcs between them, too many to be drawn here; "
            "structure_.edges lists all arcs."
        )
    drawn = diagram(structure, strengths)
    return figure(network_svg(drawn), drawn.legend)


def structure_facts(structure: Structure) -> Markup:
    """Return the size, score and certificate of a structure."""
    n_features, n_arcs = len(structure.features), len(structure.feature_edges)
    score = "" if math.isnan(structure.score) else f"; score {structure.score:,.3f} nats in total"
    sizes = f"{counted(n_features, 'feature')}, {counted(n_arcs, 'arc')} between features"
    facts = f"{structure.class_name}: {sizes}{score}."
    return joined([paragraph(facts), certificate_paragraph(structure.certificate)])


def certificate_paragraph(certificate: Certificate) -> Markup:
    """Return a certificate in a sentence, its verdict marked."""
    if math.isinf(certificate.gap):
        badge, rest = element("span", "nothing proved", class_="badge no"), f" {certificate.method}."
    else:
        verdict = "proved optimal" if certificate.optimal else f"gap at most {certificate.gap:.6g} nats"
        badge = element("span", verdict, class_="badge yes" if certificate.optimal else "badge no")
        rest = (
            f" {certificate.method}; {counted(certificate.sets_scored, 'set')} scored in {certificate.seconds:.3g} s."
        )
    return paragraph(badge, rest)
