"""Fitted classifiers from JSON documents, every field checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from anbexact._runtime.memory import available_memory
from anbexact._runtime.units import human_bytes
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
from anbexact.files.averages import restore_average
from anbexact.files.checked import cells, listed, mapped, number, numbers, reading, references, shortened, text, whole
from anbexact.files.earlier import own_missing_of_earlier, states_of_earlier
from anbexact.files.em import restore_em
from anbexact.files.pools import restore_pool
from anbexact.files.proofs import restore_proof
from anbexact.files.refits import restore_refit
from anbexact.files.values import decode
from anbexact.models.a2de import A2DE, TripleCounts
from anbexact.models.aode import AODE, PairCounts
from anbexact.models.network.cells import Axes
from anbexact.models.network.density_network import DensityNetwork
from anbexact.models.network.estimation import ESTIMATES, HIERARCHICAL, Estimation
from anbexact.models.network.network import TableNetwork
from anbexact.models.parameters.counts import FamilyCounts
from anbexact.models.parameters.hierarchical import Strengths
from anbexact.models.parameters.tables import ConditionalTable
from anbexact.models.structure import Certificate, Structure
from anbexact.scores import BDeu
from anbexact.scores.universal import as_universal
from anbexact.tables.cuts import Cuts
from anbexact.tables.frames.quantities import Quantity
from anbexact.tables.missing import EM
from anbexact.tables.prediction import check_choice
from anbexact.tables.vocabulary import Vocabulary


def restore(document: Mapping[str, Any]) -> DiscreteClassifier:
    """Return the fitted classifier that a document describes.

    Raises
    ------
    ValueError
        If a field is missing, is not what was expected or does not match others; the message names it.
    """
    for refitted in (RefittedClassifier, AdditiveClassifier):
        if document.get("estimator") == refitted.__name__:
            return _restore_refitted(document, refitted)
    if document.get("estimator") == PooledClassifier.__name__:
        return restore_pool(document, restore)
    return _restore(document)


def _restore_refitted(document: Mapping[str, Any], estimator: type[RefittedClassifier]) -> RefittedClassifier:
    """Return the refitted network that a document describes."""
    with reading("parameters"):
        classifier = estimator(**{name: decode(value) for name, value in mapped(document["parameters"]).items()})
    with reading("network"):
        network = _restore(mapped(document["network"]))
        if not isinstance(network, NetworkClassifier):
            raise ValueError("what was refitted is not a network")
    refined = network
    if "refined" in document:
        with reading("refined"):
            refined = _restore(mapped(document["refined"]))
            if not isinstance(refined, NetworkClassifier):
                raise ValueError("what was refitted is not a network")
    with reading("refit"):
        model = restore_refit(mapped(document["refit"]), refined, network.model_, network.vocabulary_.names)
        return classifier.set_refitted(network, model)


def _restore(document: Mapping[str, Any]) -> TableClassifier:
    """Return the classifier that a document describes."""
    classifier = _restore_learned(document)
    if isinstance(classifier, NetworkClassifier) and EM in (classifier.handle_missing, classifier.missing_class):
        with reading("em"):
            classifier.em_ = restore_em(mapped(document["em"])) if "em" in document else None
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
        entry = CLASSIFIERS[text(document["estimator"])]
    with reading("parameters"):
        classifier: TableClassifier = entry.estimator(
            **{name: decode(value) for name, value in mapped(document["parameters"]).items()}
        )
        classifier.check_parameters()
    vocabulary = _read_vocabulary(document)
    names = list(vocabulary.names)
    cut_points = _read_cut_points(document, vocabulary)
    _read_input(document, classifier, vocabulary)
    with reading("further"):
        further = mapped(document.get("further", {}))  # older files have none
        for name in entry.saved:
            if name in further:
                setattr(classifier, name, _read_further(decode(further[name])))
    if isinstance(classifier, AODEClassifier):
        return _restore_aode(classifier, document, vocabulary, cut_points)
    if isinstance(classifier, A2DEClassifier):
        return _restore_a2de(classifier, document, vocabulary, cut_points)
    if isinstance(classifier, AveragedClassifier):
        return restore_average(classifier, document, vocabulary, cut_points)
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
    with reading("ess, smoothing, tables_by and strengths"):
        ess, smoothing = number(document["ess"], above=0), number(document["smoothing"], above=0)
        rule = text(document["tables_by"])
        check_choice("tables_by", rule, ESTIMATES)
        by_name = {family.name: family for family in counts}
        if (rule == HIERARCHICAL) != ("strengths" in document):
            raise ValueError(f"tables by {rule!r} {'have' if rule == HIERARCHICAL else 'do not have'} strengths")
        strengths = _read_strengths(document, counts) if rule == HIERARCHICAL else Strengths()
        estimation = Estimation(classifier.score_of(ess), ess, smoothing, rule, strengths)
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
    with reading("own_missing"):
        if "own_missing" in document:
            own_missing = frozenset(list(states)[k] for k in references(document["own_missing"], len(states)))
        else:
            rule = decode(mapped(document["parameters"])["handle_missing"])
            own_missing = own_missing_of_earlier(states, class_name, rule)
            states = states_of_earlier(states, class_name)
        return Vocabulary(states, class_name, quantities=quantities, groups=groups, own_missing=own_missing)


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
            names[child]: tuple(names[parent] for parent in references(child_parents, len(names)))
            for child, (_, child_parents) in zip(children, described["parents"], strict=True)
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


def _restore_a2de(
    classifier: A2DEClassifier, document: Mapping[str, Any], vocabulary: Vocabulary, cut_points: dict[Hashable, Cuts]
) -> A2DEClassifier:
    """Return a classifier whose probabilities follow from counts of triples."""
    with reading("pairs and triples"):
        counts = TripleCounts(vocabulary)
        for kind, weights in (("pairs", counts.pairs.weights), ("triples", counts.weights)):
            places, found = cells(mapped(document[kind]), len(weights))
            weights[places] = found
    with reading("ess"):
        ess = BDeu(number(document["ess"])).ess
    return classifier.set_model(
        A2DE(vocabulary=vocabulary, cut_points=cut_points, counts=counts, ess=ess, n_jobs=classifier.n_jobs)
    )


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
    measure = as_universal(decode(document["measure"]))
    if any(len(partition.masses) != vocabulary.arity(name) for name, partition in measure.partitions.items()):
        raise ValueError("a partition does not match the states")
    finest = {name: list(partition.cuts) for name, partition in measure.partitions.items()}
    if finest != {name: cuts.tolist() for name, cuts in cut_points.items()}:
        raise ValueError("a partition does not match the cut points")
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
    network = DensityNetwork.from_counts(vocabulary, structure, counts, levels, measure)
    with reading("level_cost"):
        return classifier.set_model(replace(network, level_cost=float(decode(document["level_cost"]))))


def _check_families(families: Sequence[FamilyCounts | ConditionalTable], structure: Structure) -> None:
    parents = {family.name: family.parents for family in families}
    if parents.keys() != structure.parents.keys() or len(parents) < len(families):
        raise ValueError("not every variable has a table and a place in the structure")
    if any(set(parents[name]) != set(structure.parents[name]) for name in parents):
        raise ValueError("a table does not match the structure")


def _read_counts(
    described: Mapping[str, Any], names: list[Hashable], arity: Callable[[Hashable], int]
) -> FamilyCounts:
    name, *parents = (names[j] for j in references(described["variables"], len(names)))
    shape = tuple(arity(variable) for variable in (name, *parents))
    with reading(f"{name!r}"):
        return FamilyCounts(name, tuple(parents), shape, *cells(described, math.prod(shape)))


def _read_strengths(document: Mapping[str, Any], counts: Sequence[FamilyCounts]) -> Strengths:
    """Return the strengths of hierarchical tables: for every family, one for each number of parents."""
    of_variables = {
        family.name: tuple(number(one, above=0) for one in listed(of_family, len(family.shape)))
        for family, of_family in zip(counts, listed(document["strengths"], len(counts)), strict=True)
    }
    exponent = number(document.get("exponent", 0.0), least=0.0)  # files of earlier versions have none
    return Strengths(of_variables, exponent)


def _read_table(described: Mapping[str, Any], names: list[Hashable], vocabulary: Vocabulary) -> ConditionalTable:
    name, *parents = (names[j] for j in references(described["variables"], len(names)))
    shape = [vocabulary.arity(variable) for variable in (name, *parents)]
    size = math.prod(shape)
    with reading(f"{name!r}"):
        values = numbers(described["values"])
        runs = [whole(run, 1) for run in listed(described["runs"], len(values))] if "runs" in described else None
        if (len(values) if runs is None else sum(runs)) != size:
            raise ValueError(f"its states require {size} probabilities")
        _check_memory(size)
        values = (values if runs is None else np.repeat(values, runs)).reshape(shape)
        _check_probabilities(name, values)
    return ConditionalTable(name, tuple(parents), values)


def _check_probabilities(name: Hashable, values: npt.NDArray[np.float64]) -> None:
    if not ((values >= 0).all() and np.allclose(values.sum(axis=0), 1, rtol=0, atol=1e-6)):
        raise ValueError(f"the table of {name!r} does not contain probabilities")
