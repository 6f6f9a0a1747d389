"""Fitted classifiers: what is shown below scikit-learn's table of their parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anbexact._runtime.units import counted
from anbexact.classifiers import (
    AveragedClassifier,
    NetworkClassifier,
    PooledClassifier,
    RefittedClassifier,
    TableClassifier,
)
from anbexact.displays.averages import averaged_arcs
from anbexact.displays.fragments import fragment, note, paragraph
from anbexact.displays.networks import network_html, network_picture, strengths_of, structure_facts
from anbexact.drawing.markup import Markup
from anbexact.drawing.tables import Cell, html_table, name_cell, number, share_bar

if TYPE_CHECKING:
    from anbexact.classifiers import DiscreteClassifier

LEAST_SHOWN = 0.001
"""Equivalent sample sizes that are less probable are not listed."""


def fitted_html(classifier: DiscreteClassifier) -> Markup:
    """Return what a classifier has learned, empty if it is not fitted: its network, score and certificate."""
    if isinstance(classifier, NetworkClassifier) and hasattr(classifier, "model_"):
        return network_html(classifier.model_)
    if isinstance(classifier, RefittedClassifier) and hasattr(classifier, "logit_"):
        model = classifier.logit_
        strengths = strengths_of(classifier.estimator_.model_)
        first, *others = repr(model).split("\n")
        shown = model.structure.without(model.vocabulary.left_out)
        facts = [network_picture(shown, strengths), structure_facts(shown)]
        return fragment(*facts, paragraph(first), *(note(line) for line in others))
    if isinstance(classifier, PooledClassifier) and hasattr(classifier, "weights_"):
        return fragment(_pool_table(classifier))
    if isinstance(classifier, AveragedClassifier) and hasattr(classifier, "model_"):
        return fragment(*_average(classifier))
    if isinstance(classifier, TableClassifier) and hasattr(classifier, "model_"):
        vocabulary = classifier.vocabulary_
        n_classes = len(classifier.classes_)
        return fragment(
            paragraph(f"{vocabulary.class_name}: {n_classes} classes, {counted(len(vocabulary.used), 'feature')}.")
        )
    return Markup("")


def _average(classifier: AveragedClassifier) -> list[Markup]:
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
    return [paragraph(text), arcs]


def _pool_table(pool: PooledClassifier) -> Markup:
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
    return html_table(["member", "weight", "", "log loss", "outcome"], rows, caption)
