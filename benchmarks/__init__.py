"""Measurements of speed and of accuracy: ``python -m benchmarks``, from the project folder, lists them."""
