"""Conditional tables of a structure, estimated from the counts of its families."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from anbexact._runtime.json_checks import listed, numbers, reading, references, whole
from anbexact._runtime.warn import warn
from anbexact.models.parameters.counts import FamilyCounts, check_memory, count_families
from anbexact.models.structure import Structure
from anbexact.scores import BDeu
from anbexact.scores.acll import ACLL, Prior, check_positive
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import Vocabulary

MOST_SHOWN = 1000
"""Maximum number of values of a table that is shown in full; numpy's own abbreviation fails with many axes."""


def shown(values: npt.NDArray[np.float64]) -> str:
    """Return an array as text, a large one by its shape."""
    return repr(values) if values.size <= MOST_SHOWN else f"<array of shape {values.shape}>"


@dataclass(frozen=True, eq=False)
class ConditionalTable:
    """P(variable | parents).

    Attributes
    ----------
    name : Hashable
        The variable.
    parents : tuple
        Its parents, in the order of the axes.
    values : float64 array
        ``values[k, j1, j2, ...]`` is the probability of state k given the parents' states j1, j2, ...;
        sums to 1 over the first axis.
    """

    name: Hashable
    parents: tuple[Hashable, ...]
    values: npt.NDArray[np.float64]

    @property
    def variables(self) -> tuple[Hashable, ...]:
        """The variable, then its parents: the axes of ``values``."""
        return (self.name, *self.parents)

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of states of ``variables``."""
        return self.values.shape

    def __repr__(self) -> str:
        return f"ConditionalTable(name={self.name!r}, parents={self.parents!r}, values={shown(self.values)})"

    def cells(self, codes: Mapping[Hashable, npt.NDArray[np.intp]]) -> tuple[npt.NDArray[np.intp], ...]:
        """Return the positions in ``values`` that belong to codes of the variables: these codes."""
        return tuple(codes[variable] for variable in self.variables)

    def states(self, name: Hashable, vocabulary: Vocabulary) -> Sequence[Any]:
        """Return the states of one of the variables."""
        return vocabulary.states[name]

    def to_dict(self, positions: Mapping[Hashable, int]) -> dict[str, Any]:
        """Return the JSON form, in which variables are numbers, those that they have in ``positions``.

        The last axis runs fastest; where many equal values follow each other, each run is written once.
        """
        flat = np.ascontiguousarray(self.values, dtype=np.float64).ravel()
        bits = flat.view(np.int64)
        starts = np.flatnonzero(np.concatenate([[True], bits[1:] != bits[:-1]]))
        variables = [positions[name] for name in self.variables]
        if 2 * len(starts) > len(flat):
            return {"variables": variables, "values": flat.tolist()}
        runs = np.diff(starts, append=len(flat)).tolist()
        return {"variables": variables, "values": flat[starts].tolist(), "runs": runs}

    @classmethod
    def from_dict(
        cls, described: Mapping[str, Any], names: Sequence[Hashable], vocabulary: Vocabulary
    ) -> ConditionalTable:
        """Return the table that :meth:`to_dict` described; ``names[k]`` is the variable with number k.

        Raises
        ------
        ValueError
            If a field is missing, if the shape does not fit the states of the vocabulary, or if values are not
            probabilities.
        """
        name, *parents = (names[j] for j in references(described["variables"], len(names)))
        shape = [vocabulary.arity(variable) for variable in (name, *parents)]
        size = prod(shape)
        with reading(f"{name!r}"):
            values = numbers(described["values"])
            runs = [whole(run, 1) for run in listed(described["runs"], len(values))] if "runs" in described else None
            if (len(values) if runs is None else sum(runs)) != size:
                raise ValueError(f"its states require {size} probabilities")
            check_memory(size)
            found = cls(name, tuple(parents), (values if runs is None else np.repeat(values, runs)).reshape(shape))
            found.check()
        return found

    def check(self) -> None:
        """Refuse values that are not probabilities."""
        check_probabilities(self.name, self.values)


def check_probabilities(name: Hashable, values: npt.NDArray[np.float64]) -> None:
    """Refuse values of the table of a variable that are not distributions along the first axis."""
    if not ((values >= 0).all() and np.allclose(values.sum(axis=0), 1, rtol=0, atol=1e-6)):
        raise ValueError(f"the table of {name!r} does not contain probabilities, numbers of 0 or more whose sum is 1")


Tables = dict[Hashable, ConditionalTable]
"""The conditional tables of all variables."""


def eap_tables(counts: Mapping[Hashable, FamilyCounts], ess: float = 1.0) -> Tables:
    """Return the expected a posteriori tables under the BDeu prior.

    ``θ_ijk = (N_ijk + α/(q r)) / (N_ij + α/q)``, with r states of the variable, q joint states of its
    parents and equivalent sample size α. A parent configuration without rows gets the uniform distribution.

    Parameters
    ----------
    counts : mapping
        Weighted counts of every family.
    ess : float, default 1.0
        Equivalent sample size α.

    Returns
    -------
    dict
        A table for every variable, in the order of ``counts``.

    Raises
    ------
    ValueError
        If ``ess`` is not a finite number above 0.

    References
    ----------
    Heckerman, Geiger and Chickering, Machine Learning 20 (1995); Sugahara and Ueno, section 2.
    """
    ess = BDeu(ess).ess
    tables = {}
    for name, family in counts.items():
        values = family.dense()
        values += ess / values.size
        values /= values.sum(axis=0)
        tables[name] = ConditionalTable(name, family.parents, values)
    return tables


def ml_tables(counts: Mapping[Hashable, FamilyCounts]) -> Tables:
    """Return the maximum likelihood tables.

    ``θ_ijk = N_ijk / N_ij``. A parent configuration without rows has no such estimate: it gets the uniform
    distribution, with one warning for all of them. A state without rows gets probability 0, so that some rows may be
    impossible under the network.

    Parameters
    ----------
    counts : mapping
        Weighted counts of every family.

    Returns
    -------
    dict
        A table for every variable, in the order of ``counts``.

    Warns
    -----
    UserWarning
        If parent configurations do not occur; the message counts them.

    References
    ----------
    Heckerman, Geiger and Chickering, Machine Learning 20 (1995).
    """
    tables = {}
    unseen = {}
    for name, family in counts.items():
        values = family.dense()
        given = values.sum(axis=0)
        unseen[name] = int(np.sum(given == 0))
        uniform = np.full_like(values, 1 / len(values))
        tables[name] = ConditionalTable(name, family.parents, np.divide(values, given, out=uniform, where=given > 0))
    if any(unseen.values()):
        warn(
            f"{sum(unseen.values())} joint states of parents do not occur, {max(unseen.values())} of them for "
            f"{max(unseen, key=unseen.__getitem__)!r}: there is no maximum likelihood estimate given them, so the "
            "uniform distribution is used"
        )
    return tables


def friedman_tables(counts: Mapping[Hashable, FamilyCounts], pseudo: float = 5.0) -> Tables:
    """Return tables that are smoothed towards the marginal frequencies.

    ``θ_ijk = (N_ijk + N₀ p_ik) / (N_ij + N₀)``, where p_ik is the share of the weight of the rows in which the
    variable has state k. A parent configuration without rows gets p_i; a state without any row gets probability 0, so
    some rows may be impossible under the network. The table of a variable without parents is p_i for any N₀. Without
    any rows, p_i is uniform.

    Parameters
    ----------
    counts : mapping
        Weighted counts of every family.
    pseudo : float, default 5.0
        Pseudo-count N₀ of every parent configuration; 5 is the authors' choice.

    Returns
    -------
    dict
        A table for every variable, in the order of ``counts``.

    Raises
    ------
    ValueError
        If ``pseudo`` is not a finite number above 0.

    References
    ----------
    Friedman, Geiger and Goldszmidt, Machine Learning 29 (1997); Carvalho and Oliveira (2007).
    """
    pseudo = check_positive("pseudo", pseudo)
    tables = {}
    for name, family in counts.items():
        values = family.dense()
        of_states = values.sum(axis=tuple(range(1, values.ndim)))
        frequencies = of_states / of_states.sum() if of_states.any() else np.full(len(values), 1 / len(values))
        values += pseudo * frequencies.reshape(-1, *[1] * (values.ndim - 1))
        values /= values.sum(axis=0)
        tables[name] = ConditionalTable(name, family.parents, values)
    return tables


def acll_tables(
    counts: Mapping[Hashable, FamilyCounts],
    class_name: Hashable,
    prior: Prior = "dirichlet",
    pseudo_count: float = 5.0,
) -> Tables:
    """Return the tables that maximise the approximate conditional log likelihood.

    ``θ_ijck = N+_ijck / Σ_k N+_ijck`` with ``N+_ijck = max(N_ijck + β Σ_c' N_ijc'k, N')``, and ``θ_c`` likewise; see
    :class:`~anbexact.scores.ACLL`, whose local scores are ``Σ M ln θ`` with these θ. The maximum is subject to
    ``θ_ijck ≥ N' / Σ_k N+_ijck``. A parent configuration that does not occur with any class gets the uniform
    distribution.

    Parameters
    ----------
    counts : mapping
        Weighted counts of every family.
    class_name : Hashable
        The class: a parent of every other variable, itself without parents.
    prior, pseudo_count
        Those of :class:`~anbexact.scores.ACLL`: the source of β, and N'.

    Returns
    -------
    dict
        A table for every variable, in the order of ``counts``.

    Raises
    ------
    ValueError
        If the class is not among the parents of a feature, or has parents; for a prior or pseudo-count out of range.

    References
    ----------
    Carvalho, Adão and Mateus, Entropy 15 (2013), Theorem 3.8.
    """
    score = ACLL(prior, pseudo_count)
    tables = {}
    for name, family in counts.items():
        score.check_family(class_name, name, family.parents)
        values = score.parameters(family.dense(), family.variables.index(class_name))
        tables[name] = ConditionalTable(name, family.parents, values)
    return tables


def fit_eap(table: DiscreteTable, structure: Structure, ess: float = 1.0) -> Tables:
    """Return the tables of a structure: :func:`eap_tables` of :func:`count_families`."""
    return eap_tables(count_families(table, structure), ess)
