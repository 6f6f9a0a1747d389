"""Modules and names that have moved: former names still import, with a DeprecationWarning, until version 0.3."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Any

MOVED = {
    "anbexact.adapters.checked": "anbexact.persistence.checked",
    "anbexact.adapters.columns": "anbexact.logit.identification",
    "anbexact.adapters.exchange": "anbexact.adapters.network_files",
    "anbexact.adapters.files": "anbexact.persistence.classifiers",
    "anbexact.adapters.mnlogit": "anbexact.adapters.statsmodels",
    "anbexact.adapters.proofs": "anbexact.persistence.proofs",
    "anbexact.adapters.refits": "anbexact.persistence.refits",
    "anbexact.aode": "anbexact.networks.aode",
    "anbexact.class_weights": "anbexact.inputs.class_weights",
    "anbexact.classifiers.room": "anbexact.classifiers.memory",
    "anbexact.columns": "anbexact.tables.columns",
    "anbexact.compare.data": "anbexact.compare.folds",
    "anbexact.compare.measures": "anbexact.compare.metrics",
    "anbexact.compare.trials": "anbexact.compare.cross_validation",
    "anbexact.counts": "anbexact.parameters.counts",
    "anbexact.densities": "anbexact.networks.densities",
    "anbexact.discretize.nested": "anbexact.discretize.partition_rules",
    "anbexact.evidence": "anbexact.networks.evidence",
    "anbexact.explain": "anbexact.networks.explain",
    "anbexact.explanation_text": "anbexact.networks.explanation_text",
    "anbexact.folds": "anbexact.tables.folds",
    "anbexact.intervals": "anbexact.networks.intervals",
    "anbexact.limits": "anbexact._runtime.limits",
    "anbexact.line_search": "anbexact._runtime.line_search",
    "anbexact.logit.conditional": "anbexact.logit.newton",
    "anbexact.logit.listing": "anbexact.logit.term_list",
    "anbexact.logit.strength": "anbexact.logit.prior_precision",
    "anbexact.measure": "anbexact.inputs.universal_measure",
    "anbexact.missing": "anbexact.tables.missing",
    "anbexact.moments": "anbexact.tables.moments",
    "anbexact.partitions": "anbexact.tables.partitions",
    "anbexact.posterior": "anbexact.networks.posterior",
    "anbexact.proof": "anbexact.structures.proof",
    "anbexact.quantities": "anbexact.tables.quantities",
    "anbexact.questions": "anbexact.inputs.identifiers",
    "anbexact.report.query": "anbexact.report.case_study",
    "anbexact.scores.names": "anbexact.scores.registry",
    "anbexact.search.branch_and_cut": "anbexact.search.exact.branch_and_cut",
    "anbexact.search.branching": "anbexact.search.trees.branching",
    "anbexact.search.candidates": "anbexact.search.exact.candidates",
    "anbexact.search.case_bounds": "anbexact.search.exact.case_bounds",
    "anbexact.search.cluster_cuts": "anbexact.search.exact.cutting_planes",
    "anbexact.search.conditional": "anbexact.search.greedy.conditional_likelihood",
    "anbexact.search.enumerated": "anbexact.search.exact.enumerated",
    "anbexact.search.equivalence": "anbexact.search.greedy.mc_dag",
    "anbexact.search.families": "anbexact.search.exact.by_family",
    "anbexact.search.hill_climbing": "anbexact.search.greedy.hill_climbing",
    "anbexact.search.k_graph": "anbexact.search.trees.k_graph",
    "anbexact.search.kdb": "anbexact.search.trees.kdb",
    "anbexact.search.lattice": "anbexact.search.exact.lattice",
    "anbexact.search.logit_fan": "anbexact.search.greedy.logit_fan",
    "anbexact.search.mixtures": "anbexact.search.scoring.universal_sets",
    "anbexact.search.optimum": "anbexact.search.exact.solution",
    "anbexact.search.orders": "anbexact.search.exact.order_search",
    "anbexact.search.pairs": "anbexact.search.scoring.pair_scores",
    "anbexact.search.parent_sets": "anbexact.search.exact.parent_sets",
    "anbexact.search.pruned": "anbexact.search.exact.pruned",
    "anbexact.search.set_scores": "anbexact.search.scoring.set_scores",
    "anbexact.search.ties": "anbexact.search.exact.ties",
    "anbexact.search.walk": "anbexact.search.exact.parent_set_identification",
    "anbexact.selection.independence": "anbexact.selection.independence_tests",
    "anbexact.smoothing": "anbexact.parameters.smoothing",
    "anbexact.structure": "anbexact.structures.structure",
    "anbexact.table": "anbexact.tables.table",
    "anbexact.verification": "anbexact.search.exact.verify",
    "anbexact.vocabulary": "anbexact.tables.vocabulary",
    "anbexact.warn": "anbexact._runtime.warn",
}
"""Former names of modules, and where their contents are now."""

SPLIT = {
    "anbexact.networks.densities": (
        "anbexact.networks.cells",
        "anbexact.networks.density_counts",
        "anbexact.networks.density_posterior",
        "anbexact.networks.probable_levels",
    ),
    "anbexact.networks.explain": (
        "anbexact.networks.explanation",
        "anbexact.networks.explanation_terms",
    ),
    "anbexact.networks.network": (
        "anbexact.networks.density_network",
        "anbexact.networks.estimation",
        "anbexact.networks.model",
    ),
    "anbexact.search.exact.branch_and_cut": (
        "anbexact.search.exact.branch_tree",
        "anbexact.search.exact.small_components",
    ),
    "anbexact.search.exact.cutting_planes": (
        "anbexact.search.exact.listed_sets",
        "anbexact.search.exact.relaxation",
    ),
    "anbexact.search.exact.learn": (
        "anbexact.search.exact.exact_search",
        "anbexact.search.exact.plan",
        "anbexact.search.exact.refusals",
    ),
    "anbexact.search.exact.parent_set_identification": (
        "anbexact.search.exact.configurations",
        "anbexact.search.exact.laid_out_rows",
        "anbexact.search.exact.shared_resources",
    ),
    "anbexact.search.greedy.hill_climbing": (
        "anbexact.search.greedy.arc_moves",
        "anbexact.search.greedy.climb",
        "anbexact.search.greedy.local_scores",
        "anbexact.search.trees.feature_forest",
    ),
    "anbexact.tables.columns": ("anbexact.tables.frames", "anbexact.tables.native_values", "anbexact.tables.series"),
}
"""Modules that have become smaller, and where the rest of their contents is now."""


class _MovedModules(MetaPathFinder, Loader):
    """Imports a module under its former name. It comes last, so it is asked only for names that nothing else has."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return spec_from_loader(fullname, self) if fullname in MOVED else None

    def exec_module(self, module: ModuleType) -> None:
        former, name = module.__name__, MOVED[module.__name__]
        warnings.warn(f"{former} is now {name}: import it from there", DeprecationWarning, stacklevel=2)
        sys.modules[former] = import_module(name)


