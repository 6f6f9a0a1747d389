"""The numbers that networks and refits need as Bayesian models in probabilistic programming languages."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from anbexact._runtime.arrays import Floats, Positions
from anbexact._runtime.units import with_article
from anbexact.models.logit.refit import Shifts
from anbexact.tables.labels import read_labels
from anbexact.tables.prediction import check_choice
from anbexact.tables.table import check_weights

MOST_COMPLETIONS = 5_000_000
"""Maximum number of entries of the array of completions of incomplete rows."""
IMPOSSIBLE = -1e30
"""The logarithm of the unused completions of a row that has fewer completions than others."""
Replacement = Callable[[Floats], Any]
"""A function from the concentrations of a table, (*parents, states), to its probabilities, of the same shape."""


@dataclass(frozen=True, eq=False)
class NetworkSites:
    """The tables of a network as Dirichlet distributions, and the rows to which the model is fitted.

    ``counts`` and ``completions`` refer to the positions of one array: the logarithms of all tables, flattened one
    after the other, then 0, then ``IMPOSSIBLE``.

    Attributes
    ----------
    concentrations : mapping of variable to (*parents, states) array
        Parameters of a Dirichlet distribution for every row of every table.
    sites : mapping of variable to str
        The names of the tables.
    counts : (probabilities,) array
        Weight of the complete rows by table entry; 0 for the last two positions.
    completions : (rows, completions, variables) array
        The completions of every incomplete row, each with a position for every variable.
    weights : (rows,) array
        Weights of the incomplete rows.
    """

    concentrations: Mapping[Hashable, Floats]
    sites: Mapping[Hashable, str]
    counts: Floats
    completions: Positions
    weights: Floats


def network_sites(
    classifier: Any, X: Any, y: Any, sample_weight: Any, tables: str, replace: Mapping[Hashable, Replacement] | None
) -> NetworkSites:
    """Return the tables of a fitted network, and the rows.

    Raises
    ------
    TypeError
        If the classifier is not a network with tables.
    ValueError
        If its tables are not means of Dirichlet posteriors; for a variable in ``replace`` or a class in ``y`` that
        does not exist; or if there are too many completions.
    """
    if hasattr(classifier, "fit"):
        check_is_fitted(classifier)
    network = getattr(classifier, "model_", None)
    if network is None or network.learned is not network:
        raise TypeError(f"a fitted network of anbexact is needed, not {with_article(type(classifier).__name__)}")
    check_choice("tables", tables, ("prior", "posterior"))
    smoothing, counts = network.grounds.smoothing, network.grounds.counts
    if smoothing is None or counts is None:
        raise ValueError(
            "the conditional tables must be means of Dirichlet posteriors: use parameters='eap', and cut columns of "
            "measurements instead of measuring them"
        )
    unknown = [name for name in replace or {} if name not in counts]
    if unknown:
        raise ValueError(f"replace names {unknown[0]!r}, which is not a variable of the network: {list(counts)}")
    concentrations = {}
    for name, own in counts.items():
        alpha = np.full(own.shape, network.grounds.smoothing_of(name) / prod(own.shape))
        alpha += own.dense() if tables == "posterior" else 0.0
        concentrations[name] = np.ascontiguousarray(np.moveaxis(alpha, 0, -1))
    sites = {}
    for name, own in counts.items():
        given = ", ".join(map(str, own.parents))
        sites[name] = f"P({name} | {given})" if given else f"P({name})"
    if len(set(sites.values())) < len(sites):
        raise ValueError("two variables have the same name as text: rename one of them")
    parents = {name: own.parents for name, own in counts.items()}
    if X is None:
        empty = np.zeros((0, 1, len(counts)), dtype=np.int64)
        size = sum(alpha.size for alpha in concentrations.values())
        return NetworkSites(concentrations, sites, np.zeros(size + 2), empty, np.zeros(0))
    codes, weights = _rows(classifier, X, y, sample_weight)
    return NetworkSites(concentrations, sites, *_likelihood(codes, weights, concentrations, parents))


def _rows(classifier: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Mapping[Hashable, Positions], Floats]:
    """Return the codes of all variables by row, negative where missing, and the weights."""
    vocabulary = classifier.vocabulary_
    codes = classifier.reader_.codes(X).astype(np.int64)
    n_rows = codes.shape[1]
    weights = check_weights(sample_weight, n_rows)
    class_codes = np.full(n_rows, -1)
    if y is not None:
        check_consistent_length(codes[0], y)
        places, labels = read_labels(y).coded
        known = [vocabulary.code(vocabulary.class_name, label) for label in labels]
        if min(known, default=0) < 0:
            raise ValueError(f"y contains {labels[int(np.argmin(known))]!r}, which is not a class of the network")
        class_codes = np.where(places >= 0, np.array([*known, 0])[places], -1)
    return {**dict(zip(vocabulary.features, codes, strict=True)), vocabulary.class_name: class_codes}, weights


def _likelihood(
    codes: Mapping[Hashable, Positions],
    weights: Floats,
    concentrations: Mapping[Hashable, Floats],
    parents: Mapping[Hashable, tuple[Hashable, ...]],
) -> tuple[Floats, Positions, Floats]:
    """Return the counts of complete rows, and the completions and weights of the others."""
    names = list(concentrations)
    steps: dict[Hashable, dict[Hashable, int]] = {}
    firsts: dict[Hashable, int] = {}
    first = 0
    for name in names:
        shape = concentrations[name].shape
        sizes = [prod(shape[k + 1 :]) for k in range(len(shape))]
        steps[name] = dict(zip((*parents[name], name), sizes, strict=True))
        firsts[name] = first
        first += concentrations[name].size
    complete = np.all([codes[name] >= 0 for name in names], axis=0)
    counts = np.zeros(first + 2)
    for name in names:
        place = firsts[name] + sum(step * codes[other][complete] for other, step in steps[name].items())
        np.add.at(counts, place, weights[complete])
    rest = np.flatnonzero(~complete & (weights > 0))
    distinct, row = np.unique(
        np.stack([np.maximum(codes[name][rest], -1) for name in names], axis=1), axis=0, return_inverse=True
    )
    found = []
    for states in distinct.tolist():
        known = dict(zip(names, states, strict=True))
        needed = _needed(known, parents)
        hidden = [name for name in names if name in needed and known[name] < 0]
        n_completions = prod(concentrations[name].shape[-1] for name in hidden)
        if n_completions * len(names) * len(distinct) > MOST_COMPLETIONS:
            raise ValueError(
                f"a row has {len(hidden)} missing cells that matter, and so {n_completions:,} completions, more than "
                "can be summed over for all rows: leave out such rows"
            )
        of_row = []
        for filled in product(*(range(concentrations[name].shape[-1]) for name in hidden)):
            full = {**known, **dict(zip(hidden, filled, strict=True))}
            places = {
                name: firsts[name] + sum(step * full[other] for other, step in steps[name].items()) for name in needed
            }
            of_row.append([places.get(name, first) for name in names])
        found.append(of_row)
    longest = max(map(len, found), default=1)
    padding = [first + 1] + [first] * (len(names) - 1)
    padded = [of_row + [padding] * (longest - len(of_row)) for of_row in found]
    completions = np.array(padded, dtype=np.int64).reshape(len(found), longest, len(names))
    return counts, completions, np.bincount(row.reshape(-1), weights[rest], len(distinct)).astype(np.float64)


def _needed(known: Mapping[Hashable, int], parents: Mapping[Hashable, tuple[Hashable, ...]]) -> set[Hashable]:
    """Return the observed variables and all their ancestors; the tables of all other variables sum to 1."""
    needed: set[Hashable] = set()
    waiting = [name for name, code in known.items() if code >= 0]
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += parents[name]
    return needed


def logit_sites(model: Any) -> Shifts:
    """Return the rows and the prior of a refit.

    Raises
    ------
    TypeError
        If the model is not a LogitModel.
    ValueError
        If it was not refitted, or was refitted without a prior.
    """
    if not hasattr(model, "refitted"):
        raise TypeError(
            "a LogitModel is needed, such as to_logit(classifier).refit(X, y), not "
            f"{with_article(type(model).__name__)}"
        )
    found = model.refitted
    if found is None or not found.l2 > 0:
        raise ValueError("the regression has no prior: call refit(X, y) with l2 above 0 first")
    shifts: Shifts = found.as_shifts(model.structure)
    return shifts
