"""What all benchmarks share: tables, folds, timing, a store of measurements, output, and the command line."""
