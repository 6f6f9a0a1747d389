"""Cut points for continuous columns: rules that find them, as scikit-learn transformers, and their use."""

from anbexact.tables.cuts.base import CutPointDiscretizer
from anbexact.tables.cuts.cuts import Cuts, cut_codes, cut_texts, cuts_from_edges, interval_names
from anbexact.tables.cuts.groups import MODLGrouper, group_values
from anbexact.tables.cuts.mdlp import MDLPDiscretizer
from anbexact.tables.cuts.median import MedianDiscretizer
from anbexact.tables.cuts.modl import MODLDiscretizer
from anbexact.tables.cuts.partition_rules import (
    CountPartition,
    EqualWidthPartition,
    FixedCutsPartition,
    PartitionRule,
    QuantilePartition,
)
from anbexact.tables.cuts.rules import AUTO, RULES, find_cut_points

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
