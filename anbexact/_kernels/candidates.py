"""Candidate parent sets of one feature: depth-first refinement of the rows, with pruning.

The features that may be parents are numbered 0 .. m-1. Sets are visited in the order of their masks, each made from
the set without its smallest member, so that all subsets of a set come before it. Rows that agree on the class, on the
required parents and on the members of the set form a *cell*, a run of *entries*; an entry gathers the rows that also
agree on the child and on all features below the smallest member, the only ones that can still be added. Cells
that no further feature can change are *settled*: they leave the walk as a count of cells by weight.

A walk goes through one size of sets. Only sets whose supersets may still be of use (*open* sets) are remembered, in a
table hashed by mask.

Indices in the inner loops are unsigned: numba then leaves out the test for negative ones, which more than doubles
their speed.
"""

import math

import numpy as np
from numba import njit

from anbexact._kernels.cells import cell_value
from anbexact._kernels.lattice import popcount

SETTLED = 16
"""Settled cells of whole weights up to this are counted by weight; others are listed."""
DIRICHLET = 0
LIKELIHOOD = 1


@njit(cache=True, nogil=True)
def sort_rows(keys, sizes):
    """Return the order that sorts rows by ``keys[0]``, then ``keys[1]``, ...; key k has values below ``sizes[k]``."""
    n_rows = keys.shape[1]
    order = np.arange(n_rows).astype(np.int32)
    spare = np.empty(n_rows, np.int32)
    for k in range(keys.shape[0] - 1, -1, -1):
        places = np.zeros(sizes[k] + 1, np.int64)
        for t in range(n_rows):
            places[keys[k, t] + 1] += 1
        for value in range(sizes[k]):
            places[value + 1] += places[value]
        for t in range(n_rows):
            value = keys[k, order[t]]
            spare[places[value]] = order[t]
            places[value] += 1
        order, spare = spare, order
    return order


@njit(cache=True, nogil=True)
def rank_prefixes(keys, first):
    """Number, in sorted rows, the distinct values of ``keys[: first + m]``, for m = 0, 1, ...; (prefixes, rows)."""
    n_keys, n_rows = keys.shape
    ranks = np.zeros((n_keys - first + 1, n_rows), np.int32)
    for t in range(1, n_rows):
        differs = n_keys
        for k in range(n_keys):
            if keys[k, t] != keys[k, t - 1]:
                differs = k
                break
        for m in range(n_keys - first + 1):
            ranks[m, t] = ranks[m, t - 1] + (1 if differs < first + m else 0)
    return ranks


@njit(cache=True, nogil=True)
def _slot(key, keys, slots):
    """Return where a mask is, or would be, in the hash table."""
    mixed = np.uint64(0x9E3779B97F4A7C15)
    for w in range(key.shape[0]):
        mixed = (mixed ^ key[w]) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(32)
    last = slots.shape[0] - 1
    at = np.int64(mixed & np.uint64(last))
    while slots[at] >= 0:
        found = slots[at]
        same = True
        for w in range(key.shape[0]):
            if keys[found, w] != key[w]:
                same = False
                break
        if same:
            return at
        at = (at + 1) & last
    return at


@njit(cache=True, nogil=True)
def rehash(keys, used, slots):
    """Fill an empty hash table with the first ``used`` masks."""
    for k in range(used):
        slots[_slot(keys[k], keys, slots)] = k


@njit(cache=True, nogil=True)
def _value(weight, values, a, log_gamma_a):
    """Return the value of a cell: from the table where it reaches, else computed."""
    at = np.uint64(weight)
    if at == weight and at < np.uint64(values.shape[0]):
        return values[at]
    return cell_value(float(weight), a, log_gamma_a)


@njit(cache=True, nogil=True)
def tabulate(values, a):
    """Fill a table with lnΓ(a + w) - lnΓ(a) for w = 0, 1, ...; with w ln w for an infinite a."""
    values[0] = 0.0
    if a == math.inf:
        for w in range(1, values.shape[0]):
            values[w] = w * math.log(w)
        return
    total = 0.0
    for w in range(1, values.shape[0]):
        total += math.log(a + (w - 1))
        values[w] = total


