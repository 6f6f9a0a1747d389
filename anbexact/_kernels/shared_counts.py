"""Counts of all sets of features, of a table and of parts of it at the same time, and the best networks under them.

A depth-first walk adds one feature after the other. At a set, rows of one *cell* agree on the class and on the
members of the set; adding a feature splits every cell by its state. A cell of a single row can never change again:
it is *settled*, leaves the walk, and is kept in a histogram. A set without other cells has the same weights of cells
as all sets below it, which are not counted. What is stored of a set are the distinct weights of its cells,
ascending, and how many cells have each of them; from these follow scores for any prior.

Bit b of a set stands for feature b. Indices in the inner loops are unsigned: numba then leaves out the test for
negative ones.
"""

import numpy as np

from anbexact._kernels.jit import inner, kernel
from anbexact._kernels.lattice import best_sinks, popcount, subset_maximum


@inner
def _equal(one, other):
    """Whether two arrays of the same length have the same entries."""
    k = 0
    while k < len(one) and one[k] == other[k]:
        k += 1
    return k == len(one)


@kernel
def places_of(codes, part):
    """Return, for every row of ``part``, its place among the rows ``codes``, which has them in the same order.

    The first entry is -1 if this is not so.
    """
    places = np.full(len(part), -1, dtype=np.int64)
    t = 0
    for i in range(len(part)):
        while t < len(codes) and not _equal(codes[t], part[i]):
            t += 1
        if t == len(codes):
            places[:1] = -1
            return places
        places[i] = t
        t += 1
    return places


@inner
def _longer(array):
    """Return an array of twice the length with the same beginning."""
    found = np.empty(2 * len(array), dtype=array.dtype)
    found[: len(array)] = array
    return found


@inner
def _split(above, above_starts, n_above, by, arity, held, sizes, counts, places, own, own_starts, settled):
    """Split every cell above by a feature, given its state in every entry; return how many cells are left."""
    found, size = np.uint64(0), np.uint64(0)
    for c in range(np.uint64(n_above)):
        first, last = np.uint64(above_starts[c]), np.uint64(above_starts[c + np.uint64(1)])
        if last - first == 2:
            one, other = above[first], above[first + np.uint64(1)]
            if by[one] == by[other]:
                own_starts[found] = size
                own[size], own[size + np.uint64(1)] = one, other
                found += np.uint64(1)
                size += np.uint64(2)
            else:
                settled[held[one], sizes[one]] += 1
                settled[held[other], sizes[other]] += 1
            continue
        for k in range(np.uint64(arity)):
            counts[k] = 0
        for t in range(first, last):
            counts[by[above[t]]] += np.uint64(1)
        for k in range(np.uint64(arity)):
            if counts[k] > 1:
                own_starts[found] = size
                places[k] = size
                size += counts[k]
                found += np.uint64(1)
        for t in range(first, last):
            entry = above[t]
            k = by[entry]
            if counts[k] > 1:
                own[places[k]] = entry
                places[k] += np.uint64(1)
            else:
                settled[held[entry], sizes[entry]] += 1
    own_starts[found] = size
    return np.int64(found)


@inner
def _add_pair(one, other, held, sizes, histogram):
    """Add a cell of two entries to the histograms, and return its weight; see :func:`_add_cells`."""
    out, size = np.uint64(held[one]), np.uint64(sizes[one])
    other_out, other_size = np.uint64(held[other]), np.uint64(sizes[other])
    total = size + other_size
    histogram[0, total] += 1
    histogram[out + np.uint64(1), total] -= 1
    if out == other_out:
        histogram[out + np.uint64(1), 0] += 1
    else:
        histogram[out + np.uint64(1), other_size] += 1
        histogram[other_out + np.uint64(1), total] -= 1
        histogram[other_out + np.uint64(1), size] += 1
    return total


