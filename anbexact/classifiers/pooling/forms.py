"""Fitted members of a pool, in the forms needed for its explanations and its logistic regression."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

from anbexact._runtime.arrays import Floats
from anbexact.classifiers.base import NetworkClassifier
from anbexact.classifiers.discrete import DiscreteClassifier
from anbexact.classifiers.fixed import FixedStructureClassifier
from anbexact.classifiers.refitted import RefittedClassifier
from anbexact.models.logit.potentials import network_potentials, potential_tables
from anbexact.models.network.estimation import Estimation
from anbexact.models.network.network import TableNetwork
from anbexact.models.parameters.counts import count_families
from anbexact.models.pool.explanation import ExplainedMember
from anbexact.models.pool.reading import Reading, common_refinement
from anbexact.models.pool.union import MemberTerms
from anbexact.models.structure import Structure
from anbexact.scores import BDeu
from anbexact.tables.reader import Reader

Weighted = tuple[str, float, DiscreteClassifier]
"""A member's name, its weight and the fitted classifier."""


def explained_member(member: Weighted, X: Any, log_posterior: Floats) -> ExplainedMember:
    """Return a member's explanations of rows, family by family if it is a network."""
    name, weight, model = member
    if isinstance(model, RefittedClassifier):
        logit = model.logit_
        families = [*potential_tables(logit.potentials, logit.structure).items()]
        codes = logit.classifier.reader_.codes(X)
        return ExplainedMember(name, weight, log_posterior, logit.vocabulary, codes, families)
    codes, vocabulary = model.reader_.codes(X), model.vocabulary_
    own = [*model.model_.families.items()] if isinstance(model, NetworkClassifier) else None
    return ExplainedMember(name, weight, log_posterior, vocabulary, codes, own)


def reading_of(model: DiscreteClassifier) -> Reading:
    """Return the states of a member; for one that models columns by densities, those of its discrete form."""
    if isinstance(model, NetworkClassifier):
        return Reading(model.model_.discrete_vocabulary, model.model_.discrete_cut_points)
    return Reading(model.vocabulary_, model.cut_points_)


def member_terms(member: Weighted) -> MemberTerms:
    """Return a member as potentials.

    Raises
    ------
    TypeError
        If the member is not a network.
    ValueError
        If one of its tables contains a zero.

    Warns
    -----
    UserWarning
        If the member models columns by densities, and its discrete form predicts differently.
    """
    name, weight, model = member
    if isinstance(model, RefittedClassifier):
        return MemberTerms(weight, reading_of(model), model.logit_.potentials)
    if not isinstance(model, NetworkClassifier):
        raise TypeError(
            f"the member {name!r}, {type(model).__name__}, is not a network: for a logistic regression, pool "
            "networks and their refits alone, no mixtures of networks or other pools"
        )
    network = copy(model.discrete_form()).model_.discrete()
    return MemberTerms(weight, reading_of(model), network_potentials(network.tables, network.structure))


def common_network(
    models: Sequence[DiscreteClassifier], rows: tuple[Any, Any, Any], settings: Mapping[str, Any]
) -> FixedStructureClassifier:
    """Return a naive Bayes on the common refinement of the members' states, estimated from rows.

    Parameters
    ----------
    models : sequence of classifiers
        Fitted.
    rows : (X, y, weights)
        The rows to which they were fitted.
    settings : mapping
        How missing and unknown cells are treated, and the number of threads.

    Raises
    ------
    DifferentReadingsError
        If the members have no common states.
    """
    common = common_refinement([reading_of(model) for model in models])
    vocabulary, first = common.vocabulary, models[0]
    reader = Reader(
        estimator=first,
        vocabulary=vocabulary,
        cut_points=common.cut_points,
        handle_unknown=settings["handle_unknown"],
        handle_missing=settings["handle_missing"],
        missing_rules=vocabulary.missing_rules(settings["handle_missing"]),
        class_weight=None,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about rows that are left out: given before
        table = reader.table(*rows)
    c = vocabulary.class_name
    structure = Structure.given(c, {name: () if name == c else (c,) for name in vocabulary.names}, float("nan"))
    counts = count_families(table, structure)
    network = TableNetwork.from_counts(
        vocabulary, structure, counts, common.cut_points, Estimation(BDeu(1.0), 1.0, 1.0)
    )
    names = getattr(first, "feature_names_in_", None)
    return FixedStructureClassifier.from_network(network, feature_names=names, ess=1.0, **settings)
