"""The best forest over the features, with the class as a parent of all of them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from anbexact._runtime.deadline import Deadline
from anbexact.scores import Score
from anbexact.search.constraints import Constraints
from anbexact.search.scoring.pair_scores import FamilyScorer, pair_scores
from anbexact.search.trees.branching import best_branching, one_parent
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import Vocabulary


def best_forest(
    table: DiscreteTable,
    score: Score,
    constraints: Constraints,
    deadline: Deadline,
    *,
    class_name: Hashable,
    threads: int,
) -> dict[Hashable, tuple[Hashable, ...]] | None:
    """Return the best forest over the features, with the class as a parent of all of them.

    It scores at least as high as the tree augmented naive Bayes; see :func:`~anbexact.learn_fan`.

    Parameters
    ----------
    table : DiscreteTable
        A table whose class is a parent of all features, or a variable like any other.
    class_name : Hashable
        The class.

    Returns
    -------
    dict or None
        Parents of every feature of the table (which includes the class if it is a variable like any other); None if
        the constraints do not admit the forest, or the time ran out.
    """
    above = () if table.vocabulary.common_parents else (class_name,)
    if above:
        table = replace(table, vocabulary=Vocabulary(table.vocabulary.states, class_name))
    features = table.vocabulary.features
    required, forbidden = (
        [edge for edge in edges if class_name not in edge]
        for edges in (constraints.required_edges, constraints.forbidden_edges)
    )
    crowded = any(sum(child == of for _, of in required) > 1 for child in features)
    if not features or crowded or constraints.max_parents <= len(above):
        return None
    scorer = FamilyScorer(table, score, threads, deadline)
    pairs = pair_scores(scorer, None)
    if pairs is None:
        return None
    found = best_branching(scorer, pairs, one_parent(features, required, forbidden), tree=False).tolist()
    parents = {child: (*above, *([features[p]] if p >= 0 else [])) for child, p in zip(features, found, strict=True)}
    parents.update(dict.fromkeys(above, ()))
    return (
        parents if all(constraints.admits(child, child_parents) for child, child_parents in parents.items()) else None
    )
