"""
Credit risk: decide by costs, and write it down
===============================================

A lender wants to refuse few good loans and to grant few bad ones, and must be able to say why a loan was refused.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from anbexact import ANBClassifier, RefittedClassifier
from anbexact.plots import GainsDisplay, ReliabilityDisplay
from anbexact.report import report

# %%
# The loans
# ---------
# The table is made by a rule, so that you can run this anywhere and know what there is to find: short employment
# and a high debt make a default more probable, and debt matters most for those who rent. One cell in eight of
# `income` is missing.


rng = np.random.default_rng(29)
n = 1200
income = rng.lognormal(7.8, 0.4, n).round()
debt = (income * rng.gamma(2.0, 2.0, n)).round(-1)
loans = pd.DataFrame(
    {
        "income": income,
        "debt": debt,
        "employed_years": rng.gamma(1.5, 4.0, n).round(1),
        "housing": rng.choice(["own", "rent", "family"], n, p=[0.4, 0.45, 0.15]),
        "purpose": rng.choice(["car", "home", "studies", "other"], n),
        "history": rng.choice(["none", "good", "late once", "late often"], n, p=[0.2, 0.5, 0.2, 0.1]),
    }
)
log_odds = (
    -2.8
    + 2.4 * (loans["employed_years"] < 2)
    + (0.1 + 0.4 * (loans["housing"] == "rent")) * np.minimum(debt / income, 8)
    + loans["history"].map({"none": 0.6, "good": -1.2, "late once": 1.0, "late often": 2.8})
)
outcome = pd.Series(np.where(rng.random(n) < 1 / (1 + np.exp(-log_odds)), "default", "repaid"), name="outcome")
loans.loc[rng.random(n) < 1 / 8, "income"] = np.nan
train, test = np.arange(n) < 800, np.arange(n) >= 800
print(outcome[train].value_counts())

# %%
# Learn
# -----
# `RefittedClassifier` learns a network and fits its probabilities to the class, as a logistic regression does. It
# also takes care of missing cells and cut points.


model = RefittedClassifier(ANBClassifier()).fit(loans[train], outcome[train])
print(model.estimator_.structure_.certificate)
print("arcs between features:", model.estimator_.structure_.feature_edges)

# %%
# Are the probabilities right?
# ----------------------------
# Decisions by costs need probabilities that can be taken at their word. On the 400 loans that the model has not
# seen, the points should lie near the diagonal.


proba = model.predict_proba(loans[test])
classes = list(model.classes_)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
ReliabilityDisplay.from_predictions(outcome[test], proba, classes, bins=6, ax=left)
GainsDisplay.from_predictions(outcome[test], proba, classes, ax=right)
plt.show()

# %%
# Decide by costs
# ---------------
# A default costs four times what a refused good loan would have earned. A clerk who looks at an application costs a
# quarter of that. The decision is the one with the lowest expected cost.

costs = pd.DataFrame({"refuse": [0.0, 1.0], "grant": [4.0, 0.0], "clerk": [0.25, 0.25]}, index=["default", "repaid"])
decided = model.decide(loans[test], costs=costs)
print(decided["decision"].value_counts())

paid = [costs.loc[true, decision] for true, decision in zip(outcome[test], decided["decision"], strict=True)]
always = costs.loc[outcome[test]].mean()
print(f"cost per loan: {np.mean(paid):.3f}; always the same decision: {always.min():.3f} ({always.idxmin()})")

# %%
# Say why
# -------
# The odds of default of a refused loan are a product of one factor for each column.

refused = loans[test][(decided["decision"] == "refuse").to_numpy()].iloc[[0]]
print(model.explain(refused, label="default")[0])

# %%
# The report
# ----------
# One HTML page to pass on: data, network, held-out performance, single cases, costs, limits, and a panel in which
# the reader enters values. It needs no internet connection.


page = report(model, loans[train], outcome[train], folds=3, costs=costs)
file = Path(tempfile.mkdtemp(), "credit.html")
page.save(file)
print(
    f"{file.name}: {file.stat().st_size / 1000:.0f} kB, sections:",
    ", ".join(part.key for part in page.document.sections),
)
