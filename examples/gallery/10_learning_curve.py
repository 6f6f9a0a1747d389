"""Would more rows help?

Log loss on held-out rows as training rows are added: for a network as it is learned, and for its refit as a logistic
regression. [Logistic regression](../guides/logit.md)
"""

from anbexact import TANClassifier
from anbexact.datasets import load_tic_tac_toe
from anbexact.plots import LearningCurveDisplay

X, y = load_tic_tac_toe()
model = TANClassifier(ess=10.0)
LearningCurveDisplay.from_estimator(model, X, y, folds=3)
