"""The shapes of a smooth refit: what every feature and every interaction adds to the log odds of the class."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import gamma

from anbexact._runtime.arrays import Positions
from anbexact._runtime.displayed import Displayed, drawn
from anbexact._runtime.tasks import one_blas_thread
from anbexact.models.logit.potentials import Floats
from anbexact.models.smooth.functional_anova import Effect, effects
from anbexact.models.smooth.refit import SmoothRefit
from anbexact.models.smooth.terms import strengths_text
from anbexact.tables.vocabulary import Vocabulary

MOST_SHOWN = 10
"""Number of features whose strengths are printed one by one; of more, the range is printed."""


@dataclass(frozen=True, eq=False)
class Shape:
    """A function of one feature, or of several, and what it adds to the log odds of a class.

    Attributes
    ----------
    features : tuple
        Its features, in the order of the axes of the arrays.
    labels : tuple of tuple of str
        The intervals or states along every axis; merged ones are named after the first and the last of them.
    label, against : Any
        The class, and the class against which its odds are taken; None for the geometric mean of all classes.
    log_odds, standard_error, weight : (*groups) float64
        In nats. Weighted by the rows (``weight``), the log odds average to 0 along every axis, for all groups of the
        other features. The standard error is that of the Bayesian posterior given the strengths of smoothing.
    """

    features: tuple[Hashable, ...]
    labels: tuple[tuple[str, ...], ...]
    label: Any
    against: Any
    log_odds: Floats
    standard_error: Floats
    weight: Floats

    @property
    def name(self) -> str:
        """The features, joined by ``" & "``."""
        return " & ".join(map(str, self.features))


def _shapes(
    refitted: SmoothRefit, vocabulary: Vocabulary, contrasts: Mapping[Any, tuple[Any, Floats]]
) -> list[Shape]:
    """Return the shapes of all terms other than the intercept, for some contrasts of classes.

    They are the effects of the functional ANOVA of the terms: see
    :func:`~anbexact.models.smooth.functional_anova.effects`.

    Parameters
    ----------
    refitted : SmoothRefit
    vocabulary : Vocabulary
    contrasts : mapping of class to (against, (classes,) float64)
        The class of comparison, or None for the mean of all, and the contrast of the classes' log odds.
    """
    found = []
    made = shape_effects(refitted)
    for label, (against, contrast) in contrasts.items():
        values = refitted.shift @ contrast
        covariance = refitted.curvature.covariance(contrast)
        for effect, cells, matrix in made:
            variance = np.einsum("ij,ij->i", matrix @ covariance[np.ix_(cells, cells)], matrix)
            found.append(
                Shape(
                    effect.features,
                    tuple(_labels(vocabulary, *axis) for axis in zip(effect.features, effect.groups, strict=True)),
                    label,
                    against,
                    (matrix @ values[cells]).reshape(effect.shape),
                    np.sqrt(np.maximum(variance, 0.0)).reshape(effect.shape),
                    effect.weight,
                )
            )
    return found


def shape_effects(refitted: SmoothRefit) -> list[tuple[Effect, Positions, Floats]]:
    """Return the effects of a refit, each with the shifts on which it depends and the matrix that maps them to it.

    The shifts are given by their positions among the cells of all terms.
    """
    terms, design = refitted.problem.terms, refitted.design
    states = {name: design.states(name) for name in dict.fromkeys(name for term in terms for name in term.features)}
    found = []
    with one_blas_thread():
        made = effects(terms, states, design.totals)
    for effect in made:
        of_terms = [np.arange(terms[place].cells.start, terms[place].cells.stop) for place in effect.parts]
        found.append((effect, np.concatenate(of_terms), np.hstack(list(effect.parts.values()))))
    return found


def _labels(vocabulary: Vocabulary, feature: Hashable, groups: np.ndarray) -> tuple[str, ...]:
    """Return names of groups of states: of intervals, from the start of the first to the end of the last one.

    A group of other states is named after its first and its last state, as in ``a or c``.
    """
    states = vocabulary.states[feature]
    found = []
    for group in range(int(groups.max()) + 1):
        members = [str(states[k]) for k in np.flatnonzero(groups == group)]
        first, last = members[0], members[-1]
        merged = first.startswith("(") and ", " in first and len(members) > 1
        ends = f"{first.split(', ')[0]}, {last.split(', ')[-1]}"
        found.append(ends if merged else " or ".join(dict.fromkeys([first, last])))
    return tuple(found)


def shape_range(shape: Shape) -> float:
    """Return the difference between the highest and the lowest log odds of a shape, in nats."""
    return float(np.ptp(shape.log_odds))


class Shapes(Displayed, list[Shape]):
    """The shapes of a smooth refit: main effects, then interactions, class by class."""

    def to_frame(self) -> pd.DataFrame:
        """Return a frame with a row for every cell: its term, states, class, log odds, standard error and weight.

        Log odds and standard errors are in nats.
        """
        rows = []
        for shape in self:
            for cell in np.ndindex(shape.log_odds.shape):
                states = " & ".join(shape.labels[axis][k] for axis, k in enumerate(cell))
                values = (shape.log_odds[cell], shape.standard_error[cell], shape.weight[cell])
                rows.append((shape.name, states, shape.label, *map(float, values)))
        return pd.DataFrame(rows, columns=["term", "states", "class", "log_odds", "standard_error", "weight"])

    def plot(self, *, most: int | None = None) -> Any:
        """Return a matplotlib figure of the shapes; see :func:`anbexact.show.figures.logit_shapes.plot_shapes`."""
        return drawn(self, most)


def with_edits(
    refitted: SmoothRefit, edits: Sequence[tuple[tuple[Hashable, ...], Floats]], *, strict: bool = False
) -> SmoothRefit:
    """Return a refit whose shapes contain what was added to terms by hand.

    Parameters
    ----------
    refitted : SmoothRefit
    edits : sequence of (features, change)
        Features of a term, and what was added, shape (*states, classes); its mean over the classes does not matter.
    strict : bool, default False
        Whether a change must be the same in all states of a group, and a term without a shape is refused.

    Raises
    ------
    ValueError
        With ``strict``.
    """
    shift = refitted.shift.copy()
    for features, change in edits:
        term = next((of for of in refitted.problem.terms if set(of.features) == set(features)), None)
        if term is None:
            if strict:
                known = ", ".join(" & ".join(map(str, of.features)) for of in refitted.problem.terms if of.axes)
                raise ValueError(f"there is no shape of {' & '.join(map(str, features))}; the shapes are {known}")
            continue
        ordered = change.transpose([*(features.index(name) for name in term.features), change.ndim - 1])
        groups = np.ix_(*(axis.groups for axis in term.axes))
        cells = np.ravel_multi_index(np.broadcast_arrays(*groups), term.shape).ravel()
        values = ordered.reshape(len(cells), -1)
        values = values - values.mean(axis=1, keepdims=True)
        sums = np.stack([np.bincount(cells, column, term.size) for column in values.T], axis=1)
        means = sums / np.bincount(cells, minlength=term.size)[:, None]
        if strict and not np.allclose(means[cells], values):
            name = next(axis.feature for axis in term.axes if axis.groups.max() + 1 < len(axis.groups))
            raise ValueError(f"some states of {name!r} share a value of this shape: change all of them alike")
        shift[term.cells] += means
    return replace(refitted, shift=shift)


def shapes_of(
    refitted: SmoothRefit, vocabulary: Vocabulary, classes: Sequence[Any], label: Any = None, against: Any = None
) -> Shapes:
    """Return the shapes of a smooth refit; see :meth:`anbexact.adapters.LogitModel.shapes`."""
    unknown = [one for one in (label, against) if one is not None and one not in classes]
    if unknown or (label is not None and label == against):
        raise ValueError(
            f"label and against must be two of the classes {list(classes)}, not {label!r} and {against!r}"
        )
    s = len(classes)
    if s == 2 and label is None:
        label = next(one for one in reversed(classes) if one != against)
    if s == 2:
        against = next(one for one in classes if one != label)
    unit = np.eye(s)
    reference = np.full(s, 1 / s) if against is None else unit[list(classes).index(against)]
    wanted = [one for one in classes if one != against] if label is None else [label]
    contrasts = {one: (against, unit[list(classes).index(one)] - reference) for one in wanted}
    return Shapes(_shapes(refitted, vocabulary, contrasts))


@dataclass(frozen=True, eq=False)
class SmoothResult:
    """Inference for a smooth refit, as for generalised additive models.

    Attributes
    ----------
    terms : DataFrame
        For every term: ``edf``, the effective degrees of freedom; ``statistic``, ``df`` and ``p_value`` of a Wald
        test that the term is zero; ``range``, the difference, in nats, between the highest and the lowest log odds of
        its shape (:meth:`~anbexact.adapters.LogitModel.shapes`), for the class with the largest difference.
    edf : float
        Effective degrees of freedom of the model.
    log_likelihood, aic : float
        Conditional log likelihood, total in nats, and ``-2 (log_likelihood - edf)``.
    strengths : dict
        Strengths of smoothing.

    Notes
    -----
    The tests follow Wood (2013): the statistic is ``fᵀ V⁻ f``, where f are the term's values in the training rows, V
    is their Bayesian posterior covariance, and V⁻ is its pseudo-inverse of rank ``df``. This rank is ``edf``, but at
    least 1 and at most the rank of V; as it need not be whole, the last dimension counts in part. The p-value comes
    from a χ² distribution with ``df`` degrees of freedom. It treats the strengths of smoothing, the structure and the
    cut points as given, so that p-values near a threshold can be too small. Because the penalty also shrinks slopes
    to 0, p-values of terms with little information tend to be too large. Degrees of freedom and tests refer to the
    terms as they are penalised, in which an interaction may contain a part of the effect of a single feature. Ranges
    refer to the shapes, in which it does not.

    References
    ----------
    Wood, *On p-values for smooth components of an extended generalized additive model*, Biometrika 100 (2013).
    """

    terms: pd.DataFrame
    edf: float
    log_likelihood: float
    aic: float
    strengths: dict[str, Any]

    def __str__(self) -> str:
        shown = self.terms.copy()
        shown["p_value"] = [f"{p:.2g}" for p in shown["p_value"]]
        many = any(isinstance(of, Mapping) and len(of) > MOST_SHOWN for of in self.strengths.values())
        strengths = strengths_text(self.strengths, spread=many)
        return (
            f"log likelihood {self.log_likelihood:.3f} nats, {self.edf:.1f} effective degrees of freedom, "
            f"AIC {self.aic:.2f}\nstrengths of smoothing: {strengths}\n{shown.round(2).to_string()}"
        )


def smooth_result(refitted: SmoothRefit) -> SmoothResult:
    """Return effective degrees of freedom and Wald tests of the terms of a smooth refit."""
    problem, shift = refitted.problem, refitted.shift
    rows = problem.weights.sum(axis=1)
    s = problem.n_classes
    odds = shift if s > 2 else shift[:, 1:] - shift[:, :1]
    ranges = {
        effect.features: float(np.ptp(matrix @ odds[cells], axis=0).max())
        for effect, cells, matrix in shape_effects(refitted)
    }
    tests = {}
    for j, (term, edf) in enumerate(zip(problem.terms, refitted.effective_degrees, strict=True)):
        if not term.axes:
            continue
        weight = np.bincount(problem.cells[:, j] - term.first, rows, term.size)
        root = np.sqrt(weight)[:, None] * (np.eye(term.size) - weight / weight.sum())
        contrasts = problem.contrasts(term)
        covariance = refitted.curvature.block(term.cells, contrasts)
        values = (root @ shift[term.cells] @ contrasts).ravel()
        whole = np.kron(root, np.eye(contrasts.shape[1]))
        statistic, df = _wald(values, whole @ covariance @ whole.T, edf)
        p_value = float(gamma.sf(statistic / 2, df / 2))
        name = " & ".join(map(str, term.features))
        tests[name] = {"edf": edf, "statistic": statistic, "df": df, "p_value": p_value}
        tests[name]["range"] = ranges[term.features]
    columns = ["edf", "statistic", "df", "p_value", "range"]  # also if no feature was kept
    frame = pd.DataFrame.from_dict(tests, orient="index").reindex(columns=columns).rename_axis("term")
    edf = float(sum(refitted.effective_degrees))
    log_likelihood = refitted.fit.log_likelihood
    strengths = refitted.smoothness.settings
    return SmoothResult(frame, edf, log_likelihood, -2 * (log_likelihood - edf), strengths)


def _wald(values: Floats, covariance: Floats, rank: float) -> tuple[float, float]:
    """Return ``fᵀ V⁻ f`` with a pseudo-inverse of a rank that need not be whole, and the rank that was used.

    This is at least 1 and at most the rank of V.
    """
    variances, directions = np.linalg.eigh((covariance + covariance.T) / 2)
    order = np.argsort(-variances)
    variances, directions = variances[order], directions[:, order]
    rank = float(min(max(rank, 1.0), (variances > 1e-10 * max(variances[0], 1e-300)).sum()))
    share = np.clip(rank - np.arange(len(variances)), 0.0, 1.0)
    used = share > 0
    squares = (directions[:, used].T @ values) ** 2 / np.maximum(variances[used], 1e-300)
    return float(share[used] @ squares), rank
