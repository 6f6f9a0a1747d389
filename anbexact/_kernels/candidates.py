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
COUNTS = 4096
"""Counts that are kept while features are scored together (half of a processor's nearest cache)."""
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
def number_rows(keys, order):
    """Number the distinct rows by their place in the order that sorts them."""
    numbers = np.zeros(keys.shape[1], np.int64)
    last = 0
    for t in range(1, keys.shape[1]):
        for k in range(keys.shape[0]):
            if keys[k, order[t]] != keys[k, order[t - 1]]:
                last += 1
                break
        numbers[order[t]] = last
    return numbers


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
def fill_following(parent, last, before, began, own):
    """Complete ``own``, which holds the sets with one parent more of the last kind or a later one.

    ``parent`` is the set without one of its last kind, ``before`` what follows these, from ``began`` on.
    """
    for s in range(own.shape[0]):
        for kind in range(last[s]):
            way = before[parent[s], kind]
            if way >= 0:
                own[s, kind] = own[way - began, last[s]]


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
def _value(weight, values, table, width, a, log_gamma_a):
    """Return the value of a cell: from a row of the tables where it reaches, else computed."""
    at = np.uint64(weight)
    if at == weight and at < width:
        return values[table, at]
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
    kind, rows, kids, weights, starts, n_cells, codes, ranks, counts, ends, merged_rows, merged_kids, merged_weights,
    new_rows, new_kids, new_weights, new_starts, histogram, settled, top, cell_of,
):  # fmt: skip
    """Merge entries of equal rank and split every cell by ``codes``; return the cells left and the settled listed.

    ``ranks`` are those of the features up to the one that splits: as entries are in the order of the rows, those to
    be merged are neighbours. ``cell_of[c * arity + k]`` receives the new cell of the rows of cell c with state k.
    """
    one = np.uint64(1)
    arity = counts.shape[0]
    cells = 0
    size = 0
    for c in range(n_cells):
        rank = np.int32(-1)
        weight = weights[0]
        merged = np.uint64(0)
        for t in range(np.uint64(starts[c]), np.uint64(starts[c + 1])):
            row = rows[t]
            differs = ranks[row] != rank
            rank = ranks[row]
            merged += np.uint64(differs)
            weight = weights[t] if differs else weight + weights[t]
            merged_rows[merged - one] = row
            merged_kids[merged - one] = kids[t]
            merged_weights[merged - one] = weight
        counts[:] = 0
        for t in range(merged):
            counts[codes[merged_rows[t]]] += 1
        end = size
        for k in range(arity):
            ends[k] = end
            end += counts[k]
        for t in range(merged):
            k = codes[merged_rows[t]]
            to = np.uint64(ends[k])
            new_rows[to] = merged_rows[t]
            new_kids[to] = merged_kids[t]
            new_weights[to] = merged_weights[t]
            ends[k] += 1
        for k in range(arity):
            if counts[k] == 0:
                continue
            low = ends[k] - counts[k]
            if kind == LIKELIHOOD and new_kids[low] == new_kids[ends[k] - 1]:
                continue
            if counts[k] == 1:
                weight = new_weights[low]
                if weight <= SETTLED and weight == math.floor(weight):
                    histogram[int(weight)] += 1
                else:
                    settled[top] = weight
                    top += 1
                continue
            new_starts[cells] = size
            cell_of[c * arity + k] = cells
            cells += 1
            if low > size:
                for t in range(np.uint64(low), np.uint64(ends[k])):
                    to = t - np.uint64(low - size)
                    new_rows[to] = new_rows[t]
                    new_kids[to] = new_kids[t]
                    new_weights[to] = new_weights[t]
            size += counts[k]
    new_starts[cells] = size
    return cells, top


