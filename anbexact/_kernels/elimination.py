"""Rows with missing cells: marginals, joint distributions, expected counts, draws, most probable explanations."""

import math

import numpy as np

from anbexact._kernels.elimination_plan import (
    ARITIES,
    AXES,
    AXIS_FIRSTS,
    BASES,
    CLOSED,
    COUNTS,
    DIMS,
    FILLED,
    FIRSTS,
    HIDDEN,
    KEPT,
    MESSAGES,
    N_CLOSED,
    N_ELIMINATED,
    N_HIDDEN,
    N_OPEN,
    OFFSETS,
    OPEN,
    PARENTS,
    RANKS,
    SCRATCH,
    SENT,
    SIZES,
    SOURCES,
    STEP_FIRSTS,
    STEPS,
    STRIDES,
    TABLES,
    TERM_FIRSTS,
    VARIABLES,
    assign_terms,
    choose_order,
    find_steps,
    lay_out,
    list_hidden,
    mark_needed,
)
from anbexact._kernels.jit import inner, kernel
from anbexact._kernels.posterior import exponentials

DONE, PAUSED, REFUSED, NEAR, COLUMNS, CELLS = range(6)
"""The reasons why a kernel returns: all rows are done; the work allowed for a call is done; the cliques of a row are
too large; or the scratch arrays for a plan's matrix, for its columns, or for tables and messages are too small.
"""
TIE = 1e-9
"""Log probabilities that differ by less are taken as equal."""


@inner
def _same_pattern(codes, t, u):
    """Return whether the same cells are missing in two rows."""
    for v in range(codes.shape[0]):  # noqa: SIM110 - a generator takes longer to compile
        if (codes[v, t] < 0) != (codes[v, u] < 0):
            return False
    return True


@inner
def _read(codes, t, state):
    """Read a row; variables without a row in ``codes`` are missing."""
    for v in range(state.shape[0]):
        state[v] = codes[v, t] if v < codes.shape[0] else -1


@inner
def _plan(state, net, roles, most_cells, plan, near, weights, n_cells):
    """Plan the elimination for a row's pattern; return DONE or the reason why not, and the required size."""
    mark_needed(state, net, roles, plan)
    list_hidden(state, net, roles, plan)
    total = plan[COUNTS, N_HIDDEN]
    if total > near.shape[0]:
        return NEAR, float(total)
    room, n_axes, n_steps = choose_order(net, plan, near, weights)
    if room > most_cells:
        _list_largest(plan, near, weights)
        return REFUSED, room
    if max(n_axes, n_steps) > plan.shape[1]:
        return COLUMNS, float(max(n_axes, n_steps))
    if room > n_cells:
        return CELLS, room
    lay_out(net, plan, near)
    assign_terms(net, plan)
    find_steps(net, plan)
    return DONE, room


@inner
def _list_largest(plan, near, weights):
    """List the variables of the largest clique in the row SCRATCH, after their number."""
    n, total = plan[COUNTS, N_ELIMINATED], plan[COUNTS, N_HIDDEN]
    largest = 0
    for a in range(n):
        if weights[a] > weights[largest]:
            largest = a
    k = 0
    for b in range(total):
        if n == 0 or near[largest, b]:
            k += 1
            plan[SCRATCH, k] = plan[HIDDEN, b]
    plan[SCRATCH, 0] = k


@inner
def _find_bases(net, logs, plan, state):
    """Write where the values of each factor begin, given the observed cells; return the log product of the closed."""
    closed = 0.0
    n_closed = plan[COUNTS, N_CLOSED]
    for i in range(n_closed + plan[COUNTS, N_OPEN]):
        f = plan[CLOSED, i] if i < n_closed else plan[OPEN, i - n_closed]
        base = net[OFFSETS, f]
        for k in range(net[FIRSTS, f], net[FIRSTS, f + 1]):
            base += max(state[net[VARIABLES, k]], 0) * net[STRIDES, k]
        if i < n_closed:
            closed += logs[base]
        else:
            plan[BASES, f] = base
    return closed


