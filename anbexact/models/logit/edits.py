"""Changes by hand, with what each of them costs: what they have in common, and those of a logistic regression."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from anbexact._runtime.arrays import Floats
from anbexact._runtime.json_checks import listed, mapped, number, numbers, references, text
from anbexact.models.logit.potentials import Potential, Potentials
from anbexact.models.structure import Structure
from anbexact.tables.cuts import Cuts
from anbexact.tables.vocabulary import UNKNOWN, Vocabulary

SHAPE, ARC, ADDED = "shape", "arc", "added arc"
"""What is edited: the values of a shape; an arc, which is removed; or an arc, which is added."""
EMPTY = 1e-9
"""Share of the largest weight that a cell without rows has when an interaction is removed."""


@dataclass(frozen=True)
class EditCost:
    """The log loss before and after an edit, ``-ln P(class | row)``, in nats per row.

    Attributes
    ----------
    before, after, difference : float
        Weighted means over the rows; the difference is ``after`` minus ``before``.
    before_error, after_error, difference_error : float
        Their standard errors over rows. That of the difference is paired: both models predict the same rows.
    weight : float
        The total weight of the rows.
    training : bool
        Whether they are the rows of the refit, which the model was fitted to, or others that were passed.
    """

    before: float
    before_error: float
    after: float
    after_error: float
    difference: float
    difference_error: float
    weight: float
    training: bool

    def __str__(self) -> str:
        rows = "training rows" if self.training else "rows"
        return (
            f"log loss {self.before:.4f} before and {self.after:.4f} after, difference {self.difference:+.4f} "
            f"(standard error {self.difference_error:.4f}) nats per row, {self.weight:,.6g} {rows}"
        )


@dataclass(frozen=True, eq=False)
class LoggedEdit:
    """A change by hand, as a log lists it: of the points of a scorecard, or of a logistic regression.

    Attributes
    ----------
    features : tuple
        The features of the table of points, or of the term.
    text : str
        The change in words.
    reason : str
        Why it was made.
    cost : EditCost or None
        What it costs; None if no rows were known.
    """

    features: tuple[Hashable, ...]
    text: str
    reason: str
    cost: EditCost | None

    def __str__(self) -> str:
        why = f" ({self.reason})" if self.reason else ""
        return f"{self.text}{why}: {self.cost if self.cost is not None else 'cost not measured'}"

    def record(self) -> dict[str, Any]:
        """Return the edit as a row of a table."""
        cost = self.cost
        values = {of.name: None if cost is None else getattr(cost, of.name) for of in fields(EditCost)}
        return {"edit": self.text, "reason": self.reason, **values}

    def to_dict(self, positions: Mapping[Hashable, int]) -> dict[str, Any]:
        """Return the JSON form, in which variables are given by their numbers in ``positions``."""
        return {
            "features": [positions[name] for name in self.features],
            "text": self.text,
            "reason": self.reason,
            "cost": None if self.cost is None else asdict(self.cost),
        }

    @classmethod
    def from_dict(cls, described: Mapping[str, Any], vocabulary: Vocabulary) -> LoggedEdit:
        """Return the edit that :meth:`to_dict` described.

        Raises
        ------
        ValueError
            If it does not match the vocabulary.
        """
        names = vocabulary.names
        features = tuple(names[j] for j in references(described["features"], len(names)))
        cost = described["cost"]
        if cost is not None:
            known = {of.name: mapped(cost)[of.name] for of in fields(EditCost)}
            training = bool(known.pop("training"))
            cost = EditCost(**{name: number(value) for name, value in known.items()}, training=training)
        return LoggedEdit(features, text(described["text"]), text(described["reason"]), cost)


@dataclass(frozen=True, eq=False)
class Edit(LoggedEdit):
    """A change of a :class:`~anbexact.adapters.LogitModel` by hand.

    Its ``features`` are those of the term; of an arc, the child, the parent, and, if it was removed, the other
    parents of the child.

    Attributes
    ----------
    kind : {"shape", "arc", "added arc"}
        Whether values of a shape were changed, or an arc was removed or added.
    change : (*states, classes) float64
        What was added to the term, in nats; 0 for an arc that was added, with which tables or shapes were learned
        again.
    """

    kind: str
    change: Floats

    def to_dict(self, positions: Mapping[Hashable, int]) -> dict[str, Any]:
        """Return the JSON form; see :meth:`LoggedEdit.to_dict`."""
        return {"kind": self.kind, **super().to_dict(positions), "change": self.change.ravel().tolist()}

    @classmethod
    def from_dict(cls, described: Mapping[str, Any], vocabulary: Vocabulary) -> Edit:
        """Return the edit that :meth:`to_dict` described.

        Raises
        ------
        ValueError
            If it does not match the vocabulary.
        """
        kind = text(described["kind"])
        if kind not in (SHAPE, ARC, ADDED):
            raise ValueError(f"an edit is of the kind {SHAPE!r}, {ARC!r} or {ADDED!r}, not {kind!r}")
        logged = LoggedEdit.from_dict(described, vocabulary)
        shape = [vocabulary.arity(name) for name in (*logged.features, vocabulary.class_name)]
        change = numbers(listed(described["change"], int(np.prod(shape)))).reshape(shape)
        return cls(logged.features, logged.text, logged.reason, logged.cost, kind, change)


def apply_edit(edit: Edit, potentials: Potentials, structure: Structure) -> tuple[Potentials, Structure]:
    """Return potentials and structure after an edit.

    A change of a shape is added to the smallest potential that has all its features. After the removal of an arc, the
    potential of the child is a sum of a function without the parent, which stays, and a function without the child,
    which is added to another potential; see :func:`without_interaction`. Potentials and structure have an added arc
    already.

    Raises
    ------
    ValueError
        If no potential has the features.
    """
    if edit.kind == ADDED:
        return potentials, structure
    holder = holding(potentials, edit.features)
    changed = _added(holder, edit.features, edit.change)
    if edit.kind == SHAPE:
        return tuple(changed if of is holder else of for of in potentials), structure
    child, parent, *rest = edit.features
    logs = _in_order(changed, edit.features).logs
    moved = logs[0] - logs[0, :1]
    own = Potential(child, (child, *rest), logs[:, 0])
    heir = heir_of(potentials, edit.features)
    given = _added(heir, (parent, *rest), moved)
    parents = {
        name: tuple(of for of in above if name != child or of != parent) for name, above in structure.parents.items()
    }
    found = tuple(own if of is holder else given if of is heir else of for of in potentials)
    return found, Structure.given(structure.class_name, parents, float("nan"))


def holding(potentials: Potentials, features: Sequence[Hashable]) -> Potential:
    """Return the smallest potential that has all these features.

    Raises
    ------
    ValueError
        If there is none; the message names what would do.
    """
    holders = [of for of in potentials if set(of.features).issuperset(features)]
    if holders:
        return min(holders, key=lambda of: len(of.features))
    known = list(dict.fromkeys(name for of in potentials for name in of.features))
    unknown = [name for name in features if name not in known]
    if unknown:
        raise ValueError(f"the class does not depend on {unknown[0]!r}; it depends on {known}")
    near = list(dict.fromkeys(name for of in potentials if features[0] in of.features for name in of.features))
    raise ValueError(f"no term has {' and '.join(map(repr, features))} together; terms of the first have {near}")


def heir_of(potentials: Potentials, features: Sequence[Hashable]) -> Potential:
    """Return a potential other than that of the child which has all its parents.

    Raises
    ------
    ValueError
        If there is none.
    """
    child, parent, *rest = features
    heirs = [of for of in potentials if of.child != child and set(of.features).issuperset((parent, *rest))]
    if not heirs:
        raise ValueError(
            f"the arc from {parent!r} to {child!r} cannot be removed, because no other term has all parents of "
            f"{child!r}: call close() first, which adds the missing arcs"
        )
    return min(heirs, key=lambda of: len(of.features))


def without_interaction(logs: Floats, weights: Floats) -> Floats:
    """Return the nearest function without an interaction of its first two features.

    For every state z of the other features and every class c, it is the sum ``g(x, z, c) + h(y, z, c)`` with the
    least ``Σ_{x,y} w(x, y, z) (f(x, y, z, c) - g - h)²``.

    Parameters
    ----------
    logs : (states of x, states of y, *states of z, classes) float64
    weights : (states of x, states of y, *states of z) float64
    """
    n, m = logs.shape[:2]
    values = logs.reshape(n * m, -1, logs.shape[-1])
    own = weights.reshape(n * m, -1) + max(float(weights.max()), 1.0) * EMPTY
    basis = np.hstack([np.kron(np.eye(n), np.ones((m, 1))), np.kron(np.ones((n, 1)), np.eye(m))])
    found = np.empty_like(values)
    for z in range(values.shape[1]):
        root = np.sqrt(own[:, z])[:, None]
        found[:, z] = basis @ np.linalg.lstsq(root * basis, root * values[:, z], rcond=None)[0]
    return found.reshape(logs.shape)


def cost_of(before: Floats, after: Floats, weights: Floats, *, training: bool) -> EditCost:
    """Return the cost of an edit, given ``ln P(true class | row)`` before and after it.

    ``weights`` of training rows are numbers of rows; others are weights of single rows.
    """
    total = float(weights.sum())

    def mean_and_error(losses: Floats) -> tuple[float, float]:
        mean = float(weights @ losses) / total
        of_squares = weights if training else weights**2
        return mean, float(np.sqrt(of_squares @ (losses - mean) ** 2)) / total

    parts = (*mean_and_error(-before), *mean_and_error(-after), *mean_and_error(before - after))
    return EditCost(*parts, weight=total, training=training)


def read_state(vocabulary: Vocabulary, cut_points: Mapping[Hashable, Cuts], name: Hashable, value: Any) -> int:
    """Return the code of a state, given by its name, by a value, or by a number within an interval.

    Raises
    ------
    ValueError
        If there is no such state.
    """
    code = vocabulary.code(name, value)
    if code == UNKNOWN and name in cut_points and not isinstance(value, str) and name not in vocabulary.quantities:
        code = int(np.searchsorted(cut_points[name], float(value), side="left"))
    if code == UNKNOWN:
        raise ValueError(f"{value!r} is not a state of {name!r}; the states are {list(vocabulary.states[name])}")
    return code


def _added(potential: Potential, features: Sequence[Hashable], change: Floats) -> Potential:
    """Return a potential to which a function of some of its features was added."""
    present = [name for name in potential.features if name in features]
    ordered = change.transpose([*(list(features).index(name) for name in present), change.ndim - 1])
    lengths = [
        size if name in features else 1 for name, size in zip(potential.features, potential.logs.shape, strict=False)
    ]
    return Potential(potential.child, potential.features, potential.logs + ordered.reshape(*lengths, -1))


def _in_order(potential: Potential, features: Sequence[Hashable]) -> Potential:
    """Return a potential with another order of its features."""
    axes = [potential.features.index(name) for name in features]
    return Potential(potential.child, tuple(features), potential.logs.transpose([*axes, len(axes)]))
