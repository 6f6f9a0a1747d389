"""Tools of all packages: limits of time and memory, threads, progress, warnings."""
