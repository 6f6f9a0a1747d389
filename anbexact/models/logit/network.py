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

    Children are taken from the last to the first. The table of a child is its potential, normalised over its states.
    The divisor depends on the class and the other parents, and has to be added to another potential. Because the
    structure is subperfect, the parents are adjacent, so there is one whose potential depends on all of them; if all
    are parents of the class, the potential of the class does. Any function of the features may be taken from the log
    divisors. Here it is their mean over the classes, so that a network's own potentials give back its tables, and
    similar potentials give similar tables.

    This is Algorithm 1 of Feelders and Ivanovs for all joint states at once. It leaves some distributions free; these
    are chosen alike for all classes here, instead of being fixed for the first.

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
        If a probability would be smaller than `SMALLEST`, as happens after a refit in which classes are separated.
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
                f"no network can represent this posterior: the table of {name!r} would hold probabilities below "
                f"{SMALLEST:g}, because the coefficients are on their way to infinity. Refit with l2='auto' or a "
                "number above 0."
            )
    return tables


def normalised(logs: Floats, axis: int) -> tuple[Floats, Floats]:
    """Return exponentials that sum to 1 along an axis, and the logs of their divisors, without that axis."""
    largest = logs.max(axis=axis, keepdims=True)
    values = np.exp(logs - largest)
    sums = values.sum(axis=axis, keepdims=True)
    values /= sums
    return values, np.asarray((largest + np.log(sums)).squeeze(axis))
