"""The selective k-dependence Bayesian classifier: k and the features chosen by leave-one-out."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import partial

import numpy as np
from scipy.special import logsumexp

from anbexact._runtime.deadline import Deadline
from anbexact._runtime.progress import Progress
from anbexact._runtime.tasks import run_tasks, thread_count
from anbexact.models.parameters.smoothing import class_families
from anbexact.models.structure import Certificate, Structure
from anbexact.scores import Score
from anbexact.scores.acll import check_positive
from anbexact.search.naive_bayes import learn_naive_bayes
from anbexact.search.scoring.requirements import SearchRequirements
from anbexact.search.scoring.totals import class_of, total_score
from anbexact.search.single_states import single_states_apart
from anbexact.search.trees.kdb import ranked_parents
from anbexact.tables.table import DiscreteTable

REQUIREMENTS = SearchRequirements("learn_skdb")
LEAST_GAIN = 1e-10
"""Share of a log likelihood by which a larger network must be better, so that rounding does not add features."""


@single_states_apart(below_class=False)
def learn_skdb(
    table: DiscreteTable,
    score: Score | None = None,
    *,
    max_k: int = 5,
    ess: float = 1.0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Structure:
    """Return the structure of the selective k-dependence Bayesian classifier (sKDB).

    Order and parents of the features, for a given k, are those of :func:`~anbexact.search.learn_kdb`. Among all k up
    to ``max_k`` and all numbers m of features from the beginning of the order, the search chooses those for which the
    rows, each predicted by the counts of the other rows, have the highest conditional log likelihood

        Σ_rows ln P₋(c | x_1, ..., x_m),

    with expected a posteriori tables; the paper uses errors or squared errors instead. Ties are broken by the fewest
    features, then by the lowest k. Features that are not chosen have no arcs. As in the paper, the order and the
    parents are not chosen again when a row is left out.

    All m are tried in one pass, in O(k n N s) operations for n features, N distinct rows and s classes.

    Parameters
    ----------
    table : DiscreteTable
        A table with a class.
    score : Score, default BDeu()
        The score that is reported for the structure; it has no influence on the structure.
    max_k : int, default 5
        Maximum number of feature parents of a feature, 0 or more.
    ess : float, default 1.0
        Equivalent sample size of the tables by which rows are predicted.
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
    TypeError
        For a score that needs the class among the parents of every feature.
    ValueError
        For an invalid limit or equivalent sample size.

    References
    ----------
    Martínez, Webb, Chen and Zaidi, *Scalable learning of Bayesian network classifiers*, Journal of Machine Learning
    Research 17(44), 2016.

    Examples
    --------
    >>> from anbexact import DiscreteTable
    >>> from anbexact.datasets import load_monks
    >>> from anbexact.search import learn_skdb
    >>> structure = learn_skdb(DiscreteTable.from_frame(*load_monks(1)))
    >>> structure.children("is_monk")
    ('head_shape', 'body_shape', 'jacket_color')
    """
    if isinstance(max_k, bool) or not hasattr(max_k, "__index__") or max_k < 0:
        raise ValueError(f"max_k must be a whole number, 0 or more, not {max_k!r}")
    check_positive("ess", ess)
    name, features = class_of(table), table.vocabulary.features
    score = REQUIREMENTS.accept(score)
    if getattr(score, "needs_class", False):
        raise TypeError(
            f"learn_skdb treats the class as a parent of the chosen features only, but {score.name} needs it among "
            "the parents of every feature: use another score, such as BDeu or BIC"
        )
    if not features:
        return learn_naive_bayes(table, score)
    ranked = ranked_parents(table, int(max_k), n_jobs, progress)
    largest = min(int(max_k), len(features) - 1)
    likelihoods = np.empty((len(features) + 1, largest + 1))

    def by_k(k: int) -> None:
        families = [(features[child], (name, *(features[p] for p in chosen[:k]))) for child, chosen in ranked]
        likelihoods[:, k] = list(_of_prefixes(table, families, float(ess)))

    tasks = (partial(by_k, k) for k in range(largest + 1))
    run_tasks(tasks, largest + 1, thread_count(n_jobs), Deadline(), "leave-one-out", progress)
    enough = likelihoods >= likelihoods.max() - LEAST_GAIN * abs(likelihoods.max())
    m, k = (int(place) for place in np.argwhere(enough)[0])  # fewest features first, then the lowest k
    parents: dict[Hashable, tuple[Hashable, ...]] = dict.fromkeys(features, ())
    for child, chosen in ranked[:m]:
        parents[features[child]] = (name, *(features[p] for p in sorted(chosen[:k])))
    parents[name] = ()
    certificate = Certificate.unknown(
        f"selective k-dependence Bayesian classifier, k = {k} of {int(max_k)} and {m} of {len(features)} features by "
        f"leave-one-out: conditional log likelihood {likelihoods[m, k]:.6g} nats"
    )
    return Structure(name, parents, total_score(table, score, parents), certificate)


def _of_prefixes(
    table: DiscreteTable, families: Sequence[tuple[Hashable, tuple[Hashable, ...]]], ess: float
) -> Iterator[float]:
    """Yield the conditional log likelihood with the first 0, 1, ... features; nats, total of all rows."""
    name = class_of(table)
    classes, rows = table.column(name).astype(np.int64), np.arange(len(table.weights))
    logs = np.zeros((len(rows), table.vocabulary.arity(name)))
    own = np.zeros(len(rows))
    for family in class_families(table, Structure.given(name, {name: (), **dict(families)})):
        of_state, lowered = family.logs(ess)
        logs += of_state[family.state]
        own += lowered[family.state, classes]
        joint = logs.copy()
        joint[rows, classes] = own
        yield float(table.weights @ (own - logsumexp(joint, axis=1)))
