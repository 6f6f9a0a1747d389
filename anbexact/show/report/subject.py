"""What a report is about: a fitted classifier, and rows whose classes are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from anbexact._runtime.arrays import Floats, Integers
from anbexact._runtime.cached import cached_property
from anbexact.classifiers import DiscreteClassifier
from anbexact.classifiers.discrete import first_table_classifier
from anbexact.classifiers.registry import CLASSIFIERS
from anbexact.compare.folds import as_pandas
from anbexact.models.network.explain import explain_rows
from anbexact.models.network.explanation import Explanations
from anbexact.models.network.explanation_terms import Grounds
from anbexact.models.network.network import Network
from anbexact.models.structure import Structure
from anbexact.show.report.facts import Facts, facts_of
from anbexact.show.report.plain_intervals import in_words
from anbexact.tables.frames.dummies import folded_frame
from anbexact.tables.labels import read_labels
from anbexact.tables.table import check_weights
from anbexact.tables.vocabulary import CodeArray, Vocabulary

MOST_INTERVALS, QUARTERS = 6, 4
"""Most intervals of a feature that are groups of their own, and into how many groups more intervals are joined."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A fitted classifier and rows.

    Attributes
    ----------
    classifier : DiscreteClassifier
        Fitted.
    X, y : DataFrame and Series
        The rows of positive weight with a class.
    weights : (rows,) float64
        Their weights.
    weighted : bool
        Whether weights were given.
    n_left_out : int
        Rows without a class, or of weight 0.
    places : (rows,) int
        Positions of the rows among those that were passed.
    """

    classifier: DiscreteClassifier
    X: pd.DataFrame
    y: pd.Series[Any]
    weights: Floats
    weighted: bool
    n_left_out: int
    places: Integers

    @classmethod
    def of(cls, classifier: DiscreteClassifier, X: Any, y: Any, sample_weight: Any = None) -> Subject:
        """Read rows, and leave out those without a class or of weight 0.

        Raises
        ------
        ValueError
            If no row is left, or a class is not one of the classifier's.
        """
        frame, target = as_pandas(X, y)
        frame = folded_frame(frame, classifier.vocabulary_.dummies)
        weights = check_weights(sample_weight, len(frame))
        kept = target.notna().to_numpy() & (weights > 0)
        if not kept.any():
            raise ValueError("no row has both a class and a positive weight, so there is nothing to report on")
        known = set(classifier.classes_.tolist())
        unknown = [label for label in target[kept].unique().tolist() if label not in known]
        if unknown:
            raise ValueError(
                f"y contains the class {unknown[0]!r}, which did not occur in fit (classes: "
                f"{classifier.classes_.tolist()}): leave out these rows, or fit again"
            )
        rows, labels = frame[kept].reset_index(drop=True), target[kept].reset_index(drop=True)
        n_left_out = int((~kept).sum())
        places = np.flatnonzero(kept)
        return cls(classifier, rows, labels, weights[kept], sample_weight is not None, n_left_out, places)

    def groups(self, by: Any) -> dict[str, Any]:
        """Return the group of every row, by the names of columns.

        Parameters
        ----------
        by : name, sequence of names, or mapping of name to values
            Features, whose states are the groups; or values of other columns for the rows that were passed. If a
            feature is cut into more than `MOST_INTERVALS` intervals, neighbours are joined into `QUARTERS` groups of
            about equal weight.

        Raises
        ------
        ValueError
            For a name that is not a feature, or for values of another number of rows.
        """
        if isinstance(by, Mapping):
            return {str(name): self._of_rows(str(name), values) for name, values in by.items()}
        names = by if isinstance(by, list | tuple) else [by]
        unknown = [name for name in names if name not in self.vocabulary.used]
        if unknown:
            raise ValueError(
                f"by names {unknown[0]!r}, which is not a feature; pass the values of another column as "
                f"by={{{str(unknown[0])!r}: values}}"
            )
        return {str(name): self._states(name) for name in names}

    def _of_rows(self, name: str, values: Any) -> Any:
        known = np.asarray(values, dtype=object)
        if len(known) != len(self.X) + self.n_left_out:
            raise ValueError(f"by has {len(known):,} values of {name!r} for {len(self.X) + self.n_left_out:,} rows")
        return known[self.places]

    def _states(self, name: Any) -> Any:
        codes = self.codes[self.vocabulary.features.index(name)]
        states, group = [*map(str, self.vocabulary.states[name])], np.arange(self.vocabulary.arity(name))
        cuts = self.classifier.cut_points_.get(name, ())
        n = len(cuts) + 1
        if n > MOST_INTERVALS:
            known = (codes >= 0) & (codes < n)
            below = np.cumsum(np.bincount(codes[known], self.weights[known], n))
            wanted = np.arange(1, QUARTERS) / QUARTERS * below[-1]
            chosen = np.unique(np.abs(below[:-1, None] - wanted).argmin(axis=0))
            states[:n] = in_words(cuts[chosen], self.vocabulary.quantities.get(name))
            group = np.append(np.searchsorted(chosen, np.arange(n)), len(chosen) + np.arange(1, len(group) - n + 1))
        group = np.append(group, -1)[np.maximum(codes, -1)]
        return pd.Categorical.from_codes(group, dtype=pd.CategoricalDtype(states, ordered=True))

    @property
    def name(self) -> str:
        """What the classifier is called in tables."""
        kind = type(self.estimator).__name__
        entry = CLASSIFIERS.get(kind)
        label = entry.compared[0].label if entry and entry.compared else kind
        if (refit := self.facts.get("refit")) is None:
            return label
        return f"{label} {'smooth' if 'smoothing' in refit else 'refitted'}"

    @property
    def title(self) -> str:
        """What the classifier is, in words."""
        kind = type(self.estimator).__name__
        entry = CLASSIFIERS.get(kind)
        title = entry.title if entry and entry.title else kind
        return f"{title}, refitted" if "refit" in self.facts else title

    @property
    def vocabulary(self) -> Vocabulary:
        """Names and states of all variables."""
        return self.classifier.vocabulary_

    @property
    def class_name(self) -> Any:
        """The class variable."""
        return self.vocabulary.class_name

    @property
    def classes(self) -> list[Any]:
        """The classes."""
        return list(self.classifier.classes_.tolist())

    @cached_property
    def facts(self) -> Facts:
        """What the classifier has learned; see :func:`~anbexact.show.report.facts.facts_of`."""
        return facts_of(self.classifier)

    @property
    def estimator(self) -> Any:
        """The estimator whose model was learned: the classifier itself, or that of the network that it refitted."""
        return first_table_classifier(self.classifier) if "refit" in self.facts else self.classifier

    @property
    def network(self) -> Network | None:
        """The network as it was learned; None for a classifier without one."""
        return self.classifier.model_.learned

    @property
    def structure(self) -> Structure | None:
        """The graph of the classifier; None for a classifier without one."""
        return getattr(self.classifier, "structure_", None)

    @cached_property
    def codes(self) -> CodeArray:
        """Codes of the features, shape (features, rows)."""
        return self.classifier.reader_.codes(self.X)

    @cached_property
    def truth(self) -> Integers:
        """Positions of the true classes among the classes, shape (rows,)."""
        codes, categories = read_labels(self.y).coded
        place = {label: k for k, label in enumerate(self.classes)}
        return np.array([place[label] for label in categories], dtype=np.intp)[codes]

    @cached_property
    def proba(self) -> Floats:
        """Probabilities of the classes of all rows by the classifier, shape (rows, classes)."""
        return self.classifier.predict_proba(self.X)

    @property
    def is_explained(self) -> bool:
        """Whether the classifier explains its predictions."""
        return hasattr(self.classifier, "explain")

    def explain(self, rows: Integers, *, grounds: bool = True) -> Explanations | None:
        """Return explanations of some rows; None if the classifier has no explanations.

        Without ``grounds``, intervals are left out, which takes much less time.
        """
        frame, network = self.X.iloc[rows], self.network
        if grounds or network is not self.classifier.model_:  # only networks have intervals
            return self.classifier.explain(frame) if self.is_explained else None
        read = self.classifier.reader_.rows(frame)
        bare = Grounds(network.counts, None)
        return explain_rows(read, network.class_posterior, network.summed_families, network.vocabulary, bare)
