"""Where benchmarks read and write."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
"""The UCI tables, and networks in ``networks``; most benchmarks generate tables where it is absent."""
REFERENCE = ROOT.parent / "shared" / "reference"
"""The published tables of the papers."""
ANCHORS = ROOT.parent / "shared" / "anchors"
"""Published results on the splits of OpenML."""
RESULTS = ROOT / "benchmarks" / "results"
"""Results of single measurements, kept so that a benchmark can be resumed; not under version control."""
SUMMARIES = ROOT / "docs" / "measurements"
"""Tables and figures that summarise them."""
