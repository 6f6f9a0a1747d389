"""Tests of conditional independence, and functions shared by the searches that use them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from math import inf, log, log1p, prod
from typing import Protocol

import numpy as np

from anbexact._kernels.contingency import g2_tests
from anbexact._runtime.arrays import Floats, Positions
from anbexact._runtime.deadline import Deadline
from anbexact.scores import BDeu, Score, Universal
from anbexact.search.exact.solution import rounding_error
from anbexact.search.scoring.pair_scores import FamilyScorer
from anbexact.tables.table import DiscreteTable, check_distinct

Associations = Callable[[int, Positions, tuple[int, ...]], Floats]
"""``f(x, others, given)`` returns the association of the variable ``x`` with each of ``others`` given ``given``; all
variables are positions, ``given`` sorted. An association below 0 means independent, an infinite one not tested."""


class IndependenceTest(Protocol):
    """A test whether two variables are independent given others, for many pairs at once."""

    def on(self, table: DiscreteTable) -> Associations:
        """Return the test on the rows of a table."""


@dataclass(frozen=True)
class G2Test:
    """Likelihood-ratio test of conditional independence: G² against the chi-squared distribution.

    ``G² = 2 Σ_xyz N_xyz ln(N_xyz N_z / (N_xz N_yz))``. The degrees of freedom are ``Σ_z (r_xz - 1) (r_yz - 1)`` over
    the joint states z that occur, where r_xz and r_yz are the numbers of states of X and Y that occur together with
    z; states that never do count as structural zeros. The association is ``ln(alpha / p)``: X and Y count as
    independent if p is above alpha, and the smaller p, the stronger the association.

    A test needs ``rows_per_cell`` rows, by weight, for each of the ``r_x r_y q_z`` cells. If there are fewer, X and Y
    count as independent in an unconditional test, because there is no evidence for an arc. In a conditional test,
    they are not tested, so that no variables are separated without evidence.

    Parameters
    ----------
    alpha : float, default 0.05
        Significance level.
    rows_per_cell : float, default 5
        Minimum mean number of rows per cell.

    Raises
    ------
    ValueError
        For an alpha that is not between 0 and 1, or a ``rows_per_cell`` that is not a number above 0.

    References
    ----------
    Spirtes, Glymour and Scheines, *Causation, Prediction, and Search* (2000); Tsamardinos, Brown and Aliferis,
    Machine Learning 65 (2006).
    """

    alpha: float = 0.05
    rows_per_cell: float = 5.0

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise ValueError(f"alpha must be a number between 0 and 1, not {self.alpha!r}")
        if not 0 < self.rows_per_cell < inf:
            raise ValueError(f"rows_per_cell must be a finite number above 0, not {self.rows_per_cell!r}")

    def on(self, table: DiscreteTable) -> Associations:
        """Return the test on the rows of a table; see :class:`IndependenceTest`."""
        codes = np.ascontiguousarray(table.codes.T)
        arities = np.array(table.shape(table.vocabulary.names), dtype=np.int64)
        sizes = arities.tolist()
        smallest = min(sizes)
        most_cells = table.weight_sum / self.rows_per_cell

        def associations(x: int, others: Positions, given: tuple[int, ...]) -> Floats:
            out = np.full(len(others), inf if given else -inf)
            cells = prod([sizes[v] for v in given], start=sizes[x])
            if cells * smallest > most_cells:  # too few rows for any test, as with most large sets
                return out
            tested = np.flatnonzero(float(cells) * arities[others] <= most_cells)
            if len(tested):
                logs = np.empty(len(tested))
                positions = np.array(given, dtype=np.int64)
                g2_tests(codes, arities, table.weights, x, others[tested], positions, logs)
                out[tested] = log(self.alpha) - logs
            return out

        return associations


@dataclass(frozen=True)
class BayesFactorTest:
    """Independence of two variables given others by their Bayes factor.

    ``ln BF(X, Y | Z) = local(X | Z) - local(X | Z ∪ Y)`` by BDeu. X and Y count as independent if the factor is above
    the threshold δ; the association is ``ln δ - ln BF``. See :func:`~anbexact.selection.log_bayes_factor`. All sets
    are tested, even if their cells have few rows.

    Parameters
    ----------
    threshold : float, default 3.0
        The threshold δ.
    ess : float, default 1.0
        Equivalent sample size of the prior.

    Raises
    ------
    ValueError
        For a threshold or an ``ess`` that is not a finite number above 0.

    References
    ----------
    Steck and Jaakkola, *On the Dirichlet prior and Bayesian regularization*, NIPS 2002; Sugahara and Ueno, *Exact
    Learning Augmented Naive Bayes Classifier*, section 5.
    """

    threshold: float = 3.0
    ess: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.threshold < inf:
            raise ValueError(f"the threshold must be a finite number above 0, not {self.threshold!r}")
        BDeu(self.ess)

    def on(self, table: DiscreteTable) -> Associations:
        """Return the test on the rows of a table; see :class:`IndependenceTest`."""
        dependence = dependences(table, BDeu(self.ess))
        return lambda x, others, given: log(self.threshold) + dependence(x, others, given)


@dataclass(frozen=True)
class UniversalTest:
    """Independence of continuous and discrete variables, of any distribution, by their universal measures g.

    With the prior probability p of independence, X and Y count as independent given Z if

        p g(X, Z) g(Y, Z) ≥ (1 - p) g(X, Y, Z) g(Z);

    the association is the ln of the right side minus the ln of the left side. With probability one, the test is right
    from some number of rows on, if there are enough levels. All sets are tested, even if their cells have few rows.
    Sides that agree up to rounding count as equal.

    The four measures are sums over their levels, and each tuple of levels has the same weight in all of them, as the
    proof of the theorem requires. (By default, a set has fewer levels the more continuous variables it has. If the
    measures were means over levels, these numbers alone would favour dependence: for two variables tested
    unconditionally, by ``2 ln(⌊ln N⌋ / ⌊½ ln N⌋)``, 1.4 to 1.8 nats from 55 rows on.)

    Parameters
    ----------
    score : Universal, default Universal()
        The measure of the same table: see :meth:`~anbexact.UniversalMeasure.read`. The default is for tables without
        continuous variables.
    prior : float, default 0.5
        The probability p.

    Raises
    ------
    ValueError
        For a prior that is not between 0 and 1.

    References
    ----------
    Suzuki, Entropy 17 (2015), Theorem 4; Theorem 5 for scores with an ``epsilon``.

    Examples
    --------
    >>> import numpy as np
    >>> from anbexact import UniversalMeasure
    >>> from anbexact.selection import MMPC, UniversalTest
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=500)
    >>> y = x + 0.5 * rng.normal(size=500)
    >>> table, score = UniversalMeasure().read(np.column_stack([x, y, y + 0.5 * rng.normal(size=500)]))
    >>> test = UniversalTest(score)
    >>> test.log_odds(table, "x0", "x2") < 0 < test.log_odds(table, "x0", "x2", ["x1"])
    True
    >>> MMPC(test).parents_children(table, "x0")
    ('x1',)
    """

    score: Universal = field(default_factory=Universal)
    prior: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.prior < 1:
            raise ValueError(f"the prior must be a number between 0 and 1, not {self.prior!r}")

    @property
    def _log_prior_odds(self) -> float:
        return log(self.prior) - log1p(-self.prior)

    def _dependences(self, table: DiscreteTable) -> Associations:
        """Return ln g(X, Y, Z) + ln g(Z) - ln g(X, Z) - ln g(Y, Z), sums over levels, in nats."""
        names, score = table.vocabulary.names, self.score
        of_means = dependences(table, score)
        kinds = np.array([score.n_levels(name) if name in score.partitions else 0 for name in names])

        def log_number(*members: int) -> float:
            """Return the log of the number of tuples of levels of a set."""
            return sum(log(most) for most in score.levels_of([names[v] for v in members], table.weight_sum))

        def of_pairs(x: int, others: Positions, given: tuple[int, ...]) -> Floats:
            out = of_means(x, others, given)
            for kind in np.unique(kinds[others]):
                own = kinds[others] == kind
                y = int(others[own][0])
                out[own] += log_number(x, y, *given) + log_number(*given)
                out[own] -= log_number(x, *given) + log_number(y, *given)
            return out

        return of_pairs

    def on(self, table: DiscreteTable) -> Associations:
        """Return the test on the rows of a table; see :class:`IndependenceTest`."""
        dependence = self._dependences(table)
        least = self._log_prior_odds + rounding_error(table)
        return lambda x, others, given: dependence(x, others, given) - least

    def log_odds(self, table: DiscreteTable, x: Hashable, y: Hashable, given: Sequence[Hashable] = ()) -> float:
        """Return ``ln [p g(X, Z) g(Y, Z)] - ln [(1 - p) g(X, Y, Z) g(Z)]``, the log odds of independence; nats.

        It is symmetric in X and Y.

        Parameters
        ----------
        table : DiscreteTable
            The rows.
        x, y : Hashable
            Two variables of the table.
        given : sequence
            The variables Z; none by default.

        Raises
        ------
        ValueError
            If a variable is not in the table, or is named twice; or if the table does not fit the score.
        """
        check_distinct(table, [x, y, *given])
        first, second, *others = (position_of(table, name) for name in (x, y, *given))
        dependence = self._dependences(table)(first, np.array([second]), tuple(sorted(others)))
        return self._log_prior_odds - float(dependence[0])


def dependences(table: DiscreteTable, score: Score) -> Associations:
    """Return F(X, Y, Z) + F(Z) - F(X, Z) - F(Y, Z) for the set scores F of a score, in nats.

    The result is called as :data:`Associations` are.
    """
    scorer = FamilyScorer(table, score, 1, Deadline())

    def of_pairs(x: int, others: Positions, given: tuple[int, ...]) -> Floats:
        n = len(others)
        sets = np.full((2 + 2 * n, len(given) + 2), -1)
        sets[:, 2:] = given
        sets[1, 1] = x
        sets[2:, 1] = np.tile(others, 2)
        sets[2 + n :, 0] = x
        scores = scorer.set_scores(sets, "set scores", None)
        assert scores is not None
        return np.asarray(scores[0] - scores[1] + scores[2 + n :] - scores[2 : 2 + n])

    return of_pairs


def position_of(table: DiscreteTable, target: Hashable) -> int:
    """Return the position of a variable.

    Raises
    ------
    ValueError
        If it is not a variable of the table.
    """
    names = table.vocabulary.names
    if target not in names:
        raise ValueError(f"{target!r} is not a variable of the table; the variables are {list(names)}")
    return names.index(target)
