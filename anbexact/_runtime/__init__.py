"""What every stage may use: limits of time and memory, threads, progress, warnings."""
