"""Classifiers as logistic regressions: conversion, refits, solvers, and peers.

The peers are statsmodels' ``MNLogit`` (Newton, on the same dense columns) and scikit-learn's ``LogisticRegression``
(on one indicator for every observed cell of a family, with a prior of the same precision, but around 0).
"""

import resource
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from statsmodels.discrete.discrete_model import MNLogit
from tables import generated, load, seconds
from threadpoolctl import threadpool_info

from anbexact import ANBClassifier, NaiveBayesClassifier, TANClassifier
from anbexact.adapters import to_logit
from anbexact.logit.fit import SOLVERS
from anbexact.logit.identification import design_matrix, identified

REFITS = {"letter": 60.0, "nursery": 3.0, "mushroom": 3.0}
"""Tables, and seconds that a refit with its defaults may take."""
L2 = 1.0
"""Precision of the prior for which solvers are compared."""
Row = dict[str, object]


def convert(name: str) -> None:
    """Print the seconds of a conversion, the coefficients, and the process's peak memory before and after, in MB."""
    X, y, _ = load(name, cut=True)
    anb = ANBClassifier(ess=1.0).fit(X, y)
    before = peak_memory()
    took = seconds(lambda: to_logit(anb).coefficients, 3)
    print(took, to_logit(anb).coefficients.size, before, peak_memory())


def peak_memory() -> float:
    """Return the most memory that this process has had resident, MB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def conversion(name: str) -> list[Row]:
    """Time the conversion of an exact ANB in a process of its own, and measure its memory."""
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import refit; refit.convert({name!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    took, coefficients, before, after = map(float, done.stdout.split())
    what = f"ANB on {name}, {coefficients:,.0f} coefficients"
    return [
        {"what": f"convert {what}", "measured": took, "target": 1.0, "unit": "s"},
        {"what": "    peak memory of the process", "measured": after / 1000, "target": 1.0, "unit": "GB"},
        {"what": "    of this, the conversion's share", "measured": (after - before) / 1000, "unit": "GB"},
    ]


def defaults(name: str, target: float, *, cut: bool = True) -> list[Row]:
    """Time a refit of an exact ANB with its defaults, the choice of the prior's strength included."""
    X, y, _ = load(name, cut=cut)
    X = X if cut else X.astype(float)  # continuous then, and cut by MDLP
    logit = to_logit(ANBClassifier(ess=1.0, discretizer="mdlp").fit(X, y))
    runs = [logit.refit(X, y) for _ in range(1 if target > 10 else 3)]
    found = runs[0].refitted
    before, after = logit.log_likelihood(X, y) / len(y), runs[0].log_likelihood(X, y) / len(y)
    what = f"refit ANB on {name}" + ("" if cut else ", MDLP") + f", {logit.n_parameters:,} coefficients"
    notes = f"l2 {found.l2:.3g}, {found.fit.iterations} iterations, CLL per row {before:.4f} -> {after:.4f}"
    took = median(run.refitted.seconds for run in runs)
    return [{"what": what, "measured": took, "target": target, "unit": "s", "notes": notes}]


