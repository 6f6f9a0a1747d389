"""Candidate parent sets of one feature, visited depth first, with pruning.

The features that may be parents are numbered 0 .. m-1. Sets are visited in the order of their masks, each made from
the set without its smallest member, so that all subsets of a set come before it. The rows are refined along the way
(see :mod:`anbexact._kernels.refinement`).

A walk enumerates the sets of one size. Only sets whose supersets may still be of use (*open* sets) are remembered.
"""

import math
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from anbexact._kernels.bits import flip, holds
from anbexact._kernels.child_bounds import upper_bound
from anbexact._kernels.child_scores import score_cells, score_settled, tabulate
from anbexact._kernels.jit import inner, kernel
from anbexact._kernels.open_sets import count_below, find_slot
from anbexact._kernels.refinement import DIRICHLET, LIKELIHOOD, SETTLED, cells_at, refine


class Features(NamedTuple):
    """The features that may be parents.

    Attributes
    ----------
    codes, row_codes : (features, rows), (rows, features) uint16
        States in the sorted rows, by feature and by row.
    arities : (features,) int64
        How many states each has.
    ranks : (features + 1, rows) int32
        ``ranks[m]`` numbers the distinct (child, features below m).
    alike : (features,) int64
        Which of the distinct numbers of states each has.
    before, after : (features,) int64
        The feature that every admitted set with this one must also contain, and the feature that requires this one;
        -1 if there is none. Always ``before[v] > v``.
    """

    codes: npt.NDArray[np.uint16]
    row_codes: npt.NDArray[np.uint16]
    arities: npt.NDArray[np.int64]
    ranks: npt.NDArray[np.int32]
    alike: npt.NDArray[np.int64]
    before: npt.NDArray[np.int64]
    after: npt.NDArray[np.int64]


class Scoring(NamedTuple):
    """How the sets of parents of the child are scored.

    Attributes
    ----------
    kind, linear : int, bool
        ``DIRICHLET`` (lnΓ(a + N) - lnΓ(a) for every cell) or ``LIKELIHOOD`` (N ln N, less a penalty); whether the
        penalty is proportional to the number of parent configurations q.
    states : int
        How many states the child has.
    tolerance : float
        Minimum difference by which a set must score above its subsets.
    ceiling, dispersion : float, (features, features) float64
        Log-likelihood with all features as parents; most that feature u can add to it when v is a parent (for v = u
        the class alone), both in nats.
    following : (numbers, distinct numbers of states) int32
        ``following[at, alike[v]]`` is the index of q with feature v joined.
    child_parameter, parameter, penalty : (numbers,) float64
        By q: parameter a of a cell of the child with its parents, and of the parents alone; penalty of the local
        score.
    next_parameter, next_penalty : (numbers,) float64
        By q: greatest parameter a, and least penalty, with one parent more.
    """

    kind: int
    linear: bool
    states: int
    tolerance: float
    ceiling: float
    dispersion: npt.NDArray[np.float64]
    following: npt.NDArray[np.int32]
    child_parameter: npt.NDArray[np.float64]
    parameter: npt.NDArray[np.float64]
    penalty: npt.NDArray[np.float64]
    next_parameter: npt.NDArray[np.float64]
    next_penalty: npt.NDArray[np.float64]


class Current(NamedTuple):
    """Scratch arrays for the set that is extended.

    Attributes
    ----------
    mask, allowed : (words,) uint64
        Its members; the features that may be added.
    members, subsets, gains : (size,) int64, int64, float64
        Its members, highest first; by member, the open set without it, -1 if there is none, and most that the member
        left out can add to the log-likelihood.
    """

    mask: npt.NDArray[np.uint64]
    allowed: npt.NDArray[np.uint64]
    members: npt.NDArray[np.int64]
    subsets: npt.NDArray[np.int64]
    gains: npt.NDArray[np.float64]

    @classmethod
    def zeros(cls, words: int, size: int) -> Self:
        """Return scratch arrays for sets with up to this number of members."""
        mask, allowed = np.zeros((2, words), np.uint64)
        members, subsets = np.zeros((2, size), np.int64)
        return cls(mask, allowed, members, subsets, np.zeros(size))


class Listed(NamedTuple):
    """Sets that score above all their subsets: masks, (sets, words) uint64, and scores, (sets,) float64."""

    masks: npt.NDArray[np.uint64]
    scores: npt.NDArray[np.float64]


class Extent(NamedTuple):
    """The state of a walk over sets.

    Attributes
    ----------
    next, end : int
        Open set to extend next, and end of those to extend.
    n_open, n_listed, n_scored, n_tables : int
        Open sets; listed sets; scored sets; tables of cell values in use.
    bound : float
        Upper bound on the score of all supersets of the sets left open.
    """

    next: int
    end: int
    n_open: int
    n_listed: int
    n_scored: int
    n_tables: int
    bound: float


