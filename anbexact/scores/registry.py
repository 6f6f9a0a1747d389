"""The scores by name, for estimators, the command line and saved files."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

from anbexact._runtime.json_values import register_object
from anbexact._runtime.spelling import letters

AnyScore = TypeVar("AnyScore", bound=type[Any])

DEFAULT = "bdeu"
"""The score that is used if none is named."""
SCORES: dict[str, Callable[[float], Any]] = {}
"""Decomposable scores: functions that make the score of a name, given the equivalent sample size (if it has one)."""
CONDITIONAL_SCORES: dict[str, Callable[[], Any]] = {}
"""Conditional scores of whole structures: functions that make the score of a name."""
ELSEWHERE = {
    "mdl": "bic",
    "schwarz": "bic",
    "sbc": "bic",
    "bde": "bdeu",
    "bd": "bdeu",
    "loglik": "ll",
    "loglikelihood": "ll",
    "likelihood": "ll",
    "hannanquinn": "hq",
}
"""Names of scores elsewhere, in lower case without hyphens, and their names in this package."""
SCORE_TYPES: dict[str, type[Any]] = {}
"""All scores, including those without a name, by the names of their classes: the names allowed in saved files."""


def score_names() -> tuple[str, ...]:
    """Return the names of the decomposable scores, the default first."""
    return tuple(sorted(SCORES, key=lambda name: (name != DEFAULT, name)))


def near_score(name: str) -> str | None:
    """Return the name of a score in this package, from another spelling or a name used elsewhere; None if unknown."""
    spelled = letters(name)
    here = ELSEWHERE.get(spelled, spelled)
    return here if here in {*SCORES, *CONDITIONAL_SCORES} else None


def no_score(given: object) -> str:
    """Return the message that refuses a ``structure_score``, with the name of the score in this package if known."""
    near = near_score(given) if isinstance(given, str) else None
    hint = f", which is called {near!r} here" if near in SCORES else ""
    return f"structure_score must be one of {', '.join(map(repr, score_names()))}, or a Score, not {given!r}{hint}"


def register_score(name: str | None = None, *, conditional: bool = False) -> Callable[[AnyScore], AnyScore]:
    """Return a decorator that registers a score under a name and for saved files.

    Parameters
    ----------
    name : str, optional
        Its name for ``structure_score=`` and ``--score``; None for a score that can only be passed as an object.
    conditional : bool, default False
        Whether it scores whole structures (as :class:`~anbexact.scores.CLL` does) rather than families.

    Raises
    ------
    ValueError
        If another score has the name, or another class the name of this class.

    Notes
    -----
    The class must be a dataclass whose fields have defaults. A field called ``ess`` gets the equivalent sample size.
    """

    def register(score: AnyScore) -> AnyScore:
        known = SCORE_TYPES.get(score.__name__)
        if known is not None and (known.__module__, known.__qualname__) != (score.__module__, score.__qualname__):
            raise ValueError(f"another score class is called {score.__name__!r}: {known.__module__}")
        if name is not None and name in {*SCORES, *CONDITIONAL_SCORES} and known is None:
            raise ValueError(f"another score is called {name!r}")
        SCORE_TYPES[score.__name__] = register_object(score)
        if name is not None and conditional:
            CONDITIONAL_SCORES[name] = score
        elif name is not None:
            has_ess = any(field.name == "ess" for field in dataclasses.fields(score))
            SCORES[name] = score if has_ess else lambda _: score()
        return score

    return register