@inner
def _next_line(plan, first, n_axes, step_first, place):
    """Return the place of the next line along the last axis; -1 after the last one. Counts in the row SCRATCH."""
    k = n_axes - 2
    while k >= 0:
        plan[SCRATCH, k] += 1
        step = plan[STEPS, step_first + k]
        place += step
        if plan[SCRATCH, k] < plan[DIMS, first + k]:
            return place
        place -= step * plan[DIMS, first + k]
        plan[SCRATCH, k] = 0
        k -= 1
    return -1


@inner
def _multiply(plan, clique, start, logs, cells):
    """Write the log product of a clique's terms, begun with ``start``, to its table."""
    table = plan[TABLES, clique]
    first = plan[AXIS_FIRSTS, clique]
    n_axes = plan[AXIS_FIRSTS, clique + 1] - first
    length = plan[DIMS, first + n_axes - 1]
    for k in range(table, table + plan[SIZES, clique]):
        cells[k] = start
    for k in range(n_axes):
        plan[SCRATCH, k] = 0
    for term in range(plan[TERM_FIRSTS, clique], plan[TERM_FIRSTS, clique + 1]):
        source = plan[SOURCES, term]
        place = plan[BASES, source] if source >= 0 else plan[MESSAGES, -1 - source]
        step_first = plan[STEP_FIRSTS, term]
        step = plan[STEPS, step_first + n_axes - 1]
        line = table
        while place >= 0:
            if source >= 0:
                for c in range(length):
                    cells[line + c] += logs[place + c * step]
            else:
                for c in range(length):
                    cells[line + c] += cells[place + c * step]
            line += length
            place = _next_line(plan, first, n_axes, step_first, place)


@inner
def _sum_first(plan, clique, cells, powers, keep):
    """Sum the first variable of a clique out: write ln Σ to its message.

    ``keep`` says whether the table becomes P(first variable | others, what is observed below).
    """
    table = plan[TABLES, clique]
    states = plan[DIMS, plan[AXIS_FIRSTS, clique]]
    size = plan[SIZES, clique]
    rest = size // states
    message = plan[MESSAGES, clique]
    for m in range(rest):
        top = cells[table + m]
        for j in range(1, states):
            top = max(top, cells[table + j * rest + m])
        cells[message + m] = top
        if top > -np.inf:
            for j in range(states):
                cells[table + j * rest + m] -= top
    exponentials(cells[table : table + size], powers)
    for m in range(rest):
        if cells[message + m] == -np.inf:
            continue
        total = 0.0
        for j in range(states):
            total += cells[table + j * rest + m]
        cells[message + m] += math.log(total)
        if keep:
            for j in range(states):
                cells[table + j * rest + m] /= total


@inner
def _write_kept(net, plan, state, roles, cells, out, t):
    """Write the table of the kept variables as row t; states that contradict an observed cell are impossible."""
    n = plan[COUNTS, N_ELIMINATED]
    table = plan[TABLES, n]
    if plan[SIZES, n] == out.shape[1]:
        for c in range(out.shape[1]):
            out[t, c] = cells[table + c]
        return
    for c in range(out.shape[1]):
        rest, stride, source = c, 1, 0
        possible = True
        for v in range(roles.shape[0] - 1, -1, -1):
            if roles[v] == KEPT:
                code = rest % net[ARITIES, v]
                rest //= net[ARITIES, v]
                if state[v] < 0:
                    source += code * stride
                    stride *= net[ARITIES, v]
                elif state[v] != code:
                    possible = False
        out[t, c] = cells[table + source] if possible else -np.inf


@inner
def _max_first(plan, clique, cells, powers, first, second):
    """Maximise over the first variable of a clique: write ln max to its message.

    The state is written to the same place in ``powers``. Of states that are equally probable, the one whose
    explanation comes first is taken. ``first`` and ``second`` are room for two explanations.
    """
    table = plan[TABLES, clique]
    states = plan[DIMS, plan[AXIS_FIRSTS, clique]]
    rest = plan[SIZES, clique] // states
    message = plan[MESSAGES, clique]
    for m in range(rest):
        top = cells[table + m]
        powers[message + m] = 0
        for j in range(1, states):
            value = cells[table + j * rest + m]
            better = value > top + TIE
            if not better and value > -np.inf and value >= top - TIE:
                _follow(plan, clique, m, powers, first)
                before = powers[message + m]
                powers[message + m] = j
                _follow(plan, clique, m, powers, second)
                powers[message + m] = before
                better = _is_first(plan, clique, second, first)
            if better:
                powers[message + m] = j
            top = max(top, value)
        cells[message + m] = top


