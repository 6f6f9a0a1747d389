"""Why a row got its posterior: what each feature adds to the log odds of one class against another."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from anbexact._runtime.arrays import Integers
from anbexact.models.network.explanation import Explanation, Explanations
from anbexact.models.network.explanation_terms import Family, Grounds, add_intervals, family_terms, terms_by_row
from anbexact.models.network.posterior import ClassPosterior
from anbexact.tables.frames.native_values import native
from anbexact.tables.reader import Rows
from anbexact.tables.vocabulary import Vocabulary

__all__ = ["Explanation", "Explanations", "Grounds", "class_code", "compared_classes", "explain_rows"]


def explain_rows(
    rows: Rows,
    posterior: ClassPosterior,
    families: Sequence[tuple[Hashable, Family]],
    vocabulary: Vocabulary,
    grounds: Grounds,
    label: Any = None,
    against: Any = None,
) -> Explanations:
    """Explain every row; see :class:`Explanation`.

    Parameters
    ----------
    rows : Rows
        The rows.
    posterior : ClassPosterior
        The class posterior of the network.
    families : sequence of (variable, Family)
        Its tables or densities.
    vocabulary : Vocabulary
        Names and states.
    grounds : Grounds
        The counts from which the tables are estimated.
    label, against : class labels, optional
        The classes to compare; None means the most probable class of a row other than the other class.

    Raises
    ------
    ValueError
        If ``label`` or ``against`` is not a class, or both are the same.
    """
    class_name = vocabulary.class_name
    assert class_name is not None
    classes = vocabulary.states[class_name]
    log_joint = posterior.log_joint(rows.codes)
    proba = posterior.posterior(rows.codes)
    ranking = np.argsort(-log_joint, axis=1, kind="stable")
    first, second = compared_classes(ranking, vocabulary, label, against)
    place = np.arange(len(first))
    with np.errstate(invalid="ignore"):  # both impossible: NaN
        log_odds = log_joint[place, first] - log_joint[place, second]
    codes = dict(zip(vocabulary.features, rows.codes.astype(np.intp), strict=True))
    parts = [
        family_terms(name, family, rows.values, codes, (first, second), vocabulary, grounds)
        for name, family in families
        if class_name in family.variables
    ]
    add_intervals(parts, grounds, one_class=len(classes) == 1)
    by_row = terms_by_row(parts, rows.codes, log_odds, vocabulary)
    runner_up = ranking[:, min(1, len(classes) - 1)]
    return Explanations(
        (
            Explanation(
                label=classes[first[t]],
                against=classes[second[t]],
                predicted=classes[ranking[t, 0]],
                runner_up=classes[runner_up[t]],
                probability=float(proba[t, first[t]]),
                log_odds=float(log_odds[t]),
                note=grounds.note,
                _terms=by_row[t],
            )
            for t in range(len(first))
        ),
        rows.index,
    )


def compared_classes(
    ranking: Integers, vocabulary: Vocabulary, label: Any, against: Any
) -> tuple[Integers, Integers]:
    """Return the codes of the two classes of every row.

    Parameters
    ----------
    ranking : (rows, classes) intp
        Codes of the classes, the most probable first.
    vocabulary : Vocabulary
        Names and states.
    label, against : class labels or None
        As for :func:`explain_rows`.

    Raises
    ------
    ValueError
        If ``label`` or ``against`` is not a class, or both are the same.
    """
    chosen = [
        None if of is None else class_code(vocabulary, name, of)
        for name, of in (("label", label), ("against", against))
    ]
    if None not in chosen and chosen[0] == chosen[1]:
        raise ValueError(f"label and against are both {label!r}: an explanation compares two classes")
    if ranking.shape[1] == 1:
        if against is not None:
            raise ValueError(f"against={against!r} is the only class: there is no class to compare it with")
        return ranking[:, 0], ranking[:, 0]
    pair = []
    for own, other in (chosen, chosen[::-1]):
        if own is not None:
            pair.append(np.full(len(ranking), own))
        elif other is not None:
            pair.append(np.where(ranking[:, 0] == other, ranking[:, 1], ranking[:, 0]))
        else:
            pair.append(ranking[:, len(pair)])
    return pair[0], pair[1]


def class_code(vocabulary: Vocabulary, name: str, label: Any) -> int:
    """Return the code of a class label that was passed as the argument ``name``; refuse other values."""
    assert vocabulary.class_name is not None
    try:
        code = vocabulary.code(vocabulary.class_name, native(label))
    except TypeError:  # not hashable
        code = -1
    if code < 0:
        known = list(vocabulary.states[vocabulary.class_name])
        raise ValueError(f"{name}={label!r} is not a class of {vocabulary.class_name!r}; the classes are {known}")
    return code
