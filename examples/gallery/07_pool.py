"""What is in a pool?

The weights of the networks in a pool, and the log loss of each alone; together they are one log-linear model.
[The pool](../guides/pool.md)
"""

from anbexact import PooledClassifier
from anbexact.datasets import load_wine
from anbexact.plots import PoolDisplay

X, y = load_wine()
model = PooledClassifier().fit(X, y)
PoolDisplay.from_estimator(model)
