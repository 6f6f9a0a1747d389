"""The public names of :mod:`anbexact.search.posterior`."""

from anbexact.search.posterior import (
    NearOptimal,
    RelearnedLeaveOneOut,
    StructurePosterior,
    near_optimal,
    relearned_leave_one_out,
    structure_posterior,
)

__all__ = [
    "NearOptimal",
    "RelearnedLeaveOneOut",
    "StructurePosterior",
    "near_optimal",
    "relearned_leave_one_out",
    "structure_posterior",
]
