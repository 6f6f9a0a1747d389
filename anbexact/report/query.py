"""One question to a network, answered and explained."""

from __future__ import annotations

import math
import textwrap
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from anbexact.adapters import class_posterior
from anbexact.classifiers import MeasuredClassifier, NaiveBayesClassifier
from anbexact.report.text import MOST_LINES, WIDTH, print_cells, print_wrapped

if TYPE_CHECKING:
    import pandas as pd

    from anbexact.classifiers import NetworkClassifier
    from anbexact.explain import Explanation


class Query:
    """One row of the table: what the network says of it, and why.

    The row is the one on which classifier and naive Bayes differ most; the first if they are the same. Of a
    classifier that measures continuous columns, the network at their likeliest levels is asked.
    """

    def __init__(
        self, classifier: NetworkClassifier, X: pd.DataFrame, y: pd.Series[Any], threads: int | None
    ) -> None:
        if isinstance(classifier, MeasuredClassifier) and classifier.measure_ is not None:
            classifier = classifier.to_discrete()
        naive = NaiveBayesClassifier(n_jobs=threads)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            naive.fit(X, y)
        differences = np.abs(classifier.predict_proba(X) - naive.predict_proba(X)).max(axis=1)
        self.row = int(differences.argmax())
        self.differs = bool(differences[self.row] > 1e-9)
        self.naive = _largest(naive, X.iloc[[self.row]])
        self.truth = y.iloc[self.row]
        self.class_name = classifier.structure_.class_name
        self.classes = classifier.classes_.tolist()
        of_row = X.iloc[[self.row]]
        self.explanation: Explanation = classifier.explain(of_row)[0]
        vocabulary = classifier.vocabulary_
        codes = classifier._codes(of_row)[:, 0]
        self.evidence = {
            name: vocabulary.states[name][code]
            for name, code in zip(vocabulary.features, codes.tolist(), strict=True)
            if code >= 0
        }
        features = self.explanation.terms["feature"].tolist()
        telling = [name for name in features if name in self.evidence]
        telling += [name for name in self.evidence if name not in telling]
        known = [telling[:k] for k in sorted({0, *range(min(len(telling), 4)), len(telling)})]
        network = classifier.network_
        self.posteriors = [
            (
                names,
                class_posterior(
                    network, str(self.class_name), {str(name): self.evidence[name] for name in names}
                ).to_numpy(),
            )
            for names in known
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the query for JSON."""
        return {
            "row": self.row,
            "true_class": self.truth,
            "evidence": self.evidence,
            "posteriors": [
                {"known": names, "posterior": dict(zip(self.classes, values.tolist(), strict=True))}
                for names, values in self.posteriors
            ],
            "explanation": {
                "predicted": self.explanation.predicted,
                "runner_up": self.explanation.runner_up,
                "probability": self.explanation.probability,
                "log_odds": self.explanation.log_odds,
                "terms": self.explanation.terms.to_dict(orient="records"),
            },
        }

    def print(self) -> None:
        """Print the row, posteriors under more and more evidence, and the explanation."""
        which = ", where naive Bayes differs most from it" if self.differs else ""
        print(f"One question to this network (row {self.row}{which}), answered by pgmpy")
        shown = [f"{name} = {state}" for name, state in self.evidence.items()]
        hidden = f"; and {len(shown) - MOST_LINES} more" if len(shown) > MOST_LINES else ""
        print_wrapped("; ".join(shown[:MOST_LINES]) + hidden, "  ")
        columns = self._shown_classes()
        lines = [["what is known", *(f"P({self.classes[k]})" for k in columns)]]
        before: list[Any] = []
        for names, values in self.posteriors:
            new = [name for name in names if name not in before]
            if not names:
                label = "nothing"
            elif len(new) == 1:
                label = f"{'and ' if before else ''}{new[0]}"
            else:
                label = f"and the other {len(new)}" if before else f"all {len(new)}"
            lines.append([label, *(f"{values[k]:.4f}" for k in columns)])
            before = names
        widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
        for line in lines:
            print_cells("  " + line[0], line[1:], [widths[0] + 2, *widths[1:]])
        why = self.explanation
        right = "rightly" if why.predicted == self.truth else f"wrongly: it is {self.truth}"
        print(
            f"Why {why.predicted}, {right}? Each line multiplies the odds of {why.predicted} against {why.runner_up}:"
        )
        terms = why.terms.to_numpy().tolist()
        for feature, state, given, nats in terms[:MOST_LINES]:
            text = feature if state == "" else f"{feature} = {state}" + (f", given {given}" if given else "")
            print(textwrap.fill(f"  {_factor(nats)}  {text}", WIDTH, subsequent_indent=" " * 16))
        if len(terms) > MOST_LINES:
            rest = sum(nats for _, _, _, nats in terms[MOST_LINES:])
            print(f"  {_factor(rest)}  {len(terms) - MOST_LINES} weaker terms together")
        print(f"= {_factor(why.log_odds)}  odds, so P({why.predicted}) = {why.probability:.4f}")
        if self.differs:
            label, share = self.naive
            print(f"(naive Bayes: P({label}) = {share:.4f})")

    def _shown_classes(self) -> list[int]:
        """Return at most six classes: all in their order, or the most probable."""
        last = self.posteriors[-1][1]
        return sorted(sorted(range(len(last)), key=lambda k: -last[k])[:6])


def _largest(classifier: NetworkClassifier, X: pd.DataFrame) -> tuple[Any, float]:
    proba = classifier.predict_proba(X)[0]
    return classifier.classes_.tolist()[int(proba.argmax())], float(proba.max())


def _factor(nats: float) -> str:
    """Return exp(nats), ten characters wide."""
    if abs(nats) > 700:
        return f"x {f'1e{nats / math.log(10):+.0f}':>8}"
    factor = math.exp(nats)
    return f"x {factor:8.2f}" if 0.01 <= factor < 10000 else f"x {factor:8.2g}"