@inner
def _add_cells(own, starts, n_cells, held, sizes, totals, histogram, heaviest):
    """Add cells to the histograms of all parts, and return the highest weight that these contain.

    Row 0 of ``histogram`` is that of all rows. Row 1 + f holds by how much that of the part without fold f differs
    from it: where the fold holds out none of a cell's entries, the cell has the same weight. The last row takes what
    no fold holds out, and is not used.
    """
    n_folds, highest = np.uint64(len(totals) - 1), np.uint64(heaviest)
    for c in range(np.uint64(n_cells)):
        first, last = np.uint64(starts[c]), np.uint64(starts[c + np.uint64(1)])
        if last - first == 2:
            highest = max(highest, _add_pair(own[first], own[first + np.uint64(1)], held, sizes, histogram))
            continue
        total = np.uint64(0)
        for f in range(n_folds + np.uint64(1)):
            totals[f] = 0
        for t in range(first, last):
            entry = own[t]
            size = np.uint64(sizes[entry])
            totals[held[entry]] += size
            total += size
        histogram[0, total] += 1
        highest = max(highest, total)
        for f in range(n_folds):
            histogram[f + np.uint64(1), total] -= 1
            histogram[f + np.uint64(1), total - totals[f]] += 1
    return np.int64(highest)


@inner
def _add_single(entry, held, sizes, histogram):
    """Add a cell of one entry to the histograms; see :func:`_add_cells`."""
    out, size = np.uint64(held[entry]), np.uint64(sizes[entry])
    histogram[0, size] += 1
    histogram[out + np.uint64(1), size] -= 1


@inner
def _add_split(above, starts, n_above, by, arity, held, sizes, weights, histogram, heaviest):
    """Add the cells into which a feature splits those above, without the entries in them; see :func:`_add_cells`.

    ``weights`` has room for every state of the feature in every fold, and in none.
    """
    width = np.uint64(len(histogram) - 1)
    n_folds, n_weights, highest = width - np.uint64(1), np.uint64(arity) * width, np.uint64(heaviest)
    for c in range(np.uint64(n_above)):
        first, last = np.uint64(starts[c]), np.uint64(starts[c + np.uint64(1)])
        if last - first == 2:
            one, other = above[first], above[first + np.uint64(1)]
            if by[one] == by[other]:
                highest = max(highest, _add_pair(one, other, held, sizes, histogram))
            else:
                _add_single(one, held, sizes, histogram)
                _add_single(other, held, sizes, histogram)
            continue
        for k in range(n_weights):
            weights[k] = 0
        for t in range(first, last):
            entry = above[t]
            weights[by[entry] * width + held[entry]] += np.uint64(sizes[entry])
        for k in range(np.uint64(0), n_weights, width):
            total = np.uint64(0)
            for f in range(width):
                total += weights[k + f]
            if total == 0:
                continue
            histogram[0, total] += 1
            highest = max(highest, total)
            for f in range(n_folds):
                histogram[f + np.uint64(1), total] -= 1
                histogram[f + np.uint64(1), total - weights[k + f]] += 1
    return np.int64(highest)


