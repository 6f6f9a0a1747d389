"""The members of a pool: what may be a member, and which members are chosen automatically."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sklearn.frozen import FrozenEstimator

from anbexact.classifiers.additive import AdditiveClassifier
from anbexact.classifiers.base import NetworkClassifier
from anbexact.classifiers.branching import TANClassifier
from anbexact.classifiers.discrete import DiscreteClassifier
from anbexact.classifiers.exact import ANBClassifier
from anbexact.classifiers.kdb import KDBClassifier
from anbexact.classifiers.kernel import KernelClassifier
from anbexact.classifiers.linear import LinearClassifier
from anbexact.classifiers.naive_bayes import NaiveBayesClassifier
from anbexact.classifiers.refitted import RefittedClassifier
from anbexact.tables.cuts.rules import equal_frequency

AUTO = "auto"
"""The value of a parameter that is chosen from the rows."""
NB_SMOOTH, TAN_SMOOTH, KERNEL, LINEAR = "NB smooth", "TAN smooth", "kernel", "linear"
"""The names of four members: with smooth shapes of single features, with smooth shapes of the pairs of a tree, with
interactions of all orders, and with lines."""
MANY_FEATURES, MOST_SETS_TIMES_ROWS = 22, 5 * 10**9
"""Number of features, and number of their subsets times the number of rows, beyond which no automatic member searches
its structure exactly, because it would take too long."""
MANY_UNKNOWNS, MOST_UNKNOWNS = 4_000, 10_000
"""Two limits on classes times features times `INTERVALS`. Up to the first, automatic members have smooth
interactions; up to the second, only a smooth TAN has them, and only if columns are cut and kernel logistic regression
is not a member; beyond it, smooth members have main effects only, and linear logistic regression is not a member."""
INTERVALS = 24
"""Number of intervals of a smooth column that these limits assume."""
FEW_VALUES, FEW_INTERVALS, FEWEST_INTERVALS, MORE_INTERVALS = 300, 8, 4, 16
"""Of the quick first member of a pool that is learned in a given time: most values of a column without groups, and
the numbers of intervals of a smooth column, the second if there are more columns than rows. If there are few rows, a
further member has the third number, or the first if there are more columns than rows: its shapes can come closer to
lines."""
FEW_ROWS, FEW_ROWS_PER_FEATURE = 200, 5
"""Number of rows below which a pool that is learned in a given time has few members, and number of rows per feature
below which the strengths of all these members are chosen by cross-validation."""
ROWS_FOR_FOUR_PARENTS, ROWS_FOR_HIERARCHICAL, ROWS_FOR_TREES = 2_000, 40, 100
"""Numbers of rows from which on there are automatic members with four parents; where columns are cut, a kDB with
hierarchical tables and two parents; and where none is, one with tables as trees."""
FEW_FEATURES, ROWS_FOR_TREES_OF_INTERVALS = 6, 500
"""Where columns are cut, number of features up to which, and number of rows from which on, a kDB with one parent and
tables as trees is a member: it finds interactions of two features in narrow regions."""
ROWS_WITHOUT_LINEAR = 250
"""Where columns are cut, number of rows below which linear logistic regression is a member, unless `MOST_UNKNOWNS` is
exceeded. Where it and kernel logistic regression are members, networks on five intervals are left out."""
ROWS_FOR_SMOOTH_ANB = 15_000
"""Number of rows from which on a smooth ANB on the cut points of MODL is a member next to kernel logistic
regression."""
ROWS_FOR_TABLES, ROWS_FOR_REFITS, ROWS_WITHOUT_ANB_REFITTED = 30, 50, 1_000
"""Where no column is cut: numbers of rows from which on there are automatic members as they are learned; refits,
which stand in for smooth shapes of kDB and ANB; and from which on ANB is not refitted."""
ROWS_FOR_KERNEL = 20
"""Number of rows from which on kernel logistic regression is a member, and a linear one where columns are cut."""
MOST_ROWS_FOR_KERNEL, MOST_ROWS_TIMES_CLASSES = 100_000, 1_000_000
"""Number of rows beyond which kernel logistic regression would have fewer than 500 points; and number of rows times
classes beyond which it would take too long."""
FEW_POINTS, POINTS, MORE_POINTS = 400, 1_000, 2_600
"""Maximum numbers of its points: below `ROWS_FOR_POINTS` rows if no column is cut, where more of them predict no
better; in general; and with a number of rows from there up to `ROWS_AGAIN_FOR_POINTS`, or from `ROWS_FOR_MORE_POINTS`
on. In between, more of them hardly change the predictions, but a fit takes up to two thirds more time."""
ROWS_FOR_POINTS, ROWS_AGAIN_FOR_POINTS, ROWS_FOR_MORE_POINTS = 2_000, 4_000, 15_000
"""See `FEW_POINTS`."""


@dataclass(frozen=True)
class Member:
    """An unfitted estimator and its name.

    ``slower_than`` is the name of a member that takes less time on large tables, if there is one: where that member
    took longer than the time that is left, this one is not begun. ``extends`` are the names of members with fewer
    interactions or without smooth shapes: where all of them predict far worse than the best, an automatic pool leaves
    this one out. In a list of members, those that extend others come last, and after those that they extend. ``like``
    is the name of an earlier member with smooth shapes, whose tuning of strengths this one takes over.
    """

    name: str
    estimator: DiscreteClassifier
    slower_than: str | None = None
    extends: tuple[str, ...] = ()
    like: str | None = None


def automatic_members(
    n_features: int,
    n_classes: int,
    n_rows: int,
    settings: Mapping[str, Any],
    *,
    cut: bool = True,
    readable: bool = False,
) -> list[Member]:
    """Return the members of ``"auto"``, the most promising first, but those last that extend others.

    Where columns are cut, the members are naive Bayes, TAN and ANB with smooth shapes, and, for variety, TAN, kDB and
    ANB without them. If the discretizer is ``"auto"``, the plain TAN and ANB are learned on intervals of equal
    frequency, and a second smooth ANB on five of them is added; and, with enough rows, two kDB with hierarchical
    tables: one with two parents on intervals of equal width, and one with four on eight intervals of equal frequency.
    With few features and enough rows, a kDB with one parent and tables as trees is added, on the latter intervals;
    with few rows, linear logistic regression. Some of these hardly change the predictions next to kernel logistic
    regression. Where that is a member, and linear logistic regression is, too, networks on five intervals are left
    out; and naive Bayes is the only network on the cut points of MODL below `ROWS_FOR_FOUR_PARENTS` rows. From there
    on, the only networks are naive Bayes and kDB on these cut points, the kDB with hierarchical tables and with trees
    and, from `ROWS_FOR_SMOOTH_ANB` rows on, the smooth ANB.

    Where no column is cut, the members are naive Bayes and TAN with smooth shapes; kDB and ANB refitted without them,
    and TAN, too, where kernel logistic regression is not a member; and TAN, kDB and ANB as they are learned. With few
    rows, kDB and ANB have smooth shapes instead. From `ROWS_WITHOUT_ANB_REFITTED` rows on, ANB is not refitted, and
    from `ROWS_FOR_FOUR_PARENTS` on, a kDB with four parents is. Below that number, kernel logistic regression comes
    right after the smooth members. Another kDB has tables as trees. It extends naive Bayes: where that is far behind,
    interactions are so strong that refits predict better.

    Smooth interactions are left out if there would be too many coefficients, and exact searches if there are too many
    features, or many features and many rows. Kernel logistic regression is added if there are enough rows, but not
    too many, and rows times classes are not too many either.
    The guide "The pool" explains the choice.

    Parameters
    ----------
    n_features, n_classes, n_rows : int
        Size of the task; the rows are those of positive weight.
    settings : mapping
        How the members read the table, as parameters that all of them have.
    cut : bool
        Whether there are columns to cut.
    readable : bool
        Whether kernel logistic regression and, where columns are cut, the kDB with hierarchical tables are left out.
    """
    given = dict(settings)
    rule = given.pop("discretizer", AUTO)
    size = n_features * n_classes * INTERVALS
    exact = n_features <= MANY_FEATURES and 2**n_features * n_rows <= MOST_SETS_TIMES_ROWS
    kernel = ROWS_FOR_KERNEL <= n_rows <= MOST_ROWS_FOR_KERNEL and n_rows * n_classes <= MOST_ROWS_TIMES_CLASSES
    kernel = kernel and not readable
    kinds = _Kinds(
        exact=exact,
        smooth=size <= MANY_UNKNOWNS and (exact or not cut),
        smooth_tan=size <= MOST_UNKNOWNS,
        kernel=kernel,
        linear=ROWS_FOR_KERNEL <= n_rows < ROWS_WITHOUT_LINEAR and size <= MOST_UNKNOWNS,
        points=_points(n_rows, cut=cut),
        hierarchical=n_rows >= ROWS_FOR_HIERARCHICAL and not readable,
        trees=n_rows >= ROWS_FOR_TREES,
        trees_of_intervals=n_rows >= ROWS_FOR_TREES_OF_INTERVALS and n_features <= FEW_FEATURES,
        tables=n_rows >= ROWS_FOR_TABLES,
        refits=n_rows >= ROWS_FOR_REFITS,
        anb_refitted=n_rows < ROWS_WITHOUT_ANB_REFITTED,
        four_parents=n_rows >= ROWS_FOR_FOUR_PARENTS,
        smooth_anb=not kernel or n_rows >= ROWS_FOR_SMOOTH_ANB,
    )
    if cut:
        return _of_cut_columns(given, rule, kinds, varied=isinstance(rule, str) and rule == AUTO)
    return _of_states({**given, "discretizer": rule}, kinds)


def _points(n_rows: int, *, cut: bool) -> int:
    """Return the maximum number of points of kernel logistic regression."""
    if n_rows < ROWS_FOR_POINTS:
        return POINTS if cut else FEW_POINTS
    return POINTS if ROWS_AGAIN_FOR_POINTS <= n_rows < ROWS_FOR_MORE_POINTS else MORE_POINTS


class _Kinds(NamedTuple):
    """Which kinds of members suit the size of a task: with an exact search, smooth shapes, and so on.

    ``hierarchical``, ``trees`` and, where columns are cut, ``trees_of_intervals`` are whether a kDB with such tables
    is a member, and ``four_parents`` whether one with four parents is. Where no column is cut, ``tables`` and
    ``refits`` are whether networks are members as they are learned, and refitted, and ``anb_refitted`` whether ANB
    may be one of the latter. Where columns are cut by several rules, ``smooth_anb`` is whether the smooth ANB on the
    cut points of MODL is a member.
    """

    exact: bool
    smooth: bool
    smooth_tan: bool
    kernel: bool
    linear: bool
    points: int
    hierarchical: bool
    trees: bool
    trees_of_intervals: bool
    tables: bool
    refits: bool
    anb_refitted: bool
    four_parents: bool
    smooth_anb: bool


def most_promising_first(members: list[Member]) -> list[Member]:
    """Return the members with the smooth TAN after the smooth naive Bayes, if it comes later: time may be short."""
    tan = next((member for member in members if member.name == TAN_SMOOTH and member.extends), None)
    if tan is None:
        return members
    others = [member for member in members if member is not tan]
    place = 1 + [member.name for member in others].index(NB_SMOOTH)
    return [*others[:place], replace(tan, extends=()), *others[place:]]


def members_in_time(
    n_features: int,
    n_classes: int,
    n_rows: int,
    settings: Mapping[str, Any],
    *,
    cut: bool = True,
    readable: bool = True,
) -> list[Member]:
    """Return the members of a pool that is learned in a given time, those first that predict well after short fits.

    The first is naive Bayes with smooth shapes whose strengths are chosen by cross-validation, on few intervals, and
    without groups of values where a column has up to `FEW_VALUES` of them. It is learned in seconds. Where rows are
    few for their columns or classes, it predicts better than with strengths that the evidence chooses; if there are
    more columns than rows, it is the only member (unless rows are few, see below), on still fewer intervals. Then
    come the members of :func:`automatic_members`, with a smooth TAN of any size, and after it, where features are not
    too many, a kDB with smooth shapes whose strengths are chosen in the same way, for interactions of three.

    With fewer than `FEW_ROWS` rows, chance would decide between so many members. There are five then: the first one,
    the same on more intervals, linear logistic regression if columns are cut, and naive Bayes and TAN with strengths
    that the evidence chooses; or only the first three if there are fewer than `FEW_ROWS_PER_FEATURE` rows per
    feature.

    Unless ``handle_missing`` says otherwise, a missing cell is a state of its own in every column that has some, so
    that no row is left out and all members have the same states.
    """
    if settings.get("handle_missing", AUTO) == AUTO:
        settings = {**settings, "handle_missing": "own_state"}
    own = dict(settings)
    if isinstance(own.get("group_categories"), str):
        own["group_categories"] = FEW_VALUES
    bayes, few, wide = NaiveBayesClassifier(**own), n_rows < FEW_ROWS, n_features > n_rows
    intervals, more = (FEWEST_INTERVALS, FEW_INTERVALS) if wide else (FEW_INTERVALS, MORE_INTERVALS)
    members = [_cross_validated("NB", bayes, intervals)]
    if wide and not few:
        return members
    chosen = automatic_members(n_features, n_classes, n_rows, settings, cut=cut, readable=readable)
    others = {member.name: member for member in chosen}
    if few:
        finer = _cross_validated("NB", bayes, more)
        members.append(replace(finer, name=f"{finer.name}, {more} intervals"))
        members += [others.pop(LINEAR)] if LINEAR in others else []
        if n_rows < FEW_ROWS_PER_FEATURE * n_features:
            return members
    members.append(others.pop(NB_SMOOTH))
    tan = others.pop(TAN_SMOOTH, Member(TAN_SMOOTH, AdditiveClassifier(TANClassifier(**settings)), like=NB_SMOOTH))
    members.append(replace(tan, slower_than=NB_SMOOTH, extends=()))
    if few:
        return members
    if n_features <= MANY_FEATURES:
        kdb = _cross_validated("kDB", KDBClassifier(**settings))
        members.append(replace(kdb, slower_than=members[0].name))
    searched = [replace(of, slower_than=NB_SMOOTH) if name.startswith("ANB") else of for name, of in others.items()]
    return [*members, *searched]


def _cross_validated(name: str, network: NetworkClassifier, intervals: int = FEW_INTERVALS) -> Member:
    """Return a network with smooth shapes on few intervals, of the strengths that predict left-out rows best."""
    return Member(f"{name} smooth, cross-validated", AdditiveClassifier(network, smooth="cv", intervals=intervals))


def _of_cut_columns(given: dict[str, Any], rule: Any, kinds: _Kinds, *, varied: bool) -> list[Member]:
    """Return the members for a table with columns that are cut, by several rules if ``varied``."""
    eight, five = (equal_frequency(8), equal_frequency(5)) if varied else (rule, rule)
    alone = not varied or not kinds.kernel
    equal = alone or not kinds.four_parents
    on_five = alone or not (kinds.four_parents or kinds.linear)
    members = [Member(NB_SMOOTH, AdditiveClassifier(NaiveBayesClassifier(discretizer=rule, **given)))]
    if kinds.kernel:
        members.append(Member(KERNEL, KernelClassifier(discretizer=rule, points=kinds.points, **given)))
    if kinds.linear:
        members.append(Member(LINEAR, LinearClassifier(discretizer=rule, **given)))
    simpler: tuple[str, ...] = (NB_SMOOTH,)
    if equal:
        members.append(_on("TAN", 8, varied, TANClassifier(discretizer=eight, **given)))
        simpler = (NB_SMOOTH, members[-1].name)
    if alone or kinds.four_parents:
        members.append(Member("kDB", KDBClassifier(discretizer=rule, **given)))
    if kinds.hierarchical and varied:
        two = KDBClassifier(parameters="hierarchical", discretizer="equal_width", **given)
        members.append(Member("kDB hierarchical, equal width", two))
    if kinds.hierarchical and varied and kinds.four_parents:
        four = KDBClassifier(k=4, parameters="hierarchical", discretizer=eight, **given)
        members.append(Member("kDB hierarchical, 4 parents", four))
    if kinds.trees_of_intervals and varied:
        one = KDBClassifier(k=1, parameters="tree", discretizer=eight, **given)
        members.append(Member("kDB trees, 8 intervals", one))
    if kinds.exact and on_five:
        members.append(_on("ANB", 5, varied, ANBClassifier(discretizer=five, **given)))
    if kinds.smooth_tan and alone:
        tree = TANClassifier(discretizer=rule, **given)
        members.append(Member(TAN_SMOOTH, AdditiveClassifier(tree), extends=simpler, like=NB_SMOOTH))
        simpler = (TAN_SMOOTH,)
    if kinds.smooth and (kinds.smooth_anb or not varied):
        network = ANBClassifier(discretizer=rule, **given)
        members.append(Member("ANB smooth", AdditiveClassifier(network), extends=simpler, like=NB_SMOOTH))
    if kinds.smooth and varied and on_five:
        smooth = _on("ANB smooth", 5, varied, AdditiveClassifier(ANBClassifier(discretizer=five, **given)))
        members.append(replace(smooth, extends=simpler, like=NB_SMOOTH))
    return members


def _of_states(given: dict[str, Any], kinds: _Kinds) -> list[Member]:
    """Return the members for a table without columns that are cut."""
    networks: dict[str, NetworkClassifier] = {"TAN": TANClassifier(**given), "kDB": KDBClassifier(**given)}
    if kinds.exact:
        networks["ANB"] = ANBClassifier(**given)
    members = [Member(NB_SMOOTH, AdditiveClassifier(NaiveBayesClassifier(**given)))]
    refits = kinds.refits or not kinds.smooth
    smooth = (["TAN"] if refits else list(networks)) if kinds.smooth else []
    members += [Member(f"{name} smooth", AdditiveClassifier(networks[name]), like=NB_SMOOTH) for name in smooth]
    without = {"TAN"} if smooth and kinds.kernel else set()
    without |= set() if kinds.anb_refitted else {"ANB"}
    for name in networks if refits else ():
        if name not in without:
            members.append(Member(f"{name} refitted", RefittedClassifier(networks[name])))
    if kinds.four_parents:
        members.append(Member("kDB refitted, 4 parents", RefittedClassifier(KDBClassifier(k=4, **given))))
    if kinds.tables or not kinds.smooth:
        members += [Member(name, network) for name, network in networks.items()]
    kernel = [Member(KERNEL, KernelClassifier(points=kinds.points, **given))] if kinds.kernel else []
    if kinds.four_parents:  # with so many rows, refits suffice more often than the kernel, and are learned sooner
        members += kernel
    else:
        members[1 + len(smooth) : 1 + len(smooth)] = kernel
    if kinds.trees:
        trees = KDBClassifier(k=5, parameters="tree", **given)
        members.append(Member("kDB trees, 5 parents", trees, extends=(NB_SMOOTH,)))
    return members


def _on(name: str, intervals: int, varied: bool, estimator: DiscreteClassifier) -> Member:
    """Return a member whose name states its number of intervals, if members differ in that."""
    return Member(f"{name}, {intervals} intervals" if varied else name, estimator)


def named_members(members: Any) -> list[Member]:
    """Return the given members, each with a unique name.

    Raises
    ------
    TypeError
        If an element is neither an unfitted classifier of this package nor a pair of a name and such a classifier.
    ValueError
        If the list is empty, or two members are given the same name.
    """
    if isinstance(members, str) or not isinstance(members, Iterable):
        raise TypeError(
            f"members must be 'auto', a list of estimators, or a list of (name, estimator), not {members!r}"
        )
    found: list[Member] = []
    for given in members:
        named = isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str)
        estimator = given[1] if named else given
        _check_member(estimator)
        found.append(Member(given[0] if named else type(estimator).__name__, estimator))
    if not found:
        raise ValueError("members must contain at least one estimator")
    names = [member.name for member in found]
    given_names = [given[0] for given in members if isinstance(given, tuple)]
    twice = [name for name in given_names if names.count(name) > 1]
    if twice:
        raise ValueError(f"two members are called {twice[0]!r}: give each a unique name")
    return [
        member
        if names.count(member.name) == 1
        else Member(f"{member.name} {names[: k + 1].count(member.name)}", member.estimator)
        for k, member in enumerate(found)
    ]


def _check_member(estimator: Any) -> None:
    """Refuse values that are not unfitted classifiers of this package."""
    if not isinstance(estimator, DiscreteClassifier):
        made = f"{estimator.__name__}()" if isinstance(estimator, type) else "TANClassifier()"
        raise TypeError(f"a member must be a classifier of anbexact, such as {made}, not {estimator!r}")
    if isinstance(estimator._begun_with(), FrozenEstimator):
        raise TypeError(
            "a member must not contain a FrozenEstimator: what was fitted already cannot be learned again in folds. "
            "Pass the network that is not fitted"
        )
