"""Searches, classifiers and selectors from other authors' papers, for comparison; no other package needs them."""
