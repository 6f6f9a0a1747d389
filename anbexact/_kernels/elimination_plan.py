"""How the hidden variables of a pattern of missing cells are summed out: a junction tree, one clique per variable.

Hidden variables are missing in a row and matter for what is asked. They are eliminated one after the other. To
eliminate one, all factors with it are multiplied into a table over its clique, and it is summed out. The result is a
message to the clique of the first of the remaining variables that is eliminated next.

A network is an integer array ``net`` and an array ``logs`` of the factors' logarithms, parents before their children.
A plan consists of an integer array ``plan`` and a matrix ``near``. They are two arrays, and not many, because
counting the references to an array at every call takes longer than the work on it.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from anbexact._kernels.jit import inner


class Room(NamedTuple):
    """Scratch arrays of the kernels.

    Attributes
    ----------
    plan : (N_ROWS, columns) int64
        At least as many columns as factors and variables together, and 2 more.
    near, weights : (k, k) bool, (k,) float64
        For up to this number of hidden variables.
    cells, powers : (k,) float64, int64
        Tables and messages.
    """

    plan: npt.NDArray[np.int64]
    near: npt.NDArray[np.bool_]
    weights: npt.NDArray[np.float64]
    cells: npt.NDArray[np.float64]
    powers: npt.NDArray[np.int64]


class Net(NamedTuple):
    """A network; see above.

    Attributes
    ----------
    table : (7, k) int64
        Its factors.
    logs : (values,) float64
        Their values.
    """

    table: npt.NDArray[np.int64]
    logs: npt.NDArray[np.float64]


class Limits(NamedTuple):
    """Limits of a kernel's work.

    Attributes
    ----------
    cells : float
        Maximum number of cells of tables and messages for a row.
    work : float
        Number of cells after which a call returns.
    """

    cells: float
    work: float


CHILDREN, FIRSTS, OFFSETS, VARIABLES, STRIDES, ARITIES, N_FACTORS = range(7)
"""Rows of a network.

``N_FACTORS`` begins with their number. Factor f is the distribution of variable ``CHILDREN``, a function of
``VARIABLES`` from the place ``FIRSTS`` of f to that of f + 1. Its value is ``logs[OFFSETS + Σ STRIDES * state]``.
Variable v has ``ARITIES`` states.
"""
COUNTS, HIDDEN, PLACES, NEEDED, CLOSED, OPEN, BASES, RANKS, BY_RANK, SCRATCH = range(10)
"""Rows of a plan for variables and factors.

``COUNTS`` has four numbers, named below. ``HIDDEN`` lists the hidden variables, the kept ones last; ``PLACES`` has
the place of every variable in the list, or -1. ``NEEDED`` is 1 for variables that matter. ``CLOSED`` and ``OPEN``
list factors without and with hidden variables, ``BASES`` where the values of a factor begin for a row. ``RANKS`` is
the place of the hidden variables in the order of elimination, ``BY_RANK`` the reverse.
"""
AXIS_FIRSTS, AXES, DIMS, SIZES, TABLES, MESSAGES, PARENTS, SENT = range(10, 18)
"""Rows of a plan for cliques, in the order of elimination; the last has the kept variables.

A clique's variables, that which is eliminated first, and their numbers of states are ``AXES`` and ``DIMS`` from its
``AXIS_FIRSTS`` to the next one's. A clique without variables has one axis, variable -1 with one state. ``SIZES`` is
the cells of its table. ``TABLES`` and ``MESSAGES`` are where its table and message begin, ``PARENTS`` the clique that
receives the message, ``SENT`` the term by which.
"""
TERM_FIRSTS, SOURCES, STEP_FIRSTS, FILLED, STEPS = range(18, 23)
"""Rows of a plan for terms, which are multiplied in a clique: from its ``TERM_FIRSTS`` to the next one's.

