"""What every package may use: limits of time and memory, threads, progress, warnings, and JSON."""
