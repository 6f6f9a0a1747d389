"""Largest log odds over free features, by elimination, and the sufficient reasons that follow."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from anbexact._kernels.jit import inner, kernel


class Buckets(NamedTuple):
    """The functions of a class posterior, arranged in the order in which features are eliminated.

    Bucket i eliminates the last feature of its scope; the others of the scope are eliminated later.

    Attributes
    ----------
    firsts, scopes, strides : (buckets + 1,), (k,), (k,) int64
        The features of bucket i are ``scopes[firsts[i]:firsts[i + 1]]``; ``strides`` are those of its table.
    offsets, logs : (buckets + 1,) int64, float64
        ``logs[(offsets[i] + index) * classes + c]`` is the sum of its functions at a joint state, for class c.
    child_firsts, children : (buckets + 1,), (buckets,) int64
        The buckets whose maxima enter bucket i: ``children[child_firsts[i]:child_firsts[i + 1]]``.
    roots : (r,) int64
        The buckets whose maxima enter no other.
    message_offsets : (buckets + 1,) int64
        Where the maxima of bucket i start, in joint states of the other features of its scope.
    constants : (classes,) float64
        The terms that depend on no feature.
    """

    firsts: npt.NDArray[np.int64]
    scopes: npt.NDArray[np.int64]
    strides: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]
    logs: npt.NDArray[np.float64]
    child_firsts: npt.NDArray[np.int64]
    children: npt.NDArray[np.int64]
    roots: npt.NDArray[np.int64]
    message_offsets: npt.NDArray[np.int64]
    constants: npt.NDArray[np.float64]


@inner
def message_place(buckets, i, current, arities):
    """Return where the maximum of bucket i is kept, given the states of the other features of its scope."""
    first, last = buckets.firsts[i], buckets.firsts[i + 1] - 1
    place = 0
    for k in range(first, last):
        place += current[buckets.scopes[k]] * buckets.strides[k]
    return buckets.message_offsets[i] + place // arities[buckets.scopes[last]]


@inner
def _next_states(buckets, i, free, arities, current):
    """Move the free features of a bucket's scope, but the last, to their next joint state; False after the last."""
    for k in range(buckets.firsts[i], buckets.firsts[i + 1] - 1):
        j = buckets.scopes[k]
        if free[j]:
            current[j] += 1
            if current[j] < arities[j]:
                return True
            current[j] = 0
    return False


@inner
def largest_odds(buckets, arities, row, free, decided, messages, current, best):
    """Find, for every class, the largest log odds against a decided one when some features are free.

    Parameters
    ----------
    row : (features,) int64
        The states of the features that are not free.
    free : (features,) bool
        Which features may have any state.
    decided : int
        The class that the others are compared with.
    messages, current
        Room: (joint states of all messages, classes) float64, (features,) int64.
    best : (classes,) float64
        Receives ``max ln P(c, x) / P(decided, x)``.
    """
    classes = best.shape[0]
    logs, scopes, strides = buckets.logs, buckets.scopes, buckets.strides
    for j in range(row.shape[0]):
        current[j] = 0 if free[j] else row[j]
    for i in range(buckets.firsts.shape[0] - 1):
        first, last = buckets.firsts[i], buckets.firsts[i + 1] - 1
        own = scopes[last]
        start = 0 if free[own] else row[own]
        stop = arities[own] if free[own] else row[own] + 1
        more = True
        while more:
            index = buckets.offsets[i]
            for k in range(first, last):
                index += current[scopes[k]] * strides[k]
            target = messages[message_place(buckets, i, current, arities)]
            for c in range(classes):
                target[c] = -np.inf
            for state in range(start, stop):
                current[own] = state
                place = (index + state) * classes
                for c in range(classes):
                    best[c] = logs[place + c] - logs[place + decided]
                for k in range(buckets.child_firsts[i], buckets.child_firsts[i + 1]):
                    message = messages[message_place(buckets, buckets.children[k], current, arities)]
                    for c in range(classes):
                        best[c] += message[c]
                for c in range(classes):
                    target[c] = max(target[c], best[c])
            current[own] = 0 if free[own] else row[own]
            more = _next_states(buckets, i, free, arities, current)
    for c in range(classes):
        best[c] = buckets.constants[c] - buckets.constants[decided]
    for i in buckets.roots:
        message = messages[buckets.message_offsets[i]]
        for c in range(classes):
            best[c] += message[c]


@inner
def _largest_rival(buckets, arities, row, free, decided, messages, current, best):
    """Return the largest log odds of any other class against the decided one."""
    largest_odds(buckets, arities, row, free, decided, messages, current, best)
    top = -np.inf
    for c in range(best.shape[0]):
        if c != decided:
            top = max(top, best[c])
    return top


