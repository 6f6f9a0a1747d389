"""Logistic regression with lines as shapes, and the choice between it and linear discriminant analysis."""
