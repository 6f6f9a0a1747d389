"""All networks instead of one: the posterior over structures, exactly."""

from anbexact.averaging.structure_posterior import StructurePosterior, structure_posterior

__all__ = ["StructurePosterior", "structure_posterior"]
