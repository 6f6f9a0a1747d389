"""
A survey with weights, and a regression read aloud
==================================================

Who expects to vote for Dole? 944 respondents of the American National Election Study of 1996, weighted by age.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from anbexact import NaiveBayesClassifier
from anbexact.adapters import to_logit
from anbexact.datasets import load_anes96

# %%
# Weights
# -------
# Older people answer surveys more readily. Weights put the shares right: every age group gets its share of the
# population divided by its share of the sample. The population shares here are round numbers for illustration; take
# those of your statistical office. The weights are scaled to sum to the number of rows, because a row of weight 2
# counts as two rows everywhere.


X, y = load_anes96()
party = {
    "strong Democrat": "Democrat",
    "weak Democrat": "Democrat",
    "weak Republican": "Republican",
    "strong Republican": "Republican",
}
school = {
    "8 grades or less": "no diploma",
    "some high school": "no diploma",
    "high school": "high school",
    "some college": "college",
}
news = ["never", *["1 to 3 days"] * 3, *["4 to 6 days"] * 3, "every day"]
X = pd.DataFrame(
    {
        "party": pd.Categorical(
            X["PID"].astype(str).replace(party),
            ["Democrat", "independent Democrat", "independent", "independent Republican", "Republican"],
        ),
        "education": pd.Categorical(
            X["educ"].astype(str).map(lambda e: school.get(e, "college" if "community" in e else "degree")),
            ["no diploma", "high school", "college", "degree"],
        ),
        "tv_news": pd.Categorical(
            [news[day] for day in X["TVnews"]], ["never", "1 to 3 days", "4 to 6 days", "every day"]
        ),
        "age": X["age"],
    }
)
group = pd.cut(X["age"], [0, 30, 45, 60, 120], labels=["to 30", "31 to 45", "46 to 60", "over 60"]).astype(str)
population = pd.Series({"to 30": 0.27, "31 to 45": 0.32, "46 to 60": 0.20, "over 60": 0.21})
sample = group.value_counts(normalize=True)
weights = group.map(population / sample).astype(float)
weights *= len(weights) / weights.sum()
print(pd.DataFrame({"population": population, "sample": sample, "weight": population / sample}).round(2))
effective = weights.sum() ** 2 / (weights**2).sum()
print(f"effective sample size (Kish): {effective:.0f} of {len(X)} respondents")
print(
    pd.DataFrame({"unweighted": y.value_counts(normalize=True), "weighted": weights.groupby(y).sum() / len(y)}).round(
        3
    )
)

# %%
# A network, and the regression that it is
# ----------------------------------------
# The network is naive Bayes, so the regression has main effects only: one coefficient for every answer but the
# first of each question. `refit` maximises the weighted conditional likelihood; with `l2=0` there is no prior.


network = to_logit(NaiveBayesClassifier(discretizer="median").fit(X, y, sample_weight=weights))
logit = network.refit(X, y, sample_weight=weights, l2=0)
first, second = logit.classes_
print(f"converged: {logit.refitted.fit.converged}, {logit.n_parameters} coefficients of {second} against {first}")

# %%
# Standard errors
# ---------------
# `result()` has the standard errors of statsmodels, but refuses weights that are not whole numbers: they would be
# taken for numbers of rows. For weights of a survey, draw replicates: each replicate is a bootstrap sample of the
# respondents with their weights, and the spread of the coefficients over the replicates is the standard error.

rng = np.random.default_rng(1996)
draws = []
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # a replicate in which an answer separates the classes
    for _ in range(200):
        times = rng.multinomial(len(X), np.full(len(X), 1 / len(X)))
        draws.append(network.refit(X, y, sample_weight=weights * times, l2=0).to_frame()[second])
replicates = pd.concat(draws, axis=1)
found = logit.to_frame()[[second]].set_axis(["beta"], axis=1).join(logit.terms)
found["low"], found["high"] = replicates.quantile(0.025, axis=1), replicates.quantile(0.975, axis=1)
found = found[found["variables"].map(len) == 1]
print(found[["beta", "low", "high"]].round(2))

# %%
# Read aloud
# ----------
# Each coefficient is the logarithm of an odds ratio against the first answer, all other answers alike. These are
# the coefficients whose intervals are furthest from zero:

clear = found[found["low"] * found["high"] > 0]
distance = clear[["low", "high"]].abs().min(axis=1).sort_values(ascending=False)
for _, term in clear.loc[distance.index].head(5).iterrows():
    (feature,), (state,) = term["variables"], term["states"]
    reference = logit.vocabulary.states[feature][0]
    sign = np.sign(term["beta"])
    low, high = sorted(np.exp(sign * np.array([term["low"], term["high"]])))
    print(
        f"With all other answers alike, respondents with {feature} = {state} have {np.exp(abs(term['beta'])):.0f} "
        f"times the odds of voting {second if sign > 0 else first} of those with {feature} = {reference} "
        f"(95 % interval {low:.0f} to {high:.0f})."
    )
print(f"The intervals of {len(found) - len(clear)} of {len(found)} coefficients contain zero.")

# %%
# What the weights changed
# ------------------------
# The coefficients without weights, and those that differ most. Compare the differences with the intervals above.

plain = to_logit(NaiveBayesClassifier(discretizer="median").fit(X, y)).refit(X, y, l2=0)
changes = found[["beta", "low", "high"]].join(plain.to_frame()[second].rename("unweighted"))
changes["difference"] = changes["beta"] - changes["unweighted"]
print(changes.sort_values("difference", key=abs, ascending=False).head(5).round(2))

# %%
# Drawn: the odds ratios of party identification.


shown = found[found["variables"].map(lambda names: names[0]) == "party"]
centre = np.exp(shown["beta"])
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.errorbar(
    centre,
    [states[0] for states in shown["states"]],
    xerr=[centre - np.exp(shown["low"]), np.exp(shown["high"]) - centre],
    fmt="o",
)
ax.set(xscale="log", xlabel=f"odds of {second}, against a Democrat")
plt.show()
