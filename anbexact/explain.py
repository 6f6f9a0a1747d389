"""Why a row got its posterior: what each feature adds to the log odds."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from anbexact.parameters import ConditionalTable
from anbexact.posterior import Posterior
from anbexact.vocabulary import CodeArray, Vocabulary


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
    posterior: Posterior,
    tables: Mapping[Hashable, ConditionalTable],
    vocabulary: Vocabulary,
) -> list[Explanation]:
    """Explain every row of codes, shape (features, rows); see :class:`Explanation`."""
    log_joint = posterior.log_joint(codes)
    proba = posterior.posterior(codes)
    return [_explain(codes[:, t], log_joint[t], proba[t], tables, vocabulary) for t in range(codes.shape[1])]


def _explain(
    row: np.ndarray[Any, Any],
    log_joint: np.ndarray[Any, Any],
    proba: np.ndarray[Any, Any],
    tables: Mapping[Hashable, ConditionalTable],
    vocabulary: Vocabulary,
) -> Explanation:
    class_name = vocabulary.class_name
    assert class_name is not None
    code = dict(zip(vocabulary.features, row.tolist(), strict=True))
    ranking = np.argsort(-log_joint, kind="stable")
    first, second = int(ranking[0]), int(ranking[min(1, len(ranking) - 1)])
    log_odds = float(log_joint[first] - log_joint[second])
    terms = []
    for name, table in tables.items():
        others = [variable for variable in table.variables if variable != class_name]
        if class_name not in table.variables or any(code[other] < 0 for other in others):
            continue
        index = tuple(slice(None) if v == class_name else code[v] for v in table.variables)
        with np.errstate(divide="ignore"):
            of_class = np.log(table.values[index])
        given = ", ".join(f"{v} = {vocabulary.states[v][code[v]]}" for v in others if v != name)
        state = vocabulary.states[name][code[name]] if name != class_name else ""
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
