"""Frames of any library as columns: numbers, states, dates, other quantities, text with a meaning, lazy frames."""
