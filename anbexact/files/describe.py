"""Fitted classifiers as JSON documents."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from anbexact.classifiers import (
    A2DEClassifier,
    AdditiveClassifier,
    AODEClassifier,
    AveragedClassifier,
    DiscreteClassifier,
    MeasuredClassifier,
    NetworkClassifier,
    PooledClassifier,
    RefittedClassifier,
    TableClassifier,
)
from anbexact.classifiers.registry import CLASSIFIERS
from anbexact.files.averages import describe_average
from anbexact.files.em import describe_em
from anbexact.files.proofs import describe_proof
from anbexact.files.refits import describe_refit
from anbexact.files.values import encode, encode_as
from anbexact.models.network.network import TableNetwork
from anbexact.models.parameters.hierarchical import Strengths
from anbexact.models.smooth.refit import SmoothRefit
from anbexact.tables.table import Weights
from anbexact.tables.vocabulary import Vocabulary


def describe(classifier: DiscreteClassifier) -> dict[str, Any]:
    """Return the JSON form of a fitted classifier.

    Raises
    ------
    TypeError
        If the classifier, a parameter, a name or a state is of a kind that cannot be written; the message names it.
    """
    if type(classifier) in (RefittedClassifier, AdditiveClassifier):
        assert isinstance(classifier, RefittedClassifier)
        return _describe_refitted(classifier)
    if type(classifier) is PooledClassifier:
        return _describe_pool(classifier)
    return _describe_learned_by(classifier)


def _describe_pool(classifier: PooledClassifier) -> dict[str, Any]:
    """Return the JSON form of a pool: its members, their weights, and what became of those that were considered."""
    check_is_fitted(classifier)
    common = classifier.common_
    return {
        "estimator": type(classifier).__name__,
        "parameters": _describe_parameters(classifier),
        "members": [[name, describe(model)] for name, model in classifier.estimators_],
        "weights": classifier.weights_.tolist(),
        "biases": classifier.biases_.tolist(),
        "ridge": encode(float(classifier.ridge_)),
        "considered": [
            [name, *(encode(value) for value in row)]
            for name, row in zip(classifier.members_.index, classifier.members_.to_numpy().tolist(), strict=True)
        ],
        "common": None if common is None else _describe_learned_by(common),
    }


def _describe_refitted(classifier: RefittedClassifier) -> dict[str, Any]:
    """Return the JSON form of a network and its refit."""
    check_is_fitted(classifier)
    number = {name: j for j, name in enumerate(classifier.vocabulary_.names)}
    assert classifier.logit_.refitted is not None
    return {
        "estimator": type(classifier).__name__,
        "parameters": _describe_parameters(classifier),
        "network": _describe_learned_by(classifier.estimator_),
        **_describe_refined(classifier),
        "refit": describe_refit(classifier.logit_.refitted, number),
    }


def _describe_refined(classifier: RefittedClassifier) -> dict[str, Any]:
    """Return the JSON form of the network on fine intervals, of a smooth refit."""
    model = classifier.logit_
    if not isinstance(model.refitted, SmoothRefit):
        return {}
    return {"refined": _describe_learned_by(model.origin.classifier_of(model.network))}


def _describe_parameters(classifier: DiscreteClassifier) -> dict[str, Any]:
    """Return the JSON form of the constructor parameters."""
    given = classifier.get_params(deep=False)
    return {name: encode_as(f"the parameter {name}", value) for name, value in given.items()}


def _describe_learned_by(classifier: DiscreteClassifier) -> dict[str, Any]:
    """Return the JSON form of a fitted classifier."""
    estimator = type(classifier).__name__
    entry = CLASSIFIERS.get(estimator)
    if not isinstance(classifier, TableClassifier) or entry is None or entry.estimator is not type(classifier):
        known = ", ".join(sorted((*CLASSIFIERS, AdditiveClassifier.__name__, RefittedClassifier.__name__)))
        raise TypeError(f"cannot write a {type(classifier).__module__}.{estimator}: only {known} can be saved")
    check_is_fitted(classifier)
    vocabulary = classifier.vocabulary_
    number = {name: j for j, name in enumerate(vocabulary.names)}
    return {
        "estimator": estimator,
        "parameters": _describe_parameters(classifier),
        "n_features_in": int(classifier.n_features_in_),
        "feature_names_in": _names_in(classifier),
        "class": number[vocabulary.class_name],
        "variables": [
            {
                "name": encode_as("the column name", name),
                "states": [encode_as(f"a state of column {name!r}", state) for state in states],
                **(
                    {"groups": encode_as(f"a value of column {name!r}", vocabulary.groups[name])}
                    if name in vocabulary.groups
                    else {}
                ),
            }
            for name, states in vocabulary.states.items()
        ],
        "own_missing": [number[name] for name in vocabulary.names if name in vocabulary.own_missing],
        "cut_points": [[number[name], encode(cuts.tolist())] for name, cuts in classifier.cut_points_.items()],
        "dropped": [[number[name], reason] for name, reason in classifier.dropped_.items()],
        **_describe_quantities(vocabulary, number),
        "further": {name: encode(np.asarray(getattr(classifier, name)).tolist()) for name in entry.saved},
        **_describe_learned(classifier, number),
    }


def _describe_quantities(vocabulary: Vocabulary, number: Mapping[Hashable, int]) -> dict[str, Any]:
    """Return the quantities of columns whose numbers stand for dates, durations and the like."""
    quantities = [[number[name], encode(quantity)] for name, quantity in vocabulary.quantities.items()]
    return {"quantities": quantities} if quantities else {}


def _describe_learned(classifier: TableClassifier, number: Mapping[Hashable, int]) -> dict[str, Any]:
    """Return the structure and its tables, or the counts of pairs and how they become probabilities."""
    if isinstance(classifier, AODEClassifier):
        return {
            "ess": classifier.ess_,
            "min_weight": classifier.min_weight_,
            "pairs": _describe_weights(classifier.counts_.weights),
        }
    if isinstance(classifier, A2DEClassifier):
        counts = classifier.counts_
        return {
            "ess": classifier.ess_,
            "pairs": _describe_weights(counts.pairs.weights),
            "triples": _describe_weights(counts.weights),
        }
    if isinstance(classifier, AveragedClassifier):
        return describe_average(classifier, number)
    assert isinstance(classifier, NetworkClassifier)
    structure = classifier.structure_
    proof = structure.certificate.proof
    return {
        "structure": {
            "parents": [
                [number[child], [number[parent] for parent in child_parents]]
                for child, child_parents in structure.parents.items()
            ],
            "score": encode(structure.score),
            "certificate": {key: encode(value) for key, value in structure.certificate.statement().items()},
            **({} if proof is None else {"proof": {"score": encode(proof.score), **describe_proof(proof, number)}}),
        },
        **_describe_tables(classifier, number),
        **({} if (em := getattr(classifier, "em_", None)) is None else {"em": describe_em(em)}),
    }


def _describe_weights(weights: Weights) -> dict[str, Any]:
    """Return the cells of an array that are not zero."""
    cells = np.flatnonzero(weights)
    return {"cells": cells.tolist(), "weights": _plain_numbers(weights[cells])}


def _describe_tables(classifier: NetworkClassifier, number: Mapping[Hashable, int]) -> dict[str, Any]:
    """Return the counts and how they become tables; the tables themselves where nothing was counted."""
    if isinstance(classifier, MeasuredClassifier) and classifier.densities_ is not None:
        return {
            "measure": encode(classifier.universal_score_),
            "level_cost": encode(classifier.level_cost_),
            "levels": [list(density.levels) for density in classifier.densities_.values()],
            "counts": _describe_counts(classifier, number),
        }
    if classifier.counts_ is None:
        tables = classifier.conditional_tables_.values()
        return {
            "tables": [
                {"variables": [number[name] for name in table.variables], **_write_values(table.values)}
                for table in tables
            ]
        }
    return {
        "ess": classifier.ess_,
        "smoothing": classifier.smoothing_,
        "tables_by": classifier.parameters_,
        **_describe_strengths(classifier),
        "counts": _describe_counts(classifier, number),
    }


def _describe_strengths(classifier: NetworkClassifier) -> dict[str, Any]:
    """Return the strengths of hierarchical tables, if there are such, in the order of the counts."""
    network = classifier.model_
    assert isinstance(network, TableNetwork)
    assert network.counts is not None
    strengths = network.estimation.strengths if network.estimation is not None else Strengths()
    if not strengths.of_variables:
        return {}
    return {
        "strengths": [list(strengths.of_variables[name]) for name in network.counts],
        "exponent": strengths.exponent,
    }


def _describe_counts(classifier: NetworkClassifier, number: Mapping[Hashable, int]) -> list[dict[str, Any]]:
    """Return the counts of every variable with its parents."""
    assert classifier.counts_ is not None
    return [
        {
            "variables": [number[name] for name in family.variables],
            "cells": family.cells.tolist(),
            "weights": _plain_numbers(family.weights),
        }
        for family in classifier.counts_.values()
    ]


def _plain_numbers(weights: npt.NDArray[np.float64]) -> list[float] | list[int]:
    """Return weights as a list: as integers where all are whole, which reads better and takes less room."""
    numbers: list[float] | list[int] = weights.tolist()
    return [int(weight) for weight in numbers] if np.array_equal(weights, np.rint(weights)) else numbers


def _names_in(classifier: TableClassifier) -> list[str] | None:
    names = getattr(classifier, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _write_values(values: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Return the cells, the last axis fastest; where many equal ones follow each other, each run once."""
    flat = np.ascontiguousarray(values, dtype=np.float64).ravel()
    bits = flat.view(np.int64)
    starts = np.flatnonzero(np.concatenate([[True], bits[1:] != bits[:-1]]))
    if 2 * len(starts) > len(flat):
        return {"values": flat.tolist()}
    return {"values": flat[starts].tolist(), "runs": np.diff(starts, append=len(flat)).tolist()}
