"""Logistic regressions and the results of statsmodels."""
