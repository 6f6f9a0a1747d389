"""Computations with networks: class posteriors, densities, explanations, evidence."""
