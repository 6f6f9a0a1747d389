"""Exact explanations of a class posterior whose log odds are a sum over families, and decisions made by it."""
