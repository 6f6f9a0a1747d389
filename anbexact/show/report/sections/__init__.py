"""The sections of a report, each made of what it is about."""
