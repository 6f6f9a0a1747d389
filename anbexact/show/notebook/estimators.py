"""Fitted classifiers: what a notebook shows of their models, below scikit-learn's table of parameters."""

from __future__ import annotations

from typing import Any

from anbexact._runtime.units import counted
from anbexact.classifiers import DiscreteClassifier
from anbexact.models.structure import Structure
from anbexact.show.notebook.averages import averaged_arcs
from anbexact.show.notebook.by_type import html
from anbexact.show.notebook.fragments import fragment, note, paragraph
from anbexact.show.notebook.networks import network_picture, strengths_of, structure_facts
from anbexact.show.report.facts import Facts, facts_of, other_facts
from anbexact.show.svg.markup import Markup
from anbexact.show.svg.tables import Cell, html_table, name_cell, number, share_bar

LEAST_SHOWN = 0.001
"""Equivalent sample sizes of this posterior probability or less are not listed."""


@html.register
def classifier_html(classifier: DiscreteClassifier) -> Markup:
    """Return what a classifier has learned: a network and its refit, an average of networks, or a pool."""
    facts = facts_of(classifier)
    if "structure" in facts:
        return _network(classifier, facts)
    if "arcs" in facts:
        return _average(classifier, facts)
    if "members" in facts:
        return _pool(facts)
    vocabulary = classifier.vocabulary_
    n_features = counted(len(vocabulary.used), "feature")
    sizes = f"{vocabulary.class_name}: {len(classifier.classes_)} classes, {n_features}."
    return fragment(paragraph(sizes), *map(note, other_facts(facts)))


def _network(classifier: Any, facts: Facts) -> Markup:
    """Return the network of a classifier, its score and certificate, and a summary of its refit, if it has one."""
    model = classifier.model_
    structure: Structure = classifier.structure_.without(model.vocabulary.left_out)
    refit = repr(model).split("\n") if "refit" in facts else []
    return fragment(
        network_picture(structure, strengths_of(model.learned)),
        structure_facts(structure),
        *map(paragraph, refit[:1]),
        *map(note, refit[1:]),
    )


def _average(classifier: DiscreteClassifier, facts: Facts) -> Markup:
    """Return what an average of networks consists of, and the probabilities of its arcs."""
    vocabulary = classifier.vocabulary_
    how = "the sum over all networks" if facts["exact"] else f"{facts['draws']:,} networks drawn from the posterior"
    shares = facts["ess_shares"]
    shares = shares[shares > LEAST_SHOWN].sort_values(ascending=False)
    sizes = ", ".join(f"{size:g} ({share:.1%})" for size, share in shares.items())
    text = f"{vocabulary.class_name}: complete rows are predicted by {how}; equivalent sample sizes: {sizes}."
    arcs = averaged_arcs(facts["arcs"](), vocabulary.used, vocabulary.class_name, augmented=True)
    return fragment(paragraph(text), arcs)


def _pool(facts: Facts) -> Markup:
    """Return the members of a pool, the heaviest first, with bars of their weights."""
    members = facts["members"].sort_values("weight", ascending=False, kind="stable")
    most = max(facts["weights"].values())
    rows = [
        [
            name_cell(name),
            number(of["weight"], 3),
            Cell(share_bar(of["weight"], most, 70.0)),
            number(of["log_loss"], 4),
            of["outcome"],
        ]
        for name, of in members.iterrows()
    ]
    caption = f"A pool of {counted(len(facts['weights']), 'member')}; log loss in nats per held-out row"
    return fragment(html_table(["member", "weight", "", "log loss", "outcome"], rows, caption))
