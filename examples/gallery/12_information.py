"""Which columns matter, and which say the same?

The darker a circle, the more the answer tells about the vote; the wider a line, the more two answers tell about each
other once the vote is known. [Feature selection](../guides/feature-selection.md)
"""

from anbexact import TANClassifier
from anbexact.datasets import load_anes96
from anbexact.plots import InformationDisplay

X, y = load_anes96()
model = TANClassifier().fit(X, y)
InformationDisplay.from_estimator(model, X, y)
