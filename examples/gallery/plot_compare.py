"""
A comparison, drawn
===================

Log loss of several classifiers with intervals, everything learned anew in every fold.
"""

import matplotlib.pyplot as plt

from anbexact import compare
from anbexact.datasets import load_balance_scale
from anbexact.plots import ComparisonDisplay

X, y = load_balance_scale()
table = compare(X, y, folds=3, models=["NB", "TAN", "ANB", "AODE", "logistic regression", "class frequencies"])
ComparisonDisplay.from_frame(table)
plt.show()

# %%
# The table recommends the simplest model that is as good as the best, up to chance.

print(table.recommendation)
