"""What happens when things break, and under load for long: ``python -m benchmarks.robustness NAME ...``."""

NAMES = ("breaking", "soak")
"""The modules that measure."""
