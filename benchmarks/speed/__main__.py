"""``python -m benchmarks.speed``."""

from benchmarks.harness.run import command
from benchmarks.speed import NAMES

if __name__ == "__main__":
    command("benchmarks.speed", NAMES)
