"""How well classifiers predict, and what searches find: ``python -m benchmarks.quality NAME ... [--full]``."""

NAMES = (
    "defaults",
    "cut_points",
    "ess",
    "ess_few_rows",
    "missing",
    "incomplete",
    "prior_precision",
    "smooth_shapes",
    "shape_constraints",
    "pool",
    "anchors",
    "hierarchical",
    "universal",
    "universal_consistency",
    "class_parameters",
    "relatives",
    "scorecards",
    "conformal",
    "how_sure",
    "parents_children",
    "ckg",
    "without_class",
    "lr_tables",
    "scores",
)
"""The modules that measure."""
