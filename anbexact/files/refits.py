"""Refitted logistic regressions as JSON: what a refit found, and the rows that it was made of, features by number."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from anbexact.classifiers import NetworkClassifier
from anbexact.files.checked import listed, mapped, number, references, whole
from anbexact.files.values import decode, encode
from anbexact.models.logit.design import Design, RowOrder, design_of_rows
from anbexact.models.logit.fit import Fit
from anbexact.models.logit.model import LogitModel
from anbexact.models.logit.potentials import Floats, class_families, network_potentials
from anbexact.models.logit.prior_precision import Strength
from anbexact.models.logit.refit import Refit
from anbexact.models.network.network import Network, TableNetwork
from anbexact.models.smooth.fit import smooth_problem
from anbexact.models.smooth.refit import RULES, SmoothRefit, check_smooth, smooth_potentials
from anbexact.models.smooth.smoothness import Smoothness, drawn, naive_bayes
from anbexact.models.smooth.terms import Axis, SmoothTerm
from anbexact.models.structure import Structure
from anbexact.tables.vocabulary import Vocabulary


def describe_refit(refitted: Refit, number: Mapping[Hashable, int]) -> dict[str, Any]:
    """Return the JSON form of a refit; ``number`` gives every variable's number."""
    found, strength = refitted.fit, refitted.strength
    return {
        "l2": refitted.l2,
        "seconds": refitted.seconds,
        "strength": strength
        and {
            "l2": strength.l2,
            "tried": [list(pair) for pair in strength.tried],
            "generative": strength.generative,
            "complete": strength.complete,
        },
        "fit": {
            "log_likelihood": found.log_likelihood,
            "penalised": found.penalised,
            "gradient": found.gradient,
            "converged": bool(found.converged),
            "separated": bool(found.separated),
            "iterations": found.iterations,
            "message": found.message,
            "shift": (refitted.shift if isinstance(refitted, SmoothRefit) else found.shift).ravel().tolist(),
            "direction": None if found.direction is None else found.direction.ravel().tolist(),
        },
        "rows": _describe_rows(refitted.design, number),
        **(_describe_smooth(refitted, number) if isinstance(refitted, SmoothRefit) else {}),
    }


def _describe_smooth(refitted: SmoothRefit, number: Mapping[Hashable, int]) -> dict[str, Any]:
    """Return the strengths of smoothing, and the axes of every term."""
    smoothness = refitted.smoothness
    return {
        "smooth": {
            "strengths": {
                kind: [[number[name], value] for name, value in strength.items()]
                if isinstance(strength, Mapping)
                else strength
                for kind, strength in smoothness.strengths.items()
            },
            "centre": smoothness.centre,
            "rule": smoothness.rule,
            "rounds": smoothness.rounds,
            "complete": bool(smoothness.complete),
            "terms": [
                [[number[axis.feature], axis.ordered, axis.groups.tolist()] for axis in term.axes]
                for term in refitted.problem.terms
            ],
        }
    }


def _describe_rows(design: Design, number: Mapping[Hashable, int]) -> dict[str, Any]:
    """Return the states of the features in the distinct rows, and the weight of every row with every class."""
    cells = np.flatnonzero(design.weights)
    weights: list[float] = design.weights.ravel()[cells].tolist()
    return {
        "number": len(design.weights),
        "states": [[number[name], design.states(name).tolist()] for name in design.features],
        "cells": cells.tolist(),
        "weights": _short(weights),
        "order": None if design.order is None else _describe_order(design.order, design.n_classes),
    }


def _describe_order(order: RowOrder, n_classes: int) -> dict[str, Any]:
    """Return, for every row in the order of the frame, its cell (distinct row and class), weight and label."""
    return {
        "cells": (order.rows * n_classes + order.classes).tolist(),
        "weights": _short(order.weights.tolist()),
        "index": encode(order.index),
        "names": encode(list(order.names)),
    }


def _short(weights: Sequence[float]) -> list[float]:
    """Return weights for JSON, whole numbers as integers."""
    return [int(weight) if weight.is_integer() else weight for weight in weights]