_PARTITION_RULES = {
    "Counts": "CountPartition",
    "EqualWidth": "EqualWidthPartition",
    "NestedCuts": "FixedCutsPartition",
    "Quantiles": "QuantilePartition",
}
RENAMED: dict[str, dict[str, str]] = {
    "anbexact.discretize": _PARTITION_RULES,
    "anbexact.discretize.partition_rules": _PARTITION_RULES,
}
"""Modules in which something has another name now: former names, and the present ones."""


def keep_moved_names(module: str) -> None:
    """Let the module that calls this still have the names that left it, or changed, with a DeprecationWarning.

    They are those of ``SPLIT`` and ``RENAMED``. A type checker does not see them.
    """

    def find(name: str) -> Any:
        if (present := RENAMED.get(module, {}).get(name)) is not None:
            warnings.warn(f"{module}.{name} is now called {present}", DeprecationWarning, stacklevel=2)
            return getattr(sys.modules[module], present)
        for place in () if name.startswith("_") else SPLIT.get(module, ()):
            contents = vars(import_module(place))
            if name in contents and getattr(contents[name], "__module__", place) == place:
                warnings.warn(f"{module}.{name} is now {place}.{name}", DeprecationWarning, stacklevel=2)
                return contents[name]
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    vars(sys.modules[module])["__getattr__"] = find


def install() -> None:
    """Let imports find moved modules under their former names."""
    if not any(type(finder).__name__ == _MovedModules.__name__ for finder in sys.meta_path):
        sys.meta_path.append(_MovedModules())
