"""Bayes factors: how much more probable the data are if two variables are independent than if they are not."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import inf, log
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from anbexact._runtime.deadline import Deadline
from anbexact._runtime.tasks import thread_count
from anbexact.scores import BDeu
from anbexact.search.scoring.pair_scores import FamilyScorer
from anbexact.search.scoring.totals import class_of
from anbexact.tables.table import DiscreteTable, check_distinct


def log_bayes_factor(
    table: DiscreteTable, x: Hashable, y: Hashable, given: Sequence[Hashable] = (), *, ess: float = 1.0
) -> float:
    """Return ln BF(X, Y | Z), which is positive if the data support the independence of X and Y given Z.

    ``ln BF(X, Y | Z) = local(X | Z) - local(X | Z ∪ Y)`` with the local scores of BDeu, the log marginal likelihoods
    of X without and with Y among its parents. It is symmetric in X and Y.

    Parameters
    ----------
    table : DiscreteTable
        The rows.
    x, y : Hashable
        Two variables of the table.
    given : sequence
        The variables Z; none by default.
    ess : float, default 1.0
        Equivalent sample size of the prior.

    Returns
    -------
    float
        Nats, total.

    Raises
    ------
    ValueError
        If a variable is not in the table, or is named twice; or for an ``ess`` that is not a finite positive number.

    References
    ----------
    Steck and Jaakkola, *On the Dirichlet prior and Bayesian regularization*, NIPS 2002; Kass and Raftery, Journal of
    the American Statistical Association 90 (1995); Sugahara and Ueno, section 5.

    Examples
    --------
    >>> from anbexact import DiscreteTable
    >>> from anbexact.datasets import load_monks
    >>> from anbexact.selection import log_bayes_factor
    >>> table = DiscreteTable.from_frame(*load_monks(1))
    >>> log_bayes_factor(table, "is_monk", "jacket_color") < 0 < log_bayes_factor(table, "is_monk", "has_tie")
    True
    """
    check_distinct(table, [x, y, *given])
    score = BDeu(ess)
    return score.local_score(table, x, list(given)) - score.local_score(table, x, [*given, y])


def log_bayes_factors(
    table: DiscreteTable, *, ess: float = 1.0, n_jobs: int | None = None
) -> npt.NDArray[np.float64]:
    """Return ln BF(C, X_i) of the class C with every feature X_i, unconditionally; see :func:`log_bayes_factor`.

    Computed from 2n + 2 set scores, ``F(C) - F(∅) - F(C, X_i) + F(X_i)``, in O(n N) for n features and N distinct
    rows.

    Parameters
    ----------
    table : DiscreteTable
        A table with a class.
    ess : float, default 1.0
        Equivalent sample size of the prior.
    n_jobs : int, optional
        Number of threads; None and -1 use all processors.

    Returns
    -------
    (features,) float64
        In table order; nats, total.

    Raises
    ------
    ValueError
        If the table has no class, or for an ``ess`` that is not a finite positive number.
    """
    names = table.vocabulary.names
    class_position = names.index(class_of(table))
    features = np.array([names.index(name) for name in table.vocabulary.features], dtype=np.int64)
    n = len(features)
    sets = np.full((2 + 2 * n, 2), -1)
    sets[1, 1] = sets[2 + n :, 1] = class_position
    sets[2 : 2 + n, 1] = sets[2 + n :, 0] = features
    scorer = FamilyScorer(table, BDeu(ess), thread_count(n_jobs), Deadline())
    scores = scorer.set_scores(sets, "Bayes factors", None)
    if scores is None:  # without a time limit, only after an interrupt
        raise KeyboardInterrupt
    return np.asarray(scores[1] - scores[0] - scores[2 + n :] + scores[2 : 2 + n])


def relevant(table: DiscreteTable, factors: npt.NDArray[np.float64], threshold: float) -> npt.NDArray[np.bool_]:
    """Return which features are not dropped, given their ln BF: BF(C, X_i) ≤ δ, and two states or more."""
    several = [table.vocabulary.arity(name) > 1 for name in table.vocabulary.features]
    return np.asarray((factors <= log(threshold)) & np.array(several, dtype=bool))


def check_thresholds(name: str, thresholds: Sequence[Any]) -> tuple[float, ...]:
    """Return numbers above 0 as floats; refuse others."""
    if not thresholds:
        raise ValueError(f"{name} must be a number above 0, or a sequence of such numbers, not {thresholds!r}")
    for value in thresholds:
        if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < inf:
            raise ValueError(f"{name} must be a finite number above 0, or a sequence of such numbers, not {value!r}")
    return tuple(map(float, thresholds))
