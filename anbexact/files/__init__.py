"""Fitted classifiers as lossless JSON files."""
