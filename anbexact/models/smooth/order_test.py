"""A test of the order of classes: do all classes share their shapes, or do some need shapes of their own?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import block_diag
from scipy.special import softmax
from scipy.stats import chi2

from anbexact._runtime.tasks import one_blas_thread
from anbexact.models.logit.potentials import Floats
from anbexact.models.smooth.fit import SmoothProblem, curvature_at, smooth_fit
from anbexact.models.smooth.refit import SmoothRefit
from anbexact.models.smooth.terms import Strengths

MOST_UNKNOWNS = 6_000
"""Maximum number of cells times classes for a test, which inverts a matrix of this size."""
NO_PRIOR = 1e-6
"""Factor of the prior precision of the intercept, with which the rows alone determine it."""


@dataclass(frozen=True)
class OrderTest:
    """A test of classes that share their shapes in an order, against shapes for every class.

    Attributes
    ----------
    statistic : float
        ``2 (L_free - L_ordered)``, twice the gain in the penalised log likelihood, in nats, if every class has shapes
        of its own under the same penalties. The ordered model is contained in the free one, so that it is at least 0.
    df : float
        The mean of the statistic if the classes share their shapes: the effective degrees of freedom of what the free
        model has in addition.
    p_value : float
    gain : float
        ``l_free - l_ordered``, the gain in the log likelihood without penalties, in nats.

    Notes
    -----
    If the order is right, and the shapes are drawn from the Gaussian prior that the penalty is, the statistic has the
    distribution of ``Σ_i λ_i χ²_1`` for large samples. The λ are the eigenvalues of ``I - C S``, in which S is the
    prior precision of the deviations from shared shapes and C their posterior covariance at the ordered fit, the
    shared shapes and the intercept being integrated out. Without a penalty, all λ are 1 and this is the likelihood
    ratio test with as many degrees of freedom as there are deviations. The p-value is that of the χ² distribution
    with the same first three cumulants (Imhof 1961, section 4).

    The test treats the structure, the cut points and the strengths of smoothing as given. Strong penalties leave few
    degrees of freedom, and so little power against deviations that are rough. Classes or states with few rows make
    the distribution inaccurate. A large p-value does not show that the order is right: compare both models by
    cross-validation, too.

    References
    ----------
    Imhof, *Computing the distribution of quadratic forms in normal variables*, Biometrika 48 (1961); Zhang and Lin,
    *Hypothesis testing in semiparametric additive mixed models*, Biostatistics 4 (2003).
    """

    statistic: float
    df: float
    p_value: float
    gain: float

    def __str__(self) -> str:
        return (
            f"shared shapes against shapes for every class: statistic {self.statistic:.2f}, expected "
            f"{self.df:.2f}, p = {self.p_value:.2g}\nshapes for every class gain {self.gain:.2f} nats"
        )


def order_test(refitted: SmoothRefit) -> OrderTest:
    """Return the test of the order of classes of a refit; see :meth:`anbexact.adapters.LogitModel.order_test`."""
    problem, strengths = refitted.problem, refitted.smoothness.strengths
    if problem.scores is None:
        raise ValueError(
            "there is no order to test: refit three or more classes with ordered_classes, from the lowest to the "
            "highest"
        )
    if refitted.constraints.demands:
        raise ValueError(
            "the distribution of the test is not known under monotone, convex and concave: test the order in a refit "
            "without them"
        )
    if problem.n_cells * problem.n_classes > MOST_UNKNOWNS:
        raise ValueError(
            f"the test would invert a matrix of {problem.n_cells * problem.n_classes:,} rows (at most "
            f"{MOST_UNKNOWNS:,}): use fewer intervals, or interactions='none'"
        )
    free = replace(problem, scores=None)
    with one_blas_thread():
        found, _ = smooth_fit(free, strengths, start=refitted.fit.shift)
        shares = _shares(free, strengths, refitted.fit.shift, problem.scores)
    statistic = max(2 * (found.penalised - refitted.fit.penalised), 0.0)
    gain = found.log_likelihood - refitted.fit.log_likelihood
    return OrderTest(statistic, float(shares.sum()), _tail(statistic, shares), gain)


def _shares(free: SmoothProblem, strengths: Strengths, shift: Floats, scores: Floats) -> Floats:
    """Return the eigenvalues λ of :class:`OrderTest`: the share of each deviation that the rows determine."""
    s = free.n_classes
    others = np.linalg.svd(np.stack([scores, np.full(s, s**-0.5)]))[2][2:].T
    # The ordered model has an intercept for every class, so that constants of other terms are no deviations.
    precisions = [NO_PRIOR * own if term == 0 else own for term, own in enumerate(free.precisions(strengths))]
    curvature = curvature_at(free, precisions, softmax(free.predictors(shift), axis=1), np.inf)
    covariance = curvature.block(slice(1, free.n_cells), others)
    root = np.kron(block_diag(*(np.linalg.cholesky(own) for own in precisions[1:])), np.eye(s - 2))
    return np.clip(1 - np.linalg.eigvalsh(root.T @ covariance @ root), 0.0, 1.0)


def _tail(statistic: float, shares: Floats) -> float:
    """Return P(Σ λ χ²_1 >= statistic) by a χ² distribution with the same mean, variance and third cumulant."""
    first, second, third = (float((shares**k).sum()) for k in (1, 2, 3))
    if third <= 0.0:
        return 1.0
    df = second**3 / third**2
    return float(chi2.sf((statistic - first) * np.sqrt(df / second) + df, df))
