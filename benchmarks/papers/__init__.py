"""The tables of the papers behind the library, measured again: ``python -m benchmarks.papers [PART ...]``."""
