"""Columns of all kinds, with what the oracle of the universal measure needs to know of them."""

from dataclasses import dataclass
from functools import cache, cached_property
from math import floor, inf, log
from typing import ClassVar

import oracles
import pandas as pd
from hypothesis import strategies as st

from anbexact import UniversalMeasure
from anbexact.discretize import CountPartition, EqualWidthPartition, FixedCutsPartition, QuantilePartition

OWN_CUTS = ([2.5], [0.5, 7.25], [5.0])
STATES = ["u", "v", "w"]


def share_of(values, weights):
    """The measure of the quantiles: the share of the sample in an interval."""
    return lambda a, b: sum(w for v, w in zip(values, weights, strict=True) if a < v <= b) / sum(weights)


def width_within(low, high):
    """The measure of an interval's cells: their widths."""
    return lambda a, b: min(b, high) - max(a, low)


def counts_between(a, b):
    """Σ 1/j - 1/(j + 1) over the numbers from 1 on in (a + 1, b + 1]: the j-th of 0, 1, ... is j - 1."""
    first = 1 if a == -inf else floor(a) + 2
    return 1 / first - (0 if b == inf else 1 / (floor(b) + 2))


@dataclass
class Mixed:
    """Columns of all kinds, weighted rows, and what the oracle needs to know of every column."""

    columns: dict
    weights: list
    levels: int | None
    epsilon: float | None = None

    RULES: ClassVar = {
        "q": QuantilePartition(),
        "i": EqualWidthPartition(-4, 12),
        "n": CountPartition(),
        "o": FixedCutsPartition(OWN_CUTS, -4, 12),
    }

    @property
    def rules(self):
        """The rule of every continuous column, whose name tells its kind."""
        return {name: self.RULES[name[0]] for name in self.columns if name[0] in self.RULES}

    def read(self, class_name=None):
        """The table and the score; a column may be the class."""
        frame = pd.DataFrame(self.columns)
        discrete = {name: STATES for name in self.columns if name not in self.rules}
        y = None if class_name is None else frame.pop(class_name)
        measure = UniversalMeasure(self.rules, self.levels, self.epsilon)
        return measure.read(frame, y, sample_weight=self.weights, categories=discrete)

    def local(self, child, parents):
        """The local score by the oracle, kept."""
        return self.log_measure_of(frozenset({child, *parents})) - self.log_measure_of(frozenset(parents))

    @cached_property
    def log_measure_of(self):
        """ln g of sets by the oracle, kept."""  # noqa: D403
        return cache(lambda names: self.log_measure([name for name in self.columns if name in names]))

    def most(self, n_continuous):
        """Levels of every variable in sets of so many continuous ones."""
        return self.levels or max(1, floor(log(max(sum(self.weights), 1)) / n_continuous))

    def views(self, name, n_continuous):
        """A variable at its levels within sets of so many continuous ones, for the oracle."""
        values = self.columns[name]
        at_all = self.most(1)
        if name[0] == "d":
            return [(values, len(STATES), [0.0] * len(values))]
        added, measure = {
            "q": lambda: (oracles.quantile_cuts(values, self.weights, at_all), share_of(values, self.weights)),
            "i": lambda: (
                [[-4 + 16 * i / 2**k for i in range(1, 2**k, 2)] for k in range(1, at_all + 1)],
                width_within(-4, 12),
            ),
            "n": lambda: ([[k + 0.5] for k in range(at_all)], counts_between),
            "o": lambda: (OWN_CUTS[:at_all], width_within(-4, 12)),
        }[name[0]]()
        return oracles.at_levels(values, added, measure)[: self.most(n_continuous)]

    def log_measure(self, names):
        """ln g by the oracle."""  # noqa: D403
        measure = {
            True: lambda cells, n: oracles.kt_by_gamma(cells, self.weights, n),
            False: lambda cells, n: oracles.hannan_quinn(cells, self.weights, n, self.epsilon),
        }[self.epsilon is None]
        return oracles.universal_measure(self.all_views(names), self.weights, measure)

    def all_views(self, names):
        """All variables of a set at their levels."""
        return [self.views(name, sum(v in self.rules for v in names)) for name in names]


@st.composite
def mixed_columns(draw, weights=("ones", "whole", "real"), epsilons=(None, 0.05), max_rows=12):
    """One to four columns of numbers and states, with ties, constants and states that do not occur."""
    n_rows = draw(st.integers(1, max_rows))
    kinds = draw(st.lists(st.sampled_from("qinod"), min_size=1, max_size=4))
    values = {
        "q": st.integers(-3, 5).map(float),
        "i": st.one_of(st.integers(-4, 12).map(float), st.floats(-4, 12)),
        "n": st.integers(0, 6).map(float),
        "o": st.one_of(st.sampled_from([0.5, 2.5, 5.0, 7.25]), st.floats(-4, 12)),
        "d": st.sampled_from(STATES),
    }
    columns = {
        f"{kind}{j}": draw(st.lists(values[kind], min_size=n_rows, max_size=n_rows)) for j, kind in enumerate(kinds)
    }
    weight = {"ones": st.just(1.0), "whole": st.integers(1, 40).map(float), "real": st.floats(0.01, 30)}
    kind = draw(st.sampled_from(weights))
    drawn = draw(st.lists(weight[kind], min_size=n_rows, max_size=n_rows))
    return Mixed(columns, drawn, draw(st.sampled_from([None, None, 1, 2, 3])), draw(st.sampled_from(epsilons)))
