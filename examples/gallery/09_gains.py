"""How much is a ranked list worth?

If you call first those who are most probably Dole's voters, how many of his voters have you reached after how many
calls? [Figures and notebook displays](../guides/figures.md)
"""

from anbexact import TANClassifier
from anbexact.datasets import load_anes96
from anbexact.plots import GainsDisplay

X, y = load_anes96()
model = TANClassifier().fit(X[::2], y[::2])
GainsDisplay.from_estimator(model, X[1::2], y[1::2], label="Dole")
