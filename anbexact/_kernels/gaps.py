"""Expected counts of a network's families, row by row, over the completions of cells that depend on each other.

Given the observed cells of a row, its missing cells fall into groups: two are in the same if a family contains both.
The groups are independent, so each is completed by itself, in far fewer ways than the row.

Families are given by ``starts``, (families + 1,), where the members of each begin in ``members`` and ``strides``: the
positions of its variables, and what a state of them adds to the cell of the family's table. Tables follow each other;
``offsets`` says where each begins.
"""

import numpy as np

from anbexact._kernels.jit import inner, kernel


@inner
def _group(row, starts, members, label):
    """Write the first missing variable of the group of every missing variable, and -1 for observed ones."""
    for v in range(len(row)):
        label[v] = v if row[v] < 0 else -1
    for f in range(len(starts) - 1):
        first = -1
        for m in range(starts[f], starts[f + 1]):
            own = label[members[m]]
            if own < 0 or own == first:
                continue
            if first < 0:
                first = own
                continue
            low, high = min(first, own), max(first, own)
            for v in range(len(row)):
                if label[v] == high:
                    label[v] = low
            first = low


@kernel
def largest_groups(codes, arities, starts, members):
    """Return how many completions the largest group of missing cells of every row has, shape (rows,)."""
    n_rows, n_variables = codes.shape
    found = np.ones(n_rows)
    label = np.empty(n_variables, dtype=np.int64)
    for t in range(n_rows):
        _group(codes[t], starts, members, label)
        for root in range(n_variables):
            if label[root] == root:
                ways = 1.0
                for v in range(n_variables):
                    if label[v] == root:
                        ways *= arities[v]
                found[t] = max(found[t], ways)
    return found


@inner
def _observed_cell(row, f, starts, members, strides, offsets):
    """Return the first cell of a family that agrees with the observed cells of a row."""
    cell = offsets[f]
    for m in range(starts[f], starts[f + 1]):
        if row[members[m]] >= 0:
            cell += row[members[m]] * strides[m]
    return cell


@inner
def _next_completion(state, names, n_names, arities):
    """Write the next completion of a group of variables, the last variable fastest."""
    for k in range(n_names - 1, -1, -1):
        v = names[k]
        state[v] += 1
        if state[v] < arities[v]:
            return
        state[v] = 0


@inner
def _completed_cell(base, f, state, label, root, starts, members, strides):
    """Return the cell of a family under a completion of a group."""
    cell = base
    for m in range(starts[f], starts[f + 1]):
        if label[members[m]] == root:
            cell += state[members[m]] * strides[m]
    return cell


@kernel
def expected_families(codes, weights, arities, starts, members, strides, offsets, logs, counts, most):
    """Add the expected counts of every family to ``counts``; return the log likelihood of the observed cells.

    ``codes`` are (rows, variables), -1 where a cell is missing, no group having more than ``most`` completions;
    ``weights`` are (rows,). ``logs`` and ``counts`` are the logs of all tables, and the counts, (cells,).
    """
    n_rows, n_variables = codes.shape
    n_families = len(starts) - 1
    label = np.empty(n_variables, dtype=np.int64)
    state = np.zeros(n_variables, dtype=np.int64)
    names = np.empty(n_variables, dtype=np.int64)
    touched = np.empty(n_families, dtype=np.int64)
    group_of = np.empty(n_families, dtype=np.int64)
    base = np.empty(n_families, dtype=np.int64)
    entries = np.empty(most)
    total = 0.0
    for t in range(n_rows):
        weight = weights[t]
        if weight == 0.0:
            continue
        row = codes[t]
        _group(row, starts, members, label)
        for f in range(n_families):
            base[f] = _observed_cell(row, f, starts, members, strides, offsets)
            group_of[f] = -1
            for m in range(starts[f], starts[f + 1]):
                if label[members[m]] >= 0:
                    group_of[f] = label[members[m]]
            if group_of[f] < 0:
                total += weight * logs[base[f]]
                counts[base[f]] += weight
        for root in range(n_variables):
            if label[root] != root:
                continue
            n_names, ways = 0, 1
            for v in range(n_variables):
                if label[v] == root:
                    names[n_names] = v
                    state[v] = 0
                    n_names += 1
                    ways *= arities[v]
            n_touched = 0
            for f in range(n_families):
                if group_of[f] == root:
                    touched[n_touched] = f
                    n_touched += 1
            top = -np.inf
            for e in range(ways):
                log = 0.0
                for k in range(n_touched):
                    f = touched[k]
                    log += logs[_completed_cell(base[f], f, state, label, root, starts, members, strides)]
                entries[e] = log
                top = max(top, log)
                _next_completion(state, names, n_names, arities)
            if top == -np.inf:
                total = -np.inf
                continue
            mass = 0.0
            for e in range(ways):
                entries[e] = np.exp(entries[e] - top)
                mass += entries[e]
            total += weight * (top + np.log(mass))
            for e in range(ways):
                share = weight * entries[e] / mass
                for k in range(n_touched):
                    f = touched[k]
                    counts[_completed_cell(base[f], f, state, label, root, starts, members, strides)] += share
                _next_completion(state, names, n_names, arities)
    return total
