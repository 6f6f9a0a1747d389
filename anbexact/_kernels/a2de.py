"""Triple counts, and the class posterior of the averaged two-dependence estimators that they make.

The triples of features i > j > k are numbered i(i-1)(i-2)/6 + j(j-1)/2 + k. What belongs to the states g, h and l of
a triple and the class c lies at ``bases[triple] + ((g r_j + h) r_k + l) s + c``, with s classes. Pairs of features
lie as in :mod:`anbexact._kernels.aode`.
"""

import numpy as np

from anbexact._kernels.aode import add_log_sums
from anbexact._kernels.jit import inner, kernel
from anbexact._kernels.posterior import normalise_rows

MOST_TERMS = 4096
"""Number of terms of a sum that are held at once, unless the observed pairs need more."""


@inner
def _triple(i, j, k):
    """Return the number of the triple i > j > k."""
    return i * (i - 1) * (i - 2) // 6 + j * (j - 1) // 2 + k


@kernel
def add_triples(codes, labels, weights, arities, bases, n_classes, i, counts):
    """Add the weights of a table's rows to the triples whose last feature is i.

    Parameters
    ----------
    codes : (features, table rows) int16, contiguous
        States.
    labels : (table rows,) int16, contiguous
        Classes.
    weights : (table rows,) float64
        Weights.
    arities : (features,) int64
        Numbers of states.
    bases : (triples,) int64
        See the module.
    counts : float64
        Receives the sums, in the layout of the module.
    """
    heads = np.empty(weights.shape[0], np.int64)
    for j in range(i):
        for t in range(weights.shape[0]):
            heads[t] = codes[i, t] * arities[j] + codes[j, t]
        for k in range(j):
            base = bases[_triple(i, j, k)]
            for t in range(weights.shape[0]):
                counts[base + (heads[t] * arities[k] + codes[k, t]) * n_classes + labels[t]] += weights[t]


@inner
def _place(i, g, j, h, k, m, arities, bases, n_classes):
    """Return where the numbers of the states g, h and m of features i > j and another feature k begin."""
    if k < j:
        return bases[_triple(i, j, k)] + ((g * arities[j] + h) * arities[k] + m) * n_classes
    if k < i:
        return bases[_triple(i, k, j)] + ((g * arities[k] + m) * arities[j] + h) * n_classes
    return bases[_triple(k, i, j)] + ((m * arities[i] + g) * arities[j] + h) * n_classes


@inner
def _observed_pairs(states, observed, offsets, rows, arities, bases, pair_logs, triple_logs, terms, n_classes):
    """Write the terms of all pairs of observed parents; return how many."""
    m = observed.shape[0]
    n_terms = m * (m - 1) // 2
    for p in range(n_terms * n_classes):
        terms[p] = 0.0
    for a in range(m):
        i = observed[a]
        for b in range(a):
            j = observed[b]
            of_ab = (a * (a - 1) // 2 + b) * n_classes
            head = states[a] * arities[j] + states[b]
            for d in range(b):
                k = observed[d]
                of_ad = (a * (a - 1) // 2 + d) * n_classes
                of_bd = (b * (b - 1) // 2 + d) * n_classes
                place = bases[_triple(i, j, k)] + (head * arities[k] + states[d]) * n_classes
                for c in range(n_classes):
                    value = triple_logs[place + c]
                    terms[of_ab + c] += value
                    terms[of_ad + c] += value
                    terms[of_bd + c] += value
            place = rows[offsets[i] + states[a]] + (1 + offsets[j] + states[b]) * n_classes
            for c in range(n_classes):
                terms[of_ab + c] += (3 - m) * pair_logs[place + c]
    return n_terms


@kernel
def two_dependence_rows(
    codes, offsets, rows, arities, bases, pair_logs, triple_logs, form, start, stop, out
):  # fmt: skip
    """Compute the class posterior of the mixture for the rows ``start .. stop-1``; missing cells are summed out.

    With parents in the states g and h, an estimator contributes P(c, g, h) Π_k P(c, g, h, x_k) / P(c, g, h), k the
    other observed features; where a parent is missing, the sum of that over its states.

    Parameters
    ----------
    codes : (features, rows) int16
        States; a negative code is a cell to be summed out. There are three features or more.
    offsets, rows
        As in :mod:`anbexact._kernels.aode`.
    arities, bases
        As in :func:`add_triples`.
    pair_logs, triple_logs : float64
        ln of the smoothed weights of pairs and triples with every class.
    form : int
        JOINT (here up to a constant), PROBABILITY or LOG_PROBABILITY.
    out : (rows, classes) float64
        Receives the result.
    """
    features = codes.shape[0]
    n_classes = out.shape[1]
    most = max(features * (features - 1) // 2, MOST_TERMS) + 1
    terms = np.empty(most * n_classes)
    powers = np.empty(most * n_classes, np.int64)
    total = np.empty(n_classes)
    observed = np.empty(features, np.int64)
    states = np.empty(features, np.int64)
    for t in range(start, stop):
        m = 0
        for i in range(features):
            if codes[i, t] >= 0:
                observed[m] = i
                states[m] = codes[i, t]
                m += 1
        n_terms = _observed_pairs(
            states, observed[:m], offsets, rows, arities, bases, pair_logs, triple_logs, terms, n_classes
        )
        if m < features:
            for i in range(features):
                for j in range(i):
                    if codes[i, t] >= 0 and codes[j, t] >= 0:
                        continue
                    first_g, end_g = _range(codes[i, t], arities[i])
                    first_h, end_h = _range(codes[j, t], arities[j])
                    others = m - (codes[i, t] >= 0) - (codes[j, t] >= 0)
                    for g in range(first_g, end_g):
                        for h in range(first_h, end_h):
                            if n_terms == most:
                                for c in range(n_classes):
                                    out[t, c] = 0.0
                                add_log_sums(terms, powers, total, out[t])
                                for c in range(n_classes):
                                    terms[c] = out[t, c]
                                n_terms = 1
                            own = terms[n_terms * n_classes : (n_terms + 1) * n_classes]
                            place = rows[offsets[i] + g] + (1 + offsets[j] + h) * n_classes
                            for c in range(n_classes):
                                own[c] = (1 - others) * pair_logs[place + c]
                            for a in range(m):
                                k = observed[a]
                                if k != i and k != j:
                                    place = _place(i, g, j, h, k, states[a], arities, bases, n_classes)
                                    for c in range(n_classes):
                                        own[c] += triple_logs[place + c]
                            n_terms += 1
        for c in range(n_classes):
            out[t, c] = 0.0
        add_log_sums(terms[: n_terms * n_classes], powers, total, out[t])
        normalise_rows(out[t : t + 1], form, terms, powers)


@inner
def _range(code, arity):
    """Return the first state that is summed over, and the end: of all states where the cell is missing."""
    return (code, code + 1) if code >= 0 else (0, arity)
