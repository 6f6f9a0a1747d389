"""Three classes, three shapes

A multinomial additive model has a shape for every class: how the length of a petal speaks for each species.
[Smooth shapes](../guides/smooth-shapes.md)
"""

from anbexact import AdditiveClassifier, NaiveBayesClassifier
from anbexact.datasets import load_iris
from anbexact.plots import ShapeDisplay

X, y = load_iris()
model = AdditiveClassifier(NaiveBayesClassifier()).fit(X, y)
ShapeDisplay.from_estimator(model, "petal_length")
