"""
The network of a class, with the probability of every arc
=========================================================

An exact search returns one structure. Which of its arcs would another sample show again?
"""

import matplotlib.pyplot as plt

from anbexact import BDeu, GBNClassifier, near_optimal, structure_posterior
from anbexact.datasets import load_anes96
from anbexact.plots import ArcProbabilityDisplay

# %%
# One optimal network
# -------------------
# In a general network (GBN) the class is a variable like all others: only its Markov blanket says anything about
# it.


X, y = load_anes96()
model = GBNClassifier(discretizer="median").fit(X, y)
print(model.structure_.certificate)
print("arcs of vote:", [arc for arc in model.structure_.edges if "vote" in arc])

# %%
# All networks, weighed
# ---------------------
# `structure_posterior` sums over all acyclic graphs, exactly. The first number is the probability that two
# variables are joined by an arc; directions that no data could tell apart share it.

table = model.reader_.table(X, y)
posterior = structure_posterior(table, BDeu(model.ess_), networks="gbn")
print(posterior)
print(f"as uncertain as {posterior.effective_networks():,.0f} equally probable networks")

# %%
# The same as a picture. Lines are as wide as their probability.


ArcProbabilityDisplay.from_posterior(posterior)
plt.show()

# %%
# What tells about the vote
# -------------------------
# How probable it is that a variable is joined to the vote (`adjacent`), and by an arc from the vote
# (`probability`):

arcs = posterior.arcs
of_vote = arcs[(arcs["parent"] == "vote") & (arcs["child"] != "vote")]
print(
    of_vote.sort_values("adjacent", ascending=False)[["child", "adjacent", "probability"]]
    .round(3)
    .to_string(index=False)
)

# %%
# All networks that come near
# ---------------------------
# The list is complete: no other class of equivalent networks comes within the factor of the optimum.


near = near_optimal(table, BDeu(model.ess_), networks="gbn", bayes_factor=20)
print(near)
print(near.pairs.round(2).to_string(index=False))

# %%
# Arcs are associations given the other variables. That an arc is certain does not make it a cause.
