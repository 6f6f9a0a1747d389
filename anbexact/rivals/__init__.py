"""Searches, classifiers and selectors that other people's papers propose, for comparison; nothing else needs them."""
