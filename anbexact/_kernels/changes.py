"""Largest log odds after a few changes of a row, by elimination with a budget of changes."""

import numpy as np

from anbexact._kernels.jit import inner, kernel
from anbexact._kernels.max_sum import message_place


@inner
def _next_allowed(buckets, i, allowed, arities, current):
    """Move the features of a bucket's scope, but the last, to their next allowed states; False after the last."""
    for k in range(buckets.firsts[i], buckets.firsts[i + 1] - 1):
        j = buckets.scopes[k]
        state = current[j] + 1
        while state < arities[j] and not allowed[j, state]:
            state += 1
        if state < arities[j]:
            current[j] = state
            return True
        current[j] = 0
        while not allowed[j, current[j]]:
            current[j] += 1
    return False


@inner
def _convolve(sums, message, room):
    """Replace sums[b] by the maximum of sums[a] + message[b - a] over a."""
    length = sums.shape[0]
    for b in range(length):
        room[b] = sums[b]
        sums[b] = -np.inf
    for a in range(length):
        if room[a] > -np.inf:
            for b in range(a, length):
                sums[b] = max(sums[b], room[a] + message[b - a])


@inner
def reached_by_changes(buckets, arities, row, allowed, pair, messages, current, room, totals):
    """Find the largest log odds of a class against another that up to b changes of a row reach, for every b.

    Parameters
    ----------
    row : (features,) int64
        The row.
    allowed : (features, states) bool
        The states that every feature may have; one at least.
    pair : (int, int)
        The two classes.
    messages : (joint states of all messages, budgets) float64
        Room.
    current, room : (features,) int64, (2, budgets) float64
        Room.
    totals : (budgets,) float64
        Receives ``max ln P(first, x) / P(second, x)`` over the rows x with up to b changes.
    """
    classes = buckets.constants.shape[0]
    length = totals.shape[0]
    logs, scopes, strides = buckets.logs, buckets.scopes, buckets.strides
    sums = room[0]
    for j in range(row.shape[0]):
        current[j] = 0
        while not allowed[j, current[j]]:
            current[j] += 1
    for i in range(buckets.firsts.shape[0] - 1):
        first, last = buckets.firsts[i], buckets.firsts[i + 1] - 1
        own = scopes[last]
        before = current[own]
        more = True
        while more:
            index = buckets.offsets[i]
            for k in range(first, last):
                index += current[scopes[k]] * strides[k]
            target = messages[message_place(buckets, i, current, arities)]
            for b in range(length):
                target[b] = -np.inf
            for state in range(arities[own]):
                if not allowed[own, state]:
                    continue
                current[own] = state
                place = (index + state) * classes
                gained = logs[place + pair[0]] - logs[place + pair[1]]
                for b in range(length):
                    sums[b] = gained if state == row[own] or b > 0 else -np.inf
                for k in range(buckets.child_firsts[i], buckets.child_firsts[i + 1]):
                    child = messages[message_place(buckets, buckets.children[k], current, arities)]
                    _convolve(sums, child, room[1])
                for b in range(length):
                    target[b] = max(target[b], sums[b])
            current[own] = before
            more = _next_allowed(buckets, i, allowed, arities, current)
    for b in range(length):
        totals[b] = buckets.constants[pair[0]] - buckets.constants[pair[1]]
    for i in buckets.roots:
        _convolve(totals, messages[buckets.message_offsets[i]], room[1])


@kernel
def nearest_changes(codes, buckets, arities, changeable, decided, tolerance, most, start, stop, found, lead):
    """Find the fewest changes that alter the decisions of the rows ``start .. stop-1``, and the best of these.

    Parameters
    ----------
    codes : (features, rows) int16
        Complete rows.
    changeable : (features,) bool
        Which features may be changed.
    decided : (rows,) int64
        The decision of each row.
    tolerance : float
        Minimum lead of another class, in nats.
    most : int
        Maximum number of changes.
    found : (rows, features) int64
        Receives the changed rows; rows for which no change suffices stay as they are.
    lead : (rows,) float64
        Receives the log odds of the rival in the changed row; -inf where no change suffices.
    """
    features, classes = codes.shape[0], buckets.constants.shape[0]
    states = 1
    for j in range(features):
        states = max(states, arities[j])
    row, current = np.empty(features, np.int64), np.empty(features, np.int64)
    allowed = np.empty((features, states), np.bool_)
    for t in range(start, stop):
        for j in range(features):
            row[j] = codes[j, t]
            found[t, j] = row[j]
            for state in range(arities[j]):
                allowed[j, state] = changeable[j] or state == row[j]
        lead[t] = -np.inf
        # A small budget first, as time grows with its square.
        length = min(3, most + 1)
        rival, fewest = -1, -1
        while True:
            messages = np.empty((buckets.message_offsets[-1], length))
            totals, room = np.empty(length), np.empty((2, length))
            for c in range(classes):
                if c == decided[t]:
                    continue
                reached_by_changes(buckets, arities, row, allowed, (c, decided[t]), messages, current, room, totals)
                for b in range(length):
                    if totals[b] > tolerance:
                        if fewest < 0 or b < fewest or (b == fewest and totals[b] > lead[t]):
                            rival, fewest, lead[t] = c, b, totals[b]
                        break
            if fewest >= 0 or length == most + 1:
                break
            length = min(2 * length, most + 1)
        if fewest < 0:
            continue
        messages = np.empty((buckets.message_offsets[-1], fewest + 1))
        totals, room = np.empty(fewest + 1), np.empty((2, fewest + 1))
        for j in range(features):  # one state after the other that keeps the maximum, the row's own first
            if not changeable[j] or arities[j] == 1:
                continue
            for attempt in range(arities[j]):
                chosen = row[j] if attempt == 0 else attempt - 1 + (attempt > row[j])
                for state in range(arities[j]):
                    allowed[j, state] = state == chosen
                reached_by_changes(
                    buckets, arities, row, allowed, (rival, decided[t]), messages, current, room, totals
                )
                if totals[fewest] >= lead[t] - 1e-10:
                    break
            found[t, j] = chosen


