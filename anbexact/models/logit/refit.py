"""The refit of a network's class posterior by conditional likelihood: design, strength of the prior, fit."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from scipy.special import log_softmax

from anbexact._runtime.arrays import Positions
from anbexact._runtime.by_fields import ByFields
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.tasks import one_blas_thread
from anbexact.models.fidelity import Fidelity
from anbexact.models.logit.design import Design, RowTargets, cell_states, make_design
from anbexact.models.logit.fit import OUT_OF_TIME, Effort, Fit, Stop, fit
from anbexact.models.logit.potentials import Floats, Potentials, class_families, network_potentials
from anbexact.models.logit.prior_precision import Strength, choose_strength, start_of
from anbexact.models.logit.terms import term_name
from anbexact.models.parameters.counts import Counts, count_families
from anbexact.models.parameters.tables import Tables
from anbexact.models.structure import Structure
from anbexact.tables.row_codes import RowCodes
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import Vocabulary

if TYPE_CHECKING:
    from anbexact.models.network.network import TableNetwork

NOTABLE = 0.1
"""Absolute value below which entries of a direction to infinity, whose largest is 1, are not named."""


@dataclass(frozen=True, eq=False)
class Shifts:
    """A refit as a Bayesian multinomial regression: ``P(c | row) ∝ exp(base + Σ_k shift[cells[row, k], c])``.

    The shifts of a term are ``spread @ z @ contrasts.T`` with standard normal z.

    Attributes
    ----------
    base, weights : (rows, classes) arrays
        The log odds without shifts, and the weight of each row for each class.
    cells : (rows, terms) int64 array
        The cell of every row in every term, numbered over all terms.
    spreads : mapping of name to (cells, cells) array
        For every term, a root R of the prior covariance ``R Rᵀ`` of its cells.
    contrasts : (classes, columns) array
        What the columns of z stand for: the classes, or orthonormal contrasts of the classes, which sum to 0.
    """

    base: Floats
    weights: Floats
    cells: Positions
    spreads: Mapping[str, Floats]
    contrasts: Floats


@dataclass(frozen=True, eq=False)
class Refit(ByFields):
    """A network's potentials after a fit by conditional likelihood, and the record of the fit.

    Attributes
    ----------
    potentials : tuple of Potential
        The centre of the prior, with the observed cells shifted.
    l2 : float
        Precision of the prior of every shift.
    strength : Strength or None
        How the precision was chosen; None if it was given.
    fit : Fit
        Where the fit ended.
    design : Design
        The rows.
    seconds : float
        Wall-clock time.
    fidelity : Fidelity or None
        How closely the model follows its teacher; None if it learned from labels alone.
    """

    potentials: Potentials
    l2: float
    strength: Strength | None
    fit: Fit
    design: Design
    seconds: float
    fidelity: Fidelity | None = field(default=None, kw_only=True)

    @property
    def in_time(self) -> bool:
        """Whether the fit, and the choice of the prior or penalty, ended before the time limit."""
        return self.fit.message != OUT_OF_TIME and (self.strength is None or self.strength.complete)

    def as_shifts(self, structure: Structure) -> Shifts:
        """Return the rows and the Gaussian prior of the refit, whose l2 must be above 0, given its structure."""
        design = self.design
        base = design.sums(self.potentials) - design.by_row(self.fit.shift)
        spreads = {
            f"shifts of P({child} | {', '.join(map(str, structure.parents[child]))})": np.eye(len(own)) / self.l2**0.5
            for child, own in zip(design.families, design.observed, strict=True)
        }
        return Shifts(base, design.weights, design.cells.astype(np.int64), spreads, np.eye(design.n_classes))

    def chosen(self) -> dict[str, Any]:
        """Return what the refit chose from its rows, as parameters with which similar rows are refitted alike."""
        return {} if self.strength is None else {"l2": self.l2}

    def in_order_of(self, rows: RowCodes, index: pd.Index[Any]) -> Refit:
        """Return the refit, with the order and the labels of its rows if l2 is 0: statsmodels' results need them."""
        return replace(self, design=self.design.in_order_of(rows, index)) if self.l2 == 0 else self

    def following(self, teacher: Floats | None, rows: RowCodes) -> Self:
        """Return the refit with its fidelity to a teacher, whose probabilities of its rows are (rows, classes)."""
        if teacher is None:
            return self
        logs = log_softmax(self.design.sums(self.potentials), axis=1)
        return replace(self, fidelity=Fidelity.of(logs[self.design.places_of(rows)], teacher, rows.weights))

    def diverging(self, vocabulary: Vocabulary) -> list[str]:
        """Return the coefficients that go to infinity if the classes are separated, the steepest first."""
        direction, c = self.fit.direction, vocabulary.class_name
        if direction is None or c is None:
            return []
        found = []
        order = np.argsort(-np.abs(direction), axis=None, kind="stable")
        for place in order[: int((np.abs(direction) > NOTABLE).sum())]:
            cell, class_code = divmod(int(place), direction.shape[1])
            name = term_name(*cell_states(self.design, cell, vocabulary.states), " & ")
            end = 1 if direction[cell, class_code] > 0 else 0
            found.append(f"{name}: {c}={vocabulary.states[c][class_code]} -> {end}")
        return found

    def facts(self, vocabulary: Vocabulary) -> dict[str, Any]:
        """Return the facts that only some kinds of refits have; here there are none."""
        return {}

    def complaint(self, vocabulary: Vocabulary) -> str:
        """Return the reason why the fit is not as requested; empty if it is."""
        if self.fit.separated:
            terms = self.diverging(vocabulary)
            shown = "; ".join(terms[:5]) + (f"; and {len(terms) - 5} more" if len(terms) > 5 else "")
            return (
                f"the refit has no finite maximum: the classes are separated ({shown}). The coefficients returned "
                "are on their way to infinity: use l2='auto' or a number above 0"
            )
        if not self.fit.converged:
            return (
                f"the refit did not converge: {self.fit.message or 'its gradient does not vanish'} (after "
                f"{self.fit.iterations} iterations the largest component is {self.fit.gradient:.2g} per row)"
            )
        if self.strength is not None and not self.strength.complete:
            return (
                f"the prior of the refit may be too strong: time_limit ended the search for its strength after "
                f"{len(self.strength.tried)} values, and l2 is {self.l2:.4g}"
            )
        return ""

    def to_dict(self, positions: Mapping[Hashable, int]) -> dict[str, Any]:
        """Return the JSON form, in which variables are given by their numbers in ``positions``."""
        return {
            "l2": self.l2,
            "seconds": self.seconds,
            "strength": self.strength and self.strength.to_dict(),
            "fit": self.fit.to_dict(),
            "rows": self.design.to_dict(positions),
            **({} if self.fidelity is None else {"fidelity": self.fidelity.to_dict()}),
        }

    @classmethod
    def from_dict(cls, described: Mapping[str, Any], network: TableNetwork) -> Refit:
        """Return the refit of a network that :meth:`to_dict` described.

        Raises
        ------
        ValueError
            If the description does not match the network, or is inconsistent.
        """
        design = Design.from_dict(described["rows"], network.structure, network.vocabulary)
        strength = described["strength"]
        found = Fit.from_dict(described["fit"], (design.n_cells, design.n_classes))
        return cls(
            design.shifted(network_potentials(network.tables, network.structure), found.shift),
            float(described["l2"]),
            strength and Strength.from_dict(strength),
            found,
            design,
            float(described["seconds"]),
            fidelity=Fidelity.from_dict(described),
        )


