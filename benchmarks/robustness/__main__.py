"""``python -m benchmarks.robustness``."""

from benchmarks.harness.run import command
from benchmarks.robustness import NAMES

if __name__ == "__main__":
    command("benchmarks.robustness", NAMES, nargs="+")  # all of them take an hour
