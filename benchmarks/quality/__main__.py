"""``python -m benchmarks.quality``."""

from benchmarks.harness.run import command
from benchmarks.quality import NAMES

if __name__ == "__main__":
    command("benchmarks.quality", NAMES, nargs="+")  # all of them take hours