@njit(cache=True, nogil=True)
def score_cells(
    kind, rows, kids, weights, starts, n_cells, codes, added, arities, states, counts,
    tables_of, child_values, child_parameters, all_values, parameters, totals, observed,
):  # fmt: skip
    """Split every cell by each of the features ``added``, and set what they score.

    For ``DIRICHLET`` the sums of min(1, weight) over the observed states are set, too. ``codes`` are by row.
    ``counts``, for the states of these features and of the child, are zero before and after.
    """
    one = np.uint64(1)
    n_states = np.uint64(states)
    n_added = np.uint64(added.shape[0])
    totals[:] = 0.0
    observed[:] = 0.0
    columns, n_codes, first_count, tables, widths = np.zeros((5, n_added), np.uint64)
    child_lgs, lgs = np.zeros((2, n_added))
    n_counts = np.uint64(0)
    for j in range(n_added):
        columns[j] = added[j]
        n_codes[j] = arities[added[j]]
        first_count[j] = n_counts
        n_counts += n_codes[j] * n_states
        widths[j] = child_values.shape[1] if tables_of[j] >= 0 else 0
        tables[j] = max(tables_of[j], 0)
        child_lgs[j] = math.lgamma(child_parameters[j]) if child_parameters[j] < math.inf else 0.0
        lgs[j] = math.lgamma(parameters[j]) if parameters[j] < math.inf else 0.0
    for c in range(n_cells):
        first = np.uint64(starts[c])
        last = np.uint64(starts[c + 1])
        for t in range(first, last):
            row = np.uint64(rows[t])
            kid = np.uint64(kids[t])
            weight = weights[t]
            for j in range(n_added):
                counts[first_count[j] + np.uint64(codes[row, columns[j]]) * n_states + kid] += weight
        at = np.uint64(0)
        for j in range(n_added):
            table = tables[j]
            width = widths[j]
            total = 0.0
            seen = 0.0
            for _ in range(n_codes[j]):
                given = counts[0] - counts[0]
                part = 0.0
                for _ in range(n_states):
                    weight = counts[at]
                    counts[at] = 0
                    at += one
                    given += weight
                    part += _value(weight, child_values, table, width, child_parameters[j], child_lgs[j])
                    if kind == DIRICHLET:
                        seen += min(1.0, weight)
                total += part - _value(given, all_values, table, width, parameters[j], lgs[j])
            totals[j] += total
            observed[j] += seen


@njit(cache=True, nogil=True)
def _score_settled(histogram, settled, top, child_values, all_values, table, child_a, a):
    """Return the score of the settled cells, and the sum of min(1, weight)."""
    width = np.uint64(child_values.shape[1] if table >= 0 else 0)
    child_lg = math.lgamma(child_a)
    lg = math.lgamma(a)
    total = 0.0
    observed = 0.0
    for w in range(1, SETTLED + 1):
        if histogram[w] > 0:
            gain = _value(w, child_values, table, width, child_a, child_lg) - _value(
                w, all_values, table, width, a, lg
            )
            total += histogram[w] * gain
            observed += histogram[w]
    for t in range(top):
        weight = settled[t]
        total += _value(weight, child_values, table, width, child_a, child_lg)
        total -= _value(weight, all_values, table, width, a, lg)
        observed += min(1.0, settled[t])
    return total, observed


