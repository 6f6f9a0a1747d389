"""Which measurements depend on each other?

The network of ten measurements of tumour cells. The class, `diagnosis`, is a parent of all of them; the wider an arc,
the stronger the dependence. [Figures and notebook displays](../guides/figures.md)
"""

from anbexact import ANBClassifier
from anbexact.datasets import load_breast_cancer
from anbexact.plots import NetworkDisplay

X, y = load_breast_cancer()
model = ANBClassifier().fit(X.iloc[:, :10], y)
NetworkDisplay.from_estimator(model)
