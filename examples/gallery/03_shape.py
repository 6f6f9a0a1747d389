"""How much does one measurement matter?

The log odds of a malignant tumour as the cell nuclei grow, all else being equal, with a 95 % band. The grey bars are
the shares of the rows. [Smooth shapes](../guides/smooth-shapes.md)
"""

from anbexact import AdditiveClassifier, NaiveBayesClassifier
from anbexact.datasets import load_breast_cancer
from anbexact.plots import ShapeDisplay

X, y = load_breast_cancer()
model = AdditiveClassifier(NaiveBayesClassifier()).fit(X.iloc[:, [0, 1, 6]], y)
ShapeDisplay.from_estimator(model, "mean_radius")
