"""Searches that climb, and prove nothing."""
