"""Kernel logistic regression: distances between states, correlations between rows, and the mode of the posterior."""

from fractions import Fraction
from math import exp, log

import numpy as np

from oracles.tables import log_sum


def state_distance(weights, n_ordered, a, b):
    """2 |p - q| for the mid-ranks p and q of two of the first ``n_ordered`` states, and 1 for any other two."""
    if a == b:
        return 0.0
    if max(a, b) >= n_ordered:
        return 1.0
    p, q = ((sum(weights[:state]) + weights[state] / 2) / sum(weights) for state in (a, b))
    return 2 * abs(p - q)


def interval_distance(weights, middles, power, a, b):
    """The power of 2 |p - q| for the places p and q of two intervals, which are means of mid-ranks and middles.

    The middles are in units in which two rows are as far apart on average as in their mid-ranks, or of 1/1.7 of the
    range of the middles if that is more.
    """
    states = range(len(weights))
    ranks = [(sum(weights[:state]) + weights[state] / 2) / sum(weights) for state in states]
    of_ranks, of_middles = (
        sum(weights[s] * weights[t] * abs(of[s] - of[t]) for s in states for t in states) for of in (ranks, middles)
    )
    unit = max(of_middles / of_ranks, (middles[-1] - middles[0]) / 1.7)
    p, q = ((ranks[state] + middles[state] / unit) / 2 for state in (a, b))
    return (2 * abs(p - q)) ** power


def feature_information(states, labels, row_weights, arity, n_ordered, n_classes):
    """Mutual information of a feature, its ordered states in eight groups, and the class; corrected as by Miller."""
    of_states = [Fraction(0)] * arity
    for state, weight in zip(states, row_weights, strict=True):
        of_states[state] += Fraction(str(weight))
    total = sum(of_states)
    joint = {}
    for state, label, weight in zip(states, labels, row_weights, strict=True):
        rank = (sum(of_states[:state]) + of_states[state] / 2) / total
        group = ("ordered", int(8 * rank + Fraction(1, 10**9))) if state < n_ordered else state
        joint[group, label] = joint.get((group, label), Fraction(0)) + Fraction(str(weight))
    of_groups, of_classes = {}, {}
    for (group, label), weight in joint.items():
        of_groups[group] = of_groups.get(group, 0) + weight
        of_classes[label] = of_classes.get(label, 0) + weight
    value = sum(
        float(weight / total) * log(weight * total / of_groups[group] / of_classes[label])
        for (group, label), weight in joint.items()
        if weight > 0
    )
    n_groups = sum(weight > 0 for weight in of_groups.values())
    return max(value - (n_groups - 1) * (n_classes - 1) / (2 * float(total)), 0.0)


def feature_relevances(informations, arities, exponent):
    """(I_j + max I / 20)^r, divided by its mean over the features with two states or more; 1 if all I are 0."""
    most = max(informations)
    powers = [(own + most / 20) ** exponent if most > 0 else 1.0 for own in informations]
    varied = [power for power, arity in zip(powers, arities, strict=True) if arity > 1]
    return [power / (sum(varied) / len(varied)) for power in powers]


def label_evidence(class_weights, correlations, noise):
    """The log evidence of class shares as s - 1 contrasts that are Gaussian processes of the best common factor."""
    class_weights = np.asarray(class_weights)
    totals = class_weights.sum(axis=1)
    n, s = class_weights.shape
    excess = class_weights / totals[:, None] - class_weights.sum(axis=0) / class_weights.sum()
    covariance = 1 + np.asarray(correlations) + np.diag(noise / totals)
    contrasts = np.array([[1 / c] * c + [-1] + [0] * (s - c - 1) for c in range(1, s)])
    contrasts /= np.linalg.norm(contrasts, axis=1, keepdims=True)
    processes = [excess @ contrast for contrast in contrasts]
    factor = sum(own @ np.linalg.solve(covariance, own) for own in processes) / (n * (s - 1))
    scaled = factor * covariance
    log_norm = -(n * log(2 * np.pi) + np.linalg.slogdet(scaled)[1]) / 2
    return sum(log_norm - own @ np.linalg.solve(scaled, own) / 2 for own in processes)


def row_correlation(row, point, state_weights, n_ordered, rates):
    """Π_j exp(-θ_j d_j(x_j, z_j)); where x_j is None, the mean of the factor over the training rows."""
    found = 1.0
    for cell, state, weights, n, rate in zip(row, point, state_weights, n_ordered, rates, strict=True):
        shares = [w / sum(weights) if cell is None else float(s == cell) for s, w in enumerate(weights)]
        found *= sum(p * exp(-rate * state_distance(weights, n, s, state)) for s, p in enumerate(shares))
    return found


def kernel_posterior(correlations, coefficients, biases):
    """Logs of P(c | x), for the correlations of a row with every point."""
    values = [
        biases[c] + sum(k * own[c] for k, own in zip(correlations, coefficients, strict=True))
        for c in range(len(biases))
    ]
    return [value - log_sum(values) for value in values]


def prior_logs(class_weights):
    """Logs of the class frequencies, with one row more that all classes share."""
    totals = [sum(of_class) + 1 / len(class_weights[0]) for of_class in zip(*class_weights, strict=True)]
    return [log(total / sum(totals)) for total in totals]


def process_objective(odds, class_weights, covariance, l2):
    """-Σ_i Σ_c w_ic ln P(c | x_i) + λ/2 Σ_c f_c' Σ⁻¹ f_c, for a process f with the covariance Σ / λ."""
    logs = np.asarray(prior_logs(class_weights)) + odds
    logs -= np.logaddexp.reduce(logs, axis=1, keepdims=True)
    return -np.sum(class_weights * logs) + l2 / 2 * np.sum(odds * np.linalg.solve(covariance, odds))


def process_mode(class_weights, covariance, l2):
    """The values of the process in every row that minimise `process_objective`, by Newton's method."""
    class_weights = np.asarray(class_weights)
    n, n_classes = class_weights.shape
    precision = l2 * np.linalg.inv(covariance)
    totals = class_weights.sum(axis=1)
    odds = np.zeros((n, n_classes))
    value = process_objective(odds, class_weights, covariance, l2)
    for _ in range(100):
        logs = np.asarray(prior_logs(class_weights)) + odds
        p = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
        slope = totals[:, None] * p - class_weights + precision @ odds
        if np.abs(slope).max() < 1e-9 * totals.sum():
            break
        curvature = np.kron(precision, np.eye(n_classes))
        for i in range(n):
            own = slice(i * n_classes, (i + 1) * n_classes)
            curvature[own, own] += totals[i] * (np.diag(p[i]) - np.outer(p[i], p[i]))
        step = np.linalg.solve(curvature, slope.ravel()).reshape(odds.shape)
        while (new := process_objective(odds - step, class_weights, covariance, l2)) > value + 1e-12 * abs(value):
            step /= 2
        odds, value = odds - step, new
    return odds


def process_logs(class_weights, covariance, l2, covariances):
    """Logs of P(c | x) for new rows at the mode, whose covariances with the training rows are given, (new, rows)."""
    odds = process_mode(class_weights, covariance, l2)
    logs = np.asarray(prior_logs(class_weights)) + covariances @ np.linalg.solve(covariance, odds)
    return logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)