@njit(cache=True, nogil=True)
def _likeliest(counts, a):
    """Return the Dirichlet marginal likelihood of counts, with the parameter a spread evenly over the states."""
    share = a / counts.shape[0]
    lg = math.lgamma(share)
    total = 0.0
    given = 0.0
    for k in range(counts.shape[0]):
        if counts[k] > 0:
            total += cell_value(counts[k], share, lg)
            given += counts[k]
    return total - cell_value(given, a, math.lgamma(a))


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
    kind, linear, last_size, quota, tolerance, numbers, members,
    rows, kids, weights, starts, n_cells, histogram, settled, tops,
    codes, row_codes, arities, ranks, states, following, alike, before, after,
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
    members : (sizes,) int64
        The set whose rows are laid out, highest feature first; -1 ends it.
    rows, kids, weights, starts, n_cells, histogram, settled, tops
        Entries (a row that stands for each, its child's state, its weight), where cells start, and settled cells, at
        every depth.
    codes, row_codes, arities, ranks
        States of every feature in the sorted rows, by feature and by row, how many it has, ``ranks[m]`` the distinct
        (child, features below m) numbered.
    following, alike
        ``following[at, alike[v]]`` is the index of q with feature v joined.
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
    counts = np.zeros(max(widest * states, COUNTS), weights.dtype)
    merged_rows = np.empty(rows.shape[1], rows.dtype)
    merged_kids = np.empty(rows.shape[1], kids.dtype)
    merged_weights = np.empty(rows.shape[1], weights.dtype)
    added, places, tables = np.zeros((3, arities.shape[0]), np.int64)
    highs, child_parameters, parameters, totals, observed = np.zeros((5, arities.shape[0]))
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

        # What of it can be of use, by all that is known of subsets.
        here = 0
        for d in range(size):
            here = following[here, alike[path[d]]]
        if linear:
            for d in range(size):
                gains[d] = rest[subsets[d]] if subsets[d] >= 0 else math.inf
                for e in range(size):
                    gains[d] = min(gains[d], dispersion[path[d], path[e]])
        n_added = 0
        for v in range(lowest):
            if not (allowed[v >> 6] >> np.uint64(v & 63)) & one:
                continue
            if before[v] >= 0 and not (key[before[v] >> 6] >> np.uint64(before[v] & 63)) & one:
                continue
            at = following[here, alike[v]]
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
                    if most <= penalty[at] - penalty[at] / arities[path[d]]:
                        dead = True
                        break
            if linear and min(gain, dispersion[v, v]) <= penalty[at] - penalty[here]:
                dead = True
            if dead or highest == math.inf or (kind == LIKELIHOOD and ceiling - penalty[at] <= highest):
                continue
            added[n_added] = v
            places[n_added] = at
            highs[n_added] = highest
            n_added += 1
        if n_added == 0 and atoms.shape[0] == 0:
            continue

        # Lay out the rows, keeping what the set shares with the one before.
        depth = 0
        while depth < size and members[depth] == path[depth]:
            depth += 1
        for d in range(depth, size):
            v = path[d]
            members[d] = v
            histogram[d + 1] = histogram[d]
            n_cells[d + 1], tops[d + 1] = _refine(
                kind, rows[d], kids[d], weights[d], starts[d], n_cells[d], codes[v], ranks[v + 1],
                sizes[: arities[v]], ends, merged_rows, merged_kids, merged_weights, rows[d + 1], kids[d + 1],
                weights[d + 1], starts[d + 1], histogram[d + 1], settled, tops[d], cell_of,
            )  # fmt: skip
            for t in range(atoms.shape[0]):
                atom_cells[d + 1, t] = cell_of[atom_cells[d, t] * arities[v] + atom_codes[v, t]]
        members[size] = -1
        if atoms.shape[0] > 0:
            bound = _upper_bound(
                kids[size], weights[size], starts[size], n_cells[size], atom_cells[size], log_states, atoms,
                likelihoods, modes, next_parameter[here], by_likelihood, by_mode,
            )  # fmt: skip
            for w in range(1, SETTLED + 1):
                bound -= log_states * histogram[size, w]
            for t in range(tops[size]):
                bound -= log_states * min(1.0, settled[t])
            if best[current] >= bound + tolerance:
                best[current] = math.inf
                continue

        for j in range(n_added):
            at = places[j]
            if table_of[at] < 0 and numbers[5] < child_values.shape[0]:
                table_of[at] = numbers[5]
                tabulate(child_values[numbers[5]], child_parameter[at])
                tabulate(all_values[numbers[5]], parameter[at])
                numbers[5] += 1
            tables[j] = table_of[at]
            child_parameters[j] = child_parameter[at]
            parameters[j] = parameter[at]
        begin = 0
        while begin < n_added:
            end = begin
            room = counts.shape[0]
            while end < n_added and arities[added[end]] * states <= room:
                room -= arities[added[end]] * states
                end += 1
            score_cells(
                kind, rows[size], kids[size], weights[size], starts[size], n_cells[size], row_codes, added[begin:end],
                arities, states, counts, tables[begin:end], child_values, child_parameters[begin:end], all_values,
                parameters[begin:end], totals[begin:end], observed[begin:end],
            )  # fmt: skip
            begin = end
        for j in range(n_added):
            v = added[j]
            at = places[j]
            highest = highs[j]
            if kind == DIRICHLET:
                more, more_observed = _score_settled(
                    histogram[size], settled, tops[size], child_values, all_values, tables[j], child_parameter[at],
                    parameter[at],
                )  # fmt: skip
                totals[j] += more
                observed[j] += more_observed
            total = totals[j]
            scored += 1
            score = total - penalty[at]
            key[v >> 6] |= one << np.uint64(v & 63)
            if score > highest + tolerance:
                for w in range(n_words):
                    listed[numbers[3], w] = key[w]
                listed_scores[numbers[3]] = score
                numbers[3] += 1
                highest = score
            bound = -log_states * observed[j] if kind == DIRICHLET else ceiling - next_penalty[at]
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
