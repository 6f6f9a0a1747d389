"""The optimal augmented naive Bayes."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import prod
from typing import Any

from anbexact.classifiers.base import NetworkClassifier
from anbexact.counts import memory_needed, table_bytes
from anbexact.limits import available_memory, human_bytes
from anbexact.scores import Score
from anbexact.search import learn_anb
from anbexact.search.constraints import Edge
from anbexact.structure import Structure
from anbexact.table import DiscreteTable

ROOM = 1 << 28
"""Bytes that all conditional tables together may take where those of the optimum do not fit into memory."""


class ANBClassifier(NetworkClassifier):
    """The augmented naive Bayes of highest score, proved optimal.

    The class is a parent of every feature, and the acyclic graph over the features maximises the score:
    ``P(c | x) ∝ P(c) Π_i P(x_i | π_i, c)``. See :func:`~anbexact.learn_anb` for the search, what it costs and what
    it proves where there are too many features to go through all sets of them.

    Where the tables of the optimum would not fit into memory (with BDeu, few rows and a low ``ess``, features can get
    a dozen parents), and ``max_parents`` is None, the structure is learned again with as many parents as fit, with a
    warning.

    Parameters
    ----------
    max_parents : int, optional
        Most feature parents of a feature, the class not counted; 0 is naive Bayes. Beyond about 27 features, the
        search can go through all structures with up to 3 or 4, and say so, more surely than through all.
    required_edges, forbidden_edges : iterable of (parent, child)
        Arcs between features that must, and must not, be there (``"x0"``, ``"x1"``, ... name the columns
        of an array).
    time_limit : float, optional
        Seconds of search after which the best structure so far is taken, with its gap.
    memory_limit : float, optional
        Bytes that the search may use; all that is available by default.

    The other parameters, and the fitted attributes, are those of :class:`~anbexact.NetworkClassifier`.

    References
    ----------
    Sugahara and Ueno, *Exact Learning Augmented Naive Bayes Classifier*.

    Examples
    --------
    >>> from anbexact import ANBClassifier
    >>> from anbexact.datasets import load_monks
    >>> X, y = load_monks(1)
    >>> anb = ANBClassifier().fit(X, y)
    >>> anb.score(X, y)
    1.0
    >>> anb.structure_.feature_edges
    (('head_shape', 'body_shape'), ('jacket_color', 'body_shape'))
    """

    def __init__(
        self,
        *,
        structure_score: str | Score = "bdeu",
        ess: float | str = 1.0,
        parameters: str = "eap",
        smoothing: float | str | None = None,
        max_parents: int | None = None,
        required_edges: Iterable[Edge] = (),
        forbidden_edges: Iterable[Edge] = (),
        discretizer: Any = "auto",
        categories: Mapping[Hashable, Sequence[Any]] | None = None,
        handle_unknown: str = "marginalize",
        handle_missing: str = "marginalize",
        time_limit: float | None = None,
        memory_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            structure_score=structure_score,
            ess=ess,
            parameters=parameters,
            smoothing=smoothing,
            discretizer=discretizer,
            categories=categories,
            handle_unknown=handle_unknown,
            handle_missing=handle_missing,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.max_parents = max_parents
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges
        self.time_limit = time_limit
        self.memory_limit = memory_limit

    def _learn(self, table: DiscreteTable, score: Score, time_limit: float | None) -> Structure:
        structure = self._search(table, score, time_limit, self.max_parents)
        needed = memory_needed(table_bytes(table, structure).values())
        if self.max_parents is not None or needed <= available_memory():
            return structure
        most = _most_parents(table)
        warnings.warn(
            f"the conditional tables of the structure with the highest score would take {human_bytes(needed)}: "
            f"learned again with at most {most} feature parents; give max_parents= to choose their number yourself",
            stacklevel=4,
        )
        left = None if time_limit is None else max(time_limit - structure.certificate.seconds, 0.001)
        return self._search(table, score, left, most)

    def _search(
        self, table: DiscreteTable, score: Score, time_limit: float | None, max_parents: int | None
    ) -> Structure:
        return learn_anb(
            table,
            score,
            max_parents=max_parents,
            required=self.required_edges,
            forbidden=self.forbidden_edges,
            time_limit=time_limit,
            memory_limit=self.memory_limit,
            n_jobs=self.n_jobs,
            progress=self._progress(),
        )


def _most_parents(table: DiscreteTable) -> int:
    """Return how many feature parents every feature may have without the tables outgrowing ``ROOM``."""
    of_features = sorted(table.shape(table.vocabulary.features), reverse=True)
    of_class = table.vocabulary.arity(table.vocabulary.class_name)
    most = 0
    while most < len(of_features) and 8 * len(of_features) * of_class * prod(of_features[: most + 2]) <= ROOM:
        most += 1
    return most