@kernel
def count_sets(codes, class_codes, held, sizes, n_folds, arities, n_classes, order):
    """Return the weights of the cells of every set of features, each with the class, in all rows and in their parts.

    Part 0 has all rows, part k the rows of all folds but fold k - 1. The weight of a row is divided into *entries*,
    one for every fold that holds some of it out.

    Parameters
    ----------
    codes : (n, entries) uint16
        States of the features.
    class_codes : (entries,) uint16
    held : (entries,) uint16
        The fold that holds the entry out, or ``n_folds`` if none does.
    sizes : (entries,) uint32
        The weight of the entry, a whole number above 0.
    n_folds : int
    arities : (n,) int64
    n_classes : int
    order : (n,) int64
        The order in which the walk adds features; those that separate most rows should come first.

    Returns
    -------
    ends : (2**n, parts, 2) int64
        Where the pairs of a set begin and end. Sets may share pairs.
    cells, times : (pairs,) int32
        A weight above 0, ascending, and how many cells have it.
    """
    n, n_rows = codes.shape
    parts = n_folds + 1
    heaviest = np.int64(sizes.max()) if n_rows else 0
    ends = np.zeros((1 << n, parts, 2), dtype=np.int64)
    cells = np.empty(1 << (n + 5), dtype=np.int32)
    times = np.empty(1 << (n + 5), dtype=np.int32)
    filled = 0
    most = n_classes
    for arity in arities:
        most = max(most, arity)
    counts, places = np.zeros(most, dtype=np.uint64), np.zeros(most, dtype=np.uint64)
    rows = np.empty((n + 1, n_rows), dtype=np.uint32)
    starts = np.zeros((n + 1, n_rows + 1), dtype=np.uint32)
    n_cells = np.zeros(n + 1, dtype=np.int64)
    settled = np.zeros((n + 1, n_folds + 1, heaviest + 1), dtype=np.int32)
    totals, weights = np.zeros(parts, dtype=np.uint64), np.zeros(most * parts, dtype=np.uint64)
    histogram = np.zeros((parts + 1, np.int64(sizes.sum()) + 1), dtype=np.int32)
    sets = np.zeros(n + 1, dtype=np.int64)
    added = np.full(n + 2, -1, dtype=np.int64)  # the place in `order` of the feature added at a depth
    everything = np.arange(n_rows).astype(np.uint32)  # one cell, which the class splits
    its_ends = np.array([0, n_rows]).astype(np.uint32)
    depth = 0
    descend = True
    while depth >= 0:
        if descend:
            feature = order[added[depth]] if depth else 0
            n_above = n_cells[depth - 1] if depth else 1
            if depth:
                sets[depth] = sets[depth - 1] | (1 << feature)
            last = depth > 0 and added[depth] == n - 1  # no set below needs the cells of this one
            if n_above == 0:
                for p in range(parts):
                    ends[sets[depth], p, 0] = ends[sets[depth - 1], p, 0]
                    ends[sets[depth], p, 1] = ends[sets[depth - 1], p, 1]
                n_cells[depth] = 0
            elif depth == 0:
                n_cells[0] = _split(
                    everything, its_ends, 1, class_codes, n_classes, held, sizes, counts, places, rows[0], starts[0],
                    settled[0],
                )  # fmt: skip
            elif not last:
                for f in range(n_folds + 1):
                    for w in range(heaviest + 1):
                        settled[depth, f, w] = settled[depth - 1, f, w]
                n_cells[depth] = _split(
                    rows[depth - 1], starts[depth - 1], n_above, codes[feature], arities[feature], held, sizes,
                    counts, places, rows[depth], starts[depth], settled[depth],
                )  # fmt: skip
            if n_above:
                single = settled[depth - 1 if last else depth]
                for w in range(heaviest + 1):
                    total = 0
                    for f in range(n_folds + 1):
                        total += single[f, w]
                    histogram[0, w] = total
                    for f in range(n_folds):
                        histogram[f + 1, w] = -single[f, w]
                if last:
                    end = _add_split(
                        rows[depth - 1], starts[depth - 1], n_above, codes[feature], arities[feature], held, sizes,
                        weights, histogram, heaviest,
                    )  # fmt: skip
                else:
                    end = _add_cells(
                        rows[depth], starts[depth], n_cells[depth], held, sizes, totals, histogram, heaviest
                    )
                while filled + parts * end > len(cells):
                    cells, times = _longer(cells), _longer(times)
                for p in range(parts):
                    ends[sets[depth], p, 0] = filled
                    for w in range(1, end + 1):
                        found = histogram[0, w]
                        if p > 0:
                            found += histogram[p, w]
                            histogram[p, w] = 0
                        if found:
                            cells[filled], times[filled] = w, found
                            filled += 1
                    ends[sets[depth], p, 1] = filled
                    histogram[p, 0] = 0
                histogram[0, : end + 1] = 0
                histogram[parts, : end + 1] = 0
            added[depth + 1] = added[depth]
        # Add the next feature below, or go up.
        added[depth + 1] += 1
        descend = added[depth + 1] < n
        depth += 1 if descend else -1
    return ends, cells[:filled].copy(), times[:filled].copy()


