"""Why this prediction?

What each answer of one voter adds to the log odds of Clinton against Dole, with 95 % intervals.
[Explanations and queries](../guides/explanations.md)
"""

from anbexact import ANBClassifier
from anbexact.datasets import load_anes96
from anbexact.plots import WaterfallDisplay

X, y = load_anes96()
model = ANBClassifier(group_categories=None).fit(X, y)
WaterfallDisplay.from_estimator(model, X, row=40)
