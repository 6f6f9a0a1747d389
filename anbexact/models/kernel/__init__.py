"""Kernel logistic regression: log odds with interactions of all orders."""
