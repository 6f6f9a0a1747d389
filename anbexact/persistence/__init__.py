"""Fitted classifiers as JSON files that lose nothing."""