@njit(cache=True, nogil=True)
def _refine(
    kind, rows, kids, weights, starts, n_cells, codes, ranks, counts, ends,
    new_rows, new_kids, new_weights, new_starts, histogram, settled, top, cell_of,
):  # fmt: skip
    """Split every cell by ``codes`` and merge entries of equal rank; return the cells left and the settled listed.

    ``cell_of[c * arity + k]`` receives the new cell of the rows of cell c with state k.
    """
    arity = counts.shape[0]
    cells = 0
    size = 0
    for c in range(n_cells):
        first = np.uint64(starts[c])
        last = np.uint64(starts[c + 1])
        counts[:] = 0
        for t in range(first, last):
            counts[codes[rows[t]]] += 1
        base = size
        for k in range(arity):
            ends[k] = base
            base += counts[k]
        for t in range(first, last):
            k = codes[rows[t]]
            to = np.uint64(ends[k])
            new_rows[to] = rows[t]
            new_kids[to] = kids[t]
            new_weights[to] = weights[t]
            ends[k] += 1
        for k in range(arity):
            if counts[k] == 0:
                continue
            begin = size
            low = ends[k] - counts[k]
            rank = -1
            pure = True
            for t in range(low, ends[k]):
                row = new_rows[t]
                if ranks[row] == rank:
                    new_weights[size - 1] += new_weights[t]
                else:
                    rank = ranks[row]
                    new_rows[size] = row
                    new_kids[size] = new_kids[t]
                    new_weights[size] = new_weights[t]
                    if new_kids[size] != new_kids[begin]:
                        pure = False
                    size += 1
            if kind == LIKELIHOOD and pure:
                size = begin
            elif size - begin == 1:
                size = begin
                weight = new_weights[begin]
                if weight <= SETTLED and weight == math.floor(weight):
                    histogram[int(weight)] += 1
                else:
                    settled[top] = weight
                    top += 1
            else:
                new_starts[cells] = begin
                cell_of[c * arity + k] = cells
                cells += 1
    new_starts[cells] = size
    return cells, top


@njit(cache=True, nogil=True)
def score_cells(
    rows, kids, weights, starts, n_cells, codes, arity, states, counts,
    child_values, child_a, child_lg, values, a, lg,
):  # fmt: skip
    """Split every cell by ``codes`` and return its score, and the sum of min(1, weight) over observed states."""
    total = 0.0
    observed = 0.0
    n_states = np.uint64(states)
    size = np.uint64(arity) * n_states
    for c in range(n_cells):
        first = np.uint64(starts[c])
        last = np.uint64(starts[c + 1])
        if last - first == 2:
            w0 = weights[first]
            second = first + np.uint64(1)
            w1 = weights[second]
            if codes[rows[first]] != codes[rows[second]]:
                total += _value(w0, child_values, child_a, child_lg) - _value(w0, values, a, lg)
                total += _value(w1, child_values, child_a, child_lg) - _value(w1, values, a, lg)
                observed += min(1.0, w0) + min(1.0, w1)
            elif kids[first] != kids[second]:
                total += _value(w0, child_values, child_a, child_lg) + _value(w1, child_values, child_a, child_lg)
                total -= _value(w0 + w1, values, a, lg)
                observed += min(1.0, w0) + min(1.0, w1)
            else:
                total += _value(w0 + w1, child_values, child_a, child_lg) - _value(w0 + w1, values, a, lg)
                observed += min(1.0, w0 + w1)
            continue
        for k in range(size):
            counts[k] = 0
        for t in range(first, last):
            counts[np.uint64(codes[rows[t]]) * n_states + np.uint64(kids[t])] += weights[t]
        for v in range(np.uint64(arity)):
            given = counts[0] - counts[0]
            for s in range(v * n_states, (v + np.uint64(1)) * n_states):
                if counts[s] > 0:
                    given += counts[s]
                    total += _value(counts[s], child_values, child_a, child_lg)
                    observed += min(1.0, counts[s])
            if given > 0:
                total -= _value(given, values, a, lg)
    return total, observed


