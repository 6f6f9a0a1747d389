"""The types that skops has to trust to read fitted classifiers."""

from __future__ import annotations

from anbexact import classifiers  # noqa: F401  # registers them
from anbexact._runtime.json_values import OBJECTS

__all__ = ["skops_types"]

VALUES = (
    "anbexact._kernels.cells.CellValues",
    "anbexact._kernels.elimination_plan.Net",
    "anbexact._kernels.posterior.Families",
    "anbexact._kernels.set_scores.Boards",
    "anbexact._kernels.set_scores.Features",
    "anbexact._kernels.set_scores.Levels",
    "anbexact.classifiers.choosing.sample_size.Choices",
    "anbexact._kernels.set_scores.LowSets",
    "anbexact._kernels.set_scores.SortedRows",
    "anbexact.search.posterior.averaged_model.AveragedModel",
    "anbexact.search.posterior.averaged_model.Averaging",
    "anbexact.search.posterior.averaged_model.Member",
    "anbexact.search.posterior.relearner.Relearner",
    "anbexact.search.posterior.setting.Limits",
    "anbexact.models.em.record.EMRecord",
    "anbexact.models.em.record.EMStart",
    "anbexact.conformal.full.FullConformalClassifier",
    "anbexact.conformal.ranks.Others",
    "anbexact.conformal.split.SplitConformalClassifier",
    "anbexact.models.logit.design.Design",
    "anbexact.models.logit.design.RowOrder",
    "anbexact.models.logit.fit.Fit",
    "anbexact.models.logit.model.LogitModel",
    "anbexact.models.logit.potentials.Potential",
    "anbexact.models.logit.predictions.Origin",
    "anbexact.models.logit.prior_precision.Strength",
    "anbexact.models.logit.refit.Refit",
    "anbexact.models.smooth.refit.SmoothRefit",
    "anbexact.models.smooth.fit.SmoothProblem",
    "anbexact.models.smooth.terms.Axis",
    "anbexact.models.smooth.terms.SmoothTerm",
    "anbexact.models.smooth.smoothness.Smoothness",
    "anbexact.models.smooth.smoothness.Tuning",
    "anbexact.models.smooth.shape_constraints.Demand",
    "anbexact.models.smooth.shape_constraints.ShapeConstraints",
    "anbexact.models.smooth.cone.Proof",
    "anbexact.models.logit.edits.Edit",
    "anbexact.models.logit.edits.EditCost",
    "anbexact.models.a2de.A2DE",
    "anbexact.models.a2de.TripleCounts",
    "anbexact.models.aode.AODE",
    "anbexact.models.aode.PairCounts",
    "anbexact.models.kernel.distances.StateDistances",
    "anbexact.models.kernel.model.KernelModel",
    "anbexact.models.linear.model.LinearModel",
    "anbexact.models.network.cells.Axes",
    "anbexact.models.network.densities.FamilyDensity",
    "anbexact.models.network.density_network.DensityNetwork",
    "anbexact.models.network.density_posterior.DensityPosterior",
    "anbexact.models.network.density_posterior._AtLevels",
    "anbexact.models.network.elimination.Elimination",
    "anbexact.models.network.estimation.Estimation",
    "anbexact.models.network.network.TableNetwork",
    "anbexact.models.network.posterior.Posterior",
    "anbexact.models.network.posterior._Family",
    "anbexact.models.parameters.counts.FamilyCounts",
    "anbexact.models.parameters.hierarchical.Strengths",
    "anbexact.models.parameters.tables.ConditionalTable",
    "anbexact.models.parameters.trees.TreeSettings",
    "anbexact.models.parameters.trees.TreeTable",
    "anbexact.search.constraints.Constraints",
    "anbexact.search.scoring.set_scores.SetScoreProblem",
    "anbexact.models.em.structural.Round",
    "anbexact.models.proof.Component",
    "anbexact.models.proof.Duals",
    "anbexact.models.proof.Exhaustion",
    "anbexact.models.proof.FewestClassParameters",
    "anbexact.models.proof.Proof",
    "anbexact.models.proof.Split",
    "anbexact.models.structure.Certificate",
    "anbexact.models.structure.Structure",
    "anbexact.tables.table.DiscreteTable",
    "anbexact.tables.reader.Reader",
    "anbexact.tables.vocabulary.Vocabulary",
    "builtins.frozenset",
    "datetime.date",
    "datetime.datetime",
    "datetime.time",
    "datetime.timedelta",
    "datetime.timezone",
    "decimal.Decimal",
    "zoneinfo.ZoneInfo",
)
"""Types of the values that make up fitted classifiers: numbers, names and states, but no user-defined functions."""


def skops_types() -> list[str]:
    """Return the types that ``skops.io.load`` has to trust to read a classifier, for its argument ``trusted``.

    They are the classifiers, their scores and rules, the types of what was learned, and the dates, times and decimals
    that states may be. None of them runs code from a file. skops refuses a file that contains any other type, as it
    should. It writes the timestamps, durations and periods of pandas, but cannot read them: save a classifier with
    such states by its method ``save``.

    Returns
    -------
    list of str
        Names with their modules, sorted.

    Examples
    --------
    >>> from anbexact.adapters import skops_types
    >>> "anbexact.classifiers.branching.TANClassifier" in skops_types()
    True
    """
    own = {f"{of.__module__}.{of.__qualname__}" for of in OBJECTS.values()}
    return sorted({*VALUES, *(name for name in own if name.startswith("anbexact."))})
