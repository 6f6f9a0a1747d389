"""Classifiers as multinomial logistic regressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from sklearn.utils.validation import check_is_fitted

from anbexact.models.logit.model import LogitModel

if TYPE_CHECKING:
    from anbexact.classifiers import NetworkClassifier, PooledClassifier, RefittedClassifier
    from anbexact.models.pool.logit import PooledLogit

__all__ = ["LogitModel", "to_logit"]


@overload
def to_logit(
    classifier: NetworkClassifier | RefittedClassifier,
    X: Any = None,
    sample_weight: Any = None,
    *,
    intervals: int | None = None,
) -> LogitModel: ...


@overload
def to_logit(
    classifier: PooledClassifier, X: Any = None, sample_weight: Any = None, *, intervals: int | None = None
) -> PooledLogit: ...


def to_logit(
    classifier: NetworkClassifier | RefittedClassifier | PooledClassifier,
    X: Any = None,
    sample_weight: Any = None,
    *,
    intervals: int | None = None,
) -> LogitModel | PooledLogit:
    """Return the multinomial logistic regression with the class posterior of a fitted classifier.

    The log odds are ``ln P(C=a | x) / P(C=0 | x) = Σ_S Σ_f β_S^f(a) Π_{i in S} [x_i = f(i)]`` for every class a other
    than the first. S runs over the sets of features that share a family with the class (each child of the class with
    its other parents; the parents of the class), and f over the joint states of S in which no feature has its first
    state. For every network the coefficients are exact, whether or not network and regression are equivalent (see
    ``LogitModel.equivalent``).

    Parameters
    ----------
    classifier : NetworkClassifier, RefittedClassifier or PooledClassifier
        A fitted classifier; the tables of a network must not contain zeros.
    X, sample_weight : optional
        The rows, as in the classifier's ``fit``, and their weights; needed with ``intervals``.
    intervals : int, optional
        Number of intervals of about equal weight to which every column that was cut is refined: learned cut points
        are kept, and further ones are added between them. The class posterior does not change, but a smooth refit can
        reach more posteriors.

    Returns
    -------
    LogitModel or PooledLogit
        A model with the methods ``refit``, ``result``, ``to_classifier`` and more; for a pool, what its ``to_logit``
        returns.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the classifier is not fitted.
    TypeError
        If ``classifier`` is not a classifier of this package with such a regression, or if ``intervals`` are given
        for a refitted classifier or a pool.
    ValueError
        If a table contains a zero, as maximum likelihood tables may.

    References
    ----------
    Feelders and Ivanovs, *Discriminative Structure Learning of Bayesian Network Classifiers through Logistic
    Regression*, section 4; Roos, Wettig, Grünwald, Myllymäki and Tirri, Machine Learning 59 (2005).

    Examples
    --------
    >>> from anbexact import TANClassifier
    >>> from anbexact.adapters import to_logit
    >>> from anbexact.datasets import load_tic_tac_toe
    >>> X, y = load_tic_tac_toe()
    >>> tan = TANClassifier(ess=1.0).fit(X, y)
    >>> logit = to_logit(tan)
    >>> logit.n_parameters, logit.equivalent
    (51, True)
    >>> bool(abs(logit.predict_proba(X) - tan.predict_proba(X)).max() < 1e-12)
    True
    >>> refitted = logit.refit(X, y)
    >>> round(logit.log_likelihood(X, y)), round(refitted.log_likelihood(X, y))
    (-423, -3)
    """
    if isinstance(classifier, type) or not hasattr(classifier, "to_logit"):
        raise TypeError(f"to_logit takes a fitted classifier of anbexact, not {classifier!r}")
    check_is_fitted(classifier)
    if intervals is None:
        return classifier.to_logit()
    if hasattr(classifier, "estimator_"):
        raise TypeError("intervals go with the network that is refitted: pass the classifier's estimator_")
    if hasattr(classifier, "estimators_"):
        raise TypeError("intervals go with a network: a pool has those of its members")
    network: Any = classifier  # what is neither a refit nor a pool has a network
    found: LogitModel = network.to_logit(X, sample_weight, intervals=intervals)
    return found
