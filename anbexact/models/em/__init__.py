"""Networks of incomplete rows, by expectation maximisation."""
