"""Linear logistic regression: values of states, the covariance within classes, and the penalised likelihood."""

from math import log, sqrt

import numpy as np
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from oracles.tables import log_sum


def linear_values(places, weights):
    """The values of the states of a feature, given their places, None outside the order, and their weights."""
    states, total = range(len(places)), sum(weights)
    if sum(weight > 0 for weight in weights) < 2:
        return [[] for _ in states]
    inside = [s for s in states if places[s] is not None]
    columns = []
    if sum(weights[s] > 0 for s in inside) > 1:
        own = sum(weights[s] for s in inside)
        mean = sum(weights[s] * places[s] for s in inside) / own
        spread = sqrt(sum(weights[s] * (places[s] - mean) ** 2 for s in inside) / own)
        columns.append([0.0 if places[s] is None else (places[s] - mean) / spread for s in states])
    if inside:
        columns += [[float(s == t) for s in states] for t in states if places[t] is None]
    else:  # the first k states against the next one
        for k in range(1, len(places)):
            columns.append(
                [1 / sqrt(k * (k + 1)) if s < k else -k / sqrt(k * (k + 1)) if s == k else 0.0 for s in states]
            )
    centred = []
    for column in columns:
        mean = sum(w * v for w, v in zip(weights, column, strict=True)) / total
        centred.append([v - mean for v in column])
    variance = sum(w * v**2 for column in centred for w, v in zip(weights, column, strict=True)) / total
    return [[column[s] / sqrt(variance) for column in centred] for s in states]


def class_means(points, classes, weights, n_classes):
    """The mean of the points of every class, by their weights."""
    means = []
    for c in range(n_classes):
        own = [(x, w) for x, d, w in zip(points, classes, weights, strict=True) if d == c]
        means.append(sum(w * x for x, w in own) / sum(w for _, w in own))
    return means


def covariance_within(points, classes, weights, n_classes):
    """The covariance within the classes, shrunk to a multiple of the identity matrix, with one row more.

    The shrinkage is that of Ledoit and Wolf for as many rows as the weights add up to: the mean squared distance of
    the outer products of the rows from their mean, divided by the number of rows, as a share of the squared distance
    of this mean from its nearest multiple of the identity. The row more has the mean variance of all columns.
    """
    points, n = [np.array(x, dtype=float) for x in points], sum(weights)
    means, size = class_means(points, classes, weights, n_classes), len(points[0])
    outer = [np.outer(x - means[c], x - means[c]) for x, c in zip(points, classes, strict=True)]
    covariance = sum(w * one for w, one in zip(weights, outer, strict=True)) / n
    target = np.trace(covariance) / size * np.eye(size)
    noise = sum(w * np.sum((one - covariance) ** 2) for w, one in zip(weights, outer, strict=True)) / n**2
    apart = np.sum((covariance - target) ** 2)
    share = min(noise / apart, 1.0) if apart > 0 else 0.0
    shrunk = (1 - share) * covariance + share * target
    variance = sum(w * np.mean(x**2) for w, x in zip(weights, points, strict=True)) / n
    return (n * shrunk + variance * np.eye(size)) / (n + 1)


def linear_posterior(points, classes, weights, n_classes, l2, centre, measured):
    """Coefficients and constants of classes that all occur, by a general optimiser.

    The centre is that of discriminant analysis by the measured values alone. The constants have the prior precision
    ``l2 / 101`` around those of the centre.
    """
    points, size = [np.array(x, dtype=float) for x in points], len(points[0])
    within = covariance_within(points, classes, weights, n_classes)
    means = np.array(class_means(points, classes, weights, n_classes))
    directions, m = np.zeros(means.shape), np.flatnonzero(measured)
    directions[:, m] = np.linalg.solve(within[np.ix_(m, m)], means[:, m].T).T
    of_classes = [sum(w for d, w in zip(classes, weights, strict=True) if d == c) for c in range(n_classes)]
    logs = np.array([log((of_class + 1 / n_classes) / (sum(weights) + 1)) for of_class in of_classes])
    lowered = logs - centre / 2 * np.einsum("cj,cj->c", means, directions)

    def objective(flat):
        w, b = flat[: size * n_classes].reshape(n_classes, size), flat[size * n_classes :]
        value = 0.0
        for x, label, weight in zip(points, classes, weights, strict=True):
            odds = w @ x + lowered + b
            value -= weight * (odds[label] - log_sum(odds.tolist()))
        for own, direction in zip(w, directions, strict=True):
            value += l2 / 2 * (own - centre * direction) @ within @ (own - centre * direction)
        return value + l2 / 101 / 2 * b @ b

    start = np.concatenate([(centre * directions).ravel(), np.zeros(n_classes)])
    found = minimize(objective, start, method="BFGS", options={"gtol": 1e-7, "maxiter": 10_000}).x
    w, b = found[: size * n_classes].reshape(n_classes, size), found[size * n_classes :] + lowered
    return (w - w.mean(axis=0)).T, b - b.mean()


def linear_marginal(point, observed, coefficients, constants, within, shares):
    """Logs of the class probabilities of a row of which some values are observed, by normal densities of the classes.

    Each class has the density that gives complete rows their posterior, up to prior probabilities, which count as far
    as the observed values tell the classes apart.
    """
    point, within = np.array(point, dtype=float), np.array(within, dtype=float)
    means = (within @ coefficients).T
    means = means - sum(share * mean for share, mean in zip(shares, means, strict=True))
    apart = [float(mean @ np.linalg.solve(within, mean)) for mean in means]
    beyond = [
        constant + distance / 2 - log(share)
        for constant, distance, share in zip(constants, apart, shares, strict=True)
    ]
    o = [k for k, known in enumerate(observed) if known]
    part = within[np.ix_(o, o)]
    seen = [float(mean[o] @ np.linalg.solve(part, mean[o])) if o else 0.0 for mean in means]
    whole = sum(share * distance for share, distance in zip(shares, apart, strict=True))
    ratio = sum(share * distance for share, distance in zip(shares, seen, strict=True)) / whole if whole > 0 else 1.0
    logs = [
        log(share) + ratio * more + (multivariate_normal.logpdf(point[o], mean[o], part) if o else 0.0)
        for share, more, mean in zip(shares, beyond, means, strict=True)
    ]
    return [value - log_sum(logs) for value in logs]
