"""Fitted classifiers as JSON documents."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from anbexact._runtime.json_values import OBJECTS, encode, encode_as
from anbexact.classifiers.registry import CLASSIFIERS
from anbexact.tables.cuts import Cuts
from anbexact.tables.vocabulary import Vocabulary


def saved_classifiers() -> Mapping[str, type[Any]]:
    """Return the classes of classifiers that files may name."""
    return {name: kind for name, kind in OBJECTS.items() if hasattr(kind, "save")}


def describe(classifier: Any) -> dict[str, Any]:
    """Return the JSON form of a fitted classifier.

    Raises
    ------
    TypeError
        If the classifier, a parameter, a name or a state is of a kind that cannot be written; the message names it.
    """
    estimator, known = type(classifier), saved_classifiers()
    if known.get(estimator.__name__) is not estimator:
        names = ", ".join(sorted(known))
        raise TypeError(f"cannot write a {estimator.__module__}.{estimator.__name__}: only {names} can be saved")
    check_is_fitted(classifier)
    given = classifier.get_params(deep=False)
    parameters = {name: encode_as(f"the parameter {name}", value) for name, value in given.items()}
    if hasattr(classifier, "set_pool"):
        learned = _describe_pool(classifier)
    elif hasattr(classifier, "set_refitted"):
        learned = _describe_refit(classifier)
    else:
        learned = _describe_model(classifier)
    return {"estimator": estimator.__name__, "parameters": parameters, **learned}


def _describe_pool(classifier: Any) -> dict[str, Any]:
    """Return the JSON form of a pool: its members, their weights, and the outcome for every candidate."""
    considered = classifier.members_
    return {
        "members": [[name, describe(member)] for name, member in classifier.estimators_],
        **classifier.model_.to_dict(),
        "considered": [
            [name, *(encode(value) for value in row)]
            for name, row in zip(considered.index, considered.to_numpy().tolist(), strict=True)
        ],
        "common": None if classifier.common_ is None else describe(classifier.common_),
    }


def _describe_refit(classifier: Any) -> dict[str, Any]:
    """Return the JSON form of a network and its refit, and of the network of the refit if it is another one.

    This network has fine intervals after a smooth refit, and further arcs if such were added by hand.
    """
    model = classifier.model_
    refit = model.to_dict()
    another = "smooth" in refit or model.learned_again
    return {
        "network": describe(classifier.estimator_),
        **({"refined": describe(model.origin.classifier_of(model.network))} if another else {}),
        "refit": refit,
    }


def _describe_model(classifier: Any) -> dict[str, Any]:
    """Return the JSON form of variables and columns, and of the model that was learned from them."""
    estimator, vocabulary = type(classifier).__name__, classifier.vocabulary_
    if not hasattr(classifier, "model_type"):
        raise TypeError(
            f"cannot save a {estimator}: it has no model_type. Set this class attribute to the class of its model, "
            "which must have the methods to_dict and from_dict"
        )
    position = vocabulary.positions
    names_in = getattr(classifier, "feature_names_in_", None)
    em = getattr(classifier, "em_", None)
    further = CLASSIFIERS[estimator].saved if estimator in CLASSIFIERS else ()
    return {
        "n_features_in": int(classifier.n_features_in_),
        "feature_names_in": None if names_in is None else [str(name) for name in names_in],
        **describe_variables(vocabulary),
        "cut_points": describe_cut_points(vocabulary, classifier.cut_points_),
        "dropped": [[position[name], reason] for name, reason in classifier.dropped_.items()],
        **describe_quantities(vocabulary),
        "further": {name: encode(np.asarray(getattr(classifier, name)).tolist()) for name in further},
        **classifier.model_.to_dict(),
        **({} if em is None else {"em": em.to_dict()}),
    }


def describe_variables(vocabulary: Vocabulary) -> dict[str, Any]:
    """Return the variables with their states, and which are the class or have a state for missing cells."""
    position, class_name = vocabulary.positions, vocabulary.class_name
    return {
        "class": None if class_name is None else position[class_name],
        "variables": [_describe_variable(vocabulary, name) for name in vocabulary.names],
        "own_missing": [position[name] for name in vocabulary.names if name in vocabulary.own_missing],
    }


def describe_cut_points(vocabulary: Vocabulary, cut_points: Mapping[Hashable, Cuts]) -> list[list[Any]]:
    """Return the cut points of the columns that were cut."""
    position = vocabulary.positions
    return [[position[name], encode(cuts.tolist())] for name, cuts in cut_points.items()]


def _describe_variable(vocabulary: Vocabulary, name: Any) -> dict[str, Any]:
    """Return the name and the states of a variable, the values of states that are groups, and its record."""
    described = {
        "name": encode_as("the column name", name),
        "states": [encode_as(f"a state of column {name!r}", state) for state in vocabulary.states[name]],
    }
    if name in vocabulary.groups:
        described["groups"] = encode_as(f"a value of column {name!r}", vocabulary.groups[name])
    if name in vocabulary.dummies:
        described["dummies"] = encode(vocabulary.dummies[name])
    if name in vocabulary.records:
        described["record"] = encode_as(f"a value of column {name!r}", vocabulary.records[name])
    return described


def describe_quantities(vocabulary: Vocabulary) -> dict[str, Any]:
    """Return the quantities of columns whose numbers stand for dates, durations and the like."""
    position = vocabulary.positions
    quantities = [[position[name], encode(quantity)] for name, quantity in vocabulary.quantities.items()]
    return {"quantities": quantities} if quantities else {}
