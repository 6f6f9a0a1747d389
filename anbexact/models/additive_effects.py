"""Log odds as a constant, effects of single features, and effects of a few features together."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from anbexact._runtime.arrays import Floats, Positions
from anbexact._runtime.tasks import one_blas_thread
from anbexact.models.logit.potentials import Potentials
from anbexact.models.parameters.counts import Counts, FamilyCounts
from anbexact.models.smooth.functional_anova import effects
from anbexact.models.smooth.terms import Axis, SmoothTerm
from anbexact.tables.vocabulary import CodeArray

States = Mapping[Hashable, Positions]
"""The state of every feature in every row."""


@dataclass(frozen=True, eq=False)
class AdditiveEffect:
    """What one feature, or several features together, add to the log odds of every class.

    Attributes
    ----------
    features : tuple
        Its features, in the order of the axes of the arrays.
    groups : tuple of (states,) int64
        For every feature, the group of every state, as consecutive numbers from 0.
    log_odds : (*groups, classes) float64
        In nats, up to a constant of every cell that is the same for all classes. Weighted by ``weight``, they average
        to 0 along every axis.
    weight : (*groups) float64
        Weight of the rows in every cell.
    """

    features: tuple[Hashable, ...]
    groups: tuple[Positions, ...]
    log_odds: Floats
    weight: Floats

    def at(self, codes: Mapping[Hashable, Positions]) -> Floats:
        """Return the log odds of rows, shape (rows, classes), given the states of the features."""
        own = tuple(groups[codes[name]] for name, groups in zip(self.features, self.groups, strict=True))
        return np.asarray(self.log_odds[own])


@dataclass(frozen=True, eq=False)
class AdditiveEffects:
    """A class posterior as a sum: ``ln P(c | x) = intercept_c + Σ_u effect_u(x_u, c) + a function of x``.

    Attributes
    ----------
    intercept : (classes,) float64
        In nats.
    effects : tuple of AdditiveEffect
        Effects of one feature first.
    """

    intercept: Floats
    effects: tuple[AdditiveEffect, ...]

    @classmethod
    def anchored(
        cls,
        found: tuple[AdditiveEffect, ...],
        log_posterior: Callable[[CodeArray], Floats],
        features: tuple[Hashable, ...],
    ) -> AdditiveEffects:
        """Return effects with the intercept of a posterior, given its evaluator; one row determines it."""
        first = np.zeros((len(features), 1), dtype=np.int16)
        codes = {name: np.zeros(1, dtype=np.int64) for name in features}
        intercept = log_posterior(first)[0] - sum(effect.at(codes)[0] for effect in found)
        return cls(np.asarray(intercept), found)


def effects_of_potentials(
    potentials: Potentials,
    arities: Mapping[Hashable, int],
    rows: Callable[[tuple[Hashable, ...]], tuple[States, Floats]],
) -> tuple[AdditiveEffect, ...]:
    """Return the effects of a sum of potentials: its functional ANOVA, weighted by rows.

    See :func:`~anbexact.models.smooth.functional_anova.effects`. As it is linear, each potential has its own, and the
    effects of the same features are added up.

    Parameters
    ----------
    potentials : tuple of Potential
    arities : mapping of feature to its number of states
    rows : callable
        Returns, for the features of a potential, their states in the rows, and the weights of the rows.
    """
    logs: dict[frozenset[Hashable], Floats] = {}
    kept: dict[frozenset[Hashable], AdditiveEffect] = {}
    for potential in potentials:
        if not potential.features:
            continue
        terms, first = [], 0
        for features in dict.fromkeys([*((name,) for name in potential.features), potential.features]):
            axes = tuple(Axis(name, np.arange(arities[name]), arities[name], 0) for name in features)
            terms.append(SmoothTerm(axes, first))
            first += terms[-1].size
        states, weights = rows(potential.features)
        own = potential.logs.reshape(-1, potential.logs.shape[-1])
        with one_blas_thread():
            made = effects(terms, states, weights)
        for effect in made:
            matrix = effect.parts.get(len(terms) - 1)
            if matrix is None:
                continue
            values = (matrix @ own).reshape(*effect.shape, -1)
            key = frozenset(effect.features)
            if key in kept:
                order = [effect.features.index(name) for name in kept[key].features]
                logs[key] = logs[key] + values.transpose(*order, len(order))
            else:
                logs[key] = values
                kept[key] = AdditiveEffect(effect.features, effect.groups, values, effect.weight)
    found = (AdditiveEffect(e.features, e.groups, logs[key], e.weight) for key, e in kept.items())
    return tuple(sorted(found, key=lambda effect: len(effect.features)))


def rows_of_counts(
    counts: Counts, arities: Mapping[Hashable, int], class_name: Hashable
) -> Callable[[tuple[Hashable, ...]], tuple[States, Floats]]:
    """Return the function ``rows`` of :func:`effects_of_potentials` for counts of families with a class.

    If no family has all the features, they count as independent given the class: their cells have the weights
    ``Σ_c N_c Π_j N_jc / N_c``. Whatever the weights, effects add up to the same log odds; weights only divide them.
    """

    def of_family(features: tuple[Hashable, ...]) -> tuple[States, Floats]:
        family = next((own for own in counts.values() if set(features) <= set(own.variables)), None)
        if family is None:
            return expected(features)
        codes = np.unravel_index(family.cells, family.shape)
        return dict(zip(family.variables, map(np.asarray, codes), strict=True)), family.weights

    def expected(features: tuple[Hashable, ...]) -> tuple[States, Floats]:
        totals = by_class(class_name)
        weights = totals
        for name in features:
            weights = weights[..., None, :] * by_class(name) / np.maximum(totals, np.finfo(float).tiny)
        shape = [arities[name] for name in features]
        codes = np.unravel_index(np.arange(prod(shape)), shape)
        return dict(zip(features, map(np.asarray, codes), strict=True)), weights.sum(axis=-1).ravel()

    def by_class(name: Hashable) -> Floats:
        """Return the weight of every state of a feature with every class, or, of the class, that of every class."""
        wanted = (class_name,) if name == class_name else (name, class_name)
        family = next((own for own in counts.values() if set(wanted) <= set(own.variables)), None)
        if family is None:  # the class does not depend on this feature
            shares = by_class(class_name) / by_class(class_name).sum()
            return np.asarray(np.multiply.outer(summed(counts[name], (name,)), shares))
        return summed(family, wanted)

    def summed(family: FamilyCounts, wanted: tuple[Hashable, ...]) -> Floats:
        others = tuple(k for k, name in enumerate(family.variables) if name not in wanted)
        kept = [name for name in family.variables if name in wanted]
        return np.asarray(family.dense().sum(axis=others).transpose([kept.index(name) for name in wanted]))

    return of_family
