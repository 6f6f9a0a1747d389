"""Scores of structures: totals over the data in nats, to be maximised. All but CLL and CMDL are decomposable."""

from anbexact.scores.acll import ACLL, acll_constants, acll_standard_error
from anbexact.scores.base import (
    BoundedScore,
    FamilyScore,
    MixedSetScore,
    Score,
    SetScore,
    StructureScore,
    family_counts,
)
from anbexact.scores.bde import BDe, PriorNetwork
from anbexact.scores.bdeu import BDeu
from anbexact.scores.bds import BDs
from anbexact.scores.cll import CLL, CMDL
from anbexact.scores.k2 import K2
from anbexact.scores.kt import KT
from anbexact.scores.likelihood import AIC, BIC, HQ, LL
from anbexact.scores.mit import MIT
from anbexact.scores.nml import FNML, QNML, log_regret
from anbexact.scores.universal import Universal, universal_information

__all__ = [
    "ACLL",
    "AIC",
    "BIC",
    "CLL",
    "CMDL",
    "FNML",
    "HQ",
    "K2",
    "KT",
    "LL",
    "MIT",
    "QNML",
    "BDe",
    "BDeu",
    "BDs",
    "BoundedScore",
    "FamilyScore",
    "MixedSetScore",
    "PriorNetwork",
    "Score",
    "SetScore",
    "StructureScore",
    "Universal",
    "acll_constants",
    "acll_standard_error",
    "family_counts",
    "log_regret",
    "universal_information",
]
