"""What skops has to trust to read fitted classifiers."""

from __future__ import annotations

from anbexact.classifiers import RefittedClassifier
from anbexact.classifiers.registry import CLASSIFIERS
from anbexact.persistence.values import OBJECTS
from anbexact.scores.registry import SCORE_TYPES

__all__ = ["skops_types"]

VALUES = (
    "anbexact._kernels.elimination_plan.Net",
    "anbexact._kernels.posterior.Families",
    "anbexact.logit.design.Design",
    "anbexact.logit.design.RowOrder",
    "anbexact.logit.fit.Fit",
    "anbexact.logit.model.LogitModel",
    "anbexact.logit.potentials.Potential",
    "anbexact.logit.prior_precision.Strength",
    "anbexact.logit.refit.Refit",
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
    "anbexact.structures.proof.Component",
    "anbexact.structures.proof.Exhaustion",
    "anbexact.structures.proof.Proof",
    "anbexact.structures.structure.Certificate",
    "anbexact.structures.structure.Structure",
    "anbexact.tables.vocabulary.Vocabulary",
    "builtins.frozenset",
)
"""Types of the values that make up fitted classifiers: numbers, names and states, but no user-defined functions."""


def skops_types() -> list[str]:
    """Return the types of this package that ``skops.io.load`` has to trust, for its argument ``trusted``.

    They are the classifiers, their scores and rules, and the values that store what was learned. None of them runs
    code from a file. skops refuses a file that contains any other type, as it should.

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