A term of ``SOURCES`` f is factor f, or the message of clique -1 - f. Factors come first, both ascending. The strides
of a term along the axes of its clique are ``STEPS`` from its ``STEP_FIRSTS``. ``FILLED`` counts the terms of a
clique, and serves to mark cliques afterwards.
"""
N_ROWS = 23
WANTED, KEPT = 1, 2
"""Roles of variables."""
N_ELIMINATED, N_HIDDEN, N_CLOSED, N_OPEN = range(4)
"""Places in the row ``COUNTS``."""


@inner
def mark_needed(state, net, roles, plan):
    """Mark the variables that affect the result, and return how many of them are to be eliminated.

    What is wanted or observed matters, and so do its ancestors. The distributions of the others sum to 1.

    Parameters
    ----------
    state : (variables,) int64
        Negative where missing.
    roles : (variables,) int64
        WANTED, KEPT (wanted, and not to be eliminated) or 0.
    """
    n = 0
    for v in range(state.shape[0]):
        plan[NEEDED, v] = roles[v] > 0 or state[v] >= 0
        n += roles[v] == WANTED and state[v] < 0
    for f in range(net[N_FACTORS, 0] - 1, -1, -1):
        if plan[NEEDED, net[CHILDREN, f]]:
            for k in range(net[FIRSTS, f], net[FIRSTS, f + 1]):
                if not plan[NEEDED, net[VARIABLES, k]]:
                    plan[NEEDED, net[VARIABLES, k]] = 1
                    n += 1
    return n


@inner
def list_hidden(state, net, roles, plan):
    """List the hidden variables, which are missing and matter, and the factors with and without any."""
    n_variables = state.shape[0]
    n_factors = net[N_FACTORS, 0]
    for v in range(n_variables):
        plan[PLACES, v] = -1
    n = 0
    for v in range(n_variables):
        if plan[NEEDED, v] and state[v] < 0 and roles[v] != KEPT:
            plan[HIDDEN, n] = v
            plan[PLACES, v] = n
            n += 1
    total = n
    for v in range(n_variables):
        if state[v] < 0 and roles[v] == KEPT:
            plan[HIDDEN, total] = v
            plan[PLACES, v] = total
            total += 1
    n_closed, n_open = 0, 0
    for f in range(n_factors):
        if plan[NEEDED, net[CHILDREN, f]]:
            closed = True
            for k in range(net[FIRSTS, f], net[FIRSTS, f + 1]):
                closed &= plan[PLACES, net[VARIABLES, k]] < 0
            if closed:
                plan[CLOSED, n_closed] = f
                n_closed += 1
            else:
                plan[OPEN, n_open] = f
                n_open += 1
    plan[COUNTS, N_ELIMINATED] = n
    plan[COUNTS, N_HIDDEN] = total
    plan[COUNTS, N_CLOSED] = n_closed
    plan[COUNTS, N_OPEN] = n_open


@inner
def _weigh(net, plan, near, a, total):
    """Return the cells of a variable's clique."""
    cells = 1.0
    for b in range(total):
        if near[a, b]:
            cells *= net[ARITIES, plan[HIDDEN, b]]
    return cells


@inner
def _find_neighbours(net, plan, near):
    """Join the hidden variables that are in one factor."""
    total = plan[COUNTS, N_HIDDEN]
    for a in range(total):
        for b in range(total):
            near[a, b] = a == b
    for i in range(plan[COUNTS, N_OPEN]):
        f = plan[OPEN, i]
        for k in range(net[FIRSTS, f], net[FIRSTS, f + 1]):
            a = plan[PLACES, net[VARIABLES, k]]
            if a >= 0:
                for m in range(net[FIRSTS, f], k):
                    b = plan[PLACES, net[VARIABLES, m]]
                    if b >= 0:
                        near[a, b] = True
                        near[b, a] = True


@inner
def choose_order(net, plan, near, weights):
    """Choose the order of elimination, smallest clique first; write the variables of every clique to ``near``.

    Among cliques of the same size, the one of the variable that is first in the list is taken.

    Parameters
    ----------
    near : (hidden, hidden) bool, or larger
        Receives in row a the variables of a's clique, at their places in the list.
    weights : (hidden,) float64, or longer
        Receives the cells of the cliques.

    Returns
    -------
    room, n_axes, n_steps : float, int, int
        Cells that all tables and messages need; axes of all cliques, and strides of all terms at most.
    """
    _find_neighbours(net, plan, near)
    n, total = plan[COUNTS, N_ELIMINATED], plan[COUNTS, N_HIDDEN]
    kept_cells = 1.0
    for a in range(n, total):
        plan[RANKS, a] = a
        plan[BY_RANK, a] = a
        kept_cells *= net[ARITIES, plan[HIDDEN, a]]
    for a in range(n):
        plan[RANKS, a] = -1
        weights[a] = _weigh(net, plan, near, a, total)
    room = 2.0 * kept_cells
    n_axes = max(total - n, 1)
    most_axes = n_axes
    for rank in range(n):
        best = -1
        for a in range(n):
            if plan[RANKS, a] < 0 and (best < 0 or weights[a] < weights[best]):
                best = a
        plan[RANKS, best] = rank
        plan[BY_RANK, rank] = best
        room += weights[best] + weights[best] / net[ARITIES, plan[HIDDEN, best]]
        n_around = 0
        for b in range(total):
            if near[best, b] and b != best:
                plan[SCRATCH, n_around] = b
                n_around += 1
        n_axes += n_around + 1
        most_axes = max(most_axes, n_around + 1)
        for i in range(n_around):
            a = plan[SCRATCH, i]
            near[a, best] = False
            for j in range(n_around):
                near[a, plan[SCRATCH, j]] = True
        for i in range(n_around):
            a = plan[SCRATCH, i]
            if a < n:
                weights[a] = _weigh(net, plan, near, a, total)
    return room, n_axes, most_axes * (plan[COUNTS, N_OPEN] + n)


