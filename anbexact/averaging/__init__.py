"""All networks instead of one: the posterior over structures, exactly, and all structures near the optimum."""

from anbexact.averaging.near_optimal import NearOptimal, near_optimal
from anbexact.averaging.structure_posterior import StructurePosterior, structure_posterior

__all__ = ["NearOptimal", "StructurePosterior", "near_optimal", "structure_posterior"]
