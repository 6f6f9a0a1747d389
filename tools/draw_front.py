"""Draws the figure of the front page: ``python tools/draw_front.py``; writes ``docs/images/front.png``."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt

from anbexact import ANBClassifier
from anbexact.datasets import load_anes96
from anbexact.plots import NetworkDisplay, WaterfallDisplay

ROW = 40
"""A respondent on whom the answers do not agree."""
PIXELS_PER_INCH = 140

if __name__ == "__main__":
    X, y = load_anes96()
    model = ANBClassifier(max_parents=1, group_categories=None).fit(X, y)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), width_ratios=[1, 1.35], layout="constrained")
    NetworkDisplay.from_estimator(model, ax=left)
    WaterfallDisplay.from_estimator(model, X, row=ROW, ax=right)
    figure.savefig(Path(__file__).parents[1] / "docs" / "images" / "front.png", dpi=PIXELS_PER_INCH)
