"""All networks instead of one: the exact posterior over structures, and the influence of single rows."""

from anbexact.search.posterior.leave_one_out import RelearnedLeaveOneOut, relearned_leave_one_out
from anbexact.search.posterior.near_optimal import NearOptimal, near_optimal
from anbexact.search.posterior.structure_posterior import StructurePosterior, structure_posterior

__all__ = [
    "NearOptimal",
    "RelearnedLeaveOneOut",
    "StructurePosterior",
    "near_optimal",
    "relearned_leave_one_out",
    "structure_posterior",
]