@kernel
def minimal_reasons(codes, buckets, arities, relevant, decided, tolerance, start, stop, fixed, worst):
    """Find a subset-minimal sufficient reason for each of the rows ``start .. stop-1``, by deletion.

    Features are released one after the other, first those whose release alone brings other classes the least closer.

    Parameters
    ----------
    codes : (features, rows) int16
        States; a negative code is a cell that is free whatever the reason.
    relevant : (features,) bool
        Which features can affect the decision.
    decided : (rows,) int64
        The decision of each row.
    tolerance : float
        Minimum lead of the decided class, in nats.
    fixed : (rows, features) bool
        Receives the features of the reason; all observed relevant ones if even these do not suffice.
    worst : (rows,) float64
        Receives the largest log odds of another class given the reason; there is no reason if they are above minus
        the tolerance.
    """
    features, classes = codes.shape[0], buckets.constants.shape[0]
    messages = np.empty((buckets.message_offsets[-1], classes))
    best = np.empty(classes)
    current, row = np.empty(features, np.int64), np.empty(features, np.int64)
    free = np.empty(features, np.bool_)
    impact = np.empty(features)
    for t in range(start, stop):
        for j in range(features):
            row[j] = codes[j, t]
            free[j] = row[j] < 0 or not relevant[j]
        worst[t] = _largest_rival(buckets, arities, row, free, decided[t], messages, current, best)
        if worst[t] <= -tolerance:
            for j in range(features):
                impact[j] = np.inf
                if not free[j]:
                    free[j] = True
                    impact[j] = _largest_rival(buckets, arities, row, free, decided[t], messages, current, best)
                    free[j] = False
            for j in np.argsort(impact):
                if free[j] or impact[j] > -tolerance:
                    continue
                free[j] = True
                released = _largest_rival(buckets, arities, row, free, decided[t], messages, current, best)
                if released <= -tolerance:
                    worst[t] = released
                else:
                    free[j] = False
        for j in range(features):
            fixed[t, j] = not free[j]


UNDECIDED, FIXED, FREE = 0, 1, 2


@inner
def _tighten(buckets, arities, row, choice, decided, tolerance, room):
    """Fix the undecided features that cannot be released; return how many are fixed, and whether all others may be.

    ``room`` is (messages, current, best, free, impact).
    """
    messages, current, best, free, impact = room
    features = row.shape[0]
    for j in range(features):
        free[j] = choice[j] == FREE
    n_fixed = 0
    for j in range(features):
        if choice[j] == UNDECIDED:
            free[j] = True
            impact[j] = _largest_rival(buckets, arities, row, free, decided, messages, current, best)
            free[j] = False
            if impact[j] > -tolerance:
                choice[j] = FIXED
        n_fixed += choice[j] == FIXED
    for j in range(features):
        free[j] = choice[j] != FIXED
    return n_fixed, _largest_rival(buckets, arities, row, free, decided, messages, current, best)


@kernel
def smallest_reasons(codes, buckets, arities, relevant, decided, tolerance, most, start, stop, fixed, worst, proved):
    """Replace the reasons of the rows ``start .. stop-1`` by smallest ones, by branch and bound.

    Parameters
    ----------
    codes, buckets, arities, relevant, decided, tolerance, start, stop, fixed, worst
        As in :func:`minimal_reasons`, which has filled ``fixed`` and ``worst``.
    most : int
        Maximum number of nodes that are searched for a row.
    proved : (rows,) bool
        Receives whether there is no smaller reason.

    At a node, some features are fixed and some free. A feature whose release, with all others fixed, lets another
    class win must be fixed; if the rest may all be released, this is a reason, else one more feature must be fixed.
    """
    features, classes = codes.shape[0], buckets.constants.shape[0]
    free = np.empty(features, np.bool_)
    impact = np.empty(features)
    room = (
        np.empty((buckets.message_offsets[-1], classes)),
        np.empty(features, np.int64),
        np.empty(classes),
        free,
        impact,
    )
    row = np.empty(features, np.int64)
    stack = np.empty((2 * features + 2, features), np.int8)
    choice = np.empty(features, np.int8)
    for t in range(start, stop):
        proved[t] = True
        if worst[t] > -tolerance:
            continue
        smallest = 0
        for j in range(features):
            row[j] = codes[j, t]
            smallest += fixed[t, j]
            stack[0, j] = FREE if row[j] < 0 or not relevant[j] else UNDECIDED
        depth, nodes = 1, 0
        while depth > 0:
            depth -= 1
            nodes += 1
            if nodes > most:
                proved[t] = False
                break
            for j in range(features):
                choice[j] = stack[depth, j]
            n_fixed, released = _tighten(buckets, arities, row, choice, decided[t], tolerance, room)
            if n_fixed >= smallest:
                continue
            if released <= -tolerance:
                smallest = n_fixed
                worst[t] = released
                for j in range(features):
                    fixed[t, j] = choice[j] == FIXED
                continue
            if n_fixed + 1 >= smallest:
                continue
            branch = -1
            for j in range(features):
                if choice[j] == UNDECIDED and (branch < 0 or impact[j] > impact[branch]):
                    branch = j
            for state in (FREE, FIXED):  # the second is searched first
                for j in range(features):
                    stack[depth, j] = choice[j]
                stack[depth, branch] = state
                depth += 1
