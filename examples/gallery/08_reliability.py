"""Does 70 % mean 70 %?

Observed shares by predicted probabilities, on rows that the model has not seen, with 95 % intervals.
[Calibration](../guides/calibration.md)
"""

from anbexact import TANClassifier
from anbexact.datasets import load_anes96
from anbexact.plots import ReliabilityDisplay

X, y = load_anes96()
model = TANClassifier().fit(X[::2], y[::2])
ReliabilityDisplay.from_estimator(model, X[1::2], y[1::2])
