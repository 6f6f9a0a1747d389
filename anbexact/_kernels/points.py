"""Integer points of a scorecard: their loss, better ones nearby, and all that could be better, level by level.

The rows come as ``columns[t, j]``, the integer variable that row t has in table j, or -1 for a state without points,
and ``weights[t, c]``, the weight of class c among such rows; all weights sum to 1. Class 0 is the reference class.
``points[i, k]`` are the points of variable i in score k, which is about class k + 1. The log odds of a row are
``scale Σ_j points[columns[t, j], k] + offset[k]``, and the loss is

    -Σ_t Σ_c weights[t, c] ln P(c | t) + pull / 2 Σ_ik (scale points[i, k] - centre[i, k])²
"""

import math

import numpy as np

from anbexact._kernels.jit import inner, kernel

STEPS = 40
"""Maximum number of Newton steps for scale and offsets."""
DECREMENT = 1e-13
"""Expected decrease of the loss below which scale and offsets are optimal."""


@inner
def _value(scores, weights, scale, offset, logits):
    """Return the log loss of rows with these sums of points."""
    n_rows, n_scores = scores.shape
    total = 0.0
    for t in range(n_rows):
        top = 0.0
        for k in range(n_scores):
            logits[k] = scale * scores[t, k] + offset[k]
            top = max(top, logits[k])
        below = math.exp(-top)
        for k in range(n_scores):
            below += math.exp(logits[k] - top)
        level = top + math.log(below)
        total += weights[t, 0] * level
        for k in range(n_scores):
            total += weights[t, k + 1] * (level - logits[k])
    return total


@inner
def _scaled(scores, weights, pulls, lowest, highest, start, offset):
    """Return the least loss over scale and offsets, and the scale; ``offset`` becomes the best one.

    ``pulls`` are pull Σ points², pull Σ points · centre and pull Σ centre².
    """
    n_rows, n_scores = scores.shape
    size = n_scores + 1
    scale = start
    logits, chances = np.empty(n_scores), np.empty(n_scores)
    tried = np.empty(n_scores)
    loss = _value(scores, weights, scale, offset, logits)
    loss += 0.5 * (pulls[0] * scale * scale - 2 * pulls[1] * scale + pulls[2])
    for _ in range(STEPS):
        slope, curvature = np.zeros(size), np.zeros((size, size))
        for t in range(n_rows):
            weight = 0.0
            for c in range(size):
                weight += weights[t, c]
            top = 0.0
            for k in range(n_scores):
                logits[k] = scale * scores[t, k] + offset[k]
                top = max(top, logits[k])
            below = math.exp(-top)
            for k in range(n_scores):
                chances[k] = math.exp(logits[k] - top)
                below += chances[k]
            mean = 0.0
            for k in range(n_scores):
                chances[k] /= below
                mean += chances[k] * scores[t, k]
            square = 0.0
            for k in range(n_scores):
                excess = weight * chances[k] - weights[t, k + 1]
                slope[0] += excess * scores[t, k]
                slope[k + 1] += excess
                square += chances[k] * scores[t, k] * (scores[t, k] - mean)
                curvature[0, k + 1] += weight * chances[k] * (scores[t, k] - mean)
                for m in range(n_scores):
                    curvature[k + 1, m + 1] += weight * chances[k] * ((k == m) - chances[m])
            curvature[0, 0] += weight * square
        slope[0] += pulls[0] * scale - pulls[1]
        curvature[0, 0] += pulls[0]
        held = lowest == highest or curvature[0, 0] < 1e-15
        held = held or (scale <= lowest and slope[0] > 0) or (scale >= highest and slope[0] < 0)
        for k in range(n_scores):
            curvature[k + 1, k + 1] += 1e-12
            curvature[k + 1, 0] = 0.0 if held else curvature[0, k + 1]
            if held:
                curvature[0, k + 1] = 0.0
        if held:
            curvature[0, 0], slope[0] = 1.0, 0.0
        step = np.linalg.solve(curvature, slope)
        expected = 0.0
        for c in range(size):
            expected += 0.5 * step[c] * slope[c]
        if not expected > DECREMENT:
            break
        length = 1.0
        while length > 1e-9:
            moved = min(max(scale - length * step[0], lowest), highest)
            for k in range(n_scores):
                tried[k] = offset[k] - length * step[k + 1]
            found = _value(scores, weights, moved, tried, logits)
            found += 0.5 * (pulls[0] * moved * moved - 2 * pulls[1] * moved + pulls[2])
            if found < loss:
                break
            length *= 0.5
        if length <= 1e-9:
            break
        gain = loss - found
        loss, scale = found, moved
        offset[:] = tried
        if gain < DECREMENT:
            break
    return loss, scale


