"""
How well the probabilities do
=============================

Reliability, lift and confusion on rows that the model has not seen.
"""

import matplotlib.pyplot as plt

from anbexact import TANClassifier
from anbexact.datasets import load_anes96
from anbexact.plots import ConfusionDisplay, LiftDisplay, ReliabilityDisplay

X, y = load_anes96()
model = TANClassifier().fit(X[::2], y[::2])

# %%
# A reliability diagram shows whether 70 % means 70 %; lift, how much a list of the most probable rows is worth.

figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
ReliabilityDisplay.from_estimator(model, X[1::2], y[1::2], ax=axes[0])
LiftDisplay.from_estimator(model, X[1::2], y[1::2], label="Dole", ax=axes[1])
ConfusionDisplay.from_estimator(model, X[1::2], y[1::2], ax=axes[2])
plt.show()