@njit(cache=True, nogil=True)
def _score_settled(histogram, settled, top, child_values, child_a, child_lg, values, a, lg):
    """Return the score of the settled cells, and the sum of min(1, weight)."""
    total = 0.0
    observed = 0.0
    for w in range(1, SETTLED + 1):
        if histogram[w] > 0:
            gain = _value(w, child_values, child_a, child_lg) - _value(w, values, a, lg)
            total += histogram[w] * gain
            observed += histogram[w]
    for t in range(top):
        total += _value(settled[t], child_values, child_a, child_lg) - _value(settled[t], values, a, lg)
        observed += min(1.0, settled[t])
    return total, observed


@njit(cache=True, nogil=True)
def _likeliest(counts, a):
    """Return the Dirichlet marginal likelihood of counts, with the parameter a spread evenly over the states."""
    share = a / counts.shape[0]
    total = 0.0
    given = 0.0
    for k in range(counts.shape[0]):
        if counts[k] > 0:
            total += math.lgamma(counts[k] + share) - math.lgamma(share)
            given += counts[k]
    return total + math.lgamma(a) - math.lgamma(a + given)


@njit(cache=True, nogil=True)
def _upper_bound(
    kids, weights, starts, n_cells, cell, log_states, atoms, likelihoods, modes, largest, by_likelihood, by_mode
):
    """Return the bound Σ_j min(f_j, g_j, h_j) over the cells j of a set, on the scores of all its supersets.

    ``atoms[cell == j]`` are the counts of the child in the joint states of all other variables within cell j, where
    at least two states occur; ``largest`` is the greatest parameter of a cell of a superset.
    """
    by_likelihood[:n_cells] = 0.0
    by_mode[:n_cells] = 0.0
    for t in range(atoms.shape[0]):
        c = cell[t]
        by_likelihood[c] += likelihoods[t]
        by_mode[c] = min(by_mode[c], _likeliest(atoms[t], min(largest, modes[t])) - likelihoods[t])
    total = 0.0
    for c in range(n_cells):
        observed = 0.0
        last = -1
        weight = 0.0
        for t in range(starts[c], starts[c + 1]):
            if kids[t] != last:
                observed += min(1.0, weight)
                last = kids[t]
                weight = 0.0
            weight += weights[t]
        observed += min(1.0, weight)
        total += min(-log_states * observed, by_likelihood[c] + by_mode[c])
    return total


@njit(cache=True, nogil=True)
def _rank(mask, v):
    """Return how many features below v are in a mask."""
    count = 0
    for w in range(v >> 6):
        count += popcount(mask[w])
    return count + popcount(mask[v >> 6] & ((np.uint64(1) << np.uint64(v & 63)) - np.uint64(1)))


