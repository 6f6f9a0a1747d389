"""The logarithmic pool of class posteriors: its weights, its explanations, and its logistic regression."""
