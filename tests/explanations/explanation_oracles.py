"""Slow, obvious twins of exact explanations: enumeration of all rows, subsets and changes."""

import itertools
import math


def log_joint(tables, class_name, row, c):
    """Ln P(row, c) from dictionaries of tables: name -> (variables, values); row maps features to states."""
    state = {**row, class_name: c}
    return sum(math.log(values[tuple(state[v] for v in variables)]) for variables, values in tables.values())


def completions(row, arities):
    """Yield all rows that agree with a row where it is not None."""
    free = [name for name in arities if row[name] is None]
    for states in itertools.product(*(range(arities[name]) for name in free)):
        yield {**row, **dict(zip(free, states, strict=True))}


def log_sum_joint(tables, class_name, row, c, arities):
    """Ln Σ P(row, c) over what is None in the row."""
    return math.log(sum(math.exp(log_joint(tables, class_name, full, c)) for full in completions(row, arities)))


def posterior(tables, class_name, row, arities, n_classes):
    """P(c | observed cells) of every class."""
    joint = [math.exp(log_sum_joint(tables, class_name, row, c, arities)) for c in range(n_classes)]
    return [share / sum(joint) for share in joint]


def shapley(players, value):
    """Shapley values of a game: the mean gain over all subsets of the other players, weighted by orders."""
    n, found = len(players), {}
    subsets = [set(subset) for size in range(n + 1) for subset in itertools.combinations(players, size)]
    known = {frozenset(subset): value(subset) for subset in subsets}
    for player in players:
        total = 0.0
        for subset in subsets:
            if player not in subset:
                weight = math.factorial(len(subset)) * math.factorial(n - len(subset) - 1) / math.factorial(n)
                total += weight * (known[frozenset(subset | {player})] - known[frozenset(subset)])
        found[player] = total
    return found


def expected_log_odds(tables, class_name, row, known, background, pair):
    """Σ_z q(z) ln P(a | row on known, z elsewhere) / P(b | ...); background is a list of (row, weight)."""
    total = 0.0
    for z, weight in background:
        mixed = {name: row[name] if name in known else z[name] for name in z}
        first, second = (log_joint(tables, class_name, mixed, c) for c in pair)
        total += weight * (first - second)
    return total / sum(weight for _, weight in background)


def decision(tables, class_name, row, n_classes):
    """The most probable class of a complete row, and its lead over the runner-up in nats."""
    logs = [log_joint(tables, class_name, row, c) for c in range(n_classes)]
    best = max(range(n_classes), key=lambda c: logs[c])
    rest = [logs[c] for c in range(n_classes) if c != best]
    return best, logs[best] - max(rest)


def is_sufficient(tables, class_name, row, fixed, arities, decided, n_classes):
    """Whether in all rows that agree on the fixed features one class leads all others, by more than 1e-9."""
    partial = {name: row[name] if name in fixed else None for name in arities}
    decisions = (decision(tables, class_name, full, n_classes) for full in completions(partial, arities))
    return all(best == decided and lead > 1e-9 for best, lead in decisions)


def fewest_changes(tables, class_name, row, arities, n_classes, changeable):
    """The fewest changes of changeable features that change the decision, and the largest lead of a rival so."""
    decided, _ = decision(tables, class_name, row, n_classes)
    found = {}
    partial = {name: None if name in changeable else row[name] for name in arities}
    for full in completions(partial, arities):
        count = sum(full[name] != row[name] for name in arities)
        logs = [log_joint(tables, class_name, full, c) for c in range(n_classes)]
        lead = max(logs[c] for c in range(n_classes) if c != decided) - logs[decided]
        found[count] = max(found.get(count, -math.inf), lead)
    reached = [count for count, lead in found.items() if lead > 1e-9]
    return (min(reached), found[min(reached)]) if reached else (None, None)


def fewest_changes_to(tables, row, arities, n_classes, changeable, target):
    """The fewest changes of changeable features after which a class leads all others by more than 1e-9."""
    partial = {name: None if name in changeable else row[name] for name in arities}
    counts = [
        sum(full[name] != row[name] for name in arities)
        for full in completions(partial, arities)
        if (reached := decision(tables, "c", full, n_classes))[0] == target and reached[1] > 1e-9
    ]
    return min(counts, default=None)
