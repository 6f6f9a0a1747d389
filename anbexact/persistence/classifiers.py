"""Fitted classifiers as JSON files that lose nothing.

A file is one JSON object. Variables are numbered in the order of the vocabulary, and whatever speaks of a variable
uses its number, so names and states are written once, and may be of any kind that :func:`encode` knows. Floats are
written as the shortest decimal that reads back as the same number.

Reading builds objects from fixed registries of names (`ESTIMATORS`, `OBJECTS`, the tags of `encode`) and never
imports or evaluates what a file says. Readers ignore keys that they do not know; a change that they must not ignore
raises `FORMAT_VERSION`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import secrets
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils.validation import check_is_fitted

import anbexact
from anbexact._runtime.limits import available_memory, human_bytes
from anbexact.classifiers import (
    ANBClassifier,
    AODEClassifier,
    BNC2PClassifier,
    CkGClassifier,
    DiscreteClassifier,
    FANClassifier,
    FixedStructureClassifier,
    FSANBClassifier,
    GBNClassifier,
    GreedyGBNClassifier,
    KDBClassifier,
    LogitFANClassifier,
    MCDAGClassifier,
    MeasuredClassifier,
    NaiveBayesClassifier,
    NetworkClassifier,
    PrunedNaiveBayesClassifier,
    RefittedClassifier,
    TableClassifier,
    TANClassifier,
)
from anbexact.discretize import Counts, Cuts, EqualWidth, MDLPDiscretizer, MedianDiscretizer, NestedCuts, Quantiles
from anbexact.inputs.reading import check_choice
from anbexact.inputs.universal_measure import UniversalMeasure
from anbexact.networks.aode import AODE, PairCounts
from anbexact.networks.densities import Axes
from anbexact.networks.network import ESTIMATES, DensityNetwork, Estimation, TableNetwork
from anbexact.parameters.counts import FamilyCounts
from anbexact.parameters.tables import ConditionalTable
from anbexact.persistence.checked import (
    cells,
    listed,
    mapped,
    number,
    numbers,
    reading,
    references,
    shortened,
    text,
    whole,
)
from anbexact.persistence.proofs import describe_proof, restore_proof
from anbexact.persistence.refits import describe_refit, restore_refit
from anbexact.scores import ACLL, AIC, BIC, CLL, CMDL, FNML, HQ, K2, KT, LL, MIT, QNML, BDeu, BDs, Universal
from anbexact.structures.structure import Certificate, Structure
from anbexact.tables.partitions import NestedPartition
from anbexact.tables.quantities import Quantity
from anbexact.tables.vocabulary import Vocabulary

FORMAT = "anbexact classifier"
FORMAT_VERSION = 1
ESTIMATORS: dict[str, type[TableClassifier]] = {
    cls.__name__: cls
    for cls in (
        ANBClassifier,
        AODEClassifier,
        BNC2PClassifier,
        CkGClassifier,
        FANClassifier,
        FixedStructureClassifier,
        FSANBClassifier,
        GBNClassifier,
        GreedyGBNClassifier,
        KDBClassifier,
        LogitFANClassifier,
        MCDAGClassifier,
        NaiveBayesClassifier,
        PrunedNaiveBayesClassifier,
        TANClassifier,
    )
}
FURTHER = {
    "FSANBClassifier": ("selection_ess_", "threshold_", "log_bayes_factors_"),
    "LogitFANClassifier": ("l2_",),
    "PrunedNaiveBayesClassifier": ("l2_",),
}
"""Further fitted attributes that are kept: numbers, and arrays of them."""
SCORES = (ACLL, AIC, BIC, CLL, CMDL, FNML, HQ, K2, KT, LL, MIT, QNML, BDeu, BDs, Universal)
MEASURES = (UniversalMeasure, NestedPartition, Quantiles, EqualWidth, Counts, NestedCuts)
OBJECTS: dict[str, type[Any]] = {
    cls.__name__: cls
    for cls in (
        *SCORES,
        *MEASURES,
        Quantity,
        KBinsDiscretizer,
        MDLPDiscretizer,
        MedianDiscretizer,
        *ESTIMATORS.values(),
    )
}
"""Objects that may stand in a constructor parameter, written as their own constructor parameters."""


def save(classifier: DiscreteClassifier, path: str | Path) -> None:
    """Write a fitted classifier to a JSON file that :func:`load` reads.

    The file appears under its name only when it is complete; until then an older file of that name stays. That of a
    :class:`~anbexact.RefittedClassifier` holds the distinct training rows, as codes of states: standard errors, and
    which terms the rows tell apart, follow from them.

    Parameters
    ----------
    classifier : DiscreteClassifier
        One of this package's classifiers, fitted.
    path : str or Path
        The file; its folder must exist.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the classifier is not fitted.
    TypeError
        If the classifier, a constructor parameter, a name or a state is of a kind that cannot be written; the message
        names it. Nothing is written then.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import anbexact
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> path = tempfile.mkdtemp() + "/monks.json"
    >>> anbexact.ANBClassifier().fit(X, y).save(path)
    >>> anbexact.load(path).score(X, y)
    1.0
    """
    document = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "package_version": anbexact.__version__,
        **(_describe_refitted(classifier) if type(classifier) is RefittedClassifier else _describe(classifier)),
    }
    document["sha256"] = digest(document)
    lines = [f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in document.items()]
    write_atomically(Path(os.path.realpath(path)), "{\n" + ",\n".join(lines) + "\n}\n")


def load(path: str | Path) -> DiscreteClassifier:
    """Read a classifier that :func:`save` wrote. It predicts bit for bit the same.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    DiscreteClassifier
        Fitted, of the class that was saved, with the same constructor parameters.

    Raises
    ------
    ValueError
        If the file is no such file, is damaged, or was written by a newer version of the package; the message says
        which, and what to do.
    OSError
        If the file cannot be read.
    """
    try:
        document = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{path} is not a classifier saved by anbexact, or is damaged: it is not complete JSON ({error}). "
            "Pass a file that the save method wrote, or save it again."
        ) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(
            f"{path} is JSON, but not a classifier saved by anbexact (there is no {FORMAT!r} in it). "
            "Pass a file that the save method wrote."
        )
    version = document.get("format_version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise ValueError(
            f"{path} was written by anbexact {document.get('package_version')} in format {version}, newer than the "
            f"format {FORMAT_VERSION} that anbexact {anbexact.__version__} reads. Upgrade anbexact."
        )
    try:
        with reading("sha256"):
            if digest(document) != document.get("sha256"):
                raise ValueError("its contents do not match its checksum")
        if document.get("estimator") == RefittedClassifier.__name__:
            return _restore_refitted(document)
        return _restore(document)
    except ValueError as error:
        writer = document.get("package_version")
        what = "is damaged or was edited"
        if writer != anbexact.__version__:
            what += f", or cannot be read by anbexact {anbexact.__version__} (it was written by {writer})"
        raise ValueError(
            f"{path} {what}: {error}. Restore it from a copy, or fit and save the classifier again."
        ) from error


def digest(document: Mapping[str, Any]) -> str:
    """Return the checksum of all that a document says, however it is laid out."""
    contents = {key: value for key, value in document.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(contents, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _describe_refitted(classifier: RefittedClassifier) -> dict[str, Any]:
    """Return the JSON form of a network and its refit."""
    check_is_fitted(classifier)
    number = {name: j for j, name in enumerate(classifier.vocabulary_.names)}
    assert classifier.logit_.refitted is not None
    return {
        "estimator": type(classifier).__name__,
        "parameters": _describe_parameters(classifier),
        "network": _describe(classifier.estimator_),
        "refit": describe_refit(classifier.logit_.refitted, number),
    }


def _describe_parameters(classifier: DiscreteClassifier) -> dict[str, Any]:
    """Return the JSON form of the constructor parameters."""
    given = classifier.get_params(deep=False)
    return {name: encode_as(f"the parameter {name}", value) for name, value in given.items()}


def _describe(classifier: DiscreteClassifier) -> dict[str, Any]:
    """Return the JSON form of a fitted classifier."""
    estimator = type(classifier).__name__
    if not isinstance(classifier, TableClassifier) or ESTIMATORS.get(estimator) is not type(classifier):
        known = ", ".join((*ESTIMATORS, RefittedClassifier.__name__))
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
        "cut_points": [[number[name], encode(cuts.tolist())] for name, cuts in classifier.cut_points_.items()],
        "dropped": [[number[name], reason] for name, reason in classifier.dropped_.items()],
        **_describe_quantities(vocabulary, number),
        "further": {
            name: encode(np.asarray(getattr(classifier, name)).tolist()) for name in FURTHER.get(estimator, ())
        },
        **_describe_learned(classifier, number),
    }


def _describe_quantities(vocabulary: Vocabulary, number: Mapping[Hashable, int]) -> dict[str, Any]:
    """Return what the numbers of columns stand for, if of any they stand for something else."""
    quantities = [[number[name], encode(quantity)] for name, quantity in vocabulary.quantities.items()]
    return {"quantities": quantities} if quantities else {}


def _describe_learned(classifier: TableClassifier, number: Mapping[Hashable, int]) -> dict[str, Any]:
    """Return the structure and its tables, or the counts of pairs and how they become probabilities."""
    if isinstance(classifier, AODEClassifier):
        weights = classifier.counts_.weights
        cells = np.flatnonzero(weights)
        return {
            "ess": classifier.ess_,
            "min_weight": classifier.min_weight_,
            "pairs": {"cells": cells.tolist(), "weights": _plain_numbers(weights[cells])},
        }
    assert isinstance(classifier, NetworkClassifier)
    structure = classifier.structure_
    proof = structure.certificate.proof
    return {
        "structure": {
            "parents": [
                [number[child], [number[parent] for parent in of_child]]
                for child, of_child in structure.parents.items()
            ],
            "score": encode(structure.score),
            "certificate": {key: encode(value) for key, value in structure.certificate.statement().items()},
            **({} if proof is None else {"proof": {"score": encode(proof.score), **describe_proof(proof, number)}}),
        },
        **_describe_tables(classifier, number),
    }


def _describe_tables(classifier: NetworkClassifier, number: Mapping[Hashable, int]) -> dict[str, Any]:
    """Return the counts and how they become tables; the tables themselves where nothing was counted."""
    if isinstance(classifier, MeasuredClassifier) and classifier.densities_ is not None:
        return {
            "measure": encode(classifier.measure_),
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
        "counts": _describe_counts(classifier, number),
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


def _restore_refitted(document: Mapping[str, Any]) -> RefittedClassifier:
    """Return the refitted network that a document describes."""
    with reading("parameters"):
        classifier = RefittedClassifier(
            **{name: decode(value) for name, value in mapped(document["parameters"]).items()}
        )
    with reading("network"):
        network = _restore(mapped(document["network"]))
        if not isinstance(network, NetworkClassifier):
            raise ValueError("what was refitted is not a network")
    with reading("refit"):
        model = restore_refit(mapped(document["refit"]), network, network.vocabulary_.names)
        return classifier.set_refitted(network, model)


def _restore(document: Mapping[str, Any]) -> TableClassifier:
    """Return the classifier that a document describes."""
    classifier = _restore_learned(document)
    features = list(classifier.vocabulary_.names)
    with reading("dropped"):
        described = [listed(pair, 2) for pair in listed(document.get("dropped", []))]  # older files have none
        places = references([place for place, _ in described], len(features))
        reasons = {features[k]: text(reason) for k, (_, reason) in zip(places, described, strict=True)}
        classifier.dropped_ = {name: reasons.get(name, reason) for name, reason in classifier.dropped_.items()}
    return classifier


def _restore_learned(document: Mapping[str, Any]) -> TableClassifier:
    """Return the classifier that a document describes, but for the reasons why columns were left out."""
    with reading("estimator"):
        cls = ESTIMATORS[text(document["estimator"])]
    with reading("parameters"):
        classifier = cls(**{name: decode(value) for name, value in mapped(document["parameters"]).items()})
        classifier.check_parameters()
    vocabulary = _read_vocabulary(document)
    names = list(vocabulary.names)
    cut_points = _read_cut_points(document, vocabulary)
    _read_input(document, classifier, vocabulary)
    with reading("further"):
        further = mapped(document.get("further", {}))  # older files have none
        for name in FURTHER.get(document["estimator"], ()):
            if name in further:
                setattr(classifier, name, _read_further(decode(further[name])))
    if isinstance(classifier, AODEClassifier):
        return _restore_aode(classifier, document, vocabulary, cut_points)
    assert isinstance(classifier, NetworkClassifier)
    structure = _read_structure(document, vocabulary)
    if "tables" in document:
        with reading("tables"):
            tables = [_read_table(mapped(table), names, vocabulary) for table in listed(document["tables"])]
            _check_families(tables, structure)
        return classifier.set_model(
            TableNetwork(
                vocabulary=vocabulary,
                cut_points=cut_points,
                structure=structure,
                tables={table.name: table for table in tables},
            )
        )
    if "measure" in document:
        with reading("measure, levels and counts"):
            assert isinstance(classifier, MeasuredClassifier)
            return _restore_measured(classifier, document, names, vocabulary, structure, cut_points)
    with reading("counts"):
        counts = [_read_counts(mapped(family), names, vocabulary.arity) for family in listed(document["counts"])]
        _check_families(counts, structure)
        _check_memory(sum(math.prod(family.shape) for family in counts))
    with reading("ess, smoothing and tables_by"):
        ess, smoothing = number(document["ess"], above=0), number(document["smoothing"], above=0)
        rule = text(document["tables_by"])
        check_choice("tables_by", rule, ESTIMATES)
        by_name = {family.name: family for family in counts}
        estimation = Estimation(classifier.score_of(ess), ess, smoothing, rule)
        network = TableNetwork.from_counts(vocabulary, structure, by_name, cut_points, estimation)
        for table in network.tables.values():
            _check_probabilities(table.name, table.values)
        return classifier.set_model(network)


def _read_vocabulary(document: Mapping[str, Any]) -> Vocabulary:
    """Return the variables and their states."""
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
    with reading("class"):
        class_name = list(states)[whole(document["class"], 0, len(states) - 1)]
        return Vocabulary(states, class_name, quantities=quantities, groups=groups)


def _read_cut_points(document: Mapping[str, Any], vocabulary: Vocabulary) -> dict[Hashable, Cuts]:
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


def _read_input(document: Mapping[str, Any], classifier: TableClassifier, vocabulary: Vocabulary) -> None:
    """Set what is known of the frames that the classifier takes."""
    features = vocabulary.features
    with reading("n_features_in"):
        classifier.n_features_in_ = whole(document["n_features_in"], len(features), len(features))
    with reading("feature_names_in"):
        if document["feature_names_in"] is not None:
            names = [text(name) for name in listed(document["feature_names_in"], len(features))]
            if names != list(features):
                raise ValueError(f"the names must be those of the features, {shortened(list(features))}")
            classifier.feature_names_in_ = np.array(names, dtype=object)


def _read_further(value: Any) -> float | npt.NDArray[np.float64]:
    if isinstance(value, list):
        if not {type(item) for item in value} <= {int, float}:
            raise ValueError("a list of numbers was expected")
        return np.array(value)
    return number(value, finite=False)


def _read_structure(document: Mapping[str, Any], vocabulary: Vocabulary) -> Structure:
    """Return the structure, with its certificate."""
    names = list(vocabulary.names)
    with reading("structure"):
        described = mapped(document["structure"])
        certificate = {key: decode(value) for key, value in mapped(described["certificate"]).items()}
        for key in ("upper_bound", "gap", "seconds"):
            with reading(f"certificate, {key}"):
                number(certificate[key], finite=False)
        if type(certificate["optimal"]) is not bool:
            raise ValueError(f"certificate, optimal: true or false was expected, not {certificate['optimal']!r}")
        whole(certificate["sets_scored"])
        text(certificate["method"])
        children = references([listed(pair, 2)[0] for pair in listed(described["parents"])], len(names))
        parents = {
            names[child]: tuple(names[parent] for parent in references(of_child, len(names)))
            for child, (_, of_child) in zip(children, described["parents"], strict=True)
        }
        proof = described.get("proof")
        if proof is not None:
            with reading("proof"):
                proof = restore_proof(mapped(proof), names, decode(proof["score"]))
        score = number(decode(described["score"]), finite=False)
        return Structure(vocabulary.class_name, parents, score, Certificate(**certificate, proof=proof))


def _restore_aode(
    classifier: AODEClassifier, document: Mapping[str, Any], vocabulary: Vocabulary, cut_points: dict[Hashable, Cuts]
) -> AODEClassifier:
    """Return a classifier whose probabilities follow from counts of pairs."""
    with reading("pairs"):
        pairs = PairCounts(vocabulary)
        places, weights = cells(mapped(document["pairs"]), len(pairs.weights))
        pairs.weights[places] = weights
    with reading("ess and min_weight"):
        model = AODE(
            vocabulary=vocabulary,
            cut_points=cut_points,
            counts=pairs,
            ess=BDeu(number(document["ess"])).ess,
            min_weight=number(document["min_weight"], least=0),
            n_jobs=classifier.n_jobs,
        )
        return classifier.set_model(model)


def _check_memory(n_cells: int) -> None:
    """Refuse tables of more probabilities than fit into memory."""
    if 8 * n_cells > available_memory():
        raise ValueError(
            f"the tables take {human_bytes(8 * n_cells)}, and {human_bytes(available_memory())} is available"
        )


def _restore_measured(
    classifier: MeasuredClassifier,
    document: Mapping[str, Any],
    names: list[Hashable],
    vocabulary: Vocabulary,
    structure: Structure,
    cut_points: dict[Hashable, Cuts],
) -> MeasuredClassifier:
    """Return a classifier whose densities follow from counts at levels."""
    measure = decode(document["measure"])
    if not isinstance(measure, Universal):
        raise ValueError("the measure is not universal")
    if any(len(partition.masses) != vocabulary.arity(name) for name, partition in measure.partitions.items()):
        raise ValueError("a partition is at odds with the states")
    finest = {name: list(partition.cuts) for name, partition in measure.partitions.items()}
    if finest != {name: cuts.tolist() for name, cuts in cut_points.items()}:
        raise ValueError("a partition is at odds with the cut points")
    axes = Axes(measure, vocabulary)
    counts, levels = {}, {}
    for described, of_family in zip(listed(document["counts"]), listed(document["levels"]), strict=True):
        variables = [names[j] for j in references(mapped(described)["variables"], len(names))]
        level = dict(zip(variables, listed(of_family), strict=True))
        for name, k in level.items():
            if type(k) is not int or k not in range(1, measure.n_levels(name) + 1):
                raise ValueError(f"{name!r} has no level {shortened(k)}")
        cells = {name: len(axes.masses(name, k)) for name, k in level.items()}
        family = _read_counts(described, names, cells.__getitem__)
        counts[family.name], levels[family.name] = family, tuple(of_family)
    _check_families(list(counts.values()), structure)
    _check_memory(sum(math.prod(family.shape) for family in counts.values()))
    classifier.set_model(DensityNetwork.from_counts(vocabulary, structure, counts, levels, measure))
    with reading("level_cost"):
        classifier.level_cost_ = float(decode(document["level_cost"]))
    return classifier


def _check_families(families: Sequence[FamilyCounts | ConditionalTable], structure: Structure) -> None:
    parents = {family.name: family.parents for family in families}
    if parents.keys() != structure.parents.keys() or len(parents) < len(families):
        raise ValueError("not every variable has a table and a place in the structure")
    if any(set(parents[name]) != set(structure.parents[name]) for name in parents):
        raise ValueError("a table is at odds with the structure")


def _read_counts(
    described: Mapping[str, Any], names: list[Hashable], arity: Callable[[Hashable], int]
) -> FamilyCounts:
    name, *parents = (names[j] for j in references(described["variables"], len(names)))
    shape = tuple(arity(variable) for variable in (name, *parents))
    with reading(f"{name!r}"):
        return FamilyCounts(name, tuple(parents), shape, *cells(described, math.prod(shape)))


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


def _read_table(described: Mapping[str, Any], names: list[Hashable], vocabulary: Vocabulary) -> ConditionalTable:
    name, *parents = (names[j] for j in references(described["variables"], len(names)))
    shape = [vocabulary.arity(variable) for variable in (name, *parents)]
    size = math.prod(shape)
    with reading(f"{name!r}"):
        values = numbers(described["values"])
        runs = [whole(run, 1) for run in listed(described["runs"], len(values))] if "runs" in described else None
        if (len(values) if runs is None else sum(runs)) != size:
            raise ValueError(f"its states ask for {size} probabilities")
        _check_memory(size)
        values = (values if runs is None else np.repeat(values, runs)).reshape(shape)
        _check_probabilities(name, values)
    return ConditionalTable(name, tuple(parents), values)


def _check_probabilities(name: Hashable, values: npt.NDArray[np.float64]) -> None:
    if not ((values >= 0).all() and np.allclose(values.sum(axis=0), 1, rtol=0, atol=1e-6)):
        raise ValueError(f"the table of {name!r} does not hold probabilities")


def encode(value: Any) -> Any:
    """Return the JSON form of a name, a state or a parameter.

    Text, whole numbers, booleans, None, finite floats and lists stand for themselves; everything else is an object
    with a ``type`` and a ``value``.

    Raises
    ------
    TypeError
        For a kind that has no form.

    Examples
    --------
    >>> from datetime import date
    >>> [encode(value) for value in (1, 1.0, "1", True, date(2024, 1, 31), (1, float("inf")))]
    [1, 1.0, '1', True, {'type': 'date', 'value': '2024-01-31'}, {'type': 'tuple', 'value': [1, {'type': 'float', 'value': 'inf'}]}]
    """  # noqa: E501  # a line of output
    if isinstance(value, np.generic) and value.dtype.kind in "biufSU":
        value = value.item()
    kind = type(value)
    if value is None or kind in (str, int, bool) or (kind is float and np.isfinite(value)):
        return value
    if isinstance(value, np.ndarray | pd.Index | pd.Series | range):
        value, kind = list(value) if isinstance(value, range) else value.tolist(), list
    if kind is list:
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {"type": "mapping", "value": [[encode(key), encode(item)] for key, item in value.items()]}
    if OBJECTS.get(kind.__name__) is kind:
        if isinstance(value, BaseEstimator):
            parameters = value.get_params(deep=False)
        else:
            parameters = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {"type": kind.__name__, "value": {name: encode(item) for name, item in parameters.items()}}
    tag = next((tag for tag, (of_tag, _, _) in _FORMS.items() if of_tag is kind), None)
    if tag is None:
        raise TypeError(f"a {kind.__module__}.{kind.__qualname__} cannot be written to a file: {value!r}")
    return {"type": tag, "value": _FORMS[tag][1](value)}


def decode(form: Any) -> Any:
    """Return the value that :func:`encode` wrote.

    Raises
    ------
    ValueError
        For a form that is not known.
    """
    if isinstance(form, list):
        return [decode(item) for item in form]
    if not isinstance(form, dict):
        return form
    tag, value = form["type"], form["value"]
    if tag == "mapping":
        return {decode(key): decode(item) for key, item in value}
    if tag in OBJECTS:
        return OBJECTS[tag](**{name: decode(item) for name, item in value.items()})
    if tag not in _FORMS:
        raise ValueError(f"the type {tag!r} is not known")
    return _FORMS[tag][2](value)


def encode_as(what: str, value: Any) -> Any:
    """Encode a value; if it cannot be, say what it is."""
    try:
        return encode(value)
    except TypeError as error:
        raise TypeError(f"cannot save {what}: {error}") from None


def _write_datetime(value: datetime) -> dict[str, Any]:
    zone = value.tzinfo.key if isinstance(value.tzinfo, ZoneInfo) else None
    text = (value.replace(tzinfo=None) if zone else value).isoformat()
    return {"at": text, "zone": zone, "fold": value.fold}


def _read_datetime(form: dict[str, Any]) -> datetime:
    at = datetime.fromisoformat(form["at"]).replace(fold=form["fold"])
    return at.replace(tzinfo=ZoneInfo(form["zone"])) if form["zone"] else at


def _write_timestamp(value: pd.Timestamp) -> dict[str, Any]:
    return {
        "ticks": int(value.asm8.astype(np.int64)),
        "unit": value.unit,
        "zone": None if value.tz is None else str(value.tz),
    }


def _read_timestamp(form: dict[str, Any]) -> pd.Timestamp:
    at = pd.Timestamp(np.datetime64(form["ticks"], form["unit"]))
    return at if form["zone"] is None else at.tz_localize("UTC").tz_convert(form["zone"])


# Tag: (exact type, its JSON form, and back).
_FORMS: dict[str, tuple[type[Any], Callable[[Any], Any], Callable[[Any], Any]]] = {
    "float": (float, repr, float),
    "bytes": (bytes, bytes.hex, bytes.fromhex),
    "decimal": (Decimal, str, Decimal),
    "date": (date, date.isoformat, date.fromisoformat),
    "time": (time, time.isoformat, time.fromisoformat),
    "datetime": (datetime, _write_datetime, _read_datetime),
    "timedelta": (
        timedelta,
        lambda value: [value.days, value.seconds, value.microseconds],
        lambda form: timedelta(*form),
    ),
    "Timestamp": (pd.Timestamp, _write_timestamp, _read_timestamp),
    "Timedelta": (
        pd.Timedelta,
        lambda value: [int(value.asm8.astype(np.int64)), value.unit],
        lambda form: pd.Timedelta(np.timedelta64(*form)),
    ),
    "Period": (
        pd.Period,
        lambda value: [value.ordinal, value.freqstr],
        lambda form: pd.Period(ordinal=form[0], freq=form[1]),
    ),
    "Interval": (
        pd.Interval,
        lambda value: [encode(value.left), encode(value.right), value.closed],
        lambda form: pd.Interval(decode(form[0]), decode(form[1]), closed=form[2]),
    ),
    "tuple": (tuple, lambda value: [encode(item) for item in value], lambda form: tuple(map(decode, form))),
    "set": (set, lambda value: [encode(item) for item in value], lambda form: set(map(decode, form))),
    "frozenset": (
        frozenset,
        lambda value: [encode(item) for item in value],
        lambda form: frozenset(map(decode, form)),
    ),
}


def write_atomically(path: Path, text: str) -> None:
    """Write a file beside its place, then move it there in one step."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        with draft.open("x", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
