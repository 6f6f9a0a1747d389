"""Scores of structures: decomposable, total over the data in nats, to be maximised."""

from anbexact.scores.base import Score, SetScore
from anbexact.scores.bdeu import BDeu

__all__ = ["BDeu", "Score", "SetScore"]