@inner
def _follow(plan, clique, m, powers, explanation):
    """Write the most probable states of the variables that were eliminated up to a clique, given its message's.

    The row FILLED receives 1 for the cliques of these variables, and 0 for others before them.
    """
    first = plan[AXIS_FIRSTS, clique]
    for axis in range(plan[AXIS_FIRSTS, clique + 1] - 1, first, -1):
        explanation[plan[AXES, axis]] = m % plan[DIMS, axis]
        m //= plan[DIMS, axis]
    for c in range(clique, -1, -1):
        plan[FILLED, c] = c == clique or (plan[PARENTS, c] <= clique and plan[FILLED, plan[PARENTS, c]])
        if plan[FILLED, c]:
            _choose(plan, c, powers, explanation)


@inner
def _choose(plan, clique, powers, explanation):
    """Write the most probable state of a clique's first variable, given the others."""
    first = plan[AXIS_FIRSTS, clique]
    place = 0
    for axis in range(first + 1, plan[AXIS_FIRSTS, clique + 1]):
        place = place * plan[DIMS, axis] + explanation[plan[AXES, axis]]
    explanation[plan[AXES, first]] = powers[plan[MESSAGES, clique] + place]


@inner
def _is_first(plan, clique, a, b):
    """Return whether a comes before b: in the first of the variables below a clique in which they differ."""
    for place in range(plan[COUNTS, N_ELIMINATED]):
        v = plan[HIDDEN, place]
        if plan[RANKS, place] <= clique and plan[FILLED, plan[RANKS, place]] and a[v] != b[v]:
            return a[v] < b[v]
    return False


@inner
def _mark_wanted(plan, roles):
    """Write 1 to the row FILLED for cliques through which wanted variables are reached, 0 for others."""
    n = plan[COUNTS, N_ELIMINATED]
    for clique in range(n + 1):
        plan[FILLED, clique] = 0
    for clique in range(n):
        if roles[plan[AXES, plan[AXIS_FIRSTS, clique]]] > 0:
            plan[FILLED, clique] = 1
        if plan[FILLED, clique]:
            plan[FILLED, plan[PARENTS, clique]] = 1


@inner
def _send_back(plan, clique, cells):
    """Turn a clique's table, P(first variable | others), into the joint distribution of all its variables."""
    parent = plan[PARENTS, clique]
    table, message = plan[TABLES, clique], plan[MESSAGES, clique]
    states = plan[DIMS, plan[AXIS_FIRSTS, clique]]
    rest = plan[SIZES, clique] // states
    if parent == plan[COUNTS, N_ELIMINATED]:
        cells[message] = 1.0
    else:
        for m in range(rest):
            cells[message + m] = 0.0
        first = plan[AXIS_FIRSTS, parent]
        n_axes = plan[AXIS_FIRSTS, parent + 1] - first
        length = plan[DIMS, first + n_axes - 1]
        step_first = plan[STEP_FIRSTS, plan[SENT, clique]]
        step = plan[STEPS, step_first + n_axes - 1]
        for k in range(n_axes):
            plan[SCRATCH, k] = 0
        line, place = plan[TABLES, parent], message
        while place >= 0:
            for c in range(length):
                cells[place + c * step] += cells[line + c]
            line += length
            place = _next_line(plan, first, n_axes, step_first, place)
    for j in range(states):
        for m in range(rest):
            cells[table + j * rest + m] *= cells[message + m]


@inner
def _write_marginal(plan, clique, cells, out, t, column):
    """Write the distribution of a clique's first variable from its joint one."""
    table = plan[TABLES, clique]
    states = plan[DIMS, plan[AXIS_FIRSTS, clique]]
    rest = plan[SIZES, clique] // states
    for j in range(states):
        total = 0.0
        for m in range(rest):
            total += cells[table + j * rest + m]
        out[t, column + j] = total


@inner
def _count_closed(net, plan, state, weight, counts):
    """Add the weight of a row to its cells of the factors without hidden variables."""
    for i in range(plan[COUNTS, N_CLOSED]):
        f = plan[CLOSED, i]
        base = net[OFFSETS, f]
        for k in range(net[FIRSTS, f], net[FIRSTS, f + 1]):
            base += state[net[VARIABLES, k]] * net[STRIDES, k]
        counts[base] += weight


