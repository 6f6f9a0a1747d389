"""Fitted models with awkward names, unseen states and missing cells, for the formats in which they are deployed."""

import warnings
from functools import cache

import numpy as np
import pandas as pd

from anbexact import ANBClassifier, GBNClassifier, NaiveBayesClassifier, RefittedClassifier, TANClassifier
from anbexact.adapters import to_logit

HOSTILE = [
    '"""); raise SystemExit  #', "'); raise SystemExit  #", "\\", "\\'", "a\nb", "]]>&amp;<x/>", "{0}%s",
    "naïve 变量 😀", "MODEL", "__import__('os')", "X", "label", "\u2028", "", " ", "None", "nan", "1", "a,b",
    "=1+1", "${x}", "-1",
]  # fmt: skip
"""Names that would be code, markup or something else if they were not quoted."""
N_ROWS = 70


def _table(seed, columns):
    """Return random columns of the kinds that are asked for, which depend on the class, and the class."""
    rng = np.random.default_rng(seed)
    target = rng.integers(3, size=N_ROWS)
    found = {}
    for name, kind in columns.items():
        noisy = (target + rng.integers(3, size=N_ROWS) * (rng.random(N_ROWS) < 0.5)) % 3
        if isinstance(kind, list):
            found[name] = pd.Categorical.from_codes(noisy % (len(kind) - 1), kind)  # the last state is never seen
        elif kind == "many":
            found[name] = [f"town {2 * k + rng.integers(4)}é" for k in noisy]
        elif kind == "cut":
            found[name] = np.round(noisy + rng.normal(size=N_ROWS), 1)
        elif kind == "tenths":
            found[name] = noisy / 10
        elif kind == "flag":
            found[name] = noisy > 0
        else:
            found[name] = noisy * 7 - 1
    return pd.DataFrame(found), target


def tables():
    """Return tables by name: rows, classes and what else the classifiers are told."""
    states = [HOSTILE[k : k + 4] for k in range(0, 20, 4)]
    hostile = dict(zip(HOSTILE[8:13], states, strict=True))
    text, of_text = _table(1, hostile)
    numbers, of_numbers = _table(2, {"cut": "cut", 'cut "2"': "cut", "whole": "", "tenths": "tenths", "f": "flag"})
    mixed, of_mixed = _table(3, {"x y": "cut", "变量": states[1], "town": "many", "n": "", "label": ["é", "ß", "ł"]})
    gaps, of_gaps = _table(4, {"a": ["p", "q", "r"], "b": "cut", "c": ["u", "v", "w", "<none>"], "d": ""})
    gaps = gaps.astype({"d": float}).mask(np.random.default_rng(5).random(gaps.shape) < 0.15)
    words, of_words = _table(
        6, {"job": ["(missing)", "clerk", "nurse", "?"], "blank": ["", "(missing)", "x", "-"], "b": "cut"}
    )
    words["town"] = np.where(np.arange(N_ROWS) % 5, _table(7, {"town": "many"})[0]["town"], "(missing)")
    words = words.astype(object).mask(np.random.default_rng(8).random(words.shape) < 0.15)
    return {
        "words": (words, of_words, {"handle_missing": "own_state", "group_categories": 4}),
        "hostile": (text, np.array(HOSTILE[:3], dtype=object)[of_text], {}),
        "numbers": (numbers, of_numbers - 1, {}),
        "mixed": (mixed, np.array(["no", "yes", "变"], dtype=object)[of_mixed], {"group_categories": 5}),
        "gaps": (gaps, of_gaps > 1, {"handle_missing": "own_state"}),
        "marginalised": (numbers.drop(columns="f"), of_numbers.astype(float), {"handle_unknown": "error"}),
    }


CLASSIFIERS = {
    "naive Bayes": NaiveBayesClassifier,
    "TAN": TANClassifier,
    "ANB": lambda **given: ANBClassifier(ess=8.0, **given),
    "GBN": lambda **given: GBNClassifier(ess=8.0, **given),
    "refitted TAN": lambda **given: RefittedClassifier(TANClassifier(**given), l2=1.0),
    "refitted ANB": lambda **given: RefittedClassifier(ANBClassifier(ess=8.0, **given), l2=0.3),
    "logit": lambda **given: NaiveBayesClassifier(**given),
}
TABLES = tables()
MODELS = [(table, classifier) for table in TABLES for classifier in CLASSIFIERS]
"""42 of them."""


@cache
def model(table, classifier):
    """Return a fitted model; with ``"logit"``, a smooth logistic regression."""
    X, y, given = TABLES[table]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = CLASSIFIERS[classifier](**given).fit(X, y)
        return to_logit(fitted).refit(X, y, smooth=1.0) if classifier == "logit" else fitted


def rows(table, gaps=0.0, unknown=0.0, seed=0):
    """Return rows to be predicted, some of whose cells are missing, or of an unknown value."""
    X = TABLES[table][0].iloc[:40].astype(object)
    rng = np.random.default_rng(seed)
    for j, name in enumerate(X.columns):
        odd = np.flatnonzero(rng.random(len(X)) < unknown)
        value = "never seen" if isinstance(X.iloc[0, j], str) else -987
        if name not in ("cut", 'cut "2"', "x y", "b"):
            X.iloc[odd, j] = value
        if gaps:
            X.iloc[np.flatnonzero(rng.random(len(X)) < gaps), j] = None
    return X


def expected(fitted, X):
    """Return the model's own probabilities."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fitted.predict_proba(X)
