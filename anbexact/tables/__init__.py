"""Columns of any library, names and states of variables, and tables of state codes with weights."""
