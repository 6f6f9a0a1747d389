"""Why a row got its posterior: what each feature adds to the log odds."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from anbexact.posterior import ClassPosterior
from anbexact.vocabulary import CodeArray, Vocabulary


class Family(Protocol):
    """A variable and its parents, with the logs of a function of their codes."""

    @property
    def variables(self) -> tuple[Hashable, ...]:
        """The variable, then its parents."""

    def log_along(self, free: Hashable, code: Mapping[Hashable, int]) -> npt.NDArray[np.float64]:
        """Return the logs along a variable, the others being given by their codes."""

    def state(self, name: Hashable, code: int, vocabulary: Vocabulary) -> Any:
        """Return what one of the variables is at a code, as the function tells it apart."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """The log odds of the most probable class against the runner-up, split into their terms.

    Attributes
    ----------
    predicted, runner_up : class labels
        The two most probable classes (the same label twice if there is one class).
    probability : float
        P(predicted | row).
    log_odds : float
        ln P(predicted | row) - ln P(runner_up | row), in nats: the sum of all terms.
    terms : DataFrame
        One row per term, largest first: ``feature``, ``state``, ``given`` (its feature parents and their
        states) and ``nats``, the term ``ln θ(x_i | π_i, predicted) - ln θ(x_i | π_i, runner_up)``. The class
        prior is a term of its own; so is, where cells are missing or unknown, all that depends on them.
    """

    predicted: Any
    runner_up: Any
    probability: float
    log_odds: float
    terms: pd.DataFrame

    def __str__(self) -> str:
        lines = [
            f"{self.predicted!s} with probability {self.probability:.4f}; "
            f"log odds {self.log_odds:+.3f} nats against {self.runner_up!s}:"
        ]
        for feature, state, given, nats in self.terms.to_numpy().tolist():
            shown = "" if str(feature).startswith("(") else f" = {state}"
            lines.append(f"  {nats:+8.3f}  {feature}{shown}" + (f" given {given}" if given else ""))
        return "\n".join(lines)


def explain_rows(
    codes: CodeArray,
    posterior: ClassPosterior,
    families: Mapping[Hashable, Family],
    vocabulary: Vocabulary,
) -> list[Explanation]:
    """Explain every row of codes, shape (features, rows); see :class:`Explanation`."""
    log_joint = posterior.log_joint(codes)
    proba = posterior.posterior(codes)
    return [_explain(codes[:, t], log_joint[t], proba[t], families, vocabulary) for t in range(codes.shape[1])]


def _explain(
    row: np.ndarray[Any, Any],
    log_joint: np.ndarray[Any, Any],
    proba: np.ndarray[Any, Any],
    families: Mapping[Hashable, Family],
    vocabulary: Vocabulary,
) -> Explanation:
    class_name = vocabulary.class_name
    assert class_name is not None
    code = dict(zip(vocabulary.features, row.tolist(), strict=True))
    ranking = np.argsort(-log_joint, kind="stable")
    first, second = int(ranking[0]), int(ranking[min(1, len(ranking) - 1)])
    log_odds = float(log_joint[first] - log_joint[second])
    terms = []
    for name, family in families.items():
        others = [variable for variable in family.variables if variable != class_name]
        if class_name not in family.variables or any(code[other] < 0 for other in others):
            continue
        of_class = family.log_along(class_name, code)
        given = ", ".join(f"{v} = {family.state(v, code[v], vocabulary)}" for v in others if v != name)
        state = family.state(name, code[name], vocabulary) if name != class_name else ""
        label = f"(prior of {name})" if name == class_name else name
        terms.append((label, state, given, float(of_class[first] - of_class[second])))
    hidden = [str(name) for name, value in code.items() if value < 0]
    if hidden:
        rest = log_odds - sum(term[3] for term in terms)
        terms.append((f"(all that depends on the unobserved {', '.join(hidden)})", "", "", rest))
    terms.sort(key=lambda term: -abs(term[3]))
    classes = vocabulary.states[class_name]
    frame = pd.DataFrame(terms, columns=["feature", "state", "given", "nats"])
    return Explanation(classes[first], classes[second], float(proba[first]), log_odds, frame)
