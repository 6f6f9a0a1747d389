"""The k-dependence Bayesian classifier: parents are chosen by mutual information, without a search."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from anbexact._runtime.arrays import Floats
from anbexact._runtime.deadline import Deadline
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import thread_count
from anbexact.models.structure import Certificate, Structure
from anbexact.scores import LL, Score
from anbexact.search.naive_bayes import learn_naive_bayes
from anbexact.search.scoring.pair_scores import FamilyScorer, pair_scores
from anbexact.search.scoring.requirements import SearchRequirements
from anbexact.search.scoring.totals import class_of, total_score
from anbexact.search.single_states import single_states_apart
from anbexact.tables.table import DiscreteTable

REQUIREMENTS = SearchRequirements("learn_kdb")


@single_states_apart(below_class=True)
def learn_kdb(
    table: DiscreteTable,
    score: Score | None = None,
    *,
    k: int = 2,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Structure:
    """Return the structure of the k-dependence Bayesian classifier (kDB).

    The features are sorted by their mutual information with the class ``I(X_i; C)``, highest first. The parents of
    each are the class and, among the features before it, the k with the highest ``I(X_i; X_j | C)``, or all if there
    are fewer. Ties (values that differ only by rounding, about 10⁻¹² of W ln W for rows of total weight W) are broken
    in table order. The search takes O(n² N) steps for n features and N distinct rows, and about 100 n² bytes of
    memory.

    Sahami's variant with a threshold θ, below which a dependence between features is left out, is not supported.

    Parameters
    ----------
    table : DiscreteTable
        A table with a class.
    score : Score, default BDeu()
        The score that is reported for the structure; it has no influence on the structure.
    k : int, default 2
        Maximum number of feature parents of a feature, 0 or more; 0 is naive Bayes.
    n_jobs : int, optional
        Number of threads; None and -1 use all processors. The result does not depend on it.
    progress : callable, optional
        Called as ``progress(phase, fraction)`` from time to time.

    Returns
    -------
    Structure
        Nothing is proved about its score.

    Raises
    ------
    SearchTooLargeError
        If all pairs of features would need more memory than is available.
    ValueError
        For an invalid k.

    References
    ----------
    Sahami, *Learning limited dependence Bayesian classifiers*, KDD 1996.

    Examples
    --------
    >>> from anbexact import DiscreteTable
    >>> from anbexact.datasets import load_monks
    >>> from anbexact.search import learn_kdb
    >>> structure = learn_kdb(DiscreteTable.from_frame(*load_monks(1)), k=1)
    >>> structure.parents["body_shape"]
    ('is_monk', 'head_shape')
    """
    if isinstance(k, bool) or not hasattr(k, "__index__") or k < 0:
        raise ValueError(f"k must be a whole number, 0 or more, not {k!r}")
    name, features = class_of(table), table.vocabulary.features
    score = REQUIREMENTS.accept(score)
    if not features:
        return learn_naive_bayes(table, score)
    parents: dict[Hashable, tuple[Hashable, ...]] = dict.fromkeys(features, (name,))
    for child, chosen in ranked_parents(table, int(k), n_jobs, progress):
        parents[features[child]] = (name, *(features[parent] for parent in sorted(chosen)))
    parents[name] = ()
    certificate = Certificate.unknown(f"{int(k)}-dependence Bayesian classifier, not searched")
    return Structure(name, parents, total_score(table, score, parents), certificate)


def ranked_parents(
    table: DiscreteTable, k: int, n_jobs: int | None, progress: Progress | None
) -> list[tuple[int, list[int]]]:
    """Return the features in the order of kDB, each with its k parents, both by number, highest information first."""
    scorer = FamilyScorer(table, LL(), thread_count(n_jobs), Deadline())
    pairs = pair_scores(scorer, progress)
    alone = scorer.set_scores(np.append(-1, scorer.features)[:, None], "features", None)
    if pairs is None or alone is None:  # without a time limit, nothing else stops it
        raise KeyboardInterrupt
    informations = pairs.alone - (alone[1:] - alone[0])
    order = _highest(informations, range(scorer.n), scorer.n, pairs.rounding)
    return [
        (child, _highest(pairs.gains[:, child], order[:place], k, pairs.rounding))
        for place, child in enumerate(order)
    ]


def _highest(values: Floats, candidates: Sequence[int], most: int, rounding: float) -> list[int]:
    """Return the candidates with the highest values, highest first; ties (to within rounding) ascending."""
    left = sorted(candidates)
    by_value = np.argsort(-values[left], kind="stable")[: most + 1]
    if (np.diff(values[left][by_value]) < -rounding).all():  # no ties
        return [left[place] for place in by_value[:most]]
    chosen: list[int] = []
    while left and len(chosen) < most:
        of_left = values[left]
        chosen.append(left.pop(int(np.argmax(of_left >= of_left.max() - rounding))))
    return chosen
