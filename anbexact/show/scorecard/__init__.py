"""Scorecards as sheets to print, with a calculator."""
