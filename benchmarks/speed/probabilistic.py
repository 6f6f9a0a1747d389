"""NumPyro's sampler on models of ours whose answer is known: seconds, and how far the samples are from the answer.

The tables of a TAN on 1,000 rows have the means that the classifier holds. A smooth refit has a Laplace posterior.

Target: the tables are sampled in two minutes, and their means differ from the classifier's by at most 3 Monte Carlo
errors. Of right samples, one mean in 370 differs by more. A Monte Carlo error is the standard deviation of the known
Dirichlet distribution over the root of the effective sample size. Takes four minutes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from anbexact import NaiveBayesClassifier, TANClassifier
from anbexact.adapters import logit_to_numpyro, to_logit, to_numpyro
from anbexact.adapters.ppl.bayesian import network_sites
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.timing import timed

ROWS = 1_000
"""Rows that are sampled from a table."""
DRAWS = 500
"""Draws, after as many for warming up."""
TARGET = 120.0
"""Seconds."""


def main(run: Run) -> None:
    """Sample; leave it out without NumPyro."""
    try:
        import numpyro
    except ImportError:
        print("left out: NumPyro is not installed")
        return
    numpyro.enable_x64()
    rows = []
    for name in run.names(["tic-tac-toe", "nursery", "car"]):
        X, y, _ = run.load(name)
        some = np.random.default_rng(0).permutation(len(X))[:ROWS]
        rows.append({"table": name, "rows": len(some), **of_tables(X.iloc[some], y.iloc[some], draws(run))})
    show(rows)
    rows_of_refits = []
    for name in run.names(["iris", "pima"], continuous=True):
        X, y, _ = run.load(name)
        rows_of_refits.append({"table": name, "rows": len(X), **of_a_refit(X, y, draws(run))})
    show(rows_of_refits, "smooth refits of a naive Bayes")
    run.write("probabilistic", pd.DataFrame(rows + rows_of_refits), 3)


def draws(run: Run) -> int:
    """Return how many there are of each kind."""
    return 5 if run.smoke else DRAWS


def of_tables(X: pd.DataFrame, y: Any, n_draws: int) -> dict[str, object]:
    """Return the seconds, and the differences of means from those of the classifier, in Monte Carlo errors."""
    from numpyro.diagnostics import effective_sample_size

    classifier = TANClassifier(ess=1.0).fit(X, y)
    seconds, samples = sampled(to_numpyro(classifier, X, y), n_draws)
    known = network_sites(classifier, None, None, None, "posterior", None)
    errors = []
    for name, alpha in known.concentrations.items():
        of_table, total = samples[known.sites[name]], alpha.sum(axis=-1, keepdims=True)
        mean = alpha / total
        sizes = np.minimum(effective_sample_size(of_table[None]), n_draws)
        error = np.sqrt(mean * (1 - mean) / (total + 1) / sizes)
        errors.append(((of_table.mean(axis=0) - mean) / error).ravel())
    every = np.abs(np.concatenate(errors))
    return {
        "seconds": seconds,
        "target": TARGET,
        "means": every.size,
        "largest error": every.max(),
        "above 3": int((every > 3).sum()),
    }


def of_a_refit(X: pd.DataFrame, y: Any, n_draws: int) -> dict[str, object]:
    """Return the seconds, and how standard deviations of the samples compare with the Laplace posterior's."""
    model = to_logit(NaiveBayesClassifier().fit(X, y)).refit(X, y, smooth=1.0)
    seconds, samples = sampled(logit_to_numpyro(model), n_draws)
    s = len(model.classes_)
    contrast = np.eye(s)[0] - 1 / s
    shifts = samples["shift"] @ contrast
    laplace = np.sqrt(np.diagonal(model.refitted.curvature.covariance(contrast)))
    ratios = shifts.std(axis=0) / laplace
    distances = (shifts.mean(axis=0) - model.refitted.fit.shift @ contrast) / laplace
    return {
        "seconds": seconds,
        "shifts": ratios.size,
        "mean ratio of SD to Laplace": ratios.mean(),
        "least": ratios.min(),
        "largest": ratios.max(),
        "largest distance of means in SD": np.abs(distances).max(),
    }


def sampled(model: Any, n_draws: int) -> tuple[float, dict[str, np.ndarray]]:
    """Return the seconds of a chain, compilation too, and its draws."""
    import jax
    from numpyro.infer import MCMC, NUTS

    chain = MCMC(NUTS(model), num_warmup=n_draws, num_samples=n_draws, progress_bar=False)
    seconds = timed(chain.run, jax.random.PRNGKey(0)).seconds
    return seconds, {name: np.asarray(values) for name, values in chain.get_samples().items()}
