"""
Smooth shapes, with bands
=========================

An additive model with the pairs of a tree: each measurement's shape, and how sure it is.
"""

import matplotlib.pyplot as plt

from anbexact import AdditiveClassifier, NaiveBayesClassifier
from anbexact.datasets import load_breast_cancer
from anbexact.plots import ShapeDisplay

X, y = load_breast_cancer()
X = X[["mean_radius", "mean_texture", "mean_concavity"]]
model = AdditiveClassifier(NaiveBayesClassifier()).fit(X, y)

# %%
# The log odds of a malignant tumour, as each measurement grows.

for name in X.columns:
    figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
    ShapeDisplay.from_estimator(model, name, ax=ax)
plt.show()
