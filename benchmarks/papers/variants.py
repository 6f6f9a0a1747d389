"""Variants of a table: read, split or judged otherwise than in Table 1, by what the paper leaves open."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import KFold

from benchmarks.harness.folds import means
from benchmarks.harness.places import RESULTS
from benchmarks.harness.store import Row, measure, stored
from benchmarks.harness.tables import Table
from benchmarks.papers.accuracy import SCORES, Priority, judged, whole_repeats
from benchmarks.papers.common import FOLDS, KEYS, continuous_columns, cut, folds, listed, read
from benchmarks.papers.methods import METHODS

STORE = RESULTS / "papers_sensitivity.csv"
Split = list[tuple[np.ndarray, np.ndarray]]
"""Training and test rows of every fold."""


@dataclass(frozen=True)
class Variant:
    """A table as the paper may have had it, or split it, or judged or classified it.

    Attributes
    ----------
    table : str
        Which.
    words : str
        What is otherwise than in Table 1 here.
    repeats : dict
        How often the rows are split into folds, by method.
    read : callable
        Returns the rows for a repeat, called with its number.
    folds : callable
        Returns the folds, called with the class and the number of the repeat.
    priority : callable, optional
        Returns the :data:`Priority`, called with the number of the fold; by default the first class wins.
    settings : dict
        Parameters that classifiers other than naive Bayes are given.
    """

    table: str
    words: str
    repeats: Mapping[str, int]
    read: Callable[[int], Table]
    folds: Callable[[pd.Series, int], Split] = folds
    priority: Callable[[int], Priority] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What its measurements are kept by; other words have it measured anew."""
        return f"{self.table}: {self.words}"

    def model(self, method: str) -> Any:
        """Return a classifier."""
        return clone(METHODS[method]).set_params(**({} if method == "NaiveBayes" else self.settings))


def unstratified(y: pd.Series, repeat: int) -> Split:
    """Return folds that do not look at the class."""
    return list(KFold(FOLDS, shuffle=True, random_state=repeat).split(np.zeros(len(y))))


def at_random(fold: int) -> Priority:
    """Return random numbers."""
    return np.random.default_rng(fold).random


def last(fold: int) -> Priority:  # noqa: ARG001  # the same for all folds
    """Return the place of every class, so that the last one wins."""
    return lambda shape: np.broadcast_to(np.arange(1, shape[-1] + 1), shape)


def waves(sample: int) -> Table:
    """Return 5,000 rows drawn by the rule of waveform (Breiman et al., 1984, section 2.6.2), cut at their medians.

    Three triangles of height 6 at three places; a class mixes two of them in random shares and adds normal noise.
    """
    rng = np.random.default_rng(sample)
    place = np.arange(1, 22)
    triangles = np.array([np.maximum(6 - np.abs(place - top), 0) for top in (7, 15, 11)])
    y = rng.integers(0, 3, 5_000)
    share = rng.random((len(y), 1))
    first, second = triangles[np.array([0, 0, 1])[y]], triangles[np.array([1, 2, 2])[y]]
    values = share * first + (1 - share) * second + rng.normal(size=first.shape)
    X = pd.DataFrame(values.round(2), columns=[f"x{j}" for j in place])
    return cut(X, list(X)), pd.Series(y.astype(str), name="class").astype("category")


def cut_at(
    table: str, *, also: Sequence[str] = (), whole: Sequence[str] = (), without: Sequence[str] = ()
) -> Callable[[int], Table]:
    """Return how to read a table of which more columns are cut, some are left whole, and some are left out."""

    def rows(repeat: int) -> Table:  # noqa: ARG001  # the same rows for all repeats
        continuous = [name for name in continuous_columns(table) if name not in (*whole, *also)]
        X, y = read(table, [*continuous, *also])
        return X.drop(columns=list(without)), y

    return rows


