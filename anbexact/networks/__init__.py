"""Networks at work: class posteriors, densities, explanations, evidence."""
