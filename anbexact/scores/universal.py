"""Suzuki's universal measure of discrete and continuous variables, mixed over nested partitions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import log
from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp

from anbexact._runtime.arrays import Floats
from anbexact.scores.base import SetScore, View
from anbexact.scores.kt import KT
from anbexact.scores.likelihood import HQ
from anbexact.scores.registry import register_score
from anbexact.tables.partitions import NestedPartition
from anbexact.tables.table import DiscreteTable, check_distinct
from anbexact.tables.vocabulary import Vocabulary


@register_score()
@dataclass(frozen=True)
class Universal:
    r"""Difference of the logs of universal measures g, which are mixtures over levels of quantisation.

    In a table whose continuous variables are given as cells of the finest level of nested partitions,

        g(T) = (1/|K|) Σ_k Q(T at levels k) / Π_v Π_n η_v(cell of row n at level k_v),

    where k ranges over the set K of all tuples of levels of the continuous variables of T, Q is Krichevsky and
    Trofimov's measure (see :class:`~anbexact.scores.KT`) of the cells, and η_v is the reference measure of a
    variable's cells. Every variable has levels 1 to ``max(1, ⌊(1/m) ln N⌋)``, where m is the number of continuous
    variables in T and N the total weight. There are thus fewer than N cells at the finest levels (for each joint
    state of the discrete variables, which the paper's rule does not mention). Discrete variables have one level and η
    = 1. The local score of a child is ``ln g(parents ∪ child) - ln g(parents)``. This is a difference of set scores,
    so the exact searches apply, and the score is score equivalent.

    For sets of more than ln N continuous variables, this rule gives less than one level, and one level is used. Such
    sets are not useful: the more cells there are per row, the lower ln g(T) is for any distribution of the rows, and
    parents that separate the rows almost one by one are rewarded. Use ``max_parents=`` to exclude them (the
    classifiers set it automatically; see :meth:`most_variables`).

    No class of distributions is assumed. In the limit of many rows, the structures with the highest score are those
    that can represent the distribution with the fewest dependences. If you rescale a variable that is measured by
    width, the score of every structure changes by the same amount. Total over the data, in nats, of densities with
    respect to the reference measures.

    Parameters
    ----------
    partitions : mapping of variable to NestedPartition
        The partitions of the continuous variables; the codes of these variables are cells of the finest level.
        :class:`~anbexact.UniversalMeasure` makes the partitions from a frame. The class has no partition: it is
        discrete.
    levels : int, optional
        Number of levels of every variable in all sets, instead of the rule above. A set of m continuous variables
        then has ``levels`` to the power of m tuples.
    epsilon : float, optional
        If given, Hannan and Quinn's criterion is used instead of Q: ``ln R = Σ_t N_t ln N_t - (1 + ε) ln ln N · q``,
        up to a constant that is the same for all sets (see :class:`~anbexact.scores.HQ`).

    Raises
    ------
    ValueError
        If ``levels`` is not a whole number above 0, or ``epsilon`` is not a finite number above 0.

    References
    ----------
    Suzuki, Entropy 17 (2015), sections 2.2 and 3.2 (Theorems 3 to 5).

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from anbexact import UniversalMeasure
    >>> x = np.arange(200.0)
    >>> frame = pd.DataFrame({"x": x, "square": x**2, "parity": x % 2})
    >>> table, score = UniversalMeasure().read(frame)
    >>> score.local_score(table, "square", ["x"]) > score.local_score(table, "square", [])
    True
    >>> score.local_score(table, "parity", ["x"]) > score.local_score(table, "parity", [])
    False
    """

    partitions: Mapping[Hashable, NestedPartition] = field(default_factory=dict)
    levels: int | None = None
    epsilon: float | None = None

    name: ClassVar[str] = "universal"
    score_equivalent: ClassVar[bool] = True
    has_set_score: ClassVar[bool] = True
    ignores_single_states: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "partitions", dict(self.partitions))
        object.__setattr__(self, "levels", check_levels(self.levels))
        if self.epsilon is not None:
            HQ(self.epsilon)

    def __hash__(self) -> int:
        return hash((frozenset(self.partitions.items()), self.levels, self.epsilon))

    @property
    def base(self) -> SetScore:
        """The score of one tuple of levels."""
        return KT() if self.epsilon is None else HQ(self.epsilon)

    def n_levels(self, name: Hashable) -> int:
        """Return the total number of levels of a variable."""
        return self.partitions[name].n_levels if name in self.partitions else 1

    def most_levels(self, n_continuous: int, weight_sum: float) -> int:
        """Return the maximum number of levels of a variable in sets with this number of continuous variables."""
        return most_levels(n_continuous, weight_sum) if self.levels is None else self.levels

    def most_variables(self, weight_sum: float) -> int:
        """Return ``max(2, ⌊ln N⌋)``, the maximum number of continuous variables in a set that should be scored."""
        return max(2, int(log(max(weight_sum, 1.0))))

    def default_max_parents(self, weight_sum: float) -> int:
        """Return the limit on parents that keeps every set within :meth:`most_variables`."""
        return self.most_variables(weight_sum) - 1

    @property
    def needed_variables(self) -> tuple[Hashable, ...]:
        """The continuous variables, whose number determines how many levels the others have."""
        return tuple(self.partitions)

    def n_cells(self, table: DiscreteTable, name: Hashable, level: int) -> int:
        """Return the number of cells that a variable has at a level, or at its last one."""
        if name not in self.partitions:
            return table.vocabulary.arity(name)
        return len(self.partitions[name].masses_at(min(level, self.n_levels(name))))

    def set_shape(self, table: DiscreteTable, names: Sequence[Hashable]) -> tuple[int, ...]:
        """Return the numbers of cells of the variables of a set, at the finest levels used in that set."""
        levels = self.levels_of(names, table.weight_sum)
        return tuple(self.n_cells(table, name, level) for name, level in zip(names, levels, strict=True))

    def set_arities(self, table: DiscreteTable, size: int) -> tuple[int, ...]:
        """Return the numbers of cells of the features in sets with this number of continuous variables."""
        level = self.most_levels(min(size, len(self.partitions)), table.weight_sum)
        return tuple(self.n_cells(table, name, level) for name in table.vocabulary.features)

    def levels_of(self, names: Sequence[Hashable], weight_sum: float) -> tuple[int, ...]:
        """Return the number of levels used for each variable of a set."""
        most = self.most_levels(sum(name in self.partitions for name in names), weight_sum)
        return tuple(min(most, self.n_levels(name)) for name in names)

    def at_levels(self, table: DiscreteTable, views: Sequence[View]) -> DiscreteTable:
        """Return a table, without class, of variables at some of their levels; its names are the views.

        Raises
        ------
        ValueError
            If a variable has other cells than its partition.
        """
        states: dict[Hashable, Sequence[int]] = {}
        codes = np.empty((len(table.codes), len(views)), dtype=np.int16, order="F")
        for j, (name, level) in enumerate(views):
            codes[:, j] = table.column(name)
            states[name, level] = range(table.vocabulary.arity(name))
            if name in self.partitions:
                cells = self.partitions[name].cell_at(level)
                if len(cells) != table.vocabulary.arity(name):
                    raise ValueError(
                        f"the partition of {name!r} has {len(cells)} cells, but the variable has "
                        f"{table.vocabulary.arity(name)} states: the two numbers must be equal"
                    )
                codes[:, j] = cells[codes[:, j]]
                states[name, level] = range(int(cells[-1]) + 1)
        vocabulary = Vocabulary({view: tuple(of_view) for view, of_view in states.items()})
        return DiscreteTable(vocabulary, codes, table.weights, table.n_rows)

    def coarsest(self, table: DiscreteTable) -> DiscreteTable:
        """Return the table with all variables at level 1, equal rows collapsed."""
        names = table.vocabulary.names
        coarse = self.at_levels(table, [(name, 1) for name in names])
        states = {name: coarse.vocabulary.states[name, 1] for name in names}
        vocabulary = Vocabulary(states, table.vocabulary.class_name)
        return DiscreteTable(vocabulary, coarse.codes, table.weights, table.n_rows).restricted(names)

    def log_measure(self, table: DiscreteTable, view: View) -> float:
        """Return Σ_n ln η over the cells of all rows; nats, total."""
        name, level = view
        if name not in self.partitions:
            return 0.0
        partition = self.partitions[name]
        counts = np.bincount(partition.cell_at(level), table.counts([name]))
        return float(counts @ np.log(partition.masses_at(level)))

    def set_score(self, table: DiscreteTable, names: Sequence[Hashable]) -> float:
        """Return ln g of the named variables, up to a constant that is 0 unless ``epsilon`` is given; nats, total."""
        _, terms = self.terms(table, names, self.levels_of(names, table.weight_sum))
        return float(logsumexp(terms)) - log(len(terms))

    def terms(
        self, table: DiscreteTable, names: Sequence[Hashable], levels: Sequence[int]
    ) -> tuple[list[tuple[int, ...]], Floats]:
        """Return all tuples of levels, up to given ones, and the log of the measure at each; nats, total."""
        views = [(name, level) for name, most in zip(names, levels, strict=True) for level in range(1, most + 1)]
        expanded = self.at_levels(table, views)
        of_view = {view: self.log_measure(table, view) for view in views}
        tuples = level_tuples(levels)
        chosen = [list(zip(names, of_tuple, strict=True)) for of_tuple in tuples]
        base = self.base
        logs = [base.set_score(expanded, of_set) - sum(of_view[view] for view in of_set) for of_set in chosen]
        return tuples, np.array(logs)

    def local_score(self, table: DiscreteTable, child: Hashable, parents: Sequence[Hashable]) -> float:
        """Return the local score of ``child`` given its parents; total in nats."""
        return self.set_score(table, [*parents, child]) - self.set_score(table, list(parents))

    def local_upper_bound(self, table: DiscreteTable, child: Hashable) -> float:
        """Return a bound on the local score of a feature over all parent sets (with the class, if there is one).

        At given levels, a further variable lowers F. The bound consists of the density of the child's own cells, and
        of at most ``Σ_v ln(K/K')`` because the other variables may have fewer levels with the child than without it.
        Total in nats.
        """
        if child not in self.partitions:
            return 0.0
        widest = max(-self.log_measure(table, (child, level)) for level in range(1, self.n_levels(child) + 1))
        others = [self.n_levels(name) for name in table.vocabulary.names if name in self.partitions and name != child]
        lost = 0.0
        for size in range(1, len(others) + 1):
            before, after = (self.most_levels(m, table.weight_sum) for m in (size, size + 1))
            ratios = sorted(min(before, own) / min(after, own) for own in others)
            lost = max(lost, sum(log(ratio) for ratio in ratios[-size:]))
        return widest + lost


def universal_information(
    table: DiscreteTable,
    x: Hashable | Sequence[Hashable],
    y: Hashable | Sequence[Hashable],
    given: Hashable | Sequence[Hashable] = (),
    *,
    score: Universal | None = None,
) -> float:
    """Return J_n, an estimate of the conditional mutual information I(X; Y | Z) by universal measures g.

    ``J_n = (1/N) ln [g(X, Y, Z) g(Z) / (g(X, Z) g(Y, Z))]`` for N rows (their total weight), with the g of
    :class:`Universal`. It assumes no class of distributions: the variables may be continuous, discrete or both. As N
    grows, it converges with probability one to ``I(X; Y | Z) = E ln [f(X, Y, Z) f(Z) / (f(X, Z) f(Y, Z))]`` if there
    are enough levels.

    Unlike the mutual information of the observed frequencies, J_n charges for its parameters. It is symmetric in X
    and Y, usually below the true value for few rows, and negative if the rows are better described as independent.
    To decide whether they are, use :class:`~anbexact.selection.UniversalTest`.

    Parameters
    ----------
    table : DiscreteTable
        The rows, with continuous variables as cells; see :meth:`~anbexact.UniversalMeasure.read`.
    x, y : variable or sequence of variables
        X and Y, each one variable or several, not none.
    given : variable or sequence of variables, default ()
        Z.
    score : Universal, optional
        The measure of the table, from :meth:`~anbexact.UniversalMeasure.read`. The default is for tables without
        continuous variables.

    Returns
    -------
    float
        Nats per row; 0 for a table without rows.

    Raises
    ------
    ValueError
        If a variable is not in the table or is named twice, X or Y is empty, or a variable has other cells than its
        partition.

    References
    ----------
    Suzuki, Entropy 17 (2015): section 2.1 for discrete variables, Theorem 3 for all others.

    Examples
    --------
    >>> import numpy as np
    >>> from anbexact import UniversalMeasure
    >>> from anbexact.scores import universal_information
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=5000)
    >>> z = x + rng.normal(size=5000)
    >>> y = z + rng.normal(size=5000)
    >>> table, score = UniversalMeasure().read(np.column_stack([x, y, z]))
    >>> round(universal_information(table, "x0", "x2", score=score), 2)  # ½ ln 2 = 0.35
    0.28
    >>> universal_information(table, "x0", "x1", "x2", score=score) < 0
    True
    """
    score = as_universal(Universal() if score is None else score)
    first, second, others = (_members(table, names) for names in (x, y, given))
    check_distinct(table, [*first, *second, *others])
    if not (first and second):
        raise ValueError("x and y must each name a variable, or several")
    if table.weight_sum == 0:
        return 0.0
    both = score.set_score(table, [*first, *second, *others]) + score.set_score(table, others)
    apart = score.set_score(table, [*first, *others]) + score.set_score(table, [*second, *others])
    return (both - apart) / table.weight_sum


def _members(table: DiscreteTable, names: Any) -> list[Hashable]:
    """Return a variable, or a sequence of variables, as a list."""
    single = isinstance(names, str) or (isinstance(names, Hashable) and names in table.vocabulary.states)
    return [names] if single else list(names)


def as_universal(value: Any) -> Universal:
    """Return a value if it is a universal measure; refuse others with a ValueError."""
    if not isinstance(value, Universal):
        raise ValueError(f"the score must be a Universal, not a value of type {type(value).__name__}")
    return value


def level_tuples(levels: Sequence[int]) -> list[tuple[int, ...]]:
    """Return all tuples of levels, 1 to the given number each."""
    return list(product(*(range(1, most + 1) for most in levels)))


def most_levels(n_continuous: int, weight_sum: float) -> int:
    """Return ``max(1, ⌊(1/m) ln N⌋)`` for sets of m continuous variables in rows of total weight N."""
    return max(1, int(log(max(weight_sum, 1.0)) / max(n_continuous, 1)))


def check_levels(levels: Any) -> int | None:
    """Return a number of levels as an int; refuse invalid ones."""
    if levels is None:
        return None
    if isinstance(levels, bool) or not isinstance(levels, int | np.integer) or levels < 1:
        raise ValueError(f"levels must be None or a whole number above 0, not {levels!r}")
    return int(levels)
