"""What do two features say together?

What a pair of features adds beyond what each of them adds alone. [Smooth shapes](../guides/smooth-shapes.md)
"""

from anbexact import AdditiveClassifier, TANClassifier
from anbexact.datasets import load_breast_cancer
from anbexact.plots import ShapeDisplay

X, y = load_breast_cancer()
model = AdditiveClassifier(TANClassifier()).fit(X.iloc[:, :8], y)
ShapeDisplay.from_estimator(model, "mean_concavity", "mean_concave_points")
