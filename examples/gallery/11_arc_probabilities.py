"""How sure is each arc?

The probability that two measurements are joined, given 120 tumours, summed exactly over all networks.
[How sure is a structure?](../background/how-sure.md)
"""

from anbexact.classifiers import AveragedANBClassifier
from anbexact.datasets import load_breast_cancer
from anbexact.plots import ArcProbabilityDisplay

X, y = load_breast_cancer()
model = AveragedANBClassifier().fit(X.iloc[:120, :8], y[:120])
ArcProbabilityDisplay.from_estimator(model)