@inner
def lay_out(net, plan, near):
    """List the axes of the cliques, and lay out tables and messages."""
    n, total = plan[COUNTS, N_ELIMINATED], plan[COUNTS, N_HIDDEN]
    k, cells = 0, 0
    for clique in range(n + 1):
        first = k
        plan[AXIS_FIRSTS, clique] = k
        for rank in range(clique, total):
            if clique == n or near[plan[BY_RANK, clique], plan[BY_RANK, rank]]:
                plan[AXES, k] = plan[HIDDEN, plan[BY_RANK, rank]]
                plan[DIMS, k] = net[ARITIES, plan[AXES, k]]
                k += 1
        if k == first:
            plan[AXES, k] = -1
            plan[DIMS, k] = 1
            k += 1
        size = 1
        for axis in range(first, k):
            size *= plan[DIMS, axis]
        plan[SIZES, clique] = size
        plan[TABLES, clique] = cells
        plan[MESSAGES, clique] = cells + size
        cells += size + size // plan[DIMS, first]
        plan[PARENTS, clique] = n
        if clique < n and k > first + 1:
            plan[PARENTS, clique] = min(plan[RANKS, plan[PLACES, plan[AXES, first + 1]]], n)
    plan[AXIS_FIRSTS, n + 1] = k


@inner
def assign_terms(net, plan):
    """List what is multiplied in every clique."""
    n, n_open = plan[COUNTS, N_ELIMINATED], plan[COUNTS, N_OPEN]
    for clique in range(n + 2):
        plan[TERM_FIRSTS, clique] = 0
    for i in range(n_open):
        f = plan[OPEN, i]
        receiver = n
        for k in range(net[FIRSTS, f], net[FIRSTS, f + 1]):
            a = plan[PLACES, net[VARIABLES, k]]
            if a >= 0:
                receiver = min(receiver, plan[RANKS, a])
        plan[SCRATCH, i] = receiver
        plan[TERM_FIRSTS, receiver + 1] += 1
    for clique in range(n):
        plan[TERM_FIRSTS, plan[PARENTS, clique] + 1] += 1
    for clique in range(n + 1):
        plan[TERM_FIRSTS, clique + 1] += plan[TERM_FIRSTS, clique]
        plan[FILLED, clique] = plan[TERM_FIRSTS, clique]
    for i in range(n_open):
        receiver = plan[SCRATCH, i]
        plan[SOURCES, plan[FILLED, receiver]] = plan[OPEN, i]
        plan[FILLED, receiver] += 1
    for clique in range(n):
        receiver = plan[PARENTS, clique]
        plan[SENT, clique] = plan[FILLED, receiver]
        plan[SOURCES, plan[FILLED, receiver]] = -1 - clique
        plan[FILLED, receiver] += 1


@inner
def find_steps(net, plan):
    """Write the strides of every term along the axes of its clique."""
    k = 0
    for clique in range(plan[COUNTS, N_ELIMINATED] + 1):
        first, last = plan[AXIS_FIRSTS, clique], plan[AXIS_FIRSTS, clique + 1]
        for term in range(plan[TERM_FIRSTS, clique], plan[TERM_FIRSTS, clique + 1]):
            plan[STEP_FIRSTS, term] = k
            source = plan[SOURCES, term]
            if source >= 0:
                for axis in range(first, last):
                    plan[STEPS, k] = 0
                    for m in range(net[FIRSTS, source], net[FIRSTS, source + 1]):
                        if net[VARIABLES, m] == plan[AXES, axis]:
                            plan[STEPS, k] = net[STRIDES, m]
                    k += 1
            else:
                sender = -1 - source
                m = plan[AXIS_FIRSTS, sender] + 1
                step = plan[SIZES, sender] // plan[DIMS, m - 1]
                for axis in range(first, last):
                    plan[STEPS, k] = 0
                    if m < plan[AXIS_FIRSTS, sender + 1] and plan[AXES, m] == plan[AXES, axis]:
                        step //= plan[DIMS, m]
                        plan[STEPS, k] = step
                        m += 1
                    k += 1
