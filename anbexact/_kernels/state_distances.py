"""Sums over features of the distances between the states of rows, and their derivatives by the features' rates.

Matrices of the distances among rows are symmetric: :func:`log_correlations_below` and :func:`add_derivatives` read
and write only what is below their diagonals.
"""

from anbexact._kernels.jit import kernel, summing


@summing
def _subtract(sums, rate, distances, states, n):
    """Subtract ``rate × distances[states[j]]`` from the j-th of n sums."""
    for j in range(n):
        sums[j] -= rate * distances[states[j]]


@summing
def _sum_of_products(factors, distances, states, n):
    """Return ``Σ_j factors[j] distances[states[j]]`` over n entries."""
    total = 0.0
    for j in range(n):
        total += factors[j] * distances[states[j]]
    return total


@summing
def _subtract_products(sums, factor, values, n):
    """Subtract ``factor × values[j]`` from the j-th of n sums."""
    for j in range(n):
        sums[j] -= factor * values[j]


@kernel
def log_correlations_below(states, tables, starts, arities, rates, found):
    """Write ``-Σ_f rates[f] d_f(x_if, x_jf)`` for rows i and j < i below the diagonal of ``found``.

    Parameters
    ----------
    states : (features, rows) int64
    tables : float64
        The distances between the states of every feature, row by row, one feature after the other.
    starts, arities : (features,) int64
        Where the distances of a feature begin, and its number of states.
    rates : (features,) float64
    found : (rows, rows) float64
    """
    n_features, n_rows = states.shape
    for i in range(n_rows):
        own = found[i]
        for j in range(i):
            own[j] = 0.0
        for f in range(n_features):
            first = starts[f] + states[f, i] * arities[f]
            _subtract(own, rates[f], tables[first : first + arities[f]], states[f], i)


@kernel
def add_derivatives(states, tables, starts, arities, inverse, solved, factor, correlations, gradient):
    """Add to a gradient, by feature, the sum over all pairs of rows i and j < i of ``m_ij c_ij d_f(x_if, x_jf)``.

    ``m_ij = inverse_ij - factor Σ_p solved_pi solved_pj``, and c are the correlations.

    Parameters
    ----------
    states, tables, starts, arities
        See :func:`log_correlations_below`.
    inverse : (rows, rows) float64
        What is below its diagonal is overwritten.
    solved : (processes, rows) float64
    factor : float
    correlations : (rows, rows) float64
    gradient : (features,) float64
    """
    n_features, n_rows = states.shape
    for i in range(n_rows):
        own, correlated = inverse[i], correlations[i]
        for p in range(len(solved)):
            _subtract_products(own, factor * solved[p, i], solved[p], i)
        for j in range(i):
            own[j] *= correlated[j]
        for f in range(n_features):
            first = starts[f] + states[f, i] * arities[f]
            gradient[f] += _sum_of_products(own, tables[first : first + arities[f]], states[f], i)


@kernel
def add_rows(table, places, sums):
    """Add to every row of ``sums`` the rows of a table at some places, such as the distances from a row's states.

    Parameters
    ----------
    table : (rows of the table, columns) float64
    places : (summands, rows) int64
    sums : (rows, columns) float64
    """
    n_columns = sums.shape[1]
    for t in range(len(sums)):
        own = sums[t]
        for k in range(len(places)):
            added = table[places[k, t]]
            for j in range(n_columns):
                own[j] += added[j]
