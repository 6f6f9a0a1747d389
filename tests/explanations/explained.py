"""Fitted classifiers of small random tables, with what the oracles need of them."""

import numpy as np
import pandas as pd
from strategies import random_problem

from anbexact import ANBClassifier, GBNClassifier, NaiveBayesClassifier, RefittedClassifier, TANClassifier
from anbexact.classifiers import FixedStructureClassifier

DENSE = {"c": (), "f0": ("c",), "f1": ("c", "f0"), "f2": ("f0", "c", "f1"), "f3": ("c", "f2", "f0"), "f4": ("f1",)}
OF_CLASS = {"f0": (), "f1": ("f0",), "c": ("f0", "f1"), "f2": ("c", "f1"), "f3": ("f2", "c"), "f4": ("c",)}
MODELS = {
    "naive": NaiveBayesClassifier,
    "tan": TANClassifier,
    "anb": ANBClassifier,
    "dense": lambda **kwargs: FixedStructureClassifier(DENSE, **kwargs),
    "class_with_parents": lambda **kwargs: FixedStructureClassifier(OF_CLASS, **kwargs),
    "gbn": GBNClassifier,
    "refitted": lambda **kwargs: RefittedClassifier(TANClassifier(**kwargs), l2=1.0),
}


class Case:
    """A fitted classifier, its rows, and its tables as dictionaries."""

    def __init__(self, model, seed=0, *, n=5, n_classes=3, weights="real", n_rows=60):
        self.problem = random_problem(seed, n, n_rows=n_rows, max_arity=3, n_classes=n_classes, weights=weights)
        self.X, self.y = self.problem.frame()
        self.weights = np.array(self.problem.weights)
        self.classifier = MODELS[model](ess=1.0, categories=self.problem.categories)
        self.classifier.fit(self.X, self.y, sample_weight=self.weights)
        network = self.classifier
        if model == "refitted":
            network = self.classifier.discrete_form()
        self.tables = {name: (t.variables, t.values) for name, t in network.conditional_tables_.items()}
        states = self.classifier.vocabulary_.states
        assert all(list(states[name]) == list(range(len(states[name]))) for name in states)
        self.arities = {name: len(states[name]) for name in self.X.columns}
        self.n_classes = len(states["c"])

    def row(self, t, X=None):
        """Return a row as a dictionary, None for missing cells."""
        cells = (self.X if X is None else X).iloc[t]
        return {name: None if pd.isna(cell) else int(cell) for name, cell in cells.items()}

    def holed(self, seed=1, share=0.3):
        """Return the rows with cells missing at random."""
        rng = np.random.default_rng(seed)
        return self.X.astype(float).mask(rng.random(self.X.shape) < share)