@inner
def _least_lead(buckets, arities, row, allowed, target, room):
    """Return the minimum, over all other classes, of the largest log odds of a class within a number of changes.

    ``room`` is (messages, current, room, totals) of :func:`reached_by_changes`; its budget is that of ``totals``.
    """
    messages, current, sums, totals = room
    least = np.inf
    for c in range(buckets.constants.shape[0]):
        if c != target:
            reached_by_changes(buckets, arities, row, allowed, (target, c), messages, current, sums, totals)
            least = min(least, totals[-1])
    return least


@inner
def _search_changes(buckets, arities, row, order, allowed, target, tolerance, most_nodes, room):
    """Search for states in which a class leads all others, in depth-first order; leave them in ``allowed``.

    A node assigns states to the first features of ``order``; it is cut off if some class cannot be overtaken by any
    states of the other features. Returns 1 if there are such states, 0 if there are not, and -1 after ``most_nodes``
    nodes.
    """
    depths, states = order.shape[0], allowed.shape[1]
    bounds, ranked = np.empty((depths + 1, states)), np.empty((depths + 1, states), np.int64)
    tried, count = np.zeros(depths + 1, np.int64), np.zeros(depths + 1, np.int64)
    depth, nodes, entering = 0, 0, True
    while depth >= 0:
        if depth == depths:
            return 1
        j = order[depth]
        if entering:
            count[depth], tried[depth] = 0, 0
            for state in range(arities[j]):
                for other in range(arities[j]):
                    allowed[j, other] = other == state
                bound = _least_lead(buckets, arities, row, allowed, target, room)
                nodes += 1
                if bound > tolerance:
                    place = count[depth]
                    while place > 0 and bounds[depth, place - 1] < bound:
                        bounds[depth, place], ranked[depth, place] = (
                            bounds[depth, place - 1],
                            ranked[depth, place - 1],
                        )
                        place -= 1
                    bounds[depth, place], ranked[depth, place] = bound, state
                    count[depth] += 1
            if nodes > most_nodes:
                return -1
        if tried[depth] < count[depth]:
            for state in range(arities[j]):
                allowed[j, state] = state == ranked[depth, tried[depth]]
            tried[depth] += 1
            depth, entering = depth + 1, True
        else:
            for state in range(arities[j]):
                allowed[j, state] = True
            depth, entering = depth - 1, False
    return 0


@kernel
def changes_to_class(
    codes, buckets, arities, changeable, target, tolerance, most_nodes, start, stop, found, lead, proved
):
    """Find the fewest changes after which a class leads all others, for the rows ``start .. stop-1``.

    Parameters
    ----------
    codes, buckets, arities, changeable, tolerance, start, stop, found
        As in :func:`nearest_changes`.
    target : int
        The class.
    most_nodes : int
        Maximum number of nodes that are searched for each number of changes.
    lead : (rows,) float64
        -inf for the rows to change, anything else for rows that stay as they are. For the rows to change, it receives
        the least log odds of the class against another after the changes; -inf where none suffice.
    proved : (rows,) bool
        Receives whether fewer changes do not suffice (or, where none are found, that none do).
    """
    features = codes.shape[0]
    states = 1
    for j in range(features):
        states = max(states, arities[j])
    order = np.flatnonzero(changeable)
    row, current = np.empty(features, np.int64), np.empty(features, np.int64)
    allowed = np.empty((features, states), np.bool_)
    for t in range(start, stop):
        for j in range(features):
            row[j] = codes[j, t]
            found[t, j] = row[j]
        proved[t] = True
        if lead[t] > -np.inf:
            continue
        for budget in range(order.shape[0] + 1):
            room = (
                np.empty((buckets.message_offsets[-1], budget + 1)),
                current,
                np.empty((2, budget + 1)),
                np.empty(budget + 1),
            )
            for j in range(features):
                for state in range(arities[j]):
                    allowed[j, state] = changeable[j] or state == row[j]
            if _least_lead(buckets, arities, row, allowed, target, room) <= tolerance:
                continue
            result = _search_changes(buckets, arities, row, order, allowed, target, tolerance, most_nodes, room)
            if result == 1:
                lead[t] = _least_lead(buckets, arities, row, allowed, target, room)
                for j in order:
                    for state in range(arities[j]):
                        if allowed[j, state]:
                            found[t, j] = state
                break
            if result < 0:
                proved[t] = False
