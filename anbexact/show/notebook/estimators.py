"""Fitted classifiers: what is shown below scikit-learn's table of their parameters."""

from __future__ import annotations

from anbexact._runtime.units import counted
from anbexact.classifiers import (
    AveragedClassifier,
    NetworkClassifier,
    PooledClassifier,
    RefittedClassifier,
    TableClassifier,
)
from anbexact.show.notebook.averages import averaged_arcs
from anbexact.show.notebook.by_type import html
from anbexact.show.notebook.fragments import fragment, note, paragraph
from anbexact.show.notebook.networks import network_picture, strengths_of, structure_facts
from anbexact.show.svg.markup import Markup
from anbexact.show.svg.tables import Cell, html_table, name_cell, number, share_bar

LEAST_SHOWN = 0.001
"""Equivalent sample sizes that are less probable are not listed."""


@html.register
def network_classifier_html(classifier: NetworkClassifier) -> Markup:
    """Return the network of a classifier, its score and its certificate."""
    return html(classifier.model_)


@html.register
def refitted_html(classifier: RefittedClassifier) -> Markup:
    """Return the network of a classifier and a summary of its refit."""
    model = classifier.logit_
    first, *others = repr(model).split("\n")
    structure = model.structure.without(model.vocabulary.left_out)
    network = network_picture(structure, strengths_of(classifier.estimator_.model_))
    return fragment(network, structure_facts(structure), paragraph(first), *(note(line) for line in others))


@html.register
def table_classifier_html(classifier: TableClassifier) -> Markup:
    """Return how many classes and features a classifier has."""
    vocabulary = classifier.vocabulary_
    n_features = counted(len(vocabulary.used), "feature")
    return fragment(paragraph(f"{vocabulary.class_name}: {len(classifier.classes_)} classes, {n_features}."))


@html.register
def average_html(classifier: AveragedClassifier) -> Markup:
    """Return what an average of networks consists of, and the probabilities of its arcs."""
    vocabulary = classifier.vocabulary_
    how = (
        "the sum over all networks"
        if classifier.exact_
        else f"{classifier.draws:,} networks drawn from the posterior"
    )
    shares = classifier.ess_shares_[classifier.ess_shares_ > LEAST_SHOWN].sort_values(ascending=False)
    sizes = ", ".join(f"{size:g} ({share:.1%})" for size, share in shares.items())
    text = f"{vocabulary.class_name}: complete rows are predicted by {how}; equivalent sample sizes: {sizes}."
    arcs = averaged_arcs(classifier.arcs_, vocabulary.used, vocabulary.class_name, augmented=True)
    return fragment(paragraph(text), arcs)


@html.register
def pool_html(pool: PooledClassifier) -> Markup:
    """Return the members of a pool, the heaviest first, with bars of their weights."""
    members = pool.members_.sort_values("weight", ascending=False, kind="stable")
    most = float(pool.weights_.max())
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
    caption = f"A pool of {len(pool.weights_):,} members; log loss in nats per held-out row"
    return fragment(html_table(["member", "weight", "", "log loss", "outcome"], rows, caption))
