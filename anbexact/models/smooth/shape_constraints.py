"""Conditions on shapes: monotone, convex or concave along a feature, cyclic, or flat beyond bounds."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from anbexact._runtime.json_checks import listed, number, whole
from anbexact.models.logit.potentials import Floats
from anbexact.models.smooth.cone import Cone
from anbexact.models.smooth.terms import Axis, SmoothTerm, full_axis
from anbexact.tables.cuts import Cuts
from anbexact.tables.vocabulary import Vocabulary

Pair = tuple[int, int]
"""Numbers of two classes: the log odds of the first against the second."""
KINDS = ("monotone", "convex")
"""Kinds of conditions: log odds do not fall, or their slope does not."""


@dataclass(frozen=True)
class Demand:
    """A condition on what a feature adds to the log odds of pairs of classes, all other features being fixed.

    Attributes
    ----------
    feature : Hashable
    kind : {"monotone", "convex"}
        Log odds that may not rise, or must be concave, are those of the second class against the first.
    pairs : tuple of Pair
    """

    feature: Hashable
    kind: str
    pairs: tuple[Pair, ...]


@dataclass(frozen=True)
class ShapeConstraints:
    """All conditions on the shapes of a refit.

    Attributes
    ----------
    demands : tuple of Demand
    cyclic : tuple of features
        Features whose last state is followed by the first.
    flat : mapping of feature to (low, high)
        Shapes are constant below ``low`` and above ``high``; None for no bound.
    class_order : tuple of int or None
        The numbers of the classes from the lowest to the highest if each is compared with the one below it by the
        same shapes; None if every class has shapes of its own.
    """

    demands: tuple[Demand, ...] = ()
    cyclic: tuple[Hashable, ...] = ()
    flat: Mapping[Hashable, tuple[float | None, float | None]] | None = None
    class_order: tuple[int, ...] | None = None

    def __bool__(self) -> bool:
        return bool(self.demands or self.cyclic or self.flat or self.class_order)

    @property
    def fine(self) -> set[Hashable]:
        """The features whose axes are not merged in interactions: no step function on coarser groups is convex."""
        return {demand.feature for demand in self.demands if demand.kind == "convex"}

    def axes(
        self, vocabulary: Vocabulary, ordered: Collection[Hashable], cuts: Mapping[Hashable, Cuts]
    ) -> dict[Hashable, Axis]:
        """Return the axes of cyclic features, and of those that are flat beyond bounds."""
        found = {}
        for name in {*self.cyclic, *(self.flat or {})}:
            axis = full_axis(vocabulary, name, name in ordered)
            groups = axis.groups.copy()
            if self.flat and name in self.flat:
                groups = _flat_groups(axis, *self.flat[name], _ends(vocabulary, name, axis, cuts))
            merged = int(axis.size - 1 - groups.max())
            found[name] = Axis(name, groups, axis.size - merged, axis.ordered - merged, name in self.cyclic)
        return found

    def texts(self, classes: Sequence[Any]) -> dict[str, str]:
        """Return the conditions as text for a reader, by feature."""
        found: dict[Hashable, list[str]] = {}
        for demand in self.demands:
            said = "do not fall" if demand.kind == "monotone" else "are convex"
            if len(classes) == 2:
                ((up, _),) = demand.pairs
                opposite = "do not rise" if demand.kind == "monotone" else "are concave"
                text = f"log odds of {classes[1]} {said if up == 1 else opposite}"
            else:
                text = f"log odds {said}: " + ", ".join(f"{classes[a]} against {classes[b]}" for a, b in demand.pairs)
            found.setdefault(demand.feature, []).append(text)
        for name in self.cyclic:
            found.setdefault(name, []).append("cyclic")
        for name, (low, high) in (self.flat or {}).items():
            ends = [f"below {low:g}"] * (low is not None) + [f"above {high:g}"] * (high is not None)
            found.setdefault(name, []).append("flat " + " and ".join(ends))
        return {str(name): "; ".join(texts) for name, texts in found.items()}

    def to_dict(self, positions: Mapping[Hashable, int]) -> dict[str, Any]:
        """Return the JSON form, in which features are given by their numbers in ``positions``."""
        return {
            "demands": [
                [positions[demand.feature], demand.kind, [list(pair) for pair in demand.pairs]]
                for demand in self.demands
            ],
            "cyclic": [positions[name] for name in self.cyclic],
            "flat": [[positions[name], *ends] for name, ends in (self.flat or {}).items()],
            **({} if self.class_order is None else {"class_order": list(self.class_order)}),
        }

    @classmethod
    def from_dict(cls, described: Mapping[str, Any], names: Sequence[Hashable], n_classes: int) -> ShapeConstraints:
        """Return the conditions that :meth:`to_dict` described; ``names[k]`` is the feature with number k."""
        most = len(names) - 1
        demands = []
        for j, kind, pairs in described["demands"]:
            if kind not in KINDS:
                raise ValueError(f"a condition on shapes must be one of {', '.join(KINDS)}, not {kind!r}")
            own = tuple((whole(a, 0, n_classes - 1), whole(b, 0, n_classes - 1)) for a, b in pairs)
            demands.append(Demand(names[whole(j, 0, most)], kind, own))
        flat = {
            names[whole(j, 0, most)]: (None if low is None else number(low), None if high is None else number(high))
            for j, low, high in described["flat"]
        }
        order = None
        if "class_order" in described:
            order = tuple(whole(k, 0, n_classes - 1) for k in listed(described["class_order"], n_classes))
            if len(set(order)) < n_classes:
                raise ValueError("the order of the classes must have every class once")
        return cls(tuple(demands), tuple(names[whole(j, 0, most)] for j in described["cyclic"]), flat, order)


@dataclass(frozen=True)
class AskedConstraints:
    """Conditions as they are passed by name; see :meth:`anbexact.adapters.LogitModel.refit`.

    ``class_order`` has the numbers of the classes from the lowest to the highest if they share their shapes.
    Conditions then are on the log odds of the highest against the lowest, and so of every class against those below
    it.
    """

    monotone: Any = None
    convex: Any = None
    concave: Any = None
    cyclic: Any = ()
    flat_beyond: Any = None
    class_order: tuple[int, ...] | None = None

    def __bool__(self) -> bool:
        """Whether there are conditions; an order of the classes does not count."""
        return any(bool(value) for value in (self.monotone, self.convex, self.concave, self.cyclic, self.flat_beyond))

    def check(self) -> None:
        """Refuse values of wrong types, and conditions that contradict each other whatever the table."""
        for name in ("monotone", "flat_beyond"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, Mapping):
                example = '{"age": 1}' if name == "monotone" else '{"age": (20, 80)}'
                raise ValueError(f"{name} must be a mapping of features, such as {example}, not {value!r}")
        for name in ("convex", "concave", "cyclic"):
            value = getattr(self, name)
            if isinstance(value, str) or not (value is None or isinstance(value, Collection)):
                raise ValueError(f'{name} must be a list of features, such as ["age"], not {value!r}')
        for name, value in (self.monotone or {}).items():
            for sign in value.values() if isinstance(value, Mapping) else (value,):
                if isinstance(sign, bool) or not isinstance(sign, Real) or sign not in (1, -1):
                    raise ValueError(
                        f"monotone[{name!r}] must be 1 if log odds may not fall, or -1 if they may not rise, "
                        f"not {sign!r}"
                    )
        for name, ends in (self.flat_beyond or {}).items():
            pair = isinstance(ends, Sequence) and not isinstance(ends, str) and len(ends) == 2
            known = [end for end in ends if end is not None] if pair else []
            valid = all(not isinstance(end, bool) and isinstance(end, Real) and end == end for end in known)
            if not known or not valid or (len(known) == 2 and not known[0] < known[1]):
                raise ValueError(
                    f"flat_beyond[{name!r}] must be two increasing numbers, or one and None, such as (20, 80) or "
                    f"(None, 80), not {ends!r}"
                )
        for name in self.cyclic or ():
            for other in ("monotone", "convex", "concave", "flat_beyond"):
                if name in (getattr(self, other) or ()):
                    raise ValueError(
                        f"{name!r} is in cyclic and in {other}: only a constant shape is both. Remove it from one of "
                        "them"
                    )

    def read(self, vocabulary: Vocabulary, ordered: Collection[Hashable]) -> ShapeConstraints:
        """Return the conditions for a table.

        Parameters
        ----------
        vocabulary : Vocabulary
        ordered : collection of features
            Those whose states have an order.

        Raises
        ------
        ValueError
            For a feature that is unknown or has no order, an unknown class, three or more classes none of which is
            named, or conditions that contradict each other.
        """
        self.check()
        for option in ("monotone", "convex", "concave", "cyclic", "flat_beyond"):
            for name in getattr(self, option) or ():
                if name not in vocabulary.features:
                    raise ValueError(
                        f"{option} names {name!r}, which is not a feature (features: "
                        f"{', '.join(map(repr, vocabulary.features))})"
                    )
                if name not in ordered:
                    states = ", ".join(map(repr, vocabulary.observed_states(name)[:3]))
                    raise ValueError(
                        f"{option} names {name!r}, whose states ({states}, …) have no order: name it in ordered, "
                        "too, if their order is the one in which they are listed, or leave it out"
                    )
        classes = vocabulary.classes.tolist()
        demands: dict[tuple[Hashable, str], dict[Pair, None]] = {}
        for name, value in (self.monotone or {}).items():
            signs = value if isinstance(value, Mapping) else {None: value}
            for label, sign in signs.items():
                pairs = _pairs("monotone", name, label, classes, self.class_order)
                _add(demands, (name, "monotone"), pairs, flipped=sign < 0)
        for option in ("convex", "concave"):
            asked = getattr(self, option) or ()
            for name in asked:
                labels = asked[name] if isinstance(asked, Mapping) else None
                several = isinstance(labels, Collection) and not isinstance(labels, str)
                for label in list(labels) if several else [labels]:  # type: ignore[arg-type]  # a collection then
                    pairs = _pairs(option, name, label, classes, self.class_order)
                    _add(demands, (name, "convex"), pairs, flipped=option == "concave")
        for (name, kind), own in demands.items():
            for a, b in own:
                if (b, a) in own:
                    said = (
                        "may neither rise nor fall, as both classes ask for the same direction: give a direction for "
                        "one of them"
                        if kind == "monotone"
                        else "must be both convex and concave: for a straight line, use a large strength, "
                        f"smooth={{'curvature': {{{name!r}: 1e6}}}}, and remove it from both"
                    )
                    raise ValueError(
                        f"the conditions on {name!r} contradict each other: log odds of {classes[a]!r} against "
                        f"{classes[b]!r} {said}"
                    )
        flat = {
            name: tuple(None if end is None else float(end) for end in ends)
            for name, ends in (self.flat_beyond or {}).items()
        }
        found = tuple(Demand(name, kind, tuple(pairs)) for (name, kind), pairs in demands.items())
        cyclic = tuple(self.cyclic or ())
        return ShapeConstraints(found, cyclic, flat, self.class_order)  # type: ignore[arg-type]  # two ends each


def _add(
    demands: dict[tuple[Hashable, str], dict[Pair, None]],
    key: tuple[Hashable, str],
    pairs: Sequence[Pair],
    *,
    flipped: bool,
) -> None:
    """Add pairs of classes to a condition, with the classes exchanged if it is ``flipped``."""
    demands.setdefault(key, {}).update(dict.fromkeys((b, a) if flipped else (a, b) for a, b in pairs))


def _pairs(
    option: str, feature: Hashable, label: Any, classes: list[Any], class_order: Sequence[int] | None
) -> list[Pair]:
    """Return the pairs of classes of a condition: of a class, by default the second of two, against all others.

    Of classes in an order, it is the pair of the highest and the lowest.
    """
    if class_order is not None:
        lowest, highest = class_order[0], class_order[-1]
        if label not in (None, classes[lowest], classes[highest]):
            raise ValueError(
                f"{option} names {label!r} for {feature!r}, but with ordered_classes shapes are those of higher "
                f"against lower classes: name no class, the highest one, {classes[highest]!r}, or the lowest one, "
                f"{classes[lowest]!r}"
            )
        if len(classes) < 2:
            return []
        of_lowest = label is not None and label == classes[lowest]
        return [(lowest, highest) if of_lowest else (highest, lowest)]
    if label is None:
        if len(classes) > 2:
            given = (
                f"{{{feature!r}: {{{classes[-1]!r}: 1}}}}"
                if option == "monotone"
                else f"{{{feature!r}: {classes[-1]!r}}}"
            )
            raise ValueError(
                f"{option} names no class for {feature!r}, but there are {len(classes)} classes: name the one whose "
                f"odds are meant, as in {option}={given}"
            )
        return [(a + 1, a) for a in range(len(classes) - 1)]
    if label not in classes:
        raise ValueError(f"{option} names {label!r} for {feature!r}, which is not one of the classes {classes}")
    own = classes.index(label)
    return [(own, other) for other in range(len(classes)) if other != own]


def _ends(
    vocabulary: Vocabulary, feature: Hashable, axis: Axis, cuts: Mapping[Hashable, Cuts]
) -> tuple[Floats, Floats]:
    """Return the lowest and the highest value of every state in the order: intervals, or numbers."""
    n = int((axis.groups < axis.ordered).sum())
    if feature in cuts:
        own = np.asarray(cuts[feature], dtype=np.float64)
        return np.append(-np.inf, own), np.append(own, np.inf)
    states = vocabulary.observed_states(feature)
    if not all(type(state) in (int, float) for state in states):
        raise ValueError(
            f"flat_beyond names {feature!r}, whose states are neither numbers nor intervals of numbers: leave it out"
        )
    values = np.array(states[:n], dtype=np.float64)
    return values, values


def _flat_groups(axis: Axis, low: float | None, high: float | None, ends: tuple[Floats, Floats]) -> Any:
    """Return the groups of the states if those that reach beyond the bounds are merged with all beyond them."""
    lowest, highest = ends
    n = axis.ordered
    if lowest is highest:  # numbers; the bounds belong to what is flat
        last_low = -1 if low is None else int(np.searchsorted(lowest, low, side="right")) - 1
        first_high = n if high is None else int(np.searchsorted(highest, high, side="left"))
    else:  # intervals (lowest, highest], those within which a bound lies included
        last_low = -1 if low is None else int(np.searchsorted(lowest, low, side="left")) - 1
        first_high = n if high is None else int(np.searchsorted(highest, high, side="right"))
    if last_low >= first_high:
        raise ValueError(
            f"flat_beyond[{axis.feature!r}] leaves one interval only: use bounds that are farther apart, or more "
            "intervals"
        )
    first, last = max(last_low, 0), min(first_high, n - 1)
    groups = np.clip(np.arange(n), first, last) - first
    return np.append(groups, np.arange(axis.size - n) + groups[-1] + 1)


def positions(vocabulary: Vocabulary, feature: Hashable, n_states: int, cuts: Mapping[Hashable, Cuts]) -> Floats:
    """Return where the states of a feature lie, for its slopes.

    Numbers lie where they are, and intervals at their middle. The first and the last interval, which have no ends,
    count as wide as their neighbours. Other states lie at equal distances.
    """
    if feature in cuts and len(cuts[feature]) > 1:
        own = np.asarray(cuts[feature], dtype=np.float64)
        ends = np.concatenate([[2 * own[0] - own[1]], own, [2 * own[-1] - own[-2]]])
        return np.asarray((ends[1:] + ends[:-1]) / 2)
    states = vocabulary.observed_states(feature)[:n_states]
    if feature not in cuts and all(type(state) in (int, float) for state in states):
        values = np.array(states, dtype=np.float64)
        if (np.diff(values) > 0).all():
            return values
    return np.arange(n_states, dtype=np.float64)


def _state_forms(kind: str, at: Floats) -> Floats:
    """Return the differences, (conditions, states), none of which may be negative.

    Differences of slopes are multiplied by the mean distance of the states, so that they are in nats.
    """
    steps = np.diff(np.eye(len(at)), axis=0)
    if kind == "monotone":
        return steps
    return np.asarray(np.diff(steps / np.diff(at)[:, None], axis=0) * np.diff(at).mean())


def cone_of(
    constraints: ShapeConstraints,
    terms: Sequence[SmoothTerm],
    vocabulary: Vocabulary,
    cuts: Mapping[Hashable, Cuts],
) -> Cone | None:
    """Return the conditions on the shifts of terms under which log odds meet the demands, all else being fixed.

    Features with too few states, or without a term, have no such conditions.

    Let b be a difference of the states of a feature j, such as that of two neighbours. The log odds change by
    ``b·f_j + Σ_T b·f_T(·, u_T)``, in which f_j is the main effect of j, the T are the interactions that contain j,
    and the u_T are the groups of their other features. This is at least 0 for all u if, for some numbers ``m_T``,

    - ``b·f_j + Σ_T m_T >= 0``, and
    - ``b·f_T(·, u) - m_T >= 0`` for every T and all groups u of its other features.

    If no two of the T share a feature other than j, as in pairs, these conditions are necessary, too: the least value
    of the sum over all u is the sum of the least values.
    """
    demands = list(_demanded(constraints, terms))
    forms: list[tuple[np.ndarray, Floats]] = []
    rows: list[tuple[int, int, int]] = []
    free: list[tuple[int, int, float]] = []
    n_free = 0
    for demand in demands:
        main = next(term for term in terms if term.features == (demand.feature,))
        others = [term for term in terms if demand.feature in term.features and len(term.axes) > 1]
        (axis,) = main.axes
        n_states = int((axis.groups < axis.ordered).sum())
        states = _state_forms(demand.kind, positions(vocabulary, demand.feature, n_states, cuts))
        for form in states:
            own = _grouped(form, axis)
            if not own.any():
                continue
            number_of_main = len(forms)
            forms.append((np.arange(main.first, main.cells.stop), own))
            numbers_of_others = []
            for term in others:
                along = next(k for k, other in enumerate(term.axes) if other.feature == demand.feature)
                of_term = _grouped(form, term.axes[along])
                if not of_term.any():
                    continue
                grid = np.moveaxis(np.arange(term.first, term.cells.stop).reshape(term.shape), along, -1)
                lines = grid.reshape(-1, grid.shape[-1])
                numbers_of_others.append(range(len(forms), len(forms) + len(lines)))
                forms += [(line, of_term) for line in lines]
            for up, down in demand.pairs:
                at_main = len(rows)
                rows.append((number_of_main, up, down))
                for numbers in numbers_of_others:
                    free.append((at_main, n_free, 1.0))
                    free += [(len(rows) + k, n_free, -1.0) for k in range(len(numbers))]
                    rows += [(k, up, down) for k in numbers]
                    n_free += 1
    if not rows:
        return None
    n_cells = terms[-1].cells.stop
    counts = [len(cells) for cells, _ in forms]
    matrix = csr_matrix(
        (
            np.concatenate([values for _, values in forms]),
            (np.repeat(np.arange(len(forms)), counts), np.concatenate([cells for cells, _ in forms])),
        ),
        shape=(len(forms), n_cells),
    )
    form, up, down = np.array(rows, dtype=np.int64).T
    at, which, sign = zip(*free, strict=True) if free else ((), (), ())
    return Cone(matrix, form, up, down, csr_matrix((sign, (at, which)), shape=(len(rows), n_free)))


def _grouped(form: Floats, axis: Axis) -> Floats:
    """Return a difference of states in an order as one of groups, (groups,); rounding does not count."""
    found = np.bincount(axis.groups[: len(form)], form, axis.size)
    found[np.abs(found) < 1e-12 * np.abs(form).max()] = 0.0
    return np.asarray(found)


def _demanded(constraints: ShapeConstraints, terms: Sequence[SmoothTerm]) -> Iterator[Demand]:
    """Yield the demands on features that have a term, at least two states, and three if they are to be convex."""
    ordered = {term.features[0]: term.axes[0].ordered for term in terms if len(term.axes) == 1}
    for demand in constraints.demands:
        if ordered.get(demand.feature, 0) > (1 if demand.kind == "monotone" else 2):
            yield demand
