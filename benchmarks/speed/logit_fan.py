"""Forests by conditional likelihood: the search, and one step of it against fitting every candidate from scratch.

Target: 10 s for 15 features and 1,000 rows. Takes a minute, with ``--full`` (10,000 rows) some more.
"""

from functools import partial

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from anbexact import DiscreteTable
from anbexact.classifiers import LogitFANClassifier, PrunedNaiveBayesClassifier
from anbexact.rivals.indicators import Rows, make_columns
from anbexact.rivals.logit_fan_search import learn_logit_fan
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.timing import seconds
from benchmarks.quality.lr_tables import ternary_sample

TARGET = 10.0
"""Seconds for 15 features and 1,000 rows; published are 456."""


def plain_fit(rows: Rows, terms: list[tuple[int, ...]]) -> float:
    """Return the maximum conditional log likelihood of one model, fitted from 0 by scipy on its dense columns."""
    design = make_columns(rows, terms)
    x = np.zeros((len(rows.totals), design.n_columns + 1))
    x[np.arange(len(x))[:, None], design.cells] = 1.0  # -1, no column, is the last one
    x = x[:, :-1]

    def objective(beta: np.ndarray) -> tuple[float, np.ndarray]:
        eta = np.concatenate([np.zeros((len(x), 1)), x @ beta.reshape(x.shape[1], -1)], axis=1)
        logs = eta - logsumexp(eta, axis=1, keepdims=True)
        rest = rows.weights - rows.totals[:, None] * np.exp(logs)
        return -float(np.vdot(rows.weights, logs)), -(x.T @ rest[:, 1:]).ravel()

    start = np.zeros(x.shape[1] * rows.n_contrasts)
    return -float(minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 1000}).fun)


def main(run: Run) -> None:
    """Time searches; estimate what they would take if every model looked at were fitted from scratch."""
    rows = []
    for n_rows in (50,) if run.smoke else (100, 1000, 10_000) if run.full else (100, 1000):
        X, y = ternary_sample(n_rows, np.random.default_rng(0))
        X = X.iloc[:, :3] if run.smoke else X
        table = DiscreteTable.from_frame(X, y)
        distinct = Rows(table)
        n = X.shape[1]
        naive = [(), *((i,) for i in range(n))]
        models = [[*naive, (i, n - 1)] for i in range(0, n - 1, 2)]
        each = sum(seconds(plain_fit, distinct, model, repeats=3) for model in models) / len(models)
        for estimator in (PrunedNaiveBayesClassifier(), LogitFANClassifier()):
            edges = isinstance(estimator, LogitFANClassifier)
            search = partial(learn_logit_fan, table, edges=edges)
            scored = search().certificate.sets_scored
            took = seconds(search, repeats=3)
            rows.append(
                {
                    "model": type(estimator).__name__,
                    "rows": n_rows,
                    "models": scored,
                    "search s": took,
                    "target s": TARGET,
                    "one plain fit s": each,
                    "plain / search": each * scored / took,
                    "whole fit s": seconds(estimator.fit, X, y, repeats=3),
                }
            )
    show(rows)