@inner
def _count_open(plan, clique, weight, cells, counts):
    """Add a clique's joint distribution, times the weight of a row, to the cells of its factors."""
    first = plan[AXIS_FIRSTS, clique]
    n_axes = plan[AXIS_FIRSTS, clique + 1] - first
    length = plan[DIMS, first + n_axes - 1]
    for k in range(n_axes):
        plan[SCRATCH, k] = 0
    for term in range(plan[TERM_FIRSTS, clique], plan[TERM_FIRSTS, clique + 1]):
        if plan[SOURCES, term] < 0:
            continue
        step_first = plan[STEP_FIRSTS, term]
        step = plan[STEPS, step_first + n_axes - 1]
        line, place = plan[TABLES, clique], plan[BASES, plan[SOURCES, term]]
        while place >= 0:
            for c in range(length):
                counts[place + c * step] += weight * cells[line + c]
            line += length
            place = _next_line(plan, first, n_axes, step_first, place)


@kernel
def joint_rows(codes, rows, net, roles, start, limits, room, out):
    """Compute ln of the joint distribution of kept variables and observed cells, from ``rows[start]`` on.

    Parameters
    ----------
    codes : (variables, rows) int16
        States, negative where missing. The last variables may have no row, they are missing then.
    rows : (k,) int64
        Rows; those with the same missing cells should follow one another, because they share a plan.
    net : Net
        The network.
    roles : (variables,) int64
        KEPT for the variables whose joint distribution is wanted, else 0.
    limits : Limits
        See there.
    room : Room
        See there.
    out : (rows, joint states of the kept variables) float64
        Receives the result.

    Returns
    -------
    position, reason, needed : int, int, float
        The first of ``rows`` that is not done, DONE or the reason why not, and the size that it needs.
    """
    plan, near, weights, cells, powers = room.plan, room.near, room.weights, room.cells, room.powers
    table, logs = net.table, net.logs
    state = np.empty(roles.shape[0], np.int64)
    needed, work = 0.0, 0.0
    for i in range(start, rows.shape[0]):
        t = rows[i]
        _read(codes, t, state)
        if i == start or not _same_pattern(codes, t, rows[i - 1]):
            reason, needed = _plan(state, table, roles, limits.cells, plan, near, weights, cells.shape[0])
            if reason != DONE:
                return i, reason, needed
        closed = _find_bases(table, logs, plan, state)
        n = plan[COUNTS, N_ELIMINATED]
        for clique in range(n + 1):
            _multiply(plan, clique, closed if clique == n else 0.0, logs, cells)
            if clique < n:
                _sum_first(plan, clique, cells, powers, False)
        _write_kept(table, plan, state, roles, cells, out, t)
        work += needed
        if work > limits.work:
            return i + 1, PAUSED, 0.0
    return rows.shape[0], DONE, 0.0


@kernel
def marginal_rows(codes, rows, net, roles, columns, start, limits, room, out, log_evidence):
    """Compute the distributions of wanted variables given the observed cells, for the rows from ``rows[start]`` on.

    Parameters
    ----------
    codes, rows, net, start, limits, room
        As in :func:`joint_rows`.
    roles : (variables,) int64
        WANTED or 0.
    columns : (variables,) int64
        Where the distribution of each wanted variable begins in a row of ``out``.
    out : (rows, k) float64
        Receives the distributions; NaN in rows that are impossible.
    log_evidence : (rows,) float64
        Receives the log probability of what is observed.

    Returns
    -------
    position, reason, needed
        As from :func:`joint_rows`.
    """
    plan, near, weights, cells, powers = room.plan, room.near, room.weights, room.cells, room.powers
    table, logs = net.table, net.logs
    state = np.empty(roles.shape[0], np.int64)
    needed, work = 0.0, 0.0
    for i in range(start, rows.shape[0]):
        t = rows[i]
        _read(codes, t, state)
        if i == start or not _same_pattern(codes, t, rows[i - 1]):
            reason, needed = _plan(state, table, roles, limits.cells, plan, near, weights, cells.shape[0])
            if reason != DONE:
                return i, reason, needed
            _mark_wanted(plan, roles)
        closed = _find_bases(table, logs, plan, state)
        n = plan[COUNTS, N_ELIMINATED]
        for clique in range(n + 1):
            _multiply(plan, clique, closed if clique == n else 0.0, logs, cells)
            if clique < n:
                _sum_first(plan, clique, cells, powers, True)
        log_evidence[t] = cells[plan[TABLES, n]]
        possible = log_evidence[t] > -np.inf
        for v in range(roles.shape[0]):
            if roles[v] > 0:
                for j in range(table[ARITIES, v]):
                    out[t, columns[v] + j] = (1.0 if j == state[v] else 0.0) if possible else np.nan
        for clique in range(n - 1 if possible else -1, -1, -1):
            if plan[FILLED, clique]:
                _send_back(plan, clique, cells)
                v = plan[AXES, plan[AXIS_FIRSTS, clique]]
                if roles[v] > 0:
                    _write_marginal(plan, clique, cells, out, t, columns[v])
        work += needed
        if work > limits.work:
            return i + 1, PAUSED, 0.0
    return rows.shape[0], DONE, 0.0


