"""Scores of structures: decomposable, total over the data in nats, to be maximised."""

from anbexact.scores.base import FamilyScore, Score, SetScore, family_counts
from anbexact.scores.bdeu import BDeu

__all__ = ["BDeu", "FamilyScore", "Score", "SetScore", "family_counts"]
