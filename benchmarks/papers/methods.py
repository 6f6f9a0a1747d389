"""The classifiers that are compared: those of Sugahara and Ueno's Table 1, our own additions, and selectors."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from anbexact import (
    ANBClassifier,
    DiscreteTable,
    FSANBClassifier,
    GBNClassifier,
    NaiveBayesClassifier,
    TANClassifier,
)
from anbexact.adapters import to_logit
from anbexact.classifiers import (
    AODEClassifier,
    BNC2PClassifier,
    GreedyGBNClassifier,
    KDBClassifier,
    MCDAGClassifier,
)
from anbexact.selection import HITONPC, MMPC, PCMB, S2TMB

REFIT_SECONDS = 60.0


class Refitted:
    """The exact ANB, refitted as a logistic regression."""

    def fit(self, X: pd.DataFrame, y: pd.Series) -> Self:
        """Learn and refit."""
        anb = ANBClassifier(n_jobs=1, ess=1.0).fit(X, y)
        self.logit_ = to_logit(anb).refit(X, y, time_limit=REFIT_SECONDS)
        self.classes_ = self.logit_.classes_
        return self

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """Return the probabilities of the classes."""
        return self.logit_.predict_proba(X)


class Selected:
    """The exact ANB over the features that a search finds as parents or children of the class.

    Where it finds none, every row gets the frequencies of the classes.
    """

    def __init__(self, search: Any) -> None:
        self.search = search

    def fit(self, X: pd.DataFrame, y: pd.Series) -> Self:
        """Select and learn."""
        self.kept_: list[Hashable] = list(self.search.parents_children(DiscreteTable.from_frame(X, y), y.name))
        learner = ANBClassifier(n_jobs=1, ess=1.0) if self.kept_ else DummyClassifier(strategy="prior")
        self.model_ = learner.fit(self.features(X), y)
        self.classes_ = self.model_.classes_
        return self

    def features(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the columns that are kept, or all."""
        return X[self.kept_] if self.kept_ else X

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """Return the probabilities of the classes."""
        return self.model_.predict_proba(self.features(X))


class SklearnNaiveBayes:
    """scikit-learn's naive Bayes, told of all states."""

    def fit(self, X: pd.DataFrame, y: pd.Series) -> Self:
        """Learn."""
        arities = [len(X[name].cat.categories) for name in X]
        self.model_ = CategoricalNB(min_categories=arities).fit(codes(X), y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """Return the probabilities of the classes."""
        return self.model_.predict_proba(codes(X))


def codes(X: pd.DataFrame) -> np.ndarray:
    """Return the number of every state."""
    return np.stack([X[name].cat.codes for name in X], axis=1)


PAPER: dict[str, Any] = {
    "NaiveBayes": NaiveBayesClassifier(n_jobs=1, ess=1.0),
    "GBN-CMDL": GreedyGBNClassifier(structure_score="cmdl", n_jobs=1, ess=1.0),
    "BNC2P": BNC2PClassifier(n_jobs=1, ess=1.0),
    "TAN-aCLL": TANClassifier(structure_score="acll", n_jobs=1, ess=1.0),
    "gGBN-BDeu": GreedyGBNClassifier(n_jobs=1, ess=1.0),
    "MC-DAG-GES": MCDAGClassifier(n_jobs=1, ess=1.0),
    "GBN-BDeu": GBNClassifier(n_jobs=1, ess=1.0),
    "ANB-BDeu": ANBClassifier(n_jobs=1, ess=1.0),
    "fsANB-BDeu": FSANBClassifier(network_ess=1.0, n_jobs=1),
}
"""The methods of the paper, by the names that they have there."""
OWN: dict[str, Any] = {
    "ANB, ESS auto": ANBClassifier(ess="auto", n_jobs=1),
    "ANB, refitted": Refitted(),
    "AODE": AODEClassifier(n_jobs=1),
    "kDB": KDBClassifier(n_jobs=1, ess=1.0),
    "sklearn NB": SklearnNaiveBayes(),
    "sklearn logistic": make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression(max_iter=10_000)),
}
SELECTORS: dict[str, Any] = {
    "MMPC": Selected(MMPC()),
    "HITON-PC": Selected(HITONPC()),
    "PCMB": Selected(PCMB()),
    "S2TMB": Selected(S2TMB()),
}
"""Searches of the paper's Table 5; its fifth, by Bayes factors, is fsANB."""
METHODS = PAPER | OWN | SELECTORS
