"""Whether monotone posteriors are monotone in every row, and what conditions on shapes cost in time.

On some tables, naive Bayes and a TAN are refitted with smooth shapes, three times without conditions and with random
ones: one, three, or half of the numeric features, each rising or falling at random, for the second class or, of
several, for a random one. Rows are drawn feature by feature from the table's values, and one of the constrained
features runs through 20 of its values; ln P(c) / (1 - P(c)) must not fall, or not rise, nor may P(c).

Target: no violation in 100,000 rows; at most 3 times the processor time of the fit without conditions. Takes about
5 minutes; it is resumable. Writes ``docs/measurements/shape_constraints.csv``.
"""

import warnings

import numpy as np
import pandas as pd

from anbexact import AdditiveClassifier, NaiveBayesClassifier, TANClassifier
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import read
from benchmarks.harness.timing import timed

TABLES = ("pima", "heart", "australian", "liver", "banknote", "glass", "cmc")
MODELS = {"NB": NaiveBayesClassifier(n_jobs=1), "TAN": TANClassifier(n_jobs=1)}
ROWS, VALUES = 100, 20
"""Lines that are checked for every model and constrained feature, and the points of each: 2,000 rows."""


def against_rest(model: AdditiveClassifier, X: pd.DataFrame, place: int) -> np.ndarray:
    """Return ln P(c) / (1 - P(c)) of a class in every row."""
    logs = model.predict_log_proba(X)
    rest = np.delete(logs, place, axis=1)
    highest = rest.max(axis=1, keepdims=True)
    return logs[:, place] - np.log(np.exp(rest - highest).sum(axis=1)) - highest[:, 0]


def violations(
    model: AdditiveClassifier, X: pd.DataFrame, feature: str, sign: int, place: int, rng: np.random.Generator
) -> tuple[int, float]:
    """Return how many steps along a feature go the wrong way in random rows, and the least step."""
    drawn = pd.DataFrame({name: rng.choice(X[name], ROWS) for name in X})
    values = np.sort(rng.choice(X[feature], VALUES))
    rows = drawn.loc[drawn.index.repeat(VALUES)].reset_index(drop=True)
    rows[feature] = np.tile(values, ROWS)
    odds = sign * np.diff(against_rest(model, rows, place).reshape(ROWS, VALUES), axis=1)
    shares = sign * np.diff(model.predict_proba(rows)[:, place].reshape(ROWS, VALUES), axis=1)
    different = np.diff(values) > 0
    return int((odds < 0).sum() + (shares < 0).sum()), float(odds[:, different].min(initial=np.inf))


def one_table(name: str, label: str) -> list[Row]:
    """Return a row for every set of conditions."""
    warnings.simplefilter("ignore", UserWarning)
    X, y = read(name)
    rng = np.random.default_rng(0)
    numeric = [column for column in X if pd.api.types.is_numeric_dtype(X[column]) and X[column].nunique() > 2]
    X = X.dropna(subset=numeric)
    y = y.loc[X.index]
    classes = sorted(y.unique())
    model = AdditiveClassifier(MODELS[label])
    timed(model.fit, X, y)  # compiles
    rows: list[Row] = []
    for n_features in dict.fromkeys((1, min(3, len(numeric)), -(-len(numeric) // 2))):
        chosen = rng.choice(numeric, n_features, replace=False)
        place = 1 if len(classes) == 2 else int(rng.integers(len(classes)))
        signs = {feature: int(rng.choice([-1, 1])) for feature in chosen}
        monotone = {feature: {classes[place]: sign} for feature, sign in signs.items()}
        _, _, free = timed(model.set_params(monotone=None).fit, X, y)
        _, _, bound = timed(model.set_params(monotone=monotone).fit, X, y)
        found = [violations(model, X, feature, sign, place, rng) for feature, sign in signs.items()]
        proof = model.logit_.refitted.proof
        rows.append(
            {
                "features": n_features,
                "conditions": proof.conditions,
                "active": proof.active,
                "cost": round(proof.cost, 3),
                "gap": proof.gap,
                "rows": ROWS * VALUES * n_features,
                "violations": sum(count for count, _ in found),
                "least_step": min(least for _, least in found),
                "free_s": round(free, 3),
                "constrained_s": round(bound, 3),
            }
        )
    return rows


def main(run: Run) -> None:
    """Measure what is missing, then print violations and times."""
    here = set(run.manifest()["name"])
    names = [name for name in run.names(TABLES, continuous=True) if name in here]
    tasks = [(name, label) for name in names for label in MODELS]
    measured = run.measure("shape_constraints", ["table", "model"], tasks, one_table, jobs=1)
    run.write("shape_constraints", measured.set_index(["table", "model", "features"]), 12)
    measured["times"] = measured["constrained_s"] / measured["free_s"]
    show(measured.set_index(["table", "model", "features"]), decimals=3)
    print(f"{int(measured['violations'].sum())} violations in {int(measured['rows'].sum()):,} rows")
    print(f"times the free fit: median {measured['times'].median():.2f}, at most {measured['times'].max():.2f}")
