"""Greedy searches, which find good structures without a proof."""