@kernel
def fill_following(parent, last, before, began, own):
    """Complete ``own``, which holds the sets with one parent more of the last kind or a later one.

    ``parent`` is the set without one of its last kind, ``before`` what follows these, from ``began`` on.
    """
    for s in range(own.shape[0]):
        for kind in range(last[s]):
            way = before[parent[s], kind]
            if way >= 0:
                own[s, kind] = own[way - began, last[s]]


@inner
def _read(mask, current):
    """Make a set the one to extend; return its number of members."""
    size = 0
    for w in range(mask.shape[0] - 1, -1, -1):
        word = mask[w]
        current.mask[w] = word
        for b in range(63, -1, -1):
            if (word >> np.uint64(b)) & np.uint64(1):
                current.members[size] = 64 * w + b
                size += 1
    return size


@inner
def _allow(size, lowest, after, current, open_sets):
    """Find the features that may be added: those added to every admitted subset, or that need the member left out.

    Returns whether there are any.
    """
    one = np.uint64(1)
    mask, allowed = current.mask, current.allowed
    for w in range(mask.shape[0]):
        allowed[w] = ~np.uint64(0)
    for d in range(size):
        u = current.members[d]
        current.subsets[d] = -1
        if after[u] >= 0 and holds(mask, after[u]):
            continue
        flip(mask, u)
        subset = open_sets.slots[find_slot(mask, open_sets.masks, open_sets.slots)]
        flip(mask, u)
        current.subsets[d] = subset
        for w in range(mask.shape[0]):
            needing = one << np.uint64(after[u] & 63) if after[u] >= 0 and after[u] >> 6 == w else np.uint64(0)
            allowed[w] &= open_sets.children[subset, w] | needing
    any_allowed = False
    for w in range(mask.shape[0]):
        if lowest <= 64 * w:
            allowed[w] = 0
        elif lowest < 64 * w + 64:
            allowed[w] &= (one << np.uint64(lowest - 64 * w)) - one
        any_allowed |= allowed[w] != 0
    return any_allowed


@inner
def _choose(number, size, lowest, here, features, scoring, current, open_sets, added):
    """Keep those features that can improve the score, given the results of subsets; return how many there are."""
    members, subsets, gains = current.members, current.subsets, current.gains
    before, after, alike, arities = features.before, features.after, features.alike, features.arities
    best, rest, children = open_sets.best, open_sets.rest, open_sets.children
    dispersion, following, penalty = scoring.dispersion, scoring.following, scoring.penalty
    kind, linear, ceiling = scoring.kind, scoring.linear, scoring.ceiling
    if linear:
        for d in range(size):
            gains[d] = rest[subsets[d]] if subsets[d] >= 0 else math.inf
            for e in range(size):
                gains[d] = min(gains[d], dispersion[members[d], members[e]])
    n_added = 0
    for v in range(lowest):
        if not holds(current.allowed, v) or (before[v] >= 0 and not holds(current.mask, before[v])):
            continue
        at = following[here, alike[v]]
        highest = best[number]
        if kind == LIKELIHOOD and ceiling - penalty[at] <= highest:
            continue
        dead = False
        gain = rest[number]
        for d in range(size):
            most = gains[d]
            if subsets[d] >= 0 and after[members[d]] != v:
                made = open_sets.first_child[subsets[d]] + count_below(children[subsets[d]], v)
                highest = max(highest, best[made])
                most = min(most, rest[made])
            if linear:
                gain = min(gain, dispersion[v, members[d]])
                most = min(most, dispersion[members[d], v])
                if most <= penalty[at] - penalty[at] / arities[members[d]]:
                    dead = True
                    break
        if linear and min(gain, dispersion[v, v]) <= penalty[at] - penalty[here]:
            dead = True
        if dead or highest == math.inf or (kind == LIKELIHOOD and ceiling - penalty[at] <= highest):
            continue
        added.features[n_added] = v
        added.q[n_added] = at
        added.highest[n_added] = highest
        n_added += 1
    return n_added


@inner
def _lay_out(size, features, scoring, atoms, current, layout):
    """Lay out the rows of the set, keeping what it shares with the one before."""
    members = current.members
    depth = 0
    while depth < size and layout.members[depth] == members[depth]:
        depth += 1
    for d in range(depth, size):
        v = members[d]
        arity = features.arities[v]
        layout.members[d] = v
        refine(scoring.kind, layout, d, features.codes[v], features.ranks[v + 1], arity)
        for t in range(atoms.counts.shape[0]):
            atoms.cells[d + 1, t] = layout.cell_of[atoms.cells[d, t] * arity + atoms.codes[v, t]]
    layout.members[size] = -1


@inner
def _bound(size, here, scoring, atoms, layout):
    """Return the upper bound on the scores of all supersets of the set that is laid out."""
    log_states = math.log(scoring.states)
    bound = upper_bound(cells_at(layout, size), atoms, size, log_states, scoring.next_parameter[here])
    for w in range(1, SETTLED + 1):
        bound -= log_states * layout.histogram[size, w]
    for t in range(layout.n_settled[size]):
        bound -= log_states * min(1.0, layout.settled[t])
    return bound


