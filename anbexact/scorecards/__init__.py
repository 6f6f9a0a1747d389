"""Scorecards: classifiers as tables of integer points."""
