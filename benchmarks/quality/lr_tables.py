"""Feelders and Ivanovs, section 6: accuracies of logistic forests by the strength of interactions.

The paper says how the class depends on the features, not how strongly, nor how the features are distributed. Here
features are independent and uniform. The log odds of the class are sums of main effects and centred interactions:
an interaction multiplies ±1 by ±1, and by the strength.

Table 1: five binary features, binary class, equation (21): pairs (1,2), (1,3), (3,4) interact. Table 2: fifteen
features of 2, 3 or 4 states, ternary class, seven features in its Markov blanket, six mild interactions between them.
All models are fitted by pure conditional likelihood, as in the paper (naive Bayes is its logistic regression); the
generative naive Bayes and the forest with ``l2="auto"`` stand beside them.

Target: the published figures, which are printed where ``../shared/reference`` is there. Takes some minutes for 20
replications; it is resumable. Writes ``docs/measurements/lr_table1.csv`` and ``lr_table2.csv``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from anbexact import NaiveBayesClassifier
from anbexact.classifiers import LogitFANClassifier, PrunedNaiveBayesClassifier
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import NeedsData, published
from benchmarks.harness.timing import timed

REPLICATIONS = 20
SIZES = (50, 100, 500, 1000)
N_TEST = 10_000
STRENGTHS = {"none": 0.0, "weak": 0.18, "mild": 0.42, "strong": 1.45}
"""Coefficient of the product of two features coded as ±1; e^(4 · strength) is the ratio of odds ratios."""
MAIN = (0.6, -0.5, 0.4, -0.4, 0.5)
"""Coefficients of the five features coded as ±1."""
PAIRS = ((0, 1), (0, 2), (2, 3))
STATES = (2, 3, 2, 4, 2, 3, 2, 3, 2, 4, 2, 3, 2, 3, 2)
BLANKET_PAIRS = ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6))
Sample = tuple[pd.DataFrame, pd.Series]


def binary_sample(strength: float, n_rows: int, rng: np.random.Generator) -> Sample:
    """Return rows of table 1."""
    codes = rng.integers(0, 2, (n_rows, len(MAIN)))
    signs = 2.0 * codes - 1
    odds = signs @ np.array(MAIN) + strength * sum(signs[:, i] * signs[:, j] for i, j in PAIRS)
    return frame(codes), pd.Series((rng.random(n_rows) < 1 / (1 + np.exp(-odds))).astype(int), name="c")


def ternary_sample(n_rows: int, rng: np.random.Generator) -> Sample:
    """Return rows of table 2; the effects are the same in every replication."""
    effects = np.random.default_rng(2011)
    codes = np.stack([rng.integers(0, states, n_rows) for states in STATES], axis=1)
    odds = np.zeros((n_rows, 3))
    for i in range(7):
        odds += effects.normal(0, 0.6, (STATES[i], 3))[codes[:, i]]
    for i, j in BLANKET_PAIRS:
        table = effects.normal(0, 0.7, (STATES[i], STATES[j], 3))
        table -= table.mean(axis=0, keepdims=True)
        table -= table.mean(axis=1, keepdims=True)
        odds += table[codes[:, i], codes[:, j]]
    return frame(codes), pd.Series((odds + rng.gumbel(size=odds.shape)).argmax(axis=1), name="c")


def frame(codes: np.ndarray) -> pd.DataFrame:
    """Return the features as columns."""
    return pd.DataFrame(codes, columns=[f"x{i + 1}" for i in range(codes.shape[1])])


def accuracies(train: Sample, test: Sample) -> Row:
    """Return the accuracy of every model on the test rows, in per cent, and seconds."""
    naive, took, _ = timed(NaiveBayesClassifier(ess=1.0).fit, *train)
    fitted = {"generative NB": (naive, took)}
    logistic, took, _ = timed(naive.to_logit().refit, *train, l2=0)
    fitted["NB"] = logistic, took
    for name, model in {
        "pruned NB": PrunedNaiveBayesClassifier(l2=0, n_jobs=1),
        "FAN": LogitFANClassifier(l2=0, n_jobs=1),
        "FAN l2=auto": LogitFANClassifier(n_jobs=1),
    }.items():
        model.fit(*train)
        fitted[name] = model, model.structure_.certificate.seconds
    found: Row = {}
    for name, (model, seconds) in fitted.items():
        found |= {name: 100 * float((model.predict(test[0]) == test[1]).mean()), f"{name} s": seconds}
    return found


def replicate(table: str, strength: str, n_rows: int, replication: int) -> list[Row]:
    """Return one measurement."""
    warnings.simplefilter("ignore", UserWarning)  # separated classes
    rng = np.random.default_rng([int(table), list(STRENGTHS).index(strength), n_rows, replication])
    samples = [
        binary_sample(STRENGTHS[strength], n, rng) if table == "1" else ternary_sample(n, rng)
        for n in (n_rows, N_TEST)
    ]
    return [accuracies(*samples)]


def tasks(sizes: Sequence[int], replications: int) -> Iterator[tuple[str, str, int, int]]:
    """Yield all measurements."""
    for n_rows in sizes:
        for k in range(replications):
            yield from (("1", strength, n_rows, k) for strength in STRENGTHS)
            yield "2", "mild", n_rows, k


def show_published(name: str) -> None:
    """Print the paper's table, if it is there."""
    try:
        show(published(name), "published:")
    except NeedsData as absent:
        print(f"nothing to compare with: {absent}")


def main(run: Run) -> None:
    """Measure, print and write both tables."""
    keys = ["table", "interaction", "N", "replication"]
    wanted = tasks(SIZES[:1], 1) if run.smoke else tasks(SIZES, REPLICATIONS)
    rows = run.measure("lr_tables", keys, wanted, replicate)
    rows = rows.sort_values("replication", kind="stable")

    first = rows[rows["table"] == "1"].groupby(["interaction", "N"]).mean(numeric_only=True)
    columns = {
        "FAN - NB": first["FAN"] - first["NB"],
        "FAN - generative NB": first["FAN"] - first["generative NB"],
        "FAN l2=auto - NB": first["FAN l2=auto"] - first["NB"],
        "NB": first["NB"],
    }
    one = pd.concat(columns, axis=1).loc[list(STRENGTHS)].round(2).reset_index()
    run.write("lr_table1", one)
    show(one, "Table 1: accuracy on 10,000 test rows, percentage points", 2)
    show_published("lr_table1.csv")

    second = rows[rows["table"] == "2"].groupby("N")
    models = ("NB", "pruned NB", "FAN", "generative NB", "FAN l2=auto")
    two = pd.DataFrame(
        {
            column: value
            for model in models
            for column, value in {
                model: second[model].mean().round(2),
                f"{model} se": second[model].std(ddof=1).round(2),
                f"{model} s": second[f"{model} s"].mean().round(3),
            }.items()
        }
    ).reset_index()
    run.write("lr_table2", two)
    show(two, "Table 2: accuracy in per cent, its standard deviation over the replications, seconds of the search", 3)
    show_published("lr_table2.csv")
