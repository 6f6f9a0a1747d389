"""Sums of Shapley values over families."""

from anbexact._kernels.jit import kernel


@kernel
def add_shapley_values(codes, families, arities, compared, start, stop, out):
    """Add, for rows ``start .. stop-1``, the Shapley values of all families to those of their features.

    Parameters
    ----------
    codes : (features, rows) int16
        States; a negative code stands for the state after the last one of its feature.
    families : Families
        ``logs`` holds Shapley values here: those of family f at a joint state of its m features, of number ``index``,
        start at ``offsets[f] + index * m * classes``, classes fastest.
    arities : (features,) int64
        The state that stands for a missing cell.
    compared : (2, rows) int64
        The class that is explained, and the one that it is compared with.
    out : (rows, features) float64
        Receives the sums.
    """
    firsts, variables, strides = families.firsts, families.variables, families.strides
    offsets, values = families.offsets, families.logs
    n_families = firsts.shape[0] - 1
    for f in range(n_families):
        first, last = firsts[f], firsts[f + 1]
        for t in range(start, stop):
            place = offsets[f]
            for k in range(first, last):
                state = codes[variables[k], t]
                place += strides[k] * (state if state >= 0 else arities[variables[k]])
            step = strides[last - 1] // (last - first)
            for k in range(first, last):
                out[t, variables[k]] += values[place + compared[0, t]] - values[place + compared[1, t]]
                place += step