def refit(
    table: DiscreteTable,
    structure: Structure,
    tables: Tables,
    *,
    relearn: Callable[[DiscreteTable], Tables] | None = None,
    l2: float | str = "auto",
    effort: Effort | None = None,
    by: RowTargets | None = None,
) -> Refit:
    """Maximise the conditional log likelihood over the potentials of a network, starting from its own.

    The objective is ``Σ_t w_t ln P(c_t | x_t) - l2/2 Σ (ln φ - ln θ)²`` with ``P(c | x) ∝ Π φ``: the log of every
    entry φ of the tables of the class and its children has a Gaussian prior of precision l2 around ln θ, where θ is
    the entry of the network. Entries without rows stay at θ.

    Parameters
    ----------
    table : DiscreteTable
        The rows; its vocabulary must be that of the network.
    structure, tables
        The network.
    relearn : callable, optional
        Takes a table of some rows and returns the network's tables, learned again from these; needed with
        ``l2="auto"`` if ``tables`` were learned from the rows of ``table``.
    l2 : float or "auto", default "auto"
        Precision of the prior; 0 for no prior, ``"auto"`` for the choice of :func:`.choose_strength`.
    effort : Effort, optional
        Limits of the fit.
    by : RowTargets, optional
        The rows of the table one by one, with their targets and groups.

    Raises
    ------
    ValueError
        For an ``l2`` or ``max_iter`` that is not allowed, or a network with zeros.
    """
    l2 = check_l2(l2)
    effort = effort or Effort()
    check_max_iter(effort.max_iter)
    deadline = Deadline(effort.time_limit)
    centre = network_potentials(tables, structure)
    design = make_design(table, class_families(structure))
    design = design if by is None else design.taught(by)

    def learned(weights: Floats) -> Potentials:
        if relearn is None:
            return centre
        return network_potentials({**tables, **relearn(design.table(weights, table.vocabulary))}, structure)

    strength, start = None, None
    with one_blas_thread():
        if isinstance(l2, str):
            strength, start = choose_strength(
                design,
                learned,
                threads=effort.threads,
                deadline=Deadline(effort.time_limit and effort.time_limit / 2),
                progress=effort.progress,
            )
            l2 = strength.l2
        else:
            start = start_of(design, centre, l2, effort.max_iter, deadline)
        stop = Stop(max_iter=effort.max_iter, deadline=deadline, progress=effort.progress)
        found = fit(design, centre, l2, start=start, stop=stop)
    if effort.progress is not None:
        effort.progress("refit", 1.0)
    moved = design.shifted(centre, found.shift)
    return Refit(moved, l2, strength, found, replace(design, folding=None), deadline.elapsed)


