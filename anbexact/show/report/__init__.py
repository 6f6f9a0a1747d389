"""The report on a classifier, its page and its sections; :mod:`anbexact.report` has the public names."""