def cut_by(table: str, above: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[[int], Table]:
    """Return how to read a table whose continuous columns are cut by a rule: which values are above."""

    def rows(repeat: int) -> Table:  # noqa: ARG001
        X, y = read(table, [])
        continuous = continuous_columns(table)
        return X.assign(**above(X[continuous].astype(float)).astype("category")), y

    return rows


def median_above(X: pd.DataFrame) -> pd.DataFrame:
    """Return which values are the median of their column, or above it."""
    return X.ge(X.median())


def above_mean(X: pd.DataFrame) -> pd.DataFrame:
    """Return which values are above the mean of their column."""
    return X.gt(X.mean())


EXACT = ("GBN-BDeu", "ANB-BDeu", "fsANB-BDeu")
AT_RANDOM = "one of equally probable classes is drawn at random"
TIED = ("hayes-roth", "mux6")
"""Tables in whose test rows classes are often equally probable."""
MORE = "as in Table 1, with more repeats"
VARIANTS = (
    Variant(
        "waveform21",
        "samples of 5,000 rows from the rule instead of repeats; at most five parents, to be faster",
        dict.fromkeys(("NaiveBayes", *EXACT), 25),
        waves,
        settings={"max_parents": 5},
    ),
    Variant(
        "australian",
        "x4 (three values) is cut, too, x5 (fourteen) is not",
        dict.fromkeys(("NaiveBayes", "TAN-aCLL", *EXACT), 25),
        cut_at("australian", also=["x4"], whole=["x5"]),
    ),
    Variant("hepatitis", MORE, dict.fromkeys(("GBN-BDeu", "ANB-BDeu"), 25), cut_at("hepatitis")),
    Variant("pendigits", MORE, {"ANB-BDeu": 25}, cut_at("pendigits")),
    Variant("wine", MORE, dict.fromkeys(("ANB-BDeu", "fsANB-BDeu"), 25), cut_at("wine")),
    Variant("post-operative", MORE, dict.fromkeys(("NaiveBayes", "ANB-BDeu"), 25), cut_at("post-operative")),
    *(Variant(table, AT_RANDOM, {"GBN-BDeu": 25}, cut_at(table), priority=at_random) for table in TIED),
    Variant(
        "spect",
        "folds are not stratified",
        dict.fromkeys(("NaiveBayes", *EXACT), 5),
        cut_at("spect"),
        unstratified,
    ),
    Variant(
        "bank",
        "emp_var_rate (ten values) and previous (eight) are cut, too, and pdays is left out",
        {"NaiveBayes": 5, "TAN-aCLL": 5, **dict.fromkeys(EXACT, 1)},
        cut_at("bank", also=["emp_var_rate", "previous"], without=["pdays"]),
    ),
)
AUSTRALIAN = ("x4", "x5", "x6", "x10", "x12")
"""Columns that could be numbers as well as states."""
BANK = ("emp_var_rate", "previous", "pdays")
"""Columns of few values, and one that has the same value in nearly all rows."""
SIZES = (0.1, 5.0, 20.0)
"""Equivalent sample sizes tried on mushroom."""
LIMITS = (2, 3)
"""Most parents of a variable tried there."""
LAST = "the last of equally probable classes is taken"
EQUAL_ABOVE, MEAN = "values equal to the median are above", "cut at the mean"
CHOSEN = "the size chosen is that of the network, too"


def australian(columns: Sequence[str]) -> Variant:
    """Return the variant that cuts these columns of the five, and no other of them."""
    left = [name for name in AUSTRALIAN if name not in columns]
    return Variant(
        "australian",
        f"of {', '.join(AUSTRALIAN)}, cut: {', '.join(columns) or 'none'}",
        dict.fromkeys(("NaiveBayes", "TAN-aCLL", "GBN-BDeu", "ANB-BDeu"), 5),
        cut_at("australian", also=columns, whole=left),
    )


def bank(columns: Sequence[str]) -> Variant:
    """Return the variant that changes these columns: pdays is left out, the others are cut."""
    also, without = [name for name in columns if name != "pdays"], [name for name in columns if name == "pdays"]
    return Variant(
        "bank", f"changed: {', '.join(columns)}", {"NaiveBayes": 1}, cut_at("bank", also=also, without=without)
    )


def mushroom(words: str, **settings: Any) -> Variant:
    """Return the variant whose networks are learned with other settings."""
    return Variant("mushroom", words, {"GBN-BDeu": 1}, cut_at("mushroom"), settings=settings)


@cache
def asides() -> dict[str, tuple[Variant, ...]]:
    """Return the variants that only the remarks mention, by their subject."""
    return {
        "last": tuple(Variant(table, LAST, {"GBN-BDeu": 1}, cut_at(table), priority=last) for table in TIED),
        "australian": tuple(map(australian, subsets(AUSTRALIAN))),
        "bank": tuple(map(bank, subsets(BANK)[1:-1])),
        "pendigits": tuple(
            Variant("pendigits", words, {"NaiveBayes": 1, "ANB-BDeu": 1}, cut_by("pendigits", above))
            for words, above in ((EQUAL_ABOVE, median_above), (MEAN, above_mean))
        ),
        "above": tuple(
            Variant(table, EQUAL_ABOVE, {"NaiveBayes": 1}, cut_by(table, median_above)) for table in ("cmc", "letter")
        ),
        "mushroom": (
            *(mushroom(f"equivalent sample size {size:g}", ess=size) for size in SIZES),
            *(mushroom(f"at most {k} parents", max_parents=k) for k in LIMITS),
        ),
        "sizes": tuple(
            Variant(table, CHOSEN, {"fsANB-BDeu": 1}, cut_at(table), settings={"network_ess": None})
            for table in listed()["name"]
        ),
    }


def subsets(things: Sequence[str]) -> list[tuple[str, ...]]:
    """Return all ways to choose some of several things, fewest first."""
    return list(chain.from_iterable(combinations(things, k) for k in range(len(things) + 1)))


def planned() -> tuple[Variant, ...]:
    """Return all variants."""
    return (*VARIANTS, *chain.from_iterable(asides().values()))


def one(name: str, method: str, fold: int) -> list[Row]:
    """Measure a fold of a variant, numbered through all repeats."""
    variant = next(variant for variant in planned() if variant.name == name)
    repeat, part = divmod(fold, FOLDS)
    X, y = variant.read(repeat)
    train, test = variant.folds(y, repeat)[part]
    priority = variant.priority(fold) if variant.priority else None
    return [judged(variant.model(method), X, y, train, test, priority)]


def measured() -> None:
    """Measure what is missing, those with most repeats first."""
    plan = [(variant.name, method, n) for variant in planned() for method, n in variant.repeats.items()]
    plan.sort(key=lambda task: -task[2])
    measure(STORE, KEYS, [(name, method, fold) for name, method, n in plan for fold in range(n * FOLDS)], one)


def of_repeats(path: Path) -> pd.Series:
    """Return the accuracy of every table or variant, method and repeat that is kept in a file."""
    return means(whole_repeats(stored(path, KEYS)), ["table", "method", "repeat"], SCORES)["accuracy"]


def complete() -> bool:
    """Whether all is measured."""
    if not STORE.exists():
        return False
    there = of_repeats(STORE).groupby(["table", "method"]).size()
    return all(there.get((v.name, method), 0) >= n for v in planned() for method, n in v.repeats.items())
