"""Fitted classifiers: what is shown below scikit-learn's table of their parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anbexact.classifiers import NetworkClassifier, RefittedClassifier, TableClassifier
from anbexact.displays.fragments import fragment, note, paragraph
from anbexact.displays.networks import network_picture, strengths_of, structure_facts
from anbexact.drawing.markup import Markup

if TYPE_CHECKING:
    from anbexact.classifiers import DiscreteClassifier


def fitted_html(classifier: DiscreteClassifier) -> Markup:
    """Return what a classifier has learned, empty if it is not fitted: its network, score and certificate."""
    if isinstance(classifier, NetworkClassifier) and hasattr(classifier, "model_"):
        network = classifier.model_
        picture = network_picture(network.structure, strengths_of(network))
        return fragment(picture, structure_facts(network.structure))
    if isinstance(classifier, RefittedClassifier) and hasattr(classifier, "logit_"):
        model = classifier.logit_
        strengths = strengths_of(classifier.estimator_.model_)
        first, *others = repr(model).split("\n")
        facts = [network_picture(model.structure, strengths), structure_facts(model.structure)]
        return fragment(*facts, paragraph(first), *(note(line) for line in others))
    if isinstance(classifier, TableClassifier) and hasattr(classifier, "model_"):
        vocabulary = classifier.vocabulary_
        n_classes = len(classifier.classes_)
        return fragment(
            paragraph(f"{vocabulary.class_name}: {n_classes} classes, {len(vocabulary.features):,} features.")
        )
    return Markup("")
