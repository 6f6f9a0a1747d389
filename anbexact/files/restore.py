"""Fitted classifiers from JSON documents, every field checked."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Hashable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from anbexact._runtime.json_checks import listed, mapped, number, numbers, reading, references, shortened, text, whole
from anbexact._runtime.json_values import decode
from anbexact.classifiers.discrete import DiscreteClassifier
from anbexact.classifiers.pooling.learning import MEMBER_COLUMNS
from anbexact.classifiers.registry import CLASSIFIERS
from anbexact.files.describe import saved_classifiers
from anbexact.models.em.record import EMRecord
from anbexact.models.fidelity import Fidelity
from anbexact.models.logit.model import LogitModel
from anbexact.models.pool.weights import PoolWeights
from anbexact.tables.cuts import Cuts
from anbexact.tables.frames.quantities import Quantity
from anbexact.tables.frames.records import ColumnRecord
from anbexact.tables.missing import EM
from anbexact.tables.vocabulary import Vocabulary


def restore(document: Mapping[str, Any]) -> DiscreteClassifier:
    """Return the fitted classifier that a document describes.

    Raises
    ------
    ValueError
        If a field is missing, is not what was expected or does not match others; the message names it.
    """
    estimator = _estimator(document, "save")
    found: DiscreteClassifier
    if hasattr(estimator, "set_pool"):
        found = _restore_pool(document, estimator)
    elif hasattr(estimator, "set_refitted"):
        found = _restore_refitted(document, estimator)
    else:
        found = _restore_learned(document)
    return found


def _estimator(document: Mapping[str, Any], method: str) -> type[Any]:
    """Return the class of the classifier that a document describes; refuse one that lacks a method."""
    with reading("estimator"):
        return {name: kind for name, kind in saved_classifiers().items() if hasattr(kind, method)}[
            text(document["estimator"])
        ]


def _with_parameters(document: Mapping[str, Any], estimator: type[Any]) -> Any:
    """Return the unfitted classifier, with the constructor parameters of a document."""
    return estimator(**{name: decode(value) for name, value in mapped(document["parameters"]).items()})


def _restore_pool(document: Mapping[str, Any], estimator: type[Any]) -> Any:
    """Return the pool that a document describes."""
    with reading("parameters"):
        classifier = _with_parameters(document, estimator)
        classifier.check_parameters()
    with reading("members"):
        pairs = [listed(pair, 2) for pair in listed(document["members"])]
        estimators = [(text(name), restore(mapped(of_member))) for name, of_member in pairs]
        if not estimators:
            raise ValueError("a pool has at least one member")
        classes = estimators[0][1].classes_.tolist()
        if any(model.classes_.tolist() != classes for _, model in estimators):
            raise ValueError("the members have different classes")
    weights = PoolWeights.from_dict(document, len(estimators), len(classes))
    with reading("considered"):
        rows = [_read_outcome(listed(row, 1 + len(MEMBER_COLUMNS))) for row in listed(document["considered"])]
        members = pd.DataFrame(rows, columns=["member", *MEMBER_COLUMNS]).set_index("member")
    with reading("common"):
        common = None if document["common"] is None else _restore_learned(mapped(document["common"]))
        if common is not None and common.model_.learned is None:
            raise ValueError("the common states are not those of a network")
    first = estimators[0][1]
    classifier.n_features_in_ = first.n_features_in_
    if hasattr(first, "feature_names_in_"):
        classifier.feature_names_in_ = first.feature_names_in_
    return classifier.set_pool(estimators, weights, members, common, Fidelity.from_dict(document))


def _read_outcome(row: list[Any]) -> tuple[str, float, float, float, str]:
    """Return the name of a member, and its entries in the columns ``MEMBER_COLUMNS``."""
    name, *measured, outcome = row
    weight, log_loss, seconds = (number(decode(cell), finite=False) for cell in measured)
    return text(name), weight, log_loss, seconds, text(outcome)


def _restore_refitted(document: Mapping[str, Any], estimator: type[Any]) -> Any:
    """Return the refitted network that a document describes."""
    with reading("parameters"):
        classifier = _with_parameters(document, estimator)
    network = _restore_network(document, "network")
    refined = _restore_network(document, "refined") if "refined" in document else network
    with reading("refit"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about a refit of measured columns; the fit has given it
            origin = replace(refined.discrete_form().origin(), learned=network.model_)
        model = LogitModel.of_refit(mapped(document["refit"]), refined.model_.discrete(), origin)
        return classifier.set_refitted(network, model)


def _restore_network(document: Mapping[str, Any], field: str) -> Any:
    """Return the classifier with a network that a field describes."""
    with reading(field):
        found = _restore_learned(mapped(document[field]))
        if found.model_.learned is None:
            raise ValueError("what was refitted is not a network")
        return found


def _restore_learned(document: Mapping[str, Any]) -> Any:
    """Return the classifier of a model that was learned from a table."""
    estimator = _estimator(document, "set_model")
    with reading("parameters"):
        classifier = _with_parameters(document, estimator)
        classifier.check_parameters()
    vocabulary = read_vocabulary(document)
    names = list(vocabulary.names)
    cut_points = read_cut_points(document, vocabulary)
    with reading("records"):
        check_records(vocabulary, cut_points)
    _read_input(document, classifier, vocabulary)
    with reading("further"):
        further = mapped(document["further"])
        for name in CLASSIFIERS[estimator.__name__].saved if estimator.__name__ in CLASSIFIERS else ():
            setattr(classifier, name, _read_further(decode(further[name])))
    with reading():  # the model names its fields
        classifier.set_model(classifier.model_type.from_dict(document, vocabulary, cut_points, classifier))
    if EM in (classifier.handle_missing, getattr(classifier, "missing_class", None)):
        with reading("em"):
            classifier.em_ = EMRecord.from_dict(mapped(document["em"])) if "em" in document else None
    with reading("dropped"):
        described = [listed(pair, 2) for pair in listed(document["dropped"])]
        places = references([place for place, _ in described], len(names))
        reasons = {names[k]: text(reason) for k, (_, reason) in zip(places, described, strict=True)}
        classifier.dropped_ = {name: reasons.get(name, reason) for name, reason in classifier.dropped_.items()}
    return classifier


def read_vocabulary(document: Mapping[str, Any], *, needs_class: bool = True) -> Vocabulary:
    """Return the variables and their states; with ``needs_class``, refuse variables none of which is the class."""
    with reading("variables"):
        variables = [mapped(variable) for variable in listed(document["variables"])]
        states = {decode(variable["name"]): tuple(map(decode, listed(variable["states"]))) for variable in variables}
        if len(states) < len(variables):
            raise ValueError("two variables have the same name")
        empty = [name for name, of_name in states.items() if not of_name]
        if empty:
            raise ValueError(f"the variable {empty[0]!r} has no states")
    with reading("quantities"):
        described = [listed(pair, 2) for pair in listed(document.get("quantities", []))]
        places = references([place for place, _ in described], len(states))
        quantities = {list(states)[k]: decode(value) for k, (_, value) in zip(places, described, strict=True)}
        if not all(isinstance(quantity, Quantity) for quantity in quantities.values()):
            raise ValueError("a quantity was expected")
    with reading("groups"):
        groups = {
            name: decode(variable["groups"])
            for name, variable in zip(states, variables, strict=True)
            if "groups" in variable
        }
        if not all(
            isinstance(of_name, tuple) and {type(g) for g in of_name} <= {tuple} for of_name in groups.values()
        ):
            raise ValueError("a tuple of tuples was expected")
    with reading("records"):
        records = {
            name: decode(variable["record"])
            for name, variable in zip(states, variables, strict=True)
            if "record" in variable
        }
        if not all(isinstance(record, ColumnRecord) for record in records.values()):
            raise ValueError("a record of values was expected")
    with reading("dummies"):
        dummies = {
            name: decode(variable["dummies"])
            for name, variable in zip(states, variables, strict=True)
            if "dummies" in variable
        }
        _check_dummies(dummies, states)
    with reading("class"):
        place = document["class"]
        with_class = needs_class or place is not None
        class_name = list(states)[whole(place, 0, len(states) - 1)] if with_class else None
    with reading("own_missing"):
        own_missing = frozenset(list(states)[k] for k in references(document["own_missing"], len(states)))
        return Vocabulary(states, class_name, quantities, groups, own_missing, records, dummies)


def _check_dummies(dummies: Mapping[Hashable, Any], names: Collection[Hashable]) -> None:
    """Refuse anything but groups of two or more pairs of texts, whose first texts are distinct and no variables."""
    pairs = [pair for group in dummies.values() for pair in group]
    if not all(isinstance(group, tuple) and len(group) > 1 for group in dummies.values()) or not all(
        isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(own, str) for own in pair) for pair in pairs
    ):
        raise ValueError("groups of pairs of texts were expected")
    columns = [column for column, _ in pairs]
    if len({*columns, *names}) < len(columns) + len(names):
        raise ValueError("a column has the name of a variable, or of another column")


def check_records(vocabulary: Vocabulary, cut_points: Mapping[Hashable, Cuts]) -> None:
    """Refuse records whose values are not numbers of a column that is cut, or the members of its groups."""
    for name, record in vocabulary.records.items():
        members = tuple(value for group in vocabulary.groups.get(name, ()) for value in group)
        fits = record.ascending if name in cut_points else record.values in ((), members)
        if not fits:
            raise ValueError(f"the values of {name!r} are not those of its states")


def read_cut_points(document: Mapping[str, Any], vocabulary: Vocabulary) -> dict[Hashable, Cuts]:
    """Return the cut points of the continuous columns."""
    with reading("cut_points"):
        places = references([listed(pair, 2)[0] for pair in listed(document["cut_points"])], len(vocabulary.names))
        cut_points: dict[Hashable, Cuts] = {}
        for place, (_, described) in zip(places, document["cut_points"], strict=True):
            name, cuts = vocabulary.names[place], numbers(decode(described))
            if not (np.diff(cuts) > 0).all():
                raise ValueError(f"the cut points of {name!r} must increase")
            if vocabulary.arity(name) not in (len(cuts) + 1, len(cuts) + 2):  # one state more for missing cells
                raise ValueError(f"{name!r} has {vocabulary.arity(name)} states and {len(cuts)} cut points")
            cut_points[name] = cuts
        return cut_points


def _read_input(document: Mapping[str, Any], classifier: Any, vocabulary: Vocabulary) -> None:
    """Set the number and the names of the columns that the classifier expects."""
    features = vocabulary.columns
    with reading("n_features_in"):
        classifier.n_features_in_ = whole(document["n_features_in"], len(features), len(features))
    with reading("feature_names_in"):
        if document["feature_names_in"] is not None:
            names = [text(name) for name in listed(document["feature_names_in"], len(features))]
            own = sorted(names) if vocabulary.dummies else names  # coded columns need not be next to each other
            if own != (sorted(map(str, features)) if vocabulary.dummies else list(features)):
                raise ValueError(f"the names must be those of the features, {shortened(list(features))}")
            classifier.feature_names_in_ = np.array(names, dtype=object)


def _read_further(value: Any) -> float | npt.NDArray[np.float64]:
    if isinstance(value, list):
        if not {type(item) for item in value} <= {int, float}:
            raise ValueError("a list of numbers was expected")
        return np.array(value)
    return number(value, finite=False)
