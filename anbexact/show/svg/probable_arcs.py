"""Pictures of arcs with probabilities: the width of a line shows how probable it is that it joins its ends."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from anbexact.models.structure import Certificate, Structure
from anbexact.show.svg.network import THICKEST, Diagram, diagram

LEAST_DRAWN = 0.1
"""By default, pairs that are joined with a lower probability are not drawn."""

Probabilities = Mapping[tuple[Hashable, Hashable], float]
"""Probabilities of (parent, child) arcs."""


def probability_diagram(
    features: Sequence[Hashable],
    class_name: Hashable,
    probabilities: Probabilities,
    *,
    least: float = LEAST_DRAWN,
    augmented: bool = True,
) -> Diagram:
    """Return the pairs that are probably joined, ready to be drawn in widths proportional to the probability.

    Every pair is drawn once, in its more probable direction, or in the other one if it would close a cycle with pairs
    that are joined more probably.

    Parameters
    ----------
    features : sequence
        The features.
    class_name : Hashable
        The class.
    probabilities : mapping of (parent, child) to float
        The probability of every arc, except for arcs from a class that is a parent of every feature.
    least : float, default 0.1
        Minimum probability that a pair is joined for the pair to be drawn.
    augmented : bool, default True
        Whether the class is a parent of every feature.
    """
    joined = {arc: p + probabilities.get((arc[1], arc[0]), 0.0) for arc, p in probabilities.items()}
    names = (*features, class_name)
    parents: dict[Hashable, list[Hashable]] = {name: [] for name in names}
    kept: dict[tuple[Hashable, Hashable], float] = {}
    place = {name: k for k, name in enumerate(names)}
    for parent, child in sorted(
        joined, key=lambda arc: (-joined[arc], -probabilities[arc], place[arc[0]], place[arc[1]])
    ):
        if joined[parent, child] < least or (parent, child) in kept or (child, parent) in kept:
            continue
        arc = (child, parent) if _reaches(parents, child, parent) else (parent, child)
        parents[arc[1]].append(arc[0])
        kept[arc] = joined[parent, child]
    if augmented:
        for name in features:
            parents[name].insert(0, class_name)
    structure = Structure(
        class_name, {k: tuple(v) for k, v in parents.items()}, 0.0, Certificate.unknown("a picture")
    )
    drawn = diagram(structure)
    widths = {(p, c): THICKEST * kept.get((drawn.names[p], drawn.names[c]), 0.2) for p, c in drawn.arcs}
    return replace(drawn, arcs=widths)


def _reaches(parents: Mapping[Hashable, Sequence[Hashable]], start: Hashable, end: Hashable) -> bool:
    """Whether a path of arcs leads from one variable to another."""
    waiting, seen = [end], {end}
    while waiting:
        name = waiting.pop()
        if name == start:
            return True
        new = [parent for parent in parents[name] if parent not in seen]
        seen.update(new)
        waiting += new
    return False