@kernel
def score_sets(ends, cells, times, values, rows):
    """Return the score of every set in one part, in nats: the values of its cells, added up by ascending weight.

    Parameters
    ----------
    ends : (sets, 2) int64
        Where the entries of every set begin and end.
    cells, times
        See :func:`count_sets`.
    values : (distinct parameters, weights) float64
        The value of a cell of some weight.
    rows : (sets,) int64
        The row of ``values`` for a set.
    """
    scores = np.empty(len(ends))
    for s in range(len(ends)):
        total = 0.0
        for e in range(ends[s, 0], ends[s, 1]):
            total += times[e] * values[rows[s], cells[e]]
        scores[s] = total
    return scores


@inner
def _without(members, child):
    """Return a set without the bit of the child, which is not in it, as a number."""
    low = members & ((1 << child) - 1)
    return low | ((members >> (child + 1)) << child)


@inner
def _first_parents(scores, child, candidates, threshold, max_parents):
    """Return the first subset of the candidates by the tie rule whose local score reaches a threshold; else -1."""
    bit = 1 << child
    found, found_size = -1, max_parents
    subset = 0
    while True:
        size = popcount(subset)
        if size <= found_size and scores[subset | bit] - scores[subset] >= threshold:
            differ = subset ^ found
            if found < 0 or size < found_size or subset & differ & -differ:
                found, found_size = subset, size
        subset = (subset - candidates) & candidates
        if subset == 0:
            return found


@kernel
def best_network(scores, n, max_parents, tolerance):
    """Return the parents of every feature in the best network, as masks, and the network's score.

    Ties are broken as in :func:`learn_anb`; the score is the sum of the local scores of the features, in nats.

    Parameters
    ----------
    scores : (2**n,) float64
        Set scores, in nats.
    n, max_parents : int
    tolerance : float
        Difference, in nats, of local scores that count as equal.
    """
    half = max(1, (1 << n) >> 1)
    best = np.empty((n, half))
    for b in range(n):
        bit = 1 << b
        for upper in range(0, half, bit):
            without = scores[upper << 1 : (upper << 1) + bit]
            within = scores[(upper << 1) + bit : (upper << 1) + 2 * bit]
            here = best[b, upper : upper + bit]
            for w in range(bit):
                here[w] = within[w] - without[w]
            if max_parents < n - 1:
                for w in range(bit):
                    if popcount((upper << 1) | w) > max_parents:
                        here[w] = -np.inf
        subset_maximum(best[b])
    totals = np.full(1 << n, -np.inf)
    totals[0] = 0.0
    best_sinks(totals, best.reshape(n * half), half)
    parents = np.zeros(n, dtype=np.int64)
    members = (1 << n) - 1
    while members:
        sink, chosen, fewest = -1, -1, n + 1
        for b in range(n - 1, -1, -1):  # among equal parents, the later feature is preferred
            if not members >> b & 1:
                continue
            rest = members ^ (1 << b)
            threshold = totals[members] - totals[rest] - tolerance
            if best[b, _without(rest, b)] < threshold:
                continue
            mask = _first_parents(scores, b, rest, threshold, min(max_parents, fewest))
            if mask < 0:
                continue
            size = popcount(mask)
            differ = mask ^ chosen
            if size < fewest or (size == fewest and mask & differ & -differ):
                sink, chosen, fewest = b, mask, size
        parents[sink] = chosen
        members ^= 1 << sink
    return parents, totals[-1]
