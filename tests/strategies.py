"""Small random tables, and the lists of everything registered: a new score or search is tested once it exists."""

from dataclasses import dataclass
from functools import lru_cache
from inspect import isabstract, isclass

import numpy as np
from hypothesis import strategies as st

import anbexact.scores
import anbexact.search
from anbexact import DiscreteTable

SCORES = {
    name: getattr(anbexact.scores, name)
    for name in anbexact.scores.__all__
    if isclass(getattr(anbexact.scores, name))
    and not isabstract(getattr(anbexact.scores, name))
    and not getattr(getattr(anbexact.scores, name), "_is_protocol", False)
    and hasattr(getattr(anbexact.scores, name), "local_score")
}
"""Every decomposable score, by name; its defaults must make a usable score."""
SEARCHES = {name: getattr(anbexact.search, name) for name in anbexact.search.__all__ if name.startswith("learn_")}
"""Every search, by name: called as ``search(table, score)``."""


@dataclass
class Problem:
    """Rows of state numbers (the class last), their weights, and the declared numbers of states."""

    rows: list
    weights: list
    arities: list

    @property
    def n(self):
        """Number of features."""
        return len(self.arities) - 1

    @property
    def names(self):
        """Names of the variables in the table."""
        return [*(f"f{v}" for v in range(self.n)), "c"]

    @property
    def categories(self):
        """All declared states."""
        return {name: list(range(arity)) for name, arity in zip(self.names, self.arities, strict=True)}

    @property
    def table(self):
        """The table, its states declared; the same object while the problem stays as it is."""
        return _table_of(tuple(map(tuple, self.rows)), tuple(self.weights), tuple(self.arities))

    def frame(self):
        """The features as a frame, and the classes as a series."""
        import pandas as pd

        frame = pd.DataFrame(self.rows, columns=self.names, dtype=np.int64)
        return frame.drop(columns="c"), frame["c"]


def table_of(rows, weights, arities):
    """Return the DiscreteTable of rows of state numbers, with all states declared."""
    import pandas as pd

    names = [*(f"f{v}" for v in range(len(arities) - 1)), "c"]
    frame = pd.DataFrame(rows, columns=names, dtype=np.int64)
    categories = {name: list(range(arity)) for name, arity in zip(names, arities, strict=True)}
    return DiscreteTable.from_frame(frame, class_name="c", sample_weight=weights, categories=categories)


_table_of = lru_cache(maxsize=4)(table_of)


def random_problem(seed, n, *, n_rows=60, max_arity=4, n_classes=3, weights="ones", unseen=True, dependent=True):
    """Return a random problem; with ``dependent``, features copy earlier ones so that arcs are worth having."""
    rng = np.random.default_rng(seed)
    arities = [int(rng.integers(2, max_arity + 1)) for _ in range(n)] + [n_classes]
    codes = np.stack([rng.integers(0, arity, n_rows) for arity in arities], axis=1)
    if dependent:
        for v in range(1, n):
            source = int(rng.integers(0, v))
            copied = rng.random(n_rows) < 0.6
            codes[copied, v] = (codes[copied, source] + codes[copied, -1]) % arities[v]
    if unseen:
        arities = [arity + int(rng.integers(0, 2)) for arity in arities]
    if weights == "ones":
        weight = np.ones(n_rows)
    elif weights == "whole":
        weight = rng.choice([1, 2, 3, 31, 32, 33, 40, 1000], n_rows).astype(float)
    elif weights == "real":
        weight = np.exp(rng.normal(0, 2, n_rows))
    else:
        weight = np.where(rng.random(n_rows) < 0.5, rng.integers(1, 50, n_rows), rng.random(n_rows) * 3)
    return Problem([tuple(map(int, row)) for row in codes], [float(w) for w in weight], arities)


@st.composite
def problems(draw, min_features=1, max_features=4, max_rows=14, max_arity=3, min_arity=1):
    """Small tables with unseen states, constant columns, duplicate rows, and whole or real weights."""
    n = draw(st.integers(min_features, max_features))
    arities = [draw(st.integers(min_arity, max_arity)) for _ in range(n + 1)]
    row = st.tuples(*(st.integers(0, arity - 1) for arity in arities))
    rows = draw(st.lists(row, min_size=1, max_size=max_rows))
    whole = st.integers(1, 60).map(float)
    real = st.floats(1e-3, 50, allow_nan=False)
    weight = draw(st.sampled_from([st.just(1.0), whole, real, st.one_of(whole, real)]))
    weights = draw(st.lists(weight, min_size=len(rows), max_size=len(rows)))
    return Problem(rows, weights, arities)


ess_values = st.sampled_from([0.1, 0.5, 1.0, 2.0, 7.3, 50.0])


def numbered(edges):
    """Edges between feature numbers as edges between names."""
    return [(f"f{a}", f"f{b}") for a, b in edges]


@st.composite
def constrained_problems(draw, **kwargs):
    """Draw a problem, and constraints that some network fulfils."""
    problem = draw(problems(**kwargs))
    pairs = [(a, b) for a in range(problem.n) for b in range(problem.n) if a != b]
    order = draw(st.permutations(range(problem.n)))
    required, forbidden = [], []
    for a, b in pairs:
        fate = draw(st.sampled_from(["free", "free", "free", "required", "forbidden"]))
        if fate == "required" and order.index(a) < order.index(b):
            required.append((a, b))
        elif fate == "forbidden":
            forbidden.append((a, b))
    crowd = max([0, *(sum(child == b for _, b in required) for child in range(problem.n))])
    max_parents = draw(st.none() | st.integers(crowd, 4))
    return problem, {"max_parents": max_parents, "required": required, "forbidden": forbidden}
