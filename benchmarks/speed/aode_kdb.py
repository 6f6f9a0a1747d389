"""AODE and kDB: fit and prediction against AODE in plain numpy and against TAN, and what of the fit is the table.

All states stand for themselves: categories are not grouped.

Target: AODE learns letter in 0.08 s, and predicts 0.18 million rows per second (Weka's). Takes a quarter of a minute.
"""

import numpy as np

from anbexact import DiscreteTable, TANClassifier
from anbexact.classifiers import AODEClassifier, KDBClassifier
from anbexact.models.aode import AODEPosterior, count_pairs
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.timing import seconds

CASES = {"letter": (0.08, 0.18), "mushroom": (None, None), "nursery": (None, None)}
"""Seconds of fit that AODE should stay below, and million rows per second that it should predict (Weka's, letter)."""


def plain_counts(
    codes: np.ndarray, class_codes: np.ndarray, arities: list[int], classes: int
) -> list[list[np.ndarray]]:
    """Return the contingency tables of all pairs of features with the class, axes (i, j, class), by bincount."""
    tables = []
    for i, r in enumerate(arities):
        tables.append([])
        for j, q in enumerate(arities):
            cells = (codes[i] * q + codes[j]) * classes + class_codes
            tables[i].append(np.bincount(cells, minlength=r * q * classes).reshape(r, q, classes))
    return tables


def plain_logs(tables: list[list[np.ndarray]]) -> list[list[np.ndarray]]:
    """Return ln P(x_j | c, x_i) of all pairs; ln P(c, x_i) where j is i."""
    logs = []
    for i, of_i in enumerate(tables):
        single = np.einsum("aac->ac", of_i[i])
        n = single.sum()
        logs.append([np.log((table + 1 / table.size) / (single + 1 / single.size)[:, None]) for table in of_i])
        logs[i][i] = np.log((single + 1 / single.size) / (n + 1))
    return logs


def plain_fit(codes: np.ndarray, class_codes: np.ndarray, arities: list[int], classes: int) -> list[list[np.ndarray]]:
    """Count, and take logarithms."""
    return plain_logs(plain_counts(codes, class_codes, arities, classes))


def plain_posterior(logs: list[list[np.ndarray]], codes: np.ndarray) -> np.ndarray:
    """Return the class posterior of complete rows without rare states."""
    terms = []
    for i, of_i in enumerate(logs):
        terms.append(of_i[i][codes[i]])
        for j, of_pair in enumerate(of_i):
            if i != j:
                terms[i] += of_pair[codes[i], codes[j]]
    joint = np.logaddexp.reduce(terms)
    joint = np.exp(joint - joint.max(axis=1, keepdims=True))
    return joint / joint.sum(axis=1, keepdims=True)


def main(run: Run) -> None:
    """Time the parts on frames with categorical dtype; million rows per second of ``predict_proba``."""
    rows = []
    for name, (fit_target, rate_target) in CASES.items():
        X, y, source = run.load(name)
        y = y.astype("category")
        models = {
            "AODE": AODEClassifier(group_categories=None),
            "kDB": KDBClassifier(ess=1.0, group_categories=None),
            "TAN": TANClassifier(ess=1.0, group_categories=None),
        }
        for model in models.values():
            model.fit(X, y)
        aode = models["AODE"]
        table = DiscreteTable.from_frame(X, y)
        counts = count_pairs(table)
        codes = np.array([X[column].cat.codes for column in X], dtype=np.int64)
        class_codes = y.cat.codes.to_numpy(dtype=np.int64)
        shape = list(table.shape(table.vocabulary.features)), len(aode.classes_)
        logs = plain_fit(codes, class_codes, *shape)
        if min(counts.alone.sum(axis=1)) >= 1:
            np.testing.assert_allclose(plain_posterior(logs, codes), aode.predict_proba(X), atol=1e-9)
        of_fit = {
            "AODE fit s": seconds(aode.fit, X, y, repeats=15),
            "of it the table": seconds(DiscreteTable.from_frame, X, y, repeats=15),
            "counts": seconds(count_pairs, table, repeats=15),
            "logs": seconds(AODEPosterior, counts, 1.0, 1.0, repeats=15),
            "kDB fit s": seconds(models["kDB"].fit, X, y, repeats=15),
            "TAN fit s": seconds(models["TAN"].fit, X, y, repeats=15),
        }
        plain = seconds(plain_fit, codes, class_codes, *shape, repeats=3)
        rates = {
            f"{label} Mrows/s": len(X) / seconds(model.predict_proba, X, repeats=9) / 1e6
            for label, model in models.items()
        }
        slow = len(X) / seconds(plain_posterior, logs, codes, repeats=3) / 1e6
        rows.append(
            {
                "table": name,
                "source": source,
                **of_fit,
                "target s": fit_target,
                "counts, logs / plain": (of_fit["counts"] + of_fit["logs"]) / plain,
                **rates,
                "target Mrows/s": rate_target,
                "AODE / plain": rates["AODE Mrows/s"] / slow,
            }
        )
    show(rows)
