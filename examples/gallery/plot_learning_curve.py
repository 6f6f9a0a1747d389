"""
Generative or discriminative?
=============================

A generative fit learns from fewer rows, a refit does better with many. The curve shows where they cross on a table.
"""

import warnings

import matplotlib.pyplot as plt

from anbexact import NaiveBayesClassifier
from anbexact.datasets import load_tic_tac_toe
from anbexact.plots import LearningCurveDisplay

X, y = load_tic_tac_toe()
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    LearningCurveDisplay.from_estimator(NaiveBayesClassifier(), X, y, folds=3)
plt.show()
