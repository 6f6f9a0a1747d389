"""One held-out row: the posterior of a network for it, and its explanation."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from anbexact.classifiers import NaiveBayesClassifier
from anbexact.models.network.explanation_text import value_text
from anbexact.show.report.lines import print_cells, print_wrapped
from anbexact.show.report.text import MOST_LINES, TABLE_WIDTH
from anbexact.tables.frames.dummies import folded_frame
from anbexact.tables.vocabulary import is_missing

if TYPE_CHECKING:
    import pandas as pd

    from anbexact.classifiers import DiscreteClassifier
    from anbexact.models.network.explanation import Explanation
    from anbexact.models.structure import Structure


def _structure(classifier: DiscreteClassifier) -> Structure | None:
    """Return the structure of what a classifier has learned; None if it is not a network, or a refit of one."""
    learned = classifier.model_.learned
    return None if learned is None else learned.structure


class Query:
    """A row that took no part in learning: its class posterior under more and more evidence, and the explanation.

    Of the rows that are left out, it is the one for which the probabilities of the classifier and of naive Bayes
    differ most, or the first one if they are always the same.

    Parameters
    ----------
    classifier : DiscreteClassifier
        Not fitted; it learns from the other rows. It must have ``explain``.
    X, y : DataFrame and Series
        All rows.
    left_out : (rows,) integers
        Positions of the rows that are left out.
    threads : int, optional
        Threads of naive Bayes.
    weights : Series, optional
        Weights of all rows.
    """

    def __init__(
        self,
        classifier: Any,
        X: pd.DataFrame,
        y: pd.Series[Any],
        left_out: npt.NDArray[np.intp],
        threads: int | None,
        weights: pd.Series[Any] | None = None,
    ) -> None:
        kept = np.setdiff1d(np.arange(len(X)), left_out)
        naive = NaiveBayesClassifier(n_jobs=threads)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit to all rows has given the same warnings
            of_kept = None if weights is None else weights.iloc[kept]
            naive.fit(X.iloc[kept], y.iloc[kept], of_kept)
            classifier.fit(X.iloc[kept], y.iloc[kept], of_kept)
            asked = X.iloc[left_out]
            by_naive, by_network = naive.predict_proba(asked), classifier.predict_proba(asked)
        differences = np.abs(by_network - by_naive).max(axis=1)
        place = int(differences.argmax())
        self.row, self.rows_left_out, self.rows_learned = int(left_out[place]), len(left_out), len(kept)
        self.differs = bool(differences[place] > 1e-9)
        self.naive = naive.classes_.tolist()[int(by_naive[place].argmax())], float(by_naive[place].max())
        self.truth = y.iloc[self.row]
        self.classes = classifier.classes_.tolist()
        self.structure = _structure(classifier)
        of_row = folded_frame(X.iloc[[self.row]], classifier.vocabulary_.dummies)
        self.explanation: Explanation = classifier.explain(of_row)[0]
        known_cells = dict(
            zip(classifier.vocabulary_.features, classifier.reader_.codes(of_row)[:, 0] >= 0, strict=True)
        )
        left_out_columns = classifier.vocabulary_.left_out
        known_names = [name for name in of_row if known_cells[name] and name not in left_out_columns]
        self.evidence = {name: of_row[name].tolist()[0] for name in known_names}
        states = classifier.vocabulary_.states
        self.shown = [
            f"{name} = {value_text(states[name][-1] if is_missing(value) else value)}"
            for name, value in self.evidence.items()
        ]
        features = self.explanation.terms["feature"].tolist()
        telling = [name for name in features if name in self.evidence]
        telling += [name for name in self.evidence if name not in telling]
        known = [telling[:k] for k in sorted({0, *range(min(len(telling), 4)), len(telling)})]
        self.posteriors = [
            (names, classifier.query({name: self.evidence[name] for name in names}).to_numpy()) for names in known
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the query for JSON."""
        why = self.explanation
        return {
            "row": self.row,
            "rows_left_out": self.rows_left_out,
            "rows_learned": self.rows_learned,
            "true_class": self.truth,
            "evidence": self.evidence,
            "posteriors": [
                {"known": names, "posterior": dict(zip(self.classes, values.tolist(), strict=True))}
                for names, values in self.posteriors
            ],
            "explanation": {
                **{name: getattr(why, name) for name in ("label", "against", "predicted", "runner_up")},
                "probability": why.probability,
                "log_odds": why.log_odds,
                "terms": why.terms.to_dict(orient="records"),
            },
        }

    def print(self, of_all: DiscreteClassifier) -> None:
        """Print the row, posteriors under more and more evidence, and the explanation.

        ``of_all`` was learned from all rows.
        """
        structure, arcs = _structure(of_all), ""
        if self.structure is not None and structure is not None:
            same = dict(self.structure.parents) == dict(structure.parents)
            arcs = f" The arcs of this model {'are the same as' if same else 'differ from those'} above."
        print_wrapped(
            f"One row in detail: row {self.row}, one of {self.rows_left_out:,} rows that are held out while the "
            f"model is learned again from the other {self.rows_learned:,}"
            + (", and the one on which it differs most from naive Bayes." if self.differs else ".")
            + arcs,
            width=TABLE_WIDTH,
        )
        hidden = f"; and {len(self.shown) - MOST_LINES} more" if len(self.shown) > MOST_LINES else ""
        print_wrapped("; ".join(self.shown[:MOST_LINES]) + hidden, "  ", width=TABLE_WIDTH)
        columns = self._shown_classes()
        lines = [["evidence", *(f"P({self.classes[k]})" for k in columns)]]
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
        print(self.explanation)
        label, share = self.naive
        naive = (
            f" Naive Bayes, learned from the same rows: {label} with probability {share:.4f}." if self.differs else ""
        )
        print_wrapped(f"The true class of the row is {self.truth}.{naive}", width=TABLE_WIDTH)

    def _shown_classes(self) -> list[int]:
        """Return at most six classes: all in their order, or the most probable."""
        last = self.posteriors[-1][1]
        return sorted(sorted(range(len(last)), key=lambda k: -last[k])[:6])