@kernel
def count_rows(codes, rows, weights, net, roles, start, limits, room, counts, log_evidence):
    """Add the expected counts of all factors given the observed cells, for the rows from ``rows[start]`` on.

    Parameters
    ----------
    codes, rows, net, start, limits, room
        As in :func:`joint_rows`.
    weights : (rows,) float64
        Weights of all rows; rows of weight 0 are skipped.
    roles : (variables,) int64
        WANTED for all of them.
    counts : (values,) float64
        Receives the counts, laid out as the values of the factors are. Rows that are impossible add nothing.
    log_evidence : (rows,) float64
        Receives the log probability of what is observed, where the weight is not 0.

    Returns
    -------
    position, reason, needed
        As from :func:`joint_rows`.
    """
    plan, near, room_weights, cells, powers = room.plan, room.near, room.weights, room.cells, room.powers
    table, logs = net.table, net.logs
    state = np.empty(roles.shape[0], np.int64)
    needed, work = 0.0, 0.0
    for i in range(start, rows.shape[0]):
        t = rows[i]
        _read(codes, t, state)
        if i == start or not _same_pattern(codes, t, rows[i - 1]):
            reason, needed = _plan(state, table, roles, limits.cells, plan, near, room_weights, cells.shape[0])
            if reason != DONE:
                return i, reason, needed
        if weights[t] == 0.0:
            continue
        closed = _find_bases(table, logs, plan, state)
        n = plan[COUNTS, N_ELIMINATED]
        for clique in range(n + 1):
            _multiply(plan, clique, closed if clique == n else 0.0, logs, cells)
            if clique < n:
                _sum_first(plan, clique, cells, powers, True)
        log_evidence[t] = cells[plan[TABLES, n]]
        if log_evidence[t] > -np.inf:
            _count_closed(table, plan, state, weights[t], counts)
            for clique in range(n - 1, -1, -1):
                _send_back(plan, clique, cells)
                _count_open(plan, clique, weights[t], cells, counts)
        work += needed
        if work > limits.work:
            return i + 1, PAUSED, 0.0
    return rows.shape[0], DONE, 0.0


@inner
def _draw(plan, clique, uniform, cells, state):
    """Write the state of a clique's first variable that a uniform number stands for, given the others."""
    first = plan[AXIS_FIRSTS, clique]
    states = plan[DIMS, first]
    rest = plan[SIZES, clique] // states
    place = plan[TABLES, clique]
    for axis in range(first + 1, plan[AXIS_FIRSTS, clique + 1]):
        step = 1
        for later in range(axis + 1, plan[AXIS_FIRSTS, clique + 1]):
            step *= plan[DIMS, later]
        place += step * state[plan[AXES, axis]]
    total, j = cells[place], 0
    while uniform > total and j < states - 1:
        j += 1
        total += cells[place + j * rest]
    state[plan[AXES, first]] = j