@inner
def _score(size, n_added, features, scoring, tables, layout, added):
    """Score the sets that result from adding each feature to the set that is laid out."""
    room = added.counts.shape[0]
    cells = cells_at(layout, size)
    begin = np.int64(0)
    while begin < n_added:
        end = begin
        n_counts = 0
        while end < n_added:
            n_counts += features.arities[added.features[end]] * scoring.states
            if n_counts > room:
                break
            end += 1
        score_cells(
            scoring.kind, scoring.states, cells, features.row_codes, features.arities, added, begin, end, tables
        )
        begin = end
    if scoring.kind == DIRICHLET:
        settled = layout.settled[: layout.n_settled[size]]
        for j in range(n_added):
            total, observed = score_settled(
                layout.histogram[size], settled, tables, added.tables[j], added.child_parameters[j],
                added.parameters[j],
            )  # fmt: skip
            added.totals[j] += total
            added.observed[j] += observed


@kernel
def extend_sets(
    extent, quota, last_size, features, scoring, tables, atoms, current, added, layout, open_sets, listed
):  # fmt: skip
    """Extend open sets of one size by one smaller feature each; return when about ``quota`` sets were scored, or all.

    A set is *open* while a superset of it could be in the list. It is *listed* when it scores above all its subsets.

    Parameters
    ----------
    extent : Extent
        The state of the walk.
    last_size : int
        Sets of this size are not extended.
    features, scoring, atoms : Features, Scoring, Atoms
        The possible parents, the score, and the atoms of the bounds.
    current, added, layout : Current, Added, Layout
        Scratch arrays, and the rows of the set that was laid out last.
    tables, open_sets, listed : CellTables, OpenSets, Listed
        Receive the results; they need room for ``quota`` sets and one more for every feature.

    Returns
    -------
    Extent
        The state of the walk after the call.
    """
    number, n_open, n_listed, n_tables = extent.next, extent.n_open, extent.n_listed, extent.n_tables
    bound = extent.bound
    mask, penalty, next_penalty = current.mask, scoring.penalty, scoring.next_penalty
    log_states = math.log(scoring.states)
    scored = np.int64(0)
    while number < extent.end and scored < quota:
        parent = number
        number += 1
        size = _read(open_sets.masks[parent], current)
        lowest = current.members[size - 1] if size else features.arities.shape[0]
        if lowest == 0 or not _allow(size, lowest, features.after, current, open_sets):
            continue
        here = np.int64(0)
        for d in range(size):
            here = np.int64(scoring.following[here, features.alike[current.members[d]]])
        n_added = _choose(parent, size, lowest, here, features, scoring, current, open_sets, added)
        if n_added == 0 and atoms.counts.shape[0] == 0:
            continue
        _lay_out(size, features, scoring, atoms, current, layout)
        if atoms.counts.shape[0] > 0 and open_sets.best[parent] >= (
            _bound(size, here, scoring, atoms, layout) + scoring.tolerance
        ):
            open_sets.best[parent] = math.inf
            continue
        for j in range(n_added):
            at = added.q[j]
            if tables.table_of[at] < 0 and n_tables < tables.child.shape[0]:
                tables.table_of[at] = n_tables
                tabulate(tables.child[n_tables], scoring.child_parameter[at])
                tabulate(tables.parents[n_tables], scoring.parameter[at])
                n_tables += 1
            added.tables[j] = tables.table_of[at]
            added.child_parameters[j] = scoring.child_parameter[at]
            added.parameters[j] = scoring.parameter[at]
        _score(size, n_added, features, scoring, tables, layout, added)
        scored += n_added
        for j in range(n_added):
            v = added.features[j]
            at = added.q[j]
            highest = added.highest[j]
            score = added.totals[j] - penalty[at]
            flip(mask, v)
            if score > highest + scoring.tolerance:
                for w in range(mask.shape[0]):
                    listed.masks[n_listed, w] = mask[w]
                listed.scores[n_listed] = score
                n_listed += 1
                highest = score
            most = scoring.ceiling - next_penalty[at]
            if scoring.kind == DIRICHLET:
                most = -log_states * added.observed[j]
            remains = scoring.ceiling - added.totals[j]
            if (
                size + 1 < last_size
                and highest < most
                and not (scoring.linear and remains <= next_penalty[at] - penalty[at])
            ):
                open_sets.slots[find_slot(mask, open_sets.masks, open_sets.slots)] = n_open
                first = True
                for w in range(mask.shape[0]):
                    open_sets.masks[n_open, w] = mask[w]
                    open_sets.children[n_open, w] = 0
                    first &= open_sets.children[parent, w] == 0
                if first:
                    open_sets.first_child[parent] = n_open
                flip(open_sets.children[parent], v)
                open_sets.best[n_open] = highest
                open_sets.rest[n_open] = remains
                bound = max(bound, most)
                n_open += 1
            flip(mask, v)
    return Extent(number, extent.end, n_open, n_listed, extent.n_scored + scored, n_tables, bound)
