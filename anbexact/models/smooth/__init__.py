"""Refits of logistic regressions with smooth shapes: terms, penalties, strengths, and the shapes themselves."""