@kernel
def draw_rows(codes, rows, uniforms, net, roles, start, limits, room, out, log_evidence):
    """Draw the states of missing variables given the observed cells, for the rows from ``rows[start]`` on.

    Parameters
    ----------
    codes, rows, net, start, limits, room
        As in :func:`joint_rows`.
    uniforms : (variables, draws) float64
        Numbers between 0 and 1 that the draws of every row take.
    roles : (variables,) int64
        WANTED for all of them.
    out : (rows, draws, variables) int16
        Receives the draws; the first states in rows that are impossible.
    log_evidence : (rows,) float64
        Receives the log probability of what is observed.

    Returns
    -------
    position, reason, needed
        As from :func:`joint_rows`.
    """
    plan, near, weights, cells, powers = room.plan, room.near, room.weights, room.cells, room.powers
    table, logs = net.table, net.logs
    state = np.empty(roles.shape[0], np.int64)
    needed, work = 0.0, 0.0
    for i in range(start, rows.shape[0]):
        t = rows[i]
        _read(codes, t, state)
        if i == start or not _same_pattern(codes, t, rows[i - 1]):
            reason, needed = _plan(state, table, roles, limits.cells, plan, near, weights, cells.shape[0])
            if reason != DONE:
                return i, reason, needed
        closed = _find_bases(table, logs, plan, state)
        n = plan[COUNTS, N_ELIMINATED]
        for clique in range(n + 1):
            _multiply(plan, clique, closed if clique == n else 0.0, logs, cells)
            if clique < n:
                _sum_first(plan, clique, cells, powers, True)
        log_evidence[t] = cells[plan[TABLES, n]]
        possible = log_evidence[t] > -np.inf
        for d in range(uniforms.shape[1]):
            for clique in range(n - 1, -1, -1):
                v = plan[AXES, plan[AXIS_FIRSTS, clique]]
                if possible:
                    _draw(plan, clique, uniforms[v, d], cells, state)
                else:
                    state[v] = 0
            for v in range(state.shape[0]):
                out[t, d, v] = state[v]
        work += needed
        if work > limits.work:
            return i + 1, PAUSED, 0.0
    return rows.shape[0], DONE, 0.0


@kernel
def explanation_rows(codes, rows, net, roles, start, limits, room, out, log_joint):
    """Find the most probable states of all missing variables, for the rows from ``rows[start]`` on.

    Of explanations whose log probabilities differ by less than ``TIE``, the one with the smaller state of the first
    variable in which they differ is taken.

    Parameters
    ----------
    codes, rows, net, start, limits, room
        As in :func:`joint_rows`.
    roles : (variables,) int64
        WANTED.
    out : (variables, rows) int16
        Receives the states; those of the missing are -1 in rows that are impossible.
    log_joint : (rows,) float64
        Receives the log probability of the explanation with what is observed.

    Returns
    -------
    position, reason, needed
        As from :func:`joint_rows`.
    """
    plan, near, weights, cells, powers = room.plan, room.near, room.weights, room.cells, room.powers
    table, logs = net.table, net.logs
    state = np.empty(roles.shape[0], np.int64)
    first, second = np.empty(roles.shape[0], np.int64), np.empty(roles.shape[0], np.int64)
    needed, work = 0.0, 0.0
    for i in range(start, rows.shape[0]):
        t = rows[i]
        _read(codes, t, state)
        if i == start or not _same_pattern(codes, t, rows[i - 1]):
            reason, needed = _plan(state, table, roles, limits.cells, plan, near, weights, cells.shape[0])
            if reason != DONE:
                return i, reason, needed
        closed = _find_bases(table, logs, plan, state)
        n = plan[COUNTS, N_ELIMINATED]
        for clique in range(n + 1):
            _multiply(plan, clique, closed if clique == n else 0.0, logs, cells)
            if clique < n:
                _max_first(plan, clique, cells, powers, first, second)
        log_joint[t] = cells[plan[TABLES, n]]
        for clique in range(n - 1, -1, -1):
            _choose(plan, clique, powers, state)
            if log_joint[t] == -np.inf:
                state[plan[AXES, plan[AXIS_FIRSTS, clique]]] = 0
        for v in range(state.shape[0]):
            missing = v >= codes.shape[0] or codes[v, t] < 0
            out[v, t] = -1 if missing and log_joint[t] == -np.inf else state[v]
        work += needed
        if work > limits.work:
            return i + 1, PAUSED, 0.0
    return rows.shape[0], DONE, 0.0
