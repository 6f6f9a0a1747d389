"""Networks of pgmpy, queries to them, and estimators in pgmpy's form."""
