"""What skops has to trust to read fitted classifiers."""

from __future__ import annotations

from anbexact.classifiers import RefittedClassifier
from anbexact.classifiers.registry import CLASSIFIERS
from anbexact.persistence.values import OBJECTS
from anbexact.scores.registry import SCORE_TYPES

__all__ = ["skops_types"]

VALUES = (
    "anbexact._kernels.cells.CellValues",
    "anbexact._kernels.elimination_plan.Net",
    "anbexact._kernels.posterior.Families",
    "anbexact._kernels.set_scores.Boards",
    "anbexact._kernels.set_scores.Features",
    "anbexact._kernels.set_scores.Levels",
    "anbexact._kernels.set_scores.LowSets",
    "anbexact._kernels.set_scores.SortedRows",
    "anbexact.averaging.averaged_model.AveragedModel",
    "anbexact.averaging.averaged_model.Averaging",
    "anbexact.averaging.averaged_model.Member",
    "anbexact.averaging.relearner.Relearner",
    "anbexact.averaging.setting.Limits",
    "anbexact.classifiers.em_record.EMRecord",
    "anbexact.classifiers.em_record.EMStart",
    "anbexact.conformal.full.FullConformalClassifier",
    "anbexact.conformal.ranks.Others",
    "anbexact.conformal.split.SplitConformalClassifier",
    "anbexact.logit.design.Design",
    "anbexact.logit.design.RowOrder",
    "anbexact.logit.fit.Fit",
    "anbexact.logit.model.LogitModel",
    "anbexact.logit.potentials.Potential",
    "anbexact.logit.prior_precision.Strength",
    "anbexact.logit.refit.Refit",
    "anbexact.logit.smooth.SmoothRefit",
    "anbexact.logit.smooth_fit.SmoothProblem",
    "anbexact.logit.smooth_terms.Axis",
    "anbexact.logit.smooth_terms.SmoothTerm",
    "anbexact.logit.smoothness.Smoothness",
    "anbexact.networks.a2de.A2DE",
    "anbexact.networks.a2de.TripleCounts",
    "anbexact.networks.aode.AODE",
    "anbexact.networks.aode.PairCounts",
    "anbexact.networks.cells.Axes",
    "anbexact.networks.densities.FamilyDensity",
    "anbexact.networks.density_network.DensityNetwork",
    "anbexact.networks.density_posterior.DensityPosterior",
    "anbexact.networks.density_posterior._AtLevels",
    "anbexact.networks.elimination.Elimination",
    "anbexact.networks.estimation.Estimation",
    "anbexact.networks.network.TableNetwork",
    "anbexact.networks.posterior.Posterior",
    "anbexact.networks.posterior._Family",
    "anbexact.parameters.counts.FamilyCounts",
    "anbexact.parameters.hierarchical.Strengths",
    "anbexact.parameters.tables.ConditionalTable",
    "anbexact.search.constraints.Constraints",
    "anbexact.search.scoring.set_scores.SetScoreProblem",
    "anbexact.search.structural_em.Round",
    "anbexact.structures.proof.Component",
    "anbexact.structures.proof.Duals",
    "anbexact.structures.proof.Exhaustion",
    "anbexact.structures.proof.FewestClassParameters",
    "anbexact.structures.proof.Proof",
    "anbexact.structures.proof.Split",
    "anbexact.structures.structure.Certificate",
    "anbexact.structures.structure.Structure",
    "anbexact.tables.table.DiscreteTable",
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

    They are the classifiers, their scores and rules, the values that store what was learned, and the dates, times and
    decimals that states may be. None of them runs code from a file. skops refuses a file that contains any other
    type, as it should. It writes time stamps, durations and periods of pandas, but cannot read them: save a
    classifier that has such states by its own ``save``.

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
    types = [known.estimator for known in CLASSIFIERS.values()]
    types += [RefittedClassifier, *OBJECTS.values(), *SCORE_TYPES.values()]
    own = {f"{of.__module__}.{of.__qualname__}" for of in types}
    return sorted({*VALUES, *(name for name in own if name.startswith("anbexact."))})