@inner
def _sums(points, columns, scores):
    n_rows, n_tables = columns.shape
    for t in range(n_rows):
        for k in range(points.shape[1]):
            total = 0.0
            for j in range(n_tables):
                if columns[t, j] >= 0:
                    total += points[columns[t, j], k]
            scores[t, k] = total


@inner
def _pulls(points, centre, pull, pulls):
    pulls[:] = 0.0
    for i in range(points.shape[0]):
        for k in range(points.shape[1]):
            pulls[0] += pull * points[i, k] * points[i, k]
            pulls[1] += pull * points[i, k] * centre[i, k]
            pulls[2] += pull * centre[i, k] * centre[i, k]


@kernel
def points_loss(points, columns, weights, centre, pull, lowest, highest, start, offset):
    """Return the loss of points with the best scale within bounds, and the scale; ``offset`` becomes the best one."""
    scores = np.empty((len(columns), points.shape[1]))
    pulls = np.empty(3)
    _sums(points, columns, scores)
    _pulls(points, centre, pull, pulls)
    return _scaled(scores, weights, pulls, lowest, highest, start, offset)


@kernel
def improved_points(points, open_ones, columns, weights, centre, pull, most, bounds, start, offset):
    """Change points by one, always those that lower the loss most, until no change does.

    Returns the loss and the scale; ``points`` and ``offset`` become those found.

    Parameters
    ----------
    open_ones : (variables,) bool
        Variables whose points may change.
    most : int
        Points are from -most to most.
    bounds : (2,) float64
        Bounds of the scale.
    """
    n_rows, n_scores = len(columns), points.shape[1]
    scores = np.empty((n_rows, n_scores))
    pulls = np.empty(3)
    _sums(points, columns, scores)
    _pulls(points, centre, pull, pulls)
    loss, scale = _scaled(scores, weights, pulls, bounds[0], bounds[1], start, offset)
    tried, moved = np.empty(n_scores), scores.copy()
    while True:
        best, best_i, best_k, best_step = loss - 1e-12, -1, 0, 0
        for i in range(points.shape[0]):
            if not open_ones[i]:
                continue
            for k in range(n_scores):
                for step in (-1, 1):
                    if abs(points[i, k] + step) > most:
                        continue
                    moved[:] = scores
                    for t in range(n_rows):
                        for j in range(columns.shape[1]):
                            if columns[t, j] == i:
                                moved[t, k] += step
                    points[i, k] += step
                    _pulls(points, centre, pull, pulls)
                    points[i, k] -= step
                    tried[:] = offset
                    found, _ = _scaled(moved, weights, pulls, bounds[0], bounds[1], scale, tried)
                    if found < best:
                        best, best_i, best_k, best_step = found, i, k, step
        if best_i < 0:
            return loss, scale
        points[best_i, best_k] += best_step
        _sums(points, columns, scores)
        _pulls(points, centre, pull, pulls)
        loss, scale = _scaled(scores, weights, pulls, bounds[0], bounds[1], scale, offset)


@kernel
def nearest_points(root, target, scale, most):
    """Return points, level by level, each the nearest to what minimises ``|root (scale points - x)|²`` so far.

    ``target`` is ``root x``, and ``root`` is upper triangular (Babai's nearest plane).
    """
    n = len(target)
    points = np.zeros(n, np.int64)
    for i in range(n - 1, -1, -1):
        rest = target[i]
        for j in range(i + 1, n):
            rest -= scale * root[i, j] * points[j]
        points[i] = min(max(int(np.rint(rest / (scale * root[i, i]))), -most), most)
    return points


