"""Scores by name, as estimators and the command line ask for them."""

from __future__ import annotations

from collections.abc import Callable

from anbexact.scores.acll import ACLL
from anbexact.scores.base import Score
from anbexact.scores.bdeu import BDeu
from anbexact.scores.bds import BDs
from anbexact.scores.k2 import K2
from anbexact.scores.kt import KT
from anbexact.scores.likelihood import AIC, BIC, HQ, LL
from anbexact.scores.mit import MIT
from anbexact.scores.nml import FNML, QNML

SCORES: dict[str, Callable[[float], Score]] = {
    "bdeu": BDeu,
    "bds": BDs,
    "k2": lambda _: K2(),
    "kt": lambda _: KT(),
    "ll": lambda _: LL(),
    "aic": lambda _: AIC(),
    "bic": lambda _: BIC(),
    "hq": lambda _: HQ(),
    "mit": lambda _: MIT(),
    "qnml": lambda _: QNML(),
    "fnml": lambda _: FNML(),
    "acll": lambda _: ACLL(),
}
"""Makes the score of a name, given the equivalent sample size (of those that have one)."""
