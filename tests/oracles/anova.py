"""Sums of functions of a few features, told apart."""

from math import inf


def functional_anova(effects, groups, rows, weights):
    """Effects of weighted means 0 along every axis, whose sum is the same up to a constant; by alternation.

    ``effects[features]`` is a dictionary of the values by cell, for all sets of features and their subsets but the
    empty one; ``groups[features][i]`` the group of every state of the i-th feature; ``rows`` are dictionaries of
    states. Every mean of an effect along an axis is taken from it and added to the effect without that feature, until
    nothing moves. All cells must have weight.
    """
    effects = {features: dict(values) for features, values in effects.items()}
    weight = {features: dict.fromkeys(values, 0.0) for features, values in effects.items()}
    for row, w in zip(rows, weights, strict=True):
        for features, of_cells in weight.items():
            of_cells[tuple(groups[features][i][row[name]] for i, name in enumerate(features))] += w
    moved = inf
    while moved > 1e-13:
        moved = 0.0
        for features in sorted(effects, key=len, reverse=True):
            for i, name in enumerate(features):
                less = next((other for other in effects if set(other) == set(features) - {name}), None)
                lines = {}
                for cell in effects[features]:
                    lines.setdefault(cell[:i] + cell[i + 1 :], []).append(cell)
                for rest, line in lines.items():
                    total = sum(weight[features][cell] for cell in line)
                    mean = sum(weight[features][cell] * effects[features][cell] for cell in line) / total
                    for cell in line:
                        effects[features][cell] -= mean
                    moved = max(moved, abs(mean))
                    kept = [other for other in features if other != name]
                    for cell in effects[less] if less is not None else ():
                        state = {k: groups[less][j].index(cell[j]) for j, k in enumerate(less)}
                        if all(groups[features][features.index(k)][state[k]] == rest[kept.index(k)] for k in kept):
                            effects[less][cell] += mean
    return effects
