"""Whether the universal measure decides rightly, ever more often: the share of right decisions by the rows.

Samples of 100 to 10,000 rows, 100 of each size, from distributions of X, Y and Z whose (in)dependences are known.
Asked is whether X and Y are independent, and whether they are given Z, by ``anbexact.selection.UniversalTest`` with
even prior odds: by Krichevsky and Trofimov's measure of the cells (KT), and by Hannan and Quinn's criterion (HQ, ε =
0.05 and 0.5). Cells are quantiles of the sample; levels are the default, or 3 of every variable in all sets.

In a chain X → Z → Y, X and Y are dependent, and independent given Z; in a collider X → Z ← Y it is the other way
round. Along an arrow the dependence is as follows.

- linear: all variables are Gaussian; a child has a correlation of 0.5 with each parent.
- multimodal: every variable is spread, with a deviation of 1, around -4, 0 or 4. Around which, is in a child that of
  the three nearest to its parent with probability 0.7, else any; with two parents, theirs numbered 0, 1 and 2 and
  added modulo 3. No correlation need be left.
- mixed: X and Z are Gaussian numbers with a correlation of 0.5, and Y is 0 or 1. In the chain,
  ``P(Y = 1) = 1 / (1 + exp(-2 z))``; in the collider it moves Z up or down by half of a standard deviation.

Target: none; ``docs/guides/continuous.md`` has the outcome. Takes some minutes; it is resumable. Writes
``docs/measurements/universal_consistency.csv`` and ``.png``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from anbexact import UniversalMeasure
from anbexact.selection import UniversalTest
from benchmarks.harness.output import panels, save, show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row

ROWS = (100, 300, 1_000, 3_000, 10_000)
SAMPLES = 100
CORRELATION = 0.5
VARIANTS = {
    "KT": UniversalMeasure(),
    "HQ, ε = 0.05": UniversalMeasure(epsilon=0.05),
    "HQ, ε = 0.5": UniversalMeasure(epsilon=0.5),
    "KT, 3 levels": UniversalMeasure(levels=3),
}
CASES = {
    ("chain", False): "dependent",
    ("chain", True): "independent given Z",
    ("collider", False): "independent",
    ("collider", True): "dependent given Z",
}
"""What is true of X and Y: by structure, and whether Z is given."""
Numbers = np.ndarray


def linear(rng: np.random.Generator, *parents: Numbers) -> Numbers:
    """Return a child of variance 1, given independent parents of mean 0 and variance 1."""
    noise = np.sqrt(1 - len(parents) * CORRELATION**2) * rng.normal(size=len(parents[0]))
    return CORRELATION * np.sum(parents, axis=0) + noise


def around(rng: np.random.Generator, modes: Numbers) -> Numbers:
    """Return values around the modes numbered 0, 1 and 2."""
    return 4.0 * (modes - 1) + rng.normal(size=len(modes))


def multimodal(rng: np.random.Generator, *parents: Numbers) -> Numbers:
    """Return a child with three modes, given parents with three modes."""
    nearest = [np.clip(np.rint(parent / 4), -1, 1).astype(int) + 1 for parent in parents]
    modes = np.sum(nearest, axis=0) % 3
    return around(rng, np.where(rng.random(len(modes)) < 0.7, modes, rng.integers(0, 3, len(modes))))


def linear_sample(rng: np.random.Generator, structure: str, n: int) -> tuple[Numbers, Numbers, Numbers]:
    """Return X, Y and Z."""
    x, y = rng.normal(size=(2, n))
    z = linear(rng, x) if structure == "chain" else linear(rng, x, y)
    return x, linear(rng, z) if structure == "chain" else y, z


def multimodal_sample(rng: np.random.Generator, structure: str, n: int) -> tuple[Numbers, Numbers, Numbers]:
    """Return X, Y and Z."""
    x, y = (around(rng, rng.integers(0, 3, n)) for _ in range(2))
    z = multimodal(rng, x) if structure == "chain" else multimodal(rng, x, y)
    return x, multimodal(rng, z) if structure == "chain" else y, z


def mixed_sample(rng: np.random.Generator, structure: str, n: int) -> tuple[Numbers, Numbers, Numbers]:
    """Return X, Y and Z."""
    x = rng.normal(size=n)
    y = rng.integers(0, 2, n)
    z = linear(rng, x) if structure == "chain" else linear(rng, x, 2.0 * y - 1)
    return x, (rng.random(n) < 1 / (1 + np.exp(-2 * z))).astype(int) if structure == "chain" else y, z


SAMPLERS: dict[str, Callable[[np.random.Generator, str, int], tuple[Numbers, Numbers, Numbers]]] = {
    "linear": linear_sample,
    "multimodal": multimodal_sample,
    "mixed": mixed_sample,
}


def one_sample(kind: str, n: int, seed: int) -> list[Row]:
    """Return the log odds of independence in two samples of a size, a row for each question and variant."""
    rows = []
    for structure in ("chain", "collider"):
        x, y, z = SAMPLERS[kind](np.random.default_rng([seed, n]), structure, n)
        frame = pd.DataFrame({"x": x, "y": y, "z": z})
        for variant, universal in VARIANTS.items():
            table, score = universal.read(frame)
            test = UniversalTest(score)
            for given in (False, True):
                odds = test.log_odds(table, "x", "y", ["z"] if given else [])
                truth = CASES[structure, given]
                right = (odds >= 0) == truth.startswith("independent")
                rows.append({"truth": truth, "variant": variant, "odds": odds, "right": right})
    return rows


def draw(summary: pd.DataFrame, path: Path) -> None:
    """Draw the share of right decisions along the number of rows, a panel for each true case."""
    figure, axes = panels(len(SAMPLERS), len(CASES), figsize=(11, 7), sharex=True, sharey=True)
    styles = (("#4477aa", "o-"), ("#cc6677", "s--"), ("#ddaa33", "^--"), ("#228833", "d:"))
    for i, kind in enumerate(SAMPLERS):
        for j, truth in enumerate(CASES.values()):
            ax = axes[i, j]
            for variant, (color, line) in zip(VARIANTS, styles, strict=True):
                shares = summary.loc[(kind, truth), ("right", variant)]
                ax.plot(shares.index, shares, line, color=color, markersize=4, linewidth=1.4, label=variant)
            ax.set_xscale("log")
            ax.set_ylim(-0.03, 1.03)
            if i == 0:
                ax.set_title(f"X, Y {truth}", fontsize=10)
            if j == 0:
                ax.set_ylabel(f"{kind}\nshare of right decisions")
            if i == len(SAMPLERS) - 1:
                ax.set_xlabel("rows")
    axes[0, 0].legend(frameon=False, fontsize=8)
    save(figure, path)


def main(run: Run) -> None:
    """Measure what is missing, then summarise and draw."""
    rows, samples = (ROWS[:1], 1) if run.smoke else (ROWS, SAMPLES)
    tasks = [(kind, n, seed) for kind in SAMPLERS for n in rows for seed in range(samples)]
    found = run.measure("universal_consistency", ["kind", "rows", "seed"], tasks, one_sample)
    found = found.assign(place=found["kind"].map(list(SAMPLERS).index))
    found = found.sort_values(["place", "rows", "seed"], kind="stable")
    groups = found.groupby(["kind", "truth", "rows", "variant"], sort=False)
    summary = groups.agg(right=("right", "mean"), median_log_odds=("odds", "median"))
    run.write("universal_consistency", summary, 3)
    by_variant = summary.unstack("variant")
    show(by_variant["right"][list(VARIANTS)])
    draw(by_variant, run.summaries / "universal_consistency.png")
