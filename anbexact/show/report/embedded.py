"""The tables of a model as an evidence panel embeds them: numbers in little-endian bytes, base64."""

from __future__ import annotations

import base64
import json
from collections.abc import Hashable, Mapping
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from anbexact._runtime.arrays import Floats
from anbexact.explanations.background import distributions
from anbexact.models.estimator_average import AnDE
from anbexact.models.family_sum import FamilySum
from anbexact.models.network.network import TableNetwork
from anbexact.models.parameters.counts import Counts, FamilyCounts
from anbexact.show.svg.markup import UNPRINTABLE, Markup, element
from anbexact.tables.vocabulary import Vocabulary

MOST_EXPECTED = 4_000_000
"""Most cells of all terms, times the subsets of their features, for which a page computes Shapley values."""
MOST_SUMMED = 5_000
"""Most joint states of all families whose distribution is computed from a network without counts."""


def described(network: TableNetwork, *, intervals: bool = True) -> dict[str, Any]:
    """Return variables and tables as the page reads them.

    A table consists of its logarithms, in double precision. With ``intervals``, and if it is the mean of a Dirichlet
    posterior, it also has ``totals``, in single precision: for every joint state of the parents, the sum of the
    parameters n + α / (q r) over the states. A total times the mean gives a parameter back, so that the page can draw
    tables.
    """
    found = _variables(network.vocabulary, network.structure.class_name)
    place = {name: k for k, name in enumerate(network.vocabulary.names)}
    grounds = network.grounds
    counts = grounds.counts if intervals and grounds.smoothing else None
    found["tables"] = []
    for name in network.vocabulary.names:
        table = network.tables[name]
        with np.errstate(divide="ignore"):
            logs = np.log(table.values)
        own = {"scope": [place[variable] for variable in table.variables], "logs": encoded(logs, "<f8")}
        if counts is not None and grounds.smoothing:
            own["totals"] = encoded(_totals(counts[name], grounds.smoothing_of(name)), "<f4")
        found["tables"].append(own)
    return found


def described_terms(source: FamilySum, network: TableNetwork) -> list[dict[str, Any]]:
    """Return the terms of a class posterior with the distribution of their features, which Shapley values require.

    The distribution, ``shares``, is the default background of
    :func:`~anbexact.explanations.local.explain_locally`, up to a constant factor. If the term is a table of
    ``network``, it names the position of the ``child`` of that table, and the axes of its shares are those of the
    table without the class. Any other term has its ``scope``, and its ``logs`` with the class as the last axis. The
    list is empty if tables have zeros, or if it would take too long to sum out the distributions.
    """
    try:
        cells = [potential.logs.size << len(potential.features) for potential in source.potentials]
        states = sum(potential.logs[..., 0].size for potential in source.potentials)
        if sum(cells) > MOST_EXPECTED or (source.counts is None and states > MOST_SUMMED):
            return []
        distribution = distributions(source, None)
    except ValueError:
        return []
    class_name, tables = network.structure.class_name, network.tables
    place = {name: k for k, name in enumerate(network.vocabulary.names)}
    terms = []
    for potential, shares in zip(source.potentials, distribution, strict=True):
        weights = shares * _weight(source.counts, potential.child)
        if source.network is network:
            axes = [name for name in tables[potential.child].variables if name != class_name]
            weights = weights.transpose([potential.features.index(name) for name in axes])
            term: dict[str, Any] = {"child": place[potential.child]}
        else:
            scope = [place[name] for name in potential.features]
            term = {"scope": scope, "logs": encoded(potential.logs, "<f8")}
        terms.append(term | _numbers("shares", weights))
    return terms


def described_average(model: AnDE) -> dict[str, Any]:
    """Return an average of estimators as the page reads it: weights of joint states, and the prior added to each.

    ``average.tables`` has tables of the class with every set of as many features as an estimator depends on, and with
    every set of one more. ``average.admitted`` says for every feature which of its states have an estimator.
    """
    vocabulary = model.vocabulary
    found = _variables(vocabulary, vocabulary.class_name)
    place = {name: k for k, name in enumerate(vocabulary.names)}
    places = [place[name] for name in vocabulary.features]
    pairs = model.pairs
    s = pairs.n_classes
    tables = []
    for features in (chosen for size in model.set_sizes for chosen in combinations(range(len(places)), size)):
        weights = model.joint_weights(features)
        prior = model.ess / (s * prod(weights.shape[:-1]))
        tables.append({"scope": [places[i] for i in features], "prior": prior, **_numbers("weights", weights)})
    admitted = model.admitted
    found["average"] = {
        "dependence": model.class_posterior.dependence,
        "tables": tables,
        "admitted": {
            str(places[i]): admitted[pairs.offsets[i] : pairs.offsets[i + 1]].tolist() for i in range(len(places))
        },
    }
    return found


def average_bytes(model: AnDE) -> int:
    """Return the most characters that the result of :func:`described_average` takes in a page."""
    arities = model.pairs.arities.tolist()
    cells = sum(prod(chosen) for size in model.set_sizes for chosen in combinations(arities, size))
    return in_base64(8 * cells * model.pairs.n_classes)


def table_bytes(network: TableNetwork) -> int:
    """Return the number of characters that the tables of a network take in a page."""
    return sum(in_base64(8 * prod(table.shape)) for table in network.tables.values())


def in_base64(size: int) -> int:
    """Return the number of characters that a number of bytes takes in base64."""
    return 4 * ((size + 2) // 3)


def text_of(value: object) -> str:
    """Return a name or a state as the page shows it."""
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", str(value)) or "''"


def _variables(vocabulary: Vocabulary, class_name: Hashable) -> dict[str, Any]:
    """Return names and states of the variables as the page reads them."""
    names, left_out = vocabulary.names, set(vocabulary.left_out)
    return {
        "target": names.index(class_name),
        "variables": [
            {"name": text_of(name), "states": [text_of(state) for state in vocabulary.states[name]]} for name in names
        ],
        "hidden": [k for k, name in enumerate(names) if name in left_out],
    }


def _totals(counts: FamilyCounts, smoothing: float) -> Floats:
    """Return the weight of every joint state of the parents, their share of the equivalent sample size added."""
    joint_states = prod(counts.shape[1:])
    weights = np.bincount(counts.cells % joint_states, counts.weights, joint_states)
    return np.asarray(weights + smoothing / joint_states)


def _weight(counts: Counts | None, child: Hashable) -> float:
    return 1.0 if counts is None else float(counts[child].weights.sum())


def _numbers(name: str, values: Floats) -> dict[str, str]:
    """Return numbers in single precision if that is exact, else in double precision, under a name that says which."""
    if (values.astype(np.float32) == values).all():
        return {f"{name}32": encoded(values, "<f4")}
    return {f"{name}64": encoded(values, "<f8")}


def encoded(values: Floats, kind: str) -> str:
    """Return numbers as base64 of their little-endian bytes; ``kind`` is ``"<f4"`` or ``"<f8"``."""
    return base64.b64encode(np.ascontiguousarray(values).astype(kind).tobytes()).decode()


def data_script(description: Mapping[str, Any], class_name: str) -> Markup:
    """Return values as a script of JSON that a page reads; nothing in it can end the script."""
    text = json.dumps(description, ensure_ascii=False, separators=(",", ":"))
    data = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return element("script", Markup(data), type="application/json", class_=class_name)
