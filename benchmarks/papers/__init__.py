"""The tables of the papers behind the library, measured again: ``cd benchmarks; python -m papers [--quick]``."""