@njit(cache=True, nogil=True)
def walk(
    kind, linear, last_size, quota, tolerance, numbers, members, place,
    rows, kids, weights, starts, n_cells, histogram, settled, tops,
    codes, arities, ranks, states, strides, before, after,
    child_parameter, parameter, penalty, next_penalty, next_parameter, ceiling, dispersion,
    table_of, child_values, all_values,
    atoms, atom_codes, likelihoods, modes, atom_cells,
    keys, slots, best, rest, first_child, children, listed, listed_scores, bounds,
):  # fmt: skip
    """Extend open sets of one size by one smaller feature each; return when about ``quota`` sets were scored, or all.

    A set is *open* while a superset of it could be in the list. It is *listed* when it scores above all its subsets.

    Parameters
    ----------
    kind, linear : int, bool
        ``DIRICHLET`` (lnΓ(a + N) - lnΓ(a) for every cell) or ``LIKELIHOOD`` (N ln N, less a penalty); whether the
        penalty is proportional to the number of parent configurations q.
    last_size : int
        Sets of this size are not extended.
    tolerance : float
        By how much a set must score above its subsets.
    numbers : (6,) int64
        Set to extend next, end of the sets to extend, open sets, listed sets, scored sets, tables in use.
    members, place : (sizes,) int64
        The set whose rows are laid out, highest feature first, and the index of its q at every depth; -1 ends it.
    rows, kids, weights, starts, n_cells, histogram, settled, tops
        Entries (a row that stands for each, its child's state, its weight), where cells start, and settled cells, at
        every depth.
    codes, arities, ranks, strides
        States of every feature in the sorted rows, how many it has, ``ranks[m]`` the distinct (child, features below
        m) numbered, and what a feature adds to the index of q.
    before, after : (features,) int64
        Feature that every admitted set with this one holds, too, and the feature of which this is said; -1 if none.
        Always ``before[v] > v``.
    child_parameter, parameter, penalty : arrays over the distinct q
        Parameter a of a cell of the child with its parents, and of the parents alone; penalty of the local score.
    next_penalty, next_parameter : arrays over the distinct q
        Least penalty, and greatest parameter a, with one parent more.
    ceiling, dispersion : float, (features, features) float64
        Log-likelihood with all features as parents; most that feature u can add to it when v is a parent (for v = u
        the class alone), both in nats.
    table_of, child_values, all_values
        Row of the tables of cell values for every q, -1 if none; the tables, to whole weights below their width.
    atoms, atom_codes, likelihoods, modes, atom_cells
        Counts of the joint states of all other variables with two or more states of the child; their states, maximum
        log-likelihood, and best parameter; their cell at every depth.
    keys, slots, best, rest, first_child, children
        Open sets: masks, hash table, best score of the set and its subsets, ``ceiling`` less the log-likelihood,
        the first of the open sets made from it, and the mask of the features added to make these.
    listed, listed_scores : arrays
        The list.
    bounds : (1,) float64
        Upper bound on the score of all supersets of the sets left open.
    """
    n_words = keys.shape[1]
    one = np.uint64(1)
    widest = arities.max()
    counts = np.zeros(widest * states, weights.dtype)
    sizes = np.zeros(widest, np.int64)
    ends = np.zeros(widest, np.int64)
    cell_of = np.empty((rows.shape[1] + 1) * widest, np.int32)
    by_likelihood = np.empty(rows.shape[1] + 1)
    by_mode = np.empty(rows.shape[1] + 1)
    log_states = math.log(states)
    key = np.zeros(n_words, np.uint64)
    allowed = np.zeros(n_words, np.uint64)
    path = np.zeros(members.shape[0], np.int64)
    subsets = np.zeros(members.shape[0], np.int64)
    gains = np.zeros(members.shape[0])
    scored = 0
    while numbers[0] < numbers[1] and scored < quota:
        current = numbers[0]
        numbers[0] += 1
        size = 0
        for w in range(n_words - 1, -1, -1):
            word = keys[current, w]
            key[w] = word
            allowed[w] = ~np.uint64(0)
            for b in range(63, -1, -1):
                if (word >> np.uint64(b)) & one:
                    path[size] = 64 * w + b
                    size += 1
        lowest = path[size - 1] if size else codes.shape[0]
        if lowest == 0:
            continue

        # What can be added: a feature that was added to every admitted subset, or needs the member left out.
        for d in range(size):
            u = path[d]
            subsets[d] = -1
            if after[u] >= 0 and (key[after[u] >> 6] >> np.uint64(after[u] & 63)) & one:
                continue
            key[u >> 6] ^= one << np.uint64(u & 63)
            subsets[d] = slots[_slot(key, keys, slots)]
            key[u >> 6] ^= one << np.uint64(u & 63)
            for w in range(n_words):
                needing = one << np.uint64(after[u] & 63) if after[u] >= 0 and after[u] >> 6 == w else np.uint64(0)
                allowed[w] &= children[subsets[d], w] | needing
        any_allowed = False
        for w in range(n_words):
            if lowest <= 64 * w:
                allowed[w] = 0
            elif lowest < 64 * w + 64:
                allowed[w] &= (one << np.uint64(lowest - 64 * w)) - one
            any_allowed |= allowed[w] != 0
        if not any_allowed:
            continue

        # Lay out the rows, keeping what the set shares with the one before.
        depth = 0
        while depth < size and members[depth] == path[depth]:
            depth += 1
        for d in range(depth, size):
            v = path[d]
            members[d] = v
            place[d + 1] = place[d] + strides[v]
            histogram[d + 1] = histogram[d]
            n_cells[d + 1], tops[d + 1] = _refine(
                kind, rows[d], kids[d], weights[d], starts[d], n_cells[d], codes[v], ranks[v], sizes[: arities[v]],
                ends, rows[d + 1], kids[d + 1], weights[d + 1], starts[d + 1], histogram[d + 1], settled, tops[d],
                cell_of,
            )  # fmt: skip
            for t in range(atoms.shape[0]):
                atom_cells[d + 1, t] = cell_of[atom_cells[d, t] * arities[v] + atom_codes[v, t]]
        members[size] = -1
        if atoms.shape[0] > 0:
            at = place[size]
            bound = _upper_bound(
                kids[size], weights[size], starts[size], n_cells[size], atom_cells[size], log_states, atoms,
                likelihoods, modes, next_parameter[at], by_likelihood, by_mode,
            )  # fmt: skip
            for w in range(1, SETTLED + 1):
                bound -= log_states * histogram[size, w]
            for t in range(tops[size]):
                bound -= log_states * min(1.0, settled[t])
            if best[current] >= bound + tolerance:
                best[current] = math.inf
                continue
        if linear:
            for d in range(size):
                gains[d] = rest[subsets[d]] if subsets[d] >= 0 else math.inf
                for e in range(size):
                    gains[d] = min(gains[d], dispersion[path[d], path[e]])

        for v in range(lowest):
            if not (allowed[v >> 6] >> np.uint64(v & 63)) & one:
                continue
            if before[v] >= 0 and not (key[before[v] >> 6] >> np.uint64(before[v] & 63)) & one:
                continue
            at = place[size] + strides[v]
            highest = best[current]
            if kind == LIKELIHOOD and ceiling - penalty[at] <= highest:
                continue
            dead = False
            gain = rest[current]
            for d in range(size):
                most = gains[d]
                if subsets[d] >= 0 and after[path[d]] != v:
                    made = first_child[subsets[d]] + _rank(children[subsets[d]], v)
                    highest = max(highest, best[made])
                    most = min(most, rest[made])
                if linear:
                    gain = min(gain, dispersion[v, path[d]])
                    most = min(most, dispersion[path[d], v])
                    if most <= penalty[at] - penalty[at - strides[path[d]]]:
                        dead = True
                        break
            if linear and min(gain, dispersion[v, v]) <= penalty[at] - penalty[place[size]]:
                dead = True
            if dead or highest == math.inf or (kind == LIKELIHOOD and ceiling - penalty[at] <= highest):
                continue
            if table_of[at] < 0 and numbers[5] < child_values.shape[0]:
                table_of[at] = numbers[5]
                tabulate(child_values[numbers[5]], child_parameter[at])
                tabulate(all_values[numbers[5]], parameter[at])
                numbers[5] += 1
            table = table_of[at]
            width = child_values.shape[1] if table >= 0 else 0
            child_a = child_parameter[at]
            a = parameter[at]
            child_lg = math.lgamma(child_a) if child_a < math.inf else 0.0
            lg = math.lgamma(a) if a < math.inf else 0.0
            total, observed = score_cells(
                rows[size], kids[size], weights[size], starts[size], n_cells[size], codes[v], arities[v], states,
                counts, child_values[table, :width], child_a, child_lg, all_values[table, :width], a, lg,
            )  # fmt: skip
            if kind == DIRICHLET:
                more, more_observed = _score_settled(
                    histogram[size], settled, tops[size],
                    child_values[table, :width], child_a, child_lg, all_values[table, :width], a, lg,
                )  # fmt: skip
                total += more
                observed += more_observed
            scored += 1
            score = total - penalty[at]
            key[v >> 6] |= one << np.uint64(v & 63)
            if score > highest + tolerance:
                for w in range(n_words):
                    listed[numbers[3], w] = key[w]
                listed_scores[numbers[3]] = score
                numbers[3] += 1
                highest = score
            bound = -log_states * observed if kind == DIRICHLET else ceiling - next_penalty[at]
            remains = ceiling - total
            if (
                size + 1 < last_size
                and highest < bound
                and not (linear and remains <= next_penalty[at] - penalty[at])
            ):
                made = numbers[2]
                slots[_slot(key, keys, slots)] = made
                for w in range(n_words):
                    keys[made, w] = key[w]
                    children[made, w] = 0
                best[made] = highest
                rest[made] = remains
                if children[current].max() == 0:
                    first_child[current] = made
                children[current, v >> 6] |= one << np.uint64(v & 63)
                bounds[0] = max(bounds[0], bound)
                numbers[2] += 1
            key[v >> 6] ^= one << np.uint64(v & 63)
    numbers[4] += scored
    return numbers[0] == numbers[1]
