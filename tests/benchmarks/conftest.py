"""The benchmarks are a package of the project folder, which is not installed."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))
