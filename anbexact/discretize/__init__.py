"""Cut points for continuous columns: rules that find them, as scikit-learn transformers, and their use."""

from anbexact.discretize.base import CutPointDiscretizer
from anbexact.discretize.cuts import Cuts, cut_codes, cut_texts, cuts_from_edges, interval_names
from anbexact.discretize.groups import MODLGrouper, group_values
from anbexact.discretize.mdlp import MDLPDiscretizer
from anbexact.discretize.median import MedianDiscretizer
from anbexact.discretize.modl import MODLDiscretizer
from anbexact.discretize.partition_rules import (
    CountPartition,
    EqualWidthPartition,
    FixedCutsPartition,
    PartitionRule,
    QuantilePartition,
)
from anbexact.discretize.rules import AUTO, RULES, find_cut_points

__all__ = [
    "AUTO",
    "RULES",
    "CountPartition",
    "CutPointDiscretizer",
    "Cuts",
    "EqualWidthPartition",
    "FixedCutsPartition",
    "MDLPDiscretizer",
    "MODLDiscretizer",
    "MODLGrouper",
    "MedianDiscretizer",
    "PartitionRule",
    "QuantilePartition",
    "cut_codes",
    "cut_texts",
    "cuts_from_edges",
    "find_cut_points",
    "group_values",
    "interval_names",
]
