"""
A network, and what one answer rests on
=======================================

The network learned from a survey of the US election of 1996, and the odds of one respondent taken apart.
"""

import matplotlib.pyplot as plt

from anbexact import ANBClassifier
from anbexact.datasets import load_anes96
from anbexact.plots import NetworkDisplay, WaterfallDisplay

X, y = load_anes96()
model = ANBClassifier(max_parents=2).fit(X, y)

# %%
# Arcs between features are drawn by their strength; the class is a parent of all.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
NetworkDisplay.from_estimator(model, ax=axes[0])
WaterfallDisplay.from_estimator(model, X.iloc[[3]], ax=axes[1])
plt.show()
