"""Time and memory, beside targets and peers: ``python -m benchmarks.speed [NAME ...] [--full]`` (default: all)."""

NAMES = (
    "fit",
    "predict",
    "probabilistic",
    "start",
    "branchings",
    "averaging",
    "choices",
    "deployment",
    "counted_rows",
    "exact_search",
    "exact_search_sweep",
    "exact_search_rivals",
    "explanations",
    "pages",
    "files",
    "logit_fan",
    "long_tables",
    "networks",
    "greedy",
    "refit",
    "aode_kdb",
    "universal",
    "set_scores",
    "record",
)
"""The modules that measure; the others help them."""
