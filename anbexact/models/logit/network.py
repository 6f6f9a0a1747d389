"""Potentials as the conditional tables of a network with that class posterior."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from anbexact.models.logit.potentials import Floats, Potentials, over
from anbexact.models.parameters.tables import ConditionalTable, Tables
from anbexact.models.structure import Structure

SMALLEST = 1e-290
"""Minimum probability in a table: smaller numbers lose digits, and then become 0."""


def posterior_tables(potentials: Potentials, structure: Structure) -> Tables:
    """Return tables of the class and its children, for which ``ln P(c | x) = Σ potentials + a function of x``.

    Children are worked off from the last: its table is its potential, normalised over its states. What the
    normalisation divides by depends on the other parents and the class; as the parents are adjacent (the structure is
    subperfect), there is a parent whose potential depends on all others, and takes it up, or the class does. Up to a
    function of the parents the divisor is free; here it is the one whose logs average to 0 over the classes, so that
    a network's own potentials give back its tables, and others tables near to them.

    This is Algorithm 1 of Feelders and Ivanovs for all joint states at once, with the distributions that it
    leaves free chosen alike for all classes, instead of fixed for the first.

    Parameters
    ----------
    potentials : tuple of Potential
        Those of the class and of all its children, each over its family in the structure.
    structure : Structure
        Subperfect, when restricted to the class and its Markov blanket.

    Returns
    -------
    dict
        A table for the class and for each of its children.

    Raises
    ------
    ValueError
        If a probability is too small for a number: such potentials come from separated classes.
    """
    c = structure.class_name
    order = [name for name in structure.topological_order() if c in structure.parents[name]]
    class_parents = set(structure.parents[c])
    logs = {potential.child: potential.logs for potential in potentials}
    features = {potential.child: potential.features for potential in potentials}
    shape = {name: size for p in potentials for name, size in zip(p.features, p.logs.shape, strict=False)}
    shape[c] = potentials[0].logs.shape[-1]
    tables: Tables = {}

    def table(name: Hashable, values: Floats) -> ConditionalTable:
        parents = structure.parents[name]
        wanted = (name, *parents)
        own = (*features[name], c)
        return ConditionalTable(name, parents, np.ascontiguousarray(values.transpose([own.index(v) for v in wanted])))

    for child in reversed(order):
        values, total = normalised(logs.pop(child), 0)
        tables[child] = table(child, values)
        total -= total.mean(axis=-1, keepdims=True)
        others = features[child][1:]
        heir = c if class_parents.issuperset(others) else max(set(others) - class_parents, key=order.index)
        logs[heir] = logs[heir] + over(total, (*others, c), (*features[heir], c), shape)
    tables[c] = table(c, normalised(logs[c], -1)[0])
    for name, of_name in tables.items():
        if not (of_name.values >= SMALLEST).all():
            raise ValueError(
                f"no network has this posterior in numbers: the table of {name!r} would hold probabilities below "
                f"{SMALLEST:g}, as the coefficients are on their way to infinity. Refit with l2='auto' or a number "
                "above 0."
            )
    return tables


def normalised(logs: Floats, axis: int) -> tuple[Floats, Floats]:
    """Return exponentials that sum to 1 along an axis, and the logs of their divisors, without that axis."""
    largest = logs.max(axis=axis, keepdims=True)
    values = np.exp(logs - largest)
    sums = values.sum(axis=axis, keepdims=True)
    values /= sums
    return values, np.asarray((largest + np.log(sums)).squeeze(axis))
