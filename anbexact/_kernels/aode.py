"""Pair counts, and the class posterior of the averaged one-dependence estimators that they make.

The states of all features are numbered consecutively; those of feature i are ``offsets[i] .. offsets[i + 1] - 1``.
What belongs to a pair of states and a class lies in one array. It begins with a number for every class; then comes a
row for every state. That of state g of feature i starts at ``rows[g]`` and has ``1 + offsets[i]`` cells, each of as
many numbers as there are classes: cell 0 for the state alone, cell ``1 + h`` for it together with state h of an
earlier feature.
"""

import math

import numpy as np

from anbexact._kernels.jit import inner, kernel
from anbexact._kernels.posterior import exponentials, normalise_rows


@kernel
def add_pairs(codes, labels, weights, offsets, rows, n_classes, i, counts):
    """Add the weights of a table's rows to the states of feature i.

    Parameters
    ----------
    codes : (features, table rows) int16, contiguous
        States.
    labels : (table rows,) int16, contiguous
        Classes.
    weights : (table rows,) float64
        Weights.
    offsets, rows : (features + 1,) int64, (states,) int64
        See the module.
    counts : float64
        Receives the sums, in the layout of the module.
    """
    heads = np.empty(weights.shape[0], np.int64)
    for t in range(weights.shape[0]):
        heads[t] = rows[offsets[i] + codes[i, t]] + labels[t]
        counts[heads[t]] += weights[t]
    for j in range(i):
        of_other = codes[j]
        first = 1 + offsets[j]
        for t in range(weights.shape[0]):
            counts[heads[t] + (first + of_other[t]) * n_classes] += weights[t]


@kernel
def pair_logs(counts, offsets, rows, class_logs, alone, ess, i, logs):
    """Write the logs for the states g of feature i: ln P(g | c), and ln [P(g, h | c) / (P(g | c) P(h | c))].

    Parameters
    ----------
    counts : float64
        Weighted counts, in the layout of the module.
    offsets, rows
        As in :func:`add_pairs`.
    class_logs : (classes,) float64
        ln of the smoothed weight of every class.
    alone : (states, classes) float64
        ln P(g | c).
    ess : float
        Equivalent sample size, spread evenly over the cells of a pair.
    logs : float64
        Receives the logs, in the same layout.
    """
    classes = class_logs.shape[0]
    given = np.empty(classes)
    arity = offsets[i + 1] - offsets[i]
    for g in range(offsets[i], offsets[i + 1]):
        place = rows[g]
        for c in range(classes):
            logs[place + c] = alone[g, c]
            given[c] = class_logs[c] + alone[g, c]
        place += classes
        for j in range(i):
            prior = ess / (classes * arity * (offsets[j + 1] - offsets[j]))
            of_prior = math.log(prior)
            for h in range(offsets[j], offsets[j + 1]):
                for c in range(classes):
                    count = counts[place + c]
                    of_pair = math.log(count + prior) if count > 0.0 else of_prior
                    logs[place + c] = of_pair - given[c] - alone[h, c]
                place += classes


@kernel
def mixture_rows(codes, offsets, rows, logs, admitted, rest, form, start, stop, out):
    """Compute the class posterior of the mixture for the rows ``start .. stop-1``; missing cells are summed out.

    With B(c) the naive Bayes joint probability of the observed cells and R(c, g, h) the ratio whose log
    :func:`pair_logs` writes, an estimator whose parent is in state g contributes B(c) Π_h R(c, g, h), h the other
    observed states; where its parent is missing, P(g | c) times that for every state g. Where no observed state is
    admitted, the completions in which no other is contribute B(c) times the probability of these.

    Parameters
    ----------
    codes : (features, rows) int16
        States; a negative code is a cell to be summed out.
    offsets, rows, logs
        As in :func:`pair_logs`; the first numbers of ``logs`` are ln P(c).
    admitted : (states,) bool
        Which states have an estimator.
    rest : (features, classes) float64
        ln of the probability, given the class, that a feature is in a state that is not admitted.
    form : int
        JOINT (here up to the normalising constant of the mixture), PROBABILITY or LOG_PROBABILITY.
    out : (rows, classes) float64
        Receives the result.
    """
    features = codes.shape[0]
    classes = out.shape[1]
    terms = np.empty((admitted.shape[0] + 1) * classes)
    powers = np.empty(terms.shape[0], np.int64)
    states = np.empty(features, np.int64)
    missing = np.empty(features, np.int64)
    total = np.empty(classes)
    for t in range(start, stop):
        naive = out[t]
        for c in range(classes):
            naive[c] = logs[c]
        n_observed = 0
        n_missing = 0
        for i in range(features):
            if codes[i, t] >= 0:
                states[n_observed] = offsets[i] + codes[i, t]
                n_observed += 1
            else:
                missing[n_missing] = i
                n_missing += 1
        for k in range(n_observed * classes):
            terms[k] = 0.0
        for a in range(n_observed):
            head = rows[states[a]]
            for c in range(classes):
                naive[c] += logs[head + c]
            for b in range(a):
                place = head + (1 + states[b]) * classes
                for c in range(classes):
                    terms[a * classes + c] += logs[place + c]
                    terms[b * classes + c] += logs[place + c]
        n_terms = 0
        for a in range(n_observed):
            if admitted[states[a]]:
                if n_terms < a:
                    for c in range(classes):
                        terms[n_terms * classes + c] = terms[a * classes + c]
                n_terms += 1
        fallback = n_terms == 0
        for m in range(n_missing):
            i = missing[m]
            for g in range(offsets[i], offsets[i + 1]):
                if not admitted[g]:
                    continue
                head = rows[g]
                for c in range(classes):
                    terms[n_terms * classes + c] = logs[head + c]
                for a in range(n_observed):
                    place = rows[max(g, states[a])] + (1 + min(g, states[a])) * classes
                    for c in range(classes):
                        terms[n_terms * classes + c] += logs[place + c]
                n_terms += 1
        if fallback:
            for c in range(classes):
                terms[n_terms * classes + c] = 0.0
                for m in range(n_missing):
                    terms[n_terms * classes + c] += rest[missing[m], c]
            n_terms += 1
        add_log_sums(terms[: n_terms * classes], powers, total, naive)
        normalise_rows(out[t : t + 1], form, terms, powers)


@inner
def add_log_sums(terms, powers, total, out):
    """Add ln Σ_k exp(terms[k, c]) to every class c; not all terms of a class are minus infinity."""
    classes = out.shape[0]
    n_terms = terms.shape[0] // classes
    for c in range(classes):
        total[c] = terms[c]
    for k in range(1, n_terms):
        for c in range(classes):
            value = terms[k * classes + c]
            total[c] = value if value > total[c] else total[c]
    for c in range(classes):
        out[c] += total[c]
    for k in range(n_terms):
        for c in range(classes):
            terms[k * classes + c] -= total[c]
    exponentials(terms, powers)
    total[:] = 0.0
    for k in range(n_terms):
        for c in range(classes):
            total[c] += terms[k * classes + c]
    for c in range(classes):
        out[c] += math.log(total[c])
