"""Explanations of a pool: the terms of its members, added up family by family."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anbexact._runtime.arrays import Bools, Floats, Integers
from anbexact.models.network.explain import compared_classes
from anbexact.models.network.explanation import Explanation, Explanations
from anbexact.models.network.explanation_terms import Family, FamilyTerms, Grounds, family_terms, terms_by_row
from anbexact.models.network.explanation_text import cell_text
from anbexact.models.pool.weights import finite_logs
from anbexact.tables.reader import Rows
from anbexact.tables.vocabulary import CodeArray, Vocabulary

NOTE = "Pooled terms have no counts and no intervals, because every member has its own states."
"""What an explanation says about counts and intervals."""


@dataclass(frozen=True, eq=False)
class ExplainedMember:
    """A member of a pool, and its predictions for the rows that are explained.

    Attributes
    ----------
    name : str
        Its name.
    weight : float
        Its weight.
    log_posterior : (rows, classes) float64
        ln P(class | row), classes in the order of the pool.
    vocabulary : Vocabulary
        Its states.
    codes : (features, rows) int16
        The rows in these states; negative where a cell is missing or unknown.
    families : iterable of (variable, Family), or None
        The families over which its log odds are summed; None for a member that is not a network, whose log odds are
        one term.
    """

    name: str
    weight: float
    log_posterior: Floats
    vocabulary: Vocabulary
    codes: CodeArray
    families: Iterable[tuple[Hashable, Family]] | None


def explain_pool(
    rows: Rows,
    members: Sequence[ExplainedMember],
    pooled: tuple[Floats, Floats],
    vocabulary: Vocabulary,
    label: Any = None,
    against: Any = None,
) -> Explanations:
    """Explain every row: its log odds as a sum of terms, each a weighted sum of terms of the members.

    Members with the same features in a family share a term, regardless of their cut points and of the direction of
    the arcs between these features.

    Parameters
    ----------
    rows : Rows
        The rows in the states of ``vocabulary``.
    members : sequence of ExplainedMember
    pooled : ((rows, classes) float64, (classes,) float64)
        ln P(class | row) of the pool, and its biases.
    vocabulary : Vocabulary
        The states with which cells are shown.
    label, against : class labels, optional
        The classes to compare; see :func:`~anbexact.models.network.explain.explain_rows`.

    Raises
    ------
    ValueError
        If ``label`` or ``against`` is not a class, or both are the same.
    """
    log_posterior, biases = pooled
    assert vocabulary.class_name is not None
    classes = vocabulary.states[vocabulary.class_name]
    ranking = np.argsort(-log_posterior, axis=1, kind="stable")
    compared = compared_classes(ranking, vocabulary, label, against)
    place = np.arange(len(ranking))
    log_odds = log_posterior[place, compared[0]] - log_posterior[place, compared[1]]
    hidden = np.any([rows.codes < 0, *(member.codes < 0 for member in members)], axis=0)
    parts = _parts(rows, members, biases, vocabulary, compared, hidden)
    by_row = terms_by_row(parts, np.where(hidden, -1, 0).astype(np.int16), log_odds, vocabulary)
    runner_up = ranking[:, min(1, len(classes) - 1)]
    return Explanations(
        (
            Explanation(
                label=classes[compared[0][t]],
                against=classes[compared[1][t]],
                predicted=classes[ranking[t, 0]],
                runner_up=classes[runner_up[t]],
                probability=float(np.exp(log_posterior[t, compared[0][t]])),
                log_odds=float(log_odds[t]),
                note=NOTE,
                _terms=by_row[t],
            )
            for t in range(len(ranking))
        ),
        rows.index,
    )


def _parts(
    rows: Rows,
    members: Sequence[ExplainedMember],
    biases: Floats,
    vocabulary: Vocabulary,
    compared: tuple[Integers, Integers],
    hidden: Bools,
) -> list[FamilyTerms]:
    """Return the terms of all families, and of members as a whole.

    A member is a single term if it has no families, and in rows where some of its probabilities are 0: its own terms
    are infinite there, whereas the pool limits its log odds (see :func:`~anbexact.models.pool.weights.finite_logs`).
    """
    c = vocabulary.class_name
    n_rows = len(compared[0])
    nats: dict[frozenset[Hashable], Floats] = {frozenset(): biases[compared[0]] - biases[compared[1]]}
    children: dict[frozenset[Hashable], Hashable] = {frozenset(): c}
    opaque = []
    for member in members:
        codes = dict(zip(member.vocabulary.features, member.codes.astype(np.intp), strict=True))
        as_one = np.full(n_rows, member.families is None)
        found = []
        for name, family in member.families or ():
            if c in family.variables:
                own = family_terms(name, family, rows.values, codes, compared, member.vocabulary, Grounds(None, None))
                found.append((name, frozenset(family.variables) - {c}, own))
                as_one[own.rows] |= ~np.isfinite(own.nats)
        for name, key, own in found:
            children.setdefault(key, name)
            added = nats.setdefault(key, np.zeros(n_rows))
            kept = ~as_one[own.rows]
            added[own.rows[kept]] += member.weight * own.nats[kept]
        if as_one.any():
            place = np.flatnonzero(as_one)
            logs = finite_logs(member.log_posterior)
            odds = logs[place, compared[0][place]] - logs[place, compared[1][place]]
            labels = f"({member.name})", [None] * len(place), [""] * len(place), [""] * len(place)
            opaque.append(_part(place, labels, member.weight * odds, child_is_class=False))
    known = dict(zip(vocabulary.features, rows.codes.tolist(), strict=True))
    return [
        *(_of_family(rows, key, children[key], of_key, known, (vocabulary, hidden)) for key, of_key in nats.items()),
        *opaque,
    ]


def _of_family(
    rows: Rows,
    key: frozenset[Hashable],
    child: Hashable,
    nats: Floats,
    codes: Mapping[Hashable, Sequence[int]],
    shown: tuple[Vocabulary, Bools],
) -> FamilyTerms:
    """Return the term of a family, for the rows in which every member knows all of its cells."""
    vocabulary, hidden = shown
    features = vocabulary.features
    places = [j for j, name in enumerate(features) if name in key]
    seen = np.flatnonzero(~hidden[places].any(axis=0)) if places else np.arange(len(nats))

    def cell(name: Hashable, t: int) -> tuple[Any, Any]:
        return rows.values[name][t], vocabulary.states[name][codes[name][t]]

    others = [name for name in features if name in key and name != child and vocabulary.arity(name) > 1]
    given = [", ".join(f"{name} = {cell_text(*cell(name, t))}" for name in others) for t in seen.tolist()]
    labels: Any
    if child == vocabulary.class_name:
        labels = f"(prior of {child})", [None] * len(seen), [""] * len(seen), given
    else:
        cells = [cell(child, t) for t in seen.tolist()]
        labels = child, [value for value, _ in cells], [state for _, state in cells], given
    return _part(seen, labels, nats[seen], child_is_class=child == vocabulary.class_name)


def _part(rows: Integers, labels: Any, nats: Floats, *, child_is_class: bool) -> FamilyTerms:
    """Return terms without counts and intervals."""
    blank = np.full((6, len(rows)), np.nan)
    return FamilyTerms(rows, labels, nats, blank[:4], (), child_is_class, blank[4], blank[5])
