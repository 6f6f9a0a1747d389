"""The terms of a logistic regression as a list: all of them or, if there are too many, those that occur in rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from anbexact._runtime.cached import cached_property
from anbexact.models.logit.design import Design
from anbexact.models.logit.potentials import Floats, Potentials, class_families
from anbexact.models.logit.terms import IndexSet, assignments, coefficients, count_terms, index_sets, seen_terms
from anbexact.models.parameters.counts import Counts
from anbexact.models.structure import Structure
from anbexact.tables.vocabulary import Vocabulary

MANY_COEFFICIENTS = 10_000_000
"""Maximum number of coefficients of a model that lists all its terms.

Larger models list only the terms that occur in the rows from which they were learned or to which they were refitted.
"""
Cells = Mapping[tuple[Hashable, ...], npt.NDArray[np.int64]]
"""The observed cells of families, by their features: positions in the flattened array over these (last fastest)."""


def cells_of_counts(counts: Counts, structure: Structure) -> Cells:
    """Return the cells, over all classes, that were observed in the counts of the families that contain the class."""
    observed = {}
    for name, features in class_families(structure).items():
        family = counts[name]
        codes = dict(zip(family.variables, np.unravel_index(family.cells, family.shape), strict=True))
        arities = dict(zip(family.variables, family.shape, strict=True))
        flat = np.zeros(len(family.cells), dtype=np.int64)
        for feature in features:
            flat = flat * arities[feature] + codes[feature]
        observed[features] = np.unique(flat)
    return observed


def cells_of_design(design: Design) -> Cells:
    """Return the observed cells of a design's families."""
    return dict(zip(design.families.values(), design.observed, strict=True))


class TermList:
    """The listed terms of a structure.

    Parameters
    ----------
    structure : Structure
    vocabulary : Vocabulary
        Names and states of its variables.
    sources : sequence of Cells
        Observed cells, which decide what is listed if there are more than `MANY_COEFFICIENTS` coefficients: a term
        must occur in one of the sources.
    """

    def __init__(self, structure: Structure, vocabulary: Vocabulary, sources: Sequence[Cells]) -> None:
        self._sources = sources
        self._states = vocabulary.states
        self._shape = {name: vocabulary.arity(name) for name in vocabulary.names}
        self.n_contrasts = self._shape[structure.class_name] - 1
        self.sets = index_sets(class_families(structure).values(), vocabulary.features)

    @cached_property
    def n_parameters(self) -> int:
        """Number of coefficients of all terms, listed or not: terms times classes other than the first."""
        return count_terms(self.sets, self._shape) * self.n_contrasts

    @cached_property
    def _positions(self) -> list[npt.NDArray[np.int64] | slice]:
        """For every set, the positions of its listed terms."""
        if self.n_parameters <= MANY_COEFFICIENTS:
            return [slice(None)] * len(self.sets)
        if not self._sources:
            raise ValueError(
                f"the model has {self.n_parameters:,} coefficients, too many to list, and there are no rows that "
                "show which of them matter. predict_proba and to_classifier do not need them."
            )
        return [
            np.unique(np.concatenate([self._shown(of_set, source) for source in self._sources]))
            for of_set in self.sets
        ]

    def _shown(self, of_set: IndexSet, source: Cells) -> npt.NDArray[np.int64]:
        """Return which terms of a set occur in the rows of a source: ascending positions."""
        holder = next((features for features in source if set(features).issuperset(of_set)), None)
        if holder is None:
            return np.zeros(0, dtype=np.int64)
        return seen_terms(of_set, source[holder], holder, self._shape)

    def variables_and_states(self) -> tuple[list[IndexSet], list[tuple[Any, ...]]]:
        """Return the features of every listed term, and their states."""
        variables: list[IndexSet] = []
        states: list[tuple[Any, ...]] = []
        for of_set, positions in zip(self.sets, self._positions, strict=True):
            if isinstance(positions, slice):
                of_terms = list(assignments(of_set, self._states))
            else:
                codes = np.unravel_index(positions, [self._shape[name] - 1 for name in of_set]) if of_set else ()
                columns = [
                    [self._states[name][code + 1] for code in of_feature.tolist()]
                    for name, of_feature in zip(of_set, codes, strict=True)
                ]
                of_terms = list(zip(*columns, strict=True)) if of_set else [()] * len(positions)
            states += of_terms
            variables += [of_set] * len(of_terms)
        return variables, states

    def coefficients(self, potentials: Potentials) -> Floats:
        """Return the coefficients of the listed terms, in nats, shape (terms, classes - 1)."""
        blocks = coefficients(potentials, self.sets)
        parts = [
            block.reshape(prod(block.shape[:-1]), self.n_contrasts)[positions]
            for block, positions in zip(blocks, self._positions, strict=True)
        ]
        return np.concatenate(parts)

    def blocks(self, coefficients: Floats) -> list[Floats]:
        """Return coefficients by set, given those of the listed terms, (terms, classes - 1); others are 0.

        Each has the shape (*states other than the first, classes - 1).
        """
        found, start = [], 0
        for of_set, positions in zip(self.sets, self._positions, strict=True):
            sizes = [self._shape[name] - 1 for name in of_set]
            block = np.zeros((prod(sizes), self.n_contrasts))
            stop = start + len(block[positions])
            block[positions] = coefficients[start:stop]
            found.append(block.reshape(*sizes, self.n_contrasts))
            start = stop
        return found

    def seen(self, source: Cells) -> npt.NDArray[np.bool_]:
        """Return which listed terms occur in the rows of a source, shape (terms,)."""
        parts = []
        for of_set, positions in zip(self.sets, self._positions, strict=True):
            of_terms = np.zeros(prod(self._shape[name] - 1 for name in of_set), dtype=bool)
            of_terms[self._shown(of_set, source)] = True
            parts.append(of_terms[positions])
        return np.concatenate(parts)