def indicators(rows: int = 5_000, features: int = 50, states: int = 5, classes: int = 3) -> tuple:
    """Return a table whose classes overlap, so that the likelihood has a finite maximum."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, states, (rows, features))
    effects = rng.normal(0, 0.25, (features, states, classes))
    scores = effects[np.arange(features), codes].sum(axis=1) + rng.gumbel(size=(rows, classes))
    X = pd.DataFrame(codes.astype(str), columns=[f"f{i}" for i in range(features)]).astype("category")
    return X, pd.Series(scores.argmax(axis=1).astype(str), name="class")


def against_newton() -> list[Row]:
    """Compare a refit without prior with statsmodels' Newton on the same columns, by turns, medians of seven.

    Both are given what they need: MNLogit its dense columns, the refit the table's rows, read and collapsed.
    """
    X, y = indicators()
    logit = to_logit(NaiveBayesClassifier(ess=1.0).fit(X, y))
    refitted = logit.refit(X, y, l2=0)
    columns = design_matrix(refitted)[:, identified(refitted)]
    weights = refitted.refitted.design.weights
    peer = MNLogit(weights.argmax(axis=1), columns)
    ours, theirs = [], []
    for _ in range(7):
        ours.append(logit.refit(X, y, l2=0).refitted.seconds)
        began = perf_counter()
        result = peer.fit(method="newton", disp=False)
        theirs.append(perf_counter() - began)
    reached = refitted.refitted.fit.log_likelihood
    threads = max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)
    shape = f"{len(y):,} rows x {columns.shape[1]} columns, {weights.shape[1]} classes, l2 = 0"
    return [
        {
            "what": f"MNLogit, Newton, {shape}",
            "measured": median(theirs),
            "unit": "s",
            "notes": f"CLL {result.llf:.6f}, {threads} BLAS threads",
        },
        {"what": "refit, the same", "measured": median(ours), "unit": "s", "notes": f"CLL {reached:.6f}"},
        {"what": "    times faster", "measured": median(theirs) / median(ours), "target": 5.0, "unit": ""},
        {"what": "    relative difference", "measured": abs(result.llf / reached - 1), "target": 1e-6, "unit": ""},
    ]


def solvers(name: str, repeats: int) -> list[Row]:
    """Compare the solvers at a fixed prior on a TAN, and scikit-learn's logistic regression on the same cells."""
    X, y, _ = load(name, cut=True)
    logit = to_logit(TANClassifier(ess=1.0).fit(X, y))
    rows: list[Row] = []
    for solver in SOLVERS:
        found = logit.refit(X, y, l2=L2, solver=solver).refitted
        took = seconds(lambda solver=solver: logit.refit(X, y, l2=L2, solver=solver), repeats)
        state = "" if found.fit.converged else ", not converged"
        notes = f"{found.fit.iterations} iterations, penalised CLL {found.fit.penalised:.6f}{state}"
        rows.append({"what": f"TAN on {name}, l2 = {L2:g}: {solver}", "measured": took, "unit": "s", "notes": notes})
    cells = found.design.cells
    row, of_class = np.nonzero(found.design.weights)
    ones = csr_array(
        (np.ones(cells.size), cells.ravel(), np.arange(0, cells.size + 1, cells.shape[1])),
        shape=(len(cells), found.design.n_cells),
    )[row]
    weights = found.design.weights[row, of_class]
    for solver in (
        ("lbfgs", "newton-cholesky") if found.design.n_cells * found.design.n_classes < 5_000 else ("lbfgs",)
    ):
        peer = LogisticRegression(C=1 / L2, solver=solver, max_iter=10_000, tol=1e-6)
        began = perf_counter()
        peer.fit(ones, of_class, sample_weight=weights)
        took = perf_counter() - began
        reached = weights @ peer.predict_log_proba(ones)[np.arange(len(row)), of_class]
        notes = f"{int(peer.n_iter_.max())} iterations, CLL {reached:.2f} (ours {found.fit.log_likelihood:.2f})"
        rows.append({"what": f"    scikit-learn, {solver}, around 0", "measured": took, "unit": "s", "notes": notes})
    return rows


def run(*, full: bool) -> list[Row]:
    """Measure conversion, refits by default, the peer without prior, and solvers; on letter only if ``full``."""
    warnings.simplefilter("ignore")
    warm_X, warm_y = generated(3, 50, 2, 2)
    to_logit(TANClassifier(ess=1.0).fit(warm_X, warm_y)).refit(warm_X, warm_y)
    parts: list[Callable[[], list[Row]]] = [lambda: conversion("letter")]
    parts += [lambda name=name, target=target: defaults(name, target) for name, target in REFITS.items()]
    parts += [against_newton, lambda: solvers("nursery", 3)]
    if full:
        parts += [lambda: defaults("letter", REFITS["letter"], cut=False), lambda: solvers("letter", 1)]
    return [row for part in parts for row in part()]
