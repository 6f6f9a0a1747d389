"""Classifiers as logistic regressions: conversion, refits, solvers, and peers.

The peers are statsmodels' ``MNLogit`` (Newton, on the same dense columns) and scikit-learn's ``LogisticRegression``
(on one indicator for every observed cell of a family, with a prior of the same precision, but around 0).

Target: a conversion of letter in 1 s and 1 GB, the seconds of ``REFITS``, and a fifth of MNLogit's time. Takes two
minutes, with ``--full`` (solvers on letter) ten.
"""

import warnings
from statistics import median

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from statsmodels.discrete.discrete_model import MNLogit
from threadpoolctl import threadpool_info

from anbexact import ANBClassifier, NaiveBayesClassifier, TANClassifier
from anbexact.adapters import to_logit
from anbexact.models.logit.identification import design_matrix, identified
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.timing import alone, by_turns, peak_memory, seconds, timed

REFITS = {"letter": 60.0, "nursery": 3.0, "mushroom": 3.0}
"""Tables, and seconds that a refit with its defaults may take."""
L2 = 1.0
"""Precision of the prior for which solvers are compared."""


def convert(run: Run, name: str) -> tuple[float, int, float, float]:
    """Return the seconds of a conversion, the coefficients, and the peak memory before and after, GB."""
    X, y, _ = run.load(name, cut=True)
    anb = ANBClassifier(ess=1.0).fit(X, y)
    before = peak_memory()
    took = seconds(coefficients, anb, repeats=3)
    return took, coefficients(anb).size, before / 1e9, peak_memory() / 1e9


def coefficients(classifier: ANBClassifier) -> np.ndarray:
    """Convert, and return what the regression is made of."""
    return to_logit(classifier).coefficients


def conversion(run: Run, name: str) -> list[Row]:
    """Time the conversion of an exact ANB in a process of its own, and measure its memory."""
    took, size, before, after = alone(convert, run, name)
    return [
        {"what": f"convert ANB on {name}, {size:,} coefficients", "measured": took, "target": 1.0, "unit": "s"},
        {"what": "    peak memory of the process", "measured": after, "target": 1.0, "unit": "GB"},
        {"what": "    of this, the conversion's share", "measured": after - before, "unit": "GB"},
    ]


def defaults(run: Run, name: str, target: float, *, cut: bool = True) -> list[Row]:
    """Time a refit of an exact ANB with its defaults, the choice of the prior's strength included."""
    X, y, _ = run.load(name, cut=cut)
    X = X if cut else X.astype(float)  # continuous then, and cut by MDLP
    logit = to_logit(ANBClassifier(ess=1.0, discretizer="mdlp").fit(X, y))
    runs = [logit.refit(X, y) for _ in range(1 if target > 10 else 3)]
    found = runs[0].refitted
    before, after = logit.log_likelihood(X, y) / len(y), runs[0].log_likelihood(X, y) / len(y)
    what = f"refit ANB on {name}" + ("" if cut else ", MDLP") + f", {logit.n_parameters:,} coefficients"
    notes = f"l2 {found.l2:.3g}, {found.fit.iterations} iterations, CLL per row {before:.4f} -> {after:.4f}"
    took = median(run.refitted.seconds for run in runs)
    return [{"what": what, "measured": took, "target": target, "unit": "s", "notes": notes}]


def indicators(rows: int, features: int, states: int = 5, classes: int = 3) -> tuple[pd.DataFrame, pd.Series]:
    """Return a table whose classes overlap, so that the likelihood has a finite maximum."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, states, (rows, features))
    effects = rng.normal(0, 0.25, (features, states, classes))
    scores = effects[np.arange(features), codes].sum(axis=1) + rng.gumbel(size=(rows, classes))
    X = pd.DataFrame(codes.astype(str), columns=[f"f{i}" for i in range(features)]).astype("category")
    return X, pd.Series(scores.argmax(axis=1).astype(str), name="class")


def against_newton(rows: int, features: int) -> list[Row]:
    """Compare a refit without prior with statsmodels' Newton on the same columns, by turns, medians of seven.

    Both are given what they need: MNLogit its dense columns, the refit the table's rows, read and collapsed.
    """
    X, y = indicators(rows, features)
    logit = to_logit(NaiveBayesClassifier(ess=1.0).fit(X, y))
    refitted = logit.refit(X, y, l2=0)
    columns = design_matrix(refitted)[:, identified(refitted)]
    weights = refitted.refitted.design.weights
    peer = MNLogit(weights.argmax(axis=1), columns)
    result = peer.fit(method="newton", disp=False)
    ours, theirs = by_turns(
        lambda: logit.refit(X, y, l2=0).refitted.seconds,
        lambda: timed(peer.fit, method="newton", disp=False).seconds,
    )
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


def solvers(run: Run, name: str, repeats: int) -> list[Row]:
    """Compare a refit of a TAN at a fixed prior with scikit-learn's logistic regression on the same cells."""
    X, y, _ = run.load(name, cut=True)
    logit = to_logit(TANClassifier(ess=1.0).fit(X, y))
    found = logit.refit(X, y, l2=L2).refitted
    took = seconds(lambda: logit.refit(X, y, l2=L2), repeats=repeats)
    state = "" if found.fit.converged else ", not converged"
    notes = f"{found.fit.iterations} iterations, penalised CLL {found.fit.penalised:.6f}{state}"
    rows: list[Row] = [{"what": f"TAN on {name}, l2 = {L2:g}", "measured": took, "unit": "s", "notes": notes}]
    cells = found.design.cells
    row, class_codes = np.nonzero(found.design.weights)
    ones = csr_array(
        (np.ones(cells.size), cells.ravel(), np.arange(0, cells.size + 1, cells.shape[1])),
        shape=(len(cells), found.design.n_cells),
    )[row]
    weights = found.design.weights[row, class_codes]
    for solver in (
        ("lbfgs", "newton-cholesky") if found.design.n_cells * found.design.n_classes < 5_000 else ("lbfgs",)
    ):
        peer = LogisticRegression(C=1 / L2, solver=solver, max_iter=10_000, tol=1e-6)
        took = timed(peer.fit, ones, class_codes, sample_weight=weights).seconds
        reached = weights @ peer.predict_log_proba(ones)[np.arange(len(row)), class_codes]
        notes = f"{int(peer.n_iter_.max())} iterations, CLL {reached:.2f} (ours {found.fit.log_likelihood:.2f})"
        rows.append({"what": f"    scikit-learn, {solver}, around 0", "measured": took, "unit": "s", "notes": notes})
    return rows


def main(run: Run) -> None:
    """Measure conversion, refits by default, the peer without prior, and solvers; on letter only if ``--full``."""
    warnings.simplefilter("ignore")
    warm_X, warm_y = run.generated(3, 50, 2, 2)
    to_logit(TANClassifier(ess=1.0).fit(warm_X, warm_y)).refit(warm_X, warm_y)
    rows = conversion(run, "letter")
    for name, target in REFITS.items():
        rows += defaults(run, name, target)
    rows += against_newton(200, 3) if run.smoke else against_newton(5_000, 50)
    rows += solvers(run, "nursery", 3)
    if run.full:
        rows += defaults(run, "letter", REFITS["letter"], cut=False)
        rows += solvers(run, "letter", 1)
    show(rows)