def check_l2(l2: Any) -> float | str:
    """Refuse a value that is not a precision of a prior."""
    if isinstance(l2, str) and l2 == "auto":
        return l2
    if isinstance(l2, bool | str) or not isinstance(l2, Real) or not 0 <= float(l2) < float("inf"):
        raise ValueError(f"l2 must be 'auto' or a finite number, 0 or more, not {l2!r}")
    return float(l2)


def check_max_iter(max_iter: Any) -> None:
    """Refuse a value that is not a number of iterations."""
    if isinstance(max_iter, bool) or not isinstance(max_iter, Integral) or int(max_iter) < 1:
        raise ValueError(f"max_iter must be a whole number above 0, not {max_iter!r}")


def blanket_counts(table: DiscreteTable, structure: Structure) -> Counts:
    """Return the counts of the families that contain the class; the table may lack the variables of others."""
    families = class_families(structure)
    return {name: family for name, family in count_families(table, _blanket(structure)).items() if name in families}


def same_counts(one: Counts, other: Counts) -> bool:
    """Return whether counts of the same families are equal, up to rounding."""
    return all(
        np.array_equal(family.cells, other[name].cells)
        and np.allclose(family.weights, other[name].weights, rtol=1e-9, atol=0)
        for name, family in one.items()
    )


def _blanket(structure: Structure) -> Structure:
    """Return the structure of the class and its Markov blanket; variables whose family lacks the class are roots."""
    families = class_families(structure)
    names = dict.fromkeys(name for features in families.values() for name in features)
    parents = {name: structure.parents[name] if name in families else () for name in (*names, structure.class_name)}
    return Structure(structure.class_name, parents, structure.score, structure.certificate)
