"""Logarithmic pools."""

from math import exp, log


def pooled_posterior(logs_of_members, weights, biases):
    """P(c | x) of a logarithmic pool: exp(b_c + Σ_m w_m ln P_m(c | x)), normalised."""
    values = [
        exp(biases[c] + sum(w * logs[c] for w, logs in zip(weights, logs_of_members, strict=True)))
        for c in range(len(biases))
    ]
    return [value / sum(values) for value in values]


def pool_centre(logs, codes, row_weights):
    """Shares of the members: their likelihoods on held-out rows of weight N, to the power 1.5/√N."""
    total = sum(row_weights)
    powers = [
        exp(1.5 * sum(v * of_row[m][c] for of_row, c, v in zip(logs, codes, row_weights, strict=True)) / total**0.5)
        for m in range(len(logs[0]))
    ]
    return [power / sum(powers) for power in powers]


def pool_objective(logs, codes, row_weights, weights, biases, ridge, centre):
    """What the weights of a pool maximise; ``logs[t][m][c]``."""
    fit = sum(
        v * log(pooled_posterior(of_row, weights, biases)[c])
        for of_row, c, v in zip(logs, codes, row_weights, strict=True)
    )
    offset = sum((w - p) ** 2 for w, p in zip(weights, centre, strict=True)) + sum(b**2 for b in biases)
    return fit - ridge / 2 * offset
