"""
A medical table with missing cells
==================================

Breast masses, some of whose measurements were never taken. A network is learned from the incomplete rows; it sums
missing cells out, and says which one to ask for.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from anbexact import TANClassifier
from anbexact.datasets import load_breast_cancer
from anbexact.plots import WaterfallDisplay

# %%
# The table, and its missing cells
# --------------------------------
# 569 masses with five measurements of their cell nuclei. The table is complete, so cells are removed: concavity and
# symmetry are measured less often where the texture is unsuspicious. Given the texture, whether a cell is missing
# does not depend on its value: it is *missing at random*.


X, y = load_breast_cancer()
X = X[["mean_radius", "mean_texture", "mean_smoothness", "mean_concavity", "mean_symmetry"]]
rng = np.random.default_rng(2)
seldom = np.where(X["mean_texture"] < 19, 0.5, 0.1)
holed = X.copy()
for column in ("mean_concavity", "mean_symmetry"):
    holed.loc[rng.random(len(X)) < seldom, column] = np.nan
holed.loc[rng.random(len(X)) < 0.1, "mean_radius"] = np.nan
print(holed.isna().mean().round(2))
print(f"complete rows: {holed.notna().all(axis=1).sum()} of {len(holed)}")

# %%
# Three ways to learn
# -------------------
# `"em"` completes every row by its probable values; `"own_state"` makes a missing cell a state that the network can
# use; `"marginalize"` leaves incomplete rows out of training. At prediction, `"own_state"` uses such states, and the
# others sum missing cells out.


folds = StratifiedKFold(5, shuffle=True, random_state=0)
losses = {}
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # how many rows are left out
    for way in ("em", "own_state", "marginalize"):
        model = TANClassifier(handle_missing=way)
        proba = cross_val_predict(model, holed, y, cv=folds, method="predict_proba")
        losses[way] = log_loss(y, proba, labels=sorted(y.unique()))
    proba = cross_val_predict(TANClassifier(), X, y, cv=folds, method="predict_proba")
losses["(no cell missing)"] = log_loss(y, proba, labels=sorted(y.unique()))
print(pd.Series(losses, name="log loss").round(3))

# %%
# What happened in the rounds
# ---------------------------
# The log likelihood of the observed cells after each round of expectation maximisation. It cannot fall as long as
# the structure stays.

tan = TANClassifier(handle_missing="em").fit(holed, y)
print(tan.em_.to_frame())
print(tan.structure_.certificate)

# %%
# A patient with missing cells
# ----------------------------
# Missing cells are summed out: the probability is that of the class given what was measured, and nothing else. The
# next question says which measurement is worth most.

patient = holed[
    holed[["mean_concavity", "mean_symmetry"]].isna().all(axis=1) & holed["mean_radius"].between(14, 15)
].iloc[[0]]
print(patient.T)
print(pd.Series(tan.predict_proba(patient)[0], tan.classes_).round(3))
question = tan.next_question(patient)
print(question[["feature", "information", "changes_decision", "low", "high"]].round(3))

# %%
# What the probability rests on
# -----------------------------
# The terms of the odds, with 95 % intervals. What depends on missing cells is one term.


WaterfallDisplay.from_estimator(tan, patient)
plt.show()
