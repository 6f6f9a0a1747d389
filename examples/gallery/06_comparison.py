"""Which model predicts best?

Log loss on held-out rows; lower is better. Every model is learned again in every fold.
[Which classifier?](../guides/which-classifier.md)
"""

from anbexact import compare
from anbexact.datasets import load_breast_cancer
from anbexact.plots import ComparisonDisplay

X, y = load_breast_cancer()
table = compare(X.iloc[:, :8], y, models=["NB", "NB smooth", "ANB", "random forest"])
ComparisonDisplay.from_frame(table)