def restore_refit(
    described: Mapping[str, Any], network: NetworkClassifier, learned: Network, names: Sequence[Hashable]
) -> LogitModel:
    """Return the refitted model that :func:`describe_refit` described; ``names[k]`` is the variable of number k.

    Parameters
    ----------
    described : mapping
    network : NetworkClassifier
        The network that was refitted.
    learned : Network
        The network as it was learned, before its intervals were refined.
    names : sequence

    Raises
    ------
    ValueError
        If the description does not match the network, or is inconsistent.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about a refit of measured columns; given in fit
        origin = replace(network.discrete_form().origin(), learned=learned)
    tables = network.model_.discrete()
    design = _restore_rows(described["rows"], tables.structure, tables.vocabulary, names)
    if "smooth" in described:
        refitted: Refit = _restore_smooth(described, tables, design, names)
        return LogitModel(tables, origin, refitted.potentials, refitted=refitted)
    strength = described["strength"]
    found = _restore_fit(described["fit"], (design.n_cells, design.n_classes))
    refitted = Refit(
        design.shifted(network_potentials(tables.tables, tables.structure), found.shift),
        float(described["l2"]),
        strength
        and Strength(
            float(strength["l2"]),
            tuple((float(l2), float(value)) for l2, value in strength["tried"]),
            float(strength["generative"]),
            bool(strength["complete"]),
        ),
        found,
        design,
        float(described["seconds"]),
    )
    return LogitModel(tables, origin, refitted.potentials, refitted=refitted)


def _restore_fit(found: Mapping[str, Any], shape: tuple[int, int]) -> Fit:
    """Return where a fit ended, its shifts of this shape."""
    return Fit(
        _finite(found["shift"], shape, "shifts"),
        float(found["log_likelihood"]),
        float(found["penalised"]),
        float(found["gradient"]),
        bool(found["converged"]),
        bool(found["separated"]),
        None if found["direction"] is None else _finite(found["direction"], shape, "direction"),
        int(found["iterations"]),
        str(found["message"]),
    )


def _restore_smooth(
    described: Mapping[str, Any], network: TableNetwork, design: Design, names: Sequence[Hashable]
) -> SmoothRefit:
    """Return a smooth refit of a network on fine intervals."""
    smooth = described["smooth"]
    strengths = check_smooth(
        {
            kind: {names[whole(j, 0, len(names) - 1)]: value for j, value in strength}
            if isinstance(strength, list)
            else number(strength)
            for kind, strength in mapped(smooth["strengths"]).items()
        }
    )
    if not isinstance(strengths, dict) or smooth["rule"] not in (*RULES, "given"):
        raise ValueError("the strengths of smoothing are not known")
    terms: list[SmoothTerm] = []
    for axes in smooth["terms"]:
        features = references([j for j, _, _ in axes], len(names))
        own = tuple(
            _restore_axis(names[j], ordered, groups, design)
            for j, (_, ordered, groups) in zip(features, axes, strict=True)
        )
        terms.append(SmoothTerm(own, terms[-1].cells.stop if terms else 0))
    sets = {frozenset(term.features) for term in terms}
    mains = {frozenset([name]) for term in terms for name in term.features}
    if not terms or len(sets) < len(terms) or not mains <= sets:
        raise ValueError("there must be a term for every feature of other terms, and none twice")
    problem = smooth_problem(design, terms, np.zeros(design.weights.shape), number(described["l2"], above=0))
    found = _restore_fit(described["fit"], (problem.n_cells, design.n_classes))
    share = number(smooth.get("centre", 0.0))  # files of earlier versions have none
    if not 0 <= share <= 1:
        raise ValueError("the centre of smoothing must be from 0 to 1")
    smoothness = Smoothness(strengths, smooth["rule"], int(smooth["rounds"]), bool(smooth["complete"]), share)
    centre = share * naive_bayes(problem)
    potentials = smooth_potentials(network, problem, found.shift)
    fitted = replace(found, shift=found.shift - centre)
    seconds = float(described["seconds"])
    drawn_to = drawn(problem, centre)
    return SmoothRefit(potentials, problem.ridge, None, fitted, design, seconds, smoothness, drawn_to, found.shift)


def _restore_axis(feature: Hashable, ordered: int, groups: Sequence[int], design: Design) -> Axis:
    """Return how a feature enters a term."""
    arity = design.shape[feature]
    found = np.array([whole(group, 0, arity - 1) for group in listed(groups, arity)], dtype=np.int64)
    size = int(found.max(initial=-1)) + 1
    whole(ordered, 0, size)
    if set(found.tolist()) != set(range(size)):
        raise ValueError(f"the groups of {feature!r} are not those of its states")
    return Axis(feature, found, size, ordered)


def _restore_rows(
    described: Mapping[str, Any], structure: Structure, vocabulary: Vocabulary, names: Sequence[Hashable]
) -> Design:
    """Return the rows as cells of the families that the class is part of."""
    families = class_families(structure)
    features = dict.fromkeys(name for of_family in families.values() for name in of_family)
    n_rows, n_classes = int(described["number"]), vocabulary.arity(structure.class_name)
    if not 0 <= n_rows <= len(described["cells"]):
        raise ValueError("the refit has different numbers of rows and weights")
    states = {names[j]: np.array(codes, dtype=np.int64) for j, codes in described["states"]}
    if states.keys() != features.keys():
        raise ValueError("the rows of the refit do not have the features that the class depends on")
    for name, codes in states.items():
        if codes.shape != (n_rows,) or not ((codes >= 0) & (codes < vocabulary.arity(name))).all():
            raise ValueError(f"the rows of the refit contain codes of {name!r} that are not its states")
    cells = np.array(described["cells"], dtype=np.int64)
    values = np.array(described["weights"], dtype=np.float64)
    ascending = bool((np.diff(cells, prepend=-1) > 0).all()) and cells.max(initial=-1) < n_rows * n_classes
    if cells.shape != values.shape or not ascending or not (np.isfinite(values) & (values > 0)).all():
        raise ValueError("the rows of the refit do not have weights")
    weights = np.zeros((n_rows, n_classes))
    weights.ravel()[cells] = values
    if not weights.any(axis=1).all():
        raise ValueError("a row of the refit has no weight")
    shape = {name: vocabulary.arity(name) for name in vocabulary.names}
    design = design_of_rows(states, weights, families, shape)
    order = described.get("order")  # files of earlier versions have none
    return design if order is None else replace(design, order=_restore_order(mapped(order), weights))


def _restore_order(described: Mapping[str, Any], totals: Floats) -> RowOrder:
    """Return the order of the rows, whose weights must add up to the totals, shape (distinct rows, classes)."""
    cells = np.array([whole(cell, 0, totals.size - 1) for cell in described["cells"]], dtype=np.int64)
    weights = np.array([number(weight, above=0) for weight in listed(described["weights"], len(cells))])
    labels, names = decode(described["index"]), decode(described["names"])
    added = np.bincount(cells, weights, totals.size)
    if len(labels) != len(cells) or not np.allclose(added, totals.ravel(), rtol=1e-9, atol=0):
        raise ValueError("the rows of the refit in their order do not add up to its distinct rows")
    rows, classes = np.divmod(cells, totals.shape[1])
    index = RowOrder(rows, classes, weights, tuple(labels), tuple(names)).index
    return RowOrder.labelled(rows, classes, weights, index)


def _finite(values: Sequence[float], shape: tuple[int, int], what: str) -> Floats:
    """Return finite numbers as an array of this shape."""
    found: npt.NDArray[np.float64] = np.array(values, dtype=np.float64)
    if found.shape != (shape[0] * shape[1],) or not np.isfinite(found).all():
        raise ValueError(f"the {what} of the refit are not {shape[0]} by {shape[1]} finite numbers")
    return found.reshape(shape)