@inner
def _open_level(level, root, target, most, bounds, points, sums, excesses, order, places, room):
    """List the points of a level whose excess is below ``room``, the least excess first; returns their number."""
    behind = 0.0
    for j in range(level + 1, len(target)):
        behind += root[level, j] * points[j]
    number = 0
    for value in range(-most, most + 1):
        along = behind + root[level, level] * value
        a = sums[level + 1, 0] + target[level] * target[level]
        b = sums[level + 1, 1] + target[level] * along
        c = sums[level + 1, 2] + along * along
        scale = (
            bounds[0] if bounds[0] == bounds[1] else (bounds[1] if c <= 0 else min(max(b / c, bounds[0]), bounds[1]))
        )
        excess = a - 2 * b * scale + c * scale * scale
        if excess >= room:
            continue
        place = number
        while place > 0 and excesses[level, place - 1] > excess:
            excesses[level, place] = excesses[level, place - 1]
            order[level, place] = order[level, place - 1]
            place -= 1
        excesses[level, place] = excess
        order[level, place] = value
        number += 1
    places[level] = 0
    return number


@kernel
def enumerate_points(
    root,
    target,
    variables,
    most,
    bounds,
    floor,
    tolerance,
    columns,
    weights,
    centre,
    pull,
    state,
    budget,
    best,
    offset,
):
    """Look at all points whose loss could be lower than the best known one by more than a tolerance.

    The loss of points z, at the best scale, is at least ``floor + min_scale |root (scale z - x)|²``, ``target = root
    x``. The tree assigns the variables from the last to the first, and leaves out whatever this bound excludes
    (Fincke and Pohst 1985), with the scale free within its bounds.

    Parameters
    ----------
    root, target : (n, n), (n,) float64
        Upper triangular.
    variables : (n, 2) int64
        The row and the column in ``best`` of each of the n integers.
    state : tuple of arrays
        points (n,), sums (n + 1, 3), excesses (n, values), order (n, values), places (n,), numbers (n,) and
        position (1,): the level, or n before the start; -1 at the end.
    budget : int
        Number of nodes after which to return, so that deadlines are kept.
    best : (variables, scores) int64
        The best points known, which are replaced by better ones.
    offset : (scores + 2,) float64
        Their loss, their scale and their offsets, likewise.

    Returns
    -------
    int
        Number of nodes; fewer than ``budget`` if all were looked at.
    """
    points, sums, excesses, order, places, numbers, position = state
    n = len(target)
    trial = np.zeros_like(best)
    scores = np.empty((len(columns), best.shape[1]))
    pulls = np.empty(3)
    tried = np.empty(best.shape[1])
    nodes = 0
    level = position[0]
    if level == n:
        level = n - 1
        sums[n] = 0.0
        numbers[level] = _open_level(
            level, root, target, most, bounds, points, sums, excesses, order, places, offset[0] - tolerance - floor
        )
    while 0 <= level < n and nodes < budget:
        place = places[level]
        if place >= numbers[level] or excesses[level, place] >= offset[0] - tolerance - floor:
            points[level] = 0
            level += 1
            continue
        nodes += 1
        places[level] += 1
        points[level] = order[level, place]
        along = 0.0
        for j in range(level, n):
            along += root[level, j] * points[j]
        sums[level, 0] = sums[level + 1, 0] + target[level] * target[level]
        sums[level, 1] = sums[level + 1, 1] + target[level] * along
        sums[level, 2] = sums[level + 1, 2] + along * along
        if level > 0:
            level -= 1
            numbers[level] = _open_level(
                level,
                root,
                target,
                most,
                bounds,
                points,
                sums,
                excesses,
                order,
                places,
                offset[0] - tolerance - floor,
            )
            continue
        for i in range(n):
            trial[variables[i, 0], variables[i, 1]] = points[i]
        _sums(trial, columns, scores)
        _pulls(trial, centre, pull, pulls)
        tried[:] = offset[2:]
        start = bounds[1] if sums[0, 2] <= 0 else min(max(sums[0, 1] / sums[0, 2], bounds[0]), bounds[1])
        loss, scale = _scaled(scores, weights, pulls, bounds[0], bounds[1], start, tried)
        if loss < offset[0]:
            offset[0], offset[1] = loss, scale
            offset[2:] = tried
            best[:] = trial
    position[0] = -1 if level >= n else level
    return nodes
